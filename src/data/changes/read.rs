//! Reads the rows that a commit added or removed, with the columns of a changelog.
//!
//! A task of a changelog names rows by two sets of deletes. The first set leaves the row. The second set is given if
//! the file itself stayed: it removes the row on the other side of the commit.
//!
//! Rows of format version 3 keep their ids. A row that the commit only moved to another file is then no change. A row
//! that it changed is an update: `update_before` and `update_after` instead of `delete` and `insert`. To find these
//! rows, the ids of all rows that the commit removed and added are compared, as compressed sets and without the rows.
//!
//! Source: Iceberg specification, "Row Lineage".

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use crate::data::arrow::schema::to_arrow;
use crate::data::changes::row_moves::{RowMoves, longs};
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::read::filter::matches;
use crate::data::read::live::{live_rows, rows_between, select};
use crate::data::read::rows::{Batches, RawRows};
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{ReadContext, ScanTask, TaskChange};
use crate::store::Store;
use crate::types::metadata_columns::LAST_USER_FIELD_ID;
use crate::types::metadata_columns::{
    CHANGE_COLUMNS, CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, LAST_UPDATED, LINEAGE_COLUMNS, ROW_ID,
    metadata_column,
};
use crate::types::{Field, FieldId, Schema};

/// The rows of a task of a changelog, as [`live_rows`] gives those of other tasks.
///
/// # Errors
/// The errors of [`live_rows`]; `CorruptTable` for row ids out of range.
pub(crate) fn read_changes(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    change: &TaskChange,
    cache: &DeleteCache,
) -> Result<Batches> {
    let (live, removed_by) = match &change.removed_by {
        None => (None, None),
        Some(removed_by) => {
            let load = |deletes| DeleteFilter::load(store, context, &task.data_file, deletes, cache);
            let (live, removed_by) = (load(&task.deletes)?, load(removed_by)?);
            if removed_by.is_within(&live) {
                return Ok(Box::new(std::iter::empty()));
            }
            (Some(live), Some(removed_by))
        }
    };
    let moves = match &change.commit {
        Some(commit) => {
            Some(cache.row_moves(change.commit_snapshot_id, || RowMoves::load(store, context, commit, cache))?)
        }
        None => None,
    };
    let columns = ChangeColumns::new(context, moves.is_some())?;
    let label = Label { change: change.clone(), moves, columns };
    if label.is_out()? {
        return Ok(Box::new(std::iter::empty()));
    }
    let inner = Arc::new(ReadContext { projection: label.columns.inner.clone(), ..context.as_ref().clone() });
    if live.is_none() && !label.columns.has_lineage() {
        let plain = ScanTask { change: None, ..task.clone() };
        let rows = live_rows(store, &inner, &plain, cache)?;
        let labelled = rows.map(move |batch| label.rows(unplaced(batch?)).map(|rows| rows.batch));
        return Ok(Box::new(labelled.filter(has_rows)));
    }
    let live = match live {
        Some(live) => live,
        None => DeleteFilter::load(store, context, &task.data_file, &task.deletes, cache)?,
    };
    let rows = rows_between(store, &inner, task, live, removed_by)?;
    let labelled = rows.map(move |rows| label.rows(rows?).map(|rows| rows.batch));
    Ok(Box::new(labelled.filter(has_rows)))
}

fn has_rows(batch: &Result<RecordBatch>) -> bool {
    batch.as_ref().map_or(true, |b| b.num_rows() > 0)
}

fn unplaced(batch: RecordBatch) -> RawRows {
    RawRows { batch, keys: Default::default(), positions: Default::default() }
}

/// The columns that are read, and those of them that rows get in the end.
struct ChangeColumns {
    /// The schema of the batches that are returned.
    schema: SchemaRef,
    ids: Vec<FieldId>,
    /// The columns to read from the file: the table's columns, then those of the lineage that are needed.
    inner: Arc<Schema>,
    /// The first lineage column among them.
    first_lineage: usize,
    /// The filter on the columns that are not the table's.
    filter: Arc<BoundPredicate>,
}

