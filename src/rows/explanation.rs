//! What `explain` tells: the funnel of a plan, its deletes, its clauses, its commits.

use arrow::record_batch::RecordBatch;

/// One stage of the funnel: what came in and what stayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunnelStage {
    /// `manifest counts`, `partition summaries`, `delete manifests`, `delete files`, `partition tuples`,
    /// `column metrics`, `deletes attached`.
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
    /// Wall time of the stage, milliseconds. 0 where the next stage of the same unit is measured with it.
    pub time_ms: f64,
}

/// The deletes of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteFacts {
    /// Delete files that the filter may touch, by kind.
    pub position: u64,
    /// Files of key values.
    pub equality: u64,
    /// Deletion vectors.
    pub vectors: u64,
    /// Of all of them, those that reach a file that is kept.
    pub attached: u64,
    /// How often they were attached, once for each data file.
    pub attachments: u64,
}

/// What the plan cache did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheFacts {
    /// Its folder.
    pub folder: String,
    /// Manifests that it had.
    pub served: u64,
    /// Manifests that planning read, from it or from the table.
    pub read: u64,
    /// Why it could not serve or keep some, if there was a reason.
    pub trouble: Option<String>,
}

/// What planning did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explain {
    /// The table's location.
    pub table: String,
    /// `iceberg` or `paimon`.
    pub format: &'static str,
    /// The table's format version.
    pub format_version: u8,
    /// The snapshot read; `None` for an empty table.
    pub snapshot_id: Option<i64>,
    /// When the snapshot was made, milliseconds since the epoch.
    pub snapshot_timestamp_ms: Option<i64>,
    /// The commit's operation, as recorded.
    pub operation: Option<String>,
    /// The schema that rows have.
    pub schema_id: i32,
    /// The partition specs of the snapshot's manifests as text, by id.
    pub specs: Vec<(i32, String)>,
    /// The filter as text.
    pub filter: String,
    /// The selected top-level columns.
    pub select: Vec<String>,
    /// What each clause of the filter can do.
    pub clauses: Vec<Clause>,
    /// The funnel, in order.
    pub stages: Vec<FunnelStage>,
    /// Deletes.
    pub deletes: DeleteFacts,
    /// Of a scan of what happened between versions: what each commit did, oldest first.
    pub commits: Vec<CommitFacts>,
    /// The plan cache, if the scan has one.
    pub cache: Option<CacheFacts>,
    /// Rows in the files kept.
    pub rows: u64,
    /// Wall time of planning, milliseconds.
    pub time_ms: f64,
}

/// An explanation with its tables.
pub struct Explained {
    /// The facts.
    pub explain: Explain,
    /// Every manifest; columns as in [`manifest_schema`].
    pub manifests: RecordBatch,
    /// Every file, if asked for; columns as in [`file_schema`], of a changelog as in [`change_file_schema`].
    pub files: Option<Vec<RecordBatch>>,
}

/// A top-level clause of the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clause {
    /// As text.
    pub text: String,
    /// Stages that can use it: `manifest list`, `partitions`, `column metrics`. None: it is only asked of rows.
    pub stages: Vec<&'static str>,
    /// What keeps it from the other stages, or limits it; empty if nothing.
    pub limits: Vec<String>,
}

/// What one commit did to the rows that a scan asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitFacts {
    /// The commit.
    pub snapshot_id: i64,
    /// When it was made, milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// Its operation, as recorded.
    pub operation: Option<String>,
    /// Its place in the changelog; `None` among appends.
    pub ordinal: Option<i32>,
    /// Files with rows that came.
    pub inserts: u64,
    /// Files with rows that went.
    pub deletes: u64,
}
