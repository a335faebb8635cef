//! The Iceberg tower: bytes of the format to tasks and commits.

pub mod catalog;
pub mod entries;
pub mod members;
pub mod metadata;
pub mod metadata_build;
mod metadata_encode;
pub mod metadata_json;
pub mod partition_by;
pub mod partition_json;
pub mod schema;
pub mod snapshot;
pub mod sort_order;
