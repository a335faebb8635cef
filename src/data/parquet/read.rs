//! The rows of a Parquet file.
//!
//! Row groups and pages that the filter rules out, by their statistics or bloom filters, are skipped. Where the filter needs only some of the columns, they are
//! decoded first and the others only for rows that are kept.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::BooleanArray;
use arrow::datatypes::Schema as ArrowSchema;
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ArrowReaderMetadata, RowFilter, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use super::bloom_filters::BloomFilters;
use super::column_reader::FlatPlan;
use super::file::{ParquetFile, is_overflow, undecodable};
use super::groups_ahead::GroupsAhead;
use super::int96::AtTheEnds;
use super::row_groups::{Pruner, in_range, index_is_consistent, range_of};
use crate::data::deletes::positions::{RowPositions, Upcoming};
use crate::data::read::guard::guard;
use crate::data::read::task_reader::{BATCH_BYTES, FileSource, Part, Request, RowTest, Started, too_large};
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::store::Store;
use crate::types::FieldId;

/// A Parquet file to read rows from.
pub(crate) struct ParquetSource {
    file: ParquetFile,
    /// The row groups that may matter.
    groups: Vec<usize>,
}

impl ParquetSource {
    /// Opens it.
    ///
    /// # Errors
    /// As [`ParquetFile::open`].
    pub(crate) fn open(store: &Arc<dyn Store>, path: &str) -> Result<ParquetSource> {
        let file = ParquetFile::open(store, path)?;
        let groups = (0..file.footer().num_row_groups()).collect();
        Ok(ParquetSource { file, groups })
    }
}

fn pruner<'a>(part: &Part<'a>) -> Pruner<'a> {
    Pruner::new(part.filter, part.schema, part.columns, part.constants)
}

impl FileSource for ParquetSource {
    fn schema(&self) -> &ArrowSchema {
        self.file.metadata.schema()
    }

    fn read_nanos(&mut self, leaves: &BTreeSet<usize>) -> Result<()> {
        self.file.read_nanos(leaves)
    }

    fn narrow(&mut self, part: &Part<'_>) -> Result<bool> {
        let pruner = pruner(part);
        let footer = self.file.footer();
        part.recorded
            .check_whole(footer.row_groups().iter().map(|g| g.num_rows().max(0) as u64).fold(0, u64::saturating_add))?;
        self.groups = guard(|| {
            let mut groups = in_range(footer, part.range.clone());
            // Statistics that cannot be decoded rule nothing out.
            groups.retain(|&group| guard(|| Ok(pruner.may_match(footer, group))).unwrap_or(true));
            check_row_groups(footer, &groups)?;
            Ok(groups)
        })?;
        let blooms = BloomFilters::new(part);
        let mut kept = Vec::with_capacity(self.groups.len());
        for &group in &self.groups {
            if blooms.may_match(&self.file, group)? {
                kept.push(group);
            }
        }
        self.groups = kept;
        Ok(!self.groups.is_empty())
    }

    fn range_of(&self, part: &Part<'_>, column: FieldId) -> BoundPredicate {
        guard(|| Ok(range_of(self.file.footer(), &self.groups, part, column))).unwrap_or(BoundPredicate::True)
    }

    fn start(self: Box<Self>, part: &Part<'_>, request: Request) -> Result<Option<Started>> {
        let ParquetSource { mut file, groups } = *self;
        let leaves = request.all_leaves();
        let mut plan = Plan { metadata: file.metadata.clone(), groups, selection: None, leaves };
        if **part.filter != BoundPredicate::True && !request.test.leaves().is_empty() && plan.can_skip() {
            plan.use_page_index(&file, part)?;
        }
        if plan.selection.as_ref().is_some_and(|s| !s.selects_any()) {
            return Ok(None);
        }
        if plan.leaves.is_empty() {
            part.recorded.check_unread(plan.rows())?;
        }
        let wide = file.wide_leaves(&plan.leaves);
        if !wide.is_empty() {
            file = check_wide(file, &plan, wide, request.batch_rows)?;
        }
        match FlatPlan::of(&plan, &plan.leaves) {
            Some(flat) => flat.start(file, plan, part, request).map(Some),
            None => decode(file, plan, part, request).map(Some),
        }
    }
}

