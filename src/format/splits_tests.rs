use std::sync::Arc;

use super::*;
use crate::expr::BoundPredicate;
use crate::format::task::{FileContent, Partition, ReadContext};
use crate::parallel::Cancellation;
use crate::store::Location;
use crate::types::Schema;

fn task(name: &str, size: i64, offsets: Option<Vec<i64>>) -> ScanTask {
    let file = DataFile {
        record_count: 1,
        size_bytes: size,
        split_offsets: offsets,
        ..DataFile::new(
            FileContent::Data,
            name,
            FileFormat::Parquet,
            Arc::new(Partition { spec_id: 0, values: vec![] }),
        )
    };
    ScanTask {
        data_file: Arc::new(file),
        start: 0,
        length: size,
        deletes: vec![],
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: None,
    }
}

fn context() -> Arc<ReadContext> {
    let schema = Arc::new(Schema::new(0, vec![], vec![]));
    Arc::new(ReadContext {
        projection: schema.clone(),
        schema,
        dropped: vec![].into(),
        change_filter: Arc::new(BoundPredicate::True),
        snapshot_id: None,
        location: Location::recorded(),
        storage_options: BTreeMap::new(),
        name_mapping: None,
        keep_deleted: false,
        batch_rows: 1,
        buckets: None,
    })
}

fn plan(size: i64, lookback: usize, cost: i64) -> SplitPlan {
    SplitPlan { split_size_bytes: size, lookback, open_file_cost_bytes: cost }
}

fn shape(groups: &[Vec<ScanTask>]) -> Vec<Vec<(&str, i64, i64)>> {
    groups.iter().map(|g| g.iter().map(|t| (t.data_file.path.as_str(), t.start, t.length)).collect()).collect()
}

#[test]
fn cuts_at_offsets_or_sizes_and_joins_neighbours() {
    let groups = pack(vec![task("a", 100, Some(vec![4, 40, 70]))], &plan(50, 10, 0)).unwrap();
    assert_eq!(shape(&groups), [vec![("a", 4, 36)], vec![("a", 40, 30)], vec![("a", 70, 30)]]);
    let groups = pack(vec![task("a", 100, Some(vec![4, 40, 70]))], &plan(1000, 10, 0)).unwrap();
    assert_eq!(shape(&groups), [[("a", 4, 96)]]);
    // Offsets that do not ascend or lie outside are ignored.
    for bad in [vec![40, 4], vec![4, 100], vec![-1, 4], vec![]] {
        let groups = pack(vec![task("a", 100, Some(bad))], &plan(60, 10, 0)).unwrap();
        assert_eq!(shape(&groups), [[("a", 0, 60)], [("a", 60, 40)]]);
    }
}

#[test]
fn a_size_that_no_file_has_is_cut_into_larger_pieces() {
    let groups = pack(vec![task("a", i64::MAX, None)], &plan(128 << 20, 10, 0)).unwrap();
    let pieces: Vec<_> = groups.iter().flatten().collect();
    assert!(pieces.len() as i64 <= MOST_PIECES + 1);
    assert_eq!(pieces.iter().map(|t| t.length).sum::<i64>(), i64::MAX);
}

#[test]
fn splits_are_joined_and_know_their_rows() {
    let file = |name, rows| {
        let mut task = task(name, 104, Some(vec![4, 54]));
        Arc::make_mut(&mut task.data_file).record_count = rows;
        task
    };
    let context = context();
    let packed = pack(vec![file("a", 10), file("b", 7)], &plan(50, 10, 0)).unwrap();
    let splits: Vec<_> = packed.into_iter().map(|tasks| Split { context: context.clone(), tasks }).collect();
    // Each file has two halves. Nobody knows how many of 7 rows are in which half.
    assert_eq!(splits.iter().map(Split::row_count).collect::<Vec<_>>(), [5, 5, 4, 4]);
    assert_eq!(splits.iter().map(Split::size_bytes).collect::<Vec<_>>(), [50, 50, 50, 50]);
    let all = Split::joined(&splits.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(shape(std::slice::from_ref(&all.tasks)), [[("a", 4, 100), ("b", 4, 100)]]);
    assert_eq!((all.row_count(), all.size_bytes()), (17, 200));
    assert_eq!(Split::joined(&[]), None);
    // A whole file, also as `plan_files` gives it: from its first byte.
    let whole = Split { context, tasks: vec![file("a", 10)] };
    assert_eq!((whole.row_count(), whole.size_bytes()), (10, 104));
}

#[test]
fn the_open_cost_and_lookback_shape_the_groups() {
    let files = || ["a", "b", "c", "d"].map(|n| task(n, 10, None)).to_vec();
    assert_eq!(
        shape(&pack(files(), &plan(100, 10, 50)).unwrap()),
        [[("a", 0, 10), ("b", 0, 10)], [("c", 0, 10), ("d", 0, 10)]]
    );
    let sizes = [("a", 60), ("b", 70), ("c", 30)].map(|(n, s)| task(n, s, None)).to_vec();
    // With one open bin, b's bin is closed first because it is the larger one. So c joins a.
    assert_eq!(shape(&pack(sizes, &plan(100, 1, 0)).unwrap()), [vec![("b", 0, 70)], vec![("a", 0, 60), ("c", 0, 30)]]);
}

#[test]
fn requests_fall_back_and_are_checked() {
    let map = |k: &str, v: &str| BTreeMap::from([(k.to_owned(), v.to_owned())]);
    let r = SplitRequest::default();
    let p = r.or(&map("split-size", "7"), &map("read.split.target-size", "9")).unwrap();
    assert_eq!((p.split_size_bytes, p.lookback, p.open_file_cost_bytes), (7, 10, 4 << 20));
    assert_eq!(r.or(&map("x", ""), &map("read.split.target-size", "9")).unwrap().split_size_bytes, 9);
    assert!(r.or(&map("split-size", "many"), &BTreeMap::new()).is_err());
    assert!(SplitRequest { split_size_bytes: Some(0), ..r }.or(&BTreeMap::new(), &BTreeMap::new()).is_err());
}

#[test]
fn packing_can_be_stopped() {
    let tasks = vec![task("a", 100, None)];
    let stopped = Cancellation::after(0).scope(|| pack(tasks, &plan(50, 10, 0)));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
    // Also between pieces of one file, cut by size or by offsets.
    let offsets: Vec<i64> = (0..1000).collect();
    for file in [task("a", 1000, None), task("a", 1000, Some(offsets))] {
        let stopped = Cancellation::after(1).scope(|| pack(vec![file], &plan(1, 10, 0)));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
    }
}
