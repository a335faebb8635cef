//! The pruning stages of a scan of Paimon.

use std::collections::HashMap;
use std::time::Instant;

use arrow::record_batch::RecordBatch;

use super::handle::PaimonScan;
use crate::error::Result;
use crate::expr::BoundPredicate;
use crate::paimon::plan::files::PruneStage;
use crate::paimon::plan::planned::{PaimonPlan, PaimonPlanCounters, PlannedSplit};
use crate::paimon::plan::why::verdicts;
use crate::rows::explanation::{Clause, DeleteFacts, Explain, Explained, FunnelStage};
use crate::rows::judged_files::{Judged, encode_judged, manifest_schema};
use crate::types::FieldId;

impl PaimonScan {
    /// Plans, and keeps only the counts. With `files` it also opens the manifests that the manifest list excludes.
    /// For every file it says why it was kept or dropped.
    ///
    /// # Errors
    /// As [`crate::paimon::plan::planner::plan`]; `Unsupported` with `files` for scans of changes.
    pub fn explain(&self, files: bool) -> Result<Explained> {
        if files {
            self.check_of_version("explanation file by file")?;
        }
        let began = Instant::now();
        let plan = self.plan()?;
        let files = files.then(|| self.judged(&plan)).transpose()?;
        let counters = plan.counters;
        let snapshot = self.selection.snapshot();
        let explain = Explain {
            table: self.table.location().to_owned(),
            format: "paimon",
            format_version: self.table.format_version(),
            snapshot_id: self.snapshot_id(),
            snapshot_timestamp_ms: snapshot.map(|s| s.time_ms),
            operation: snapshot.map(|s| s.commit_kind.to_ascii_lowercase()),
            schema_id: self.shape.context.schema.id,
            specs: self.partitions().into_iter().map(|text| (0, text)).collect(),
            filter: self.whole_filter().to_string(),
            select: self.shape.context.projection.fields.iter().map(|f| f.name.clone()).collect(),
            clauses: self.clauses(),
            stages: funnel(&counters),
            deletes: DeleteFacts {
                vectors: counters.deletes_attached,
                attached: counters.deletes_attached,
                attachments: counters.deletes_attached,
                ..DeleteFacts::default()
            },
            rows: counters.rows_kept,
            time_ms: began.elapsed().as_secs_f64() * 1e3,
            ..Explain::default()
        };
        Ok(Explained { explain, manifests: RecordBatch::new_empty(manifest_schema()), files })
    }

    /// Every live file of the snapshot.
    fn judged(&self, plan: &PaimonPlan) -> Result<Vec<RecordBatch>> {
        let files = plan.splits.iter().flat_map(PlannedSplit::files);
        let deletes: HashMap<&str, u32> = files.map(|t| (t.data_file.path.as_str(), t.deletes.len() as u32)).collect();
        let verdicts = verdicts(&self.plan_input(), plan)?;
        let judged = verdicts.iter().map(|v| Judged {
            file: &v.file,
            kept: v.stage == PruneStage::Kept,
            stage: v.stage.as_str(),
            reason: &v.reason,
            deletes: deletes.get(v.file.path.as_str()).copied().unwrap_or_default(),
            manifest: &v.manifest,
        });
        Ok(vec![encode_judged(&judged.collect::<Vec<_>>())?])
    }

    fn partitions(&self) -> Option<String> {
        let keys = &self.schema.partition_keys;
        (!keys.is_empty()).then(|| keys.join(", "))
    }

    /// The clauses of the filter, each with the stages that can use it.
    fn clauses(&self) -> Vec<Clause> {
        let clauses = match self.shape.filter.as_ref() {
            BoundPredicate::True => &[],
            BoundPredicate::And(clauses) => clauses.as_slice(),
            one => std::slice::from_ref(one),
        };
        let ids = |fields: Vec<FieldId>| move |asked: &[FieldId]| asked.iter().all(|id| fields.contains(id));
        let of_partition = ids(self.schema.partition_fields().map(|f| f.id).collect());
        let of_key = ids(self.schema.key_fields().map(|f| f.id).collect());
        let has_key = self.schema.has_primary_key();
        let clause = |clause: &BoundPredicate| {
            let asked: Vec<FieldId> = clause.field_ids().into_iter().collect();
            let (stages, limit) = if of_partition(&asked) {
                (vec!["manifest list", "partitions"], None)
            } else if has_key && of_key(&asked) {
                (vec!["keys"], None)
            } else if has_key {
                let why = "where files overlap, a bucket is kept as soon as one of its files may match";
                (vec!["column statistics"], Some(why.to_owned()))
            } else {
                (vec!["column statistics", "file indexes"], None)
            };
            Clause { text: clause.to_string(), stages, limits: limit.into_iter().collect() }
        };
        clauses.iter().map(clause).collect()
    }
}

fn funnel(c: &PaimonPlanCounters) -> Vec<FunnelStage> {
    let files = |name, considered, kept, reason| FunnelStage {
        name,
        unit: "data file",
        considered,
        kept,
        reason,
        ..FunnelStage::default()
    };
    let manifests = FunnelStage {
        name: "manifest list",
        unit: "manifest",
        considered: c.manifests.manifests,
        kept: c.manifests_kept.manifests,
        considered_bytes: c.manifests.bytes,
        kept_bytes: c.manifests_kept.bytes,
        reason: "partitions, buckets, levels",
        time_ms: c.list_ms,
    };
    let mut stages = vec![
        manifests,
        files("partitions, buckets", c.files_listed, c.files_in_buckets, "partitions and buckets of files"),
        files("levels, keys", c.files_in_buckets, c.files_after_keys, "hidden levels and bounds of keys"),
        files("column statistics", c.files_after_keys, c.files_after_values, "bounds and counts"),
        files("file indexes", c.files_after_values, c.files_kept, "Bloom filters, bitmaps and others"),
    ];
    if let Some(last) = stages.last_mut() {
        last.kept_bytes = c.bytes_kept;
        last.time_ms = c.entries_ms + c.splits_ms;
    }
    stages
}
