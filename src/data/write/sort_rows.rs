//! Sorts rows in bounded memory.
//!
//! [`RowSorter`] collects rows, each with the number of its partition. When many rows wait, it sorts them and stores
//! them as a run. At the end it merges the runs. The result is ordered by partition and, within each, by the sort
//! order. So a writer needs one open file at a time.
//!
//! Runs are files in the local folder for temporary files, as Arrow IPC in pieces that are read one at a time. They are
//! removed with the sorter. Rows with equal keys keep their order.
//!
//! Source: Iceberg specification, "Sorting": floats are ordered as IEEE 754 totals with one NaN, the greatest value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Cursor, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{SortOptions, concat_batches, interleave_record_batch, take_record_batch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow::row::{OwnedRow, RowConverter, Rows, SortField as ArrowSortField};

use super::context::{Sorting, batch_bytes};
use super::partition_rows::{PartitionRows, column_at, source_path};
use super::z_order::ZColumns;
use crate::data::arrow::transform_array::transform_array;
use crate::data::step_sort::{SORT_STEP, merge_steps};
use crate::error::{Error, Result};
use crate::parallel::{check_cancelled, in_steps};
use crate::store::local::LocalStore;
use crate::store::{Store, StoreWriter, location};
use crate::types::{PrimitiveType, Schema, SortOrder, Transform};

/// Bytes of rows that wait in memory until they are sorted and stored.
const RUN_BYTES: usize = 64 << 20;
/// A run is read in pieces: this is about the size of a piece in bytes, and its largest number of rows.
const PIECE_BYTES: usize = 256 << 10;
const PIECE_ROWS: usize = 8192;
/// Keys are made for this number of rows at a time.
const KEY_ROWS: usize = 1 << 16;
/// The number of runs that are merged at once. More runs are first merged to fewer.
const MERGED_AT_ONCE: usize = 256;

/// One field of the order.
#[derive(Debug)]
struct SortKey {
    path: Vec<usize>,
    source: PrimitiveType,
    transform: Transform,
    options: SortOptions,
}

/// How to get the values by which rows are compared.
#[derive(Debug)]
enum SortKeys {
    Fields(Vec<SortKey>),
    ZOrder(ZColumns),
}

impl SortKeys {
    fn columns(&self, rows: &RecordBatch) -> Result<Vec<(ArrayRef, SortOptions)>> {
        match self {
            SortKeys::Fields(keys) => {
                let column = |key: &SortKey| {
                    let column = transform_array(&column_at(rows, &key.path)?, &key.source, &key.transform)?;
                    Ok((column, key.options))
                };
                keys.iter().map(column).collect()
            }
            SortKeys::ZOrder(columns) => Ok(vec![(columns.values(rows)?, SortOptions::default())]),
        }
    }

    /// Bytes of a row's key beyond those of the row.
    fn bytes_per_row(&self) -> usize {
        match self {
            SortKeys::Fields(_) => 0,
            SortKeys::ZOrder(columns) => columns.width(),
        }
    }
}

/// Collects rows and gives them back sorted.
#[derive(Debug)]
pub(crate) struct RowSorter {
    schema: SchemaRef,
    keys: SortKeys,
    converter: Option<RowConverter>,
    waiting: Vec<(u32, RecordBatch)>,
    waiting_bytes: usize,
    run_bytes: usize,
    merged_at_once: usize,
    runs: Vec<StoredRun>,
}

impl RowSorter {
    /// A sorter of batches of `arrow`, the Arrow form of `schema`. `None` if the order has no fields, unknown
    /// transforms, or columns that the schema lacks.
    pub(crate) fn new(schema: &Schema, arrow: SchemaRef, order: &SortOrder) -> Option<RowSorter> {
        let key = |f: &crate::types::SortField| {
            let (path, source) = source_path(schema, f.source_id)?;
            let options = SortOptions { descending: f.descending, nulls_first: f.nulls_first };
            f.transform.accepts(&source).then(|| SortKey { path, source, transform: f.transform.clone(), options })
        };
        let keys = order.fields.iter().map(key).collect::<Option<Vec<_>>>()?;
        let some = !keys.is_empty();
        some.then(|| RowSorter::with(arrow, SortKeys::Fields(keys)))
    }

    /// A sorter for the requested order.
    ///
    /// # Errors
    /// `InvalidInput` for an order that is not possible; the errors of [`ZColumns::new`].
    pub(crate) fn by(schema: &Schema, arrow: SchemaRef, sorting: &Sorting) -> Result<RowSorter> {
        match sorting {
            Sorting::ZOrder(order) => Ok(RowSorter::with(arrow, SortKeys::ZOrder(ZColumns::new(schema, order)?))),
            Sorting::Order(order) => RowSorter::new(schema, arrow, order)
                .ok_or_else(|| Error::invalid("rows can't be sorted in this order").with("fields", order.fields.len())),
        }
    }