/// Refuses 96-bit timestamps that nanoseconds can't hold: the decoder wraps them around.
fn check_wide(file: ParquetFile, plan: &Plan, leaves: BTreeSet<usize>, batch_rows: usize) -> Result<ParquetFile> {
    let note = |file: ParquetFile, metadata: ArrowReaderMetadata| -> Result<(AtTheEnds, ParquetFile)> {
        let leaves = leaves.clone();
        let wide = Plan { metadata, groups: plan.groups.clone(), selection: plan.selection.clone(), leaves };
        let batch_rows = wide.batch_rows(batch_rows);
        let (mut ends, mut batches) = (AtTheEnds::default(), ParquetBatches::after(file, wide, batch_rows, 0)?);
        for batch in &mut batches {
            ends.note(&batch?.0)?;
        }
        Ok((ends, batches.decoding.file))
    };
    let metadata = file.in_millis()?;
    let (millis, file) = note(file, metadata)?;
    if millis.is_empty() {
        return Ok(file);
    }
    let (nanos, file) = note(file, plan.metadata.clone())?;
    millis.check_nanos(&nanos).map(|()| file)
}

fn decode(file: ParquetFile, plan: Plan, part: &Part<'_>, request: Request) -> Result<Started> {
    let batch_rows = plan.batch_rows(request.batch_rows);
    let needs_positions = request.needs_positions();
    let mask = |leaves: &BTreeSet<usize>| ProjectionMask::leaves(file.parquet_schema(), leaves.iter().copied());
    let Request { leaves: wanted, test, tells_positions, .. } = request;
    let late = !test.leaves().is_empty() && test.leaves().len() < plan.leaves.len() && plan.can_skip();
    let leaves = if late { wanted } else { plan.leaves.clone() };
    let (test, early, first) = if late {
        let asked = test.leaves().clone();
        (None, Some((Arc::new(test.place(part.columns, &asked)), mask(&asked))), asked)
    } else {
        (Some(test), None, leaves.clone())
    };
    let columns = mask(&leaves);
    let decoding = Decoding { file, plan, columns, test: early, first, needs_positions, tells_positions };
    Ok(Started { batches: Box::new(ParquetBatches::new(decoding, batch_rows)?), leaves, test, keys_tested: false })
}

/// What is decoded, and how: enough to start anew.
pub(crate) struct Decoding {
    file: ParquetFile,
    plan: Plan,
    columns: ProjectionMask,
    /// What the decoder tests, and the columns that takes.
    test: Option<(Arc<RowTest>, ProjectionMask)>,
    /// The leaf columns that it begins each row group with.
    first: BTreeSet<usize>,
    needs_positions: bool,
    tells_positions: bool,
}

impl Decoding {
    /// What can be told of what the decoder will ask for: whole row groups, if none of their pages are left out.
    fn ahead(&self) -> GroupsAhead {
        match &self.plan.selection {
            None => GroupsAhead::new(self.plan.metadata.metadata(), &self.plan.groups, &self.first),
            Some(_) => GroupsAhead::none(),
        }
    }

