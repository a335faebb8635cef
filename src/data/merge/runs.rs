//! Merges sorted runs by key.
//!
//! [`SortedRuns`] holds one batch of every run. Key by key, it gives the rows that have the key, the oldest first. If
//! one run has several keys before the next key of any other run, it gives them at once. Batches stay until
//! [`SortedRuns::forget`], because rows are named by their place in a batch.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use arrow::row::{RowConverter, Rows, SortField};

use super::picks::{RowPlace, unmerged};
use crate::data::read::rows::Batches;
use crate::error::{Error, Result};

/// The roles of the columns of the batches.
#[derive(Clone, Debug)]
pub(crate) struct MergeLayout {
    /// The columns by which rows are sorted, in this order.
    pub key: Vec<usize>,
    /// The columns that say which of the rows with one key came later. `descending` says whether the greater value is
    /// the earlier one.
    pub order: Vec<usize>,
    pub descending: bool,
    /// The column that decides if those are equal.
    pub sequence: Option<usize>,
    /// The column that says whether rows are added or deleted.
    pub kind: usize,
}

/// Up to this number of runs, a linear search finds the next place faster.
const FEW_RUNS: usize = 12;

/// Whether a row of this kind is added, and does not delete another.
pub(crate) fn is_added(kind: i32) -> bool {
    matches!(kind, 0 | 2)
}

/// The row kind `-D`: the row is deleted.
pub(crate) const DELETE: i32 = 3;

/// The kind of rows that exist.
pub(crate) const INSERT: i32 = 0;

/// A batch of a run.
#[derive(Debug)]
pub(crate) struct LoadedBatch {
    pub columns: Vec<ArrayRef>,
    keys: RunKeys,
    order: Option<Rows>,
    sequence: ScalarBuffer<i64>,
    kinds: ScalarBuffer<i32>,
    /// Whether all rows are added.
    pub all_added: bool,
}

impl LoadedBatch {
    /// A batch that is merged by itself.
    ///
    /// # Errors
    /// `Unsupported` for columns that have no order; `CorruptTable` for rows that are not sorted by key, or of no kind.
    pub(crate) fn new(batch: &RecordBatch, layout: MergeLayout) -> Result<LoadedBatch> {
        let types: Vec<DataType> = batch.columns().iter().map(|c| c.data_type().clone()).collect();
        Coder::new(layout, &types)?.load(batch)
    }

    /// Compares the age of two rows: `row` of this batch, and the row at `at` of `other`.
    pub(crate) fn compare_age(&self, row: u32, other: &LoadedBatch, at: u32) -> Ordering {
        let (row, at) = (row as usize, at as usize);
        let order = match (&self.order, &other.order) {
            (Some(x), Some(y)) => x.row(row).cmp(&y.row(at)),
            _ => Ordering::Equal,
        };
        order.then_with(|| self.sequence.get(row).cmp(&other.sequence.get(at)))
    }

    pub(crate) fn kind(&self, row: u32) -> i32 {
        self.kinds.get(row as usize).copied().unwrap_or(0)
    }
}

/// The keys of a batch, for comparison.
#[derive(Debug)]
enum RunKeys {
    Long(ScalarBuffer<i64>),
    Rows(Rows),
}

impl RunKeys {
    fn cmp(&self, row: usize, other: &RunKeys, at: usize) -> Ordering {
        match (self, other) {
            (RunKeys::Long(a), RunKeys::Long(b)) => a.get(row).cmp(&b.get(at)),
            (RunKeys::Rows(a), RunKeys::Rows(b)) => a.row(row).cmp(&b.row(at)),
            _ => Ordering::Equal,
        }
    }

    /// The first bytes of a key as a number. If two such numbers differ, the keys have the same order.
    fn prefix(&self, row: usize) -> u64 {
        match self {
            RunKeys::Long(keys) => keys.get(row).map_or(0, |key| key.cast_unsigned() ^ (1 << 63)),
            RunKeys::Rows(keys) => {
                let key = keys.row(row);
                let bytes: &[u8] = key.as_ref();
                let mut first = [0; 8];
                first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                u64::from_be_bytes(first)
            }
        }
    }
}

