//! Decoded entries as sections of bytes, one section for each column. The plan cache stores a manifest in this form.
//!
//! Integers are stored as differences from the least one, in as few bytes as the greatest difference needs. Texts and
//! lists are stored as their lengths and their content. Every section has a checksum. A reader loads only the sections
//! that it needs.

use std::collections::BTreeMap;

use crate::codec::avro::Cursor;
use crate::codec::avro::encode::{put_bytes, put_int, put_long};
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::error::{Error, Result};
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::manifest::entries::{EntryColumns, MISSING};
use crate::iceberg::manifest::layout::{content_number, content_of};
use crate::types::FieldId;

/// The content of a section. Sections of metrics also have a field id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum SectionKind {
    Status,
    SnapshotId,
    SequenceNumber,
    FileSequenceNumber,
    Content,
    Path,
    Format,
    RecordCount,
    SizeBytes,
    Partition,
    Tuples,
    KeyMetadata,
    SplitOffsets,
    EqualityIds,
    SortOrderId,
    FirstRowId,
    ReferencedDataFile,
    ContentOffset,
    ContentSize,
    EncodedMetrics,
    ValueCount,
    NullCount,
    NanCount,
    Lower,
    Upper,
}

use SectionKind::*;

const KINDS: [SectionKind; 25] = [
    Status,
    SnapshotId,
    SequenceNumber,
    FileSequenceNumber,
    Content,
    Path,
    Format,
    RecordCount,
    SizeBytes,
    Partition,
    Tuples,
    KeyMetadata,
    SplitOffsets,
    EqualityIds,
    SortOrderId,
    FirstRowId,
    ReferencedDataFile,
    ContentOffset,
    ContentSize,
    EncodedMetrics,
    ValueCount,
    NullCount,
    NanCount,
    Lower,
    Upper,
];

/// The columns that every plan needs before it knows the kept rows.
pub(crate) const TO_JUDGE: [SectionKind; 8] =
    [Status, SnapshotId, Content, RecordCount, SizeBytes, Partition, EqualityIds, FirstRowId];

/// The columns that only kept rows need.
pub(crate) const TO_KEEP: [SectionKind; 11] = [
    SequenceNumber,
    FileSequenceNumber,
    Path,
    Format,
    KeyMetadata,
    SplitOffsets,
    SortOrderId,
    ReferencedDataFile,
    ContentOffset,
    ContentSize,
    Tuples,
];

/// Identifies a section: its kind, and for metrics the column.
pub(crate) type SectionKey = (SectionKind, FieldId);

/// Stored integers: `base` plus unsigned numbers of `width` bytes. The greatest number means null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ints {
    base: i64,
    width: u8,
}

/// The place and encoding of a section.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Its offset after the header.
    pub offset: u64,
    pub length: u64,
    checksum: u32,
    ints: Ints,
    /// Bytes of content at the end of the section. The lengths come before them, as integers.
    content_bytes: u64,
}

/// Sections of the columns of a manifest.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct CachedSections {
    pub rows: usize,
    pub tuples: usize,
    /// Columns that have metrics, ascending. A column without any metrics has no section.
    pub fields: Vec<FieldId>,
    pub sections: BTreeMap<SectionKey, Section>,
}

fn too_wide() -> Error {
    Error::unsupported("the entries' numbers are too far apart to be cached")
}

fn broken() -> Error {
    Error::corrupt("a file of the plan cache is broken")
}

/// Writes sections one after another.
#[derive(Default)]
struct Writer {
    sections: CachedSections,
    body: Vec<u8>,
}

