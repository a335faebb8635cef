use std::collections::BTreeSet;

use arrow::array::{ArrayRef, AsArray, Date32Array, Int32Array, StructArray};
use arrow::datatypes::{DataType, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::codec::puffin::{Footer, TAIL_BYTES, footer_bytes};
use crate::data::testing::{context as reading, deleting, field, read, required, rows, schema, structure, task, write};
use crate::data::write::context::RowOrder;
use crate::data::write::locations::FileLocations;
use crate::data::write::writer::DataWriter;
use crate::error::ErrorKind;
use crate::expr::BoundPredicate;
use crate::format::task::PartitionValue;
use crate::store::local::LocalStore;
use crate::types::metadata_columns::{DELETE_FILE_PATH, DELETE_FILE_POS};
use crate::types::{PartitionField, PartitionSpec, PrimitiveType as P, Schema, Transform, Value};

fn context(dir: &TempDir, schema: Schema, spec: PartitionSpec, properties: &[(&str, &str)]) -> WriteContext {
    WriteContext {
        schema: Arc::new(schema),
        spec: Arc::new(spec),
        order: Arc::default(),
        row_order: RowOrder::Any,
        locations: FileLocations::in_folder(&dir.path().join("data").display().to_string()),
        properties: properties.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        write_id: uuid::Uuid::new_v4().to_string(),
        task_id: 3,
    }
}

fn writer(dir: &TempDir, form: DeleteForm, properties: &[(&str, &str)]) -> PositionDeleteWriter {
    let context = context(dir, numbers(), PartitionSpec::default(), properties);
    PositionDeleteWriter::new(Arc::new(LocalStore), context, form).unwrap()
}

fn numbers() -> Schema {
    schema(vec![field(1, "k", P::Int)])
}

fn set(positions: impl IntoIterator<Item = i64>) -> PositionSet {
    let mut set = PositionSet::default();
    set.extend(&positions.into_iter().collect::<Vec<_>>()).unwrap();
    set
}

/// A data file of `day`, which need not exist.
fn data_file(path: &str, day: Option<i32>) -> DataFile {
    let value = PartitionValue {
        name: "day".into(),
        field_id: 1000,
        source_id: 1,
        transform: Transform::Day,
        ty: P::Date,
        value: day.map(Value::Int),
    };
    let file = task(path, BoundPredicate::True).data_file;
    DataFile { partition: Arc::new(Partition { spec_id: 5, values: vec![value] }), ..file.as_ref().clone() }
}

/// The rows of a position delete file.
fn said(file: &DataFile) -> Vec<(String, i64)> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&file.path).unwrap()).unwrap();
    let batches = reader.build().unwrap().map(|b| b.unwrap());
    let pairs = batches.flat_map(|b| {
        let paths = b.column(0).as_string::<i32>().iter().map(|p| p.unwrap().to_owned()).collect::<Vec<_>>();
        paths.into_iter().zip(b.column(1).as_primitive::<Int64Type>().values().to_vec()).collect::<Vec<_>>()
    });
    pairs.collect()
}

fn bounds(file: &DataFile) -> Option<(Vec<u8>, Vec<u8>)> {
    let metrics = file.metrics.as_ref().unwrap().get().unwrap();
    Some((
        metrics.lower_bounds.as_ref()?[&DELETE_FILE_PATH].clone(),
        metrics.upper_bounds.as_ref()?[&DELETE_FILE_PATH].clone(),
    ))
}

