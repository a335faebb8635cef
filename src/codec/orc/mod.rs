//! ORC files: the contents of their tails and the encodings of their streams.
//!
//! [`PostScript`] is at the very end and has the length of the [`OrcFooter`], which has the types and the stripes.
//! Each stripe ends with a [`StripeFooter`], which has the places of its columns' streams. A [`Stream`] decompresses
//! one, chunk by chunk. [`Integers`], [`BitReader`] and [`ByteRuns`] decode its bytes.
//!
//! Memory grows only as bytes are decoded, even if a file claims more. ORC has no checksums: changed bytes in the data
//! of a column may give other values.
//!
//! [`encode`] is the inverse.
//!
//! Source: ORC specification v1, with the types' attributes of the project's `orc_proto.proto`.
//!
//! - `bytes`: runs of bytes, and of bits packed into them (specification, "Byte Run Length Encoding" and
//!   "Boolean Run Length Encoding")
//! - `compression`: how streams and metadata are compressed: in chunks, each decompressed on its own
//! - `integers`: runs of integers (specification, "Integer Run Length Encoding", versions 1 and 2)
//! - `protobuf`: reads Protocol Buffers messages, field by field
//! - `stream`: the bytes of a stream, decompressed when they are needed
//! - `tail`: the tail of a file, and the footers of its stripes

mod bytes;
mod compression;
pub mod encode;
mod integers;
mod protobuf;
mod stream;
mod tail;

pub use bytes::{BitReader, ByteRuns};
pub use compression::{Compression, OrcCodec};
pub use integers::{IntegerEncoding, Integers};
pub use stream::Stream;
pub use tail::{
    Encoding, MAGIC, OrcFooter, OrcKind, PostScript, ROUNDED_BY_JAVA, StreamInfo, StreamKind, StripeFooter, StripeInfo,
    TypeInfo,
};
