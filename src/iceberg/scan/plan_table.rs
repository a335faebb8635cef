//! Planned batches as Arrow columns. Small ones are joined, because each record batch has a dozen arrays.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, Int64Builder, StringArray, StringBuilder, UInt32Array,
};
use arrow::datatypes::{Int32Type, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::iceberg::plan::planned::{BatchChange, PlannedBatch};
use crate::rows::plan_table::{schema, schema_of_changes};

/// Planned batches are joined up to this number of rows.
const JOINED_ROWS: usize = 4096;

/// The most bytes of text that a column can have.
const MOST_TEXT: usize = i32::MAX as usize;

/// Encodes planned batches, in order. A record batch has the rows of one or more planned batches.
#[derive(Debug)]
pub(crate) struct PlanEncoder {
    schema: SchemaRef,
    columns: PlanColumns,
}

/// The rows that are not yet in a record batch.
#[derive(Debug, Default)]
struct PlanColumns {
    paths: StringBuilder,
    path_bytes: usize,
    formats: TextColumn,
    record_counts: Vec<i64>,
    sizes: Vec<i64>,
    spec_ids: Vec<i32>,
    partitions: TextColumn,
    sequence_numbers: Int64Builder,
    deletes: Vec<u32>,
    residuals: TextColumn,
    operations: Vec<&'static str>,
    ordinals: Vec<i32>,
    commits: Vec<i64>,
}

impl PlanEncoder {
    /// Creates an encoder for the plan of a version, or of a changelog.
    pub(crate) fn new(of_changes: bool) -> PlanEncoder {
        let schema = if of_changes { schema_of_changes() } else { schema() };
        PlanEncoder { schema, columns: PlanColumns::default() }
    }

    /// Adds the rows of a batch. Returns the rows before it, if the batch is not joined with them.
    ///
    /// # Errors
    /// `CorruptTable` if a path is not UTF-8 or the paths of one batch exceed 2 GiB.
    pub(crate) fn push(&mut self, batch: &PlannedBatch) -> Result<Option<RecordBatch>> {
        let bytes = path_bytes(batch);
        if bytes > MOST_TEXT {
            return Err(Error::corrupt("the paths of one manifest exceed 2 GiB"));
        }
        let before = &self.columns;
        let joined = before.rows() + batch.rows.len() <= JOINED_ROWS && before.path_bytes + bytes <= MOST_TEXT;
        let full = if joined { None } else { self.finish()? };
        self.columns.push(batch)?;
        Ok(full)
    }

    /// The last rows, if there are any.
    ///
    /// # Errors
    /// `Internal` if the columns do not fit together.
    pub(crate) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if self.columns.rows() == 0 { Ok(None) } else { self.take().map(Some) }
    }

    fn take(&mut self) -> Result<RecordBatch> {
        let mut columns = std::mem::take(&mut self.columns).finish()?;
        columns.truncate(self.schema.fields().len());
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| Error::internal("the plan is not an Arrow batch").because(e))
    }
}

/// One batch of planned files as Arrow. Its schema is [`schema_of_changes`] in a changelog.
///
/// # Errors
/// As [`PlanEncoder::push`].
pub fn encode_batch(batch: &PlannedBatch) -> Result<RecordBatch> {
    let mut encoder = PlanEncoder::new(batch.change.is_some());
    encoder.push(batch)?;
    encoder.take()
}

/// The bytes of the kept files' paths.
fn path_bytes(batch: &PlannedBatch) -> usize {
    let bytes = batch.rows.iter().filter_map(|r| batch.columns.path.get(*r as usize)).map(<[u8]>::len);
    bytes.fold(0, usize::saturating_add)
}

impl PlanColumns {
    fn rows(&self) -> usize {
        self.sizes.len()
    }

