use arrow::array::{AsArray, Float64Array, Int32Array, StringArray};
use arrow::datatypes::{Float64Type, Int32Type};
use proptest::prelude::*;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{field, schema};
use crate::data::write::partition_rows::Partitioner;
use crate::parallel::Cancellation;
use crate::types::{PartitionField, PartitionSpec, PrimitiveType as P, SortField};

fn table() -> Schema {
    schema(vec![field(1, "p", P::Int), field(2, "s", P::String), field(3, "d", P::Double), field(4, "n", P::Int)])
}

fn by(source_id: i32, transform: Transform, descending: bool, nulls_first: bool) -> SortField {
    SortField { source_id, transform, descending, nulls_first }
}

type Row = (Option<i32>, Option<String>, Option<f64>);

fn batch(rows: &[Row], first: usize) -> RecordBatch {
    let p: Int32Array = rows.iter().map(|r| r.0).collect();
    let s: StringArray = rows.iter().map(|r| r.1.clone()).collect();
    let d: Float64Array = rows.iter().map(|r| r.2).collect();
    let n = Int32Array::from_iter_values((first..first + rows.len()).map(|n| n as i32));
    let columns: Vec<ArrayRef> = vec![Arc::new(p), Arc::new(s), Arc::new(d), Arc::new(n)];
    RecordBatch::try_new(to_arrow(&table()).unwrap(), columns).unwrap()
}

/// The numbers of the rows, in the order of the sorter.
fn sorted(batches: &[Vec<Row>], fields: Vec<SortField>, run_bytes: usize, merged_at_once: usize) -> Vec<usize> {
    let arrow = to_arrow(&table()).unwrap();
    let mut sorter = RowSorter::new(&table(), arrow, &SortOrder { id: 1, fields }).unwrap();
    (sorter.run_bytes, sorter.merged_at_once) = (run_bytes, merged_at_once);
    let field = PartitionField { source_id: 1, field_id: 1000, name: "p".into(), transform: Transform::Identity };
    let mut partitioner = Partitioner::new(&table(), &PartitionSpec { id: 0, fields: vec![field] }).unwrap();
    let mut first = 0;
    for rows in batches {
        sorter.push(partitioner.split(&batch(rows, first)).unwrap()).unwrap();
        first += rows.len();
    }
    let mut out = Vec::new();
    let paths: Vec<String> = sorter.runs.iter().map(|r| r.path.clone()).collect();
    let take = |rows: RecordBatch| {
        assert!(rows.num_rows() > 0);
        out.extend(rows.column(3).as_primitive::<Int32Type>().values().iter().map(|n| *n as usize));
        Ok(())
    };
    sorter.finish(take).unwrap();
    assert!(paths.iter().all(|path| !std::path::Path::new(path).exists()), "{paths:?}");
    out
}

