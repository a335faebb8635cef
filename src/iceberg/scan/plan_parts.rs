//! Planning in parts, by many processes: each part has some of a snapshot's manifests, and is planned alone.
//!
//! [`IcebergScan::plan_parts`] reads the manifest list, but no manifest. A [`IcebergPlanPart`] travels as JSON with
//! everything that planning needs. It has the schemas, the specs, the filter, and the manifest list's entry for each
//! manifest. The entries are needed because files inherit their sequence number, snapshot id and first row id. So
//! planning a part reads only manifests. The tasks of all parts in order are those of [`IcebergScan::plan_files`].

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, BinaryBuilder};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde_json::{Value as Json, json};

use crate::error::{Error, Result, ResultExt};
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::{BoundPredicate, bind};
use crate::format::manifest_count::ManifestCount;
use crate::format::splits;
use crate::format::splits::{SplitPlan, SplitRequest};
use crate::format::task::{ReadContext, Split};
use crate::format::wire::task::{context_from_json, context_to_json, tasks_to_json};
use crate::iceberg::manifest::list::{FieldSummary, ManifestContent, ManifestFile};
use crate::iceberg::plan::changes::AnyPlan;
use crate::iceberg::plan::input::{EntryScope, PlanInput};
use crate::iceberg::plan::manifest_groups::{ManifestGroup, group_manifests};
use crate::iceberg::plan::planned::PlannedBatch;
use crate::iceberg::plan::planner::RunningPlan;
use crate::iceberg::scan::handle::{IcebergScan, IcebergTaskStream};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::partition::{spec_from_json, spec_to_json};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::rows::plan_table;
use crate::store::open_store;
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::value::{hex, unhex};
use crate::types::{PartitionSpec, Schema};

/// Some of a snapshot's manifests, with everything that planning them needs.
#[derive(Clone, Debug, PartialEq)]
pub struct IcebergPlanPart {
    scan: Arc<PartScan>,
    manifests: ManifestGroup,
}

/// The common data of a scan's parts.
#[derive(Clone, Debug, PartialEq)]
struct PartScan {
    read: Arc<ReadContext>,
    filter: Arc<BoundPredicate>,
    snapshot_id: i64,
    /// The schema of the scan, then those with columns that it lacks: specs and equality deletes may name them.
    schemas: Vec<Arc<Schema>>,
    specs: Vec<Arc<PartitionSpec>>,
    packing: SplitPlan,
}

impl IcebergScan {
    /// The plan in parts of about `part_bytes` bytes of data manifests, oldest first. It is a single part if the data
    /// manifests that may hold matching files have at most `whole_bytes`. Reads the manifest list only. Where the scan
    /// limits how much is read, a delete manifest counts once for each part that reads it.
    ///
    /// # Errors
    /// `InvalidInput` for split sizes that are not positive, or if planning would read more than the scan allows;
    /// `Unsupported` for scans of changes between versions; as [`group_manifests`].
    pub fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<IcebergPlanPart>> {
        let input = self.version_input()?;
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
            out.push(batch.map_err(|e| Error::internal("the plan is no Arrow batch").because(e))?);
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

    /// The whole part, for [`IcebergPlanPart::from_json`].
    pub fn to_json(&self) -> String {
        let scan = &self.scan;
        let list = |manifests: &[ManifestFile]| manifests.iter().map(manifest_to_json).collect::<Vec<_>>();
        json!({
            "context": context_to_json(&scan.read),
            "filter": predicate_to_json(&scan.filter),
            "snapshot-id": scan.snapshot_id,
            "other-schemas": scan.schemas.iter().skip(1).map(|s| schema_to_json(s)).collect::<Vec<_>>(),
            "specs": scan.specs.iter().map(|s| spec_to_json(s)).collect::<Vec<_>>(),
            "split-size": scan.packing.split_size_bytes,
            "lookback": scan.packing.lookback,
            "file-open-cost": scan.packing.open_file_cost_bytes,
            "data": list(&self.manifests.data),
            "deletes": list(&self.manifests.deletes),
        })
        .to_string()
    }

    /// Reads what [`IcebergPlanPart::to_json`] wrote.
    ///
    /// # Errors
    /// `InvalidInput` for any other text.
    pub fn from_json(text: &str) -> Result<IcebergPlanPart> {
        let j: Json =
            serde_json::from_str(text).map_err(|e| Error::invalid("the text is not JSON of a plan").because(e))?;
        let read = context_from_json(j.get("context").ok_or_else(|| wrong("context"))?)?;
        let filter = predicate_from_json(j.get("filter").ok_or_else(|| wrong("filter"))?)?;
        let mut schemas = vec![read.schema.clone()];
        for schema in array(&j, "other-schemas")? {
            schemas.push(Arc::new(schema_from_json(schema)?));
        }
        let specs = array(&j, "specs")?.iter().map(|s| spec_from_json(s, 0).map(Arc::new)).collect::<Result<_>>()?;
        let list = |key: &str| array(&j, key)?.iter().map(manifest_from_json).collect::<Result<Vec<_>>>();
        let size = |key: &str, least: i64| long(&j, key).filter(|n| *n >= least).ok_or_else(|| wrong(key));
        let scan = PartScan {
            filter: Arc::new(bind(&filter, &read.schema, true)?),
            read: Arc::new(read),
            snapshot_id: long(&j, "snapshot-id").ok_or_else(|| wrong("snapshot-id"))?,
            schemas,
            specs,
            packing: SplitPlan {
                split_size_bytes: size("split-size", 1)?,
                lookback: size("lookback", 1)? as usize,
                open_file_cost_bytes: size("file-open-cost", 0)?,
            },
        };
        Ok(IcebergPlanPart {
            scan: Arc::new(scan),
            manifests: ManifestGroup { data: list("data")?, deletes: list("deletes")? },
        })
    }
}

fn wrong(key: &str) -> Error {
    Error::invalid(format!("'{key}' of the plan's JSON is missing or of the wrong type"))
}

fn array<'a>(j: &'a Json, key: &str) -> Result<&'a Vec<Json>> {
    j.get(key).and_then(Json::as_array).ok_or_else(|| wrong(key))
}

