//! Writes the files that [`super`] reads: streams, statistics and tails as bytes.
//!
//! A [`StreamWriter`] compresses its input, chunk by chunk. [`IntegerWriter`], [`ByteRunWriter`] and [`BitWriter`]
//! encode for it. Each knows its position, which row indexes record. The types that describe messages also write them:
//! [`FooterParts`], [`StripeParts`], `OrcColumnStatistics`.
//!
//! Everything is version 0.12 of the format, with integers as runs of version 2.
//!
//! - `bloom`: bloom filters of the values of a column in a group of rows, as readers ask them for `=` and
//!   `in`
//! - `bytes`: encodes runs of bytes, and bits
//! - `integers`: encodes runs of integers, version 2: repeated values, constant steps, monotonic steps, and
//!   all others by their bits
//! - `message`: encodes the fields of a Protocol Buffers message
//! - `messages`: Protocol Buffers messages: the tail of a file, the footers and indexes of its stripes
//! - `runs`: collects values until they are encoded as runs
//! - `statistics`: statistics of the values of a column, in a file, a stripe or a group of rows
//! - `stream`: compresses streams

mod bloom;
mod bytes;
mod integers;
mod message;
mod messages;
mod runs;
mod statistics;
mod stream;

pub use bloom::{BloomFilter, bloom_filters};
pub use bytes::{BitWriter, ByteRunWriter};
pub use integers::IntegerWriter;
pub use messages::{
    EncodingOut, FooterParts, RowIndexEntry, StreamOut, StripeParts, TypeOut, row_index, stripe_statistics,
};
pub use statistics::{Cut, KindStatistics, OrcColumnStatistics};
pub use stream::{Compressor, StreamWriter};
