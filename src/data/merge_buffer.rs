//! Merges the rows of a writer's buffer that have the same key, before they become a file.
//!
//! What is left are rows that take others away too: they have to reach those in older files.
//!
//! Source: Java's `SortBufferWriteBuffer`, `DeduplicateMergeFunction`, `FirstRowMergeFunction`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{SortOptions, concat_batches, partition, take_record_batch};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::leveled_columns::key_value_columns;
use super::merge_read::Merge;
use super::merge_rules::{Engine, Rules};
use super::merge_runs::is_added;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::store::Location;
use crate::task::{DataFile, FileContent, FileFormat, PaimonContext, Partition, ReadContext, ScanTask};
use crate::types::options::Options;
use crate::types::{Field, Schema};

/// Rows of one key that are merged at once.
const ROWS_AT_ONCE: usize = 128;

/// Merges rows that have all columns of a table, then a sequence number and a kind.
pub struct BufferMerge {
    schema: Arc<Schema>,
    paimon: Arc<PaimonContext>,
    /// Where the key columns are.
    key: Vec<usize>,
    rules: Rules,
    /// Where the columns are that tell which row came later.
    order: Vec<usize>,
}

fn failed(e: ArrowError) -> Error {
    Error::internal("rows of a write buffer can't be merged").because(e)
}

impl BufferMerge {
    /// For rows of a table with these columns, key and options.
    ///
    /// # Errors
    /// `InvalidInput` for options that contradict each other; `Internal` for a key that the schema lacks.
    pub fn new(schema: Arc<Schema>, paimon: PaimonContext) -> Result<BufferMerge> {
        let rules = Rules::new(&Options(&paimon.options), &schema)?;
        let place = |id: &i32| {
            let at = schema.fields.iter().position(|f| f.id == *id);
            at.ok_or_else(|| Error::internal(format!("the schema has no column {id}, which rows are merged by")))
        };
        let key = paimon.key.iter().map(place).collect::<Result<Vec<_>>>()?;
        let order = rules.order.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(BufferMerge { schema, paimon: Arc::new(paimon), key, rules, order })
    }

    /// The columns that rows have behind those of the table: sequence number and kind.
    pub fn own_columns() -> [Field; 2] {
        key_value_columns().map(|f| Field { required: true, ..f })
    }

    /// Whether rows that take others away are left out, in files as in what is read.
    pub fn ignores_deletes(&self) -> bool {
        self.rules.ignore_delete
    }

    /// Where rows with another key begin and end.
    ///
    /// # Errors
    /// `Internal` for keys that can't be compared.
    pub fn groups(&self, rows: &RecordBatch) -> Result<Vec<Range<usize>>> {
        let keys: Vec<ArrayRef> = self.key.iter().filter_map(|at| rows.columns().get(*at).cloned()).collect();
        Ok(partition(&keys).map_err(failed)?.ranges())
    }

    /// Checks that the table takes rows of their kinds, which their last column says.
    ///
    /// # Errors
    /// `InvalidInput` if it does not.
    pub fn check_kinds(&self, rows: &RecordBatch) -> Result<()> {
        if self.rules.engine == Engine::FirstRow && !self.all_added(rows)? {
            return Err(Error::invalid("rows can't be deleted from a table that keeps the first rows")
                .hint("Set 'ignore-delete' for the table"));
        }
        Ok(())
    }

    /// One row for each key, in the same order. Rows come sorted by key, those with one key in the order they were given.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table's merge engine does not take.
    pub fn merge(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let groups = self.groups(rows)?;
        self.check_kinds(rows)?;
        if groups.len() == rows.num_rows() {
            return Ok(rows.clone());
        }
        match &self.rules.engine {
            Engine::Deduplicate => self.picked(rows, self.latest(rows, &groups)?),
            Engine::FirstRow => self.picked(rows, groups.iter().map(|group| group.start as u32).collect()),
            Engine::PartialUpdate(_) | Engine::Aggregation => self.combined(rows, &groups),
        }
    }

