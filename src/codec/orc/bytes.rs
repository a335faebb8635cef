//! Runs of bytes, and of bits packed into them (specification, "Byte Run Length Encoding" and "Boolean Run Length
//! Encoding").

use super::stream::Stream;
use crate::error::Result;

/// A shorter run would not be stored as one.
const MIN_RUN: usize = 3;

/// Decodes bytes.
#[derive(Debug)]
pub struct ByteRuns {
    stream: Stream,
    /// Bytes left of the current run or of its literals.
    left: usize,
    /// The byte that is repeated; `None` for literals.
    repeated: Option<u8>,
}

impl ByteRuns {
    /// Decodes a stream.
    pub fn new(stream: Stream) -> Self {
        ByteRuns { stream, left: 0, repeated: None }
    }

    /// Appends the next `count` bytes to `out`.
    ///
    /// # Errors
    /// `CorruptTable` if the stream has fewer bytes or is damaged.
    pub fn append_to(&mut self, out: &mut Vec<u8>, count: usize) -> Result<()> {
        let mut wanted = count;
        while wanted > 0 {
            if self.left == 0 {
                self.start_run()?;
            }
            let part = self.left.min(wanted);
            match self.repeated {
                Some(byte) => out.resize(out.len() + part, byte),
                None => self.stream.append_to(out, part)?,
            }
            self.left -= part;
            wanted -= part;
        }
        Ok(())
    }

    fn start_run(&mut self) -> Result<()> {
        let control = self.stream.byte()?;
        if control < 0x80 {
            self.left = usize::from(control) + MIN_RUN;
            self.repeated = Some(self.stream.byte()?);
        } else {
            self.left = 256 - usize::from(control);
            self.repeated = None;
        }
        Ok(())
    }
}

/// Decodes bits: booleans, and whether each value is present.
#[derive(Debug)]
pub struct BitReader {
    bytes: ByteRuns,
    /// The byte that has the next `left` bits, the next one lowest.
    current: u8,
    left: u32,
    scratch: Vec<u8>,
}

impl BitReader {
    /// Decodes a stream.
    pub fn new(stream: Stream) -> Self {
        BitReader { bytes: ByteRuns::new(stream), current: 0, left: 0, scratch: Vec::new() }
    }

    /// The next `count` bits, eight in a byte, the first one lowest, as in Arrow.
    ///
    /// # Errors
    /// `CorruptTable` if the stream has fewer bits or is damaged.
    pub fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let missing = count.saturating_sub(self.left as usize);
        self.scratch.clear();
        self.bytes.append_to(&mut self.scratch, missing.div_ceil(8))?;
        let mut out = Vec::with_capacity(count.div_ceil(8));
        // The first bit of a stored byte is its highest.
        let mut stored = self.scratch.iter().map(|b| b.reverse_bits());
        let (mut done, held) = (0, self.left);
        while done < count {
            let mut byte = self.current;
            if held < 8 && done + (held as usize) < count {
                let next = stored.next().unwrap_or_default();
                byte |= next.checked_shl(held).unwrap_or(0);
                self.current = next.checked_shr(8 - held).unwrap_or(0);
            }
            out.push(byte);
            done += 8;
        }
        let all = self.left as usize + 8 * self.scratch.len();
        self.left = (all - count) as u32;
        // The rest is in the last byte read.
        self.current = match self.scratch.last() {
            Some(last) => last.reverse_bits().checked_shr(8 - self.left).unwrap_or(0),
            None => self.current.checked_shr(count as u32).unwrap_or(0),
        };
        if let Some(last) = out.last_mut()
            && !count.is_multiple_of(8)
        {
            *last &= (1 << (count % 8)) - 1;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::codec::orc::compression::{Compression, OrcCodec};

    fn stream(bytes: Vec<u8>) -> Stream {
        let length = bytes.len();
        Stream::new(Arc::new(bytes), 0, length, Compression { codec: OrcCodec::None, block_size: 0 })
    }

    fn bytes(stored: &[u8], count: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        ByteRuns::new(stream(stored.to_vec())).append_to(&mut out, count).map(|()| out)
    }

    /// The examples of the specification.
    #[test]
    fn examples() {
        assert_eq!(bytes(&[0x61, 0x00], 100).unwrap(), [0; 100]);
        assert_eq!(bytes(&[0xfe, 0x44, 0x45], 2).unwrap(), [0x44, 0x45]);
        assert!(bytes(&[0x61, 0x00], 101).is_err());
        assert!(bytes(&[0xfe, 0x44], 2).is_err());
        let mut bits = BitReader::new(stream(vec![0xff, 0x80]));
        assert_eq!(bits.read(8).unwrap(), [0b0000_0001]);
        assert!(bits.read(1).is_err());
    }

    proptest! {
        /// The bits come in their order, in parts of any size.
        #[test]
        fn bits_in_parts(stored in prop::collection::vec(any::<u8>(), 1..40), parts in prop::collection::vec(0usize..40, 1..30)) {
            let literals = std::iter::once((256 - stored.len()) as u8).chain(stored.iter().copied());
            let mut bits = BitReader::new(stream(literals.collect()));
            let mut expected = stored.iter().flat_map(|b| (0..8).rev().map(move |i| b >> i & 1 == 1));
            let mut left = stored.len() * 8;
            for part in parts {
                if part > left {
                    break;
                }
                left -= part;
                let read = bits.read(part).unwrap();
                prop_assert_eq!(read.len(), part.div_ceil(8));
                for i in 0..part {
                    prop_assert_eq!(read[i / 8] >> (i % 8) & 1 == 1, expected.next().unwrap());
                }
                if part % 8 != 0 {
                    prop_assert_eq!(read[part / 8] >> (part % 8), 0);
                }
            }
        }
    }
}
