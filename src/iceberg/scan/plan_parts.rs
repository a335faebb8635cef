//! Planning in parts, by many processes: each part has some of a snapshot's manifests, and is planned alone.
//!
//! [`IcebergScan::plan_parts`] reads the manifest list, but no manifest. A [`IcebergPlanPart`] travels as JSON with
//! everything that planning needs; see `src/iceberg/wire/plan_part.rs`. It has the schemas, the specs, the filter,
//! and the manifest list's entry for each manifest. The entries are needed because files inherit their sequence number,
//! snapshot id and first row id. So planning a part reads only manifests. The tasks of all parts in order are those of
//! [`IcebergScan::plan_files`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, BinaryBuilder};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::manifest_count::ManifestCount;
use crate::format::splits;
use crate::format::splits::{SplitPlan, SplitRequest};
use crate::format::task::{ReadContext, Split};
use crate::format::wire::task::tasks_to_json;
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::plan::changes::AnyPlan;
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::manifest_groups::{ManifestGroup, group_manifests};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::scan::handle::{IcebergScan, IcebergTaskStream};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::rows::plan_table;
use crate::store::open_store;
use crate::types::{PartitionSpec, Schema};

/// Some of a snapshot's manifests, with everything that planning them needs.
#[derive(Clone, Debug, PartialEq)]
pub struct IcebergPlanPart {
    pub(in crate::iceberg) scan: Arc<PartScan>,
    pub(in crate::iceberg) manifests: ManifestGroup,
}

/// The common data of a scan's parts.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::iceberg) struct PartScan {
    pub(in crate::iceberg) read: Arc<ReadContext>,
    pub(in crate::iceberg) filter: Arc<BoundPredicate>,
    pub(in crate::iceberg) snapshot_id: i64,
    /// The schema of the scan, then schemas with columns that it lacks. Specs and equality deletes may name these
    /// columns.
    pub(in crate::iceberg) schemas: Vec<Arc<Schema>>,
    pub(in crate::iceberg) specs: Vec<Arc<PartitionSpec>>,
    pub(in crate::iceberg) packing: SplitPlan,
}

impl IcebergScan {
    /// The plan in parts of about `part_bytes` bytes of data manifests, oldest first. It is a single part if the data
    /// manifests that may hold matching files have at most `whole_bytes`. Reads the manifest list only. If the scan
    /// limits the bytes to read, a delete manifest counts once for each part that reads it.
    ///
    /// # Errors
    /// `InvalidInput` for split sizes that are not positive, or if planning would read more than the scan allows.
    /// `Unsupported` for scans of changes between versions. Errors of [`group_manifests`].
    pub fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<IcebergPlanPart>> {
        let input = self.version_input()?;
        if self.planned_scan(false).is_served()? {
            return Err(Error::unsupported(
                "the catalog's server plans scans of this table, so they have no plan in parts",
            )
            .with("table", &input.metadata.location)
            .hint("plan() gives the tasks of the server's plan"));
        }
        let Some(snapshot) = &input.snapshot else { return Ok(Vec::new()) };
        let scan = Arc::new(PartScan {
            read: self.context().clone(),
            filter: input.filter.clone(),
            snapshot_id: snapshot.id,
            schemas: needed_schemas(&input.schema, &input.metadata),
            specs: input.metadata.partition_specs.clone(),
            packing: self.split_plan(SplitRequest::default())?,
        });
        let bytes = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let groups = group_manifests(&input, bytes(part_bytes), bytes(whole_bytes))?;
        let part = |manifests| IcebergPlanPart { scan: scan.clone(), manifests };
        let parts: Vec<IcebergPlanPart> = groups.into_iter().map(part).collect();
        let mut counts = [ManifestCount::default(); 2];
        for part in &parts {
            let lists = [&part.manifests.data, &part.manifests.deletes];
            counts.iter_mut().zip(lists).for_each(|(count, list)| list.iter().for_each(|m| count.add(m.length_bytes)));
        }
        input.budget.take(counts).with("snapshot", snapshot.id)?;
        Ok(parts)
    }

    /// A split without tasks, with the context that the scan's tasks share.
    pub fn reader(&self) -> Split {
        Split { context: self.context().clone(), tasks: Vec::new() }
    }

    /// The approximate number of splits for this number of files, by the mean size of the snapshot's files. At least
    /// one.
    ///
    /// # Errors
    /// `InvalidInput` for split sizes that are not positive; `Unsupported` as [`IcebergScan::plan_parts`].
    pub fn estimate_splits(&self, files: u128) -> Result<u64> {
        let packing = self.split_plan(SplitRequest::default())?;
        let input = self.version_input()?;
        let total = |name: &str| input.snapshot.as_ref()?.summary.get(name)?.parse::<u128>().ok();
        let split = packing.split_size_bytes.max(1) as u128;
        let mean = match (total("total-files-size"), total("total-data-files")) {
            (Some(bytes), Some(files @ 1..)) => bytes.div_ceil(files).max(packing.open_file_cost_bytes.max(0) as u128),
            _ => split,
        };
        Ok(u64::try_from(files.saturating_mul(mean).div_ceil(split)).unwrap_or(u64::MAX).max(1))
    }
}

