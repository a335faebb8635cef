//! Requests of callers (versions, scans, writes), and the description of snapshots.

use crate::expr::Predicate;
use crate::format::evolution::Retention;

use crate::types::temporal::format_instant;
use std::collections::BTreeMap;

/// The version of the table to read.
#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// A snapshot by id: read with the schema it had.
    Snapshot(i64),
    /// A branch (read with the current schema) or a tag (with its snapshot's).
    Ref(String),
    /// The snapshot that was current then, milliseconds since the epoch.
    TimestampMs(i64),
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            At::Snapshot(id) => write!(f, "{id}"),
            At::Ref(name) => f.write_str(name),
            At::TimestampMs(ms) => f.write_str(&format_instant(*ms)),
        }
    }
}

/// The request for a scan; see `Table::scan`.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// Rows to keep.
    pub filter: Option<Predicate>,
    /// Columns by dotted path; `None` for all.
    pub select: Option<Vec<String>>,
    /// The version; `None` for the current one.
    pub at: Option<At>,
    /// Only rows or changes after this version, which must be an ancestor of `at`.
    pub since: Option<At>,
    /// Whether the rows are changes instead of the current rows.
    pub changes: bool,
    /// Read options by the format's own names: `split-size`, `lookback`, `file-open-cost`, `case-sensitive`,
    /// `batch-rows`.
    pub options: BTreeMap<String, String>,
}

/// A snapshot as users see it, of either format.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotInfo {
    /// Its id.
    pub id: i64,
    /// The snapshot it follows.
    pub parent_id: Option<i64>,
    /// Its number in the order of commits; 0 in Iceberg v1.
    pub sequence_number: i64,
    /// When it was made, milliseconds since the epoch, UTC.
    pub timestamp_ms: i64,
    /// `append`, `overwrite`, …, as recorded.
    pub operation: Option<String>,
    /// The other members of its summary.
    pub summary: BTreeMap<String, String>,
    /// The schema it was written with.
    pub schema_id: Option<i32>,
}

/// A branch or tag.
#[derive(Clone, Debug, PartialEq)]
pub struct RefInfo {
    /// Its name.
    pub name: String,
    /// The snapshot it points at.
    pub snapshot_id: i64,
    /// `branch` or `tag`.
    pub kind: &'static str,
    /// How long it and its snapshots are kept, if recorded.
    pub retention: Retention,
}

/// How to write rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteOptions {
    /// The number of the writer among those of one job.
    pub task: u64,
    /// The sort order within each partition, as texts (`ts desc nulls last`). `None` means the table's order; an empty
    /// list means unsorted.
    pub sort_by: Option<Vec<String>>,
    /// The rows already exist in the table and replace themselves. In format version 3 they have the columns of
    /// lineage, and keep their lineage.
    pub rewrites: bool,
    /// The rows replace others, by `Table::commit_overwrite`. This matters for Paimon tables only.
    pub replaces: bool,
}
