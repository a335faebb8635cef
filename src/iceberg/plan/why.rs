//! Explains why planning kept or dropped each file of a snapshot: the stage, the clause and the bound.
//!
//! Planning itself records no reasons and does not open manifests that the manifest list excludes. `ReasonJudge` opens
//! every manifest and checks each entry as planning does, stage by stage, with the same bounds.

use std::sync::Arc;

use crate::error::{Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::Partition;
use crate::iceberg::manifest::columns::{Manifest, partition_of};
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{EntryColumns, EntryRequest};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::input::{EntryScope, PlanInput, metric_fields};
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::planned::{PlannedBatch, why_dropped};
use crate::iceberg::plan::specs::ScanSpecs;
use crate::parallel::check_cancelled;
use crate::types::metadata_columns::DELETE_FILE_PATH;

/// The stage of planning that decided about a manifest or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The manifest list counts no entries.
    ManifestCounts,
    /// The manifest list's partition summaries exclude the filter.
    PartitionSummaries,
    /// The partition tuple excludes the filter.
    PartitionTuples,
    /// Bounds and counts of columns exclude the filter.
    ColumnMetrics,
    /// The delete file applies to no kept file.
    DeleteMatching,
    /// No stage excluded it.
    Kept,
}

impl Stage {
    /// The name that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::ManifestCounts => "manifest counts",
            Stage::PartitionSummaries => "partition summaries",
            Stage::PartitionTuples => "partition tuples",
            Stage::ColumnMetrics => "column metrics",
            Stage::DeleteMatching => "delete matching",
            Stage::Kept => "kept",
        }
    }
}

/// The decision about a manifest, from the manifest list.
#[derive(Clone, Debug)]
pub struct ManifestVerdict {
    /// The manifest.
    pub manifest: ManifestFile,
    /// The deciding stage; [`Stage::Kept`] if planning opens the manifest.
    pub stage: Stage,
    /// The reason in words; empty if kept.
    pub reason: String,
}

/// The live entries of one manifest, each with its decision.
#[derive(Debug, Default)]
pub struct FileVerdicts {
    /// The entries, with metrics of the filter's columns only.
    pub columns: EntryColumns,
    /// By [`EntryColumns::partition`].
    pub partitions: Vec<Arc<Partition>>,
    /// By [`EntryColumns::partition`]: the residual filter; `None` if the tuple excludes it.
    pub residuals: Vec<Option<Arc<BoundPredicate>>>,
    /// The deciding stage of each entry.
    pub stages: Vec<Stage>,
    /// Whether the plan is about each entry. A plan of appends, for example, skips files that other commits added.
    pub in_scope: Vec<bool>,
    /// By [`EntryColumns::partition`]: the reason why the tuple excludes the filter. Empty if it does not.
    pub tuple_reasons: Vec<String>,
    /// For entries that their metrics exclude, in order: the entry and the reason.
    pub metric_reasons: Vec<(u32, String)>,
}

/// Checks manifests and their entries.
pub struct ReasonJudge<'p> {
    input: &'p PlanInput,
    specs: ScanSpecs,
    request: EntryRequest,
}

impl<'p> ReasonJudge<'p> {
    /// Creates the judge of a plan.
    pub fn new(input: &'p PlanInput) -> ReasonJudge<'p> {
        let deleted_too = matches!(input.entries, EntryScope::RemovedBy(_) | EntryScope::Before(_));
        let request = EntryRequest { metric_fields: metric_fields(input), deleted_too, ..EntryRequest::default() };
        ReasonJudge { input, specs: ScanSpecs::new(&input.metadata, &input.schema), request }
    }

    /// Checks a manifest by the manifest list alone.
    ///
    /// # Errors
    /// `CorruptTable` if the manifest uses a partition spec that the table does not have.
    pub fn manifest(&self, manifest: ManifestFile) -> Result<ManifestVerdict> {
        let (stage, reason) = if !self.input.entries.may_be_in(&manifest) {
            let what = match self.input.entries {
                EntryScope::AddedBy(_) => "added",
                EntryScope::RemovedBy(_) => "deleted",
                _ => "live",
            };
            (Stage::ManifestCounts, format!("according to the manifest list, it has no {what} files"))
        } else {
            match self.specs.why_excluded(&manifest, &self.input.filter)? {
                Some(reason) => (Stage::PartitionSummaries, reason),
                None => (Stage::Kept, String::new()),
            }
        };
        Ok(ManifestVerdict { manifest, stage, reason })
    }

    /// Reads a manifest and checks its entries.
    ///
    /// # Errors
    /// Errors of [`crate::iceberg::plan::planner::RunningPlan::next_batch`].
    pub fn files(&self, verdict: &ManifestVerdict) -> Result<FileVerdicts> {
        check_cancelled()?;
        let file = &verdict.manifest;
        let location = &self.input.location;
        let bytes = self.input.store.get(&location.resolve(&file.path)?);
        let bytes = bytes.map_err(|e| location.explain(e)).with("manifest", &file.path)?;
        self.judge(verdict, &bytes).with("path", self.input.location.found(&file.path))
    }

    fn judge(&self, verdict: &ManifestVerdict, bytes: &[u8]) -> Result<FileVerdicts> {
        let file = &verdict.manifest;
        let manifest = Manifest::parse_listed(bytes, file.size(), None)?;
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let columns = manifest.decode(0..manifest.block_count(), &self.request(file), &inherited)?;
        let spec = self.specs.get(file.spec_id)?;
        manifest.check_spec(&spec.spec, &self.input.schema)?;
        let mut out = FileVerdicts::default();
        let mut groups = Vec::with_capacity(columns.partitions.len());
        for tuple in &columns.partitions {
            let schema = &self.input.schema;
            let partition = partition_of(&spec.spec, schema, &manifest.spec_fields, &manifest.partition_types, tuple);
            let group = spec.group(partition.clone(), &self.input.filter, file.content);
            let reason = match &group {
                Some(_) => None,
                None => spec.why_excluded(&partition, &self.input.filter, file.content),
            };
            out.tuple_reasons.push(reason.unwrap_or_default());
            out.residuals.push(group.as_ref().map(|g| g.residual.clone()));
            out.partitions.push(Arc::new(partition));
            groups.push(group);
        }
        let batch = PlannedBatch::of(KeptEntries { columns, groups, rows: Vec::new() });
        for row in batch.columns.rows() {
            let stage = match verdict.stage {
                Stage::Kept if batch.group(row).is_err() => Stage::PartitionTuples,
                Stage::Kept => match why_dropped(&batch, row) {
                    Some(reason) => {
                        out.metric_reasons.push((row as u32, reason));
                        Stage::ColumnMetrics
                    }
                    None => Stage::Kept,
                },
                by_manifest => by_manifest,
            };
            out.stages.push(stage);
            let (status, by) = (batch.columns.status.get(row), batch.columns.snapshot_id.get(row));
            let holds = status.zip(by).is_some_and(|(status, by)| self.input.entries.holds(*status, *by));
            out.in_scope.push(holds);
        }
        out.columns = batch.entries.columns;
        Ok(out)
    }

    fn request(&self, file: &ManifestFile) -> EntryRequest {
        let mut request = self.request.clone();
        if file.content == ManifestContent::Deletes {
            request.metric_fields.push(DELETE_FILE_PATH);
        }
        request
    }
}
