//! Writing manifests, manifest lists and index manifests, field by field as Java does.
//!
//! Source: Paimon specification, "Manifest"; Java's `ManifestEntrySerializer`, `DataFileMetaSerializer`,
//! `ManifestFileMetaSerializer`, `IndexManifestEntrySerializer`, release 1.4.

use std::sync::OnceLock;

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::RecordField;
use serde::ser::SerializeTupleStruct;
use serde::{Serialize, Serializer};

use super::file_entry::FileEntry;
use super::index_manifest::{DeletionVectorRange, GlobalIndex, IndexEntry};
use super::list::PaimonManifestFile;
use crate::codec::avro::declare::{self, Zones, array, field, optional_field, record};
use crate::codec::avro::{
    AvroBytes, AvroCodec, AvroItems, ContainerWriter, ExtendedSchema, RecordEncoder, UnknownValues,
};
use crate::error::{Error, Result};
use crate::paimon::spec::stats::{SimpleStats, UNKNOWN_NULLS};
use crate::types::options::Options;

/// `_VERSION` of entries of manifests and manifest lists.
const VERSION: i32 = 2;

/// `_VERSION` of entries of index manifests.
const INDEX_VERSION: i32 = 1;

/// Java's name for the outermost record.
const OUTERMOST: &str = "org.apache.paimon.avro.generated.record";

/// The last member of an entry: a record.
pub(super) const FILE_MEMBER: &str = "_FILE";

/// A nested record. It has the namespace of the outermost.
const FILE: &str = "record__FILE";

/// The schema of a kind of file, made once.
struct DeclaredSchema {
    schema: AvroSchema,
    text: String,
}

fn declared(
    place: &'static OnceLock<DeclaredSchema>,
    make: fn() -> Result<AvroSchema>,
) -> Result<&'static DeclaredSchema> {
    if let Some(declared) = place.get() {
        return Ok(declared);
    }
    let schema = make()?;
    let text = declare::text(&schema, Zones::ByName)?;
    Ok(place.get_or_init(|| DeclaredSchema { schema, text }))
}

static LIST: OnceLock<DeclaredSchema> = OnceLock::new();
static NEWER_LIST: OnceLock<DeclaredSchema> = OnceLock::new();
static MANIFEST: OnceLock<DeclaredSchema> = OnceLock::new();
static INDEX: OnceLock<DeclaredSchema> = OnceLock::new();
static NEWER_INDEX: OnceLock<DeclaredSchema> = OnceLock::new();

fn required(name: &str, ty: AvroSchema) -> Result<RecordField> {
    Ok(field(name, ty))
}

fn strings() -> AvroSchema {
    array(AvroSchema::String, &[])
}

fn stats_schema(name: &str) -> Result<AvroSchema> {
    use AvroSchema::{Bytes, Long};
    let counts = array(declare::optional(Long)?, &[]);
    record(
        name,
        [required("_MIN_VALUES", Bytes), required("_MAX_VALUES", Bytes), optional_field("_NULL_COUNTS", counts)],
    )
}

fn list_schema() -> Result<AvroSchema> {
    record(OUTERMOST, list_fields()?)
}

/// The schema of lists since Paimon 2. Lists of older tables keep the older schema, which older readers know.
fn newer_list_schema() -> Result<AvroSchema> {
    let newer = [optional_field("_TOTAL_BUCKETS", AvroSchema::Int), optional_field("_EXTRA_FILES", strings())];
    record(OUTERMOST, list_fields()?.into_iter().chain(newer))
}

fn list_fields() -> Result<[Result<RecordField>; 13]> {
    use AvroSchema::{Int, Long, String};
    Ok([
        required("_VERSION", Int),
        required("_FILE_NAME", String),
        required("_FILE_SIZE", Long),
        required("_NUM_ADDED_FILES", Long),
        required("_NUM_DELETED_FILES", Long),
        required("_PARTITION_STATS", stats_schema("record__PARTITION_STATS")?),
        required("_SCHEMA_ID", Long),
        optional_field("_MIN_BUCKET", Int),
        optional_field("_MAX_BUCKET", Int),
        optional_field("_MIN_LEVEL", Int),
        optional_field("_MAX_LEVEL", Int),
        optional_field("_MIN_ROW_ID", Long),
        optional_field("_MAX_ROW_ID", Long),
    ])
}

