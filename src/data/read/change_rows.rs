//! Reads the rows that a commit added or removed, with the columns that say so.
//!
//! A task of a changelog names rows by two sets of deletes: those that leave the row, and, where the file itself stayed,
//! those that remove it on the other side of the commit. Where rows keep their ids (format version 3), a row that the commit
//! only moved to another file is no change, and one that it changed on the way is an update: `update_before` and
//! `update_after` instead of `delete` and `insert`. For that the ids of all rows that the commit removed and added are
//! compared, as compressed sets and without the rows.
//!
//! Source: Iceberg specification, "Row Lineage".

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use super::file::{Batches, open_rows, read_task};
use super::filter::matches;
use super::task_reader::Rows;
use crate::codec::bitmap::PositionSet;
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::files::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{Change, ChangeOperation, CommitChanges, ReadContext, ScanTask};
use crate::store::Store;
use crate::types::metadata_columns::{
    CHANGE_COLUMNS, CHANGE_ORDINAL, CHANGE_TYPE, COMMIT_SNAPSHOT_ID, LAST_UPDATED, LINEAGE_COLUMNS, ROW_ID,
    metadata_column,
};
use crate::types::schema::LAST_USER_FIELD_ID;
use crate::types::{Field, FieldId, Schema};

/// The rows of a task of a changelog, as [`read_task`] gives those of other tasks.
///
/// # Errors
/// As [`read_task`]; `CorruptTable` for row ids out of range.
pub(crate) fn read_changes(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    change: &Change,
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
    let columns = Columns::new(context, moves.is_some())?;
    let label = Label { change: change.clone(), moves, columns };
    if label.is_out()? {
        return Ok(Box::new(std::iter::empty()));
    }
    let inner = Arc::new(ReadContext { projection: label.columns.inner.clone(), ..context.as_ref().clone() });
    if live.is_none() && !label.columns.has_lineage() {
        let plain = ScanTask { change: None, ..task.clone() };
        let rows = read_task(store, &inner, &plain, cache)?;
        let labelled = rows.map(move |batch| label.rows(unplaced(batch?)).map(|rows| rows.batch));
        return Ok(Box::new(labelled.filter(has_rows)));
    }
    let live = match live {
        Some(live) => live,
        None => DeleteFilter::load(store, context, &task.data_file, &task.deletes, cache)?,
    };
    let rows = live_rows(store, &inner, task, live, removed_by)?;
    let labelled = rows.map(move |rows| label.rows(rows?).map(|rows| rows.batch));
    Ok(Box::new(labelled.filter(has_rows)))
}

fn has_rows(batch: &Result<RecordBatch>) -> bool {
    batch.as_ref().map_or(true, |b| b.num_rows() > 0)
}

fn unplaced(batch: RecordBatch) -> Rows {
    Rows { batch, keys: Default::default(), positions: Default::default() }
}

/// The rows of a task that `live` leaves and that `removed_by`, if given, removes; with their positions.
fn live_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    live: DeleteFilter,
    removed_by: Option<DeleteFilter>,
) -> Result<impl Iterator<Item = Result<Rows>> + Send + use<>> {
    let keys: BTreeSet<FieldId> =
        live.key_ids().into_iter().chain(removed_by.iter().flat_map(DeleteFilter::key_ids)).collect();
    let plain = ScanTask { change: None, ..task.clone() };
    let rows = open_rows(store, context, &plain, &keys.into_iter().collect::<Vec<_>>())?;
    Ok(rows.map(move |rows| {
        let rows = rows?;
        let mut kept = live.keep(&rows.keys, &rows.positions)?;
        if let Some(removed_by) = &removed_by {
            kept = &kept & &!&removed_by.keep(&rows.keys, &rows.positions)?;
        }
        select(rows, kept)
    }))
}

fn select(rows: Rows, kept: BooleanBuffer) -> Result<Rows> {
    if kept.count_set_bits() == kept.len() {
        return Ok(rows);
    }
    let positions = rows.positions.filter(&kept);
    let batch = filter_record_batch(&rows.batch, &BooleanArray::new(kept, None))
        .map_err(|e| Error::internal("rows cannot be filtered").because(e))?;
    Ok(Rows { batch, keys: Default::default(), positions })
}

/// Which columns are read, and which of them rows get in the end.
struct Columns {
    /// Of the batches given.
    schema: SchemaRef,
    ids: Vec<FieldId>,
    /// What is read of the file: the table's columns, then those of the lineage that are needed.
    inner: Arc<Schema>,
    /// The first lineage column among them.
    first_lineage: usize,
    /// What is asked of the columns that are not the table's.
    filter: Arc<BoundPredicate>,
}

