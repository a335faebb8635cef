//! Writes positions of deleted rows to new delete files.
//!
//! [`PositionDeleteWriter`] collects the positions of each data file and writes them at the end. It writes position
//! delete files (format version 2), or deletion vectors in one Puffin file (version 3). Sets of positions are
//! compressed, and a writer holds all of them. Equality deletes are rows of key columns.
//! [`DataWriter::of_equality_deletes`](super::writer::DataWriter::of_equality_deletes) writes them.
//!
//! The writer knows no other deletes. Callers that replace a deletion vector give the union of the old and the new
//! positions.
//!
//! Source: Iceberg specification, "Position Delete Files", "Deletion Vectors", "Reserved Field IDs"; Puffin
//! specification, "deletion-vector-v1"; Java Iceberg's `PositionDeleteWriter` and `BaseDVFileWriter` for the recorded
//! values.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};

use super::context::WriteContext;
use super::file_write::{FileSettings, format_of};
use super::metrics::MetricsConfig;
use super::new_file::{NewFile, Purpose, Written};
use super::output::Output;
use super::properties::size_property;
use crate::codec::bitmap::PositionSet;
use crate::codec::puffin::{Blob, DELETION_VECTOR, FileBuilder};
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::position_schema::position_schema;
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition};
use crate::parallel::check_cancelled;
use crate::store::Unsynced;
use crate::types::metadata_columns::POS as ROW_POSITION;

/// The target size of a delete file of rows, and its default.
pub(crate) const DELETE_TARGET: &str = "write.delete.target-file-size-bytes";
pub(crate) const DELETE_TARGET_BYTES: u64 = 64 << 20;

const GRANULARITY: &str = "write.delete.granularity";

/// Rows that are written to a file at a time.
const ROWS_AT_ONCE: usize = 8192;

/// The form in which positions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteForm {
    /// Position delete files, for tables of format version 2.
    Files,
    /// Deletion vectors in a Puffin file, for tables of format version 3.
    Vectors,
}

impl DeleteForm {
    /// The form for tables of a format version.
    ///
    /// # Errors
    /// `Unsupported` for version 1, which has no deletes of rows.
    pub fn of_version(version: u8) -> Result<DeleteForm> {
        match version {
            0 | 1 => Err(Error::unsupported("tables of format version 1 have no delete files")
                .hint("Upgrade the table, or rewrite the data files")),
            2 => Ok(DeleteForm::Files),
            _ => Ok(DeleteForm::Vectors),
        }
    }
}

/// Which data files may share a position delete file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Granularity {
    /// No data files share one. Readers then open only the files that they need.
    File,
    /// The data files of a partition share one. There are fewer files.
    Partition,
}

impl Granularity {
    fn of(properties: &BTreeMap<String, String>) -> Result<Granularity> {
        match properties.get(GRANULARITY).map(|g| g.trim().to_ascii_lowercase()).as_deref() {
            // Java's core uses partition by default, but its Spark writers use file.
            None | Some("file") => Ok(Granularity::File),
            Some("partition") => Ok(Granularity::Partition),
            Some(other) => Err(Error::invalid(format!("'{other}' is not a granularity of delete files"))
                .with("property", GRANULARITY)
                .hint("Use file or partition")),
        }
    }
}

/// The deletes of one data file.
#[derive(Debug)]
struct Deletes {
    partition: Arc<Partition>,
    positions: PositionSet,
}

/// Writes positions of deleted rows into new delete files.
///
/// The files are not public before a commit adds the [`DataFile`]s of [`PositionDeleteWriter::finish`] to the table. A
/// writer that fails or is dropped deletes its files.
#[derive(Debug)]
pub struct PositionDeleteWriter {
    output: Output,
    form: DeleteOutput,
    /// Deletes by the data file's path. Rows have this order in position delete files.
    deletes: BTreeMap<String, Deletes>,
}

#[derive(Debug)]
enum DeleteOutput {
    Files { granularity: Granularity, settings: FileSettings, target_bytes: u64 },
    Vectors,
}

impl PositionDeleteWriter {
    /// A writer of deletes for one table. It uses the locations, the properties and the names of `context`. Each delete
    /// has the partition of its data file.
    ///
    /// # Errors
    /// `InvalidInput` for table properties that can't be read; `Unsupported` for file formats that can't be written.
    pub fn new(
        store: Arc<dyn crate::store::Store>,
        context: WriteContext,
        form: DeleteForm,
    ) -> Result<PositionDeleteWriter> {
        let properties = &context.properties;
        let form = match form {
            DeleteForm::Vectors => DeleteOutput::Vectors,
            DeleteForm::Files => {
                let format = format_of(properties, true)?;
                let schema = Arc::new(position_schema());
                let (arrow, full) = (to_arrow(&schema)?, MetricsConfig::full());
                let settings = FileSettings::new(format, schema, arrow, properties, full, Purpose::PositionDeletes)?;
                DeleteOutput::Files {
                    granularity: Granularity::of(properties)?,
                    settings,
                    target_bytes: size_property(properties, DELETE_TARGET, DELETE_TARGET_BYTES)?,
                }
            }
        };
        Ok(PositionDeleteWriter { output: Output::new(store, &context, true), form, deletes: BTreeMap::new() })
    }

