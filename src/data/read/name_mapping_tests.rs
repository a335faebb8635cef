use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, Fields, Schema as ArrowSchema};
use parquet::file::properties::WriterProperties;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::data::testing::{context, field, leaf, list, read, required, rows, schema, structure, task, write_batch};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::types::{Field, PrimitiveType as P, Schema, Value};

/// A file without ids of `id`, `st {a, b}`, `li [{x}]` and `more`. The element has a name of the writer's choice.
fn file(dir: &TempDir) -> String {
    let ints = |values: Vec<i32>| Arc::new(Int32Array::from(values)) as ArrayRef;
    let plain = |name: &str| ArrowField::new(name, DataType::Int32, true);
    let members = Fields::from(vec![plain("a"), ArrowField::new("b", DataType::Utf8, true)]);
    let b = Arc::new(StringArray::from(vec!["x", "y"]));
    let st = StructArray::new(members.clone(), vec![ints(vec![10, 20]), b], None);
    let element = Fields::from(vec![plain("x")]);
    let item = Arc::new(ArrowField::new("item", DataType::Struct(element.clone()), true));
    let elements = StructArray::new(element, vec![ints(vec![7, 8, 9])], None);
    let li = ListArray::new(item.clone(), OffsetBuffer::from_lengths([2, 1]), Arc::new(elements), None);
    let fields = vec![
        plain("id"),
        ArrowField::new("st", DataType::Struct(members), true),
        ArrowField::new("li", DataType::List(item), true),
        plain("more"),
    ];
    let columns: Vec<ArrayRef> = vec![ints(vec![1, 2]), Arc::new(st), Arc::new(li), ints(vec![5, 6])];
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap();
    write_batch(dir, &batch, WriterProperties::default())
}

fn table() -> Schema {
    schema(vec![
        field(2, "key", P::Long),
        field(3, "s", structure(vec![field(4, "first", P::Int), field(5, "b", P::String), field(9, "c", P::Int)])),
        field(6, "li", list(field(7, "element", structure(vec![field(8, "y", P::Long)])))),
        Field { initial_default: Some(json!(3)), ..field(1, "new", P::Int) },
    ])
}

fn mapped(mapping: serde_json::Value) -> Arc<ReadContext> {
    Arc::new(ReadContext { name_mapping: Some(mapping.to_string()), ..(*context(&table())).clone() })
}

#[test]
fn a_mapping_names_columns_at_every_depth() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir);
    let mapping = json!([
        {"field-id": 2, "names": ["key", "id"]},
        {"field-id": 3, "names": ["st"], "fields": [
            {"field-id": 4, "names": ["a", "first"]}, {"field-id": 5, "names": ["bee"]}]},
        {"field-id": 6, "names": ["li"], "fields": [
            {"field-id": 7, "names": ["element"], "fields": [{"field-id": 8, "names": ["x", "y"]}]}]},
        {"names": ["more"]},
    ]);
    let context = mapped(mapping);
    let all = rows(&read(&context, &task(&path, BoundPredicate::True)).unwrap());
    // `b` is not named, `c` and `new` are younger than the file.
    assert_eq!(all, ["1|{first: 10, b: -, c: -}|[{y: 7}, {y: 8}]|3", "2|{first: 20, b: -, c: -}|[{y: 9}]|3",]);
    // Row groups are pruned by the mapped column's statistics, and rows by its values.
    let at_least = |n| leaf(&table(), 4, Op::GtEq, vec![Value::Int(n)]);
    assert_eq!(rows(&read(&context, &task(&path, at_least(20))).unwrap()).len(), 1);
    assert!(read(&context, &task(&path, at_least(21))).unwrap().is_empty());
}

#[test]
fn without_a_mapping_top_level_columns_go_by_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir);
    let s = schema(vec![
        field(1, "k", P::Int),
        field(2, "st", structure(vec![field(5, "a", P::Int)])),
        field(4, "m", P::Long),
        field(6, "six", P::Int),
    ]);
    let got = rows(&read(&context(&s), &task(&path, BoundPredicate::True)).unwrap());
    assert_eq!(got, ["1|{a: -}|5|-", "2|{a: -}|6|-"]);
}

#[test]
fn names_stand_in_where_a_format_goes_by_them() {
    let element = Arc::new(ArrowField::new("array", DataType::Int32, true));
    let members = Fields::from(vec![ArrowField::new("first", DataType::Int32, true)]);
    let arrow = ArrowSchema::new(vec![
        ArrowField::new("s", DataType::Struct(members), true),
        ArrowField::new("li", DataType::List(element), true),
        ArrowField::new("KEY", DataType::Int32, true),
    ]);
    let mut columns = FileColumns::new(&arrow);
    let file = DataFile { format: FileFormat::Orc, ..task("x", BoundPredicate::True).data_file.as_ref().clone() };
    columns.identify(&context(&table()), &file).unwrap();
    let ids: Vec<_> = columns.0.iter().map(|c| (c.id, c.children[..].first().and_then(|c| c.id))).collect();
    assert_eq!(ids, [(Some(3), Some(4)), (Some(6), Some(7)), (None, None)]);
}

#[test]
fn a_file_with_any_id_is_taken_at_its_word() {
    let dir = tempfile::tempdir().unwrap();
    let with_id = |f: ArrowField| f.with_metadata([("PARQUET:field_id".to_owned(), "9".to_owned())].into());
    let members = Fields::from(vec![with_id(ArrowField::new("c", DataType::Int32, true))]);
    let st = StructArray::new(members.clone(), vec![Arc::new(Int32Array::from(vec![1]))], None);
    let arrow = ArrowSchema::new(vec![ArrowField::new("s", DataType::Struct(members), true)]);
    let batch = RecordBatch::try_new(Arc::new(arrow), vec![Arc::new(st)]).unwrap();
    let path = write_batch(&dir, &batch, WriterProperties::default());
    let context = mapped(json!([{"field-id": 3, "names": ["s"], "fields": [{"field-id": 9, "names": ["c"]}]}]));
    assert_eq!(rows(&read(&context, &task(&path, BoundPredicate::True)).unwrap()), ["-|-|-|3"]);
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir);
    let all = || task(&path, BoundPredicate::True);
    let broken = Arc::new(ReadContext { name_mapping: Some("{".into()), ..(*context(&table())).clone() });
    let e = read(&broken, &all()).unwrap_err();
    assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("name mapping"), "{e}");
    let must = schema(vec![required(2, "key", P::Int)]);
    let unnamed = Arc::new(ReadContext { name_mapping: Some("[]".into()), ..(*context(&must)).clone() });
    assert_eq!(read(&unnamed, &all()).unwrap_err().kind(), ErrorKind::CorruptTable);
    // One id for two columns of the file.
    let twice = mapped(json!([{"field-id": 2, "names": ["id", "more"]}]));
    assert!(read(&twice, &all()).unwrap_err().to_string().contains("field id 2"));
}
