//! Reads the rows of a task.
//!
//! [`read_task`] opens the data file, drops the row groups and pages that the residual filter rules out, decodes the
//! columns that the filter and the projection need, keeps the rows on which the filter is true, and gives them the schema
//! of the projection. Where the filter needs only some of the columns, they are decoded first and the others only for rows
//! that are kept. Rows that the task's deletes name are left out; [`open_rows`] gives rows as they are before that, with
//! their positions in the file.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ArrowReaderMetadata, RowFilter, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::change_rows::read_changes;
use super::delete_files::{DeleteCache, check_format};
use super::delete_keys::KeyArrays;
use super::deletes::DeleteFilter;
use super::filter::matches;
use super::parquet_file::{ParquetFile, guard, undecodable};
use super::positions::{RowPositions, Upcoming};
use super::project::{FilterColumns, Projection, constants};
use super::row_groups::{Pruner, in_range, index_is_consistent};
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::store::Store;
use crate::task::{DataFile, FileFormat, ReadContext, ScanTask};
use crate::types::metadata_columns::LINEAGE_COLUMNS;
use crate::types::schema::LAST_USER_FIELD_ID;
use crate::types::{Field, FieldId};

/// A stream of a task's rows.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Bytes that a batch is kept to where rows are large.
const BATCH_BYTES: u64 = 256 << 20;

/// Some rows of a data file, before deletes are applied.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The columns of the context's projection.
    pub batch: RecordBatch,
    /// The key columns asked for, by field id.
    pub keys: KeyArrays,
    /// Which rows of the file they are.
    pub positions: RowPositions,
}

/// A stream of rows with their positions.
pub type RowStream = Box<dyn Iterator<Item = Result<Rows>> + Send>;

/// The rows of a task that satisfy its residual and that its deletes leave, as batches of the context's projection. No
/// batch is empty; after an error the stream ends. Tasks of a scan share `cache`, so that each delete file is read once.
///
/// # Errors
/// `Unsupported` for what is not read yet: data and delete files of formats other than Parquet (and Puffin), encrypted
/// files, metadata columns. `CorruptTable` if the file's bytes
/// contradict themselves or the table's schema, and as [`DeleteFilter::load`]. All of them, and the store's errors, name
/// the file; errors met on the way come from the stream.
pub fn read_task(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    cache: &DeleteCache,
) -> Result<Batches> {
    if let Some(change) = &task.change {
        return read_changes(store, context, task, change, cache);
    }
    check_supported(context, task).with("path", &task.data_file.path)?;
    Ok(match open(store, context, task, Wanted::Live(cache))? {
        Some(reader) => Box::new(reader.map(|rows| rows.map(|rows| rows.batch))),
        None => Box::new(std::iter::empty()),
    })
}

/// The rows of a task that satisfy its residual, deleted or not, with their positions and these key columns
/// ([`DeleteFilter::key_ids`]). The task's deletes are not looked at. No batch is empty.
///
/// # Errors
/// As [`read_task`], but for deletes.
pub fn open_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    keys: &[FieldId],
) -> Result<RowStream> {
    check_supported(context, task).with("path", &task.data_file.path)?;
    raw_rows(store, context, task, keys)
}

/// The rows of a whole delete file on which `filter` is true, as [`open_rows`] gives those of a data file.
pub(crate) fn read_delete_file(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    file: &DataFile,
    filter: BoundPredicate,
    keys: &[FieldId],
) -> Result<RowStream> {
    check_format(file)?;
    let (data_file, residual) = (Arc::new(file.clone()), Arc::new(filter));
    let task = ScanTask { data_file, start: 0, length: file.size_bytes, deletes: Vec::new(), residual, change: None };
    raw_rows(store, context, &task, keys)
}

fn raw_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    keys: &[FieldId],
) -> Result<RowStream> {
    Ok(match open(store, context, task, Wanted::All(keys))? {
        Some(reader) => Box::new(reader),
        None => Box::new(std::iter::empty()),
    })
}

