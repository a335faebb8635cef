//! Checks Parquet's Thrift structures before the parquet crate decodes them.
//!
//! The crate reserves memory for the number of items that a list claims, and recurses as deep as a schema claims. So a
//! damaged or hostile file could abort the process, and no error handling could catch that. This module first proves
//! that every length fits the bytes of the file.
//!
//! Source: Thrift compact protocol specification; parquet-format `parquet.thrift` for the field numbers.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// The deepest nesting of Thrift structures. Parquet's own need less than ten.
const MAX_DEPTH: u32 = 32;

/// The deepest nesting of schema elements. A list takes two elements, a map three.
const MAX_SCHEMA_DEPTH: usize = 320;

/// The fault of the bytes.
pub(crate) type Flaw = &'static str;

type ThriftWalk<T> = std::result::Result<T, Flaw>;

const STRUCT: u8 = 12;

/// The type of a boolean that is true.
const TRUE: u8 = 1;

/// The types of a structure's fields, by their numbers.
type FieldTypes = &'static [u8];

const FILE_META_DATA: FieldTypes = &[0, 5, 9, 6, 9, 9, 8, 9, STRUCT, 8];
const SCHEMA_ELEMENT: FieldTypes = &[0, 5, 5, 5, 8, 5, 5, 5, 5, 5, STRUCT];
const KEY_VALUE: FieldTypes = &[0, 8, 8];
const ROW_GROUP: FieldTypes = &[0, 9, 6, 6, 9, 6, 6, 4];
const COLUMN_CHUNK: FieldTypes = &[0, 8, 6, STRUCT, 6, 5, 6, 5, STRUCT, 8];
const COLUMN_META_DATA: FieldTypes = &[0, 5, 9, 9, 5, 6, 6, 6, 9, 6, 6, 6, STRUCT, 9, 6, 5, STRUCT, STRUCT];

const STATISTICS: FieldTypes = &[0, 8, 8, 6, 6, 8, 8];

/// The last `ConvertedType` that the format knows. Old versions of Arrow had one more, for columns of nulls.
const LAST_CONVERTED_TYPE: i64 = 21;

/// A checked footer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CheckedFooter<'a> {
    /// Its bytes, without fields that have another type than the format gives them. Readers have to skip such fields,
    /// but the parquet crate loses its place. Dremio wrote its own fields under numbers that the format assigned
    /// later.
    pub bytes: Cow<'a, [u8]>,
    /// Whether a least or greatest value has another width than its column's type.
    pub odd_statistics: bool,
    /// The leaf columns that are encrypted in some row group.
    pub encrypted: BTreeSet<usize>,
}

/// Checks a footer (`FileMetaData`): list lengths everywhere, and the shape of the schema.
pub(crate) fn check_footer(bytes: &[u8]) -> ThriftWalk<CheckedFooter<'_>> {
    let mut cursor = ThriftCursor::new(bytes);
    let (mut encrypted, mut odd_statistics) = (BTreeSet::new(), false);
    cursor.known_fields(FILE_META_DATA, &mut |cursor, id, kind| {
        match (id, kind) {
            (2, 9) => check_schema(cursor),
            (4, 9) => {
                cursor.structures(&mut |cursor, _| check_row_group(cursor, (&mut encrypted, &mut odd_statistics)))
            }
            (5, 9) => cursor.structures(&mut |cursor, _| cursor.skip_known(KEY_VALUE)),
            _ => cursor.skip(kind, MAX_DEPTH),
        }
        .map(|()| true)
    })?;
    Ok(CheckedFooter { bytes: cursor.edited(), odd_statistics, encrypted })
}

/// Notes on column chunks: those that are encrypted, and whether some statistics are odd.
type ChunkNotes<'n> = (&'n mut BTreeSet<usize>, &'n mut bool);

fn check_row_group(cursor: &mut ThriftCursor<'_>, (encrypted, odd): ChunkNotes<'_>) -> ThriftWalk<()> {
    cursor.known_fields(ROW_GROUP, &mut |cursor, id, kind| {
        match (id, kind) {
            (1, 9) => cursor.structures(&mut |cursor, leaf| check_chunk(cursor, leaf, (encrypted, odd))),
            _ => cursor.skip(kind, MAX_DEPTH),
        }
        .map(|()| true)
    })
}

