//! Reads big-endian numbers one after the other, never past the end.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// The rest of some bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

fn ends_early() -> Error {
    Error::corrupt("a file index ends early")
}

/// A length or count that can't be negative.
///
/// # Errors
/// `CorruptTable` if it is.
pub(super) fn size(n: i32) -> Result<usize> {
    usize::try_from(n).map_err(|e| Error::corrupt(format!("a file index has the negative length {n}")).because(e))
}

/// Part of some bytes.
///
/// # Errors
/// `CorruptTable` if they are too short.
pub(super) fn part(bytes: &[u8], start: usize, length: usize) -> Result<&[u8]> {
    start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or_else(ends_early)
}

/// The bytes from `start` on.
///
/// # Errors
/// `CorruptTable` if that is past the end.
pub(super) fn after(bytes: &[u8], start: usize) -> Result<&[u8]> {
    bytes.get(start..).ok_or_else(ends_early)
}

/// A set of rows at the beginning of some bytes.
///
/// # Errors
/// `CorruptTable` if the bytes end earlier.
pub(super) fn row_set(bytes: &[u8]) -> Result<RoaringBitmap> {
    Bytes(bytes).row_set()
}

impl<'a> Bytes<'a> {
    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(ends_early)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    pub(super) fn short(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub(super) fn int(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub(super) fn long(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A number that is a length or a count.
    pub(super) fn size(&mut self) -> Result<usize> {
        self.int().and_then(size)
    }

    /// Bytes after a number that gives their length.
    pub(super) fn block(&mut self) -> Result<&'a [u8]> {
        let length = self.size()?;
        self.take(length)
    }

    /// A Roaring bitmap in the portable form.
    pub(super) fn row_set(&mut self) -> Result<RoaringBitmap> {
        RoaringBitmap::deserialize_from(&mut self.0)
            .map_err(|e| Error::corrupt("a bitmap of a file index is damaged").because(e))
    }
}
