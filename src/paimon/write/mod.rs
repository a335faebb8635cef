//! Writing: rows to new data files, and new files to snapshots.
//!
//! [`writer`] is the writer of a table, set up by [`write_plan`]. [`append`] writes and commits, [`commit_messages`]
//! writes in one process and commits in another; both commit through [`settle`]. [`bucket_writer`] is the writer of
//! compactions.
//!
//! - `append_rows`: rows of tables without primary key: checks them, and gives them their buckets
//! - `buckets`: the bucket of every row
//! - `default_values`: default values: the value of a column in rows that lack it or have null
//! - `facts`: facts about a file that are collected while its rows are written
//! - `file_indexes`: file indexes of new files: in the manifest if they are small, otherwise in files next to
//!   the data files
//! - `file_options`: options of files that differ from the table's other files
//! - `keyed`: writing tables with a primary key: kinds and order of rows, and the bucket of each key
//! - `limits`: limits of Paimon's types that Arrow's types do not have: narrow integers, lengths of texts and bytes,
//!   digits of times
//! - `names`: names and folders of new files: `<table>/<partition>/bucket-N/data-<uuid>-<n>.<format>`
//! - `new_files`: records of new files, as a commit adds them to manifests
//! - `properties`: table options that say how files are written, in the words of the writers of `crate::data`
//! - `replaced`: the rows that an overwrite replaces: all rows, or those of whole partitions
//! - `stats`: statistics of the rows of a file, as manifests record them
//! - `written`: the state of existing buckets, after which new rows continue

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