fn check_supported(context: &ReadContext, task: &ScanTask) -> Result<()> {
    if task.data_file.format != FileFormat::Parquet {
        let format = task.data_file.format.as_str();
        return Err(Error::unsupported(format!("data files of format {format} cannot be read yet")));
    }
    if task.data_file.key_metadata.is_some() {
        return Err(Error::unsupported("encrypted data files cannot be read yet"));
    }
    let is_unknown = |f: &&Field| f.id > LAST_USER_FIELD_ID && !LINEAGE_COLUMNS.contains(&f.id);
    if let Some(field) = context.projection.fields.iter().find(is_unknown) {
        return Err(Error::unsupported("metadata columns cannot be read yet").with("column", &field.name));
    }
    Ok(())
}

/// What a reader is for.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    /// The rows that the task's deletes leave.
    Live(&'a DeleteCache),
    /// All rows, with their positions and these key columns.
    All(&'a [FieldId]),
}

/// The bytes of the file that the task covers. A task that reaches the recorded end reaches the real one: a file may be
/// longer than recorded.
fn byte_range(task: &ScanTask) -> std::ops::Range<i64> {
    let end = task.start.saturating_add(task.length);
    // Whatever lies before the first offset belongs to the first split: recorded offsets may be wrong.
    let first = task.data_file.split_offsets.as_deref().and_then(<[i64]>::first).copied().unwrap_or(0);
    let start = if task.start <= first.max(0) { i64::MIN } else { task.start };
    start..if end >= task.data_file.size_bytes { i64::MAX } else { end }
}

/// Everything decided before the first row is decoded; `None` if no row is left.
fn open(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    wanted: Wanted<'_>,
) -> Result<Option<TaskReader>> {
    if *task.residual == BoundPredicate::False {
        return Ok(None);
    }
    let path = context.location.resolve(&task.data_file.path).with("path", &task.data_file.path)?;
    open_at(store, context, task, wanted, &path).map_err(|e| e.with("path", &path))
}

fn open_at(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    wanted: Wanted<'_>,
    path: &str,
) -> Result<Option<TaskReader>> {
    let mut file = ParquetFile::open(store, path)?;
    file.columns.identify(context, FileFormat::Parquet)?;
    let filter = &task.residual;
    let constants = constants(&task.data_file.partition);
    let projection = Projection::plan(&context.projection.fields, &file.columns, &constants)?;
    let asked = FilterColumns::plan(&filter.field_ids(), &context.schema, &file.columns, &constants)?;

    let pruner = Pruner::new(filter, &context.schema, &file.columns, &constants);
    let groups = guard(|| {
        let mut groups = in_range(file.footer(), byte_range(task));
        // Statistics that cannot be decoded rule nothing out.
        groups.retain(|&group| guard(|| Ok(pruner.may_match(file.footer(), group))).unwrap_or(true));
        check_row_groups(file.footer(), &groups)?;
        Ok(groups)
    })?;
    if groups.is_empty() {
        return Ok(None);
    }
    let (deletes, key_ids) = match wanted {
        Wanted::Live(cache) if !task.deletes.is_empty() => {
            let deletes = DeleteFilter::load(store, context, &task.data_file, &task.deletes, cache)
                .with("data_file", &task.data_file.path)?;
            let key_ids = deletes.key_ids();
            ((!deletes.is_empty()).then(|| Arc::new(deletes)), key_ids)
        }
        Wanted::Live(_) => (None, Vec::new()),
        Wanted::All(keys) => (None, keys.to_vec()),
    };
    let keys = FilterColumns::plan_keys(&key_ids, context, &file.columns, &constants)?;
    let leaves = [projection.leaves(), asked.leaves(), keys.leaves()].into_iter().flatten().copied().collect();
    let mut plan = Plan { metadata: file.metadata.clone(), groups, selection: None, leaves };
    if **filter != BoundPredicate::True && !asked.leaves().is_empty() && plan.can_skip() {
        plan.use_page_index(&file, &pruner)?;
    }
    if plan.selection.as_ref().is_some_and(|s| !s.selects_any()) {
        return Ok(None);
    }
    let tells_positions = matches!(wanted, Wanted::All(_));
    let columns = Columns { projection, asked, keys };
    guard(|| TaskReader::new(file, context, filter.clone(), columns, plan, deletes, tells_positions)).map(Some)
}

/// Rejects row groups whose numbers contradict themselves, before they are relied on.
fn check_row_groups(metadata: &ParquetMetaData, groups: &[usize]) -> Result<()> {
    for group in groups.iter().filter_map(|&i| metadata.row_groups().get(i)) {
        let rows = group.num_rows();
        // Every row has at least one value, null or not, in every leaf column.
        if rows < 0 || group.columns().iter().any(|c| c.num_values() < rows) {
            return Err(Error::corrupt(format!("a row group claims {rows} rows, but a column of it has fewer values")));
        }
        if group.columns().iter().any(|c| c.file_path().is_some()) {
            return Err(Error::unsupported("Parquet files with columns in other files cannot be read"));
        }
    }
    Ok(())
}

/// What of the file is decoded.
struct Plan {
    metadata: ArrowReaderMetadata,
    groups: Vec<usize>,
    selection: Option<RowSelection>,
    leaves: BTreeSet<usize>,
}

impl Plan {
    /// Leaves out pages that the filter rules out, if the file has an index to tell.
    fn use_page_index(&mut self, file: &ParquetFile, pruner: &Pruner<'_>) -> Result<()> {
        let Some(indexed) = file.with_page_index()? else { return Ok(()) };
        if index_is_consistent(indexed.metadata(), &self.groups, &self.leaves) {
            self.selection = guard(|| Ok(pruner.select_rows(indexed.metadata(), &self.groups))).unwrap_or(None);
            self.metadata = indexed;
        }
        Ok(())
    }

    /// Whether the decoder may be told to skip rows. Not in columns inside lists and maps: on damaged pages, whose levels
    /// end before the values that they claim, parquet 59 then never returns. Reading such pages gives an error.
    fn can_skip(&self) -> bool {
        let columns = self.metadata.parquet_schema().columns();
        !self.leaves.iter().filter_map(|&leaf| columns.get(leaf)).any(|c| c.max_rep_level() > 0)
    }

    /// Rows that the decoder has to come across.
    fn rows(&self) -> u64 {
        match &self.selection {
            Some(selection) => selection.row_count() as u64,
            None => self.row_groups().map(|g| g.num_rows().max(0) as u64).sum(),
        }
    }

    fn row_groups(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.groups.iter().filter_map(|&i| self.metadata.metadata().row_groups().get(i))
    }

    /// Rows of a batch: as many as asked for, fewer where rows are so large that a batch would not fit memory or the
    /// 31-bit offsets of Arrow's strings.
    fn batch_rows(&self, wanted: usize) -> usize {
        let row_bytes = |group: &RowGroupMetaData| {
            let bytes: u64 = self.leaves.iter().filter_map(|&leaf| group.columns().get(leaf)).map(column_bytes).sum();
            bytes / (group.num_rows().max(1) as u64)
        };
        let largest = self.row_groups().map(row_bytes).max().unwrap_or(0).max(1);
        wanted.min((BATCH_BYTES / largest) as usize).max(1)
    }
}

/// Bytes that a column chunk has in memory, by what the file says.
fn column_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let bytes = chunk.uncompressed_size().max(chunk.unencoded_byte_array_data_bytes().unwrap_or(0)).max(0) as u64;
    let width = match chunk.column_descr().physical_type() {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
        _ => 0,
    };
    bytes.max(width.saturating_mul(chunk.num_values().max(0) as u64))
}

