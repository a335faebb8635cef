//! Parts that the operations of all formats share: streams, shapes, keys, matching.

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
