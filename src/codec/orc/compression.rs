//! How streams and metadata are compressed: in chunks, each decompressed on its own.

use libdeflater::Decompressor;
use zstd::zstd_safe::{self, DCtx};

use crate::error::{Error, Result};

/// Bytes of a chunk's header.
pub(super) const HEADER: usize = 3;

/// The default maximum size of a decompressed chunk.
const DEFAULT_BLOCK: u64 = 256 << 10;

/// The length of a chunk has 23 bits.
const MAX_BLOCK: u64 = 1 << 23;

/// How chunks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrcCodec {
    /// No compression, and no chunks.
    None,
    /// Deflate without a header.
    Zlib,
    /// Raw Snappy.
    Snappy,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard frames.
    Zstd,
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The codec of all chunks.
    pub codec: OrcCodec,
    /// The largest size of a decompressed chunk.
    pub block_size: usize,
}

impl Compression {
    /// The compression for the numbers of a postscript.
    ///
    /// # Errors
    /// `Unsupported` for LZO and codecs of the future; `CorruptTable` for blocks larger than chunks can be.
    pub(super) fn new(kind: u64, block_size: Option<u64>) -> Result<Compression> {
        let codec = match kind {
            0 => OrcCodec::None,
            1 => OrcCodec::Zlib,
            2 => OrcCodec::Snappy,
            3 => return Err(Error::unsupported("ORC files compressed with LZO cannot be read")),
            4 => OrcCodec::Lz4,
            5 => OrcCodec::Zstd,
            n => return Err(Error::unsupported(format!("ORC files compressed with codec {n} cannot be read"))),
        };
        let block_size = block_size.filter(|n| *n > 0).unwrap_or(DEFAULT_BLOCK);
        if block_size > MAX_BLOCK && codec != OrcCodec::None {
            return Err(Error::corrupt(format!("the ORC file claims compressed blocks of {block_size} bytes")));
        }
        Ok(Compression { codec, block_size: block_size.min(MAX_BLOCK) as usize })
    }
}

/// A chunk's header: the bytes that follow, and whether they are compressed.
pub(super) fn chunk_header(header: [u8; HEADER]) -> (usize, bool) {
    let [a, b, c] = header;
    let bits = u32::from_le_bytes([a, b, c, 0]);
    ((bits >> 1) as usize, bits & 1 == 0)
}

/// Decompresses chunks, one after another.
#[derive(Default)]
pub(super) struct ChunkInflater {
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
}

impl ChunkInflater {
    /// Replaces `out` by the content of a compressed chunk.
    ///
    /// # Errors
    /// `CorruptTable` if the chunk was not made by the codec, or is larger than the file's blocks.
    pub(super) fn inflate(&mut self, compression: Compression, chunk: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.resize(compression.block_size, 0);
        let length = match compression.codec {
            OrcCodec::None => return Err(Error::internal("an uncompressed file has no chunks")),
            OrcCodec::Zlib => {
                let decompressor = self.deflate.get_or_insert_with(Decompressor::new);
                decompressor.deflate_decompress(chunk, out).map_err(|e| bad().because(e))?
            }
            OrcCodec::Snappy => match snap::raw::decompress_len(chunk) {
                Ok(n) if n > out.len() => return Err(bad()),
                _ => snap::raw::Decoder::new().decompress(chunk, out).map_err(|e| bad().because(e))?,
            },
            OrcCodec::Lz4 => lz4(chunk, out).ok_or_else(bad)?,
            OrcCodec::Zstd => {
                let context = self.zstd.get_or_insert_with(DCtx::create);
                context
                    .decompress(&mut out[..], chunk)
                    .map_err(|code| bad().because(zstd_safe::get_error_name(code)))?
            }
        };
        out.truncate(length);
        Ok(())
    }
}

impl std::fmt::Debug for ChunkInflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inflater")
    }
}

#[cold]
fn bad() -> Error {
    Error::corrupt("a compressed chunk of the ORC file is damaged")
}

