//! The number of rows of a planned file that match a filter, as far as metadata tells.

use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::expr::bounds::must_match;
use crate::format::task::{FileContent, FileFormat};
use crate::iceberg::plan::file_bounds::{MetricsBounds, strict};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::rows::column_statistics::Coverage;

impl Coverage {
    /// The coverage of the `k`-th survivor of a batch.
    ///
    /// # Errors
    /// As [`PlannedBatch::task`].
    pub(crate) fn of(batch: &PlannedBatch, k: usize) -> Result<Coverage> {
        let row = *batch.rows.get(k).ok_or_else(|| Error::internal("no such file"))? as usize;
        let records = batch.columns.record_count.get(row).map_or(0, |n| n.max(&0).unsigned_abs());
        if !keeps_every_row(batch, row)? {
            return Ok(Coverage::Part(records));
        }
        if batch.deletes.count(k) == 0 {
            return Ok(Coverage::Whole(records));
        }
        let deletes = batch.deletes.refs(k)?;
        Ok(match deletes.as_slice() {
            [d] if d.file.format == FileFormat::Puffin && d.file.content == FileContent::PositionDeletes => {
                match u64::try_from(d.file.record_count).ok().and_then(|deleted| records.checked_sub(deleted)) {
                    Some(left) => Coverage::Vector(left),
                    None => Coverage::Part(records),
                }
            }
            _ => Coverage::Part(records),
        })
    }
}

/// Whether metadata proves that the filter is true on every row of an entry that survived.
pub(crate) fn keeps_every_row(batch: &PlannedBatch, row: usize) -> Result<bool> {
    let residual = &*batch.group(row)?.residual;
    let by_bounds = || strict(residual) && must_match(residual, &MetricsBounds::new(&batch.columns, row));
    Ok(*residual == BoundPredicate::True || by_bounds())
}
