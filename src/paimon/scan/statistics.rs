//! Row counts and column statistics of scans of Apache Paimon's tables.
//!
//! The count of merged rows is an upper bound: one row of each key remains.

use std::collections::HashMap;

use crate::error::Result;
use crate::expr::bounds::{Bounds, Presence};
use crate::format::task::{FileFormat, Partition};
use crate::paimon::manifest::entries::{PaimonEntryColumns, PaimonEntryRequest, format_of};
use crate::paimon::manifest::live::{data_manifests, live_files};
use crate::paimon::plan::files::Mappings;
use crate::paimon::scan::handle::PaimonScan;
use crate::paimon::spec::partition::{TablePaths, partition_of};
use crate::paimon::spec::stats::StatsBounds;
use crate::parallel::check_cancelled;
use crate::rows::column_statistics::{
    ColumnFold, Coverage, FileFacts, asked_columns, of_constant, partition_value, tight,
};
use crate::rows::statistics::{Fact, Statistics};

impl PaimonScan {
    /// Counts and bounds of these columns, or of all selected columns if none are named. A column is a dotted path,
    /// and a struct means its members.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist or lies in a list or map; `Unsupported` for change logs; those
    /// of planning.
    pub fn statistics(&self, columns: &[String]) -> Result<Statistics> {
        self.check_of_version("statistics")?;
        let mut folds = asked_columns(self.named_columns(), columns)?;
        let (mut rows, mut exact, mut files) = (0u64, true, 0);
        let mut planned: HashMap<String, Coverage> = HashMap::new();
        for task in self.tasks()? {
            let merged = task.merge.as_ref();
            let of_section = merged.iter().flat_map(|m| m.runs.iter().flatten());
            for file in of_section.chain(merged.is_none().then_some(&task)) {
                let records = u64::try_from(file.data_file.record_count).unwrap_or(0);
                let coverage = match self.known_rows(file).filter(|_| merged.is_none()) {
                    Some(left) if file.deletes.is_empty() => Coverage::Whole(left),
                    Some(left) => Coverage::Vector(left),
                    None => Coverage::Part(records),
                };
                rows = rows.saturating_add(coverage.rows());
                exact &= !matches!(coverage, Coverage::Part(_));
                files += u64::from(coverage.rows() > 0);
                planned.insert(file.data_file.path.clone(), coverage);
            }
        }
        if !folds.is_empty() {
            self.fold(&planned, &mut folds)?;
        }
        let limit = self.row_limit();
        let row_count = Fact::new(limit.map_or(rows, |limit| limit.min(rows)), exact);
        let cut = limit.is_some_and(|limit| limit < rows);
        let columns = folds.into_iter().map(|fold| fold.finish(&row_count, cut)).collect();
        Ok(Statistics { row_count: Fact { exact: exact || limit == Some(0), ..row_count }, files, columns })
    }

    /// Adds the recorded statistics of the planned files.
    fn fold(&self, planned: &HashMap<String, Coverage>, folds: &mut [ColumnFold]) -> Result<()> {
        let Some(snapshot) = self.snapshot() else { return Ok(()) };
        let folder = self.table().folder();
        let (from, schema) = (folder.manifests(), self.table_schema());
        let paths = TablePaths::new(folder.root(), schema)?;
        let input = self.plan_input();
        let request = PaimonEntryRequest { value_stats: true, ..PaimonEntryRequest::default() };
        for live in live_files(from, &data_manifests(from, snapshot)?, &request)? {
            check_cancelled()?;
            let (columns, mut mappings) = (&live.columns, Mappings::default());
            for row in live.rows.iter().map(|row| *row as usize) {
                let partition = partition_of(schema, columns.partition_row(row))?;
                let folder = paths.bucket(&partition, columns.bucket.get(row).copied().unwrap_or_default())?;
                let path = paths.data_file(&folder, columns.name(row)?, columns.external(row)?)?;
                let Some(coverage) = planned.get(&path).filter(|c| c.rows() > 0) else { continue };
                let mapping = mappings.values(&input, columns, row)?;
                let records = columns.row_count.get(row).copied().unwrap_or_default();
                let bounds = StatsBounds::new(&mapping, columns.value_stats.get(row), records)?;
                for fold in folds.iter_mut() {
                    let facts = facts_of(fold, &bounds, &partition, (columns, row))?;
                    fold.add_file(&facts, records.max(0).unsigned_abs(), *coverage);
                }
            }
        }
        Ok(())
    }
}

/// The known facts about a column in a file.
fn facts_of<'a>(
    fold: &ColumnFold,
    bounds: &'a StatsBounds<'_>,
    partition: &'a Partition,
    (columns, row): (&PaimonEntryColumns, usize),
) -> Result<FileFacts<'a>> {
    let (id, ty) = (fold.field_id(), fold.ty().clone());
    let records = columns.row_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
    if let Some(value) = partition_value(partition, id, &ty) {
        return Ok(of_constant(value, records));
    }
    let format = format_of(columns.name(row)?)?;
    if format == FileFormat::Blob {
        // pypaimon records that no value is null, whatever the values are.
        return Ok(FileFacts { nulls: None, nans: None, lower: None, upper: None, tight: false });
    }
    let nulls = bounds.null_count(id).and_then(|n| u64::try_from(n).ok());
    let column = bounds.column(id, &ty);
    let counted = !ty.is_float() || nulls == Some(records) || column.nans == Presence::Absent;
    let nans = counted.then_some(0);
    let tight = nulls.is_some() && nans.is_some() && tight(&ty, format);
    Ok(FileFacts { nulls, nans, lower: column.lower, upper: column.upper, tight })
}
