//! Deleting rows of tables whose columns are in several files.
//!
//! A deletion vector of the oldest file names the rows. Its positions are the same in all files of the rows.
//!
//! Source: Java's `DataEvolutionDeleteSink`.

use std::collections::HashMap;
use std::sync::Arc;

use super::planned_commit::{PlannedCommit, counted};
use super::unpublished::Unpublished;
use super::vectors;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::{BoundPredicate, Predicate};
use crate::format::task::{DataFile, ScanTask};
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::compact_plan::{bucket_files, row_groups};
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::placed::placed;
use crate::store::in_parallel;

impl PaimonTable {
    /// Deletes the rows that a filter finds; `None` if no row matches.
    ///
    /// # Errors
    /// As [`PaimonTable::delete_where`].
    pub(super) fn delete_aligned(&self, filter: &Predicate) -> Result<Option<PlannedCommit>> {
        let scan = self.found(filter)?;
        let tasks: Vec<ScanTask> = scan.tasks()?.collect();
        let found = positions(&scan, &tasks)?;
        let rows = found.iter().map(PositionSet::len).fold(0, u64::saturating_add);
        if rows == 0 {
            return Ok(None);
        }
        let oldest = self.oldest_files()?;
        let mut deleted = Vec::new();
        for (task, positions) in tasks.iter().zip(found).filter(|(_, positions)| !positions.is_empty()) {
            let first = task.data_file.first_row_id;
            let file = first.and_then(|first| oldest.get(&first)).cloned();
            let none = || Error::corrupt("the rows of a file have no ids").with("path", &task.data_file.path);
            deleted.push((file.ok_or_else(none)?, positions));
        }
        let store = self.folder().store().as_ref();
        let mut new = Unpublished::new(store);
        let index = vectors::changes(self, scan.snapshot(), deleted, &[], &mut new.index)?;
        let (_, index_files) = new.taken();
        let commit = Commit::new(self.folder(), Changes { index, index_files, ..Changes::default() }).owning_files();
        Ok(Some((commit, counted("deleted", rows))))
    }

    /// The oldest files of all rows, by the first row id.
    fn oldest_files(&self) -> Result<HashMap<i64, Arc<DataFile>>> {
        let mut out = HashMap::new();
        for bucket in bucket_files(self.metadata(), self.table_schema(), &BoundPredicate::True, None)? {
            for group in row_groups(&bucket).with("table", self.location())? {
                let oldest = group.files.first().and_then(|at| bucket.tasks.get(*at));
                out.extend(oldest.map(|task| (group.rows.0, task.data_file.clone())));
            }
        }
        Ok(out)
    }
}

/// The positions of the rows that tasks find.
fn positions(scan: &PaimonScan, tasks: &[ScanTask]) -> Result<Vec<PositionSet>> {
    let reader = scan.placed_reader(&[]);
    in_parallel(reader.store.as_ref(), tasks.len(), |i| {
        let mut found = PositionSet::default();
        let Some(task) = tasks.get(i) else { return Ok(found) };
        for rows in reader.read(task)? {
            check_cancelled()?;
            found.extend(placed(rows?)?.positions.values()).with("path", &task.data_file.path)?;
        }
        Ok(found)
    })
}
