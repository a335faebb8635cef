//! Rows to new data files of a table.
//!
//! [`DataWriter`] takes batches in any layout ([`super::conform`]), splits them by the table's partition spec
//! ([`super::partition_rows`]) and appends each part to the open Parquet file of its partition, beginning a new one when
//! a file reaches its target size. The files are nobody's until a commit adds them: a writer that is aborted or dropped
//! deletes what it made.
//!
//! Memory stays bounded however many partitions there are. Rows of a partitioned table are collected until 128 MiB of
//! them wait and then written partition by partition; row groups in progress hold at most 256 MiB together, else the
//! largest is ended early; at most 128 files are open, else the one that was idle longest is closed, or, if none was
//! idle, the new part becomes a file of its own. So rows that come clustered by partition make the fewest files.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;

use super::conform::Conformer;
use super::parquet_write::{ParquetFile, ParquetSettings, size_property};
use super::partition_rows::{PartitionRows, Partitioner};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Store, location};
use crate::task::{DataFile, FileContent, FileFormat, Partition};
use crate::types::{FieldId, PartitionSpec, Schema};

/// Rows are handed to a file so many at a time; its size is looked at in between.
const ROWS_AT_ONCE: usize = 8192;
/// A large batch is taken in pieces of about so many bytes and at most so many rows.
const PIECE_BYTES: usize = 64 << 20;
const PIECE_ROWS: usize = 65_536;

/// What a writer writes, and where.
#[derive(Clone, Debug)]
pub struct WriteContext {
    /// The schema of the rows.
    pub schema: Arc<Schema>,
    /// How rows are put into files.
    pub spec: Arc<PartitionSpec>,
    /// The order that the rows come in, if it is one of the table's (0: unsorted); recorded, not made.
    pub sort_order_id: Option<i32>,
    /// Columns of the table's sort order whose transforms preserve order: they get bounds even if the default is none.
    pub sorted_columns: Vec<FieldId>,
    /// The folder for data files: property `write.data.path`, else `data` under the table's location.
    pub data_location: String,
    /// The table's properties.
    pub properties: BTreeMap<String, String>,
    /// Unique to this writer, a UUID: it makes the file names unique.
    pub write_id: String,
    /// The number of the task or partition that writes, in front of the file names.
    pub task_id: u64,
}

/// Bounds on what a writer holds.
#[derive(Clone, Copy, Debug)]
struct Limits {
    open_files: usize,
    waiting_bytes: usize,
    buffered_bytes: usize,
}

const LIMITS: Limits = Limits { open_files: 128, waiting_bytes: 128 << 20, buffered_bytes: 256 << 20 };

/// Writes rows into new Parquet files.
///
/// Nothing of it is public before a commit adds the [`DataFile`]s of [`DataWriter::finish`] to the table.
pub struct DataWriter {
    store: Arc<dyn Store>,
    context: WriteContext,
    settings: Arc<ParquetSettings>,
    conformer: Conformer,
    partitioner: Partitioner,
    target_bytes: u64,
    limits: Limits,
    waiting: BTreeMap<usize, Vec<PartitionRows>>,
    waiting_bytes: usize,
    open: HashMap<usize, OpenFile>,
    buffered_bytes: usize,
    round: u64,
    rows_taken: u64,
    files_begun: u64,
    done: BTreeMap<u64, DataFile>,
    made: Vec<String>,
    failed: bool,
}

struct OpenFile {
    partition: Arc<Partition>,
    file: ParquetFile,
    /// Its number among the files of this writer.
    count: u64,
    /// Memory it held when last looked at.
    buffered_bytes: usize,
    /// When rows were last added.
    round: u64,
}

