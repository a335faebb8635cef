//! Compaction while others commit.

use std::collections::BTreeMap;

use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
use arrow::record_batch::RecordBatchReader;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::error::ErrorKind;
use crate::expr::parse;
use crate::format::evolution::Evolution;
use crate::format::maintenance::CompactRules;
use crate::format::row_change::RowChange;
use crate::iceberg::committing::tests::{Fault, Setup};

fn rows(table: &IcebergTable, ids: std::ops::Range<i64>) -> Box<dyn RecordBatchReader + Send> {
    let arrow = to_arrow(table.schema()).unwrap();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from_iter_values(ids))]).unwrap();
    Box::new(RecordBatchIterator::new([Ok(batch)], arrow))
}

/// Two files of ten rows; `meanwhile` runs between planning and committing.
fn race(version: &str, meanwhile: impl Fn(&IcebergTable)) -> (Setup, Result<IcebergTable>) {
    let setup = Setup::new();
    let properties = [("write.delete.mode", "merge-on-read")];
    let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<BTreeMap<_, _>>();
    let upgrade = Evolution::Upgrade(version.parse().unwrap());
    let table = setup.table.evolve(&[Evolution::SetProperties(properties), upgrade]).unwrap();
    let table = table.append(rows(&table, 0..10)).unwrap();
    let table = table.append(rows(&table, 10..20)).unwrap();
    let options = CompactOptions::default();
    let sizes = Sizes::new(&CompactRules { rewrite_all: true, ..CompactRules::default() }, 1 << 20).unwrap();
    let scan = table.scan(ScanRequest::default()).unwrap();
    let groups = sizes.groups(&scan, 0).unwrap();
    let since = scan.snapshot_id().unwrap();
    let job = Job {
        rows: CompactionRows::new(&table, &scan).unwrap(),
        sizes,
        table: table.clone(),
        since,
        order: RowOrder::Any,
        options: &options,
    };
    let written = job.write(&groups).unwrap();
    meanwhile(&table);
    let done = job.commit(&groups, written).unwrap().into_result();
    (setup, done)
}

fn ids(table: &IcebergTable) -> u64 {
    table.scan(ScanRequest::default()).unwrap().count().unwrap()
}

#[test]
fn appends_do_not_get_in_the_way() {
    for version in ["2", "3"] {
        let (setup, done) = race(version, |table| drop(table.append(rows(table, 20..25)).unwrap()));
        assert_eq!((ids(&done.unwrap()), setup.files("data")), (25, 4));
    }
}

#[test]
fn deletes_by_position_and_removed_files_are_conflicts() {
    let delete = |table: &IcebergTable, filter: &str| {
        let change = RowChange::Delete(parse(filter).unwrap());
        drop(table.change_rows(&change, None, &CommitOptions::default()).unwrap());
    };
    for version in ["2", "3"] {
        for (filter, left, files) in [("id = 3", 19, 3), ("id < 10", 10, 2)] {
            let (setup, done) = race(version, |table| delete(table, filter));
            assert_eq!(done.unwrap_err().kind(), ErrorKind::CommitConflict, "{version} {filter}");
            let table = setup.table.refresh().unwrap();
            // The new file is removed again. The third file is a delete file.
            assert_eq!((ids(&table), setup.files("data")), (left, files), "{version} {filter}");
        }
    }
}

#[test]
fn a_compaction_of_which_nobody_knows_keeps_all_files() {
    let setup = Setup::new();
    (0..3).for_each(|_| drop(setup.append(Fault::None).unwrap()));
    *setup.store.fault.lock().unwrap() = Fault::Timeout;
    let rules = CompactRules { rewrite_all: true, ..CompactRules::default() };
    let options = CompactOptions { rules, ..CompactOptions::default() };
    let e = setup.table.compact(&options).unwrap_err();
    assert_eq!((e.kind(), setup.files("data")), (ErrorKind::CommitStateUnknown, 4));
}

/// Equality deletes apply to the new files as to the old ones. Deletes that were converted to positions meanwhile do
/// not.
#[test]
fn equality_deletes_are_no_conflict_unless_they_become_positions() {
    let delete = |table: &IcebergTable| {
        let change = RowChange::DeleteKeys(vec![table.schema().fields[0].name.clone()]);
        table.change_rows(&change, Some(rows(table, 3..5)), &CommitOptions::default()).unwrap()
    };
    for version in ["2", "3"] {
        let (_setup, done) = race(version, |table| drop(delete(table)));
        assert_eq!(ids(&done.unwrap()), 18, "{version}");
        let (setup, done) = race(version, |table| {
            let options = crate::format::maintenance::DeleteOptions::default();
            let (_, done) = delete(table).convert_equality_deletes(&options).unwrap();
            assert_eq!((done.rewritten_files, done.added_files), (1, 1));
        });
        assert_eq!(done.unwrap_err().kind(), ErrorKind::CommitConflict, "{version}");
        assert_eq!(ids(&setup.table.refresh().unwrap()), 18, "{version}");
    }
}

#[test]
fn an_upgrade_meanwhile_is_a_conflict() {
    let (setup, done) = race("2", |table| drop(table.evolve(&[Evolution::Upgrade(3)]).unwrap()));
    let e = done.unwrap_err();
    assert!(e.kind() == ErrorKind::CommitConflict && e.to_string().contains("upgraded"), "{e}");
    assert_eq!((ids(&setup.table.refresh().unwrap()), setup.files("data")), (20, 2));
}

/// Four files of one row, compacted one by one. The store fails at the first commit.
fn in_parts(fault: Fault, max_failed_commits: Option<usize>) -> (Setup, Result<(IcebergTable, Compacted)>) {
    let setup = Setup::new();
    (0..4).for_each(|_| drop(setup.append(Fault::None).unwrap()));
    *setup.store.fault.lock().unwrap() = fault;
    // One file in a group, and so in a commit.
    let rules = CompactRules { rewrite_all: true, max_group_bytes: 1, ..CompactRules::default() };
    let options = CompactOptions { rules, max_commits: Some(4), max_failed_commits, ..CompactOptions::default() };
    let done = setup.table.compact(&options);
    (setup, done)
}

#[test]
fn parts_that_fail_do_not_keep_the_others() {
    // Files afterwards: eight of four rewrites, minus the new one of a commit that certainly failed.
    for (fault, files) in [(Fault::Refused, 7), (Fault::Timeout, 8)] {
        let (setup, done) = in_parts(fault, None);
        let (table, done) = done.unwrap();
        assert_eq!((done.commits, done.failed.len(), done.rewritten_files), (3, 1, 3), "{fault:?}");
        assert_eq!((ids(&table), setup.files("data")), (4, files), "{fault:?}");
        assert!(in_parts(fault, Some(1)).1.is_ok());
        let (setup, done) = in_parts(fault, Some(0));
        let e = done.unwrap_err();
        let kind = if fault == Fault::Refused { ErrorKind::PermissionDenied } else { ErrorKind::CommitStateUnknown };
        assert!(e.kind() == kind && e.to_string().contains("1 of 4 commits"), "{e}");
        assert_eq!(ids(&setup.table.refresh().unwrap()), 4);
    }
    let setup = Setup::new();
    let options = CompactOptions { max_failed_commits: Some(1), ..CompactOptions::default() };
    assert_eq!(setup.table.compact(&options).unwrap_err().kind(), ErrorKind::InvalidInput);
}
