//! Sets of row positions, and the deletion vectors that store them, with their checksums.
//!
//! A deletion vector is the blob `deletion-vector-v1` of a Puffin file. It begins with the length of the following
//! bytes without the checksum (big-endian) and a magic number. A 64-bit Roaring bitmap in the portable form follows.
//! At the end is a CRC-32 of magic number and bitmap (big-endian). [`PositionSet::from_vector`] checks each part.
//!
//! Source: Puffin specification, "deletion-vector-v1"; Roaring format specification, "Extension for 64-bit
//! implementations". Limits of positions as in Java's `RoaringPositionBitmap`.

use std::ops::Range;

use roaring::{RoaringBitmap, RoaringTreemap};

use crate::error::{Error, Result};

/// The magic number of a deletion vector, after its length.
const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];

/// The magic number of a deletion vector of 32-bit positions in Paimon's index files, after its length.
const NARROW_MAGIC: [u8; 4] = 1_581_511_376u32.to_be_bytes();

/// The size of the length, and of the checksum, in bytes.
const WORD: usize = 4;

/// The largest upper half of a position.
const MAX_KEY: u32 = i32::MAX as u32 - 1;

/// A set of row positions in a file, from 0. It is compressed, and range queries are cheap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionSet(RoaringTreemap);

impl PositionSet {
    /// Decodes a blob of type `deletion-vector-v1`. The vector must fill the blob. Memory stays below a small multiple
    /// of the blob's length, because runs stay compressed.
    ///
    /// # Errors
    /// `CorruptTable` if length, magic number, checksum or bitmap are wrong, or positions are too large.
    pub fn from_vector(blob: &[u8]) -> Result<PositionSet> {
        decode_bitmap(checked_vector(blob, MAGIC)?).map(PositionSet)
    }

    /// Decodes a deletion vector of a Paimon table's index file. `bytes` start with it, and `length` is the length that
    /// the table records. It has 64-bit positions like a blob `deletion-vector-v1`, or 32-bit ones. With 32-bit
    /// positions the magic number differs and is big-endian. The recorded length then leaves out the length field and
    /// the checksum.
    ///
    /// # Errors
    /// Errors of [`PositionSet::from_vector`]; `CorruptTable` if the recorded length differs.
    ///
    /// Source: Paimon specification, "Deletion Vectors"; Java's `DeletionVector.read`.
    pub fn from_index_file(bytes: &[u8], length: usize) -> Result<PositionSet> {
        let is_narrow = bytes.get(WORD..2 * WORD) == Some(NARROW_MAGIC.as_slice());
        let whole = if is_narrow { length.saturating_add(2 * WORD) } else { length };
        let blob = bytes.get(..whole).ok_or_else(|| {
            Error::corrupt(format!("a deletion vector of {whole} bytes is cut off after {}", bytes.len()))
        })?;
        if !is_narrow {
            return PositionSet::from_vector(blob);
        }
        let mut bitmap = checked_vector(blob, NARROW_MAGIC)?;
        let positions = RoaringBitmap::deserialize_from(&mut bitmap)
            .map_err(|e| Error::corrupt("the bitmap of a deletion vector is damaged").because(e))?;
        match bitmap.len() {
            0 => Ok(PositionSet(RoaringTreemap::from_bitmaps([(0, positions)]))),
            left => Err(Error::corrupt(format!("the bitmap of a deletion vector is followed by {left} bytes"))),
        }
    }

    /// Encodes the set as a blob of type `deletion-vector-v1`.
    ///
    /// # Errors
    /// `InvalidInput` for positions that a deletion vector cannot have and for sets that take more than 2 GiB.
    pub fn to_vector(&self) -> Result<Vec<u8>> {
        let mut covered = MAGIC.to_vec();
        let bitmaps: Vec<(u32, &RoaringBitmap)> = self.0.bitmaps().filter(|(_, b)| !b.is_empty()).collect();
        if bitmaps.last().is_some_and(|(key, _)| *key > MAX_KEY) {
            return Err(Error::invalid("a position is larger than deletion vectors can have"));
        }
        covered.extend_from_slice(&(bitmaps.len() as u64).to_le_bytes());
        for (key, bitmap) in bitmaps {
            covered.extend_from_slice(&key.to_le_bytes());
            let mut bitmap = bitmap.clone();
            bitmap.optimize();
            bitmap
                .serialize_into(&mut covered)
                .map_err(|e| Error::internal("a deletion vector cannot be encoded").because(e))?;
        }
        framed(&covered)
    }

