//! Maintenance: expiry, orphan files, compaction, manifests, statistics.
//!
//! [`actions`] runs an action. Its parts can also be planned, done and committed one by one: [`parts`] and others.

pub(crate) mod actions;
pub mod checks;
pub(crate) mod compact;
pub(crate) mod compact_order;
pub(crate) mod compact_plan;
pub(crate) mod delete_parts;
pub(crate) mod deletes;
pub(crate) mod expire;
pub(crate) mod listing;
pub(crate) mod live_deletes;
pub(crate) mod manifests;
pub(crate) mod orphan_parts;
pub(crate) mod orphans;
pub(crate) mod partition_statistics;
pub(crate) mod parts;
pub(crate) mod statistics;