impl Writer {
    /// Appends integers and returns how they are stored.
    fn put_ints(&mut self, values: impl Iterator<Item = Option<i64>> + Clone) -> Result<Ints> {
        let known = values.clone().flatten();
        let (base, most) = known.fold((i64::MAX, i64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        if base > most {
            return Ok(Ints { base: 0, width: 0 });
        }
        let span = most.checked_sub(base).ok_or_else(too_wide)? as u64;
        let any_null = values.clone().any(|v| v.is_none());
        // A column with one value takes no bytes, unless some rows are null.
        let width = match span {
            0 if !any_null => return Ok(Ints { base, width: u8::MAX }),
            0..0xff => 1,
            0xff..0xffff => 2,
            0xffff..0xffff_ffff => 4,
            _ => 8,
        };
        for v in values {
            let v = v.map_or(u64::MAX, |v| v.wrapping_sub(base) as u64);
            self.body.extend_from_slice(v.to_le_bytes().get(..width).unwrap_or_default());
        }
        Ok(Ints { base, width: width as u8 })
    }

    fn close(&mut self, key: SectionKey, start: usize, ints: Ints, content_bytes: usize) {
        let bytes = self.body.get(start..).unwrap_or_default();
        let section = Section {
            offset: start as u64,
            length: bytes.len() as u64,
            checksum: crc32fast::hash(bytes),
            ints,
            content_bytes: content_bytes as u64,
        };
        self.sections.sections.insert(key, section);
    }

    fn ints(&mut self, key: SectionKey, values: impl Iterator<Item = Option<i64>> + Clone) -> Result<()> {
        let start = self.body.len();
        let ints = self.put_ints(values)?;
        self.close(key, start, ints, 0);
        Ok(())
    }

    fn bytes(&mut self, key: SectionKey, rows: usize, column: &BytesColumn) -> Result<()> {
        let start = self.body.len();
        let ints = self.put_ints((0..rows).map(|row| column.get(row).map(|v| v.len() as i64)))?;
        let before = self.body.len();
        (0..rows).filter_map(|row| column.get(row)).for_each(|v| self.body.extend_from_slice(v));
        self.close(key, start, ints, self.body.len() - before);
        Ok(())
    }

    fn lists(&mut self, key: SectionKey, rows: usize, column: &ListColumn) -> Result<()> {
        let start = self.body.len();
        let ints = self.put_ints((0..rows).map(|row| column.get(row).map(|v| v.len() as i64)))?;
        let before = self.body.len();
        for v in (0..rows).filter_map(|row| column.get(row)).flatten() {
            self.body.extend_from_slice(&v.to_le_bytes());
        }
        self.close(key, start, ints, self.body.len() - before);
        Ok(())
    }
}

const FORMATS: [FileFormat; 4] = [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc, FileFormat::Puffin];

/// Encodes decoded entries, without inherited values, as sections and their bytes.
///
/// # Errors
/// `Unsupported` if numbers are too far apart.
pub(crate) fn encode_columns(c: &EntryColumns) -> Result<(CachedSections, Vec<u8>)> {
    let (rows, mut w) = (c.len(), Writer::default());
    let plain = |v: &i64| Some(*v);
    w.ints((Status, 0), c.status.iter().map(|v| Some(i64::from(*v))))?;
    w.ints((SnapshotId, 0), c.snapshot_id.iter().copied())?;
    w.ints((SequenceNumber, 0), c.sequence_number.iter().copied())?;
    w.ints((FileSequenceNumber, 0), c.file_sequence_number.iter().copied())?;
    w.ints((Content, 0), c.content.iter().map(|v| Some(content_number(*v).into())))?;
    w.bytes((Path, 0), rows, &c.path)?;
    let format = |v: &FileFormat| FORMATS.iter().position(|f| f == v).map(|i| i as i64);
    w.ints((Format, 0), c.format.iter().map(format))?;
    w.ints((RecordCount, 0), c.record_count.iter().map(plain))?;
    w.ints((SizeBytes, 0), c.size_bytes.iter().map(plain))?;
    w.ints((Partition, 0), c.partition.iter().map(|v| Some(i64::from(*v))))?;
    w.bytes((Tuples, 0), c.encoded_partitions.len(), &c.encoded_partitions)?;
    w.bytes((KeyMetadata, 0), rows, &c.key_metadata)?;
    w.lists((SplitOffsets, 0), rows, &c.split_offsets)?;
    w.lists((EqualityIds, 0), rows, &c.equality_ids)?;
    w.ints((SortOrderId, 0), c.sort_order_id.iter().map(|v| v.map(i64::from)))?;
    w.ints((FirstRowId, 0), c.first_row_id.iter().copied())?;
    w.bytes((ReferencedDataFile, 0), rows, &c.referenced_data_file)?;
    w.ints((ContentOffset, 0), c.content_offset.iter().copied())?;
    w.ints((ContentSize, 0), c.content_size_bytes.iter().copied())?;
    w.bytes((EncodedMetrics, 0), rows, &c.encoded_metrics)?;
    for m in &c.metrics {
        let known = |v: &i64| Some(*v).filter(|v| *v != MISSING);
        for (kind, counts) in [(ValueCount, &m.value_count), (NullCount, &m.null_count), (NanCount, &m.nan_count)] {
            if counts.iter().any(|v| *v != MISSING) {
                w.ints((kind, m.field_id), counts.iter().map(known))?;
            }
        }
        for (kind, bounds) in [(Lower, &m.lower), (Upper, &m.upper)] {
            if (0..rows).any(|row| bounds.get(row).is_some()) {
                w.bytes((kind, m.field_id), rows, bounds)?;
            }
        }
        w.sections.fields.push(m.field_id);
    }
    (w.sections.rows, w.sections.tuples) = (rows, c.encoded_partitions.len());
    Ok((w.sections, w.body))
}

impl CachedSections {
    /// Appends the table of sections.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_long(out, self.rows as i64);
        put_long(out, self.tuples as i64);
        put_long(out, self.fields.len() as i64);
        self.fields.iter().for_each(|id| put_int(out, *id));
        put_long(out, self.sections.len() as i64);
        for ((kind, field), s) in &self.sections {
            put_long(out, *kind as i64);
            put_int(out, *field);
            for n in [s.offset, s.length, u64::from(s.checksum), u64::from(s.ints.width), s.content_bytes] {
                put_long(out, n as i64);
            }
            put_bytes(out, &s.ints.base.to_le_bytes());
        }
    }

    /// Reads the bytes that [`CachedSections::encode`] wrote.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes have another form.
    pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Result<CachedSections> {
        let number = |cursor: &mut Cursor<'_>| usize::try_from(cursor.long()?).map_err(|_| broken());
        let mut out = CachedSections { rows: number(cursor)?, tuples: number(cursor)?, ..CachedSections::default() };
        for _ in 0..number(cursor)? {
            out.fields.push(cursor.int()?);
        }
        for _ in 0..number(cursor)? {
            let kind = *KINDS.get(number(cursor)?).ok_or_else(broken)?;
            let field = cursor.int()?;
            let mut next = || number(cursor).map(|n| n as u64);
            let (offset, length, checksum, width, content_bytes) = (next()?, next()?, next()?, next()?, next()?);
            let base = i64::from_le_bytes(cursor.bytes()?.try_into().map_err(|_| broken())?);
            let checksum = u32::try_from(checksum).map_err(|_| broken())?;
            let ints = Ints { base, width: u8::try_from(width).map_err(|_| broken())? };
            out.sections.insert((kind, field), Section { offset, length, checksum, ints, content_bytes });
        }
        Ok(out)
    }
}

/// The checked bytes of one section.
pub(crate) struct Loaded<'a> {
    section: &'a Section,
    bytes: &'a [u8],
}

