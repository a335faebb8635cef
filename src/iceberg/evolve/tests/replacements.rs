//! Tables that are replaced. The expected values are those of Java's `TestTableMetadata` and `TestReplaceTransaction`.

use super::*;
use crate::iceberg::commit::update::MetadataUpdate;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::types::{PartitionSpec, Schema, Transform};

/// A table of these columns, each `name type`.
fn schema_of(columns: &[&str]) -> Schema {
    let fields: Vec<Json> = (columns.iter().zip(1..))
        .map(|(column, id)| {
            let (name, ty) = column.split_once(' ').unwrap();
            json!({"id": id, "name": name, "required": false, "type": ty})
        })
        .collect();
    schema_from_json(&json!({"type": "struct", "schema-id": 0, "fields": fields})).unwrap()
}

fn definition(schema: &Schema, partition_by: &[&str], sort_by: &[&str], properties: &[(&str, &str)]) -> Replacement {
    Replacement {
        schema: schema.clone(),
        spec: parse_partition_by(partition_by, schema).unwrap(),
        sort_order: parse_sort_by(sort_by, schema).unwrap(),
        properties: properties.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
    }
}

fn created(version: u8, definition: &Replacement) -> TableMetadata {
    let Replacement { schema, spec, sort_order, properties } = definition;
    new_table(schema, spec, sort_order, "/t", properties, version, NOW).unwrap()
}

/// The replaced metadata, which also survives a metadata file and is the result of its updates.
fn replaced(base: &TableMetadata, definition: &Replacement) -> TableMetadata {
    let plan = definition.plan(base).unwrap();
    let next = plan.apply(base, NOW + 5).unwrap();
    assert_eq!(parse_metadata(&encode_metadata(&next)).unwrap(), next);
    // The same plan changes nothing more.
    assert!(plan.fits(&next));
    assert_eq!(plan.apply(&next, NOW + 5).unwrap(), next);
    MetadataCommit::between(base, next).next
}

fn columns(metadata: &TableMetadata) -> Vec<(i32, String)> {
    metadata.schema().unwrap().fields.iter().map(|field| (field.id, field.name.clone())).collect()
}

fn fields(spec: &PartitionSpec) -> Vec<(i32, i32, &str, String)> {
    let fields = spec.fields.iter();
    fields.map(|f| (f.field_id, f.source_id, f.name.as_str(), f.transform.to_string())).collect()
}

fn owned(list: &[(i32, &str)]) -> Vec<(i32, String)> {
    list.iter().map(|(id, name)| (*id, name.to_string())).collect()
}

/// With one snapshot on `main`, and a tag.
fn filled(base: &TableMetadata) -> TableMetadata {
    let snapshot = Snapshot {
        id: 7,
        parent_id: None,
        sequence_number: i64::from(base.format_version > 1),
        timestamp_ms: NOW + 1,
        manifest_list: Some("/t/metadata/list.avro".to_owned()),
        schema_id: Some(0),
        ..Snapshot::default()
    };
    let filled = base.add_snapshot(snapshot, "main", NOW + 1).unwrap();
    evolve(&filled, json!([{"change": "ref", "do": "create", "name": "kept", "kind": "tag"}])).unwrap_or(filled)
}

/// Java: `testBuildReplacementForV1Table`.
#[test]
fn version_1_keeps_the_places_of_partition_fields() {
    let schema = schema_of(&["x long", "y long"]);
    let base = created(1, &definition(&schema, &["x", "y"], &[], &[]));
    assert_eq!(fields(base.spec().unwrap()), [(1000, 1, "x", "identity".into()), (1001, 2, "y", "identity".into())]);
    // Another order of the columns changes no id.
    let swapped = schema_of(&["y long", "x long", "z long"]);
    let next = replaced(&base, &definition(&swapped, &["z", "x"], &[], &[]));
    assert_eq!(columns(&next), owned(&[(2, "y"), (1, "x"), (3, "z")]));
    let expected =
        [(1000, 1, "x", "identity".into()), (1001, 2, "y", "void".into()), (1002, 3, "z", "identity".into())];
    assert_eq!(fields(next.spec().unwrap()), expected);
    assert_eq!((next.last_column_id, next.last_partition_id, next.default_spec_id), (3, 1002, 1));
    // A field that is gone gives its name to a new one.
    let next = replaced(&base, &definition(&schema, &["bucket(8, x) as y"], &[], &[]));
    let expected =
        [(1000, 1, "x", "void".into()), (1001, 2, "y_1001", "void".into()), (1002, 1, "y", "bucket[8]".into())];
    assert_eq!(fields(next.spec().unwrap()), expected);
}

