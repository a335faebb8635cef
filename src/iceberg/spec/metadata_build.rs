//! New versions of table metadata: new tables and the changes that commits make. Each function returns a new value and
//! leaves the old one unchanged. The catalog publishes it.
//!
//! Source: Iceberg specification, "Table Metadata", "Snapshots", "Row Lineage".

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Map;

use super::metadata::{MAIN_BRANCH, Recorded, TableMetadata};
use super::metadata_json::{NEWEST_FORMAT_VERSION, highest_partition_field_id};
use super::partition_by::{check_source, check_spec, number_fields};
use super::schema::{FreshSchema, assign_fresh_ids, check_schema};
use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef};
use super::snapshot::{StatisticsFile, StatisticsKind};
use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::types::{PartitionSpec, Schema, SortOrder, Transform};

/// The property that sets the format version. It is not stored as a property.
pub const FORMAT_VERSION: &str = "format-version";

/// The property with the number of earlier metadata files in the log.
pub const PREVIOUS_VERSIONS_MAX: &str = "write.metadata.previous-versions-max";

/// Reserved names. They look like properties but show parts of the metadata, and are never stored.
const RESERVED_PROPERTIES: [&str; 9] = [
    FORMAT_VERSION,
    "uuid",
    "snapshot-count",
    "current-snapshot-summary",
    "current-snapshot-id",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
];

/// Builds the metadata of a table without snapshots.
///
/// Columns get new ids in the order of the Java implementation. The spec and sort order name columns by the ids of
/// `schema`; these are translated to the new ids. The property `format-version` overrides `format_version`; other
/// reserved properties are left out. As in the Java implementation, Parquet compression is zstd unless the properties
/// set another one.
///
/// # Errors
/// `InvalidInput` for an invalid schema, spec, order, location or property; `Unsupported` for a newer format version.
pub fn new_table(
    schema: &Schema,
    spec: &PartitionSpec,
    sort_order: &SortOrder,
    location: &str,
    properties: &BTreeMap<String, String>,
    format_version: u8,
    now_ms: i64,
) -> Result<TableMetadata> {
    let format_version = format_version_of(properties, format_version)?;
    let location = location.trim_end_matches('/');
    if location.is_empty() {
        return Err(Error::invalid("a table needs a location"));
    }
    let fresh = assign_fresh_ids(schema)?;
    check_schema(&fresh.schema, format_version)?;
    let spec = fresh_spec(spec, &fresh)?;
    let sort_order = fresh_sort_order(sort_order, &fresh)?;
    let kept = kept_properties(properties);
    let partition_specs = vec![Arc::new(spec)];
    Ok(TableMetadata {
        format_version,
        table_uuid: Some(uuid::Uuid::new_v4().to_string()),
        location: location.to_owned(),
        last_sequence_number: 0,
        last_updated_ms: now_ms,
        last_column_id: fresh.schema.highest_field_id(),
        schemas: vec![Arc::new(fresh.schema)],
        current_schema_id: 0,
        last_partition_id: highest_partition_field_id(&partition_specs),
        partition_specs,
        default_spec_id: 0,
        default_sort_order_id: sort_order.id,
        sort_orders: vec![Arc::new(sort_order)],
        properties: kept,
        current_snapshot_id: None,
        snapshots: Vec::new(),
        snapshot_log: Vec::new(),
        metadata_log: Vec::new(),
        refs: BTreeMap::new(),
        statistics: Vec::new(),
        partition_statistics: Vec::new(),
        next_row_id: (format_version >= 3).then_some(0),
        encryption_keys: Vec::new(),
        extra: Map::new(),
        recorded: Arc::new(Recorded::default()),
    })
}

/// The properties of a new definition that are stored. As in the Java implementation, Parquet compression is zstd
/// unless they set another one.
pub(crate) fn kept_properties(properties: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut kept = BTreeMap::from([("write.parquet.compression-codec".to_owned(), "zstd".to_owned())]);
    kept.extend(properties.clone());
    kept.retain(|name, _| !RESERVED_PROPERTIES.contains(&name.as_str()));
    kept
}

