//! Sets of 16-bit numbers, in one of three forms. The form of a union depends on the forms of both sets, not only on
//! their numbers. So the rules of Java's containers are followed one by one.

use super::reader::{SetReader, damaged};
use crate::error::Result;

/// Words of a bitmap.
const WORDS: usize = 1024;

/// Bytes of a bitmap.
const BITMAP_BYTES: usize = 8 * WORDS;

/// The most numbers of an array.
const MAX_ARRAY: usize = 4096;

const RUNS: u8 = 0;
const BITMAP: u8 = 1;
const ARRAY: u8 = 2;

/// The numbers that share their upper 48 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShortSet {
    /// First numbers of runs, ascending and separate. Each has the count of the numbers that follow it.
    Runs(Vec<(u16, u16)>),
    Bitmap(BitWords),
    /// The numbers, ascending.
    Array(Vec<u16>),
}

impl ShortSet {
    /// The next container.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a container, or its numbers are out of order or have another count than it
    /// records.
    pub(super) fn read(from: &mut SetReader<'_>) -> Result<ShortSet> {
        let form = from.byte()?;
        let claimed = from.size()?;
        let read = match form {
            RUNS => {
                let count = usize::from(from.short()?);
                let (pairs, _) = from.take(4 * count)?.as_chunks::<4>();
                ShortSet::Runs(pairs.iter().map(|[a, b, c, d]| (le(*a, *b), le(*c, *d))).collect())
            }
            BITMAP => {
                let (words, _) = from.take(BITMAP_BYTES)?.as_chunks::<8>();
                let mut bits = BitWords::default();
                bits.0.iter_mut().zip(words).for_each(|(to, word)| *to = u64::from_le_bytes(*word));
                ShortSet::Bitmap(bits)
            }
            ARRAY => {
                let bytes = claimed.checked_mul(2).ok_or_else(|| damaged("it is cut off"))?;
                let (numbers, _) = from.take(bytes)?.as_chunks::<2>();
                ShortSet::Array(numbers.iter().map(|[a, b]| le(*a, *b)).collect())
            }
            _ => return Err(damaged(&format!("there are no containers of type {form}"))),
        };
        if !read.is_ordered() {
            return Err(damaged("numbers of a container are out of order"));
        }
        if read.len() != claimed {
            return Err(damaged(&format!("a container of {} numbers claims {claimed}", read.len())));
        }
        Ok(read)
    }