/// The scan's schema, and each further schema with a column that the earlier ones lack.
fn needed_schemas(schema: &Arc<Schema>, metadata: &TableMetadata) -> Vec<Arc<Schema>> {
    let mut known: HashSet<_> = schema.field_ids().collect();
    let mut out = vec![schema.clone()];
    for other in &metadata.schemas {
        let before = known.len();
        known.extend(other.field_ids());
        if known.len() > before {
            out.push(other.clone());
        }
    }
    out
}

/// The columns of [`IcebergPlanPart::plan_table`]: those of [`plan_table::schema`] and `split`, the task for
/// [`crate::format::wire::task::tasks_from_json`].
pub fn table_schema() -> SchemaRef {
    let split = Arc::new(Field::new("split", DataType::Binary, false));
    let fields = plan_table::schema().fields().iter().cloned().chain([split]).collect::<Vec<_>>();
    Arc::new(ArrowSchema::new(fields))
}

impl IcebergPlanPart {
    /// The total size of its manifests, including delete manifests.
    pub fn manifest_bytes(&self) -> u64 {
        self.all_manifests().map(|m| m.length_bytes.max(0) as u64).fold(0, u64::saturating_add)
    }

    /// The number of data files as its manifests record it; a manifest without that number counts as one file.
    pub fn most_files(&self) -> u64 {
        let files = |m: &ManifestFile| match (m.added_files_count, m.existing_files_count) {
            (None, None) => 1,
            (added, existing) => added.unwrap_or(0).saturating_add(existing.unwrap_or(0)).max(0) as u64,
        };
        self.manifests.data.iter().map(files).fold(0, u64::saturating_add)
    }

    /// The numbers of its data manifests and delete manifests.
    pub fn manifest_counts(&self) -> (usize, usize) {
        (self.manifests.data.len(), self.manifests.deletes.len())
    }

    /// The tasks, one for each file, in the order of [`IcebergScan::plan_files`].
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn plan_files(&self, column_metrics: bool) -> Result<IcebergTaskStream> {
        Ok(IcebergTaskStream::of(AnyPlan::Files(Box::new(self.plan(column_metrics)?))))
    }

    /// The tasks, cut and packed as [`IcebergScan::splits`] does it, but never with those of another part.
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn splits(&self) -> Result<Vec<Split>> {
        let tasks = self.plan_files(false)?.collect_all()?;
        let split = |tasks| Split { context: self.scan.read.clone(), tasks };
        Ok(splits::pack(tasks, &self.scan.packing)?.into_iter().map(split).collect())
    }

    /// The tasks as Arrow batches with the columns of [`table_schema`].
    ///
    /// # Errors
    /// As [`RunningPlan::start`].
    pub fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        let mut plan = self.plan(false)?;
        let mut out = Vec::new();
        while let Some(batch) = plan.next_batch()? {
            let mut columns = crate::iceberg::scan::plan_table::encode_batch(&batch)?.columns().to_vec();
            columns.push(self.split_column(&batch)?);
            let batch = RecordBatch::try_new(table_schema(), columns);
            out.push(batch.map_err(|e| Error::internal("the plan is not an Arrow batch").because(e))?);
        }
        Ok(out)
    }

    fn split_column(&self, batch: &PlannedBatch) -> Result<ArrayRef> {
        let mut column = BinaryBuilder::new();
        for k in 0..batch.rows.len() {
            let text = tasks_to_json(&Split { context: self.scan.read.clone(), tasks: vec![batch.task(k)?] })?;
            if column.values_slice().len().saturating_add(text.len()) > i32::MAX as usize {
                return Err(Error::unsupported("the tasks of one manifest exceed 2 GiB"));
            }
            column.append_value(text);
        }
        Ok(Arc::new(column.finish()))
    }

    fn all_manifests(&self) -> impl Iterator<Item = &ManifestFile> {
        self.manifests.data.iter().chain(&self.manifests.deletes)
    }

    fn plan(&self, column_metrics: bool) -> Result<RunningPlan> {
        let began = Instant::now();
        let scan = &self.scan;
        let location = scan.read.location.clone();
        let first = self.manifests.data.first().map_or("", |m| m.path.as_str());
        let metadata = TableMetadata {
            schemas: scan.schemas.clone(),
            current_schema_id: scan.read.schema.id,
            partition_specs: scan.specs.clone(),
            ..TableMetadata::default()
        };
        let input = PlanInput {
            store: open_store(&location.resolve(first)?, &scan.read.storage_options)?,
            location,
            metadata: Arc::new(metadata),
            snapshot: Some(Arc::new(Snapshot { id: scan.snapshot_id, ..Snapshot::default() })),
            schema: scan.read.schema.clone(),
            filter: scan.filter.clone(),
            entries: EntryScope::Live,
            column_metrics,
            all_deletes: false,
            metric_fields: Vec::new(),
            budget: Arc::default(),
            cache: None,
        };
        RunningPlan::over(input, self.all_manifests().cloned(), began).with("snapshot", scan.snapshot_id)
    }
}

#[cfg(test)]
#[path = "plan_parts_tests.rs"]
pub(crate) mod tests;
