//! Producing and expiring snapshots.
//!
//! [`producer`] runs a commit: its input is in [`changes`], each try is an [`attempt`]. [`expire`] removes old
//! snapshots, [`orphans`] finds files that no snapshot needs.

pub(crate) mod attempt;
pub mod changes;
pub(crate) mod conflicts;
pub(crate) mod entries;
pub mod expire;
pub mod hashes;
pub(crate) mod index;
pub(crate) mod manifests;
pub(crate) mod merge;
pub mod orphans;
pub mod producer;
pub(crate) mod retention;