impl ChangeColumns {
    fn new(context: &ReadContext, nets: bool) -> Result<ChangeColumns> {
        let wanted = &context.projection;
        let mut fields: Vec<Field> = wanted.fields.iter().filter(|f| f.id <= LAST_USER_FIELD_ID).cloned().collect();
        let first_lineage = fields.len();
        let filter = context.change_filter.clone();
        let asked = filter.field_ids();
        let is_wanted = |id: &FieldId| asked.contains(id) || wanted.fields.iter().any(|f| f.id == *id);
        let needed = LINEAGE_COLUMNS.into_iter().filter(|id| nets || is_wanted(id));
        fields.extend(needed.filter_map(metadata_column));
        Ok(ChangeColumns {
            schema: to_arrow(wanted)?,
            ids: wanted.fields.iter().map(|f| f.id).collect(),
            inner: Arc::new(Schema::new(wanted.id, fields, Vec::new())),
            first_lineage,
            filter,
        })
    }

    fn has_lineage(&self) -> bool {
        self.inner.fields.len() > self.first_lineage
    }

    fn lineage<'b>(&self, batch: &'b RecordBatch, id: FieldId) -> Result<&'b Int64Array> {
        let place = self.inner.fields.iter().position(|f| f.id == id);
        longs(place.and_then(|at| batch.columns().get(at)))
    }
}

/// Adds the columns of a changelog to the rows of one task.
struct Label {
    change: TaskChange,
    moves: Option<Arc<RowMoves>>,
    columns: ChangeColumns,
}

impl Label {
    fn rows(&self, rows: RawRows) -> Result<RawRows> {
        let (rows, types) = match &self.moves {
            None => {
                let types = vec![self.change.operation.as_str(); rows.batch.num_rows()];
                (rows, types)
            }
            Some(moves) => {
                let ids = self.columns.lineage(&rows.batch, ROW_ID)?;
                let updated = self.columns.lineage(&rows.batch, LAST_UPDATED)?;
                let types: Vec<Option<&str>> =
                    (0..ids.len()).map(|i| moves.change_type(self.change.operation, ids, updated, i)).collect();
                let kept = BooleanBuffer::collect_bool(types.len(), |i| types.get(i).is_some_and(Option::is_some));
                (select(rows, kept)?, types.into_iter().flatten().collect())
            }
        };
        let count = rows.batch.num_rows();
        let mut own = rows.batch.columns().iter().take(self.columns.first_lineage);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.ids.len());
        for id in &self.columns.ids {
            arrays.push(match *id {
                id if id > LAST_USER_FIELD_ID => self.change_column(id, &rows, &types)?,
                _ => own.next().cloned().ok_or_else(|| Error::internal("a column was not read"))?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(self.columns.schema.clone(), arrays, &options)
            .map_err(|e| Error::internal("the rows of a change are not an Arrow batch").because(e))?;
        let filter = &self.columns.filter;
        if **filter == BoundPredicate::True {
            return Ok(RawRows { batch, ..rows });
        }
        let asked: Result<HashMap<FieldId, ArrayRef>> =
            filter.field_ids().into_iter().map(|id| Ok((id, self.change_column(id, &rows, &types)?))).collect();
        let asked = asked?;
        let kept = matches(filter, count, &|id| asked.get(&id).cloned())?;
        select(RawRows { batch, ..rows }, kept)
    }

    /// The values of the rows in one of the columns that are not the table's.
    fn change_column(&self, id: FieldId, rows: &RawRows, types: &[&str]) -> Result<ArrayRef> {
        Ok(match id {
            CHANGE_TYPE => Arc::new(StringArray::from_iter_values(types)),
            CHANGE_ORDINAL => Arc::new(Int32Array::from_value(self.change.ordinal, types.len())),
            COMMIT_SNAPSHOT_ID => Arc::new(Int64Array::from_value(self.change.commit_snapshot_id, types.len())),
            id => Arc::new(self.columns.lineage(&rows.batch, id)?.clone()),
        })
    }

    /// Whether the filter excludes all rows of the task. This is known if all its rows have the same change.
    fn is_out(&self) -> Result<bool> {
        let filter = &self.columns.filter;
        if self.moves.is_some() || filter.field_ids().iter().any(|id| !CHANGE_COLUMNS.contains(id)) {
            return Ok(false);
        }
        let nothing = unplaced(RecordBatch::new_empty(self.columns.schema.clone()));
        let types = [self.change.operation.as_str()];
        let arrays: Result<HashMap<FieldId, ArrayRef>> =
            CHANGE_COLUMNS.into_iter().map(|id| Ok((id, self.change_column(id, &nothing, &types)?))).collect();
        let arrays = arrays?;
        Ok(matches(filter, 1, &|id| arrays.get(&id).cloned())?.count_set_bits() == 0)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