/// Prepares batches for comparison.
struct Coder {
    layout: MergeLayout,
    /// `None` for one column of integers.
    keys: Option<RowConverter>,
    order: Option<RowConverter>,
}

fn is_integer(ty: &DataType) -> bool {
    matches!(ty, DataType::Int32 | DataType::Int64 | DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_))
}

fn integers(array: &ArrayRef) -> Result<ScalarBuffer<i64>> {
    let wide = match array.data_type() {
        DataType::Date32 => cast(&cast(array, &DataType::Int32).map_err(|e| unmerged(&e))?, &DataType::Int64),
        _ => cast(array, &DataType::Int64),
    };
    let wide = wide.map_err(|e| unmerged(&e))?;
    Ok(wide.as_primitive::<Int64Type>().values().clone())
}

impl Coder {
    fn new(layout: MergeLayout, types: &[DataType]) -> Result<Coder> {
        let options = SortOptions { descending: layout.descending, nulls_first: true };
        let fields = |columns: &[usize], options: SortOptions| {
            let field = |column: &usize| types.get(*column).map(|ty| SortField::new_with_options(ty.clone(), options));
            let fields: Option<Vec<SortField>> = columns.iter().map(field).collect();
            let fields = fields.ok_or_else(|| Error::internal("a column to merge by was not read"))?;
            RowConverter::new(fields)
                .map_err(|e| Error::unsupported("rows cannot be merged by these columns").because(e))
        };
        let keys = match layout.key.as_slice() {
            [one] if types.get(*one).is_some_and(is_integer) => None,
            key => Some(fields(key, SortOptions::default())?),
        };
        let order = match layout.order.as_slice() {
            [] => None,
            order => Some(fields(order, options)?),
        };
        Ok(Coder { layout, keys, order })
    }

    fn load(&mut self, batch: &RecordBatch) -> Result<LoadedBatch> {
        let column = |at: usize| batch.columns().get(at).ok_or_else(|| Error::internal("a column was not read"));
        let columns = |at: &[usize]| at.iter().map(|at| column(*at).cloned()).collect::<Result<Vec<_>>>();
        let key = columns(&self.layout.key)?;
        if key.iter().any(|k| k.null_count() > 0) {
            return Err(Error::corrupt("a row of a table with a primary key has no key"));
        }
        let keys = match &mut self.keys {
            None => RunKeys::Long(integers(column(self.layout.key.first().copied().unwrap_or(0))?)?),
            Some(coder) => RunKeys::Rows(coder.convert_columns(&key).map_err(|e| unmerged(&e))?),
        };
        let sorted = (1..batch.num_rows()).all(|row| keys.cmp(row - 1, &keys, row).is_le());
        if !sorted {
            return Err(Error::corrupt("the rows of the file are not sorted by the primary key"));
        }
        let order = match &mut self.order {
            None => None,
            Some(coder) => Some(coder.convert_columns(&columns(&self.layout.order)?).map_err(|e| unmerged(&e))?),
        };
        let wrong = || Error::internal("a column to merge by has another type");
        let sequence = match self.layout.sequence {
            Some(at) => column(at)?.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?.clone(),
            None => Int64Array::from_iter_values([]),
        };
        let kinds = column(self.layout.kind)?.as_primitive_opt::<Int32Type>().ok_or_else(wrong)?;
        if sequence.null_count() > 0 || kinds.null_count() > 0 {
            return Err(Error::corrupt("a row of a table with a primary key has no sequence number or no kind"));
        }
        let (sequence, kinds) = (sequence.values().clone(), kinds.values().clone());
        if let Some(odd) = kinds.iter().find(|kind| !(0..=3).contains(*kind)) {
            return Err(Error::corrupt(format!("a row has the unknown kind {odd}")));
        }
        let all_added = kinds.iter().all(|kind| is_added(*kind));
        Ok(LoadedBatch { columns: batch.columns().to_vec(), keys, order, sequence, kinds, all_added })
    }
}

