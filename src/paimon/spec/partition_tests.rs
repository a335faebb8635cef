use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::expr::bounds::checked;
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};

fn schema(types: &[(&str, &str)], options: serde_json::Value) -> TableSchema {
    let field = |(i, (name, ty)): (usize, &(&str, &str))| json!({"id": i, "name": name, "type": ty});
    let fields: Vec<_> = types.iter().enumerate().map(field).collect();
    let keys: Vec<_> = types.iter().map(|(name, _)| *name).collect();
    let json = json!({"version": 3, "id": 0, "highestFieldId": 9, "partitionKeys": keys, "primaryKeys": [],
        "fields": fields, "options": options});
    TableSchema::from_json(json.as_object().unwrap().clone()).unwrap()
}

fn partition(schema: &TableSchema, values: Vec<Option<Value>>) -> Partition {
    let types = schema.partition_types();
    let row = encode_values(values, &types).unwrap();
    partition_of(schema, &prefixed(&row, types.len())).unwrap()
}

#[test]
fn folders_are_those_that_java_makes() {
    let s = schema(&[("pd", "DECIMAL(10, 2)"), ("pt", "TIMESTAMP(3)"), ("p c", "CHAR(3)")], json!({}));
    let p = partition(
        &s,
        vec![Some(Value::Decimal(50)), Some(Value::Long(1_704_067_202_500_000)), Some(Value::String("a/b".into()))],
    );
    let paths = TablePaths::new("/wh/t/", &s).unwrap();
    assert_eq!(paths.bucket(&p, 0).unwrap(), "/wh/t/pd=0.50/pt=2024-01-01T00%3A00%3A02.500/p c=a%2Fb/bucket-0");
    let s = schema(
        &[("dt", "DATE"), ("n", "STRING")],
        json!({"partition.legacy-name": "false", "partition.default-name": "NULLPART"}),
    );
    let p = partition(&s, vec![Some(Value::Int(19_724)), Some(Value::String(" \t".into()))]);
    let paths = TablePaths::new("/wh/t", &s).unwrap();
    assert_eq!(paths.bucket(&p, POSTPONE_BUCKET).unwrap(), "/wh/t/dt=2024-01-02/n=NULLPART/bucket-postpone");
    let p = partition(&schema(&[("dt", "DATE"), ("n", "STRING")], json!({})), vec![Some(Value::Int(19_724)), None]);
    assert_eq!(paths.partition_path(&p).unwrap(), "dt=2024-01-02/n=NULLPART");
}

#[test]
fn files_are_below_the_table_unless_recorded_elsewhere() {
    let s = schema(&[], json!({"data-file.path-directory": "data/x"}));
    let (paths, p) = (TablePaths::new("s3://b/t", &s).unwrap(), partition(&s, vec![]));
    let folder = paths.bucket(&p, 3).unwrap();
    assert_eq!(folder, "s3://b/t/data/x/bucket-3");
    assert_eq!(paths.data_file(&folder, "f.orc", None).unwrap(), "s3://b/t/data/x/bucket-3/f.orc");
    let elsewhere = paths.data_file(&folder, "f.orc", Some("s3://c/f.orc")).unwrap();
    assert_eq!(paths.in_folder_of(&elsewhere, "f.index").unwrap(), "s3://c/f.index");
    assert_eq!(paths.index_file(&p, 3, "i", None).unwrap(), "s3://b/t/index/i");
    assert_eq!(paths.manifest("m").unwrap(), "s3://b/t/manifest/m");
    for name in ["", ".", "..", "a/b", "../x", "a\\b", "a\0"] {
        assert_eq!(paths.manifest(name).unwrap_err().kind(), ErrorKind::CorruptTable);
        assert!(paths.data_file(&folder, name, None).is_err());
        assert!(paths.index_file(&p, 3, name, None).is_err());
    }
    assert!(TablePaths::new("/t", &schema(&[], json!({"data-file.path-directory": "../x"}))).is_err());
    let in_data_folder = schema(&[], json!({"index-file-in-data-file-dir": "true"}));
    assert_eq!(TablePaths::new("/t", &in_data_folder).unwrap().index_file(&p, 0, "i", None).unwrap(), "/t/bucket-0/i");
}

#[test]
fn a_partition_bounds_its_columns_by_one_value() {
    let s = schema(&[("a", "INT"), ("b", "DOUBLE"), ("c", "STRING")], json!({}));
    let p = partition(&s, vec![Some(Value::Int(7)), Some(Value::Double(f64::NAN)), None]);
    assert_eq!((p.values[0].name.as_str(), p.values[0].source_id, p.values[0].field_id), ("a", 0, 1000));
    let bounds = PaimonPartitionBounds(&p);
    let column = |id: FieldId, ty: PrimitiveType| checked(bounds.column(id, &ty), &ty);
    assert_eq!(column(0, PrimitiveType::Int).point(), Some(Value::Int(7)).as_ref().map(Value::as_ref));
    let nan = column(1, PrimitiveType::Double);
    assert_eq!((nan.nans, nan.nulls, nan.lower), (Presence::Everywhere, Presence::Absent, None));
    assert_eq!(column(2, PrimitiveType::String).nulls, Presence::Everywhere);
    assert_eq!(column(9, PrimitiveType::Int).nulls, Presence::Possible);
}

#[test]
fn a_partition_of_another_table_is_refused() {
    let s = schema(&[("a", "INT")], json!({}));
    assert_eq!(partition_of(&s, &[0; 12]).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(partition_of(&s, b"x").unwrap_err().kind(), ErrorKind::CorruptTable);
    let other = partition(&schema(&[], json!({})), vec![]);
    assert!(TablePaths::new("/t", &s).unwrap().partition_path(&other).is_err());
}
