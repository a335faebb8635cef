//! Parts of the Parquet format that need no Arrow: Thrift, compression, run-length encoding.

pub(crate) mod compression;
pub(crate) mod rle;
pub(crate) mod thrift;