/// The format version that properties ask for, or `default`.
///
/// # Errors
/// `InvalidInput` for a value that is not a version; `Unsupported` for a newer one.
pub(crate) fn format_version_of(properties: &BTreeMap<String, String>, default: u8) -> Result<u8> {
    match properties.get(FORMAT_VERSION) {
        Some(text) => parse_format_version(text),
        None => known_format_version(i64::from(default)),
    }
}

fn known_format_version(version: i64) -> Result<u8> {
    match u8::try_from(version) {
        Ok(v @ 1..=NEWEST_FORMAT_VERSION) => Ok(v),
        _ if version > 0 => Err(Error::unsupported(format!("format version {version} is not supported"))
            .hint(format!("Choose 1 to {NEWEST_FORMAT_VERSION}"))),
        _ => Err(Error::invalid(format!("{version} is not a format version"))),
    }
}

fn parse_format_version(text: &str) -> Result<u8> {
    let version = text.trim().parse().map_err(|_| Error::invalid(format!("'{text}' is not a format version")))?;
    known_format_version(version)
}

fn fresh_spec(spec: &PartitionSpec, fresh: &FreshSchema) -> Result<PartitionSpec> {
    let mut out = PartitionSpec { id: 0, fields: spec.fields.clone() };
    for field in &mut out.fields {
        field.source_id = *fresh.ids.get(&field.source_id).ok_or_else(|| {
            Error::invalid(format!("the source column {} is not in the schema", field.source_id))
                .with("partition field", &field.name)
        })?;
        if let Transform::Unknown(name) = &field.transform {
            return Err(
                Error::invalid(format!("the transform '{name}' does not exist")).with("partition field", &field.name)
            );
        }
    }
    number_fields(&mut out);
    check_spec(&out, &fresh.schema)?;
    Ok(out)
}

fn fresh_sort_order(order: &SortOrder, fresh: &FreshSchema) -> Result<SortOrder> {
    let mut out = SortOrder { id: i32::from(!order.fields.is_empty()), fields: order.fields.clone() };
    for field in &mut out.fields {
        let old = field.source_id;
        let lost = || Error::invalid(format!("the sort column {old} is not in the schema"));
        field.source_id = *fresh.ids.get(&field.source_id).ok_or_else(lost)?;
        let source = fresh.schema.field(field.source_id).ok_or_else(lost)?;
        check_source(source, &field.transform, &fresh.schema)?;
    }
    Ok(out)
}

impl TableMetadata {
    /// A copy with the update time `now_ms`. The time never goes backwards, even if the clocks of other machines
    /// differ.
    fn updated(&self, now_ms: i64) -> TableMetadata {
        TableMetadata { last_updated_ms: now_ms.max(self.last_updated_ms), ..self.clone() }
    }

    /// Adds a snapshot as the head of `branch`. A missing branch is created.
    ///
    /// On `main` the snapshot becomes the current one. It is logged at its own timestamp, or at that of the last log
    /// entry if that is later. Readers reject logs that go backwards in time.
    ///
    /// # Errors
    /// - `CommitConflict` if the snapshot's sequence number or first row id is already below the table's: rebuild the
    ///   snapshot on this metadata and try again.
    /// - `InvalidInput` if its id is taken, `branch` is a tag, or the snapshot does not fit the format version.
    pub fn add_snapshot(&self, snapshot: Snapshot, branch: &str, now_ms: i64) -> Result<TableMetadata> {
        let mut reference = match self.refs.get(branch) {
            Some(r) if r.kind == RefKind::Tag => {
                return Err(Error::invalid(format!("'{branch}' is a tag, and tags do not move")).hint("Name a branch"));
            }
            Some(r) => r.clone(),
            None if branch.is_empty() => return Err(Error::invalid("a branch needs a name")),
            None => SnapshotRef::new(snapshot.id, RefKind::Branch),
        };
        let (id, timestamp_ms) = (snapshot.id, snapshot.timestamp_ms);
        let mut next = self.stage_snapshot(snapshot, now_ms)?;
        reference.snapshot_id = id;
        next.refs.insert(branch.to_owned(), reference);
        if branch == MAIN_BRANCH {
            next.set_current(id, timestamp_ms);
        }
        Ok(next)
    }

