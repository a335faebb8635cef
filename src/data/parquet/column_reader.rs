//! Decodes flat columns of a Parquet file.
//!
//! The columns of the filter and of deletes by key are decoded first in each batch. They decide which rows stay. Only
//! these rows of the other columns are copied out of their pages. So rows that are left out cost hardly anything. The
//! decoder of the parquet crate would copy all rows twice.
//!
//! Encodings that [`column_chunk`](super::column_chunk) does not read are left to that decoder. It reads the whole file
//! if the footer names such an encoding ([`FlatPlan::of`]), otherwise the rest of the file.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;
use arrow::datatypes::{Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::Encoding;
use parquet::file::metadata::ColumnChunkMetaData;

use super::column_chunk::{FlatColumn, KeptRows};
use super::file::ParquetFile;
use super::groups_ahead::GroupsAhead;
use super::page_selection::{Fetch, Selected, selected_rows};
use super::plan::DecodePlan;
use super::read::{ParquetBatches, SHRINK};
use super::values::{FlatKind, PageResult, Stop};
use crate::codec::parquet::compression::PageCodec;
use crate::data::deletes::positions::{RowPositions, row_group_positions};
use crate::data::read::filter_columns::FilterColumns;
use crate::data::read::source::{BATCH_BYTES, DecodeRequest, FilePart, RowTest, Started, too_large};
use crate::error::{Error, Result};

/// The most bytes of other columns that are fetched together with the deciding columns, where the page index left out
/// rows. A store that is 20 ms away sends them in the time of one more request.
const WITH_INDEX_BYTES: u64 = 2 << 20;

/// The same where no page index left out rows. Perhaps no row stays.
const WITHOUT_INDEX_BYTES: u64 = 256 << 10;

/// Rows that a column skips at once to catch up.
const MISSED_ROWS: usize = 65_536;

/// A plan to read flat columns.
pub(crate) struct FlatPlan {
    /// Every column that is read.
    columns: Vec<Flat>,
}

/// A column.
#[derive(Clone)]
struct Flat {
    leaf: usize,
    /// The place among the columns of the file's schema.
    root: usize,
    kind: Arc<FlatKind>,
    optional: bool,
}

impl FlatPlan {
    /// Plans to read these leaf columns; `None` if not all of them can be read here.
    pub(crate) fn of(plan: &DecodePlan, leaves: &BTreeSet<usize>) -> Option<FlatPlan> {
        if leaves.is_empty() {
            return None;
        }
        let columns = leaves.iter().map(|&leaf| flat(&plan.metadata, leaf)).collect::<Option<Vec<_>>>()?;
        let chunks = plan.row_groups().flat_map(|group| columns.iter().map(|c| group.columns().get(c.leaf)));
        chunks.into_iter().all(|chunk| chunk.is_some_and(is_readable)).then_some(FlatPlan { columns })
    }

    /// Starts to decode.
    pub(crate) fn start(
        self,
        file: ParquetFile,
        plan: DecodePlan,
        part: &FilePart<'_>,
        request: DecodeRequest,
    ) -> Result<Started> {
        let leaves = request.leaves.clone();
        let batches = Box::new(self.batches(file, plan, part, request)?);
        Ok(Started { batches, leaves, test: None, keys_tested: true })
    }

    fn batches(
        self,
        file: ParquetFile,
        plan: DecodePlan,
        part: &FilePart<'_>,
        request: DecodeRequest,
    ) -> Result<FlatBatches> {
        let batch_rows = plan.batch_rows(request.batch_rows);
        let positions = match request.needs_positions() {
            true => Some(row_group_positions(plan.metadata.metadata())?),
            false => None,
        };
        let DecodeRequest { leaves, test, keys, tells_positions, .. } = request;
        let asked = test.leaves() | keys.leaves();
        let (early, late): (Vec<_>, Vec<_>) = self.columns.iter().cloned().partition(|c| asked.contains(&c.leaf));
        let (mut early, mut late) = (Side::new(&plan.metadata, early), Side::new(&plan.metadata, late));
        if plan.selection.is_none() {
            // Only the columns that are read first in every row group are sure to be needed.
            let first = if early.flats.is_empty() { &mut late } else { &mut early };
            let first_leaves = first.flats.iter().map(|flat| flat.leaf).collect();
            first.ahead = GroupsAhead::new(plan.metadata.metadata(), &plan.groups, &first_leaves);
        }
        let place = |leaf: &usize| {
            let at = |side: &Side| side.flats.iter().position(|flat| flat.leaf == *leaf);
            at(&early).map(ColumnSlot::Early).or_else(|| at(&late).map(ColumnSlot::Late))
        };
        let slots = leaves.iter().filter_map(place).collect();
        let wanted: Vec<Flat> = self.columns.into_iter().filter(|c| leaves.contains(&c.leaf)).collect();
        let rows = WantedRows {
            schema: schema(&plan.metadata, &wanted),
            test: test.place(part.columns, &asked),
            keys: keys.place(part.columns, &asked),
            slots,
            tells_positions,
        };
        let groups = plan.groups.iter().copied().zip(selected_rows(&plan)).collect::<Vec<_>>().into_iter();
        let reading = FlatReading { file, plan, groups, early, late, positions, group: None, selected: Vec::new() };
        Ok(FlatBatches { rows, batch_rows, state: FlatState::Flat(Box::new(reading)) })
    }
}

/// The properties of a leaf column that can be read here. It is a column of the top level with one value for each row.
fn flat(metadata: &ArrowReaderMetadata, leaf: usize) -> Option<Flat> {
    let columns = metadata.parquet_schema();
    let column = columns.columns().get(leaf)?;
    if column.max_rep_level() > 0 || column.max_def_level() > 1 || column.path().parts().len() != 1 {
        return None;
    }
    let root = columns.get_column_root_idx(leaf);
    let kind = FlatKind::of(column, metadata.schema().fields().get(root)?.data_type())?;
    Some(Flat { leaf, root, kind: Arc::new(kind), optional: column.max_def_level() == 1 })
}

/// Whether its pages can be read here, according to the footer.
fn is_readable(chunk: &ColumnChunkMetaData) -> bool {
    use Encoding as E;
    #[expect(deprecated)]
    const BIT_PACKED: Encoding = Encoding::BIT_PACKED;
    // Java names BIT_PACKED for levels that do not exist.
    let known = |e| matches!(e, E::PLAIN | E::PLAIN_DICTIONARY | E::RLE | E::RLE_DICTIONARY | BIT_PACKED);
    chunk.encodings().all(known) && PageCodec::of(chunk.compression()).is_some()
}

fn schema(metadata: &ArrowReaderMetadata, columns: &[Flat]) -> SchemaRef {
    let fields = columns.iter().filter_map(|c| metadata.schema().fields().get(c.root).cloned());
    Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()))
}

