use super::*;
use crate::types::PrimitiveType as P;
use arrow::array::*;
use arrow::datatypes::{Int8Type, Int32Type, TimeUnit};
use proptest::prelude::*;
use std::str::FromStr as _;

fn table(fields: Vec<Field>) -> Conformer {
    Conformer::new(Arc::new(Schema::new(0, fields, vec![]))).unwrap()
}

fn one(ty: impl Into<Type>, required: bool) -> Conformer {
    table(vec![Field::new(1, "c", required, ty)])
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<_> = columns.iter().map(|(n, a)| ArrowField::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|(_, a)| a).collect()).unwrap()
}

fn convert(ty: impl Into<Type>, array: ArrayRef) -> Result<ArrayRef> {
    one(ty, false).conform(&batch(vec![("c", array)]), 0).map(|b| b.column(0).clone())
}

fn refusal(ty: impl Into<Type>, array: ArrayRef) -> String {
    let e = convert(ty, array).unwrap_err();
    assert_eq!(e.kind(), crate::error::ErrorKind::InvalidInput, "{e}");
    e.to_string()
}

fn a<T: Array + 'static>(array: T) -> ArrayRef {
    Arc::new(array)
}

/// Every pair of types that fits, with values at the edges.
#[test]
fn what_fits() {
    let dec = |p, s| P::Decimal { precision: p, scale: s };
    let uuid = uuid::Uuid::from_str("f79c3e09-677c-4bbd-a479-3f349cb785e7").unwrap();
    let bytes16 = || FixedSizeBinaryArray::try_from_iter([uuid.into_bytes()].into_iter()).unwrap();
    let tz = |a: TimestampMicrosecondArray| a.with_timezone("UTC");
    let cases: Vec<(P, ArrayRef, ArrayRef)> = vec![
        (P::Int, a(Int8Array::from(vec![Some(-128), None])), a(Int32Array::from(vec![Some(-128), None]))),
        (P::Int, a(Int16Array::from(vec![-5])), a(Int32Array::from(vec![-5]))),
        (P::Int, a(UInt8Array::from(vec![255])), a(Int32Array::from(vec![255]))),
        (P::Int, a(UInt16Array::from(vec![65535])), a(Int32Array::from(vec![65535]))),
        (P::Long, a(Int32Array::from(vec![i32::MIN])), a(Int64Array::from(vec![i64::from(i32::MIN)]))),
        (P::Long, a(UInt32Array::from(vec![u32::MAX])), a(Int64Array::from(vec![i64::from(u32::MAX)]))),
        (P::Double, a(Float32Array::from(vec![1.5, f32::INFINITY])), a(Float64Array::from(vec![1.5, f64::INFINITY]))),
        (P::String, a(LargeStringArray::from(vec![Some("ż"), None])), a(StringArray::from(vec![Some("ż"), None]))),
        (
            P::String,
            a(StringViewArray::from(vec![Some("a text beyond twelve"), None])),
            a(StringArray::from(vec![Some("a text beyond twelve"), None])),
        ),
        (
            P::String,
            a(DictionaryArray::<Int8Type>::from_iter([Some("x"), None, Some("x")])),
            a(StringArray::from(vec![Some("x"), None, Some("x")])),
        ),
        (P::Binary, a(LargeBinaryArray::from_vec(vec![b"ab", b""])), a(BinaryArray::from_vec(vec![b"ab", b""]))),
        (P::Binary, a(BinaryViewArray::from_iter_values([b"ab"])), a(BinaryArray::from_vec(vec![b"ab"]))),
        (P::Binary, a(bytes16()), a(BinaryArray::from_vec(vec![uuid.as_bytes()]))),
        (P::Uuid, a(bytes16()), a(bytes16())),
        (P::Uuid, a(BinaryArray::from_vec(vec![uuid.as_bytes()])), a(bytes16())),
        (P::Uuid, a(StringArray::from(vec![uuid.to_string()])), a(bytes16())),
        (P::Fixed(16), a(BinaryViewArray::from_iter_values([uuid.as_bytes()])), a(bytes16())),
        (P::Date, a(Date64Array::from(vec![-86_400_000])), a(Date32Array::from(vec![-1]))),
        (P::Time, a(Time32SecondArray::from(vec![1])), a(Time64MicrosecondArray::from(vec![1_000_000]))),
        (P::Time, a(Time32MillisecondArray::from(vec![1])), a(Time64MicrosecondArray::from(vec![1000]))),
        (P::Time, a(Time64NanosecondArray::from(vec![2000])), a(Time64MicrosecondArray::from(vec![2]))),
        (P::Timestamp, a(TimestampSecondArray::from(vec![-1])), a(TimestampMicrosecondArray::from(vec![-1_000_000]))),
        (
            P::Timestamp,
            a(TimestampMillisecondArray::from(vec![Some(1), None])),
            a(TimestampMicrosecondArray::from(vec![Some(1000), None])),
        ),
        (P::Timestamp, a(TimestampNanosecondArray::from(vec![-1000])), a(TimestampMicrosecondArray::from(vec![-1]))),
        (
            P::Timestamptz,
            a(TimestampMicrosecondArray::from(vec![7]).with_timezone("Europe/Oslo")),
            a(tz(vec![7].into())),
        ),
        (P::Timestamptz, a(TimestampNanosecondArray::from(vec![7000]).with_timezone("+02:00")), a(tz(vec![7].into()))),
        (P::TimestampNs, a(TimestampMicrosecondArray::from(vec![3])), a(TimestampNanosecondArray::from(vec![3000]))),
        (P::TimestamptzNs, a(tz(vec![3].into())), a(TimestampNanosecondArray::from(vec![3000]).with_timezone("UTC"))),
        (dec(10, 3), a(decimal(vec![Some(-125), None], 5, 2)), a(decimal(vec![Some(-1250), None], 10, 3))),
        (dec(5, 2), a(decimal(vec![Some(12_500)], 38, 4)), a(decimal(vec![Some(125)], 5, 2))),
        (
            dec(5, 0),
            a(Decimal32Array::from(vec![7]).with_precision_and_scale(4, -1).unwrap()),
            a(decimal(vec![Some(70)], 5, 0)),
        ),
        (
            dec(38, 2),
            a(Decimal256Array::from_iter_values([arrow::datatypes::i256::from_i128(-5)])
                .with_precision_and_scale(76, 2)
                .unwrap()),
            a(decimal(vec![Some(-5)], 38, 2)),
        ),
        (P::Boolean, a(NullArray::new(2)), a(BooleanArray::from(vec![None, None]))),
    ];
    for (ty, input, expected) in cases {
        let got = convert(ty.clone(), input.clone()).unwrap_or_else(|e| panic!("{ty} of {}: {e}", input.data_type()));
        assert_eq!(&got, &expected, "{ty} of {}", input.data_type());
        // A slice converts to the same rows as the whole array.
        let slice = convert(ty, input.slice(input.len() - 1, 1)).unwrap();
        assert_eq!(&slice, &expected.slice(expected.len() - 1, 1));
    }
}

