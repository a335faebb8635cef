//! Merges the rows of a writer's buffer that have the same key, before they become a file.
//!
//! Rows that delete others stay, because they must reach the rows in older files.
//!
//! Source: Java's `SortBufferWriteBuffer`, `ReducerMergeFunctionWrapper`, `DeduplicateMergeFunction`,
//! `FirstRowMergeFunction`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{SortOptions, partition, take_record_batch};
use arrow::datatypes::{Int32Type, Int64Type};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::columns::ColumnMerge;
use super::picks::{MergedValue, Picks, RowPlace};
use super::read::{bits, column_rules};
use super::rules::{Engine, MergeRules};
use super::runs::{DELETE, INSERT, LoadedBatch, MergeLayout, is_added};
use crate::data::read::bucket_file_columns::key_value_columns;
use crate::error::{Error, Result};
use crate::format::task::BucketContext;
use crate::types::metadata_columns::KIND_ID;
use crate::types::options::Options;
use crate::types::{Field, FieldId, Schema, Value};

/// Merges rows that have all columns of a table, then a sequence number and a kind.
pub struct BufferMerge {
    schema: Arc<Schema>,
    buckets: BucketContext,
    /// The places of the key columns.
    key: Vec<usize>,
    rules: MergeRules,
    /// The positions of the columns that order rows with the same key.
    order: Vec<usize>,
}

fn failed(e: ArrowError) -> Error {
    Error::internal("rows of a write buffer can't be merged").because(e)
}

impl BufferMerge {
    /// Makes a merge for rows of a table with these columns, key and options.
    ///
    /// # Errors
    /// `InvalidInput` for options that contradict each other; `Internal` for a key that the schema lacks.
    pub fn new(schema: Arc<Schema>, buckets: BucketContext) -> Result<BufferMerge> {
        let rules = MergeRules::new(&Options(&buckets.options), &schema)?;
        let place = |id: &i32| {
            let at = schema.fields.iter().position(|f| f.id == *id);
            at.ok_or_else(|| Error::internal(format!("the schema has no column {id}, which rows are merged by")))
        };
        let key = buckets.key.iter().map(place).collect::<Result<Vec<_>>>()?;
        let order = rules.order.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok(BufferMerge { schema, buckets, key, rules, order })
    }

    /// The columns after those of the table: sequence number and kind.
    pub fn own_columns() -> [Field; 2] {
        key_value_columns().map(|f| Field { required: true, ..f })
    }

    /// Whether delete rows are left out, in files and in results.
    pub fn ignores_deletes(&self) -> bool {
        self.rules.ignore_delete
    }

    /// The ranges of rows that have the same key.
    ///
    /// # Errors
    /// `Internal` for keys that can't be compared.
    pub fn groups(&self, rows: &RecordBatch) -> Result<Vec<Range<usize>>> {
        let keys: Vec<ArrayRef> = self.key.iter().filter_map(|at| rows.columns().get(*at).cloned()).collect();
        Ok(partition(&keys).map_err(failed)?.ranges())
    }

    /// Checks that the table takes rows of these kinds, which are in their last column.
    ///
    /// # Errors
    /// `InvalidInput` if the table does not take them.
    pub fn check_kinds(&self, rows: &RecordBatch) -> Result<()> {
        if self.rules.engine == Engine::FirstRow && !self.all_added(rows)? {
            return Err(Error::invalid("rows can't be deleted from a table that keeps the first rows")
                .hint("Set 'ignore-delete' for the table"));
        }
        Ok(())
    }

