//! Snapshots, references to them and the logs about them, with their JSON.
//!
//! Source: Iceberg specification, "Snapshots", "Snapshot Retention Policy", and Appendix C.

use crate::format::evolution::RefKind;
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::types::json_members::OwnedMembers;

/// The summary key of the operation.
const OPERATION: &str = "operation";

/// The state of a table at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// `snapshot-id`.
    pub id: i64,
    /// `parent-snapshot-id`.
    pub parent_id: Option<i64>,
    /// `sequence-number`; 0 in v1 and for snapshots made in v1.
    pub sequence_number: i64,
    /// `timestamp-ms`: milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// `manifest-list`: the path of the manifest list.
    pub manifest_list: Option<String>,
    /// `manifests`: the paths of the manifests. Old v1 tables have them instead of a list.
    pub manifests: Option<Vec<String>>,
    /// `summary`, including the operation.
    pub summary: BTreeMap<String, String>,
    /// `schema-id`: the current schema when the snapshot was made.
    pub schema_id: Option<i32>,
    /// `first-row-id` (v3).
    pub first_row_id: Option<i64>,
    /// `added-rows` (v3).
    pub added_rows: Option<i64>,
    /// `key-id`: the key of the encrypted manifest list (v3).
    pub key_id: Option<String>,
    /// Unknown members, kept for rewriting.
    pub extra: Map<String, Json>,
}

impl Snapshot {
    /// The operation: `append`, `replace`, `overwrite`, `delete` or an unknown word. `None` without a summary.
    pub fn operation(&self) -> Option<&str> {
        self.summary.get(OPERATION).map(String::as_str)
    }

    /// Reads a snapshot of a table of this format version. A summary without an operation gets `overwrite`, as in the
    /// Java implementation.
    ///
    /// # Errors
    /// `CorruptTable` for a missing or wrong member.
    pub fn from_json(json: Json, format_version: u8) -> Result<Snapshot> {
        let mut m = OwnedMembers::of(json, "a snapshot")?;
        let id = m.required_long("snapshot-id")?;
        Self::read(&mut m, id, format_version)
            .map(|snapshot| Snapshot { extra: m.rest(), ..snapshot })
            .map_err(|e| e.with("snapshot", id))
    }

    fn read(m: &mut OwnedMembers, id: i64, format_version: u8) -> Result<Snapshot> {
        let sequence_number = m.count("sequence-number")?.filter(|_| format_version > 1);
        let manifest_list = m.string("manifest-list")?;
        let manifests = match (m.list("manifests")?, &manifest_list) {
            (Some(paths), None) => Some(manifest_paths(paths)?),
            (None, None) => return Err(m.error("manifest-list", "is missing")),
            _ => None,
        };
        let mut summary = m.texts("summary")?;
        if !summary.is_empty() {
            summary.entry(OPERATION.to_owned()).or_insert_with(|| "overwrite".to_owned());
        }
        Ok(Snapshot {
            id,
            parent_id: m.long("parent-snapshot-id")?,
            sequence_number: sequence_number.unwrap_or(0),
            timestamp_ms: m.required_long("timestamp-ms")?,
            manifest_list,
            manifests,
            summary,
            schema_id: m.int("schema-id")?,
            first_row_id: m.count("first-row-id")?,
            added_rows: m.count("added-rows")?,
            key_id: m.string("key-id")?,
            extra: Map::new(),
        })
    }

    /// The JSON object, with its members in the order of the Java implementation.
    pub fn to_json(&self) -> Json {
        let mut out = Map::new();
        if self.sequence_number > 0 {
            out.insert("sequence-number".into(), json!(self.sequence_number));
        }
        out.insert("snapshot-id".into(), json!(self.id));
        put(&mut out, "parent-snapshot-id", self.parent_id);
        out.insert("timestamp-ms".into(), json!(self.timestamp_ms));
        if let Some(operation) = self.operation() {
            let mut summary = Map::from_iter([(OPERATION.to_owned(), json!(operation))]);
            summary.extend(self.summary.iter().map(|(k, v)| (k.clone(), json!(v))));
            out.insert("summary".into(), Json::Object(summary));
        }
        put(&mut out, "manifest-list", self.manifest_list.as_deref());
        put(&mut out, "manifests", self.manifests.as_deref());
        put(&mut out, "schema-id", self.schema_id);
        put(&mut out, "first-row-id", self.first_row_id);
        put(&mut out, "added-rows", self.added_rows);
        put(&mut out, "key-id", self.key_id.as_deref());
        out.extend(self.extra.clone());
        Json::Object(out)
    }
}

fn manifest_paths(items: Vec<Json>) -> Result<Vec<String>> {
    let string = |item| match item {
        Json::String(s) => Ok(s),
        _ => Err(Error::corrupt("'manifests' of a snapshot holds a value that is not a string")),
    };
    items.into_iter().map(string).collect()
}

fn put<T: Into<Json>>(out: &mut Map<String, Json>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        out.insert(key.to_owned(), value.into());
    }
}

/// A named reference to a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotRef {
    /// The snapshot.
    pub snapshot_id: i64,
    /// Branch or tag.
    pub kind: RefKind,
    /// For a branch: the number of snapshots that expiry keeps.
    pub min_snapshots_to_keep: Option<i32>,
    /// For a branch: the maximum age of snapshots, in milliseconds.
    pub max_snapshot_age_ms: Option<i64>,
    /// The maximum age of the reference, in milliseconds. `main` is never removed.
    pub max_ref_age_ms: Option<i64>,
    /// Unknown members, kept for rewriting.
    pub extra: Map<String, Json>,
}

