//! Writes manifests as Java does: the same schema and metadata, with the counts and summaries for the manifest list.
//!
//! Source: Iceberg specification, "Manifests" and "Manifest Lists".

use super::avro::manifest_entry_schema;
use super::entries::{ADDED, DELETED, EXISTING};
use super::layout::FILE_MEMBER;
use super::list::{FieldSummary, ManifestContent};
use super::record::{EntryRecord, fits};
use crate::codec::avro::declare::{self, Zones};
use crate::codec::avro::{AvroCodec, ContainerWriter, ExtendedSchema, RecordEncoder};
use crate::error::{Error, Result, ResultExt};
use crate::format::task::{DataFile, FileContent, FileMetrics};
use crate::iceberg::spec::partition::spec_fields_to_json;
use crate::parallel::check_cancelled;
use crate::types::schema_json::schema_to_json;
use crate::types::value::encode_bound;
use crate::types::{PartitionField, PartitionSpec, PrimitiveType, Schema, Value, ValueRef};

pub use super::record::ManifestEntry;

/// The data of a manifest's header.
#[derive(Clone, Debug)]
pub struct ManifestHeader<'a> {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// The table's schema.
    pub schema: &'a Schema,
    /// The spec of every entry.
    pub spec: &'a PartitionSpec,
    /// The kind of files.
    pub content: ManifestContent,
    /// The compression of blocks. Java's default is deflate.
    pub codec: AvroCodec,
    /// The codec's level. `None` means a balanced one.
    pub compression_level: Option<i32>,
}

/// A manifest, and the data for its entry in a manifest list.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct EncodedManifest {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    pub added_files_count: i64,
    pub existing_files_count: i64,
    pub deleted_files_count: i64,
    pub added_rows_count: i64,
    pub existing_rows_count: i64,
    pub deleted_rows_count: i64,
    /// One summary for each field of the spec. `None` if no summary is right for every reader. Java orders UUIDs as
    /// pairs of signed numbers, other readers as unsigned bytes, and the bounds of these values differ.
    pub partitions: Option<Vec<FieldSummary>>,
    /// The lowest data sequence number of live entries. `None` if every entry inherits it.
    pub min_sequence_number: Option<i64>,
}

/// The number of entries that are encoded between two checks for cancellation.
const ENTRIES_AT_ONCE: usize = 1000;

/// Writes a manifest.
///
/// # Errors
/// `InvalidInput` if an entry lacks a value that the format version requires. Also if it can't be in this manifest, or
/// has a partition value of the wrong type. `Unsupported` for an unknown format version.
pub fn encode_manifest(entries: &[ManifestEntry], header: &ManifestHeader<'_>) -> Result<EncodedManifest> {
    let version = header.format_version;
    if !(1..=3).contains(&version) {
        return Err(Error::unsupported(format!("manifests of format version {version} can't be written")));
    }
    if version == 1 && header.content == ManifestContent::Deletes {
        return Err(Error::invalid("a v1 table can't have delete manifests"));
    }
    let fields = &header.spec.fields;
    let types: Vec<PrimitiveType> = fields.iter().map(|f| field_type(f, header.schema, entries)).collect();
    let schema = manifest_entry_schema(version, fields, &types)?;
    let encoder = RecordEncoder::new(&schema)?;
    let schema = declare::text(&schema, Zones::AdjustToUtc)?;
    let metadata = header_metadata(header);
    let metadata: Vec<(&str, &str)> = metadata.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let extended = ExtendedSchema::of(&schema, Some(FILE_MEMBER), entries.iter().map(|e| e.unknown.as_ref()));
    let schema = extended.as_ref().map_or(&schema, |e| &e.text);
    let mut writer = ContainerWriter::new(schema, &metadata, header.codec).with_level(header.compression_level);
    let mut out = EncodedManifest::default();
    let mut summaries = vec![Summary::default(); fields.len()];
    for (number, entry) in entries.iter().enumerate() {
        if number.is_multiple_of(ENTRIES_AT_ONCE) {
            check_cancelled()?;
        }
        let tuple = tuple_of(&entry.file, fields);
        check(entry, header)
            .and_then(|()| check_tuple(&tuple, &types, fields))
            .and_then(|()| {
                let metrics = entry.file.metrics.as_ref().map(FileMetrics::get).transpose()?;
                let record = EntryRecord { version, entry, metrics, tuple: &tuple, types: &types };
                let unknown = extended.as_ref().map(|e| e.bytes_of(entry.unknown.as_ref())).transpose()?;
                writer.append_extended(&encoder, &record, &unknown.unwrap_or_default())
            })
            .with("file", &entry.file.path)?;
        tuple.iter().zip(&mut summaries).for_each(|(value, summary)| summary.add(*value));
        count(&mut out, entry);
    }
    out.partitions = summaries.into_iter().map(Summary::finish).collect();
    out.bytes = writer.finish()?;
    Ok(out)
}

fn header_metadata(header: &ManifestHeader<'_>) -> Vec<(&'static str, String)> {
    let mut out = vec![
        ("schema", schema_to_json(header.schema).to_string()),
        ("schema-id", header.schema.id.to_string()),
        ("partition-spec", spec_fields_to_json(&header.spec.fields).to_string()),
        ("partition-spec-id", header.spec.id.to_string()),
        ("format-version", header.format_version.to_string()),
    ];
    if header.format_version > 1 {
        let content = if header.content == ManifestContent::Data { "data" } else { "deletes" };
        out.push(("content", content.to_owned()));
    }
    out
}

