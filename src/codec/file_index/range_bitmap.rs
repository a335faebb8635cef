//! Range-bitmap indexes: a sorted dictionary of the values and bit slices of their codes.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::be::Bytes;
use super::bit_slices::BitSlices;
use super::dictionary::{Found, KeyDictionary};
use super::key::{IndexKey, IndexedType, Question};
use super::rows::MatchingRows;
use crate::error::{Error, Result};

/// Answers every question about values.
pub(super) fn rows(bytes: &[u8], question: &Question, ty: IndexedType) -> Result<MatchingRows> {
    let mut from = Bytes(bytes);
    let mut head = Bytes(from.block()?);
    let version = head.byte()?;
    if version > 1 {
        return Err(Error::unsupported(format!("range-bitmap indexes of version {version}")));
    }
    let (count, values) = (head.int()?.cast_unsigned(), head.int()?);
    if values <= 0 {
        let nulls = MatchingRows::AllBut { count, except: RoaringBitmap::new() };
        return Ok(if *question == Question::Null { nulls } else { MatchingRows::none() });
    }
    let (least, greatest) = (ty.read(&mut head)?, ty.read(&mut head)?);
    let dictionary = from.take(head.size()?)?;
    let index = RangeBitmapIndex { ty, least, greatest, dictionary, slices: BitSlices::parse(from.0)? };
    let set = match question {
        Question::Null => return Ok(MatchingRows::AllBut { count, except: index.slices.rows }),
        Question::NotNull => index.slices.rows,
        Question::In(keys) => index.among(keys)?,
        Question::NotIn(keys) => {
            let among = index.among(keys)?;
            index.slices.rows - among
        }
        Question::Above(key, or_equal) => index.above(key, *or_equal)?,
        Question::Below(key, or_equal) => {
            let above = index.above(key, !or_equal)?;
            index.slices.rows - above
        }
        Question::Prefix => return Ok(MatchingRows::Unknown),
    };
    Ok(MatchingRows::Only(set))
}

struct RangeBitmapIndex<'a> {
    ty: IndexedType,
    least: IndexKey,
    greatest: IndexKey,
    dictionary: &'a [u8],
    slices: BitSlices<'a>,
}

impl RangeBitmapIndex<'_> {
    fn among(&self, keys: &[IndexKey]) -> Result<RoaringBitmap> {
        let within = |key: &&IndexKey| {
            key.order(&self.least) != Ordering::Less && key.order(&self.greatest) != Ordering::Greater
        };
        let mut out = RoaringBitmap::new();
        let mut wanted = keys.iter().filter(within).peekable();
        if wanted.peek().is_none() {
            return Ok(out);
        }
        let dictionary = KeyDictionary::parse(self.dictionary, self.ty)?;
        for key in wanted {
            if let Found::At(code) = dictionary.find(key)? {
                out |= self.slices.equal(code)?;
            }
        }
        Ok(out)
    }

    /// Rows with values greater than `key`, or equal to it if requested.
    fn above(&self, key: &IndexKey, or_equal: bool) -> Result<RoaringBitmap> {
        match (key.order(&self.least), key.order(&self.greatest)) {
            (Ordering::Less, _) => return Ok(self.slices.rows.clone()),
            (Ordering::Equal, _) if or_equal => return Ok(self.slices.rows.clone()),
            (_, Ordering::Greater) => return Ok(RoaringBitmap::new()),
            (_, Ordering::Equal) if !or_equal => return Ok(RoaringBitmap::new()),
            _ => {}
        }
        match KeyDictionary::parse(self.dictionary, self.ty)?.find(key)? {
            Found::At(code) if !or_equal => self.slices.above(code),
            Found::At(code) | Found::Before(code) => self.slices.from(code),
        }
    }
}
