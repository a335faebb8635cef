//! Parts of the Parquet format that need no Arrow: Thrift, compression, run-length encoding.
//!
//! - `compression`: the compression codecs of Parquet pages
//! - `delta`: how many delta-encoded numbers a page claims
//! - `ends`: which minimum and maximum in statistics can be believed
//! - `known_writers`: writers with known faults, by the text `created_by`
//! - `rle`: runs of small numbers in Parquet pages: definition levels and dictionary indices
//! - `thrift`: checks Parquet's Thrift structures before the parquet crate decodes them

pub(crate) mod compression;
pub(crate) mod delta;
pub(crate) mod ends;
#[cfg(test)]
pub(crate) mod footer_testing;
pub(crate) mod known_writers;
pub(crate) mod rle;
pub(crate) mod thrift;
