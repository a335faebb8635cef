//! A table of the toy format, used like any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow::datatypes::Int64Type;
use tempfile::TempDir;

use super::ToyTable;
use crate::data::arrow::schema::to_arrow;
use crate::error::ErrorKind;
use crate::expr::parse;
use crate::format::commit::CommitOptions;
use crate::format::maintenance::Maintenance;
use crate::format::request::{At, ScanRequest, WriteOptions};
use crate::format::splits::SplitRequest;
use crate::format::wire::task::{message_from_json, message_to_json, split_from_json, split_to_json};
use crate::rows::seam::{Scan, ScanCapability, Table, TableCapability};
use crate::rows::stream::{RowReader, StreamRequest, read_split};
use crate::tables::open::open;
use crate::tables::reopen::table_from_json;
use crate::types::{Field, PrimitiveType as P, Schema};

fn table(dir: &TempDir) -> Arc<dyn Table> {
    let location = dir.path().to_str().unwrap();
    let fields = vec![Field::new(1, "id", false, P::Long), Field::new(2, "name", true, P::String)];
    ToyTable::create(location, &Schema::new(0, fields, vec![])).unwrap();
    open(location, BTreeMap::new(), false).unwrap()
}

fn rows(table: &dyn Table, ids: &[i64]) -> RowReader {
    let arrow = to_arrow(table.schema()).unwrap();
    let names: StringArray = ids.iter().map(|id| Some(format!("n{id}"))).collect();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from(ids.to_vec())), Arc::new(names)]);
    Box::new(RecordBatchIterator::new([batch], arrow))
}

fn append(table: &dyn Table, ids: &[i64]) -> Arc<dyn Table> {
    table.append(rows(table, ids), &WriteOptions::default(), &CommitOptions::default()).unwrap()
}

fn scan(table: &dyn Table, request: ScanRequest) -> Box<dyn Scan> {
    table.scan(request).unwrap()
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn is_read_planned_explained_and_appended_to() {
    let dir = TempDir::new().unwrap();
    let empty = table(&dir);
    assert_eq!((empty.format().id, empty.format_version(), empty.snapshot()), ("toy", 1, None));
    assert_eq!(scan(empty.as_ref(), ScanRequest::default()).read_all().unwrap(), []);

    let one = append(empty.as_ref(), &[1, 2, 3]);
    let of_filter = ScanRequest { filter: Some(parse("id > 1").unwrap()), ..ScanRequest::default() };
    let filtered = scan(one.as_ref(), of_filter).select(&["id".to_owned()]).unwrap();
    assert_eq!(ids(&filtered.read_all().unwrap()), [2, 3]);
    assert_eq!((filtered.count().unwrap(), filtered.limit(1).count().unwrap()), (2, 1));
    assert_eq!(filtered.plan_table().unwrap()[0].num_rows(), 1);
    let explained = filtered.explain(true).unwrap();
    assert_eq!((explained.explain.format, explained.explain.rows), ("toy", 3));
    assert_eq!(explained.explain.stages[0].kept, 1);
    assert_eq!(explained.files.unwrap()[0].num_rows(), 1);

    let two = append(one.as_ref(), &[4]);
    assert_eq!(ids(&scan(two.as_ref(), ScanRequest::default()).read_all().unwrap()), [1, 2, 3, 4]);
    assert_eq!(one.refresh().unwrap().snapshot(), two.snapshot());
    let at = ScanRequest { at: Some(At::Snapshot(1)), ..ScanRequest::default() };
    assert_eq!(scan(two.as_ref(), at).count().unwrap(), 3);
    assert_eq!((two.snapshots().unwrap().len(), two.refs().unwrap().len()), (2, 0));
}

#[test]
fn travels_to_other_processes() {
    let dir = TempDir::new().unwrap();
    let old = append(table(&dir).as_ref(), &[1, 2]);
    let message = old.write(rows(old.as_ref(), &[3]), &WriteOptions::default()).unwrap();
    let message = message_from_json(&message_to_json(&message).unwrap()).unwrap();
    let new = table_from_json(&old.to_json()).unwrap().commit(vec![message], &CommitOptions::default()).unwrap();
    assert_eq!(scan(table_from_json(&old.to_json()).unwrap().as_ref(), ScanRequest::default()).count().unwrap(), 2);

    let splits = scan(new.as_ref(), ScanRequest::default()).splits(SplitRequest::default()).unwrap();
    let read = |split| {
        let split = split_from_json(&split_to_json(split).unwrap()).unwrap();
        read_split(&split, StreamRequest { ordered: true, ..StreamRequest::default() }, None).unwrap().collect_all()
    };
    let mut found: Vec<i64> = splits.iter().flat_map(|split| ids(&read(split).unwrap())).collect();
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3]);
}

#[test]
fn refuses_what_it_lacks() {
    let dir = TempDir::new().unwrap();
    let table = table(&dir);
    let refused = table.maintain(&Maintenance::ComputePartitionStatistics(None)).map(drop).unwrap_err();
    assert!(refused.to_string().starts_with("compute_partition_statistics: not with tables of toy folders yet"));
    let refused = table.format().required("transactions", table.transactions()).map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    let text = "transactions: not with tables of toy folders yet. Append all rows at once";
    assert_eq!(refused.to_string(), text);
    assert_eq!(refused.hint_text(), Some("Append all rows at once"));
    let scan = scan(table.as_ref(), ScanRequest::default());
    let refused = scan.format().required("plans in parts", scan.parted_plans()).map(drop).unwrap_err();
    assert_eq!(refused.hint_text(), Some("docs/not-yet.md lists what tables of each format support"));

    assert!(table.supports(TableCapability::IndependentWriters) && !table.supports(TableCapability::NativeWrites));
    assert!(!scan.supports(ScanCapability::NativeReads));
}
