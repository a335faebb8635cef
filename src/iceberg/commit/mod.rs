//! Producing snapshots.

pub(crate) mod cherry_pick;
pub mod expire;
pub(crate) mod fingerprint;
pub(crate) mod live;
pub(crate) mod manifests;
pub(crate) mod merge;
pub(crate) mod preconditions;
pub mod producer;
pub mod reachable;
pub(crate) mod removal;
pub(crate) mod rewrite;
pub(crate) mod row_ids;
pub mod snapshot_input;
pub(crate) mod summary;