    /// A decoder at the first row.
    fn start(&self, batch_rows: usize) -> Result<(ParquetPushDecoder, Positions, Arc<Seen>)> {
        let plan = &self.plan;
        let positions = match self.needs_positions {
            true => Some(Upcoming::new(plan.metadata.metadata(), &plan.groups, plan.selection.as_ref())?),
            false => None,
        };
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(plan.metadata.clone())
            .with_batch_size(batch_rows)
            .with_row_groups(plan.groups.clone())
            .with_projection(self.columns.clone());
        if let Some(selection) = &plan.selection {
            builder = builder.with_row_selection(selection.clone());
        }
        let seen = Arc::new(Seen::default());
        let positions = match &self.test {
            Some((test, columns)) => {
                let tells_positions = self.tells_positions;
                let test = DecoderTest { test: test.clone(), positions, tells_positions };
                builder = builder.with_row_filter(test.row_filter(columns.clone(), seen.clone()));
                if tells_positions { Positions::Kept } else { Positions::Unknown }
            }
            None => Positions::All(positions),
        };
        Ok((builder.build().map_err(undecodable)?, positions, seen))
    }
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
pub(crate) struct Plan {
    pub(crate) metadata: ArrowReaderMetadata,
    pub(crate) groups: Vec<usize>,
    pub(crate) selection: Option<RowSelection>,
    pub(crate) leaves: BTreeSet<usize>,
}

impl Plan {
    /// Leaves out pages that the filter rules out, if the file has an index to tell.
    fn use_page_index(&mut self, file: &ParquetFile, part: &Part<'_>) -> Result<()> {
        let Some(indexed) = file.with_page_index()? else { return Ok(()) };
        if index_is_consistent(indexed.metadata(), &self.groups, &self.leaves) {
            let pruner = pruner(part);
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

    pub(crate) fn row_groups(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.groups.iter().filter_map(|&i| self.metadata.metadata().row_groups().get(i))
    }

    /// Rows of a batch: as many as asked for, fewer where rows are so large that a batch would not fit memory or the
    /// 31-bit offsets of Arrow's strings.
    pub(crate) fn batch_rows(&self, wanted: usize) -> usize {
        let row_bytes = |group: &RowGroupMetaData| {
            let bytes: u64 = self.leaves.iter().filter_map(|&leaf| group.columns().get(leaf)).map(column_bytes).sum();
            bytes / (group.num_rows().max(1) as u64)
        };
        let largest = self.row_groups().map(row_bytes).max().unwrap_or(0).max(1);
        wanted.min((BATCH_BYTES / largest) as usize).max(1)
    }
}

/// Bytes that a column chunk has in memory, by what the file says. Nulls and values of a dictionary take hardly any in the
/// file.
fn column_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let bytes = chunk.uncompressed_size().max(chunk.unencoded_byte_array_data_bytes().unwrap_or(0)).max(0) as u64;
    let width = match chunk.column_descr().physical_type() {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => chunk.column_descr().type_length().max(0) as u64,
        PhysicalType::BOOLEAN => 0,
        PhysicalType::INT32 | PhysicalType::FLOAT | PhysicalType::BYTE_ARRAY => 4,
        PhysicalType::INT64 | PhysicalType::INT96 | PhysicalType::DOUBLE => 8,
    };
    bytes.max(width.saturating_mul(chunk.num_values().max(0) as u64))
}

/// What the predicate inside the decoder tells the reader outside.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    error: Mutex<Option<Error>>,
    /// Positions of the rows that it kept.
    kept: Mutex<Upcoming>,
}

/// What is known of the rows that leave the decoder.
enum Positions {
    /// All rows do; these are the positions of those to come, if they matter.
    All(Option<Upcoming>),
    /// Only rows that the predicate kept; it tells where they are.
    Kept,
    /// Only rows that the predicate kept; it does not matter where they are.
    Unknown,
}

/// Batches that are larger than Arrow can hold are decoded again with so many times fewer rows.
pub(crate) const SHRINK: usize = 8;

/// Streams a file's batches.
pub(crate) struct ParquetBatches {
    decoding: Decoding,
    /// Most rows of a batch.
    batch_rows: usize,
    /// `None` after the end.
    decoder: Option<ParquetPushDecoder>,
    ahead: GroupsAhead,
    positions: Positions,
    seen: Arc<Seen>,
    /// Rows that the row groups say they have.
    expected_rows: u64,
    /// Rows given so far.
    given: u64,
    /// Rows to come that were given before the decoder started anew.
    skip: u64,
}

impl ParquetBatches {
    /// All rows of a plan from the one after `skip` others on.
    pub(crate) fn after(file: ParquetFile, plan: Plan, batch_rows: usize, skip: u64) -> Result<ParquetBatches> {
        let columns = ProjectionMask::leaves(file.parquet_schema(), plan.leaves.iter().copied());
        let first = plan.leaves.clone();
        let decoding =
            Decoding { file, plan, columns, test: None, first, needs_positions: true, tells_positions: true };
        Ok(ParquetBatches { given: skip, skip, ..ParquetBatches::new(decoding, batch_rows)? })
    }

    fn new(decoding: Decoding, batch_rows: usize) -> Result<ParquetBatches> {
        let (decoder, positions, seen) = decoding.start(batch_rows)?;
        let (decoder, expected_rows, ahead) = (Some(decoder), decoding.plan.rows(), decoding.ahead());
        Ok(ParquetBatches { decoding, batch_rows, decoder, ahead, positions, seen, expected_rows, given: 0, skip: 0 })
    }

    /// The next batch of the decoder. Dictionaries and shared prefixes make long strings short, and not all writers say how
    /// long they are: where that shows, it starts anew with smaller batches.
    fn next_decoded(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            let decoded = guard(|| {
                decoder.try_decode().map_err(|e| {
                    let own = self.seen.error.lock().unwrap_or_else(PoisonError::into_inner).take();
                    own.unwrap_or_else(|| undecodable(e))
                })
            });
            match decoded {
                Ok(DecodeResult::NeedsData(ranges)) => {
                    let pages = self.ahead.pages(&self.decoding.file, &ranges)?;
                    let most_rows = BATCH_BYTES / self.decoding.file.dictionary_row_bytes(&ranges, &pages).max(1);
                    if self.batch_rows as u64 / 2 > most_rows {
                        self.restart(most_rows as usize)?;
                    }
                    let pages = pages.into_iter().map(Into::into).collect();
                    if let Some(decoder) = &mut self.decoder {
                        decoder.push_ranges(ranges, pages).map_err(undecodable)?;
                    }
                }
                Ok(DecodeResult::Data(batch)) => return Ok(Some(batch)),
                Ok(DecodeResult::Finished) => {
                    self.decoder = None;
                    return self.check_rows().map(|()| None);
                }
                Err(e) if self.batch_rows > 1 && is_overflow(&e) => self.restart(self.batch_rows / SHRINK)?,
                Err(e) => return Err(if is_overflow(&e) { too_large().because(e) } else { e }),
            }
        }
    }

