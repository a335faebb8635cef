//! The rows of a merge's data.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{filter_record_batch, interleave};
use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};

use super::key_columns::KeyColumns;
use crate::data::arrow::schema::from_arrow;
use crate::data::read::filter::matches;
use crate::data::write::conform::Conformer;
use crate::error::{Error, Result};
use crate::expr::{Predicate, bind};
use crate::parallel::{check_cancelled, in_steps};
use crate::rows::stream::RowReader;
use crate::types::select::column_hint;
use crate::types::suggest::suggestion_hint;
use crate::types::{Field, Schema};

/// The largest number of rows of a batch.
const BATCH_ROWS: usize = 1 << 17;

/// Columns of the table, each with its column of the data: `(table's, data's)`.
pub(crate) type Mapping = Vec<(Field, String)>;

/// All rows of the data, unchanged. Cheap to clone.
#[derive(Clone)]
pub(crate) struct SourceRows {
    schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl SourceRows {
    /// Reads the stream to its end.
    ///
    /// # Errors
    /// `InvalidInput` if the stream fails; a cancellation.
    pub(crate) fn read(rows: RowReader) -> Result<SourceRows> {
        let schema = rows.schema();
        let mut batches = Vec::new();
        for batch in rows {
            check_cancelled()?;
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            if batch.num_rows() > 0 {
                batches.extend(in_parts(&batch).collect::<Result<Vec<_>>>()?);
            }
        }
        Ok(SourceRows { schema, batches })
    }

    /// One batch.
    pub(crate) fn of(batch: RecordBatch) -> SourceRows {
        let batches = if batch.num_rows() > 0 { vec![batch.clone()] } else { Vec::new() };
        SourceRows { schema: batch.schema(), batches }
    }

    /// These batches, which have this schema.
    pub(crate) fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> SourceRows {
        SourceRows { schema, batches }
    }

    /// The names of its columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|f| f.name().as_str())
    }

    /// Columns in the types that they have in the table.
    ///
    /// # Errors
    /// As [`Conformer::conform`].
    pub(crate) fn conformed(&self, columns: &Mapping) -> Result<Vec<RecordBatch>> {
        let fields: Vec<Field> = columns.iter().map(|(field, _)| field.clone()).collect();
        self.conformed_by(Arc::new(Schema::new(0, fields, Vec::new())), |batch| renamed(batch, columns))
    }

    /// The keys of all rows, in the types that they have in the table.
    ///
    /// # Errors
    /// As [`Conformer::conform`] and [`KeyColumns::of_data`].
    pub(crate) fn keys(&self, keys: &KeyColumns) -> Result<Vec<RecordBatch>> {
        self.conformed_by(keys.flat().clone(), |batch| keys.of_data(batch))
    }

    fn conformed_by(
        &self,
        schema: Arc<Schema>,
        of: impl Fn(&RecordBatch) -> Result<RecordBatch>,
    ) -> Result<Vec<RecordBatch>> {
        let mut conformer = Conformer::new(schema)?;
        let empty = [RecordBatch::new_empty(self.schema.clone())];
        let mut first = 0;
        let mut out = Vec::with_capacity(self.batches.len());
        // Even without rows, the columns are checked.
        for batch in if self.batches.is_empty() { &empty[..] } else { &self.batches } {
            check_cancelled()?;
            out.push(conformer.conform(&of(batch)?, first)?);
            first += batch.num_rows() as u64;
        }
        Ok(out)
    }

    /// The rows for which a filter on the data's columns is true.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the columns; `Unsupported` for columns that a table can't have.
    pub(crate) fn matches(&self, filter: &Predicate) -> Result<Vec<BooleanBuffer>> {
        let all = |n: usize| BooleanBuffer::new_set(n);
        if *filter == Predicate::True {
            return Ok(self.batches.iter().map(|b| all(b.num_rows())).collect());
        }
        let schema = Arc::new(from_arrow(&self.schema)?);
        let bound = bind(filter, &schema, true)?;
        let mut conformer = Conformer::new(schema.clone())?;
        let masks = self.batches.iter().map(|batch| {
            check_cancelled()?;
            let batch = conformer.conform(batch, 0)?;
            let columns: HashMap<_, _> = schema.fields.iter().map(|f| f.id).zip(batch.columns()).collect();
            if let Some(id) = bound.field_ids().iter().find(|id| !columns.contains_key(*id)) {
                let name = schema.name_of(*id).unwrap_or_default();
                return Err(
                    Error::unsupported("a condition on the data can't use fields of structs").with("column", name)
                );
            }
            matches(&bound, batch.num_rows(), &|id| columns.get(&id).map(|c| (*c).clone()))
        });
        masks.collect()
    }
}