/// Java: `testBuildReplacementForV2Table`, `testReplaceWithIncompatibleSchemaUpdate`.
#[test]
fn version_2_uses_the_ids_of_earlier_fields_again() {
    let schema = schema_of(&["x long", "y long"]);
    let base = created(2, &definition(&schema, &["x", "y"], &[], &[]));
    let wider = schema_of(&["x long", "z long"]);
    let next = replaced(&base, &definition(&wider, &["bucket(8, z) as z_bucket", "x"], &[], &[]));
    assert_eq!(
        fields(next.spec().unwrap()),
        [(1002, 3, "z_bucket", "bucket[8]".into()), (1000, 1, "x", "identity".into())]
    );
    assert_eq!((next.current_schema_id, next.default_spec_id, next.last_partition_id), (1, 1, 1002));
    // A column that comes back gets a new id, because the current schema lacks it.
    let back = replaced(&next, &definition(&schema, &["x"], &[], &[]));
    assert_eq!(columns(&back), owned(&[(1, "x"), (4, "y")]));
    assert_eq!(fields(back.spec().unwrap()), [(1000, 1, "x", "identity".into())]);
    let other = replaced(&base, &definition(&schema_of(&["obj_id int"]), &[], &[], &[]));
    assert_eq!(columns(&other), owned(&[(3, "obj_id")]));
    assert!(other.spec().unwrap().fields.is_empty());
}

#[test]
fn equal_parts_are_used_again() {
    let schema = schema_of(&["id int", "data string"]);
    let first = definition(&schema, &["bucket(4, data)"], &["id desc"], &[]);
    let base = created(2, &first);
    let next = replaced(&base, &definition(&schema, &[], &["id"], &[]));
    assert_eq!((next.current_schema_id, next.default_spec_id, next.default_sort_order_id), (0, 1, 2));
    let again = replaced(&next, &first);
    assert_eq!((again.current_schema_id, again.default_spec_id, again.default_sort_order_id), (0, 0, 1));
    assert_eq!((again.schemas.len(), again.partition_specs.len(), again.sort_orders.len()), (1, 2, 2));
    let unsorted = replaced(&base, &definition(&schema, &[], &[], &[]));
    assert_eq!(unsorted.default_sort_order_id, 0);
}

/// Java: `buildReplacementKeepsSnapshotLog`, and the checks of `CatalogTests`.
#[test]
fn history_stays_and_main_is_gone() {
    let schema = schema_of(&["id int", "data string"]);
    let plain = [("a", "1"), ("write.parquet.compression-codec", "gzip")];
    let base = filled(&created(2, &definition(&schema, &[], &[], &plain)));
    let next = replaced(&base, &definition(&schema_of(&["data string", "n long"]), &[], &[], &[("b", "2")]));
    assert_eq!((next.table_uuid.clone(), next.location.clone()), (base.table_uuid.clone(), base.location.clone()));
    assert_eq!((&next.snapshots, &next.snapshot_log), (&base.snapshots, &base.snapshot_log));
    assert_eq!((next.current_snapshot_id, next.refs.contains_key("main")), (None, false));
    assert_eq!(next.last_sequence_number, 1);
    let others = |m: &TableMetadata| m.refs.keys().filter(|name| *name != "main").cloned().collect::<Vec<_>>();
    assert_eq!(others(&next), others(&base));
    // Properties stay, but compression is what a new table has.
    let expected = [("a", "1"), ("b", "2"), ("write.parquet.compression-codec", "zstd")];
    assert_eq!(next.properties, expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into());
    assert_eq!(columns(&next), owned(&[(2, "data"), (3, "n")]));
    let commit = MetadataCommit::between(&base, next);
    assert!(commit.updates.contains(&MetadataUpdate::RemoveSnapshotRef("main".to_owned())));
}

