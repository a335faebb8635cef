//! Maintenance: compaction, expiry, orphan files.
//!
//! [`actions`] runs an action. [`compact`] runs a compaction, and [`compact_job`] is its plan.
//!
//! - `compact_append`: compaction of tables without primary key: joins small files, in their order where the
//!   table has buckets
//! - `compact_keyed`: compaction of tables with a primary key: merges the rows of a bucket by key, level by
//!   level
//! - `compact_postponed`: postponed buckets: gives waiting rows their buckets by the hashes of their keys
//! - `compaction`: the tables and options that a compaction takes, and the counts of its result

pub(crate) mod actions;
pub mod compact;
pub(crate) mod compact_append;
pub(crate) mod compact_job;
pub(crate) mod compact_keyed;
pub(crate) mod compact_postponed;
pub mod compaction;
