use super::*;
use crate::expr::bounds::{Verdict, evaluate, may_match};
use crate::expr::oracle::{self, COLUMN};
use crate::expr::residual::residual;
use crate::expr::{BoundPredicate, bind, parse};
use crate::types::value::encode_bound;
use crate::types::{Field, Schema};
use proptest::prelude::*;
use proptest::sample::select;

fn field(transform: Transform) -> PartitionField {
    PartitionField { source_id: 1, field_id: 1000, name: "p".into(), transform }
}

fn filter(text: &str, ty: &PrimitiveType) -> BoundPredicate {
    let schema = Schema::new(0, vec![Field::new(1, "x", false, ty.clone())], vec![]);
    bind(&parse(text).unwrap(), &schema, true).unwrap()
}

fn on_tuple(text: &str, ty: PrimitiveType, transform: Transform, value: Option<Value>) -> Verdict {
    let (fields, types, values) = ([field(transform.clone())], [transform.result_type(&ty)], [value]);
    evaluate(&filter(text, &ty), &PartitionBounds::new(&fields, &types, &values))
}

fn on_summary(text: &str, ty: PrimitiveType, transform: Transform, summary: FieldSummary) -> Verdict {
    let (fields, types, summaries) = ([field(transform.clone())], [transform.result_type(&ty)], [summary]);
    evaluate(&filter(text, &ty), &SummaryBounds::new(&fields, &types, &summaries))
}

fn between(lower: Value, upper: Value) -> FieldSummary {
    FieldSummary {
        contains_null: false,
        contains_nan: Some(false),
        lower: Some(encode_bound(lower.as_ref())),
        upper: Some(encode_bound(upper.as_ref())),
    }
}

#[test]
fn tuples_stand_for_ranges_of_the_source() {
    use Verdict::*;
    let ts = PrimitiveType::Timestamp;
    let day = Some(Value::Int(19_358)); // 2023-01-01
    for (text, want) in [
        ("x >= '2023-01-01'", Always),
        ("x < '2023-01-02'", Always),
        ("x < '2023-01-01T12:00:00'", Maybe),
        ("x = '2023-01-02'", Never),
        ("x is null", Never),
        ("x > '2023-01-01T23:59:59.999999'", Never),
        ("day(x) = '2023-01-01'", Always),
        ("month(x) = 636", Always),
        ("year(x) > 53", Never),
        ("hour(x) >= 464616", Never),
        ("hour(x) < 464616", Always),
    ] {
        assert_eq!(on_tuple(text, ts.clone(), Transform::Day, day.clone()), want, "{text}");
    }
    let long = PrimitiveType::Long;
    for (text, want) in
        [("x >= 20", Always), ("x < 30", Always), ("x = 29", Maybe), ("x = 30", Never), ("x < 25", Maybe)]
    {
        assert_eq!(on_tuple(text, long.clone(), Transform::Truncate(10), Some(Value::Int(20))), want, "{text}");
    }
    let null = |text, t| on_tuple(text, PrimitiveType::String, t, None);
    for t in [Transform::Identity, Transform::Truncate(2), Transform::Bucket(4)] {
        assert_eq!(null("x is null", t.clone()), Always);
        assert_eq!(null("x != 'a'", t.clone()), Never);
        assert_eq!(null("not starts_with(x, 'a')", t), Never);
    }
    assert_eq!(null("x is null", Transform::Void), Maybe);
    assert_eq!(null("x = 'a'", Transform::Unknown("zorder".into())), Maybe);
    let nan = Some(Value::Float(f32::NAN));
    assert_eq!(on_tuple("x > 1", PrimitiveType::Double, Transform::Identity, nan.clone()), Always);
    assert_eq!(on_tuple("x = 1", PrimitiveType::Double, Transform::Identity, nan), Never);
}

