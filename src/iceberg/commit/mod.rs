//! Producing snapshots.
//!
//! - `apply_updates`: applies updates to a table's metadata, as a catalog does that takes commits as
//!   requirements and updates
//! - `cherry_pick`: publishes a staged snapshot, or one of another branch, on `main`
//! - `expire`: finds expired snapshots and references, and builds the table's metadata without them
//! - `fingerprint`: detects commit messages that were committed before, so that their rows are not added a
//!   second time
//! - `live`: lookup of files in a table's manifests
//! - `manifests`: the manifests and manifest lists that a commit writes, and the entries of manifests that it
//!   rewrites
//! - `merge`: merges small manifests, so that planning stays fast for tables with many commits
//! - `metadata_commit`: A commit as requirements and updates: the difference between two versions of a
//!   table's metadata
//! - `own_folders`: the folders of a table. Only files below them are deleted
//! - `preconditions`: the preconditions of a change, checked against the commits made since it was planned
//! - `producer`: producing snapshots: the files that one adds and removes, its preconditions and its
//!   manifests
//! - `reachable`: the files that the snapshots of a table lead to, found without keeping their paths
//! - `removal`: removes files from a snapshot: finds and rewrites the manifests that hold them
//! - `requirement`: the conditions that a catalog checks before it commits, with their JSON
//! - `rewrite`: rewrites manifests so that each holds neighbouring partitions
//! - `row_ids`: checks that rewritten rows keep their ids: no row may have got its id after it was read
//! - `snapshot_input`: the planned content of a new snapshot
//! - `summary`: the summary of a snapshot, with the same keys as Java's `SnapshotSummary`
//! - `update`: changes of a table's metadata, in the form and JSON that a REST catalog takes

pub mod apply_updates;
pub(crate) mod cherry_pick;
pub mod expire;
pub(crate) mod fingerprint;
pub(crate) mod live;
pub(crate) mod manifests;
pub(crate) mod merge;
pub mod metadata_commit;
pub(crate) mod own_folders;
pub mod preconditions;
pub mod producer;
pub mod reachable;
pub(crate) mod removal;
pub mod requirement;
pub(crate) mod rewrite;
pub(crate) mod row_ids;
pub mod snapshot_input;
pub(crate) mod summary;
pub mod update;