impl SnapshotRef {
    /// Creates a reference without retention rules.
    pub fn new(snapshot_id: i64, kind: RefKind) -> Self {
        SnapshotRef {
            snapshot_id,
            kind,
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
            extra: Map::new(),
        }
    }

    /// Reads a reference object.
    ///
    /// # Errors
    /// `CorruptTable` for a missing or wrong member.
    pub fn from_json(json: Json) -> Result<SnapshotRef> {
        let mut m = OwnedMembers::of(json, "a reference")?;
        let kind = match m.required_string("type")?.to_ascii_lowercase().as_str() {
            "branch" => RefKind::Branch,
            "tag" => RefKind::Tag,
            other => return Err(m.error("type", &format!("is '{other}', neither branch nor tag"))),
        };
        Ok(SnapshotRef {
            snapshot_id: m.required_long("snapshot-id")?,
            kind,
            min_snapshots_to_keep: m.int("min-snapshots-to-keep")?,
            max_snapshot_age_ms: m.long("max-snapshot-age-ms")?,
            max_ref_age_ms: m.long("max-ref-age-ms")?,
            extra: m.rest(),
        })
    }

    /// The JSON object.
    pub fn to_json(&self) -> Json {
        let mut out = Map::new();
        out.insert("snapshot-id".into(), json!(self.snapshot_id));
        let kind = if self.kind == RefKind::Branch { "branch" } else { "tag" };
        out.insert("type".into(), json!(kind));
        put(&mut out, "min-snapshots-to-keep", self.min_snapshots_to_keep);
        put(&mut out, "max-snapshot-age-ms", self.max_snapshot_age_ms);
        put(&mut out, "max-ref-age-ms", self.max_ref_age_ms);
        out.extend(self.extra.clone());
        Json::Object(out)
    }
}

/// When a snapshot became the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLogEntry {
    /// Milliseconds since the epoch.
    pub timestamp_ms: i64,
    /// The snapshot. It may have expired.
    pub snapshot_id: i64,
}

impl SnapshotLogEntry {
    /// Reads an entry.
    ///
    /// # Errors
    /// `CorruptTable` for a missing or wrong member.
    pub fn from_json(json: Json) -> Result<Self> {
        let mut m = OwnedMembers::of(json, "a snapshot-log entry")?;
        Ok(SnapshotLogEntry {
            timestamp_ms: m.required_long("timestamp-ms")?,
            snapshot_id: m.required_long("snapshot-id")?,
        })
    }

    /// The JSON object.
    pub fn to_json(self) -> Json {
        json!({"timestamp-ms": self.timestamp_ms, "snapshot-id": self.snapshot_id})
    }
}

/// An earlier metadata file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataLogEntry {
    /// Its `last-updated-ms`.
    pub timestamp_ms: i64,
    /// The file's path.
    pub metadata_file: String,
}

impl MetadataLogEntry {
    /// Reads an entry.
    ///
    /// # Errors
    /// `CorruptTable` for a missing or wrong member.
    pub fn from_json(json: Json) -> Result<Self> {
        let mut m = OwnedMembers::of(json, "a metadata-log entry")?;
        let timestamp_ms = m.required_long("timestamp-ms")?;
        Ok(MetadataLogEntry { timestamp_ms, metadata_file: m.required_string("metadata-file")? })
    }

    /// The JSON object.
    pub fn to_json(&self) -> Json {
        json!({"timestamp-ms": self.timestamp_ms, "metadata-file": self.metadata_file})
    }
}

/// The subject of a statistics file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsKind {
    /// Columns. The file is a Puffin file, listed in `statistics`.
    Columns,
    /// Partitions. The file has one row for each partition, and is listed in `partition-statistics`.
    Partitions,
}

/// A statistics or partition-statistics file of a snapshot. Holds the members that are read, and the recorded object,
/// which keeps unknown blob types.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsFile {
    /// The snapshot it describes.
    pub snapshot_id: i64,
    /// `statistics-path`.
    pub path: String,
    /// `file-size-in-bytes`.
    pub size_bytes: i64,
    /// The whole object.
    pub json: Json,
}

impl StatisticsFile {
    /// Reads an entry of `statistics` or `partition-statistics`.
    ///
    /// # Errors
    /// `CorruptTable` for a missing or wrong member.
    pub fn from_json(json: Json) -> Result<Self> {
        let what = "a statistics file";
        let Json::Object(object) = &json else { return Err(Error::corrupt(format!("{what} is not a JSON object"))) };
        let missing = |key: &str| Error::corrupt(format!("'{key}' of {what} is missing or of the wrong type"));
        let long = |key: &str| object.get(key).and_then(Json::as_i64).ok_or_else(|| missing(key));
        let path = object.get("statistics-path").and_then(Json::as_str).ok_or_else(|| missing("statistics-path"))?;
        let path = path.to_owned();
        let (snapshot_id, size_bytes) = (long("snapshot-id")?, long("file-size-in-bytes")?);
        Ok(StatisticsFile { snapshot_id, path, size_bytes, json })
    }
}
