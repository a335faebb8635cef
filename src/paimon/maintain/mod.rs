//! Maintenance: compaction, expiry, orphan files.
//!
//! [`actions`] runs an action. [`compact`] runs a compaction, and [`compact_job`] is its plan.
//!
//! - `column_facts`: what the rows of a table say about one column
//! - `compact_append`: compaction of tables without primary key: joins small files, in their order where the
//!   table has buckets
//! - `compact_keyed`: compaction of tables with a primary key: merges the rows of a bucket by key, level by
//!   level
//! - `compact_postponed`: postponed buckets: gives waiting rows their buckets by the hashes of their keys
//! - `compaction`: the tables and options that a compaction takes, and the counts of its result
//! - `done_partitions`: marks partitions as complete
//! - `file_indexes`: writes the indexes of existing data files again
//! - `global_indexes`: takes global indexes out of a table
//! - `loads`: the files of other formats whose rows a table got
//! - `manifest_rewrite`: joins manifests
//! - `materialize`: writes rows again without those that deletion vectors delete
//! - `progress`: the progress of consumers, and the earliest snapshot
//! - `purge`: removes everything but the table itself
//! - `row_ids`: gives rows other ids, so that the ids of a partition follow each other
//! - `statistics`: statistics of the current snapshot

pub(crate) mod actions;
mod column_facts;
pub mod compact;
pub(crate) mod compact_append;
pub(crate) mod compact_job;
pub(crate) mod compact_keyed;
pub(crate) mod compact_postponed;
pub mod compaction;
pub(crate) mod done_partitions;
pub(crate) mod file_indexes;
pub(crate) mod global_indexes;
pub(crate) mod loads;
pub(crate) mod manifest_rewrite;
pub(crate) mod materialize;
pub(crate) mod progress;
pub(crate) mod purge;
pub(crate) mod row_ids;
pub(crate) mod statistics;
