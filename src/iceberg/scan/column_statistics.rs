//! Combines the metrics of files into statistics of one column.

use crate::error::{Error, Result};
use crate::expr::bounds::{Bounds, Presence, checked};
use crate::format::task::FileFormat;
use crate::iceberg::manifest::entries::{MISSING, MetricColumn};
use crate::iceberg::plan::file_bounds::MetricsBounds;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::rows::column_statistics::{ColumnFold, Coverage, FileFacts, of_constant, partition_value, tight};
use crate::types::PrimitiveType;

impl ColumnFold {
    /// Adds the surviving files of a batch, with their coverage in the same order.
    pub(crate) fn add(&mut self, batch: &PlannedBatch, coverage: &[Coverage]) -> Result<()> {
        let metrics = batch.columns.metrics.iter().find(|m| m.field_id == self.field_id);
        for (row, coverage) in batch.rows.iter().zip(coverage).filter(|(_, coverage)| coverage.rows() > 0) {
            let row = *row as usize;
            let records = batch.columns.record_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
            let format = *batch.columns.format.get(row).ok_or_else(|| Error::internal("a file has no format"))?;
            let group = batch.group(row)?;
            let ty = self.ty.clone();
            let metric_bounds = MetricsBounds::new(&batch.columns, row);
            let facts = match partition_value(&group.partition, self.field_id, &ty) {
                Some(value) => of_constant(value, records),
                None => self.of_metrics(metrics, &metric_bounds, row, records, format, &ty),
            };
            self.add_file(&facts, records, *coverage);
        }
        Ok(())
    }

    fn of_metrics<'a>(
        &self,
        metrics: Option<&MetricColumn>,
        bounds: &'a MetricsBounds<'_>,
        row: usize,
        records: u64,
        format: FileFormat,
        ty: &PrimitiveType,
    ) -> FileFacts<'a> {
        let count = |pick: fn(&MetricColumn) -> &Vec<i64>| {
            let n = metrics.and_then(|m| pick(m).get(row).copied()).filter(|n| *n != MISSING);
            n.and_then(|n| u64::try_from(n).ok())
        };
        // Counts hold for the rows only if they cover as many values; some writers leave out those of null structs.
        let values = count(|m| &m.value_count);
        let of_rows = |n: Option<u64>| n.filter(|n| values.is_none_or(|v| v == records) && *n <= records);
        let nulls = match ty {
            PrimitiveType::Unknown => Some(records),
            _ if self.required => Some(0),
            _ => of_rows(count(|m| &m.null_count)),
        };
        let nans = if ty.is_float() { of_rows(count(|m| &m.nan_count)) } else { Some(0) };
        let nans = if nulls == Some(records) { Some(0) } else { nans };
        let b = checked(bounds.column(self.field_id, ty), ty);
        let point = b.point().is_some();
        let known = (*ty != PrimitiveType::Uuid || point) && b.nans != Presence::Everywhere;
        let (lower, upper) = if known { (b.lower, b.upper) } else { (None, None) };
        let tight = nulls.is_some() && nans.is_some() && (point || tight(ty, format));
        FileFacts { nulls, nans, lower, upper, tight }
    }
}
