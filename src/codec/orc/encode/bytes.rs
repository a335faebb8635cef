//! Encodes runs of bytes, and bits.

use super::runs::{RunEncoder, RunWriter};
use super::stream::{Compressor, StreamWriter};

/// The most literals of a run, and the most repetitions of a byte in one.
const MAX_LITERALS: usize = 128;

/// The shortest run that is stored as one.
const MIN_RUN: usize = 3;

/// Encodes bytes.
pub type ByteRunWriter = RunWriter<ByteRunEncoder>;

impl ByteRunWriter {
    /// An empty stream.
    pub fn new(compressor: &Compressor) -> Self {
        RunWriter::of(ByteRunEncoder, compressor)
    }
}

/// How bytes become runs.
#[derive(Debug)]
pub struct ByteRunEncoder;

impl RunEncoder for ByteRunEncoder {
    type Value = u8;
    const MAX_VALUES: usize = MAX_LITERALS;

    fn encode(&self, values: &[u8], out: &mut StreamWriter) {
        let mut rest = values;
        while let Some(first) = rest.first() {
            let run = rest.iter().take_while(|b| *b == first).count();
            if run >= MIN_RUN {
                out.extend(&[(run - MIN_RUN) as u8, *first]);
                rest = rest.get(run..).unwrap_or_default();
                continue;
            }
            let next_run = rest.windows(MIN_RUN).position(|w| w.iter().all(|b| Some(b) == w.first()));
            let (literals, later) = rest.split_at(next_run.unwrap_or(rest.len()));
            out.push((literals.len() as u8).wrapping_neg());
            out.extend(literals);
            rest = later;
        }
    }
}

/// Encodes bits: booleans, and whether each value is present.
#[derive(Debug)]
pub struct BitWriter {
    bytes: ByteRunWriter,
    current: u8,
    used: u32,
}

impl BitWriter {
    /// An empty stream.
    pub fn new(compressor: &Compressor) -> Self {
        BitWriter { bytes: ByteRunWriter::new(compressor), current: 0, used: 0 }
    }

    /// Appends a bit. The first bit of a byte is its highest.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        self.current |= u8::from(bit) << (7 - self.used);
        self.used += 1;
        if self.used == 8 {
            self.bytes.push(self.current);
            (self.current, self.used) = (0, 0);
        }
    }

    /// Appends `count` ones.
    pub fn ones(&mut self, mut count: usize) {
        while count > 0 {
            if self.used == 0 && count >= 8 {
                self.bytes.push(u8::MAX);
                count -= 8;
            } else {
                self.push(true);
                count -= 1;
            }
        }
    }

    /// Appends the position of the next bit: that of its byte, then the number of bits before it in the byte.
    pub fn position(&self, out: &mut Vec<u64>) {
        self.bytes.position(out);
        out.push(u64::from(self.used));
    }

    /// The number of bytes in memory.
    pub fn held(&self) -> usize {
        self.bytes.held()
    }

    /// Returns the stream's bytes and empties the stream.
    pub fn take(&mut self) -> Vec<u8> {
        if self.used > 0 {
            self.bytes.push(self.current);
            (self.current, self.used) = (0, 0);
        }
        self.bytes.take()
    }
}