    /// One row for each key, in the same order. Rows come sorted by key. Rows with the same key keep the order in which
    /// they were given.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table's merge engine does not take, and for merged nulls in required columns.
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
        // The last of equal rows is taken.
        let latest = |group: &Range<usize>| group.clone().max_by(|a, b| order.row(*a).cmp(&order.row(*b)));
        Ok(groups.iter().filter_map(|group| latest(group).map(|row| row as u32)).collect())
    }

    /// Builds one row from the rows with one key.
    fn combined(&self, rows: &RecordBatch, groups: &[Range<usize>]) -> Result<RecordBatch> {
        let plan = self.column_merge()?;
        let sequence_at = self.schema.fields.len();
        let layout = MergeLayout {
            key: self.key.clone(),
            order: self.order.clone(),
            descending: self.rules.descending,
            sequence: Some(sequence_at),
            kind: sequence_at + 1,
        };
        let batch = LoadedBatch::new(rows, layout)?;
        let picks = merged(&plan, &batch, groups)?;
        let [_, kind] = key_value_columns();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(sequence_at + 2);
        for (at, (picks, field)) in picks.iter().zip(self.schema.fields.iter().chain([&kind])).enumerate() {
            let at = if field.id == KIND_ID { sequence_at + 1 } else { at };
            columns.push(picks.array(&picks.gather(), &field.ty, |_| batch.columns.get(at))?);
        }
        // A merged row has the sequence number of its latest row.
        let sequence = rows.columns().get(sequence_at).and_then(|c| c.as_primitive_opt::<Int64Type>());
        let sequence: &Int64Array =
            sequence.ok_or_else(|| Error::internal("rows of a write buffer have no sequence number"))?;
        let latest = groups.iter().map(|g| sequence.values().get(g.clone()).and_then(|s| s.iter().max()).copied());
        columns.insert(sequence_at, Arc::new(Int64Array::from_iter(latest)));
        self.check_nulls(rows, &plan, &columns)?;
        RecordBatch::try_new(rows.schema(), columns).map_err(failed)
    }

    fn column_merge(&self) -> Result<ColumnMerge> {
        let fields = &self.schema.fields;
        // Partition columns of the primary key are not in `key`.
        let fixed: Vec<FieldId> = self.buckets.key.iter().chain(&self.schema.identifier_field_ids).copied().collect();
        let functions = self.rules.functions(&Options(&self.buckets.options), fields, &fixed)?;
        let functions = functions
            .into_iter()
            .zip(fields.iter())
            .map(|(function, field)| function.map(|f| f.with_bits(bits(&self.buckets, &self.schema, field))));
        Ok(ColumnMerge {
            functions: functions.collect(),
            types: fields.iter().map(|f| f.ty.clone()).collect(),
            rules: column_rules(&self.rules, fields),
        })
    }

    /// Checks for nulls in required columns. Functions that take rows back leave nulls. So do sequence groups without
    /// any value.
    fn check_nulls(&self, rows: &RecordBatch, plan: &ColumnMerge, columns: &[ArrayRef]) -> Result<()> {
        let mut fields = rows.schema_ref().fields().iter().zip(columns).enumerate();
        let wrong = fields.find(|(_, (field, column))| !field.is_nullable() && column.null_count() > 0);
        let Some((at, (field, _))) = wrong else { return Ok(()) };
        let name = field.name();
        let error =
            Error::invalid("merging rows with one key leaves a null in a column that is NOT NULL").with("column", name);
        let Some(function) = plan.functions.get(at).and_then(Option::as_ref) else {
            return Err(error.hint("Make the column nullable"));
        };
        let ignores = Options(&self.buckets.options).boolean_of_column(name, "ignore-retract")?;
        let hint = match ignores || self.all_added(rows)? {
            true => "Make the column nullable".to_owned(),
            false => format!("Set 'fields.{name}.ignore-retract' to 'true' for the table, or make the column nullable"),
        };
        Err(error.with("function", function.name()).hint(hint))
    }
}

/// The merged row of each group: the columns of the table, then the kind.
fn merged(plan: &ColumnMerge, batch: &LoadedBatch, groups: &[Range<usize>]) -> Result<Vec<Picks>> {
    let mut picks: Vec<Picks> = std::iter::repeat_with(Picks::default).take(plan.types.len() + 1).collect();
    let mut members: Vec<(usize, RowPlace)> = Vec::new();
    for group in groups {
        if group.len() == 1 {
            picks.iter_mut().for_each(|p| p.push_rows(0, group.start as u32, 1));
            continue;
        }
        members.clear();
        members.extend(group.clone().map(|row| (0, RowPlace { slot: 0, row: row as u32 })));
        // The sort is stable: equal rows keep the order in which they came.
        members.sort_by(|(_, a), (_, b)| batch.compare_age(a.row, batch, b.row));
        // The rows of a key are merged all at once, because a merged row must not be merged again like an incoming row.
        let row = plan.merge_row(&members, std::slice::from_ref(batch))?;
        let kind = MergedValue::computed(Some(Value::Int(if row.is_added { INSERT } else { DELETE })));
        picks.iter_mut().zip(row.columns.into_iter().chain([kind])).for_each(|(p, held)| p.push(held));
    }
    Ok(picks)
}

#[cfg(test)]
#[path = "buffer_tests.rs"]
mod tests;
