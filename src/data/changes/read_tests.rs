use arrow::array::Int64Array;
use tempfile::TempDir;

use super::*;
use crate::data::testing::{
    context, deleting, deletion_vector, equality_deletes, field, leaf, position_deletes, read, rows, schema, task,
    write,
};
use crate::expr::Op;
use crate::format::task::{ChangeOperation, CommitChanges, DataFile, DeleteRef};
use crate::types::{PrimitiveType as P, Value};

fn plain() -> Schema {
    schema(vec![field(1, "id", P::Long)])
}

fn longs(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// All columns of a changelog of `id`.
fn changelog(ids: &[FieldId]) -> Arc<ReadContext> {
    let mut fields = vec![field(1, "id", P::Long)];
    fields.extend(ids.iter().filter_map(|id| metadata_column(*id)));
    let wanted = schema(fields);
    Arc::new(ReadContext { projection: Arc::new(wanted), ..context(&plain()).as_ref().clone() })
}

fn changed(task: ScanTask, operation: ChangeOperation, removed_by: Option<Vec<DataFile>>) -> ScanTask {
    let refs = |files: Vec<DataFile>| files.into_iter().map(|file| DeleteRef { file: Arc::new(file) }).collect();
    let removed_by = removed_by.map(refs);
    let change = TaskChange { operation, ordinal: 3, commit_snapshot_id: 77, removed_by, commit: None };
    ScanTask { change: Some(Box::new(change)), ..task }
}

#[test]
fn the_columns_of_a_change_follow_the_tables() {
    let dir = TempDir::new().unwrap();
    let path = write(&dir, &plain(), vec![longs(&[Some(1), Some(2), None])]);
    let context = changelog(&CHANGE_COLUMNS);
    let task = changed(task(&path, BoundPredicate::True), ChangeOperation::Insert, None);
    let task = deleting(task, vec![position_deletes(&dir, &[(&path, 1)])]);
    assert_eq!(rows(&read(&context, &task).unwrap()), ["1|insert|3|77", "-|insert|3|77"]);
}

#[test]
fn rows_between_two_sets_of_deletes() {
    let dir = TempDir::new().unwrap();
    let path = write(&dir, &plain(), vec![longs(&[0, 1, 2, 3, 4, 5].map(Some))]);
    let vector = |positions: &[i64]| deletion_vector(&dir, &path, positions);
    let whole = || task(&path, BoundPredicate::True);
    let told = |live: Vec<DataFile>, removed_by: Vec<DataFile>, filter: BoundPredicate| {
        let task = ScanTask { residual: Arc::new(filter), ..whole() };
        let task = deleting(changed(task, ChangeOperation::Delete, Some(removed_by)), live);
        rows(&read(&changelog(&[CHANGE_TYPE]), &task).unwrap())
    };
    let all = BoundPredicate::True;
    assert_eq!(told(vec![vector(&[1])], vec![vector(&[1, 4, 5])], all.clone()), ["4|delete", "5|delete"]);
    assert_eq!(told(vec![], vec![vector(&[1])], all.clone()), ["1|delete"]);
    assert!(told(vec![vector(&[1, 4])], vec![vector(&[1])], all.clone()).is_empty());
    // The same rows are deleted by position before, and in a vector after.
    let positions = position_deletes(&dir, &[(&path, 1), (&path, 4)]);
    assert!(told(vec![positions], vec![vector(&[1, 4])], all.clone()).is_empty());
    let by_key = |keys: &[Option<i64>]| equality_deletes(&dir, &plain(), vec![longs(keys)], &[1]);
    assert_eq!(told(vec![vector(&[2])], vec![vector(&[2]), by_key(&[Some(2), Some(3), Some(9)])], all), ["3|delete"]);
    let filter = leaf(&plain(), 1, Op::Gt, vec![Value::Long(4)]);
    assert_eq!(told(vec![by_key(&[Some(0)])], vec![vector(&[1, 4, 5]), by_key(&[Some(0)])], filter), ["5|delete"]);
}

/// A commit that removed a file of four rows and wrote a new file: two rows unchanged, one changed, one new.
fn rewrite(dir: &TempDir) -> (ScanTask, ScanTask) {
    let old = write(dir, &plain(), vec![longs(&[10, 11, 12, 13].map(Some))]);
    let lineage = LINEAGE_COLUMNS.into_iter().filter_map(metadata_column);
    let stored = schema(plain().fields.iter().cloned().chain(lineage).collect());
    let (ids, updated) = (longs(&[Some(0), Some(1), Some(3), None]), longs(&[Some(1), None, Some(1), None]));
    let new = write(dir, &stored, vec![longs(&[Some(10), Some(111), Some(13), Some(14)]), ids, updated]);
    let with = |path: &str, first_row_id, number, operation| {
        let whole = task(path, BoundPredicate::True);
        let file = DataFile {
            first_row_id: Some(first_row_id),
            sequence_number: Some(number),
            ..whole.data_file.as_ref().clone()
        };
        changed(ScanTask { data_file: Arc::new(file), ..whole }, operation, None)
    };
    let tasks = vec![with(&old, 0, 1, ChangeOperation::Delete), with(&new, 100, 2, ChangeOperation::Insert)];
    let commit = Arc::new(CommitChanges { sequence_number: 2, first_row_id: 100, tasks: tasks.clone() });
    let mut tasks = tasks.into_iter().map(|mut t| {
        t.change = t.change.map(|c| Box::new(TaskChange { commit: Some(commit.clone()), ..*c }));
        t
    });
    (tasks.next().unwrap(), tasks.next().unwrap())
}

#[test]
fn rows_that_moved_are_no_change_and_those_that_changed_are_updates() {
    let dir = TempDir::new().unwrap();
    let (removed, added) = rewrite(&dir);
    let context = changelog(&[ROW_ID, CHANGE_TYPE, LAST_UPDATED]);
    assert_eq!(rows(&read(&context, &removed).unwrap()), ["11|1|update_before|1", "12|2|delete|1"]);
    assert_eq!(rows(&read(&context, &added).unwrap()), ["111|1|update_after|2", "14|103|insert|2"]);
    let only_types = changelog(&[CHANGE_TYPE]);
    assert_eq!(rows(&read(&only_types, &removed).unwrap()), ["11|update_before", "12|delete"]);
}

#[test]
fn what_happened_can_be_filtered() {
    let dir = TempDir::new().unwrap();
    let (removed, added) = rewrite(&dir);
    let all = schema(CHANGE_COLUMNS.into_iter().filter_map(metadata_column).collect());
    let asked = |filter| {
        let context = Arc::new(ReadContext { change_filter: Arc::new(filter), ..changelog(&[]).as_ref().clone() });
        let read = |task: &ScanTask| rows(&read(&context, task).unwrap());
        (read(&removed), read(&added))
    };
    let is = |op, text: &str| leaf(&all, CHANGE_TYPE, op, vec![Value::String(text.into())]);
    assert_eq!(asked(is(Op::Eq, "delete")), (vec!["12".to_owned()], vec![]));
    assert_eq!(asked(is(Op::NotEq, "delete")).1, ["111", "14"]);
    let later = leaf(&all, CHANGE_ORDINAL, Op::Gt, vec![Value::Int(3)]);
    assert_eq!(asked(later), (vec![], vec![]));
}

/// A row with an old id is new to this commit if the commit removed no row with that id.
#[test]
fn rows_that_come_back_are_inserts() {
    let dir = TempDir::new().unwrap();
    let (removed, mut added) = rewrite(&dir);
    let other = write(&dir, &plain(), vec![longs(&[Some(50)])]);
    let file = DataFile { path: other, first_row_id: Some(60), ..removed.data_file.as_ref().clone() };
    let other = ScanTask { data_file: Arc::new(file), length: removed.length, ..removed.clone() };
    let mut change = *added.change.take().unwrap();
    let tasks = vec![other, ScanTask { change: Some(Box::new(change.clone())), ..added.clone() }];
    change.commit = Some(Arc::new(CommitChanges { sequence_number: 2, first_row_id: 100, tasks }));
    added.change = Some(Box::new(change));
    let told = rows(&read(&changelog(&[CHANGE_TYPE]), &added).unwrap());
    assert_eq!(told, ["10|insert", "111|insert", "13|insert", "14|insert"]);
}
