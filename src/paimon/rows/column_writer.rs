//! Writes files of some columns of rows that exist.
//!
//! Source: Java's `DataEvolutionPaimonWriter`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::data::write::file_write::FileSettings;
use crate::data::write::new_file::NewFile;
use crate::error::{Error, ErrorKind, Result};
use crate::format::task::{DataFile, FileContent, FileFormat, NewBucketFile};
use crate::paimon::spec::bucket::UNAWARE_BUCKET;
use crate::paimon::spec::data_type::DataField;
use crate::paimon::state::PaimonTable;
use crate::paimon::write::append_rows::with_columns;
use crate::paimon::write::default_values::Defaults;
use crate::paimon::write::facts::FoundFacts;
use crate::paimon::write::limits::check_values;
use crate::paimon::write::names::FileNames;
use crate::paimon::write::new_files::Recorder;
use crate::paimon::write::write_plan::WritePlan;
use crate::paimon::write::written::{WrittenBuckets, no_sequence_numbers};
use crate::store::{Store, Unsynced};

/// Writes one file of the same columns for each group of rows.
pub(crate) struct ColumnWriter {
    store: Arc<dyn Store>,
    settings: FileSettings,
    fields: Vec<DataField>,
    schema: SchemaRef,
    format: FileFormat,
    names: FileNames,
    recorder: Recorder,
    unsynced: Arc<Unsynced>,
    open: Option<OpenColumns>,
    /// Files, with the sequence numbers that they have to exceed.
    done: Vec<(DataFile, i64)>,
}

/// A file in progress.
struct OpenColumns {
    file: Box<dyn NewFile>,
    /// The record of the rows that it has columns of.
    rows: DataFile,
    newest: i64,
}

impl ColumnWriter {
    /// A writer of the columns at these places.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read; `Unsupported` for types and formats that are not written.
    pub(crate) fn new(table: &PaimonTable, places: &[usize]) -> Result<ColumnWriter> {
        let schema = table.table_schema().clone();
        let plan = WritePlan::new(table, &schema, &Defaults::default(), UNAWARE_BUCKET, schema.options())?;
        let store = table.folder().store().clone();
        let found = Arc::new(FoundFacts::new(store.clone()));
        let settings = plan.files_of(places, None, &found)?;
        let fields: Vec<DataField> = places.iter().filter_map(|at| schema.fields.get(*at).cloned()).collect();
        let (format, names) = (plan.format, plan.names());
        let recorder = Recorder {
            table: schema.clone(),
            found,
            written: WrittenBuckets::default(),
            total_buckets: -1,
            bucket: UNAWARE_BUCKET,
            checks_totals: false,
            numbers_files: true,
            write_columns: Some(fields.iter().map(|field| field.name.clone()).collect()),
        };
        Ok(ColumnWriter {
            schema: settings.arrow().clone(),
            store,
            settings,
            fields,
            format,
            names,
            recorder,
            unsynced: Unsynced::new(table.location()),
            open: None,
            done: Vec::new(),
        })
    }

    /// Begins a file with columns of the rows of another file. `newest` is the greatest sequence number of files with
    /// columns of these rows.
    ///
    /// # Errors
    /// As [`FileSettings::create`].
    pub(crate) fn begin(&mut self, rows: &DataFile, newest: i64) -> Result<()> {
        let path = self.names.next(&rows.partition)?;
        let file = self.settings.create(self.store.as_ref(), path, &self.unsynced)?;
        self.open = Some(OpenColumns { file, rows: rows.clone(), newest });
        Ok(())
    }

    /// Adds the columns of the next rows.
    ///
    /// # Errors
    /// `InvalidInput` for values that a column can't hold; `Store` if the file can't be written.
    pub(crate) fn write(&mut self, columns: &RecordBatch) -> Result<()> {
        check_values(&self.fields, columns)?;
        let rows = with_columns(&self.schema, columns.columns().to_vec())?;
        self.open.as_mut().map_or(Ok(()), |open| open.file.write(&rows))
    }

    /// Completes the file.
    ///
    /// # Errors
    /// As [`ColumnWriter::write`]; `CorruptTable` if its rows are not those of the other file.
    pub(crate) fn end(&mut self) -> Result<()> {
        let Some(OpenColumns { file, rows, newest }) = self.open.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let written = file.finish();
        let new = DataFile {
            first_row_id: rows.first_row_id,
            ..DataFile::new(FileContent::Data, path, self.format, rows.partition.clone())
        };
        if !written.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
            self.done.push((new, newest));
        }
        let written = written?;
        if let Some((new, _)) = self.done.last_mut() {
            (new.record_count, new.size_bytes) = (written.record_count, written.size_bytes);
        }
        match written.record_count == rows.record_count {
            true => Ok(()),
            false => Err(Error::corrupt(format!(
                "a file has {} rows, and the table records {}",
                written.record_count, rows.record_count
            ))
            .with("path", &rows.path)),
        }
    }

    /// Makes the files durable, and records them for the commit that makes the snapshot `next`.
    ///
    /// # Errors
    /// As [`Unsynced::sync`].
    pub(crate) fn finish(mut self, next: i64) -> Result<Vec<NewBucketFile>> {
        self.unsynced.sync()?;
        let mut new = self.recorder.record(self.done.iter().map(|(file, _)| file.clone()).collect())?;
        for (new, (_, newest)) in new.iter_mut().zip(&self.done) {
            // The commit's number is too small if another writer numbered its rows instead of its commits.
            if let Some(file) = new.file.bucket_file.as_mut().filter(|_| *newest >= next) {
                let number = newest.checked_add(1).ok_or_else(no_sequence_numbers)?;
                (file.min_sequence_number, file.max_sequence_number) = (number, number);
            }
        }
        self.recorder.found.release();
        self.done.clear();
        Ok(new)
    }
}

impl Drop for ColumnWriter {
    fn drop(&mut self) {
        self.store.discard(self.done.iter().map(|(file, _)| file.path.clone()).collect());
    }
}