#[test]
fn each_data_file_has_its_own_delete_file() {
    let dir = TempDir::new().unwrap();
    let long = format!("/data/{}/a.parquet", "x".repeat(300));
    let mut w = writer(&dir, DeleteForm::Files, &[]);
    w.delete(&data_file("/data/b.parquet", Some(19_000)), set([7])).unwrap();
    w.delete(&data_file(&long, Some(19_000)), set([5, 1])).unwrap();
    w.delete(&data_file(&long, Some(19_000)), set([3, 5, 1 << 33])).unwrap();
    w.delete(&data_file("/data/c.parquet", None), set([])).unwrap();
    let files = w.finish().unwrap();
    assert_eq!(files.len(), 2);
    let expected: Vec<_> = [1, 3, 5, 1 << 33].map(|pos| (long.clone(), pos)).to_vec();
    // Rows are in the order of their paths.
    assert_eq!(said(&files[0]), [("/data/b.parquet".to_owned(), 7)]);
    let f = &files[1];
    assert_eq!(said(f), expected);
    assert!(
        f.path.contains("/data/day=2022-01-08/00003-0-") && f.path.ends_with("-00002-deletes.parquet"),
        "{}",
        f.path
    );
    assert_eq!((f.content, f.format, f.record_count), (FileContent::PositionDeletes, FileFormat::Parquet, 4));
    assert_eq!((f.sort_order_id, f.equality_ids.clone(), f.partition.spec_id), (None, None, 5));
    assert_eq!(f.referenced_data_file.as_ref(), Some(&long));
    assert_eq!(f.size_bytes as u64, std::fs::metadata(&f.path).unwrap().len());
    // There are whole bounds and no counts, as in Java's files.
    assert_eq!(bounds(f), Some((long.clone().into_bytes(), long.into_bytes())));
    let metrics = f.metrics.as_ref().unwrap().get().unwrap();
    assert_eq!(metrics.lower_bounds.as_ref().unwrap()[&DELETE_FILE_POS], 1i64.to_le_bytes());
    assert_eq!(metrics.upper_bounds.as_ref().unwrap()[&DELETE_FILE_POS], (1i64 << 33).to_le_bytes());
    assert!(metrics.value_counts.is_none() && metrics.null_value_counts.is_none());
    assert_eq!(metrics.column_sizes.as_ref().unwrap().len(), 2);

    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&f.path).unwrap()).unwrap();
    let columns = reader.parquet_schema().columns().iter().map(|c| (c.name(), c.self_type().get_basic_info().id()));
    assert_eq!(columns.collect::<Vec<_>>(), [("file_path", 2_147_483_546), ("pos", 2_147_483_545)]);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|p| p.key == "delete-type" && p.value.as_deref() == Some("position")));
}

#[test]
fn data_files_of_a_partition_may_share() {
    let dir = TempDir::new().unwrap();
    let mut w = writer(&dir, DeleteForm::Files, &[(GRANULARITY, "Partition")]);
    for (path, day) in [("b", Some(1)), ("d", None), ("a", Some(1)), ("c", Some(2))] {
        w.delete(&data_file(path, day), set(0..2)).unwrap();
    }
    let files = w.finish().unwrap();
    let got: Vec<Vec<(String, i64)>> = files.iter().map(said).collect();
    let rows = |paths: &[&str]| paths.iter().flat_map(|p| [(p.to_string(), 0), (p.to_string(), 1)]).collect::<Vec<_>>();
    assert_eq!(got, [rows(&["a", "b"]), rows(&["c"]), rows(&["d"])]);
    assert_eq!((bounds(&files[0]), files[0].referenced_data_file.as_ref()), (None, None));
    assert_eq!((bounds(&files[1]).unwrap().0, files[1].referenced_data_file.as_deref()), (b"c".to_vec(), Some("c")));
}

#[test]
fn delete_files_roll_over_and_have_properties_of_their_own() {
    let dir = TempDir::new().unwrap();
    let properties = [
        (DELETE_TARGET, "200000"),
        ("write.target-file-size-bytes", "1"),
        ("write.parquet.compression-codec", "gzip"),
        ("write.delete.parquet.compression-codec", "uncompressed"),
        ("write.parquet.row-group-size-bytes", "40000"),
        ("write.parquet.bloom-filter-enabled.column.pos", "true"),
    ];
    let mut w = writer(&dir, DeleteForm::Files, &properties);
    w.delete(&data_file("a", None), set((0..100_000).map(|i| i * i))).unwrap();
    let files = w.finish().unwrap();
    assert!((2..20).contains(&files.len()), "{}", files.len());
    assert_eq!(files.iter().map(|f| f.record_count).sum::<i64>(), 100_000);
    assert!(files.iter().all(|f| f.referenced_data_file.as_deref() == Some("a")));
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&files[0].path).unwrap()).unwrap();
    let column = reader.metadata().row_group(0).column(1);
    assert_eq!(column.compression(), parquet::basic::Compression::UNCOMPRESSED);
    assert_eq!(column.bloom_filter_offset(), None);
    assert!(reader.metadata().num_row_groups() > 1);
}

