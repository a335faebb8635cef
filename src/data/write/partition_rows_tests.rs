use super::*;
use crate::data::arrow::bucket_array::bucket_array;
use crate::data::arrow::schema::to_arrow;
use crate::types::{Field, Value};
use PrimitiveType as P;
use arrow::array::*;
use arrow::datatypes::DataType;
use proptest::prelude::*;

fn field(id: FieldId, source_id: FieldId, name: &str, transform: Transform) -> PartitionField {
    PartitionField { source_id, field_id: 1000 + id, name: name.into(), transform }
}

fn spec(fields: Vec<PartitionField>) -> PartitionSpec {
    PartitionSpec { id: 3, fields }
}

/// An Arrow array of one type from values, as in the table.
fn array_of(values: &[Option<Value>], ty: &P) -> ArrayRef {
    fn pick<'a, T>(
        values: &'a [Option<Value>],
        f: impl Fn(&'a Value) -> T + 'a,
    ) -> impl Iterator<Item = Option<T>> + 'a {
        values.iter().map(move |v| v.as_ref().map(&f))
    }
    let long = |v: &Value| if let Value::Long(l) = v { *l } else { panic!("{v:?}") };
    let int = |v: &Value| if let Value::Int(i) = v { *i } else { panic!("{v:?}") };
    match ty {
        P::Boolean => Arc::new(pick(values, |v| *v == Value::Boolean(true)).collect::<BooleanArray>()),
        P::Int => Arc::new(pick(values, int).collect::<Int32Array>()),
        P::Date => Arc::new(pick(values, int).collect::<Date32Array>()),
        P::Long => Arc::new(pick(values, long).collect::<Int64Array>()),
        P::Time => Arc::new(pick(values, long).collect::<Time64MicrosecondArray>()),
        P::Timestamp => Arc::new(pick(values, long).collect::<TimestampMicrosecondArray>()),
        P::Timestamptz => Arc::new(pick(values, long).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        P::TimestampNs => Arc::new(pick(values, long).collect::<TimestampNanosecondArray>()),
        P::Float => {
            Arc::new(pick(values, |v| if let Value::Float(f) = v { *f } else { 0.0 }).collect::<Float32Array>())
        }
        P::Double => {
            Arc::new(pick(values, |v| if let Value::Double(f) = v { *f } else { 0.0 }).collect::<Float64Array>())
        }
        P::Decimal { precision, scale } => Arc::new(
            pick(values, |v| if let Value::Decimal(d) = v { *d } else { 0 })
                .collect::<Decimal128Array>()
                .with_precision_and_scale(*precision, *scale as i8)
                .unwrap(),
        ),
        P::String => {
            Arc::new(pick(values, |v| if let Value::String(s) = v { s.as_str() } else { "" }).collect::<StringArray>())
        }
        P::Binary => Arc::new(
            pick(values, |v| if let Value::Bytes(b) = v { b.as_slice() } else { b"" }).collect::<BinaryArray>(),
        ),
        P::Uuid => {
            let mut b = FixedSizeBinaryBuilder::new(16);
            for v in values {
                match v {
                    Some(Value::Uuid(u)) => b.append_value(u.to_be_bytes()).unwrap(),
                    _ => b.append_null(),
                }
            }
            Arc::new(b.finish())
        }
        other => panic!("{other}"),
    }
}

fn any_value(ty: P) -> BoxedStrategy<Option<Value>> {
    let value = match &ty {
        P::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        P::Int | P::Date => prop_oneof![any::<i32>(), -40..40i32].prop_map(Value::Int).boxed(),
        P::Decimal { .. } => (-999_999i128..999_999).prop_map(Value::Decimal).boxed(),
        P::Float => prop_oneof![Just(-0.0f32), Just(0.0), Just(1.5)].prop_map(Value::Float).boxed(),
        P::Double => prop_oneof![Just(-0.0f64), Just(0.0), any::<f64>().prop_filter("no NaN", |f| !f.is_nan())]
            .prop_map(Value::Double)
            .boxed(),
        P::String => "[aż😎]{0,4}".prop_map(Value::String).boxed(),
        P::Binary => proptest::collection::vec(any::<u8>(), 0..5).prop_map(Value::Bytes).boxed(),
        P::Uuid => (0..3u128).prop_map(|u| Value::Uuid(u << 100)).boxed(),
        // Hours of a wider range overflow 32 bits, in Java as here.
        _ => prop_oneof![-(1i64 << 52)..(1 << 52), -99..99i64].prop_map(Value::Long).boxed(),
    };
    proptest::option::weighted(0.9, value).boxed()
}

