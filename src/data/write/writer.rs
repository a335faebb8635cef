//! Writes rows to new data files of a table.
//!
//! [`DataWriter`] takes batches in any layout ([`super::conform`]) and splits them by the table's partition spec
//! ([`super::partition_rows`]). It appends each part to the open file of its partition, and begins a new file when one
//! reaches its target size. The files belong to no table until a commit adds them. A writer that is aborted or dropped
//! deletes them.
//!
//! Memory is bounded for any number of partitions:
//!
//! - Rows of a partitioned table are collected until 128 MiB of them wait, and are then written partition by partition.
//! - Rows in progress (row groups, stripes) hold at most 256 MiB together. Beyond that the largest is ended early.
//! - At most 128 files are open, and one more for each thread that writes. Beyond that, the file that was idle longest
//!   is closed. If no file was idle, the new part becomes a separate file.
//!
//! Files are durable when [`DataWriter::finish`] returns. They are synced many at a time ([`Unsynced`]).
//!
//! So rows that are clustered by partition make the fewest files. Rows that are to be sorted ([`RowOrder::Sort`]) are
//! collected first ([`super::sort_rows`]).

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use super::conform::Conformer;
use super::context::{RowOrder, WriteContext, batch_bytes};
use super::delete_write::{DELETE_TARGET, DELETE_TARGET_BYTES};
use super::file_write::{FileSettings, format_of, stored_schema};
use super::new_file::{NewFile, Purpose, Written};
use super::output::Output;
use super::partition_rows::{PartitionRows, Partitioner};
use super::properties::size_property;
use super::sort_rows::RowSorter;
use super::stored_columns::{StoredColumns, check_keys};
use super::table_rows::{TableFiles, TableRows};
use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition};
use crate::parallel;
use crate::parallel::{Unit, count_done};
use crate::store::{Store, Unsynced};
use crate::types::select::prune_to as prune;
use crate::types::{FieldId, Schema, Transform};

/// Rows that are written to a file at a time. The size of the file is checked in between.
const ROWS_AT_ONCE: usize = 8192;
/// Partitions that a thread writes before all threads meet.
const PARTITIONS_PER_THREAD: usize = 8;
/// A new file is shown at least this number of rows, if the batch has them.
const FIRST_ROWS: usize = 20_000;
/// A large batch is taken in pieces: this is about the size of a piece in bytes, and its largest number of rows.
const PIECE_BYTES: usize = 64 << 20;
const PIECE_ROWS: usize = 65_536;

/// Rows for the open file of their partition.
struct PartitionWork {
    number: usize,
    partition: Arc<Partition>,
    open: OpenDataFile,
    stays_open: bool,
    parts: Vec<PartitionRows>,
}

impl PartitionWork {
    /// Adds the rows until the file is full. Returns the other rows too.
    fn run(mut self, schema: &SchemaRef, target_bytes: u64) -> Result<(PartitionWork, Vec<RecordBatch>)> {
        let batches: Vec<RecordBatch> = std::mem::take(&mut self.parts).into_iter().map(|part| part.rows).collect();
        let mut before = 0;
        let first = batches.iter().take_while(|rows| {
            let wanted = before < FIRST_ROWS;
            before += rows.num_rows();
            wanted
        });
        let first = concat_batches(schema, first)
            .map_err(|e| Error::internal("rows of a partition can't be joined").because(e))?;
        self.open.file.expect_rows(&first)?;
        let mut rest = Vec::new();
        for rows in batches {
            let mut start = 0;
            while start < rows.num_rows() && self.open.file.estimated_bytes() < target_bytes {
                parallel::check_cancelled()?;
                let some = rows.slice(start, ROWS_AT_ONCE.min(rows.num_rows() - start));
                start += some.num_rows();
                self.open.file.write(&some)?;
                count_done(Unit::Rows, some.num_rows() as u64);
            }
            if start < rows.num_rows() {
                rest.push(rows.slice(start, rows.num_rows() - start));
            }
        }
        Ok((self, rest))
    }
}

/// Limits on the memory and files of a writer.
#[derive(Clone, Copy, Debug)]
struct WriterLimits {
    open_files: usize,
    waiting_bytes: usize,
    buffered_bytes: usize,
}

const LIMITS: WriterLimits = WriterLimits { open_files: 128, waiting_bytes: 128 << 20, buffered_bytes: 256 << 20 };