fn decimal(values: Vec<Option<i128>>, precision: u8, scale: i8) -> Decimal128Array {
    Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
}

/// Every pair of an Arrow type and a table type gives values, or a refusal that names the column. Nothing panics.
#[test]
fn every_pair_of_types_is_settled() {
    let item = |t| Arc::new(ArrowField::new("item", t, true));
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    use DataType as D;
    let mut found = vec![
        D::Null,
        D::Boolean,
        D::Int8,
        D::Int16,
        D::Int32,
        D::Int64,
        D::UInt8,
        D::UInt16,
        D::UInt32,
        D::UInt64,
        D::Float16,
        D::Float32,
        D::Float64,
        D::Date32,
        D::Date64,
        D::Utf8,
        D::LargeUtf8,
        D::Utf8View,
        D::Binary,
        D::LargeBinary,
        D::BinaryView,
        D::FixedSizeBinary(16),
        D::FixedSizeBinary(3),
        D::Decimal32(9, 2),
        D::Decimal64(18, 2),
        D::Decimal128(38, 2),
        D::Decimal256(76, 2),
        D::List(item(D::Int32)),
        D::LargeList(item(D::Int32)),
        D::FixedSizeList(item(D::Int32), 2),
        D::ListView(item(D::Int32)),
        D::LargeListView(item(D::Int32)),
        D::Struct(vec![item(D::Int32)].into()),
        D::Dictionary(Box::new(D::Int32), Box::new(D::Int64)),
        D::RunEndEncoded(Arc::new(ArrowField::new("run_ends", D::Int32, false)), item(D::Int32)),
        D::Duration(TimeUnit::Second),
    ];
    for unit in units {
        found.extend([D::Timestamp(unit, None), D::Timestamp(unit, Some("UTC".into())), D::Duration(unit)]);
    }
    let wanted = [
        P::Boolean,
        P::Int,
        P::Long,
        P::Float,
        P::Double,
        P::Date,
        P::Time,
        P::Timestamp,
        P::Timestamptz,
        P::TimestampNs,
        P::TimestamptzNs,
        P::String,
        P::Uuid,
        P::Binary,
        P::Fixed(3),
        P::Decimal { precision: 9, scale: 2 },
    ];
    let mut wanted: Vec<Type> = wanted.into_iter().map(Type::from).collect();
    wanted.push(Type::List(Arc::new(Field::new(2, "element", false, P::Long))));
    wanted.push(Type::Struct(vec![Field::new(2, "item", false, P::Long)].into()));
    for from in &found {
        for to in &wanted {
            match convert(to.clone(), new_null_array(from, 3)) {
                Ok(array) => assert_eq!(array.len() - array.logical_null_count(), 0, "{from} to {to}"),
                Err(e) => assert!(e.to_string().contains("column: c"), "{from} to {to}: {e}"),
            }
        }
    }
}

