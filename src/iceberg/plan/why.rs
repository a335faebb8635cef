//! Why planning kept or dropped each file of a snapshot: the stage, the clause and the bound.
//!
//! Planning itself keeps no reasons, and never opens what the manifest list excludes. [`Judge`] opens everything and
//! judges each entry as planning does, stage by stage, with the same bounds.

use std::sync::Arc;

use crate::error::{Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::Partition;
use crate::iceberg::manifest::columns::{Manifest, partition_of};
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{EntryColumns, EntryRequest};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::deletes::PATH_FIELD;
use crate::iceberg::plan::input::{EntryScope, PlanInput, metric_fields};
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::planned::{PlannedBatch, why_dropped};
use crate::iceberg::plan::specs::Specs;
use crate::parallel::check_cancelled;

/// Where planning decided about a manifest or file.
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
    /// A delete file that reaches no file that is kept.
    DeleteMatching,
    /// Nothing excluded it.
    Kept,
}

impl Stage {
    /// As users see it.
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

/// What the manifest list says of a manifest.
#[derive(Clone, Debug)]
pub struct ManifestVerdict {
    /// The manifest.
    pub manifest: ManifestFile,
    /// [`Stage::Kept`] if planning opens it.
    pub stage: Stage,
    /// In words; empty if kept.
    pub reason: String,
}

/// The live entries of one manifest, each with its verdict.
#[derive(Debug, Default)]
pub struct FileVerdicts {
    /// The entries; metrics of the filter's columns only.
    pub columns: EntryColumns,
    /// By [`EntryColumns::partition`].
    pub partitions: Vec<Arc<Partition>>,
    /// By [`EntryColumns::partition`]: what the filter still asks; `None` where the tuple excludes it.
    pub residuals: Vec<Option<Arc<BoundPredicate>>>,
    /// Where each entry was decided.
    pub stages: Vec<Stage>,
    /// Whether the plan is about each entry: one of appends is not about files that others added.
    pub in_scope: Vec<bool>,
    /// By [`EntryColumns::partition`]: why the tuple excludes the filter; empty where it does not.
    pub tuple_reasons: Vec<String>,
    /// For entries that their metrics exclude, in order: the entry and why.
    pub metric_reasons: Vec<(u32, String)>,
}

/// Judges manifests and their entries.
pub struct Judge<'p> {
    input: &'p PlanInput,
    specs: Specs,
    request: EntryRequest,
}

impl<'p> Judge<'p> {
    /// For this plan.
    pub fn new(input: &'p PlanInput) -> Judge<'p> {
        let deleted_too = matches!(input.entries, EntryScope::RemovedBy(_) | EntryScope::Before(_));
        let request = EntryRequest { metric_fields: metric_fields(input), deleted_too, ..EntryRequest::default() };
        Judge { input, specs: Specs::new(&input.metadata, &input.schema), request }
    }

    /// Judges a manifest by the manifest list alone.
    ///
    /// # Errors
    /// `CorruptTable` if it uses a partition spec that the table does not have.
    pub fn manifest(&self, manifest: ManifestFile) -> Result<ManifestVerdict> {
        let (stage, reason) = if !self.input.entries.may_be_in(&manifest) {
            let what = match self.input.entries {
                EntryScope::AddedBy(_) => "added",
                EntryScope::RemovedBy(_) => "deleted",
                _ => "live",
            };
            (Stage::ManifestCounts, format!("the manifest list counts no {what} files in it"))
        } else {
            match self.specs.why_excluded(&manifest, &self.input.filter)? {
                Some(reason) => (Stage::PartitionSummaries, reason),
                None => (Stage::Kept, String::new()),
            }
        };
        Ok(ManifestVerdict { manifest, stage, reason })
    }

    /// Reads a manifest and judges its entries.
    ///
    /// # Errors
    /// As [`crate::iceberg::plan::planner::Plan::next_batch`].
    pub fn files(&self, verdict: &ManifestVerdict) -> Result<FileVerdicts> {
        check_cancelled()?;
        let file = &verdict.manifest;
        let bytes = self.input.store.get(&self.input.location.resolve(&file.path)?).with("manifest", &file.path)?;
        self.judge(verdict, &bytes).with("path", self.input.location.found(&file.path))
    }

    fn judge(&self, verdict: &ManifestVerdict, bytes: &[u8]) -> Result<FileVerdicts> {
        let file = &verdict.manifest;
        let manifest = Manifest::parse(bytes)?;
        let inherited = Inherited { snapshot_id: file.added_snapshot_id, sequence_number: file.sequence_number };
        let columns = manifest.decode(0..manifest.block_count(), &self.request(file), &inherited)?;
        let spec = self.specs.get(file.spec_id)?;
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
            request.metric_fields.push(PATH_FIELD);
        }
        request
    }
}
