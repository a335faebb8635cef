//! Planned batches as Arrow columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, StringBuilder, UInt32Array};
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::rows::plan_table::{coded, schema, schema_of_changes};

/// One batch of planned files as Arrow; of [`schema_of_changes`] in a changelog.
///
/// # Errors
/// `CorruptTable` if a path is not UTF-8 or the paths of one batch exceed 2 GiB.
pub fn encode_batch(batch: &PlannedBatch) -> Result<RecordBatch> {
    let columns = &batch.columns;
    let rows = || batch.rows.iter().map(|r| *r as usize);
    let longs = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from_iter_values(rows().map(|r| values[r]))) };
    let mut bytes = 0usize;
    let mut paths = StringBuilder::with_capacity(batch.rows.len(), batch.rows.len() * 96);
    for r in rows() {
        let path = columns.path.get(r).and_then(|p| std::str::from_utf8(p).ok());
        let path = path.ok_or_else(|| Error::corrupt("a data file's path is missing or not UTF-8"))?;
        bytes += path.len();
        if bytes > i32::MAX as usize {
            return Err(Error::corrupt("the paths of one manifest exceed 2 GiB"));
        }
        paths.append_value(path);
    }
    let formats = coded(rows().map(|r| columns.format[r] as usize), |r| columns.format[r].as_str().to_owned(), rows())?;
    let tuple = |r: usize| columns.partition[r] as usize;
    let partition = |r: usize| batch.group(r).map(|g| g.partition.path()).unwrap_or_default();
    let residual = |r: usize| batch.residual(r).map(|residual| residual.to_string()).unwrap_or_default();
    let spec_ids = rows().map(|r| batch.group(r).map(|g| g.partition.spec_id)).collect::<Result<Vec<_>>>()?;
    let deletes = (0..batch.rows.len()).map(|k| batch.deletes.count(k) as u32);
    let sequence_numbers: Int64Array = rows().map(|r| columns.sequence_number[r]).collect();
    let mut out: Vec<ArrayRef> = vec![
        Arc::new(paths.finish()),
        formats,
        longs(&columns.record_count),
        longs(&columns.size_bytes),
        Arc::new(Int32Array::from(spec_ids)),
        coded(rows().map(tuple), partition, rows())?,
        Arc::new(sequence_numbers),
        Arc::new(Int64Array::from_value(0, batch.rows.len())),
        longs(&columns.size_bytes),
        Arc::new(UInt32Array::from_iter_values(deletes)),
        coded(rows().map(tuple), residual, rows())?,
    ];
    let mut schema = schema();
    if let Some(change) = &batch.change {
        let count = batch.rows.len();
        schema = schema_of_changes();
        out.push(Arc::new(StringArray::from(vec![change.operation.as_str(); count])));
        out.push(Arc::new(Int32Array::from_value(change.ordinal, count)));
        out.push(Arc::new(Int64Array::from_value(change.commit_snapshot_id, count)));
    }
    RecordBatch::try_new(schema, out).map_err(|e| Error::internal("the plan is no Arrow batch").because(e))
}
