use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Float32Array, Int32Array, ListArray, MapArray, NullArray, RecordBatch,
    StringArray, StructArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Schema as ArrowSchema};
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::testing::{
    context, field, leaf, list, projecting, read, read_rows, required, rows, schema, structure, task, term, write,
    write_batch,
};
use crate::error::ErrorKind;
use crate::expr::{BoundPredicate, Op};
use crate::format::task::{DataFile, FileFormat, MergeSection, Partition, PartitionValue};
use crate::parallel::{Cancellation, Phase, Progress, begin_phase};
use crate::types::{PrimitiveType as P, Schema, Transform, Type, Value};

fn dir() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn ints(values: Vec<Option<i32>>) -> ArrayRef {
    Arc::new(Int32Array::from(values))
}

fn texts(values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

/// A struct array with the fields that the schema's column has.
fn structs(s: &Schema, column: usize, members: Vec<ArrayRef>, valid: Vec<bool>) -> ArrayRef {
    let DataType::Struct(fields) = to_arrow(s).unwrap().field(column).data_type().clone() else { panic!() };
    Arc::new(StructArray::new(fields, members, Some(NullBuffer::from(valid))))
}

fn fails(context: &Arc<ReadContext>, task: &ScanTask) -> Error {
    let e = read(context, task).unwrap_err();
    assert!(e.to_string().contains(&task.data_file.path), "{e}");
    e
}

#[test]
fn columns_are_matched_by_id() {
    let dir = dir();
    let file = schema(vec![field(1, "a", P::Int), field(2, "b", P::String), field(3, "c", P::Float)]);
    let path = write(
        &dir,
        &file,
        vec![
            ints(vec![Some(1), None, Some(3)]),
            texts(vec![Some("x"), Some("y"), None]),
            Arc::new(Float32Array::from(vec![0.5, 1.5, 2.5])),
        ],
    );
    // Reordered, widened, renamed (to a name that another column had), dropped, added.
    let now = schema(vec![
        field(3, "c", P::Double),
        field(4, "b", P::Int),
        field(1, "renamed", P::Long),
        field(5, "s", structure(vec![field(6, "x", P::Int)])),
    ]);
    assert_eq!(read_rows(&now, &path, BoundPredicate::True), ["0.5|-|1|-", "1.5|-|-|-", "2.5|-|3|-"]);
    let long = |op, v| leaf(&now, 1, op, v);
    assert_eq!(read_rows(&now, &path, long(Op::Gt, vec![Value::Long(2)])), ["2.5|-|3|-"]);
    assert_eq!(read_rows(&now, &path, long(Op::IsNull, vec![])), ["1.5|-|-|-"]);
    assert_eq!(read_rows(&now, &path, leaf(&now, 4, Op::IsNull, vec![])).len(), 3);
    assert_eq!(read_rows(&now, &path, leaf(&now, 4, Op::NotEq, vec![Value::Int(9)])).len(), 0);
    assert_eq!(read_rows(&now, &path, leaf(&now, 5, Op::NotNull, vec![])).len(), 0);
    assert_eq!(read_rows(&now, &path, leaf(&now, 6, Op::IsNull, vec![])).len(), 3);
}

#[test]
fn narrow_decimals_and_dates_widen() {
    let dir = dir();
    let file = schema(vec![field(1, "d", P::Decimal { precision: 9, scale: 2 }), field(2, "t", P::Date)]);
    let decimals = Decimal128Array::from(vec![Some(1420), None]).with_precision_and_scale(9, 2).unwrap();
    let path = write(&dir, &file, vec![Arc::new(decimals), Arc::new(Date32Array::from(vec![Some(-1), Some(1)]))]);
    let now = schema(vec![field(1, "d", P::Decimal { precision: 30, scale: 2 }), field(2, "t", P::Timestamp)]);
    assert_eq!(read_rows(&now, &path, BoundPredicate::True), ["14.20|1969-12-31T00:00:00", "-|1970-01-02T00:00:00"]);
    let before = leaf(&now, 2, Op::Lt, vec![Value::Long(0)]);
    assert_eq!(read_rows(&now, &path, before), ["14.20|1969-12-31T00:00:00"]);
    let wide = schema(vec![field(1, "d", P::Decimal { precision: 30, scale: 3 })]);
    assert_eq!(fails(&context(&wide), &task(&path, BoundPredicate::True)).kind(), ErrorKind::CorruptTable);
}

/// A struct whose members changed: `{1: s {2: a int, 3: b string}}`, rows `{1, x}`, null, `{null, y}`.
fn struct_file(dir: &TempDir) -> String {
    let file = schema(vec![
        field(1, "s", structure(vec![field(2, "a", P::Int), field(3, "b", P::String)])),
        field(9, "k", P::Int),
    ]);
    let members = vec![ints(vec![Some(1), None, None]), texts(vec![Some("x"), None, Some("y")])];
    let s = structs(&file, 0, members, vec![true, false, true]);
    write(dir, &file, vec![s, ints(vec![Some(1), Some(2), Some(3)])])
}

#[test]
fn members_of_structs_change_like_columns() {
    let dir = dir();
    let path = struct_file(&dir);
    let now = |members| schema(vec![field(1, "s", structure(members))]);
    let all = |s: &Schema| read_rows(s, &path, BoundPredicate::True);
    let widened = now(vec![field(3, "a", P::String), field(4, "new", P::Double), field(2, "b", P::Long)]);
    assert_eq!(all(&widened), ["{a: x, new: -, b: 1}", "-", "{a: y, new: -, b: -}"]);
    assert_eq!(all(&now(vec![field(2, "a", P::Int)])), ["{a: 1}", "-", "{a: -}"]);
    // The file has no member of the struct that is still wanted, but it still shows where the struct is null.
    assert_eq!(all(&now(vec![field(7, "new", P::Int)])), ["{new: -}", "-", "{new: -}"]);
}

#[test]
fn filters_reach_into_structs() {
    let dir = dir();
    let path = struct_file(&dir);
    let now = schema(vec![
        field(9, "k", P::Int),
        field(1, "s", structure(vec![field(2, "a", P::Long), field(3, "b", P::String), field(7, "new", P::Int)])),
    ]);
    let keys = |filter| {
        let key = schema(vec![field(9, "k", P::Int)]);
        rows(&read(&projecting(&now, &key), &task(&path, filter)).unwrap())
    };
    assert_eq!(keys(leaf(&now, 2, Op::IsNull, vec![])), ["2", "3"]);
    assert_eq!(keys(leaf(&now, 2, Op::Eq, vec![Value::Long(1)])), ["1"]);
    assert_eq!(keys(leaf(&now, 3, Op::NotEq, vec![Value::String("x".into())])), ["3"]);
    assert_eq!(keys(leaf(&now, 7, Op::IsNull, vec![])), ["1", "2", "3"]);
    assert_eq!(keys(leaf(&now, 1, Op::IsNull, vec![])), ["2"]);
    assert_eq!(keys(leaf(&now, 1, Op::NotNull, vec![])), ["1", "3"]);
    let two = BoundPredicate::And(vec![
        leaf(&now, 1, Op::NotNull, vec![]),
        leaf(&now, 9, Op::Gt, vec![Value::Int(1)]),
        leaf(&now, 2, Op::IsNull, vec![]),
    ]);
    assert_eq!(keys(two.clone()), ["3"]);
    assert_eq!(read_rows(&now, &path, two), ["3|{a: -, b: y, new: -}"]);
}

/// Lists and maps of structs: `{1: l list<3: struct<4: a int, 5: b int>>, 6: m map<string, 9: struct<10: v int>>}`.
#[test]
fn structs_in_lists_and_maps_change_too() {
    let dir = dir();
    let map = |value: Type| Type::Map(Arc::new(required(7, "key", P::String)), Arc::new(field(8, "value", value)));
    let element = structure(vec![field(4, "a", P::Int), field(5, "b", P::Int)]);
    let file = schema(vec![
        field(1, "l", list(field(3, "element", element))),
        field(6, "m", map(structure(vec![field(10, "v", P::Int), field(11, "w", P::String)]))),
    ]);
    let arrow = to_arrow(&file).unwrap();
    let DataType::List(item) = arrow.field(0).data_type() else { panic!() };
    let DataType::Struct(item_fields) = item.data_type() else { panic!() };
    let items = StructArray::new(
        item_fields.clone(),
        vec![ints(vec![Some(1), None, Some(3)]), ints(vec![Some(10), None, None])],
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let l = ListArray::new(
        item.clone(),
        OffsetBuffer::from_lengths([2, 0, 0, 1]),
        Arc::new(items),
        Some(NullBuffer::from(vec![true, true, false, true])),
    );
    let DataType::Map(entries, _) = arrow.field(1).data_type() else { panic!() };
    let DataType::Struct(entry_fields) = entries.data_type() else { panic!() };
    let DataType::Struct(value_fields) = entry_fields[1].data_type() else { panic!() };
    let values = StructArray::new(
        value_fields.clone(),
        vec![ints(vec![Some(7), None]), texts(vec![None, None])],
        Some(NullBuffer::from(vec![true, false])),
    );
    let entry_rows =
        StructArray::new(entry_fields.clone(), vec![texts(vec![Some("p"), Some("q")]), Arc::new(values)], None);
    let lengths = OffsetBuffer::from_lengths([2, 0, 0, 0]);
    let m = MapArray::new(
        entries.clone(),
        lengths,
        entry_rows,
        Some(NullBuffer::from(vec![true, true, true, false])),
        false,
    );
    let path = write(&dir, &file, vec![Arc::new(l), Arc::new(m)]);

    let element = structure(vec![field(20, "new", P::String), field(5, "b", P::Long)]);
    let now = schema(vec![
        field(6, "m", map(structure(vec![field(21, "new", P::Int)]))),
        field(1, "l", list(field(3, "element", element))),
    ]);
    assert_eq!(
        read_rows(&now, &path, BoundPredicate::True),
        ["{p: {new: -}, q: -}|[{new: -, b: 10}, -]", "{}|[]", "{}|-", "-|[{new: -, b: -}]"]
    );
    assert_eq!(read_rows(&now, &path, leaf(&now, 1, Op::IsNull, vec![])), ["{}|-"]);
    assert_eq!(read_rows(&now, &path, leaf(&now, 6, Op::IsNull, vec![])), ["-|[{new: -, b: -}]"]);
}

/// Only a map tells whether a struct is null.
#[test]
fn structs_of_maps_lose_their_members() {
    let dir = dir();
    let map = Type::Map(Arc::new(required(3, "key", P::String)), Arc::new(field(4, "value", P::Int)));
    let file = schema(vec![field(1, "s", structure(vec![field(2, "m", map)]))]);
    let DataType::Struct(members) = to_arrow(&file).unwrap().field(0).data_type().clone() else { panic!() };
    let maps = new_null_array(members[0].data_type(), 2);
    let path = write(&dir, &file, vec![structs(&file, 0, vec![maps], vec![true, false])]);
    let now = schema(vec![field(1, "s", structure(vec![field(5, "new", P::Int)]))]);
    assert_eq!(read_rows(&now, &path, BoundPredicate::True), ["{new: -}", "-"]);
    assert_eq!(read_rows(&now, &path, leaf(&now, 1, Op::NotNull, vec![])), ["{new: -}"]);
}

fn with_partition(mut task: ScanTask, values: Vec<(i32, Transform, P, Option<Value>)>) -> ScanTask {
    let value = |(i, (source_id, transform, ty, value)): (usize, (i32, Transform, P, Option<Value>))| PartitionValue {
        name: format!("p{i}"),
        field_id: 1000 + i as i32,
        source_id,
        transform,
        ty,
        value,
    };
    let values = values.into_iter().enumerate().map(value).collect();
    Arc::make_mut(&mut task.data_file).partition = Arc::new(Partition { spec_id: 0, values });
    task
}

#[test]
fn identity_partition_values_fill_absent_columns_only() {
    let dir = dir();
    let file = schema(vec![field(1, "a", P::Int)]);
    let path = write(&dir, &file, vec![ints(vec![Some(1), Some(2)])]);
    let now = schema(vec![
        field(1, "a", P::Int),
        field(2, "i", P::Long),
        field(3, "v", P::String),
        field(4, "b", P::Int),
        required(5, "d", P::Date),
    ]);
    let read_with = |filter| {
        let values = vec![
            (1, Transform::Identity, P::Int, Some(Value::Int(99))),
            (2, Transform::Identity, P::Int, Some(Value::Int(7))),
            (3, Transform::Void, P::String, Some(Value::String("never".into()))),
            (4, Transform::Bucket(4), P::Int, Some(Value::Int(3))),
            (5, Transform::Identity, P::Date, Some(Value::Int(1))),
        ];
        rows(&read(&context(&now), &with_partition(task(&path, filter), values)).unwrap())
    };
    assert_eq!(read_with(BoundPredicate::True), ["1|7|-|-|1970-01-02", "2|7|-|-|1970-01-02"]);
    assert_eq!(read_with(leaf(&now, 2, Op::Eq, vec![Value::Long(7)])).len(), 2);
    assert_eq!(read_with(leaf(&now, 2, Op::Gt, vec![Value::Long(7)])).len(), 0);
    assert_eq!(read_with(leaf(&now, 3, Op::NotNull, vec![])).len(), 0);
    let null = with_partition(task(&path, BoundPredicate::True), vec![(5, Transform::Identity, P::Date, None)]);
    assert_eq!(fails(&context(&now), &null).kind(), ErrorKind::CorruptTable);
}

#[test]
fn absent_columns_that_cannot_be_null_are_errors() {
    let dir = dir();
    let path = write(&dir, &schema(vec![field(1, "a", P::Int)]), vec![ints(vec![None])]);
    let all = task(&path, BoundPredicate::True);
    let missing = schema(vec![required(2, "b", P::Int)]);
    assert_eq!(fails(&context(&missing), &all).kind(), ErrorKind::CorruptTable);
    let nulls = schema(vec![required(1, "a", P::Int)]);
    assert_eq!(fails(&context(&nulls), &all).kind(), ErrorKind::CorruptTable);
    let other_type = schema(vec![field(1, "a", structure(vec![field(2, "x", P::Int)]))]);
    assert_eq!(fails(&context(&other_type), &all).kind(), ErrorKind::CorruptTable);
}

#[test]
fn rows_are_counted_without_columns() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int), field(2, "b", P::Int)]);
    let path = write(&dir, &s, vec![ints((0..20).map(Some).collect()), ints(vec![None; 20])]);
    let none = projecting(&s, &schema(vec![]));
    let count = |filter| read(&none, &task(&path, filter)).unwrap().iter().map(|b| b.num_rows()).sum::<usize>();
    assert_eq!(count(BoundPredicate::True), 20);
    assert_eq!(count(leaf(&s, 1, Op::Lt, vec![Value::Int(5)])), 5);
    assert_eq!(count(BoundPredicate::False), 0);
    let absent = projecting(&schema(vec![field(8, "n", P::Int)]), &schema(vec![field(8, "n", P::Int)]));
    assert_eq!(
        read(&absent, &task(&path, BoundPredicate::True)).unwrap().iter().map(|b| b.num_rows()).sum::<usize>(),
        20
    );
    let batches = read(&context(&s), &task(&path, BoundPredicate::True)).unwrap();
    assert_eq!(batches.iter().map(|b| b.num_rows()).collect::<Vec<_>>(), [7, 7, 6]);
}