/// The current type. For a dropped source column, the type in the files.
fn field_type(field: &PartitionField, schema: &Schema, entries: &[ManifestEntry]) -> PrimitiveType {
    let now = field.result_type(schema);
    if now != PrimitiveType::Unknown {
        return now;
    }
    let values = entries.iter().flat_map(|e| &e.file.partition.values).filter(|v| v.field_id == field.field_id);
    values.map(|v| &v.ty).find(|ty| **ty != PrimitiveType::Unknown).unwrap_or(&now).clone()
}

/// The file's partition values in the order of the spec.
fn tuple_of<'a>(file: &'a DataFile, fields: &[PartitionField]) -> Vec<Option<ValueRef<'a>>> {
    let value = |f: &PartitionField| file.partition.values.iter().find(|v| v.field_id == f.field_id)?.value.as_ref();
    fields.iter().map(|f| value(f).map(Value::as_ref)).collect()
}

fn check(entry: &ManifestEntry, header: &ManifestHeader<'_>) -> Result<()> {
    let file = &entry.file;
    if (file.content == FileContent::Data) != (header.content == ManifestContent::Data) {
        return Err(Error::invalid("a manifest holds either data files or delete files"));
    }
    if file.partition.spec_id != header.spec.id {
        return Err(Error::invalid(format!(
            "a file of partition spec {} can't be in a manifest of spec {}",
            file.partition.spec_id, header.spec.id
        )));
    }
    if file.record_count < 0 || file.size_bytes < 0 {
        return Err(Error::invalid("a file has a negative size or number of rows"));
    }
    if entry.status > DELETED {
        return Err(Error::invalid(format!("{} is not an entry status", entry.status)));
    }
    if header.format_version == 1 && entry.snapshot_id.is_none() {
        return Err(Error::invalid("an entry of a v1 manifest needs a snapshot id"));
    }
    if header.format_version > 1 && entry.status != ADDED && entry.sequence_number.is_none() {
        return Err(Error::invalid("only an added file may inherit its sequence number"));
    }
    Ok(())
}

/// Whether the partition values are of their fields' types.
fn check_tuple(tuple: &[Option<ValueRef<'_>>], types: &[PrimitiveType], fields: &[PartitionField]) -> Result<()> {
    for ((value, ty), field) in tuple.iter().zip(types).zip(fields) {
        if let Some(value) = value.filter(|value| !fits(*value, ty)) {
            return Err(Error::invalid(format!("{value:?} is not a partition value of type {ty}"))
                .with("partition field", &field.name));
        }
    }
    Ok(())
}

fn count(out: &mut EncodedManifest, entry: &ManifestEntry) {
    let (files, rows) = match entry.status {
        ADDED => (&mut out.added_files_count, &mut out.added_rows_count),
        EXISTING => (&mut out.existing_files_count, &mut out.existing_rows_count),
        _ => (&mut out.deleted_files_count, &mut out.deleted_rows_count),
    };
    *files += 1;
    *rows = rows.saturating_add(entry.file.record_count);
    if entry.status != DELETED
        && let Some(number) = entry.sequence_number
    {
        out.min_sequence_number = Some(out.min_sequence_number.map_or(number, |m| m.min(number)));
    }
}

/// Null, NaN, least and greatest value of one field over the entries.
#[derive(Clone, Default)]
struct Summary<'a> {
    nulls: bool,
    nans: bool,
    range: Option<(ValueRef<'a>, ValueRef<'a>)>,
    /// Least and greatest UUID in Java's order.
    java_range: Option<(u128, u128)>,
}

impl<'a> Summary<'a> {
    fn add(&mut self, value: Option<ValueRef<'a>>) {
        match value {
            None => self.nulls = true,
            Some(v) if v.is_nan() => self.nans = true,
            Some(v) => {
                self.range = Some(widen(self.range, v, is_below));
                if let ValueRef::Uuid(uuid) = v {
                    self.java_range = Some(widen(self.java_range, uuid, |a, b| java_uuid(a) < java_uuid(b)));
                }
            }
        }
    }

    /// The summary. `None` if readers disagree about the least and greatest value.
    fn finish(self) -> Option<FieldSummary> {
        if let (Some((ValueRef::Uuid(least), ValueRef::Uuid(greatest))), Some(java)) = (self.range, self.java_range)
            && (least, greatest) != java
        {
            return None;
        }
        Some(FieldSummary {
            contains_null: self.nulls,
            contains_nan: Some(self.nans),
            lower: self.range.map(|(least, _)| encode_bound(least)),
            upper: self.range.map(|(_, greatest)| encode_bound(greatest)),
        })
    }
}

fn widen<T: Copy>(range: Option<(T, T)>, v: T, below: impl Fn(T, T) -> bool) -> (T, T) {
    let (least, greatest) = range.unwrap_or((v, v));
    (if below(v, least) { v } else { least }, if below(greatest, v) { v } else { greatest })
}

/// The numbers that Java's order of UUIDs compares.
fn java_uuid(uuid: u128) -> (i64, i64) {
    ((uuid >> 64) as i64, uuid as i64)
}

/// The order of bounds. It is the order of values, except that -0.0 is below 0.0. Bounds are then valid for readers
/// with or without this distinction.
fn is_below(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    match (a, b) {
        (ValueRef::Float(a), ValueRef::Float(b)) => a.total_cmp(&b).is_lt(),
        (ValueRef::Double(a), ValueRef::Double(b)) => a.total_cmp(&b).is_lt(),
        (a, b) => a.sql_cmp(b).is_some_and(std::cmp::Ordering::is_lt),
    }
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
