use std::sync::Arc;

use arrow::array::{Int32Array, Int64Array, RecordBatch};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::parquet::file::ParquetFile;
use crate::data::testing::{field, leaf, schema, write_batch};
use crate::expr::Op;
use crate::store::{Store, local::LocalStore};

fn ranges(rows: &[bool]) -> Vec<Range<usize>> {
    let single = rows.iter().enumerate().filter(|(_, kept)| **kept).map(|(i, _)| i..i + 1);
    single.fold(Vec::new(), |all, r| unite(all, vec![r]))
}

fn rows(ranges: &[Range<usize>], total: usize) -> Vec<bool> {
    (0..total).map(|i| ranges.iter().any(|r| r.contains(&i))).collect()
}

proptest! {
    #[test]
    fn ranges_are_sets_of_rows(a in prop::collection::vec(any::<bool>(), 40), b in prop::collection::vec(any::<bool>(), 40)) {
        let (ra, rb) = (ranges(&a), ranges(&b));
        let both: Vec<bool> = a.iter().zip(&b).map(|(x, y)| *x && *y).collect();
        let either: Vec<bool> = a.iter().zip(&b).map(|(x, y)| *x || *y).collect();
        prop_assert_eq!(rows(&intersect(&ra, &rb), 40), both);
        let united = unite(ra, rb);
        prop_assert_eq!(rows(&united, 40), either);
        prop_assert!(united.windows(2).all(|w| w[0].end < w[1].start));
    }
}

#[test]
fn pages_must_tile_their_row_group() {
    let pages = |firsts: &[i64]| {
        let page = |&first_row_index| PageLocation { offset: 4, compressed_page_size: 1, first_row_index };
        firsts.iter().map(page).collect::<Vec<_>>()
    };
    assert_eq!(page_rows(&pages(&[0, 3]), 5), Some(vec![0..3, 3..5]));
    for (firsts, rows) in [(&[1, 3][..], 5), (&[0, 3, 3], 5), (&[0, 5], 5), (&[0, -1], 5), (&[], 5), (&[0], 0)] {
        assert_eq!(page_rows(&pages(firsts), rows), None, "{firsts:?}");
    }
}

/// Two columns, one ascending and one descending, in groups of 50 rows and pages of 10.
#[test]
fn statistics_and_page_indexes_leave_little_to_read() {
    let s = schema(vec![field(1, "up", PrimitiveType::Int), field(2, "down", PrimitiveType::Long)]);
    let up = Arc::new(Int32Array::from_iter_values(0..200));
    let down = Arc::new(Int64Array::from_iter_values((0..200).rev()));
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![up, down]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(50))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(5)
        .build();
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let file = ParquetFile::open(&store, &write_batch(&dir, &batch, properties)).unwrap();
    let indexed = file.with_page_index().unwrap().unwrap();
    assert!(index_is_consistent(indexed.metadata(), &[0, 1, 2, 3], &[0, 1].into()));

    let int = |op, v| leaf(&s, 1, op, vec![Value::Int(v)]);
    let long = |op, v| leaf(&s, 2, op, vec![Value::Long(v)]);
    let none = Constants::of(&crate::data::testing::task("", BoundPredicate::True).data_file);
    let pruned = |filter: &BoundPredicate| {
        let pruner = RowGroupPruner::new(filter, &s, &FileColumns::new(file.metadata.schema()), &none);
        let groups: Vec<usize> = (0..4).filter(|&g| pruner.may_match(file.footer(), g)).collect();
        let rows = pruner.select_rows(indexed.metadata(), &groups).map(|selection| selection.row_count());
        (groups, rows)
    };
    assert_eq!(pruned(&int(Op::Eq, 73)), (vec![1], Some(10)));
    assert_eq!(pruned(&int(Op::GtEq, 95)), (vec![1, 2, 3], Some(110)));
    assert_eq!(pruned(&int(Op::GtEq, 0)), (vec![0, 1, 2, 3], None));
    // up in 60..=99 and down (199 - up) in 115..=200, that is up at most 84.
    let both = BoundPredicate::And(vec![int(Op::GtEq, 60), int(Op::Lt, 100), long(Op::GtEq, 115)]);
    assert_eq!(pruned(&both), (vec![1], Some(30)));
    let either = BoundPredicate::Or(vec![int(Op::Lt, 5), long(Op::Lt, 5)]);
    assert_eq!(pruned(&either), (vec![0, 3], Some(20)));
    assert_eq!(pruned(&int(Op::Gt, 500)), (vec![], None));
    assert_eq!(pruned(&leaf(&s, 1, Op::IsNull, vec![])), (vec![], None));
}

