//! Table metadata: one version of a table, as its metadata file describes it.
//!
//! `metadata_json` reads it, `metadata_encode` writes it, and `metadata_build` makes new versions. Values are immutable
//! once shared. A clone is cheap, because the long lists hold [`Arc`]s.
//!
//! Source: Iceberg specification, "Table Metadata".

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef, StatisticsFile};
use crate::error::{Error, Result};
use crate::types::temporal::{format_instant, parse_date};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// The branch that readers see by default.
pub const MAIN_BRANCH: &str = "main";

/// The name of the metadata folder in a table's root.
pub const METADATA_FOLDER: &str = "metadata";

/// One version of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableMetadata {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// The table's identity; may be absent in v1.
    pub table_uuid: Option<String>,
    /// The table's root, without a trailing slash.
    pub location: String,
    /// The highest sequence number ever assigned; 0 in v1.
    pub last_sequence_number: i64,
    /// The time of this version: milliseconds since the epoch.
    pub last_updated_ms: i64,
    /// The highest column id ever assigned.
    pub last_column_id: i32,
    /// All schemas.
    pub schemas: Vec<Arc<Schema>>,
    /// The id of the current schema.
    pub current_schema_id: i32,
    /// All partition specs.
    pub partition_specs: Vec<Arc<PartitionSpec>>,
    /// The id of the spec that writers use.
    pub default_spec_id: i32,
    /// The highest partition field id ever assigned; 999 before the first.
    pub last_partition_id: i32,
    /// All sort orders.
    pub sort_orders: Vec<Arc<SortOrder>>,
    /// The id of the order that writers use.
    pub default_sort_order_id: i32,
    /// The table's properties.
    pub properties: BTreeMap<String, String>,
    /// The current snapshot of `main`.
    pub current_snapshot_id: Option<i64>,
    /// The snapshots that have not expired, in the recorded order.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// The history of current snapshots, in the recorded order. That order may differ from the order of time.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// Earlier metadata files, oldest first.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// Branches and tags.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Puffin files with column statistics.
    pub statistics: Vec<Arc<StatisticsFile>>,
    /// Files with statistics of partitions.
    pub partition_statistics: Vec<Arc<StatisticsFile>>,
    /// The next row id to assign (v3).
    pub next_row_id: Option<i64>,
    /// Key objects as recorded (v3).
    pub encryption_keys: Vec<Json>,
    /// Unknown top-level members, kept for rewriting.
    pub extra: Map<String, Json>,
    /// The recorded form of schemas, specs and sort orders.
    pub recorded: Arc<Recorded>,
}

/// The JSON that schemas, specs and sort orders were read from, by id. It keeps unknown members when metadata is
/// rewritten.
///
/// Each JSON is stored with the value that was read from it. It is used only while the table still holds exactly this
/// value. All instances compare equal, because they are not part of the table's meaning.
#[derive(Debug, Default)]
pub struct Recorded {
    /// JSON of schemas.
    pub schemas: HashMap<i32, (Arc<Schema>, Json)>,
    /// JSON of partition specs, in the object form.
    pub specs: HashMap<i32, (Arc<PartitionSpec>, Json)>,
    /// JSON of sort orders.
    pub sort_orders: HashMap<i32, (Arc<SortOrder>, Json)>,
    /// JSON of entries of the snapshot log with unknown members, by time and snapshot.
    pub snapshot_log: HashMap<(i64, i64), Json>,
    /// JSON of entries of the metadata log with unknown members, by file.
    pub metadata_log: HashMap<String, Json>,
}

impl PartialEq for Recorded {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

fn unknown(what: &str, id: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("the table metadata has no {what} {id}"))
}

impl TableMetadata {
    /// The current schema.
    ///
    /// # Errors
    /// `CorruptTable` if `current_schema_id` names no schema. Parsing rules this out.
    pub fn schema(&self) -> Result<&Arc<Schema>> {
        self.schema_by_id(self.current_schema_id)
    }

    /// The schema with this id.
    ///
    /// # Errors
    /// `CorruptTable` if the table has no such id.
    pub fn schema_by_id(&self, id: i32) -> Result<&Arc<Schema>> {
        self.schemas.iter().find(|s| s.id == id).ok_or_else(|| unknown("schema", id))
    }

    /// The spec that writers use.
    ///
    /// # Errors
    /// `CorruptTable` if `default_spec_id` names no spec. Parsing rules this out.
    pub fn spec(&self) -> Result<&Arc<PartitionSpec>> {
        self.spec_by_id(self.default_spec_id)
    }

    /// The spec with this id.
    ///
    /// # Errors
    /// `CorruptTable` if the table has no such id.
    pub fn spec_by_id(&self, id: i32) -> Result<&Arc<PartitionSpec>> {
        self.partition_specs.iter().find(|s| s.id == id).ok_or_else(|| unknown("partition spec", id))
    }