/// Checks a `ColumnChunk`. Those of encrypted columns have `crypto_metadata` or `encrypted_column_metadata`.
fn check_chunk(cursor: &mut ThriftCursor<'_>, leaf: usize, (encrypted, odd): ChunkNotes<'_>) -> ThriftWalk<()> {
    cursor.known_fields(COLUMN_CHUNK, &mut |cursor, id, kind| {
        if matches!(id, 8 | 9) {
            encrypted.insert(leaf);
        }
        match (id, kind) {
            (3, STRUCT) => check_column(cursor, odd),
            _ => cursor.skip(kind, MAX_DEPTH),
        }
        .map(|()| true)
    })
}

/// Checks a `ColumnMetaData`. Some writers put negative numbers of nulls where they did not count. Such numbers are
/// left out.
fn check_column(cursor: &mut ThriftCursor<'_>, odd: &mut bool) -> ThriftWalk<()> {
    let mut width = None;
    cursor.known_fields(COLUMN_META_DATA, &mut |cursor, id, kind| {
        match (id, kind) {
            (1, 5) => cursor.zigzag().map(|ty| width = width_of(ty)),
            (12, STRUCT) => cursor.known_fields(STATISTICS, &mut |cursor, id, kind| match (id, kind) {
                (1 | 2 | 5 | 6, 8) => {
                    let length = cursor.varint()?;
                    *odd |= width.is_some_and(|width| width != length);
                    cursor.advance(length).map(|()| true)
                }
                (3, 6) => cursor.zigzag().map(|nulls| nulls >= 0),
                _ => cursor.skip(kind, MAX_DEPTH).map(|()| true),
            }),
            _ => cursor.skip(kind, MAX_DEPTH),
        }
        .map(|()| true)
    })
}

/// The bytes of a statistic of this physical type. Bytes and text have any length.
fn width_of(ty: i64) -> Option<u64> {
    match ty {
        0 => Some(1),
        1 | 4 => Some(4),
        2 | 5 => Some(8),
        3 => Some(12),
        _ => None,
    }
}

/// Checks any one structure that starts at the first byte (a column index, an offset index).
pub(crate) fn check_struct(bytes: &[u8]) -> ThriftWalk<()> {
    ThriftCursor::new(bytes).skip(STRUCT, MAX_DEPTH)
}

/// Follows the flattened schema tree and bounds its depth and its counts of children.
fn check_schema(cursor: &mut ThriftCursor<'_>) -> ThriftWalk<()> {
    let (kind, count) = cursor.list_header()?;
    if kind != STRUCT {
        return Err("the schema is not a list of structures");
    }
    // The number of children still to come of each open group.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        let mut children = 0i64;
        cursor.known_fields(SCHEMA_ELEMENT, &mut |cursor, id, kind| match (id, kind) {
            (5, 5) => cursor.zigzag().map(|n| children = n).map(|()| true),
            (6, 5) => cursor.zigzag().map(|n| (0..=LAST_CONVERTED_TYPE).contains(&n)),
            _ => cursor.skip(kind, MAX_DEPTH).map(|()| true),
        })?;
        let children = usize::try_from(children).map_err(|_| "a schema element has a negative number of children")?;
        if children > count - index {
            return Err("a schema element claims more children than there are elements");
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > MAX_SCHEMA_DEPTH {
            return Err("the schema nests too deep");
        }
    }
    Ok(())
}

/// `PageType` of dictionaries.
pub(crate) const DICTIONARY_PAGE: i64 = 2;

/// The parts of a page header that decide how much memory the page takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageHeader {
    /// The size of the header itself.
    pub length: usize,
    /// `PageType`: 0 data, 1 index, 2 dictionary, 3 data v2.
    pub kind: i64,
    /// The size of the page after the header.
    pub compressed: i64,
    /// The size after decompression.
    pub uncompressed: i64,
    /// The number of values, including nulls.
    pub values: i64,
    /// `Encoding` of the values.
    pub encoding: i64,
    /// `Encoding` of the definition levels; those of pages v2 have only one.
    pub level_encoding: i64,
    /// The sizes of the repetition and of the definition levels in a page v2.
    pub level_bytes: [i64; 2],
    /// The byte of the header that says that the values of a page v2 are not compressed, if it has one.
    pub plain_at: Option<usize>,
    /// The checksum of the bytes after the header.
    pub crc: Option<i64>,
}

