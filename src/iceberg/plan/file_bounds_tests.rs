use super::*;
use crate::codec::columns::{BytesColumn, ListColumn};
use crate::expr::bounds::{Verdict, evaluate};
use crate::expr::oracle::{self, COLUMN, NAME};
use crate::expr::{bind, parse};
use crate::types::Value;
use crate::types::value::encode_bound;
use proptest::prelude::*;

/// One file's metrics of the column; `MISSING` where a count is not recorded.
struct File {
    records: i64,
    values: i64,
    nulls: i64,
    nans: i64,
    lower: Option<Vec<u8>>,
    upper: Option<Vec<u8>>,
}

impl File {
    fn entry(self) -> EntryColumns {
        let bytes = |v: Option<Vec<u8>>| {
            let mut column = BytesColumn::default();
            assert!(column.push(v.as_deref()));
            column
        };
        let mut split_offsets = ListColumn::default();
        assert!(split_offsets.push(Some(&[4])));
        EntryColumns {
            status: vec![1],
            split_offsets,
            record_count: vec![self.records],
            metrics: vec![MetricColumn {
                field_id: COLUMN,
                value_count: vec![self.values],
                null_count: vec![self.nulls],
                nan_count: vec![self.nans],
                lower: bytes(self.lower),
                upper: bytes(self.upper),
            }],
            ..EntryColumns::default()
        }
    }

    fn verdict(self, test: &str, ty: &PrimitiveType) -> Verdict {
        let text = format!("\"{}\" {test}", NAME.replace('"', "\"\""));
        let filter = bind(&parse(&text).unwrap(), &oracle::schema(ty), true).unwrap();
        evaluate(&filter, &MetricsBounds::new(&self.entry(), 0))
    }
}

fn counts(records: i64, values: i64, nulls: i64, nans: i64) -> File {
    File { records, values, nulls, nans, lower: None, upper: None }
}

fn bounded(lower: Value, upper: Value) -> File {
    File {
        lower: Some(encode_bound(lower.as_ref())),
        upper: Some(encode_bound(upper.as_ref())),
        ..counts(10, 10, 0, MISSING)
    }
}

#[test]
fn counts_tell_of_nulls_and_nans() {
    use Verdict::*;
    let double = PrimitiveType::Double;
    for (file, test, want) in [
        (counts(5, 5, 0, MISSING), "is null", Never),
        (counts(5, 5, 5, MISSING), "is null", Always),
        (counts(5, 5, 5, MISSING), "= 1", Never),
        (counts(5, 5, 3, MISSING), "is null", Maybe),
        (counts(5, MISSING, MISSING, MISSING), "is null", Maybe),
        (counts(5, MISSING, 0, MISSING), "is not null", Always),
        // Members of a null struct are not counted by every writer.
        (counts(5, 3, 0, MISSING), "is null", Maybe),
        (counts(5, 3, 3, MISSING), "is null", Always),
        (counts(5, 0, 0, MISSING), "= 1", Never),
        (counts(0, 0, 0, MISSING), "is null", Never),
        (counts(5, 5, 0, 0), "is nan", Never),
        (counts(5, 5, 0, 0), "is not nan", Always),
        (counts(5, 5, 2, 3), "< 1", Never),
        (counts(5, 5, 2, 3), "> 1", Maybe),
        (counts(5, 5, 0, 5), "> 1", Always),
        // A missing count is unknown, not zero (trap 6).
        (counts(5, 5, 0, MISSING), "is nan", Maybe),
    ] {
        let shown = format!("{} {} {} {} {test}", file.records, file.values, file.nulls, file.nans);
        assert_eq!(file.verdict(test, &double), want, "{shown}");
    }
}

