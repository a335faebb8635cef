//! Encodes runs of integers, version 2: repeated values, constant steps, monotonic steps, and all others by their
//! bits.

use super::runs::{RunEncoder, RunWriter};
use super::stream::{Compressor, StreamWriter};

/// The most numbers of a run.
const MAX_RUN: usize = 512;

/// The most and the least numbers of a run of one value in the short form.
const SHORT_RUN: std::ops::RangeInclusive<usize> = 3..=10;

/// A run of constant steps between other values is worth its header from this length on.
const WORTHWHILE: usize = 10;

/// Encodes integers.
pub type IntegerWriter = RunWriter<IntegerRunEncoder>;

impl IntegerWriter {
    /// An empty stream of numbers that may be negative, or of unsigned ones.
    pub fn new(compressor: &Compressor, signed: bool) -> Self {
        RunWriter::of(IntegerRunEncoder { signed }, compressor)
    }
}

/// How integers become runs.
#[derive(Debug)]
pub struct IntegerRunEncoder {
    signed: bool,
}

impl RunEncoder for IntegerRunEncoder {
    type Value = i64;
    const MAX_VALUES: usize = MAX_RUN;

    fn encode(&self, values: &[i64], out: &mut StreamWriter) {
        let (mut literals, mut at) = (0, 0);
        while at < values.len() {
            let rest = values.get(at..).unwrap_or_default();
            let (length, step) = constant_steps(rest);
            let is_alone = at == literals && length == rest.len();
            if length >= WORTHWHILE || (is_alone && step == 0 && SHORT_RUN.contains(&length)) {
                self.literals(values.get(literals..at).unwrap_or_default(), out);
                self.constant(rest.first().copied().unwrap_or_default(), step, length, out);
                at += length;
                literals = at;
            } else {
                // The last of these may be the first of a longer run.
                at += (length - 1).max(1);
            }
        }
        self.literals(values.get(literals..).unwrap_or_default(), out);
    }
}

impl IntegerRunEncoder {
    /// The number as it is stored.
    #[inline]
    fn bits(&self, value: i64) -> u64 {
        if self.signed { zigzag(value) } else { value as u64 }
    }

    fn constant(&self, first: i64, step: i64, length: usize, out: &mut StreamWriter) {
        if step == 0 && SHORT_RUN.contains(&length) {
            let bits = self.bits(first);
            let bytes = (8 - bits.leading_zeros() as usize / 8).max(1);
            out.push(((bytes - 1) << 3 | (length - SHORT_RUN.start())) as u8);
            out.extend(bits.to_be_bytes().get(8 - bytes..).unwrap_or_default());
        } else {
            header(3, 0, length, out);
            out.varint(self.bits(first).into());
            out.varint(zigzag(step).into());
        }
    }

    fn literals(&self, values: &[i64], out: &mut StreamWriter) {
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
                header(3, step_code, values.len(), out);
                out.varint(self.bits(first).into());
                out.varint(zigzag(second.wrapping_sub(first)).into());
                return pack(steps.into_iter(), step_width, out);
            }
        }
        header(1, code, values.len(), out);
        pack(values.iter().map(|v| self.bits(*v)), width, out);
    }
}

/// The first two bytes of most runs: the kind, the code of the width, and the length.
fn header(kind: u8, width_code: u8, length: usize, out: &mut StreamWriter) {
    let length = length - 1;
    out.push(kind << 6 | width_code << 1 | (length >> 8) as u8);
    out.push(length as u8);
}

/// Appends numbers of `width` bits each. The first begins and the last ends at a whole byte.
fn pack(values: impl Iterator<Item = u64>, width: u32, out: &mut StreamWriter) {
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
    out.extend(&packed);
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