/// Columns that are decoded together.
struct Side {
    flats: Vec<Flat>,
    schema: SchemaRef,
    columns: Vec<FlatColumn>,
    ahead: GroupsAhead,
    /// The number of rows in the open row group that it still has to skip.
    behind: usize,
    is_open: bool,
}

impl Side {
    fn new(metadata: &ArrowReaderMetadata, flats: Vec<Flat>) -> Side {
        let (schema, ahead) = (schema(metadata, &flats), GroupsAhead::none());
        Side { schema, flats, columns: Vec::new(), ahead, behind: 0, is_open: false }
    }

    /// What to fetch for the selected rows of a row group.
    fn fetches(&self, plan: &DecodePlan, group: usize, selected: &[Range<usize>]) -> Option<Vec<Fetch>> {
        let metadata = plan.metadata.metadata();
        self.flats.iter().map(|flat| Fetch::of(metadata, group, flat.leaf, selected)).collect()
    }

    /// Starts to fetch the pages of the selected rows of a row group, if they are few bytes.
    fn begin(&mut self, file: &ParquetFile, plan: &DecodePlan, group: usize, selected: &[Range<usize>]) {
        let Some(fetches) = self.fetches(plan, group, selected) else { return };
        let ranges: Vec<_> = fetches.into_iter().flat_map(|fetch| fetch.bytes).collect();
        let bytes = ranges.iter().map(|r| r.end.saturating_sub(r.start)).fold(0, u64::saturating_add);
        let most = if plan.selection.is_some() { WITH_INDEX_BYTES } else { WITHOUT_INDEX_BYTES };
        self.ahead = if bytes <= most { GroupsAhead::begin(file, ranges) } else { GroupsAhead::none() };
    }

