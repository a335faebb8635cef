//! Planned files as Arrow columns, straight from the decoded columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, Int32Builder, Int64Array, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::format::task::ScanTask;

/// The columns: `file_path`, `file_format`, `record_count`, `file_size_in_bytes`, `spec_id`, `partition` (as in paths:
/// `day=2023-01-01/bucket=3`), `sequence_number`, `start`, `length`, `delete_files` (their number), `residual` (text).
pub fn schema() -> SchemaRef {
    let dictionary = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let field = |name: &str, ty| Field::new(name, ty, false);
    Arc::new(Schema::new(vec![
        field("file_path", DataType::Utf8),
        field("file_format", dictionary()),
        field("record_count", DataType::Int64),
        field("file_size_in_bytes", DataType::Int64),
        field("spec_id", DataType::Int32),
        field("partition", dictionary()),
        Field::new("sequence_number", DataType::Int64, true),
        field("start", DataType::Int64),
        field("length", DataType::Int64),
        field("delete_files", DataType::UInt32),
        field("residual", dictionary()),
    ]))
}

/// As [`schema`], with `operation`, `change_ordinal` and `commit_snapshot_id`.
pub fn schema_of_changes() -> SchemaRef {
    let mut fields: Vec<_> = schema().fields().iter().cloned().collect();
    let own =
        [("operation", DataType::Utf8), ("change_ordinal", DataType::Int32), ("commit_snapshot_id", DataType::Int64)];
    fields.extend(own.map(|(name, ty)| Arc::new(Field::new(name, ty, false))));
    Arc::new(Schema::new(fields))
}

/// Tasks as Arrow, with [`schema_of_changes`] if they belong to a changelog.
///
/// # Errors
/// `CorruptTable` if the paths exceed 2 GiB.
pub fn encode_tasks(tasks: &[&ScanTask], of_changes: bool) -> Result<RecordBatch> {
    if tasks.iter().map(|t| t.data_file.path.len()).sum::<usize>() > i32::MAX as usize {
        return Err(Error::corrupt("the paths of the plan exceed 2 GiB"));
    }
    let longs = |value: &dyn Fn(&ScanTask) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(tasks.iter().map(|t| value(t))))
    };
    let mut out: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(tasks.iter().map(|t| &t.data_file.path))),
        texts(tasks, |t| t.data_file.format as usize, |t| t.data_file.format.as_str().to_owned())?,
        longs(&|t| t.data_file.record_count),
        longs(&|t| t.data_file.size_bytes),
        Arc::new(Int32Array::from_iter_values(tasks.iter().map(|t| t.data_file.partition.spec_id))),
        texts(tasks, |t| Arc::as_ptr(&t.data_file.partition) as usize, |t| t.data_file.partition.path())?,
        Arc::new(tasks.iter().map(|t| t.data_file.sequence_number).collect::<Int64Array>()),
        longs(&|t| t.start),
        longs(&|t| t.length),
        Arc::new(UInt32Array::from_iter_values(tasks.iter().map(|t| t.deletes.len() as u32))),
        texts(tasks, |t| Arc::as_ptr(&t.residual) as usize, |t| t.residual.to_string())?,
    ];
    let mut schema = schema();
    if of_changes {
        schema = schema_of_changes();
        let changes = || tasks.iter().map(|t| t.change.as_ref());
        out.push(Arc::new(changes().map(|c| c.map(|c| c.operation.as_str())).collect::<StringArray>()));
        out.push(Arc::new(changes().map(|c| c.map(|c| c.ordinal)).collect::<Int32Array>()));
        out.push(Arc::new(changes().map(|c| c.map(|c| c.commit_snapshot_id)).collect::<Int64Array>()));
    }
    RecordBatch::try_new(schema, out).map_err(|e| Error::internal("the plan can't become an Arrow batch").because(e))
}

/// A dictionary column. Tasks with the same `code` have the same text, which is computed once. Several codes may have
/// the same text.
fn texts(
    tasks: &[&ScanTask],
    code: impl Fn(&ScanTask) -> usize,
    text: impl Fn(&ScanTask) -> String,
) -> Result<ArrayRef> {
    let (mut of_code, mut of_text): (HashMap<usize, usize>, HashMap<String, usize>) = Default::default();
    let mut last: Option<(usize, usize)> = None;
    let mut codes = Vec::with_capacity(tasks.len());
    let mut values: Vec<String> = Vec::new();
    for task in tasks {
        let code = code(task);
        let place = match last {
            Some((known, place)) if known == code => place,
            _ => *of_code.entry(code).or_insert_with(|| {
                let text = text(task);
                *of_text.entry(text).or_insert_with_key(|text| {
                    values.push(text.clone());
                    values.len() - 1
                })
            }),
        };
        last = Some((code, place));
        codes.push(place);
    }
    let text = |place: usize| values.get(place).cloned().unwrap_or_default();
    coded(codes.iter().copied(), text, codes.iter().copied())
}

/// A dictionary column. `text` is called once for each distinct code.
fn coded(
    codes: impl Iterator<Item = usize>,
    text: impl Fn(usize) -> String,
    rows: impl Iterator<Item = usize>,
) -> Result<ArrayRef> {
    let mut keys = Int32Builder::new();
    let mut seen: Vec<Option<i32>> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    for (code, row) in codes.zip(rows) {
        if code >= seen.len() {
            seen.resize(code + 1, None);
        }
        let key = *seen[code].get_or_insert_with(|| {
            values.push(text(row));
            values.len() as i32 - 1
        });
        keys.append_value(key);
    }
    let array = DictionaryArray::<Int32Type>::try_new(keys.finish(), Arc::new(StringArray::from(values)));
    Ok(Arc::new(array.map_err(|e| Error::internal("the plan can't become a dictionary column").because(e))?))
}
