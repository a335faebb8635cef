use std::collections::BTreeMap;

use arrow::array::{Int32Array, Int64Array, StringArray};
use tempfile::TempDir;

use super::*;
use crate::codec::bitmap::PositionSet;
use crate::codec::blob_file::{BlobRecord, descriptor, index_and_tail};
use crate::data::testing::{context, field, leaf, read, rows, schema, task, write};
use crate::error::ErrorKind;
use crate::expr::Op;
use crate::format::task::{BucketFile, DataFile, DeleteRef, FileContent, FileFormat};
use crate::types::metadata_columns::{LAST_UPDATED, POS, ROW_ID, metadata_column};
use crate::types::{PrimitiveType as P, Schema, Value};

fn table() -> Schema {
    schema(vec![field(0, "id", P::Int), field(1, "name", P::String), field(2, "v", P::Long), field(3, "more", P::Int)])
}

fn of_table(schema: &Schema) -> Arc<ReadContext> {
    let schemas = BTreeMap::from([(0, Arc::new(table()))]);
    let buckets = BucketContext { schemas, ..BucketContext::default() };
    Arc::new(ReadContext { buckets: Some(Arc::new(buckets)), ..context(schema).as_ref().clone() })
}

/// A file of some columns of the rows from the hundredth on.
fn part(dir: &TempDir, names: &[&str], columns: Vec<ArrayRef>, sequence: i64) -> ScanTask {
    let fields: Vec<Field> = table().fields.iter().filter(|f| names.contains(&f.name.as_str())).cloned().collect();
    let count = columns[0].len() as i64;
    let path = write(dir, &schema(fields), columns);
    let plain = task(&path, BoundPredicate::True);
    let bucket_file = BucketFile {
        bucket: 0,
        total_buckets: -1,
        level: 0,
        schema_id: 0,
        min_key: vec![],
        max_key: vec![],
        min_sequence_number: sequence,
        max_sequence_number: sequence,
        delete_row_count: None,
        write_columns: Some(names.iter().map(|n| (*n).to_owned()).collect()),
    };
    let data_file = DataFile {
        record_count: count,
        sequence_number: None,
        first_row_id: Some(100),
        bucket_file: Some(Box::new(bucket_file)),
        ..plain.data_file.as_ref().clone()
    };
    ScanTask { data_file: Arc::new(data_file), ..plain }
}

fn numbers(range: std::ops::Range<i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(range))
}

fn section(parts: Vec<ScanTask>, residual: BoundPredicate) -> ScanTask {
    let first = parts[0].clone();
    let runs = parts.into_iter().map(|part| vec![part]).collect();
    let merge = Some(Arc::new(MergeSection { runs, before: None }));
    ScanTask { merge, residual: Arc::new(residual), ..first }
}

