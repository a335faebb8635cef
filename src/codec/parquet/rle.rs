//! Runs of small numbers in Parquet pages: definition levels and dictionary indices.
//!
//! A run repeats one number, or packs groups of eight numbers to a fixed number of bits each. [`PackedRuns`] is a
//! position in a page. It does not hold the page: every call is given the bytes.
//!
//! Source: parquet-format `Encodings.md`, "Run Length Encoding / Bit-Packing Hybrid".

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;

use super::thrift::Flaw;

const EARLY: Flaw = "its numbers end early";

/// The number of numbers to come.
#[derive(Debug)]
pub(crate) struct PackedRuns {
    /// The offset after the current run.
    rest: Range<usize>,
    /// Bits of a number, at most 32.
    width: u32,
    current: PackedRun,
}

#[derive(Debug)]
enum PackedRun {
    Repeated {
        value: u32,
        left: usize,
    },
    /// `left` packed numbers, from byte `start` on.
    Packed {
        start: usize,
        left: Range<usize>,
    },
}

impl PackedRuns {
    /// The numbers in these bytes of a page.
    pub(crate) fn new(bytes: Range<usize>, width: u32) -> Result<PackedRuns, Flaw> {
        match width <= u32::BITS {
            true => Ok(PackedRuns { rest: bytes, width, current: PackedRun::Repeated { value: 0, left: 0 } }),
            false => Err("its numbers are wider than 32 bits"),
        }
    }

    /// Reads the next `count` numbers.
    pub(crate) fn take(&mut self, page: &[u8], mut count: usize, out: &mut Vec<u32>) -> Result<(), Flaw> {
        out.reserve(count);
        while count > 0 {
            self.load(page)?;
            let taken = match &mut self.current {
                PackedRun::Repeated { value, left } => {
                    let taken = count.min(*left);
                    out.resize(out.len() + taken, *value);
                    *left -= taken;
                    taken
                }
                PackedRun::Packed { start, left } => {
                    let taken = count.min(left.len());
                    let packed = page.get(*start..self.rest.end).ok_or(EARLY)?;
                    unpack(packed, left.start..left.start + taken, self.width, out);
                    left.start += taken;
                    taken
                }
            };
            count -= taken;
        }
        Ok(())
    }

    /// Skips the next `count` numbers.
    pub(crate) fn skip(&mut self, page: &[u8], mut count: usize) -> Result<(), Flaw> {
        while count > 0 {
            self.load(page)?;
            let passed = count.min(self.left());
            match &mut self.current {
                PackedRun::Repeated { left, .. } => *left -= passed,
                PackedRun::Packed { left, .. } => left.start += passed,
            }
            count -= passed;
        }
        Ok(())
    }

    /// Reads the next `count` numbers of one bit each.
    pub(crate) fn take_bits(
        &mut self,
        page: &[u8],
        mut count: usize,
        out: &mut BooleanBufferBuilder,
    ) -> Result<(), Flaw> {
        while count > 0 {
            self.load(page)?;
            let taken = count.min(self.left());
            match &mut self.current {
                PackedRun::Repeated { value, left } => {
                    if *value > 1 {
                        return Err("a level or boolean is more than 1");
                    }
                    out.append_n(taken, *value == 1);
                    *left -= taken;
                }
                PackedRun::Packed { start, left } => {
                    let first = *start * 8 + left.start;
                    out.append_packed_range(first..first + taken, page);
                    left.start += taken;
                }
            }
            count -= taken;
        }
        Ok(())
    }