fn manifest_schema() -> Result<AvroSchema> {
    use AvroSchema::{Bytes, Int, Long, String, TimestampMillis};
    let file = [
        required("_FILE_NAME", String),
        required("_FILE_SIZE", Long),
        required("_ROW_COUNT", Long),
        required("_MIN_KEY", Bytes),
        required("_MAX_KEY", Bytes),
        required("_KEY_STATS", stats_schema("record__FILE__KEY_STATS")?),
        required("_VALUE_STATS", stats_schema("record__FILE__VALUE_STATS")?),
        required("_MIN_SEQUENCE_NUMBER", Long),
        required("_MAX_SEQUENCE_NUMBER", Long),
        required("_SCHEMA_ID", Long),
        required("_LEVEL", Int),
        required("_EXTRA_FILES", strings()),
        optional_field("_CREATION_TIME", TimestampMillis),
        optional_field("_DELETE_ROW_COUNT", Long),
        optional_field("_EMBEDDED_FILE_INDEX", Bytes),
        optional_field("_FILE_SOURCE", Int),
        optional_field("_VALUE_STATS_COLS", strings()),
        optional_field("_EXTERNAL_PATH", String),
        optional_field("_FIRST_ROW_ID", Long),
        optional_field("_WRITE_COLS", strings()),
    ];
    let fields = [
        required("_VERSION", Int),
        required("_KIND", Int),
        required("_PARTITION", Bytes),
        required("_BUCKET", Int),
        required("_TOTAL_BUCKETS", Int),
        required("_FILE", record(FILE, file)?),
    ];
    record(OUTERMOST, fields)
}

fn index_schema() -> Result<AvroSchema> {
    index_schema_with([])
}

/// The schema of index manifests since Paimon 2. Manifests without these members keep the older schema.
fn newer_index_schema() -> Result<AvroSchema> {
    index_schema_with([optional_field("_SOURCE_META", AvroSchema::Bytes)])
}

/// The schema of index manifests with more members of global indexes.
fn index_schema_with<const N: usize>(newer: [Result<RecordField>; N]) -> Result<AvroSchema> {
    use AvroSchema::{Bytes, Int, Long, String};
    let range =
        [required("f0", String), required("f1", Int), required("f2", Int), optional_field("_CARDINALITY", Long)];
    let range = record("record__DELETIONS_VECTORS_RANGES", range)?;
    let global = [
        required("_ROW_RANGE_START", Long),
        required("_ROW_RANGE_END", Long),
        required("_INDEX_FIELD_ID", Int),
        optional_field("_EXTRA_FIELD_IDS", array(Int, &[])),
        optional_field("_INDEX_META", Bytes),
    ];
    let fields = [
        required("_VERSION", Int),
        required("_KIND", Int),
        required("_PARTITION", Bytes),
        required("_BUCKET", Int),
        required("_INDEX_TYPE", String),
        required("_FILE_NAME", String),
        required("_FILE_SIZE", Long),
        required("_ROW_COUNT", Long),
        optional_field("_DELETIONS_VECTORS_RANGES", array(declare::optional(range)?, &[])),
        optional_field("_EXTERNAL_PATH", String),
        optional_field("_GLOBAL_INDEX", record("record__GLOBAL_INDEX", global.into_iter().chain(newer))?),
    ];
    record(OUTERMOST, fields)
}

/// How manifests of a table are compressed: `manifest.compression`.
///
/// # Errors
/// `Unsupported` for a codec or a `manifest.format` that can't be written.
pub fn manifest_codec(options: Options<'_>) -> Result<AvroCodec> {
    let format = options.get("manifest.format").unwrap_or("avro");
    if !format.eq_ignore_ascii_case("avro") {
        return Err(Error::unsupported(format!("manifests of the format '{format}' can't be written"))
            .hint("Set the option 'manifest.format' to avro"));
    }
    match options.get("manifest.compression").unwrap_or("zstd").to_ascii_lowercase().as_str() {
        "zstd" | "zstandard" => Ok(AvroCodec::Zstd),
        "none" | "null" | "uncompressed" => Ok(AvroCodec::Null),
        "snappy" => Ok(AvroCodec::Snappy),
        "deflate" => Ok(AvroCodec::Deflate),
        other => Err(Error::unsupported(format!("manifests can't be compressed by '{other}'"))
            .hint("Set the option 'manifest.compression' to zstd, snappy, deflate or null")),
    }
}

/// Writes a manifest list.
///
/// # Errors
/// `Internal` if the codec fails.
pub fn encode_manifest_list(manifests: &[PaimonManifestFile], codec: AvroCodec) -> Result<Vec<u8>> {
    let unknown = || manifests.iter().map(|m| m.unknown.as_ref());
    let is_newer =
        manifests.iter().any(|m| m.total_buckets.is_some() || m.extra_files.is_some() || m.unknown.is_some());
    let declared = if is_newer { declared(&NEWER_LIST, newer_list_schema)? } else { declared(&LIST, list_schema)? };
    let (mut out, encoder, extended) = extended_writer(declared, codec, None, unknown())?;
    for m in manifests {
        let unknown = extended.as_ref().map(|e| e.bytes_of(m.unknown.as_ref())).transpose()?.unwrap_or_default();
        out.append_extended(&encoder, &ListRecord { manifest: m, is_newer }, &unknown)?;
    }
    out.finish()
}

