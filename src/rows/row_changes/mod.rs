//! Changing rows in any format: keys, the source's rows, clauses, the result for a row.

pub mod assignments;
pub(crate) mod changed_batch;
pub(crate) mod clauses;
pub(crate) mod key_columns;
pub(crate) mod key_ranges;
pub(crate) mod keys;
pub(crate) mod matched_rows;
pub(crate) mod matcher;
pub(crate) mod parts;
pub mod patch;
pub mod placed;
pub(crate) mod source;
