//! The pruning funnel: what each stage of planning saw and kept.

use crate::iceberg::plan::PlanCounters;

/// One stage of the funnel: what came in and what stayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunnelStage {
    /// `manifest counts`, `partition summaries`, `partition tuples`, `column metrics`, `delete files`.
    pub name: &'static str,
    /// What is counted: `manifest`, `data file` or `delete file`.
    pub unit: &'static str,
    /// How many came in.
    pub considered: u64,
    /// How many stayed.
    pub kept: u64,
    /// Bytes that came in.
    pub considered_bytes: u64,
    /// Bytes that stayed.
    pub kept_bytes: u64,
    /// What decides at this stage, in words.
    pub reason: &'static str,
    /// Wall time of the stage and those since the stage before that has a time, milliseconds.
    pub time_ms: f64,
}

/// What planning did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explain {
    /// The table's location.
    pub table: String,
    /// The snapshot read; `None` for an empty table.
    pub snapshot_id: Option<i64>,
    /// The filter as text.
    pub filter: String,
    /// The selected top-level columns.
    pub select: Vec<String>,
    /// The funnel, in order.
    pub stages: Vec<FunnelStage>,
    /// Rows in the files kept.
    pub rows: u64,
}

/// The stages of a plan.
pub fn funnel(c: &PlanCounters) -> Vec<FunnelStage> {
    let mut stages = vec![
        FunnelStage {
            name: "manifest counts",
            unit: "manifest",
            considered: c.data_manifests,
            kept: c.live_manifests,
            considered_bytes: c.data_manifest_bytes,
            kept_bytes: c.live_manifest_bytes,
            reason: "manifests without live files are not opened",
            time_ms: 0.0,
        },
        FunnelStage {
            name: "partition summaries",
            unit: "manifest",
            considered: c.live_manifests,
            kept: c.matching_manifests,
            considered_bytes: c.live_manifest_bytes,
            kept_bytes: c.matching_manifest_bytes,
            reason: "the manifest list's partition ranges exclude the filter",
            time_ms: c.list_ms,
        },
        FunnelStage {
            name: "partition tuples",
            unit: "data file",
            considered: c.files,
            kept: c.files_in_partitions,
            considered_bytes: c.file_bytes,
            kept_bytes: c.partition_bytes,
            reason: "the file's partition excludes the filter",
            time_ms: 0.0,
        },
        FunnelStage {
            name: "column metrics",
            unit: "data file",
            considered: c.files_in_partitions,
            kept: c.files_kept,
            considered_bytes: c.partition_bytes,
            kept_bytes: c.bytes_kept,
            reason: "the file's bounds and counts exclude the filter",
            time_ms: c.entries_ms,
        },
    ];
    if c.delete_manifests > 0 {
        stages.push(FunnelStage {
            name: "delete files",
            unit: "delete file",
            considered: c.delete_files,
            kept: c.deletes_attached,
            reason: "delete files read, and how often they were attached to a data file",
            time_ms: c.deletes_ms,
            ..FunnelStage::default()
        });
    }
    stages
}