#[test]
fn transform_terms_and_unknown_columns_filter() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int), field(2, "u", P::Unknown)]);
    let path = write(&dir, &schema(vec![field(1, "a", P::Int)]), vec![ints(vec![Some(-1), Some(5), None, Some(12)])]);
    let tens = |op, v| term(&s, 1, Transform::Truncate(10), op, vec![Value::Int(v)]);
    assert_eq!(read_rows(&s, &path, tens(Op::Eq, -10)), ["-1|-"]);
    assert_eq!(read_rows(&s, &path, tens(Op::NotEq, 0)), ["-1|-", "12|-"]);
    assert_eq!(read_rows(&s, &path, leaf(&s, 2, Op::IsNull, vec![])).len(), 4);
    let stored = Arc::new(ArrowSchema::new(vec![to_arrow(&s).unwrap().field(1).clone()]));
    let batch = RecordBatch::try_new(stored, vec![Arc::new(NullArray::new(3))]).unwrap();
    let path = write_batch(&dir, &batch, WriterProperties::default());
    assert_eq!(read_rows(&schema(vec![field(2, "u", P::Int)]), &path, BoundPredicate::True), ["-", "-", "-"]);
}

#[test]
fn adjacent_splits_read_every_row_once() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int)]);
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![ints((0..100).map(Some).collect())]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(9)).build();
    let path = write_batch(&dir, &batch, properties);
    let whole = task(&path, BoundPredicate::True);
    for parts in [1, 2, 3, 7, 50] {
        let mut found = Vec::new();
        for part in 0..parts {
            let mut split = whole.clone();
            split.start = whole.length * part / parts;
            split.length = whole.length * (part + 1) / parts - split.start;
            found.extend(rows(&read(&context(&s), &split).unwrap()));
        }
        assert_eq!(found, (0..100).map(|i| i.to_string()).collect::<Vec<_>>());
    }
    // The file is longer than recorded. Its real end counts.
    let mut short = whole;
    Arc::make_mut(&mut short.data_file).size_bytes = 20;
    short.length = 20;
    assert_eq!(rows(&read(&context(&s), &short).unwrap()).len(), 100);
}

