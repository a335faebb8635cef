//! Single entries of manifests with everything that they record. Commits check and write them.

use std::sync::Arc;

use super::entries::{ADD, APPEND, COMPACT, EMPTY_ROW, PaimonEntryColumns};
use crate::codec::avro::UnknownValues;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{FileSource, NewBucketFile, Partition, RowStats};
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::stats::{SimpleStats, StatsRef, UNKNOWN_NULLS};

/// An entry of a manifest.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct FileEntry {
    /// [`ADD`] or [`super::entries::DELETE`].
    pub kind: u8,
    /// A binary row after its number of fields.
    pub partition: Arc<[u8]>,
    pub bucket: i32,
    pub total_buckets: i32,
    pub file_name: String,
    pub file_size: i64,
    pub row_count: i64,
    /// A binary row of the trimmed primary key after its number of fields.
    pub min_key: Vec<u8>,
    pub max_key: Vec<u8>,
    pub key_stats: SimpleStats,
    pub value_stats: SimpleStats,
    pub min_sequence_number: i64,
    pub max_sequence_number: i64,
    pub schema_id: i64,
    pub level: i32,
    pub extra_files: Vec<String>,
    /// Milliseconds since the epoch, by the writer's clock and in its time zone.
    pub creation_time_ms: Option<i64>,
    pub delete_row_count: Option<i64>,
    pub embedded_index: Option<Vec<u8>>,
    /// [`APPEND`] or [`COMPACT`], where recorded.
    pub file_source: Option<u8>,
    pub value_stats_cols: Option<Arc<[String]>>,
    pub external_path: Option<String>,
    pub first_row_id: Option<i64>,
    pub write_cols: Option<Arc<[String]>>,
    /// Members of later versions, which are kept when the entry is written again.
    pub unknown: Option<UnknownValues>,
}

/// The partition as in manifests: a binary row after its number of fields.
///
/// # Errors
/// `InvalidInput` if it is not one of the table's.
pub fn partition_row(schema: &TableSchema, partition: &Partition) -> Result<Vec<u8>> {
    let types = schema.partition_types();
    if partition.values.len() != types.len() {
        let (found, wanted) = (partition.values.len(), types.len());
        return Err(Error::invalid(format!("a partition has {found} values, the table {wanted} partition columns")));
    }
    let row = encode_values(partition.values.iter().map(|v| v.value.clone()), &types)?;
    Ok(prefixed(&row, types.len()))
}

fn row_or_empty(row: &[u8]) -> Vec<u8> {
    if row.is_empty() { EMPTY_ROW.to_vec() } else { row.to_vec() }
}

fn stats_of(stats: &RowStats) -> SimpleStats {
    SimpleStats {
        min: row_or_empty(&stats.min),
        max: row_or_empty(&stats.max),
        null_counts: Some(stats.null_counts.iter().map(|n| n.unwrap_or(UNKNOWN_NULLS)).collect()),
    }
}

fn owned(stats: StatsRef<'_>) -> SimpleStats {
    SimpleStats {
        min: row_or_empty(stats.min.unwrap_or_default()),
        max: row_or_empty(stats.max.unwrap_or_default()),
        null_counts: Some(stats.null_counts.map(<[i64]>::to_vec).unwrap_or_default()),
    }
}

impl FileEntry {
    /// The entry that adds a new file. `partition` is its partition's row.
    ///
    /// # Errors
    /// `InvalidInput` if it lacks a member of Paimon's files, or its path has no name.
    pub fn adding(new: &NewBucketFile, partition: Arc<[u8]>) -> Result<FileEntry> {
        let file = &new.file;
        let bad = |what: &str| Error::invalid(what).with("file", &file.path);
        let bucket_file = file.bucket_file.as_deref().ok_or_else(|| bad("a new file has no bucket and level"))?;
        let name = file.path.rsplit('/').next().unwrap_or_default();
        Ok(FileEntry {
            kind: ADD,
            partition,
            bucket: bucket_file.bucket,
            total_buckets: bucket_file.total_buckets,
            file_name: checked_name(name).map_err(|_| bad("a new file has no name"))?.to_owned(),
            file_size: file.size_bytes,
            row_count: file.record_count,
            min_key: row_or_empty(&bucket_file.min_key),
            max_key: row_or_empty(&bucket_file.max_key),
            key_stats: stats_of(&new.key_stats),
            value_stats: stats_of(&new.value_stats),
            min_sequence_number: bucket_file.min_sequence_number,
            max_sequence_number: bucket_file.max_sequence_number,
            schema_id: bucket_file.schema_id,
            level: bucket_file.level,
            extra_files: new.extra_files.clone(),
            creation_time_ms: Some(new.creation_time_ms),
            delete_row_count: bucket_file.delete_row_count,
            embedded_index: new.embedded_index.clone(),
            file_source: Some(match new.source {
                FileSource::Append => APPEND,
                FileSource::Compact => COMPACT,
            }),
            value_stats_cols: new.value_stats_cols.as_deref().map(Into::into),
            external_path: new.external.then(|| file.path.clone()),
            first_row_id: file.first_row_id,
            write_cols: bucket_file.write_columns.as_deref().map(Into::into),
            unknown: None,
        })
    }

