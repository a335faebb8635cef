//! Bit slices of dictionary codes. Each slice is read when it is needed.

use roaring::RoaringBitmap;

use super::be::{Bytes, part, row_set};
use crate::error::{Error, Result};

/// The most bits of a code.
const MOST_SLICES: usize = 32;

/// The rows in which each bit of the codes is set.
pub(super) struct BitSlices<'a> {
    /// Rows that have a code: those that are not null.
    pub rows: RoaringBitmap,
    /// The lowest bit first.
    slices: Vec<&'a [u8]>,
}

impl<'a> BitSlices<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<BitSlices<'a>> {
        let mut from = Bytes(bytes);
        let mut head = Bytes(from.block()?);
        let version = head.byte()?;
        if version > 1 {
            return Err(Error::unsupported(format!("bit slices of version {version}")));
        }
        let count = usize::from(head.byte()?);
        if count > MOST_SLICES {
            return Err(Error::corrupt(format!("an index has {count} bit slices")));
        }
        let rows_length = head.size()?;
        let _places_length = head.size()?;
        let rows = row_set(from.take(rows_length)?)?;
        let mut slices = Vec::with_capacity(count);
        for _ in 0..count {
            let (start, length) = (head.size()?, head.size()?);
            slices.push(part(from.0, start, length)?);
        }
        Ok(BitSlices { rows, slices })
    }

    /// Rows with this code.
    pub(super) fn equal(&self, code: u32) -> Result<RoaringBitmap> {
        if !self.has_bits_of(code) {
            return Ok(RoaringBitmap::new());
        }
        let mut out = self.rows.clone();
        for (bit, slice) in self.slices.iter().enumerate() {
            let slice = row_set(slice)?;
            if code >> bit & 1 == 1 { out &= slice } else { out -= slice }
        }
        Ok(out)
    }

    /// Rows with greater codes.
    pub(super) fn above(&self, code: u32) -> Result<RoaringBitmap> {
        let mut out = RoaringBitmap::new();
        if !self.has_bits_of(code) {
            return Ok(out);
        }
        // From the lowest bit up: a higher bit decides wherever it differs.
        for (bit, slice) in self.slices.iter().enumerate() {
            let slice = row_set(slice)?;
            if code >> bit & 1 == 1 { out &= slice } else { out |= slice }
        }
        Ok(out & &self.rows)
    }

    /// Rows with this code or a greater one.
    pub(super) fn from(&self, code: u32) -> Result<RoaringBitmap> {
        match code.checked_sub(1) {
            Some(before) => self.above(before),
            None => Ok(self.rows.clone()),
        }
    }

    fn has_bits_of(&self, code: u32) -> bool {
        self.slices.len() >= (u32::BITS - code.leading_zeros()) as usize
    }
}