    /// Encodes a deletion vector of 32-bit positions for Paimon's index files. Also returns the length that the table
    /// records.
    ///
    /// # Errors
    /// `InvalidInput` for positions that such a vector cannot have, and for sets that take more than 2 GiB.
    ///
    /// Source: Java's `BitmapDeletionVector`.
    pub fn to_narrow_vector(&self) -> Result<(Vec<u8>, usize)> {
        let mut covered = NARROW_MAGIC.to_vec();
        let mut positions = RoaringBitmap::new();
        for (key, bitmap) in self.0.bitmaps().filter(|(_, b)| !b.is_empty()) {
            if key > 0 || bitmap.max().is_some_and(|last| last > i32::MAX as u32) {
                return Err(Error::invalid("a file has more rows than deletion vectors of 32 bits can name")
                    .hint("Set the table's option 'deletion-vectors.bitmap64' to true"));
            }
            positions = bitmap.clone();
        }
        positions.optimize();
        positions
            .serialize_into(&mut covered)
            .map_err(|e| Error::internal("a deletion vector cannot be encoded").because(e))?;
        let length = covered.len();
        Ok((framed(&covered)?, length))
    }

    /// Adds positions in any order, duplicates allowed; fastest if they ascend.
    ///
    /// # Errors
    /// `CorruptTable` for a position that is negative or larger than Java allows.
    pub fn extend(&mut self, positions: &[i64]) -> Result<()> {
        let allowed = |p: &i64| *p >= 0 && (*p >> 32) as u32 <= MAX_KEY;
        if let Some(bad) = positions.iter().find(|p| !allowed(p)) {
            return Err(Error::corrupt(format!("a row's position cannot be {bad}")));
        }
        let ascending = positions.iter().map(|p| *p as u64);
        if let Err(stopped) = self.0.append(ascending) {
            let rest = positions.get(stopped.valid_until() as usize..).unwrap_or_default();
            rest.iter().for_each(|p| {
                self.0.insert(*p as u64);
            });
        }
        Ok(())
    }

    /// The positions from 0 up to a number of rows.
    ///
    /// # Errors
    /// `CorruptTable` if a position would be larger than Java allows.
    pub fn of_rows(count: u64) -> Result<PositionSet> {
        let mut all = PositionSet::default();
        if let Some(last) = count.checked_sub(1) {
            all.extend(&[i64::try_from(last).unwrap_or(i64::MAX)])?;
            all.0.insert_range(0..count);
        }
        Ok(all)
    }

    /// Adds all positions of another set.
    pub fn unite(&mut self, other: &PositionSet) {
        self.0 |= &other.0;
    }

    /// Keeps only positions that another set has too.
    pub fn intersect(&mut self, other: &PositionSet) {
        self.0 &= &other.0;
    }

    /// Whether another set has all positions of this one.
    pub fn is_subset(&self, other: &PositionSet) -> bool {
        self.0.is_subset(&other.0)
    }

    /// The number of positions.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the set has a position.
    pub fn contains(&self, position: u64) -> bool {
        self.0.contains(position)
    }

    /// The number of positions in a range.
    pub fn count_in(&self, range: Range<u64>) -> u64 {
        self.0.range_cardinality(range)
    }

    /// The positions in a range, ascending.
    pub fn in_range(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let mut positions = self.0.iter();
        positions.advance_to(range.start);
        positions.take_while(move |p| *p < range.end)
    }

