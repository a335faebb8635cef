//! Planning: from a snapshot and a filter to splits.
//!
//! [`input`] is pruned by [`files`] with the [`rules`] of the table. The remaining files are grouped into [`buckets`]
//! and packed into [`splits`], which are the [`planned`] result. [`planner`] plans a version, [`changes`] the changes
//! between two versions.
//!
//! - `bucket_filter`: the buckets that a filter reaches, if it fixes the bucket key
//! - `compact_pick`: picks the files of a bucket that are compacted, and the level that they get
//! - `compact_plan`: files of a compaction: the files of each bucket, and the steps for those that are picked
//! - `deletes`: deletion vectors of a snapshot's data files, and their locations
//! - `estimate`: the estimated cost of planning, by the manifest lists alone
//! - `evolution`: groups of files that each hold some columns of the same rows: their joint statistics, and the files
//!   that are needed
//! - `index`: file indexes in separate files next to the data files
//! - `record_expiry`: rows of tables with a primary key that expire after some time: compactions drop them
//! - `sections`: overlapping files of a bucket: sections that share no key, and sorted runs within a section
//! - `travel`: the snapshot and schema that a scan reads, by its options: time travel and start modes
//! - `why`: why planning kept or left out each file of a snapshot: the stage, the clause and the bound

pub mod bucket_filter;
pub(crate) mod buckets;
pub mod changes;
pub mod compact_pick;
pub mod compact_plan;
pub mod deletes;
pub mod estimate;
pub(crate) mod evolution;
pub(crate) mod files;
pub(crate) mod index;
pub mod input;
pub mod planned;
pub mod planner;
pub mod record_expiry;
pub(crate) mod rules;
pub mod sections;
pub(crate) mod splits;
pub mod travel;
pub mod why;