/// Writes rows into new files: data files, or equality delete files whose rows are keys.
///
/// The files are not public before a commit adds the [`DataFile`]s of [`DataWriter::finish`] to the table.
pub struct DataWriter {
    output: Output,
    context: WriteContext,
    /// The `equality_ids` of a writer of equality deletes.
    keys: Option<Vec<FieldId>>,
    /// The columns that are written to the files, if not all are.
    columns: Option<StoredColumns>,
    settings: FileSettings,
    /// The steps of a table of another format for the rows.
    table_rows: Option<Box<dyn TableRows>>,
    conformer: Conformer,
    partitioner: Partitioner,
    sorter: Option<RowSorter>,
    /// The id of the order to record: 0 is unsorted.
    sort_order_id: i32,
    target_bytes: u64,
    limits: WriterLimits,
    waiting: BTreeMap<usize, Vec<PartitionRows>>,
    waiting_bytes: usize,
    open: HashMap<usize, OpenDataFile>,
    buffered_bytes: usize,
    round: u64,
    rows_taken: u64,
    done: BTreeMap<u64, DataFile>,
    failed: bool,
}

struct OpenDataFile {
    partition: Arc<Partition>,
    file: Box<dyn NewFile>,
    /// The file's number among the files of this writer.
    count: u64,
    /// The memory it held at the last check.
    buffered_bytes: usize,
    /// The round in which rows were last added.
    round: u64,
}

/// A file that was finished, with or without success.
struct FinishedFile {
    count: u64,
    partition: Arc<Partition>,
    path: String,
    written: Result<Written>,
}

impl OpenDataFile {
    /// Finishes the file. After a cancellation it is dropped, which leaves no file.
    fn finish(self) -> FinishedFile {
        let OpenDataFile { partition, file, count, .. } = self;
        let path = file.path().to_owned();
        let written = parallel::check_cancelled().and_then(|()| file.finish());
        FinishedFile { count, partition, path, written }
    }
}

impl DataWriter {
    /// A writer for one table's rows.
    ///
    /// # Errors
    /// `InvalidInput` for table properties that can't be read or a spec that does not fit the schema; `Unsupported` for
    /// column types, transforms and file formats that can't be written.
    pub fn new(store: Arc<dyn Store>, context: WriteContext) -> Result<Self> {
        let format = format_of(&context.properties, false)?;
        let target_bytes = size_property(&context.properties, "write.target-file-size-bytes", 512 << 20)?;
        let conformer = Conformer::new(context.schema.clone())?;
        let stored = stored_schema(format, &context.schema)?;
        let output = Output::new(store, &context, false);
        Self::of(output, context, conformer, (format, stored), None, target_bytes)
    }

    /// A writer for a table of another format. Rows come in with the columns of `schema`. The schema, spec and row
    /// order of `context` describe prepared rows. Its locations and properties are not used.
    ///
    /// # Errors
    /// The errors of [`DataWriter::new`].
    pub fn of_table(
        store: Arc<dyn Store>,
        context: WriteContext,
        schema: Arc<Schema>,
        files: TableFiles,
    ) -> Result<Self> {
        let (conformer, prepared) = (Conformer::new(schema)?, to_arrow(&context.schema)?);
        let sorter = match &context.row_order {
            RowOrder::By(sorting) => Some(RowSorter::by(&context.schema, prepared, sorting)?),
            _ => None,
        };
        let partitioner = Partitioner::new(&context.schema, &context.spec)?;
        let output = Output::new(store, &context, false);
        let mut writer = Self::idle(output, context, conformer, partitioner, files.settings, files.target_bytes);
        writer.sorter = sorter;
        writer.table_rows = Some(files.rows);
        Ok(writer)
    }

    /// A writer of equality delete files. They delete the rows of older data files that have the written keys. They
    /// apply to the key's partition, or to the whole table if `context.spec` has no fields.
    ///
    /// Batches hold the columns `ids` and those that `context.spec` partitions by, by name. Only the former go into the
    /// files. Null is a key like others.
    ///
    /// # Errors
    /// The errors of [`DataWriter::new`]. `InvalidInput` without columns, and for columns that can't be keys: missing
    /// in the schema, nested in lists or maps, or of type float or double.
    pub fn of_equality_deletes(store: Arc<dyn Store>, context: WriteContext, ids: Vec<FieldId>) -> Result<Self> {
        let format = format_of(&context.properties, true)?;
        let target_bytes = size_property(&context.properties, DELETE_TARGET, DELETE_TARGET_BYTES)?;
        check_keys(&context.schema, &ids)?;
        let kept = prune(&context.schema, &ids);
        let sources = context.spec.fields.iter().filter(|f| f.transform != Transform::Void).map(|f| f.source_id);
        let rows = prune(&context.schema, &ids.iter().copied().chain(sources).collect::<Vec<_>>());
        let conformer = Conformer::new(Arc::new(rows))?;
        let output = Output::new(store, &context, true);
        Self::of(output, context, conformer, (format, kept), Some(ids), target_bytes)
    }