#[test]
fn what_would_lose_something_is_refused() {
    assert!(refusal(P::Int, a(Int64Array::from(vec![1]))).contains("int64 can't be written to a column of type int"));
    assert!(refusal(P::Float, a(Float64Array::from(vec![1.0]))).contains("column: c"));
    assert!(refusal(P::Int, a(StringArray::from(vec!["1"]))).contains("string"));
    assert!(refusal(P::Int, a(UInt32Array::from(vec![1]))).contains("uint32"));
    assert!(refusal(P::Long, a(UInt64Array::from(vec![1]))).contains("uint64"));
    assert!(refusal(P::String, a(Int32Array::from(vec![1]))).contains("int32"));
    assert!(refusal(P::Timestamp, a(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC"))).contains("UTC"));
    assert!(refusal(P::Timestamptz, a(TimestampMicrosecondArray::from(vec![1]))).contains("without loss"));
    assert!(refusal(P::Fixed(3), new_null_array(&DataType::FixedSizeBinary(2), 1)).contains("fixed_size_binary[2]"));
    let dec = P::Decimal { precision: 4, scale: 2 };
    assert!(
        refusal(dec.clone(), a(decimal(vec![Some(10_000)], 9, 2)))
            .contains("does not fit decimal(4, 2) (column: c, row: 0)")
    );
    assert!(refusal(dec.clone(), a(decimal(vec![Some(10), Some(11)], 9, 3))).contains("row: 1"));
    assert!(refusal(dec, a(Int32Array::from(vec![1]))).contains("int32"));
    assert!(
        refusal(P::Timestamp, a(TimestampNanosecondArray::from(vec![1000, 1])))
            .contains("finer than the column's unit (column: c, row: 1)")
    );
    assert!(refusal(P::Timestamp, a(TimestampSecondArray::from(vec![i64::MAX]))).contains("out of range"));
    assert!(refusal(P::Date, a(Date64Array::from(vec![1]))).contains("finer"));
    assert!(refusal(P::Date, a(Date64Array::from(vec![86_400_000 * (i64::from(i32::MAX) + 1)]))).contains("column: c"));
    assert!(refusal(P::Uuid, a(StringArray::from(vec!["no"]))).contains("not the text of a uuid"));
    assert!(refusal(P::Uuid, a(BinaryArray::from_vec(vec![b"short"]))).contains("16 bytes"));
}

/// Values under a null are not checked.
#[test]
fn hidden_values_do_no_harm() {
    let nulls = NullBuffer::from(vec![true, false]);
    let ns = TimestampNanosecondArray::new(vec![1000, 1].into(), Some(nulls.clone()));
    assert_eq!(convert(P::Timestamp, a(ns)).unwrap().null_count(), 1);
    let child = a(TimestampNanosecondArray::from(vec![1000, 1]));
    let input =
        StructArray::new(vec![ArrowField::new("t", child.data_type().clone(), true)].into(), vec![child], Some(nulls));
    let ty = Type::Struct(vec![Field::new(2, "t", true, P::Timestamp)].into());
    let out = convert(ty, a(input)).unwrap();
    assert!(out.is_null(1) && out.as_struct().column(0).is_null(1));
}

#[test]
fn columns_are_matched_by_name() {
    let fields = vec![
        Field::new(1, "id", true, P::Long),
        Field::new(2, "name", false, P::String),
        Field::new(
            3,
            "s",
            false,
            Type::Struct(vec![Field::new(4, "x", false, P::Int), Field::new(5, "y", true, P::Int)].into()),
        ),
    ];
    let ints = || a(Int32Array::from(vec![1, 2]));
    let members = |names: [&str; 2]| {
        let fields: Vec<_> = names.iter().map(|n| Arc::new(ArrowField::new(*n, DataType::Int32, true))).collect();
        a(StructArray::new(fields.into(), vec![ints(), a(Int32Array::from(vec![3, 4]))], None))
    };
    let ok = table(fields.clone()).conform(&batch(vec![("s", members(["y", "x"])), ("id", ints())]), 0).unwrap();
    assert_eq!(ok.column(0).as_ref(), &Int64Array::from(vec![1, 2]));
    assert_eq!(ok.column(1).null_count(), 2);
    assert_eq!(ok.column(2).as_struct().column_by_name("x").unwrap().as_ref(), &Int32Array::from(vec![3, 4]));
    let refused = |columns| table(fields.clone()).conform(&batch(columns), 0).unwrap_err().to_string();
    assert_eq!(
        refused(vec![("name", a(StringArray::from(vec!["a"])))]),
        "the data lacks a required column (column: id)"
    );
    assert!(refused(vec![("id", ints()), ("ID", ints())]).contains("the table has 'id'"));
    assert!(refused(vec![("id", ints()), ("more", ints())]).contains("no such column (column: more)"));
    assert!(refused(vec![("id", ints()), ("id", ints())]).contains("two columns with the same name"));
    assert!(refused(vec![("id", ints()), ("s", members(["x", "z"]))]).contains("no such column (column: s.z)"));
    assert!(
        refused(vec![
            ("id", ints()),
            ("s", a(StructArray::new(vec![ArrowField::new("x", DataType::Int32, true)].into(), vec![ints()], None)))
        ])
        .contains("required column (column: s.y)")
    );
    let none = RecordBatch::new_empty(Arc::new(ArrowSchema::empty()));
    assert_eq!(table(fields).conform(&none, 0).unwrap_err().to_string(), "the data has no columns");
}

#[test]
fn required_columns_hold_no_null() {
    let b = batch(vec![("c", a(Int32Array::from(vec![Some(1), None])))]);
    let e = one(P::Int, true).conform(&b, 100).unwrap_err();
    assert_eq!(e.to_string(), "a required column holds a null (column: c, row: 101)");
    // The row of a list's element is the list's row.
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![]), None, Some(vec![Some(1), None])]);
    let ty = Type::List(Arc::new(Field::new(2, "element", true, P::Int)));
    assert_eq!(refusal(ty.clone(), a(list)), "a required column holds a null (column: c.element, row: 2)");
    // Elements of a null list are not data.
    let values = Arc::new(Int32Array::from(vec![None, Some(5)]));
    let item = Arc::new(ArrowField::new("item", DataType::Int32, true));
    let hidden = ListArray::new(item, OffsetBuffer::from_lengths([1, 1]), values, Some(vec![false, true].into()));
    let out = convert(ty, a(hidden)).unwrap();
    assert_eq!(out.as_list::<i32>().value(1).as_ref(), &Int32Array::from(vec![5]));
    assert_eq!(out.as_list::<i32>().values().len(), 1);
}

