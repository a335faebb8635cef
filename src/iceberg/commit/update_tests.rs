//! Every update and requirement in the JSON of the REST catalog specification.

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::commit::requirement::MetadataRequirement;

#[test]
fn updates_have_the_names_of_the_specification() {
    let schema = json!({"type": "struct", "schema-id": 1, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"}]});
    let spec = json!({"spec-id": 1, "fields": [
        {"name": "id_bucket", "transform": "bucket[4]", "source-id": 1, "field-id": 1000}]});
    let order = json!({"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]});
    let snapshot = json!({"sequence-number": 3, "snapshot-id": 7, "parent-snapshot-id": 6, "timestamp-ms": 1_700_000_000_000_i64,
        "summary": {"operation": "append"}, "manifest-list": "s3://b/t/metadata/snap-7.avro", "schema-id": 1});
    let statistics = json!({"snapshot-id": 7, "statistics-path": "s3://b/t/metadata/7.stats", "file-size-in-bytes": 9,
        "file-footer-size-in-bytes": 5, "blob-metadata": []});
    let partitions =
        json!({"snapshot-id": 7, "statistics-path": "s3://b/t/metadata/7.parquet", "file-size-in-bytes": 9});
    for json in [
        json!({"action": "assign-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}),
        json!({"action": "upgrade-format-version", "format-version": 3}),
        json!({"action": "add-schema", "schema": schema, "last-column-id": 1}),
        json!({"action": "add-schema", "schema": schema}),
        json!({"action": "set-current-schema", "schema-id": -1}),
        json!({"action": "add-spec", "spec": spec}),
        json!({"action": "set-default-spec", "spec-id": -1}),
        json!({"action": "add-sort-order", "sort-order": order}),
        json!({"action": "set-default-sort-order", "sort-order-id": -1}),
        json!({"action": "add-snapshot", "snapshot": snapshot}),
        json!({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 7,
            "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3, "max-ref-age-ms": 4}),
        json!({"action": "remove-snapshots", "snapshot-ids": [5, 6]}),
        json!({"action": "remove-snapshot-ref", "ref-name": "audit"}),
        json!({"action": "set-location", "location": "s3://b/t"}),
        json!({"action": "set-properties", "updates": {"owner": "x"}}),
        json!({"action": "remove-properties", "removals": ["owner"]}),
        json!({"action": "set-statistics", "snapshot-id": 7, "statistics": statistics}),
        json!({"action": "remove-statistics", "snapshot-id": 7}),
        json!({"action": "set-partition-statistics", "partition-statistics": partitions}),
        json!({"action": "remove-partition-statistics", "snapshot-id": 7}),
        json!({"action": "remove-partition-specs", "spec-ids": [0]}),
        json!({"action": "remove-schemas", "schema-ids": [0]}),
        json!({"action": "add-encryption-key", "encryption-key": {"key-id": "k", "encrypted-key-metadata": "AA=="}}),
        json!({"action": "remove-encryption-key", "key-id": "k"}),
    ] {
        let update = MetadataUpdate::from_json(json.clone(), 3).unwrap();
        assert_eq!(update.to_json(), json);
        assert_eq!(json["action"], update.action());
    }
    for (json, kind) in [
        (json!({"action": "paint"}), ErrorKind::Unsupported),
        (json!({"action": "set-location"}), ErrorKind::CorruptTable),
        (json!({"action": "remove-snapshots", "snapshot-ids": ["x"]}), ErrorKind::CorruptTable),
        (json!({"action": "upgrade-format-version", "format-version": 1000}), ErrorKind::CorruptTable),
        (json!([]), ErrorKind::CorruptTable),
    ] {
        assert_eq!(MetadataUpdate::from_json(json.clone(), 3).unwrap_err().kind(), kind, "{json}");
    }
}

#[test]
fn requirements_have_the_names_of_the_specification() {
    for json in [
        json!({"type": "assert-create"}),
        json!({"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}),
        json!({"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7}),
        json!({"type": "assert-ref-snapshot-id", "ref": "new", "snapshot-id": null}),
        json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 9}),
        json!({"type": "assert-current-schema-id", "current-schema-id": 0}),
        json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 999}),
        json!({"type": "assert-default-spec-id", "default-spec-id": 0}),
        json!({"type": "assert-default-sort-order-id", "default-sort-order-id": 0}),
    ] {
        assert_eq!(MetadataRequirement::from_json(json.clone()).unwrap().to_json(), json);
    }
    let unknown = MetadataRequirement::from_json(json!({"type": "assert-nothing"})).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Unsupported);
    assert!(MetadataRequirement::AssertCreate.check(None).is_ok());
}
