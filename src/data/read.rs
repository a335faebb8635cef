//! Reads the rows of a task.
//!
//! [`read_task`] opens the data file, drops the row groups and pages that the residual filter rules out, decodes the
//! columns that the filter and the projection need, keeps the rows on which the filter is true, and gives them the schema
//! of the projection. Where the filter needs only some of the columns, they are decoded first and the others only for rows
//! that are kept.

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

use super::filter::matches;
use super::parquet_file::{ParquetFile, guard, undecodable};
use super::project::{FilterColumns, Projection, constants};
use super::row_groups::{Pruner, in_range, index_is_consistent};
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::store::Store;
use crate::task::{FileFormat, ReadContext, ScanTask};
use crate::types::schema::LAST_USER_FIELD_ID;

/// A stream of a task's rows.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Bytes that a batch is kept to where rows are large.
const BATCH_BYTES: u64 = 256 << 20;

/// The rows of a task that satisfy its residual, as batches of the context's projection. No batch is empty; after an error
/// the stream ends.
///
/// # Errors
/// `Unsupported` for what is not read yet: delete files, formats other than Parquet, encrypted files, files without field
/// ids, columns with default values, metadata columns. `CorruptTable` if the file's bytes contradict themselves or the
/// table's schema. All of them, and the store's errors, name the file; errors met on the way come from the stream.
pub fn read_task(store: &Arc<dyn Store>, context: &Arc<ReadContext>, task: &ScanTask) -> Result<Batches> {
    let recorded = &task.data_file.path;
    check_supported(context, task).with("path", recorded)?;
    if *task.residual == BoundPredicate::False {
        return Ok(Box::new(std::iter::empty()));
    }
    let path = context.location.resolve(recorded)?;
    let reader = open(store, context, task, &path).map_err(|e| e.with("path", &path))?;
    Ok(match reader {
        Some(reader) => Box::new(reader),
        None => Box::new(std::iter::empty()),
    })
}

fn check_supported(context: &ReadContext, task: &ScanTask) -> Result<()> {
    if let Some(delete) = task.deletes.first() {
        return Err(Error::unsupported("the data file has delete files, which are not applied yet")
            .with("path", &task.data_file.path)
            .with("delete_file", &delete.file.path));
    }
    if task.data_file.format != FileFormat::Parquet {
        let format = task.data_file.format.as_str();
        return Err(Error::unsupported(format!("data files of format {format} cannot be read yet")));
    }
    if task.data_file.key_metadata.is_some() {
        return Err(Error::unsupported("encrypted data files cannot be read yet"));
    }
    if let Some(field) = context.projection.fields.iter().find(|f| f.id > LAST_USER_FIELD_ID) {
        return Err(Error::unsupported("metadata columns cannot be read yet").with("column", &field.name));
    }
    Ok(())
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

/// Everything decided before the first row is decoded; `None` if no row group is left.
fn open(store: &Arc<dyn Store>, context: &ReadContext, task: &ScanTask, path: &str) -> Result<Option<TaskReader>> {
    let file = ParquetFile::open(store, path)?;
    if !file.columns.has_ids() && file.parquet_schema().num_columns() > 0 {
        return Err(match context.name_mapping {
            Some(_) => Error::unsupported("the file has no field ids and the table's name mapping is not applied yet"),
            None => Error::unsupported("the file has no field ids and the table has no name mapping"),
        });
    }
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
    let leaves: BTreeSet<usize> = projection.leaves().union(asked.leaves()).copied().collect();
    let mut plan = Plan { metadata: file.metadata.clone(), groups, selection: None, leaves };
    if **filter != BoundPredicate::True && !asked.leaves().is_empty() && plan.can_skip() {
        plan.use_page_index(&file, &pruner)?;
    }
    if plan.selection.as_ref().is_some_and(|s| !s.selects_any()) {
        return Ok(None);
    }
    guard(|| TaskReader::new(file, context, filter.clone(), projection, asked, plan)).map(Some)
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

/// What the predicate inside the decoder tells the reader outside.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    error: Mutex<Option<Error>>,
}

/// Streams a task's batches.
struct TaskReader {
    file: ParquetFile,
    /// `None` after the end or an error.
    decoder: Option<ParquetPushDecoder>,
    projection: Projection,
    /// Set if the filter is applied here and not in the decoder.
    filter: Option<RowTest>,
    /// Whether the decoder applies the filter, and counts the rows before it.
    late: bool,
    seen: Arc<Seen>,
    /// Rows that the row groups say they have.
    expected_rows: u64,
}

/// The filter, on batches of the file.
struct RowTest {
    filter: Arc<BoundPredicate>,
    columns: FilterColumns,
}

impl RowTest {
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        let arrays = self.columns.arrays(batch)?;
        matches(&self.filter, batch.num_rows(), &|id| arrays.get(&id).cloned())
    }
}

