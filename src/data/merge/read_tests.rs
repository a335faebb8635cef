//! Merging, compared with a model that takes one row after the other.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, Int32Array, Int64Array, StringArray};
use arrow::datatypes::{Int32Type, Int64Type};
use proptest::prelude::*;

use super::*;
use crate::data::testing::{context, field, required, schema, task};
use crate::error::ErrorKind;
use crate::types::PrimitiveType;

/// A row of `k`, `t`, `v`, `u`, with its sequence number and kind.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    key: i64,
    text: Option<String>,
    value: Option<i64>,
    order: Option<i32>,
    sequence: i64,
    kind: i32,
}

type Values = (i64, Option<String>, Option<i64>, Option<i32>);

fn merge(options: &[(&str, &str)], batch_rows: usize) -> Result<SectionMerge> {
    let table = schema(vec![
        required(0, "k", PrimitiveType::Long),
        field(1, "t", PrimitiveType::String),
        field(2, "v", PrimitiveType::Long),
        field(3, "u", PrimitiveType::Int),
    ]);
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let buckets = BucketContext { key: vec![0], options, ..BucketContext::default() };
    let context = ReadContext { buckets: Some(Arc::new(buckets)), batch_rows, ..context(&table).as_ref().clone() };
    SectionMerge::plan(&Arc::new(context), &task("nowhere", BoundPredicate::True), false, false)
}

/// Batches of a run, with this number of rows each.
fn batches(merge: &SectionMerge, rows: &[Row], size: usize) -> Batches {
    let schema = to_arrow(&merge.context.projection).unwrap();
    let batch = |rows: &[Row]| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.key))),
            Arc::new(StringArray::from_iter(rows.iter().map(|r| r.text.clone()))),
            Arc::new(Int64Array::from_iter(rows.iter().map(|r| r.value))),
            Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.order))),
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.sequence))),
            Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.kind))),
        ];
        Ok(RecordBatch::try_new(schema.clone(), columns).unwrap())
    };
    Box::new(rows.chunks(size.max(1)).map(batch).collect::<Vec<_>>().into_iter())
}

fn merged(merge: &SectionMerge, runs: &[Vec<Row>], size: usize) -> Result<Vec<Values>> {
    let mut out = Vec::new();
    for batch in merge.over(runs.iter().map(|run| batches(merge, run, size)).collect())? {
        let batch = batch?;
        assert!(batch.num_rows() > 0);
        batch.columns().iter().for_each(|c| c.to_data().validate_full().unwrap());
        let (keys, values) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Int64Type>());
        let (texts, orders) = (batch.column(1).as_string::<i32>(), batch.column(3).as_primitive::<Int32Type>());
        for row in 0..batch.num_rows() {
            let text = texts.is_valid(row).then(|| texts.value(row).to_owned());
            let order = orders.is_valid(row).then(|| orders.value(row));
            out.push((keys.value(row), text, values.is_valid(row).then(|| values.value(row)), order));
        }
    }
    Ok(out)
}

fn values(row: &Row) -> Values {
    (row.key, row.text.clone(), row.value, row.order)
}

/// The rows of every key, the oldest first.
fn by_key(runs: &[Vec<Row>], by_order: bool, descending: bool) -> BTreeMap<i64, Vec<Row>> {
    let mut out: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    for row in runs.iter().flatten() {
        out.entry(row.key).or_default().push(row.clone());
    }
    for rows in out.values_mut() {
        rows.sort_by_key(|r| r.sequence);
        if by_order {
            rows.sort_by(|a, b| match (a.order, b.order) {
                (Some(a), Some(b)) if descending => b.cmp(&a),
                (a, b) => a.cmp(&b),
            });
        }
    }
    out
}

fn is_kept(row: &Row) -> bool {
    row.kind == 0 || row.kind == 2
}

/// Sorted runs; no two rows have one sequence number.
fn runs(kinds: &'static [i32]) -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (
        0i64..40,
        proptest::option::of("[ab]{0,3}"),
        proptest::option::of(-9i64..9),
        proptest::option::of(0i32..3),
        proptest::sample::select(kinds),
    );
    let run = proptest::collection::btree_map(0i64..40, row, 0..25);
    proptest::collection::vec(run, 0..6).prop_map(|runs| {
        let mut sequence = 0;
        let mut row = |(key, (_, text, value, order, kind)): (i64, (i64, _, _, _, i32))| {
            sequence = (sequence + 7919) % 100_003;
            Row { key, text, value, order, sequence, kind }
        };
        runs.into_iter().map(|run| run.into_iter().map(&mut row).collect()).collect()
    })
}