/// Truncate partitions and prefixes of other lengths (trap 11).
#[test]
fn prefixes_against_the_width() {
    use Verdict::*;
    let on = |text, value: &str| {
        on_tuple(text, PrimitiveType::String, Transform::Truncate(2), Some(Value::String(value.into())))
    };
    for (text, value, want) in [
        ("starts_with(x, 'a')", "ab", Always),
        ("starts_with(x, 'abc')", "ab", Maybe),
        ("starts_with(x, 'abc')", "ac", Never),
        ("not starts_with(x, 'a')", "ab", Never),
        ("not starts_with(x, 'abc')", "ab", Maybe),
        ("not starts_with(x, 'abc')", "ac", Always),
        ("x = 'a'", "a", Always),
        ("x = 'ab'", "ab", Maybe),
        ("x = 'ac'", "ab", Never),
        ("x > 'abzz'", "ab", Maybe),
        ("starts_with(x, 'ab')", "a", Never),
        ("x = 'é\u{10ffff}x'", "é\u{10ffff}", Maybe),
        // Text longer than the width: no writer makes it, and it proves nothing.
        ("x = 'zz'", "abc", Maybe),
    ] {
        assert_eq!(on(text, value), want, "{text} in {value}");
    }
}

/// Integers below the lowest multiple of the width wrap (trap 8).
#[test]
fn wrapped_numbers() {
    use Verdict::*;
    let int = PrimitiveType::Int;
    let minimum = Transform::Truncate(10).apply(ValueRef::Int(i32::MIN), &int);
    assert_eq!(minimum, Some(Value::Int(2_147_483_646)));
    assert_eq!(on_tuple("x < 0", int.clone(), Transform::Truncate(10), minimum.clone()), Always);
    assert_eq!(on_tuple("x > -2147483641", int.clone(), Transform::Truncate(10), minimum.clone()), Never);
    assert_eq!(on_tuple("x < 0", PrimitiveType::Long, Transform::Truncate(10), minimum.clone()), Always);
    assert_eq!(on_tuple("x < 0", int.clone(), Transform::Truncate(10), Some(Value::Int(13))), Maybe);
    let only = between(Value::Int(2_147_483_646), Value::Int(2_147_483_646));
    assert_eq!(on_summary("x < 0", int.clone(), Transform::Truncate(10), only), Always);
    let all = between(Value::Int(0), Value::Int(2_147_483_646));
    assert_eq!(on_summary("x < 0", int.clone(), Transform::Truncate(10), all), Maybe);
    // With width 7 the wrapped number is below the highest multiple.
    let wrapped = Transform::Truncate(7).apply(ValueRef::Int(i32::MIN), &int).unwrap();
    let Value::Int(w) = wrapped else { panic!() };
    assert_eq!(
        on_summary("x < 0", int.clone(), Transform::Truncate(7), between(Value::Int(0), Value::Int(w + 3))),
        Maybe
    );
    assert_eq!(on_summary("x < 0", int.clone(), Transform::Truncate(7), between(Value::Int(0), Value::Int(70))), Never);
    assert_eq!(on_tuple("x <= 2147483647", int, Transform::Truncate(10), Some(Value::Int(2_147_483_640))), Always);
}

#[test]
fn summaries() {
    use Verdict::*;
    let s = PrimitiveType::String;
    let text = |v: &str| Value::String(v.into());
    let range = between(text("b"), text("d"));
    assert_eq!(on_summary("x = 'a'", s.clone(), Transform::Identity, range.clone()), Never);
    assert_eq!(on_summary("x in ('a', 'e')", s.clone(), Transform::Identity, range.clone()), Never);
    assert_eq!(on_summary("x is null", s.clone(), Transform::Identity, range), Never);
    let nulls = FieldSummary { contains_null: true, ..FieldSummary::default() };
    assert_eq!(on_summary("x is not null", s.clone(), Transform::Identity, nulls.clone()), Never);
    assert_eq!(on_summary("x > 1", PrimitiveType::Double, Transform::Identity, nulls.clone()), Maybe);
    let no_nan = FieldSummary { contains_nan: Some(false), ..nulls.clone() };
    assert_eq!(on_summary("x > 1", PrimitiveType::Double, Transform::Identity, no_nan), Never);
    let nans = FieldSummary { contains_nan: Some(true), ..FieldSummary::default() };
    assert_eq!(on_summary("x < 1", PrimitiveType::Double, Transform::Identity, nans.clone()), Never);
    assert_eq!(on_summary("x > 1", PrimitiveType::Double, Transform::Identity, nans), Always);
    let unknown_nan = FieldSummary { contains_nan: None, ..between(Value::Double(1.0), Value::Double(2.0)) };
    assert_eq!(on_summary("x > 5", PrimitiveType::Double, Transform::Identity, unknown_nan), Maybe);
    // The old width under a promoted type (trap 9), and bytes that are no value of the type.
    let narrow = between(Value::Int(5), Value::Int(6));
    assert_eq!(on_summary("x = 7", PrimitiveType::Long, Transform::Identity, narrow), Never);
    let torn = FieldSummary { lower: Some(vec![1, 2, 3]), upper: Some(vec![]), ..FieldSummary::default() };
    assert_eq!(on_summary("x = 7", PrimitiveType::Long, Transform::Identity, torn), Maybe);
    let empty = FieldSummary { lower: Some(vec![]), upper: Some(vec![]), ..FieldSummary::default() };
    assert_eq!(on_summary("x = ''", s, Transform::Identity, empty), Always);
    let buckets = between(Value::Int(3), Value::Int(3));
    let missed = (0..100).filter(|i| {
        on_summary(&format!("x = {i}"), PrimitiveType::Int, Transform::Bucket(4), buckets.clone()) == Never
    });
    assert!((50..100).contains(&missed.count()));
}

