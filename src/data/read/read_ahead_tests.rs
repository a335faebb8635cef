use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use arrow::array::{AsArray, Int64Array};
use arrow::datatypes::Int64Type;
use tempfile::TempDir;

use super::*;
use crate::data::testing::{context, field, schema, task, write};
use crate::error::ErrorKind;
use crate::expr::BoundPredicate;
use crate::store::far_testing::FarStore;
use crate::store::open_store;
use crate::types::{PrimitiveType, Schema};

const ROWS: i64 = 1000;

fn longs() -> Schema {
    schema(vec![field(1, "n", PrimitiveType::Long)])
}

/// Tasks of files that hold the numbers from 0 up, `ROWS` each.
fn tasks(dir: &TempDir, files: i64) -> Vec<ScanTask> {
    let file = |k: i64| {
        let numbers = Arc::new(Int64Array::from_iter_values(k * ROWS..(k + 1) * ROWS));
        task(&write(dir, &longs(), vec![numbers]), BoundPredicate::True)
    };
    (0..files).map(file).collect()
}

fn reader(dir: &TempDir, batch_rows: usize) -> ScanReader {
    let context = ReadContext { batch_rows, ..context(&longs()).as_ref().clone() };
    let store = open_store(dir.path().to_str().unwrap(), &Default::default()).unwrap();
    ScanReader { store, context: Arc::new(context), deletes: Arc::default() }
}

fn source(tasks: Vec<ScanTask>) -> TaskSource {
    let mut tasks = tasks.into_iter();
    Box::new(move || Ok(tasks.next()))
}

fn ahead(ordered: bool) -> Ahead {
    Ahead { ordered, few: false, all: false }
}

/// Everything up to the end or the first error.
fn drain(stream: &ReadAhead) -> (Vec<i64>, Option<Error>) {
    let mut numbers = Vec::new();
    loop {
        match stream.next_batch() {
            Ok(Some(batch)) => numbers.extend(batch.column(0).as_primitive::<Int64Type>().values()),
            end => {
                assert!(stream.next_batch().unwrap().is_none(), "a stream ends once");
                return (numbers, end.err());
            }
        }
    }
}

#[test]
fn every_row_once_and_in_order_where_asked() {
    let dir = TempDir::new().unwrap();
    let tasks = tasks(&dir, 20);
    let expected: Vec<i64> = (0..20 * ROWS).collect();
    for threads in [0, 1, 2, 5] {
        for (few, all) in [(false, false), (true, false), (false, true)] {
            for ordered in [true, false] {
                let ahead = Ahead { ordered, few, all };
                let stream = ReadAhead::new(reader(&dir, 100), source(tasks.clone()), ahead, threads);
                let (mut numbers, error) = drain(&stream);
                assert!(error.is_none());
                if !ordered {
                    numbers.sort();
                }
                assert_eq!(numbers, expected, "{ahead:?} {threads}");
            }
        }
    }
}

#[test]
fn an_error_comes_in_its_place() {
    let dir = TempDir::new().unwrap();
    let mut tasks = tasks(&dir, 9);
    let mut gone = tasks[5].data_file.as_ref().clone();
    gone.path = format!("{}/gone.parquet", dir.path().display());
    tasks[5].data_file = Arc::new(gone);
    let (numbers, error) = drain(&ReadAhead::new(reader(&dir, 300), source(tasks), ahead(true), 3));
    assert_eq!(numbers, (0..5 * ROWS).collect::<Vec<_>>());
    assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
}

#[test]
fn errors_and_panics_of_planning_come_after_the_rows_before_them() {
    let dir = TempDir::new().unwrap();
    for panics in [false, true] {
        let mut tasks = tasks(&dir, 3).into_iter();
        let source: TaskSource = Box::new(move || match tasks.next() {
            None if panics => panic!("on purpose"),
            None => Err(Error::corrupt("on purpose")),
            task => Ok(task),
        });
        let (numbers, error) = drain(&ReadAhead::new(reader(&dir, 1000), source, ahead(true), 2));
        assert_eq!(numbers.len() as i64, 3 * ROWS);
        assert_eq!(error.unwrap().kind(), if panics { ErrorKind::Internal } else { ErrorKind::CorruptTable });
    }
}

#[test]
fn reads_no_further_ahead_than_it_says() {
    let dir = TempDir::new().unwrap();
    let tasks = tasks(&dir, 40);
    for (few, most) in [(false, 2 * (2 + 1)), (true, 2)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let (counter, mut left) = (asked.clone(), tasks.clone().into_iter());
        let source: TaskSource = Box::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(left.next())
        });
        // Ten batches a file. Three of them wait.
        let ahead = Ahead { ordered: true, few, all: false };
        let stream = ReadAhead::new(reader(&dir, 100), source, ahead, 2);
        stream.next_batch().unwrap().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert!(asked.load(Ordering::Relaxed) <= most, "{} tasks are open", asked.load(Ordering::Relaxed));
        drop(stream);
    }
}