impl DataWriter {
    /// A writer for one table's rows.
    ///
    /// # Errors
    /// `InvalidInput` for table properties that can't be read or a spec that does not fit the schema; `Unsupported` for
    /// column types, transforms and file formats that can't be written.
    pub fn new(store: Arc<dyn Store>, context: WriteContext) -> Result<Self> {
        const FORMAT: &str = "write.format.default";
        if let Some(format) = context.properties.get(FORMAT).filter(|f| !f.eq_ignore_ascii_case("parquet")) {
            return Err(Error::unsupported(format!("writing files of format '{format}' is not supported"))
                .with("property", FORMAT)
                .hint("Set the property to parquet"));
        }
        let target_bytes = size_property(&context.properties, "write.target-file-size-bytes", 512 << 20)?;
        let conformer = Conformer::new(context.schema.clone())?;
        let settings = ParquetSettings::new(
            context.schema.clone(),
            conformer.target().clone(),
            &context.properties,
            &context.sorted_columns,
        )?;
        Ok(DataWriter {
            partitioner: Partitioner::new(&context.schema, &context.spec)?,
            settings: Arc::new(settings),
            store,
            context,
            conformer,
            target_bytes,
            limits: LIMITS,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            open: HashMap::new(),
            buffered_bytes: 0,
            round: 0,
            rows_taken: 0,
            files_begun: 0,
            done: BTreeMap::new(),
            made: Vec::new(),
            failed: false,
        })
    }

