//! The Iceberg tower: bytes of the format to tasks and commits.

pub mod entries;
pub mod manifest_list;
pub mod partition;
pub mod partition_bounds;
pub mod statistics;
