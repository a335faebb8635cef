//! Reads the changes by a commit of a Paimon table, with the columns of a changelog.
//!
//! Rows of a table with a primary key have their kind in `_VALUE_KIND`. All other rows are added. If a section has an
//! earlier state, the rows are those in which the two states differ.
//!
//! Source: Paimon documentation, "Incremental Query"; Java's `MergeFileSplitRead.createNoMergeReader`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Int32Type, SchemaRef};

use super::diff::DifferentRows;
use super::read::{MergeInput, Narrow, SectionMerge, file_context, has_rows};
use crate::data::arrow::schema::to_arrow;
use crate::data::read::bucket_file_columns::key_value_columns;
use crate::data::read::filter::matches;
use crate::data::read::live::live_rows;
use crate::data::read::rows::Batches;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{ChangeOperation, ReadContext, ScanTask, TaskChange};
use crate::types::metadata_columns::{CHANGE_COLUMNS, CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, KIND_ID};
use crate::types::{Field, FieldId, Schema};

/// The rows of a task of a changelog, as [`live_rows`] gives those of other tasks.
///
/// # Errors
/// The errors of [`live_rows`]; `CorruptTable` for unknown kinds.
pub(crate) fn read_kinds(reading: MergeInput<'_>, task: &ScanTask, change: &TaskChange) -> Result<Batches> {
    let context = reading.context;
    let own = context.projection.fields.iter().filter(|f| !CHANGE_COLUMNS.contains(&f.id)).cloned();
    let kind = key_value_columns().into_iter().filter(|f| f.id == KIND_ID);
    let read: Vec<Field> = own.chain(kind).collect();
    let rows: Batches = match &task.merge {
        None => {
            let optional = read.into_iter().map(|f| Field { required: false, ..f }).collect();
            let plain = ScanTask { change: None, ..task.clone() };
            live_rows(reading.store, &file_context(context, optional), &plain, reading.cache)?
        }
        Some(section) => {
            let projection = Schema::new(context.projection.id, read, Vec::new());
            let (fields, rows): (Vec<Field>, Batches) = match &section.before {
                Some(before) => {
                    let rows = DifferentRows::new(reading, task, section, before)?;
                    (rows.fields().to_vec(), Box::new(rows))
                }
                None => {
                    let merge = SectionMerge::plan(context, task, false, true)?;
                    (merge.fields.clone(), Box::new(merge.rows(reading, &section.runs)?))
                }
            };
            let narrow = Narrow::to(&fields, &projection, task)?;
            Box::new(rows.map(move |batch| narrow.rows(&batch?)))
        }
    };
    let label = Label::new(context, change)?;
    Ok(Box::new(rows.map(move |batch| label.rows(&batch?)).filter(has_rows)))
}

/// The columns of a table, followed by the kind of a row.
pub fn with_kind(columns: &Schema) -> Schema {
    let kind = key_value_columns().into_iter().filter(|f| f.id == KIND_ID);
    Schema::new(columns.id, columns.fields.iter().cloned().chain(kind).collect::<Vec<_>>(), Vec::new())
}

/// A context in which the files of a table with a primary key are read as they are, kinds and all.
pub fn as_written(context: &ReadContext) -> Arc<ReadContext> {
    let optional = |f: &Field| Field { required: false, ..f.clone() };
    let columns = with_kind(&context.schema);
    file_context(context, columns.fields.iter().map(optional).collect())
}

/// Adds the columns of a changelog.
struct Label {
    change: TaskChange,
    schema: SchemaRef,
    ids: Vec<FieldId>,
    filter: Arc<BoundPredicate>,
    has_key: bool,
}

impl Label {
    fn new(context: &ReadContext, change: &TaskChange) -> Result<Label> {
        Ok(Label {
            change: change.clone(),
            schema: to_arrow(&context.projection)?,
            ids: context.projection.fields.iter().map(|f| f.id).collect(),
            filter: context.change_filter.clone(),
            has_key: context.buckets.as_ref().is_some_and(|buckets| !buckets.key.is_empty()),
        })
    }

    /// Adds the changelog's columns to rows whose last column is their kind.
    fn rows(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let count = batch.num_rows();
        let (kinds, own) =
            batch.columns().split_last().ok_or_else(|| Error::internal("the kind of rows was not read"))?;
        let types = self.types(kinds)?;
        let mut own = own.iter();
        let column = |id: &FieldId| match CHANGE_COLUMNS.contains(id) {
            true => self.change_column(*id, &types),
            false => own.next().cloned().ok_or_else(|| Error::internal("a column was not read")),
        };
        let columns = self.ids.iter().map(column).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let labelled = RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::corrupt("the files' rows contradict the table's schema").because(e))?;
        if *self.filter == BoundPredicate::True {
            return Ok(labelled);
        }
        let asked = self.filter.field_ids().into_iter().map(|id| Ok((id, self.change_column(id, &types)?)));
        let asked: HashMap<FieldId, ArrayRef> = asked.collect::<Result<_>>()?;
        let kept = matches(&self.filter, count, &|id| asked.get(&id).cloned())?;
        filter_record_batch(&labelled, &BooleanArray::new(kept, None))
            .map_err(|e| Error::internal("rows cannot be filtered").because(e))
    }

    /// The change type of each row. If the commit removed the row, the change is undone.
    fn types(&self, kinds: &ArrayRef) -> Result<Vec<&'static str>> {
        let kinds =
            kinds.as_primitive_opt::<Int32Type>().ok_or_else(|| Error::internal("kinds are of another type"))?;
        // Files of tables without a key lack this column.
        if self.has_key && kinds.null_count() > 0 {
            return Err(Error::corrupt("a row of a table with a primary key has no kind"));
        }
        let removed = self.change.operation == ChangeOperation::Delete;
        let of = |kind: Option<i32>| match (kind.unwrap_or(0), removed) {
            (0, false) | (3, true) => Ok("insert"),
            (1, false) | (2, true) => Ok("update_before"),
            (2, false) | (1, true) => Ok("update_after"),
            (3, false) | (0, true) => Ok("delete"),
            (odd, _) => Err(Error::corrupt(format!("a row has the unknown kind {odd}"))),
        };
        kinds.iter().map(of).collect()
    }

    fn change_column(&self, id: FieldId, types: &[&'static str]) -> Result<ArrayRef> {
        Ok(match id {
            CHANGE_TYPE => Arc::new(StringArray::from_iter_values(types)),
            CHANGE_ORDINAL => Arc::new(Int32Array::from_value(self.change.ordinal, types.len())),
            COMMIT_SNAPSHOT_ID => Arc::new(Int64Array::from_value(self.change.commit_snapshot_id, types.len())),
            _ => return Err(Error::unsupported("a filter of changes cannot use this column")),
        })
    }
}
