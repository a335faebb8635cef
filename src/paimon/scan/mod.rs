//! Scans: planning, explaining and reading through Arrow.

pub(crate) mod explain;
pub mod handle;
pub(crate) mod request;
pub(crate) mod statistics;
