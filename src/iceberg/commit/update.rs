//! Changes of a table's metadata, in the form and JSON that a REST catalog takes.
//!
//! Source: the `TableUpdate` schemas of Iceberg's REST catalog specification.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};
use crate::iceberg::spec::partition::{spec_from_json, spec_to_json};
use crate::iceberg::spec::snapshot::{Snapshot, SnapshotRef, StatisticsFile};
use crate::iceberg::spec::sort_order::{sort_order_from_json, sort_order_to_json};
use crate::types::json_members::{OwnedMembers, as_int};
use crate::types::schema_json::{schema_from_json, schema_to_json};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// The id that refers to the schema, spec or sort order that the same commit added last.
pub const LAST_ADDED: i32 = -1;

/// The id of an encryption key.
pub(super) fn key_id(key: &Json) -> Option<&str> {
    key.get("key-id").and_then(Json::as_str)
}

/// One change of a table's metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataUpdate {
    /// Gives the table this identity.
    AssignUuid(String),
    /// Raises the format version.
    UpgradeFormatVersion(u8),
    /// Adds a schema.
    AddSchema {
        /// The schema.
        schema: Arc<Schema>,
        /// The highest column id ever assigned. The catalog computes it if it is absent.
        last_column_id: Option<i32>,
    },
    /// Sets the current schema; [`LAST_ADDED`] is possible.
    SetCurrentSchema(i32),
    /// Adds a partition spec.
    AddSpec(Arc<PartitionSpec>),
    /// Sets the spec that writers use; [`LAST_ADDED`] is possible.
    SetDefaultSpec(i32),
    /// Adds a sort order.
    AddSortOrder(Arc<SortOrder>),
    /// Sets the order that writers use; [`LAST_ADDED`] is possible.
    SetDefaultSortOrder(i32),
    /// Adds a snapshot. No branch moves to it.
    AddSnapshot(Arc<Snapshot>),
    /// Creates or changes a branch or tag.
    SetSnapshotRef {
        /// Its name.
        name: String,
        /// Its snapshot, kind and retention.
        reference: SnapshotRef,
    },
    /// Removes snapshots.
    RemoveSnapshots(Vec<i64>),
    /// Removes a branch or tag.
    RemoveSnapshotRef(String),
    /// Sets the table's root.
    SetLocation(String),
    /// Sets properties.
    SetProperties(BTreeMap<String, String>),
    /// Removes properties.
    RemoveProperties(Vec<String>),
    /// Sets the statistics file of a snapshot.
    SetStatistics(Arc<StatisticsFile>),
    /// Removes the statistics file of a snapshot with this id.
    RemoveStatistics(i64),
    /// Sets the file with statistics of a snapshot's partitions.
    SetPartitionStatistics(Arc<StatisticsFile>),
    /// Removes the file with statistics of a snapshot's partitions.
    RemovePartitionStatistics(i64),
    /// Removes partition specs that are not in use.
    RemovePartitionSpecs(Vec<i32>),
    /// Removes schemas that are not in use.
    RemoveSchemas(Vec<i32>),
    /// Adds an encryption key, as an object.
    AddEncryptionKey(Json),
    /// Removes the encryption key with this id.
    RemoveEncryptionKey(String),
}