    /// All positions, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter()
    }

    /// The approximate size in memory, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.0.serialized_size() as u64
    }
}

/// The union of two 32-bit Roaring bitmaps, as bytes.
///
/// # Errors
/// `CorruptTable` if one of them is not a bitmap.
pub fn unite_bitmaps(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let read = |bytes: &[u8]| {
        RoaringBitmap::deserialize_from(bytes).map_err(|e| Error::corrupt("a value is not a Roaring bitmap").because(e))
    };
    let mut union = read(a)? | read(b)?;
    union.optimize();
    let mut out = Vec::with_capacity(union.serialized_size());
    union.serialize_into(&mut out).map_err(|e| Error::internal("a bitmap cannot be encoded").because(e))?;
    Ok(out)
}

/// Magic number and bitmap, with their length before and the checksum after them.
fn framed(covered: &[u8]) -> Result<Vec<u8>> {
    let length = i32::try_from(covered.len())
        .map_err(|e| Error::invalid("a deletion vector would take more than 2 GiB").because(e))?;
    let mut out = length.to_be_bytes().to_vec();
    out.extend_from_slice(covered);
    out.extend_from_slice(&crc32fast::hash(covered).to_be_bytes());
    Ok(out)
}

/// The bitmap of a deletion vector with this magic number. The vector must fill `blob`.
fn checked_vector(blob: &[u8], expected_magic: [u8; WORD]) -> Result<&[u8]> {
    let short = || Error::corrupt(format!("a deletion vector of {} bytes is too short", blob.len()));
    let (length, rest) = blob.split_first_chunk::<WORD>().ok_or_else(short)?;
    let (covered, checksum) = rest.split_last_chunk::<WORD>().ok_or_else(short)?;
    let length = i32::from_be_bytes(*length);
    if usize::try_from(length) != Ok(covered.len()) {
        let has = covered.len();
        return Err(Error::corrupt(format!("a deletion vector claims {length} bytes, but has {has}")));
    }
    let (magic, bitmap) = covered.split_first_chunk::<WORD>().ok_or_else(short)?;
    if *magic != expected_magic {
        let wrong = format!("a deletion vector begins with {magic:02x?} instead of {expected_magic:02x?}");
        return Err(Error::corrupt(wrong));
    }
    let (expected, computed) = (u32::from_be_bytes(*checksum), crc32fast::hash(covered));
    if expected != computed {
        return Err(Error::corrupt(format!(
            "the checksum of a deletion vector is {expected:08x}, but its bytes give {computed:08x}"
        )));
    }
    Ok(bitmap)
}

/// The 64-bit bitmap in its portable form, up to the last byte.
fn decode_bitmap(mut bytes: &[u8]) -> Result<RoaringTreemap> {
    let short = || Error::corrupt("the bitmap of a deletion vector ends early");
    let (count, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
    bytes = rest;
    let mut bitmaps = Vec::new();
    let mut last: Option<u32> = None;
    for _ in 0..u64::from_le_bytes(*count) {
        let (key, rest) = bytes.split_first_chunk::<WORD>().ok_or_else(short)?;
        bytes = rest;
        let key = u32::from_le_bytes(*key);
        if key > MAX_KEY || last.is_some_and(|last| key <= last) {
            return Err(Error::corrupt(format!("the bitmap of a deletion vector has the key {key} out of order")));
        }
        last = Some(key);
        let bitmap = RoaringBitmap::deserialize_from(&mut bytes)
            .map_err(|e| Error::corrupt("the bitmap of a deletion vector is damaged").because(e))?;
        // Java fills gaps between keys with empty bitmaps.
        if !bitmap.is_empty() {
            bitmaps.push((key, bitmap));
        }
    }
    match bytes.len() {
        0 => Ok(RoaringTreemap::from_bitmaps(bitmaps)),
        left => Err(Error::corrupt(format!("the bitmap of a deletion vector is followed by {left} bytes"))),
    }
}

#[cfg(test)]
#[path = "bitmap_tests.rs"]
mod tests;