    /// Leaves the sync of the new files to the owner of `unsynced`.
    pub(crate) fn synced_by(mut self, unsynced: &Arc<Unsynced>) -> Self {
        self.output.leave_syncs_to(unsynced);
        self
    }

    /// A writer of files of a format with the columns of `stored`.
    fn of(
        output: Output,
        context: WriteContext,
        conformer: Conformer,
        (format, stored): (FileFormat, Schema),
        keys: Option<Vec<FieldId>>,
        target_bytes: u64,
    ) -> Result<Self> {
        let all = stored.fields == conformer.schema().fields;
        let columns = if all { None } else { Some(StoredColumns::new(conformer.target(), &stored)?) };
        let arrow = columns.as_ref().map_or(conformer.target(), StoredColumns::schema).clone();
        let purpose = keys.as_ref().map_or(Purpose::Rows(&context.schema), |ids| Purpose::EqualityDeletes(ids));
        let (stored, metrics) = (Arc::new(stored), context.metrics());
        let settings = FileSettings::new(format, stored, arrow, &context.properties, metrics, purpose)?;
        let arrow = || conformer.target().clone();
        let (sorter, sort_order_id) = match &context.row_order {
            RowOrder::Sorted => (None, context.order.id),
            _ if keys.is_some() => (None, 0),
            RowOrder::Any => (None, 0),
            RowOrder::By(sorting) => (Some(RowSorter::by(&context.schema, arrow(), sorting)?), sorting.recorded_id()),
            RowOrder::Sort => {
                let sorter = RowSorter::new(&context.schema, arrow(), &context.order);
                let is_sorted = sorter.is_some();
                (sorter, if is_sorted { context.order.id } else { 0 })
            }
        };
        let partitioner = Partitioner::new(conformer.schema(), &context.spec)?;
        let writer = Self::idle(output, context, conformer, partitioner, settings, target_bytes);
        Ok(DataWriter { sort_order_id, sorter, keys, columns, ..writer })
    }

    /// A writer of rows in any order, of all columns, before the first rows.
    fn idle(
        output: Output,
        context: WriteContext,
        conformer: Conformer,
        partitioner: Partitioner,
        settings: FileSettings,
        target_bytes: u64,
    ) -> Self {
        DataWriter {
            sort_order_id: 0,
            sorter: None,
            partitioner,
            settings,
            table_rows: None,
            output,
            context,
            keys: None,
            columns: None,
            conformer,
            target_bytes,
            limits: LIMITS,
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            open: HashMap::new(),
            buffered_bytes: 0,
            round: 0,
            rows_taken: 0,
            done: BTreeMap::new(),
            failed: false,
        }
    }

