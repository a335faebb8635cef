//! The compression codecs of Parquet pages.

use std::cell::RefCell;
use std::io::Read;

use libdeflater::{DecompressionError, Decompressor};

use parquet::basic::Compression;

use super::thrift::Flaw;

thread_local! {
    // One decompressor for all columns. Its tables take 160 KB, which stay in the processor's cache. Making them costs
    // as much as decompressing a small page.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
    static GZIP: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
}

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageCodec {
    None,
    Snappy,
    Gzip,
    Brotli,
    Zstd,
}

/// How much of a page was decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inflated {
    Whole,
    /// The first of several gzip members. Only the parquet crate joins them.
    FirstMember,
}

impl PageCodec {
    /// `None` for a codec that is not supported here.
    pub(crate) fn of(compression: Compression) -> Option<PageCodec> {
        match compression {
            Compression::UNCOMPRESSED => Some(PageCodec::None),
            Compression::SNAPPY => Some(PageCodec::Snappy),
            Compression::GZIP(_) => Some(PageCodec::Gzip),
            Compression::BROTLI(_) => Some(PageCodec::Brotli),
            Compression::ZSTD(_) => Some(PageCodec::Zstd),
            _ => None,
        }
    }

    /// Puts the decompressed bytes at the start of the buffer. Never more than `length` bytes.
    pub(crate) fn inflate(self, bytes: &[u8], length: usize, buffer: &mut Vec<u8>) -> Result<Inflated, Flaw> {
        let found = match self {
            _ if length == 0 => 0,
            PageCodec::None => return Err(BROKEN),
            PageCodec::Snappy => {
                if snap::raw::decompress_len(bytes) != Ok(length) {
                    return Err(OTHER_LENGTH);
                }
                let room = zeroed(buffer, length);
                snap::raw::Decoder::new().decompress(bytes, room).map_err(|_| BROKEN)?
            }
            PageCodec::Gzip => match inflate_gzip(bytes, zeroed(buffer, length))? {
                found if found < length => return Ok(Inflated::FirstMember),
                found => found,
            },
            PageCodec::Brotli => inflate_brotli(bytes, length, buffer)?,
            PageCodec::Zstd => {
                buffer.clear();
                make_room(buffer, length);
                inflate_zstd(bytes, buffer)?
            }
        };
        match found == length {
            true => Ok(Inflated::Whole),
            false => Err(OTHER_LENGTH),
        }
    }
}

const BROKEN: Flaw = "it cannot be decompressed";

const OTHER_LENGTH: Flaw = "it decompresses to another length than it claims";

/// Replaces a buffer with one that holds `length` bytes. Its contents are lost.
fn make_room(buffer: &mut Vec<u8>, length: usize) {
    if buffer.capacity() < length {
        *buffer = Vec::with_capacity(length);
    }
}

/// The first `length` bytes of the buffer.
fn zeroed(buffer: &mut Vec<u8>, length: usize) -> &mut [u8] {
    if buffer.len() < length {
        make_room(buffer, length);
        buffer.resize(length, 0);
    }
    buffer.get_mut(..length).unwrap_or_default()
}

/// Returns the number of bytes of the first gzip member.
fn inflate_gzip(bytes: &[u8], room: &mut [u8]) -> Result<usize, Flaw> {
    GZIP.with_borrow_mut(|kept| {
        let inflated = kept.get_or_insert_with(Decompressor::new).gzip_decompress(bytes, room);
        inflated.map_err(|e| match e {
            DecompressionError::InsufficientSpace => OTHER_LENGTH,
            DecompressionError::BadData => BROKEN,
        })
    })
}

/// Returns the number of bytes, at most one more than `length`. Memory grows with the bytes that arrive: Brotli can
/// make millions of bytes from one.
fn inflate_brotli(bytes: &[u8], length: usize, buffer: &mut Vec<u8>) -> Result<usize, Flaw> {
    buffer.clear();
    let decompressor = brotli_decompressor::Decompressor::new(bytes, bytes.len().clamp(1, BROTLI_INPUT));
    decompressor.take(length as u64 + 1).read_to_end(buffer).map_err(|_| BROKEN)
}

/// The number of bytes that Brotli gets at once.
const BROTLI_INPUT: usize = 4096;

/// Returns the number of bytes.
fn inflate_zstd(bytes: &[u8], buffer: &mut Vec<u8>) -> Result<usize, Flaw> {
    ZSTD.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(zstd::bulk::Decompressor::new().map_err(|_| BROKEN)?),
        };
        decompressor.decompress_to_buffer(bytes, buffer).map_err(|_| BROKEN)
    })
}