/// The order of doubles in the specification: NaN is the greatest, -0.0 before 0.0.
fn compare_doubles(a: f64, b: f64) -> std::cmp::Ordering {
    a.is_nan().cmp(&b.is_nan()).then_with(|| if a.is_nan() { std::cmp::Ordering::Equal } else { a.total_cmp(&b) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn rows_are_as_a_stable_sort_makes_them(
        batches in proptest::collection::vec(proptest::collection::vec(
            (proptest::option::of(0..3i32), proptest::option::of("[ab]{0,3}"), proptest::option::of(prop_oneof![
                Just(f64::NAN), Just(-f64::NAN), Just(-0.0), Just(0.0), Just(f64::INFINITY), -2.0..2.0f64,
            ])), 0..30), 0..8),
        run_bytes in prop_oneof![Just(1usize), Just(500), Just(1 << 30)],
        merged_at_once in prop_oneof![Just(2usize), Just(100)],
        flags: [bool; 4],
    ) {
        let [text_down, text_nulls_first, double_down, double_nulls_first] = flags;
        let fields = vec![
            by(2, Transform::Truncate(1), text_down, text_nulls_first),
            by(3, Transform::Identity, double_down, double_nulls_first),
        ];
        let got = sorted(&batches, fields, run_bytes, merged_at_once);
        let rows: Vec<&Row> = batches.iter().flatten().collect();
        let mut partitions: Vec<Option<i32>> = Vec::new();
        for row in &rows {
            if !partitions.contains(&row.0) {
                partitions.push(row.0);
            }
        }
        let mut expected: Vec<usize> = (0..rows.len()).collect();
        expected.sort_by(|a, b| {
            let (a, b) = (rows[*a], rows[*b]);
            let at = |row: &Row| partitions.iter().position(|p| *p == row.0);
            let cut = |row: &Row| row.1.as_ref().map(|s| s.chars().take(1).collect::<String>());
            let texts = match (cut(a), cut(b)) {
                (Some(a), Some(b)) => if text_down { b.cmp(&a) } else { a.cmp(&b) },
                (a, b) => if text_nulls_first { a.is_some().cmp(&b.is_some()) } else { a.is_none().cmp(&b.is_none()) },
            };
            let doubles = match (a.2, b.2) {
                (Some(a), Some(b)) => if double_down { compare_doubles(b, a) } else { compare_doubles(a, b) },
                (a, b) => if double_nulls_first { a.is_some().cmp(&b.is_some()) } else { a.is_none().cmp(&b.is_none()) },
            };
            at(a).cmp(&at(b)).then(texts).then(doubles)
        });
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn orders_that_cannot_be_made() {
    let arrow = to_arrow(&table()).unwrap();
    let is_supported =
        |fields: Vec<SortField>| RowSorter::new(&table(), arrow.clone(), &SortOrder { id: 1, fields }).is_some();
    assert!(is_supported(vec![by(1, Transform::Bucket(3), false, true)]));
    assert!(!is_supported(vec![]));
    assert!(!is_supported(vec![by(9, Transform::Identity, false, true)]));
    assert!(!is_supported(vec![by(2, Transform::Day, false, true)]));
    assert!(!is_supported(vec![
        by(1, Transform::Identity, false, true),
        by(1, Transform::Unknown("zorder".into()), false, true)
    ]));
}

#[test]
fn doubles_come_back_as_they_were() {
    let rows: Vec<Row> = vec![(None, None, Some(-f64::NAN)), (None, None, Some(-0.0))];
    let arrow = to_arrow(&table()).unwrap();
    let order = SortOrder { id: 1, fields: vec![by(3, Transform::Identity, false, true)] };
    let mut sorter = RowSorter::new(&table(), arrow, &order).unwrap();
    sorter.run_bytes = 1;
    let mut partitioner = Partitioner::new(&table(), &PartitionSpec::default()).unwrap();
    sorter.push(partitioner.split(&batch(&rows, 0)).unwrap()).unwrap();
    let mut bits = Vec::new();
    let take = |rows: RecordBatch| {
        bits.extend(rows.column(2).as_primitive::<Float64Type>().values().iter().map(|d| d.to_bits()));
        Ok(())
    };
    sorter.finish(take).unwrap();
    assert_eq!(bits, [(-0.0f64).to_bits(), (-f64::NAN).to_bits()]);
}

/// More rows than are sorted in one step: their order is the same as that of a stable sort.
#[test]
fn many_rows_are_sorted_in_steps() {
    let count = 2 * SORT_STEP + 1000;
    let text = |n: usize| format!("{:05}", n.wrapping_mul(7919) % 30_011);
    let rows: Vec<Row> = (0..count).map(|n| (Some((n % 3) as i32), Some(text(n)), None)).collect();
    let fields = vec![by(2, Transform::Identity, true, true)];
    let got = sorted(&[rows], fields, 1 << 30, 100);
    let mut expected: Vec<usize> = (0..count).collect();
    expected.sort_by_key(|n| (n % 3, std::cmp::Reverse(text(*n))));
    assert!(got == expected);
}

/// A sorter of many rows, in memory or in runs, is cancelled at one of its checks.
#[test]
fn a_cancelled_sort_gives_few_rows_more_and_leaves_no_run() {
    let rows: Vec<Row> = (0..100_000).map(|n| (Some(n % 2), None, Some(f64::from(n * 7919 % 1009)))).collect();
    let order = SortOrder { id: 1, fields: vec![by(3, Transform::Identity, false, true)] };
    for run_bytes in [1 << 30, 400_000] {
        let filled = || {
            let mut sorter = RowSorter::new(&table(), to_arrow(&table()).unwrap(), &order).unwrap();
            sorter.run_bytes = run_bytes;
            let mut partitioner = Partitioner::new(&table(), &PartitionSpec::default()).unwrap();
            for (number, rows) in rows.chunks(10_000).enumerate() {
                sorter.push(partitioner.split(&batch(rows, 10_000 * number)).unwrap()).unwrap();
            }
            sorter
        };
        let sorter = filled();
        let all = Cancellation::checks_in(|| sorter.finish(|_| Ok(())).unwrap());
        assert!(all > rows.len() / PIECE_ROWS, "{all}");
        for checks in [0, 1, 2, all / 4, all / 2, all - 1] {
            let sorter = filled();
            let paths: Vec<String> = sorter.runs.iter().map(|r| r.path.clone()).collect();
            assert_eq!(paths.is_empty(), run_bytes == 1 << 30);
            let mut taken = 0;
            let take = |rows: RecordBatch| {
                taken += rows.num_rows();
                Ok(())
            };
            let stopped = Cancellation::after(checks).scope(|| sorter.finish(take));
            assert_eq!(stopped.unwrap_err().message(), "stopped");
            assert!(taken <= checks * PIECE_ROWS, "{taken} rows after {checks} checks");
            assert!(paths.iter().all(|path| !std::path::Path::new(path).exists()));
        }
    }
}