/// The columns that a reader needs of the file, and what for.
struct Columns {
    projection: Projection,
    asked: FilterColumns,
    keys: FilterColumns,
}

/// What the predicate inside the decoder tells the reader outside.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    error: Mutex<Option<Error>>,
    /// Positions of the rows that it kept.
    kept: Mutex<Upcoming>,
}

/// Streams a task's batches.
struct TaskReader {
    file: ParquetFile,
    /// `None` after the end or an error.
    decoder: Option<ParquetPushDecoder>,
    projection: Projection,
    keys: FilterColumns,
    /// Set if filter and positions are tested here and not in the decoder.
    test: Option<RowTest>,
    deletes: Option<Arc<DeleteFilter>>,
    /// Whether anyone wants to know the positions of rows.
    tells_positions: bool,
    seen: Arc<Seen>,
    /// Rows that the row groups say they have.
    expected_rows: u64,
}

/// What is tested before anything else: the filter and deletes by position, on batches of the file as they come.
struct RowTest {
    filter: Arc<BoundPredicate>,
    columns: FilterColumns,
    deletes: Option<Arc<DeleteFilter>>,
    /// Of the rows to come; not kept up to date unless positions matter.
    positions: Option<Upcoming>,
}

impl RowTest {
    /// The rows that stay, and the positions of all rows if positions matter.
    fn keep(&mut self, batch: &RecordBatch) -> Result<(BooleanBuffer, RowPositions)> {
        let rows = batch.num_rows();
        let positions = match &mut self.positions {
            Some(upcoming) => upcoming.take(rows)?,
            None => RowPositions::default(),
        };
        let kept = match &*self.filter {
            BoundPredicate::True => BooleanBuffer::new_set(rows),
            filter => {
                let arrays = self.columns.arrays(batch)?;
                matches(filter, rows, &|id| arrays.get(&id).cloned())?
            }
        };
        Ok(match &self.deletes {
            Some(deletes) if deletes.has_positions() => (&kept & &deletes.keep_positions(&positions), positions),
            _ => (kept, positions),
        })
    }
}

