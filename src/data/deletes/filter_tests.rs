use arrow::array::{
    Array, BinaryArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::data::deletes::cache::DeleteCache;
use crate::data::deletes::files::read_positions;
use crate::data::parquet::source::ParquetSource;
use crate::data::read::constants::Constants;
use crate::data::read::file::open_rows;
use crate::data::read::file_columns::FileColumns;
use crate::data::read::rows::RawRows;
use crate::data::read::source::{FilePart, FormatFile, RecordedSize};
use crate::data::read::task::read_task;
use crate::data::testing::{
    context, delete, deleting, deletion_vector, equality_deletes, field, leaf, position_deletes, projecting, read,
    required, rows, schema, structure, task, write, write_batch,
};
use crate::error::{Error, ErrorKind};
use crate::expr::{BoundPredicate, Op};
use crate::format::task::{DataFile, FileContent, FileFormat, ScanTask};
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::types::{Field, PrimitiveType as P, Schema, Value};

fn dir() -> TempDir {
    TempDir::new().unwrap()
}

fn one(ty: P) -> Schema {
    schema(vec![field(1, "k", ty)])
}

fn ids(n: i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(0..n))
}

/// `0..n` in row groups of ten.
fn numbers(dir: &TempDir, n: i32) -> (Schema, ScanTask) {
    let s = one(P::Int);
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![ids(n)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
    let path = write_batch(dir, &batch, properties);
    (s, task(&path, BoundPredicate::True))
}

fn left(s: &Schema, task: ScanTask, deletes: Vec<DataFile>) -> Vec<String> {
    rows(&read(&context(s), &deleting(task, deletes)).unwrap())
}

fn fails(s: &Schema, task: ScanTask, deletes: Vec<DataFile>) -> Error {
    let names: Vec<_> = deletes.iter().map(|d| d.path.clone()).collect();
    let e = read(&context(s), &deleting(task, deletes)).unwrap_err();
    assert!(names.iter().any(|name| e.to_string().contains(name)), "{e}");
    e
}

fn texts(numbers: impl IntoIterator<Item = i32>) -> Vec<String> {
    numbers.into_iter().map(|n| n.to_string()).collect()
}

#[test]
fn positions_are_ordinals_in_the_file_whatever_is_skipped() {
    let dir = dir();
    let (s, t) = numbers(&dir, 40);
    let path = t.data_file.path.clone();
    // The positions are not in order. Some occur twice, some belong to another file, and one is beyond the end.
    let unsorted = [("other", 1), (&path, 35), (&path, 3), (&path, 35), (&path, 0), (&path, 99), ("p", 7), (&path, 12)];
    let deletes = vec![position_deletes(&dir, &unsorted), position_deletes(&dir, &[(&path, 3), (&path, 20)])];
    let expected: Vec<i32> = (0..40).filter(|n| ![0, 3, 12, 20, 35].contains(n)).collect();
    assert_eq!(left(&s, t.clone(), deletes.clone()), texts(expected.iter().copied()));
    // A filter that skips row groups.
    let mut filtered = t.clone();
    filtered.residual = Arc::new(leaf(&s, 1, Op::GtEq, vec![Value::Int(30)]));
    assert_eq!(left(&s, filtered, deletes.clone()), texts(expected.iter().copied().filter(|n| *n >= 30)));
    // Tasks that begin at later row groups.
    let mut found = Vec::new();
    for part in 0..4 {
        let mut split = t.clone();
        split.start = t.length * part / 4;
        split.length = t.length * (part + 1) / 4 - split.start;
        found.extend(left(&s, split, deletes.clone()));
    }
    assert_eq!(found, texts(expected));
}

#[test]
fn a_deletion_vector_goes_before_position_deletes() {
    let dir = dir();
    let (s, t) = numbers(&dir, 12);
    let path = t.data_file.path.clone();
    let vector = deletion_vector(&dir, &path, &[1, 11, 7]);
    let older = position_deletes(&dir, &[(&path, 0)]);
    assert_eq!(left(&s, t.clone(), vec![older, vector.clone()]), texts([0, 2, 3, 4, 5, 6, 8, 9, 10]));
    let keys = equality_deletes(&dir, &s, vec![Arc::new(Int32Array::from(vec![2, 10]))], &[1]);
    assert_eq!(left(&s, t.clone(), vec![keys, vector]), texts([0, 3, 4, 5, 6, 8, 9]));
    let all = deletion_vector(&dir, &path, &(0..12).collect::<Vec<_>>());
    assert!(left(&s, t, vec![all]).is_empty());
}

#[test]
fn counting_needs_no_columns() {
    let dir = dir();
    let (s, t) = numbers(&dir, 30);
    let path = t.data_file.path.clone();
    let nothing = projecting(&s, &schema(vec![]));
    let count = |deletes: Vec<DataFile>| -> usize {
        read(&nothing, &deleting(t.clone(), deletes)).unwrap().iter().map(RecordBatch::num_rows).sum()
    };
    assert_eq!(count(vec![]), 30);
    assert_eq!(count(vec![deletion_vector(&dir, &path, &[1, 2, 29])]), 27);
    let keys = equality_deletes(&dir, &s, vec![Arc::new(Int32Array::from(vec![2, 10, 99]))], &[1]);
    assert_eq!(count(vec![keys, position_deletes(&dir, &[(&path, 2), (&path, 3)])]), 27);
}

/// The rest of a column after some of its values are deleted.
fn keyed(ty: P, data: ArrayRef, keys: ArrayRef) -> Vec<String> {
    let dir = dir();
    let s = schema(vec![field(1, "k", ty), field(2, "row", P::Int)]);
    let path = write(&dir, &s, vec![data.clone(), ids(data.len() as i32)]);
    let deletes = equality_deletes(&dir, &schema(vec![s.fields[0].clone()]), vec![keys], &[1]);
    // The key column is not selected.
    let context = projecting(&s, &schema(vec![s.fields[1].clone()]));
    rows(&read(&context, &deleting(task(&path, BoundPredicate::True), vec![deletes])).unwrap())
}

#[test]
fn keys_are_compared_as_java_does() {
    let f64s = |v: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(v)) };
    let f32s = |v: Vec<Option<f32>>| -> ArrayRef { Arc::new(Float32Array::from(v)) };
    let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let data = || f64s(vec![Some(0.0), Some(-0.0), Some(other_nan), None, Some(1.5)]);
    assert_eq!(keyed(P::Double, data(), f64s(vec![Some(f64::NAN)])), texts([0, 1, 3, 4]));
    assert_eq!(keyed(P::Double, data(), f64s(vec![Some(-0.0), None])), texts([0, 2, 4]));
    let data = f32s(vec![Some(0.0), Some(-0.0), Some(f32::NAN), None]);
    assert_eq!(keyed(P::Float, data, f32s(vec![Some(-f32::NAN), Some(0.0)])), texts([1, 3]));
    let strings = |v: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringArray::from(v)) };
    let data = strings(vec![Some("a"), Some(""), None, Some("ä")]);
    assert_eq!(keyed(P::String, data, strings(vec![Some(""), Some("ä"), Some("b")])), texts([0, 2]));
    let bytes = |v: Vec<Option<&[u8]>>| -> ArrayRef { Arc::new(BinaryArray::from(v)) };
    assert_eq!(
        keyed(P::Binary, bytes(vec![Some(b"\xFF"), None, Some(b"")]), bytes(vec![Some(b"\xFF")])),
        texts([1, 2])
    );
    let decimals =
        |v: Vec<i128>| -> ArrayRef { Arc::new(Decimal128Array::from(v).with_precision_and_scale(38, 2).unwrap()) };
    let ty = P::Decimal { precision: 38, scale: 2 };
    assert_eq!(keyed(ty, decimals(vec![-1, 1, i128::MAX / 10]), decimals(vec![1])), texts([0, 2]));
    let fixed = |v: [[u8; 16]; 2]| -> ArrayRef { Arc::new(FixedSizeBinaryArray::try_from_iter(v.iter()).unwrap()) };
    for ty in [P::Uuid, P::Fixed(16)] {
        assert_eq!(keyed(ty, fixed([[0xFF; 16], [1; 16]]), fixed([[0xFF; 16], [2; 16]])), texts([1]));
    }
    let dates = |v: Vec<Option<i32>>| -> ArrayRef { Arc::new(Date32Array::from(v)) };
    assert_eq!(keyed(P::Date, dates(vec![Some(-1), None]), dates(vec![Some(-1)])), texts([1]));
    let stamps = |v: Vec<i64>| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(v).with_timezone("UTC")) };
    assert_eq!(keyed(P::Timestamptz, stamps(vec![-1, 0]), stamps(vec![0])), texts([0]));
}

