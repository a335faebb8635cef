//! Checks Parquet's Thrift structures before the parquet crate decodes them.
//!
//! The crate reserves memory for as many items as a list claims, and recurses as deep as a schema claims. A damaged or
//! hostile file could so abort the process, and no error handling could catch that. This module proves first that every
//! length fits the bytes of the file.
//!
//! Source: Thrift compact protocol specification; parquet-format `parquet.thrift` for the field numbers.

use std::ops::Range;

/// Deepest nesting of Thrift structures; Parquet's own need less than ten.
const MAX_DEPTH: u32 = 32;

/// Deepest nesting of schema elements. A list takes two elements, a map three.
const MAX_SCHEMA_DEPTH: usize = 320;

/// What is wrong with the bytes.
pub(crate) type Flaw = &'static str;

type ThriftWalk<T> = std::result::Result<T, Flaw>;

const STRUCT: u8 = 12;

/// What is odd in a footer, although every length fits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FooterShape {
    /// A least or greatest value has not the width of its column's type.
    pub odd_statistics: bool,
    /// Bytes of optional fields at the ends of column chunks that hold something else than the format says. Dremio
    /// wrote fields of its own with numbers that the format gave out later. The footer without these bytes is sound.
    pub foreign: Vec<Range<usize>>,
}

/// Checks a footer (`FileMetaData`): list lengths everywhere, and the shape of the schema.
pub(crate) fn check_footer(bytes: &[u8]) -> ThriftWalk<FooterShape> {
    let mut cursor = ThriftCursor { bytes, at: 0 };
    let mut shape = FooterShape::default();
    cursor.fields(&mut |cursor, id, kind| match (id, kind) {
        (2, 9) => check_schema(cursor),
        (4, 9) => each_struct(cursor, &mut |cursor, id, kind| match (id, kind) {
            (1, 9) => each_struct(cursor, &mut |cursor, id, kind| match (id, kind) {
                (3, STRUCT) => check_column(cursor, &mut shape),
                _ => cursor.skip(kind, MAX_DEPTH),
            }),
            _ => cursor.skip(kind, MAX_DEPTH),
        }),
        _ => cursor.skip(kind, MAX_DEPTH),
    })?;
    Ok(shape)
}

/// Calls `f` for every field of every structure of a list.
fn each_struct(
    cursor: &mut ThriftCursor<'_>,
    f: &mut dyn FnMut(&mut ThriftCursor<'_>, i16, u8) -> ThriftWalk<()>,
) -> ThriftWalk<()> {
    let (kind, count) = cursor.list_header()?;
    (0..count).try_for_each(|_| match kind {
        STRUCT => cursor.fields(&mut |cursor, id, kind| f(cursor, id, kind)),
        _ => cursor.skip_item(kind, MAX_DEPTH),
    })
}

/// Looks at the `ColumnMetaData` of a column chunk.
fn check_column(cursor: &mut ThriftCursor<'_>, shape: &mut FooterShape) -> ThriftWalk<()> {
    let mut width = None;
    let (mut end, mut foreign) = (cursor.at, None);
    cursor.fields(&mut |cursor, id, kind| {
        // A later field counts its number from the one before, so all that follow go too.
        if foreign.is_none() && is_foreign(id, kind) {
            foreign = Some(end);
        }
        check_column_field(cursor, (id, kind), &mut width, &mut shape.odd_statistics)?;
        end = cursor.at;
        Ok(())
    })?;
    shape.foreign.extend(foreign.map(|start| start..end));
    Ok(())
}

/// Whether an optional field of a column chunk has another type than the format says: the place and length of a bloom
/// filter, statistics of sizes and of places.
fn is_foreign(id: i16, kind: u8) -> bool {
    let expected = match id {
        14 => 6,
        15 => 5,
        16 | 17 => STRUCT,
        _ => return false,
    };
    kind != expected
}

fn check_column_field(
    cursor: &mut ThriftCursor<'_>,
    field: (i16, u8),
    width: &mut Option<u64>,
    odd_statistics: &mut bool,
) -> ThriftWalk<()> {
    match field {
        (1, 5) => cursor.zigzag().map(|ty| *width = width_of(ty)),
        (12, STRUCT) => cursor.fields(&mut |cursor, id, kind| match (id, kind) {
            (1 | 2 | 5 | 6, 8) => {
                let length = cursor.varint()?;
                *odd_statistics |= width.is_some_and(|width| width != length);
                cursor.advance(length)
            }
            // A negative number of nulls.
            (3, 6) => cursor.zigzag().map(|nulls| *odd_statistics |= nulls < 0),
            _ => cursor.skip(kind, MAX_DEPTH),
        }),
        (12, kind) => {
            *odd_statistics = true;
            cursor.skip(kind, MAX_DEPTH)
        }
        (_, kind) => cursor.skip(kind, MAX_DEPTH),
    }
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
    ThriftCursor { bytes, at: 0 }.skip(STRUCT, MAX_DEPTH)
}

/// Follows the flattened schema tree and bounds its depth and its counts of children.
fn check_schema(cursor: &mut ThriftCursor<'_>) -> ThriftWalk<()> {
    let (kind, count) = cursor.list_header()?;
    if kind != STRUCT {
        return Err("the schema is no list of structures");
    }
    // Children still to come of each open group.
    let mut open: Vec<usize> = Vec::new();
    for index in 0..count {
        let mut children = 0i64;
        cursor.fields(&mut |cursor, id, kind| match (id, kind) {
            (5, 5) => cursor.zigzag().map(|n| children = n),
            _ => cursor.skip(kind, MAX_DEPTH),
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
    /// Bytes of the header itself.
    pub length: usize,
    /// `PageType`: 0 data, 1 index, 2 dictionary, 3 data v2.
    pub kind: i64,
    /// Bytes of the page behind the header.
    pub compressed: i64,
    /// Bytes after decompression.
    pub uncompressed: i64,
    /// Values, nulls included.
    pub values: i64,
    /// `Encoding` of the values.
    pub encoding: i64,
    /// `Encoding` of the definition levels; those of pages v2 have only one.
    pub level_encoding: i64,
    /// Bytes of the repetition and of the definition levels in a page v2.
    pub level_bytes: [i64; 2],
    /// Whether the values of a page v2 are not compressed.
    pub is_plain: bool,
    /// The checksum of the bytes behind the header.
    pub crc: Option<i64>,
}

/// Reads the page header that starts at the first byte.
pub(crate) fn page_header(bytes: &[u8]) -> ThriftWalk<PageHeader> {
    let mut cursor = ThriftCursor { bytes, at: 0 };
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
            // Booleans are in the type.
            (7, 2) => {
                header.is_plain = true;
                Ok(())
            }
            _ => page_counts(cursor, (id, kind), 4, &mut header),
        }),
        _ => cursor.skip(kind, MAX_DEPTH),
    })?;
    header.length = cursor.at;
    // The format has 32 bits for them; decoders rely on it.
    let counts = [header.uncompressed, header.compressed, header.values, header.level_bytes[0], header.level_bytes[1]];
    if counts.iter().any(|n| i32::try_from(*n).is_err()) {
        return Err("a page header has a number that is out of range");
    }
    Ok(header)
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
}

impl ThriftCursor<'_> {
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
            return Err("a length goes beyond the bytes that are there");
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

    /// Calls `f` for every field of a structure; `f` consumes the value. Booleans have none: theirs is in the type.
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

    /// Element type and length of a list, whose elements take a byte each at least.
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
