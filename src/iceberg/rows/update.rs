//! Updating columns of the rows that match a filter.

use crate::format::row_change::{Assigned, Command};

use super::apply::apply;
use super::delete::hits;
use super::plan::Touched;
use super::view::View;
use crate::error::Result;
use crate::expr::Predicate;
use crate::format::task::ScanTask;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::rows::effect::Effect;
use crate::rows::row_changes::assignments::{Assignments, row_counts};

pub(crate) fn update(
    view: &View,
    filter: &Predicate,
    assigned: &[(String, Assigned)],
) -> Result<Option<SnapshotProducer>> {
    let patch = Assignments::new(view.table.schema(), assigned)?;
    let scan = view.scan(filter.clone())?;
    // Files that match as a whole are read as well.
    let tasks: Vec<ScanTask> = Touched::all(&scan)?;
    let mode = view.mode(Command::Update)?;
    let effect = apply(view, mode, hits(view, tasks, mode)?, &patch)?;
    with_counts(effect, view, Command::Update, filter.clone())
}

/// The change, with row counts in its summary.
pub(crate) fn with_counts(
    effect: Effect,
    view: &View,
    command: Command,
    filter: Predicate,
) -> Result<Option<SnapshotProducer>> {
    let counts = effect.counts;
    let summary = row_counts(counts.updated, counts.inserted, counts.deleted);
    Ok(Some(effect.change(view, command, filter)?.with_summary(summary)))
}
