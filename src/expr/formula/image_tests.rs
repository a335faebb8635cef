use crate::expr::bounds::{Bounds, ColumnBounds, Presence, Verdict, evaluate};
use crate::expr::{bind, parse};
use crate::types::{Field, FieldId, PrimitiveType as P, Schema, Value, temporal};

/// Columns `i` from 10 to 20, `l` from 30 to 40, `d` from -2.0 to 4.0, `s` from 'ab' to 'b', `day` from 2024-01-10 to
/// 2024-01-20, and `x`, of which nothing is known.
struct Known(Vec<(FieldId, Value, Value)>);

impl Bounds for Known {
    fn column<'a>(&'a self, field: FieldId, _: &P) -> ColumnBounds<'a> {
        match self.0.iter().find(|(id, ..)| *id == field) {
            Some((_, lower, upper)) => ColumnBounds {
                lower: Some(lower.as_ref()),
                upper: Some(upper.as_ref()),
                nulls: Presence::Absent,
                nans: Presence::Absent,
                ..ColumnBounds::default()
            },
            None => ColumnBounds::default(),
        }
    }
}

fn verdict(filter: &str) -> Verdict {
    let columns = [("i", P::Int), ("l", P::Long), ("d", P::Double), ("s", P::String), ("day", P::Date), ("x", P::Long)];
    let fields: Vec<Field> = (1..).zip(columns).map(|(id, (name, ty))| Field::new(id, name, false, ty)).collect();
    let day = |text| Value::Int(temporal::parse_date(text).unwrap() as i32);
    let text = |s: &str| Value::String(s.to_owned());
    let known = Known(vec![
        (1, Value::Int(10), Value::Int(20)),
        (2, Value::Long(30), Value::Long(40)),
        (3, Value::Double(-2.0), Value::Double(4.0)),
        (4, text("ab"), text("b")),
        (5, day("2024-01-10"), day("2024-01-20")),
    ]);
    evaluate(&bind(&parse(filter).unwrap(), &Schema::new(0, fields, vec![]), true).unwrap(), &known)
}

#[test]
fn bounds_of_columns_decide_formulas() {
    use Verdict::{Always, Maybe, Never};
    for (filter, want) in [
        ("i + 1 > 21", Never),
        ("i + 1 > 10", Always),
        ("i + 1 > 15", Maybe),
        ("1 - i > -9", Never),
        ("i * -2 <= -20", Always),
        ("i * l < 300", Never),
        ("d * d > 16", Never),
        ("d * d >= -8", Always),
        ("i / 2 > 10", Never),
        ("i / d > 100", Maybe),
        ("i % 3 = 5", Maybe),
        ("-i > -10", Never),
        ("i < l", Always),
        ("i >= l", Never),
        ("i = l", Never),
        ("i != l", Always),
        ("i + 25 < l", Maybe),
        ("i < x", Maybe),
        ("x + 1 > 5", Maybe),
        ("x + 1 is null", Maybe),
        ("i + 1 is null", Never),
        ("cast(i as bigint) > 20", Never),
        ("cast(i as double) > 20.5", Never),
        ("cast(day as timestamp) < '2024-01-10'", Never),
        ("day + 5 > '2024-01-25'", Never),
        ("day - interval '1 month' < '2023-12-10'", Never),
        ("date '2024-01-25' - day < 5", Never),
        ("day > date '2024-01-15' + 5", Never),
        ("day(day) + 1 > '2024-01-21'", Never),
        ("lower(s) = 'zz'", Maybe),
        ("lower(s) is null", Never),
        ("s like 'c%x'", Never),
        ("s like 'a%x'", Maybe),
        ("s like '%x'", Maybe),
        ("s not like 'c%x'", Maybe),
        ("cast(s as int) > 5", Maybe),
        // An error in a row must not be missed, so such a test is never known to hold.
        ("cast(s as int) is not null", Maybe),
        ("try_cast(s as int) is not null", Maybe),
        ("cast(i as double) is nan", Never),
    ] {
        assert_eq!(verdict(filter), want, "{filter}");
    }
}

/// A sum that may be beyond the type has no bounds: its rows give an error.
#[test]
fn results_beyond_the_type_prove_nothing() {
    assert_eq!(verdict("l + 9223372036854775800 > 0"), Verdict::Maybe);
    assert_eq!(verdict("l * 9223372036854775800 < 0"), Verdict::Maybe);
}
