//! Makes indexes, value by value, and joins those of a data file.
//!
//! Source: Java's `BloomFilterFileIndex`, `BitmapFileIndex`, `BitSliceIndexBitmapFileIndex`, `RangeBitmapFileIndex`,
//! `FileIndexFormat`.

use std::collections::BTreeMap;

use super::bloom::BloomBits;
use super::container::{BEFORE_COLUMNS, IndexKind, MAGIC, NO_VALUES, VERSION};
use super::key::{IndexKey, IndexedType};
use super::options::IndexOptions;
use super::out::Out;
use super::value_rows::{Ordered, ValueRows};
use super::{bitmap_write, bsi_write, range_bitmap_write};
use crate::error::{Error, Result};
use crate::types::ValueRef;

/// An index of one kind and one column that is being written.
#[derive(Clone, Debug)]
pub struct IndexWriter {
    ty: IndexedType,
    options: IndexOptions,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    Bloom(BloomBits),
    Bitmap(ValueRows),
    RangeBitmap(ValueRows),
    Slices(Vec<Option<i64>>),
}

impl IndexWriter {
    /// An index of a column of a type.
    ///
    /// # Errors
    /// `InvalidInput` if the type can't have this index, as in Java, and for invalid options.
    pub fn new(kind: &IndexKind, ty: IndexedType, options: IndexOptions) -> Result<IndexWriter> {
        let whole = match ty {
            IndexedType::Boolean | IndexedType::Float | IndexedType::Double => false,
            IndexedType::Text | IndexedType::Bytes => false,
            IndexedType::Decimal { precision } => precision <= 18,
            _ => true,
        };
        let fits = match (kind, ty) {
            (IndexKind::Bloom, _) => !matches!(ty, IndexedType::Boolean | IndexedType::Decimal { .. }),
            (IndexKind::Bitmap, _) => !matches!(ty, IndexedType::Bytes | IndexedType::Decimal { .. }),
            (IndexKind::Slices, _) => whole,
            (IndexKind::RangeBitmap, IndexedType::Timestamp { precision }) => precision <= 6,
            (IndexKind::RangeBitmap, _) => ty.is_written(),
            (IndexKind::Other(_), _) => return Err(Error::unsupported("file indexes of this kind are not written")),
        };
        if !fits {
            return Err(Error::invalid("there is no file index of this kind for the column's type"));
        }
        let content = match kind {
            IndexKind::Bloom => Content::Bloom(BloomBits::new(options.items, options.false_positives)?),
            IndexKind::Bitmap if options.version == 1 || options.version == 2 => Content::Bitmap(ValueRows::default()),
            IndexKind::Bitmap => {
                return Err(Error::invalid(format!("bitmap indexes have no version {}", options.version)));
            }
            IndexKind::Slices => Content::Slices(Vec::new()),
            _ => Content::RangeBitmap(ValueRows::default()),
        };
        Ok(IndexWriter { ty, options, content })
    }

    /// The value of the next row.
    ///
    /// # Errors
    /// `Internal` for a value that is not of the column's type.
    pub fn push(&mut self, value: Option<ValueRef<'_>>) -> Result<()> {
        let key = match value {
            Some(value) => {
                let key = self.ty.key(value).map(|(key, _)| key);
                Some(key.ok_or_else(|| Error::internal("a value is not of the type that is indexed"))?)
            }
            None => None,
        };
        match &mut self.content {
            Content::Bloom(bits) => key.into_iter().for_each(|key| bits.add(&key)),
            Content::Bitmap(rows) | Content::RangeBitmap(rows) => {
                match key {
                    Some(key) => rows.values.entry(Ordered(key)).or_default().insert(rows.count),
                    None => rows.nulls.insert(rows.count),
                };
                rows.count += 1;
            }
            Content::Slices(values) => values.push(match key {
                Some(IndexKey::Whole(v)) => Some(v),
                _ => None,
            }),
        }
        Ok(())
    }

