//! Sorted dictionaries in chunks. A chunk holds its first key; its other keys are stored elsewhere.

use std::cmp::Ordering;

use super::be::{Bytes, after, part};
use super::key::{IndexKey, IndexedType};
use crate::error::{Error, Result};

/// The keys of a range-bitmap index. A key's code is its place among all keys.
pub(super) struct KeyDictionary<'a> {
    ty: IndexedType,
    count: usize,
    /// Four bytes for each chunk, which say where it begins in `heads`.
    places: &'a [u8],
    heads: &'a [u8],
    keys: &'a [u8],
}

/// Bytes of an offset.
const PLACE: usize = 4;

struct Chunk<'a> {
    first: IndexKey,
    code: u32,
    /// Keys after the first.
    count: usize,
    keys: DictionaryKeys<'a>,
}

enum DictionaryKeys<'a> {
    /// The keys, each with this number of bytes.
    Fixed(&'a [u8], usize),
    /// The offsets of the keys, four bytes each, and the bytes of the keys.
    Variable(&'a [u8], &'a [u8]),
}

/// The place of a key among the codes.
pub(super) enum Found {
    /// It has this code.
    At(u32),
    /// The key is missing. Greater keys have this code and those after it.
    Before(u32),
}

impl<'a> KeyDictionary<'a> {
    pub(super) fn parse(bytes: &'a [u8], ty: IndexedType) -> Result<KeyDictionary<'a>> {
        let mut from = Bytes(bytes);
        let mut head = Bytes(from.block()?);
        check_version(head.byte()?)?;
        let count = head.size()?;
        let (places_length, chunks_length) = (head.size()?, head.size()?);
        let (places, heads) = (from.take(places_length)?, from.take(chunks_length)?);
        part(places, 0, count.saturating_mul(PLACE))?;
        Ok(KeyDictionary { ty, count, places, heads, keys: from.0 })
    }

    /// Looks a key up: in the last chunk that does not begin above it.
    pub(super) fn find(&self, key: &IndexKey) -> Result<Found> {
        let (mut low, mut high, mut chunk) = (0, self.count, None);
        while low < high {
            let middle = low.midpoint(high);
            let looked_at = self.chunk(middle)?;
            if looked_at.first.order(key) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
                chunk = Some(looked_at);
            }
        }
        chunk.map_or(Ok(Found::Before(0)), |chunk| chunk.find(key, self.ty))
    }

    fn chunk(&self, at: usize) -> Result<Chunk<'a>> {
        let start = Bytes(after(self.places, at.saturating_mul(PLACE))?).size()?;
        Chunk::parse(after(self.heads, start)?, self.keys, self.ty)
    }
}

fn check_version(version: u8) -> Result<()> {
    match version {
        0 | 1 => Ok(()),
        version => Err(Error::unsupported(format!("dictionaries of version {version}"))),
    }
}

impl<'a> Chunk<'a> {
    fn parse(head: &'a [u8], keys: &'a [u8], ty: IndexedType) -> Result<Chunk<'a>> {
        let mut head = Bytes(head);
        check_version(head.byte()?)?;
        let first = ty.read(&mut head)?;
        let code = head.int()?.cast_unsigned();
        let (start, count) = (head.size()?, head.size()?);
        let (a, b) = (head.size()?, head.size()?);
        let keys = if ty.is_text() {
            let places = part(keys, start, a)?;
            DictionaryKeys::Variable(places, part(keys, start.saturating_add(a), b)?)
        } else {
            DictionaryKeys::Fixed(part(keys, start, a)?, b)
        };
        Ok(Chunk { first, code, count, keys })
    }

    fn find(&self, key: &IndexKey, ty: IndexedType) -> Result<Found> {
        if self.first.order(key) == Ordering::Equal {
            return Ok(Found::At(self.code));
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            match self.keys.read(middle, ty)?.order(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return self.code_of(middle).map(Found::At),
                Ordering::Greater => high = middle,
            }
        }
        self.code_of(low).map(Found::Before)
    }

    /// The code of a key after the first.
    fn code_of(&self, at: usize) -> Result<u32> {
        let code = u32::try_from(at).ok().and_then(|at| self.code.checked_add(at)?.checked_add(1));
        code.ok_or_else(|| Error::corrupt("a dictionary has too many codes"))
    }
}

impl DictionaryKeys<'_> {
    fn read(&self, at: usize, ty: IndexedType) -> Result<IndexKey> {
        match *self {
            DictionaryKeys::Fixed(keys, length) => ty.read(&mut Bytes(after(keys, at.saturating_mul(length))?)),
            DictionaryKeys::Variable(places, keys) => {
                let start = Bytes(after(places, at.saturating_mul(PLACE))?).size()?;
                ty.read(&mut Bytes(after(keys, start)?))
            }
        }
    }
}