#[test]
fn all_key_columns_have_to_match_and_extra_ones_are_ignored() {
    let dir = dir();
    let s = schema(vec![field(1, "a", P::Int), field(2, "b", P::String), field(3, "c", P::Int)]);
    let columns = |a: Vec<Option<i32>>, b: Vec<Option<&str>>| -> Vec<ArrayRef> {
        let c = ids(a.len() as i32);
        vec![Arc::new(Int32Array::from(a)), Arc::new(StringArray::from(b)), c]
    };
    let path = write(
        &dir,
        &s,
        columns(vec![Some(1), Some(1), None, None, Some(2)], vec![Some("x"), None, None, Some("x"), Some("x")]),
    );
    // The third column of the delete file is not a key.
    let deletes = equality_deletes(&dir, &s, columns(vec![Some(1), None], vec![None, Some("x")]), &[2, 1]);
    let t = task(&path, BoundPredicate::True);
    assert_eq!(left(&s, t.clone(), vec![deletes.clone()]), ["1|x|0", "-|-|2", "2|x|4"]);
    // Two files of the same keys, one of others.
    let same = equality_deletes(&dir, &s, columns(vec![Some(2)], vec![Some("x")]), &[1, 2]);
    let other = equality_deletes(&dir, &s, columns(vec![Some(1)], vec![None]), &[1]);
    assert_eq!(left(&s, t, vec![deletes, same, other]), ["-|-|2"]);
}

