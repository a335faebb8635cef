//! Appending rows and files, and committing the messages of distributed writers.
//!
//! - `add_files`: adding existing Parquet files to a table where they are, without reading their rows
//! - `append`: appending rows: new files are written and committed at once, or only written
//! - `commit_messages`: messages of writers, perhaps in other processes: committed together as one append,
//!   row delta or rewrite, or abandoned
//! - `contexts`: the columns, sort order and locations with which rows of a table are written
//! - `engine_files`: files that an engine's own Parquet writer made for a table, in the folder of one job, as
//!   a message
//! - `message_lineage`: checks the row ids of rewritten rows: each row keeps its id, and no row gets another
//! - `overwriting`: messages whose rows replace others
//! - `replaced`: checks the remaining rows of files that messages replace, at the version that the rows were
//!   read at

pub(crate) mod add_files;
pub(crate) mod append;
pub(crate) mod commit_messages;
pub(crate) mod contexts;
pub(crate) mod engine_files;
pub(crate) mod message_lineage;
pub(crate) mod overwriting;
pub(crate) mod replaced;
