use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{AsArray, Int32Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow::datatypes::Int32Type;

use super::*;
use crate::error::ErrorKind;
use crate::format::commit::CommitOptions;
use crate::parallel::Cancellation;
use crate::rows::stream::StreamRequest;
use crate::store::{self, Store};

fn table(folder: &Path, key: bool, options: &[(&str, &str)]) -> PaimonTable {
    let options: serde_json::Map<String, serde_json::Value> =
        options.iter().map(|(k, v)| (k.to_string(), (*v).into())).collect();
    let keys: &[&str] = if key { &["id"] } else { &[] };
    let schema = serde_json::json!({
        "version": 3, "id": 0, "highestFieldId": 1, "partitionKeys": [], "primaryKeys": keys, "options": options,
        "fields": [
            {"id": 0, "name": "id", "type": if key { "INT NOT NULL" } else { "INT" }},
            {"id": 1, "name": "name", "type": "STRING"},
        ],
        "timeMillis": 1,
    });
    std::fs::create_dir_all(folder.join("schema")).unwrap();
    std::fs::write(folder.join("schema/schema-0"), schema.to_string()).unwrap();
    let location = folder.to_str().unwrap();
    let store: Arc<dyn Store> = store::open_store(location, &BTreeMap::new()).unwrap();
    PaimonTable::find(&store, location, &BTreeMap::new()).unwrap().unwrap()
}

fn append(table: &PaimonTable, ids: &[i32], name: &str) -> PaimonTable {
    let names = StringArray::from(vec![name; ids.len()]);
    let ids: arrow::array::ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", Arc::new(names) as _)]).unwrap();
    let schema = batch.schema();
    table.append(Box::new(RecordBatchIterator::new([Ok(batch)], schema)), &CommitOptions::default()).unwrap()
}

fn rows(table: &PaimonTable) -> Vec<(i32, String)> {
    let scan = table.refresh().unwrap().scan(ScanRequest::default()).unwrap();
    let mut stream = scan.read(StreamRequest::default()).unwrap();
    let mut out = Vec::new();
    while let Some(batch) = stream.next_batch().unwrap() {
        let (ids, names) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_string::<i32>());
        out.extend(ids.values().iter().copied().zip(names.iter().map(|n| n.unwrap().to_owned())));
    }
    out.sort();
    out
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder.join("bucket-0")).unwrap().count()
}

fn newest(table: &PaimonTable) -> Option<i64> {
    table.refresh().unwrap().metadata().snapshot.as_ref().map(|s| s.id)
}

/// A compaction that was planned and written, and not committed yet.
fn written(table: &PaimonTable) -> Commit {
    let job = CompactJob::plan(table.refresh().unwrap(), &BucketCompaction::default()).unwrap();
    let changes = job.run().and_then(|outcomes| job.changes(outcomes)).unwrap();
    Commit::new(table.folder(), changes).compacting().owning_files()
}

#[test]
fn what_another_compacted_is_a_conflict_and_nothing_is_lost() {
    for key in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let table = table(folder.path(), key, &[("bucket", "1"), ("bucket-key", "id")]);
        for name in ["a", "b", "c"] {
            append(&table, &[1, 2], name);
        }
        let before = rows(&table);
        let late = written(&table);
        let (_, done) = table.compact(&BucketCompaction::default()).unwrap();
        assert_eq!((done.rewritten_files, done.added_files, done.commits), (3, 1, 1));
        let (count, snapshot) = (files(folder.path()), newest(&table));
        let e = late.run().into_result().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
        assert!(e.to_string().contains("another commit removed it first") && e.to_string().contains("data-"), "{e}");
        assert_eq!((files(folder.path()), newest(&table)), (count - 1, snapshot));
        assert_eq!(rows(&table), before);
    }
}

#[test]
fn what_is_added_meanwhile_stays() {
    for options in [&[][..], &[("deletion-vectors.enabled", "true")], &[("changelog-producer", "lookup")]] {
        let folder = tempfile::tempdir().unwrap();
        let options: Vec<_> = options.iter().copied().chain([("bucket", "1")]).collect();
        let table = table(folder.path(), true, &options);
        append(&table, &[1, 2], "a");
        append(&table, &[2, 3], "b");
        let compaction = written(&table);
        append(&table, &[3, 4], "c");
        compaction.run().into_result().unwrap();
        table.compact(&BucketCompaction::default()).unwrap();
        let names: Vec<(i32, String)> =
            [(1, "a"), (2, "b"), (3, "c"), (4, "c")].into_iter().map(|(id, n)| (id, n.to_owned())).collect();
        assert_eq!(rows(&table), names);
    }
}

#[test]
fn an_interrupted_compaction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(folder.path(), true, &[("bucket", "1")]);
    append(&table, &[1, 2], "a");
    append(&table, &[1, 2], "b");
    let (count, snapshot) = (files(folder.path()), newest(&table));
    let stopped = Cancellation::after(1).scope(|| table.compact(&BucketCompaction::default()));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
    assert_eq!((files(folder.path()), newest(&table)), (count, snapshot));
    assert_eq!(rows(&table).len(), 2);
}
