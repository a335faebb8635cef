//! The Avro schemas of manifests and manifest lists. Names, ids, docs and order are as in Java.
//!
//! Source: Iceberg specification, "Manifests" and "Manifest Lists"; names of partition fields as in Java's Avro
//! mapping.

use std::collections::HashSet;

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::RecordField;
use serde_json::{Value as Json, json};

use crate::codec::avro::declare::{self, FIELD_ID, array, map_of_pairs, record};
use crate::codec::avro::primitive::primitive_type;
use crate::error::Result;
use crate::types::{PartitionField, PrimitiveType};

/// A field of a record. An optional field is a union with null, and null is its default.
fn field(name: &str, ty: AvroSchema, doc: Option<&str>, optional: bool, id: i32) -> Result<RecordField> {
    let union = optional && !matches!(ty, AvroSchema::Null);
    let mut out = declare::field(name, if union { declare::optional(ty)? } else { ty });
    out.doc = doc.map(str::to_owned);
    out.default = optional.then_some(Json::Null);
    out.custom_attributes.insert(FIELD_ID.to_owned(), json!(id));
    Ok(out)
}

fn required(name: &str, ty: AvroSchema, doc: &str, id: i32) -> Result<RecordField> {
    field(name, ty, Some(doc), false, id)
}

fn optional(name: &str, ty: AvroSchema, doc: &str, id: i32) -> Result<RecordField> {
    field(name, ty, Some(doc), true, id)
}

/// A field that holds a map by field ids: an array of pairs.
fn map(name: &str, value: AvroSchema, doc: &str, id: i32, key_id: i32, value_id: i32) -> Result<RecordField> {
    let pair = [field("key", AvroSchema::Int, None, false, key_id), field("value", value, None, false, value_id)];
    optional(name, map_of_pairs(&format!("k{key_id}_v{value_id}"), pair)?, doc, id)
}

/// A field that holds a list.
fn list(name: &str, items: AvroSchema, doc: &str, id: i32, element_id: i32) -> Result<RecordField> {
    optional(name, array(items, &[("element-id", json!(element_id))]), doc, id)
}

/// The schema of a manifest list of this format version.
///
/// # Errors
/// `Internal` if it is not an Avro schema.
pub(crate) fn manifest_list_schema(format_version: u8) -> Result<AvroSchema> {
    use AvroSchema::{Boolean, Bytes, Int, Long, String};
    let count = |name: &str, ty: AvroSchema, doc: &str, id: i32| field(name, ty, Some(doc), format_version == 1, id);
    let summary = [
        required("contains_null", Boolean, "True if any file has a null partition value", 509),
        optional("contains_nan", Boolean, "True if any file has a nan partition value", 518),
        optional("lower_bound", Bytes, "Partition lower bound for all files", 510),
        optional("upper_bound", Bytes, "Partition upper bound for all files", 511),
    ];
    let partitions = list("partitions", record("r508", summary)?, "Summary for each partition", 507, 508);
    let mut fields = vec![
        required("manifest_path", String, "Location URI with FS scheme", 500),
        required("manifest_length", Long, "Total file size in bytes", 501),
        required("partition_spec_id", Int, "Spec ID used to write", 502),
    ];
    if format_version > 1 {
        fields.push(required("content", Int, "Contents of the manifest: 0=data, 1=deletes", 517));
        fields.push(required("sequence_number", Long, "Sequence number when the manifest was added", 515));
        fields.push(required("min_sequence_number", Long, "Lowest sequence number in the manifest", 516));
    }
    fields.extend([
        required("added_snapshot_id", Long, "Snapshot ID that added the manifest", 503),
        count("added_files_count", Int, "Added entry count", 504),
        count("existing_files_count", Int, "Existing entry count", 505),
        count("deleted_files_count", Int, "Deleted entry count", 506),
    ]);
    let rows = [
        count("added_rows_count", Long, "Added rows count", 512),
        count("existing_rows_count", Long, "Existing rows count", 513),
        count("deleted_rows_count", Long, "Deleted rows count", 514),
    ];
    if format_version == 1 {
        fields.push(partitions);
        fields.extend(rows);
    } else {
        fields.extend(rows);
        fields.push(partitions);
    }
    fields.push(optional("key_metadata", Bytes, "Encryption key metadata blob", 519));
    if format_version > 2 {
        let doc = "Starting row ID to assign to new rows in ADDED data files";
        fields.push(optional("first_row_id", Long, doc, 520));
    }
    record("manifest_file", fields)
}