#[test]
fn key_columns_may_be_renamed_promoted_added_and_dropped() {
    let dir = dir();
    let old = schema(vec![field(1, "was", P::Int), field(2, "gone", P::Int), field(3, "row", P::Int)]);
    let path = write(&dir, &old, vec![ids(4), Arc::new(Int32Array::from(vec![0, 1, 0, 1])), ids(4)]);
    let now = schema(vec![field(1, "k", P::Long), field(4, "new", P::String), field(3, "row", P::Int)]);
    let mut context = (*projecting(&now, &schema(vec![field(3, "row", P::Int)]))).clone();
    // The column was dropped after it had become a long.
    context.dropped = [Schema::new(1, vec![field(2, "gone", P::Long)], vec![])].into();
    let context = Arc::new(context);
    let t = task(&path, BoundPredicate::True);
    let left = |deletes: Vec<DataFile>| rows(&read(&context, &deleting(t.clone(), deletes)).unwrap());
    let longs = |v: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(v)) };

    let promoted = equality_deletes(
        &dir,
        &now,
        vec![longs(vec![Some(3), Some(1 << 40)]), Arc::new(StringArray::from(vec![None::<&str>; 2])), ids(2)],
        &[1],
    );
    assert_eq!(left(vec![promoted]), texts([0, 1, 2]));
    let narrow = equality_deletes(&dir, &one(P::Int), vec![Arc::new(Int32Array::from(vec![2]))], &[1]);
    assert_eq!(left(vec![narrow]), texts([0, 1, 3]));
    let added = schema(vec![field(1, "k", P::Long), field(4, "new", P::String)]);
    let keys = |new: Option<&str>| vec![longs(vec![Some(0)]), Arc::new(StringArray::from(vec![new])) as ArrayRef];
    assert_eq!(left(vec![equality_deletes(&dir, &added, keys(None), &[1, 4])]), texts([1, 2, 3]));
    assert_eq!(left(vec![equality_deletes(&dir, &added, keys(Some("x")), &[1, 4])]), texts([0, 1, 2, 3]));
    let gone = |ty: P| schema(vec![field(2, "gone", ty)]);
    assert_eq!(left(vec![equality_deletes(&dir, &gone(P::Long), vec![longs(vec![Some(1)])], &[2])]), texts([0, 2]));
    assert_eq!(
        left(vec![equality_deletes(&dir, &gone(P::Int), vec![Arc::new(Int32Array::from(vec![0]))], &[2])]),
        texts([1, 3])
    );
    // A file written after the column was dropped has nulls there.
    let later = write(&dir, &schema(vec![field(3, "row", P::Int)]), vec![ids(2)]);
    let keyed = |key: Option<i64>| equality_deletes(&dir, &gone(P::Long), vec![longs(vec![key])], &[2]);
    let left = |key| rows(&read(&context, &deleting(task(&later, BoundPredicate::True), vec![keyed(key)])).unwrap());
    assert_eq!(left(Some(1)), texts([0, 1]));
    assert!(left(None).is_empty());
}

