//! Maintenance: compaction, expiry, orphan files.

pub mod compact;
pub(crate) mod compact_append;
pub(crate) mod compact_json;
pub(crate) mod compact_keyed;
pub(crate) mod compact_postponed;
pub(crate) mod json;