#[test]
fn a_file_with_fewer_rows_than_the_table_says_is_refused() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int)]);
    let path = write(&dir, &s, vec![ints((0..30).map(Some).collect())]);
    for (recorded, is_read) in [(0, true), (29, true), (30, true), (31, false)] {
        let mut whole = task(&path, BoundPredicate::True);
        let file = Arc::make_mut(&mut whole.data_file);
        file.record_count = recorded;
        file.size_bytes += 1;
        let half = ScanTask { length: whole.length / 2, ..whole.clone() };
        let filtered = ScanTask { residual: leaf(&s, 1, Op::Gt, vec![Value::Int(99)]).into(), ..whole.clone() };
        for (task, found) in [(whole, 30), (half, 30), (filtered, 0)] {
            if is_read {
                assert_eq!(rows(&read(&context(&s), &task).unwrap()).len(), found);
            } else {
                let e = fails(&context(&s), &task);
                assert_eq!(e.kind(), ErrorKind::CorruptTable);
                assert!(
                    e.to_string().contains("has 30 rows in") && e.to_string().contains("the table says 31 rows"),
                    "{e}"
                );
            }
        }
    }
}

/// ClickHouse before 26.5 recorded the rows of the whole table for each file. Java reads such files too.
#[test]
fn a_file_of_the_recorded_length_has_the_rows_that_it_has() {
    let dir = dir();
    let path = write(&dir, &schema(vec![field(1, "a", P::Int)]), vec![ints((0..30).map(Some).collect())]);
    let mut whole = task(&path, BoundPredicate::True);
    let file = Arc::make_mut(&mut whole.data_file);
    file.record_count = 31;
    file.size_bytes = std::fs::metadata(&path).unwrap().len() as i64;
    assert_eq!(rows(&read(&context(&schema(vec![field(1, "a", P::Int)])), &whole).unwrap()).len(), 30);
}

