//! Reads the numbers of an encoded set.

use crate::error::{Error, Result};

/// The error for bytes that are not such a set.
pub(super) fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a 64-bit Roaring bitmap is damaged: {what}"))
}

/// Takes little-endian numbers off the front.
pub(super) struct SetReader<'a>(pub(super) &'a [u8]);

impl<'a> SetReader<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn short(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of 32 bits that can't be negative.
    pub(super) fn size(&mut self) -> Result<usize> {
        let n = i32::from_le_bytes(self.array()?);
        usize::try_from(n).map_err(|e| damaged(&format!("it has the length {n}")).because(e))
    }
}