#[test]
fn keys_may_be_inside_structs() {
    let dir = dir();
    let s = schema(vec![
        field(1, "st", structure(vec![field(2, "x", P::Int), field(3, "y", P::Int)])),
        field(4, "row", P::Int),
    ]);
    let structs = |x: Vec<Option<i32>>, valid: Vec<bool>| -> ArrayRef {
        let DataType::Struct(members) = to_arrow(&s).unwrap().field(0).data_type().clone() else { unreachable!() };
        let y = Arc::new(Int32Array::from(vec![7; x.len()]));
        Arc::new(StructArray::new(members, vec![Arc::new(Int32Array::from(x)), y], Some(NullBuffer::from(valid))))
    };
    let path =
        write(&dir, &s, vec![structs(vec![Some(1), None, Some(1), Some(2)], vec![true, true, false, true]), ids(4)]);
    let left = |keys: Vec<DataFile>| {
        let context = projecting(&s, &schema(vec![s.fields[1].clone()]));
        rows(&read(&context, &deleting(task(&path, BoundPredicate::True), keys)).unwrap())
    };
    let keys = |x, ids: &[i32]| {
        equality_deletes(&dir, &schema(vec![s.fields[0].clone()]), vec![structs(vec![x], vec![true])], ids)
    };
    assert_eq!(left(vec![keys(Some(1), &[2])]), texts([1, 2, 3]));
    // The member of a null struct is null.
    assert_eq!(left(vec![keys(None, &[2])]), texts([0, 3]));
    assert_eq!(left(vec![keys(Some(2), &[2, 3])]), texts([0, 1, 2]));
    let e = fails(&s, task(&path, BoundPredicate::True), vec![keys(Some(1), &[1])]);
    assert_eq!(e.kind(), ErrorKind::Unsupported);
}

