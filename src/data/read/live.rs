//! The rows of a file that its deletes leave.
//!
//! [`live_rows`] is for callers that read one file. [`rows_between`] is for changelogs: it gives the rows that one set
//! of deletes leaves and another one removes.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;

use super::file::{open_live, open_rows};
use super::rows::{Batches, RawRows};
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::filter::DeleteFilter;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{ReadContext, ScanTask};
use crate::store::Store;
use crate::types::FieldId;

/// The rows of one file that satisfy the task's residual and that the task's deletes leave. The batches have the
/// columns of the context's projection. No batch is empty, and the stream ends after an error. If the context says so,
/// deleted rows stay and are flagged. The tasks of a scan share `cache`, so that each delete file is read once.
///
/// # Errors
/// `Unsupported` for encrypted files. `CorruptTable` if the bytes of the file contradict themselves or the schema of
/// the table, and the errors of [`DeleteFilter::load`]. These errors, and those of the store, name the file and the
/// snapshot.
pub(crate) fn live_rows(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    cache: &DeleteCache,
) -> Result<Batches> {
    let snapshot_id = context.snapshot_id;
    let of_snapshot = move |e: Error| snapshot_id.into_iter().fold(e, |e, id| e.with("snapshot", id));
    let load = |range_of: &dyn Fn(FieldId) -> BoundPredicate| {
        DeleteFilter::load_in_ranges(store, context, &task.data_file, &task.deletes, cache, range_of)
    };
    Ok(match open_live(store, context, task, &load).map_err(of_snapshot)? {
        Some(reader) => Box::new(reader.map(move |rows| rows.map(|rows| rows.batch).map_err(of_snapshot))),
        None => Box::new(std::iter::empty()),
    })
}

/// The rows of a task that `live` keeps and that `removed_by`, if given, removes. They come with their positions.
pub(crate) fn rows_between(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    live: DeleteFilter,
    removed_by: Option<DeleteFilter>,
) -> Result<impl Iterator<Item = Result<RawRows>> + Send + use<>> {
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

/// The rows at which `kept` has a set bit.
pub(crate) fn select(rows: RawRows, kept: BooleanBuffer) -> Result<RawRows> {
    if kept.count_set_bits() == kept.len() {
        return Ok(rows);
    }
    let positions = rows.positions.filter(&kept);
    let batch = filter_record_batch(&rows.batch, &BooleanArray::new(kept, None))
        .map_err(|e| Error::internal("rows cannot be filtered").because(e))?;
    Ok(RawRows { batch, keys: Default::default(), positions })
}
