use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{
    context, deleting, deletion_vector, equality_deletes, field, leaf, position_deletes, projecting, read, rows,
    schema, structure, task, write_batch,
};
use crate::expr::{BoundPredicate, Op};
use crate::format::task::{Partition, PartitionValue, ReadContext, ScanTask};
use crate::types::metadata_columns::{
    DELETED, FILE, LAST_UPDATED, PARTITION, POS, ROW_ID, SPEC_ID, metadata_column, row_columns,
};
use crate::types::{Field, FieldId, PrimitiveType as P, Schema, Transform, Value};

/// The table's columns and the metadata columns.
fn all() -> Schema {
    let partition = [field(1000, "a_mod", P::Int), field(1001, "when", P::Timestamp), field(1002, "gone", P::String)];
    let mut fields = vec![field(1, "a", P::Int), field(1000, "clash", P::Int)];
    fields.extend(row_columns(3, &partition, 1000));
    schema(fields)
}

fn columns(ids: &[FieldId]) -> Schema {
    schema(ids.iter().map(|id| all().field(*id).unwrap().clone()).collect())
}

/// Row `i` has `a = i`; three row groups of 10 rows, pages of 3.
fn file(dir: &TempDir, more: Option<(Field, Vec<Option<i64>>)>) -> ScanTask {
    let mut fields = vec![field(1, "a", P::Int)];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from_iter_values(0..30))];
    if let Some((column, values)) = more {
        fields.push(column);
        arrays.push(Arc::new(Int64Array::from(values)));
    }
    let batch = RecordBatch::try_new(to_arrow(&schema(fields)).unwrap(), arrays).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(10))
        .set_data_page_row_count_limit(3)
        .set_write_batch_size(3)
        .build();
    let mut out = task(&write_batch(dir, &batch, properties), BoundPredicate::True);
    let data_file = Arc::make_mut(&mut out.data_file);
    let value = |field_id, ty, value| PartitionValue {
        name: "old name".into(),
        field_id,
        source_id: 77,
        transform: Transform::Bucket(7),
        ty,
        value,
    };
    let values = vec![value(1000, P::Int, Some(Value::Int(4))), value(1001, P::Date, Some(Value::Int(1)))];
    data_file.partition = Arc::new(Partition { spec_id: 3, values });
    data_file.first_row_id = Some(100);
    data_file.sequence_number = Some(9);
    out
}

fn reading(ids: &[FieldId], keep_deleted: bool) -> Arc<ReadContext> {
    Arc::new(ReadContext { keep_deleted, ..(*projecting(&all(), &columns(ids))).clone() })
}

fn filtered(task: &ScanTask, filter: BoundPredicate) -> ScanTask {
    ScanTask { residual: Arc::new(filter), ..task.clone() }
}

#[test]
fn a_row_tells_its_file_and_place() {
    let dir = tempfile::tempdir().unwrap();
    let task = file(&dir, None);
    let path = &task.data_file.path;
    let context = reading(&[POS, FILE, SPEC_ID, PARTITION, 1, ROW_ID, LAST_UPDATED], false);
    let a = |op, v| leaf(&all(), 1, op, vec![Value::Int(v)]);
    let told = |i: i32| {
        let partition = "{a_mod: 4, when: 1970-01-02T00:00:00, gone: -}";
        format!("{i}|{path}|3|{partition}|{i}|{}|9", 100 + i)
    };
    assert_eq!(rows(&read(&context, &task).unwrap()), (0..30).map(told).collect::<Vec<_>>());
    // Positions are right after skipped row groups and pages, too.
    let found = read(&context, &filtered(&task, a(Op::GtEq, 23))).unwrap();
    assert_eq!(rows(&found), (23..30).map(told).collect::<Vec<_>>());
    let found = read(&context, &filtered(&task, a(Op::In, 0))).unwrap();
    assert!(found.is_empty() || rows(&found) == [told(0)]);
}