    fn push(&mut self, batch: &PlannedBatch) -> Result<()> {
        let columns = &batch.columns;
        let rows = || batch.rows.iter().map(|r| *r as usize);
        if self.rows() == 0 {
            self.paths = StringBuilder::with_capacity(batch.rows.len(), path_bytes(batch));
        }
        for r in rows() {
            let path = columns.path.get(r).and_then(|p| std::str::from_utf8(p).ok());
            let path = path.ok_or_else(|| Error::corrupt("a data file's path is missing or not UTF-8"))?;
            self.path_bytes += path.len();
            self.paths.append_value(path);
            self.spec_ids.push(batch.group(r)?.partition.spec_id);
            self.sequence_numbers.append_option(columns.sequence_number[r]);
        }
        self.record_counts.extend(rows().map(|r| columns.record_count[r]));
        self.sizes.extend(rows().map(|r| columns.size_bytes[r]));
        self.deletes.extend((0..batch.rows.len()).map(|k| batch.deletes.count(k) as u32));
        let tuple = |r: usize| columns.partition[r] as usize;
        let partition = |r: usize| batch.group(r).map(|g| g.partition.path()).unwrap_or_default();
        let residual = |r: usize| batch.residual(r).map(|residual| residual.to_string()).unwrap_or_default();
        self.formats.push(rows(), |r| columns.format[r] as usize, |r| columns.format[r].as_str().to_owned());
        self.partitions.push(rows(), tuple, partition);
        self.residuals.push(rows(), tuple, residual);
        if let Some(change) = &batch.change {
            self.push_change(change, batch.rows.len());
        }
        Ok(())
    }

    fn push_change(&mut self, change: &BatchChange, rows: usize) {
        let end = self.operations.len() + rows;
        self.operations.resize(end, change.operation.as_str());
        self.ordinals.resize(end, change.ordinal);
        self.commits.resize(end, change.commit_snapshot_id);
    }

    /// The columns of [`schema_of_changes`]. The last ones have no rows if there are no changes.
    fn finish(mut self) -> Result<Vec<ArrayRef>> {
        let rows = self.rows();
        Ok(vec![
            Arc::new(self.paths.finish()),
            self.formats.finish()?,
            Arc::new(Int64Array::from(self.record_counts)),
            Arc::new(Int64Array::from(self.sizes.clone())),
            Arc::new(Int32Array::from(self.spec_ids)),
            self.partitions.finish()?,
            Arc::new(self.sequence_numbers.finish()),
            Arc::new(Int64Array::from_value(0, rows)),
            Arc::new(Int64Array::from(self.sizes)),
            Arc::new(UInt32Array::from(self.deletes)),
            self.residuals.finish()?,
            Arc::new(StringArray::from(self.operations)),
            Arc::new(Int32Array::from(self.ordinals)),
            Arc::new(Int64Array::from(self.commits)),
        ])
    }
}

/// A dictionary column. Each text is in the dictionary once.
#[derive(Debug, Default)]
struct TextColumn {
    keys: Vec<i32>,
    of_text: HashMap<String, i32>,
}

impl TextColumn {
    /// Adds rows of one batch. Rows with the same `code` have the same text, which is computed for the first of them.
    fn push(
        &mut self,
        rows: impl Iterator<Item = usize>,
        code: impl Fn(usize) -> usize,
        text: impl Fn(usize) -> String,
    ) {
        let mut of_code: Vec<Option<i32>> = Vec::new();
        for row in rows {
            let code = code(row);
            if code >= of_code.len() {
                of_code.resize(code + 1, None);
            }
            let next = self.of_text.len() as i32;
            let key = *of_code[code].get_or_insert_with(|| *self.of_text.entry(text(row)).or_insert(next));
            self.keys.push(key);
        }
    }

    fn finish(self) -> Result<ArrayRef> {
        let mut values = vec![""; self.of_text.len()];
        for (text, key) in &self.of_text {
            if let Some(value) = values.get_mut(*key as usize) {
                *value = text;
            }
        }
        let array =
            DictionaryArray::<Int32Type>::try_new(Int32Array::from(self.keys), Arc::new(StringArray::from(values)));
        Ok(Arc::new(array.map_err(|e| Error::internal("the plan can't become a dictionary column").because(e))?))
    }
}

#[cfg(test)]
#[path = "plan_table_tests.rs"]
mod tests;
