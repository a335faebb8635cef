//! Writing: rows to new data files, and new files to snapshots.
//!
//! [`writer`] is the writer of a table, set up by [`write_plan`]. [`append`] writes and commits, [`commit_messages`]
//! writes in one process and commits in another; both commit through [`settle`]. [`bucket_writer`] is the writer of
//! compactions.

pub(crate) mod append;
pub(crate) mod append_rows;
pub(crate) mod bucket_writer;
pub(crate) mod buckets;
pub(crate) mod commit_messages;
pub(crate) mod default_values;
pub(crate) mod facts;
pub(crate) mod file_indexes;
pub(crate) mod file_options;
pub(crate) mod keyed;
pub(crate) mod limits;
pub(crate) mod names;
pub(crate) mod new_files;
pub(crate) mod properties;
pub(crate) mod replaced;
pub(crate) mod settle;
pub(crate) mod stats;
pub(crate) mod write_plan;
pub mod writer;
pub(crate) mod written;
