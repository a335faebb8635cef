//! Tables that Java's Paimon wrote, against the rows that it reads of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::bucket_testing::{Described, expected, merged, printed};
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::task::read_task;
use crate::error::{ErrorKind, Result};
use crate::format::task::{ChangeOperation, DataFile, DeleteRef, MergeSection, ReadContext, ScanTask, TaskChange};
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::types::Schema;
use crate::types::metadata_columns::{CHANGE_TYPE, metadata_column};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/paimon")
}

fn described(table: &str) -> Json {
    serde_json::from_slice(&std::fs::read(fixtures().join(table).join("expected.json")).unwrap()).unwrap()
}

/// The rows of some tasks, each as the corpus prints it. The change type comes first if there is one.
fn lines(context: &Arc<ReadContext>, tasks: &[ScanTask]) -> Result<Vec<String>> {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let cache = DeleteCache::default();
    let mut out = Vec::new();
    for task in tasks {
        for batch in read_task(&store, context, task, &cache)? {
            let batch = batch?;
            let fields = context.projection.fields.iter().zip(batch.columns());
            for row in 0..batch.num_rows() {
                out.push(fields.clone().map(|(f, c)| printed(c, row, &f.ty)).collect::<Json>().to_string());
            }
        }
    }
    out.sort();
    Ok(out)
}