/// Bounds keep the width they were written with (trap 9); zeros and empty values are values (trap 10).
#[test]
fn bounds_of_other_widths_and_empty_ones() {
    use Verdict::*;
    let narrow = bounded(Value::Int(0), Value::Int(5));
    assert_eq!(narrow.verdict("= 6", &PrimitiveType::Long), Never);
    assert_eq!(bounded(Value::Float(1.5), Value::Float(2.5)).verdict("> 2.5", &PrimitiveType::Double), Maybe);
    assert_eq!(bounded(Value::Float(1.5), Value::Float(2.5)).verdict("< 1.5", &PrimitiveType::Double), Never);
    assert_eq!(bounded(Value::Int(0), Value::Int(0)).verdict("> '1970-01-01'", &PrimitiveType::Timestamp), Never);
    let decimal = PrimitiveType::Decimal { precision: 38, scale: 2 };
    assert_eq!(bounded(Value::Decimal(-1), Value::Decimal(127)).verdict("> 1.27", &decimal), Never);
    let empty = bounded(Value::String(String::new()), Value::String(String::new()));
    assert_eq!(empty.verdict("> ''", &PrimitiveType::String), Never);
    let torn = File { lower: Some(vec![1]), ..bounded(Value::Int(1), Value::Int(2)) };
    assert_eq!(torn.verdict("< 1", &PrimitiveType::Int), Maybe);
}

/// Zeros of either sign may hide behind the other (trap 5), and NaN spoils bounds (trap 6). A truncated bound is no
/// minimum or maximum (trap 7). A bound that can't be read is a value, so counts that say all null or all NaN are
/// wrong.
#[test]
fn unreadable_bounds_contradict_counts_of_all() {
    let odd = |nulls, nans| File {
        lower: Some(b"\xff\xfe".to_vec()),
        upper: Some(b"\xff\xff".to_vec()),
        ..counts(10, 10, nulls, nans)
    };
    for (ty, test, nulls, nans) in [
        (PrimitiveType::String, "= 'x'", 10, MISSING),
        (PrimitiveType::String, "is not null", 10, MISSING),
        (PrimitiveType::Double, "= 1", 0, 10),
        (PrimitiveType::Double, "= 1", 10, 0),
    ] {
        assert_ne!(counts(10, 10, nulls, nans).verdict(test, &ty), odd(nulls, nans).verdict(test, &ty), "{test}");
    }
}

#[test]
fn doubtful_bounds() {
    use Verdict::*;
    let d = PrimitiveType::Double;
    assert_eq!(bounded(Value::Double(0.0), Value::Double(1.0)).verdict("= -0.0", &d), Maybe);
    assert_eq!(bounded(Value::Double(0.0), Value::Double(1.0)).verdict("< -0.0", &d), Never);
    assert_eq!(bounded(Value::Double(1.0), Value::Double(f64::NAN)).verdict("not in (5, 6)", &d), Maybe);
    let text = |s: &str| Value::String(s.into());
    assert_eq!(bounded(text("abc"), text("abd")).verdict("= 'abcz'", &PrimitiveType::String), Maybe);
    assert_eq!(bounded(text("abc"), text("abd")).verdict("like 'abc%'", &PrimitiveType::String), Maybe);
    assert_eq!(bounded(text("abc"), text("abd")).verdict("like 'ab%'", &PrimitiveType::String), Always);
}

/// Java compared uuids as signed numbers. Bounds on both sides of the sign are in the wrong order, and half a pair
/// can't be judged.
#[test]
fn signed_uuid_bounds() {
    use Verdict::*;
    let uuid = PrimitiveType::Uuid;
    let one = "= '00000000-0000-0000-0000-000000000001'";
    assert_eq!(bounded(Value::Uuid(1 << 127), Value::Uuid(5)).verdict(one, &uuid), Maybe);
    assert_eq!(bounded(Value::Uuid(2 << 64), Value::Uuid(5 << 64)).verdict(one, &uuid), Never);
    assert_eq!(bounded(Value::Uuid(2), Value::Uuid(2)).verdict(one, &uuid), Never);
    let half = File { upper: None, ..bounded(Value::Uuid(1 << 127), Value::Uuid(5)) };
    assert_eq!(half.verdict(one, &uuid), Maybe);
    // By signed numbers, row groups [00, 40] and [40, ff] together give [00, 40]. So several row groups prove nothing.
    let filter = bind(
        &parse(&format!("\"{}\" = 'ffffffff-ffff-ffff-ffff-ffffffffffff'", NAME.replace('"', "\"\""))).unwrap(),
        &oracle::schema(&uuid),
        true,
    )
    .unwrap();
    for (offsets, want) in [(Some(&[4][..]), Never), (Some(&[4, 900]), Maybe), (None, Maybe)] {
        let mut entry = bounded(Value::Uuid(0), Value::Uuid(0x40 << 120)).entry();
        entry.split_offsets = ListColumn::default();
        assert!(entry.split_offsets.push(offsets));
        assert_eq!(evaluate(&filter, &MetricsBounds::new(&entry, 0)), want, "{offsets:?}");
    }
}

