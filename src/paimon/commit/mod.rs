//! Producing and expiring snapshots.
//!
//! [`producer`] runs a commit: its input is in [`changes`], each try is an [`attempt`]. [`expire`] removes old
//! snapshots, [`orphans`] finds files that no snapshot needs.
//!
//! - `conflicts`: checks whether a commit fits the latest snapshot
//! - `entries`: manifest entries for the changes of a commit, on top of one snapshot
//! - `hashes`: the hash index of a new snapshot: the keys of each bucket, for tables with dynamic buckets
//! - `index`: the index files of a new snapshot: those of the snapshot before, with the changes of the commit
//! - `manifests`: the metadata files that a commit writes
//! - `mending`: commits that mend what a snapshot records about its manifests
//! - `merge`: merging the manifests of earlier commits: joins small ones, divides large ones in rewrites, and cancels
//!   additions that were deleted later
//! - `renumber`: new ids for rows of partitions whose ids have gaps
//! - `retention`: how long snapshots and changelogs are kept, by the table's options or by the caller's

pub(crate) mod attempt;
pub mod changes;
pub(crate) mod conflicts;
pub(crate) mod entries;
pub mod expire;
pub mod hashes;
pub(crate) mod index;
pub(crate) mod manifests;
pub(crate) mod mending;
pub(crate) mod merge;
pub mod orphans;
pub mod producer;
pub(crate) mod renumber;
pub(crate) mod retention;
#[cfg(test)]
pub(in crate::paimon) mod testing;
