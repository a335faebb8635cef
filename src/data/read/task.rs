//! Reads the rows of any kind of task.
//!
//! [`read_task`] is the entry to reading. A task reads one file ([`super::live`]), merges the files of a bucket
//! ([`crate::data::merge`]), or gives the changes of a commit ([`crate::data::changes`]). [`CountedBytes`] tells how
//! much is read.

use std::sync::Arc;

use super::file::check_supported;
use super::live::live_rows;
use super::rows::Batches;
use crate::data::changes::read::read_changes;
use crate::data::deletes::cache::DeleteCache;
use crate::data::merge::aligned_read::read_aligned;
use crate::data::merge::kind_rows::read_kinds;
use crate::data::merge::read::{MergeInput, read_section};
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{ReadContext, ScanTask};
use crate::parallel::{Unit, count_done};
use crate::store::Store;

/// The rows of a task that satisfy its residual and that its deletes leave. The batches have the columns of the
/// context's projection. No batch is empty, and the stream ends after an error. If the context says so, deleted rows
/// stay and are flagged. The tasks of a scan share `cache`, so that each delete file is read once.
///
/// # Errors
/// `Unsupported` for encrypted files. `CorruptTable` if the bytes of the file contradict themselves or the schema of
/// the table, and the errors of [`DeleteFilter::load`](crate::data::deletes::filter::DeleteFilter::load). These errors,
/// and those of the store, name the file and the snapshot. The stream gives the errors that occur after the start.
pub fn read_task(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    cache: &DeleteCache,
) -> Result<Batches> {
    let snapshot_id = task.change.as_ref().map(|c| c.commit_snapshot_id).or(context.snapshot_id);
    let of_snapshot = move |e: Error| snapshot_id.into_iter().fold(e, |e, id| e.with("snapshot", id));
    let batches = batches_of(store, context, task, cache).map_err(of_snapshot)?;
    Ok(Box::new(batches.map(move |batch| batch.map_err(of_snapshot))))
}

fn batches_of(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    task: &ScanTask,
    cache: &DeleteCache,
) -> Result<Batches> {
    if let (Some(change), Some(_)) = (&task.change, &context.buckets) {
        return read_kinds(MergeInput { store, context, cache }, task, change);
    }
    if let Some(change) = &task.change {
        return read_changes(store, context, task, change, cache);
    }
    check_supported(task).with("path", &task.data_file.path)?;
    if let (Some(section), Some(buckets)) = (&task.merge, &context.buckets) {
        let reading = MergeInput { store, context, cache };
        return match buckets.key.is_empty() {
            true => read_aligned(reading, task, section),
            false => read_section(reading, task, section),
        };
    }
    live_rows(store, context, task, cache)
}

/// The bytes of tasks that are read together.
#[derive(Debug, Default)]
pub(crate) struct CountedBytes {
    left: u64,
    per_row: u64,
}

impl CountedBytes {
    /// None of them is read yet.
    pub(crate) fn of<'t>(tasks: impl IntoIterator<Item = &'t ScanTask>) -> CountedBytes {
        let (mut left, mut size, mut rows) = (0u64, 0u64, 0u64);
        for task in tasks {
            left = left.saturating_add(bytes_of(task));
            each_file(task, &mut |file| {
                size = size.saturating_add(positive(file.data_file.size_bytes));
                rows = rows.saturating_add(positive(file.data_file.record_count));
            });
        }
        CountedBytes { left, per_row: size.checked_div(rows).unwrap_or(0) }
    }

    /// This number of rows was read.
    pub(crate) fn add(&mut self, rows: usize) {
        let bytes = self.per_row.saturating_mul(rows as u64).min(self.left);
        self.left -= bytes;
        count_done(Unit::Bytes, bytes);
    }

    /// All was read: the rows that a filter dropped, too.
    pub(crate) fn end(&mut self) {
        count_done(Unit::Bytes, std::mem::take(&mut self.left));
    }
}

/// The bytes of a task's part of its file, or of the files that are read together.
pub(crate) fn bytes_of(task: &ScanTask) -> u64 {
    let mut bytes = 0u64;
    each_file(task, &mut |file| bytes = bytes.saturating_add(positive(file.length)));
    bytes
}

fn each_file(task: &ScanTask, see: &mut impl FnMut(&ScanTask)) {
    match &task.merge {
        Some(section) => section.runs.iter().flatten().for_each(see),
        None => see(task),
    }
}

fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "task_property_tests.rs"]
mod property_tests;

#[cfg(test)]
#[path = "evolution_property_tests.rs"]
mod evolution_tests;