#[test]
fn nested_layouts_conform() {
    let ty = Type::List(Arc::new(Field::new(2, "element", false, P::Long)));
    let expected = |rows: usize| {
        let array = ListArray::from_iter_primitive::<arrow::datatypes::Int64Type, _, _>(
            [Some(vec![Some(1), None]), None, Some(vec![Some(3), Some(4)])].into_iter().take(rows),
        );
        array
            .iter()
            .map(|v| v.map(|v| v.as_primitive::<arrow::datatypes::Int64Type>().iter().collect::<Vec<_>>()))
            .collect::<Vec<_>>()
    };
    let rows = || [Some(vec![Some(1), None]), None, Some(vec![Some(3), Some(4)])];
    let inputs: Vec<ArrayRef> = vec![
        a(ListArray::from_iter_primitive::<Int32Type, _, _>(rows())),
        a(LargeListArray::from_iter_primitive::<Int32Type, _, _>(rows())),
        a(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(rows(), 2)),
    ];
    for input in inputs {
        for (from, rows) in [(0, 3), (2, 1), (1, 1)] {
            let out = convert(ty.clone(), input.slice(from, rows)).unwrap();
            let got: Vec<_> = out
                .as_list::<i32>()
                .iter()
                .map(|v| v.map(|v| v.as_primitive::<arrow::datatypes::Int64Type>().iter().collect::<Vec<_>>()))
                .collect();
            assert_eq!(got, expected(3)[from..from + rows], "{}", input.data_type());
        }
    }
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(7);
    map.append(true).unwrap();
    map.append(false).unwrap();
    map.keys().append_value("l");
    map.values().append_null();
    map.append(true).unwrap();
    let input = a(map.finish());
    let ty =
        Type::Map(Arc::new(Field::new(2, "key", true, P::String)), Arc::new(Field::new(3, "value", false, P::Long)));
    let out = convert(ty, input.slice(1, 2)).unwrap();
    let out = out.as_map();
    assert!(out.is_null(0) && out.keys().as_ref() == &StringArray::from(vec!["l"]) && out.values().is_null(0));
}

