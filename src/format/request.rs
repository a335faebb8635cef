//! What a caller asks of a table: versions, scans, writes; and what a table tells of its snapshots.

use crate::expr::Predicate;
use crate::format::evolution::Retention;

use crate::types::temporal::format_instant;
use std::collections::BTreeMap;

/// Which version of the table to read.
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

/// What a scan is asked for; see [`Table::scan`].
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// Rows to keep.
    pub filter: Option<Predicate>,
    /// Columns by dotted path; `None` for all.
    pub select: Option<Vec<String>>,
    /// The version; `None` for the current one.
    pub at: Option<At>,
    /// Only what came after this version, of those that `at` comes from.
    pub since: Option<At>,
    /// Whether the rows are those that changed, rather than those that are there.
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
    /// How long it and its snapshots are kept, where it says so.
    pub retention: Retention,
}

/// How rows are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteOptions {
    /// The number of the writer among those of one job.
    pub task: u64,
    /// What the rows of each partition are sorted by, as texts (`ts desc nulls last`): the table's order if none, and not
    /// at all if there are no texts.
    pub sort_by: Option<Vec<String>>,
    /// The rows are in the table already and are to replace themselves: in format version 3 they have the columns of
    /// lineage, and keep it.
    pub again: bool,
    /// The rows are to take the place of others, by [`Table::commit_overwrite`]; to tables of Paimon it matters.
    pub replaces: bool,
}
