//! Records of new files, as a commit adds them to manifests.

use std::sync::Arc;

use super::facts::FoundFacts;
use super::names::split_bucket;
use super::written::{WrittenBuckets, no_sequence_numbers, partition_row};
use crate::data::blobs::write::BlobFile;
use crate::error::{Error, Result};
use crate::format::task::{BucketFile, DataFile, FileContent, FileFormat, FileSource, NewBucketFile, RowStats};
use crate::paimon::spec::schema::TableSchema;
use crate::types::temporal::now_ms;

/// The level of new files.
pub(crate) const LEVEL: i32 = 0;

/// The empty row after its number of fields: the keys of tables without any.
pub(crate) const NO_KEY: [u8; 12] = [0; 12];

/// Makes records of files.
pub(crate) struct Recorder {
    pub table: Arc<TableSchema>,
    pub found: Arc<FoundFacts>,
    pub written: WrittenBuckets,
    /// Buckets of a partition, as entries record it.
    pub total_buckets: i32,
    /// The bucket of all rows, if rows have no bucket of their own.
    pub bucket: i32,
    /// Whether partitions must have that number of buckets already.
    pub checks_totals: bool,
    /// Whether commits give files their sequence numbers, as in tables with data evolution.
    pub numbers_files: bool,
    /// The columns of files, if other files have the others.
    pub write_columns: Option<Vec<String>>,
}

/// The record of a file of blobs. It has no statistics.
fn of_blobs(rows: &NewBucketFile, blobs: BlobFile) -> NewBucketFile {
    let of_column = |file: &BucketFile| BucketFile {
        max_sequence_number: blobs.record_count.saturating_sub(1).max(0),
        write_columns: Some(vec![blobs.column.clone()]),
        ..file.clone()
    };
    NewBucketFile {
        file: DataFile {
            record_count: blobs.record_count,
            size_bytes: blobs.size_bytes,
            bucket_file: rows.file.bucket_file.as_deref().map(|file| Box::new(of_column(file))),
            ..DataFile::new(FileContent::Data, blobs.path, FileFormat::Blob, rows.file.partition.clone())
        },
        value_stats: RowStats { min: NO_KEY.to_vec(), max: NO_KEY.to_vec(), null_counts: Vec::new() },
        value_stats_cols: Some(Vec::new()),
        extra_files: Vec::new(),
        embedded_index: None,
        ..rows.clone()
    }
}

impl Recorder {
    /// Records finished files.
    ///
    /// # Errors
    /// `InvalidInput` if the table's number of buckets was changed and the rows don't replace existing ones.
    pub(crate) fn record(&mut self, files: Vec<DataFile>) -> Result<Vec<NewBucketFile>> {
        let now = now_ms();
        let mut out = Vec::with_capacity(files.len());
        for file in files {
            let blobs = self.found.blobs.of_file(&file.path);
            let new = self.file(file, now)?;
            let blobs = blobs.into_iter().map(|blob| of_blobs(&new, blob)).collect::<Vec<_>>();
            out.push(new);
            out.extend(blobs);
        }
        Ok(out)
    }

    fn file(&mut self, file: DataFile, now: i64) -> Result<NewBucketFile> {
        let facts = self.found.of(&file.path)?;
        let (partition, bucket) = split_bucket(&file.partition, self.bucket)?;
        let row = partition_row(&self.table, &partition)?;
        if let (true, Some(before)) = (self.checks_totals, self.written.totals.get(&row))
            && *before != self.total_buckets
        {
            let now = self.total_buckets;
            return Err(Error::invalid(format!("the partition has {before} buckets, the table now {now}"))
                .hint("Overwrite the partition to give its rows new buckets"));
        }
        let (first, last) = match facts.sequence {
            Some(sequence) => sequence,
            // The commit numbers each file. Another file of the commit must not look newer than a later change of some
            // columns.
            None if self.numbers_files => (0, file.record_count.saturating_sub(1).max(0)),
            None => {
                let last = self.written.sequence.entry((row, bucket)).or_insert(-1);
                let first = last.checked_add(1).ok_or_else(no_sequence_numbers)?;
                *last = last.checked_add(file.record_count).ok_or_else(no_sequence_numbers)?;
                (first, *last)
            }
        };
        let (min_key, max_key) = facts.keys.unwrap_or((NO_KEY.to_vec(), NO_KEY.to_vec()));
        let bucket_file = BucketFile {
            bucket,
            total_buckets: self.total_buckets,
            level: LEVEL,
            schema_id: self.table.id,
            min_key,
            max_key,
            min_sequence_number: first,
            max_sequence_number: last,
            delete_row_count: Some(facts.deletes),
            write_columns: self.write_columns.clone(),
        };
        Ok(NewBucketFile {
            file: DataFile {
                partition: Arc::new(partition),
                bucket_file: Some(Box::new(bucket_file)),
                metrics: None,
                sort_order_id: None,
                split_offsets: None,
                ..file
            },
            key_stats: facts.key_stats,
            value_stats: facts.value_stats,
            value_stats_cols: facts.value_stats_cols,
            extra_files: facts.index.own_file.into_iter().collect(),
            embedded_index: facts.index.embedded,
            creation_time_ms: now,
            source: FileSource::Append,
            external: false,
        })
    }
}
