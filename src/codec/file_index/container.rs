//! The container: which columns have which indexes, and where.

use super::be::{Bytes, part, size};
use super::key::{IndexedType, Question};
use super::rows::MatchingRows;
use super::{bitmap, bloom, bsi, range_bitmap};
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundLeaf, BoundPredicate};
use crate::types::FieldId;

pub(super) const MAGIC: i64 = 1_493_475_289_347_502;
pub(super) const VERSION: i32 = 1;
/// Bytes of the magic number, the version and the length of the head.
pub(super) const BEFORE_COLUMNS: usize = 16;
/// The place that is recorded for an index of a column without values.
pub(super) const NO_VALUES: i32 = -1;

/// The kind of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// `bloom-filter`.
    Bloom,
    /// `bitmap`: the rows of each value.
    Bitmap,
    /// `bsi`: bit slices of whole numbers.
    Slices,
    /// `range-bitmap`: a dictionary and bit slices of its codes.
    RangeBitmap,
    /// An index of a later version.
    Other(String),
}

impl IndexKind {
    /// The kind with a name.
    pub fn of(name: String) -> IndexKind {
        match name.as_str() {
            "bloom-filter" => IndexKind::Bloom,
            "bitmap" => IndexKind::Bitmap,
            "bsi" => IndexKind::Slices,
            "range-bitmap" => IndexKind::RangeBitmap,
            _ => IndexKind::Other(name),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            IndexKind::Bloom => "bloom-filter",
            IndexKind::Bitmap => "bitmap",
            IndexKind::Slices => "bsi",
            IndexKind::RangeBitmap => "range-bitmap",
            IndexKind::Other(name) => name,
        }
    }
}

/// One index of one column.
#[derive(Debug)]
pub(super) struct ColumnIndex<'a> {
    pub(super) column: String,
    kind: IndexKind,
    /// `None` if the column had no value.
    pub(super) bytes: Option<&'a [u8]>,
}

/// All indexes of a data file. Its head has been read; an index is read on first use.
#[derive(Debug)]
pub struct FileIndex<'a> {
    pub(super) indexes: Vec<ColumnIndex<'a>>,
}

impl<'a> FileIndex<'a> {
    /// Reads the head.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a file index, `Unsupported` if they are one of a later version.
    pub fn parse(bytes: &'a [u8]) -> Result<FileIndex<'a>> {
        let mut from = Bytes(bytes);
        if from.long()? != MAGIC {
            return Err(Error::corrupt("a file index does not begin with its magic number"));
        }
        let version = from.int()?;
        if version != VERSION {
            return Err(Error::unsupported(format!("file indexes of version {version}")));
        }
        let head = from.size()?.saturating_sub(BEFORE_COLUMNS);
        let mut head = Bytes(from.take(head)?);
        let mut indexes = Vec::new();
        for _ in 0..head.size()? {
            let column = java_text(&mut head)?;
            for _ in 0..head.size()? {
                let kind = IndexKind::of(java_text(&mut head)?);
                let (start, length) = (head.int()?, head.int()?);
                let body = match start {
                    NO_VALUES => None,
                    start => Some(part(bytes, size(start)?, size(length)?)?),
                };
                indexes.push(ColumnIndex { column: column.clone(), kind, bytes: body });
            }
        }
        Ok(FileIndex { indexes })
    }

    /// The columns that have indexes, with their kinds, in the order of the file.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &IndexKind)> {
        self.indexes.iter().map(|i| (i.column.as_str(), &i.kind))
    }

