//! Deleting the rows that match a filter.

use super::apply::apply;
use super::live::LiveRows;
use super::plan::{Touched, whole_files};
use super::positions::check_tasks;
use super::view::{Isolation, Mode, View};
use crate::codec::bitmap::PositionSet;
use crate::error::{Result, ResultExt};
use crate::expr::Predicate;
use crate::format::row_change::Command;
use crate::format::task::{DataFile, ScanTask};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::plan::file_bounds::strict;
use crate::iceberg::rows::effect::Effect;
use crate::parallel::{check_cancelled, in_parallel};
use crate::rows::row_changes::matched_rows::Hits;
use crate::rows::row_changes::patch::Remove;

/// The files and rows to remove.
pub(crate) enum RowRemoval {
    /// The number of files that match as a whole now. The commit finds the actual files.
    Whole(usize),
    /// These files, and these rows of others.
    Named(Vec<DataFile>, Vec<Hits>),
}

pub(crate) fn delete(view: &View, filter: &Predicate) -> Result<Option<SnapshotProducer>> {
    let mode = view.mode(Command::Delete)?;
    match find(view, filter, mode)? {
        RowRemoval::Whole(0) => Effect::none(view).change(view, Command::Delete, filter.clone()).map(Some),
        RowRemoval::Whole(_) => Ok(Some(view.change(Operation::Delete).remove_where(filter))),
        RowRemoval::Named(files, hits) => {
            let mut effect = apply(view, mode, hits, &Remove)?;
            effect.removed.extend(files);
            effect.change(view, Command::Delete, filter.clone()).map(Some)
        }
    }
}

/// The files and rows that a filter matches.
///
/// Where only whole files match, the commit finds them, so the change also applies to later commits of other writers.
/// Under snapshot isolation it must not reach later files, so the files are named.
pub(crate) fn find(view: &View, filter: &Predicate, mode: Mode) -> Result<RowRemoval> {
    Ok(match find_removal(view, filter)? {
        (RowRemoval::Named(files, _), in_part) => RowRemoval::Named(files, hits(view, in_part, mode)?),
        (whole, _) => whole,
    })
}

/// As [`find`], but returns the files whose rows match in part, instead of the rows.
///
/// # Errors
/// As [`Touched::find`] and [`View::isolation`].
pub(crate) fn find_removal(view: &View, filter: &Predicate) -> Result<(RowRemoval, Vec<ScanTask>)> {
    let scan = view.scan(filter.clone())?;
    let touched = Touched::find(&scan)?;
    let as_of_commit = view.isolation(Command::Delete)? == Isolation::Serializable && strict(scan.bound_filter());
    if touched.in_part.is_empty() && as_of_commit {
        return Ok((RowRemoval::Whole(touched.whole), Vec::new()));
    }
    let files = if touched.whole == 0 { Vec::new() } else { whole_files(&scan)? };
    Ok((RowRemoval::Named(files.iter().map(|f| view.removable(f)).collect(), Vec::new()), touched.in_part))
}

/// The rows of each task that its residual keeps; tasks without such rows are left out.
///
/// # Errors
/// Errors of reading; as [`check_tasks`]; a cancellation.
pub(crate) fn hits(view: &View, tasks: Vec<ScanTask>, mode: Mode) -> Result<Vec<Hits>> {
    check_tasks(view, mode, &tasks)?;
    let rows = LiveRows::new(view, &[], false)?;
    let found = in_parallel(tasks.len(), |i| {
        let mut found = PositionSet::default();
        for placed in rows.read(&tasks[i])? {
            check_cancelled()?;
            found.extend(placed?.positions.values()).with("path", &tasks[i].data_file.path)?;
        }
        Ok(found)
    })?;
    let all = tasks.into_iter().zip(found);
    let all = all.map(|(task, positions)| Hits { task, positions, sources: Vec::new() });
    Ok(all.filter(|h| !h.positions.is_empty()).collect())
}
