//! A table of either format: open, look, scan, append.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatchReader;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::scan::Scan;
use crate::task::CommitMessage;
use crate::types::{PartitionSpec, Schema, SortOrder};

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

/// What a scan is asked for; see [`Table::scan`].
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// Rows to keep.
    pub filter: Option<Predicate>,
    /// Columns by dotted path; `None` for all.
    pub select: Option<Vec<String>>,
    /// The version; `None` for the current one.
    pub at: Option<At>,
    /// Read options by the format's own names.
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
}

/// A table at one version of its metadata. Immutable; cheap to clone; shared by threads.
#[derive(Clone, Debug)]
pub struct Table {
    schema: Arc<Schema>,
}

fn later<T>() -> Result<T> {
    Err(Error::unsupported("not built yet"))
}

impl Table {
    /// Opens the table at a root folder or metadata file.
    pub fn open(_location: &str, _storage_options: BTreeMap<String, String>, _moved: bool) -> Result<Table> {
        later()
    }
    /// `iceberg` or `paimon`.
    pub fn format(&self) -> &'static str {
        "iceberg"
    }
    /// The version of the format.
    pub fn format_version(&self) -> u8 {
        2
    }
    /// The table's recorded location.
    pub fn location(&self) -> &str {
        ""
    }
    /// The metadata file that was read.
    pub fn metadata_location(&self) -> &str {
        ""
    }
    /// `table-uuid`.
    pub fn uuid(&self) -> &str {
        ""
    }
    /// The current schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
    /// The partition spec that writers use.
    pub fn partition_spec(&self) -> Arc<PartitionSpec> {
        Arc::default()
    }
    /// The sort order that writers use.
    pub fn sort_order(&self) -> Arc<SortOrder> {
        Arc::default()
    }
    /// Table properties.
    pub fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// The current snapshot.
    pub fn snapshot(&self) -> Option<SnapshotInfo> {
        None
    }
    /// All snapshots, oldest first.
    pub fn snapshots(&self) -> Vec<SnapshotInfo> {
        Vec::new()
    }
    /// Branches and tags by name.
    pub fn refs(&self) -> Vec<RefInfo> {
        Vec::new()
    }
    /// The newest version of the same table.
    pub fn refresh(&self) -> Result<Table> {
        later()
    }
    /// The JSON from which [`Table::from_json`] opens the same version again, in another process too.
    pub fn to_json(&self) -> String {
        String::new()
    }
    /// See [`Table::to_json`].
    pub fn from_json(_text: &str) -> Result<Table> {
        later()
    }
    /// A lazy scan.
    pub fn scan(&self, _request: ScanRequest) -> Result<Scan> {
        later()
    }
    /// Writes the stream's rows and commits them; returns the new version of the table.
    pub fn append(&self, _rows: Box<dyn RecordBatchReader + Send>) -> Result<Table> {
        later()
    }
    /// Writes the stream's rows into new files without committing. `task` numbers the writers of one job.
    pub fn write(&self, _rows: Box<dyn RecordBatchReader + Send>, _task: u64) -> Result<CommitMessage> {
        later()
    }
    /// Commits the files of writers as one append; `summary` adds members to the snapshot's summary.
    pub fn commit(&self, _messages: Vec<CommitMessage>, _summary: BTreeMap<String, String>) -> Result<Table> {
        later()
    }
    /// Deletes the files of writers whose job was given up.
    pub fn abort(&self, _messages: &[CommitMessage]) -> Result<()> {
        later()
    }
}
