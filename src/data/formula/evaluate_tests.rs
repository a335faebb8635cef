//! Results are those of Spark 4 in ANSI mode with the time zone UTC, except where a test says otherwise.

use std::collections::HashMap;

use arrow::array::{ArrayRef, AsArray};
use arrow::buffer::BooleanBuffer;

use crate::data::declared_types::declared_cast::array_of;
use crate::data::read::filter::matches;
use crate::error::Result;
use crate::expr::json::{predicate_from_json, predicate_to_json};
use crate::expr::{bind, parse};
use crate::types::{Field, FieldId, PrimitiveType as P, Schema, Value};

fn schema() -> Schema {
    let columns = [
        ("i", P::Int),
        ("l", P::Long),
        ("f", P::Float),
        ("d", P::Double),
        ("n", P::Decimal { precision: 9, scale: 2 }),
        ("s", P::String),
        ("b", P::Boolean),
        ("day", P::Date),
        ("ts", P::Timestamp),
        ("tz", P::Timestamptz),
        ("u", P::Uuid),
    ];
    let field = |(i, (name, ty)): (usize, (&str, P))| Field::new(i as i32 + 1, name, false, ty);
    Schema::new(0, columns.into_iter().enumerate().map(field).collect::<Vec<_>>(), vec![])
}

fn days(text: &str) -> i32 {
    crate::types::temporal::parse_date(text).unwrap() as i32
}

fn micros(text: &str) -> i64 {
    crate::types::temporal::parse_timestamp(text, 1_000_000).unwrap().0
}

/// Four rows; the last has only nulls.
fn columns() -> HashMap<FieldId, ArrayRef> {
    let text = |s: &str| Value::String(s.to_owned());
    let rows = [
        vec![Value::Int(1), Value::Int(-7), Value::Int(i32::MAX)],
        vec![Value::Long(10), Value::Long(3), Value::Long(i64::MAX)],
        vec![Value::Float(1.5), Value::Float(-0.0), Value::Float(f32::NAN)],
        vec![Value::Double(1.5), Value::Double(0.0), Value::Double(f64::NAN)],
        vec![Value::Decimal(150), Value::Decimal(-25), Value::Decimal(999_999_999)],
        vec![text("Abc"), text("12"), text("50%_x")],
        vec![Value::Boolean(true), Value::Boolean(false), Value::Boolean(true)],
        vec![Value::Int(days("2024-01-31")), Value::Int(days("2023-12-31")), Value::Int(days("1969-12-31"))],
        vec![
            Value::Long(micros("2024-01-31T12:00:00")),
            Value::Long(micros("2023-12-31T00:00:00")),
            Value::Long(micros("1969-12-31T23:59:59.999999")),
        ],
        vec![Value::Long(micros("2024-01-31T00:00:00")), Value::Long(micros("2024-01-01T00:00:00")), Value::Long(-1)],
        vec![Value::Uuid(1), Value::Uuid(2), Value::Uuid(3)],
    ];
    let fields = schema().fields;
    let column = |(field, values): (&Field, Vec<Value>)| {
        let values = values.into_iter().map(Some).chain([None]).collect();
        (field.id, array_of(values, field.ty.as_primitive().unwrap()).unwrap())
    };
    fields.iter().zip(rows).map(column).collect()
}

fn kept(filter: &str) -> Result<String> {
    let columns = columns();
    let read = parse(filter)?;
    let bound = bind(&read, &schema(), true)?;
    let mask = matches(&bound, 4, &|id| columns.get(&id).cloned())?;
    // Text and JSON say the same.
    let again = bind(&parse(&bound.to_string())?, &schema(), true)?;
    assert_eq!(again, bound, "{filter}: {bound}");
    let json = predicate_from_json(&predicate_to_json(&bound))?;
    assert_eq!(bind(&json, &schema(), true)?, bound, "{filter}");
    assert_eq!(bind(&parse(&read.to_string())?, &schema(), true)?, bound, "{filter}: {read}");
    Ok(shown(&mask))
}

/// The numbers of the kept rows.
fn shown(mask: &BooleanBuffer) -> String {
    mask.set_indices().map(|row| row.to_string()).collect()
}

fn check(cases: &[(&str, &str)]) {
    for (filter, want) in cases {
        assert_eq!(kept(filter).unwrap_or_else(|e| panic!("{filter}: {e}")), *want, "{filter}");
    }
}

#[test]
fn texts() {
    check(&[
        ("lower(s) = 'abc'", "0"),
        ("upper(s) in ('ABC', '12')", "01"),
        ("lower(s) != 'abc'", "12"),
        ("not (lower(s) = 'abc')", "12"),
        ("lower(s) is null", "3"),
        ("lower(s) is not null", "012"),
        ("s like '%b%'", "0"),
        ("s not like '%b%'", "12"),
        ("not s like '%b%'", "12"),
        ("s like 'A_c'", "0"),
        ("s like '50\\%\\__'", "2"),
        ("s like '50/%/_x' escape '/'", "2"),
        ("s like '5%x'", "2"),
        ("s ilike 'aB%'", "0"),
        ("contains(s, '%')", "2"),
        ("not contains(s, '%')", "01"),
        ("ends_with(s, '_x')", "2"),
        ("starts_with(lower(s), 'ab')", "0"),
        ("lower(s) like 'a%' or s = '12'", "01"),
        ("lower('ABC') = 'abc'", "0123"),
        ("s = lower(s)", "12"),
    ]);
}

