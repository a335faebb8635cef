use super::*;
use crate::expr::oracle;
use crate::expr::residual::residual;
use crate::expr::{bind, parse};
use crate::types::{Field, FieldId, PrimitiveType, Schema, Transform, Value};
use proptest::prelude::*;

/// Bounds of one column, owned.
#[derive(Clone, Debug, Default)]
struct Known {
    lower: Option<Value>,
    upper: Option<Value>,
    upper_is_prefix: bool,
    nulls: Presence,
    nans: Presence,
    buckets: Vec<(u32, i32, i32)>,
}

impl Bounds for Known {
    fn column<'a>(&'a self, _: FieldId, _: &PrimitiveType) -> ColumnBounds<'a> {
        ColumnBounds {
            lower: self.lower.as_ref().map(Value::as_ref),
            upper: self.upper.as_ref().map(Value::as_ref),
            upper_is_prefix: self.upper_is_prefix,
            nulls: self.nulls,
            nans: self.nans,
        }
    }

    fn nested_nulls(&self, _: FieldId) -> Presence {
        self.nulls
    }

    fn buckets(&self, _: FieldId) -> Vec<(u32, i32, i32)> {
        self.buckets.clone()
    }
}

fn verdict(text: &str, ty: PrimitiveType, known: &Known) -> Verdict {
    let schema = Schema::new(0, vec![Field::new(1, "x", false, ty)], vec![]);
    evaluate(&bind(&parse(text).unwrap(), &schema, true).unwrap(), known)
}

fn range(lower: Value, upper: Value) -> Known {
    Known {
        lower: Some(lower),
        upper: Some(upper),
        nulls: Presence::Absent,
        nans: Presence::Absent,
        ..Known::default()
    }
}

#[test]
fn orders_against_both_bounds() {
    use Verdict::*;
    let known = range(Value::Int(10), Value::Int(20));
    for (text, want) in [
        ("x < 10", Never),
        ("x < 11", Maybe),
        ("x <= 20", Always),
        ("x < 20", Maybe),
        ("x > 20", Never),
        ("x >= 10", Always),
        ("x = 9", Never),
        ("x = 15", Maybe),
        ("x != 21", Always),
        ("x not in (1, 30)", Always),
        ("x in (5, 25)", Never),
        ("x in (5, 15, 25)", Maybe),
        ("x is null", Never),
        ("x is not null", Always),
        ("x < 5 or x > 30", Never),
        ("x >= 0 and x < 100", Always),
        ("x >= 0 and x < 15", Maybe),
    ] {
        assert_eq!(verdict(text, PrimitiveType::Int, &known), want, "{text}");
    }
    let point = range(Value::Int(3), Value::Int(3));
    assert_eq!(verdict("x = 3", PrimitiveType::Int, &point), Always);
    assert_eq!(verdict("x in (1, 3)", PrimitiveType::Int, &point), Always);
    assert_eq!(verdict("x != 3", PrimitiveType::Int, &point), Never);
    let nullable = Known { nulls: Presence::Possible, ..point };
    assert_eq!(verdict("x = 3", PrimitiveType::Int, &nullable), Maybe);
    assert_eq!(verdict("x != 3", PrimitiveType::Int, &nullable), Never);
    let nulls = Known { nulls: Presence::Everywhere, ..Known::default() };
    for text in ["x = 3", "x != 3", "x not in (1, 2)", "x is not null"] {
        assert_eq!(verdict(text, PrimitiveType::Int, &nulls), Never, "{text}");
    }
}

/// NaN is above all numbers; a NaN among the bounds spoils both; zeros of either sign are equal (traps 5, 6).
#[test]
fn nan_and_zero() {
    use Verdict::*;
    let d = PrimitiveType::Double;
    let unknown_nans = Known { nans: Presence::Possible, ..range(Value::Double(1.0), Value::Double(2.0)) };
    for (text, want) in [
        ("x > 5", Maybe),
        ("x < 5", Maybe),
        ("x < 1", Never),
        ("x = 5", Never),
        ("x not in (5, 6)", Always),
        ("x >= 1", Always),
    ] {
        assert_eq!(verdict(text, d.clone(), &unknown_nans), want, "{text}");
    }
    let nan_upper = range(Value::Double(1.0), Value::Double(f64::NAN));
    for text in ["x < 0", "x > 5", "x not in (0, 5)", "x = 0"] {
        assert_eq!(verdict(text, d.clone(), &nan_upper), Maybe, "{text}");
    }
    let all_nan = Known { nans: Presence::Everywhere, nulls: Presence::Possible, ..Known::default() };
    assert_eq!(verdict("x < 5", d.clone(), &all_nan), Never);
    assert_eq!(verdict("x is not nan", d.clone(), &all_nan), Maybe);
    let all_nan = Known { nulls: Presence::Absent, ..all_nan };
    for text in ["x > 5", "x is nan", "x = 'NaN'", "x != 5", "x >= 'Infinity'"] {
        assert_eq!(verdict(text, d.clone(), &all_nan), Always, "{text}");
    }
    let zeros = range(Value::Double(-0.0), Value::Double(0.0));
    assert_eq!(verdict("x = 0", d.clone(), &zeros), Always);
    assert_eq!(verdict("x < 0.0", d, &zeros), Never);
    let nulls = Known { nulls: Presence::Everywhere, ..Known::default() };
    assert_eq!(verdict("x is not nan", PrimitiveType::Float, &nulls), Always);
    assert_eq!(verdict("x is nan", PrimitiveType::Float, &nulls), Never);
}