#[test]
fn what_is_not_read_yet_says_so() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int)]);
    let path = write(&dir, &s, vec![ints(vec![Some(1)])]);
    let all = || task(&path, BoundPredicate::True);
    let unsupported = |context: &Arc<ReadContext>, task: &ScanTask| {
        let e = fails(context, task);
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
        e.to_string()
    };
    let mut puffin = all();
    Arc::make_mut(&mut puffin.data_file).format = FileFormat::Puffin;
    unsupported(&context(&s), &puffin);
    let mut encrypted = all();
    Arc::make_mut(&mut encrypted.data_file).key_metadata = Some(vec![1]);
    unsupported(&context(&s), &encrypted);

    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(b"PARE");
    std::fs::write(&path, bytes).unwrap();
    assert!(unsupported(&context(&s), &all()).contains("encrypted"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(fails(&context(&s), &all()).kind(), ErrorKind::NotFound);
}

#[test]
fn moved_tables_are_read_where_they_are() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int)]);
    let path = write(&dir, &s, vec![ints(vec![Some(1)])]);
    let mut moved = (*context(&s)).clone();
    moved.location = crate::store::Location::moved("file:///old/table", &dir.path().display().to_string());
    let mut recorded = task(&path, BoundPredicate::True);
    let name = path.rsplit('/').next().unwrap();
    Arc::make_mut(&mut recorded.data_file).path = format!("file:/old/table/{name}");
    assert_eq!(rows(&read(&Arc::new(moved), &recorded).unwrap()), ["1"]);
}