#[test]
fn rows_before_deletes_come_with_positions_and_keys() {
    let dir = dir();
    let s = schema(vec![field(1, "k", P::Int), field(2, "s", P::String)]);
    let names: StringArray = (0..50).map(|n| Some(format!("n{}", n % 5))).collect();
    let batch = RecordBatch::try_new(to_arrow(&s).unwrap(), vec![ids(50), Arc::new(names)]).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
    let path = write_batch(&dir, &batch, properties);
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let context = projecting(&s, &schema(vec![s.fields[1].clone()]));
    for filter in [
        BoundPredicate::True,
        leaf(&s, 1, Op::GtEq, vec![Value::Int(25)]),
        leaf(&s, 2, Op::Eq, vec![Value::String("n3".into())]),
    ] {
        let vector = deletion_vector(&dir, &path, &[3, 30, 33]);
        let keys = equality_deletes(&dir, &one(P::Int), vec![Arc::new(Int32Array::from(vec![38, 41]))], &[1]);
        let t = deleting(task(&path, filter), vec![vector, keys]);
        let cache = DeleteCache::default();
        let deletes = DeleteFilter::load(&store, &context, &t.data_file, &t.deletes, &cache).unwrap();
        assert_eq!((deletes.key_ids(), deletes.has_positions(), deletes.is_empty()), (vec![1], true, false));
        let mut found = Vec::new();
        for part in open_rows(&store, &context, &t, &deletes.key_ids()).unwrap() {
            let RawRows { batch, keys, positions } = part.unwrap();
            let numbers = keys[&1].as_any().downcast_ref::<Int32Array>().unwrap();
            assert!(positions.iter().eq(numbers.values().iter().map(|n| *n as u64)));
            let kept = deletes.keep(&keys, &positions).unwrap();
            let kept = arrow::array::BooleanArray::new(kept, None);
            found.push(arrow::compute::filter_record_batch(&batch, &kept).unwrap());
        }
        assert_eq!(rows(&found), rows(&read(&context, &t).unwrap()));
        assert!(found.iter().map(RecordBatch::num_rows).sum::<usize>() > 5);
    }
}

#[test]
fn deletion_vectors_have_to_be_what_is_recorded() {
    let dir = dir();
    let (s, t) = numbers(&dir, 20);
    let good = deletion_vector(&dir, &t.data_file.path, &[1, 2, 3]);
    let corrupt = |change: &dyn Fn(&mut DataFile)| {
        let mut bad = good.clone();
        change(&mut bad);
        let e = fails(&s, t.clone(), vec![bad]);
        assert_eq!(e.kind(), ErrorKind::CorruptTable, "{e}");
        e.to_string()
    };
    assert!(corrupt(&|f| f.record_count = 4).contains("3 positions instead of 4"));
    assert!(corrupt(&|f| f.referenced_data_file = Some("other.parquet".into())).contains("belongs to other.parquet"));
    corrupt(&|f| f.referenced_data_file = None);
    corrupt(&|f| f.content_offset = None);
    corrupt(&|f| f.content_offset = Some(-1));
    corrupt(&|f| f.content_offset = Some(11));
    corrupt(&|f| f.content_offset = Some(i64::MAX));
    for bytes in [None, Some(-1), Some(0), Some(11), Some(i64::MAX), Some(i64::from(i32::MAX))] {
        corrupt(&|f| f.content_size_bytes = bytes);
    }
    corrupt(&|f| f.content_size_bytes = f.content_size_bytes.map(|n| n - 1));
    assert!(fails(&s, t.clone(), vec![good.clone(), good.clone()]).to_string().contains("two deletion vectors"));

    let bytes = std::fs::read(&good.path).unwrap();
    for at in 10..bytes.len() - 4 {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        std::fs::write(&good.path, flipped).unwrap();
        assert_eq!(fails(&s, t.clone(), vec![good.clone()]).kind(), ErrorKind::CorruptTable);
    }
    std::fs::write(&good.path, &bytes[..bytes.len() - 8]).unwrap();
    fails(&s, t.clone(), vec![good.clone()]);
    std::fs::remove_file(&good.path).unwrap();
    assert_eq!(fails(&s, t, vec![good]).kind(), ErrorKind::NotFound);
}