/// An entry of a manifest list.
struct ListRecord<'a> {
    manifest: &'a PaimonManifestFile,
    is_newer: bool,
}

impl Serialize for ListRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let m = self.manifest;
        let mut out = serializer.serialize_tuple_struct("record", if self.is_newer { 15 } else { 13 })?;
        out.serialize_field(&VERSION)?;
        out.serialize_field(&m.file_name)?;
        out.serialize_field(&m.file_size)?;
        out.serialize_field(&m.added_files)?;
        out.serialize_field(&m.deleted_files)?;
        out.serialize_field(&stats_record(&m.partition_stats))?;
        out.serialize_field(&m.schema_id)?;
        out.serialize_field(&m.buckets.map(|e| e.0))?;
        out.serialize_field(&m.buckets.map(|e| e.1))?;
        out.serialize_field(&m.levels.map(|e| e.0))?;
        out.serialize_field(&m.levels.map(|e| e.1))?;
        out.serialize_field(&m.row_ids.map(|e| e.0))?;
        out.serialize_field(&m.row_ids.map(|e| e.1))?;
        if self.is_newer {
            out.serialize_field(&m.total_buckets)?;
            out.serialize_field(&m.extra_files)?;
        }
        out.end()
    }
}

/// A container, the encoder of its records, and the members of later versions that the records have.
type ExtendedWriter = (ContainerWriter, RecordEncoder<'static>, Option<ExtendedSchema>);

/// A file being written, for records that may have members of later versions. The level of zstandard is Java's
/// default.
fn extended_writer<'v>(
    declared: &'static DeclaredSchema,
    codec: AvroCodec,
    inner: Option<&str>,
    records: impl Iterator<Item = Option<&'v UnknownValues>>,
) -> Result<ExtendedWriter> {
    let extended = ExtendedSchema::of(&declared.text, inner, records);
    let text = extended.as_ref().map_or(&declared.text, |e| &e.text);
    let container = ContainerWriter::new(text, &[], codec).with_level((codec == AvroCodec::Zstd).then_some(1));
    Ok((container, RecordEncoder::new(&declared.schema)?, extended))
}

/// Builds a manifest, entry by entry.
pub struct PaimonManifestWriter {
    writer: ContainerWriter,
    encoder: RecordEncoder<'static>,
    extended: Option<ExtendedSchema>,
    bytes: Vec<u8>,
}

impl PaimonManifestWriter {
    /// An empty manifest. It can take entries with the unknown members of any of these.
    ///
    /// # Errors
    /// `Internal` if the schema of manifests is not an Avro schema.
    pub fn new<'e>(codec: AvroCodec, entries: impl IntoIterator<Item = &'e FileEntry>) -> Result<PaimonManifestWriter> {
        let unknown = entries.into_iter().map(|e| e.unknown.as_ref());
        let declared = declared(&MANIFEST, manifest_schema)?;
        let (writer, encoder, extended) = extended_writer(declared, codec, Some(FILE_MEMBER), unknown)?;
        Ok(PaimonManifestWriter { writer, encoder, extended, bytes: Vec::new() })
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// `Internal` if it is unlike the schema of manifests.
    pub fn add(&mut self, e: &FileEntry) -> Result<()> {
        let record = (VERSION, i32::from(e.kind), AvroBytes(&e.partition), e.bucket, e.total_buckets, FileRecord(e));
        match &self.extended {
            None => self.writer.append(&self.encoder, &record),
            Some(extended) => {
                let unknown = extended.bytes_of(e.unknown.as_ref())?;
                self.writer.append_extended(&self.encoder, &record, &unknown)
            }
        }
    }

    /// Bytes so far, without those of the block in progress.
    ///
    /// # Errors
    /// `Internal` if the codec fails.
    pub fn size_bytes(&mut self) -> Result<usize> {
        self.bytes.extend(self.writer.take_blocks()?);
        Ok(self.bytes.len())
    }

    /// The file.
    ///
    /// # Errors
    /// As [`PaimonManifestWriter::size_bytes`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.bytes.extend(self.writer.finish()?);
        Ok(self.bytes)
    }
}

/// Writes a manifest of these entries.
///
/// # Errors
/// `Internal` if the codec fails.
#[cfg(test)]
pub(crate) fn encode_manifest(entries: &[FileEntry], codec: AvroCodec) -> Result<Vec<u8>> {
    let mut out = PaimonManifestWriter::new(codec, entries)?;
    entries.iter().try_for_each(|entry| out.add(entry))?;
    out.finish()
}

