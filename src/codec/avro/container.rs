//! The object container: header, block index, and decompression of a block.
//!
//! Source: Apache Avro 1.12 specification, "Object Container Files".

use std::ops::Range;

use libdeflater::{DecompressionError, Decompressor};
use zstd::zstd_safe::{self, DCtx};

use super::decode::Cursor;
use super::schema::Node;
use crate::error::{Error, Result};

/// First bytes of a container.
pub const MAGIC: &[u8; 4] = b"Obj\x01";

/// First bytes of files that Iceberg encrypts as a whole (its specification, "AES GCM Stream file format").
const ENCRYPTED_MAGIC: &[u8; 4] = b"AGS1";

/// Bytes of a sync marker.
pub const SYNC_LENGTH: usize = 16;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AvroCodec {
    /// No compression.
    Null,
    /// Raw deflate (Java Iceberg's `gzip`).
    #[default]
    Deflate,
    /// Snappy and a CRC-32 of the uncompressed bytes.
    Snappy,
    /// Zstandard.
    Zstd,
}

impl AvroCodec {
    /// Reads `avro.codec`.
    ///
    /// # Errors
    /// `Unsupported` for unknown codecs.
    pub fn parse(name: &str) -> Result<AvroCodec> {
        match name {
            "null" | "" => Ok(AvroCodec::Null),
            "deflate" => Ok(AvroCodec::Deflate),
            "snappy" => Ok(AvroCodec::Snappy),
            "zstandard" => Ok(AvroCodec::Zstd),
            other => Err(Error::unsupported(format!("the Avro codec '{other}' can't be read"))
                .hint("Readable are null, deflate, snappy and zstandard")),
        }
    }

    /// The name in `avro.codec`.
    pub fn as_str(self) -> &'static str {
        match self {
            AvroCodec::Null => "null",
            AvroCodec::Deflate => "deflate",
            AvroCodec::Snappy => "snappy",
            AvroCodec::Zstd => "zstandard",
        }
    }
}

/// The error for a file that begins with other bytes.
fn not_avro(bytes: &[u8]) -> Error {
    match bytes.starts_with(ENCRYPTED_MAGIC) {
        true => Error::unsupported("encrypted files cannot be read yet"),
        false => Error::corrupt("the file does not begin as Avro does"),
    }
}

/// One block of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The number of records, as claimed.
    pub count: u64,
    /// The range of its compressed bytes in the file.
    pub range: Range<usize>,
}

/// A parsed container over the bytes of a whole file.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    bytes: &'a [u8],
    sync: [u8; SYNC_LENGTH],
    metadata: Vec<(&'a str, &'a [u8])>,
    /// The size of the header in bytes.
    pub header_length: usize,
    /// How the blocks are compressed.
    pub codec: AvroCodec,
    /// The blocks in the order of the file. Their sync markers are checked.
    pub blocks: Vec<Block>,
}

impl<'a> Container<'a> {
    /// Reads the header and finds the blocks; decompresses nothing.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a complete container; `Unsupported` for an unknown codec.
    pub fn parse(bytes: &'a [u8]) -> Result<Container<'a>> {
        let mut container = Container::head(bytes)?;
        let mut cursor = Cursor::new(bytes.get(container.header_length..).unwrap_or_default());
        while !cursor.rest().is_empty() {
            let block = read_block(&mut cursor, bytes.len(), &container.sync).map_err(|e| {
                Error::corrupt(format!("block {} of the Avro file is torn", container.blocks.len())).because(e)
            })?;
            container.blocks.push(block);
        }
        Ok(container)
    }

    /// Reads only the header. The bytes may end anywhere after it.
    ///
    /// # Errors
    /// Errors of [`Container::parse`].
    pub fn head(bytes: &'a [u8]) -> Result<Container<'a>> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| not_avro(bytes))?;
        let mut cursor = Cursor::new(rest);
        let header = |e: Error| Error::corrupt("the Avro header is torn").because(e);
        let metadata = read_metadata(&mut cursor).map_err(header)?;
        let sync = cursor.take(SYNC_LENGTH).map_err(header)?.try_into();
        let sync = sync.map_err(|e| Error::internal("a sync marker has another length").because(e))?;
        let codec = match metadata.iter().rev().find(|(k, _)| *k == "avro.codec") {
            None => AvroCodec::Null,
            Some((_, name)) => AvroCodec::parse(&String::from_utf8_lossy(name))?,
        };
        let header_length = bytes.len() - cursor.rest().len();
        Ok(Container { bytes, sync, metadata, header_length, codec, blocks: Vec::new() })
    }