    /// Adds rows. After an error the writer takes no more, and its files can't be committed.
    ///
    /// # Errors
    /// `InvalidInput` if the batch does not fit the table, naming the column and the row (counted from the first batch
    /// on); `Store` if a file can't be written, naming its path.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.usable()?;
        let written = self.write_pieces(batch);
        self.failed = written.is_err();
        written
    }

    fn usable(&self) -> Result<()> {
        match self.failed {
            true => Err(Error::invalid("an earlier write failed, so the rows are incomplete")
                .hint("Write again with a new writer")),
            false => Ok(()),
        }
    }

    fn write_pieces(&mut self, batch: &RecordBatch) -> Result<()> {
        let step = rows_per_piece(batch);
        let mut start = 0;
        // A batch without rows is conformed too: a wrong schema must not pass because there was nothing to write.
        loop {
            let piece = batch.slice(start, step.min(batch.num_rows() - start));
            let rows = self.conformer.conform(&piece, self.rows_taken)?;
            self.rows_taken += rows.num_rows() as u64;
            self.take(&rows)?;
            start += piece.num_rows();
            if start >= batch.num_rows() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, rows: &RecordBatch) -> Result<()> {
        let parts = self.partitioner.split(rows)?;
        if self.context.spec.is_unpartitioned() {
            self.round += 1;
            return parts.into_iter().try_for_each(|part| self.append(part));
        }
        self.waiting_bytes += batch_bytes(rows);
        for part in parts {
            self.waiting.entry(part.number).or_default().push(part);
        }
        if self.waiting_bytes >= self.limits.waiting_bytes { self.write_waiting() } else { Ok(()) }
    }

    fn write_waiting(&mut self) -> Result<()> {
        self.round += 1;
        self.waiting_bytes = 0;
        for (number, parts) in std::mem::take(&mut self.waiting) {
            let Some(partition) = parts.first().map(|p| p.partition.clone()) else { continue };
            let rows = concat_batches(self.conformer.target(), parts.iter().map(|p| &p.rows))
                .map_err(|e| Error::internal("rows of a partition can't be joined").because(e))?;
            drop(parts);
            self.append(PartitionRows { number, partition, rows })?;
        }
        Ok(())
    }

    /// Adds rows to their partition's file, rolling over to new ones as they fill.
    fn append(&mut self, part: PartitionRows) -> Result<()> {
        let mut start = 0;
        let mut stays_open = true;
        while start < part.rows.num_rows() {
            let rows = part.rows.slice(start, ROWS_AT_ONCE.min(part.rows.num_rows() - start));
            start += rows.num_rows();
            if !self.open.contains_key(&part.number) {
                stays_open = self.make_room()?;
                let begun = self.begin(&part.partition)?;
                self.open.insert(part.number, begun);
            }
            let Some(open) = self.open.get_mut(&part.number) else { continue };
            open.file.write(&rows)?;
            open.round = self.round;
            let held = open.file.buffered_bytes();
            self.buffered_bytes = self.buffered_bytes - open.buffered_bytes + held;
            open.buffered_bytes = held;
            if open.file.estimated_bytes() >= self.target_bytes {
                self.close(part.number)?;
            }
            self.shed()?;
        }
        if stays_open { Ok(()) } else { self.close(part.number) }
    }

    /// Closes the longest idle file if too many are open. False if none was idle in this round and the last one, so
    /// that partitions taking turns do not close each other's files.
    fn make_room(&mut self) -> Result<bool> {
        if self.open.len() < self.limits.open_files {
            return Ok(true);
        }
        let idlest = self.open.iter().map(|(number, open)| (open.round, *number)).min();
        match idlest {
            Some((round, number)) if round + 1 < self.round => self.close(number).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Ends the largest row groups in progress until memory is within bounds.
    fn shed(&mut self) -> Result<()> {
        while self.buffered_bytes > self.limits.buffered_bytes {
            let Some(open) = self.open.values_mut().max_by_key(|o| (o.buffered_bytes, o.count)) else { break };
            open.file.flush()?;
            self.buffered_bytes -= open.buffered_bytes;
            open.buffered_bytes = 0;
        }
        Ok(())
    }

    fn begin(&mut self, partition: &Arc<Partition>) -> Result<OpenFile> {
        self.files_begun += 1;
        let (count, context) = (self.files_begun, &self.context);
        let name = format!("{:05}-0-{}-{count:05}.parquet", context.task_id, context.write_id);
        let folder = match partition.path() {
            path if path.is_empty() => context.data_location.clone(),
            path => location::join(&context.data_location, &path),
        };
        let path = location::join(&folder, &name);
        let file = ParquetFile::create(self.store.as_ref(), path, self.settings.clone())?;
        Ok(OpenFile { partition: partition.clone(), file, count, buffered_bytes: 0, round: self.round })
    }

    /// Finishes a partition's open file, if it has one.
    fn close(&mut self, number: usize) -> Result<()> {
        let Some(open) = self.open.remove(&number) else { return Ok(()) };
        self.buffered_bytes -= open.buffered_bytes;
        let path = open.file.path().to_owned();
        let finished = open.file.finish();
        // A file of unknown state is ours to delete; one that was there before us is not.
        if !finished.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
            self.made.push(path.clone());
        }
        let written = finished?;
        let file = DataFile {
            content: FileContent::Data,
            path,
            format: FileFormat::Parquet,
            partition: open.partition,
            record_count: written.record_count,
            size_bytes: written.size_bytes,
            sequence_number: None,
            file_sequence_number: None,
            snapshot_id: None,
            metrics: Some(written.metrics.into()),
            key_metadata: None,
            split_offsets: Some(written.split_offsets),
            equality_ids: None,
            sort_order_id: self.context.sort_order_id,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_bytes: None,
        };
        self.done.insert(open.count, file);
        Ok(())
    }

    /// Completes all files and returns them in the order in which they were begun; none if there were no rows. They are
    /// the caller's from then on.
    ///
    /// # Errors
    /// As [`DataWriter::write`]; then everything written is deleted.
    pub fn finish(mut self) -> Result<Vec<DataFile>> {
        self.usable()?;
        self.write_waiting()?;
        let mut open: Vec<(u64, usize)> = self.open.iter().map(|(number, o)| (o.count, *number)).collect();
        open.sort_unstable();
        open.into_iter().try_for_each(|(_, number)| self.close(number))?;
        self.made.clear();
        Ok(std::mem::take(&mut self.done).into_values().collect())
    }

    /// Deletes everything written.
    ///
    /// # Errors
    /// The first file that could not be deleted; the others are tried all the same.
    pub fn abort(mut self) -> Result<()> {
        self.delete_all()
    }

    fn delete_all(&mut self) -> Result<()> {
        self.open.clear();
        let made = std::mem::take(&mut self.made);
        let deleted: Vec<Result<()>> = made.iter().map(|path| self.store.delete(path)).collect();
        deleted.into_iter().collect()
    }
}

impl Drop for DataWriter {
    fn drop(&mut self) {
        // Nobody is left to tell; a file that stays behind is an orphan that maintenance removes.
        let _ = self.delete_all();
    }
}

/// The memory that the rows of a batch take, not counting what their buffers hold beside them.
fn batch_bytes(batch: &RecordBatch) -> usize {
    let column = |c: &arrow::array::ArrayRef| c.to_data().get_slice_memory_size().unwrap_or(0);
    batch.columns().iter().map(column).sum()
}

fn rows_per_piece(batch: &RecordBatch) -> usize {
    let per_row = batch_bytes(batch) / batch.num_rows().max(1);
    (PIECE_BYTES / per_row.max(1)).clamp(1, PIECE_ROWS)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