    /// The inverse of [`ShortSet::read`].
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let claimed = (self.len() as u32).to_le_bytes();
        match self {
            ShortSet::Runs(runs) => {
                out.push(RUNS);
                out.extend(claimed);
                out.extend((runs.len() as u16).to_le_bytes());
                runs.iter()
                    .for_each(|(first, more)| out.extend([first.to_le_bytes(), more.to_le_bytes()].as_flattened()));
            }
            ShortSet::Bitmap(bits) => {
                out.push(BITMAP);
                out.extend(claimed);
                out.extend(bits.0.iter().flat_map(|word| word.to_le_bytes()));
            }
            ShortSet::Array(numbers) => {
                out.push(ARRAY);
                out.extend(claimed);
                out.extend(numbers.iter().flat_map(|n| n.to_le_bytes()));
            }
        }
    }

    fn is_ordered(&self) -> bool {
        match self {
            ShortSet::Runs(runs) => {
                // No run goes beyond the last possible number.
                let ends = runs.iter().map(|(first, more)| first.checked_add(*more));
                let next = runs.iter().map(|(first, _)| Some(*first)).skip(1).chain([None]);
                ends.zip(next).all(|(end, next)| end.is_some_and(|end| next.is_none_or(|next| end < next)))
            }
            ShortSet::Bitmap(_) => true,
            ShortSet::Array(numbers) => numbers.is_sorted_by(|a, b| a < b),
        }
    }

    fn len(&self) -> usize {
        match self {
            ShortSet::Runs(runs) => runs.iter().map(|(_, more)| usize::from(*more) + 1).sum(),
            ShortSet::Bitmap(bits) => bits.len(),
            ShortSet::Array(numbers) => numbers.len(),
        }
    }

    fn add_to(&self, bits: &mut BitWords) {
        match self {
            ShortSet::Runs(runs) => runs.iter().for_each(|(first, more)| bits.set(*first, first.saturating_add(*more))),
            ShortSet::Bitmap(others) => bits.0.iter_mut().zip(others.0.iter()).for_each(|(to, word)| *to |= word),
            ShortSet::Array(numbers) => numbers.iter().for_each(|n| bits.set(*n, *n)),
        }
    }

    pub(super) fn bits(&self) -> BitWords {
        let mut bits = BitWords::default();
        self.add_to(&mut bits);
        bits
    }

    /// Adds the numbers of another.
    pub(super) fn unite(&mut self, other: &ShortSet) {
        let mut bits = self.bits();
        other.add_to(&mut bits);
        let count = bits.len();
        *self = match (&self, other) {
            (ShortSet::Bitmap(_), _) | (_, ShortSet::Bitmap(_)) => ShortSet::Bitmap(bits),
            (ShortSet::Array(_), ShortSet::Array(_)) => ShortSet::smaller(bits, count),
            // They stay runs if these take as much as another form. Other containers become runs only if these take
            // less.
            _ if runs_bytes(bits.count_runs()) <= BITMAP_BYTES.min(2 * count + 2) => {
                ShortSet::Runs(runs(bits.numbers()))
            }
            _ => ShortSet::smaller(bits, count),
        };
    }

    fn smaller(bits: BitWords, count: usize) -> ShortSet {
        match count {
            ..=MAX_ARRAY => ShortSet::Array(bits.numbers().collect()),
            _ => ShortSet::Bitmap(bits),
        }
    }

    /// Turns it into runs if they take less. Runs stay: Java's bitmaps of 64 bits do not look for a smaller form of
    /// them.
    pub(super) fn optimize(&mut self) {
        match self {
            ShortSet::Runs(_) => {}
            ShortSet::Bitmap(bits) => {
                if runs_bytes(bits.count_runs()) < BITMAP_BYTES {
                    *self = ShortSet::Runs(runs(bits.numbers()));
                }
            }
            ShortSet::Array(numbers) => {
                let apart = |pair: &&[u16]| pair.first().zip(pair.last()).is_some_and(|(a, b)| b - a > 1);
                let count = numbers.len().min(1) + numbers.windows(2).filter(apart).count();
                if runs_bytes(count) < 2 * numbers.len() {
                    *self = ShortSet::Runs(runs(numbers.iter().copied()));
                }
            }
        }
    }
}

/// The bytes of `runs` runs, with their number.
fn runs_bytes(runs: usize) -> usize {
    2 + 4 * runs
}

fn le(low: u8, high: u8) -> u16 {
    u16::from_le_bytes([low, high])
}

/// A bit for each 16-bit number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BitWords(Box<[u64; WORDS]>);

impl Default for BitWords {
    fn default() -> Self {
        BitWords(Box::new([0; WORDS]))
    }
}

impl BitWords {
    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Sets the bits of `first` to `last`.
    fn set(&mut self, first: u16, last: u16) {
        let (start, end) = (usize::from(first >> 6), usize::from(last >> 6));
        let words = self.0.iter_mut().enumerate().skip(start).take(end.saturating_sub(start) + 1);
        for (i, word) in words {
            let from = if i == start { u64::MAX << (first & 63) } else { u64::MAX };
            let to = if i == end { u64::MAX >> (63 - (last & 63)) } else { u64::MAX };
            *word |= from & to;
        }
    }

    /// The numbers, ascending.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some((i as u16) << 6 | bit as u16)
            })
        })
    }

    fn count_runs(&self) -> usize {
        // A run begins where a bit is set after one that is not.
        let before = std::iter::once(0).chain(self.0.iter().map(|word| word >> 63));
        let starts = self.0.iter().zip(before).map(|(word, before)| word & !(word << 1 | before));
        starts.map(|starts| starts.count_ones() as usize).sum()
    }
}

/// Ascending numbers as runs, each as long as possible.
fn runs(numbers: impl Iterator<Item = u16>) -> Vec<(u16, u16)> {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((first, more)) if u32::from(number - *first) == u32::from(*more) + 1 => *more += 1,
            _ => runs.push((number, 0)),
        }
    }
    runs
}