#[test]
fn delete_files_that_cannot_be_read_are_named() {
    let dir = dir();
    let (s, t) = numbers(&dir, 20);
    let path = t.data_file.path.clone();
    let kind = |file: DataFile| fails(&s, t.clone(), vec![file]).kind();
    let positions = position_deletes(&dir, &[(&path, 3)]);
    let keys = equality_deletes(&dir, &s, vec![ids(3)], &[1]);
    for file in [&positions, &keys] {
        for format in [FileFormat::Avro, FileFormat::Orc] {
            assert_eq!(kind(DataFile { format, ..file.clone() }), ErrorKind::CorruptTable);
        }
        assert_eq!(kind(DataFile { key_metadata: Some(vec![1]), ..file.clone() }), ErrorKind::Unsupported);
        assert_eq!(kind(DataFile { path: "/none.parquet".into(), ..file.clone() }), ErrorKind::NotFound);
    }
    for bad in [None, Some(vec![]), Some(vec![77])] {
        assert_eq!(kind(DataFile { equality_ids: bad, ..keys.clone() }), ErrorKind::CorruptTable);
    }
    assert_eq!(kind(delete(FileContent::Data, FileFormat::Parquet, &path)), ErrorKind::CorruptTable);
    // Positions in a file of other columns, and below zero.
    assert_eq!(kind(delete(FileContent::PositionDeletes, FileFormat::Parquet, &path)), ErrorKind::CorruptTable);
    assert_eq!(kind(position_deletes(&dir, &[(&path, -1)])), ErrorKind::CorruptTable);
}

#[test]
fn every_flipped_byte_of_a_delete_file_gives_an_error_or_rows() {
    let dir = dir();
    let (s, t) = numbers(&dir, 5);
    let path = t.data_file.path.clone();
    let whole = texts(0..5);
    for file in [position_deletes(&dir, &[(&path, 3)]), equality_deletes(&dir, &s, vec![ids(1)], &[1])] {
        let bytes = std::fs::read(&file.path).unwrap();
        for at in 0..bytes.len() {
            for change in [0x01, 0x80] {
                let mut flipped = bytes.clone();
                flipped[at] ^= change;
                std::fs::write(&file.path, flipped).unwrap();
                // Parquet has checksums only if the writer wants them. Damage may delete other rows, but can't make up
                // rows.
                if let Ok(batches) = read(&context(&s), &deleting(t.clone(), vec![file.clone()])) {
                    assert!(rows(&batches).iter().all(|row| whole.contains(row)));
                }
            }
        }
        for cut in 0..bytes.len() {
            std::fs::write(&file.path, &bytes[..cut]).unwrap();
            fails(&s, t.clone(), vec![file.clone()]);
        }
    }
}

#[test]
fn delete_files_are_read_once_for_the_tasks_of_a_scan() {
    let dir = dir();
    let (s, t) = numbers(&dir, 5);
    let path = t.data_file.path.clone();
    let files =
        vec![position_deletes(&dir, &[(&path, 0), ("other", 1)]), equality_deletes(&dir, &s, vec![ids(2)], &[1])];
    let vector = vec![deletion_vector(&dir, &path, &[2])];
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let cache = DeleteCache::default();
    let read = |t: &ScanTask| -> Result<Vec<RecordBatch>> { read_task(&store, &context(&s), t, &cache)?.collect() };
    let (first, second) = (deleting(t.clone(), files.clone()), deleting(t, vector.clone()));
    assert_eq!(rows(&read(&first).unwrap()), texts([2, 3, 4]));
    assert_eq!(rows(&read(&second).unwrap()), texts([0, 1, 3, 4]));
    files.iter().chain(&vector).for_each(|f| std::fs::remove_file(&f.path).unwrap());
    assert_eq!(rows(&read(&first).unwrap()), texts([2, 3, 4]));
    assert_eq!(rows(&read(&second).unwrap()), texts([0, 1, 3, 4]));
    assert!(read_task(&store, &context(&s), &first, &DeleteCache::default()).is_err());
}