/// Reads the page header that starts at the first byte.
pub(crate) fn page_header(bytes: &[u8]) -> ThriftWalk<PageHeader> {
    let mut cursor = ThriftCursor::new(bytes);
    let mut header = PageHeader::default();
    cursor.fields(&mut |cursor, id, kind| match (id, kind) {
        (1, 5) => cursor.zigzag().map(|v| header.kind = v),
        (2, 5) => cursor.zigzag().map(|v| header.uncompressed = v),
        (3, 5) => cursor.zigzag().map(|v| header.compressed = v),
        (4, 5) => cursor.zigzag().map(|v| header.crc = Some(v)),
        (5, STRUCT) => cursor.fields(&mut |cursor, id, kind| match (id, kind) {
            (3, 5) => cursor.zigzag().map(|v| header.level_encoding = v),
            _ => page_counts(cursor, (id, kind), 2, &mut header),
        }),
        (7, STRUCT) => cursor.fields(&mut |cursor, id, kind| page_counts(cursor, (id, kind), 2, &mut header)),
        (8, STRUCT) => cursor.fields(&mut |cursor, id, kind| match (id, kind) {
            (5, 5) => cursor.zigzag().map(|v| header.level_bytes[1] = v),
            (6, 5) => cursor.zigzag().map(|v| header.level_bytes[0] = v),
            // Booleans are in the type. The type shares its byte with the step from the field before, or precedes the
            // field's number.
            (7, 2) => {
                let last = cursor.at.saturating_sub(1);
                let is_short = cursor.bytes.get(last).is_some_and(|byte| byte >> 4 > 0);
                header.plain_at = Some(if is_short { last } else { last.saturating_sub(1) });
                Ok(())
            }
            _ => page_counts(cursor, (id, kind), 4, &mut header),
        }),
        _ => cursor.skip(kind, MAX_DEPTH),
    })?;
    header.length = cursor.at;
    // The format has 32 bits for them, and decoders rely on it.
    let counts = [header.uncompressed, header.compressed, header.values, header.level_bytes[0], header.level_bytes[1]];
    if counts.iter().any(|n| i32::try_from(*n).is_err()) {
        return Err("a page header has a number that is out of range");
    }
    Ok(header)
}

/// Changes the headers of pages, one after the other, so that they mark pages v2 as compressed.
pub(crate) fn mark_compressed(mut bytes: &mut [u8]) -> ThriftWalk<()> {
    while !bytes.is_empty() {
        let header = page_header(bytes)?;
        if let Some(byte) = header.plain_at.and_then(|at| bytes.get_mut(at)) {
            *byte = *byte & 0xf0 | TRUE;
        }
        let length = usize::try_from(header.compressed).map_err(|_| "a page has a negative length")?;
        let end = header.length.saturating_add(length);
        bytes = bytes.get_mut(end..).ok_or("a page is longer than its column chunk")?;
    }
    Ok(())
}

/// Reads a field of the header of one kind of page if it is the number of values or their encoding.
fn page_counts(
    cursor: &mut ThriftCursor<'_>,
    (id, kind): (i16, u8),
    encoding_field: i16,
    header: &mut PageHeader,
) -> ThriftWalk<()> {
    match (id, kind) {
        (1, 5) => cursor.zigzag().map(|v| header.values = v),
        (id, 5) if id == encoding_field => cursor.zigzag().map(|v| header.encoding = v),
        _ => cursor.skip(kind, MAX_DEPTH),
    }
}

