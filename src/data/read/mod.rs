//! Reading files and tasks.
//!
//! [`task`] is the entry: it gives the rows of any task. [`read_ahead`] reads many tasks on several threads. [`live`]
//! gives the rows of one file that its deletes leave, and [`file`](mod@file) gives them before deletes are applied.
//!
//! Below that, `source` has the traits that a file format implements, and `file_reader` the steps that are the same for
//! all formats. `file_columns` are the columns that a file has, `bucket_file_columns` those of a Paimon file, and
//! `name_mapping` gives ids to columns that have none. `project` turns them into the columns of the table: `cast`
//! changes types, `defaults` and `constants` fill in columns that the file lacks, `row_columns` and `row_lineage` give
//! metadata columns. `filter_columns` finds the columns that a filter asks about, and [`filter`] evaluates it.
//!
//! [`rows`] has streams of rows. `guard` turns panics of the crates that decode files into errors.

pub(crate) mod bucket_file_columns;
pub(crate) mod cast;
pub(crate) mod constants;
pub(crate) mod defaults;
pub mod file;
pub(crate) mod file_columns;
pub(crate) mod file_reader;
pub mod filter;
pub(crate) mod filter_columns;
pub(crate) mod guard;
pub mod live;
pub(crate) mod name_mapping;
pub(crate) mod project;
pub mod read_ahead;
pub(crate) mod row_columns;
pub(crate) mod row_lineage;
pub mod rows;
pub(crate) mod source;
pub mod task;