impl TaskReader {
    fn new(
        file: ParquetFile,
        context: &ReadContext,
        filter: Arc<BoundPredicate>,
        columns: Columns,
        plan: Plan,
        deletes: Option<Arc<DeleteFilter>>,
        tells_positions: bool,
    ) -> Result<TaskReader> {
        let Columns { projection, asked, keys } = columns;
        let seen = Arc::new(Seen::default());
        let (expected_rows, batch_rows) = (plan.rows(), plan.batch_rows(context.batch_rows));
        let positions = match tells_positions || deletes.as_ref().is_some_and(|d| d.has_positions()) {
            true => Some(Upcoming::new(plan.metadata.metadata(), &plan.groups, plan.selection.as_ref())?),
            false => None,
        };
        let mask = |leaves: &BTreeSet<usize>| ProjectionMask::leaves(file.parquet_schema(), leaves.iter().copied());
        let late = !asked.leaves().is_empty() && asked.leaves().len() < plan.leaves.len() && plan.can_skip();
        let read = match late {
            true => projection.leaves() | keys.leaves(),
            false => plan.leaves,
        };
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(plan.metadata)
            .with_batch_size(batch_rows)
            .with_row_groups(plan.groups)
            .with_projection(mask(&read));
        if let Some(selection) = plan.selection {
            builder = builder.with_row_selection(selection);
        }
        let leaves = if late { asked.leaves().clone() } else { read.clone() };
        let asked = asked.place(&file.columns, &leaves);
        let test = RowTest { filter, columns: asked, deletes: deletes.clone(), positions };
        let test = if late {
            let filter = decoder_filter(test, mask(&leaves), seen.clone(), tells_positions);
            builder = builder.with_row_filter(filter);
            None
        } else {
            Some(test)
        };
        let (projection, keys) = (projection.place(&file.columns, &read), keys.place(&file.columns, &read));
        let decoder = Some(builder.build().map_err(undecodable)?);
        Ok(TaskReader { file, decoder, projection, keys, test, deletes, tells_positions, seen, expected_rows })
    }