/// Whether a test with a literal keeps a value.
type Keeps = fn(i64, i64) -> bool;

/// The wrong statistics that a writer records for a column.
#[derive(Clone, Copy, Debug)]
struct Lie {
    swapped: bool,
    nulls: Option<u64>,
}

/// The footer with other statistics of its only column.
fn lied(footer: &ParquetMetaData, least: i64, greatest: i64, lie: Lie) -> ParquetMetaData {
    use parquet::file::statistics::Statistics;
    let (min, max) = if lie.swapped { (greatest, least) } else { (least, greatest) };
    let statistics = Statistics::int64(Some(min), Some(max), None, lie.nulls, false);
    let group = footer.row_group(0).clone();
    let chunk = group.column(0).clone().into_builder().set_statistics(statistics).build().unwrap();
    let group = group.into_builder().set_column_metadata(vec![chunk]).build().unwrap();
    footer.clone().into_builder().set_row_groups(vec![group]).build()
}

proptest! {
    /// Statistics that contradict themselves hide no row. Bounds are swapped, or there are at least as many nulls as
    /// values although there are bounds.
    #[test]
    fn no_lie_in_statistics_hides_a_row(
        values in prop::collection::vec(prop::option::weighted(0.7, -9i64..9), 1..12),
        swapped in any::<bool>(),
        extra in 0u64..3,
        literal in -10i64..10,
    ) {
        let s = schema(vec![field(1, "a", PrimitiveType::Long)]);
        let Some(least) = values.iter().flatten().min().copied() else { return Ok(()) };
        let greatest = values.iter().flatten().max().copied().unwrap_or(least);
        let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![Arc::new(Int64Array::from(values.clone()))]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(LocalStore);
        let file = ParquetFile::open(&store, &write_batch(&dir, &batch, WriterProperties::builder().build())).unwrap();
        let lie = Lie { swapped: swapped && least != greatest, nulls: Some(values.len() as u64 + extra) };
        let footer = lied(file.footer(), least, greatest, lie);
        let none = Constants::of(&crate::data::testing::task("", BoundPredicate::True).data_file);
        let tests: [(Op, Keeps); 5] = [
            (Op::Eq, |v, l| v == l), (Op::Lt, |v, l| v < l), (Op::GtEq, |v, l| v >= l), (Op::NotEq, |v, l| v != l),
            (Op::NotNull, |_, _| true),
        ];
        for (op, keeps) in tests {
            let operands = if op == Op::NotNull { vec![] } else { vec![Value::Long(literal)] };
            let filter = leaf(&s, 1, op, operands);
            let pruner = RowGroupPruner::new(&filter, &s, &FileColumns::new(file.metadata.schema()), &none);
            if values.iter().flatten().any(|v| keeps(*v, literal)) {
                prop_assert!(pruner.may_match(&footer, 0), "{op:?} {literal} {lie:?}");
            }
        }
        let filter = leaf(&s, 1, Op::IsNull, vec![]);
        let pruner = RowGroupPruner::new(&filter, &s, &FileColumns::new(file.metadata.schema()), &none);
        prop_assert!(pruner.may_match(&footer, 0));
    }
}