    fn with(schema: SchemaRef, keys: SortKeys) -> RowSorter {
        RowSorter {
            schema,
            keys,
            converter: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            run_bytes: RUN_BYTES,
            merged_at_once: MERGED_AT_ONCE,
            runs: Vec::new(),
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// `Store` if they can't be stored in a run.
    pub(crate) fn push(&mut self, parts: Vec<PartitionRows>) -> Result<()> {
        for part in parts {
            self.waiting_bytes += batch_bytes(&part.rows) + part.rows.num_rows() * self.keys.bytes_per_row();
            self.waiting.push((part.number as u32, part.rows));
        }
        if self.waiting_bytes < self.run_bytes {
            return Ok(());
        }
        let pieces = self.sort_waiting()?;
        let run = StoredRun::write(pieces.into_iter().map(|piece| Ok((piece.numbers, piece.rows))), &self.schema)?;
        self.runs.push(run);
        if self.runs.len() < self.merged_at_once {
            return Ok(());
        }
        let (runs, schema) = (std::mem::take(&mut self.runs), self.schema.clone());
        let merged = StoredRun::write(RunMerge::new(self, runs.iter().map(RunSource::Stored).collect())?, &schema)?;
        self.runs.push(merged);
        Ok(())
    }

    /// Gives all rows in order to `take`, batch by batch.
    ///
    /// # Errors
    /// The errors of `take`; `Store` if rows of a run can't be read.
    pub(crate) fn finish(mut self, mut take: impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let last = self.sort_waiting()?;
        if self.runs.is_empty() {
            return last.into_iter().try_for_each(|piece| check_cancelled().and_then(|()| take(piece.rows)));
        }
        let runs = std::mem::take(&mut self.runs);
        let sources = runs.iter().map(RunSource::Stored).chain([RunSource::Held(last.into_iter())]).collect();
        let merge = RunMerge::new(&mut self, sources)?;
        merge.into_iter().try_for_each(|merged| take(merged?.1))
    }

    /// The waiting rows, sorted, in pieces.
    fn sort_waiting(&mut self) -> Result<Vec<RunPiece>> {
        self.waiting_bytes = 0;
        let (numbers, batches): (Vec<u32>, Vec<RecordBatch>) = std::mem::take(&mut self.waiting).into_iter().unzip();
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        let numbers = numbers.iter().zip(&batches).flat_map(|(n, b)| std::iter::repeat_n(*n, b.num_rows()));
        let numbers = UInt32Array::from_iter_values(numbers);
        let rows = concat_batches(&self.schema, &batches).map_err(failed)?;
        drop(batches);
        let order = order_of(&self.keys_of(&numbers, &rows)?)?;
        let step = piece_rows(&rows);
        let piece = |at: &[u32]| {
            check_cancelled()?;
            let at = UInt32Array::from(at.to_vec());
            let numbers = UInt32Array::from_iter_values(at.values().iter().map(|row| numbers.value(*row as usize)));
            Ok(RunPiece { numbers, rows: take_record_batch(&rows, &at).map_err(failed)? })
        };
        order.chunks(step).map(piece).collect()
    }

    /// The keys by which rows are compared.
    fn keys_of(&mut self, numbers: &UInt32Array, rows: &RecordBatch) -> Result<Rows> {
        let count = rows.num_rows();
        let mut all: Option<Rows> = None;
        for range in in_steps(count, KEY_ROWS) {
            let Range { start, end } = range?;
            let columns = self.key_columns(&numbers.slice(start, end - start), &rows.slice(start, end - start))?;
            let converter = self.converter(&columns)?;
            let columns: Vec<ArrayRef> = columns.into_iter().map(|(column, _)| column).collect();
            match &mut all {
                Some(all) => converter.append(all, &columns).map_err(failed)?,
                none => {
                    let first = converter.convert_columns(&columns).map_err(failed)?;
                    if end == count {
                        return Ok(first);
                    }
                    let all = none.insert(converter.empty_rows(count, first.size() / end.max(1) * count));
                    converter.append(all, &columns).map_err(failed)?;
                }
            }
        }
        all.ok_or_else(|| Error::internal("there are no rows to sort"))
    }

    /// The numbers of partitions, then the values of the order, with the way in which each is compared.
    fn key_columns(&self, numbers: &UInt32Array, rows: &RecordBatch) -> Result<Vec<(ArrayRef, SortOptions)>> {
        let numbers: (ArrayRef, SortOptions) = (Arc::new(numbers.clone()), SortOptions::default());
        Ok(std::iter::once(numbers).chain(self.keys.columns(rows)?).collect())
    }

    fn converter(&mut self, columns: &[(ArrayRef, SortOptions)]) -> Result<&RowConverter> {
        let field =
            |(c, options): &(ArrayRef, SortOptions)| ArrowSortField::new_with_options(c.data_type().clone(), *options);
        Ok(match &mut self.converter {
            Some(converter) => converter,
            none => none.insert(RowConverter::new(columns.iter().map(field).collect()).map_err(failed)?),
        })
    }
}

/// The order of rows by their keys. Rows with equal keys keep their order.
fn order_of(keys: &Rows) -> Result<Vec<u32>> {
    let mut order = Vec::with_capacity(keys.num_rows());
    for range in in_steps(keys.num_rows(), SORT_STEP) {
        order.extend(sorted_step(keys, range?));
    }
    merge_steps(order, &|a, b| keys.row(*a as usize).cmp(&keys.row(*b as usize)))
}

/// The order of some rows. The first bytes that tell rows apart lie next to each other in memory, so that most
/// comparisons need no other memory.
fn sorted_step(keys: &Rows, range: Range<usize>) -> impl Iterator<Item = u32> {
    let first = keys.row(range.start);
    let mut same = first.data().len();
    for row in range.clone() {
        let alike = first.data().iter().zip(keys.row(row).data()).take(same).take_while(|(a, b)| a == b);
        same = alike.count();
    }
    let prefix = |row: usize| {
        let mut bytes = [0; 8];
        let rest = keys.row(row);
        let rest = rest.data().get(same..).unwrap_or_default();
        bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(bytes)
    };
    let mut step: Vec<(u64, u32)> = range.map(|row| (prefix(row), row as u32)).collect();
    step.sort_unstable_by(|(a, x), (b, y)| {
        let whole = || keys.row(*x as usize).cmp(&keys.row(*y as usize)).then(x.cmp(y));
        a.cmp(b).then_with(whole)
    });
    step.into_iter().map(|(_, row)| row)
}

fn failed(e: ArrowError) -> Error {
    Error::internal("rows could not be sorted").because(e)
}

fn piece_rows(rows: &RecordBatch) -> usize {
    let per_row = batch_bytes(rows) / rows.num_rows().max(1);
    (PIECE_BYTES / per_row.max(1)).clamp(1, PIECE_ROWS)
}

/// Sorted rows with the numbers of their partitions.
#[derive(Debug)]
struct RunPiece {
    numbers: UInt32Array,
    rows: RecordBatch,
}

/// Numbers of partitions, each with the number of its rows in a sequence.
type Partitions = Vec<(u32, usize)>;

/// Sorted rows in a temporary file. Dropping this deletes the file.
#[derive(Debug)]
struct StoredRun {
    path: String,
    schema: SchemaRef,
    /// For each piece: offset, bytes, and its partitions, each with the number of rows.
    pieces: Vec<(u64, usize, Partitions)>,
}

impl Drop for StoredRun {
    fn drop(&mut self) {
        // A file that stays lies in a folder that others clean.
        let _ = LocalStore.delete(&self.path);
    }
}

impl StoredRun {
    fn write(
        pieces: impl Iterator<Item = Result<(UInt32Array, RecordBatch)>>,
        schema: &SchemaRef,
    ) -> Result<StoredRun> {
        let folder = std::env::temp_dir();
        let path = location::join(&folder.to_string_lossy(), &format!("frazil-sort-{}", uuid::Uuid::new_v4()));
        let mut sink = LocalStore.create(&path)?;
        let mut run = StoredRun { path, schema: schema.clone(), pieces: Vec::new() };
        let mut offset = 0;
        for piece in pieces {
            let (numbers, rows) = piece?;
            check_cancelled()?;
            let bytes = encode(&rows).map_err(failed)?;
            sink.write_all(&bytes)
                .map_err(|e| Error::store("cannot store sorted rows").with("path", &run.path).because(e))?;
            let partitions =
                numbers.values().chunk_by(|a, b| a == b).filter_map(|same| Some((*same.first()?, same.len())));
            run.pieces.push((offset, bytes.len(), partitions.collect()));
            offset += bytes.len() as u64;
        }
        StoreWriter::finish(sink)?;
        Ok(run)
    }

    fn read(&self, piece: usize) -> Result<Option<RunPiece>> {
        let Some((offset, length, partitions)) = self.pieces.get(piece) else { return Ok(None) };
        let bytes = LocalStore.get_range(&self.path, *offset, *length)?;
        let mut reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(failed)?;
        let lost = || Error::internal("sorted rows were not found again").with("path", &self.path);
        let rows = reader.next().ok_or_else(lost)?.map_err(failed)?;
        // The schema's metadata are not needed in runs.
        let rows = RecordBatch::try_new(self.schema.clone(), rows.columns().to_vec()).map_err(failed)?;
        let numbers = partitions.iter().flat_map(|(number, rows)| std::iter::repeat_n(*number, *rows));
        Ok(Some(RunPiece { numbers: UInt32Array::from_iter_values(numbers), rows }))
    }
}

fn encode(rows: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(rows)?;
    writer.into_inner()
}

/// The source of sorted rows for the merge.
enum RunSource<'a> {
    Stored(&'a StoredRun),
    Held(std::vec::IntoIter<RunPiece>),
}

/// The piece of a source that is being merged.
struct Current {
    rows: RecordBatch,
    numbers: UInt32Array,
    keys: Rows,
    row: usize,
}

/// Merges sorted rows of several sources. It ends after an error.
struct RunMerge<'a, 'b> {
    sorter: &'b mut RowSorter,
    /// The sources, each with the number of its next piece.
    sources: Vec<(RunSource<'a>, usize)>,
    current: Vec<Option<Current>>,
    /// The next row of each source. If keys are equal, the earlier source comes first.
    next: BinaryHeap<Reverse<(OwnedRow, usize)>>,
    failed: bool,
}

impl<'a, 'b> RunMerge<'a, 'b> {
    fn new(sorter: &'b mut RowSorter, sources: Vec<RunSource<'a>>) -> Result<RunMerge<'a, 'b>> {
        let current = sources.iter().map(|_| None).collect();
        let sources: Vec<_> = sources.into_iter().map(|s| (s, 0)).collect();
        let mut merge = RunMerge { sorter, sources, current, next: BinaryHeap::new(), failed: false };
        (0..merge.sources.len()).try_for_each(|source| merge.load(source))?;
        Ok(merge)
    }

    /// Goes on to the next piece of a source.
    fn load(&mut self, source: usize) -> Result<()> {
        check_cancelled()?;
        let (from, next) = &mut self.sources[source];
        let piece = match from {
            RunSource::Held(pieces) => pieces.next(),
            RunSource::Stored(run) => run.read(*next)?,
        };
        *next += 1;
        self.current[source] = match piece {
            None => None,
            Some(RunPiece { numbers, rows }) => {
                let keys = self.sorter.keys_of(&numbers, &rows)?;
                self.next.push(Reverse((keys.row(0).owned(), source)));
                Some(Current { rows, numbers, keys, row: 0 })
            }
        };
        Ok(())
    }

    /// The next rows, up to the end of the first piece that ends.
    fn batch(&mut self) -> Result<Option<(UInt32Array, RecordBatch)>> {
        check_cancelled()?;
        let mut taken: Vec<(usize, usize)> = Vec::new();
        let mut ended = None;
        while taken.len() < PIECE_ROWS && ended.is_none() {
            let Some(Reverse((_, source))) = self.next.pop() else { break };
            let Some(current) = &mut self.current[source] else { continue };
            taken.push((source, current.row));
            current.row += 1;
            match current.row < current.rows.num_rows() {
                true => self.next.push(Reverse((current.keys.row(current.row).owned(), source))),
                false => ended = Some(source),
            }
        }
        if taken.is_empty() {
            return Ok(None);
        }
        let mut places = vec![usize::MAX; self.current.len()];
        let mut batches: Vec<&RecordBatch> = Vec::new();
        for (source, _) in &taken {
            if let (true, Some(current)) = (places[*source] == usize::MAX, &self.current[*source]) {
                places[*source] = batches.len();
                batches.push(&current.rows);
            }
        }
        let number =
            |(source, row): &(usize, usize)| self.current[*source].as_ref().map_or(0, |c| c.numbers.value(*row));
        let numbers = UInt32Array::from_iter_values(taken.iter().map(number));
        let at: Vec<(usize, usize)> = taken.iter().map(|(source, row)| (places[*source], *row)).collect();
        let rows = interleave_record_batch(&batches, &at).map_err(failed)?;
        if let Some(source) = ended {
            self.load(source)?;
        }
        Ok(Some((numbers, rows)))
    }
}

impl Iterator for RunMerge<'_, '_> {
    type Item = Result<(UInt32Array, RecordBatch)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let batch = self.batch().transpose();
        self.failed = batch.as_ref().is_some_and(Result::is_err);
        batch
    }
}

#[cfg(test)]
#[path = "sort_rows_tests.rs"]
mod tests;
