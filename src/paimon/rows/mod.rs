//! Changing rows: delete, update, upsert, merge.
//!
//! [`change_rows`] is the entry, [`by_filter`] and [`merge`] are the changes, [`attempts`] plans them again after
//! conflicts.

pub(crate) mod attempts;
pub(crate) mod by_filter;
pub(crate) mod change_files;
pub(crate) mod change_rows;
pub(crate) mod fate;
pub(crate) mod found;
pub(super) mod keyed;
pub(crate) mod merge;
pub(crate) mod rewrite;
pub(crate) mod tracking;
pub(crate) mod vectors;
