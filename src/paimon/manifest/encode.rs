//! Writing manifests, manifest lists and index manifests, field by field as Java does.
//!
//! Source: Paimon specification, "Manifest"; Java's `ManifestEntrySerializer`, `DataFileMetaSerializer`,
//! `ManifestFileMetaSerializer`, `IndexManifestEntrySerializer`, release 1.4.

use super::file_entry::FileEntry;
use super::index_manifest::{DeletionVectorRange, GlobalIndex, IndexEntry};
use super::list::ManifestFile;
use crate::codec::avro::encode::{put_bytes, put_int, put_items, put_long, put_optional};
use crate::codec::avro::{Codec, ContainerWriter};
use crate::error::{Error, Result};
use crate::paimon::spec::stats::{SimpleStats, UNKNOWN_NULLS};
use crate::types::options::Options;

/// `_VERSION` of entries of manifests and manifest lists.
const VERSION: i32 = 2;

/// `_VERSION` of entries of index manifests.
const INDEX_VERSION: i32 = 1;

/// Java's name for the outermost record.
const NAMESPACE: &str = "org.apache.paimon.avro.generated";

fn record(name: &str, fields: &[String]) -> String {
    format!(r#"{{"type":"record","name":"{name}","fields":[{}]}}"#, fields.join(","))
}

fn outermost(fields: &[String]) -> String {
    let fields = fields.join(",");
    format!(r#"{{"type":"record","name":"record","namespace":"{NAMESPACE}","fields":[{fields}]}}"#)
}

/// A field; `ty` is JSON.
fn field(name: &str, ty: &str) -> String {
    format!(r#"{{"name":"{name}","type":{ty}}}"#)
}

/// A field that may be null.
fn optional(name: &str, ty: &str) -> String {
    format!(r#"{{"name":"{name}","type":["null",{ty}],"default":null}}"#)
}

const BYTES: &str = r#""bytes""#;
const INT: &str = r#""int""#;
const LONG: &str = r#""long""#;
const STRING: &str = r#""string""#;
const STRINGS: &str = r#"{"type":"array","items":"string"}"#;
const COUNTS: &str = r#"{"type":"array","items":["null","long"]}"#;

fn stats_schema(name: &str) -> String {
    record(name, &[field("_MIN_VALUES", BYTES), field("_MAX_VALUES", BYTES), optional("_NULL_COUNTS", COUNTS)])
}

fn list_schema() -> String {
    outermost(&[
        field("_VERSION", INT),
        field("_FILE_NAME", STRING),
        field("_FILE_SIZE", LONG),
        field("_NUM_ADDED_FILES", LONG),
        field("_NUM_DELETED_FILES", LONG),
        field("_PARTITION_STATS", &stats_schema("record__PARTITION_STATS")),
        field("_SCHEMA_ID", LONG),
        optional("_MIN_BUCKET", INT),
        optional("_MAX_BUCKET", INT),
        optional("_MIN_LEVEL", INT),
        optional("_MAX_LEVEL", INT),
        optional("_MIN_ROW_ID", LONG),
        optional("_MAX_ROW_ID", LONG),
    ])
}

fn manifest_schema() -> String {
    let file = record(
        "record__FILE",
        &[
            field("_FILE_NAME", STRING),
            field("_FILE_SIZE", LONG),
            field("_ROW_COUNT", LONG),
            field("_MIN_KEY", BYTES),
            field("_MAX_KEY", BYTES),
            field("_KEY_STATS", &stats_schema("record__FILE__KEY_STATS")),
            field("_VALUE_STATS", &stats_schema("record__FILE__VALUE_STATS")),
            field("_MIN_SEQUENCE_NUMBER", LONG),
            field("_MAX_SEQUENCE_NUMBER", LONG),
            field("_SCHEMA_ID", LONG),
            field("_LEVEL", INT),
            field("_EXTRA_FILES", STRINGS),
            optional("_CREATION_TIME", r#"{"type":"long","logicalType":"timestamp-millis"}"#),
            optional("_DELETE_ROW_COUNT", LONG),
            optional("_EMBEDDED_FILE_INDEX", BYTES),
            optional("_FILE_SOURCE", INT),
            optional("_VALUE_STATS_COLS", STRINGS),
            optional("_EXTERNAL_PATH", STRING),
            optional("_FIRST_ROW_ID", LONG),
            optional("_WRITE_COLS", STRINGS),
        ],
    );
    outermost(&[
        field("_VERSION", INT),
        field("_KIND", INT),
        field("_PARTITION", BYTES),
        field("_BUCKET", INT),
        field("_TOTAL_BUCKETS", INT),
        field("_FILE", &file),
    ])
}

fn index_schema() -> String {
    let range = record(
        "record__DELETIONS_VECTORS_RANGES",
        &[field("f0", STRING), field("f1", INT), field("f2", INT), optional("_CARDINALITY", LONG)],
    );
    let global = record(
        "record__GLOBAL_INDEX",
        &[
            field("_ROW_RANGE_START", LONG),
            field("_ROW_RANGE_END", LONG),
            field("_INDEX_FIELD_ID", INT),
            optional("_EXTRA_FIELD_IDS", r#"{"type":"array","items":"int"}"#),
            optional("_INDEX_META", BYTES),
        ],
    );
    outermost(&[
        field("_VERSION", INT),
        field("_KIND", INT),
        field("_PARTITION", BYTES),
        field("_BUCKET", INT),
        field("_INDEX_TYPE", STRING),
        field("_FILE_NAME", STRING),
        field("_FILE_SIZE", LONG),
        field("_ROW_COUNT", LONG),
        optional("_DELETIONS_VECTORS_RANGES", &format!(r#"{{"type":"array","items":["null",{range}]}}"#)),
        optional("_EXTERNAL_PATH", STRING),
        optional("_GLOBAL_INDEX", &global),
    ])
}

/// How manifests of a table are compressed: `manifest.compression`.
///
/// # Errors
/// `Unsupported` for a codec or a `manifest.format` that can't be written.
pub fn manifest_codec(options: Options<'_>) -> Result<Codec> {
    let format = options.get("manifest.format").unwrap_or("avro");
    if !format.eq_ignore_ascii_case("avro") {
        return Err(Error::unsupported(format!("manifests of the format '{format}' can't be written"))
            .hint("Set the option 'manifest.format' to avro"));
    }
    match options.get("manifest.compression").unwrap_or("zstd").to_ascii_lowercase().as_str() {
        "zstd" | "zstandard" => Ok(Codec::Zstd),
        "none" | "null" | "uncompressed" => Ok(Codec::Null),
        "snappy" => Ok(Codec::Snappy),
        "deflate" => Ok(Codec::Deflate),
        other => Err(Error::unsupported(format!("manifests can't be compressed by '{other}'"))
            .hint("Set the option 'manifest.compression' to zstd, snappy, deflate or null")),
    }
}

/// The level of zstandard, as Java's default.
fn writer(schema: &str, codec: Codec) -> ContainerWriter {
    ContainerWriter::new(schema, &[], codec).with_level((codec == Codec::Zstd).then_some(1))
}

/// Writes a manifest list.
///
/// # Errors
/// `Internal` if the codec fails.
pub fn encode_manifest_list(manifests: &[ManifestFile], codec: Codec) -> Result<Vec<u8>> {
    let mut out = writer(&list_schema(), codec);
    for m in manifests {
        out.record(|out| {
            put_int(out, VERSION);
            put_bytes(out, m.file_name.as_bytes());
            [m.file_size, m.added_files, m.deleted_files].into_iter().for_each(|n| put_long(out, n));
            put_stats(out, &m.partition_stats);
            put_long(out, m.schema_id);
            for ends in [m.buckets, m.levels] {
                put_optional(out, ends.map(|e| e.0), put_int);
                put_optional(out, ends.map(|e| e.1), put_int);
            }
            put_optional(out, m.row_ids.map(|e| e.0), put_long);
            put_optional(out, m.row_ids.map(|e| e.1), put_long);
        });
    }
    out.finish()
}

/// Builds a manifest, entry by entry.
pub struct ManifestWriter {
    writer: ContainerWriter,
    bytes: Vec<u8>,
}

impl ManifestWriter {
    /// An empty manifest.
    pub fn new(codec: Codec) -> ManifestWriter {
        ManifestWriter { writer: writer(&manifest_schema(), codec), bytes: Vec::new() }
    }

    /// Appends an entry.
    pub fn add(&mut self, entry: &FileEntry) {
        self.writer.record(|out| put_entry(out, entry));
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
    /// As [`ManifestWriter::size_bytes`].
    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.bytes.extend(self.writer.finish()?);
        Ok(self.bytes)
    }
}

/// Writes a manifest of these entries.
///
/// # Errors
/// `Internal` if the codec fails.
pub fn encode_manifest(entries: &[FileEntry], codec: Codec) -> Result<Vec<u8>> {
    let mut out = ManifestWriter::new(codec);
    entries.iter().for_each(|entry| out.add(entry));
    out.finish()
}

fn put_texts(out: &mut Vec<u8>, texts: &[String]) {
    put_items(out, texts.iter(), |out, text| put_bytes(out, text.as_bytes()));
}

fn put_stats(out: &mut Vec<u8>, stats: &SimpleStats) {
    put_bytes(out, &stats.min);
    put_bytes(out, &stats.max);
    put_optional(out, stats.null_counts.as_deref(), |out, counts| {
        put_items(out, counts.iter(), |out, n| put_optional(out, (*n != UNKNOWN_NULLS).then_some(*n), put_long));
    });
}

fn put_entry(out: &mut Vec<u8>, e: &FileEntry) {
    put_int(out, VERSION);
    put_int(out, i32::from(e.kind));
    put_bytes(out, &e.partition);
    put_int(out, e.bucket);
    put_int(out, e.total_buckets);
    put_bytes(out, e.file_name.as_bytes());
    put_long(out, e.file_size);
    put_long(out, e.row_count);
    put_bytes(out, &e.min_key);
    put_bytes(out, &e.max_key);
    put_stats(out, &e.key_stats);
    put_stats(out, &e.value_stats);
    put_long(out, e.min_sequence_number);
    put_long(out, e.max_sequence_number);
    put_long(out, e.schema_id);
    put_int(out, e.level);
    put_texts(out, &e.extra_files);
    put_optional(out, e.creation_time_ms, put_long);
    put_optional(out, e.delete_row_count, put_long);
    put_optional(out, e.embedded_index.as_deref(), put_bytes);
    put_optional(out, e.file_source.map(i32::from), put_int);
    put_optional(out, e.value_stats_cols.as_deref(), put_texts);
    put_optional(out, e.external_path.as_deref().map(str::as_bytes), put_bytes);
    put_optional(out, e.first_row_id, put_long);
    put_optional(out, e.write_cols.as_deref(), put_texts);
}

/// Writes an index manifest.
///
/// # Errors
/// `InvalidInput` for a deletion vector beyond 2 GiB of its file; `Internal` if the codec fails.
pub fn encode_index_manifest(entries: &[IndexEntry], codec: Codec) -> Result<Vec<u8>> {
    let ranges = entries.iter().flat_map(|e| e.deletion_vectors.iter().flatten());
    for range in ranges {
        if i32::try_from(range.offset).is_err() || i32::try_from(range.length).is_err() {
            return Err(Error::invalid("a deletion vector lies beyond 2 GiB").with("file", &range.data_file));
        }
    }
    let mut out = writer(&index_schema(), codec);
    for e in entries {
        out.record(|out| put_index_entry(out, e));
    }
    out.finish()
}

fn put_index_entry(out: &mut Vec<u8>, e: &IndexEntry) {
    put_int(out, INDEX_VERSION);
    put_int(out, i32::from(e.kind));
    put_bytes(out, &e.partition);
    put_int(out, e.bucket);
    put_bytes(out, e.index_type.as_bytes());
    put_bytes(out, e.file_name.as_bytes());
    put_long(out, e.file_size);
    put_long(out, e.row_count);
    put_optional(out, e.deletion_vectors.as_deref(), |out, ranges| {
        put_items(out, ranges.iter(), |out, range| put_optional(out, Some(range), put_range));
    });
    put_optional(out, e.external_path.as_deref().map(str::as_bytes), put_bytes);
    put_optional(out, e.global.as_ref(), put_global);
}

fn put_range(out: &mut Vec<u8>, range: &DeletionVectorRange) {
    put_bytes(out, range.data_file.as_bytes());
    put_long(out, range.offset);
    put_long(out, range.length);
    put_optional(out, range.cardinality, put_long);
}

fn put_global(out: &mut Vec<u8>, global: &GlobalIndex) {
    put_long(out, global.first_row_id);
    put_long(out, global.last_row_id);
    put_int(out, global.field_id);
    put_optional(out, global.extra_field_ids.as_deref(), |out, ids| {
        put_items(out, ids.iter(), |out, id| put_int(out, *id))
    });
    put_optional(out, global.meta.as_deref(), put_bytes);
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
