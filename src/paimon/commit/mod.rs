//! Producing and expiring snapshots.

pub(crate) mod changes;
pub(crate) mod conflicts;
pub mod expire;
pub(crate) mod expired_files;
pub(crate) mod expiry_roots;
pub mod hashes;
pub(crate) mod index;
pub(crate) mod manifests;
pub(crate) mod merge;
pub mod orphans;
pub mod producer;
pub mod record_expiry;
pub(crate) mod retention;
pub mod tag_times;