    /// The marker that ends the header and every block.
    pub fn sync(&self) -> [u8; SYNC_LENGTH] {
        self.sync
    }

    /// A metadata value. If a key is repeated, the last value counts.
    pub fn metadata(&self, key: &str) -> Option<&'a [u8]> {
        self.metadata.iter().rev().find(|(k, _)| *k == key).map(|(_, v)| *v)
    }

    /// A metadata value as text.
    ///
    /// # Errors
    /// `CorruptTable` if it is not UTF-8.
    pub fn metadata_text(&self, key: &str) -> Result<Option<&'a str>> {
        let text = |v| std::str::from_utf8(v).map_err(|e| not_text(key).because(e));
        self.metadata(key).map(text).transpose()
    }

    /// The writer's schema as JSON text.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a container file.
    pub fn schema_json(&self) -> Result<&'a str> {
        self.metadata_text("avro.schema")?.ok_or_else(|| Error::corrupt("the Avro header has no schema"))
    }

    /// The writer's schema.
    ///
    /// # Errors
    /// Errors of [`Node::parse`] and [`Container::schema_json`].
    pub fn schema(&self) -> Result<Node> {
        Node::parse(self.schema_json()?)
    }

    /// The compressed bytes of a block.
    ///
    /// # Errors
    /// `InvalidInput` if the block does not exist.
    pub fn block_data(&self, index: usize) -> Result<&'a [u8]> {
        (self.blocks.get(index).and_then(|b| self.bytes.get(b.range.clone())))
            .ok_or_else(|| Error::invalid(format!("the Avro file has no block {index}")))
    }
}

#[cold]
fn not_text(key: &str) -> Error {
    Error::corrupt(format!("'{key}' of the Avro header is not UTF-8"))
}

fn read_metadata<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<(&'a str, &'a [u8])>> {
    let mut out = Vec::new();
    while let Some(run) = cursor.run()? {
        for _ in 0..run.count {
            out.push((cursor.string()?, cursor.bytes()?));
        }
    }
    Ok(out)
}

/// Reads the head of a block: its records and compressed bytes, both as claimed.
///
/// # Errors
/// `CorruptTable` if the bytes end earlier, or a number is negative.
pub fn block_head(cursor: &mut Cursor<'_>) -> Result<(u64, u64)> {
    let (count, length) = (cursor.long()?, cursor.long()?);
    let claims = |what: &str| Error::corrupt(format!("a block of the Avro file claims {what}"));
    let count = u64::try_from(count).map_err(|_| claims(&format!("{count} records")))?;
    let length = u64::try_from(length).map_err(|_| claims(&format!("{length} bytes")))?;
    Ok((count, length))
}

/// Checks the sync marker after a block.
///
/// # Errors
/// `CorruptTable` if it is not the file's marker.
pub fn check_sync(found: &[u8], sync: &[u8; SYNC_LENGTH]) -> Result<()> {
    match found.starts_with(sync) {
        true => Ok(()),
        false => Err(Error::corrupt("the sync marker after the block is not the file's")),
    }
}

fn read_block(cursor: &mut Cursor<'_>, file_length: usize, sync: &[u8; SYNC_LENGTH]) -> Result<Block> {
    let (count, length) = block_head(cursor)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    cursor.take(length)?;
    let end = file_length - cursor.rest().len();
    check_sync(cursor.take(SYNC_LENGTH)?, sync)?;
    Ok(Block { count, range: end - length..end })
}

/// The largest size of a decompressed block.
const MAX_BLOCK: usize = 1 << 30;

/// The largest factor by which deflate can expand bytes.
const DEFLATE_RATIO: usize = 1032;

/// The largest factor for zstandard. One of its blocks holds at most 128 KiB, and takes at least a header and a byte
/// (RFC 8878, 3.1.1.2).
const ZSTD_RATIO: usize = (128 << 10) / 4;

/// The largest decompressed size at which zstandard may exceed deflate's factor. A block holds one record, or some
/// records in 64,000 bytes.
const MAX_REPEATED: usize = 128 << 20;

/// The block size that is allowed at any ratio.
const ALWAYS_ALLOWED: usize = 1 << 20;

/// The block size of Java: 64,000 bytes and one record.
const FIRST_GUESS: usize = 96 << 10;

/// Decompresses blocks one after another into one buffer. Create one for each thread.
#[derive(Default)]
pub struct Inflater {
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
    buffer: Vec<u8>,
}

