//! Finds the files that can hold a row with one of the source's keys.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;

use crate::data::arrow::schema::to_arrow;
use crate::data::write::partition_rows::Partitioner;
use crate::error::{Error, Result};
use crate::expr::bounds::{Bounds, checked};
use crate::format::task::{Partition, ScanTask};
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::plan::file_bounds::MetricsBounds;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::rows::view::View;
use crate::parallel::check_cancelled;
use crate::rows::row_changes::key_columns::KeyColumns;
use crate::rows::row_changes::key_ranges::{KeyRanges, KeyTuples};
use crate::types::{PartitionSpec, PrimitiveType, Schema, Transform};

impl KeyRanges {
    /// Creates the ranges of keys in these columns of the table.
    ///
    /// # Errors
    /// As [`Partitioner::split`].
    pub(crate) fn new(view: &View, keys: &KeyColumns, batches: &[RecordBatch]) -> Result<KeyRanges> {
        let mut partitions = HashMap::new();
        for spec in &view.table.inner.metadata.partition_specs {
            if let Some(tuples) = tuples(keys.flat(), spec, batches)? {
                partitions.insert(spec.id, tuples);
            }
        }
        Ok(KeyRanges { partitions, ..KeyRanges::of_values(keys, batches)? })
    }

    /// The files that may hold a row with one of the keys.
    ///
    /// # Errors
    /// As [`RunningPlan::start`]; a cancellation.
    pub(crate) fn files(&self, view: &View) -> Result<Vec<ScanTask>> {
        let scan = view.scan(self.filter()?)?;
        let input = PlanInput { metric_fields: self.columns.iter().map(|c| c.field.id).collect(), ..scan.plan_input() };
        let mut plan = RunningPlan::start(input)?;
        let mut out = Vec::new();
        while let Some(batch) = plan.next_batch()? {
            let mut known = HashMap::new();
            for (k, row) in batch.rows.iter().map(|row| *row as usize).enumerate() {
                let group = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX);
                let in_partition = match known.get(&group) {
                    Some(known) => *known,
                    None => {
                        let fits = self.fits_partition(&batch.group(row)?.partition);
                        known.insert(group, fits);
                        fits
                    }
                };
                if in_partition && self.fits_bounds(&batch, row) {
                    out.push(batch.task(k)?);
                }
            }
        }
        Ok(out)
    }

    fn fits_partition(&self, partition: &Partition) -> bool {
        let Some((fields, tuples)) = self.partitions.get(&partition.spec_id) else { return true };
        let values = partition.values.iter().filter(|v| fields.contains(&v.field_id)).cloned().collect();
        tuples.contains(&partition_key(&Partition { spec_id: partition.spec_id, values }))
    }

    fn fits_bounds(&self, batch: &PlannedBatch, row: usize) -> bool {
        let metrics = MetricsBounds::new(&batch.columns, row);
        self.columns.iter().all(|c| {
            let Some(ty) = c.field.ty.as_primitive() else { return true };
            c.may_be_in(&checked(metrics.column(c.field.id, ty), ty), ty)
        })
    }
}

/// The partition fields that depend on key columns alone, with the tuples that keys belong to; `None` without such
/// fields.
pub(crate) fn tuples(keys: &Schema, spec: &PartitionSpec, batches: &[RecordBatch]) -> Result<Option<KeyTuples>> {
    let usable = |f: &&crate::types::PartitionField| {
        // Zeros of either sign are equal as keys, but not as partitions.
        let is_float = || keys.field(f.source_id).and_then(|f| f.ty.as_primitive()).is_none_or(PrimitiveType::is_float);
        !matches!(f.transform, Transform::Void | Transform::Unknown(_)) && !is_float()
    };
    let fields: Vec<_> = spec.fields.iter().filter(usable).cloned().collect();
    if fields.is_empty() {
        return Ok(None);
    }
    let ids = fields.iter().map(|f| f.field_id).collect();
    let Ok(mut partitioner) = Partitioner::new(keys, &PartitionSpec { id: spec.id, fields }) else {
        return Ok(None);
    };
    let schema = to_arrow(keys)?;
    let mut tuples = HashSet::new();
    for batch in batches {
        check_cancelled()?;
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(|e| Error::internal("key columns").because(e))?;
        tuples.extend(partitioner.split(&batch)?.iter().map(|part| partition_key(&part.partition)));
    }
    Ok(Some((ids, tuples)))
}
