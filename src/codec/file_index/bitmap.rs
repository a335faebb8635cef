//! Bitmap indexes: for each value the rows that have it.
//!
//! Version 1 lists all values. Version 2 sorts them into blocks, and only blocks that may hold a wanted value are
//! read.

use std::cmp::Ordering;

use roaring::RoaringBitmap;

use super::be::{Bytes, after, row_set, size};
use super::key::{IndexKey, IndexedType, Question};
use super::rows::MatchingRows;
use crate::error::{Error, Result};

/// Answers questions about equality and nulls.
pub(super) fn rows(bytes: &[u8], question: &Question, ty: IndexedType) -> Result<MatchingRows> {
    let (keys, nulls, out) = match question {
        Question::Null => (&[][..], true, false),
        Question::NotNull => (&[][..], true, true),
        Question::In(keys) => (keys.as_slice(), false, false),
        Question::NotIn(keys) => (keys.as_slice(), true, true),
        Question::Below(..) | Question::Above(..) | Question::Prefix => return Ok(MatchingRows::Unknown),
    };
    let mut from = Bytes(bytes);
    let index = match from.byte()? {
        1 => BitmapIndex::v1(from, keys, ty)?,
        2 => BitmapIndex::v2(from, keys, ty)?,
        version => return Err(Error::unsupported(format!("bitmap indexes of version {version}"))),
    };
    let mut set = RoaringBitmap::new();
    for place in index.found.iter().chain(index.nulls.iter().filter(|_| nulls)) {
        set |= index.set(*place)?;
    }
    Ok(if out { MatchingRows::AllBut { count: index.rows, except: set } } else { MatchingRows::Only(set) })
}

/// The entries of the head for the wanted values.
struct BitmapIndex<'a> {
    rows: u32,
    /// Where the rows of null are.
    nulls: Option<i32>,
    /// Where the rows of the wanted values are. The place is counted from `body` on. A negative number is -1 minus the
    /// only row.
    found: Vec<i32>,
    body: &'a [u8],
}

impl<'a> BitmapIndex<'a> {
    fn v1(mut from: Bytes<'a>, keys: &[IndexKey], ty: IndexedType) -> Result<BitmapIndex<'a>> {
        let rows = from.int()?.cast_unsigned();
        let values = from.size()?;
        let nulls = if from.byte()? == 0 { None } else { Some(from.int()?) };
        let mut found = Vec::new();
        for _ in 0..values {
            let (value, place) = (ty.read(&mut from)?, from.int()?);
            if keys.binary_search_by(|key| key.order(&value)).is_ok() {
                found.push(place);
            }
        }
        Ok(BitmapIndex { rows, nulls, found, body: from.0 })
    }

    fn v2(mut from: Bytes<'a>, keys: &[IndexKey], ty: IndexedType) -> Result<BitmapIndex<'a>> {
        let rows = from.int()?.cast_unsigned();
        let _values = from.size()?;
        let nulls = match from.byte()? {
            0 => None,
            _ => Some((from.int()?, from.int()?).0),
        };
        let mut blocks = Vec::new();
        for _ in 0..from.size()? {
            blocks.push((ty.read(&mut from)?, from.size()?));
        }
        let body_start = from.size()?;
        let mut found = Vec::new();
        for key in keys {
            let after_it = blocks.partition_point(|(first, _)| first.order(key) != Ordering::Greater);
            let Some((_, start)) = after_it.checked_sub(1).and_then(|i| blocks.get(i)) else { continue };
            found.extend(find_in_block(Bytes(after(from.0, *start)?), key, ty)?);
        }
        Ok(BitmapIndex { rows, nulls, found, body: after(from.0, body_start)? })
    }

    fn set(&self, place: i32) -> Result<RoaringBitmap> {
        match place {
            // The inverted bits of a negative number are -1 minus it.
            ..0 => Ok(RoaringBitmap::from_iter([(!place).cast_unsigned()])),
            _ => row_set(after(self.body, size(place)?)?),
        }
    }
}

fn find_in_block(mut from: Bytes<'_>, key: &IndexKey, ty: IndexedType) -> Result<Option<i32>> {
    for _ in 0..from.size()? {
        let (value, place, _length) = (ty.read(&mut from)?, from.int()?, from.int()?);
        match value.order(key) {
            Ordering::Less => {}
            Ordering::Equal => return Ok(Some(place)),
            Ordering::Greater => break,
        }
    }
    Ok(None)
}
