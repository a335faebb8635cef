//! Row counts and column statistics of a scan, from metadata alone: manifests are read, data files are not.
//!
//! Every figure tells whether it is exact or a bound. A file counts exactly only if its partition or bounds prove that
//! the filter keeps all its rows, and no delete file applies to it. A deletion vector alone keeps the number of rows
//! exact, because its record count is its cardinality. Other figures are upper bounds. Bounds of columns always hold,
//! but not all are values of the file: those of text and bytes may be cut, for instance.
//!
//! Source: Iceberg specification, "Manifests" (`data_file`), "Deletion Vectors"; the limits of bounds follow Java's
//! `ParquetMetrics` and `OrcMetrics`.

use std::time::Instant;

use crate::error::Result;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::scan::handle::IcebergScan;
use crate::rows::column_statistics::{ColumnFold, Coverage, asked_columns};
use crate::rows::statistics::{Fact, Statistics};

impl IcebergScan {
    /// Counts and bounds of these columns (dotted paths; a struct stands for its members). Without names, these are
    /// all selected columns. Columns inside lists and maps have none.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist or lies in a list or map; as [`RunningPlan::start`].
    pub fn statistics(&self, columns: &[String]) -> Result<Statistics> {
        let shape = (self.context().as_ref(), self.all_columns().as_ref(), self.is_case_sensitive());
        let mut folds = asked_columns(shape, columns)?;
        let began = Instant::now();
        let (mut input, listed) = self.listed()?;
        input.metric_fields = folds.iter().map(ColumnFold::field_id).collect();
        let mut plan = RunningPlan::over(input, listed, began)?;
        let (mut rows, mut exact, mut files) = (0u64, true, 0);
        while let Some(batch) = plan.next_batch()? {
            let covered = (0..batch.rows.len()).map(|k| Coverage::of(&batch, k)).collect::<Result<Vec<_>>>()?;
            for coverage in covered.iter().filter(|c| c.rows() > 0) {
                rows = rows.saturating_add(coverage.rows());
                exact &= !matches!(coverage, Coverage::Part(_));
                files += 1;
            }
            for fold in &mut folds {
                fold.add(&batch, &covered)?;
            }
        }
        let row_count = Fact::new(self.row_limit().map_or(rows, |limit| limit.min(rows)), exact);
        let cut = self.row_limit().is_some_and(|limit| limit < rows);
        let columns = folds.into_iter().map(|fold| fold.finish(&row_count, cut)).collect();
        Ok(Statistics { row_count: Fact { exact: exact || self.row_limit() == Some(0), ..row_count }, files, columns })
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
