//! Metadata tables as Arrow.

pub(crate) mod arrays;
pub(crate) mod files;
pub(crate) mod human;
pub(crate) mod inspection;
pub(crate) mod logs;
pub(crate) mod manifests;
pub mod metadata_table;
pub(crate) mod metrics;
pub(crate) mod partitions;
pub(crate) mod position_deletes;
pub(crate) mod schemas;
pub mod tables;
