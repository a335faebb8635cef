//! The Avro schemas of manifests and manifest lists. Names, ids, docs and order are as in Java.
//!
//! Source: Iceberg specification, "Manifests" and "Manifest Lists"; names of partition fields as in Java's Avro
//! mapping.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::codec::avro::primitive::primitive_type;
use crate::types::{PartitionField, PrimitiveType};

/// A field of a record. An optional field is a union with null, and null is its default.
fn field(name: &str, ty: Json, doc: Option<&str>, optional: bool, id: i32) -> Json {
    let mut out = Map::new();
    out.insert("name".into(), json!(name));
    let union = optional && ty != json!("null");
    out.insert("type".into(), if union { json!(["null", ty]) } else { ty });
    if let Some(doc) = doc {
        out.insert("doc".into(), json!(doc));
    }
    if optional {
        out.insert("default".into(), Json::Null);
    }
    out.insert("field-id".into(), json!(id));
    Json::Object(out)
}

fn required(name: &str, ty: Json, doc: &str, id: i32) -> Json {
    field(name, ty, Some(doc), false, id)
}

fn optional(name: &str, ty: Json, doc: &str, id: i32) -> Json {
    field(name, ty, Some(doc), true, id)
}

fn record(name: &str, fields: Vec<Json>) -> Json {
    json!({"type": "record", "name": name, "fields": fields})
}

/// A map with integer keys: an array of pairs.
fn map(key_id: i32, value_id: i32, value: &str) -> Json {
    let pair = vec![
        json!({"name": "key", "type": "int", "field-id": key_id}),
        json!({"name": "value", "type": value, "field-id": value_id}),
    ];
    json!({"type": "array", "items": record(&format!("k{key_id}_v{value_id}"), pair), "logicalType": "map"})
}

/// The schema of a manifest list of this format version.
pub fn manifest_list_schema(format_version: u8) -> Json {
    let int = || json!("int");
    let long = || json!("long");
    let count = |name: &str, ty: Json, doc: &str, id: i32| field(name, ty, Some(doc), format_version == 1, id);
    let summary = vec![
        required("contains_null", json!("boolean"), "True if any file has a null partition value", 509),
        optional("contains_nan", json!("boolean"), "True if any file has a nan partition value", 518),
        optional("lower_bound", json!("bytes"), "Partition lower bound for all files", 510),
        optional("upper_bound", json!("bytes"), "Partition upper bound for all files", 511),
    ];
    let summaries = json!({"type": "array", "items": record("r508", summary), "element-id": 508});
    let partitions = optional("partitions", summaries, "Summary for each partition", 507);
    let mut fields = vec![
        required("manifest_path", json!("string"), "Location URI with FS scheme", 500),
        required("manifest_length", long(), "Total file size in bytes", 501),
        required("partition_spec_id", int(), "Spec ID used to write", 502),
    ];
    if format_version > 1 {
        fields.push(required("content", int(), "Contents of the manifest: 0=data, 1=deletes", 517));
        fields.push(required("sequence_number", long(), "Sequence number when the manifest was added", 515));
        fields.push(required("min_sequence_number", long(), "Lowest sequence number in the manifest", 516));
    }
    fields.extend([
        required("added_snapshot_id", long(), "Snapshot ID that added the manifest", 503),
        count("added_files_count", int(), "Added entry count", 504),
        count("existing_files_count", int(), "Existing entry count", 505),
        count("deleted_files_count", int(), "Deleted entry count", 506),
    ]);
    let rows = [
        count("added_rows_count", long(), "Added rows count", 512),
        count("existing_rows_count", long(), "Existing rows count", 513),
        count("deleted_rows_count", long(), "Deleted rows count", 514),
    ];
    if format_version == 1 {
        fields.push(partitions);
        fields.extend(rows);
    } else {
        fields.extend(rows);
        fields.push(partitions);
    }
    fields.push(optional("key_metadata", json!("bytes"), "Encryption key metadata blob", 519));
    if format_version > 2 {
        let doc = "Starting row ID to assign to new rows in ADDED data files";
        fields.push(optional("first_row_id", long(), doc, 520));
    }
    record("manifest_file", fields)
}