fn stats_record(stats: &SimpleStats) -> impl Serialize {
    let count = |n: &i64| (*n != UNKNOWN_NULLS).then_some(*n);
    (
        AvroBytes(&stats.min),
        AvroBytes(&stats.max),
        stats.null_counts.as_ref().map(move |n| AvroItems(n.iter().map(count))),
    )
}

/// The member `_FILE` of an entry.
struct FileRecord<'a>(&'a FileEntry);

impl Serialize for FileRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let e = self.0;
        let mut out = serializer.serialize_tuple_struct(FILE, 20)?;
        out.serialize_field(&e.file_name)?;
        out.serialize_field(&e.file_size)?;
        out.serialize_field(&e.row_count)?;
        out.serialize_field(&AvroBytes(&e.min_key))?;
        out.serialize_field(&AvroBytes(&e.max_key))?;
        out.serialize_field(&stats_record(&e.key_stats))?;
        out.serialize_field(&stats_record(&e.value_stats))?;
        out.serialize_field(&e.min_sequence_number)?;
        out.serialize_field(&e.max_sequence_number)?;
        out.serialize_field(&e.schema_id)?;
        out.serialize_field(&e.level)?;
        out.serialize_field(&e.extra_files)?;
        out.serialize_field(&e.creation_time_ms)?;
        out.serialize_field(&e.delete_row_count)?;
        out.serialize_field(&e.embedded_index.as_deref().map(AvroBytes))?;
        out.serialize_field(&e.file_source.map(i32::from))?;
        out.serialize_field(&e.value_stats_cols.as_deref())?;
        out.serialize_field(&e.external_path)?;
        out.serialize_field(&e.first_row_id)?;
        out.serialize_field(&e.write_cols.as_deref())?;
        out.end()
    }
}

/// Writes an index manifest.
///
/// # Errors
/// `InvalidInput` for a deletion vector beyond 2 GiB of its file; `Internal` if the codec fails.
pub fn encode_index_manifest(entries: &[IndexEntry], codec: AvroCodec) -> Result<Vec<u8>> {
    let unknown = entries.iter().map(|e| e.unknown.as_ref());
    let is_newer = entries.iter().any(|e| e.global.as_ref().is_some_and(|global| global.source_meta.is_some()));
    let declared = if is_newer { declared(&NEWER_INDEX, newer_index_schema)? } else { declared(&INDEX, index_schema)? };
    let (mut out, encoder, extended) = extended_writer(declared, codec, None, unknown)?;
    for e in entries {
        let unknown = extended.as_ref().map(|x| x.bytes_of(e.unknown.as_ref())).transpose()?.unwrap_or_default();
        let ranges = e.deletion_vectors.as_deref();
        let ranges = ranges.map(|ranges| ranges.iter().map(range_record).collect::<Result<Vec<_>>>()).transpose()?;
        match is_newer {
            false => out.append_extended(&encoder, &index_record(e, ranges, global_record), &unknown)?,
            true => out.append_extended(&encoder, &index_record(e, ranges, newer_global_record), &unknown)?,
        }
    }
    out.finish()
}

/// Data file, offset, length and number of rows of a deletion vector. The array's items may be null.
type RangeRecord<'a> = Option<(&'a str, i32, i32, Option<i64>)>;

fn range_record(range: &DeletionVectorRange) -> Result<RangeRecord<'_>> {
    let (Ok(offset), Ok(length)) = (i32::try_from(range.offset), i32::try_from(range.length)) else {
        return Err(Error::invalid("the position of a deletion vector exceeds 2 GiB").with("file", &range.data_file));
    };
    Ok(Some((&range.data_file, offset, length, range.cardinality)))
}

/// An entry. `global` makes the record of a global index.
fn index_record<'a, T: Serialize + 'a>(
    e: &'a IndexEntry,
    ranges: Option<Vec<RangeRecord<'a>>>,
    global: impl Fn(&'a GlobalIndex) -> T,
) -> impl Serialize + 'a {
    (
        INDEX_VERSION,
        i32::from(e.kind),
        AvroBytes(&e.partition),
        e.bucket,
        &e.index_type,
        &e.file_name,
        e.file_size,
        e.row_count,
        ranges,
        &e.external_path,
        e.global.as_ref().map(global),
    )
}

/// Row range, columns and metadata of a global index.
type GlobalRecord<'a> = (i64, i64, i32, Option<&'a Vec<i32>>, Option<AvroBytes<'a>>);

fn global_record(global: &GlobalIndex) -> GlobalRecord<'_> {
    let (ids, meta) = (global.extra_field_ids.as_ref(), global.meta.as_deref().map(AvroBytes));
    (global.first_row_id, global.last_row_id, global.field_id, ids, meta)
}

fn newer_global_record(global: &GlobalIndex) -> impl Serialize {
    let (first, last, field_id, ids, meta) = global_record(global);
    (first, last, field_id, ids, meta, global.source_meta.as_deref().map(AvroBytes))
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