#[test]
fn columns_come_from_the_newest_file_that_has_them() {
    let dir = TempDir::new().unwrap();
    let names = Arc::new(StringArray::from_iter_values((0..20).map(|i| format!("n{i}"))));
    let longs = |factor: i64| Arc::new(Int64Array::from_iter_values((0..20).map(|i| i * factor))) as ArrayRef;
    let old = part(&dir, &["id", "name", "v"], vec![numbers(0..20), names, longs(1)], 1);
    let new = part(&dir, &["v"], vec![longs(10)], 2);
    let table = table();
    let context = of_table(&table);
    for files in [vec![old.clone(), new.clone()], vec![new.clone(), old.clone()]] {
        let found = rows(&read(&context, &section(files, BoundPredicate::True)).unwrap());
        assert_eq!(found.len(), 20);
        assert_eq!((found[0].as_str(), found[19].as_str()), ("0|n0|0|-", "19|n19|190|-"));
    }
    let filter = leaf(&table, 2, Op::Eq, vec![Value::Long(50)]);
    let only =
        schema(vec![metadata_column(ROW_ID).unwrap(), metadata_column(LAST_UPDATED).unwrap(), field(0, "id", P::Int)]);
    let context = ReadContext { projection: Arc::new(only), ..context.as_ref().clone() };
    let found = read(&Arc::new(context), &section(vec![old.clone(), new], filter)).unwrap();
    assert_eq!(rows(&found), ["105|2|5"]);
    let short = part(&dir, &["more"], vec![numbers(0..19)], 3);
    let e = read(&of_table(&table), &section(vec![old, short], BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
}

/// The file with a deletion vector, whose bytes are in an index file after its first byte.
fn without(task: ScanTask, index: &str, vector: (usize, usize, i64)) -> ScanTask {
    let (size, length, deleted) = vector;
    let file = DataFile {
        size_bytes: size as i64,
        record_count: deleted,
        content_offset: Some(1),
        content_size_bytes: Some(length as i64),
        referenced_data_file: Some(task.data_file.path.clone()),
        ..DataFile::new(
            FileContent::PositionDeletes,
            index.to_owned(),
            FileFormat::Puffin,
            task.data_file.partition.clone(),
        )
    };
    ScanTask { deletes: vec![DeleteRef { file: Arc::new(file) }], ..task }
}

#[test]
fn deleted_rows_are_left_out_of_all_files() {
    let dir = TempDir::new().unwrap();
    let mut deleted = PositionSet::default();
    deleted.extend(&[0, 7, 19]).unwrap();
    let (vector, length) = deleted.to_narrow_vector().unwrap();
    let index = dir.path().join("index-1").to_str().unwrap().to_owned();
    std::fs::write(&index, [&[1_u8][..], &vector[..]].concat()).unwrap();
    let vector = (vector.len() + 1, length, 3);
    let longs = |factor: i64| Arc::new(Int64Array::from_iter_values((0..20).map(|i| i * factor))) as ArrayRef;
    let plain = part(&dir, &["id", "v"], vec![numbers(0..20), longs(1)], 1);
    let old = without(plain.clone(), &index, vector);
    let new = without(part(&dir, &["v"], vec![longs(10)], 2), &index, vector);
    let table = table();
    let context = of_table(&table);
    let found = rows(&read(&context, &section(vec![old.clone(), new.clone()], BoundPredicate::True)).unwrap());
    let wanted: Vec<String> =
        (0..20).filter(|i| ![0, 7, 19].contains(i)).map(|i| format!("{i}|-|{}|-", i * 10)).collect();
    assert_eq!(found, wanted);
    // Ids and positions are those of the files.
    let only = schema(vec![metadata_column(ROW_ID).unwrap(), field(2, "v", P::Long), metadata_column(POS).unwrap()]);
    let context = Arc::new(ReadContext { projection: Arc::new(only), ..context.as_ref().clone() });
    let filter = leaf(&table, 0, Op::In, vec![Value::Int(7), Value::Int(8)]);
    let found = read(&context, &section(vec![old, new.clone()], filter)).unwrap();
    assert_eq!(rows(&found), ["108|80|8"]);
    let e = read(&context, &section(vec![plain, new], BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Internal);
}

fn with_blob() -> Schema {
    let mut fields = table().fields.to_vec();
    fields.push(field(4, "pic", P::Binary));
    schema(fields)
}

fn of_blobs(schema: &Schema, options: &[(&str, &str)]) -> Arc<ReadContext> {
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let schemas = BTreeMap::from([(0, Arc::new(with_blob()))]);
    let buckets = BucketContext { schemas, options, ..BucketContext::default() };
    Arc::new(ReadContext { buckets: Some(Arc::new(buckets)), batch_rows: 4, ..context(schema).as_ref().clone() })
}

const PLACEHOLDER: &str = "placeholder";

/// A file of blobs of the rows from `first` on.
fn blobs(dir: &TempDir, like: &ScanTask, first: i64, values: &[Option<&str>], sequence: i64) -> ScanTask {
    let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
    for value in values {
        if *value == Some(PLACEHOLDER) {
            lengths.push(-2);
            continue;
        }
        let value = value.map(str::as_bytes);
        let record = BlobRecord::of(value);
        bytes.extend([&record.before[..], value.unwrap_or_default(), &record.after[..]].concat());
        lengths.push(record.length);
    }
    bytes.extend(index_and_tail(&lengths).unwrap());
    let path = dir.path().join(format!("{first}-{sequence}.blob")).to_str().unwrap().to_owned();
    std::fs::write(&path, &bytes).unwrap();
    let bucket_file = BucketFile {
        max_sequence_number: sequence,
        write_columns: Some(vec!["pic".to_owned()]),
        ..like.data_file.bucket_file.as_deref().unwrap().clone()
    };
    let data_file = DataFile {
        record_count: values.len() as i64,
        size_bytes: bytes.len() as i64,
        first_row_id: Some(first),
        bucket_file: Some(Box::new(bucket_file)),
        ..DataFile::new(FileContent::Data, path, FileFormat::Blob, like.data_file.partition.clone())
    };
    ScanTask { data_file: Arc::new(data_file), ..like.clone() }
}

#[test]
fn blobs_come_from_the_newest_file_that_is_no_placeholder() {
    let dir = TempDir::new().unwrap();
    let plain = part(&dir, &["id"], vec![numbers(0..6)], 1);
    let files = |parts: Vec<ScanTask>| section([vec![plain.clone()], parts].concat(), BoundPredicate::True);
    let same = PLACEHOLDER;
    let old = [
        blobs(&dir, &plain, 100, &[Some("a"), None, Some("")], 1),
        blobs(&dir, &plain, 103, &[Some("d"), Some("e"), Some(same)], 1),
    ];
    let newer = blobs(&dir, &plain, 101, &[Some("B"), Some(same), None], 2);
    let only = schema(vec![field(4, "pic", P::Binary), field(0, "id", P::Int)]);
    let table = with_blob();
    let context = |options: &[(&str, &str)]| {
        let context = of_blobs(&table, options);
        Arc::new(ReadContext { projection: Arc::new(only.clone()), ..context.as_ref().clone() })
    };
    let found = read(&context(&[]), &files([old.to_vec(), vec![newer.clone()]].concat())).unwrap();
    assert_eq!(rows(&found), ["61|0", "42|1", "|2", "-|3", "65|4", "-|5"]);
    let filter = leaf(&table, 0, Op::In, vec![Value::Int(1), Value::Int(4)]);
    let some = ScanTask { residual: Arc::new(filter), ..files([old.to_vec(), vec![newer]].concat()) };
    assert_eq!(rows(&read(&context(&[]), &some).unwrap()), ["42|1", "65|4"]);
    // The value of 'd' begins after the magic number.
    let described = read(&context(&[("blob-as-descriptor", "true")]), &files(old.to_vec())).unwrap();
    let hex: String = descriptor(&old[1].data_file.path, &(4..5)).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(rows(&described)[3], format!("{hex}|3"));
}

#[test]
fn files_of_blobs_that_contradict_the_table_are_refused() {
    let dir = TempDir::new().unwrap();
    let plain = part(&dir, &["id"], vec![numbers(0..3)], 1);
    let table = with_blob();
    let context = of_blobs(&table, &[]);
    let three = [Some("a"), Some("b"), Some("c")];
    let cases = [
        ("the rows are not all there", vec![blobs(&dir, &plain, 100, &three[..2], 1)]),
        ("rows twice", vec![blobs(&dir, &plain, 100, &three, 2), blobs(&dir, &plain, 102, &three[..1], 2)]),
        ("before the first row", vec![blobs(&dir, &plain, 99, &three, 3)]),
    ];
    for (what, files) in cases {
        let all = section([vec![plain.clone()], files].concat(), BoundPredicate::True);
        assert_eq!(read(&context, &all).unwrap_err().kind(), ErrorKind::CorruptTable, "{what}");
    }
    let short = blobs(&dir, &plain, 100, &three, 4);
    let data_file = DataFile { record_count: 4, ..short.data_file.as_ref().clone() };
    let wrong = ScanTask { data_file: Arc::new(data_file), ..short.clone() };
    let e = read(&context, &section(vec![plain.clone(), wrong], BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    let mut bytes = std::fs::read(&short.data_file.path).unwrap();
    bytes[4] ^= 1;
    std::fs::write(&short.data_file.path, bytes).unwrap();
    let e = read(&context, &section(vec![plain.clone(), short.clone()], BoundPredicate::True)).unwrap_err();
    assert!(e.to_string().contains("checksum"), "{e}");
    let e = read(&context, &section(vec![short], BoundPredicate::True)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
}

#[test]
fn deleted_rows_have_no_blobs() {
    let dir = TempDir::new().unwrap();
    let mut deleted = PositionSet::default();
    deleted.extend(&[0, 2, 3]).unwrap();
    let (vector, length) = deleted.to_narrow_vector().unwrap();
    let index = dir.path().join("index-1").to_str().unwrap().to_owned();
    std::fs::write(&index, [&[1_u8][..], &vector[..]].concat()).unwrap();
    let vector = (vector.len() + 1, length, 3);
    let plain = without(part(&dir, &["id"], vec![numbers(0..6)], 1), &index, vector);
    let values = [Some("a"), Some("b"), Some("c"), Some("d"), None, Some("f")];
    let pieces = [blobs(&dir, &plain, 100, &values[..2], 1), blobs(&dir, &plain, 102, &values[2..], 1)];
    let only = schema(vec![field(0, "id", P::Int), field(4, "pic", P::Binary)]);
    let context = of_blobs(&with_blob(), &[]);
    let context = Arc::new(ReadContext { projection: Arc::new(only), ..context.as_ref().clone() });
    let found = read(&context, &section([vec![plain], pieces.to_vec()].concat(), BoundPredicate::True)).unwrap();
    assert_eq!(rows(&found), ["1|62", "4|-", "5|66"]);
}
