//! Deleting rows of tables whose columns are in several files.
//!
//! A deletion vector of the oldest file names the rows. Its positions are the same in all files of the rows.
//!
//! Source: Java's `DataEvolutionDeleteSink`.

use std::collections::HashMap;
use std::sync::Arc;

use super::change_files::FileChanges;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::DataFile;
use crate::paimon::plan::compact_plan::{bucket_files, row_groups};
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// Makes deletes of rows, found in any of their files, deletes in the oldest ones. No file is removed, as vectors
    /// have to be those of the oldest files.
    ///
    /// # Errors
    /// `CorruptTable` if rows have no ids; errors of planning.
    pub(super) fn name_oldest_files(&self, changes: &mut FileChanges) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let oldest = self.oldest_files()?;
        let whole = std::mem::take(&mut changes.removed).into_iter().map(|file| {
            let rows = PositionSet::of_rows(u64::try_from(file.record_count).unwrap_or(0));
            rows.with("path", &file.path).map(|rows| (Arc::new(file), rows))
        });
        let deleted = std::mem::take(&mut changes.deleted).into_iter().map(Ok).chain(whole);
        for found in deleted {
            let (file, positions) = found?;
            let oldest = file.first_row_id.and_then(|first| oldest.get(&first)).cloned();
            let none = || Error::corrupt("the rows of a file have no ids").with("path", &file.path);
            changes.deleted.push((oldest.ok_or_else(none)?, positions));
        }
        Ok(())
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
