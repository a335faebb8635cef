//! Shared code of this folder's tests: files, tasks, filters, rows as text.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use tempfile::TempDir;

use super::arrow::schema::to_arrow;
use crate::codec::bitmap::PositionSet;
use crate::data::deletes::cache::DeleteCache;
use crate::data::read::task::read_task;
use crate::error::Result;
use crate::expr::{BoundLeaf, BoundPredicate, BoundTerm, Op};
use crate::format::task::{DataFile, DeleteRef, FileContent, FileFormat, Partition, ReadContext, ScanTask};
use crate::store::local::LocalStore;
use crate::store::{Location, Store};
use crate::types::{Field, PrimitiveType, Schema, Transform, Type, Value};

/// An optional column.
pub(super) fn field(id: i32, name: &str, ty: impl Into<Type>) -> Field {
    Field::new(id, name, false, ty)
}

/// A required column.
pub(super) fn required(id: i32, name: &str, ty: impl Into<Type>) -> Field {
    Field::new(id, name, true, ty)
}

pub(super) fn schema(fields: Vec<Field>) -> Schema {
    Schema::new(0, fields, vec![])
}

pub(super) fn structure(fields: Vec<Field>) -> Type {
    Type::Struct(fields.into())
}

pub(super) fn list(element: Field) -> Type {
    Type::List(Arc::new(element))
}

/// A Parquet file of these columns, written with the ids of `schema`.
pub(super) fn write(dir: &TempDir, schema: &Schema, columns: Vec<ArrayRef>) -> String {
    let batch = RecordBatch::try_new(to_arrow(schema).unwrap(), columns).unwrap();
    write_batch(dir, &batch, WriterProperties::default())
}

pub(super) fn write_batch(dir: &TempDir, batch: &RecordBatch, properties: WriterProperties) -> String {
    let path = dir.path().join(format!("{}.parquet", uuid::Uuid::new_v4()));
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    path.display().to_string()
}

/// A task for the whole file.
pub(super) fn task(path: &str, residual: BoundPredicate) -> ScanTask {
    let size = std::fs::metadata(path).map_or(0, |m| m.len() as i64);
    let data_file = DataFile {
        size_bytes: size,
        sequence_number: Some(1),
        file_sequence_number: Some(1),
        snapshot_id: Some(1),
        ..DataFile::new(
            FileContent::Data,
            path,
            FileFormat::Parquet,
            Arc::new(Partition { spec_id: 0, values: vec![] }),
        )
    };
    ScanTask {
        data_file: Arc::new(data_file),
        start: 0,
        length: size,
        deletes: vec![],
        residual: Arc::new(residual),
        change: None,
        merge: None,
    }
}

/// A delete file in the form that planning gives.
pub(super) fn delete(content: FileContent, format: FileFormat, path: &str) -> DataFile {
    let whole = task(path, BoundPredicate::True);
    DataFile { content, format, ..whole.data_file.as_ref().clone() }
}

/// A position delete file of these rows.
pub(super) fn position_deletes(dir: &TempDir, rows: &[(&str, i64)]) -> DataFile {
    let s = schema(vec![
        required(2_147_483_546, "file_path", PrimitiveType::String),
        required(2_147_483_545, "pos", PrimitiveType::Long),
    ]);
    let paths: StringArray = rows.iter().map(|(path, _)| Some(*path)).collect();
    let positions: Int64Array = rows.iter().map(|(_, pos)| Some(*pos)).collect();
    let path = write(dir, &s, vec![Arc::new(paths), Arc::new(positions)]);
    delete(FileContent::PositionDeletes, FileFormat::Parquet, &path)
}

/// A deletion vector of a data file, in a Puffin file with other bytes around it.
pub(super) fn deletion_vector(dir: &TempDir, data_file: &str, positions: &[i64]) -> DataFile {
    let mut set = PositionSet::default();
    set.extend(positions).unwrap();
    let blob = set.to_vector().unwrap();
    let path = dir.path().join(format!("{}.puffin", uuid::Uuid::new_v4())).display().to_string();
    std::fs::write(&path, [b"PFA1others", blob.as_slice(), b"more"].concat()).unwrap();
    DataFile {
        record_count: set.len() as i64,
        referenced_data_file: Some(data_file.to_owned()),
        content_offset: Some(10),
        content_size_bytes: Some(blob.len() as i64),
        ..delete(FileContent::PositionDeletes, FileFormat::Puffin, &path)
    }
}

