//! The Iceberg tower: bytes of the format to tasks and commits.

pub mod entries;
