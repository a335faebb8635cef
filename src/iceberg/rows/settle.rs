//! Converting equality deletes into deletes by position, which readers apply faster.

use super::live::LiveRows;
use super::plan::Touched;
use super::positions::{RowsToDelete, check_listed_once, write_deletes};
use super::view::View;
use crate::codec::bitmap::PositionSet;
use crate::data::write::delete_write::DeleteForm;
use crate::error::{Result, ResultExt};
use crate::expr::Predicate;
use crate::format::task::{DataFile, FileContent, ScanTask};
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::rows::effect::Effect;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{check_cancelled, in_parallel};

/// How many positions are collected at a time.
const AT_ONCE: i64 = 65_536;

/// Finds the rows that equality deletes delete, names them by position, and removes the equality delete files. `all`
/// are those of the branch. Returns the change, and the delete files that it adds and removes.
///
/// The snapshot's operation is `delete`, although no row changes. A rewrite of data files planned earlier relies on the
/// equality deletes, and must notice that they were replaced.
///
/// # Errors
/// Errors of reading and writing; `Unsupported` in version 1; a cancellation.
pub(crate) fn settle(
    table: &IcebergTable,
    branch: Option<&str>,
    all: Vec<DataFile>,
) -> Result<(SnapshotProducer, Vec<DataFile>, Vec<DataFile>)> {
    let view = &View::new(table.clone(), branch)?;
    DeleteForm::of_version(table.format_version())?;
    let equality = |task: &ScanTask| task.deletes.iter().any(|d| d.file.content == FileContent::EqualityDeletes);
    let mut tasks = Touched::all(&view.scan(Predicate::True)?)?;
    check_listed_once(&tasks)?;
    tasks.retain(equality);
    let rows = LiveRows::new(view, &[], false)?;
    let positions = in_parallel(tasks.len(), |i| deleted(&rows, &tasks[i]))?;
    let deleted = tasks.into_iter().zip(positions).filter(|(_, positions)| !positions.is_empty());
    let deleted = deleted.map(|(task, positions)| RowsToDelete { task, positions }).collect();
    let mut effect = Effect::none(view);
    write_deletes(view, deleted, &mut effect)?;
    effect.removed.extend(all);
    let preconditions = Preconditions {
        since: view.since,
        same_history: true,
        required: std::mem::take(&mut effect.required),
        required_may_be_deleted: true,
        ..Preconditions::default()
    };
    let (removed, added) = (effect.removed, effect.added.files().to_vec());
    let change = view.change(Operation::Delete).remove_files(removed.clone()).add_files(effect.added.take());
    Ok((change.with_preconditions(preconditions).owning_files(), added, removed))
}

/// The rows of a file that any of its deletes remove.
fn deleted(rows: &LiveRows<'_>, task: &ScanTask) -> Result<PositionSet> {
    let (mut deleted, mut next) = (PositionSet::default(), 0i64);
    let mut gap = |to: i64, deleted: &mut PositionSet| -> Result<()> {
        // A file may claim any number of rows, so they are read in limited steps.
        while next < to {
            let gone: Vec<i64> = (next..to.min(next + AT_ONCE)).collect();
            next += gone.len() as i64;
            check_cancelled()?;
            deleted.extend(&gone)?;
        }
        next = to.saturating_add(1);
        Ok(())
    };
    for placed in rows.read_all(task)? {
        check_cancelled()?;
        for position in placed?.positions.values() {
            gap(*position, &mut deleted).with("path", &task.data_file.path)?;
        }
    }
    gap(task.data_file.record_count, &mut deleted).with("path", &task.data_file.path)?;
    Ok(deleted)
}
