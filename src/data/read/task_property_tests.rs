//! Random files under random filters, compared with an evaluation of every single row. Row groups and pages are small.
//! So pruning has much work, and each wrong bound loses rows.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Int32Array, RecordBatch,
    StringArray, StructArray, TimestampMillisecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use proptest::prelude::*;

use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{field, leaf, projecting, read, rows, schema, structure, task, term, write_batch};
use crate::expr::{BoundPredicate, Op};
use crate::types::{PrimitiveType as P, Schema, Transform, Value, ValueRef};

/// One row of the file: int, float, string, date, decimal, boolean, milliseconds, and a struct of bytes.
type Row = (
    Option<i32>,
    Option<f32>,
    Option<String>,
    Option<i32>,
    Option<i64>,
    Option<bool>,
    Option<i64>,
    Option<Option<Vec<u8>>>,
);

/// The schema the file was written with.
fn old() -> Schema {
    schema(vec![
        field(1, "i", P::Int),
        field(2, "f", P::Float),
        field(3, "s", P::String),
        field(4, "d", P::Date),
        field(5, "n", P::Decimal { precision: 9, scale: 2 }),
        field(6, "b", P::Boolean),
        field(8, "st", structure(vec![field(9, "x", P::Binary)])),
        field(11, "row", P::Int),
    ])
}

/// The schema the table has now: columns are wider, one is new, milliseconds are microseconds.
fn now() -> Schema {
    schema(vec![
        field(11, "row", P::Long),
        field(1, "i", P::Long),
        field(2, "f", P::Double),
        field(3, "s", P::String),
        field(4, "d", P::Timestamp),
        field(5, "n", P::Decimal { precision: 30, scale: 2 }),
        field(6, "b", P::Boolean),
        field(7, "ts", P::Timestamptz),
        field(8, "st", structure(vec![field(9, "x", P::Binary), field(12, "new", P::Int)])),
        field(10, "absent", P::Int),
    ])
}

/// The value of a column of [`now`] in a row.
fn value(row: &Row, id: i32) -> Option<Value> {
    const DAY: i64 = 86_400_000_000;
    match id {
        1 => row.0.map(|v| Value::Long(v.into())),
        2 => row.1.map(|v| Value::Double(v.into())),
        3 => row.2.clone().map(Value::String),
        4 => row.3.map(|v| Value::Long(i64::from(v) * DAY)),
        5 => row.4.map(|v| Value::Decimal(v.into())),
        6 => row.5.map(Value::Boolean),
        7 => row.6.map(|v| Value::Long(v * 1000)),
        9 => row.7.clone().flatten().map(Value::Bytes),
        _ => None,
    }
}

fn batch(data: &[Row]) -> RecordBatch {
    let old = to_arrow(&old()).unwrap();
    let milliseconds = ArrowField::new("ts", DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, None), true)
        .with_metadata([("PARQUET:field_id".to_owned(), "7".to_owned())].into());
    let mut fields = old.fields().to_vec();
    fields.push(Arc::new(milliseconds));
    let DataType::Struct(members) = fields[6].data_type().clone() else { unreachable!() };
    let inner: BinaryArray = data.iter().map(|r| r.7.clone().flatten()).collect();
    let valid = NullBuffer::from(data.iter().map(|r| r.7.is_some()).collect::<Vec<_>>());
    let decimals: Decimal128Array = data.iter().map(|r| r.4.map(i128::from)).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(data.iter().map(|r| r.0).collect::<Int32Array>()),
        Arc::new(data.iter().map(|r| r.1).collect::<Float32Array>()),
        Arc::new(data.iter().map(|r| r.2.clone()).collect::<StringArray>()),
        Arc::new(data.iter().map(|r| r.3).collect::<Date32Array>()),
        Arc::new(decimals.with_precision_and_scale(9, 2).unwrap()),
        Arc::new(data.iter().map(|r| r.5).collect::<BooleanArray>()),
        Arc::new(StructArray::new(members, vec![Arc::new(inner)], Some(valid))),
        Arc::new(Int32Array::from_iter_values(0..data.len() as i32)),
        Arc::new(data.iter().map(|r| r.6).collect::<TimestampMillisecondArray>()),
    ];
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

