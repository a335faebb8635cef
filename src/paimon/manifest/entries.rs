//! Manifest entries as columns: the result of decoding, and the input of pruning. No object is made for an entry.

use std::ops::Range;
use std::sync::Arc;

use crate::codec::avro::{UnknownMembers, UnknownValues};
use crate::codec::columns::BytesColumn;
use crate::error::{Error, Result};
use crate::format::task::{BucketFile, DataFile, FileContent, FileFormat, Partition};
use crate::paimon::spec::stats::StatsColumn;
use crate::store::location::join;

/// A row without fields, after their number.
pub const EMPTY_ROW: [u8; 12] = [0; 12];

/// `_KIND` of an entry.
pub const ADD: u8 = 0;
/// `_KIND` of an entry.
pub const DELETE: u8 = 1;

/// `_FILE_SOURCE` of a file that a writer made.
pub const APPEND: u8 = 0;
/// `_FILE_SOURCE` of a file that a compaction made.
pub const COMPACT: u8 = 1;

/// A list of names that an entry does not have.
pub const NO_NAMES: u32 = u32::MAX;

/// Judges entries before their files are decoded: by partition (a binary row after its number of fields), bucket, and
/// number of buckets.
pub type Keep<'r> = &'r (dyn Fn(&[u8], i32, i32) -> bool + Sync);

/// The parts of entries that decoding keeps.
#[derive(Clone, Copy, Default)]
pub struct PaimonEntryRequest<'r> {
    /// Keep statistics of keys.
    pub key_stats: bool,
    /// Keep statistics of values.
    pub value_stats: bool,
    /// Only entries of this kind.
    pub kind: Option<u8>,
    /// Only entries that this keeps.
    pub keep: Option<Keep<'r>>,
}

/// A batch of entries. All columns have [`PaimonEntryColumns::len`] rows, in the order of the file.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct PaimonEntryColumns {
    /// The entry's place in the manifest, from 0.
    pub place: Vec<u32>,
    pub kind: Vec<u8>,
    /// Index into `partitions`.
    pub partition: Vec<u32>,
    /// The distinct partitions of the batch: binary rows after their number of fields.
    pub partitions: Vec<Box<[u8]>>,
    pub bucket: Vec<i32>,
    pub total_buckets: Vec<i32>,
    pub file_name: BytesColumn,
    pub file_size: Vec<i64>,
    pub row_count: Vec<i64>,
    /// A binary row of the trimmed primary key after its number of fields.
    pub min_key: BytesColumn,
    pub max_key: BytesColumn,
    /// Only with [`PaimonEntryRequest::key_stats`], else empty.
    pub key_stats: StatsColumn,
    /// Only with [`PaimonEntryRequest::value_stats`], else empty.
    pub value_stats: StatsColumn,
    pub min_sequence_number: Vec<i64>,
    pub max_sequence_number: Vec<i64>,
    pub schema_id: Vec<i64>,
    pub level: Vec<i32>,
    /// Names of extra files, one after another, each with its length; see [`PaimonEntryColumns::extra_files`]. Null
    /// without extra files.
    pub(crate) extra_files: BytesColumn,
    /// Milliseconds since the epoch.
    pub creation_time_ms: Vec<Option<i64>>,
    pub delete_row_count: Vec<Option<i64>>,
    pub embedded_index: BytesColumn,
    /// [`APPEND`] or [`COMPACT`], where recorded.
    pub file_source: Vec<Option<u8>>,
    /// Index into `names`, or [`NO_NAMES`]: columns with statistics, if not all.
    pub value_stats_cols: Vec<u32>,
    pub external_path: BytesColumn,
    pub first_row_id: Vec<Option<i64>>,
    /// Index into `names`, or [`NO_NAMES`]: columns in the file, if not all.
    pub write_cols: Vec<u32>,
    /// The distinct lists of names of the batch.
    pub names: Vec<Arc<[String]>>,
    /// The values of members that only later versions know.
    pub(crate) unknown: BytesColumn,
    /// The description of these members.
    pub(crate) unknown_members: Option<Arc<UnknownMembers>>,
}

impl PaimonEntryColumns {
    /// Entries in the batch.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Reserves room for this number of further entries.
    pub(crate) fn reserve(&mut self, entries: usize) {
        self.place.reserve(entries);
        self.kind.reserve(entries);
        self.partition.reserve(entries);
        self.bucket.reserve(entries);
        self.total_buckets.reserve(entries);
        self.file_name.reserve(entries);
        self.file_size.reserve(entries);
        self.row_count.reserve(entries);
        self.min_sequence_number.reserve(entries);
        self.max_sequence_number.reserve(entries);
        self.schema_id.reserve(entries);
        self.level.reserve(entries);
        self.creation_time_ms.reserve(entries);
        self.delete_row_count.reserve(entries);
        self.file_source.reserve(entries);
        self.value_stats_cols.reserve(entries);
        self.first_row_id.reserve(entries);
        self.write_cols.reserve(entries);
    }

    /// Forgets the last entry.
    pub(crate) fn pop(&mut self) {
        self.place.pop();
        self.kind.pop();
        self.partition.pop();
        self.bucket.pop();
        self.total_buckets.pop();
        self.file_name.pop();
        self.file_size.pop();
        self.row_count.pop();
        self.min_key.pop();
        self.max_key.pop();
        self.key_stats.pop();
        self.value_stats.pop();
        self.min_sequence_number.pop();
        self.max_sequence_number.pop();
        self.schema_id.pop();
        self.level.pop();
        self.extra_files.pop();
        self.creation_time_ms.pop();
        self.delete_row_count.pop();
        self.embedded_index.pop();
        self.file_source.pop();
        self.value_stats_cols.pop();
        self.external_path.pop();
        self.first_row_id.pop();
        self.write_cols.pop();
        self.unknown.pop();
    }

