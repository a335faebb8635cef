//! Paimon's functions for lists and maps do what its documentation says.

use arrow::array::{Int32Array, Int32Builder, Int64Array, MapBuilder, RecordBatch, StringArray, StringBuilder};
use arrow::datatypes::Int32Type;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::merge::read::SectionMerge;
use crate::data::testing::{context, field, list, required, rows, schema, structure, task};
use crate::error::ErrorKind;
use crate::expr::BoundPredicate;
use crate::format::task::{BucketContext, ReadContext};

const ADD: i32 = 0;
const DELETE: i32 = 3;

/// Rows of a list.
type Orders<'a> = &'a [(i32, Option<&'a str>)];

/// A number and a text with its time.
type Timed<'a> = Option<(i32, Option<&'a str>)>;

/// Merges a column `x` of rows of one key. The rows are given with their kinds, the oldest first.
fn merged(ty: Type, options: &[(&str, &str)], values: Vec<(ArrayRef, i32)>) -> Result<Vec<String>> {
    let table = schema(vec![required(0, "k", PrimitiveType::Int), field(1, "x", ty)]);
    let own = options.iter().map(|(k, v)| (format!("fields.x.{k}"), (*v).to_owned()));
    let options = own.chain([("merge-engine".to_owned(), "aggregation".to_owned())]).collect();
    let buckets = BucketContext { key: vec![0], options, ..BucketContext::default() };
    let context = ReadContext { buckets: Some(Arc::new(buckets)), ..context(&table).as_ref().clone() };
    let merge = SectionMerge::plan(&Arc::new(context), &task("nowhere", BoundPredicate::True), false, false)?;
    let schema = to_arrow(&merge.context.projection)?;
    let run = |(sequence, (value, kind)): (usize, (ArrayRef, i32))| {
        let value = arrow::compute::cast(&value, schema.field(1).data_type()).unwrap();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(vec![1])),
            value,
            Arc::new(Int64Array::from(vec![sequence as i64])),
            Arc::new(Int32Array::from(vec![kind])),
        ];
        let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
        Box::new(std::iter::once(Ok(batch))) as crate::data::read::rows::Batches
    };
    let batches = merge.over(values.into_iter().enumerate().map(run).collect())?.collect::<Result<Vec<_>>>()?;
    batches.iter().for_each(|b| b.columns().iter().for_each(|c| c.to_data().validate_full().unwrap()));
    Ok(rows(&batches).into_iter().map(|row| row.strip_prefix("1|").unwrap().to_owned()).collect())
}

fn ints(values: Option<&[i32]>) -> ArrayRef {
    let values = values.map(|v| v.iter().map(|v| Some(*v)).collect::<Vec<_>>());
    Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([values]))
}

fn int_list() -> Type {
    list(field(2, "element", PrimitiveType::Int))
}

#[test]
fn lists_are_collected() {
    let of = |options: &[(&str, &str)], values: Vec<(Option<&[i32]>, i32)>| {
        let options = [&[("aggregate-function", "collect")], options].concat();
        merged(int_list(), &options, values.into_iter().map(|(v, kind)| (ints(v), kind)).collect())
    };
    let (a, b): (Option<&[i32]>, Option<&[i32]>) = (Some(&[1, 1, 2]), Some(&[2, 3]));
    assert_eq!(of(&[], vec![(a, ADD), (b, ADD)]).unwrap(), ["[1, 1, 2, 2, 3]"]);
    assert_eq!(of(&[], vec![(a, ADD), (None, ADD)]).unwrap(), ["[1, 1, 2]"]);
    assert_eq!(of(&[], vec![(a, ADD), (b, DELETE)]).unwrap(), ["[1, 1]"]);
    let distinct = [("distinct", "true")];
    assert_eq!(of(&distinct, vec![(a, ADD), (b, ADD)]).unwrap(), ["[1, 2, 3]"]);
    assert_eq!(of(&distinct, vec![(a, ADD), (None, ADD)]).unwrap(), ["[1, 2]"]);
    assert_eq!(of(&distinct, vec![(None, ADD), (None, ADD)]).unwrap(), ["-"]);
    // One row alone stays as it is.
    assert_eq!(of(&distinct, vec![(a, ADD)]).unwrap(), ["[1, 1, 2]"]);
}

#[test]
fn maps_are_merged() {
    let ty =
        Type::Map(Arc::new(required(2, "key", PrimitiveType::String)), Arc::new(field(3, "value", PrimitiveType::Int)));
    let map = |entries: &[(&str, i32)]| -> ArrayRef {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for (key, value) in entries {
            builder.keys().append_value(key);
            builder.values().append_value(*value);
        }
        builder.append(true).unwrap();
        Arc::new(builder.finish())
    };
    let options = [("aggregate-function", "merge_map")];
    let (a, b) = (map(&[("x", 1), ("y", 2)]), map(&[("y", 5), ("z", 3)]));
    let both = merged(ty.clone(), &options, vec![(a.clone(), ADD), (b.clone(), ADD)]).unwrap();
    assert_eq!(both, ["{x: 1, y: 5, z: 3}"]);
    assert_eq!(merged(ty, &options, vec![(a, ADD), (b, DELETE)]).unwrap(), ["{x: 1}"]);
}

