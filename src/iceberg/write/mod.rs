//! Appending rows and files, and committing the messages of distributed writers.

pub(crate) mod add_files;
pub(crate) mod append;
pub(crate) mod commit_messages;
pub(crate) mod contexts;
pub(crate) mod engine_files;
pub(crate) mod message_lineage;
pub(crate) mod overwriting;
pub(crate) mod replaced;