/// SQL's three-valued logic, by the book.
fn truth(filter: &BoundPredicate, row: &Row) -> Option<bool> {
    match filter {
        BoundPredicate::Test(_) => unreachable!(),
        BoundPredicate::True => Some(true),
        BoundPredicate::False => Some(false),
        BoundPredicate::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|p| truth(p, row)).collect();
            if parts.contains(&Some(false)) { Some(false) } else { (!parts.contains(&None)).then_some(true) }
        }
        BoundPredicate::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|p| truth(p, row)).collect();
            if parts.contains(&Some(true)) { Some(true) } else { (!parts.contains(&None)).then_some(false) }
        }
        BoundPredicate::Leaf(leaf) => {
            let id = leaf.term.field_id;
            let is_null = match id {
                8 => row.7.is_none(),
                _ => value(row, id).is_none(),
            };
            match leaf.op {
                Op::IsNull => return Some(is_null),
                Op::NotNull => return Some(!is_null),
                // Null is not NaN, as in Spark's isnan.
                Op::IsNan | Op::NotNan if is_null => return Some(leaf.op == Op::NotNan),
                _ => {}
            }
            let v = value(row, id)?;
            let v = leaf.term.transform.apply(v.as_ref(), leaf.term.source_primitive()?)?;
            let cmp = |l: &Value| v.sql_cmp(l).unwrap();
            let first = || cmp(&leaf.values[0]);
            Some(match leaf.op {
                Op::IsNan => v.as_ref().is_nan(),
                Op::NotNan => !v.as_ref().is_nan(),
                Op::Lt => first() == Ordering::Less,
                Op::LtEq => first() != Ordering::Greater,
                Op::Gt => first() == Ordering::Greater,
                Op::GtEq => first() != Ordering::Less,
                Op::Eq => first() == Ordering::Equal,
                Op::NotEq => first() != Ordering::Equal,
                Op::In => leaf.values.iter().any(|l| cmp(l) == Ordering::Equal),
                Op::NotIn => leaf.values.iter().all(|l| cmp(l) != Ordering::Equal),
                Op::StartsWith => v.as_ref().starts_with(leaf.values[0].as_ref()),
                Op::NotStartsWith => !v.as_ref().starts_with(leaf.values[0].as_ref()),
                Op::IsNull | Op::NotNull => unreachable!(),
            })
        }
    }
}

fn float() -> impl Strategy<Value = f32> {
    prop_oneof![
        6 => (-3i8..4).prop_map(|v| f32::from(v) / 2.0),
        1 => prop::sample::select(vec![f32::NAN, -f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY]),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ab]{0,3}", 1 => "[aż\u{10ffff}]{1,3}", 1 => "ab[a-c]{60,90}"]
}

fn row() -> impl Strategy<Value = Row> {
    use prop::option::weighted as opt;
    (
        opt(0.8, prop_oneof![9 => -5..15i32, 1 => any::<i32>()]),
        opt(0.8, float()),
        opt(0.8, text()),
        opt(0.8, -40..40i32),
        opt(0.8, -300..300i64),
        opt(0.8, any::<bool>()),
        opt(0.8, -3_000..3_000i64),
        opt(0.8, opt(0.7, prop::collection::vec(prop::sample::select(vec![0u8, 0x7f, 0x80, 0xff]), 0..3))),
    )
}

/// A value for a column of [`now`], often one that occurs.
fn literal(id: i32, v: Row) -> Value {
    const DAY: i64 = 86_400_000_000;
    value(&v, id).unwrap_or_else(|| match id {
        1 => Value::Long(3),
        2 => Value::Double(f64::NAN),
        3 => Value::String("ab".into()),
        4 => Value::Long(DAY + 1),
        5 => Value::Decimal(0),
        6 => Value::Boolean(true),
        7 => Value::Long(-1),
        9 => Value::Bytes(vec![0x80]),
        _ => Value::Int(1),
    })
}