/// Rows `{k, v}` as a list.
fn orders(values: Orders<'_>) -> ArrayRef {
    let keys = Int32Array::from_iter_values(values.iter().map(|(k, _)| *k));
    let texts = StringArray::from_iter(values.iter().map(|(_, v)| *v));
    let Type::List(element) = order_type() else { panic!() };
    let Type::Struct(members) = &element.ty else { panic!() };
    let fields = to_arrow(&schema(members.to_vec())).unwrap().fields().clone();
    let rows = StructArray::new(fields, vec![Arc::new(keys), Arc::new(texts)], None);
    let item = Arc::new(arrow::datatypes::Field::new("element", rows.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([values.len()]), Arc::new(rows), None))
}

fn order_type() -> Type {
    let members = vec![field(3, "k", PrimitiveType::Int), field(4, "v", PrimitiveType::String)];
    list(field(2, "element", structure(members)))
}

#[test]
fn rows_in_lists_are_updated() {
    let of = |options: &[(&str, &str)], values: Vec<(Orders<'_>, i32)>| {
        merged(order_type(), options, values.into_iter().map(|(v, kind)| (orders(v), kind)).collect())
    };
    let (a, b): (&[_], &[_]) = (&[(1, Some("a")), (2, Some("b"))], &[(2, None), (3, Some("c"))]);
    let plain = [("aggregate-function", "nested_update")];
    let rows = "[{k: 1, v: a}, {k: 2, v: b}, {k: 2, v: }, {k: 3, v: c}]".replace("v: }", "v: -}");
    assert_eq!(of(&plain, vec![(a, ADD), (b, ADD)]).unwrap(), [rows]);
    assert_eq!(of(&plain, vec![(a, ADD), (&a[..1], DELETE)]).unwrap(), ["[{k: 2, v: b}]"]);
    let keyed = [("aggregate-function", "nested_update"), ("nested-key", "k")];
    assert_eq!(of(&keyed, vec![(a, ADD), (b, ADD)]).unwrap(), ["[{k: 1, v: a}, {k: 2, v: -}, {k: 3, v: c}]"]);
    assert_eq!(of(&keyed, vec![(a, ADD), (b, DELETE)]).unwrap(), ["[{k: 1, v: a}]"]);
    let limited = [("aggregate-function", "nested_update"), ("count-limit", "3")];
    assert_eq!(of(&limited, vec![(a, ADD), (b, ADD)]).unwrap(), ["[{k: 1, v: a}, {k: 2, v: b}, {k: 2, v: -}]"]);
    assert_eq!(of(&limited, vec![(a, ADD), (b, ADD), (a, ADD)]).unwrap().len(), 1);
    let partial = [("aggregate-function", "nested_partial_update"), ("nested-key", "k")];
    assert_eq!(of(&partial, vec![(a, ADD), (b, ADD)]).unwrap(), ["[{k: 1, v: a}, {k: 2, v: b}, {k: 3, v: c}]"]);
    assert_eq!(of(&partial, vec![(a, ADD), (b, DELETE)]).unwrap_err().kind(), ErrorKind::InvalidInput);
    for options in [
        &[("aggregate-function", "nested_partial_update")][..],
        &[("aggregate-function", "nested_update"), ("nested-key", "other")],
        &[("aggregate-function", "nested_update"), ("count-limit", "some")],
        &[("aggregate-function", "merge_map")],
        &[("aggregate-function", "merge_map_with_keytime")],
    ] {
        assert_eq!(of(options, vec![(a, ADD)]).unwrap_err().kind(), ErrorKind::InvalidInput, "{options:?}");
    }
}

#[test]
fn entries_with_the_latest_time_stay() {
    let members = vec![field(4, "v", PrimitiveType::Int), field(5, "at", PrimitiveType::String)];
    let value = field(3, "value", structure(members.clone()));
    let ty = Type::Map(Arc::new(required(2, "key", PrimitiveType::String)), Arc::new(value));
    let fields = to_arrow(&schema(members)).unwrap().fields().clone();
    let map = |entries: &[(&str, Timed<'_>)]| -> ArrayRef {
        let keys = StringArray::from_iter_values(entries.iter().map(|e| e.0));
        let numbers = Int32Array::from_iter(entries.iter().map(|e| e.1.map(|v| v.0)));
        let times = StringArray::from_iter(entries.iter().map(|e| e.1.and_then(|v| v.1)));
        let nulls = entries.iter().map(|e| e.1.is_some()).collect::<Vec<_>>().into();
        let values = StructArray::new(fields.clone(), vec![Arc::new(numbers), Arc::new(times)], Some(nulls));
        let entry = vec![
            arrow::datatypes::Field::new("key", DataType::Utf8, false),
            arrow::datatypes::Field::new("value", values.data_type().clone(), true),
        ];
        let rows = StructArray::new(entry.into(), vec![Arc::new(keys), Arc::new(values)], None);
        let field = arrow::datatypes::Field::new("key_value", rows.data_type().clone(), false);
        Arc::new(MapArray::new(Arc::new(field), OffsetBuffer::from_lengths([entries.len()]), rows, None, false))
    };
    let old =
        map(&[("a", Some((1, Some("5")))), ("b", Some((1, Some("5")))), ("c", Some((1, Some("5")))), ("d", None)]);
    let new = map(&[
        ("a", Some((2, Some("6")))),
        ("b", Some((2, Some("4")))),
        ("c", None),
        ("d", Some((2, Some("1")))),
        ("e", Some((2, None))),
    ]);
    let options = [("aggregate-function", "merge_map_with_keytime")];
    let merged = merged(ty, &options, vec![(old, ADD), (new, ADD)]).unwrap();
    assert_eq!(merged, ["{a: {v: 2, at: 6}, b: {v: 1, at: 5}, d: {v: 2, at: 1}}"]);
}