#[test]
fn vectors_share_a_puffin_file() {
    let dir = TempDir::new().unwrap();
    let mut w = writer(&dir, DeleteForm::Vectors, &[]);
    let sets = [set([0, 3]), set((10..100_000).chain([1 << 40])), set([9])];
    for ((path, day), positions) in [("b", Some(1)), ("a", Some(2)), ("c", None)].into_iter().zip(&sets) {
        w.delete(&data_file(path, day), positions.clone()).unwrap();
    }
    let files = w.finish().unwrap();
    let bytes = std::fs::read(&files[0].path).unwrap();
    assert_eq!(files.len(), 3);
    assert!(files[0].path.ends_with("-00001-deletes.puffin") && files.iter().all(|f| f.path == files[0].path));
    let tail: &[u8; TAIL_BYTES] = bytes.last_chunk().unwrap();
    let from = bytes.len() - footer_bytes(tail).unwrap() as usize;
    let footer = Footer::parse(&bytes[from..], bytes.len() as u64).unwrap();
    assert!(footer.properties["created-by"].starts_with("frazil "));
    for (file, (path, positions)) in files.iter().zip([("a", &sets[1]), ("b", &sets[0]), ("c", &sets[2])]) {
        assert_eq!(file.referenced_data_file.as_deref(), Some(path));
        assert_eq!((file.content, file.format), (FileContent::PositionDeletes, FileFormat::Puffin));
        assert_eq!((file.record_count as u64, file.size_bytes as usize), (positions.len(), bytes.len()));
        let blob = footer.deletion_vector(path).unwrap();
        assert_eq!(
            (blob.offset as i64, blob.length as i64),
            (file.content_offset.unwrap(), file.content_size_bytes.unwrap())
        );
        assert_eq!((blob.snapshot_id, blob.sequence_number, blob.fields.as_slice()), (-1, -1, &[2_147_483_645][..]));
        assert_eq!(blob.properties["cardinality"], positions.len().to_string());
        let stored = &bytes[blob.offset as usize..(blob.offset + blob.length) as usize];
        assert_eq!(&PositionSet::from_vector(stored).unwrap(), positions);
    }
    assert_eq!(
        (&files[0].partition.values[0].value, &files[2].partition.values[0].value),
        (&Some(Value::Int(2)), &None)
    );
}

#[test]
fn nothing_stays_of_writers_that_fail_or_write_nothing() {
    let dir = TempDir::new().unwrap();
    for form in [DeleteForm::Files, DeleteForm::Vectors] {
        assert!(writer(&dir, form, &[]).finish().unwrap().is_empty());
        let mut w = writer(&dir, form, &[]);
        w.delete(&data_file("a", None), set([1])).unwrap();
        let twice = w.delete(&data_file("a", Some(1)), set([1])).unwrap_err();
        assert!(twice.to_string().contains("two partitions"), "{twice}");
        let file = DataFile { content: FileContent::EqualityDeletes, ..data_file("x", None) };
        assert_eq!(w.delete(&file, set([1])).unwrap_err().kind(), ErrorKind::InvalidInput);
        w.abort().unwrap();
    }
    assert!(!dir.path().join("data").exists());
    let refused = |properties: &[(&str, &str)]| {
        let context = context(&dir, numbers(), PartitionSpec::default(), properties);
        PositionDeleteWriter::new(Arc::new(LocalStore), context, DeleteForm::Files).unwrap_err().to_string()
    };
    assert!(refused(&[(GRANULARITY, "row")]).contains("Use file or partition"));
    assert!(refused(&[("write.delete.format.default", "puffin")]).contains("write.delete.format.default"));
    assert!(
        refused(&[("write.delete.parquet.page-size-bytes", "-1")]).contains("write.delete.parquet.page-size-bytes")
    );
    let mapped: Vec<_> = [1, 2, 3].map(|v| DeleteForm::of_version(v).ok()).to_vec();
    assert_eq!(mapped, [None, Some(DeleteForm::Files), Some(DeleteForm::Vectors)]);
}