/// Rows that Java gave. If wanted, each has its kind in the words of `_change_type`.
fn java_lines(context: &ReadContext, rows: &Json, with_kind: bool) -> Vec<String> {
    let line = |row: &Json| {
        let kind = match row[0].as_str().unwrap() {
            "+I" => "insert",
            "-U" => "update_before",
            "+U" => "update_after",
            _ => "delete",
        };
        let fields = context.projection.fields.iter().filter(|f| f.id != CHANGE_TYPE);
        let values = row.as_array().unwrap().iter().skip(1).zip(fields).map(|(j, f)| expected(j, &f.ty));
        with_kind.then(|| json!(kind)).into_iter().chain(values).collect::<Json>().to_string()
    };
    let mut lines: Vec<String> = rows.as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

fn changing(context: &ReadContext) -> Arc<ReadContext> {
    let fields = metadata_column(CHANGE_TYPE).into_iter().chain(context.projection.fields.iter().cloned());
    let projection = Arc::new(Schema::new(context.projection.id, fields.collect::<Vec<_>>(), Vec::new()));
    Arc::new(ReadContext { projection, ..context.clone() })
}

fn change() -> Option<Box<TaskChange>> {
    let operation = ChangeOperation::Insert;
    Some(Box::new(TaskChange { operation, ordinal: 0, commit_snapshot_id: 1, removed_by: None, commit: None }))
}

/// The faults in the reads of a table; empty if there are none.
fn wrong_reads(said: &Json, root: &Path) -> Vec<String> {
    let table = Described { said, root };
    let mut wrong = Vec::new();
    for read in said["reads"].as_array().into_iter().flatten() {
        let has_files = |splits: &Vec<Json>| splits.iter().all(|split| split["files"].is_array());
        if !read["rows"].is_array() || !read["splits"].as_array().is_some_and(has_files) || !read["branch"].is_null() {
            continue;
        }
        let is_change = read["options"].get("incremental-between").is_some();
        let mut context = table.context(read);
        let mut tasks = table.tasks(&context, read, is_change);
        if is_change {
            context = changing(&context);
            tasks.iter_mut().for_each(|task| task.change = change());
        }
        let wanted = java_lines(&context, &read["rows"], is_change);
        let name = format!("{}/{}", said["table"].as_str().unwrap(), read["name"].as_str().unwrap());
        match lines(&context, &tasks) {
            Err(e) => wrong.push(format!("{name}: {e}")),
            Ok(got) if got != wanted => {
                let extra = got.iter().find(|l| !wanted.contains(l));
                let missing = wanted.iter().find(|l| !got.contains(l));
                wrong.push(format!("{name}: {} rows instead of {}; {extra:?} {missing:?}", got.len(), wanted.len()));
            }
            Ok(_) => {}
        }
    }
    wrong
}

#[test]
fn rows_are_those_that_java_reads() {
    let mut wrong = Vec::new();
    let mut tables = 0;
    for table in std::fs::read_dir(fixtures()).unwrap() {
        let table = table.unwrap().file_name();
        let path = fixtures().join(&table).join("expected.json");
        if path.exists() {
            tables += 1;
            wrong.extend(wrong_reads(&described(table.to_str().unwrap()), &fixtures()));
        }
    }
    assert!(tables >= 20, "{tables}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn read_named<'a>(said: &'a Json, name: &str) -> &'a Json {
    said["reads"].as_array().unwrap().iter().find(|r| r["name"] == json!(name)).unwrap()
}

/// The rows that Java has after three commits and not after the first.
#[test]
fn the_difference_of_two_states_is_what_the_later_one_has() {
    let (said, root) = (described("pk_dedup_l0"), fixtures());
    let table = Described { said: &said, root: &root };
    let (first, last) = (read_named(&said, "s1"), read_named(&said, "full"));
    let context = table.context(last);
    let runs = |read: &Json| -> Vec<Vec<ScanTask>> {
        table.tasks(&context, read, true).into_iter().map(|task| vec![task]).collect()
    };
    let section = MergeSection { runs: runs(last), before: Some(runs(first)) };
    let task = ScanTask { merge: Some(Arc::new(section)), change: change(), ..runs(last)[0][0].clone() };
    let old = java_lines(&context, &first["rows"], false);
    let new: Vec<String> =
        java_lines(&context, &last["rows"], false).into_iter().filter(|l| !old.contains(l)).collect();
    assert!(!new.is_empty() && !old.is_empty());
    let changing = changing(&context);
    let found = lines(&changing, &[task]).unwrap();
    let values = |line: &String| {
        let row: Json = serde_json::from_str(line).unwrap();
        Json::Array(row.as_array().unwrap()[1..].to_vec()).to_string()
    };
    let mut got: Vec<String> = found.iter().map(values).collect();
    got.sort();
    assert_eq!(got, new);
    assert!(found.iter().all(|l| l.contains("insert") || l.contains("update_after")), "{found:?}");
}

/// Merges give the same rows for all sizes of batches, and for all ways to spread files over runs.
#[test]
fn the_size_of_batches_does_not_matter() {
    for table in ["pk_dedup_l0", "pu_sequence_group", "agg_l0", "sequence_field_multi"] {
        let (said, root) = (described(table), fixtures());
        let described = Described { said: &said, root: &root };
        let read = read_named(&said, "full");
        let context = described.context(read);
        let wanted = java_lines(&context, &read["rows"], false);
        for batch_rows in [1, 2, 3, 5, 1000] {
            let context = Arc::new(ReadContext { batch_rows, ..context.as_ref().clone() });
            assert_eq!(
                lines(&context, &described.tasks(&context, read, false)).unwrap(),
                wanted,
                "{table} {batch_rows}"
            );
        }
    }
}

#[test]
fn damaged_deletion_vectors_are_errors() {
    for table in ["append_dv", "append_dv64"] {
        let (said, root) = (described(table), fixtures());
        let described = Described { said: &said, root: &root };
        let read = read_named(&said, "full");
        let context = described.context(read);
        let task = described.tasks(&context, read, false).into_iter().find(|t| !t.deletes.is_empty()).unwrap();
        let file = task.deletes[0].file.as_ref().clone();
        let bytes = std::fs::read(&file.path).unwrap();
        let dir = tempfile::TempDir::new().unwrap();
        let with = |file: DataFile, bytes: &[u8]| {
            let path = dir.path().join("index").display().to_string();
            std::fs::write(&path, bytes).unwrap();
            let file = DataFile { path, ..file };
            let task = ScanTask { deletes: vec![DeleteRef { file: Arc::new(file) }], ..task.clone() };
            lines(&context, &[task])
        };
        let whole = with(file.clone(), &bytes).unwrap();
        assert!(!whole.is_empty());
        let start = file.content_offset.unwrap() as usize;
        for at in start..bytes.len().min(start + file.content_size_bytes.unwrap() as usize) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            assert_eq!(with(file.clone(), &damaged).unwrap_err().kind(), ErrorKind::CorruptTable, "{table} {at}");
        }
        let more = DataFile { record_count: file.record_count + 1, ..file.clone() };
        assert_eq!(with(more, &bytes).unwrap_err().kind(), ErrorKind::CorruptTable);
        for length in [-1, 0, 3, 7, file.content_size_bytes.unwrap() - 1, file.content_size_bytes.unwrap() + 1, 1 << 40]
        {
            let wrong = DataFile { content_size_bytes: Some(length), ..file.clone() };
            assert!(with(wrong, &bytes).is_err(), "{table} {length}");
        }
        assert!(with(file.clone(), &bytes[..start + 9]).is_err());
    }
}

/// Filters test merged rows: a value that was replaced finds nothing.
#[test]
fn one_run_alone_is_filtered_as_merged_rows_are() {
    let (said, root) = (described("pk_dedup_l0"), fixtures());
    let described = Described { said: &said, root: &root };
    for read in said["reads"].as_array().unwrap().iter().filter(|r| !r["filter"].is_null()) {
        let context = described.context(read);
        let all = described.tasks(&context, read_named(&said, "full"), true);
        let tasks = described.tasks(&context, read, true);
        let Some(residual) = tasks.first().map(|t| t.residual.clone()) else { continue };
        let task = ScanTask { residual, ..merged(all).unwrap() };
        assert_eq!(lines(&context, &[task]).unwrap(), java_lines(&context, &read["rows"], false));
    }
}
