//! Scans: planning, explaining and reading through Arrow. [`request`] makes a scan of a request, [`handle`] is the
//! scan.

pub(crate) mod explain;
pub mod handle;
pub(crate) mod request;
pub(crate) mod statistics;