impl TaskReader {
    fn new(
        file: ParquetFile,
        context: &ReadContext,
        filter: Arc<BoundPredicate>,
        projection: Projection,
        asked: FilterColumns,
        plan: Plan,
    ) -> Result<TaskReader> {
        let seen = Arc::new(Seen::default());
        let (expected_rows, batch_rows) = (plan.rows(), plan.batch_rows(context.batch_rows));
        let mask = |leaves: &BTreeSet<usize>| ProjectionMask::leaves(file.parquet_schema(), leaves.iter().copied());
        let late = !asked.leaves().is_empty() && asked.leaves().len() < plan.leaves.len() && plan.can_skip();
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(plan.metadata)
            .with_batch_size(batch_rows)
            .with_row_groups(plan.groups)
            .with_projection(mask(if late { projection.leaves() } else { &plan.leaves }));
        if let Some(selection) = plan.selection {
            builder = builder.with_row_selection(selection);
        }
        let mut here = None;
        let read = if late {
            let leaves = asked.leaves().clone();
            let test = RowTest { filter, columns: asked.place(&file.columns, &leaves) };
            builder = builder.with_row_filter(decoder_filter(test, mask(&leaves), seen.clone()));
            projection.leaves().clone()
        } else {
            if *filter != BoundPredicate::True {
                here = Some(RowTest { filter, columns: asked.place(&file.columns, &plan.leaves) });
            }
            plan.leaves
        };
        let projection = projection.place(&file.columns, &read);
        let decoder = Some(builder.build().map_err(undecodable)?);
        Ok(TaskReader { file, decoder, projection, filter: here, late, seen, expected_rows })
    }

    /// The next batch of the file that has rows left after the filter, in the wanted columns.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        loop {
            let decoded = decoder.try_decode().map_err(|e| {
                let own = self.seen.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                own.unwrap_or_else(|| undecodable(e))
            })?;
            let batch = match decoded {
                DecodeResult::NeedsData(ranges) => {
                    let pages = self.file.pages(&ranges)?;
                    let pages = pages.into_iter().map(Into::into).collect();
                    decoder.push_ranges(ranges, pages).map_err(undecodable)?;
                    continue;
                }
                DecodeResult::Data(batch) => batch,
                DecodeResult::Finished => {
                    self.decoder = None;
                    return self.check_rows().map(|()| None);
                }
            };
            if !self.late {
                self.seen.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            }
            let batch = match &self.filter {
                None => batch,
                Some(test) => filter_record_batch(&batch, &BooleanArray::new(test.matches(&batch)?, None))
                    .map_err(|e| Error::internal("rows cannot be filtered").because(e))?,
            };
            if batch.num_rows() > 0 {
                return self.projection.project(&batch).map(Some);
            }
        }
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

/// The filter as the decoder runs it. It counts rows, and leaves an error where the reader finds it whole.
fn decoder_filter(test: RowTest, mask: ProjectionMask, seen: Arc<Seen>) -> RowFilter {
    let predicate = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
        seen.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        test.matches(&batch).map(|kept| BooleanArray::new(kept, None)).map_err(|e| {
            let message = e.to_string();
            *seen.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
            ArrowError::ComputeError(message)
        })
    });
    RowFilter::new(vec![Box::new(predicate)])
}

impl Iterator for TaskReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let path = self.file.path().to_owned();
        let next = guard(|| self.next_batch()).map_err(|e| e.with("path", path));
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