impl Inflater {
    /// The uncompressed bytes of a block, valid until the next call.
    ///
    /// Memory is bounded by 1 GiB and by the larger of 1 MiB and 1032 times the input. With zstandard it is bounded by
    /// the most that zstandard can make of the input, at most 128 MiB.
    ///
    /// # Errors
    /// `CorruptTable` if the data is invalid for the codec, fails its checksum, or exceeds the bound.
    pub fn inflate<'b>(&'b mut self, codec: AvroCodec, data: &'b [u8]) -> Result<&'b [u8]> {
        let repeated =
            if codec == AvroCodec::Zstd { data.len().saturating_mul(ZSTD_RATIO).min(MAX_REPEATED) } else { 0 };
        let limit = data.len().saturating_mul(DEFLATE_RATIO).clamp(ALWAYS_ALLOWED, MAX_BLOCK).max(repeated);
        let length = match codec {
            AvroCodec::Null => return Ok(data),
            AvroCodec::Deflate => self.deflate(data, limit)?,
            AvroCodec::Snappy => self.snappy(data, limit)?,
            AvroCodec::Zstd => self.zstd(data, limit)?,
        };
        Ok(self.buffer.get(..length).unwrap_or_default())
    }

    fn deflate(&mut self, data: &[u8], limit: usize) -> Result<usize> {
        let decompressor = self.deflate.get_or_insert_with(Decompressor::new);
        grow(&mut self.buffer, first_size(data.len(), limit));
        loop {
            match decompressor.deflate_decompress(data, &mut self.buffer) {
                Ok(length) => return Ok(length),
                Err(DecompressionError::InsufficientSpace) => enlarge(&mut self.buffer, limit)?,
                Err(DecompressionError::BadData) => return Err(Error::corrupt("the block is not deflate data")),
            }
        }
    }

    fn snappy(&mut self, data: &[u8], limit: usize) -> Result<usize> {
        let bad = |e: snap::Error| Error::corrupt("the block is not snappy data").because(e);
        let (data, checksum) =
            data.split_last_chunk::<4>().ok_or_else(|| Error::corrupt("the block has no checksum"))?;
        let claimed = snap::raw::decompress_len(data).map_err(bad)?;
        if claimed > limit {
            return Err(too_large(limit));
        }
        grow(&mut self.buffer, claimed);
        let length = snap::raw::Decoder::new().decompress(data, &mut self.buffer).map_err(bad)?;
        if crc32fast::hash(self.buffer.get(..length).unwrap_or_default()) != u32::from_be_bytes(*checksum) {
            return Err(Error::corrupt("the checksum of the block does not match its content"));
        }
        Ok(length)
    }

    fn zstd(&mut self, data: &[u8], limit: usize) -> Result<usize> {
        let context = self.zstd.get_or_insert_with(DCtx::create);
        let claimed = zstd_safe::get_frame_content_size(data).ok().flatten();
        let first = match claimed.map(|n| usize::try_from(n).unwrap_or(usize::MAX)) {
            Some(n) if n > limit => return Err(too_large(limit)),
            // An unusually large claimed size gets its memory only as the data arrives.
            Some(n) => n.min(data.len().saturating_mul(DEFLATE_RATIO).max(ALWAYS_ALLOWED)),
            None => first_size(data.len(), limit),
        };
        grow(&mut self.buffer, first);
        loop {
            match context.decompress(&mut self.buffer[..], data) {
                Ok(length) => return Ok(length),
                Err(code) if is_too_small(code) => enlarge(&mut self.buffer, limit)?,
                Err(code) => {
                    let name = zstd_safe::get_error_name(code);
                    return Err(Error::corrupt(format!("the block is not zstandard data: {name}")));
                }
            }
        }
    }
}

/// `ZSTD_error_dstSize_tooSmall`; libzstd returns the negated code.
fn is_too_small(code: usize) -> bool {
    code == 70usize.wrapping_neg()
}

#[cold]
fn too_large(limit: usize) -> Error {
    Error::corrupt(format!("the block decompresses to more than {limit} bytes, which its compressed size can't mean"))
}

fn first_size(compressed: usize, limit: usize) -> usize {
    compressed.saturating_mul(4).max(FIRST_GUESS).min(limit)
}

fn grow(buffer: &mut Vec<u8>, size: usize) {
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
}

fn enlarge(buffer: &mut Vec<u8>, limit: usize) -> Result<()> {
    if buffer.len() >= limit {
        return Err(too_large(limit));
    }
    // An empty buffer has to grow, too: a first frame of zero bytes may say that there is nothing.
    let size = buffer.len().saturating_mul(4).max(FIRST_GUESS).min(limit);
    *buffer = vec![0; size];
    Ok(())
}

#[cfg(test)]
#[path = "container_tests.rs"]
mod tests;
