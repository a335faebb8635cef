//! Encodes runs of integers, version 2: repeated values, constant steps, monotonic steps, and all others by their
//! bits.

use super::stream::{Compressor, StreamWriter};

/// The most numbers of a run.
const MAX_RUN: usize = 512;

/// The most and the least numbers of a run of one value in the short form.
const SHORT_RUN: std::ops::RangeInclusive<usize> = 3..=10;

/// A run of constant steps between other values is worth its header from this length on.
const WORTHWHILE: usize = 10;

/// Encodes integers.
#[derive(Debug)]
pub struct IntegerWriter {
    stream: StreamWriter,
    signed: bool,
    waiting: Vec<i64>,
}

impl IntegerWriter {
    /// An empty stream of numbers that may be negative, or of unsigned ones.
    pub fn new(compressor: &Compressor, signed: bool) -> Self {
        IntegerWriter { stream: StreamWriter::new(compressor), signed, waiting: Vec::with_capacity(MAX_RUN) }
    }

    /// Appends a number.
    #[inline]
    pub fn push(&mut self, value: i64) {
        self.waiting.push(value);
        if self.waiting.len() >= MAX_RUN {
            self.encode();
        }
    }

    /// Appends the position of the next number: that of its run, then the number of numbers before it from there on.
    pub fn position(&self, out: &mut Vec<u64>) {
        self.stream.position(out);
        out.push(self.waiting.len() as u64);
    }

    /// The approximate number of bytes in memory.
    pub fn held(&self) -> usize {
        self.stream.held() + self.waiting.len()
    }

    /// Returns the stream's bytes and empties the stream.
    pub fn take(&mut self) -> Vec<u8> {
        self.encode();
        self.stream.take()
    }

    fn encode(&mut self) {
        let values = std::mem::take(&mut self.waiting);
        let (mut literals, mut at) = (0, 0);
        while at < values.len() {
            let rest = values.get(at..).unwrap_or_default();
            let (length, step) = constant_steps(rest);
            let is_alone = at == literals && length == rest.len();
            if length >= WORTHWHILE || (is_alone && step == 0 && SHORT_RUN.contains(&length)) {
                self.literals(values.get(literals..at).unwrap_or_default());
                self.constant(rest.first().copied().unwrap_or_default(), step, length);
                at += length;
                literals = at;
            } else {
                // The last of these may be the first of a longer run.
                at += (length - 1).max(1);
            }
        }
        self.literals(values.get(literals..).unwrap_or_default());
        self.waiting = values;
        self.waiting.clear();
    }

    /// The number as it is stored.
    #[inline]
    fn bits(&self, value: i64) -> u64 {
        if self.signed { zigzag(value) } else { value as u64 }
    }

    fn constant(&mut self, first: i64, step: i64, length: usize) {
        if step == 0 && SHORT_RUN.contains(&length) {
            let bits = self.bits(first);
            let bytes = (8 - bits.leading_zeros() as usize / 8).max(1);
            self.stream.push(((bytes - 1) << 3 | (length - SHORT_RUN.start())) as u8);
            self.stream.extend(bits.to_be_bytes().get(8 - bytes..).unwrap_or_default());
        } else {
            self.header(3, 0, length);
            self.stream.varint(self.bits(first).into());
            self.stream.varint(zigzag(step).into());
        }
    }

    /// The first two bytes of most runs: the kind, the code of the width, and the length.
    fn header(&mut self, kind: u8, width_code: u8, length: usize) {
        let length = length - 1;
        self.stream.push(kind << 6 | width_code << 1 | (length >> 8) as u8);
        self.stream.push(length as u8);
    }

    fn literals(&mut self, values: &[i64]) {
        if values.is_empty() {
            return;
        }
        let widest = values.iter().fold(0, |widest, v| widest | self.bits(*v));
        let (code, width) = width_of(widest);
        if let Some((first, second, steps)) = monotonic(values) {
            // In this case alone the code of one bit means no bits.
            let (step_code, step_width) = width_of(steps.iter().fold(2, |widest, step| widest | step));
            // The two numbers in front take at most ten bytes each.
            if steps.len() * step_width as usize + 128 < values.len() * width as usize {
                self.header(3, step_code, values.len());
                self.stream.varint(self.bits(first).into());
                self.stream.varint(zigzag(second.wrapping_sub(first)).into());
                return self.pack(steps.into_iter(), step_width);
            }
        }
        self.header(1, code, values.len());
        let signed = self.signed;
        self.pack(values.iter().map(|v| if signed { zigzag(*v) } else { *v as u64 }), width);
    }

    /// Appends numbers of `width` bits each. The first begins and the last ends at a whole byte.
    fn pack(&mut self, values: impl Iterator<Item = u64>, width: u32) {
        let mut packed = Vec::with_capacity(MAX_RUN * 8);
        let (mut held, mut bits) = (0u128, 0);
        for value in values {
            held = held << width | u128::from(value);
            bits += width;
            while bits >= 8 {
                bits -= 8;
                packed.push((held >> bits) as u8);
            }
        }
        if bits > 0 {
            packed.push((held << (8 - bits)) as u8);
        }
        self.stream.extend(&packed);
    }
}

/// The sign in the lowest bit.
pub(super) fn zigzag(v: i64) -> u64 {
    (v << 1 ^ v >> 63) as u64
}

/// The number of first values that have the same step between them, and that step.
fn constant_steps(values: &[i64]) -> (usize, i64) {
    let [first, second, ..] = values else { return (values.len(), 0) };
    let Some(step) = second.checked_sub(*first) else { return (1, 0) };
    let same = values.windows(2).take_while(|w| w[1].checked_sub(w[0]) == Some(step)).count();
    (same + 1, step)
}

/// The first two values and the sizes of the further steps, if all go in one direction.
fn monotonic(values: &[i64]) -> Option<(i64, i64, Vec<u64>)> {
    let [first, second, ..] = values else { return None };
    let falls = second.checked_sub(*first)? < 0;
    let step = |w: &[i64]| {
        let step = w[1].checked_sub(w[0])?;
        (step == 0 || (step < 0) == falls).then_some(step.unsigned_abs())
    };
    let steps: Option<Vec<u64>> = values.get(1..)?.windows(2).map(step).collect();
    Some((*first, *second, steps?))
}

/// Code and bits of the least width that holds this number of bits.
fn width_of(bits: u64) -> (u8, u32) {
    let needed = (64 - bits.leading_zeros()).max(1);
    match needed {
        1..=24 => (needed as u8 - 1, needed),
        25..=32 => {
            let code = (needed - 25) / 2;
            (24 + code as u8, 26 + 2 * code)
        }
        _ => {
            let code = (needed - 33) / 8;
            (28 + code as u8, 40 + 8 * code)
        }
    }
}
