//! Maintenance: expiry, orphan files, compaction, manifests, statistics.
//!
//! [`actions`] runs an action. Its parts can also be planned, done and committed one by one: [`parts`] and others.
//!
//! - `checks`: keeping tables small and fast: expiring snapshots, removing orphan files, rewriting manifests
//!   and files, and computing statistics
//! - `compact`: rewriting data files: small files are put together, and deleted rows are left out
//! - `compact_order`: the order that rows get when files are rewritten
//! - `compact_plan`: which data files to rewrite together
//! - `delete_parts`: position delete files rewritten in parts
//! - `deletes`: rewriting delete files, and removing those that no longer delete anything
//! - `expire`: expiring snapshots, and deleting the files that only they led to
//! - `listing`: lists the files below a folder, without hidden ones
//! - `live_deletes`: the data and delete files of a snapshot, and which delete files apply to its data
//! - `manifests`: rewriting manifests
//! - `orphan_parts`: finding orphans in parts
//! - `orphans`: removing files that no version of the table leads to: remains of failed or killed writers
//! - `partition_statistics`: statistics of partitions in a file: their contents and last change
//! - `statistics`: statistics of snapshots, computed and put into the table's metadata: distinct values of
//!   columns, and partitions

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
