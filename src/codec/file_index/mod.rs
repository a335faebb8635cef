//! Paimon's file index: facts about the values of a data file beyond their bounds, to skip the file.
//!
//! A [`FileIndex`] has one or several indexes for some columns. An index is a Bloom filter, a bitmap of rows for each
//! value, or bit slices of the values. A small file index lies in the manifest entry. A large one is a file of its own
//! in the folder of the data file. Each index says which rows may match a filter ([`MetadataRows`]). `and` and `or`
//! combine the answers, as Java does.
//!
//! [`IndexWriter`] makes indexes and [`encode_file_index`] puts those of a file together. The modules `*_write` are
//! the counterparts of the readers.
//!
//! Source: Paimon specification, "File index".
//!
//! - `be`: reads big-endian numbers one after the other, never past the end
//! - `bit_slices`: bit slices of dictionary codes
//! - `bitmap`: bitmap indexes: for each value the rows that have it
//! - `bitmap_write`: writes bitmap indexes
//! - `bloom`: bloom filters of 64-bit hashes
//! - `bsi`: bit-slice indexes of whole numbers: for each bit of the magnitudes, the rows that have it set
//! - `bsi_write`: writes bit-slice indexes
//! - `container`: the container: which columns have which indexes, and where
//! - `dictionary`: sorted dictionaries in chunks: a chunk has its first key, and the others are stored elsewhere
//! - `key`: values as indexes store them, and the question that a filter's comparison asks about them
//! - `options`: how indexes are made
//! - `out`: writes big-endian numbers one after the other
//! - `range_bitmap`: range-bitmap indexes: a sorted dictionary of the values and bit slices of their codes
//! - `range_bitmap_write`: writes range-bitmap indexes
//! - `rows`: which rows of a file may match
//! - `value_rows`: the rows of each value of a column, for bitmap indexes
//! - `write`: makes indexes, value by value, and joins those of a data file

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
