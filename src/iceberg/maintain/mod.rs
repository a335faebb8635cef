//! Maintenance: expiry, orphan files, compaction, manifests, statistics.

pub mod checks;
pub(crate) mod compact;
pub(crate) mod compact_order;
pub(crate) mod compact_plan;
pub(crate) mod delete_parts;
pub(crate) mod deletes;
pub(crate) mod expire;
pub(crate) mod json;
pub(crate) mod listing;
pub(crate) mod live_deletes;
pub(crate) mod manifests;
pub(crate) mod orphan_parts;
pub(crate) mod orphans;
pub(crate) mod partition_statistics;
pub(crate) mod parts;
pub(crate) mod parts_json;
pub(crate) mod statistics;