/// The schema of a manifest of this format version, with these fields and types of partition tuples.
pub fn manifest_entry_schema(format_version: u8, fields: &[PartitionField], types: &[PrimitiveType]) -> Json {
    let long = || json!("long");
    let mut entry = vec![field("status", json!("int"), None, false, 0), field("snapshot_id", long(), None, true, 1)];
    if format_version > 1 {
        entry.push(field("sequence_number", long(), None, true, 3));
        entry.push(field("file_sequence_number", long(), None, true, 4));
    }
    entry.push(field("data_file", record("r2", file_fields(format_version, fields, types)), None, false, 2));
    record("manifest_entry", entry)
}

fn file_fields(format_version: u8, fields: &[PartitionField], types: &[PrimitiveType]) -> Vec<Json> {
    let (int, long) = (|| json!("int"), || json!("long"));
    let mut out = Vec::new();
    if format_version > 1 {
        let doc = "Contents of the file: 0=data, 1=position deletes, 2=equality deletes";
        out.push(required("content", int(), doc, 134));
    }
    let partition_doc = (format_version > 1).then_some("Partition data tuple, schema based on the partition spec");
    out.extend([
        required("file_path", json!("string"), "Location URI with FS scheme", 100),
        required("file_format", json!("string"), "File format name: avro, orc, or parquet", 101),
        field("partition", partition_record(fields, types), partition_doc, false, 102),
        required("record_count", long(), "Number of records in the file", 103),
        required("file_size_in_bytes", long(), "Total file size in bytes", 104),
    ]);
    if format_version == 1 {
        out.push(field("block_size_in_bytes", long(), None, false, 105));
    }
    out.extend([
        optional("column_sizes", map(117, 118, "long"), "Map of column id to total size on disk", 108),
        optional("value_counts", map(119, 120, "long"), "Map of column id to total count, including null and NaN", 109),
        optional("null_value_counts", map(121, 122, "long"), "Map of column id to null value count", 110),
        optional(
            "nan_value_counts",
            map(138, 139, "long"),
            "Map of column id to number of NaN values in the column",
            137,
        ),
        optional("lower_bounds", map(126, 127, "bytes"), "Map of column id to lower bound", 125),
        optional("upper_bounds", map(129, 130, "bytes"), "Map of column id to upper bound", 128),
        optional("key_metadata", json!("bytes"), "Encryption key metadata blob", 131),
        optional(
            "split_offsets",
            json!({"type": "array", "items": "long", "element-id": 133}),
            "Splittable offsets",
            132,
        ),
    ]);
    if format_version > 1 {
        let ids = json!({"type": "array", "items": "int", "element-id": 136});
        out.push(optional("equality_ids", ids, "Equality comparison field IDs", 135));
    }
    out.push(optional("sort_order_id", int(), "Sort order ID", 140));
    if format_version > 2 {
        let doc = "The first row ID assigned to the first row in the data file";
        out.push(optional("first_row_id", long(), doc, 142));
    }
    if format_version > 1 {
        let doc = "Fully qualified location (URI with FS scheme) of a data file that all deletes reference";
        out.push(optional("referenced_data_file", json!("string"), doc, 143));
    }
    if format_version > 2 {
        let doc = "The length of referenced content stored in the file";
        out.push(optional("content_offset", long(), "The offset in the file where the content starts", 144));
        out.push(optional("content_size_in_bytes", long(), doc, 145));
    }
    out
}

