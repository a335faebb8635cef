//! Compresses streams.

use std::sync::{Arc, Mutex, PoisonError};

use libdeflater::CompressionLvl;

use crate::codec::orc::compression::{Compression, HEADER, OrcCodec};
use crate::error::{Error, Result};

/// Bytes of a chunk before compression.
const BLOCK_SIZE: usize = 256 << 10;

/// Compresses chunks. Clones share its memory.
#[derive(Clone)]
pub struct Compressor {
    compression: Compression,
    state: Arc<Mutex<StreamState>>,
}

enum StreamState {
    None,
    Zlib(libdeflater::Compressor),
    Snappy(Box<snap::raw::Encoder>),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.compression.fmt(f)
    }
}

impl Compressor {
    /// A compressor of a codec. With `small` it prefers size to speed.
    ///
    /// # Errors
    /// `Unsupported` for LZ4.
    pub fn new(codec: OrcCodec, small: bool) -> Result<Compressor> {
        let state = match codec {
            OrcCodec::None => StreamState::None,
            OrcCodec::Zlib => {
                let level = CompressionLvl::new(if small { 9 } else { 4 });
                let level = level.map_err(|_| Error::internal("deflate has no such level"))?;
                StreamState::Zlib(libdeflater::Compressor::new(level))
            }
            OrcCodec::Snappy => StreamState::Snappy(Box::new(snap::raw::Encoder::new())),
            OrcCodec::Zstd => {
                let compressor = zstd::bulk::Compressor::new(if small { 9 } else { 3 });
                StreamState::Zstd(compressor.map_err(|e| Error::internal("zstandard failed").because(e))?)
            }
            OrcCodec::Lz4 => {
                return Err(Error::unsupported("ORC files are not written with LZ4").hint("Use zstd, zlib or snappy"));
            }
        };
        let compression = Compression { codec, block_size: BLOCK_SIZE };
        Ok(Compressor { compression, state: Arc::new(Mutex::new(state)) })
    }

    /// The compression that readers need.
    pub fn compression(&self) -> Compression {
        self.compression
    }

    fn is_none(&self) -> bool {
        self.compression.codec == OrcCodec::None
    }

    /// Appends a chunk with its header. A chunk that does not get smaller is stored unchanged.
    fn chunk(&self, block: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        let room = block.len().saturating_sub(1);
        out.resize(at + HEADER + room, 0);
        let target = out.get_mut(at + HEADER..).unwrap_or_default();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let length = match &mut *state {
            StreamState::None => None,
            StreamState::Zlib(compressor) => compressor.deflate_compress(block, target).ok(),
            // Snappy needs room for the worst case.
            StreamState::Snappy(encoder) => encoder.compress_vec(block).ok().and_then(|bytes| {
                target.get_mut(..bytes.len())?.copy_from_slice(&bytes);
                Some(bytes.len())
            }),
            StreamState::Zstd(compressor) => compressor.compress_to_buffer(block, target).ok(),
        };
        let (length, is_original) = match length {
            Some(length) => (length, 0),
            None => {
                out.truncate(at + HEADER);
                out.extend_from_slice(block);
                (block.len(), 1)
            }
        };
        out.truncate(at + HEADER + length);
        let header = ((length as u32) << 1 | is_original).to_le_bytes();
        if let (Some(place), Some(header)) = (out.get_mut(at..at + HEADER), header.get(..HEADER)) {
            place.copy_from_slice(header);
        }
    }

    /// A whole message, compressed.
    pub fn message(&self, bytes: &[u8]) -> Vec<u8> {
        if self.is_none() {
            return bytes.to_vec();
        }
        let mut out = Vec::new();
        bytes.chunks(BLOCK_SIZE).for_each(|block| self.chunk(block, &mut out));
        out
    }
}

/// Compresses the bytes of a stream.
#[derive(Debug)]
pub struct StreamWriter {
    compressor: Compressor,
    /// Whole chunks.
    done: Vec<u8>,
    /// Less than a chunk.
    block: Vec<u8>,
}

impl StreamWriter {
    /// An empty stream.
    pub fn new(compressor: &Compressor) -> StreamWriter {
        StreamWriter { compressor: compressor.clone(), done: Vec::new(), block: Vec::new() }
    }

    /// Appends a byte.
    pub fn push(&mut self, byte: u8) {
        self.block.push(byte);
        if self.block.len() >= BLOCK_SIZE {
            self.end_block();
        }
    }

    /// Appends bytes.
    pub fn extend(&mut self, mut bytes: &[u8]) {
        while self.block.len() + bytes.len() >= BLOCK_SIZE {
            let (now, later) = bytes.split_at(BLOCK_SIZE - self.block.len());
            self.block.extend_from_slice(now);
            self.end_block();
            bytes = later;
        }
        self.block.extend_from_slice(bytes);
    }

    /// Appends an unsigned number in groups of seven bits.
    pub fn varint(&mut self, mut v: u128) {
        while v >= 0x80 {
            self.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.push(v as u8);
    }

    fn end_block(&mut self) {
        if self.compressor.is_none() {
            self.done.append(&mut self.block);
        } else if !self.block.is_empty() {
            self.compressor.chunk(&self.block, &mut self.done);
            self.block.clear();
        }
    }

    /// Appends the position of the next byte: that of its chunk and its place in the chunk, or one number without
    /// chunks.
    pub fn position(&self, out: &mut Vec<u64>) {
        let (done, block) = (self.done.len() as u64, self.block.len() as u64);
        match self.compressor.is_none() {
            true => out.push(done + block),
            false => out.extend([done, block]),
        }
    }

    /// The number of bytes in memory.
    pub fn held(&self) -> usize {
        self.done.len() + self.block.len()
    }

    /// Returns the stream's bytes and empties the stream.
    pub fn take(&mut self) -> Vec<u8> {
        self.end_block();
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
