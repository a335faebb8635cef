use super::*;
use crate::codec::avro::Container;
use crate::error::ErrorKind;
use crate::expr::BoundPredicate;
use crate::iceberg::manifest::encode::{EncodedManifest, ManifestHeader, encode_manifest};
use crate::iceberg::manifest::entries::ADDED;
use crate::iceberg::manifest::list::{ManifestContent, ManifestListHeader, encode_manifest_list};
use crate::iceberg::plan::testing::*;
use crate::store::Store;
use crate::types::{Field, PartitionField, PrimitiveType, Value};

fn schema() -> Schema {
    let fields =
        vec![Field::new(1, "id", false, PrimitiveType::Long), Field::new(2, "s", false, PrimitiveType::String)];
    Schema::new(0, fields, vec![])
}

fn spec(transform: Transform) -> PartitionSpec {
    let field = PartitionField { source_id: 2, field_id: 1000, name: "s".into(), transform };
    PartitionSpec { id: 0, fields: vec![field] }
}

/// A table with one manifest of two files.
fn table() -> TestTable {
    let (schema, none) = (schema(), PartitionSpec::default());
    let nowhere = partition(&none, &schema, &[]);
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(&none));
    let entries = [added(file("a", &nowhere), 1), added(file("b", &nowhere), 1)];
    table.add(ManifestContent::Data, &schema, 0, &entries);
    table
}

/// The container's header alone, as if the file had been cut off before its first block.
fn cut(bytes: &[u8]) -> Vec<u8> {
    bytes[..Container::head(bytes).unwrap().header_length].to_vec()
}

fn rows(table: &TestTable) -> Result<usize> {
    table.tasks(BoundPredicate::True).map(|tasks| tasks.len())
}

#[test]
fn a_manifest_that_was_cut_off_is_refused() {
    let table = table();
    assert_eq!(rows(&table).unwrap(), 2);
    let path = table.manifests[0].path.clone();
    let whole = table.store.get(&path).unwrap();
    table.store.put(&path, &cut(&whole)).unwrap();
    let e = rows(&table).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    assert!(e.to_string().contains("0 entries") && e.to_string().contains("2 entries"), "{e}");
}

#[test]
fn one_wrong_figure_does_not_refuse_a_manifest() {
    // Tables whose paths were rewritten have wrong lengths. Some writers record wrong counts.
    let mut table = table();
    table.manifests[0].length_bytes += 7;
    assert_eq!(rows(&table).unwrap(), 2);
    table.manifests[0].length_bytes -= 7;
    table.manifests[0].added_files_count = Some(9);
    assert_eq!(rows(&table).unwrap(), 2);
    table.manifests[0].length_bytes += 7;
    assert!(rows(&table).is_err());
    table.manifests[0].length_bytes = 0;
    assert_eq!(rows(&table).unwrap(), 2, "0 says nothing");
}

fn snapshot(summary: serde_json::Value) -> Snapshot {
    let json = serde_json::json!({"snapshot-id": 1, "timestamp-ms": 0, "sequence-number": 9, "manifest-list": LIST,
        "summary": summary});
    Snapshot::from_json(json, 2).unwrap()
}

#[test]
fn a_list_that_was_cut_off_is_refused() {
    let table = table();
    let header = ManifestListHeader { format_version: 2, snapshot_id: 1, ..Default::default() };
    let whole = encode_manifest_list(&table.manifests, &header).unwrap();
    let facts = [
        serde_json::json!({"operation": "append", "added-data-files": "2"}),
        serde_json::json!({"operation": "delete", "added-delete-files": "1", "added-data-files": "0"}),
        serde_json::json!({"operation": "append", "manifests-created": "1", "manifests-kept": "0"}),
    ];
    for summary in facts {
        let snapshot = snapshot(summary);
        assert_eq!(decode_list_of(&whole, &snapshot).unwrap().len(), 1);
        let e = decode_list_of(&cut(&whole), &snapshot).unwrap_err();
        assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("has 0 manifests"), "{e}");
    }
    // Totals may be wrong, and an empty table has an empty list.
    let total = snapshot(serde_json::json!({"operation": "delete", "total-data-files": "2"}));
    assert!(decode_list_of(&cut(&whole), &total).unwrap().is_empty());
    let more = snapshot(serde_json::json!({"operation": "append", "manifests-created": "1", "manifests-kept": "1"}));
    assert!(decode_list_of(&whole, &more).is_err());
}

/// The entries of a manifest under one spec, listed under another.
fn listed_under(written: &PartitionSpec, listed: &PartitionSpec) -> Result<usize> {
    let schema = schema();
    let mut table = TestTable::new(2, std::slice::from_ref(&schema), std::slice::from_ref(listed));
    let values: Vec<_> = written.fields.iter().map(|_| Some(Value::String("a".into()))).collect();
    let header = ManifestHeader {
        format_version: 2,
        schema: &schema,
        spec: written,
        content: ManifestContent::Data,
        codec: Default::default(),
        compression_level: None,
    };
    let entry = added(file("f", &partition(written, &schema, &values)), 1);
    assert_eq!(entry.status, ADDED);
    let encoded: EncodedManifest = encode_manifest(&[entry], &header).unwrap();
    table.add_encoded(ManifestContent::Data, 0, encoded).partitions = None;
    table.plan("s = 'a'").map(|tasks| tasks.len())
}

#[test]
fn partition_tuples_have_all_fields_of_their_spec() {
    let (none, by) = (PartitionSpec::default(), spec);
    assert_eq!(listed_under(&by(Transform::Identity), &by(Transform::Identity)).unwrap(), 1);
    let e = listed_under(&none, &by(Transform::Identity)).unwrap_err();
    assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("'s'"), "{e}");
    // A void field has no values, and nothing depends on it.
    assert_eq!(listed_under(&none, &by(Transform::Void)).unwrap(), 1);
    assert_eq!(listed_under(&by(Transform::Identity), &none).unwrap(), 1);
}
