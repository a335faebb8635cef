//! Gives rows other ids, so that the ids of a partition follow each other. Readers of global indexes need few ranges
//! then.
//!
//! Source: Java's `ReassignRowIdProcedure`.

use std::sync::{Arc, Mutex, PoisonError};

use super::compaction::partition_filter;
use crate::error::{Error, Result};
use crate::format::maintenance::{OfPartitions, ReassignedRowIds};
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::commit::renumber::{Renumbered, Renumbering};
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// Gives the rows of partitions whose ids have gaps new ids, in one commit that rewrites manifests only. Returns
    /// the table at its new version.
    ///
    /// # Errors
    /// `InvalidInput` for tables without row ids and columns in several files, tables without snapshots, and filters
    /// that ask for more than partition columns; `Unsupported` for files that store the ids of their rows; those of the
    /// commit.
    pub(crate) fn reassign_row_ids(&self, options: &OfPartitions) -> Result<(PaimonTable, ReassignedRowIds)> {
        let table = self.newest_of(options.commit.branch.as_deref())?;
        let schema = table.table_schema();
        let asked = |what: &str, hint: &str| Error::invalid(what).with("table", self.location()).hint(hint);
        if !(schema.options().row_tracking()? && schema.options().data_evolution()?) {
            return Err(asked(
                "only tables with row ids and columns in several files get other row ids",
                "Set the options 'row-tracking.enabled' and 'data-evolution.enabled' to true",
            ));
        }
        let none = || asked("a table without snapshots has no row ids", "Write rows first");
        let before = table.metadata().snapshot.clone().ok_or_else(none)?;
        let unchanged = |reason: &str| ReassignedRowIds {
            previous_snapshot_id: before.id,
            snapshot_id: before.id,
            first_row_id: before.next_row_id.unwrap_or(0),
            next_row_id: before.next_row_id.unwrap_or(0),
            skipped: Some(reason.to_owned()),
            ..ReassignedRowIds::default()
        };
        if schema.partition_types().is_empty() {
            return Ok((self.refresh()?, unchanged("table is not partitioned")));
        }
        let filter = partition_filter(&table, options.filter.as_ref())?;
        let done: Arc<Mutex<Renumbered>> = Arc::default();
        let mut plan = || -> Result<Option<Commit>> {
            let newest = table.refresh()?;
            let (from, renumbering) =
                (newest.folder().manifests(), Renumbering { filter: filter.clone(), done: done.clone() });
            let Some(snapshot) = &newest.metadata().snapshot else { return Ok(None) };
            let manifests = data_manifests(from, snapshot)?;
            let needed = renumbering.plan(from, newest.table_schema(), &manifests, 0)?.is_some();
            let commit = || Commit::renumbering(newest.folder(), renumbering);
            Ok(needed.then(|| commit().with_properties(options.commit.snapshot_properties.clone())))
        };
        let Some(snapshot) = run_planned(&mut plan).into_result()? else {
            return Ok((self.refresh()?, unchanged("no partition requires row-id reassignment")));
        };
        let done = *done.lock().unwrap_or_else(PoisonError::into_inner);
        let reassigned = ReassignedRowIds {
            previous_snapshot_id: snapshot.id - 1,
            snapshot_id: snapshot.id,
            files: done.files,
            rows: done.rows,
            indexes: done.indexes,
            first_row_id: done.first_row_id,
            next_row_id: snapshot.next_row_id.unwrap_or(0),
            skipped: None,
        };
        Ok((self.after_commit()?, reassigned))
    }
}