impl MetadataUpdate {
    /// The name of the change in JSON, its `action`.
    pub fn action(&self) -> &'static str {
        use MetadataUpdate as U;
        match self {
            U::AssignUuid(_) => "assign-uuid",
            U::UpgradeFormatVersion(_) => "upgrade-format-version",
            U::AddSchema { .. } => "add-schema",
            U::SetCurrentSchema(_) => "set-current-schema",
            U::AddSpec(_) => "add-spec",
            U::SetDefaultSpec(_) => "set-default-spec",
            U::AddSortOrder(_) => "add-sort-order",
            U::SetDefaultSortOrder(_) => "set-default-sort-order",
            U::AddSnapshot(_) => "add-snapshot",
            U::SetSnapshotRef { .. } => "set-snapshot-ref",
            U::RemoveSnapshots(_) => "remove-snapshots",
            U::RemoveSnapshotRef(_) => "remove-snapshot-ref",
            U::SetLocation(_) => "set-location",
            U::SetProperties(_) => "set-properties",
            U::RemoveProperties(_) => "remove-properties",
            U::SetStatistics(_) => "set-statistics",
            U::RemoveStatistics(_) => "remove-statistics",
            U::SetPartitionStatistics(_) => "set-partition-statistics",
            U::RemovePartitionStatistics(_) => "remove-partition-statistics",
            U::RemovePartitionSpecs(_) => "remove-partition-specs",
            U::RemoveSchemas(_) => "remove-schemas",
            U::AddEncryptionKey(_) => "add-encryption-key",
            U::RemoveEncryptionKey(_) => "remove-encryption-key",
        }
    }

    /// The JSON object that a REST catalog takes.
    pub fn to_json(&self) -> Json {
        use MetadataUpdate as U;
        let members = match self {
            U::AssignUuid(uuid) => json!({"uuid": uuid}),
            U::UpgradeFormatVersion(version) => json!({"format-version": version}),
            U::AddSchema { schema, last_column_id: None } => json!({"schema": schema_to_json(schema)}),
            U::AddSchema { schema, last_column_id: Some(id) } => {
                json!({"schema": schema_to_json(schema), "last-column-id": id})
            }
            U::SetCurrentSchema(id) => json!({"schema-id": id}),
            U::AddSpec(spec) => json!({"spec": spec_to_json(spec)}),
            U::SetDefaultSpec(id) => json!({"spec-id": id}),
            U::AddSortOrder(order) => json!({"sort-order": sort_order_to_json(order)}),
            U::SetDefaultSortOrder(id) => json!({"sort-order-id": id}),
            U::AddSnapshot(snapshot) => json!({"snapshot": snapshot.to_json()}),
            U::SetSnapshotRef { reference, .. } => reference.to_json(),
            U::RemoveSnapshots(ids) => json!({"snapshot-ids": ids}),
            U::RemoveSnapshotRef(_) => json!({}),
            U::SetLocation(location) => json!({"location": location}),
            U::SetProperties(properties) => json!({"updates": properties}),
            U::RemoveProperties(names) => json!({"removals": names}),
            U::SetStatistics(file) => json!({"snapshot-id": file.snapshot_id, "statistics": file.json}),
            U::SetPartitionStatistics(file) => json!({"partition-statistics": file.json}),
            U::RemoveStatistics(id) | U::RemovePartitionStatistics(id) => json!({"snapshot-id": id}),
            U::RemovePartitionSpecs(ids) => json!({"spec-ids": ids}),
            U::RemoveSchemas(ids) => json!({"schema-ids": ids}),
            U::AddEncryptionKey(key) => json!({"encryption-key": key}),
            U::RemoveEncryptionKey(id) => json!({"key-id": id}),
        };
        let mut out = Map::from_iter([("action".to_owned(), json!(self.action()))]);
        if let U::SetSnapshotRef { name, .. } | U::RemoveSnapshotRef(name) = self {
            out.insert("ref-name".to_owned(), json!(name));
        }
        if let Json::Object(members) = members {
            out.extend(members);
        }
        Json::Object(out)
    }

    /// Reads an update of a table that has this format version.
    ///
    /// # Errors
    /// `CorruptTable` if a member is missing or wrong; `Unsupported` for an action that this version does not know.
    pub fn from_json(json: Json, format_version: u8) -> Result<MetadataUpdate> {
        use MetadataUpdate as U;
        let mut m = OwnedMembers::of(json, "a metadata update")?;
        let action = m.required_string("action")?;
        Ok(match action.as_str() {
            "assign-uuid" => U::AssignUuid(m.required_string("uuid")?),
            "upgrade-format-version" => {
                let version = u8::try_from(m.required_int("format-version")?);
                U::UpgradeFormatVersion(version.map_err(|_| m.error("format-version", "is not a format version"))?)
            }
            "add-schema" => U::AddSchema {
                schema: Arc::new(schema_from_json(&m.required("schema")?)?),
                last_column_id: m.int("last-column-id")?,
            },
            "set-current-schema" => U::SetCurrentSchema(m.required_int("schema-id")?),
            "add-spec" => U::AddSpec(Arc::new(spec_from_json(&m.required("spec")?, 0)?)),
            "set-default-spec" => U::SetDefaultSpec(m.required_int("spec-id")?),
            "add-sort-order" => U::AddSortOrder(Arc::new(sort_order_from_json(&m.required("sort-order")?)?)),
            "set-default-sort-order" => U::SetDefaultSortOrder(m.required_int("sort-order-id")?),
            "add-snapshot" => U::AddSnapshot(Arc::new(Snapshot::from_json(m.required("snapshot")?, format_version)?)),
            "set-snapshot-ref" => {
                let name = m.required_string("ref-name")?;
                U::SetSnapshotRef { name, reference: SnapshotRef::from_json(Json::Object(m.rest()))? }
            }
            "remove-snapshots" => U::RemoveSnapshots(ids(&mut m, "snapshot-ids", Json::as_i64)?),
            "remove-snapshot-ref" => U::RemoveSnapshotRef(m.required_string("ref-name")?),
            "set-location" => U::SetLocation(m.required_string("location")?),
            "set-properties" => U::SetProperties(m.texts("updates")?),
            "remove-properties" => U::RemoveProperties(names(&mut m, "removals")?),
            "set-statistics" => U::SetStatistics(Arc::new(StatisticsFile::from_json(m.required("statistics")?)?)),
            "remove-statistics" => U::RemoveStatistics(m.required_long("snapshot-id")?),
            "set-partition-statistics" => {
                let file = StatisticsFile::from_json(m.required("partition-statistics")?)?;
                U::SetPartitionStatistics(Arc::new(file))
            }
            "remove-partition-statistics" => U::RemovePartitionStatistics(m.required_long("snapshot-id")?),
            "remove-partition-specs" => U::RemovePartitionSpecs(ids(&mut m, "spec-ids", as_int)?),
            "remove-schemas" => U::RemoveSchemas(ids(&mut m, "schema-ids", as_int)?),
            "add-encryption-key" => U::AddEncryptionKey(m.required("encryption-key")?),
            "remove-encryption-key" => U::RemoveEncryptionKey(m.required_string("key-id")?),
            other => return Err(Error::unsupported(format!("the metadata update '{other}' is not supported"))),
        })
    }
}

/// Reads a required list of integers.
fn ids<T>(m: &mut OwnedMembers, key: &str, id: fn(&Json) -> Option<T>) -> Result<Vec<T>> {
    let list = m.list(key)?.ok_or_else(|| m.error(key, "is missing"))?;
    list.iter().map(|json| id(json).ok_or_else(|| m.error(key, "holds a value that is not an id"))).collect()
}

/// Reads a required list of strings.
fn names(m: &mut OwnedMembers, key: &str) -> Result<Vec<String>> {
    let list = m.list(key)?.ok_or_else(|| m.error(key, "is missing"))?;
    let name = |json: &Json| json.as_str().map(str::to_owned);
    list.iter().map(|json| name(json).ok_or_else(|| m.error(key, "holds a value that is not a string"))).collect()
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
