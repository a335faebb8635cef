//! The Iceberg tower: bytes of the format to tasks and commits.

pub mod entries;
pub mod manifest;
pub mod manifest_avro;
mod manifest_decode;
pub mod manifest_encode;
pub mod manifest_layout;
pub mod manifest_list;
