use super::*;
use PrimitiveType as P;

fn cast(values: Vec<Option<Value>>, from: (P, &str), to: (P, &str)) -> Result<Vec<Option<Value>>> {
    let (from, to) = (Declared::new(&from.0, Some(from.1)), Declared::new(&to.0, Some(to.1)));
    let cast = DeclaredCast::plan(&from, &to)?.expect("a cast that loses something");
    let out = cast.apply(&array_of(values, &from.ty)?)?;
    Ok((0..out.len()).map(|row| value_at(&out, row, &to.ty).map(ValueRef::to_owned)).collect())
}

fn one(value: Value, from: (P, &str), to: (P, &str)) -> Option<Value> {
    cast(vec![Some(value)], from, to).unwrap().remove(0)
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

const STRING: (P, &str) = (P::String, "STRING");
const INT: (P, &str) = (P::Int, "INT");
const LONG: (P, &str) = (P::Long, "BIGINT");
const DOUBLE: (P, &str) = (P::Double, "DOUBLE");
const DEC: (P, &str) = (P::Decimal { precision: 5, scale: 2 }, "DECIMAL(5, 2)");

#[test]
fn promotions_are_no_casts() {
    let plan = |a: (P, &str), b: (P, &str)| {
        DeclaredCast::plan(&Declared::new(&a.0, Some(a.1)), &Declared::new(&b.0, Some(b.1))).unwrap()
    };
    for (a, b) in [
        (INT, LONG),
        ((P::Int, "TINYINT"), INT),
        ((P::Int, "SMALLINT"), LONG),
        ((P::Float, "FLOAT"), DOUBLE),
        (DEC, (P::Decimal { precision: 7, scale: 2 }, "DECIMAL(7, 2)")),
        ((P::String, "CHAR(3)"), (P::String, "VARCHAR(3)")),
        ((P::String, "VARCHAR(3)"), STRING),
        ((P::Timestamp, "TIMESTAMP(3)"), (P::Timestamp, "TIMESTAMP(6)")),
    ] {
        assert_eq!(plan(a.clone(), b.clone()), None, "{a:?} {b:?}");
    }
    assert!(plan(INT, (P::Int, "SMALLINT")).is_some());
    assert!(plan(STRING, (P::String, "CHAR(3)")).is_some());
    let refused = DeclaredCast::plan(&Declared::new(&P::Boolean, None), &Declared::new(&P::Date, None));
    assert_eq!(refused.unwrap_err().kind(), crate::error::ErrorKind::Unsupported);
}

/// The results of Java's `Number.byteValue` and its siblings.
#[test]
fn numbers_lose_what_does_not_fit() {
    assert_eq!(one(Value::Long(4_294_967_297), LONG, INT), Some(Value::Int(1)));
    assert_eq!(one(Value::Int(383), INT, (P::Int, "TINYINT")), Some(Value::Int(127)));
    assert_eq!(one(Value::Int(40_000), INT, (P::Int, "SMALLINT")), Some(Value::Int(-25_536)));
    assert_eq!(one(Value::Double(1e300), DOUBLE, LONG), Some(Value::Long(i64::MAX)));
    assert_eq!(one(Value::Double(-2.9), DOUBLE, INT), Some(Value::Int(-2)));
    assert_eq!(one(Value::Double(300.5), DOUBLE, (P::Int, "TINYINT")), Some(Value::Int(44)));
    assert_eq!(one(Value::Double(f64::NAN), DOUBLE, INT), Some(Value::Int(0)));
    assert_eq!(one(Value::Decimal(-199), DEC, INT), Some(Value::Int(-1)));
    assert_eq!(one(Value::Decimal(175), DEC, DOUBLE), Some(Value::Double(1.75)));
    assert_eq!(one(Value::Int(1000), INT, DEC), None);
    assert_eq!(one(Value::Int(999), INT, DEC), Some(Value::Decimal(99_900)));
    assert_eq!(one(Value::Double(1.005), DOUBLE, DEC), Some(Value::Decimal(101)));
    assert_eq!(one(Value::Double(-1.005), DOUBLE, DEC), Some(Value::Decimal(-101)));
    let narrow = (P::Decimal { precision: 3, scale: 1 }, "DECIMAL(3, 1)");
    assert_eq!(one(Value::Decimal(9_994), DEC, narrow.clone()), Some(Value::Decimal(999)));
    assert_eq!(one(Value::Decimal(9_995), DEC, narrow), None);
    assert_eq!(one(Value::Boolean(true), (P::Boolean, "BOOLEAN"), DEC), Some(Value::Decimal(100)));
    assert_eq!(one(Value::Int(-1), INT, (P::Boolean, "BOOLEAN")), Some(Value::Boolean(true)));
}

/// Texts in the form that `Double.toString` and `Float.toString` document. Dates and times have Paimon's form.
#[test]
fn values_become_text_as_java_writes_it() {
    let text = |value, from| match one(value, from, STRING) {
        Some(Value::String(text)) => text,
        other => panic!("{other:?}"),
    };
    for (value, expected) in [
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.000_99, "9.9E-4"),
        (9_999_999.0, "9999999.0"),
        (10_000_000.0, "1.0E7"),
        (-123.456, "-123.456"),
        (1e21, "1.0E21"),
        (-0.0, "-0.0"),
        (f64::NEG_INFINITY, "-Infinity"),
        (120.0, "120.0"),
    ] {
        assert_eq!(text(Value::Double(value), DOUBLE), expected);
    }
    assert_eq!(text(Value::Float(0.1), (P::Float, "FLOAT")), "0.1");
    assert_eq!(text(Value::Decimal(-5), DEC), "-0.05");
    assert_eq!(text(Value::Boolean(false), (P::Boolean, "BOOLEAN")), "false");
    assert_eq!(text(Value::Int(19_723), (P::Date, "DATE")), "2024-01-01");
    let ts = |digits: &'static str| (P::Timestamp, digits);
    assert_eq!(text(Value::Long(1_500_000), ts("TIMESTAMP(3)")), "1970-01-01 00:00:01.500");
    assert_eq!(text(Value::Long(1_500_100), ts("TIMESTAMP(6)")), "1970-01-01 00:00:01.500100");
    assert_eq!(text(Value::Long(-1_000_000), ts("TIMESTAMP(0)")), "1969-12-31 23:59:59");
    assert_eq!(text(Value::Long(3_723_050_000), (P::Time, "TIME(3)")), "01:02:03.05");
    assert_eq!(text(Value::Long(3_723_000_000), (P::Time, "TIME(0)")), "01:02:03");
    assert_eq!(one(string("żółw"), STRING, (P::String, "CHAR(2)")), Some(string("żó")));
    assert_eq!(one(string("ż"), STRING, (P::String, "CHAR(2)")), Some(string("ż ")));
    assert_eq!(one(Value::Int(1234), INT, (P::String, "VARCHAR(3)")), Some(string("123")));
    let bytes = |n: &[u8]| Some(Value::Bytes(n.to_vec()));
    assert_eq!(one(string("ab"), STRING, (P::Binary, "BINARY(3)")), bytes(b"ab\0"));
}

