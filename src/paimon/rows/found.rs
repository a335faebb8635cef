//! Finds the rows that a filter matches, file by file.

use crate::codec::bitmap::PositionSet;
use crate::error::{Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::ScanTask;
use crate::paimon::scan::handle::PaimonScan;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::changed_batch::FoundRows;
use crate::rows::row_changes::matched_rows::Hits;
use crate::rows::row_changes::placed::placed;
use crate::store::in_parallel;

/// Rows of a data file.
pub(crate) struct FileHits {
    /// The file. Its residual keeps these rows.
    pub task: ScanTask,
    /// Positions of the matching rows; `None` means all live rows.
    pub positions: Option<PositionSet>,
    /// As in [`Hits`].
    pub sources: Vec<u32>,
}

impl From<Hits> for FileHits {
    fn from(hits: Hits) -> FileHits {
        FileHits { task: hits.task, positions: Some(hits.positions), sources: hits.sources }
    }
}

impl FileHits {
    /// The rows.
    pub(crate) fn found(&self) -> FoundRows<'_> {
        FoundRows { positions: self.positions.as_ref(), sources: &self.sources }
    }

    /// Whether no other row is left in the file, as far as metadata shows.
    pub(crate) fn is_whole(&self) -> bool {
        let left = || left(&self.task).and_then(|n| u64::try_from(n).ok());
        self.positions.as_ref().is_none_or(|positions| left() == Some(positions.len()))
    }

    /// The number of rows. For a whole file with deletes that were not counted, it includes the deleted rows.
    pub(crate) fn rows(&self) -> u64 {
        let left = || u64::try_from(left(&self.task).unwrap_or(self.task.data_file.record_count)).unwrap_or(0);
        self.positions.as_ref().map_or_else(left, PositionSet::len)
    }
}

/// The rows of a file that are not deleted, as far as metadata shows.
fn left(task: &ScanTask) -> Option<i64> {
    // Files with columns of the same rows have the same deletes.
    let deletes = match &task.merge {
        Some(section) => section.runs.first().and_then(|run| run.first()).map(|file| &file.deletes)?,
        None => &task.deletes,
    };
    let deleted = deletes.iter().map(|d| (d.file.record_count >= 0).then_some(d.file.record_count));
    let deleted: i64 = deleted.sum::<Option<i64>>()?;
    task.data_file.record_count.checked_sub(deleted)
}

/// The tasks of a scan whose rows are changed together: single files, or files with columns of the same rows.
///
/// # Errors
/// Errors of planning.
pub(super) fn changed_tasks(scan: &PaimonScan) -> Result<Vec<ScanTask>> {
    match scan.table_schema().options().data_evolution()? {
        true => Ok(scan.tasks()?.collect()),
        false => scan.files(),
    }
}

/// The rows that a scan of a table without primary key finds in some of its tasks. Files are not read if metadata
/// proves that all their rows match.
///
/// # Errors
/// Errors of reading; a cancellation.
pub(crate) fn hits(scan: &PaimonScan, tasks: Vec<ScanTask>) -> Result<Vec<FileHits>> {
    let reader = scan.placed_reader(&[]);
    let found = in_parallel(reader.store.as_ref(), tasks.len(), |i| {
        let Some(task) = tasks.get(i).filter(|t| *t.residual != BoundPredicate::True) else { return Ok(None) };
        let mut found = PositionSet::default();
        for rows in reader.read(task)? {
            check_cancelled()?;
            found.extend(placed(rows?)?.positions.values()).with("path", &task.data_file.path)?;
        }
        let all = left(task).and_then(|n| u64::try_from(n).ok()) == Some(found.len());
        Ok((!all || found.is_empty()).then_some(found))
    })?;
    let hits = tasks.into_iter().zip(found).map(|(task, positions)| FileHits { task, positions, sources: Vec::new() });
    Ok(hits.filter(|h| h.positions.as_ref().is_none_or(|p| !p.is_empty())).collect())
}