fn long(j: &Json, key: &str) -> Option<i64> {
    j.get(key).and_then(Json::as_i64)
}

/// With the field names of the manifest list.
fn manifest_to_json(m: &ManifestFile) -> Json {
    let summary = |s: &FieldSummary| {
        json!({
            "contains_null": s.contains_null,
            "contains_nan": s.contains_nan,
            "lower_bound": s.lower.as_ref().map(|b| hex(b)),
            "upper_bound": s.upper.as_ref().map(|b| hex(b)),
        })
    };
    json!({
        "manifest_path": m.path,
        "manifest_length": m.length_bytes,
        "partition_spec_id": m.spec_id,
        "deletes": m.content == ManifestContent::Deletes,
        "sequence_number": m.sequence_number,
        "min_sequence_number": m.min_sequence_number,
        "added_snapshot_id": m.added_snapshot_id,
        "added_files_count": m.added_files_count,
        "existing_files_count": m.existing_files_count,
        "deleted_files_count": m.deleted_files_count,
        "added_rows_count": m.added_rows_count,
        "existing_rows_count": m.existing_rows_count,
        "deleted_rows_count": m.deleted_rows_count,
        "partitions": m.partitions.as_ref().map(|p| p.iter().map(summary).collect::<Vec<_>>()),
        "key_metadata": m.key_metadata.as_ref().map(|k| hex(k)),
        "first_row_id": m.first_row_id,
    })
}

fn manifest_from_json(j: &Json) -> Result<ManifestFile> {
    let flag = |j: &Json, key: &str| j.get(key).and_then(Json::as_bool);
    let needed = |key: &str| long(j, key).ok_or_else(|| wrong(key));
    let bytes = |j: &Json, key: &str| match j.get(key).and_then(Json::as_str) {
        None => Ok(None),
        Some(text) => unhex(text).map(Some).ok_or_else(|| wrong(key)),
    };
    let summary = |s: &Json| -> Result<FieldSummary> {
        Ok(FieldSummary {
            contains_null: flag(s, "contains_null").ok_or_else(|| wrong("contains_null"))?,
            contains_nan: flag(s, "contains_nan"),
            lower: bytes(s, "lower_bound")?,
            upper: bytes(s, "upper_bound")?,
        })
    };
    let partitions = match j.get("partitions").and_then(Json::as_array) {
        None => None,
        Some(fields) => Some(fields.iter().map(summary).collect::<Result<_>>()?),
    };
    let deletes = flag(j, "deletes").ok_or_else(|| wrong("deletes"))?;
    Ok(ManifestFile {
        path: j.get("manifest_path").and_then(Json::as_str).ok_or_else(|| wrong("manifest_path"))?.to_owned(),
        length_bytes: needed("manifest_length")?,
        spec_id: i32::try_from(needed("partition_spec_id")?).map_err(|_| wrong("partition_spec_id"))?,
        content: if deletes { ManifestContent::Deletes } else { ManifestContent::Data },
        sequence_number: needed("sequence_number")?,
        min_sequence_number: needed("min_sequence_number")?,
        added_snapshot_id: long(j, "added_snapshot_id"),
        added_files_count: long(j, "added_files_count"),
        existing_files_count: long(j, "existing_files_count"),
        deleted_files_count: long(j, "deleted_files_count"),
        added_rows_count: long(j, "added_rows_count"),
        existing_rows_count: long(j, "existing_rows_count"),
        deleted_rows_count: long(j, "deleted_rows_count"),
        partitions,
        key_metadata: bytes(j, "key_metadata")?,
        first_row_id: long(j, "first_row_id"),
    })
}

#[cfg(test)]
#[path = "plan_parts_tests.rs"]
pub(crate) mod tests;
