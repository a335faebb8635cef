//! Columns of type BLOB, whose values are in files of their own.
//!
//! [`read`] gives the values of a column, and [`write`](mod@write) writes them. `crate::codec::blob_file` knows the
//! bytes.

pub(crate) mod read;
pub(crate) mod write;