    /// Leaves the sync of the new files to the owner of `unsynced`.
    pub(crate) fn synced_by(mut self, unsynced: &Arc<Unsynced>) -> Self {
        self.output.leave_syncs_to(unsynced);
        self
    }

    /// Deletes rows of a data file, in addition to rows that were deleted before. Files may come in any order.
    ///
    /// # Errors
    /// `InvalidInput` for a file that is not a data file, or that is given in two partitions.
    pub fn delete(&mut self, data_file: &DataFile, positions: PositionSet) -> Result<()> {
        if data_file.content != FileContent::Data {
            return Err(Error::invalid("positions can be deleted in data files only").with("path", &data_file.path));
        }
        if positions.is_empty() {
            return Ok(());
        }
        match self.deletes.get_mut(&data_file.path) {
            None => {
                let deletes = Deletes { partition: data_file.partition.clone(), positions };
                self.deletes.insert(data_file.path.clone(), deletes);
            }
            Some(known) if known.partition != data_file.partition => {
                return Err(Error::invalid("a data file is given in two partitions").with("path", &data_file.path));
            }
            Some(known) => known.positions.unite(&positions),
        }
        Ok(())
    }

    /// Writes everything durably. The caller then owns the files. The result is empty if nothing was deleted.
    ///
    /// # Errors
    /// `Store` if a file can't be written, naming its path; `InvalidInput` for positions that a deletion vector cannot
    /// have. Then everything written is deleted.
    pub fn finish(mut self) -> Result<Vec<DataFile>> {
        let deletes = std::mem::take(&mut self.deletes);
        if deletes.is_empty() {
            return Ok(Vec::new());
        }
        let files = match &self.form {
            DeleteOutput::Vectors => write_vectors(&mut self.output, &deletes)?,
            DeleteOutput::Files { granularity, settings, target_bytes } => {
                let mut files = Vec::new();
                for group in groups(deletes, *granularity) {
                    let mut writer = GroupWriter::new(&mut self.output, settings, *target_bytes, group.partition);
                    group.deletes.iter().try_for_each(|(path, positions)| writer.add(path, positions))?;
                    files.append(&mut writer.finish()?);
                }
                files
            }
        };
        self.output.complete()?;
        Ok(files)
    }

    /// Gives up. Nothing is written before [`PositionDeleteWriter::finish`].
    ///
    /// # Errors
    /// The error of a file that could not be deleted.
    #[cfg(test)]
    pub(crate) fn abort(mut self) -> Result<()> {
        self.output.delete_all()
    }
}

/// Writes all deletion vectors into one Puffin file. Each vector is a separate delete file.
fn write_vectors(output: &mut Output, deletes: &BTreeMap<String, Deletes>) -> Result<Vec<DataFile>> {
    let (_, path) = output.next(None, FileFormat::Puffin);
    let mut sink = output.store().create_unsynced(&path, output.unsynced())?;
    let unwritten = |e: std::io::Error| Error::store("cannot write the file").with("path", &path).because(e);
    let created_by = format!("frazil {}", env!("CARGO_PKG_VERSION"));
    let mut puffin = FileBuilder::new(BTreeMap::from([("created-by".to_owned(), created_by)]));
    sink.write_all(&FileBuilder::START).map_err(unwritten)?;
    let mut places = Vec::with_capacity(deletes.len());
    for (data_file, Deletes { positions, .. }) in deletes {
        check_cancelled()?;
        let vector = positions.to_vector().with("data_file", data_file)?;
        let length = vector.len() as u64;
        let properties = BTreeMap::from([
            ("referenced-data-file".to_owned(), data_file.clone()),
            ("cardinality".to_owned(), positions.len().to_string()),
        ]);
        // Snapshot and sequence number are those of the commit that adds the file.
        let blob = Blob {
            kind: DELETION_VECTOR.to_owned(),
            fields: vec![ROW_POSITION],
            snapshot_id: -1,
            sequence_number: -1,
            offset: 0,
            length,
            compression: None,
            properties,
        };
        places.push((puffin.add(blob), length));
        sink.write_all(&vector).map_err(unwritten)?;
    }
    sink.write_all(&puffin.finish()?).map_err(unwritten)?;
    let finished = sink.finish().with("path", &path);
    output.record(&path, &finished);
    let size_bytes = finished? as i64;
    let vector = |((data_file, deletes), (offset, length)): ((&String, &Deletes), (u64, u64))| DataFile {
        record_count: deletes.positions.len() as i64,
        size_bytes,
        referenced_data_file: Some(data_file.clone()),
        content_offset: Some(offset as i64),
        content_size_bytes: Some(length as i64),
        ..DataFile::new(FileContent::PositionDeletes, path.clone(), FileFormat::Puffin, deletes.partition.clone())
    };
    Ok(deletes.iter().zip(places).map(vector).collect())
}