#[test]
fn large_position_delete_files_are_searched_for_one_data_file() {
    let dir = dir();
    let (s, t) = numbers(&dir, 20);
    let path = t.data_file.path.clone();
    let names: Vec<String> = (0..50).map(|n| format!("{path}{n}")).collect();
    let mut all: Vec<(&str, i64)> = names.iter().flat_map(|name| (0..9).map(move |pos| (name.as_str(), pos))).collect();
    all.extend([(path.as_str(), 4), (path.as_str(), 19)]);
    let file = DataFile { size_bytes: 1 << 30, ..position_deletes(&dir, &all) };
    let expected = (0..20).filter(|n| ![4, 19].contains(n));
    assert_eq!(left(&s, t.clone(), vec![file.clone()]), texts(expected));
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let cache = DeleteCache::default();
    let positions = |path: &str| {
        let data_file = delete(FileContent::Data, FileFormat::Parquet, path);
        let found = read_positions(&store, &context(&s), &data_file, &file, &cache).unwrap();
        found.map(|(set, _)| set.iter().collect::<Vec<_>>())
    };
    assert_eq!(positions(&names[7]), Some((0..9).collect()));
    assert_eq!(positions("another"), None);
    assert_eq!(positions(&path), Some(vec![4, 19]));
}

#[test]
fn of_delete_files_with_very_many_keys_only_those_near_the_rows_are_in_memory() {
    let dir = dir();
    let s = schema(vec![field(1, "k", P::Int), field(2, "t", P::String), field(3, "f", P::Double)]);
    let columns = |keys: &[Option<i32>]| -> Vec<ArrayRef> {
        vec![
            Arc::new(Int32Array::from(keys.to_vec())),
            Arc::new(keys.iter().map(|k| k.map(|k| format!("{k:03}"))).collect::<StringArray>()),
            Arc::new(keys.iter().map(|k| k.map(f64::from)).collect::<Float64Array>()),
        ]
    };
    let some = |keys: std::ops::Range<i32>| keys.map(Some).collect::<Vec<_>>();
    let path = write(&dir, &s, columns(&some(40..60)));
    let mut keys = some(0..100);
    keys.push(None);
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    // The number of keys that a filter for the data file holds, by one key column.
    let held = |id: i32, kept_bytes: u64| -> usize {
        let file = equality_deletes(&dir, &s, columns(&keys), &[id]);
        let t = deleting(task(&path, BoundPredicate::True), vec![file]);
        let source = ParquetSource::open(&store, &path).unwrap();
        let file_columns = FileColumns::new(source.schema());
        let constants = Constants::of(&t.data_file);
        let part = FilePart {
            range: i64::MIN..i64::MAX,
            filter: &t.residual,
            schema: &s,
            columns: &file_columns,
            constants: &constants,
            recorded: RecordedSize::default(),
        };
        let (cache, range_of) = (DeleteCache::new(kept_bytes), |column| source.range_of(&part, column));
        let filter =
            DeleteFilter::load_in_ranges(&store, &context(&s), &t.data_file, &t.deletes, &cache, &range_of).unwrap();
        let arrays = columns(&keys);
        let arrays = KeyArrays::from([(id, arrays[id as usize - 1].clone())]);
        let left = filter.keep_keys(&arrays, BooleanBuffer::new_set(keys.len())).unwrap();
        keys.len() - left.count_set_bits()
    };
    assert_eq!([held(1, 500), held(2, 500)], [20, 20]);
    // Ranges of float columns are not used, and files that fit the cache are read whole.
    assert_eq!([held(3, 500), held(1, 1 << 20), held(2, 1 << 20)], [101, 101, 101]);
}

#[test]
fn required_fields_need_values_in_delete_files_too() {
    let dir = dir();
    let s = schema(vec![required(1, "k", P::Int)]);
    let path = write(&dir, &s, vec![ids(3)]);
    let none: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(1)]));
    let bad = equality_deletes(&dir, &schema(vec![Field { required: false, ..s.fields[0].clone() }]), vec![none], &[1]);
    assert_eq!(fails(&s, task(&path, BoundPredicate::True), vec![bad]).kind(), ErrorKind::CorruptTable);
}