const ALL: &[i32] = &[0, 0, 1, 2, 2, 3];
const ADDED: &[i32] = &[0, 2];

proptest! {
    #[test]
    fn the_last_row_of_a_key_stays(
        runs in runs(ALL), size in 1usize..9, out in 1usize..20, by_order: bool, descending: bool, ignore: bool,
    ) {
        let mut options = vec![];
        if by_order {
            options.push(("sequence.field", "u"));
        }
        if descending {
            options.push(("sequence.field.sort-order", "descending"));
        }
        if ignore {
            options.push(("ignore-delete", "true"));
        }
        let expected = by_key(&runs, by_order, descending);
        let last = |rows: Vec<Row>| rows.into_iter().rfind(|r| !ignore || is_kept(r)).filter(is_kept);
        let expected: Vec<Values> = expected.into_values().filter_map(last).map(|r| values(&r)).collect();
        prop_assert_eq!(merged(&merge(&options, out).unwrap(), &runs, size).unwrap(), expected);
    }

    #[test]
    fn the_first_row_of_a_key_stays(runs in runs(ADDED), size in 1usize..9, out in 1usize..20) {
        let expected = by_key(&runs, false, false).into_values().map(|rows| values(&rows[0]));
        let merge = merge(&[("merge-engine", "first-row")], out).unwrap();
        prop_assert_eq!(merged(&merge, &runs, size).unwrap(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn columns_get_their_last_values(runs in runs(ALL), size in 1usize..9, out in 1usize..20) {
        let fold = |rows: Vec<Row>| {
            if let [one] = rows.as_slice() {
                return is_kept(one).then(|| values(one));
            }
            let mut kept: Values = (rows[0].key, None, None, None);
            let (mut deleted, mut added, mut filled) = (false, false, false);
            for row in rows {
                deleted = row.kind == 3;
                if is_kept(&row) {
                    (added, filled) = (true, true);
                    let (_, text, value, order) = values(&row);
                    kept = (row.key, text.or(kept.1), value.or(kept.2), order.or(kept.3));
                } else if row.kind == 3 || !std::mem::replace(&mut filled, true) {
                    filled = true;
                    kept = values(&row);
                }
            }
            (added && !deleted).then_some(kept)
        };
        let expected: Vec<Values> = by_key(&runs, false, false).into_values().filter_map(fold).collect();
        let options = [("merge-engine", "partial-update"), ("partial-update.remove-record-on-delete", "true")];
        prop_assert_eq!(merged(&merge(&options, out).unwrap(), &runs, size).unwrap(), expected);
    }

    #[test]
    fn columns_are_aggregated(runs in runs(ADDED), size in 1usize..9, out in 1usize..20) {
        let fold = |rows: Vec<Row>| {
            let mut kept = values(&rows[0]);
            for row in &rows[1..] {
                kept.1 = match (kept.1, row.text.clone()) {
                    (Some(a), Some(b)) if !a.is_empty() && !b.is_empty() => Some(format!("{a}-{b}")),
                    (Some(a), Some(b)) => Some(if a.is_empty() { b } else { a }),
                    (a, b) => a.or(b),
                };
                kept.2 = match (kept.2, row.value) {
                    (Some(a), Some(b)) => Some(a + b),
                    (a, b) => a.or(b),
                };
                kept.3 = kept.3.max(row.order);
            }
            kept
        };
        let expected: Vec<Values> = by_key(&runs, false, false).into_values().map(fold).collect();
        let options = [
            ("merge-engine", "aggregation"),
            ("fields.t.aggregate-function", "listagg"),
            ("fields.t.list-agg-delimiter", "-"),
            ("fields.v.aggregate-function", "sum"),
            ("fields.default-aggregate-function", "max"),
        ];
        prop_assert_eq!(merged(&merge(&options, out).unwrap(), &runs, size).unwrap(), expected);
    }
}

fn row(key: i64, value: Option<i64>, sequence: i64, kind: i32) -> Row {
    Row { key, text: None, value, order: None, sequence, kind }
}

fn kinds_of(options: &[(&str, &str)], runs: &[Vec<Row>]) -> Result<Vec<Option<i64>>> {
    Ok(merged(&merge(options, 8)?, runs, 8)?.into_iter().map(|values| values.2).collect())
}

/// Java: "Field aggregator ... does not support retraction", "First row merge engine can not accept DELETE", and so on.
#[test]
fn deletes_are_errors_where_they_say_nothing() {
    let runs = [vec![row(1, Some(5), 1, 0)], vec![row(1, Some(5), 2, 3)]];
    for options in [
        &[("merge-engine", "first-row")][..],
        &[("merge-engine", "partial-update")],
        &[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "max")],
    ] {
        assert_eq!(kinds_of(options, &runs).unwrap_err().kind(), ErrorKind::InvalidInput, "{options:?}");
    }
    let sum = [("merge-engine", "aggregation"), ("fields.v.aggregate-function", "sum")];
    let rest = [("fields.t.ignore-retract", "true"), ("fields.u.ignore-retract", "true")];
    assert_eq!(kinds_of(&[&sum[..], &rest].concat(), &runs).unwrap(), [Some(0)]);
    let product = [("merge-engine", "aggregation"), ("fields.v.aggregate-function", "product")];
    assert_eq!(kinds_of(&product, &runs).unwrap(), [Some(1)]);
    let removing = [&sum[..], &[("aggregation.remove-record-on-delete", "true")]].concat();
    assert!(kinds_of(&removing, &runs).unwrap().is_empty());
    for ignoring in ["first-row", "partial-update"] {
        let options = [("merge-engine", ignoring), ("ignore-delete", "true")];
        assert_eq!(kinds_of(&options, &runs).unwrap(), [Some(5)]);
    }
}

#[test]
fn options_that_contradict_each_other_are_errors() {
    for options in [
        &[("merge-engine", "newest")][..],
        &[("ignore-delete", "perhaps")],
        &[("sequence.field", "nothing")],
        &[("sequence.field.sort-order", "up")],
        &[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "median")],
        &[("merge-engine", "aggregation"), ("fields.t.aggregate-function", "sum")],
        &[("merge-engine", "aggregation"), ("fields.v.aggregate-function", "hll_sketch")],
        &[("merge-engine", "partial-update"), ("fields.v.aggregate-function", "sum")],
        &[("merge-engine", "partial-update"), ("fields.u.sequence-group", "v,x")],
        &[
            ("merge-engine", "partial-update"),
            ("ignore-delete", "true"),
            ("partial-update.remove-record-on-delete", "true"),
        ],
    ] {
        assert!(merge(options, 8).is_err(), "{options:?}");
    }
}

#[test]
fn files_that_are_not_sorted_are_errors() {
    let runs = [vec![row(2, None, 1, 0), row(1, None, 2, 0)]];
    assert_eq!(kinds_of(&[], &runs).unwrap_err().kind(), ErrorKind::CorruptTable);
    let rows = merged(&merge(&[], 8).unwrap(), &runs, 1);
    assert_eq!(rows.unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(kinds_of(&[], &[vec![row(1, None, 1, 4)]]).unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn rows_without_a_sequence_number_or_a_kind_are_errors() {
    let merge = merge(&[], 8).unwrap();
    let good = batches(&merge, &[row(1, None, 1, 0), row(2, None, 2, 0)], 8).next().unwrap().unwrap();
    for (at, damaged) in [
        (4, Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef),
        (5, Arc::new(Int32Array::from(vec![None, Some(0)]))),
    ] {
        let mut fields: Vec<_> = good.schema().fields().to_vec();
        let mut columns = good.columns().to_vec();
        fields[at] = Arc::new(fields[at].as_ref().clone().with_nullable(true));
        columns[at] = damaged;
        let batch = RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns).unwrap();
        let runs: Vec<Batches> = vec![Box::new(std::iter::once(Ok(batch)))];
        let error = merge.over(runs).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::CorruptTable, "{error}");
    }
}
