//! The result of `explain`: the stages of a plan, its deletes, its clauses, its commits.

use arrow::record_batch::RecordBatch;

/// One stage of a plan: its input, and the part that it kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunnelStage {
    /// `manifest counts`, `partition summaries`, `delete manifests`, `delete files`, `partition tuples`,
    /// `column metrics`, `deletes attached`.
    pub name: &'static str,
    /// The counted unit: `manifest`, `data file` or `delete file`.
    pub unit: &'static str,
    /// The number of inputs.
    pub considered: u64,
    /// The number kept.
    pub kept: u64,
    /// Bytes of the input.
    pub considered_bytes: u64,
    /// Bytes kept.
    pub kept_bytes: u64,
    /// The basis of the decisions at this stage, as text.
    pub reason: &'static str,
    /// Wall time of the stage, milliseconds. 0 if its time is included in the next stage of the same unit.
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
    /// Deletes that apply to a kept file.
    pub attached: u64,
    /// How often they were attached to data files.
    pub attachments: u64,
}

/// The work of the plan cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheFacts {
    /// Its folder.
    pub folder: String,
    /// Manifests that the cache had.
    pub served: u64,
    /// Manifests that planning read, from the cache or from the table.
    pub read: u64,
    /// Why the cache could not return or store some of them.
    pub trouble: Option<String>,
}

/// The work of planning.
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
    /// The clauses of the filter, each with its possible use.
    pub clauses: Vec<Clause>,
    /// The stages, in order.
    pub stages: Vec<FunnelStage>,
    /// Deletes.
    pub deletes: DeleteFacts,
    /// The changes of each commit, oldest first, for a scan of changes.
    pub commits: Vec<CommitFacts>,
    /// The plan cache, if the scan has one.
    pub cache: Option<CacheFacts>,
    /// The name of the plan, if the catalog's server made it. Empty if the server gave no name.
    pub server_plan: Option<String>,
    /// Rows in the files kept.
    pub rows: u64,
    /// Wall time of planning, milliseconds.
    pub time_ms: f64,
}

/// An explanation with its tables.
pub struct Explained {
    /// The facts.
    pub explain: Explain,
    /// Every manifest; columns as in `manifest_schema`.
    pub manifests: RecordBatch,
    /// Every file, if asked for; columns as in `file_schema`, of a changelog as in `change_file_schema`.
    pub files: Option<Vec<RecordBatch>>,
}

/// A top-level clause of the filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clause {
    /// As text.
    pub text: String,
    /// Stages that can use it: `manifest list`, `partitions`, `column metrics`. Without stages, the clause is only
    /// checked on rows.
    pub stages: Vec<&'static str>,
    /// Reasons why other stages can't use it, and its limits; may be empty.
    pub limits: Vec<String>,
}

/// The effect of one commit on the rows of a scan.
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
    /// Files with inserted rows.
    pub inserts: u64,
    /// Files with deleted rows.
    pub deletes: u64,
}
