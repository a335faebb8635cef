//! Paimon's file index: what is known of the values of a data file beyond their bounds, to skip the file.
//!
//! A [`FileIndex`] holds for some columns one or several indexes: a Bloom filter, a bitmap of rows for each value, or
//! bit slices of the values. It lies in the manifest entry if it is small, else in a file beside the data file. Asked
//! about a filter, each index says which rows may match ([`MetadataRows`]); `and` and `or` combine that, as Java does.
//!
//! [`IndexWriter`] makes indexes and [`encode_file_index`] puts those of a file together; `*_write` are the
//! counterparts of the readers.
//!
//! Source: Paimon specification, "File index".

mod be;
mod bit_slices;
mod bitmap;
mod bitmap_write;
mod bloom;
mod bsi;
mod bsi_write;
mod container;
mod dictionary;
mod key;
mod options;
mod out;
mod range_bitmap;
mod range_bitmap_write;
mod rows;
#[cfg(test)]
mod tests;
mod value_rows;
mod write;

pub use container::{FileIndex, IndexKind};
pub use key::IndexedType;
pub use options::IndexOptions;
pub use rows::MatchingRows;
pub use write::{IndexBytes, IndexWriter, encode_file_index};
