use std::sync::Arc;

use super::*;
use crate::expr::BoundPredicate;
use crate::format::task::{FileContent, Partition};
use crate::parallel::Cancellation;

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
