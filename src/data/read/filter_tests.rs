use std::sync::Arc;

use arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int32Array, Int64Array, NullArray, StringArray, TimestampMicrosecondArray,
};
use proptest::prelude::*;

use super::*;
use crate::data::testing::{field, leaf, schema, term};
use crate::types::Schema;

/// Rows of the only column on which the filter is true.
fn kept(filter: &BoundPredicate, array: ArrayRef) -> Vec<usize> {
    let mask = matches(filter, array.len(), &|_| Some(array.clone())).unwrap();
    mask.set_indices().collect()
}

fn one(ty: PrimitiveType) -> Schema {
    schema(vec![field(1, "c", ty)])
}

#[test]
fn floats_compare_as_in_spark() {
    let d: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(f64::NAN),
        Some(-0.0),
        Some(0.0),
        Some(f64::INFINITY),
        None,
        Some(-1.5),
    ]));
    let s = one(PrimitiveType::Double);
    let ask = |op, v: &[f64]| kept(&leaf(&s, 1, op, v.iter().map(|v| Value::Double(*v)).collect()), d.clone());
    assert_eq!(ask(Op::Gt, &[f64::INFINITY]), [0]);
    assert_eq!(ask(Op::Eq, &[f64::NAN]), [0]);
    assert_eq!(ask(Op::Eq, &[0.0]), [1, 2]);
    assert_eq!(ask(Op::Eq, &[-0.0]), [1, 2]);
    assert_eq!(ask(Op::Lt, &[0.0]), [5]);
    assert_eq!(ask(Op::LtEq, &[-0.0]), [1, 2, 5]);
    assert_eq!(ask(Op::NotEq, &[0.0]), [0, 3, 5]);
    assert_eq!(ask(Op::NotIn, &[-0.0, f64::NAN]), [3, 5]);
    assert_eq!(ask(Op::In, &[-0.0, f64::NAN]), [0, 1, 2]);
    assert_eq!(ask(Op::IsNan, &[]), [0]);
    assert_eq!(ask(Op::NotNan, &[]), [1, 2, 3, 4, 5]);
    assert_eq!(ask(Op::IsNull, &[]), [4]);
    let negative_nan = f32::from_bits(0xffc0_0001);
    let f: ArrayRef = Arc::new(Float32Array::from(vec![negative_nan, f32::MAX, f32::MIN_POSITIVE]));
    let s = one(PrimitiveType::Float);
    assert_eq!(kept(&leaf(&s, 1, Op::GtEq, vec![Value::Float(f32::MAX)]), f.clone()), [0, 1]);
    assert_eq!(kept(&leaf(&s, 1, Op::Lt, vec![Value::Float(1e-30)]), f), [2]);
}

#[test]
fn null_is_never_true_but_for_the_null_tests() {
    let i: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(2), Some(3)]));
    let s = one(PrimitiveType::Int);
    let is = |op, values: &[i32]| leaf(&s, 1, op, values.iter().map(|v| Value::Int(*v)).collect());
    assert_eq!(kept(&is(Op::NotEq, &[1]), i.clone()), [2, 3]);
    assert_eq!(kept(&is(Op::NotIn, &[1, 2]), i.clone()), [3]);
    assert_eq!(kept(&is(Op::NotNull, &[]), i.clone()), [0, 2, 3]);
    let either = BoundPredicate::Or(vec![is(Op::IsNull, &[]), is(Op::Gt, &[2])]);
    assert_eq!(kept(&either, i.clone()), [1, 3]);
    let both = BoundPredicate::And(vec![is(Op::GtEq, &[2]), is(Op::Lt, &[3])]);
    assert_eq!(kept(&both, i.clone()), [2]);
    assert_eq!(kept(&BoundPredicate::True, i.clone()), [0, 1, 2, 3]);
    assert!(kept(&BoundPredicate::False, i).is_empty());
    let unknown: ArrayRef = Arc::new(NullArray::new(2));
    let s = one(PrimitiveType::Unknown);
    assert_eq!(kept(&leaf(&s, 1, Op::IsNull, vec![]), unknown.clone()), [0, 1]);
    assert!(kept(&leaf(&s, 1, Op::NotNull, vec![]), unknown).is_empty());
}