fn partition_record(fields: &[PartitionField], types: &[PrimitiveType]) -> Json {
    let mut named = HashSet::new();
    let members = fields.iter().zip(types).map(|(f, ty)| {
        let name = sanitize(&f.name);
        let mut out = field(&name, partition_type(ty, &mut named), None, true, f.field_id);
        if let Json::Object(out) = &mut out
            && name != f.name
        {
            // Java puts the real name directly before the id.
            let id = out.shift_remove("field-id").unwrap_or_default();
            out.insert("iceberg-field-name".into(), json!(f.name));
            out.insert("field-id".into(), id);
        }
        out
    });
    let members = members.collect();
    record("r102", members)
}

/// The Avro type of a partition value.
fn partition_type(ty: &PrimitiveType, named: &mut HashSet<String>) -> Json {
    match ty {
        // No transform gives such a value.
        PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. } => json!("null"),
        ty => primitive_type(ty, named),
    }
}

/// A valid Avro name. Characters other than letters, digits and underscores become `_x` and their UTF-16 code in
/// hexadecimal digits. A digit at the start gets an underscore before it.
///
/// Java keeps every Unicode letter and digit. This function also escapes letters of rarer scripts, because readers may
/// disagree about them. Readers use the field id, so the name does not matter to them.
pub fn sanitize(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        if c == '_' || is_letter(c) || c.is_ascii_digit() && i > 0 {
            out.push(c);
        } else if c.is_ascii_digit() {
            out.push('_');
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("_x{unit:X}")));
        }
    }
    out
}

/// Letters in every version of Unicode: Latin, Greek, Cyrillic, Hebrew, Arabic, kana, CJK and Hangul.
fn is_letter(c: char) -> bool {
    let common = matches!(c as u32, 0x41..=0x2af | 0x370..=0x481 | 0x48a..=0x52f | 0x5d0..=0x5ea | 0x620..=0x64a
        | 0x3041..=0x3096 | 0x30a1..=0x30fa | 0x4e00..=0x9fa5 | 0xac00..=0xd7a3);
    common && c.is_alphabetic()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::avro::Node;
    use crate::types::Transform;
    use crate::types::decimal::bytes_of_precision;

    #[test]
    fn names_become_what_java_makes_of_them() {
        for (name, expected) in [
            ("9x", "_9x"),
            ("x_", "x_"),
            ("a.b", "a_x2Eb"),
            ("☃", "_x2603"),
            ("a#b", "a_x23b"),
            ("café", "café"),
            ("日本", "日本"),
            ("😀", "_xD83D_xDE00"),
            ("½", "_xBD"),
        ] {
            assert_eq!(sanitize(name), expected);
        }
    }

    #[test]
    fn decimal_lengths() {
        // 2^(8n-1) - 1 has this many full decimal digits: 2, 4, 6, 9, 11, 14, 16, 18, …
        for (precision, length) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (9, 4), (18, 8), (19, 9), (38, 16)] {
            assert_eq!(bytes_of_precision(precision), length, "{precision}");
        }
    }

    #[test]
    fn every_schema_is_avro() {
        let types: Vec<PrimitiveType> = [
            "boolean",
            "int",
            "long",
            "float",
            "double",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "timestamp_ns",
            "timestamptz_ns",
            "string",
            "uuid",
            "uuid",
            "fixed[3]",
            "fixed[3]",
            "binary",
            "decimal(9,2)",
            "decimal(9,2)",
            "unknown",
        ]
        .into_iter()
        .map(|t| crate::types::schema_json::parse_primitive(t).unwrap())
        .collect();
        let fields: Vec<PartitionField> = (0..types.len() as i32)
            .map(|i| PartitionField {
                source_id: i,
                field_id: 1000 + i,
                name: format!("p.{i}"),
                transform: Transform::Identity,
            })
            .collect();
        for version in 1..=3 {
            let entry = manifest_entry_schema(version, &fields, &types).to_string();
            Node::parse(&entry).unwrap();
            apache_avro::Schema::parse_str(&entry).unwrap();
            let list = manifest_list_schema(version).to_string();
            apache_avro::Schema::parse_str(&list).unwrap();
        }
    }
}