    /// Fetches the pages of the selected rows of a row group. Returns the bytes that strings of a row have in memory,
    /// as [`ParquetFile::dictionary_row_bytes`] does.
    fn open(&mut self, file: &ParquetFile, plan: &DecodePlan, group: usize, selected: &[Range<usize>]) -> Result<u64> {
        let metadata = plan.metadata.metadata();
        let fetches = self.fetches(plan, group, selected);
        let fetches = fetches.ok_or_else(|| Error::corrupt("a column chunk is outside the file"))?;
        let ranges: Vec<_> = fetches.iter().flat_map(|fetch| fetch.bytes.clone()).collect();
        let fetched = self.ahead.pages(file, &ranges)?;
        let row_bytes = file.dictionary_row_bytes(&ranges, &fetched);
        self.is_open = true;
        let (mut kept, mut fetched) = (std::mem::take(&mut self.columns).into_iter(), fetched.into_iter());
        let row_group = metadata.row_groups().get(group).map(|group| group.columns()).unwrap_or_default();
        for (flat, fetch) in self.flats.iter().zip(fetches) {
            let pages = fetch.take(&mut fetched);
            let column = row_group.get(flat.leaf).and_then(|chunk| match kept.next() {
                Some(mut column) => column.continue_with(chunk.compression(), pages).map(|()| column),
                None => FlatColumn::new(flat.kind.clone(), flat.optional, chunk.compression(), pages),
            });
            self.columns.push(column.ok_or_else(|| Error::internal("a known codec became unknown"))?);
        }
        Ok(row_bytes)
    }

    /// The next rows.
    fn read(&mut self, kept: &KeptRows) -> PageResult<Vec<ArrayRef>> {
        while self.behind > 0 {
            // Rows are not skipped all at once: passing over pages costs memory for each row.
            let missed = KeptRows::none(self.behind.min(MISSED_ROWS));
            self.behind -= missed.rows();
            self.columns.iter_mut().try_for_each(|column| column.read(&missed).map(|_| ()))?;
        }
        self.columns.iter_mut().map(|column| column.read(kept)).collect()
    }

    /// Goes back to the first row of the open row group. The first `given` rows were given already.
    fn restart(&mut self, given: usize) {
        self.columns.iter_mut().for_each(FlatColumn::restart);
        self.behind = given;
    }

    /// Checks that the columns are at their end, if that is known.
    fn close(&mut self) -> PageResult<()> {
        if self.is_open && self.behind == 0 {
            self.columns.iter_mut().try_for_each(FlatColumn::check_end)?;
        }
        self.columns.iter_mut().for_each(FlatColumn::release);
        (self.is_open, self.behind) = (false, 0);
        Ok(())
    }
}

/// The source of a wanted column.
#[derive(Clone, Copy)]
enum ColumnSlot {
    /// From the columns that decide which rows stay.
    Early(usize),
    Late(usize),
}

/// The requested rows and columns.
struct WantedRows {
    schema: SchemaRef,
    test: RowTest,
    /// The columns of deletes by key.
    keys: FilterColumns,
    slots: Vec<ColumnSlot>,
    tells_positions: bool,
}

impl WantedRows {
    /// The rows that stay, by the columns that decide.
    fn kept(&self, early: &RecordBatch, positions: &RowPositions) -> Result<BooleanBuffer> {
        self.test.keep_keys(&self.keys, early, self.test.keep(early, positions)?)
    }

    /// The wanted columns of those rows.
    fn batch(&self, early: &[ArrayRef], late: &[ArrayRef], kept: &BooleanBuffer, count: usize) -> Result<RecordBatch> {
        let kept = (count < kept.len()).then(|| BooleanArray::new(kept.clone(), None));
        let absent = || Error::internal("a column was decoded but is not there");
        let column = |slot: &ColumnSlot| match (slot, &kept) {
            (ColumnSlot::Early(at), None) => early.get(*at).cloned().ok_or_else(absent),
            (ColumnSlot::Early(at), Some(kept)) => filter(early.get(*at).ok_or_else(absent)?, kept)
                .map_err(|e| Error::internal("rows cannot be filtered").because(e)),
            (ColumnSlot::Late(at), _) => late.get(*at).cloned().ok_or_else(absent),
        };
        let columns = self.slots.iter().map(column).collect::<Result<Vec<_>>>()?;
        batch(self.schema.clone(), columns, count)
    }
}

fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|e| Error::corrupt("the Parquet data contradicts its schema").because(e))
}

/// Streams a file's batches.
struct FlatBatches {
    rows: WantedRows,
    /// Most rows of a batch.
    batch_rows: usize,
    state: FlatState,
}

enum FlatState {
    Flat(Box<FlatReading>),
    /// The rest is left to the parquet crate. The places are those of the deciding columns and of the others in its
    /// batches.
    Crate(Box<ParquetBatches>, Vec<usize>, Vec<usize>),
    Ended,
}