#[test]
fn every_type_compares() {
    let ask = |ty: PrimitiveType, array: ArrayRef, op, values: Vec<Value>| kept(&leaf(&one(ty), 1, op, values), array);
    let decimal = Decimal128Array::from(vec![1420, -1]).with_precision_and_scale(9, 2).unwrap();
    let decimal_type = PrimitiveType::Decimal { precision: 9, scale: 2 };
    assert_eq!(ask(decimal_type, Arc::new(decimal), Op::Lt, vec![Value::Decimal(0)]), [1]);
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), None, Some("a"), Some("żaba")]));
    let string = |v: &str| vec![Value::String(v.into())];
    assert_eq!(ask(PrimitiveType::String, text.clone(), Op::StartsWith, string("a")), [0, 2]);
    assert_eq!(ask(PrimitiveType::String, text.clone(), Op::NotStartsWith, string("ab")), [2, 3]);
    assert_eq!(ask(PrimitiveType::String, text, Op::Gt, string("z")), [3]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"\x80", b"\x7f\xff"]));
    assert_eq!(ask(PrimitiveType::Binary, bytes, Op::Gt, vec![Value::Bytes(vec![0x7f, 0xff])]), [0]);
    let fixed = |v: Vec<&[u8]>| -> ArrayRef { Arc::new(FixedSizeBinaryArray::try_from_iter(v.into_iter()).unwrap()) };
    let two = fixed(vec![&[0xff, 0], &[1, 2]]);
    assert_eq!(ask(PrimitiveType::Fixed(2), two, Op::Eq, vec![Value::Bytes(vec![1, 2])]), [1]);
    let uuids = fixed(vec![&[0xff; 16], &[0; 16]]);
    assert_eq!(ask(PrimitiveType::Uuid, uuids, Op::Gt, vec![Value::Uuid(1)]), [0]);
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    assert_eq!(ask(PrimitiveType::Boolean, flags, Op::Eq, vec![Value::Boolean(false)]), [1]);
    let s = one(PrimitiveType::Int);
    let wrong: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert!(matches(&leaf(&s, 1, Op::Eq, vec![Value::Int(1)]), 1, &|_| Some(wrong.clone())).is_err());
    assert!(matches(&leaf(&s, 1, Op::Eq, vec![Value::Int(1)]), 1, &|_| None).is_err());
}

#[test]
fn transforms_are_asked_row_by_row() {
    let s = one(PrimitiveType::Timestamp);
    let t: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None, Some(0), Some(86_400_000_000)]));
    let day = |op, values: Vec<i32>| term(&s, 1, Transform::Day, op, values.into_iter().map(Value::Int).collect());
    assert_eq!(kept(&day(Op::Eq, vec![-1]), t.clone()), [0]);
    assert_eq!(kept(&day(Op::NotIn, vec![-1, 1]), t.clone()), [2]);
    assert_eq!(kept(&day(Op::GtEq, vec![0]), t.clone()), [2, 3]);
    assert_eq!(kept(&day(Op::IsNull, vec![]), t.clone()), [1]);
    assert_eq!(kept(&term(&s, 1, Transform::Void, Op::IsNull, vec![]), t), [0, 1, 2, 3]);
    let s = one(PrimitiveType::Date);
    let d: ArrayRef = Arc::new(Date32Array::from(vec![17_486]));
    // The specification's bucket example: 2017-11-16 hashes to -653330422.
    let bucket = (-653_330_422 & i32::MAX) % 16;
    assert_eq!(kept(&term(&s, 1, Transform::Bucket(16), Op::Eq, vec![Value::Int(bucket)]), d), [0]);
}

proptest! {
    /// The fast comparisons agree with the order of single values.
    #[test]
    fn agrees_with_the_order_of_values(
        data in prop::collection::vec(prop::option::of(any::<f64>()), 1..30),
        mut values in prop::collection::vec(any::<f64>(), 1..5),
        special in prop::collection::vec(prop::sample::select(vec![f64::NAN, -f64::NAN, 0.0, -0.0, f64::NEG_INFINITY]), 0..5),
    ) {
        let mut data = data;
        data.extend(special.iter().map(|v| Some(*v)));
        values.extend(special.iter().take(1));
        values.extend(data.iter().flatten().take(1));
        values.sort_by(|a, b| ValueRef::Double(*a).sql_cmp(ValueRef::Double(*b)).unwrap());
        values.dedup_by(|a, b| ValueRef::Double(*a).sql_cmp(ValueRef::Double(*b)) == Some(Ordering::Equal));
        let values: Vec<Value> = values.into_iter().map(Value::Double).collect();
        let array: ArrayRef = Arc::new(Float64Array::from(data.clone()));
        let s = one(PrimitiveType::Double);
        for op in [Op::Lt, Op::LtEq, Op::Gt, Op::GtEq, Op::Eq, Op::NotEq, Op::In, Op::NotIn, Op::IsNan, Op::NotNan] {
            let expected: Vec<usize> = (0..data.len())
                .filter(|&i| value_matches(op, data[i].map(ValueRef::Double), &values))
                .collect();
            prop_assert_eq!(kept(&leaf(&s, 1, op, values.clone()), array.clone()), expected, "{:?}", op);
        }
    }
}