/// An empty bound is a value, and bounds in the wrong order tell nothing (traps 10, uuid of the surprises).
#[test]
fn empty_and_contradictory_bounds() {
    use Verdict::*;
    let empty = range(Value::String(String::new()), Value::String(String::new()));
    assert_eq!(verdict("x = ''", PrimitiveType::String, &empty), Always);
    assert_eq!(verdict("x > ''", PrimitiveType::String, &empty), Never);
    let crossed = range(Value::Uuid(u128::MAX), Value::Uuid(0));
    assert_eq!(verdict("x = '00000000-0000-0000-0000-000000000001'", PrimitiveType::Uuid, &crossed), Maybe);
    let of_another_type = range(Value::Double(1.0), Value::Double(2.0));
    assert_eq!(verdict("x = 7", PrimitiveType::Int, &of_another_type), Maybe);
}

/// Bounds cut by a writer or by a truncate partition are no minimum and maximum (traps 7, 11).
#[test]
fn prefixes() {
    use Verdict::*;
    let s = PrimitiveType::String;
    let text = |v: &str| Value::String(v.to_owned());
    let cut = Known { upper_is_prefix: true, ..range(text("ab"), text("ab")) };
    for (filter, want) in [
        ("starts_with(x, 'a')", Always),
        ("starts_with(x, 'ab')", Always),
        ("starts_with(x, 'abc')", Maybe),
        ("starts_with(x, 'b')", Never),
        ("not starts_with(x, 'abc')", Maybe),
        ("not starts_with(x, 'ac')", Always),
        ("not starts_with(x, 'a')", Never),
        ("x = 'ab'", Maybe),
        ("x = 'abz'", Maybe),
        ("x > 'abz'", Maybe),
        ("x <= 'ab'", Maybe),
        ("x < 'ac'", Always),
        ("x in ('aa', 'ac')", Never),
        ("x in ('aa', 'abx')", Maybe),
        ("truncate(2, x) = 'ab'", Always),
        ("truncate(3, x) = 'abc'", Maybe),
        ("truncate(1, x) = 'a'", Always),
    ] {
        assert_eq!(verdict(filter, s.clone(), &cut), want, "{filter}");
    }
    let nullable = Known { nulls: Presence::Possible, ..cut };
    assert_eq!(verdict("not starts_with(x, 'zz')", s, &nullable), Maybe);
}

/// Values may be in range and still in another bucket (trap 2: a date hashes as a long).
#[test]
fn buckets_narrow() {
    use Verdict::*;
    let bucket = |hash: i32, n: i32| (hash & i32::MAX) % n;
    let known = |b| Known { buckets: vec![(16, b, b)], nulls: Presence::Absent, ..Known::default() };
    let b = bucket(-653330422, 16);
    assert_eq!(verdict("x = '2017-11-16'", PrimitiveType::Date, &known(b)), Maybe);
    assert_eq!(verdict("x = '2017-11-16'", PrimitiveType::Date, &known((b + 1) % 16)), Never);
    assert_eq!(verdict("x != '2017-11-16'", PrimitiveType::Date, &known((b + 1) % 16)), Always);
    let b = bucket(2017239379, 16);
    assert_eq!(verdict("x in (34, 34)", PrimitiveType::Long, &known(b)), Maybe);
    assert_eq!(verdict("bucket(16, x) = 3", PrimitiveType::Long, &known(3)), Always);
    assert_eq!(verdict("bucket(16, x) != 3", PrimitiveType::Long, &known(3)), Never);
    assert_eq!(verdict("bucket(8, x) = 3", PrimitiveType::Long, &known(3)), Maybe);
}

#[test]
fn integers_cut_at_the_minimum_wrap() {
    let low = range(Value::Int(i32::MIN), Value::Int(i32::MIN + 1));
    assert_eq!(verdict("truncate(10, x) > 0", PrimitiveType::Int, &low), Verdict::Maybe);
    let no_lower = Known { lower: None, ..range(Value::Int(0), Value::Int(5)) };
    assert_eq!(verdict("truncate(10, x) > 100", PrimitiveType::Int, &no_lower), Verdict::Maybe);
    let usual = range(Value::Int(3), Value::Int(5));
    assert_eq!(verdict("truncate(10, x) = 0", PrimitiveType::Int, &usual), Verdict::Always);
}

