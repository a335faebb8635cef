//! What the verbs of all formats share: streams, shapes, keys, matching.

pub mod assignments;
pub mod change_columns;
pub(crate) mod clauses;
pub mod column_statistics;
pub mod explanation;
pub mod judged_files;
pub(crate) mod key_columns;
pub(crate) mod key_ranges;
pub(crate) mod keys;
pub(crate) mod matcher;
pub mod metadata_rows;
pub mod native_read;
pub mod patch;
pub mod placed;
pub mod plan_table;
pub(crate) mod scan_options;
pub mod seam;
pub(crate) mod shape;
pub(crate) mod source;
pub mod statistics;
pub mod stream;