    /// Skips the next `count` numbers if a quick check shows that all of them are 1.
    pub(crate) fn pass_ones(&mut self, page: &[u8], count: usize) -> Result<bool, Flaw> {
        if count > 0 {
            self.load(page)?;
        }
        match &mut self.current {
            PackedRun::Repeated { value: 1, left } if *left >= count => {
                *left -= count;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The number of numbers left in the current run.
    fn left(&self) -> usize {
        match &self.current {
            PackedRun::Repeated { left, .. } => *left,
            PackedRun::Packed { left, .. } => left.len(),
        }
    }

    /// Goes to the next run with numbers, if the current one has none left.
    fn load(&mut self, page: &[u8]) -> Result<(), Flaw> {
        while self.left() == 0 {
            let header = self.header(page)?;
            let count = (header >> 1) as usize;
            self.current = match header & 1 {
                0 => PackedRun::Repeated { value: self.repeated(page)?, left: count },
                _ => {
                    let start = self.rest.start;
                    // Writers may omit the padding of the last group.
                    let (bits, width) = (self.rest.len() * 8, self.width as usize);
                    let held = bits.checked_div(width).unwrap_or(usize::MAX).min(count * 8);
                    if held == 0 && count > 0 {
                        return Err(EARLY);
                    }
                    self.rest.start = self.rest.end.min(start + count * width);
                    PackedRun::Packed { start, left: 0..held }
                }
            };
        }
        Ok(())
    }

    /// The varint before a run.
    fn header(&mut self, page: &[u8]) -> Result<u64, Flaw> {
        let mut header = 0u64;
        for shift in (0..u32::BITS).step_by(7) {
            let byte = self.byte(page)?;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(header);
            }
        }
        Err("the length of a run takes too many bytes")
    }

    fn repeated(&mut self, page: &[u8]) -> Result<u32, Flaw> {
        let mut value = 0;
        for shift in (0..self.width).step_by(8) {
            value |= u32::from(self.byte(page)?) << shift;
        }
        Ok(value)
    }

    fn byte(&mut self, page: &[u8]) -> Result<u8, Flaw> {
        let at = self.rest.next().ok_or(EARLY)?;
        page.get(at).copied().ok_or(EARLY)
    }
}

/// The numbers `which` of those packed in these bytes, from the lowest bit of each byte up.
fn unpack(packed: &[u8], which: Range<usize>, width: u32, out: &mut Vec<u32>) {
    let (bits, mask) = (width as usize, (1u64 << width) - 1);
    let one = |index: usize| (word(packed, index * bits / 8) >> (index * bits % 8) & mask) as u32;
    if width > 16 {
        out.extend(which.map(one));
        return;
    }
    let first_group = which.start.next_multiple_of(8).min(which.end);
    out.extend((which.start..first_group).map(one));
    let groups = (which.end - first_group) / 8;
    // Four numbers fit a word that begins with them or half a byte before them.
    let half = 4 * bits;
    for group in 0..groups {
        let start = (first_group / 8 + group) * bits;
        let (low, high) = (word(packed, start), word(packed, start + half / 8) >> (half % 8));
        let number = |from: u64, place: usize| (from >> (place * bits) & mask) as u32;
        out.extend_from_slice(&[
            number(low, 0),
            number(low, 1),
            number(low, 2),
            number(low, 3),
            number(high, 0),
            number(high, 1),
            number(high, 2),
            number(high, 3),
        ]);
    }
    out.extend((first_group + groups * 8..which.end).map(one));
}

/// The next eight bytes, with zeros after the end.
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Encodes numbers as the specification says: (count, Some(number) for a repeated one).
    fn encode(width: u32, runs: &[(usize, Option<u32>, Vec<u32>)]) -> (Vec<u8>, Vec<u32>) {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        let varint = |mut n: u64, bytes: &mut Vec<u8>| {
            while n >= 0x80 {
                bytes.push(n as u8 | 0x80);
                n >>= 7;
            }
            bytes.push(n as u8);
        };
        for (count, repeated, packed) in runs {
            match repeated {
                Some(value) => {
                    varint((*count as u64) << 1, &mut bytes);
                    bytes.extend(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
                    numbers.extend(std::iter::repeat_n(*value, *count));
                }
                None => {
                    varint((packed.len() as u64 / 8) << 1 | 1, &mut bytes);
                    let mut bits = vec![0u8; packed.len() / 8 * width as usize];
                    for (i, value) in packed.iter().enumerate() {
                        for bit in 0..width as usize {
                            let at = i * width as usize + bit;
                            bits[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
                        }
                    }
                    bytes.extend(bits);
                    numbers.extend(packed);
                }
            }
        }
        (bytes, numbers)
    }

    fn runs(width: u32) -> impl Strategy<Value = Vec<(usize, Option<u32>, Vec<u32>)>> {
        let top = ((1u64 << width) - 1) as u32;
        let packed = (1usize..5).prop_flat_map(move |groups| prop::collection::vec(0..=top, groups * 8));
        prop::collection::vec((0usize..40, prop::option::of(0..=top), packed), 0..6)
    }

    proptest! {
        #[test]
        fn numbers_come_back_in_pieces(
            (width, runs) in (0u32..=32).prop_flat_map(|width| (Just(width), runs(width))),
            pieces in prop::collection::vec((0usize..30, any::<bool>()), 0..30),
            before in 0usize..3,
        ) {
            let (encoded, numbers) = encode(width, &runs);
            let page = [vec![0xff; before], encoded].concat();
            let mut decoder = PackedRuns::new(before..page.len(), width).unwrap();
            let (mut at, mut found) = (0, Vec::new());
            for (piece, skipped) in pieces {
                let piece = piece.min(numbers.len() - at);
                if skipped {
                    decoder.skip(&page, piece).unwrap();
                    found.extend(&numbers[at..at + piece]);
                } else {
                    decoder.take(&page, piece, &mut found).unwrap();
                }
                at += piece;
            }
            decoder.take(&page, numbers.len() - at, &mut found).unwrap();
            prop_assert_eq!(&found, &numbers);
            // After the last number is nothing, or padding of the last group.
            prop_assert!(decoder.take(&page, 1, &mut found).is_err());
        }

        #[test]
        fn bits_are_the_numbers_of_one_bit(runs in runs(1), first in 0usize..20) {
            let (page, numbers) = encode(1, &runs);
            let first = first.min(numbers.len());
            let mut decoder = PackedRuns::new(0..page.len(), 1).unwrap();
            if !decoder.pass_ones(&page, first).unwrap_or(false) {
                decoder.skip(&page, first).unwrap();
            } else {
                prop_assert!(numbers[..first].iter().all(|n| *n == 1));
            }
            let mut bits = BooleanBufferBuilder::new(0);
            decoder.take_bits(&page, numbers.len() - first, &mut bits).unwrap();
            prop_assert!(bits.finish().iter().eq(numbers[first..].iter().map(|n| *n == 1)));
        }

        #[test]
        fn any_bytes_are_numbers_or_an_error(page: Vec<u8>, width in 0u32..40, count in 0usize..5000) {
            let Ok(mut decoder) = PackedRuns::new(0..page.len(), width) else { return Ok(()) };
            let mut found = Vec::new();
            if decoder.take(&page, count, &mut found).is_ok() {
                prop_assert_eq!(found.len(), count);
                prop_assert!(found.iter().all(|n| u64::from(*n) < 1 << width.next_multiple_of(8)));
            }
        }
    }

    #[test]
    fn a_last_group_may_be_cut_short() {
        // One group of 8 numbers of 4 bits, but only 3 bytes follow.
        let page = [3, 0x21, 0x43, 0x65];
        let mut decoder = PackedRuns::new(0..4, 4).unwrap();
        let mut found = Vec::new();
        decoder.take(&page, 6, &mut found).unwrap();
        assert_eq!(found, [1, 2, 3, 4, 5, 6]);
        assert!(decoder.take(&page, 1, &mut found).is_err());
        // A run of length 0 is damage.
        let mut decoder = PackedRuns::new(0..4, 1).unwrap();
        assert_eq!(decoder.pass_ones(&[0, 0, 4, 1], 2), Ok(true));
    }
}