impl<'a> Loaded<'a> {
    /// Checks the bytes of a section.
    ///
    /// # Errors
    /// `CorruptTable` if the checksum does not match.
    pub(crate) fn new(section: &'a Section, bytes: &'a [u8]) -> Result<Loaded<'a>> {
        if bytes.len() as u64 != section.length || crc32fast::hash(bytes) != section.checksum {
            return Err(broken());
        }
        Ok(Loaded { section, bytes })
    }

    /// The integers, one for each of `rows`. `null` is the number to use for nulls.
    ///
    /// # Errors
    /// `CorruptTable` if there are fewer.
    pub(crate) fn longs(&self, rows: usize, null: i64) -> Result<Vec<i64>> {
        let Ints { base, width } = self.section.ints;
        if matches!(width, 0 | u8::MAX) {
            return Ok(vec![if width == 0 { null } else { base }; rows]);
        }
        let end = self.bytes.len().checked_sub(self.section.content_bytes as usize).ok_or_else(broken)?;
        let bytes = self.bytes.get(..end).ok_or_else(broken)?;
        if bytes.len() != rows.checked_mul(usize::from(width)).ok_or_else(broken)? {
            return Err(broken());
        }
        let value = |v: u64, none: u64| if v == none { null } else { base.wrapping_add(v as i64) };
        Ok(match width {
            1 => bytes.iter().map(|b| value(u64::from(*b), 0xff)).collect(),
            2 => bytes.as_chunks().0.iter().map(|b| value(u64::from(u16::from_le_bytes(*b)), 0xffff)).collect(),
            4 => bytes.as_chunks().0.iter().map(|b| value(u64::from(u32::from_le_bytes(*b)), 0xffff_ffff)).collect(),
            8 => bytes.as_chunks().0.iter().map(|b| value(u64::from_le_bytes(*b), u64::MAX)).collect(),
            _ => return Err(broken()),
        })
    }

    /// The integers of some rows, or of all.
    ///
    /// # Errors
    /// Errors of [`Loaded::longs`].
    pub(crate) fn optional(&self, rows: usize, wanted: Option<&[u32]>) -> Result<Vec<Option<i64>>> {
        let Ints { base, width } = self.section.ints;
        if matches!(width, 0 | u8::MAX) {
            return Ok(vec![(width != 0).then_some(base); wanted.map_or(rows, <[u32]>::len)]);
        }
        // If the base is not the least number, no value is the least number.
        let null = if base == i64::MIN { i64::MAX } else { i64::MIN };
        let all = self.longs(rows, null)?;
        let some = |v: i64| (v != null).then_some(v);
        Ok(match wanted {
            None => all.into_iter().map(some).collect(),
            Some(wanted) => wanted.iter().map(|row| all.get(*row as usize).copied().and_then(some)).collect(),
        })
    }

    fn content(&self) -> Result<&'a [u8]> {
        let start = self.bytes.len().checked_sub(self.section.content_bytes as usize).ok_or_else(broken)?;
        self.bytes.get(start..).ok_or_else(broken)
    }

    /// The end of each row's content, and whether the row has content.
    fn ends(&self, rows: usize, unit: usize) -> Result<(Vec<i64>, Vec<usize>)> {
        let lengths = self.longs(rows, -1)?;
        let most = self.content()?.len();
        let mut end = 0usize;
        let mut ends = Vec::with_capacity(rows);
        for length in &lengths {
            let bytes = usize::try_from((*length).max(0)).ok().and_then(|n| n.checked_mul(unit));
            end = bytes.and_then(|n| end.checked_add(n)).filter(|end| *end <= most).ok_or_else(broken)?;
            ends.push(end);
        }
        Ok((lengths, ends))
    }

    /// Calls a function with the content of some rows, or of all, in order.
    fn each(
        &self,
        rows: usize,
        unit: usize,
        wanted: Option<&[u32]>,
        mut put: impl FnMut(Option<&'a [u8]>) -> bool,
    ) -> Result<()> {
        let content = self.content()?;
        let (lengths, ends) = self.ends(rows, unit)?;
        let mut one = |row: usize| {
            let known = lengths.get(row).is_some_and(|n| *n >= 0);
            let start = if row == 0 { 0 } else { ends.get(row - 1).copied().unwrap_or_default() };
            put(ends.get(row).and_then(|end| content.get(start..*end)).filter(|_| known))
        };
        let all_fit = match wanted {
            None => (0..rows).all(one),
            Some(wanted) => wanted.iter().all(|row| one(*row as usize)),
        };
        if all_fit { Ok(()) } else { Err(too_wide()) }
    }

    /// The texts of some rows, or of all.
    ///
    /// # Errors
    /// `CorruptTable` if the section does not hold texts.
    pub(crate) fn texts(&self, rows: usize, wanted: Option<&[u32]>) -> Result<BytesColumn> {
        let Ints { base, width } = self.section.ints;
        if let (None, u8::MAX, Ok(length)) = (wanted, width, usize::try_from(base)) {
            let column = BytesColumn::of_length(self.content()?, length, rows);
            return column.ok_or_else(broken);
        }
        let mut out = BytesColumn::default();
        self.each(rows, 1, wanted, |bytes| out.push(bytes))?;
        Ok(out)
    }

    /// The lists of some rows, or of all.
    ///
    /// # Errors
    /// `CorruptTable` if the section does not hold lists.
    pub(crate) fn lists(&self, rows: usize, wanted: Option<&[u32]>) -> Result<ListColumn> {
        let mut out = ListColumn::default();
        if self.section.ints.width == 0 {
            let all_fit = (0..wanted.map_or(rows, <[u32]>::len)).all(|_| out.push(None));
            return if all_fit { Ok(out) } else { Err(too_wide()) };
        }
        let mut list = Vec::new();
        self.each(rows, 8, wanted, |bytes| {
            list.clear();
            list.extend(bytes.unwrap_or_default().as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)));
            out.push(bytes.is_some().then_some(&list[..]))
        })?;
        Ok(out)
    }
}

/// The file content with this number.
pub(crate) fn cached_content(number: i64) -> Result<FileContent> {
    content_of(number).ok_or_else(broken)
}

/// The file format with this number.
pub(crate) fn format_of(number: i64) -> Result<FileFormat> {
    usize::try_from(number).ok().and_then(|i| FORMATS.get(i)).copied().ok_or_else(broken)
}