#[test]
fn the_one_that_waits_can_stop() {
    let dir = TempDir::new().unwrap();
    let source: TaskSource = Box::new(|| {
        // This planning never ends by itself.
        loop {
            check_cancelled()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let stream = ReadAhead::new(reader(&dir, 100), source, ahead(false), 2);
    let stopped = Cancellation::after(0).scope(|| stream.next_batch());
    assert_eq!(stopped.unwrap_err().message(), "stopped");
}

#[test]
fn large_files_are_cut_at_their_offsets() {
    let dir = TempDir::new().unwrap();
    let whole = tasks(&dir, 1).remove(0);
    let sized = |mebibytes: i64, offsets: &[i64]| {
        let offsets = Some(offsets.iter().map(|o| o << 20).collect());
        let file =
            Arc::new(crate::format::task::DataFile { split_offsets: offsets, ..whole.data_file.as_ref().clone() });
        let task = ScanTask { data_file: file, start: 4, length: (mebibytes << 20) - 4, ..whole.clone() };
        cut(task).iter().map(|t| (t.start, t.start + t.length)).collect::<Vec<_>>()
    };
    let mebi = |n: i64| n << 20;
    assert_eq!(sized(20, &[0, 10]), [(4, mebi(20))]);
    assert_eq!(sized(100, &[0, 10, 20, 40, 72, 90]), [(4, mebi(40)), (mebi(40), mebi(72)), (mebi(72), mebi(100))]);
    assert_eq!(sized(100, &[]), [(4, mebi(100))]);
    assert_eq!(sized(100, &[50, 40]), [(4, mebi(100))]);
    assert_eq!(sized(100, &[40, 400]), [(4, mebi(40)), (mebi(40), mebi(100))]);
}

// ---------------------------------------------------------------- small files of far stores

fn far_reader(dir: &TempDir, far: &FarStore) -> ScanReader {
    ScanReader { store: Arc::new(far.clone()), ..reader(dir, 100) }
}

#[test]
fn small_files_of_a_far_store_are_requested_at_once_and_once() {
    let dir = TempDir::new().unwrap();
    let tasks = tasks(&dir, 40);
    let expected: Vec<i64> = (0..40 * ROWS).collect();
    for (ordered, threads) in [(true, 0), (false, 4)] {
        let far = FarStore::default();
        let stream = ReadAhead::new(far_reader(&dir, &far), source(tasks.clone()), ahead(ordered), threads);
        let (mut numbers, error) = drain(&stream);
        assert!(error.is_none(), "{error:?}");
        if !ordered {
            numbers.sort();
        }
        assert_eq!(numbers, expected);
        let turns = far.turns();
        assert_eq!(turns.len(), 40, "{turns:?}");
        // Six threads that each wait for their file take seven turns.
        assert!(turns.iter().all(|(turn, _)| *turn <= 2), "{turns:?}");
    }
}

#[test]
fn files_that_are_not_needed_are_not_requested() {
    let dir = TempDir::new().unwrap();
    let tasks = tasks(&dir, 40);
    // Few rows are wanted, and the first file has them.
    let far = FarStore::default();
    let few = Ahead { few: true, ..ahead(true) };
    let stream = ReadAhead::new(far_reader(&dir, &far), source(tasks.clone()), few, 0);
    assert!(stream.next_batch().unwrap().is_some());
    drop(stream);
    assert!(far.turns().len() <= 3, "the first file, and those that the threads began meanwhile");
    // The filter leaves no row of most files.
    let none = tasks.iter().enumerate().map(|(i, task)| match i % 10 {
        0 => task.clone(),
        _ => ScanTask { residual: Arc::new(BoundPredicate::False), ..task.clone() },
    });
    let stream = ReadAhead::new(far_reader(&dir, &far), source(none.collect()), ahead(true), 0);
    assert_eq!(drain(&stream).0.len() as i64, 4 * ROWS);
    assert_eq!(far.turns().len(), 4);
}

#[test]
fn an_error_of_a_small_far_file_comes_in_its_place() {
    let dir = TempDir::new().unwrap();
    let tasks = tasks(&dir, 9);
    std::fs::remove_file(&tasks[5].data_file.path).unwrap();
    let stream = ReadAhead::new(far_reader(&dir, &FarStore::default()), source(tasks), ahead(true), 0);
    let (numbers, error) = drain(&stream);
    assert_eq!(numbers, (0..5 * ROWS).collect::<Vec<_>>());
    assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
}