/// The state of decoding.
struct FlatReading {
    file: ParquetFile,
    plan: DecodePlan,
    /// The next row groups, with their rows that are decoded.
    groups: std::vec::IntoIter<(usize, Selected)>,
    early: Side,
    late: Side,
    /// The positions of each of the file's row groups, if they matter.
    positions: Option<Vec<Range<u64>>>,
    group: Option<OpenGroup>,
    /// The rows of the open row group that are decoded.
    selected: Selected,
}

/// The open row group.
#[derive(Clone, Copy)]
struct OpenGroup {
    index: usize,
    /// Rows that were given or left out.
    given: usize,
}

impl FlatBatches {
    fn next_batch(&mut self) -> Result<Option<(RecordBatch, RowPositions)>> {
        loop {
            let reading = match &mut self.state {
                FlatState::Flat(reading) => reading,
                FlatState::Crate(batches, early, late) => {
                    let Some((batch, positions)) = batches.next().transpose()? else { return Ok(None) };
                    return rest(&self.rows, &batch, positions, early, late).map(Some);
                }
                FlatState::Ended => return Ok(None),
            };
            match reading.step(&self.rows, &mut self.batch_rows) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => self.state = FlatState::Ended,
                Err(Stop::Damaged(e)) => return Err(e),
                Err(Stop::TooLarge) if self.batch_rows > 1 => {
                    self.batch_rows = (self.batch_rows / SHRINK).max(1);
                    reading.restart();
                }
                Err(Stop::TooLarge) => return Err(too_large()),
                Err(Stop::Foreign) => self.leave_rest()?,
            }
        }
    }

    /// Leaves the rest of the file to the parquet crate.
    fn leave_rest(&mut self) -> Result<()> {
        let FlatState::Flat(reading) = std::mem::replace(&mut self.state, FlatState::Ended) else { return Ok(()) };
        let FlatReading { file, mut plan, groups, early, late, group, .. } = *reading;
        let groups = groups.filter(|(_, selected)| !selected.is_empty()).map(|(index, _)| index);
        plan.groups = group.iter().map(|group| group.index).chain(groups).collect();
        plan.selection = None;
        let places = |side: Side| {
            let place = |flat: &Flat| plan.leaves.iter().position(|leaf| *leaf == flat.leaf);
            side.flats.iter().filter_map(place).collect::<Vec<_>>()
        };
        let (early, late) = (places(early), places(late));
        let given = group.map_or(0, |group| group.given as u64);
        let batches = ParquetBatches::after(file, plan, self.batch_rows, given)?;
        self.state = FlatState::Crate(Box::new(batches), early, late);
        Ok(())
    }
}

/// The wanted part of a batch of all columns.
fn rest(
    rows: &WantedRows,
    all: &RecordBatch,
    positions: RowPositions,
    early: &[usize],
    late: &[usize],
) -> Result<(RecordBatch, RowPositions)> {
    let part = |places: &[usize]| {
        all.project(places).map_err(|e| Error::internal("a column was decoded but is not there").because(e))
    };
    let (early, late) = (part(early)?, part(late)?);
    let kept = rows.kept(&early, &positions)?;
    let count = kept.count_set_bits();
    let mut late = late.columns().to_vec();
    if count < kept.len() {
        let mask = BooleanArray::new(kept.clone(), None);
        let filtered = late.iter().map(|column| filter(column, &mask)).collect::<Result<Vec<_>, _>>();
        late = filtered.map_err(|e| Error::internal("rows cannot be filtered").because(e))?;
    }
    let positions = if rows.tells_positions { positions.filter(&kept) } else { RowPositions::default() };
    Ok((rows.batch(early.columns(), &late, &kept, count)?, positions))
}

impl FlatReading {
    /// The kept rows of the next batch. There may be none.
    fn step(&mut self, rows: &WantedRows, batch_rows: &mut usize) -> PageResult<Option<(RecordBatch, RowPositions)>> {
        let Some((group, end)) = self.open(batch_rows)? else { return Ok(None) };
        let asked = KeptRows::between(group.given, end, &self.selected);
        let count = asked.count();
        let early = self.early.read(&asked)?;
        let decided = batch(self.early.schema.clone(), early, count)?;
        let mask = rows.kept(&decided, &self.positions(group, &asked))?;
        let kept = asked.masked(&mask);
        let late = match kept.count() {
            0 => {
                self.late.behind += kept.rows();
                let empty = |flat: &Flat| arrow::array::new_empty_array(&flat.kind.data_type);
                self.late.flats.iter().map(empty).collect()
            }
            _ => {
                if !self.late.is_open {
                    let wanted = self.wanted(&kept, group, end);
                    let row_bytes = self.late.open(&self.file, &self.plan, group.index, &wanted)?;
                    if narrow(batch_rows, row_bytes) {
                        self.restart();
                        return self.step(rows, batch_rows);
                    }
                }
                self.late.read(&kept)?
            }
        };
        let found = rows.batch(decided.columns(), &late, &mask, kept.count())?;
        let positions = if rows.tells_positions { self.positions(group, &kept) } else { RowPositions::default() };
        let group = OpenGroup { given: end, ..group };
        self.group = Some(group);
        if self.selected.last().is_none_or(|last| last.end <= end) {
            self.close(group)?;
        }
        Ok(Some((found, positions)))
    }