/// Two rows of each key, and one without.
fn keyed() -> Schema {
    let inner = structure(vec![field(4, "a", P::Int), field(5, "b", P::Int)]);
    schema(vec![required(1, "id", P::Int), field(2, "d", P::Date), field(3, "s", inner)])
}

fn keyed_rows(ids: &[i32], days: &[Option<i32>], a: &[Option<i32>]) -> RecordBatch {
    let schema = to_arrow(&keyed()).unwrap();
    let DataType::Struct(members) = schema.field(2).data_type() else { panic!() };
    let b = Int32Array::from(vec![Some(1); ids.len()]);
    let members: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(a.to_vec())), Arc::new(b)]
        .into_iter()
        .zip(members)
        .map(|(c, _)| c as ArrayRef)
        .collect();
    let DataType::Struct(fields) = schema.field(2).data_type() else { panic!() };
    let s = StructArray::new(fields.clone(), members, None);
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(ids.to_vec())), Arc::new(Date32Array::from(days.to_vec())), Arc::new(s)];
    RecordBatch::try_new(schema, columns).unwrap()
}

#[test]
fn equality_deletes_hold_keys_in_their_partition() {
    let dir = TempDir::new().unwrap();
    let day = PartitionField { source_id: 2, field_id: 1000, name: "day".into(), transform: Transform::Day };
    let spec = PartitionSpec { id: 4, fields: vec![day] };
    let writer = |format: &str| {
        let properties = [("write.target-file-size-bytes", "x"), ("write.delete.format.default", format)];
        let context = context(&dir, keyed(), spec.clone(), &properties);
        DataWriter::of_equality_deletes(Arc::new(LocalStore), context, vec![1, 4]).unwrap()
    };
    let mut w = writer("parquet");
    // Rows come with the partition columns and the key columns: `s` without `b`.
    let whole = keyed_rows(&[1, 2, 3], &[Some(0), None, Some(0)], &[Some(1), None, None]);
    let s = whole.column(2).as_struct();
    let a = StructArray::from(vec![(Arc::new(s.fields()[0].as_ref().clone()), s.column(0).clone())]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("s", Arc::new(a) as ArrayRef, true),
        ("d", whole.column(1).clone(), true),
        ("id", whole.column(0).clone(), true),
    ]);
    let batch = batch.unwrap();
    w.write(&batch).unwrap();
    let files = w.finish().unwrap();
    assert_eq!(files.len(), 2);
    let f = &files[0];
    assert_eq!(
        (f.content, f.record_count, f.equality_ids.clone()),
        (FileContent::EqualityDeletes, 2, Some(vec![1, 4]))
    );
    assert_eq!((f.sort_order_id, f.partition.values[0].value.clone()), (Some(0), Some(Value::Int(0))));
    assert!(f.path.contains("/day=1970-01-01/") && f.path.ends_with("-deletes.parquet"), "{}", f.path);
    let metrics = f.metrics.as_ref().unwrap().get().unwrap();
    assert_eq!(metrics.lower_bounds.as_ref().unwrap()[&1], 1i32.to_le_bytes());
    assert_eq!(metrics.null_value_counts.as_ref().unwrap()[&4], 1);
    assert!(!metrics.value_counts.as_ref().unwrap().contains_key(&2));
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&f.path).unwrap()).unwrap();
    let columns: Vec<String> = reader.parquet_schema().columns().iter().map(|c| c.path().string()).collect();
    assert_eq!(columns, ["id", "s.a"]);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|p| p.key == "delete-field-ids" && p.value.as_deref() == Some("1, 4")));

    // They delete the rows with these keys, in every format.
    let data = keyed_rows(&[1, 1, 2, 3, 3], &[None; 5], &[Some(1), None, None, None, Some(3)]);
    let path = write(&dir, &keyed(), data.columns().to_vec());
    for format in [FileFormat::Parquet, FileFormat::Avro, FileFormat::Orc] {
        let mut w = writer(format.as_str());
        w.write(&batch).unwrap();
        let files = w.finish().unwrap();
        assert!(files.iter().all(|f| f.format == format && f.equality_ids == Some(vec![1, 4])));
        let left = rows(&read(&reading(&keyed()), &deleting(task(&path, BoundPredicate::True), files)).unwrap());
        let ids: Vec<&str> = left.iter().map(|row| row.split('|').next().unwrap()).collect();
        assert_eq!(ids, ["1", "3"], "{left:?}");
    }
}