    /// The rows that may match `filter`. `column` returns the name and type that a column has in the file. It returns
    /// `None` if the file lacks the column as the filter sees it.
    ///
    /// # Errors
    /// `CorruptTable` if an index that is read is damaged.
    pub fn rows<'n>(
        &self,
        filter: &BoundPredicate,
        column: &dyn Fn(FieldId) -> Option<(&'n str, IndexedType)>,
    ) -> Result<MatchingRows> {
        match filter {
            BoundPredicate::True | BoundPredicate::Test(_) => Ok(MatchingRows::Unknown),
            BoundPredicate::False => Ok(MatchingRows::none()),
            BoundPredicate::And(parts) => {
                let mut rows = MatchingRows::Unknown;
                for part in parts {
                    rows = rows.and(self.rows(part, column)?);
                    if !rows.any() {
                        break;
                    }
                }
                Ok(rows)
            }
            BoundPredicate::Or(parts) => {
                let mut rows = MatchingRows::none();
                for part in parts {
                    rows = rows.or(self.rows(part, column)?);
                    if rows == MatchingRows::Unknown {
                        break;
                    }
                }
                Ok(rows)
            }
            BoundPredicate::Leaf(leaf) => match column(leaf.term.field_id) {
                Some((name, ty)) if leaf.term.path.len() == 1 => self.leaf(leaf, name, ty).with("column", name),
                _ => Ok(MatchingRows::Unknown),
            },
        }
    }

    /// Whether some row may match; see [`FileIndex::rows`].
    ///
    /// # Errors
    /// As [`FileIndex::rows`].
    pub fn may_match<'n>(
        &self,
        filter: &BoundPredicate,
        column: &dyn Fn(FieldId) -> Option<(&'n str, IndexedType)>,
    ) -> Result<bool> {
        self.rows(filter, column).map(|rows| rows.any())
    }

    fn leaf(&self, leaf: &BoundLeaf, name: &str, ty: IndexedType) -> Result<MatchingRows> {
        let Some(question) = Question::of(leaf, ty) else { return Ok(MatchingRows::Unknown) };
        let mut rows = MatchingRows::Unknown;
        for index in self.indexes.iter().filter(|i| i.column == name) {
            rows = rows.and(index.rows(&question, ty)?);
            if !rows.any() {
                break;
            }
        }
        Ok(rows)
    }
}

impl ColumnIndex<'_> {
    fn rows(&self, question: &Question, ty: IndexedType) -> Result<MatchingRows> {
        let Some(bytes) = self.bytes else {
            return Ok(if *question == Question::Null { MatchingRows::Unknown } else { MatchingRows::none() });
        };
        match (&self.kind, question) {
            (IndexKind::Other(_), _) | (_, Question::Prefix) => Ok(MatchingRows::Unknown),
            (IndexKind::Bloom, Question::In(keys)) => bloom::rows(bytes, keys, ty),
            (IndexKind::Bloom, _) => Ok(MatchingRows::Unknown),
            (IndexKind::Slices, _) => bsi::rows(bytes, question, ty),
            (IndexKind::Bitmap | IndexKind::RangeBitmap, _) if !ty.is_written() => Ok(MatchingRows::Unknown),
            (IndexKind::Bitmap, _) => bitmap::rows(bytes, question, ty),
            (IndexKind::RangeBitmap, _) => range_bitmap::rows(bytes, question, ty),
        }
    }
}

/// Text as Java's `DataOutput.writeUTF` writes it: a length of two bytes, then "modified UTF-8", in which each half of
/// a surrogate pair has three bytes.
fn java_text(from: &mut Bytes<'_>) -> Result<String> {
    let bad = || Error::corrupt("a name in a file index is not text");
    let length = usize::from(from.short()?.cast_unsigned());
    let mut bytes = from.take(length)?.iter().map(|b| u16::from(*b));
    let mut units = Vec::with_capacity(length);
    while let Some(first) = bytes.next() {
        let mut next = || bytes.next().filter(|b| b & 0xc0 == 0x80).map(|b| b & 0x3f).ok_or_else(bad);
        units.push(match first >> 4 {
            0..=7 => first,
            12 | 13 => (first & 0x1f) << 6 | next()?,
            14 => (first & 0x0f) << 12 | next()? << 6 | next()?,
            _ => return Err(bad()),
        });
    }
    String::from_utf16(&units).map_err(|e| bad().because(e))
}
