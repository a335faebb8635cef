//! Metadata files: bytes to [`TableMetadata`].
//!
//! Reads format versions 1, 2 and 3, plain or gzip. The first bytes decide, not the file name. Members that v1 leaves
//! out get the specification's defaults. Unknown members are kept. `metadata_encode` writes metadata.
//!
//! Source: Iceberg specification, "Table Metadata", "Appendix C", "Version 2/3" changes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::metadata::{MAIN_BRANCH, Recorded, TableMetadata};
use super::partition::{FIRST_PARTITION_FIELD_ID, complete_spec_json, spec_from_json};
use super::snapshot::{MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef, StatisticsFile};
use super::sort_order::{sort_order_from_json, sort_order_to_json};
use crate::error::{Error, Result};
use crate::format::evolution::RefKind;
use crate::store::location::without_slashes;
use crate::types::json_members::OwnedMembers;
use crate::types::schema_json::schema_from_json;
use crate::types::{PartitionSpec, Schema, SortOrder, json_text};

/// The newest format version that is read and written.
pub const NEWEST_FORMAT_VERSION: u8 = 3;

/// The largest decompressed size of a gzip file, or [`GZIP_RATIO`] times its own size if that is more.
const GZIP_ALLOWANCE: usize = 64 << 20;

/// The largest accepted ratio. Metadata is repetitive and usually compresses 10 to 50 times.
const GZIP_RATIO: usize = 200;

/// Reads a metadata file.
///
/// # Errors
/// `CorruptTable` if the bytes are not a metadata file, or a member is missing, wrong, or contradicts another.
/// `Unsupported` for a newer format version or an unknown column type.
pub fn parse_metadata(bytes: &[u8]) -> Result<TableMetadata> {
    metadata_from_json(read_json(bytes)?)
}

/// The JSON document of a metadata file, plain or gzip.
///
/// # Errors
/// `CorruptTable` if the bytes are not JSON.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Json> {
    let inflated;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        inflated = gunzip(bytes)?;
        &inflated
    } else {
        bytes
    };
    json_text::parse(bytes).map_err(|e| {
        Error::corrupt("the metadata file is not valid JSON")
            .because(e)
            .hint("The file may be incomplete; the same folder holds the previous version")
    })
}

fn gunzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let limit = bytes.len().saturating_mul(GZIP_RATIO).max(GZIP_ALLOWANCE);
    let bad = |problem: &str| Error::corrupt(format!("the gzip metadata file {problem}"));
    // The last four bytes hold the size modulo 2^32. The size is only a hint, because it may be wrong.
    let told = bytes.last_chunk::<4>().map_or(0, |b| u32::from_le_bytes(*b) as usize);
    let mut size = told.clamp(1, bytes.len().saturating_mul(32)).min(limit);
    loop {
        let mut out = vec![0; size];
        match libdeflater::Decompressor::new().gzip_decompress(bytes, &mut out) {
            Ok(written) => {
                out.truncate(written);
                return Ok(out);
            }
            Err(libdeflater::DecompressionError::InsufficientSpace) if size < limit => {
                size = size.saturating_mul(2).min(limit);
            }
            Err(libdeflater::DecompressionError::InsufficientSpace) => {
                return Err(bad(&format!("decompresses to more than {limit} bytes")));
            }
            Err(_) => return Err(bad("is damaged")),
        }
    }
}