#[test]
fn numbers() {
    check(&[
        ("i + 1 = 2", "0"),
        ("1 + i = 2", "0"),
        // Integers are computed with 64 bits. In Spark this overflows.
        ("i + 1 > 2147483647", "2"),
        ("i - 1 < 0", "1"),
        ("-i > 0", "1"),
        ("-(i + 1) = -2", "0"),
        ("i * 2 = -14", "1"),
        ("i * 2 in (2, -14)", "01"),
        ("i * 2 not in (2)", "12"),
        ("i % 3 = -1", "1"),
        ("i / 2 = 0.5", "0"),
        ("i / 2 = -3.5", "1"),
        ("(i + 1) * 2 = 4", "0"),
        ("2 * (i + 1) = 4", "0"),
        ("i + 1 * 2 = 3", "0"),
        ("i - 1 - 1 = -1", "0"),
        ("i between 0 and 1 + 1", "0"),
        ("i + 1 between 2 and 3", "0"),
        ("i < l", "012"),
        ("i = l - 10", "1"),
        ("l >= 2 * 5", "02"),
        ("d * 2 = 3", "0"),
        ("d * 2 is nan", "2"),
        ("isnan(d)", "2"),
        ("not isnan(d)", "013"),
        ("isnan(i)", ""),
        ("not isnan(i)", "0123"),
        ("isnan(d) or d != d", "2"),
        ("not (isnan(d) or d != d)", "01"),
        ("d > 1 and not isnan(d)", "0"),
        ("d > f", ""),
        ("d = f", "012"),
        ("not d = f", ""),
        ("d != f", ""),
        ("f + 1 = 2.5", "0"),
        ("n + 0.5 = 2", "0"),
        ("n - n = 0", "012"),
        ("n * 2 = 3", "0"),
        ("n * n = 2.25", "0"),
        ("n * n = 99999999800000.0001", "2"),
        ("n > i", "01"),
        ("n = d", "0"),
        ("n + i = 2.5", "0"),
        ("i in (1, l - 10)", "01"),
        ("i not in (1, l - 10)", "2"),
        ("1 = 1", "0123"),
        ("1 + 1 > 3", ""),
        ("i = i", "012"),
        ("i != i", ""),
    ]);
}

#[test]
fn dates_and_times() {
    check(&[
        ("day + 1 = date '2024-02-01'", "0"),
        ("day - 31 = '2023-12-31'", "0"),
        ("date_add(day, 1) = '2024-01-01'", "1"),
        ("date_sub(day, 31) = '2023-12-31'", "0"),
        ("datediff(day, '2024-01-01') = 30", "0"),
        ("day - date '2024-01-01' = 30", "0"),
        ("day + interval '1 month' = '2024-02-29'", "0"),
        ("day + interval 1 month = '2024-01-31'", "1"),
        ("day - interval '1 year 1 month' = '2022-12-31'", "0"),
        ("ts + interval '12 hours' = '2024-02-01'", "0"),
        ("ts - interval '3' day = timestamp '2024-01-28 12:00:00'", "0"),
        ("ts >= date '2024-01-01' + 30", "0"),
        ("ts >= date '2024-01-01' + interval '30 days'", "0"),
        ("ts < current_date", "012"),
        ("tz <= current_timestamp - interval '1 day'", "012"),
        ("day > current_date - 7", ""),
        ("day < now()", "012"),
        ("day = cast(ts as date)", "012"),
        ("ts > day", "02"),
        ("ts = day", "1"),
        ("tz = day", "0"),
        ("tz = timestamp '2024-01-01 00:00:00'", "1"),
        ("day = timestamp '2024-01-31 00:00:00'", "0"),
        ("cast(day as timestamp) < ts", "02"),
        ("year(ts) = year(day)", "012"),
        ("month(ts) + 1 = month(tz)", "1"),
        ("day(ts) = day", "012"),
    ]);
}

#[test]
fn casts() {
    check(&[
        ("cast(i as string) = '1'", "0"),
        ("cast(n as string) = '1.50'", "0"),
        ("cast(l as double) / 4 = 2.5", "0"),
        ("cast(n as int) = 1", "0"),
        ("cast(b as string) = 'true'", "02"),
        ("cast(day as string) like '2024-%'", "0"),
        ("cast(ts as string) = '2024-01-31 12:00:00'", "0"),
        ("cast(u as string) like '%0002'", "1"),
        ("try_cast(s as int) = 12", "1"),
        ("try_cast(s as int) is null", "023"),
        ("try_cast(s as int) is not null", "1"),
        ("try_cast(l as int) is null", "23"),
        ("s = '12' and cast(s as int) = 12", "1"),
        ("cast(s as int) = 12 and s = '12'", "1"),
        ("s != '12' or cast(s as int) = 12", "012"),
        ("day >= cast('2024-01-01' as date)", "0"),
        ("cast(i as decimal(12, 2)) = 1.00", "0"),
        ("cast(n as decimal(4, 1)) = 1.5 and i = 1", "0"),
    ]);
}

