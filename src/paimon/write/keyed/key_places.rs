//! The place of each key, for tables with a primary key that lacks partition columns. A new row may belong to another
//! partition than its key.
//!
//! All keys are read before the first row is written. The merge engine then decides. With `deduplicate` the key moves,
//! and its row is deleted at the old place. With `partial-update` and `aggregation` new rows are moved to the place of
//! the key. With `first-row` they are dropped.
//!
//! Source: Java's `GlobalIndexAssigner`, `IndexBootstrap` and `ExistingProcessor`.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, ArrayRef, Int32Array, RecordBatch, UInt32Array};
use arrow::compute::{interleave, take_record_batch};

use super::dynamic_buckets::BucketRoom;
use super::key_rows::{KeyRows, place_of};
use super::row_kinds::DELETE;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::task::read_task;
use crate::error::{Error, Result};
use crate::format::request::ScanRequest;
use crate::format::splits::SplitRequest;
use crate::format::task::Split;
use crate::paimon::spec::options::MergeEngine;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::parallel::{check_cancelled, in_parallel};

/// The number of keys that are taken over between two checks for cancellation.
const KEYS_AT_ONCE: usize = 1 << 16;

/// Partitions and the keys that were taken out of them, both as binary rows.
pub(crate) type Moved = HashSet<(Vec<u8>, Vec<u8>)>;

/// Rows with their kinds and buckets.
pub(crate) struct RoutedRows {
    pub rows: RecordBatch,
    pub kinds: Int32Array,
    pub buckets: Int32Array,
}

/// The fate of a row with its key in another partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elsewhere {
    /// The key moves.
    Moves,
    /// The row is moved to the place of its key.
    Joins,
    /// The row is left out.
    IsLeftOut,
}

/// A partition: values of its columns, and keys by bucket.
#[derive(Debug, Default)]
struct KnownPartition {
    row: Vec<u8>,
    values: Vec<ArrayRef>,
    counts: BTreeMap<i32, i64>,
}

/// Assigns partition and bucket to rows by the place of their key.
#[derive(Debug)]
pub(crate) struct KeyPlaces {
    keys: KeyRows,
    partitions: KeyRows,
    /// The places of partition columns among those of the table.
    partition_columns: Vec<usize>,
    numbers: HashMap<Vec<u8>, usize>,
    known: Vec<KnownPartition>,
    /// The partition's number and the bucket, by key (a binary row).
    places: HashMap<Box<[u8]>, (usize, i32)>,
    target_rows: i64,
    elsewhere: Elsewhere,
    /// Whether all rows delete others, in any partition.
    deletes: bool,
    moved: Moved,
    /// The keys that another writer moved for the same rows. Its deletions do not count as deletions of these rows.
    undone: Moved,
}

/// One row of the result.
struct KeyOutput {
    row: u32,
    /// The partition that it is moved to, if not its own.
    partition: Option<usize>,
    kind: i32,
    bucket: i32,
}

impl KeyPlaces {
    /// The places in a table at its snapshot, or in an empty table if the rows are replaced. With `deletes`, all rows
    /// delete others. Deletions that only follow from `undone` are left out.
    ///
    /// # Errors
    /// As [`BucketRoom::of`]; `Unsupported` for keys of types with parts; those of reading keys.
    pub(crate) fn new(table: &PaimonTable, replaces: bool, deletes: bool, undone: Moved) -> Result<KeyPlaces> {
        let schema = table.table_schema();
        let options = schema.options();
        let columns = schema.columns();
        let mut out = KeyPlaces {
            keys: KeyRows::new(columns, schema.fields_of(&schema.primary_keys))?,
            partitions: KeyRows::new(columns, schema.partition_fields())?,
            partition_columns: schema.partition_fields().map(|f| place_of(columns, f.id)).collect::<Result<_>>()?,
            numbers: HashMap::new(),
            known: Vec::new(),
            places: HashMap::new(),
            target_rows: BucketRoom::of(&options)?.target_rows,
            elsewhere: match options.merge_engine()? {
                MergeEngine::Deduplicate => Elsewhere::Moves,
                MergeEngine::PartialUpdate | MergeEngine::Aggregation => Elsewhere::Joins,
                MergeEngine::FirstRow => Elsewhere::IsLeftOut,
            },
            deletes,
            moved: Moved::new(),
            undone,
        };
        if !replaces && table.metadata().snapshot.is_some() {
            out.load(table, schema)?;
        }
        Ok(out)
    }