    /// The index; `None` if these values can't be indexed.
    ///
    /// # Errors
    /// `Unsupported` if the index is too large.
    pub fn finish(self) -> Result<Option<Vec<u8>>> {
        match &self.content {
            Content::Bloom(bits) => Ok(Some(bits.encode())),
            Content::Bitmap(rows) => bitmap_write::encode(rows, self.ty, &self.options).map(Some),
            Content::RangeBitmap(rows) => range_bitmap_write::encode(rows, self.ty, self.options.chunk_bytes).map(Some),
            Content::Slices(values) => bsi_write::encode(values),
        }
    }
}

/// The indexes of each column with their kinds; nothing for a column without values.
pub type IndexBytes = BTreeMap<String, Vec<(IndexKind, Option<Vec<u8>>)>>;

/// The file index of a data file.
///
/// # Errors
/// `Unsupported` for indexes that are too large together.
pub fn encode_file_index(columns: &IndexBytes) -> Result<Vec<u8>> {
    let (mut head_length, mut columns_out) = (BEFORE_COLUMNS + 4 + 4, Vec::new());
    for (name, indexes) in columns {
        let name = java_text(name)?;
        head_length += name.len() + 4;
        let mut out = Vec::new();
        for (kind, bytes) in indexes {
            let kind = java_text(kind.name())?;
            head_length += kind.len() + 8;
            out.push((kind, bytes));
        }
        columns_out.push((name, out));
    }
    let (mut out, mut body) = (Out::default(), Vec::new());
    out.long(MAGIC);
    out.int(VERSION);
    out.size(head_length)?;
    out.size(columns.len())?;
    for (name, indexes) in columns_out {
        out.bytes(&name);
        out.size(indexes.len())?;
        for (kind, bytes) in indexes {
            out.bytes(&kind);
            match bytes {
                Some(bytes) => {
                    out.size(head_length.saturating_add(body.len()))?;
                    out.size(bytes.len())?;
                    body.extend_from_slice(bytes);
                }
                None => {
                    out.int(NO_VALUES);
                    out.int(0);
                }
            }
        }
    }
    // Space for additions of later versions.
    out.int(0);
    out.bytes(&body);
    Ok(out.0)
}

/// Writes text in the form that the container reads.
fn java_text(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() + 2);
    for unit in text.encode_utf16() {
        let low = |shift: u16| 0x80 | (unit >> shift & 0x3f) as u8;
        match unit {
            1..=0x7f => out.push(unit as u8),
            0 | 0x80..=0x7ff => out.extend([0xc0 | (unit >> 6) as u8, low(0)]),
            _ => out.extend([0xe0 | (unit >> 12) as u8, low(6), low(0)]),
        }
    }
    let length = u16::try_from(out.len()).map_err(|_| Error::invalid("a name is too long for a file index"))?;
    Ok([&length.to_be_bytes()[..], &out].concat())
}

impl IndexedType {
    /// Writes a key in the form of bitmaps and dictionaries.
    pub(super) fn write(self, key: &IndexKey, out: &mut Out) -> Result<()> {
        match (self, key) {
            (IndexedType::Boolean | IndexedType::TinyInt, IndexKey::Whole(v)) => out.byte(*v as u8),
            (IndexedType::SmallInt, IndexKey::Whole(v)) => out.bytes(&(*v as i16).to_be_bytes()),
            (IndexedType::Int | IndexedType::Date | IndexedType::Time, IndexKey::Whole(v)) => out.int(*v as i32),
            (_, IndexKey::Whole(v)) => out.long(*v),
            (_, IndexKey::Float(v)) => out.int(v.to_bits().cast_signed()),
            (_, IndexKey::Double(v)) => out.long(v.to_bits().cast_signed()),
            (_, IndexKey::Bytes(v)) => out.block(v)?,
        }
        Ok(())
    }

    /// The length of such a key.
    pub(super) fn written_bytes(self, key: &IndexKey) -> Result<usize> {
        let mut out = Out::default();
        self.write(key, &mut out)?;
        Ok(out.0.len())
    }
}
