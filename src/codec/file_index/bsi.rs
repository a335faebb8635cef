//! Bit-slice indexes of whole numbers: for each bit of the magnitudes, the rows that have it set.
//!
//! Source of the algorithm: O'Neil and Quass, "Improved query performance with variant indexes".

use roaring::RoaringBitmap;

use super::be::Bytes;
use super::key::{IndexKey, IndexedType, Question};
use super::rows::MatchingRows;
use crate::error::{Error, Result};

/// The most bits of a magnitude.
const MOST_SLICES: usize = 64;

/// Answers every question about values. Positive and negative values have separate slices.
pub(super) fn rows(bytes: &[u8], question: &Question, ty: IndexedType) -> Result<MatchingRows> {
    if matches!(ty, IndexedType::Decimal { precision: 19.. }) {
        return Ok(MatchingRows::Unknown);
    }
    let mut from = Bytes(bytes);
    let version = from.byte()?;
    if version > 1 {
        return Err(Error::unsupported(format!("bit-slice indexes of version {version}")));
    }
    let count = from.int()?.cast_unsigned();
    let positive = Slices::read(&mut from)?;
    let negative = Slices::read(&mut from)?;
    let index = SliceIndex { positive, negative };
    let set = match question {
        Question::Null => return Ok(MatchingRows::AllBut { count, except: index.all() }),
        Question::NotNull => index.all(),
        Question::In(keys) => index.among(keys),
        Question::NotIn(keys) => index.all() - index.among(keys),
        Question::Below(IndexKey::Whole(v), or_equal) => index.below(*v, *or_equal),
        Question::Above(IndexKey::Whole(v), or_equal) => index.all() - index.below(*v, !or_equal),
        _ => return Ok(MatchingRows::Unknown),
    };
    Ok(MatchingRows::Only(set))
}

struct SliceIndex {
    positive: Slices,
    negative: Slices,
}

impl SliceIndex {
    fn all(&self) -> RoaringBitmap {
        &self.positive.rows | &self.negative.rows
    }

    fn among(&self, keys: &[IndexKey]) -> RoaringBitmap {
        let mut out = RoaringBitmap::new();
        for key in keys {
            match key {
                IndexKey::Whole(v) if *v < 0 => out |= self.negative.compare(v.unsigned_abs()).equal,
                IndexKey::Whole(v) => out |= self.positive.compare(v.unsigned_abs()).equal,
                _ => {}
            }
        }
        out
    }

    /// Rows with values less than `v`, or equal to it if requested.
    fn below(&self, v: i64, or_equal: bool) -> RoaringBitmap {
        let side = if v < 0 { &self.negative } else { &self.positive };
        let split = side.compare(v.unsigned_abs());
        let mut out = if v < 0 { split.more } else { split.less | &self.negative.rows };
        if or_equal {
            out |= split.equal;
        }
        out
    }
}

/// Slices of the magnitudes minus the least magnitude; the lowest bit first.
#[derive(Default)]
struct Slices {
    least: u64,
    greatest: u64,
    rows: RoaringBitmap,
    slices: Vec<RoaringBitmap>,
}

/// Rows by the comparison of their magnitude with another one.
struct MagnitudeSplit {
    less: RoaringBitmap,
    equal: RoaringBitmap,
    more: RoaringBitmap,
}

impl Slices {
    /// Reads the slices of one sign. They are empty if no value has this sign.
    fn read(from: &mut Bytes<'_>) -> Result<Slices> {
        if from.byte()? == 0 {
            return Ok(Slices::default());
        }
        let version = from.byte()?;
        if version > 1 {
            return Err(Error::unsupported(format!("bit slices of version {version}")));
        }
        let (least, greatest) = (from.long()?.cast_unsigned(), from.long()?.cast_unsigned());
        let rows = from.row_set()?;
        let count = from.size()?;
        if count > MOST_SLICES {
            return Err(Error::corrupt(format!("an index has {count} bit slices")));
        }
        let slices = (0..count).map(|_| from.row_set()).collect::<Result<_>>()?;
        Ok(Slices { least, greatest, rows, slices })
    }

    fn compare(&self, v: u64) -> MagnitudeSplit {
        let none = RoaringBitmap::new;
        if v < self.least {
            return MagnitudeSplit { less: none(), equal: none(), more: self.rows.clone() };
        }
        if v > self.greatest {
            return MagnitudeSplit { less: self.rows.clone(), equal: none(), more: none() };
        }
        let v = v - self.least;
        if self.slices.len() < MOST_SLICES && v >> self.slices.len() != 0 {
            return MagnitudeSplit { less: self.rows.clone(), equal: none(), more: none() };
        }
        let mut out = MagnitudeSplit { less: none(), equal: self.rows.clone(), more: none() };
        for (bit, slice) in self.slices.iter().enumerate().rev() {
            if v >> bit & 1 == 1 {
                out.less |= &out.equal - slice;
                out.equal &= slice;
            } else {
                out.more |= &out.equal & slice;
                out.equal -= slice;
            }
        }
        out
    }
}