#[test]
fn one_plan_serves_many_batches_and_a_new_schema_gets_its_own() {
    let mut c = one(P::Long, false);
    let first = batch(vec![("c", a(Int32Array::from(vec![1])))]);
    c.conform(&first, 0).unwrap();
    let planned = Arc::as_ptr(&c.plan.as_ref().unwrap().0);
    c.conform(&batch(vec![("c", a(Int32Array::from(vec![2])))]), 0).unwrap();
    assert_eq!(planned, Arc::as_ptr(&c.plan.as_ref().unwrap().0));
    let out = c.conform(&batch(vec![("c", a(Int16Array::from(vec![3])))]), 0).unwrap();
    assert_eq!(out.column(0).as_ref(), &Int64Array::from(vec![3]));
    assert!(c.conform(&batch(vec![("c", a(StringArray::from(vec!["x"])))]), 0).is_err());
    let mut default = Field::new(2, "d", false, P::Int);
    default.write_default = Some(serde_json::json!(1));
    let out = table(vec![Field::new(1, "c", false, P::Long), default]).conform(&first, 0).unwrap();
    assert_eq!(out.column(1).as_ref(), &Int32Array::from(vec![1]));
}

proptest! {
    /// Decimals keep their number or are refused. The same holds for units.
    #[test]
    fn conversions_keep_the_value(v: i64, from in 0i8..10, to in 0u8..10, precision in 10u8..=38) {
        let input = a(decimal(vec![Some(i128::from(v))], 38, from));
        let exact = crate::types::decimal::rescale(i128::from(v), i32::from(from), i32::from(to))
            .filter(|d| d.unsigned_abs() < 10u128.pow(u32::from(precision)));
        let got = convert(P::Decimal { precision, scale: to }, input).ok();
        prop_assert_eq!(got.map(|g| g.as_primitive::<arrow::datatypes::Decimal128Type>().value(0)), exact);
        let ns = convert(P::Timestamp, a(TimestampNanosecondArray::from(vec![v]))).ok();
        let us = (v % 1000 == 0).then_some(v / 1000);
        prop_assert_eq!(ns.map(|g| g.as_primitive::<arrow::datatypes::TimestampMicrosecondType>().value(0)), us);
        let ms = convert(P::Timestamp, a(TimestampMillisecondArray::from(vec![v]))).ok();
        prop_assert_eq!(ms.map(|g| g.as_primitive::<arrow::datatypes::TimestampMicrosecondType>().value(0)), v.checked_mul(1000));
    }
}
