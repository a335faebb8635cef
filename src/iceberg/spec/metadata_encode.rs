//! Metadata files: [`TableMetadata`] to bytes.
//!
//! Writes the members that the Java implementation writes for each format version, in its order, then the unknown
//! members. List entries are converted to JSON one at a time, so that a table with many snapshots is not in memory
//! twice.
//!
//! Source: Iceberg specification, "Table Metadata" and "Appendix C".

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::metadata::TableMetadata;
use super::partition::spec_to_json;
use super::snapshot::{MetadataLogEntry, SnapshotLogEntry};
use super::sort_order::sort_order_to_json;
use crate::types::schema_json::schema_to_json;

/// The bytes of a metadata file, not compressed.
pub fn encode_metadata(metadata: &TableMetadata) -> Vec<u8> {
    let m = metadata;
    let mut out = ObjectWriter::new();
    out.member("format-version", &json!(m.format_version));
    if let Some(uuid) = &m.table_uuid {
        out.member("table-uuid", &json!(uuid));
    }
    out.member("location", &json!(m.location));
    if m.format_version > 1 {
        out.member("last-sequence-number", &json!(m.last_sequence_number));
    }
    out.member("last-updated-ms", &json!(m.last_updated_ms));
    out.member("last-column-id", &json!(m.last_column_id));
    write_layout(m, &mut out);
    out.member("properties", &json!(m.properties));
    out.member(
        "current-snapshot-id",
        &match m.current_snapshot_id {
            Some(id) => json!(id),
            None if m.format_version >= 3 => Json::Null,
            None => json!(-1),
        },
    );
    if m.format_version >= 3 {
        out.member("next-row-id", &json!(m.next_row_id.unwrap_or(0)));
    }
    if !m.encryption_keys.is_empty() {
        out.list("encryption-keys", m.encryption_keys.iter().cloned());
    }
    let refs = m.refs.iter().map(|(name, reference)| (name.clone(), reference.to_json()));
    out.member("refs", &Json::Object(refs.collect()));
    out.list("snapshots", m.snapshots.iter().map(|s| s.to_json()));
    out.list("statistics", m.statistics.iter().map(|s| s.json.clone()));
    out.list("partition-statistics", m.partition_statistics.iter().map(|s| s.json.clone()));
    let recorded = &m.recorded.snapshot_log;
    let entry = |e: &SnapshotLogEntry| recorded.get(&(e.timestamp_ms, e.snapshot_id)).cloned();
    out.list("snapshot-log", m.snapshot_log.iter().map(|e| entry(e).unwrap_or_else(|| e.to_json())));
    let recorded = &m.recorded.metadata_log;
    let entry = |e: &MetadataLogEntry| recorded.get(&e.metadata_file).cloned();
    out.list("metadata-log", m.metadata_log.iter().map(|e| entry(e).unwrap_or_else(|| e.to_json())));
    for (key, value) in &m.extra {
        out.member(key, value);
    }
    out.finish()
}

/// Writes schemas, partition specs and sort orders. In v1 also writes the current ones under the names that old readers
/// know.
fn write_layout(m: &TableMetadata, out: &mut ObjectWriter) {
    let recorded = &m.recorded;
    let schemas = m.schemas.iter().map(|s| (s.id, as_recorded(s, recorded.schemas.get(&s.id), schema_to_json)));
    let specs = m.partition_specs.iter().map(|s| (s.id, as_recorded(s, recorded.specs.get(&s.id), spec_to_json)));
    let orders = m.sort_orders.iter().map(|s| as_recorded(s, recorded.sort_orders.get(&s.id), sort_order_to_json));
    let old = |out: &mut ObjectWriter, key: &str, current: Option<Json>| match current {
        Some(current) if m.format_version == 1 => out.member(key, &current),
        _ => {}
    };
    old(out, "schema", schemas.clone().find(|(id, _)| *id == m.current_schema_id).map(|(_, json)| json));
    out.member("current-schema-id", &json!(m.current_schema_id));
    out.list("schemas", schemas.map(|(_, json)| json));
    let default = specs.clone().find(|(id, _)| *id == m.default_spec_id);
    old(out, "partition-spec", default.and_then(|(_, mut json)| json.get_mut("fields").map(Json::take)));
    out.member("default-spec-id", &json!(m.default_spec_id));
    out.list("partition-specs", specs.map(|(_, json)| json));
    out.member("last-partition-id", &json!(m.last_partition_id));
    out.member("default-sort-order-id", &json!(m.default_sort_order_id));
    out.list("sort-orders", orders);
}

/// The JSON that a value was read from if the value is unchanged; otherwise new JSON.
fn as_recorded<T>(value: &Arc<T>, recorded: Option<&(Arc<T>, Json)>, make: fn(&T) -> Json) -> Json {
    match recorded {
        Some((read, json)) if Arc::ptr_eq(read, value) => json.clone(),
        _ => make(value),
    }
}

/// Writes one object, member by member.
struct ObjectWriter(Vec<u8>);

impl ObjectWriter {
    fn new() -> Self {
        ObjectWriter(vec![b'{'])
    }

    /// Writes a JSON value. Writing to memory does not fail.
    fn value(&mut self, value: &Json) {
        let _ = serde_json::to_writer(&mut self.0, value);
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.value(&json!(key));
        self.0.push(b':');
    }

    fn member(&mut self, key: &str, value: &Json) {
        self.key(key);
        self.value(value);
    }

    fn list(&mut self, key: &str, items: impl Iterator<Item = Json>) {
        self.key(key);
        self.0.push(b'[');
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.0.push(b',');
            }
            self.value(&item);
        }
        self.0.push(b']');
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
