//! Bytes to plain structs and back, without I/O.

pub mod avro;
pub mod bitmap;
pub mod blob_file;
pub mod columns;
pub mod file_index;
pub mod long_bitmap;
pub mod orc;
pub mod parquet;
pub mod puffin;
pub mod theta;
pub mod variant;
pub mod xxhash;