#[test]
fn a_replacement_can_upgrade() {
    let schema = schema_of(&["x long", "y long"]);
    let base = created(1, &definition(&schema, &["x"], &[], &[]));
    let upgraded = [("format-version", "2")];
    let next = replaced(&base, &definition(&schema, &["y"], &[], &upgraded));
    assert_eq!(next.format_version, 2);
    assert!(!next.properties.contains_key("format-version"));
    // The old version decides about the fields.
    assert_eq!(fields(next.spec().unwrap()), [(1000, 1, "x", "void".into()), (1001, 2, "y", "identity".into())]);
    assert_eq!(next.spec().unwrap().fields[0].transform, Transform::Void);
    let lower = definition(&schema, &[], &[], &[("format-version", "1")]);
    assert!(lower.apply(&next, NOW).unwrap_err().to_string().contains("can't go back"));
    let nano = definition(&schema_of(&["t timestamp_ns"]), &[], &[], &[]);
    assert!(nano.apply(&next, NOW).unwrap_err().to_string().contains("format version 3"));
}

/// Names of nested columns count as a whole: Java's `AssignFreshIds`.
#[test]
fn nested_columns_keep_their_ids() {
    let base = table(2, &[], &[]);
    let field = |id: i32, name: &str, ty: Json| json!({"id": id, "name": name, "required": false, "type": ty});
    let of = |fields: Json| json!({"type": "struct", "fields": fields});
    let schema = schema_from_json(&json!({"type": "struct", "fields": [
        field(1, "lat", json!("float")),
        field(2, "p", of(json!([field(3, "long", json!("double")), field(4, "height", json!("float"))]))),
        field(5, "l", json!({"type": "list", "element-id": 6, "element-required": true,
            "element": of(json!([field(7, "k", json!("int")), field(8, "j", json!("int"))]))})),
    ]}))
    .unwrap();
    let next = replaced(&base, &definition(&schema, &[], &[], &[]));
    let schema = next.schema().unwrap();
    let ids: Vec<(String, i32)> = schema.field_ids().map(|id| (schema.name_of(id).unwrap(), id)).collect();
    let id = |name: &str| ids.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!([id("p"), id("p.long"), id("l"), id("l.element"), id("l.element.k")], [4, 10, 5, 11, 12]);
    // New ones: those of the top first.
    assert_eq!([id("lat"), id("p.height"), id("l.element.j")], [17, 18, 19]);
    assert_eq!(next.last_column_id, 19);
}

/// Java: `testConcurrentReplaceTransactionSchema` and `…SchemaConflict`.
#[test]
fn a_plan_keeps_its_ids_on_later_versions() {
    let (first, second) = (schema_of(&["some_id int"]), schema_of(&["id int", "data string"]));
    let base = created(2, &definition(&first, &[], &[], &[]));
    let same = definition(&first, &[], &[], &[]).plan(&base).unwrap();
    let other = definition(&second, &["data"], &[], &[]).plan(&base).unwrap();
    let newer = other.apply(&base, NOW).unwrap();
    // A plan without new ids goes back to the earlier columns.
    assert!(same.fits(&newer));
    let back = same.apply(&newer, NOW).unwrap();
    assert_eq!((columns(&back), back.last_column_id), (owned(&[(1, "some_id")]), 3));
    let third = definition(&schema_of(&["x int"]), &[], &[], &[]).plan(&base).unwrap();
    assert!(third.fits(&base) && !third.fits(&newer));
    let partitioned = definition(&first, &["some_id"], &[], &[]).plan(&base).unwrap();
    assert!(partitioned.fits(&base) && !partitioned.fits(&newer));
}