/// A run. One batch of it is in memory.
struct SortedRun {
    batches: Batches,
    slot: u32,
    row: usize,
    rows: usize,
    /// See [`RunKeys::prefix`], of the next key.
    prefix: u64,
}

/// The next step of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MergeStep {
    /// Rows of a batch whose keys no other run has.
    Rows {
        run: usize,
        slot: u32,
        start: u32,
        rows: u32,
    },
    /// The rows of one key, given aside.
    Group,
    End,
}

/// Runs that are being merged.
pub(crate) struct SortedRuns {
    coder: Coder,
    runs: Vec<SortedRun>,
    /// The runs that have rows left, by the key of the next row. Runs with equal keys keep their own order.
    order: Vec<usize>,
    /// The runs of the group at hand.
    group: Vec<usize>,
    /// Whether keys consist of their prefixes alone.
    short_keys: bool,
    pub live: Vec<LoadedBatch>,
}

impl SortedRuns {
    /// Starts to merge batches of these types.
    ///
    /// # Errors
    /// `Unsupported` for columns that have no order; the errors of the runs.
    pub(crate) fn new(sources: Vec<Batches>, layout: MergeLayout, types: &[DataType]) -> Result<SortedRuns> {
        let coder = Coder::new(layout, types)?;
        let short_keys = coder.keys.is_none();
        let runs = Vec::with_capacity(sources.len());
        let mut out = SortedRuns { coder, runs, order: Vec::new(), group: Vec::new(), short_keys, live: Vec::new() };
        for batches in sources {
            out.runs.push(SortedRun { batches, slot: 0, row: 0, rows: 0, prefix: 0 });
            out.advance(out.runs.len() - 1, 0)?;
        }
        Ok(out)
    }

    /// The number of runs.
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The next step, of at most `most` rows. The rows of a group are added to `members`, with their runs, the oldest
    /// first.
    pub(crate) fn next(&mut self, most: usize, members: &mut Vec<(usize, RowPlace)>) -> Result<MergeStep> {
        let Some(&first) = self.order.first() else { return Ok(MergeStep::End) };
        let before = match self.order.get(1) {
            None => self.runs.get(first).map_or(0, |run| run.rows - run.row),
            Some(&second) => self.rows_before(first, second),
        };
        if before > 0 {
            let rows = before.min(most.max(1));
            let Some(run) = self.runs.get(first) else { return Ok(MergeStep::End) };
            let (slot, start) = (run.slot, run.row as u32);
            self.order.remove(0);
            self.advance(first, rows)?;
            return Ok(MergeStep::Rows { run: first, slot, start, rows: rows as u32 });
        }
        let equal = self.order.iter().take_while(|run| self.compare(first, **run).is_eq()).count();
        let mut group = std::mem::take(&mut self.group);
        group.clear();
        group.extend(self.order.drain(..equal));
        members.clear();
        let place = |run: &usize| {
            let head = self.runs.get(*run)?;
            Some((*run, RowPlace { slot: head.slot, row: head.row as u32 }))
        };
        members.extend(group.iter().filter_map(place));
        // The sort is stable: equal rows keep the order of their runs.
        members.sort_by(|a, b| self.compare_age(a.1, b.1));
        for run in &group {
            self.advance(*run, 1)?;
        }
        self.group = group;
        Ok(MergeStep::Group)
    }

    /// The value of a row in the column at `column`; 0 if there is no such column of integers.
    pub(crate) fn tag(&self, place: RowPlace, column: usize) -> i32 {
        let batch = self.live.get(place.slot as usize);
        let tags = batch.and_then(|b| b.columns.get(column)).and_then(|c| c.as_primitive_opt::<Int32Type>());
        tags.and_then(|t| t.values().get(place.row as usize)).copied().unwrap_or_default()
    }