    /// The positions of the group's next rows that are kept. The result is empty if they don't matter.
    fn positions(&self, group: OpenGroup, kept: &KeptRows) -> RowPositions {
        let of_group = self.positions.as_ref().and_then(|all| all.get(group.index));
        of_group
            .map_or_else(RowPositions::default, |all| RowPositions::counted_from(all.start, kept.ranges(group.given)))
    }

    /// The rows of a row group that the late columns may need: those kept up to `end`, and all after it. All selected
    /// rows, if they are under way. Without an index, all rows must be fetched.
    fn wanted(&self, kept: &KeptRows, group: OpenGroup, end: usize) -> Selected {
        if self.plan.selection.is_none() || self.late.ahead.is_under_way() {
            return self.selected.clone();
        }
        let behind = self.selected.iter().map(|range| range.start.max(end)..range.end);
        kept.ranges(group.given).chain(behind.filter(|range| !range.is_empty())).collect()
    }

    /// The row group to read from, at its next selected row, and the row at which a batch ends. `None` at the end.
    fn open(&mut self, batch_rows: &mut usize) -> PageResult<Option<(OpenGroup, usize)>> {
        loop {
            if let Some(group) = self.group {
                let next = self.selected.partition_point(|range| range.end <= group.given);
                let Some((first, others)) = self.selected.get(next..).and_then(<[_]>::split_first) else {
                    self.close(group)?;
                    continue;
                };
                let start = first.start.max(group.given);
                let mut left = *batch_rows;
                let mut end = start;
                for range in std::iter::once(&(start..first.end)).chain(others) {
                    let taken = left.min(range.len());
                    if taken == 0 {
                        break;
                    }
                    end = range.start + taken;
                    left -= taken;
                }
                return Ok(Some((self.pass(group, start), end)));
            }
            let Some((index, selected)) = self.groups.next() else { return Ok(None) };
            if selected.is_empty() {
                continue;
            }
            if !self.early.flats.is_empty() {
                self.late.begin(&self.file, &self.plan, index, &selected);
            }
            let mut row_bytes = self.early.open(&self.file, &self.plan, index, &selected)?;
            // All columns are needed if no column decides first.
            if self.early.flats.is_empty() {
                row_bytes = row_bytes.saturating_add(self.late.open(&self.file, &self.plan, index, &selected)?);
            }
            narrow(batch_rows, row_bytes);
            (self.group, self.selected) = (Some(OpenGroup { index, given: 0 }), selected);
        }
    }

    /// Leaves out the group's rows up to one.
    fn pass(&mut self, group: OpenGroup, row: usize) -> OpenGroup {
        let passed = row.saturating_sub(group.given);
        self.early.behind += passed;
        self.late.behind += passed;
        let group = OpenGroup { given: group.given + passed, ..group };
        self.group = Some(group);
        group
    }

    /// Leaves out the rest of the group.
    fn close(&mut self, group: OpenGroup) -> PageResult<()> {
        let rows = self.plan.metadata.metadata().row_groups().get(group.index).map_or(0, |group| group.num_rows());
        self.pass(group, usize::try_from(rows).unwrap_or(0));
        self.group = None;
        self.early.close()?;
        self.late.close()
    }

    /// Goes back to the first row that was not given yet.
    fn restart(&mut self) {
        let given = self.group.map_or(0, |group| group.given);
        self.early.restart(given);
        self.late.restart(given);
    }
}

/// Makes batches smaller if rows of `row_bytes` bytes need it.
fn narrow(batch_rows: &mut usize, row_bytes: u64) -> bool {
    let most = usize::try_from(BATCH_BYTES / row_bytes.max(1)).unwrap_or(usize::MAX).max(1);
    let is_larger = *batch_rows / 2 > most;
    if is_larger {
        *batch_rows = most;
    }
    is_larger
}

impl Iterator for FlatBatches {
    type Item = Result<(RecordBatch, RowPositions)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

#[cfg(test)]
#[path = "column_reader_tests.rs"]
mod tests;
