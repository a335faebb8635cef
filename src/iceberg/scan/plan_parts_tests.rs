use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Int64Array, RecordBatchIterator, StringArray};
use serde_json::Value as Json;

use super::*;
use crate::expr::json::predicate_from_json;
use crate::expr::{Predicate, parse};
use crate::format::catalog::NewTable;
use crate::format::ident::TableIdent;
use crate::format::request::ScanRequest;
use crate::format::task::ScanTask;
use crate::iceberg::catalog_tables::IcebergCatalog;
use crate::iceberg::state::{ICEBERG, IcebergTable};
use crate::parallel::Cancellation;
use crate::rows::seam::Catalog as _;
use crate::types::{Field as Column, PrimitiveType as P};

/// A table of `commits` manifests: one for each append, of two files in two partitions.
pub(crate) fn table(folder: &Path, commits: i64, version: u8) -> IcebergTable {
    let warehouse = folder.to_str().unwrap().to_owned();
    let catalog = IcebergCatalog::open("c", BTreeMap::from([("warehouse".to_owned(), warehouse)])).unwrap();
    catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
    let schema =
        Schema::new(0, vec![Column::new(1, "id", false, P::Long), Column::new(2, "p", false, P::String)], vec![]);
    let request = NewTable {
        partition_by: vec!["p".to_owned()],
        properties: BTreeMap::from([("format-version".to_owned(), version.to_string())]),
        ..NewTable::default()
    };
    let created = catalog.create_table(&TableIdent::parse("db.t").unwrap(), &schema, request, &ICEBERG).unwrap();
    let mut table = IcebergTable::open(created.location(), BTreeMap::new(), false).unwrap();
    for n in 0..commits {
        let arrow = crate::data::arrow::schema::to_arrow(table.schema()).unwrap();
        let ids = Int64Array::from(vec![n * 10, n * 10 + 1]);
        let parts = StringArray::from(vec![format!("p{}", n % 3), "all".to_owned()]);
        let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(ids), Arc::new(parts)]).unwrap();
        table = table.append(Box::new(RecordBatchIterator::new([Ok(batch)], arrow))).unwrap();
    }
    table
}

fn scan(table: &IcebergTable, filter: Option<Predicate>) -> IcebergScan {
    table.scan(ScanRequest { filter, ..ScanRequest::default() }).unwrap()
}

fn whole(scan: &IcebergScan) -> Vec<ScanTask> {
    scan.plan_files().unwrap().collect::<Result<_>>().unwrap()
}

/// The tasks of all parts, each sent through JSON.
fn in_parts(scan: &IcebergScan, part_bytes: u64) -> (usize, Vec<ScanTask>) {
    let parts = scan.plan_parts(part_bytes, 0).unwrap();
    let mut tasks = Vec::new();
    for part in &parts {
        let sent = IcebergPlanPart::from_json(&part.to_json()).unwrap();
        assert_eq!(sent.to_json(), part.to_json());
        tasks.extend(sent.plan_files(true).unwrap().map(|t| t.unwrap()));
    }
    (parts.len(), tasks)
}

#[test]
fn the_parts_together_are_the_plan() {
    for version in [1, 2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path(), 7, version);
        let filters = [
            "id >= 0",
            "p = 'p1'",
            "id in (1, 30, 31)",
            "p = 'p2' or id < 5",
            "id < 0",
            "p is null",
            "bucket(4, id) = 1",
        ];
        for filter in std::iter::once(None).chain(filters.into_iter().map(|f| Some(parse(f).unwrap()))) {
            let scan = scan(&table, filter);
            let tasks = whole(&scan);
            let row_ids = tasks.iter().filter(|t| t.data_file.first_row_id.is_some()).count();
            assert_eq!(row_ids, if version == 3 { tasks.len() } else { 0 });
            for part_bytes in [1, 15_000, u64::MAX] {
                assert_eq!(in_parts(&scan, part_bytes).1, tasks, "{}", scan.whole_filter());
            }
        }
        let all = scan(&table, None);
        assert_eq!(in_parts(&all, 1).0, 7);
        assert_eq!(in_parts(&all, u64::MAX).0, 1);
        assert_eq!(all.plan_parts(1, u64::MAX).unwrap().len(), 1);
        let first = &all.plan_parts(1, 0).unwrap()[0];
        assert_eq!((first.most_files(), first.manifest_counts()), (2, (1, 0)));
        // The manifests with p1, and those with p2, since the other partition is `all`.
        assert_eq!(in_parts(&scan(&table, Some(parse("p = 'p1'").unwrap())), 1).0, 4);
    }
}

