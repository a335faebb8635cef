//! The compression codecs of Parquet pages.

use std::cell::RefCell;
use std::io::Read;

use parquet::basic::Compression;

use super::thrift::Flaw;

thread_local! {
    // One for all columns: its tables take 160 KB, which stay in the processor's cache, and making them costs as much
    // as decompressing a small page.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageCodec {
    None,
    Snappy,
    Zstd,
}

impl PageCodec {
    /// `None` if it is not one that is read here.
    pub(crate) fn of(compression: Compression) -> Option<PageCodec> {
        match compression {
            Compression::UNCOMPRESSED => Some(PageCodec::None),
            Compression::SNAPPY => Some(PageCodec::Snappy),
            Compression::ZSTD(_) => Some(PageCodec::Zstd),
            _ => None,
        }
    }

    /// Puts what the bytes decompress to at the start of the buffer.
    pub(crate) fn inflate(self, bytes: &[u8], length: usize, buffer: &mut Vec<u8>) -> Result<(), Flaw> {
        let found = match self {
            _ if length == 0 => 0,
            PageCodec::None => return Err(BROKEN),
            PageCodec::Snappy => {
                if buffer.len() < length {
                    make_room(buffer, length);
                    buffer.resize(length, 0);
                }
                let room = buffer.get_mut(..length).unwrap_or_default();
                snap::raw::Decoder::new().decompress(bytes, room).map_err(|_| BROKEN)?
            }
            PageCodec::Zstd => {
                buffer.clear();
                make_room(buffer, length);
                inflate_zstd(bytes, buffer)?
            }
        };
        match found == length {
            true => Ok(()),
            false => Err("it decompresses to another length than it claims"),
        }
    }
}

const BROKEN: Flaw = "it cannot be decompressed";

/// Replaces a buffer with one that holds `length` bytes. Its contents are lost.
fn make_room(buffer: &mut Vec<u8>, length: usize) {
    if buffer.capacity() < length {
        *buffer = Vec::with_capacity(length);
    }
}

/// Whether bytes in Brotli decompress to this length. A byte of Brotli can become any number of bytes, so only trying
/// tells. Nothing of the result is kept.
pub(crate) fn brotli_holds(bytes: &[u8], length: u64) -> bool {
    const PIECE: usize = 64 << 10;
    let (mut reader, mut piece, mut found) = (brotli::Decompressor::new(bytes, 4096), vec![0; PIECE], 0u64);
    while found <= length {
        match reader.read(&mut piece) {
            Ok(0) => return found == length,
            Ok(read) => found = found.saturating_add(read as u64),
            Err(_) => return false,
        }
    }
    false
}

/// Returns the bytes' number.
fn inflate_zstd(bytes: &[u8], buffer: &mut Vec<u8>) -> Result<usize, Flaw> {
    ZSTD.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(zstd::bulk::Decompressor::new().map_err(|_| BROKEN)?),
        };
        decompressor.decompress_to_buffer(bytes, buffer).map_err(|_| BROKEN)
    })
}