    /// The existing keys.
    fn load(&mut self, table: &PaimonTable, schema: &TableSchema) -> Result<()> {
        let mut names: Vec<String> = schema.primary_keys.clone();
        names.extend(schema.partition_keys.iter().filter(|k| !schema.primary_keys.contains(k)).cloned());
        let scan = table.scan_newest(ScanRequest { select: Some(names), ..ScanRequest::default() })?.of_every_level();
        let columns = scan.context().projection.clone();
        let keys = KeyRows::new(&columns, schema.fields_of(&schema.primary_keys))?;
        let partitions = KeyRows::new(&columns, schema.partition_fields())?;
        let at = schema.partition_fields().map(|f| place_of(&columns, f.id)).collect::<Result<Vec<_>>>()?;
        let splits = scan.splits(SplitRequest::default())?;
        let read = in_parallel(splits.len(), |i| match splits.get(i) {
            Some(split) => SplitKeys::read(table, split, keys.clone(), partitions.clone(), &at),
            None => Ok(SplitKeys::default()),
        })?;
        // A table that grows would move all keys at once, which takes long.
        self.places.reserve(read.iter().map(|split| split.keys.len()).sum());
        for split in read {
            let Some((partition, values)) = split.partition else { continue };
            let number = self.number(&partition, || values);
            let known = self.known.get_mut(number).ok_or_else(missing)?;
            *known.counts.entry(split.bucket).or_default() += split.keys.len() as i64;
            for (row, key) in split.keys.into_iter().enumerate() {
                if row.is_multiple_of(KEYS_AT_ONCE) {
                    check_cancelled()?;
                }
                self.places.insert(key, (number, split.bucket));
            }
        }
        Ok(())
    }

    fn number(&mut self, partition: &[u8], values: impl FnOnce() -> Vec<ArrayRef>) -> usize {
        if let Some(number) = self.numbers.get(partition) {
            return *number;
        }
        let number = self.known.len();
        self.known.push(KnownPartition { row: partition.to_vec(), values: values(), counts: BTreeMap::new() });
        self.numbers.insert(partition.to_vec(), number);
        number
    }

    /// The moved keys.
    pub(crate) fn moved(&self) -> Moved {
        self.moved.clone()
    }

    /// Rows with the columns of the table, each in the right place, and the deletions that this needs.
    ///
    /// # Errors
    /// `InvalidInput` for values that their type can't have.
    pub(crate) fn place(&mut self, rows: &RecordBatch, kinds: &Int32Array) -> Result<RoutedRows> {
        let (mut key_rows, mut ends) = (Vec::new(), Vec::with_capacity(rows.num_rows()));
        self.keys.each(rows, |_, key| {
            key_rows.extend_from_slice(key);
            ends.push(key_rows.len());
            Ok(())
        })?;
        let mut partitions = std::mem::replace(&mut self.partitions, KeyRows::none());
        let (mut out, mut start) = (Vec::with_capacity(rows.num_rows()), 0);
        let placed = partitions.each(rows, |row, partition| {
            let end = ends.get(row).copied().unwrap_or_default();
            let key = key_rows.get(start..end).unwrap_or_default();
            start = end;
            let columns = &self.partition_columns;
            let values = || columns.iter().filter_map(|at| rows.columns().get(*at)).map(|c| c.slice(row, 1)).collect();
            let values: Vec<ArrayRef> = if self.numbers.contains_key(partition) { Vec::new() } else { values() };
            let number = self.number(partition, || values);
            let kind = kinds.values().get(row).copied().unwrap_or_default();
            self.place_row(row as u32, (key, number, partition), kind, &mut out)
        });
        self.partitions = partitions;
        placed?;
        self.laid_out(rows, &out)
    }

    fn place_row(
        &mut self,
        row: u32,
        (key, partition, partition_row): (&[u8], usize, &[u8]),
        kind: i32,
        out: &mut Vec<KeyOutput>,
    ) -> Result<()> {
        if kind == DELETE && !self.undone.is_empty() && self.undone.contains(&(key.to_vec(), partition_row.to_vec())) {
            return Ok(());
        }
        match self.places.get(key).copied() {
            Some((there, bucket)) if there == partition => out.push(KeyOutput { row, partition: None, kind, bucket }),
            Some((there, bucket)) if self.deletes || self.elsewhere == Elsewhere::Joins => {
                out.push(KeyOutput { row, partition: Some(there), kind, bucket });
            }
            Some(_) if self.elsewhere == Elsewhere::IsLeftOut => {}
            Some((there, bucket)) => {
                out.push(KeyOutput { row, partition: Some(there), kind: DELETE, bucket });
                let known = self.known.get_mut(there).ok_or_else(missing)?;
                *known.counts.entry(bucket).or_default() -= 1;
                self.moved.insert((key.to_vec(), known.row.clone()));
                let bucket = self.new_place(key, partition)?;
                out.push(KeyOutput { row, partition: None, kind, bucket });
            }
            None if self.deletes => {}
            None => {
                let bucket = self.new_place(key, partition)?;
                out.push(KeyOutput { row, partition: None, kind, bucket });
            }
        }
        Ok(())
    }