#[test]
fn columns_that_are_no_keys_are_refused() {
    let dir = TempDir::new().unwrap();
    let list = crate::types::Type::List(Arc::new(field(3, "element", P::Int)));
    let s = schema(vec![
        field(1, "f", P::Double),
        field(2, "l", list),
        field(4, "s", structure(vec![field(5, "x", P::Int)])),
    ]);
    let refused = |ids: Vec<i32>| {
        let context = context(&dir, s.clone(), PartitionSpec::default(), &[]);
        DataWriter::of_equality_deletes(Arc::new(LocalStore), context, ids).err().unwrap().to_string()
    };
    assert!(refused(vec![]).contains("at least one"));
    assert!(refused(vec![1]).contains("of type double"));
    assert!(refused(vec![3]).contains("column: l.element"));
    assert!(refused(vec![4]).contains("outside of lists and maps"));
    assert!(refused(vec![77]).contains("not in the table"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Reading leaves out exactly the deleted rows of each file, in every form, format and granularity.
    #[test]
    fn what_is_deleted_is_not_read(
        deleted in proptest::collection::vec(proptest::collection::btree_set(0i64..60, 0..60), 1..4),
        vectors: bool,
        shared: bool,
        format in 0..3usize,
    ) {
        let dir = TempDir::new().unwrap();
        let form = if vectors { DeleteForm::Vectors } else { DeleteForm::Files };
        let format = ["parquet", "avro", "orc"][format];
        let shared = if shared { "partition" } else { "file" };
        let mut w = writer(&dir, form, &[(GRANULARITY, shared), ("write.delete.format.default", format)]);
        let column: ArrayRef = Arc::new(Int32Array::from_iter_values(0..60));
        let paths: Vec<String> = deleted.iter().map(|_| write(&dir, &numbers(), vec![column.clone()])).collect();
        for (path, positions) in paths.iter().zip(&deleted) {
            let file = task(path, BoundPredicate::True).data_file;
            // Positions come in two parts, the later first.
            let (low, high): (Vec<i64>, Vec<i64>) = positions.iter().partition(|p| **p < 30);
            w.delete(&file, set(high)).unwrap();
            w.delete(&file, set(low)).unwrap();
        }
        let files = w.finish().unwrap();
        prop_assert!(vectors || files.iter().all(|f| f.format.as_str() == format && f.path.ends_with(format)));
        for (path, positions) in paths.iter().zip(&deleted) {
            let about = |f: &&DataFile| f.referenced_data_file.as_ref().is_none_or(|of| of == path);
            let own: Vec<DataFile> = files.iter().filter(about).cloned().collect();
            prop_assert!(!vectors || own.len() == usize::from(!positions.is_empty()));
            let left = rows(&read(&reading(&numbers()), &deleting(task(path, BoundPredicate::True), own)).unwrap());
            let expected: Vec<String> = (0..60).filter(|n| !positions.contains(n)).map(|n: i64| n.to_string()).collect();
            prop_assert_eq!(left, expected);
        }
        let all: BTreeSet<&String> = files.iter().map(|f| &f.path).collect();
        prop_assert!(!vectors || all.len() <= 1);
    }
}