    /// The identity of the file, regardless of the kind of entry (Java's `FileEntry.Identifier`).
    pub(crate) fn identity(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.partition.len() + self.file_name.len() + 32);
        let mut put = |part: Option<&[u8]>| {
            out.extend_from_slice(&part.map_or(u64::MAX, |p| p.len() as u64).to_le_bytes());
            out.extend_from_slice(part.unwrap_or_default());
        };
        put(Some(&self.partition));
        put(Some(&self.bucket.to_le_bytes()));
        put(Some(&self.level.to_le_bytes()));
        put(Some(self.file_name.as_bytes()));
        put(self.embedded_index.as_deref());
        put(self.external_path.as_deref().map(str::as_bytes));
        self.extra_files.iter().for_each(|name| put(Some(name.as_bytes())));
        out
    }

    /// The same file with another [`FileEntry::kind`].
    #[must_use]
    pub fn of_kind(&self, kind: u8) -> FileEntry {
        FileEntry { kind, ..self.clone() }
    }

    /// A copy without statistics. They are not read for a deleted file.
    #[must_use]
    pub fn without_stats(mut self) -> FileEntry {
        let empty = || SimpleStats { min: EMPTY_ROW.to_vec(), max: EMPTY_ROW.to_vec(), null_counts: Some(Vec::new()) };
        (self.key_stats, self.value_stats) = (empty(), empty());
        self.value_stats_cols = Some(Arc::new([]));
        self
    }

    /// The first and the last row id, where rows have ids.
    pub fn row_ids(&self) -> Option<(i64, i64)> {
        let first = self.first_row_id?;
        Some((first, first.saturating_add(self.row_count).saturating_sub(1)))
    }
}

impl PaimonEntryColumns {
    /// An entry; its statistics only if the request wanted them.
    ///
    /// # Errors
    /// `InvalidInput` if the row does not exist; `CorruptTable` for texts that are not UTF-8.
    pub fn entry(&self, row: usize) -> Result<FileEntry> {
        let number = |column: &[i64]| column.get(row).copied().unwrap_or_default();
        let int = |column: &[i32]| column.get(row).copied().unwrap_or_default();
        let name = self.name(row)?;
        Ok(FileEntry {
            kind: self.kind.get(row).copied().unwrap_or_default(),
            partition: self.partition_row(row).into(),
            bucket: int(&self.bucket),
            total_buckets: int(&self.total_buckets),
            file_name: name.to_owned(),
            file_size: number(&self.file_size),
            row_count: number(&self.row_count),
            min_key: row_or_empty(self.min_key.get(row).unwrap_or_default()),
            max_key: row_or_empty(self.max_key.get(row).unwrap_or_default()),
            key_stats: owned(self.key_stats.get(row)),
            value_stats: owned(self.value_stats.get(row)),
            min_sequence_number: number(&self.min_sequence_number),
            max_sequence_number: number(&self.max_sequence_number),
            schema_id: number(&self.schema_id),
            level: int(&self.level),
            extra_files: self.extra_files(row).with("file", name)?.into_iter().map(str::to_owned).collect(),
            creation_time_ms: self.creation_time_ms.get(row).copied().flatten(),
            delete_row_count: self.delete_row_count.get(row).copied().flatten(),
            embedded_index: self.embedded_index.get(row).map(<[u8]>::to_vec),
            file_source: self.file_source.get(row).copied().flatten(),
            value_stats_cols: self.value_stats_cols_of(row).cloned(),
            external_path: self.external(row)?.map(str::to_owned),
            first_row_id: self.first_row_id.get(row).copied().flatten(),
            write_cols: self.write_cols_of(row).cloned(),
            unknown: self.unknown_of(row),
        })
    }
}
