//! Changing rows: delete, update, upsert, merge.

pub(crate) mod change_rows;
pub(crate) mod found;
pub(super) mod keyed;
pub(crate) mod merge;
pub(crate) mod rewrite;
pub(crate) mod tracking;
pub(crate) mod vectors;