#[test]
fn one_part_packs_as_the_scan_does() {
    let folder = tempfile::tempdir().unwrap();
    let scan = scan(&table(folder.path(), 5, 2), None);
    let [part] = &scan.plan_parts(1 << 30, 0).unwrap()[..] else { panic!("not one part") };
    assert_eq!(part.splits().unwrap(), scan.splits(SplitRequest::default()).unwrap());
    // Small files weigh as much as opening them: 10 x 4 MiB.
    assert_eq!(scan.estimate_splits(u128::from(part.most_files())).unwrap(), 1);
    assert_eq!(scan.estimate_splits(7 * u128::from(part.most_files())).unwrap(), 3);
    assert_eq!(scan.estimate_splits(0).unwrap(), 1);
    assert_eq!(scan.reader().context, *scan.context());
}

#[test]
fn the_table_of_a_part_has_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let scan = scan(&table(folder.path(), 2, 2), Some(parse("id < 11").unwrap()));
    let mut tasks = Vec::new();
    for part in scan.plan_parts(1, 0).unwrap() {
        for batch in part.plan_table().unwrap() {
            let texts = batch.column_by_name("split").unwrap();
            let texts = texts.as_any().downcast_ref::<arrow::array::BinaryArray>().unwrap();
            for text in texts.iter().flatten() {
                let text = std::str::from_utf8(text).unwrap();
                tasks.extend(crate::format::wire::task::tasks_from_json(text, scan.context()).unwrap().tasks);
            }
        }
    }
    let packed = scan.splits(SplitRequest { split_size_bytes: Some(1 << 40), ..Default::default() }).unwrap();
    let paths = |tasks: &[ScanTask]| tasks.iter().map(|t| t.data_file.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&tasks), paths(&packed[0].tasks));
    assert_eq!(tasks.len(), 3);
}

#[test]
fn an_empty_table_has_no_parts() {
    let folder = tempfile::tempdir().unwrap();
    assert!(scan(&table(folder.path(), 0, 2), None).plan_parts(1, 0).unwrap().is_empty());
}

/// Needs tables as the interop corpus generator makes them, in the folder that FRAZIL_CORPUS names.
#[test]
#[ignore = "needs the interop corpus: set FRAZIL_CORPUS"]
fn the_parts_together_are_the_plan_in_the_whole_corpus() {
    let root = std::env::var("FRAZIL_CORPUS").unwrap();
    let (mut plans, mut many, mut deletes) = (0, 0, 0);
    for entry in std::fs::read_dir(format!("{root}/expected")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_str().unwrap().ends_with(".full.json") {
            continue;
        }
        let expected: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let place = format!("{root}/warehouse/db/{}", path.file_stem().unwrap().to_str().unwrap());
        let Ok(table) = IcebergTable::open(&place, BTreeMap::new(), true) else { continue };
        for case in expected["cases"].as_array().into_iter().flatten() {
            let filter = case.get("filter").filter(|f| !f.is_null()).map(predicate_from_json);
            let Ok(filter) = filter.transpose() else { continue };
            let Ok(scan) = table.scan(ScanRequest { filter, ..ScanRequest::default() }) else { continue };
            let Ok(tasks) = scan.plan_files().and_then(Iterator::collect::<Result<Vec<_>>>) else { continue };
            for part_bytes in [1, 15_000] {
                let (parts, found) = in_parts(&scan, part_bytes);
                // Compared as text, because NaN does not equal itself.
                assert_eq!(format!("{found:?}"), format!("{tasks:?}"), "{place}: {}", scan.whole_filter());
                many += usize::from(parts > 1);
            }
            plans += 1;
            deletes += usize::from(tasks.iter().any(|t| !t.deletes.is_empty()));
        }
    }
    println!("{plans} plans, {many} of several parts, {deletes} with deletes");
    assert!(many > 0 && deletes > 0);
}

#[test]
fn parting_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let all = scan(&table(folder.path(), 2, 2), None);
    let stopped = Cancellation::after(0).scope(|| all.plan_parts(1, 0));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
}
