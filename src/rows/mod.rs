//! Parts that the operations of all formats share: streams, shapes, keys, matching.
//!
//! - `change_columns`: the columns of scans of changes
//! - `column_statistics`: combines the statistics of files into statistics of one column
//! - `explanation`: the result of `explain`: the stages of a plan, its deletes, its clauses, its commits
//! - `judged_files`: decisions about files as Arrow columns
//! - `metadata_rows`: rows of a metadata table
//! - `native_read`: the files of a scan that an engine's own Parquet reader can read, as plain data
//! - `plan_table`: planned files as Arrow columns, straight from the decoded columns
//! - `row_changes`: changing rows in any format: keys, the source's rows, clauses, the result for a row
//! - `scan_options`: the options of a scan, as texts under the formats' names
//! - `seam`: the seam between table formats and everything above them
//! - `shape`: the rows and columns of a scan, for any table format
//! - `statistics`: statistics of a scan from metadata: counts and bounds
//! - `stream`: the rows of a scan or a split as a stream of batches

pub mod change_columns;
pub mod column_statistics;
pub mod explanation;
pub mod judged_files;
pub mod metadata_rows;
pub mod native_read;
pub mod plan_table;
pub mod row_changes;
pub(crate) mod scan_options;
pub mod seam;
pub(crate) mod shape;
pub mod statistics;
pub mod stream;
