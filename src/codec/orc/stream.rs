//! The bytes of a stream, decompressed when they are needed.

use std::sync::Arc;

use super::compression::{ChunkInflater, Compression, HEADER, OrcCodec, chunk_header};
use crate::error::{Error, Result};

/// A stream of a column, or a whole compressed message.
#[derive(Debug)]
pub struct Stream {
    bytes: Arc<Vec<u8>>,
    /// The start of the bytes that were not read yet.
    next: usize,
    end: usize,
    compression: Compression,
    inflater: ChunkInflater,
    block: Vec<u8>,
    /// Whether the bytes at hand are in `block`, else in `bytes`.
    inflated: bool,
    /// The bytes at hand, from here to `to`.
    from: usize,
    to: usize,
}

impl Stream {
    /// A stream at these bytes; bytes beyond the file's end are left out.
    pub fn new(bytes: Arc<Vec<u8>>, start: usize, length: usize, compression: Compression) -> Stream {
        let end = start.saturating_add(length).min(bytes.len());
        let (inflater, block) = (ChunkInflater::default(), Vec::new());
        Stream { bytes, next: start.min(end), end, compression, inflater, block, inflated: false, from: 0, to: 0 }
    }

    /// A stream without bytes, for a column that has no values in a stripe.
    pub fn empty() -> Stream {
        Stream::new(Arc::default(), 0, 0, Compression { codec: OrcCodec::None, block_size: 0 })
    }

    /// All bytes of a compressed message.
    ///
    /// # Errors
    /// `CorruptTable` if it is damaged or larger than `limit`.
    pub(super) fn read_all(message: &[u8], compression: Compression, limit: usize) -> Result<Vec<u8>> {
        let mut stream = Stream::new(Arc::new(message.to_vec()), 0, message.len(), compression);
        let mut out = Vec::new();
        while stream.fill()? {
            if out.len() + (stream.to - stream.from) > limit {
                return Err(Error::corrupt("the metadata of the ORC file is larger than it can be"));
            }
            out.extend_from_slice(stream.at_hand());
            stream.from = stream.to;
        }
        Ok(out)
    }

    fn at_hand(&self) -> &[u8] {
        let source = if self.inflated { &self.block } else { self.bytes.as_ref() };
        source.get(self.from..self.to).unwrap_or_default()
    }

    /// Whether bytes are at hand. If none are, it first reads the next chunk.
    fn fill(&mut self) -> Result<bool> {
        while self.from >= self.to {
            let Some(rest) = self.bytes.get(self.next..self.end).filter(|rest| !rest.is_empty()) else {
                return Ok(false);
            };
            if self.compression.codec == OrcCodec::None {
                (self.inflated, self.from, self.to, self.next) = (false, self.next, self.end, self.end);
                continue;
            }
            let torn = || Error::corrupt("a stream of the ORC file is cut off");
            let (header, rest) = rest.split_first_chunk::<HEADER>().ok_or_else(torn)?;
            let (length, compressed) = chunk_header(*header);
            let chunk = rest.get(..length).ok_or_else(torn)?;
            let start = self.next + HEADER;
            self.inflated = compressed;
            (self.from, self.to) = if compressed {
                self.inflater.inflate(self.compression, chunk, &mut self.block)?;
                (0, self.block.len())
            } else {
                (start, start + length)
            };
            self.next = start + length;
        }
        Ok(true)
    }

    /// The next byte; `None` at the end.
    pub(super) fn next_byte(&mut self) -> Result<Option<u8>> {
        if self.from >= self.to && !self.fill()? {
            return Ok(None);
        }
        let byte = self.at_hand().first().copied();
        self.from += 1;
        Ok(byte)
    }

    /// The next byte.
    pub(super) fn byte(&mut self) -> Result<u8> {
        self.next_byte()?.ok_or_else(ended)
    }