    /// Adds a snapshot without a reference.
    ///
    /// # Errors
    /// Errors of [`TableMetadata::add_snapshot`].
    pub fn stage_snapshot(&self, snapshot: Snapshot, now_ms: i64) -> Result<TableMetadata> {
        let at = |e: Error| e.with("snapshot", snapshot.id);
        if self.snapshot_by_id(snapshot.id).is_some() {
            return Err(at(Error::invalid("the table has a snapshot with this id already")));
        }
        self.check_sequence_number(&snapshot).map_err(at)?;
        let next_row_id = self.next_row_id_after(&snapshot).map_err(at)?;
        let mut next = self.updated(now_ms);
        next.last_sequence_number = snapshot.sequence_number;
        next.next_row_id = next_row_id;
        next.snapshots.push(Arc::new(snapshot));
        Ok(next)
    }

    /// Moves `main` to a snapshot that the table has.
    pub(crate) fn with_current_snapshot(&self, id: i64, now_ms: i64) -> TableMetadata {
        let mut next = self.updated(now_ms);
        let main = next.refs.entry(MAIN_BRANCH.to_owned()).or_insert_with(|| SnapshotRef::new(id, RefKind::Branch));
        main.snapshot_id = id;
        next.set_current(id, now_ms);
        next
    }

    /// Makes a snapshot the current one and logs it. The log never goes backwards in time.
    pub(crate) fn set_current(&mut self, id: i64, timestamp_ms: i64) {
        let timestamp_ms = self.snapshot_log.last().map_or(timestamp_ms, |e| e.timestamp_ms.max(timestamp_ms));
        self.snapshot_log.push(SnapshotLogEntry { timestamp_ms, snapshot_id: id });
        self.current_snapshot_id = Some(id);
        self.last_updated_ms = self.last_updated_ms.max(timestamp_ms);
    }

    fn check_sequence_number(&self, snapshot: &Snapshot) -> Result<()> {
        let (new, last) = (snapshot.sequence_number, self.last_sequence_number);
        if self.format_version == 1 {
            return if new == 0 { Ok(()) } else { Err(Error::invalid("a v1 snapshot has no sequence number")) };
        }
        if new <= last {
            return Err(Error::conflict(format!("the sequence number {new} is not above the table's last, {last}")));
        }
        if snapshot.manifest_list.is_none() {
            return Err(Error::invalid(format!("a v{} snapshot needs a manifest list", self.format_version)));
        }
        Ok(())
    }

    /// The table's `next-row-id` after this snapshot (v3).
    fn next_row_id_after(&self, snapshot: &Snapshot) -> Result<Option<i64>> {
        if self.format_version < 3 {
            return Ok(self.next_row_id);
        }
        let next = self.next_row_id.unwrap_or(0);
        let (Some(first), Some(added)) = (snapshot.first_row_id, snapshot.added_rows) else {
            return Err(Error::invalid("a v3 snapshot needs first-row-id and added-rows"));
        };
        if first < next {
            return Err(Error::conflict(format!("the first row id {first} is below the table's next, {next}")));
        }
        match first.checked_add(added) {
            Some(after) if added >= 0 => Ok(Some(after)),
            _ => Err(Error::invalid(format!("{added} is not a valid count of added rows"))),
        }
    }