const TYPES: [P; 14] = [
    P::Boolean,
    P::Int,
    P::Long,
    P::Float,
    P::Double,
    P::Decimal { precision: 9, scale: 2 },
    P::Date,
    P::Time,
    P::Timestamp,
    P::Timestamptz,
    P::TimestampNs,
    P::String,
    P::Binary,
    P::Uuid,
];

fn bits(v: &Option<Value>) -> String {
    match v {
        Some(Value::Float(f)) => format!("f{:x}", f.to_bits()),
        Some(Value::Double(f)) => format!("d{:x}", f.to_bits()),
        v => format!("{v:?}"),
    }
}

fn column() -> impl Strategy<Value = (P, Transform, Vec<Option<Value>>)> {
    let transforms = prop_oneof![
        Just(Transform::Identity),
        (1u32..20).prop_map(Transform::Bucket),
        (1u32..9).prop_map(Transform::Truncate),
        Just(Transform::Year),
        Just(Transform::Month),
        Just(Transform::Day),
        Just(Transform::Hour),
    ];
    (proptest::sample::select(&TYPES[..]), transforms).prop_filter("accepted", |(ty, t)| t.accepts(ty)).prop_flat_map(
        |(ty, t)| {
            let values = proptest::collection::vec(any_value(ty.clone()), 1..40);
            (Just(ty), Just(t), values)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Every row lands in the partition that its value alone gives. Rows keep their order. Partitions come in order of
    /// their first row. Numbers hold over batches.
    #[test]
    fn grouping_equals_the_transform_of_each_row((ty, transform, values) in column()) {
        let schema = Schema::new(0, vec![Field::new(1, "c", false, ty.clone()), Field::new(2, "row", true, P::Int)], vec![]);
        let mut p = Partitioner::new(&schema, &spec(vec![field(0, 1, "p", transform.clone())])).unwrap();
        let rows: Int32Array = (0..values.len() as i32).collect();
        let batch = RecordBatch::try_new(to_arrow(&schema).unwrap(), vec![array_of(&values, &ty), Arc::new(rows)]).unwrap();
        let expected: Vec<Option<Value>> =
            values.iter().map(|v| v.as_ref().and_then(|v| transform.apply(v.as_ref(), &ty))).collect();
        let parts = p.split(&batch).unwrap();
        let mut seen = vec![false; values.len()];
        let mut firsts = Vec::new();
        for part in &parts {
            let rows = part.rows.column(1).as_primitive::<arrow::datatypes::Int32Type>().values().to_vec();
            prop_assert!(rows.windows(2).all(|w| w[0] < w[1]));
            firsts.push(rows[0]);
            for row in rows {
                prop_assert_eq!(bits(&part.partition.values[0].value), bits(&expected[row as usize]), "{} {}", transform, ty);
                prop_assert!(!std::mem::replace(&mut seen[row as usize], true));
            }
        }
        prop_assert!(seen.iter().all(|s| *s) && firsts.windows(2).all(|w| w[0] < w[1]));
        let distinct: std::collections::HashSet<_> = expected.iter().map(bits).collect();
        prop_assert_eq!(parts.len(), distinct.len());
        let tail = p.split(&batch.slice(values.len() - 1, 1)).unwrap();
        let last = parts.iter().find(|q| q.rows.column(1).as_primitive::<arrow::datatypes::Int32Type>().values().contains(&(values.len() as i32 - 1)));
        prop_assert_eq!(tail[0].number, last.unwrap().number);
    }

    #[test]
    fn bucket_kernel_equals_each_value((ty, _, values) in column(), n in 1u32..1000) {
        prop_assume!(Transform::Bucket(n).accepts(&ty));
        let got = bucket_array(&array_of(&values, &ty), &ty, n).unwrap();
        for (row, v) in values.iter().enumerate() {
            let expected = v.as_ref().and_then(|v| Transform::Bucket(n).apply(v.as_ref(), &ty));
            let got = got.is_valid(row).then(|| Value::Int(got.value(row)));
            prop_assert_eq!(got, expected);
        }
    }
}

/// Hashes of the specification's Appendix B, modulo 2^31-1 buckets' worth of bits.
#[test]
fn buckets_of_the_specification() {
    let n = i32::MAX as u32;
    let hash = |h: i32| ((h as u32 & 0x7fff_ffff) % n) as i32;
    let text: ArrayRef = Arc::new(StringViewArray::from(vec!["iceberg"]));
    assert_eq!(bucket_array(&text, &P::String, n).unwrap().value(0), hash(1210000089));
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["iceberg"]));
    assert_eq!(bucket_array(&large, &P::String, n).unwrap().value(0), hash(1210000089));
    let date: ArrayRef = Arc::new(Date32Array::from(vec![17486]));
    assert_eq!(bucket_array(&date, &P::Date, n).unwrap().value(0), hash(-653330422));
    let fixed: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[0u8, 1, 2, 3]].into_iter()).unwrap());
    assert_eq!(bucket_array(&fixed, &P::Fixed(4), n).unwrap().value(0), hash(-188683207));
    assert!(bucket_array(&date, &P::Date, 0).is_err());
    assert!(bucket_array(&date, &P::Timestamp, 4).is_err());
    assert!(bucket_array(&date, &P::Boolean, 4).is_err());
}