    /// Drops the batches that no run is at. Places given before are no longer valid.
    pub(crate) fn forget(&mut self) {
        let mut kept = Vec::with_capacity(self.runs.len());
        let mut old: Vec<Option<LoadedBatch>> = std::mem::take(&mut self.live).into_iter().map(Some).collect();
        for run in self.order.iter() {
            if let Some(run) = self.runs.get_mut(*run)
                && let Some(loaded) = old.get_mut(run.slot as usize).and_then(Option::take)
            {
                run.slot = kept.len() as u32;
                kept.push(loaded);
            }
        }
        self.live = kept;
    }

    /// Goes on in a run, which is not in `order` at the time, and puts it there if it has rows left.
    fn advance(&mut self, index: usize, rows: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(index) else { return Ok(()) };
        run.row += rows;
        while run.row >= run.rows {
            let Some(batch) = run.batches.next().transpose()? else { return Ok(()) };
            let loaded = self.coder.load(&batch)?;
            if let (true, Some(last)) = (run.rows > 0 && batch.num_rows() > 0, self.live.get(run.slot as usize))
                && last.keys.cmp(run.rows - 1, &loaded.keys, 0).is_gt()
            {
                return Err(Error::corrupt("the files of a sorted run overlap"));
            }
            (run.slot, run.row, run.rows) = (self.live.len() as u32, 0, batch.num_rows());
            self.live.push(loaded);
        }
        if let Some(loaded) = self.live.get(run.slot as usize) {
            run.prefix = loaded.keys.prefix(run.row);
        }
        let is_behind = |other: &usize| self.compare(*other, index).then(other.cmp(&index)).is_gt();
        let at = match self.order.len() {
            0..=FEW_RUNS => self.order.iter().position(is_behind).unwrap_or(self.order.len()),
            _ => self.order.partition_point(|other| !is_behind(other)),
        };
        self.order.insert(at, index);
        Ok(())
    }

    fn head(&self, run: usize) -> Option<(&LoadedBatch, usize)> {
        let run = self.runs.get(run)?;
        Some((self.live.get(run.slot as usize)?, run.row))
    }

    /// Compares the next keys of two runs.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let prefix = |run: usize| self.runs.get(run).map_or(0, |run| run.prefix);
        match prefix(a).cmp(&prefix(b)) {
            Ordering::Equal if !self.short_keys => match (self.head(a), self.head(b)) {
                (Some((a, row)), Some((b, at))) => a.keys.cmp(row, &b.keys, at),
                _ => Ordering::Equal,
            },
            order => order,
        }
    }

    fn compare_age(&self, a: RowPlace, b: RowPlace) -> Ordering {
        match (self.live.get(a.slot as usize), self.live.get(b.slot as usize)) {
            (Some(x), Some(y)) => x.compare_age(a.row, y, b.row),
            _ => Ordering::Equal,
        }
    }

    /// The number of rows in the batch of `first` that come before the next key of `second`. The next key of `first` is
    /// not greater than that key.
    fn rows_before(&self, first: usize, second: usize) -> usize {
        if self.compare(first, second).is_eq() {
            return 0;
        }
        let (Some((a, row)), Some((b, at))) = (self.head(first), self.head(second)) else { return 0 };
        let end = self.runs.get(first).map_or(0, |run| run.rows);
        let behind = match (&a.keys, &b.keys) {
            (RunKeys::Long(keys), RunKeys::Long(others)) => {
                let bound = others.get(at).copied().unwrap_or(i64::MIN);
                first_not(row + 1, end, |row| keys.get(row).is_some_and(|key| *key < bound))
            }
            (keys, others) => first_not(row + 1, end, |row| keys.cmp(row, others, at).is_lt()),
        };
        behind - row
    }
}

/// The first place from `start` on that is not before something; `end` if all are. Doubles the step as long as the
/// place is before, then halves the rest.
fn first_not(start: usize, end: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut step) = (start, 1);
    while low + step <= end && is_before(low + step - 1) {
        low += step;
        step *= 2;
    }
    let mut high = (low + step - 1).min(end);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