/// Java orders the uuids of a summary as two signed numbers.
#[test]
fn uuid_summaries() {
    use Verdict::*;
    let on = |text, lower, upper| {
        let range = between(Value::Uuid(lower), Value::Uuid(upper));
        on_summary(text, PrimitiveType::Uuid, Transform::Identity, range)
    };
    let uuid = "x = '00000000-0000-0001-0000-000000000005'";
    assert_eq!(on(uuid, 1 << 127, 2 << 64), Maybe);
    assert_eq!(on(uuid, 1 << 64 | u128::from(u64::MAX), 2 << 64), Maybe);
    assert_eq!(on(uuid, 2 << 64, 3 << 64), Never);
    assert_eq!(on(uuid, 1 << 64 | 5, 1 << 64 | 5), Always);
}

/// A dropped source column leaves the type unknown. A re-used id is another kind of column (trap 16 and surprise 9).
#[test]
fn lost_sources_tell_nothing() {
    let fields = [field(Transform::Identity), field(Transform::Void)];
    let values = [Some(Value::Int(5)), None];
    let known = PartitionBounds::new(&fields, &[PrimitiveType::Unknown, PrimitiveType::Int], &values);
    assert!(may_match(&filter("x = 7 or x is null", &PrimitiveType::Int), &known));
    let fields = [field(Transform::Day)];
    let known = PartitionBounds::new(&fields, &[PrimitiveType::Date], &values[..1]);
    assert!(may_match(&filter("x = 'a'", &PrimitiveType::String), &known));
    assert!(may_match(&filter("x is null", &PrimitiveType::String), &known));
    assert!(may_match(&filter("x = 7", &PrimitiveType::Int), &PartitionBounds::new(&fields, &[], &[])));
}

/// Java up to 0.10 put 1969-12-31T10:00 into day 0; the reference still reads such tables.
#[test]
fn times_before_1970_in_old_tables() {
    use Verdict::*;
    let on = |text, day| on_tuple(text, PrimitiveType::Timestamp, Transform::Day, Some(Value::Int(day)));
    assert_eq!(on("x = '1969-12-31T10:00:00'", 0), Maybe);
    assert_eq!(on("x = '1969-12-31T10:00:00'", -1), Maybe);
    assert_eq!(on("x = '1969-12-31T10:00:00'", 1), Never);
    assert_eq!(on("x >= '1970-01-01'", 0), Maybe);
    assert_eq!(on("x >= '1970-01-02'", 1), Always);
    assert_eq!(on("day(x) = '1969-12-31'", 0), Maybe);
    let date = |text, day| on_tuple(text, PrimitiveType::Date, Transform::Day, Some(Value::Int(day)));
    assert_eq!(date("x = '1969-12-31'", 0), Never);
    assert_eq!(date("x = '1969-12-31'", -1), Always);
}

/// Trap 13: residuals under a null partition value, and with the file's own spec.
#[test]
fn residuals() {
    let double = PrimitiveType::Double;
    let (fields, types) = ([field(Transform::Identity)], [double.clone()]);
    let left = |text: &str, value: Option<Value>| {
        let values = [value];
        residual(&filter(text, &double), &PartitionBounds::new(&fields, &types, &values)).to_string()
    };
    assert_eq!(left("x is not nan", None), "true");
    assert_eq!(left("x > 1 or x is null", None), "true");
    assert_eq!(left("x > 1", None), "false");
    assert_eq!(left("x > 1", Some(Value::Double(2.0))), "true");
}

