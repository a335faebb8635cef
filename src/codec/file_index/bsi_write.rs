//! Writes bit-slice indexes.

use roaring::RoaringBitmap;

use super::out::{Out, serialized};
use crate::error::Result;

const VERSION: u8 = 1;

/// The index of some rows. Positive and negative values have separate slices. `None` if a value is the least of all
/// numbers: it has no magnitude in Java.
///
/// # Errors
/// `Unsupported` if it is too large.
pub(super) fn encode(values: &[Option<i64>]) -> Result<Option<Vec<u8>>> {
    let mut out = Out::default();
    out.byte(VERSION);
    out.size(values.len())?;
    for negative in [false, true] {
        let mut slices = Slices::default();
        for (row, value) in (0..).zip(values) {
            if let Some(value) = value.filter(|v| (*v < 0) == negative) {
                let Some(magnitude) = value.checked_abs() else { return Ok(None) };
                slices.add(row, magnitude);
            }
        }
        out.byte(u8::from(!slices.rows.is_empty()));
        if !slices.rows.is_empty() {
            slices.write(&mut out)?;
        }
    }
    Ok(Some(out.0))
}

#[derive(Default)]
struct Slices {
    greatest: i64,
    rows: RoaringBitmap,
    /// The lowest bit first.
    slices: Vec<RoaringBitmap>,
}

impl Slices {
    fn add(&mut self, row: u32, magnitude: i64) {
        self.greatest = self.greatest.max(magnitude);
        self.rows.insert(row);
        let bits = (u64::BITS - magnitude.leading_zeros()) as usize;
        self.slices.resize(self.slices.len().max(bits), RoaringBitmap::new());
        for (bit, slice) in self.slices.iter_mut().enumerate().take(bits) {
            if magnitude >> bit & 1 == 1 {
                slice.insert(row);
            }
        }
    }

    fn write(&self, out: &mut Out) -> Result<()> {
        out.byte(VERSION);
        // Java accepts no other least magnitude.
        out.long(0);
        out.long(self.greatest);
        out.bytes(&serialized(&self.rows)?);
        out.size(self.slices.len())?;
        self.slices.iter().try_for_each(|slice| serialized(slice).map(|bytes| out.bytes(&bytes)))
    }
}
