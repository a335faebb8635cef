//! Producing and expiring snapshots.

pub(crate) mod changes;
pub(crate) mod conflicts;
pub mod expire;
pub mod hashes;
pub(crate) mod index;
pub(crate) mod manifests;
pub(crate) mod merge;
pub mod orphans;
pub mod producer;
pub(crate) mod retention;
