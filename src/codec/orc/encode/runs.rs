//! Collects values until they are encoded as runs.

use std::fmt::Debug;

use super::stream::{Compressor, StreamWriter};

/// How values become runs.
pub trait RunEncoder: Debug {
    /// A value.
    type Value: Debug;
    /// The most values that are encoded at once.
    const MAX_VALUES: usize;

    /// Appends the values to a stream, as one run or several.
    fn encode(&self, values: &[Self::Value], out: &mut StreamWriter);
}

/// A stream of runs, and the values that are not in it yet.
#[derive(Debug)]
pub struct RunWriter<E: RunEncoder> {
    encoder: E,
    stream: StreamWriter,
    waiting: Vec<E::Value>,
}

impl<E: RunEncoder> RunWriter<E> {
    /// An empty stream.
    pub(super) fn of(encoder: E, compressor: &Compressor) -> Self {
        RunWriter { encoder, stream: StreamWriter::new(compressor), waiting: Vec::with_capacity(E::MAX_VALUES) }
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: E::Value) {
        self.waiting.push(value);
        if self.waiting.len() >= E::MAX_VALUES {
            self.encode();
        }
    }

    fn encode(&mut self) {
        self.encoder.encode(&self.waiting, &mut self.stream);
        self.waiting.clear();
    }

    /// Appends the position of the next value: that of its run, then the number of values before it in the run.
    pub fn position(&self, out: &mut Vec<u64>) {
        self.stream.position(out);
        out.push(self.waiting.len() as u64);
    }

    /// About the number of bytes in memory.
    pub fn held(&self) -> usize {
        self.stream.held() + self.waiting.len()
    }

    /// Returns the stream's bytes and empties the stream.
    pub fn take(&mut self) -> Vec<u8> {
        self.encode();
        self.stream.take()
    }
}
