//! The figures of an explanation: the table, the filter, and how much each pruning stage kept.

use super::explain_clauses;
use super::survivors::Survivors;
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::PlanCounters;
use crate::iceberg::plan::why::ManifestVerdict;
use crate::iceberg::scan::handle::IcebergScan;
use crate::rows::explanation::{CacheFacts, DeleteFacts, Explain, FunnelStage};

impl IcebergScan {
    pub(crate) fn facts(
        &self,
        input: &PlanInput,
        verdicts: &[ManifestVerdict],
        survivors: &Survivors,
        counters: &PlanCounters,
    ) -> Explain {
        let mut used: Vec<i32> = verdicts.iter().map(|v| v.manifest.spec_id).collect();
        used.sort_unstable();
        used.dedup();
        let specs: Vec<_> = input.metadata.partition_specs.iter().filter(|s| used.contains(&s.id)).collect();
        let deletes = DeleteFacts {
            position: counters.position_deletes,
            equality: counters.equality_deletes,
            vectors: counters.deletion_vectors,
            attached: (survivors.reached.iter().filter(|n| **n > 0).count() + survivors.reached_paths.len()) as u64,
            attachments: counters.deletes_attached + survivors.attachments,
        };
        Explain {
            table: input.metadata.location.clone(),
            format: "iceberg",
            format_version: input.metadata.format_version,
            snapshot_id: self.snapshot_id(),
            snapshot_timestamp_ms: input.snapshot.as_ref().map(|s| s.timestamp_ms),
            operation: input.snapshot.as_ref().and_then(|s| s.operation().map(str::to_owned)),
            schema_id: input.schema.id,
            specs: specs.iter().map(|s| (s.id, explain_clauses::spec_text(s, &input.schema))).collect(),
            filter: self.whole_filter().to_string(),
            select: self.projection().fields.iter().map(|f| f.name.clone()).collect(),
            clauses: explain_clauses::of(&input.filter, &input.schema, &specs, &survivors.metrics_seen),
            stages: funnel(counters, &deletes, explain_clauses::asks_of_place(&input.filter)),
            deletes,
            commits: survivors.commits.facts.clone(),
            cache: input.cache.as_ref().map(|cache| {
                let (served, read) = counters.cached();
                CacheFacts { folder: cache.folder().to_owned(), served, read, trouble: cache.trouble() }
            }),
            server_plan: None,
            rows: counters.rows_kept,
            time_ms: 0.0,
        }
    }
}

/// The stages of a plan. The flags tell whether the filter uses `_spec_id` and `_file`.
fn funnel(c: &PlanCounters, deletes: &DeleteFacts, [asks_spec, asks_file]: [bool; 2]) -> Vec<FunnelStage> {
    let mut stages = vec![
        FunnelStage {
            name: "manifest counts",
            unit: "manifest",
            considered: c.data_manifests.manifests,
            kept: c.live_manifests.manifests,
            considered_bytes: c.data_manifests.bytes,
            kept_bytes: c.live_manifests.bytes,
            reason: "counts of live files",
            time_ms: c.read_ms,
        },
        FunnelStage {
            name: "partition summaries",
            unit: "manifest",
            considered: c.live_manifests.manifests,
            kept: c.matching_manifests.manifests,
            considered_bytes: c.live_manifests.bytes,
            kept_bytes: c.matching_manifests.bytes,
            reason: if asks_spec { "partition ranges, specs" } else { "partition ranges" },
            time_ms: c.list_ms,
        },
    ];
    if c.delete_manifests.manifests > 0 {
        stages.extend(delete_stages(c, deletes));
    }
    stages.extend(file_stages(c, asks_file));
    if c.delete_manifests.manifests > 0 {
        stages.push(FunnelStage {
            name: "deletes attached",
            unit: "delete file",
            considered: deletes.position + deletes.equality + deletes.vectors,
            kept: deletes.attached,
            considered_bytes: c.delete_bytes_kept,
            kept_bytes: 0,
            reason: "age, paths and keys",
            time_ms: 0.0,
        });
    }
    stages
}

fn delete_stages(c: &PlanCounters, deletes: &DeleteFacts) -> [FunnelStage; 2] {
    let [_, opened] = c.to_open();
    [
        FunnelStage {
            name: "delete manifests",
            unit: "manifest",
            considered: c.delete_manifests.manifests,
            kept: opened.manifests,
            considered_bytes: c.delete_manifests.bytes,
            kept_bytes: opened.bytes,
            reason: "counts and ranges",
            time_ms: 0.0,
        },
        FunnelStage {
            name: "delete files",
            unit: "delete file",
            considered: c.delete_files,
            kept: deletes.position + deletes.equality + deletes.vectors,
            considered_bytes: c.delete_file_bytes,
            kept_bytes: c.delete_bytes_kept,
            reason: "partitions, keys",
            time_ms: c.deletes_ms,
        },
    ]
}

fn file_stages(c: &PlanCounters, asks_file: bool) -> [FunnelStage; 2] {
    [
        FunnelStage {
            name: "partition tuples",
            unit: "data file",
            considered: c.files,
            kept: c.files_in_partitions,
            considered_bytes: c.file_bytes,
            kept_bytes: c.partition_bytes,
            reason: "partitions of files",
            time_ms: 0.0,
        },
        FunnelStage {
            name: "column metrics",
            unit: "data file",
            considered: c.files_in_partitions,
            kept: c.files_kept,
            considered_bytes: c.partition_bytes,
            kept_bytes: c.bytes_kept,
            reason: if asks_file { "bounds, counts and paths" } else { "bounds and counts" },
            time_ms: c.entries_ms,
        },
    ]
}
