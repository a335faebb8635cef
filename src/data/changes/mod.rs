//! The rows that a commit of an Iceberg table added, removed or changed.
//!
//! `read` gives those rows, with the columns of a changelog. `row_moves` says which rows a commit only moved to other
//! files, and `load_moves` reads them.

pub(crate) mod load_moves;
pub(crate) mod read;
pub(crate) mod row_moves;