    /// Adds rows. After an error the writer takes no more rows, and its files can't be committed.
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
        // A batch without rows is conformed too. A wrong schema must not pass because there were no rows.
        loop {
            parallel::check_cancelled()?;
            let piece = batch.slice(start, step.min(batch.num_rows() - start));
            let mut rows = self.conformer.conform(&piece, self.rows_taken)?;
            if let Some(table) = &mut self.table_rows {
                rows = table.prepare(rows).map_err(|e| e.with("first row", self.rows_taken))?;
            }
            self.rows_taken += rows.num_rows() as u64;
            self.take(&rows)?;
            start += piece.num_rows();
            if start >= batch.num_rows() {
                return Ok(());
            }
        }
    }

    fn take(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut parts = self.partitioner.split(rows)?;
        if let Some(sorter) = &mut self.sorter {
            return sorter.push(parts);
        }
        if let Some(columns) = &self.columns {
            parts.iter_mut().try_for_each(|part| columns.of(&part.rows).map(|stored| part.rows = stored))?;
        }
        if let Some(table) = &mut self.table_rows {
            for part in &mut parts {
                part.rows = table.stored(std::mem::replace(&mut part.rows, RecordBatch::new_empty(rows.schema())))?;
            }
        }
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

    /// Takes rows that come partition by partition. The files of a partition are finished before those of the next.
    fn take_sorted(&mut self, rows: &RecordBatch) -> Result<()> {
        self.round += 1;
        for part in self.partitioner.split(rows)? {
            let parts = match &mut self.table_rows {
                Some(table) => table.sorted(part)?,
                None => vec![part],
            };
            parts.into_iter().try_for_each(|part| self.append_sorted(part))?;
        }
        Ok(())
    }

    fn append_sorted(&mut self, part: PartitionRows) -> Result<()> {
        let others: Vec<usize> = self.open.keys().copied().filter(|number| *number != part.number).collect();
        others.into_iter().try_for_each(|number| self.close(number))?;
        let rows = self.columns.as_ref().map_or(Ok(part.rows.clone()), |columns| columns.of(&part.rows))?;
        self.append(PartitionRows { rows, ..part })
    }

    fn write_waiting(&mut self) -> Result<()> {
        self.round += 1;
        self.waiting_bytes = 0;
        let mut waiting = std::mem::take(&mut self.waiting).into_values();
        let threads = parallel::threads(usize::MAX);
        loop {
            // There are several for each thread, so that few threads wait for the slowest. There are not more than
            // files may be open.
            let room = self.limits.open_files.saturating_sub(self.open.len());
            let at_once = (threads * PARTITIONS_PER_THREAD).min(room).max(threads);
            let next: Vec<Vec<PartitionRows>> = waiting.by_ref().take(at_once).collect();
            if next.is_empty() {
                return Ok(());
            }
            self.append_in_parallel(next)?;
        }
    }

    /// Adds rows of several partitions. A separate thread adds those of each partition until its file is full.
    fn append_in_parallel(&mut self, partitions: Vec<Vec<PartitionRows>>) -> Result<()> {
        let mut works = Vec::with_capacity(partitions.len());
        for parts in partitions {
            let Some((number, partition)) = parts.first().map(|p| (p.number, p.partition.clone())) else { continue };
            let (open, stays_open) = match self.open.remove(&number) {
                Some(open) => (open, true),
                None => {
                    let stays_open = self.make_room(works.len())?;
                    (self.begin(&partition)?, stays_open)
                }
            };
            works.push(Mutex::new(Some(PartitionWork { number, partition, open, stays_open, parts })));
        }
        let (schema, target_bytes) = (self.settings.arrow(), self.target_bytes);
        let done = parallel::in_parallel(works.len(), |i| {
            let work = works[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            work.map(|work| work.run(schema, target_bytes)).transpose()
        })?;
        for (work, rest) in done.into_iter().flatten() {
            let PartitionWork { number, partition, mut open, stays_open, .. } = work;
            open.round = self.round;
            let held = open.file.buffered_bytes();
            self.buffered_bytes = self.buffered_bytes - open.buffered_bytes + held;
            open.buffered_bytes = held;
            let full = open.file.estimated_bytes() >= self.target_bytes;
            self.open.insert(number, open);
            if full || !stays_open {
                self.close(number)?;
            }
            self.shed()?;
            for rows in rest {
                self.append(PartitionRows { number, partition: partition.clone(), rows })?;
            }
        }
        Ok(())
    }

    /// Adds rows to their partition's file. Begins a new file when one is full.
    fn append(&mut self, part: PartitionRows) -> Result<()> {
        let mut start = 0;
        let mut stays_open = true;
        while start < part.rows.num_rows() {
            parallel::check_cancelled()?;
            let rows = part.rows.slice(start, ROWS_AT_ONCE.min(part.rows.num_rows() - start));
            start += rows.num_rows();
            if !self.open.contains_key(&part.number) {
                stays_open = self.make_room(0)?;
                let mut begun = self.begin(&part.partition)?;
                let begins = start - rows.num_rows();
                begun.file.expect_rows(&part.rows.slice(begins, part.rows.num_rows() - begins))?;
                self.open.insert(part.number, begun);
            }
            let Some(open) = self.open.get_mut(&part.number) else { continue };
            open.file.write(&rows)?;
            count_done(Unit::Rows, rows.num_rows() as u64);
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

    /// Closes the longest idle file if too many are open. Returns false if none was idle in this round and the last
    /// one. So partitions that take turns do not close each other's files. `others` is the number of other open files.
    fn make_room(&mut self, others: usize) -> Result<bool> {
        if self.open.len() + others < self.limits.open_files {
            return Ok(true);
        }
        let idlest = self.open.iter().map(|(number, open)| (open.round, *number)).min();
        match idlest {
            Some((round, number)) if round + 1 < self.round => self.close(number).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Ends the largest row groups or stripes in progress until memory is within bounds.
    fn shed(&mut self) -> Result<()> {
        while self.buffered_bytes > self.limits.buffered_bytes {
            let Some(open) = self.open.values_mut().max_by_key(|o| (o.buffered_bytes, o.count)) else { break };
            open.file.flush()?;
            self.buffered_bytes -= open.buffered_bytes;
            open.buffered_bytes = 0;
        }
        Ok(())
    }

    fn begin(&mut self, partition: &Arc<Partition>) -> Result<OpenDataFile> {
        let (count, path) = match &mut self.table_rows {
            Some(table) => (self.output.next_number(), table.path(partition)?),
            None => self.output.next(Some(partition), self.settings.format()),
        };
        let file = self.settings.create(self.output.store(), path, self.output.unsynced())?;
        Ok(OpenDataFile { partition: partition.clone(), file, count, buffered_bytes: 0, round: self.round })
    }

    /// Finishes a partition's open file, if it has one.
    fn close(&mut self, number: usize) -> Result<()> {
        let Some(open) = self.open.remove(&number) else { return Ok(()) };
        self.buffered_bytes -= open.buffered_bytes;
        self.keep(open.finish())
    }

    /// Finishes all open files in parallel. Each writes its buffered rows.
    fn close_all(&mut self) -> Result<()> {
        let mut open: Vec<OpenDataFile> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_unstable_by_key(|open| open.count);
        self.buffered_bytes = 0;
        let open: Vec<_> = open.into_iter().map(|open| Mutex::new(Some(open))).collect();
        let finished = parallel::in_parallel(open.len(), |i| {
            let open = open[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            Ok(open.map(OpenDataFile::finish))
        })?;
        // Every file is known before the first error ends the writer. So the writer deletes all of them.
        let kept: Vec<Result<()>> = finished.into_iter().flatten().map(|file| self.keep(file)).collect();
        kept.into_iter().collect()
    }

    fn keep(&mut self, file: FinishedFile) -> Result<()> {
        let FinishedFile { count, partition, path, written } = file;
        self.output.record(&path, &written);
        let content = if self.keys.is_some() { FileContent::EqualityDeletes } else { FileContent::Data };
        let mut file = written?.into_file(content, path, self.settings.format(), partition);
        file.sort_order_id = Some(self.sort_order_id);
        file.equality_ids = self.keys.clone();
        self.done.insert(count, file);
        Ok(())
    }

    /// Completes all files, syncs them together, and returns them in the order in which they were begun. The result is
    /// empty if there were no rows. From then on the caller owns the files.
    ///
    /// # Errors
    /// The errors of [`DataWriter::write`]; then everything written is deleted.
    pub fn finish(mut self) -> Result<Vec<DataFile>> {
        let files = self.end()?;
        self.release();
        Ok(files)
    }

    /// As [`DataWriter::finish`], but the writer deletes the files if it is dropped before [`DataWriter::release`].
    ///
    /// # Errors
    /// The errors of [`DataWriter::write`].
    pub(crate) fn end(&mut self) -> Result<Vec<DataFile>> {
        self.usable()?;
        if let Some(sorter) = self.sorter.take() {
            sorter.finish(|rows| self.take_sorted(&rows))?;
            let rest = self.table_rows.as_mut().map_or(Ok(Vec::new()), |table| table.rest())?;
            rest.into_iter().try_for_each(|part| self.append_sorted(part))?;
        }
        self.write_waiting()?;
        self.close_all()?;
        self.output.sync()?;
        Ok(std::mem::take(&mut self.done).into_values().collect())
    }

    /// From now on the caller owns the files.
    pub(crate) fn release(mut self) {
        self.output.release();
    }

    /// Deletes everything written.
    ///
    /// # Errors
    /// The error of the first file that could not be deleted. The others are still tried.
    pub fn abort(mut self) -> Result<()> {
        self.open.clear();
        self.output.delete_all()
    }
}

fn rows_per_piece(batch: &RecordBatch) -> usize {
    let per_row = batch_bytes(batch) / batch.num_rows().max(1);
    (PIECE_BYTES / per_row.max(1)).clamp(1, PIECE_ROWS)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