    /// The next rows that are left after filter and deletes.
    fn next_rows(&mut self) -> Result<Option<Rows>> {
        while let Some(batch) = self.next_decoded()? {
            let rows = self.left_of(batch)?;
            if rows.batch.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// The next batch of the decoder.
    fn next_decoded(&mut self) -> Result<Option<RecordBatch>> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        loop {
            let decoded = decoder.try_decode().map_err(|e| {
                let own = self.seen.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                own.unwrap_or_else(|| undecodable(e))
            })?;
            match decoded {
                DecodeResult::NeedsData(ranges) => {
                    let pages = self.file.pages(&ranges)?;
                    let pages = pages.into_iter().map(Into::into).collect();
                    decoder.push_ranges(ranges, pages).map_err(undecodable)?;
                }
                DecodeResult::Data(batch) => return Ok(Some(batch)),
                DecodeResult::Finished => {
                    self.decoder = None;
                    return self.check_rows().map(|()| None);
                }
            }
        }
    }

    /// What filter and deletes leave of a batch of the decoder, in the wanted columns.
    fn left_of(&mut self, batch: RecordBatch) -> Result<Rows> {
        let rows = batch.num_rows();
        let (mut kept, mut positions) = match &mut self.test {
            Some(test) => {
                self.seen.rows.fetch_add(rows as u64, Ordering::Relaxed);
                test.keep(&batch)?
            }
            None if self.tells_positions => {
                let mut kept = self.seen.kept.lock().unwrap_or_else(PoisonError::into_inner);
                (BooleanBuffer::new_set(rows), kept.take(rows)?)
            }
            None => (BooleanBuffer::new_set(rows), RowPositions::default()),
        };
        let mut keys = KeyArrays::new();
        if let Some(deletes) = &self.deletes
            && !self.keys.is_empty()
        {
            kept = deletes.keep_keys(&self.keys.arrays(&batch)?, kept)?;
        }
        let batch = if kept.count_set_bits() == rows {
            batch
        } else {
            positions = positions.filter(&kept);
            filter_record_batch(&batch, &BooleanArray::new(kept, None))
                .map_err(|e| Error::internal("rows cannot be filtered").because(e))?
        };
        if self.deletes.is_none() && !self.keys.is_empty() {
            keys = self.keys.arrays(&batch)?;
        }
        Ok(Rows { batch: self.projection.project(&batch)?, keys, positions })
    }

    /// A decoder ends quietly when pages hold fewer rows than their row group says; rows would be lost.
    fn check_rows(&self) -> Result<()> {
        match self.seen.rows.load(Ordering::Relaxed) {
            seen if seen == self.expected_rows => Ok(()),
            seen => Err(Error::corrupt(format!(
                "the row groups claim {} rows, but their pages hold {seen}",
                self.expected_rows
            ))),
        }
    }
}

/// The test as the decoder runs it. It counts rows, and leaves an error where the reader finds it whole.
fn decoder_filter(mut test: RowTest, mask: ProjectionMask, seen: Arc<Seen>, tells_positions: bool) -> RowFilter {
    let predicate = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
        seen.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        match test.keep(&batch) {
            Ok((kept, positions)) => {
                if tells_positions {
                    let positions = positions.filter(&kept);
                    seen.kept.lock().unwrap_or_else(PoisonError::into_inner).push(&positions);
                }
                Ok(BooleanArray::new(kept, None))
            }
            Err(e) => {
                let message = e.to_string();
                *seen.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                Err(ArrowError::ComputeError(message))
            }
        }
    });
    RowFilter::new(vec![Box::new(predicate)])
}

impl Iterator for TaskReader {
    type Item = Result<Rows>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.file.path().to_owned();
        let next = guard(|| self.next_rows()).map_err(|e| e.with("path", path));
        if next.is_err() {
            self.decoder = None;
        }
        next.transpose()
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "read_property_tests.rs"]
mod property_tests;