fn question() -> impl Strategy<Value = BoundPredicate> {
    let ops = vec![
        Op::IsNull,
        Op::NotNull,
        Op::Lt,
        Op::LtEq,
        Op::Gt,
        Op::GtEq,
        Op::Eq,
        Op::NotEq,
        Op::In,
        Op::NotIn,
        Op::IsNan,
        Op::NotNan,
        Op::StartsWith,
        Op::NotStartsWith,
    ];
    let ids = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12];
    (prop::sample::select(ids), prop::sample::select(ops), prop::collection::vec(row(), 4), any::<u8>()).prop_map(
        |(id, op, samples, dice)| {
            let s = now();
            if id == 8 {
                return leaf(&s, id, if dice % 2 == 0 { Op::IsNull } else { Op::NotNull }, vec![]);
            }
            let transform = match (id, dice % 4) {
                (1, 0) => Transform::Bucket(3),
                (1 | 5 | 3 | 9, 1) => Transform::Truncate(2),
                (4 | 7, 0) => Transform::Day,
                (4 | 7, 1) => Transform::Month,
                _ => Transform::Identity,
            };
            let op = match op {
                Op::IsNan | Op::NotNan if id != 2 => Op::NotEq,
                Op::StartsWith | Op::NotStartsWith if !matches!(id, 3 | 9) => Op::GtEq,
                op => op,
            };
            let source = s.field(id).unwrap().ty.as_primitive().unwrap().clone();
            let literal = |row| transform.apply(literal(id, row).as_ref(), &source).unwrap();
            let mut values: Vec<Value> = samples.into_iter().map(literal).collect();
            values.sort_by(|a, b| a.sql_cmp(b).unwrap());
            values.dedup_by(|a, b| a.sql_cmp(b) == Some(Ordering::Equal));
            match op {
                Op::IsNull | Op::NotNull | Op::IsNan | Op::NotNan => values.clear(),
                Op::In | Op::NotIn if values.len() > 1 => {}
                Op::In | Op::NotIn => return term(&s, id, transform, Op::Eq, values),
                _ => values.truncate(1),
            }
            term(&s, id, transform, op, values)
        },
    )
}

fn filter() -> impl Strategy<Value = BoundPredicate> {
    question().prop_recursive(3, 8, 3, |inner| {
        (prop::collection::vec(inner, 2..4), any::<bool>())
            .prop_map(|(parts, and)| if and { BoundPredicate::all(parts) } else { BoundPredicate::any(parts) })
    })
}

/// The layout of the file: rows of a row group, rows of a page, dictionaries, version, statistics, sorted by a column.
type Layout = (usize, usize, bool, bool, EnabledStatistics, Option<i32>);

fn layout() -> impl Strategy<Value = Layout> {
    let statistics =
        prop::sample::select(vec![EnabledStatistics::Page, EnabledStatistics::Page, EnabledStatistics::Chunk]);
    let sorted = prop::option::of(prop::sample::select(vec![1, 2, 3, 4, 5, 7, 9]));
    (4..40usize, 1..8usize, any::<bool>(), any::<bool>(), statistics, sorted)
}

fn properties(layout: &Layout) -> WriterProperties {
    let version = if layout.3 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(layout.0))
        .set_data_page_row_count_limit(layout.1)
        .set_write_batch_size(1)
        .set_dictionary_enabled(layout.2)
        .set_writer_version(version)
        .set_statistics_enabled(layout.4)
        .build()
}

fn sort(data: &mut [Row], by: i32) {
    let key = |r: &Row| value(r, by);
    data.sort_by(|a, b| match (key(a), key(b)) {
        (Some(a), Some(b)) => a.sql_cmp(&b).unwrap(),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn pruned_reads_give_just_the_rows_that_match(
        mut data in prop::collection::vec(row(), 1..90),
        filter in filter(),
        layout in layout(),
        late in any::<bool>(),
    ) {
        if let Some(by) = layout.5 {
            sort(&mut data, by);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = write_batch(&dir, &batch(&data), properties(&layout));
        // The filter's columns are read first if only the row number is wanted. If all columns are wanted, often they
        // are not.
        let now = now();
        let wanted = if late { schema(vec![now.fields[0].clone()]) } else { now.clone() };
        let batches = read(&projecting(&now, &wanted), &task(&path, filter.clone())).unwrap();
        let found: Vec<String> =
            rows(&batches).iter().map(|r| r.split('|').next().unwrap_or_default().to_owned()).collect();
        let expected: Vec<String> =
            (0..data.len()).filter(|&i| truth(&filter, &data[i]) == Some(true)).map(|i| i.to_string()).collect();
        prop_assert_eq!(found, expected, "{:?}", filter);
    }
}

#[test]
fn expectations_know_three_values() {
    let row = (None, Some(f32::NAN), None, None, None, None, None, None);
    let s = now();
    let is = |op, v: Vec<Value>| leaf(&s, 1, op, v);
    assert_eq!(truth(&is(Op::Eq, vec![Value::Long(1)]), &row), None);
    let nan = leaf(&s, 2, Op::Gt, vec![Value::Double(f64::INFINITY)]);
    assert_eq!(truth(&BoundPredicate::Or(vec![is(Op::Eq, vec![Value::Long(1)]), nan]), &row), Some(true));
    assert_eq!(ValueRef::Double(f64::NAN).sql_cmp(ValueRef::Double(1.0)), Some(Ordering::Greater));
}