#[test]
fn filters_ask_about_metadata_columns() {
    let dir = tempfile::tempdir().unwrap();
    let task = file(&dir, None);
    let found = |filter| {
        let batches = read(&reading(&[1], false), &filtered(&task, filter)).unwrap();
        rows(&batches).iter().map(|r| r.parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let ask = |id, op, value| leaf(&all(), id, op, vec![value]);
    assert_eq!(found(ask(POS, Op::Lt, Value::Long(2))), [0, 1]);
    assert_eq!(found(ask(ROW_ID, Op::Eq, Value::Long(117))), [17]);
    assert_eq!(found(ask(LAST_UPDATED, Op::Gt, Value::Long(8))).len(), 30);
    assert!(found(ask(LAST_UPDATED, Op::Gt, Value::Long(9))).is_empty());
    assert_eq!(found(ask(FILE, Op::Eq, Value::String(task.data_file.path.clone()))).len(), 30);
    assert!(found(ask(FILE, Op::Lt, Value::String(task.data_file.path.clone()))).is_empty());
    assert!(found(ask(SPEC_ID, Op::NotEq, Value::Int(3))).is_empty());
    let both = BoundPredicate::And(vec![ask(POS, Op::GtEq, Value::Long(12)), ask(1, Op::Lt, Value::Int(14))]);
    assert_eq!(found(both), [12, 13]);
    let either = BoundPredicate::Or(vec![ask(POS, Op::Eq, Value::Long(29)), ask(1, Op::Lt, Value::Int(1))]);
    assert_eq!(found(either), [0, 29]);
    // One partition field has the same id as a column. Another is missing in the file's spec.
    assert_eq!(found(ask(-1000, Op::Eq, Value::Int(4))).len(), 30);
    assert!(found(ask(-1000, Op::Eq, Value::Int(5))).is_empty());
    assert!(found(ask(1000, Op::Eq, Value::Int(4))).is_empty());
    assert_eq!(found(leaf(&all(), 1002, Op::IsNull, vec![])).len(), 30);
    assert!(found(leaf(&all(), PARTITION, Op::IsNull, vec![])).is_empty());
}

#[test]
fn a_file_of_another_name_is_not_opened() {
    let task = task("/nowhere/a.parquet", leaf(&all(), FILE, Op::Eq, vec![Value::String("b.parquet".into())]));
    assert!(read(&reading(&[1], false), &task).unwrap().is_empty());
    assert!(read(&reading(&[1], false), &filtered(&task, BoundPredicate::True)).is_err());
}

#[test]
fn stored_lineage_goes_before_inherited() {
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<Option<i64>> = (0..30).map(|i| (i % 3 == 0).then_some(i + 5000)).collect();
    let stored = file(&dir, Some((metadata_column(ROW_ID).unwrap(), ids)));
    let told = |task: &ScanTask| rows(&read(&reading(&[ROW_ID, LAST_UPDATED], false), task).unwrap());
    assert_eq!(told(&stored)[..4], ["5000|9", "101|9", "102|9", "5003|9"]);
    // Statistics of the stored ids show nothing about the inherited ids.
    let low = filtered(&stored, leaf(&all(), ROW_ID, Op::Lt, vec![Value::Long(103)]));
    assert_eq!(told(&low), ["101|9", "102|9"]);
    let updated = (0..30).map(|i| (i != 1).then_some(i)).collect();
    let mut stored = file(&dir, Some((metadata_column(LAST_UPDATED).unwrap(), updated)));
    assert_eq!(told(&stored)[..3], ["100|0", "101|9", "102|2"]);
    Arc::make_mut(&mut stored.data_file).first_row_id = None;
    assert_eq!(told(&stored)[..2], ["-|-", "-|-"]);
    assert_eq!(told(&stored).len(), 30);
}

#[test]
fn a_table_without_partition_fields_has_a_null_partition() {
    let dir = tempfile::tempdir().unwrap();
    let task = file(&dir, None);
    let empty = schema(vec![field(1, "a", P::Int), field(PARTITION, "_partition", structure(vec![]))]);
    let batches = read(&context(&empty), &task).unwrap();
    assert!(batches.iter().all(|b| b.column(1).null_count() == b.num_rows()));
}

/// The kind of delete that removes a row: its position, a vector, or its key.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Positions,
    Vector,
    Keys,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// With `_deleted`, all rows of the filter come, for any deletes and any filter. The column marks the deleted ones.
    #[test]
    fn deleted_rows_stay_and_are_flagged(
        kinds in prop::sample::subsequence(vec![Kind::Positions, Kind::Vector, Kind::Keys], 0..=3),
        deleted in prop::collection::btree_set(0i64..30, 0..12),
        at_least in 0i32..34,
        wanted in prop::option::of(any::<bool>()),
        first in 0i64..40,
        selected in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let plain = file(&dir, None);
        let path = plain.data_file.path.clone();
        let all_deleted: Vec<i64> = deleted.iter().copied().collect();
        // Each kind has its share of the rows. Position files and vectors are not mixed on one file.
        let kinds: Vec<Kind> = match kinds.as_slice() {
            [Kind::Positions, Kind::Vector, rest @ ..] => [&[Kind::Vector], rest].concat(),
            kinds => kinds.to_vec(),
        };
        let mut gone = [false; 30];
        let mut files = Vec::new();
        for (k, kind) in kinds.iter().enumerate() {
            let share: Vec<i64> = all_deleted.iter().copied().filter(|r| *r as usize % kinds.len() == k).collect();
            if share.is_empty() {
                continue;
            }
            share.iter().for_each(|r| gone[*r as usize] = true);
            files.push(match kind {
                Kind::Positions => position_deletes(&dir, &share.iter().map(|r| (path.as_str(), *r)).collect::<Vec<_>>()),
                Kind::Vector => deletion_vector(&dir, &path, &share),
                Kind::Keys => {
                    let keys = Arc::new(Int32Array::from_iter_values(share.iter().map(|r| *r as i32)));
                    equality_deletes(&dir, &schema(vec![field(1, "a", P::Int)]), vec![keys], &[1])
                }
            });
        }
        let mut clauses = vec![leaf(&all(), 1, Op::GtEq, vec![Value::Int(at_least)])];
        clauses.push(BoundPredicate::any([
            leaf(&all(), POS, Op::GtEq, vec![Value::Long(first)]),
            leaf(&all(), ROW_ID, Op::Lt, vec![Value::Long(120)]),
        ]));
        if let Some(wanted) = wanted {
            clauses.push(leaf(&all(), DELETED, Op::Eq, vec![Value::Boolean(wanted)]));
        }
        let task = filtered(&deleting(plain, files), BoundPredicate::all(clauses));
        let ids: &[FieldId] = if selected { &[1, DELETED, POS] } else { &[POS] };
        let told = rows(&read(&reading(ids, true), &task).unwrap());
        let stays = |i: &i64| {
            let asked = *i >= i64::from(at_least) && (*i >= first || *i < 20);
            asked && wanted.is_none_or(|wanted| gone[*i as usize] == wanted)
        };
        let row = |i: i64| match selected {
            true => format!("{i}|{}|{i}", gone[i as usize]),
            false => i.to_string(),
        };
        prop_assert_eq!(told, (0..30).filter(stays).map(row).collect::<Vec<_>>());
    }
}