    /// The order that writers use.
    ///
    /// # Errors
    /// `CorruptTable` if `default_sort_order_id` names no order. Parsing rules this out.
    pub fn sort_order(&self) -> Result<&Arc<SortOrder>> {
        let id = self.default_sort_order_id;
        self.sort_orders.iter().find(|s| s.id == id).ok_or_else(|| unknown("sort order", id))
    }

    /// The snapshot with this id, if the table still has it.
    pub fn snapshot_by_id(&self, id: i64) -> Option<&Arc<Snapshot>> {
        self.snapshots.iter().find(|s| s.id == id)
    }

    /// The current snapshot of `main`; `None` for a table without data.
    pub fn current_snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot_by_id(self.current_snapshot_id?)
    }

    /// The snapshot of a branch or tag. `None` for `main` of a table without data.
    ///
    /// # Errors
    /// `NotFound` if the reference does not exist.
    pub fn snapshot_of_ref(&self, name: &str) -> Result<Option<&Arc<Snapshot>>> {
        match self.refs.get(name) {
            Some(r) => Ok(self.snapshot_by_id(r.snapshot_id)),
            None if name == MAIN_BRANCH => Ok(self.current_snapshot()),
            None => Err(self.no_ref(name)),
        }
    }

    /// The error for a branch or tag that does not exist.
    pub fn no_ref(&self, name: &str) -> Error {
        let names: Vec<&str> = self.refs.keys().map(String::as_str).collect();
        let is_time = name.get(..10).is_some_and(|day| parse_date(day).is_some());
        let time = if is_time { ". A time is not text: give a datetime" } else { "" };
        Error::not_found(format!("the table has no branch or tag '{name}'"))
            .hint(format!("There is: {}{time}", names.join(", ")))
    }

    /// The snapshot that was current at a time, by the snapshot log. If entries have the same timestamp, the first one
    /// is used, as in the Java implementation.
    ///
    /// # Errors
    /// `NotFound` if the log starts later or the snapshot has expired.
    pub fn snapshot_as_of(&self, timestamp_ms: i64) -> Result<&Arc<Snapshot>> {
        let mut best: Option<&SnapshotLogEntry> = None;
        for entry in self.snapshot_log.iter().filter(|e| e.timestamp_ms <= timestamp_ms) {
            if best.is_none_or(|b| entry.timestamp_ms > b.timestamp_ms) {
                best = Some(entry);
            }
        }
        let Some(entry) = best else {
            let error = Error::not_found(format!("the table had no snapshot yet at {}", format_instant(timestamp_ms)));
            return Err(match self.snapshot_log.iter().map(|e| e.timestamp_ms).min() {
                Some(first) => error.hint(format!("Its history begins at {}", format_instant(first))),
                None => error.hint("The table has no history"),
            });
        };
        self.snapshot_by_id(entry.snapshot_id).ok_or_else(|| {
            let time = format_instant(timestamp_ms);
            Error::not_found(format!("the snapshot that was current at {time} has expired"))
                .with("snapshot", entry.snapshot_id)
        })
    }

    /// The schema at the time when a snapshot was made. The current schema if the snapshot does not record one.
    ///
    /// # Errors
    /// `CorruptTable` if the snapshot names a schema that the table does not have.
    pub fn schema_of_snapshot(&self, snapshot: &Snapshot) -> Result<&Arc<Schema>> {
        match snapshot.schema_id {
            Some(id) => self.schema_by_id(id).map_err(|e| e.with("snapshot", snapshot.id)),
            None => self.schema(),
        }
    }

    /// The snapshot with this id, its parent, and so on. Ends before a parent that has expired or, in a damaged table,
    /// appears a second time.
    pub fn ancestors(&self, id: i64) -> Vec<&Arc<Snapshot>> {
        let mut by_id: HashMap<i64, &Arc<Snapshot>> = self.snapshots.iter().map(|s| (s.id, s)).collect();
        let mut out = Vec::new();
        let mut next = Some(id);
        while let Some(snapshot) = next.and_then(|id| by_id.remove(&id)) {
            out.push(snapshot);
            next = snapshot.parent_id;
        }
        out
    }

    /// The property's value as a number; `default` if it is not set.
    ///
    /// # Errors
    /// `InvalidInput` if the value is not a number.
    pub fn int_property(&self, name: &str, default: i64) -> Result<i64> {
        match self.properties.get(name) {
            None => Ok(default),
            Some(text) => text
                .trim()
                .parse()
                .map_err(|_| Error::invalid(format!("the table property {name} is not a number: '{text}'"))),
        }
    }
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
pub(crate) mod tests;