    /// Sets these properties. `format-version` upgrades the table instead.
    ///
    /// # Errors
    /// `InvalidInput` for a reserved name; errors of [`TableMetadata::upgrade_format_version`].
    pub fn set_properties(&self, properties: &BTreeMap<String, String>, now_ms: i64) -> Result<TableMetadata> {
        let mut next = self.updated(now_ms);
        for (name, value) in properties {
            if name == FORMAT_VERSION {
                next = next.upgrade_format_version(parse_format_version(value)?, now_ms)?;
            } else if RESERVED_PROPERTIES.contains(&name.as_str()) {
                return Err(Error::invalid(format!("the property '{name}' is reserved and can't be set")));
            } else {
                next.properties.insert(name.clone(), value.clone());
            }
        }
        Ok(next)
    }

    /// Removes these properties. Names that are not set are ignored.
    pub fn remove_properties<T: AsRef<str>>(&self, names: &[T], now_ms: i64) -> TableMetadata {
        let mut next = self.updated(now_ms);
        next.properties.retain(|name, _| names.iter().all(|n| n.as_ref() != name));
        next
    }

    /// Adds the metadata file that this version replaces to the log. The property [`PREVIOUS_VERSIONS_MAX`] limits the
    /// number of entries (at least 1; 100 by default).
    ///
    /// # Errors
    /// `InvalidInput` if the property is not a number.
    pub fn with_metadata_log(&self, previous_file: &str, previous_updated_ms: i64) -> Result<TableMetadata> {
        let max = self.int_property(PREVIOUS_VERSIONS_MAX, 100)?.max(1);
        let mut next = self.clone();
        let entry = MetadataLogEntry { timestamp_ms: previous_updated_ms, metadata_file: previous_file.to_owned() };
        next.metadata_log.push(entry);
        let surplus = next.metadata_log.len().saturating_sub(usize::try_from(max).unwrap_or(usize::MAX));
        next.metadata_log.drain(..surplus);
        Ok(next)
    }

    /// The statistics files of one kind.
    pub fn statistics_of(&self, kind: StatisticsKind) -> &[Arc<StatisticsFile>] {
        match kind {
            StatisticsKind::Columns => &self.statistics,
            StatisticsKind::Partitions => &self.partition_statistics,
        }
    }

    /// Sets the statistics file of a snapshot. It replaces the snapshot's earlier file of the same kind.
    ///
    /// # Errors
    /// `CommitConflict` if the table no longer has the snapshot.
    pub fn with_statistics(
        &self,
        kind: StatisticsKind,
        file: Arc<StatisticsFile>,
        now_ms: i64,
    ) -> Result<TableMetadata> {
        if self.snapshot_by_id(file.snapshot_id).is_none() {
            return Err(
                Error::conflict("the snapshot of the statistics has expired").with("snapshot", file.snapshot_id)
            );
        }
        let mut next = self.updated(now_ms);
        let files = match kind {
            StatisticsKind::Columns => &mut next.statistics,
            StatisticsKind::Partitions => &mut next.partition_statistics,
        };
        files.retain(|f| f.snapshot_id != file.snapshot_id);
        files.push(file);
        Ok(next)
    }

    /// Raises the format version. The same version changes nothing.
    ///
    /// # Errors
    /// `InvalidInput` for a lower version, `Unsupported` for one above the newest.
    pub fn upgrade_format_version(&self, version: u8, now_ms: i64) -> Result<TableMetadata> {
        let version = known_format_version(i64::from(version))?;
        if version < self.format_version {
            let old = self.format_version;
            return Err(Error::invalid(format!("a table can't go back from format version {old} to {version}")));
        }
        if version == self.format_version {
            return Ok(self.clone());
        }
        let mut next = self.updated(now_ms);
        next.format_version = version;
        next.table_uuid.get_or_insert_with(|| uuid::Uuid::new_v4().to_string());
        if version >= 3 {
            next.next_row_id.get_or_insert(0);
        }
        Ok(next)
    }
}

#[cfg(test)]
#[path = "metadata_build_tests.rs"]
mod tests;