/// Reads the JSON of a metadata file.
///
/// # Errors
/// Errors of [`parse_metadata`].
pub fn metadata_from_json(json: Json) -> Result<TableMetadata> {
    let mut m = OwnedMembers::of(json, "the table metadata")?;
    let version = format_version(&mut m)?;
    let mut recorded = Recorded::default();
    let (schemas, current_schema_id) = schemas(&mut m, version, &mut recorded)?;
    let (partition_specs, default_spec_id) = partition_specs(&mut m, version, &mut recorded)?;
    let (sort_orders, default_sort_order_id) = sort_orders(&mut m, version, &mut recorded)?;
    let last_partition_id = match m.int("last-partition-id")? {
        Some(id) => id,
        None if version == 1 => highest_partition_field_id(&partition_specs),
        None => return Err(m.error("last-partition-id", "is missing")),
    };
    let last_sequence_number = match m.count("last-sequence-number")? {
        _ if version == 1 => 0,
        Some(n) => n,
        None => return Err(m.error("last-sequence-number", "is missing")),
    };
    let table_uuid = m.string("table-uuid")?;
    if table_uuid.is_none() && version > 1 {
        return Err(m.error("table-uuid", "is missing"));
    }
    let next_row_id = m.count("next-row-id")?.filter(|_| version >= 3);
    if next_row_id.is_none() && version >= 3 {
        return Err(m.error("next-row-id", "is missing"));
    }
    let snapshots = each(&mut m, "snapshots", |json| Snapshot::from_json(json, version).map(Arc::new))?;
    check_snapshots(&snapshots, last_sequence_number)?;
    let current_snapshot_id = m.long("current-snapshot-id")?.filter(|id| *id != -1);
    let refs = refs(&mut m, current_snapshot_id, &snapshots)?;
    let (snapshot_log, metadata_log) = logs(&mut m, &mut recorded)?;
    Ok(TableMetadata {
        format_version: version,
        table_uuid,
        location: used_location(&m.required_string("location")?),
        last_sequence_number,
        last_updated_ms: m.required_long("last-updated-ms")?,
        last_column_id: m.required_int("last-column-id")?,
        schemas,
        current_schema_id,
        partition_specs,
        default_spec_id,
        last_partition_id,
        sort_orders,
        default_sort_order_id,
        properties: m.texts("properties")?,
        current_snapshot_id,
        snapshots,
        snapshot_log,
        metadata_log,
        refs,
        statistics: each(&mut m, "statistics", |j| StatisticsFile::from_json(j).map(Arc::new))?,
        partition_statistics: each(&mut m, "partition-statistics", |j| StatisticsFile::from_json(j).map(Arc::new))?,
        next_row_id,
        encryption_keys: m.list("encryption-keys")?.unwrap_or_default(),
        extra: m.rest(),
        recorded: Arc::new(recorded),
    })
}

fn each<T>(m: &mut OwnedMembers, key: &str, read: impl Fn(Json) -> Result<T>) -> Result<Vec<T>> {
    m.list(key)?.unwrap_or_default().into_iter().map(read).collect()
}

/// Reads `snapshot-log` and `metadata-log`.
fn logs(m: &mut OwnedMembers, recorded: &mut Recorded) -> Result<(Vec<SnapshotLogEntry>, Vec<MetadataLogEntry>)> {
    let snapshot_log = log(m, "snapshot-log", SnapshotLogEntry::from_json, |entry, json| {
        recorded.snapshot_log.insert((entry.timestamp_ms, entry.snapshot_id), json);
    })?;
    let metadata_log = log(m, "metadata-log", MetadataLogEntry::from_json, |entry, json| {
        recorded.metadata_log.insert(entry.metadata_file.clone(), json);
    })?;
    Ok((snapshot_log, metadata_log))
}

/// Reads a log. `keep` gets entries with members that are not known.
fn log<T>(
    m: &mut OwnedMembers,
    key: &str,
    read: impl Fn(Json) -> Result<T>,
    mut keep: impl FnMut(&T, Json),
) -> Result<Vec<T>> {
    const KNOWN: usize = 2;
    let mut out = Vec::new();
    for json in m.list(key)?.unwrap_or_default() {
        let more = json.as_object().filter(|entry| entry.len() > KNOWN).map(|_| json.clone());
        let entry = read(json)?;
        more.into_iter().for_each(|json| keep(&entry, json));
        out.push(entry);
    }
    Ok(out)
}

/// A table's location as it is used: only that of the root folder ends with a slash.
fn used_location(recorded: &str) -> String {
    match without_slashes(recorded) {
        "" if !recorded.is_empty() => "/".to_owned(),
        location => location.to_owned(),
    }
}