/// An equality delete file of these columns, keyed on `ids`.
pub(super) fn equality_deletes(dir: &TempDir, schema: &Schema, columns: Vec<ArrayRef>, ids: &[i32]) -> DataFile {
    let record_count = columns.first().map_or(0, |c| c.len() as i64);
    let path = write(dir, schema, columns);
    let file = delete(FileContent::EqualityDeletes, FileFormat::Parquet, &path);
    DataFile { equality_ids: Some(ids.to_vec()), record_count, ..file }
}

/// The task with these deletes.
pub(super) fn deleting(mut task: ScanTask, deletes: Vec<DataFile>) -> ScanTask {
    task.deletes = deletes.into_iter().map(|file| DeleteRef { file: Arc::new(file) }).collect();
    task
}

/// Reads all columns of `schema`.
pub(super) fn context(schema: &Schema) -> Arc<ReadContext> {
    projecting(schema, schema)
}

pub(super) fn projecting(schema: &Schema, projection: &Schema) -> Arc<ReadContext> {
    Arc::new(ReadContext {
        schema: Arc::new(schema.clone()),
        projection: Arc::new(projection.clone()),
        dropped: [].into(),
        change_filter: Arc::new(BoundPredicate::True),
        snapshot_id: None,
        location: Location::default(),
        storage_options: Default::default(),
        name_mapping: None,
        keep_deleted: false,
        batch_rows: 7,
        buckets: None,
    })
}

pub(super) fn read(context: &Arc<ReadContext>, task: &ScanTask) -> Result<Vec<RecordBatch>> {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let batches = read_task(&store, context, task, &DeleteCache::default())?.collect::<Result<Vec<_>>>()?;
    let schema = to_arrow(&context.projection)?;
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
        assert!(batch.num_rows() > 0);
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
        }
    }
    Ok(batches)
}

/// Rows as text, with a bar between columns.
pub(super) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("-");
    let mut out = Vec::new();
    for batch in batches {
        // Arrow prints only zones that are offsets if it has no time zone database.
        let printable = |c: &ArrayRef| match c.data_type() {
            DataType::Timestamp(unit, Some(_)) => cast(c, &DataType::Timestamp(*unit, Some("+00:00".into()))).unwrap(),
            _ => c.clone(),
        };
        let arrays: Vec<ArrayRef> = batch.columns().iter().map(printable).collect();
        let columns: Vec<_> = arrays.iter().map(|c| ArrayFormatter::try_new(c, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            out.push(columns.iter().map(|c| c.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
    }
    out
}

/// The rows of a whole file that `filter` keeps, in the form of `schema`.
pub(super) fn read_rows(schema: &Schema, path: &str, filter: BoundPredicate) -> Vec<String> {
    rows(&read(&context(schema), &task(path, filter)).unwrap())
}

/// A test of a column of `schema`.
pub(super) fn leaf(schema: &Schema, id: i32, op: Op, values: Vec<Value>) -> BoundPredicate {
    term(schema, id, Transform::Identity, op, values)
}

pub(super) fn term(schema: &Schema, id: i32, transform: Transform, op: Op, values: Vec<Value>) -> BoundPredicate {
    let path = schema.path(id).unwrap();
    let source = path.last().unwrap().ty.clone();
    let ty = match (&transform, source.as_primitive()) {
        (Transform::Identity, _) | (_, None) => source.clone(),
        (transform, Some(p)) => Type::Primitive(transform.result_type(p)),
    };
    BoundPredicate::Leaf(BoundLeaf {
        term: BoundTerm {
            field_id: id,
            path: path.iter().map(|f| f.name.clone()).collect(),
            source,
            transform,
            ty,
            required: path.iter().all(|f| f.required),
        },
        op,
        values,
    })
}
