//! Writes files of one bucket from rows in their stored form, for compactions.
//!
//! Source: Java's `KeyValueFileWriterFactory`, `RowDataRollingFileWriter`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;

use super::append_rows::with_columns;
use super::default_values::Defaults;
use super::facts::FoundFacts;
use super::file_indexes::index_path;
use super::file_options::changelog_options;
use super::names::FileNames;
use super::new_files::NO_KEY;
use super::properties;
use super::write_plan::WritePlan;
use crate::data::arrow::schema::to_arrow;
use crate::data::write::file_write::FileSettings;
use crate::data::write::new_file::{NewFile, Written};
use crate::error::{Error, ErrorKind, Result};
use crate::format::task::{BucketFile, DataFile, FileContent, FileFormat, FileSource, NewBucketFile, Partition};
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::schema::TableSchema;
use crate::parallel::in_steps;
use crate::store::{Store, Unsynced};
use crate::types::options::Options;
use crate::types::temporal::now_ms;

/// Rows are written in parts of this number; the size of the file is checked in between.
const ROWS_AT_ONCE: usize = 8192;

/// The role of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BucketRole {
    /// Rows of a table with a primary key, at a level.
    Level(i32),
    /// The changes of a compaction to a level.
    Changelog(i32),
    /// Rows of a table without primary key: the first has this sequence number.
    Append(i64),
}

/// A bucket of a table, and the location of its files.
#[derive(Clone)]
pub(crate) struct BucketPlace<'a> {
    pub store: Arc<dyn Store>,
    pub root: &'a str,
    pub schema: &'a TableSchema,
    /// The table's options, overridden by those of the compaction.
    pub options: &'a BTreeMap<String, String>,
    pub partition: Arc<Partition>,
    pub bucket: i32,
    pub total_buckets: i32,
    /// Collects the files that were completed.
    pub completed: &'a Mutex<Vec<String>>,
    /// Syncs the files. The owner of the place calls it.
    pub unsynced: &'a Arc<Unsynced>,
}

/// Writes rows into new files of one bucket.
pub(crate) struct BucketWriter<'a> {
    place: &'a BucketPlace<'a>,
    role: BucketRole,
    settings: FileSettings,
    stored: SchemaRef,
    stored_keys: Vec<usize>,
    found: Arc<FoundFacts>,
    names: FileNames,
    format: FileFormat,
    target_bytes: u64,
    open: Option<Box<dyn NewFile>>,
    rows: i64,
    new_files: Vec<NewBucketFile>,
}