fn format_version(m: &mut OwnedMembers) -> Result<u8> {
    let recorded = m.required("format-version").map_err(|e| e.hint("This may not be an Iceberg metadata file"))?;
    match recorded.as_i64() {
        Some(v) if (1..=i64::from(NEWEST_FORMAT_VERSION)).contains(&v) => Ok(v as u8),
        Some(v) if v > i64::from(NEWEST_FORMAT_VERSION) => Err(Error::unsupported(format!(
            "tables of format version {v} are not supported"
        ))
        .hint(format!("Frazil reads the versions 1 to {NEWEST_FORMAT_VERSION}; a newer release may read this one"))),
        _ => Err(m.error("format-version", &format!("is {recorded}")).hint("It must be the number 1, 2 or 3")),
    }
}

type Schemas = (Vec<Arc<Schema>>, i32);

/// Reads `schemas`, or the `schema` of old v1 tables. Later v1 tables have both, for old readers.
fn schemas(m: &mut OwnedMembers, version: u8, recorded: &mut Recorded) -> Result<Schemas> {
    let old = m.take("schema").filter(|_| version == 1);
    let current = m.int("current-schema-id")?;
    let Some(list) = m.list("schemas")? else {
        let Some(mut json) = old else { return Err(m.error("schemas", "is missing")) };
        let schema = Arc::new(checked_schema(&json)?);
        if let Json::Object(object) = &mut json {
            object.insert("schema-id".into(), json!(schema.id));
        }
        recorded.schemas.insert(schema.id, (schema.clone(), json));
        let id = schema.id;
        return Ok((vec![schema], id));
    };
    let current = current.ok_or_else(|| m.error("current-schema-id", "is missing"))?;
    let mut out = Vec::with_capacity(list.len());
    for json in list {
        let schema = Arc::new(checked_schema(&json)?);
        if recorded.schemas.insert(schema.id, (schema.clone(), json)).is_some() {
            return Err(Error::corrupt(format!("the table metadata has two schemas with id {}", schema.id)));
        }
        out.push(schema);
    }
    if !recorded.schemas.contains_key(&current) {
        return Err(m.error("current-schema-id", &format!("is {current}, but no schema has this id")));
    }
    Ok((out, current))
}

/// Reads a schema. Java refuses a name that two columns have: the meaning of a filter on it is undefined.
fn checked_schema(json: &Json) -> Result<Schema> {
    let schema = schema_from_json(json)?;
    match schema.twin_name() {
        None => Ok(schema),
        Some(name) => Err(Error::corrupt("two columns of a schema have the same name")
            .with("column", name)
            .with("schema", schema.id)
            .hint("Rename one of the columns in the table's metadata")),
    }
}

type Specs = (Vec<Arc<PartitionSpec>>, i32);

/// Reads `partition-specs`, or the field list `partition-spec` of old v1 tables.
fn partition_specs(m: &mut OwnedMembers, version: u8, recorded: &mut Recorded) -> Result<Specs> {
    let old = m.take("partition-spec").filter(|_| version == 1);
    let default = m.int("default-spec-id")?;
    let (list, default) = match (m.list("partition-specs")?, old) {
        (Some(list), _) => (list, default.ok_or_else(|| m.error("default-spec-id", "is missing"))?),
        (None, Some(fields)) => (vec![fields], 0),
        (None, None) => return Err(m.error("partition-specs", "is missing")),
    };
    let mut out = Vec::with_capacity(list.len());
    for json in list {
        let spec = Arc::new(spec_from_json(&json, 0)?);
        let json = complete_spec_json(json, &spec);
        if recorded.specs.insert(spec.id, (spec.clone(), json)).is_some() {
            return Err(Error::corrupt(format!("the table metadata has two partition specs with id {}", spec.id)));
        }
        out.push(spec);
    }
    if !recorded.specs.contains_key(&default) {
        return Err(m.error("default-spec-id", &format!("is {default}, but no partition spec has this id")));
    }
    Ok((out, default))
}