/// The rows of a batch in parts of at most [`BATCH_ROWS`] rows, because the work on a part can't be stopped. A batch
/// without rows is one part. Each part is an error if the call was cancelled.
pub(crate) fn in_parts(batch: &RecordBatch) -> impl Iterator<Item = Result<RecordBatch>> {
    let count = batch.num_rows();
    in_steps(count.max(1), BATCH_ROWS).map(move |range| {
        let Range { start, end } = range?;
        Ok(batch.slice(start, end.min(count) - start))
    })
}

/// Columns of the data under the names that they have in the table.
///
/// # Errors
/// `InvalidInput` if the data lacks the column, or has several of that name.
pub(crate) fn renamed(batch: &RecordBatch, columns: &Mapping) -> Result<RecordBatch> {
    let (mut fields, mut arrays): (Vec<ArrowField>, Vec<ArrayRef>) = Default::default();
    let schema = batch.schema();
    for (field, name) in columns {
        let mut named = schema.fields().iter().enumerate().filter(|(_, f)| f.name() == name);
        let (at, twice) = (named.next().map(|(at, _)| at), named.next().is_some());
        let at = at.ok_or_else(|| {
            let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
            let shown: Vec<&str> = names.iter().take(50).map(String::as_str).collect();
            let error = Error::invalid("the data has no such column").with("column", name);
            error.hint(suggestion_hint(&names, &shown, name))
        })?;
        if twice {
            return Err(Error::invalid("the data has two columns with the same name").with("column", name));
        }
        fields.push(schema.field(at).clone().with_name(&field.name));
        arrays.push(batch.column(at).clone());
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options)
        .map_err(|e| Error::invalid("the columns of the data don't fit together").because(e))
}

/// Rows `kept` of a batch.
///
/// # Errors
/// `Internal` for a mask of another length.
pub(crate) fn rows_of(batch: &RecordBatch, kept: BooleanBuffer) -> Result<RecordBatch> {
    filter_record_batch(batch, &BooleanArray::new(kept, None))
        .map_err(|e| Error::internal("rows cannot be filtered").because(e))
}

/// Rows of the data by their number.
pub(crate) struct Numbered {
    pub batches: Vec<RecordBatch>,
    /// The number of each batch's first row.
    starts: Vec<u32>,
}

impl Numbered {
    pub(crate) fn new(batches: Vec<RecordBatch>) -> Numbered {
        let mut next = 0u32;
        let mut starts = Vec::with_capacity(batches.len());
        for batch in &batches {
            starts.push(next);
            next = next.saturating_add(batch.num_rows() as u32);
        }
        Numbered { batches, starts }
    }

    /// The place of a row.
    pub(crate) fn place(&self, row: u32) -> (usize, usize) {
        let batch = self.starts.partition_point(|start| *start <= row).saturating_sub(1);
        let start = self.starts.get(batch).copied().unwrap_or_default();
        (batch, (row - start) as usize)
    }

    /// A column of some rows.
    ///
    /// # Errors
    /// `Unsupported` for more bytes than an array can hold.
    pub(crate) fn take(&self, column: usize, rows: &[(usize, usize)]) -> Result<ArrayRef> {
        let arrays: Vec<_> = self.batches.iter().map(|b| b.column(column).as_ref()).collect();
        interleave(&arrays, rows).map_err(|e| Error::unsupported("rows can't be put together").because(e))
    }
}

/// The error for a column that the table lacks.
pub(crate) fn no_column(schema: &Schema, name: &str) -> Error {
    let error = Error::invalid("the table has no such column").with("column", name);
    match schema.find(&name.split('.').collect::<Vec<_>>(), true) {
        None => error.hint(column_hint(schema, name)),
        Some(_) => Error::unsupported("a column in a struct, list or map can't be named alone here")
            .with("column", name)
            .hint("Give columns at the top level of the table"),
    }
}
