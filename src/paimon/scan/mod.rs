//! Scans: planning, explaining and reading through Arrow.
//!
//! - `request`: makes a scan of a request
//! - `handle`: a scan, which is planned and read lazily
//! - `explain`: explains the pruning stages of a scan
//! - `statistics`: counts rows and combines column statistics

pub(crate) mod explain;
pub mod handle;
pub(crate) mod request;
pub(crate) mod statistics;