    /// Fills `out`.
    ///
    /// # Errors
    /// `CorruptTable` if the stream has fewer bytes or is damaged.
    pub fn read(&mut self, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            if !self.fill()? {
                return Err(ended());
            }
            let at_hand = self.at_hand();
            let length = at_hand.len().min(out.len());
            let (now, later) = out.split_at_mut(length);
            now.copy_from_slice(at_hand.get(..length).unwrap_or_default());
            out = later;
            self.from += length;
        }
        Ok(())
    }

    /// Appends the next `length` bytes. Memory is reserved only for bytes that the stream has.
    ///
    /// # Errors
    /// As [`Stream::read`].
    pub fn append_to(&mut self, out: &mut Vec<u8>, length: usize) -> Result<()> {
        let mut left = length;
        while left > 0 {
            if !self.fill()? {
                return Err(ended());
            }
            let at_hand = self.at_hand();
            let part = at_hand.len().min(left);
            out.extend_from_slice(at_hand.get(..part).unwrap_or_default());
            left -= part;
            self.from += part;
        }
        Ok(())
    }

    /// An unsigned number in groups of seven bits. Bits beyond 64 are lost, as in Java.
    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("a number in the ORC file has too many digits"))
    }

    /// A signed number of any size in groups of seven bits, as decimals are stored.
    ///
    /// # Errors
    /// `CorruptTable` if it does not fit 128 bits; errors of [`Stream::read`].
    pub fn big_integer(&mut self) -> Result<i128> {
        let mut value = 0u128;
        for shift in (0..128u32).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift == 126 && bits > 3 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1) as i128 ^ -((value & 1) as i128));
            }
        }
        Err(Error::corrupt("a decimal in the ORC file has too many digits"))
    }
}

#[cold]
fn ended() -> Error {
    Error::corrupt("a stream of the ORC file ends before its values do")
}

/// The number that a zigzag encoding means.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> Stream {
        Stream::new(Arc::new(bytes.to_vec()), 0, bytes.len(), Compression { codec: OrcCodec::None, block_size: 0 })
    }

    /// The example of the specification: 100,000 bytes stored in a chunk unchanged. Also small chunks of each kind.
    #[test]
    fn chunks_follow_each_other() {
        assert_eq!(chunk_header([0x40, 0x0d, 0x03]), (100_000, true));
        assert_eq!(chunk_header([0x0b, 0x00, 0x00]), (5, false));
        let compression = Compression { codec: OrcCodec::Snappy, block_size: 64 };
        let packed = snap::raw::Encoder::new().compress_vec(&[9; 40]).unwrap();
        let mut bytes = vec![0x0b, 0, 0, 1, 2, 3, 4, 5, 0x01, 0, 0];
        bytes.extend_from_slice(&[(packed.len() << 1) as u8, 0, 0]);
        bytes.extend_from_slice(&packed);
        let mut stream = Stream::new(Arc::new(bytes.clone()), 0, bytes.len(), compression);
        let mut out = vec![0; 3];
        stream.read(&mut out).unwrap();
        stream.append_to(&mut out, 42).unwrap();
        assert_eq!(out[..6], [1, 2, 3, 4, 5, 9]);
        assert_eq!((out.len(), stream.next_byte().unwrap()), (45, None));
        assert!(stream.byte().is_err());
        for end in [1, 5, 9, bytes.len() - 1] {
            let mut cut = Stream::new(Arc::new(bytes.clone()), 0, end, compression);
            assert!(cut.append_to(&mut Vec::new(), 45).is_err(), "{end}");
        }
    }

    #[test]
    fn numbers_of_any_length() {
        assert_eq!(plain(&[0x80, 0x01]).varint().unwrap(), 128);
        assert_eq!(plain(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).varint().unwrap(), u64::MAX);
        assert!(plain(&[0xff; 12]).varint().is_err());
        assert_eq!(plain(&[0x03]).big_integer().unwrap(), -2);
        let mut largest = vec![0xff; 18];
        largest.push(0x03);
        assert_eq!(plain(&largest).big_integer().unwrap(), i128::MIN);
        largest[18] = 0x07;
        assert!(plain(&largest).big_integer().is_err());
        assert!(plain(&[0xff; 30]).big_integer().is_err());
    }
}