struct ThriftCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Replacements of some byte ranges, without the fields that are left out; ascending.
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl<'a> ThriftCursor<'a> {
    fn new(bytes: &'a [u8]) -> ThriftCursor<'a> {
        ThriftCursor { bytes, at: 0, edits: Vec::new() }
    }

    /// All bytes, without the fields that are left out.
    fn edited(self) -> Cow<'a, [u8]> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.bytes);
        }
        let (mut out, mut at) = (Vec::with_capacity(self.bytes.len()), 0);
        for (range, instead) in self.edits {
            out.extend_from_slice(self.bytes.get(at..range.start).unwrap_or_default());
            out.extend(instead);
            at = range.end;
        }
        out.extend_from_slice(self.bytes.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Calls `f` for each field of a structure that has the type that the format gives it. Also calls it for fields
    /// that the format does not know. `f` consumes the value, and returns whether the field stays. All other fields
    /// are left out.
    fn known_fields(
        &mut self,
        types: FieldTypes,
        f: &mut dyn FnMut(&mut Self, i16, u8) -> ThriftWalk<bool>,
    ) -> ThriftWalk<()> {
        let (mut id, mut left_out) = (0i16, false);
        loop {
            let start = self.at;
            let header = self.byte()?;
            if header == 0 {
                return Ok(());
            }
            id = match i16::from(header >> 4) {
                0 => self.zigzag()? as i16,
                step => id.wrapping_add(step),
            };
            let kind = header & 0x0f;
            if left_out {
                // The number is a step from the field before, which was left out.
                let mut long = vec![kind];
                put_zigzag(id, &mut long);
                self.edits.push((start..self.at, long));
            }
            let edits = self.edits.len();
            let expected = usize::try_from(id).ok().and_then(|id| types.get(id)).copied().unwrap_or(0);
            let stays = match expected == 0 || expected == kind {
                true => f(self, id, kind)?,
                false => self.skip(kind, MAX_DEPTH).map(|()| false)?,
            };
            if !stays {
                self.edits.truncate(edits - usize::from(left_out));
                self.edits.push((start..self.at, Vec::new()));
            }
            left_out = !stays;
        }
    }

    /// Skips a structure without reading its fields.
    fn skip_known(&mut self, types: FieldTypes) -> ThriftWalk<()> {
        self.known_fields(types, &mut |cursor, _, kind| cursor.skip(kind, MAX_DEPTH).map(|()| true))
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn byte(&mut self) -> ThriftWalk<u8> {
        let byte = *self.bytes.get(self.at).ok_or("the bytes end early")?;
        self.at += 1;
        Ok(byte)
    }

    fn advance(&mut self, length: u64) -> ThriftWalk<()> {
        if length > self.remaining() as u64 {
            return Err("a length exceeds the bytes that follow");
        }
        self.at += length as usize;
        Ok(())
    }

    fn varint(&mut self) -> ThriftWalk<u64> {
        let mut out = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            out |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(out);
            }
        }
        Err("a number takes too many bytes")
    }

    fn zigzag(&mut self) -> ThriftWalk<i64> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    /// Calls `f` for every field of a structure; `f` consumes the value. Booleans have no value bytes: their value is
    /// in the type.
    fn fields(&mut self, f: &mut dyn FnMut(&mut Self, i16, u8) -> ThriftWalk<()>) -> ThriftWalk<()> {
        let mut last = 0i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(());
            }
            let delta = i16::from(header >> 4);
            last = match delta {
                0 => self.zigzag()? as i16,
                _ => last.wrapping_add(delta),
            };
            f(self, last, header & 0x0f)?;
        }
    }

    /// Element type and length of a list. Its elements take at least a byte each.
    fn list_header(&mut self) -> ThriftWalk<(u8, usize)> {
        let header = self.byte()?;
        let count = match header >> 4 {
            15 => self.varint()?,
            n => u64::from(n),
        };
        if count > self.remaining() as u64 {
            return Err("a list claims more items than bytes are there");
        }
        Ok((header & 0x0f, count as usize))
    }

    /// Calls `f` for every item of a list of structures, with its number; `f` consumes it. Skips other lists.
    fn structures(&mut self, f: &mut dyn FnMut(&mut Self, usize) -> ThriftWalk<()>) -> ThriftWalk<()> {
        let (kind, count) = self.list_header()?;
        (0..count).try_for_each(|item| if kind == STRUCT { f(self, item) } else { self.skip_item(kind, MAX_DEPTH) })
    }

    fn skip(&mut self, kind: u8, depth: u32) -> ThriftWalk<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err("structures nest too deep") };
        match kind {
            1 | 2 => Ok(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            9 | 10 => {
                let (kind, count) = self.list_header()?;
                (0..count).try_for_each(|_| self.skip_item(kind, depth))
            }
            11 => {
                let count = self.varint()?;
                if count > self.remaining() as u64 {
                    return Err("a map claims more items than bytes are there");
                }
                if count == 0 {
                    return Ok(());
                }
                let kinds = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_item(kinds >> 4, depth)?;
                    self.skip_item(kinds & 0x0f, depth)
                })
            }
            STRUCT => self.fields(&mut |cursor, _, kind| cursor.skip(kind, depth)),
            _ => Err("a field has a type that Thrift does not know"),
        }
    }

    /// As [`ThriftCursor::skip`], but booleans take a byte in containers.
    fn skip_item(&mut self, kind: u8, depth: u32) -> ThriftWalk<()> {
        match kind {
            1 | 2 => self.advance(1),
            _ => self.skip(kind, depth),
        }
    }
}