/// No row stays, so the reader gives no batch at all: it must notice a cancellation itself.
#[test]
fn a_read_that_keeps_no_row_can_be_cancelled() {
    let dir = dir();
    let table = schema(vec![field(1, "a", P::Int)]);
    let path = write(&dir, &table, vec![ints((0..10_000).map(|n| Some(2 * n)).collect())]);
    let odd = || task(&path, leaf(&table, 1, Op::Eq, vec![Value::Int(777)]));
    let context = context(&table);
    let all = Cancellation::checks_in(|| assert!(read(&context, &odd()).unwrap().is_empty()));
    assert!(all >= 10_000 / context.batch_rows, "{all}");
    for checks in [0, 1, all / 2, all - 1] {
        let stopped = Cancellation::after(checks).scope(|| read(&context, &odd()).map(drop));
        assert!(stopped.unwrap_err().to_string().contains("stopped"));
    }
}

fn sized_task(size_bytes: i64, record_count: i64, length: i64) -> ScanTask {
    let whole = task("/no/such/file", BoundPredicate::True);
    let data_file = Arc::new(DataFile { size_bytes, record_count, ..whole.data_file.as_ref().clone() });
    ScanTask { data_file, length, ..whole }
}

#[test]
fn bytes_follow_rows_and_end_at_the_length() {
    let progress = Arc::new(Progress::new());
    Cancellation::none().reporting(progress.clone()).scope(|| {
        let _phase = begin_phase(Phase::Reading, 400);
        let done = || progress.seen().map(|seen| seen.done);
        // A half of a file of 400 bytes and 100 rows.
        let mut counted = CountedBytes::of([&sized_task(400, 100, 200)]);
        counted.add(10);
        assert_eq!(done(), Some(40));
        counted.add(90);
        assert_eq!(done(), Some(200));
        counted.end();
        assert_eq!(done(), Some(200));
        // Two files of a section, of 150 and 50 bytes and 20 rows. A filter drops all but one row.
        let runs = vec![vec![sized_task(150, 15, 150)], vec![sized_task(50, 5, 50)]];
        let merge = Some(Arc::new(MergeSection { runs, before: None }));
        let section = ScanTask { merge, ..sized_task(150, 15, 150) };
        assert_eq!(bytes_of(&section), 200);
        let mut counted = CountedBytes::of([&section]);
        counted.add(1);
        assert_eq!(done(), Some(210));
        counted.end();
        assert_eq!(done(), Some(400));
        // Metadata may be wrong.
        let mut counted = CountedBytes::of([&sized_task(-1, 0, -1)]);
        counted.add(1);
        counted.end();
        assert_eq!(done(), Some(400));
    });
}
