//! Runs of integers (specification, "Integer Run Length Encoding", versions 1 and 2).

use super::stream::{Stream, unzigzag};
use crate::error::{Error, Result};

/// The most numbers of a run of either version.
const MAX_RUN: usize = 512;

/// How a stream of integers is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerEncoding {
    /// Whether numbers may be negative.
    pub signed: bool,
    /// Version 2 of the encoding, else version 1.
    pub v2: bool,
}

/// Decodes integers.
#[derive(Debug)]
pub struct Integers {
    stream: Stream,
    encoding: IntegerEncoding,
    run: Vec<i64>,
    at: usize,
    packed: Vec<u8>,
}

impl Integers {
    /// Decodes a stream.
    pub fn new(stream: Stream, encoding: IntegerEncoding) -> Self {
        Integers { stream, encoding, run: Vec::new(), at: 0, packed: Vec::new() }
    }

    /// The next `count` integers. Memory is reserved only for integers that the stream has.
    ///
    /// # Errors
    /// `CorruptTable` if the stream has fewer integers or is damaged.
    pub fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut out = Vec::with_capacity(count.min(1 << 16));
        while out.len() < count {
            if self.at >= self.run.len() {
                self.run.clear();
                self.at = 0;
                match self.encoding.v2 {
                    true => self.next_run_v2()?,
                    false => self.next_run_v1()?,
                }
            }
            let at_hand = self.run.get(self.at..).unwrap_or_default();
            let part = at_hand.len().min(count - out.len());
            out.extend_from_slice(at_hand.get(..part).unwrap_or_default());
            self.at += part;
        }
        Ok(out)
    }

    /// A number of variable length.
    fn varint(&mut self) -> Result<i64> {
        let value = self.stream.varint()?;
        Ok(if self.encoding.signed { unzigzag(value) } else { value as i64 })
    }

    fn next_run_v1(&mut self) -> Result<()> {
        let control = self.stream.byte()?;
        if control < 0x80 {
            let delta = i64::from(self.stream.byte()? as i8);
            let mut value = self.varint()?;
            for _ in 0..usize::from(control) + 3 {
                self.run.push(value);
                value = value.wrapping_add(delta);
            }
        } else {
            for _ in 0..256 - usize::from(control) {
                let value = self.varint()?;
                self.run.push(value);
            }
        }
        Ok(())
    }

    fn next_run_v2(&mut self) -> Result<()> {
        let first = self.stream.byte()?;
        let width_code = first >> 1 & 0x1f;
        match first >> 6 {
            0 => {
                let value = self.big_endian(usize::from(first >> 3 & 7) + 1)?;
                let value = if self.encoding.signed { unzigzag(value) } else { value as i64 };
                self.run.resize(usize::from(first & 7) + 3, value);
                Ok(())
            }
            1 => {
                let length = self.run_length(first)?;
                self.unpack(length, width(width_code))?;
                if self.encoding.signed {
                    self.run.iter_mut().for_each(|v| *v = unzigzag(*v as u64));
                }
                Ok(())
            }
            2 => self.patched_run(first, width(width_code)),
            _ => {
                let length = self.run_length(first)?;
                // In this case alone the code 0 means no bits.
                self.delta_run(length, if width_code == 0 { 0 } else { width(width_code) })
            }
        }
    }

    /// The length of a run: nine bits that begin in the first byte of a header.
    fn run_length(&mut self, first: u8) -> Result<usize> {
        Ok((usize::from(first & 1) << 8 | usize::from(self.stream.byte()?)) + 1)
    }

    fn delta_run(&mut self, length: usize, width: u32) -> Result<()> {
        let mut value = self.varint()?;
        let step = unzigzag(self.stream.varint()?);
        if width == 0 {
            for _ in 0..length {
                self.run.push(value);
                value = value.wrapping_add(step);
            }
            return Ok(());
        }
        self.unpack(length.saturating_sub(2), width)?;
        let steps = std::mem::take(&mut self.run);
        self.run.push(value);
        if length > 1 {
            value = value.wrapping_add(step);
            self.run.push(value);
        }
        for size in steps {
            value = if step < 0 { value.wrapping_sub(size) } else { value.wrapping_add(size) };
            self.run.push(value);
        }
        Ok(())
    }

    fn patched_run(&mut self, first: u8, width: u32) -> Result<()> {
        let length = self.run_length(first)?;
        let (third, fourth) = (self.stream.byte()?, self.stream.byte()?);
        let base_bytes = usize::from(third >> 5) + 1;
        let patch_width = self::width(third & 0x1f);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 0x1f);
        let stored_base = self.big_endian(base_bytes)?;
        // The highest bit is the sign.
        let sign = 1u64 << (8 * base_bytes - 1);
        let base = (stored_base & !sign) as i64;
        let base = if stored_base & sign != 0 { base.wrapping_neg() } else { base };
        self.unpack(length, width)?;
        let values = std::mem::take(&mut self.run);
        self.unpack(patches, closest_width(gap_width + patch_width)?)?;
        let list = std::mem::replace(&mut self.run, values);
        let mut at = 0;
        for entry in list {
            let gap = (entry as u64).checked_shr(patch_width).unwrap_or(0);
            let patch = match patch_width {
                64 => entry as u64,
                bits => entry as u64 & ((1 << bits) - 1),
            };
            at += gap as usize;
            let value = self
                .run
                .get_mut(at)
                .ok_or_else(|| Error::corrupt("a run of integers in the ORC file has more patches than values"))?;
            *value |= patch.checked_shl(width).unwrap_or(0) as i64;
        }
        self.run.iter_mut().for_each(|v| *v = v.wrapping_add(base));
        Ok(())
    }

    fn big_endian(&mut self, bytes: usize) -> Result<u64> {
        let mut value = 0;
        for _ in 0..bytes {
            value = value << 8 | u64::from(self.stream.byte()?);
        }
        Ok(value)
    }

    /// Appends numbers of `width` bits each. The first begins and the last ends at a whole byte.
    fn unpack(&mut self, count: usize, width: u32) -> Result<()> {
        let width = width as usize;
        let bytes = (count.min(MAX_RUN) * width).div_ceil(8);
        // Each number is extracted from eight bytes.
        self.packed.clear();
        self.packed.resize(bytes + 8, 0);
        self.stream.read(self.packed.get_mut(..bytes).unwrap_or_default())?;
        for i in 0..count {
            let bit = i * width;
            let word = self.packed.get(bit / 8..).and_then(<[u8]>::first_chunk::<8>);
            let word = word.map_or(0, |w| u64::from_be_bytes(*w));
            // Widths beyond 56 bits are whole bytes, so no number spans nine bytes.
            self.run.push(((word << (bit % 8)) >> (64 - width)) as i64);
        }
        Ok(())
    }
}

