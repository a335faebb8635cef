//! Loads the [`RowMoves`] of a commit.

use std::sync::Arc;

use crate::codec::bitmap::PositionSet;
use crate::data::changes::row_moves::{RowMoves, longs};
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::read::live::rows_between;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{ChangeOperation, CommitChanges, ReadContext, ScanTask};
use crate::store::Store;
use crate::types::metadata_columns::{LINEAGE_COLUMNS, metadata_column};
use crate::types::{Field, Schema};

impl RowMoves {
    /// Reads the ids of all rows that a commit removed or added.
    pub(super) fn load(
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
            for rows in rows_between(store, &context, &task, load(&task.deletes)?, removed_by)? {
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
}