#[test]
fn delete_files_with_fewer_rows_than_recorded_bring_no_rows_back() {
    let dir = dir();
    let (s, t) = numbers(&dir, 30);
    let path = t.data_file.path.as_str();
    let by_position = position_deletes(&dir, &[(path, 3), (path, 4)]);
    let by_key = equality_deletes(&dir, &s, vec![ids(2)], &[1]);
    for (file, gone) in [(by_position, [3, 4]), (by_key, [0, 1])] {
        let recorded = |rows| DataFile { record_count: rows, size_bytes: file.size_bytes + 1, ..file.clone() };
        let e = fails(&s, t.clone(), vec![recorded(3)]);
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        assert!(e.to_string().contains("the file has 2 rows in"), "{e}");
        // All existing deletes apply.
        for rows in [2, 1, 0] {
            assert_eq!(left(&s, t.clone(), vec![recorded(rows)]), texts((0..30).filter(|n| !gone.contains(n))));
        }
    }
}

#[test]
fn equality_delete_files_have_the_columns_they_delete_by() {
    let dir = dir();
    let s = schema(vec![field(1, "k", P::Int), field(4, "st", structure(vec![field(2, "x", P::Int)]))]);
    let structs = |n| -> ArrayRef {
        let DataType::Struct(members) = to_arrow(&s).unwrap().field(1).data_type().clone() else { unreachable!() };
        Arc::new(StructArray::new(members, vec![ids(n)], None))
    };
    let t = task(&write(&dir, &s, vec![ids(3), structs(3)]), BoundPredicate::True);
    let whole = |keys: &[i32]| equality_deletes(&dir, &s, vec![ids(1), structs(1)], keys);
    assert_eq!(left(&s, t.clone(), vec![whole(&[1, 2])]).len(), 2);
    let one = equality_deletes(&dir, &one(P::Int), vec![ids(1)], &[1]);
    assert_eq!(left(&s, t.clone(), vec![one.clone()]).len(), 2);
    for (keys, name) in [(vec![1, 2], "st.x"), (vec![2], "st.x")] {
        let e = fails(&s, t.clone(), vec![DataFile { equality_ids: Some(keys), ..one.clone() }]);
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        assert!(e.context().contains(&("column", name.into())), "{e}");
    }
}

/// A file of pyarrow's, which writes a checksum with each page: the numbers 3, 4, 5 and 900, uncompressed.
#[test]
fn a_flipped_bit_of_a_page_with_a_checksum_is_found() {
    let bytes = std::fs::read(format!("{}/tests/data/parquet/checksums.parquet", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let dir = dir();
    let save = |bytes: &[u8]| {
        let path = dir.path().join(format!("{}.parquet", uuid::Uuid::new_v4())).display().to_string();
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let keys = |path: &str| DataFile {
        equality_ids: Some(vec![1]),
        ..delete(FileContent::EqualityDeletes, FileFormat::Parquet, path)
    };
    let s = one(P::Int);
    let good = save(&bytes);
    assert_eq!(left(&s, task(&good, BoundPredicate::True), vec![]), texts([3, 4, 5, 900]));
    assert!(left(&s, task(&good, BoundPredicate::True), vec![keys(&good)]).is_empty());
    let values: Vec<u8> = [3i32, 4, 5, 900].iter().flat_map(|v| v.to_le_bytes()).collect();
    let at = bytes.windows(values.len()).position(|w| w == values).unwrap();
    for bit in 0..values.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[at + bit / 8] ^= 1 << (bit % 8);
        let bad = save(&bytes);
        let as_data = read(&context(&s), &task(&bad, BoundPredicate::True)).unwrap_err();
        let as_deletes = fails(&s, task(&good, BoundPredicate::True), vec![keys(&bad)]);
        for e in [as_data, as_deletes] {
            assert_eq!(e.kind(), ErrorKind::CorruptTable);
            assert!(e.to_string().contains(&bad) && e.to_string().contains("CRC"), "{e}");
        }
    }
}
