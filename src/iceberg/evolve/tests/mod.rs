//! The rules of evolution, case by case. The expected results are those of the specification and of Java Iceberg 1.12.

mod json;
mod partitions;
mod properties;
mod references;
mod replacements;
mod schemas;

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::evolve::*;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::types::schema_json::schema_from_json;
use json::parse_evolutions;

const NOW: i64 = 1_700_000_000_000;

/// A table with columns of every shape. The ids are those that Java gives: id 1, data 2, dt 3, p 4 (lat 9, long 10), l
/// 5 (element 11: k 12), m 6 (key 13: a 15, value 14: v 16), d 7, f 8.
fn table(version: u8, partition_by: &[&str], sort_by: &[&str]) -> TableMetadata {
    let field = |id: i32, name: &str, required: bool, ty: Json| json!({"id": id, "name": name, "required": required, "type": ty});
    let of = |fields: Json| json!({"type": "struct", "fields": fields});
    let schema = json!({"type": "struct", "schema-id": 0, "fields": [
        field(1, "id", true, json!("int")),
        field(2, "data", false, json!("string")),
        field(3, "dt", false, json!("date")),
        field(4, "p", false, of(json!([field(9, "lat", true, json!("float")), field(10, "long", false, json!("float"))]))),
        field(5, "l", false, json!({"type": "list", "element-id": 11, "element-required": true,
            "element": of(json!([field(12, "k", false, json!("int"))]))})),
        field(6, "m", false, json!({"type": "map", "key-id": 13, "value-id": 14, "value-required": true,
            "key": of(json!([field(15, "a", true, json!("int"))])), "value": of(json!([field(16, "v", false, json!("int"))]))})),
        field(7, "d", false, json!("decimal(9, 2)")),
        field(8, "f", false, json!("float")),
    ]});
    let schema = schema_from_json(&schema).unwrap();
    let spec = parse_partition_by(partition_by, &schema).unwrap();
    let order = parse_sort_by(sort_by, &schema).unwrap();
    new_table(&schema, &spec, &order, "/t", &BTreeMap::new(), version, NOW).unwrap()
}

/// The metadata after changes given as JSON, which also survives a metadata file.
fn evolve(base: &TableMetadata, changes: Json) -> Result<TableMetadata> {
    let next = apply(base, &parse_evolutions(&changes.to_string())?, NOW + 1)?;
    assert_eq!(parse_metadata(&encode_metadata(&next)).unwrap(), next);
    // Also checks that the updates give the same result.
    Ok(MetadataCommit::between(base, next).next)
}

/// The error of changes that must be refused.
fn refused(base: &TableMetadata, changes: Json) -> String {
    let e = evolve(base, changes.clone()).expect_err(&changes.to_string());
    assert_ne!(e.kind(), ErrorKind::Internal, "{e}");
    assert_ne!(e.kind(), ErrorKind::CorruptTable, "{e}");
    e.to_string()
}

#[test]
fn what_is_no_change_is_refused() {
    for text in [
        "",
        "{}",
        "[1]",
        r#"[{"change": "paint"}]"#,
        r#"[{"change": "update-schema"}]"#,
        r#"[{"change": "update-schema", "operations": [{"do": "add", "path": [], "type": "int"}]}]"#,
        r#"[{"change": "update-schema", "operations": [{"do": "drop", "path": "a..b"}]}]"#,
        r#"[{"change": "update-schema", "operations": [{"do": "move", "path": "a"}]}]"#,
        r#"[{"change": "upgrade", "format-version": "3"}]"#,
        r#"[{"change": "create-tag", "name": 3}]"#,
    ] {
        assert_eq!(parse_evolutions(text).unwrap_err().kind(), ErrorKind::InvalidInput, "{text}");
    }
}

#[test]
fn what_others_changed_meanwhile_is_a_conflict() {
    let base = table(2, &["id"], &["id"]);
    let column = json!({"change": "update-schema", "operations": [{"do": "add", "path": "x", "type": "int"}]});
    let field = json!({"change": "update-spec", "operations": [{"do": "add", "source": "data"}]});
    let order = json!({"change": "update-sort-order", "fields": [{"source": "data"}]});
    let property = json!({"change": "set-properties", "properties": {"a": "b"}});
    let changes = [column, field, order, property];
    for (i, mine) in changes.iter().enumerate() {
        let mine = parse_evolutions(&json!([mine]).to_string()).unwrap();
        let requirements = Requirements::of(&base, &mine);
        for (j, others) in changes.iter().enumerate() {
            let newest = evolve(&base, json!([others])).unwrap();
            let checked = requirements.check(&newest).map_err(|e| e.kind());
            let conflict = i == j && i < 3;
            assert_eq!(checked, if conflict { Err(ErrorKind::CommitConflict) } else { Ok(()) }, "{i} after {j}");
        }
    }
}

#[test]
fn what_changes_nothing_is_the_same() {
    let base = table(2, &["id"], &["id"]);
    for changes in [
        json!([{"change": "update-schema", "operations": [{"do": "type", "path": "id", "type": "int"}, {"do": "rename", "path": "id", "name": "id"}]}]),
        json!([{"change": "update-spec", "operations": [{"do": "remove", "field": "id"}, {"do": "add", "source": "id"}]}]),
        json!([{"change": "update-sort-order", "fields": [{"source": "id"}]}]),
        json!([{"change": "upgrade", "format-version": 2}, {"change": "remove-properties", "names": ["x"]}]),
    ] {
        assert!(is_same(&evolve(&base, changes.clone()).unwrap(), &base), "{changes}");
    }
    assert!(!is_same(&evolve(&base, json!([{"change": "upgrade", "format-version": 3}])).unwrap(), &base));
}