/// The number in the form of field numbers without a step.
fn put_zigzag(id: i16, out: &mut Vec<u8>) {
    let mut rest = (id << 1 ^ id >> 15) as u16;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_strings_must_fit_the_bytes() {
        // Field 1: list of 15 + varint(2^31 - 1) structures, then nothing.
        assert!(check_struct(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07]).is_err());
        // Field 1: a string of 5 bytes, but only 2 follow.
        assert!(check_struct(&[0x18, 5, b'a', b'b']).is_err());
        assert!(check_struct(&[0x18, 2, b'a', b'b', 0]).is_ok());
        // A structure in a structure in a structure …
        assert!(check_struct(&[0x1c; 1000]).is_err());
        assert!(check_struct(&[]).is_err());
    }

    #[test]
    fn a_schema_may_not_claim_children_it_has_not() {
        let element = |children: u8| vec![0x55, children << 1, 0];
        let footer = |elements: &[Vec<u8>]| {
            let mut out = vec![0x29, 0xf0 | STRUCT];
            assert!(elements.len() < 0x4000);
            out.extend([elements.len() as u8 | 0x80, (elements.len() >> 7) as u8]);
            elements.iter().for_each(|e| out.extend(e));
            out.push(0);
            out
        };
        assert!(check_footer(&footer(&[element(2), element(0), element(0)])).is_ok());
        assert!(check_footer(&footer(&[element(9), element(0)])).is_err());
        assert!(check_footer(&footer(&vec![element(1); 1000])).is_err());
    }

    /// A row group of two column chunks, the second with `crypto_metadata` (field 8: column key with an empty path).
    #[test]
    fn encrypted_columns_are_found() {
        let plain = [0x26, 8, 0x1c, 0, 0];
        let encrypted = [0x26, 8, 0x6c, 0x2c, 0x19, 0x08, 0, 0, 0];
        let group = [&[0x19, 0x2c][..], &plain, &encrypted, &[0x16, 2, 0x16, 2, 0]].concat();
        let footer = [&[0x15, 2, 0x39, 0x1c][..], &group, &[0]].concat();
        let checked = check_footer(&footer).unwrap();
        assert_eq!((checked.bytes.as_ref(), checked.encrypted), (&footer[..], BTreeSet::from([1])));
        assert!(check_footer(&footer[..footer.len() - 3]).is_err());
    }

    /// Version, a number instead of the schema, a number in a field that no structure has, and rows.
    #[test]
    fn fields_of_other_types_are_left_out() {
        let without = |footer: &[u8]| check_footer(footer).unwrap().bytes.into_owned();
        assert_eq!(without(&[0x15, 2, 0x15, 8, 0x16, 6, 0]), [0x15, 2, 0x06, 6, 6, 0]);
        assert_eq!(without(&[0x15, 2, 0x15, 8, 0]), [0x15, 2, 0]);
        assert_eq!(without(&[0x15, 2, 0x15, 8, 0x15, 8, 0x05, 200, 1, 6, 0]), [0x15, 2, 0x05, 200, 1, 6, 0]);
        // A key with a number as its value, and one without.
        let pair = |value: &[u8]| [&[0x59, 0x2c, 0x18, 1, b'k'], value, &[0, 0x18, 1, b'l', 0, 0]].concat();
        assert_eq!(without(&pair(&[0x15, 8])), pair(&[]));
        // An element of a type that the format no longer knows.
        let element = |converted: &[u8]| [&[0x29, 0x1c, 0x48, 1, b'e'], converted, &[0, 0]].concat();
        assert_eq!(without(&element(&[0x25, 48])), element(&[]));
        assert_eq!(without(&element(&[0x25, 42])), element(&[0x25, 42]));
    }

    /// A page v2 that is marked as not compressed, with the field's number in the same byte and separately.
    #[test]
    fn pages_can_be_marked_as_compressed() {
        let head = [0x15, 6, 0x15, 4, 0x15, 4, 0x5c, 0x15, 2, 0x15, 0, 0x15, 2, 0x15, 0, 0x15, 0, 0x15, 0];
        for (plain, at) in [(&[0x12][..], 19), (&[0x02, 14], 19)] {
            let page = [&head, plain, &[0, 0, 0xaa, 0xbb]].concat();
            assert_eq!(page_header(&page).unwrap().plain_at, Some(at));
            let mut pages = [&page[..], &page].concat();
            mark_compressed(&mut pages).unwrap();
            let header = page_header(&pages[page.len()..]).unwrap();
            assert_eq!((header.plain_at, header.length), (None, page.len() - 2));
            assert_eq!(pages[at] & 0x0f, 1);
            assert!(mark_compressed(&mut pages[..page.len() - 1]).is_err());
        }
    }

    #[test]
    fn page_headers_give_their_counts() {
        // type = 2, uncompressed = 100, compressed = 50, dictionary header {values = 7, encoding = 2}
        let bytes = [0x15, 4, 0x15, 200, 1, 0x15, 100, 0x4c, 0x15, 14, 0x15, 4, 0, 0, 0xee];
        let header = PageHeader {
            length: 14,
            kind: 2,
            compressed: 50,
            uncompressed: 100,
            values: 7,
            encoding: 2,
            ..PageHeader::default()
        };
        assert_eq!(page_header(&bytes), Ok(header));
    }
}