/// The group of deletes that share position delete files.
struct DeleteGroup {
    partition: Arc<Partition>,
    /// Deletes by path.
    deletes: Vec<(String, PositionSet)>,
}

fn groups(deletes: BTreeMap<String, Deletes>, granularity: Granularity) -> Vec<DeleteGroup> {
    let mut groups: Vec<DeleteGroup> = Vec::new();
    // Different tuples may have the same path in rare cases (null and "null").
    let mut known: BTreeMap<(i32, String), Vec<usize>> = BTreeMap::new();
    for (path, Deletes { partition, positions }) in deletes {
        if granularity == Granularity::File {
            groups.push(DeleteGroup { partition, deletes: vec![(path, positions)] });
            continue;
        }
        let alike = known.entry((partition.spec_id, partition.path())).or_default();
        match alike.iter().copied().find(|at| groups[*at].partition == partition) {
            Some(at) => groups[at].deletes.push((path, positions)),
            None => {
                alike.push(groups.len());
                groups.push(DeleteGroup { partition, deletes: vec![(path, positions)] });
            }
        }
    }
    groups
}

/// Writes the rows of a group, rolling over to new files at their target size.
struct GroupWriter<'a> {
    output: &'a mut Output,
    settings: &'a FileSettings,
    target_bytes: u64,
    partition: Arc<Partition>,
    open: Option<OpenDeleteFile>,
    done: Vec<DataFile>,
}

struct OpenDeleteFile {
    file: Box<dyn NewFile>,
    /// The only data file of its rows so far.
    only: Option<String>,
}

impl<'a> GroupWriter<'a> {
    fn new(output: &'a mut Output, settings: &'a FileSettings, target_bytes: u64, partition: Arc<Partition>) -> Self {
        GroupWriter { output, settings, target_bytes, partition, open: None, done: Vec::new() }
    }

    fn add(&mut self, data_file: &str, positions: &PositionSet) -> Result<()> {
        let rows = usize::try_from(positions.len()).map_or(ROWS_AT_ONCE, |n| n.min(ROWS_AT_ONCE));
        let paths = StringArray::from_iter_values(std::iter::repeat_n(data_file, rows));
        let mut left = positions.iter().map(|p| p as i64);
        loop {
            let positions: Int64Array = left.by_ref().take(rows).collect::<Vec<_>>().into();
            if positions.is_empty() {
                return Ok(());
            }
            let paths = paths.slice(0, positions.len());
            let batch = RecordBatch::try_new(self.settings.arrow().clone(), vec![Arc::new(paths), Arc::new(positions)]);
            let batch = batch.map_err(|e| Error::internal("positions do not fit their file's schema").because(e))?;
            self.write(data_file, &batch)?;
        }
    }

    fn write(&mut self, data_file: &str, rows: &RecordBatch) -> Result<()> {
        check_cancelled()?;
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let (_, path) = self.output.next(Some(&self.partition), self.settings.format());
                let file = self.settings.create(self.output.store(), path, self.output.unsynced())?;
                none.insert(OpenDeleteFile { file, only: Some(data_file.to_owned()) })
            }
        };
        open.file.write(rows)?;
        open.only.take_if(|only| only != data_file);
        if open.file.estimated_bytes() >= self.target_bytes { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        let Some(OpenDeleteFile { file, only }) = self.open.take() else { return Ok(()) };
        let path = file.path().to_owned();
        let finished = file.finish();
        self.output.record(&path, &finished);
        let mut written = finished?;
        forget_counts(&mut written, only.is_some());
        let file =
            written.into_file(FileContent::PositionDeletes, path, self.settings.format(), self.partition.clone());
        self.done.push(DataFile { referenced_data_file: only, ..file });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<DataFile>> {
        self.close()?;
        Ok(self.done)
    }
}

/// Drops metrics without use, as Java does: counts of the two columns, and bounds if rows belong to several data files.
fn forget_counts(written: &mut Written, one_data_file: bool) {
    let Some(metrics) = &mut written.metrics else { return };
    metrics.value_counts = None;
    metrics.null_value_counts = None;
    metrics.nan_value_counts = None;
    if !one_data_file {
        metrics.lower_bounds = None;
        metrics.upper_bounds = None;
    }
}

#[cfg(test)]
#[path = "delete_write_tests.rs"]
mod tests;
