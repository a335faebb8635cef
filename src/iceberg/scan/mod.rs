//! Scans: planning, explaining and reading through Arrow.
//!
//! - `column_statistics`: combines the metrics of files into statistics of one column
//! - `coverage`: the number of rows of a planned file that match a filter, as far as metadata tells
//! - `deleted_rows`: deleted rows in a form for engines to look up: one number for 64 rows of a file, with a
//!   bit for each row
//! - `explain`: explains a scan: the pruning funnel, the effect of each clause, the verdict on every manifest and
//!   file, and the cost of planning
//! - `explain_changes`: explains a changelog: the funnel over all commits, and the effect of each commit
//! - `explain_clauses`: the effect of each clause of a filter: the stages at which it can prune, and why it
//!   can't at others
//! - `explain_facts`: the figures of an explanation: the table, the filter, and how much each pruning stage
//!   kept
//! - `explain_files`: verdicts on manifests and files as Arrow columns
//! - `handle`: scans: immutable descriptions of reads, planned and read lazily
//! - `history`: scans of the changes between two versions: the snapshots that they cover, and their columns
//! - `native_read`: decides which files of a scan an engine's own Parquet reader can read
//! - `packed_splits`: A scan's splits, packed as they are planned without an object for each file
//! - `plan_parts`: planning in parts, by many processes: each part has some of a snapshot's manifests, and is
//!   planned alone
//! - `plan_table`: planned batches as Arrow columns. Small ones are joined
//! - `served`: scans that the catalog's server plans
//! - `statistics`: row counts and column statistics of a scan, from metadata alone: manifests are read, data
//!   files are not
//! - `survivors`: the files that a plan keeps, counted for an explanation
//! - `version`: the version of a table that a request names

pub(crate) mod column_statistics;
pub(crate) mod coverage;
pub mod deleted_rows;
pub mod explain;
pub(crate) mod explain_changes;
pub(crate) mod explain_clauses;
pub(crate) mod explain_facts;
pub(crate) mod explain_files;
pub mod handle;
pub mod history;
pub mod native_read;
pub mod packed_splits;
pub mod plan_parts;
pub mod plan_table;
pub(crate) mod served;
pub mod statistics;
pub(crate) mod survivors;
pub(crate) mod version;