    fn kinds<'a>(&self, rows: &'a RecordBatch) -> Result<&'a Int32Array> {
        let kinds = rows.columns().last().and_then(|c| c.as_primitive_opt::<Int32Type>());
        kinds.ok_or_else(|| Error::internal("rows of a write buffer have no kind"))
    }

    fn all_added(&self, rows: &RecordBatch) -> Result<bool> {
        Ok(self.kinds(rows)?.values().iter().all(|kind| is_added(*kind)))
    }

    fn picked(&self, rows: &RecordBatch, at: Vec<u32>) -> Result<RecordBatch> {
        take_record_batch(rows, &UInt32Array::from(at)).map_err(failed)
    }

    /// The latest row of each group.
    fn latest(&self, rows: &RecordBatch, groups: &[Range<usize>]) -> Result<Vec<u32>> {
        if self.order.is_empty() {
            return Ok(groups.iter().map(|group| group.end.saturating_sub(1) as u32).collect());
        }
        let columns: Vec<ArrayRef> = self.order.iter().filter_map(|at| rows.columns().get(*at).cloned()).collect();
        let options = SortOptions { descending: self.rules.descending, nulls_first: true };
        let field = |c: &ArrayRef| SortField::new_with_options(c.data_type().clone(), options);
        let order = RowConverter::new(columns.iter().map(field).collect()).map_err(failed)?;
        let order = order.convert_columns(&columns).map_err(failed)?;
        // Of equal ones the last.
        let latest = |group: &Range<usize>| group.clone().max_by(|a, b| order.row(*a).cmp(&order.row(*b)));
        Ok(groups.iter().filter_map(|group| latest(group).map(|row| row as u32)).collect())
    }

    /// Rows that are put together of those with one key.
    fn combined(&self, rows: &RecordBatch, groups: &[Range<usize>]) -> Result<RecordBatch> {
        let most = groups.iter().map(Range::len).max().unwrap_or_default();
        let mut done: Option<RecordBatch> = None;
        // The first rows of all keys are one run, the second ones another.
        for start in (0..most).step_by(ROWS_AT_ONCE) {
            let run = |rank: usize| {
                let at = groups.iter().filter(|g| rank < g.len()).map(|g| (g.start + rank) as u32).collect();
                self.picked(rows, at)
            };
            let mut runs: Vec<RecordBatch> = done.take().into_iter().collect();
            for rank in start..(start + ROWS_AT_ONCE).min(most) {
                runs.push(run(rank)?);
            }
            done = Some(self.merge_runs(runs, rows)?);
        }
        let merged = done.ok_or_else(|| Error::internal("there is nothing to merge"))?;
        if merged.num_rows() != groups.len() {
            return Err(Error::internal("merging the rows of a write buffer lost some"));
        }
        // A merged row is as late as the latest that it is made of.
        let sequence = rows.columns().iter().rev().nth(1).and_then(|c| c.as_primitive_opt::<Int64Type>());
        let sequence: &Int64Array =
            sequence.ok_or_else(|| Error::internal("rows of a write buffer have no sequence number"))?;
        let latest = groups.iter().map(|g| sequence.values().get(g.clone()).and_then(|s| s.iter().max()).copied());
        let latest: ArrayRef = Arc::new(Int64Array::from_iter(latest));
        let mut columns = merged.columns().to_vec();
        let at = columns.len().saturating_sub(2);
        if let Some(column) = columns.get_mut(at) {
            *column = latest;
        }
        RecordBatch::try_new(rows.schema(), columns).map_err(failed)
    }

    fn merge_runs(&self, runs: Vec<RecordBatch>, like: &RecordBatch) -> Result<RecordBatch> {
        let batch_rows = runs.iter().map(RecordBatch::num_rows).sum::<usize>().max(1);
        let context = ReadContext {
            schema: self.schema.clone(),
            projection: self.schema.clone(),
            dropped: Arc::new([]),
            change_filter: Arc::new(BoundPredicate::True),
            snapshot_id: None,
            location: Location::recorded(),
            storage_options: BTreeMap::new(),
            name_mapping: None,
            keep_deleted: false,
            batch_rows,
            paimon: Some(self.paimon.clone()),
        };
        let partition = Arc::new(Partition { spec_id: 0, values: Vec::new() });
        let task = ScanTask {
            data_file: Arc::new(DataFile::new(FileContent::Data, "", FileFormat::Parquet, partition)),
            start: 0,
            length: 0,
            deletes: Vec::new(),
            residual: Arc::new(BoundPredicate::True),
            change: None,
            merge: None,
        };
        let mut merge = Merge::plan(&Arc::new(context), &task, true, true)?;
        merge.keeps_deletes = true;
        let sources = runs.into_iter().map(|run| Box::new(std::iter::once(Ok(run))) as _).collect();
        let merged = merge.over(sources)?.collect::<Result<Vec<RecordBatch>>>()?;
        let schema = merged.first().map(RecordBatch::schema);
        let merged = concat_batches(&schema.ok_or_else(|| Error::internal("merged rows are gone"))?, &merged);
        let merged = merged.map_err(failed)?;
        // The kind is the last column; the sequence number before it comes later.
        let mut columns = merged.columns().to_vec();
        let none: ArrayRef = Arc::new(Int64Array::from_value(0, merged.num_rows()));
        columns.insert(columns.len().saturating_sub(1), none);
        RecordBatch::try_new(like.schema(), columns).map_err(failed)
    }
}