/// The number of bits for a five-bit code.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24..=27 => (u32::from(code) - 24) * 2 + 26,
        _ => (u32::from(code) - 28) * 8 + 40,
    }
}

/// The least width with a code that holds `bits` bits.
fn closest_width(bits: u32) -> Result<u32> {
    (0..32)
        .map(width)
        .find(|w| *w >= bits)
        .ok_or_else(|| Error::corrupt(format!("a run of integers in the ORC file has patches of {bits} bits")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::orc::compression::{Compression, OrcCodec};

    fn decode(stored: &[u8], count: usize, signed: bool, v2: bool) -> Result<Vec<i64>> {
        let compression = Compression { codec: OrcCodec::None, block_size: 0 };
        let stream = Stream::new(Arc::new(stored.to_vec()), 0, stored.len(), compression);
        Integers::new(stream, IntegerEncoding { signed, v2 }).read(count)
    }

    /// The examples of the specification.
    #[test]
    fn examples_of_version_1() {
        assert_eq!(decode(&[0x61, 0x00, 0x07], 100, false, false).unwrap(), [7; 100]);
        let falling: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(decode(&[0x61, 0xff, 0x64], 100, false, false).unwrap(), falling);
        assert_eq!(decode(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], 5, false, false).unwrap(), [2, 3, 6, 7, 11]);
        assert_eq!(decode(&[0xfe, 0x03, 0x02], 2, true, false).unwrap(), [-2, 1]);
    }

    #[test]
    fn examples_of_version_2() {
        let v2 = |stored: &[u8], count| decode(stored, count, false, true);
        assert_eq!(v2(&[0x0a, 0x27, 0x10], 5).unwrap(), [10_000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(v2(&direct, 4).unwrap(), [23_713, 43_806, 57_005, 48_879]);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
            0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let expected = [
            2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160,
            2170, 2180, 2190,
        ];
        assert_eq!(v2(&patched, 20).unwrap(), expected);
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(v2(&delta, 10).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        for end in 0..patched.len() {
            assert!(v2(&patched[..end], 20).is_err(), "{end}");
        }
        for end in 0..delta.len() {
            assert!(v2(&delta[..end], 10).is_err(), "{end}");
        }
        // The patch list refers to a place after the last value.
        assert!(v2(&[0x8e, 0x02, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0xfc, 0xe8], 3).is_err());
    }

    #[test]
    fn widths() {
        let widths: Vec<u32> = (0..32).map(width).collect();
        let expected: Vec<u32> = (1..=24).chain([26, 28, 30, 32, 40, 48, 56, 64]).collect();
        assert_eq!(widths, expected);
        assert_eq!((closest_width(25).unwrap(), closest_width(57).unwrap()), (26, 64));
        assert!(closest_width(65).is_err());
        // 64 bits at once.
        let bytes = [&[0x7e, 0x00][..], &u64::MAX.to_be_bytes()].concat();
        assert_eq!(decode(&bytes, 1, true, true).unwrap(), [i64::MIN]);
    }
}
