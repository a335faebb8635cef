use std::collections::HashMap;

use tempfile::TempDir;

use super::*;
use crate::format::request::ScanRequest;
use crate::iceberg::scan::plan_parts::tests::table;
use crate::iceberg::state::IcebergTable;
use crate::parallel::Cancellation;
use crate::rows::native_read::{NativeReadRequest, Reasons};

const EVEN: SplitRequest =
    SplitRequest { split_size_bytes: Some(300), lookback: Some(3), open_file_cost_bytes: Some(100) };

fn scan(table: &IcebergTable, filter: &str) -> IcebergScan {
    let filter = Some(crate::expr::parse(filter).unwrap());
    table.scan(ScanRequest { filter, ..ScanRequest::default() }).unwrap()
}

#[test]
fn packed_are_the_splits_that_the_scan_has() {
    let dir = TempDir::new().unwrap();
    for version in [1, 2, 3] {
        let table = table(&dir.path().join(version.to_string()), 7, version);
        for filter in ["true", "p = 'all'", "id > 20 and p < 'p1'", "id = 3 or p = 'p2'"] {
            let scan = scan(&table, filter);
            for request in [EVEN, SplitRequest::default(), SplitRequest { open_file_cost_bytes: Some(0), ..EVEN }] {
                let splits = scan.splits(request).unwrap();
                let Splits::Packed(packed) = scan.splits_or_packed(request, 1).unwrap() else {
                    panic!("{filter}: they are not packed")
                };
                assert_eq!(packed.splits().unwrap(), splits, "{filter}");
                assert_eq!(packed.count, splits.len());
                let Splits::Each(few) = scan.splits_or_packed(request, splits.len() + 1).unwrap() else {
                    panic!("{filter}: they are packed")
                };
                assert_eq!(few, splits, "{filter}");
            }
        }
    }
}

#[test]
fn files_that_all_stay_here_are_packed() {
    let dir = TempDir::new().unwrap();
    let scan = scan(&table(dir.path(), 3, 2), "true");
    let request = NativeReadRequest {
        schemes: vec!["file".into()],
        refused: HashMap::new(),
        most_files: 1,
        most_positions: 0,
        pack_from: 1,
    };
    let found = scan.native_read(&request, EVEN).unwrap();
    assert!(matches!(&found.reasons, Reasons::Everywhere(reason) if reason.contains("6 files")), "{:?}", found.reasons);
    let Splits::Packed(packed) = found.rest else { panic!("they are not packed") };
    assert_eq!(packed.splits().unwrap(), scan.splits(EVEN).unwrap());
    let none = scan.native_read(&NativeReadRequest { most_files: 10, ..request }, EVEN).unwrap();
    assert!(matches!(none.rest, Splits::Each(splits) if splits.is_empty()));
}

#[test]
fn packing_can_be_stopped() {
    let dir = TempDir::new().unwrap();
    let scan = scan(&table(dir.path(), 2, 2), "true");
    let stop = Cancellation::after(0);
    let stopped = stop.scope(|| scan.splits_or_packed(EVEN, 1));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
    let Splits::Packed(packed) = scan.splits_or_packed(EVEN, 1).unwrap() else { panic!("they are not packed") };
    assert_eq!(stop.scope(|| packed.splits()).unwrap_err().message(), "stopped");
}