/// Decompresses an LZ4 block. Returns the number of bytes, or `None` if the block is damaged or does not fit. A block
/// is a sequence of literals and copies of earlier output (LZ4 Block Format Description).
fn lz4(mut input: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut at = 0usize;
    loop {
        let (token, rest) = input.split_first()?;
        input = rest;
        let literals = lz4_length(&mut input, token >> 4)?;
        let (copied, rest) = input.split_at_checked(literals)?;
        input = rest;
        out.get_mut(at..at.checked_add(literals)?)?.copy_from_slice(copied);
        at += literals;
        if input.is_empty() {
            return Some(at);
        }
        let (offset, rest) = input.split_first_chunk::<2>()?;
        input = rest;
        let from = at.checked_sub(usize::from(u16::from_le_bytes(*offset))).filter(|from| *from < at)?;
        let length = lz4_length(&mut input, token & 15)?.checked_add(4)?;
        let end = at.checked_add(length).filter(|end| *end <= out.len())?;
        // A copy may overlap itself. Then the bytes that it has already written are repeated.
        let mut source = from;
        while at < end {
            let part = (at - source).min(end - at);
            out.copy_within(source..source + part, at);
            at += part;
            source = from;
        }
    }
}

fn lz4_length(input: &mut &[u8], nibble: u8) -> Option<usize> {
    let mut length = usize::from(nibble);
    if nibble == 15 {
        loop {
            let (byte, rest) = input.split_first()?;
            *input = rest;
            length = length.checked_add(usize::from(*byte))?;
            if *byte != 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inflate(codec: OrcCodec, chunk: &[u8], block_size: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        ChunkInflater::default().inflate(Compression { codec, block_size }, chunk, &mut out)?;
        Ok(out)
    }

    #[test]
    fn every_codec_gives_its_bytes_back_and_no_more() {
        let text = b"many a mickle makes a muckle, many a mickle makes a muckle".repeat(50);
        let mut deflated = vec![0; 10_000];
        let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let length = compressor.deflate_compress(&text, &mut deflated).unwrap();
        deflated.truncate(length);
        let chunks = [
            (OrcCodec::Zlib, deflated),
            (OrcCodec::Snappy, snap::raw::Encoder::new().compress_vec(&text).unwrap()),
            (OrcCodec::Zstd, zstd::bulk::compress(&text, 3).unwrap()),
        ];
        for (codec, chunk) in chunks {
            assert_eq!(inflate(codec, &chunk, text.len()).unwrap(), text);
            assert_eq!(inflate(codec, &chunk, 1 << 20).unwrap(), text);
            assert!(inflate(codec, &chunk, text.len() - 1).is_err(), "{codec:?}");
            assert!(inflate(codec, &chunk[..chunk.len() - 1], text.len()).is_err(), "{codec:?}");
        }
    }

    #[test]
    fn lz4_blocks_of_the_format_description() {
        // Literals only; a copy that overlaps itself; long lengths.
        assert_eq!(inflate(OrcCodec::Lz4, b"\x30abc", 10).unwrap(), b"abc");
        assert_eq!(inflate(OrcCodec::Lz4, b"\x14a\x01\x00\x10b", 10).unwrap(), b"aaaaaaaaab");
        let long = [&b"\xf0\x05"[..], &[7; 20]].concat();
        assert_eq!(inflate(OrcCodec::Lz4, &long, 20).unwrap(), [7; 20]);
        assert_eq!(inflate(OrcCodec::Lz4, b"\x2fab\x02\x00\xff\x00\x10c", 300).unwrap().len(), 2 + 19 + 255 + 1);
        assert_eq!(inflate(OrcCodec::Lz4, b"\x22ab\x02\x00\x10c", 300).unwrap(), b"ababababc");
        for bad in
            [&b""[..], b"\x30ab", b"\x14a\x02\x00\x00", b"\x14a\x00\x00\x00", b"\x14a\x01", b"\xf0", b"\x14a\x01\x00"]
        {
            assert!(inflate(OrcCodec::Lz4, bad, 10).is_err(), "{bad:?}");
        }
        assert!(inflate(OrcCodec::Lz4, b"\x14a\x01\x00\x10b", 9).is_err());
    }
}