    fn new_place(&mut self, key: &[u8], partition: usize) -> Result<i32> {
        let counts = &mut self.known.get_mut(partition).ok_or_else(missing)?.counts;
        let open = counts.iter().find(|(_, count)| **count < self.target_rows).map(|(bucket, _)| *bucket);
        let new = || (0..).find(|bucket| !counts.contains_key(bucket)).unwrap_or(0);
        let bucket = open.unwrap_or_else(new);
        *counts.entry(bucket).or_default() += 1;
        self.places.insert(key.into(), (partition, bucket));
        Ok(bucket)
    }

    fn laid_out(&self, rows: &RecordBatch, out: &[KeyOutput]) -> Result<RoutedRows> {
        let at: UInt32Array = out.iter().map(|o| o.row).collect::<Vec<_>>().into();
        let failed = |e| Error::internal("rows can't be put into partitions").because(e);
        let taken = take_record_batch(rows, &at).map_err(failed)?;
        let mut columns = taken.columns().to_vec();
        let mut others: Vec<usize> = out.iter().filter_map(|o| o.partition).collect();
        others.sort_unstable();
        others.dedup();
        for (i, column) in self.partition_columns.iter().enumerate().filter(|_| !others.is_empty()) {
            let Some(target) = columns.get_mut(*column) else { return Err(missing()) };
            let value = |number: &usize| self.known.get(*number).and_then(|known| known.values.get(i));
            let values = others.iter().map(value).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
            let arrays: Vec<&dyn Array> = [&*target].into_iter().chain(values).map(|a| a.as_ref()).collect();
            let source = |(row, o): (usize, &KeyOutput)| match o.partition.map(|number| others.binary_search(&number)) {
                Some(Ok(found)) => (found + 1, 0),
                _ => (0, row),
            };
            let rows: Vec<(usize, usize)> = out.iter().enumerate().map(source).collect();
            *target = interleave(&arrays, &rows).map_err(failed)?;
        }
        Ok(RoutedRows {
            rows: RecordBatch::try_new(taken.schema(), columns).map_err(failed)?,
            kinds: out.iter().map(|o| o.kind).collect::<Vec<_>>().into(),
            buckets: out.iter().map(|o| o.bucket).collect::<Vec<_>>().into(),
        })
    }
}

fn missing() -> Error {
    Error::internal("a partition is unknown")
}

/// The keys of a split, which has one bucket.
#[derive(Debug, Default)]
struct SplitKeys {
    /// Its row, and a value of each column.
    partition: Option<(Vec<u8>, Vec<ArrayRef>)>,
    bucket: i32,
    keys: Vec<Box<[u8]>>,
}

impl SplitKeys {
    fn read(
        table: &PaimonTable,
        split: &Split,
        mut keys: KeyRows,
        mut partitions: KeyRows,
        partition_columns: &[usize],
    ) -> Result<SplitKeys> {
        let mut out = SplitKeys::default();
        let (store, cache) = (table.folder().store(), DeleteCache::default());
        for task in &split.tasks {
            let bucket_file = task.data_file.bucket_file.as_deref();
            out.bucket = bucket_file
                .map(|bucket_file| bucket_file.bucket)
                .ok_or_else(|| Error::internal("a file has no bucket"))?;
            for rows in read_task(store, &split.context, task, &cache)? {
                let rows = rows?;
                if out.partition.is_none() && rows.num_rows() > 0 {
                    let first = rows.slice(0, 1);
                    partitions.each(&first, |_, row| {
                        let values = partition_columns.iter().filter_map(|at| first.columns().get(*at).cloned());
                        out.partition = Some((row.to_vec(), values.collect()));
                        Ok(())
                    })?;
                }
                keys.each(&rows, |_, key| {
                    out.keys.push(key.into());
                    Ok(())
                })?;
            }
        }
        Ok(out)
    }
}