#[test]
fn nan_is_one_partition_and_zeros_are_two() {
    let schema = Schema::new(0, vec![Field::new(1, "d", false, P::Double)], vec![]);
    let odd_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let values: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 0.0, odd_nan, -0.0, 0.0]));
    let batch = RecordBatch::try_new(to_arrow(&schema).unwrap(), vec![values]).unwrap();
    let mut p = Partitioner::new(&schema, &spec(vec![field(0, 1, "d", Transform::Identity)])).unwrap();
    let parts = p.split(&batch).unwrap();
    assert_eq!(parts.iter().map(|p| p.rows.num_rows()).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(parts[0].partition.path(), "d=NaN");
    assert!(p.split(&batch.slice(0, 0)).unwrap().is_empty());
}

#[test]
fn nested_sources_void_fields_and_several_columns() {
    let inner: Arc<[Field]> = vec![Field::new(3, "x", false, P::Int)].into();
    let schema = Schema::new(
        0,
        vec![Field::new(1, "a", false, P::String), Field::new(2, "s", false, Type::Struct(inner))],
        vec![],
    );
    let arrow = to_arrow(&schema).unwrap();
    let DataType::Struct(members) = arrow.field(1).data_type() else { panic!() };
    let x: ArrayRef = Arc::new(Int32Array::from(vec![7, 7, 7]));
    let s = StructArray::new(members.clone(), vec![x], Some(vec![true, false, true].into()));
    let batch =
        RecordBatch::try_new(arrow, vec![Arc::new(StringArray::from(vec!["u", "u", "v"])), Arc::new(s)]).unwrap();
    let fields = vec![
        field(0, 99, "gone", Transform::Void),
        field(1, 3, "s.x", Transform::Identity),
        field(2, 1, "a", Transform::Identity),
    ];
    let parts = Partitioner::new(&schema, &spec(fields)).unwrap().split(&batch).unwrap();
    let paths: Vec<_> = parts.iter().map(|p| p.partition.path()).collect();
    assert_eq!(paths, ["gone=null/s.x=7/a=u", "gone=null/s.x=null/a=u", "gone=null/s.x=7/a=v"]);
    assert_eq!(parts[0].partition.spec_id, 3);
    let only_void = spec(vec![field(0, 99, "gone", Transform::Void)]);
    assert_eq!(Partitioner::new(&schema, &only_void).unwrap().split(&batch).unwrap().len(), 1);
}

#[test]
fn specs_that_do_not_fit_are_refused() {
    let list = Type::List(Arc::new(Field::new(3, "element", false, P::Int)));
    let schema = Schema::new(0, vec![Field::new(1, "a", false, P::String), Field::new(2, "l", false, list)], vec![]);
    let refused = |source, t| Partitioner::new(&schema, &spec(vec![field(0, source, "p", t)])).unwrap_err().to_string();
    assert!(refused(3, Transform::Identity).contains("outside lists and maps (partition field: p)"));
    assert!(refused(9, Transform::Identity).contains("id 9"));
    assert!(refused(1, Transform::Day).contains("does not apply to columns of type string"));
    assert!(refused(1, Transform::Bucket(0)).contains("bucket[0]"));
    assert!(refused(1, Transform::Unknown("zorder".into())).contains("unknown transform 'zorder'"));
}

#[test]
fn truncated_decimals_stay_within_their_precision() {
    let ty = P::Decimal { precision: 4, scale: 2 };
    let low = array_of(&[Some(Value::Decimal(-9999))], &ty);
    assert!(transform_array(&low, &ty, &Transform::Truncate(10_000)).unwrap_err().to_string().contains("4 digits"));
}
