use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::paimon::spec::testing;
use crate::types::{PrimitiveType, Type};

fn parse(json: Json) -> Result<TableSchema> {
    TableSchema::parse(&serde_json::to_vec(&json).unwrap())
}

fn with(change: impl FnOnce(&mut Json)) -> Json {
    let mut json = json!({
        "version": 3, "id": 4, "highestFieldId": 9, "partitionKeys": ["p"], "primaryKeys": ["p", "b", "a"],
        "fields": [
            {"id": 0, "name": "a", "type": "TINYINT NOT NULL", "description": "first"},
            {"id": 1, "name": "p", "type": "DATE NOT NULL"},
            {"id": 2, "name": "b", "type": "VARCHAR(7) NOT NULL", "defaultValue": "x"},
            {"id": 3, "name": "n", "type": {"type": "ARRAY", "element": {"type": "MAP NOT NULL", "key": "STRING",
                "value": {"type": "ROW", "fields": [{"id": 5, "name": "t", "type": "TIMESTAMP(9)"}]}}}},
            {"id": 4, "name": "s", "type": {"type": "MULTISET", "element": "BYTES"}}
        ],
        "options": {"bucket": 2, "x": "y"}, "comment": "c", "timeMillis": 17, "later": {"k": [1]}
    });
    change(&mut json);
    json
}

#[test]
fn all_of_a_schema_file_is_kept() {
    let schema = parse(with(|_| ())).unwrap();
    assert_eq!((schema.id, schema.version, schema.highest_field_id, schema.time_ms), (4, 3, 9, 17));
    assert_eq!(schema.comment.as_deref(), Some("c"));
    assert_eq!(schema.raw["later"], json!({"k": [1]}));
    assert_eq!((schema.options().bucket().unwrap(), schema.options().file_format().as_str()), (2, "parquet"));
    assert_eq!(schema.fields[2].default_value.as_deref(), Some("x"));
    let fields: Vec<Json> = schema.fields.iter().map(DataField::to_json).collect();
    assert_eq!(Json::from(fields), with(|_| ())["fields"]);
}

#[test]
fn keys_are_those_of_the_primary_key_without_partitions() {
    let names = |fields: Vec<&DataField>| fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
    let schema = parse(with(|_| ())).unwrap();
    assert_eq!(names(schema.key_fields().collect()), ["b", "a"]);
    assert_eq!(names(schema.bucket_key_fields().collect()), ["b", "a"]);
    assert_eq!(names(schema.partition_fields().collect()), ["p"]);
    let schema = parse(with(|j| j["options"] = json!({"bucket-key": "a"}))).unwrap();
    assert_eq!(names(schema.bucket_key_fields().collect()), ["a"]);
    assert_eq!(schema.columns().identifier_field_ids, [1, 2, 0]);
}

#[test]
fn columns_have_the_ids_of_the_table_and_those_that_java_derives() {
    let schema = parse(with(|_| ())).unwrap();
    let columns = schema.columns();
    let ty = |id| columns.field(id).unwrap().ty.clone();
    assert_eq!(ty(0), Type::Primitive(PrimitiveType::Int));
    assert_eq!(columns.field(0).unwrap().doc.as_deref(), Some("first"));
    assert_eq!(ty(5), Type::Primitive(PrimitiveType::TimestampNs));
    let base = i32::MAX / 4;
    assert_eq!(columns.name_of(base + 3 * 1024 + 1).as_deref(), Some("n.element"));
    assert!(columns.field(base + 3 * 1024 + 1).unwrap().required);
    assert_eq!(columns.name_of(base - 3 * 1024 - 2).as_deref(), Some("n.element.key"));
    assert_eq!(columns.name_of(base + 3 * 1024 + 2).as_deref(), Some("n.element.value"));
    assert_eq!(columns.name_of(5).as_deref(), Some("n.element.value.t"));
    assert_eq!(ty(base + 4 * 1024 + 1), Type::Primitive(PrimitiveType::Int));
}

#[test]
fn older_versions_have_other_defaults() {
    let old = |version: Json| {
        let schema = parse(with(|j| {
            j["version"] = version;
            j["options"] = json!({});
        }));
        let schema = schema.unwrap();
        (schema.options().bucket().unwrap(), schema.options().file_format())
    };
    assert_eq!(old(json!(3)), (-1, "parquet".to_owned()));
    assert_eq!(old(json!(2)), (-1, "orc".to_owned()));
    assert_eq!(old(json!(1)), (1, "orc".to_owned()));
    assert_eq!(old(Json::Null), (1, "orc".to_owned()));
}

#[test]
fn what_is_no_schema_is_refused() {
    let kind = |change: fn(&mut Json)| parse(with(change)).unwrap_err().kind();
    assert_eq!(kind(|j| j["version"] = json!(4)), ErrorKind::Unsupported);
    assert_eq!(kind(|j| j["fields"][0]["type"] = json!("GEOMETRY")), ErrorKind::Unsupported);
    for change in [
        (|j| j["id"] = Json::Null) as fn(&mut Json),
        |j| j["id"] = json!(-1),
        |j| j["fields"] = json!({}),
        |j| j["fields"][0]["id"] = Json::Null,
        |j| j["fields"][0]["name"] = json!(7),
        |j| j["fields"][0]["type"] = json!(["INT"]),
        |j| j["primaryKeys"] = json!(["p"]),
        |j| j["primaryKeys"] = json!(["nope"]),
        |j| j["partitionKeys"] = json!(["nope"]),
        |j| j["options"] = json!({"bucket-key": "nope"}),
        |j| *j = json!([]),
    ] {
        assert_eq!(kind(change), ErrorKind::CorruptTable);
    }
    assert!(TableSchema::parse(b"{").is_err());
}

#[test]
fn schemas_that_java_wrote_are_read() {
    for id in 0..6 {
        let schema = testing::schema("evolve_parquet", id);
        assert_eq!(schema.id, id);
        let fields: Vec<Json> = schema.fields.iter().map(DataField::to_json).collect();
        assert_eq!(Json::from(fields), schema.raw["fields"]);
    }
}