    /// Starts to decode anew, with smaller batches.
    fn restart(&mut self, batch_rows: usize) -> Result<()> {
        self.batch_rows = batch_rows.max(1);
        let (decoder, positions, seen) = self.decoding.start(self.batch_rows)?;
        (self.decoder, self.positions, self.seen, self.skip) = (Some(decoder), positions, seen, self.given);
        Ok(())
    }

    /// The next rows that were not given yet.
    fn next_batch(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        while let Some(mut batch) = self.next_decoded()? {
            let rows = batch.num_rows();
            let mut positions = self.positions(rows)?;
            let known = usize::try_from(self.skip).unwrap_or(usize::MAX).min(rows);
            if known > 0 {
                self.skip -= known as u64;
                if known == rows {
                    continue;
                }
                batch = batch.slice(known, rows - known);
                positions = positions.filter(&(0..rows).map(|row| row >= known).collect());
            }
            self.given += batch.num_rows() as u64;
            return Ok(Some((batch, positions)));
        }
        Ok(None)
    }

    /// The positions of the next rows that left the decoder.
    fn positions(&mut self, rows: usize) -> Result<RowPositions> {
        match &mut self.positions {
            Positions::All(upcoming) => {
                self.seen.rows.fetch_add(rows as u64, Ordering::Relaxed);
                upcoming.as_mut().map_or_else(|| Ok(RowPositions::default()), |upcoming| upcoming.take(rows))
            }
            Positions::Kept => self.seen.kept.lock().unwrap_or_else(PoisonError::into_inner).take(rows),
            Positions::Unknown => Ok(RowPositions::default()),
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

impl Iterator for ParquetBatches {
    type Item = Result<(RecordBatch, RowPositions)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// The test as the decoder runs it.
struct DecoderTest {
    test: Arc<RowTest>,
    /// Of the rows to come, if positions matter.
    positions: Option<Upcoming>,
    tells_positions: bool,
}

impl DecoderTest {
    /// It counts rows, and leaves an error where the reader finds it whole.
    fn row_filter(mut self, mask: ProjectionMask, seen: Arc<Seen>) -> RowFilter {
        let predicate = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
            seen.rows.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
            self.keep(&batch, &seen).map_err(|e| {
                let message = e.to_string();
                *seen.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
                ArrowError::ComputeError(message)
            })
        });
        RowFilter::new(vec![Box::new(predicate)])
    }

    fn keep(&mut self, batch: &RecordBatch, seen: &Seen) -> Result<BooleanArray> {
        let positions = match &mut self.positions {
            Some(upcoming) => upcoming.take(batch.num_rows())?,
            None => RowPositions::default(),
        };
        let kept = self.test.keep(batch, &positions)?;
        if self.tells_positions {
            let positions = positions.filter(&kept);
            seen.kept.lock().unwrap_or_else(PoisonError::into_inner).push(&positions);
        }
        Ok(BooleanArray::new(kept, None))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, Int64Array};

    use super::*;
    use crate::data::testing::{field, schema, write};
    use crate::types::PrimitiveType as P;

    #[test]
    fn large_rows_make_small_batches() {
        let dir = tempfile::tempdir().unwrap();
        let s = schema(vec![field(1, "a", P::Int), field(2, "l", P::Long)]);
        let path =
            write(&dir, &s, vec![Arc::new(Int32Array::from(vec![1; 50])), Arc::new(Int64Array::from(vec![2; 50]))]);
        let store: Arc<dyn Store> = Arc::new(crate::store::local::LocalStore);
        let file = ParquetFile::open(&store, &path).unwrap();
        let plan = Plan { metadata: file.metadata.clone(), groups: vec![0], selection: None, leaves: [0, 1].into() };
        assert_eq!(plan.batch_rows(1000), 1000);
        assert_eq!(plan.batch_rows(0), 1);
        assert_eq!(plan.rows(), 50);
        // What takes no bytes in the file takes some in memory.
        let path = write(&dir, &s, vec![Arc::new(Int32Array::new_null(50)), Arc::new(Int64Array::new_null(50))]);
        let metadata = ParquetFile::open(&store, &path).unwrap().metadata;
        let plan = Plan { metadata, groups: vec![0], selection: None, leaves: [0, 1].into() };
        assert_eq!(plan.batch_rows(usize::MAX) as u64, BATCH_BYTES / (4 + 8));
    }
}

#[cfg(test)]
#[path = "parquet_large_tests.rs"]
mod large_tests;