#[test]
fn truth_values() {
    check(&[
        ("b is true", "02"),
        ("b is false", "1"),
        ("b is not true", "13"),
        ("b is not false", "023"),
        ("not (b is true)", "13"),
        ("b is unknown", "3"),
        ("b is not unknown", "012"),
        ("b = (b)", "012"),
        ("not b", "1"),
        ("(i) = 1", "0"),
    ]);
}

#[test]
fn errors_name_the_value_and_the_column() {
    for (filter, want, context) in [
        ("cast(s as int) > 5", "'Abc' can't be cast from string to int", "cast(s as int)"),
        ("l + 1 > 5", "the result of 9223372036854775807 + 1 is beyond the values of type long", "l + 1"),
        ("10 / d > 1", "1e1 is divided by zero", "10 / d"),
        ("l % (i + 7) > 1", "3 is divided by zero", "l % (i + 7)"),
        ("cast(l as int) > 5", "9223372036854775807 can't be cast from long to int", "cast(l as int)"),
        (
            "day + l > '2024-01-01'",
            "the result of 1969-12-31 + 9223372036854775807 is beyond the values of type date",
            "day + l",
        ),
    ] {
        let error = kept(filter).unwrap_err();
        assert_eq!(error.message(), want, "{filter}");
        assert_eq!(error.kind().as_str(), "invalid_input");
        assert!(error.context().iter().any(|(k, v)| *k == "expression" && v == context), "{filter}: {error}");
    }
}

#[test]
fn filters_that_mean_nothing_are_refused() {
    for (filter, want) in [
        ("s + 1 = 2", "`+` can't be applied to the types string and long"),
        ("lower(i) = 'a'", "lower needs a string, not a int"),
        ("s = i", "values of type string can't be compared with values of type int"),
        ("day = i", "values of type date can't be compared with values of type int"),
        ("n / 2 > 1", "decimals can't be divided exactly"),
        ("day + interval '1 hour' > '2024-01-01'", "an interval with hours or less can't be added to a date"),
        ("i + interval '1 day' > 5", "an interval can't be added to the type int"),
        ("cast(b as int) = 1", "there is no cast from boolean to int"),
        ("i like '%1%'", "values of type int have no patterns with `%` or `_` inside"),
        ("i is true", "`is true` needs a truth value, not a int"),
        ("day > date '2024-13-01' + 1", "'2024-13-01' is not a date"),
        ("i + interval '1 fortnight' > 5", "an interval has whole numbers with units"),
        ("cast(i as varchar) = '1'", "no type `varchar`"),
        ("median(i) = 1", "no function `median`"),
        ("i = null", "expected a value, found `null`"),
        ("day = interval '1 day'", "an interval stands alone"),
    ] {
        let error = kept(filter).expect_err(filter).to_string();
        assert!(error.contains(want), "{filter}: {error}");
    }
    let deep = format!("{}i{} + 1 > 0", "(".repeat(201), ")".repeat(201));
    assert!(parse(&deep).unwrap_err().to_string().contains("more than 200 parentheses"));
    let long = format!("i{} > 0", " + 1".repeat(300));
    assert!(parse(&long).unwrap_err().to_string().contains("more than 100 operations"));
}

#[test]
fn the_longest_formulas_fit_into_a_small_stack() {
    let filter = format!("{}i{} > 0", "-(".repeat(100), ")".repeat(100));
    assert_eq!(kept(&filter).unwrap(), "02");
    assert_eq!(kept(&format!("i{} > 101", " + 1".repeat(100))).unwrap(), "2");
}

/// Constants are computed once, so comparisons with them are those of plain columns.
#[test]
fn tests_of_constants_become_leaves() {
    let bound = |text: &str| bind(&parse(text).unwrap(), &schema(), true).unwrap().to_string();
    assert_eq!(bound("ts >= date '2024-01-31' - 30"), "ts >= '2024-01-01T00:00:00'");
    assert_eq!(bound("tz < timestamp '2024-01-31 12:00:00' + interval '1 month'"), "tz < '2024-02-29T12:00:00+00:00'");
    assert_eq!(bound("i > 2 * 3"), "i > 6");
    assert_eq!(bound("s = lower('ABC')"), "s = 'abc'");
    assert_eq!(bound("s like 'ab%'"), "starts_with(s, 'ab')");
    assert_eq!(bound("s like 'ab%d'"), "s like 'ab%d'");
    assert_eq!(bound("i + 1 > 2.5"), "i + 1 >= 3");
    assert_eq!(bound("b is true"), "b = true");
    assert_eq!(columns()[&1].as_primitive::<arrow::datatypes::Int32Type>().len(), 4);
}