#[test]
fn text_becomes_values() {
    let of = |text: &str, to: (P, &str)| cast(vec![Some(string(text)), None], STRING, to).map(|v| v[0].clone());
    let ts = |digits: &'static str| (P::Timestamp, digits);
    assert_eq!(of("-12.9", INT).unwrap(), Some(Value::Int(-12)));
    assert_eq!(of("200", (P::Int, "TINYINT")).unwrap_err().kind(), crate::error::ErrorKind::InvalidInput);
    assert_eq!(of("1.5e3", DOUBLE).unwrap(), Some(Value::Double(1500.0)));
    assert_eq!(of("12345.678", DEC).unwrap(), None);
    assert_eq!(of("12.345", DEC).unwrap(), Some(Value::Decimal(1235)));
    assert_eq!(of("YES", (P::Boolean, "BOOLEAN")).unwrap(), Some(Value::Boolean(true)));
    assert_eq!(of("2024-1-2 09:30:00", (P::Date, "DATE")).unwrap(), Some(Value::Int(19_724)));
    assert_eq!(of("-7", (P::Date, "DATE")).unwrap(), Some(Value::Int(-7)));
    assert_eq!(of("-1500", ts("TIMESTAMP(3)")).unwrap(), Some(Value::Long(-1_500_000)));
    assert_eq!(of("10:00:01.2345", (P::Time, "TIME(3)")).unwrap(), Some(Value::Long(36_001_235_000)));
    assert_eq!(of("1970-01-01 00:00:01.123456", ts("TIMESTAMP(3)")).unwrap(), Some(Value::Long(1_123_000)));
    assert_eq!(of("1500", ts("TIMESTAMP(3)")).unwrap(), Some(Value::Long(1_500_000)));
    for (text, to) in
        [("x", INT), ("", INT), ("2024-02-30", (P::Date, "DATE")), ("maybe", (P::Boolean, "BOOLEAN")), ("in", DOUBLE)]
    {
        assert!(of(text, to).is_err(), "{text}");
    }
}

#[test]
fn times_change_their_units() {
    let (ms, s, us) = ((P::Timestamp, "TIMESTAMP(3)"), (P::Timestamp, "TIMESTAMP(0)"), (P::Timestamp, "TIMESTAMP(6)"));
    assert_eq!(one(Value::Long(86_399_999_000), ms.clone(), (P::Date, "DATE")), Some(Value::Int(0)));
    assert_eq!(one(Value::Long(-1_000), ms.clone(), (P::Date, "DATE")), Some(Value::Int(0)));
    let zoned = (P::Timestamptz, "TIMESTAMP(3) WITH LOCAL TIME ZONE");
    assert_eq!(one(Value::Long(-1_000), zoned, (P::Date, "DATE")), Some(Value::Int(-1)));
    assert_eq!(one(Value::Long(1_999_999), us.clone(), s.clone()), Some(Value::Long(1_000_000)));
    assert_eq!(one(Value::Long(1_999_999), us.clone(), ms.clone()), Some(Value::Long(1_999_000)));
    assert_eq!(one(Value::Long(1_999_999), us, LONG), Some(Value::Long(1)));
    assert_eq!(one(Value::Int(1), (P::Date, "DATE"), ms.clone()), Some(Value::Long(86_400_000_000)));
    assert_eq!(one(Value::Int(7), INT, ms), Some(Value::Long(7_000_000)));
    let ns = (P::TimestampNs, "TIMESTAMP(9)");
    assert_eq!(one(Value::Long(1_000_001_999), ns, s), Some(Value::Long(1_000_000)));
}
