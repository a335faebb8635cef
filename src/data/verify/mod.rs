//! Compares data files with what a table records about them. A difference becomes a finding, never an error.
//!
//! - `footer`: the facts in a file's footer
//! - `compare`: recorded counts and bounds against those facts
//! - `partition`: partition values against bounds
//! - `row_check`: recorded counts, bounds and partition values against the rows themselves

pub(crate) mod compare;
pub(crate) mod footer;
pub(crate) mod partition;
pub(crate) mod row_check;