    /// A row's members that only later versions know.
    pub(crate) fn unknown_of(&self, row: usize) -> Option<UnknownValues> {
        Some(UnknownValues::new(self.unknown_members.as_ref()?, self.unknown.get(row)?))
    }

    /// All rows.
    pub fn rows(&self) -> Range<usize> {
        0..self.len()
    }

    /// The partition of a row: a binary row after its number of fields.
    pub fn partition_row(&self, row: usize) -> &[u8] {
        let index = self.partition.get(row).map(|p| *p as usize);
        index.and_then(|p| self.partitions.get(p)).map(|p| &p[..]).unwrap_or_default()
    }

    /// A row's list of names.
    fn names_of(&self, column: &[u32], row: usize) -> Option<&Arc<[String]>> {
        self.names.get(*column.get(row)? as usize)
    }

    /// The columns with statistics in a row, if not all.
    pub fn value_stats_cols_of(&self, row: usize) -> Option<&Arc<[String]>> {
        self.names_of(&self.value_stats_cols, row)
    }

    /// The columns that a row's file has, if not all of its schema.
    pub fn write_cols_of(&self, row: usize) -> Option<&Arc<[String]>> {
        self.names_of(&self.write_cols, row)
    }

    /// The name of a row's file.
    ///
    /// # Errors
    /// `InvalidInput` if the row does not exist.
    pub fn name(&self, row: usize) -> Result<&str> {
        text(self.file_name.get(row))?.ok_or_else(|| Error::invalid(format!("there is no entry {row}")))
    }

    /// Where a row's file is recorded to be, if not in the folder of its bucket.
    ///
    /// # Errors
    /// `CorruptTable` if it is not text.
    pub fn external(&self, row: usize) -> Result<Option<&str>> {
        text(self.external_path.get(row))
    }

    /// The names of a row's extra files: separate file indexes, changelogs.
    ///
    /// # Errors
    /// `CorruptTable` if one is not text.
    pub fn extra_files(&self, row: usize) -> Result<Vec<&str>> {
        let mut rest = self.extra_files.get(row).unwrap_or_default();
        let mut out = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let (name, after) = after.split_at_checked(length).ok_or_else(|| Error::internal("names are cut off"))?;
            out.extend(text(Some(name))?);
            rest = after;
        }
        Ok(out)
    }

    /// The identity of a row's file. A file that moves to another level counts as another file.
    pub(crate) fn identity(&self, row: usize) -> Identity<'_> {
        Identity {
            partition: self.partition_row(row),
            bucket: self.bucket.get(row).copied().unwrap_or_default(),
            level: self.level.get(row).copied().unwrap_or_default(),
            name: self.file_name.get(row).unwrap_or_default(),
            extra_files: self.extra_files.get(row),
            embedded_index: self.embedded_index.get(row),
            external_path: self.external_path.get(row),
        }
    }

    /// The file of one row. `folder` is that of its bucket (see `crate::paimon::spec::partition::Paths`).
    ///
    /// # Errors
    /// `InvalidInput` if the row does not exist; `Unsupported` for a file format that can't be read.
    pub fn data_file(&self, row: usize, partition: Arc<Partition>, folder: &str) -> Result<DataFile> {
        let name = self.name(row)?;
        let path = self.external(row)?.map_or_else(|| join(folder, name), str::to_owned);
        let format = format_of(name)?;
        let number = |column: &[i64]| column.get(row).copied().unwrap_or_default();
        // Tables without keys have the same empty row in all their files.
        let key = |column: &BytesColumn| column.get(row).filter(|key| **key != EMPTY_ROW).unwrap_or_default().to_vec();
        let mut file = DataFile::new(FileContent::Data, path, format, partition);
        file.record_count = number(&self.row_count);
        file.size_bytes = number(&self.file_size);
        file.first_row_id = self.first_row_id.get(row).copied().flatten();
        file.bucket_file = Some(Box::new(BucketFile {
            bucket: self.bucket.get(row).copied().unwrap_or_default(),
            total_buckets: self.total_buckets.get(row).copied().unwrap_or_default(),
            level: self.level.get(row).copied().unwrap_or_default(),
            schema_id: number(&self.schema_id),
            min_key: key(&self.min_key),
            max_key: key(&self.max_key),
            min_sequence_number: number(&self.min_sequence_number),
            max_sequence_number: number(&self.max_sequence_number),
            delete_row_count: self.delete_row_count.get(row).copied().flatten(),
            write_columns: self.write_cols_of(row).map(|names| names.to_vec()),
        }));
        Ok(file)
    }
}

/// The format of a data file, which its name ends with.
///
/// # Errors
/// `Unsupported` for one that can't be read.
pub fn format_of(name: &str) -> Result<FileFormat> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match FileFormat::parse(ending) {
        Some(format) if format != FileFormat::Puffin => Ok(format),
        _ => Err(Error::unsupported(format!("data files of the format '{ending}' can't be read")).with("file", name)),
    }
}

fn text(bytes: Option<&[u8]>) -> Result<Option<&str>> {
    let bad = |e| Error::corrupt("a file's path is not UTF-8").because(e);
    bytes.map(|b| std::str::from_utf8(b).map_err(bad)).transpose()
}

/// Everything that distinguishes the file of one entry from those of others (Java's `FileEntry.Identifier`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity<'a> {
    pub(crate) partition: &'a [u8],
    pub(crate) bucket: i32,
    pub(crate) level: i32,
    pub(crate) name: &'a [u8],
    pub(crate) extra_files: Option<&'a [u8]>,
    pub(crate) embedded_index: Option<&'a [u8]>,
    pub(crate) external_path: Option<&'a [u8]>,
}