fn partitioning(ty: &PrimitiveType) -> impl Strategy<Value = Vec<PartitionField>> + use<> {
    let transform = prop_oneof![4 => oracle::transforms(ty), 1 => select(vec![Transform::Void, Transform::Identity])];
    prop::collection::vec(transform, 1..3).prop_map(|transforms| {
        let of = |t| PartitionField { source_id: COLUMN, field_id: 1000, name: "p".into(), transform: t };
        transforms.into_iter().map(of).collect()
    })
}

fn tuple(fields: &[PartitionField], row: Option<&Value>, ty: &PrimitiveType) -> Vec<Option<Value>> {
    fields.iter().map(|f| row.and_then(|v| f.transform.apply(v.as_ref(), ty))).collect()
}

/// Summarises the tuples' values as the specification describes it for manifest lists.
fn summarise(values: &[Option<Value>], nan_known: bool) -> FieldSummary {
    let mut ordinary: Vec<&Value> = values.iter().flatten().filter(|v| !v.as_ref().is_nan()).collect();
    ordinary.sort_by(|a, b| a.sql_cmp(b).unwrap());
    let bound = |v: Option<&&Value>| v.map(|v| encode_bound(v.as_ref()));
    FieldSummary {
        contains_null: values.contains(&None),
        contains_nan: nan_known.then(|| values.iter().flatten().any(|v| v.as_ref().is_nan())),
        lower: bound(ordinary.first()),
        upper: bound(ordinary.last()),
    }
}

fn agrees(verdict: Verdict, kept: &[bool]) -> bool {
    match verdict {
        Verdict::Never => kept.iter().all(|k| !k),
        Verdict::Always => kept.iter().all(|k| *k),
        Verdict::Maybe => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn partition_values_never_contradict_the_rows(
        (ty, rows, fields, filter) in oracle::types().prop_flat_map(|ty| {
            (Just(ty.clone()), oracle::rows(&ty), partitioning(&ty), oracle::filters(&ty))
        }),
        nan_known: bool,
    ) {
        let types: Vec<PrimitiveType> = fields.iter().map(|f| f.transform.result_type(&ty)).collect();
        let kept: Vec<bool> = rows.iter().map(|v| oracle::holds(&filter, v.as_ref()) == Some(true)).collect();
        let tuples: Vec<_> = rows.iter().map(|v| tuple(&fields, v.as_ref(), &ty)).collect();
        for ((row, values), kept) in rows.iter().zip(&tuples).zip(&kept) {
            let bounds = PartitionBounds::new(&fields, &types, values);
            prop_assert!(agrees(evaluate(&filter, &bounds), &[*kept]), "{filter} {values:?} {row:?}");
            let left = residual(&filter, &bounds);
            prop_assert_eq!(oracle::holds(&left, row.as_ref()) == Some(true), *kept, "{} {:?}", left, values);
        }
        let column = |i: usize| tuples.iter().map(|t| t[i].clone()).collect::<Vec<_>>();
        let summaries: Vec<_> = (0..fields.len()).map(|i| summarise(&column(i), nan_known)).collect();
        let bounds = SummaryBounds::new(&fields, &types, &summaries);
        prop_assert!(agrees(evaluate(&filter, &bounds), &kept), "{filter} {summaries:?} {rows:?}");
    }

    #[test]
    fn any_bytes_in_a_summary_are_harmless(
        (ty, fields, filter) in oracle::types()
            .prop_flat_map(|ty| (Just(ty.clone()), partitioning(&ty), oracle::filters(&ty))),
        lower in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        upper in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        contains_null: bool,
    ) {
        let types: Vec<PrimitiveType> = fields.iter().map(|f| f.transform.result_type(&ty)).collect();
        let summary = FieldSummary { contains_null, contains_nan: None, lower, upper };
        let summaries = vec![summary; fields.len()];
        evaluate(&filter, &SummaryBounds::new(&fields, &types, &summaries));
    }
}
