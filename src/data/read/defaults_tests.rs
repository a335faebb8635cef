use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int32Array, ListArray, MapArray, StringArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Int32Type};
use arrow::util::display::array_value_to_string;
use serde_json::json;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{
    context, field, leaf, list, read, read_rows, required, rows, schema, structure, task, write,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::types::PrimitiveType as P;

fn shown(ty: impl Into<Type>, default: Json) -> Result<String> {
    let column = Field { initial_default: Some(default), ..field(1, "c", ty) };
    let rows = repeat(&initial_row(&column)?.unwrap(), 3)?;
    let arrow = arrow_field(&column, "c")?;
    assert_eq!((rows.data_type(), rows.len(), rows.null_count()), (arrow.data_type(), 3, 0));
    Ok(array_value_to_string(&rows, 2).unwrap())
}

#[test]
fn every_type_has_defaults() {
    let decimal = P::Decimal { precision: 9, scale: 2 };
    for (ty, json, text) in [
        (P::Boolean, json!(true), "true"),
        (P::Int, json!(34), "34"),
        (P::Long, json!(-5), "-5"),
        (P::Float, json!(1.5), "1.5"),
        (P::Double, json!("NaN"), "NaN"),
        (decimal, json!("14.20"), "14.20"),
        (P::Date, json!("2020-01-01"), "2020-01-01"),
        (P::Time, json!("01:02:03.000004"), "01:02:03.000004"),
        (P::Timestamp, json!("2020-01-01T00:00:00.000001"), "2020-01-01T00:00:00.000001"),
        (P::Timestamp, json!("2020-01-02"), "2020-01-02T00:00:00"),
        (P::Timestamptz, json!("2020-01-01T00:00:00+00:00"), "2020-01-01T00:00:00Z"),
        (P::TimestampNs, json!("2020-01-01T00:00:00.000000001"), "2020-01-01T00:00:00.000000001"),
        (P::TimestampNs, json!("1969-12-31"), "1969-12-31T00:00:00"),
        (P::TimestamptzNs, json!("2020-01-01T00:00:00.000000001+00:00"), "2020-01-01T00:00:00.000000001Z"),
        (P::String, json!("dflt"), "dflt"),
        (P::Uuid, json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09677c4bbda4793f349cb785e7"),
        (P::Fixed(2), json!("01FF"), "01ff"),
        (P::Binary, json!("01FF"), "01ff"),
    ] {
        assert_eq!(shown(ty.clone(), json).unwrap(), text, "{ty}");
    }
    for (ty, json) in [(P::Int, json!("1")), (P::Fixed(3), json!("01FF")), (P::Unknown, json!(1))] {
        assert!(shown(ty, json).is_err());
    }
}

/// The table of examples under "Default values", and lists and maps as Appendix D writes them.
#[test]
fn nested_columns_have_defaults() {
    let with_default = |f: Field, json| Field { initial_default: Some(json), ..f };
    let member = |id, name| with_default(field(id, name, PrimitiveType::Int), json!(0));
    let point = structure(vec![member(2, "x"), member(3, "y"), field(4, "z", PrimitiveType::Int)]);
    assert_eq!(shown(point.clone(), json!({})).unwrap(), "{x: 0, y: 0, z: }");
    assert_eq!(shown(point.clone(), json!({"3": -1})).unwrap(), "{x: 0, y: -1, z: }");
    let points = list(field(5, "element", point));
    assert_eq!(shown(points, json!([{}, null, {"4": 7}])).unwrap(), "[{x: 0, y: 0, z: }, , {x: 0, y: 0, z: 7}]");
    let map = |ty: PrimitiveType| {
        let key = Arc::new(required(2, "key", PrimitiveType::String));
        Type::Map(key, Arc::new(field(3, "value", ty)))
    };
    assert_eq!(shown(map(PrimitiveType::Int), json!({"keys": ["a"], "values": [1]})).unwrap(), "{a: 1}");
    assert_eq!(shown(map(PrimitiveType::Int), json!({"keys": [], "values": []})).unwrap(), "{}");
    assert!(shown(map(PrimitiveType::Int), json!({"keys": ["a"], "values": []})).is_err());
    let must = structure(vec![required(2, "x", PrimitiveType::Int)]);
    assert!(shown(must, json!({})).is_err());
}

#[test]
fn null_is_no_default() {
    let plain = field(1, "c", PrimitiveType::Int);
    assert!(initial_row(&plain).unwrap().is_none());
    assert!(initial_row(&Field { initial_default: Some(Json::Null), ..plain.clone() }).unwrap().is_none());
    let seven = Field { initial_default: Some(json!(7)), ..plain };
    assert_eq!(initial_value(&seven, &PrimitiveType::Int).unwrap(), Some(Value::Int(7)));
    let none = repeat(&initial_row(&seven).unwrap().unwrap(), 0).unwrap();
    assert_eq!(none.as_primitive::<Int32Type>().len(), 0);
}

fn with(f: Field, json: Json) -> Field {
    Field { initial_default: Some(json), ..f }
}

fn map(value: Field) -> Type {
    Type::Map(Arc::new(required(9, "key", P::String)), Arc::new(value))
}

/// `a`, `st {x}`, `li [{i}]`, `m {key: {v}}`; with a new member in each and new columns if `new`.
fn table(new: bool) -> crate::types::Schema {
    let mut members = vec![field(3, "x", P::Int)];
    let mut inner = vec![field(7, "i", P::Int)];
    let mut values = vec![field(11, "v", P::Int)];
    let mut more = Vec::new();
    if new {
        members.push(with(field(4, "y", P::Long), json!(7)));
        inner.push(with(required(8, "j", P::String), json!("k")));
        values.insert(0, with(field(12, "w", P::Date), json!("1970-01-03")));
        more.push(with(required(14, "must", P::Double), json!(0.5)));
        more.push(with(field(15, "point", structure(vec![with(field(16, "z", P::Int), json!(9))])), json!({})));
        more.push(field(17, "none", structure(vec![with(field(18, "z", P::Int), json!(9))])));
    }
    let mut fields = vec![
        field(1, "a", P::Int),
        field(2, "st", structure(members)),
        field(5, "li", list(field(6, "element", structure(inner)))),
        field(13, "m", map(field(10, "value", structure(values)))),
    ];
    fields.append(&mut more);
    schema(fields)
}

/// Three rows of the old table: `{x: 1}`, null, `{x: null}`; `[{i: 1}, null]`, null, `[]`; `{k: {v: 2}}`, `{k: null}`,
/// `{}`.
fn old_columns() -> Vec<ArrayRef> {
    let arrow = to_arrow(&table(false)).unwrap();
    let ints = |values: Vec<Option<i32>>| Arc::new(Int32Array::from(values)) as ArrayRef;
    let structs = |ty: &DataType, values, valid: Vec<bool>| {
        let DataType::Struct(fields) = ty else { panic!("{ty}") };
        StructArray::new(fields.clone(), vec![ints(values)], Some(NullBuffer::from(valid)))
    };
    let st = structs(arrow.field(1).data_type(), vec![Some(1), None, None], vec![true, false, true]);
    let DataType::List(element) = arrow.field(2).data_type() else { panic!() };
    let elements = structs(element.data_type(), vec![Some(1), None], vec![true, false]);
    let valid = Some(NullBuffer::from(vec![true, false, true]));
    let li = ListArray::new(element.clone(), OffsetBuffer::from_lengths([2, 0, 0]), Arc::new(elements), valid);
    let DataType::Map(entries, _) = arrow.field(3).data_type() else { panic!() };
    let DataType::Struct(pair) = entries.data_type() else { panic!() };
    let values = structs(pair[1].data_type(), vec![Some(2), None], vec![true, false]);
    let keys = Arc::new(StringArray::from(vec!["k", "k"]));
    let pairs = StructArray::new(pair.clone(), vec![keys, Arc::new(values)], None);
    let m = MapArray::new(entries.clone(), OffsetBuffer::from_lengths([1, 1, 0]), pairs, None, false);
    vec![ints(vec![Some(1), Some(2), Some(3)]), Arc::new(st), Arc::new(li), Arc::new(m)]
}

#[test]
fn old_files_have_the_defaults_at_every_depth() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, &table(false), old_columns());
    let new = table(true);
    assert_eq!(
        read_rows(&new, &path, BoundPredicate::True),
        [
            "1|{x: 1, y: 7}|[{i: 1, j: k}, -]|{k: {w: 1970-01-03, v: 2}}|0.5|{z: 9}|-",
            "2|-|-|{k: -}|0.5|{z: 9}|-",
            "3|{x: -, y: 7}|[]|{}|0.5|{z: 9}|-",
        ]
    );
    let kept = |id, op, values| read_rows(&new, &path, leaf(&new, id, op, values)).len();
    assert_eq!(kept(4, Op::Eq, vec![Value::Long(7)]), 2);
    assert_eq!(kept(4, Op::NotEq, vec![Value::Long(7)]), 0);
    assert_eq!(kept(4, Op::IsNull, vec![]), 1);
    assert_eq!(kept(14, Op::Lt, vec![Value::Double(0.5)]), 0);
    assert_eq!(kept(14, Op::GtEq, vec![Value::Double(0.5)]), 3);
    assert_eq!(kept(16, Op::Eq, vec![Value::Int(9)]), 3);
    assert_eq!(kept(15, Op::NotNull, vec![]), 3);
    assert_eq!(kept(18, Op::IsNull, vec![]), 3);
    let z = schema(vec![with(field(18, "z", P::Int), json!(9))]);
    assert_eq!(read_rows(&z, &path, leaf(&z, 18, Op::Gt, vec![Value::Int(8)])), ["9", "9", "9"]);
    assert!(read_rows(&z, &path, leaf(&z, 18, Op::IsNull, vec![])).is_empty());
}

#[test]
fn a_default_of_another_type_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, &table(false), old_columns());
    let s = schema(vec![with(field(30, "b", P::Int), json!("five"))]);
    let e = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap_err();
    assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("column: b"), "{e}");
}

#[test]
fn geometries_are_bytes_of_an_extension_type() {
    let dir = tempfile::tempdir().unwrap();
    let binary = schema(vec![field(1, "g", P::Binary)]);
    let wkb: ArrayRef = Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x01wkb"), None]));
    let path = write(&dir, &binary, vec![wkb]);
    let s = schema(vec![field(1, "g", P::Geography { crs: None, algorithm: None })]);
    let batches = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap();
    assert_eq!(rows(&batches), ["01776b62", "-"]);
    let arrow = batches[0].schema();
    assert_eq!(arrow.field(0).metadata()["ARROW:extension:name"], "geoarrow.wkb");
    assert!(arrow.field(0).metadata()["ARROW:extension:metadata"].contains("spherical"));
    assert_eq!(read_rows(&s, &path, leaf(&s, 1, Op::NotNull, vec![])).len(), 1);
}