impl Columns {
    fn new(context: &ReadContext, nets: bool) -> Result<Columns> {
        let wanted = &context.projection;
        let mut fields: Vec<Field> = wanted.fields.iter().filter(|f| f.id <= LAST_USER_FIELD_ID).cloned().collect();
        let first_lineage = fields.len();
        let filter = context.change_filter.clone();
        let asked = filter.field_ids();
        let is_wanted = |id: &FieldId| asked.contains(id) || wanted.fields.iter().any(|f| f.id == *id);
        let needed = LINEAGE_COLUMNS.into_iter().filter(|id| nets || is_wanted(id));
        fields.extend(needed.filter_map(metadata_column));
        Ok(Columns {
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

fn longs(lineage: Option<&ArrayRef>) -> Result<&Int64Array> {
    lineage.and_then(|a| a.as_primitive_opt()).ok_or_else(|| Error::internal("a lineage column was not read"))
}

/// Adds the columns of a changelog to the rows of one task.
struct Label {
    change: Change,
    moves: Option<Arc<RowMoves>>,
    columns: Columns,
}

impl Label {
    fn rows(&self, rows: Rows) -> Result<Rows> {
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
                id if id > LAST_USER_FIELD_ID => self.said(id, &rows, &types)?,
                _ => own.next().cloned().ok_or_else(|| Error::internal("a column was not read"))?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(self.columns.schema.clone(), arrays, &options)
            .map_err(|e| Error::internal("the rows of a change are no Arrow batch").because(e))?;
        let filter = &self.columns.filter;
        if **filter == BoundPredicate::True {
            return Ok(Rows { batch, ..rows });
        }
        let asked: Result<HashMap<FieldId, ArrayRef>> =
            filter.field_ids().into_iter().map(|id| Ok((id, self.said(id, &rows, &types)?))).collect();
        let asked = asked?;
        let kept = matches(filter, count, &|id| asked.get(&id).cloned())?;
        select(Rows { batch, ..rows }, kept)
    }

    /// What is said of the rows in one of the columns that are not the table's.
    fn said(&self, id: FieldId, rows: &Rows, types: &[&str]) -> Result<ArrayRef> {
        Ok(match id {
            CHANGE_TYPE => Arc::new(StringArray::from_iter_values(types)),
            CHANGE_ORDINAL => Arc::new(Int32Array::from_value(self.change.ordinal, types.len())),
            COMMIT_SNAPSHOT_ID => Arc::new(Int64Array::from_value(self.change.commit_snapshot_id, types.len())),
            id => Arc::new(self.columns.lineage(&rows.batch, id)?.clone()),
        })
    }

    /// Whether no row of the task can be asked for: decided where all its rows have the same change.
    fn is_out(&self) -> Result<bool> {
        let filter = &self.columns.filter;
        if self.moves.is_some() || filter.field_ids().iter().any(|id| !CHANGE_COLUMNS.contains(id)) {
            return Ok(false);
        }
        let nothing = unplaced(RecordBatch::new_empty(self.columns.schema.clone()));
        let types = [self.change.operation.as_str()];
        let arrays: Result<HashMap<FieldId, ArrayRef>> =
            CHANGE_COLUMNS.into_iter().map(|id| Ok((id, self.said(id, &nothing, &types)?))).collect();
        let arrays = arrays?;
        Ok(matches(filter, 1, &|id| arrays.get(&id).cloned())?.count_set_bits() == 0)
    }
}

/// The rows that a commit both removed and added, by id.
#[derive(Debug, Default)]
pub(crate) struct RowMoves {
    /// Those that stayed as they were.
    carried: PositionSet,
    /// Those that changed.
    updated: PositionSet,
    sequence_number: i64,
}

impl RowMoves {
    /// Reads the ids of all rows that a commit removed or added.
    fn load(
        store: &Arc<dyn Store>,
        context: &Arc<ReadContext>,
        commit: &CommitChanges,
        cache: &DeleteCache,
    ) -> Result<RowMoves> {
        let mut removed = PositionSet::default();
        let mut out = RowMoves { sequence_number: commit.sequence_number, ..RowMoves::default() };
        let fields: Vec<Field> = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column).collect();
        let projection = Arc::new(Schema::new(context.schema.id, fields, Vec::new()));
        let context = Arc::new(ReadContext { projection, ..context.as_ref().clone() });
        let before = |id: &i64| *id < commit.first_row_id;
        for task in commit.tasks.iter().filter(|t| t.data_file.first_row_id.is_some()) {
            let Some(change) = &task.change else { continue };
            let load = |deletes| DeleteFilter::load(store, &context, &task.data_file, deletes, cache);
            let removed_by = change.removed_by.as_deref().map(load).transpose()?;
            let task = ScanTask { residual: Arc::new(BoundPredicate::True), ..task.clone() };
            for rows in live_rows(store, &context, &task, load(&task.deletes)?, removed_by)? {
                let rows = rows.with("path", &task.data_file.path)?;
                let [ids, updated] = rows.batch.columns() else {
                    return Err(Error::internal("the lineage columns were not read"));
                };
                let (ids, updated) = (longs(Some(ids))?, longs(Some(updated))?);
                if change.operation == ChangeOperation::Delete {
                    removed.extend(ids.values())?;
                    continue;
                }
                let is_new = |i: &usize| out.is_update(updated, *i);
                let (new, old): (Vec<usize>, Vec<usize>) = (0..ids.len()).partition(is_new);
                let of =
                    |places: Vec<usize>| places.into_iter().map(|i| ids.value(i)).filter(before).collect::<Vec<_>>();
                let (new, old) = (of(new), of(old));
                out.updated.extend(&new)?;
                out.carried.extend(&old)?;
            }
        }
        out.updated.intersect(&removed);
        out.carried.intersect(&removed);
        Ok(out)
    }

    fn is_update(&self, updated: &Int64Array, row: usize) -> bool {
        updated.is_null(row) || updated.value(row) >= self.sequence_number
    }

    /// What happened to a row; nothing if it was only moved.
    fn change_type(
        &self,
        operation: ChangeOperation,
        ids: &Int64Array,
        updated: &Int64Array,
        row: usize,
    ) -> Option<&'static str> {
        let known =
            |set: &PositionSet| ids.is_valid(row) && u64::try_from(ids.value(row)).is_ok_and(|id| set.contains(id));
        match operation {
            ChangeOperation::Delete if known(&self.carried) => None,
            ChangeOperation::Delete if known(&self.updated) => Some("update_before"),
            ChangeOperation::Insert if known(&self.carried) && !self.is_update(updated, row) => None,
            ChangeOperation::Insert if known(&self.updated) => Some("update_after"),
            operation => Some(operation.as_str()),
        }
    }
}

#[cfg(test)]
#[path = "change_rows_tests.rs"]
mod tests;