/// ORC files have null counts of structs, lists and maps.
#[test]
fn nulls_of_nested_columns() {
    let inner: std::sync::Arc<[crate::types::Field]> = vec![].into();
    let column = crate::types::Field::new(COLUMN, "st", false, crate::types::Type::Struct(inner));
    let schema = crate::types::Schema::new(0, vec![column], vec![]);
    let filter = bind(&parse("st is null").unwrap(), &schema, true).unwrap();
    let on = |file: File| evaluate(&filter, &MetricsBounds::new(&file.entry(), 0));
    assert_eq!(on(counts(5, 5, 0, MISSING)), Verdict::Never);
    assert_eq!(on(counts(5, 5, 5, MISSING)), Verdict::Always);
    assert_eq!(on(counts(5, MISSING, MISSING, MISSING)), Verdict::Maybe);
}

#[test]
fn columns_without_metrics_tell_nothing() {
    let filter = bind(&parse("a is null or a = 1").unwrap(), &schema_with_a(), true).unwrap();
    assert_eq!(evaluate(&filter, &MetricsBounds::new(&EntryColumns::default(), 0)), Verdict::Maybe);
    assert_eq!(evaluate(&filter, &MetricsBounds::new(&counts(5, 5, 0, 0).entry(), 9)), Verdict::Maybe);
}

fn schema_with_a() -> crate::types::Schema {
    crate::types::Schema::new(0, vec![crate::types::Field::new(1, "a", false, PrimitiveType::Int)], vec![])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn metrics_never_contradict_the_rows(
        (rows, filter) in oracle::types().prop_flat_map(|ty| (oracle::rows(&ty), oracle::filters(&ty))),
        known in proptest::array::uniform5(proptest::bool::weighted(0.8)),
    ) {
        let mut ordinary: Vec<&Value> = rows.iter().flatten().filter(|v| !v.as_ref().is_nan()).collect();
        ordinary.sort_by(|a, b| a.sql_cmp(b).unwrap());
        let count = |n: usize, known: bool| if known { n as i64 } else { MISSING };
        let nulls = rows.iter().filter(|v| v.is_none()).count();
        let entry = File {
            records: rows.len() as i64,
            values: count(rows.len(), known[0]),
            nulls: count(nulls, known[1]),
            nans: count(rows.len() - nulls - ordinary.len(), known[2]),
            lower: ordinary.first().filter(|_| known[3]).map(|v| encode_bound(v.as_ref())),
            upper: ordinary.last().filter(|_| known[4]).map(|v| encode_bound(v.as_ref())),
        }
        .entry();
        let kept: Vec<bool> = rows.iter().map(|v| oracle::holds(&filter, v.as_ref()) == Some(true)).collect();
        match evaluate(&filter, &MetricsBounds::new(&entry, 0)) {
            Verdict::Never => prop_assert!(kept.iter().all(|k| !k), "{filter} {rows:?}"),
            Verdict::Always => prop_assert!(kept.iter().all(|k| *k), "{filter} {rows:?}"),
            Verdict::Maybe => {}
        }
    }

    #[test]
    fn any_metrics_are_harmless(
        filter in oracle::types().prop_flat_map(|ty| oracle::filters(&ty)),
        counts in proptest::array::uniform4(any::<i64>()),
        lower in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        upper in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
    ) {
        let [records, values, nulls, nans] = counts;
        evaluate(&filter, &MetricsBounds::new(&File { records, values, nulls, nans, lower, upper }.entry(), 0));
    }
}
