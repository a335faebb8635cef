//! Checks that rewritten rows keep their ids: no row may have got its id after it was read.

use std::sync::Arc;

use super::preconditions::RUN_AGAIN;
use super::snapshot_input::SnapshotInput;
use crate::error::{Error, Result};
use crate::format::task::FileContent;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;

/// After an upgrade to version 3, the rows of a table get their ids with the next snapshot. Rows that were read before
/// have no id to keep. Rewriting them would give them a second id.
///
/// # Errors
/// `CommitConflict` if the rows were planned at a snapshot without ids and another commit gave them ids.
pub(super) fn check(input: &SnapshotInput, base: &TableMetadata, parent: Option<&Arc<Snapshot>>) -> Result<()> {
    let moves =
        !input.removed_data.is_empty() || input.added_deletes.iter().any(|f| f.content == FileContent::PositionDeletes);
    let since = input.preconditions.since.filter(|_| input.planned_version.is_some() && moves);
    let Some((since, parent)) = since.zip(parent).filter(|(since, parent)| *since != parent.id) else {
        return Ok(());
    };
    let had_ids = base.snapshot_by_id(since).is_none_or(|s| s.first_row_id.is_some());
    if had_ids || input.added_data.is_empty() {
        return Ok(());
    }
    let later = base.ancestors(parent.id).into_iter().take_while(|s| s.id != since);
    // The change knows the ids of snapshots of its own transaction.
    let given = later.filter(|s| s.first_row_id.is_some() && !input.own.contains(&s.id)).last();
    match given {
        None => Ok(()),
        Some(snapshot) => Err(Error::conflict("the table's rows got ids after they were read")
            .with("snapshot", snapshot.id)
            .with("operation", snapshot.operation().unwrap_or("none"))
            .with("clause", "rewritten rows keep their ids")
            .hint(format!("Read the rows again, at snapshot {} or later. {RUN_AGAIN}", snapshot.id))),
    }
}
