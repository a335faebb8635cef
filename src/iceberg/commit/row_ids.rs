//! Ids of rows (v3): new manifests get them, and rewritten rows keep them.

use std::sync::Arc;

use super::preconditions::RUN_AGAIN;
use super::snapshot_input::SnapshotInput;
use crate::error::{Error, Result};
use crate::format::task::FileContent;
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::spec::counters::{overflow, row_ids_end};
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

/// The first row id that neither a snapshot nor one of these manifests has. This is `next-row-id`, unless another
/// writer left it too low.
///
/// # Errors
/// `CorruptTable` if the row ids of a snapshot or manifest overflow.
pub(super) fn first_free(base: &TableMetadata, manifests: &[ManifestFile]) -> Result<i64> {
    let numbered = manifests.iter().filter_map(|m| Some((m, m.first_row_id?)));
    numbered.filter(|(m, _)| m.content == ManifestContent::Data).try_fold(
        base.first_free_row_id()?,
        |next, (m, first)| {
            let rows = m.added_rows_count.unwrap_or(0).saturating_add(m.existing_rows_count.unwrap_or(0));
            let end = row_ids_end(first, rows).ok_or_else(|| overflow().with("path", &m.path))?;
            Ok(next.max(end))
        },
    )
}

/// Assigns a first row id, counting from `first`, to every data manifest without one. Returns the number of rows
/// (specification, "Row Lineage", "First Row ID Assignment").
pub(super) fn number_rows(manifests: &mut [ManifestFile], first: i64) -> Result<i64> {
    let mut next = first;
    for m in manifests.iter_mut().filter(|m| m.content == ManifestContent::Data && m.first_row_id.is_none()) {
        let rows = m.added_rows_count.zip(m.existing_rows_count).and_then(|(a, e)| a.checked_add(e));
        let rows = rows.filter(|r| *r >= 0).ok_or_else(|| {
            Error::unsupported("the manifest list has no row count for a manifest, so its rows can't get ids")
                .with("path", &m.path)
                .hint("Rewrite the table's manifests before upgrading it to version 3")
        })?;
        m.first_row_id = Some(next);
        next = row_ids_end(next, rows).ok_or_else(|| overflow().with("path", &m.path))?;
    }
    Ok(next - first)
}
