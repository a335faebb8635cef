//! Deleting rows of tables whose columns are in several files.
//!
//! A deletion vector of the oldest file names the rows. Its positions are the same in all files of the rows.
//!
//! Source: Java's `DataEvolutionDeleteSink`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::DataFile;
use crate::paimon::plan::compact_plan::{bucket_files, row_groups};
use crate::paimon::state::PaimonTable;

impl PaimonTable {
    /// The rows of some files, by the oldest files that have columns of them.
    ///
    /// # Errors
    /// `CorruptTable` if rows have no ids; errors of planning.
    pub(super) fn in_oldest_files(
        &self,
        rows: Vec<(Arc<DataFile>, PositionSet)>,
    ) -> Result<Vec<(Arc<DataFile>, PositionSet)>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let oldest = self.oldest_files()?;
        let named = rows.into_iter().map(|(file, positions)| {
            let oldest = file.first_row_id.and_then(|first| oldest.get(&first)).cloned();
            let none = || Error::corrupt("the rows of a file have no ids").with("path", &file.path);
            Ok((oldest.ok_or_else(none)?, positions))
        });
        named.collect()
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