/// The highest id of the partition fields. Without fields: one below the first id.
pub(crate) fn highest_partition_field_id(specs: &[Arc<PartitionSpec>]) -> i32 {
    let ids = specs.iter().flat_map(|s| &s.fields).map(|f| f.field_id);
    ids.max().unwrap_or(FIRST_PARTITION_FIELD_ID - 1).max(FIRST_PARTITION_FIELD_ID - 1)
}

type SortOrders = (Vec<Arc<SortOrder>>, i32);

/// Reads `sort-orders`. Adds the unsorted order if v1 has none, or if its id is used but not listed.
fn sort_orders(m: &mut OwnedMembers, version: u8, recorded: &mut Recorded) -> Result<SortOrders> {
    let default = m.int("default-sort-order-id")?;
    let (list, default) = match m.list("sort-orders")? {
        Some(list) => (list, default.ok_or_else(|| m.error("default-sort-order-id", "is missing"))?),
        None if version == 1 => (Vec::new(), 0),
        None => return Err(m.error("sort-orders", "is missing")),
    };
    let mut out = Vec::with_capacity(list.len());
    let unsorted = || sort_order_to_json(&SortOrder::default());
    let unlisted = default == 0 && list.iter().all(|o| o.get("order-id") != Some(&json!(0)));
    for json in list.into_iter().chain(unlisted.then(unsorted)) {
        let order = Arc::new(sort_order_from_json(&json)?);
        if recorded.sort_orders.insert(order.id, (order.clone(), json)).is_some() {
            return Err(Error::corrupt(format!("the table metadata has two sort orders with id {}", order.id)));
        }
        out.push(order);
    }
    if !recorded.sort_orders.contains_key(&default) {
        return Err(m.error("default-sort-order-id", &format!("is {default}, but no sort order has this id")));
    }
    Ok((out, default))
}

fn check_snapshots(snapshots: &[Arc<Snapshot>], last_sequence_number: i64) -> Result<()> {
    let mut seen = HashSet::with_capacity(snapshots.len());
    for snapshot in snapshots {
        if !seen.insert(snapshot.id) {
            return Err(
                Error::corrupt("the table metadata has two snapshots with the same id").with("snapshot", snapshot.id)
            );
        }
        if snapshot.sequence_number > last_sequence_number {
            return Err(Error::corrupt(format!(
                "a snapshot's sequence number {} is above the table's last, {last_sequence_number}",
                snapshot.sequence_number
            ))
            .with("snapshot", snapshot.id));
        }
    }
    Ok(())
}

/// Reads `refs`. Metadata of old writers has none and gets `main` alone. Also checks that the current snapshot exists.
fn refs(
    m: &mut OwnedMembers,
    current: Option<i64>,
    snapshots: &[Arc<Snapshot>],
) -> Result<BTreeMap<String, SnapshotRef>> {
    let ids: HashSet<i64> = snapshots.iter().map(|s| s.id).collect();
    if let Some(id) = current.filter(|id| !ids.contains(id)) {
        return Err(m.error("current-snapshot-id", "names a missing snapshot").with("snapshot", id));
    }
    let Some(recorded) = m.object("refs")? else {
        let main = current.map(|id| (MAIN_BRANCH.to_owned(), SnapshotRef::new(id, RefKind::Branch)));
        return Ok(main.into_iter().collect());
    };
    let mut out = BTreeMap::new();
    for (name, json) in recorded {
        let reference = SnapshotRef::from_json(json).map_err(|e| e.with("reference", &name))?;
        let problem = if !ids.contains(&reference.snapshot_id) {
            Some("names a missing snapshot")
        } else if name != MAIN_BRANCH {
            None
        } else if reference.kind != RefKind::Branch {
            Some("is a tag, but must be a branch")
        } else {
            (current != Some(reference.snapshot_id)).then_some("differs from the current snapshot")
        };
        if let Some(problem) = problem {
            return Err(
                Error::corrupt(format!("the reference '{name}' {problem}")).with("snapshot", reference.snapshot_id)
            );
        }
        out.insert(name, reference);
    }
    Ok(out)
}