/// The schema of a manifest of this format version, with these fields and types of partition tuples.
///
/// # Errors
/// `Internal` if it is not an Avro schema.
pub(crate) fn manifest_entry_schema(
    format_version: u8,
    fields: &[PartitionField],
    types: &[PrimitiveType],
) -> Result<AvroSchema> {
    use AvroSchema::{Int, Long};
    let mut entry = vec![field("status", Int, None, false, 0), field("snapshot_id", Long, None, true, 1)];
    if format_version > 1 {
        entry.push(field("sequence_number", Long, None, true, 3));
        entry.push(field("file_sequence_number", Long, None, true, 4));
    }
    let file = record("r2", file_fields(format_version, fields, types)?)?;
    entry.push(field("data_file", file, None, false, 2));
    record("manifest_entry", entry)
}

fn file_fields(
    format_version: u8,
    fields: &[PartitionField],
    types: &[PrimitiveType],
) -> Result<Vec<Result<RecordField>>> {
    use AvroSchema::{Bytes, Int, Long, String};
    let mut out = Vec::new();
    if format_version > 1 {
        let doc = "Contents of the file: 0=data, 1=position deletes, 2=equality deletes";
        out.push(required("content", Int, doc, 134));
    }
    let partition_doc = (format_version > 1).then_some("Partition data tuple, schema based on the partition spec");
    out.extend([
        required("file_path", String, "Location URI with FS scheme", 100),
        required("file_format", String, "File format name: avro, orc, or parquet", 101),
        field("partition", partition_record(fields, types)?, partition_doc, false, 102),
        required("record_count", Long, "Number of records in the file", 103),
        required("file_size_in_bytes", Long, "Total file size in bytes", 104),
    ]);
    if format_version == 1 {
        out.push(field("block_size_in_bytes", Long, None, false, 105));
    }
    let nulls = "Map of column id to null value count";
    let values = "Map of column id to total count, including null and NaN";
    let nans = "Map of column id to number of NaN values in the column";
    out.extend([
        map("column_sizes", Long, "Map of column id to total size on disk", 108, 117, 118),
        map("value_counts", Long, values, 109, 119, 120),
        map("null_value_counts", Long, nulls, 110, 121, 122),
        map("nan_value_counts", Long, nans, 137, 138, 139),
        map("lower_bounds", Bytes, "Map of column id to lower bound", 125, 126, 127),
        map("upper_bounds", Bytes, "Map of column id to upper bound", 128, 129, 130),
        optional("key_metadata", Bytes, "Encryption key metadata blob", 131),
        list("split_offsets", Long, "Splittable offsets", 132, 133),
    ]);
    if format_version > 1 {
        out.push(list("equality_ids", Int, "Equality comparison field IDs", 135, 136));
    }
    out.push(optional("sort_order_id", Int, "Sort order ID", 140));
    if format_version > 2 {
        let doc = "The first row ID assigned to the first row in the data file";
        out.push(optional("first_row_id", Long, doc, 142));
    }
    if format_version > 1 {
        let doc = "Fully qualified location (URI with FS scheme) of a data file that all deletes reference";
        out.push(optional("referenced_data_file", String, doc, 143));
    }
    if format_version > 2 {
        let doc = "The length of referenced content stored in the file";
        out.push(optional("content_offset", Long, "The offset in the file where the content starts", 144));
        out.push(optional("content_size_in_bytes", Long, doc, 145));
    }
    Ok(out)
}

fn partition_record(fields: &[PartitionField], types: &[PrimitiveType]) -> Result<AvroSchema> {
    let mut named = HashSet::new();
    let members = fields.iter().zip(types).map(|(f, ty)| {
        let name = sanitize(&f.name);
        let mut out = field(&name, partition_type(ty, &mut named)?, None, true, f.field_id)?;
        if name != f.name {
            out.custom_attributes.insert("iceberg-field-name".to_owned(), json!(f.name));
        }
        Ok(out)
    });
    record("r102", members)
}

/// The Avro type of a partition value.
fn partition_type(ty: &PrimitiveType, named: &mut HashSet<String>) -> Result<AvroSchema> {
    match ty {
        // No transform gives such a value.
        PrimitiveType::Geometry { .. } | PrimitiveType::Geography { .. } => Ok(AvroSchema::Null),
        ty => primitive_type(ty, named),
    }
}

/// A valid Avro name. Characters other than letters, digits and underscores become `_x` and their UTF-16 code in
/// hexadecimal digits. A digit at the start gets an underscore before it.
///
/// Java keeps every Unicode letter and digit. This function also escapes letters of rarer scripts, because readers may
/// disagree about them. Readers use the field id, so the name does not matter to them.
pub(crate) fn sanitize(name: &str) -> String {
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
    use crate::codec::avro::declare::Zones;
    use crate::codec::avro::{Node, RecordEncoder};
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
            for schema in [manifest_entry_schema(version, &fields, &types), manifest_list_schema(version)] {
                let schema = schema.unwrap();
                let text = declare::text(&schema, Zones::AdjustToUtc).unwrap();
                Node::parse(&text).unwrap();
                AvroSchema::parse_str(&text).unwrap();
                RecordEncoder::new(&schema).unwrap();
            }
        }
    }
}