#[test]
fn null_tests_of_nested_columns() {
    let list = crate::types::Type::List(std::sync::Arc::new(Field::new(2, "element", false, PrimitiveType::Int)));
    let schema = Schema::new(0, vec![Field::new(1, "x", false, list)], vec![]);
    let on = |nulls| {
        let known = Known { nulls, ..Known::default() };
        evaluate(&bind(&parse("x is null").unwrap(), &schema, true).unwrap(), &known)
    };
    assert_eq!(on(Presence::Absent), Verdict::Never);
    assert_eq!(on(Presence::Everywhere), Verdict::Always);
    assert_eq!(on(Presence::Possible), Verdict::Maybe);
}

/// A string cut to two code points; as an upper bound its last code point is raised, or it has no bound.
fn cut(v: &Value, upper: bool) -> Option<Value> {
    let Value::String(s) = v else { return Some(v.clone()) };
    let mut chars: Vec<char> = s.chars().take(2).collect();
    if !upper || chars.len() == s.chars().count() {
        return Some(Value::String(chars.into_iter().collect()));
    }
    while let Some(last) = chars.pop() {
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(Value::String(chars.into_iter().collect()));
        }
    }
    None
}

fn presence(count: usize, of: usize) -> Presence {
    match count {
        0 => Presence::Absent,
        n if n == of => Presence::Everywhere,
        _ => Presence::Possible,
    }
}

/// Correct bounds of rows, some of them left out.
fn describe(rows: &[Option<Value>], ty: &PrimitiveType, left_out: [bool; 5]) -> Known {
    let present: Vec<&Value> = rows.iter().flatten().collect();
    let mut ordinary: Vec<&Value> = present.iter().copied().filter(|v| !v.as_ref().is_nan()).collect();
    ordinary.sort_by(|a, b| a.sql_cmp(b).unwrap());
    let buckets = match Transform::Bucket(5).accepts(ty) {
        true => present.iter().map(|v| Transform::Bucket(5).apply(v.as_ref(), ty).unwrap()).collect(),
        false => vec![],
    };
    let bucket = |v: &Value| if let Value::Int(b) = v { *b } else { unreachable!() };
    let [lower, upper, nulls, nans, bucketed] = left_out.map(|out| !out);
    Known {
        lower: ordinary.first().filter(|_| lower).and_then(|v| cut(v, false)),
        upper: ordinary.last().filter(|_| upper).and_then(|v| cut(v, true)),
        upper_is_prefix: false,
        nulls: if nulls { presence(rows.len() - present.len(), rows.len()) } else { Presence::Possible },
        nans: if nans { presence(present.len() - ordinary.len(), present.len()) } else { Presence::Possible },
        buckets: match (buckets.iter().map(bucket).min(), buckets.iter().map(bucket).max()) {
            (Some(low), Some(high)) if bucketed => vec![(5, low, high)],
            _ => vec![],
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn never_contradicts_the_rows(
        (ty, rows, filter) in oracle::types()
            .prop_flat_map(|ty| (Just(ty.clone()), oracle::rows(&ty), oracle::filters(&ty))),
        left_out in proptest::array::uniform5(proptest::bool::weighted(0.2)),
    ) {
        let known = describe(&rows, &ty, left_out);
        let kept: Vec<bool> = rows.iter().map(|v| oracle::holds(&filter, v.as_ref()) == Some(true)).collect();
        match evaluate(&filter, &known) {
            Verdict::Never => prop_assert!(kept.iter().all(|k| !k), "{filter} {known:?}"),
            Verdict::Always => prop_assert!(kept.iter().all(|k| *k), "{filter} {known:?}"),
            Verdict::Maybe => {}
        }
        let left = residual(&filter, &known);
        for (row, kept) in rows.iter().zip(kept) {
            prop_assert_eq!(oracle::holds(&left, row.as_ref()) == Some(true), kept, "{} {:?}", left, known);
        }
    }

    /// If all rows have one value and everything is known, every leaf is decided.
    #[test]
    fn decides_constant_columns(
        (ty, cell, filter) in oracle::types()
            .prop_flat_map(|ty| (Just(ty.clone()), oracle::cells(&ty), oracle::filters(&ty)))
            .prop_filter("cut bounds are no point, hours and wrapped numbers are left open", |(ty, cell, f)| {
                let mut plain = true;
                f.for_each_leaf(&mut |l| plain &= l.term.transform == Transform::Identity);
                let short = !matches!(cell, Some(Value::String(s)) if s.chars().count() > 2);
                plain && short && *ty != PrimitiveType::Boolean
            }),
    ) {
        let known = describe(std::slice::from_ref(&cell), &ty, [false; 5]);
        let want = match oracle::holds(&filter, cell.as_ref()) {
            Some(true) => Verdict::Always,
            _ => Verdict::Never,
        };
        prop_assert_eq!(evaluate(&filter, &known), want, "{} {:?}", filter, known);
    }
}