impl<'a> BucketWriter<'a> {
    /// A writer of files of one kind.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read; `Unsupported` for types and formats that are not written.
    pub(crate) fn new(place: &'a BucketPlace<'a>, role: BucketRole) -> Result<BucketWriter<'a>> {
        let (level, keyed) = match role {
            BucketRole::Level(level) | BucketRole::Changelog(level) => (level, true),
            BucketRole::Append(_) => (0, false),
        };
        let of_changelog;
        let options = match role {
            BucketRole::Changelog(_) => {
                of_changelog = changelog_options(place.options);
                Options(&of_changelog)
            }
            _ => Options(place.options),
        };
        let plan = WritePlan {
            table: place.schema,
            options,
            columns: place.schema.columns().clone(),
            defaults: Defaults::default(),
            format: properties::file_format(&options, level)?,
            paths: TablePaths::new(place.root, place.schema)?,
            write_id: uuid::Uuid::new_v4().to_string(),
            buckets: None,
            postpones: false,
            store: place.store.clone(),
            level,
        };
        let found = Arc::new(FoundFacts::new(place.store.clone()));
        let (settings, stored, stored_keys) = match keyed {
            true => {
                let files = plan.keyed_files(&found)?;
                (files.settings, files.stored, files.stored_keys)
            }
            false => {
                let (settings, stored) = plan.append_files(&found)?;
                (settings, stored, Vec::new())
            }
        };
        let names = FileNames { bucket: place.bucket, ..plan.names() };
        Ok(BucketWriter {
            place,
            role,
            settings,
            stored: to_arrow(&stored)?,
            stored_keys,
            found,
            names,
            format: plan.format,
            target_bytes: properties::target_bytes(&options, keyed)?,
            open: None,
            rows: 0,
            new_files: Vec::new(),
        })
    }

    /// Adds rows: the columns of the table and, with a primary key, sequence number and kind.
    ///
    /// # Errors
    /// `Store` if a file can't be written; `Internal` for rows that do not fit the table.
    pub(crate) fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let rows = self.laid_out(rows)?;
        for range in in_steps(rows.num_rows(), ROWS_AT_ONCE) {
            let Range { start, end } = range?;
            let some = rows.slice(start, end - start);
            let file = match &mut self.open {
                Some(file) => file,
                none => {
                    let path = self.names.next(&self.place.partition)?;
                    let mut file = self.settings.create(self.place.store.as_ref(), path, self.place.unsynced)?;
                    file.expect_rows(&rows.slice(start, rows.num_rows() - start))?;
                    none.insert(file)
                }
            };
            file.write(&some)?;
            if file.estimated_bytes() >= self.target_bytes {
                self.end_file()?;
            }
        }
        Ok(())
    }

    fn laid_out(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        if let BucketRole::Append(_) = self.role {
            return with_columns(&self.stored, rows.columns().to_vec());
        }
        let values = rows.num_columns().checked_sub(2).ok_or_else(|| Error::internal("compacted rows lack columns"))?;
        let column = |at: &usize| rows.columns().get(*at).cloned();
        let mut columns: Vec<ArrayRef> = self.stored_keys.iter().filter_map(column).collect();
        columns.extend(rows.columns().iter().skip(values).cloned());
        columns.extend(rows.columns().iter().take(values).cloned());
        with_columns(&self.stored, columns)
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(file) = self.open.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let written = file.finish();
        let note = |path| self.place.completed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        // A file of unknown state is deleted later, but a file that existed before is not.
        if !written.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
            note(path.clone());
        }
        let written = written?;
        let own_file = index_path(&path);
        let recorded = self.recorded(path, written)?;
        if !recorded.extra_files.is_empty() {
            note(own_file);
        }
        self.new_files.push(recorded);
        Ok(())
    }

    fn recorded(&mut self, path: String, written: Written) -> Result<NewBucketFile> {
        let facts = self.found.take(&path)?;
        let (level, source) = match self.role {
            BucketRole::Level(level) => (level, FileSource::Compact),
            BucketRole::Changelog(level) => (level, FileSource::Append),
            BucketRole::Append(_) => (0, FileSource::Compact),
        };
        let sequence = match (self.role, facts.sequence) {
            (BucketRole::Append(first), _) => {
                let first = first.saturating_add(self.rows);
                (first, first.saturating_add(written.record_count).saturating_sub(1))
            }
            (_, Some(sequence)) => sequence,
            (_, None) => return Err(Error::internal("a file without sequence numbers").with("path", path)),
        };
        self.rows = self.rows.saturating_add(written.record_count);
        let (min_key, max_key) = facts.keys.unwrap_or((NO_KEY.to_vec(), NO_KEY.to_vec()));
        let bucket_file = BucketFile {
            bucket: self.place.bucket,
            total_buckets: self.place.total_buckets,
            level,
            schema_id: self.place.schema.id,
            min_key,
            max_key,
            min_sequence_number: sequence.0,
            max_sequence_number: sequence.1,
            delete_row_count: Some(facts.deletes),
            write_columns: None,
        };
        Ok(NewBucketFile {
            file: DataFile {
                record_count: written.record_count,
                size_bytes: written.size_bytes,
                bucket_file: Some(Box::new(bucket_file)),
                ..DataFile::new(FileContent::Data, path, self.format, self.place.partition.clone())
            },
            key_stats: facts.key_stats,
            value_stats: facts.value_stats,
            value_stats_cols: facts.value_stats_cols,
            extra_files: facts.index.own_file.into_iter().collect(),
            embedded_index: facts.index.embedded,
            creation_time_ms: now_ms(),
            source,
            external: false,
        })
    }

    /// Completes the files. The owner of the place makes them durable.
    ///
    /// # Errors
    /// As [`BucketWriter::write`].
    pub(crate) fn finish(mut self) -> Result<Vec<NewBucketFile>> {
        self.end_file()?;
        Ok(self.new_files)
    }
}
