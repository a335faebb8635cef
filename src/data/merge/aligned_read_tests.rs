use std::collections::BTreeMap;

use arrow::array::{Int32Array, Int64Array, StringArray};
use tempfile::TempDir;

use super::*;
use crate::codec::bitmap::PositionSet;
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
