//! The clauses of a merge: the effect of a source's row on the row that it matches, and the rows that are inserted.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp::not_distinct;
use arrow::row::{RowConverter, SortField};

use super::source::{Mapping, Numbered, SourceRows, rows_of};
use crate::error::{Error, Result};
use crate::format::row_change::{Columns, Merge};
use crate::rows::row_changes::patch::{NO_SOURCE, Patch, Patched};
use crate::rows::row_changes::source::no_column;
use crate::types::{Field, Schema};

/// The effects of rows of the source on rows that they match.
pub(crate) struct Clauses {
    schema: Arc<Schema>,
    /// The source's rows by their number.
    rows: Numbered,
    pub updates: Option<(Mapping, Numbered)>,
    /// Rows of the source that delete the rows that they match.
    pub deletes: Option<Vec<BooleanBuffer>>,
}

impl Clauses {
    /// The clauses for the rows of a source.
    ///
    /// # Errors
    /// `InvalidInput` if columns and filters do not fit the table and the data.
    pub(crate) fn new(schema: &Arc<Schema>, merge: &Merge, source: &SourceRows) -> Result<Clauses> {
        let updates = match &merge.update {
            None => None,
            Some(columns) => {
                let columns = mapping(schema, source, columns)?;
                let batches = source.conformed(&columns)?;
                Some((columns, Numbered::new(batches)))
            }
        };
        let deletes = merge.delete.as_ref().map(|filter| source.matches(filter)).transpose()?;
        Ok(Clauses { schema: schema.clone(), rows: Numbered::new(source.batches.clone()), updates, deletes })
    }

    /// Whether a row of the source changes the row that it matches.
    pub(crate) fn act_on(&self, row: u32) -> bool {
        self.updates.is_some() || self.deletes(row)
    }

    /// Whether a row of the source deletes the row that it matches.
    pub(crate) fn deletes(&self, row: u32) -> bool {
        let (batch, at) = self.rows.place(row);
        self.deletes.as_ref().and_then(|all| all.get(batch)).is_some_and(|mask| mask.value(at))
    }

    /// Updates some rows of a table. Returns which of them get other values, and these rows with the new values.
    /// `sources` has the row of the data for each row. `None` if the merge updates nothing.
    ///
    /// # Errors
    /// `Internal` for rows of another table.
    pub(crate) fn replace(
        &self,
        rows: &RecordBatch,
        to_update: &BooleanBuffer,
        sources: &[u32],
    ) -> Result<Option<(BooleanBuffer, RecordBatch)>> {
        let Some((columns, numbered)) = &self.updates else { return Ok(None) };
        let old = rows_of(rows, to_update.clone())?;
        let source_of = |row: usize| sources.get(row).map(|source| numbered.place(*source));
        let places: Vec<(usize, usize)> = to_update.set_indices().filter_map(source_of).collect();
        let (new, equal) = updated(&self.schema, &old, (columns, numbered), &places)?;
        let mut same = equal.iter();
        let replaced = BooleanBuffer::collect_bool(rows.num_rows(), |row| {
            to_update.value(row) && !same.next().unwrap_or_default()
        });
        Ok(Some((replaced, rows_of(&new, !&equal)?)))
    }
}

/// Refuses rows that can't be inserted, before anything is written.
///
/// # Errors
/// `InvalidInput` if rows to be inserted lack a required column without a default, or have one that the table lacks.
pub(crate) fn check_insert(schema: &Schema, merge: &Merge, source: &SourceRows) -> Result<()> {
    let Some(columns) = &merge.insert else { return Ok(()) };
    let columns = mapping(schema, source, columns)?;
    let given = |f: &&Field| columns.iter().any(|(field, _)| field.id == f.id);
    match schema.fields.iter().find(|f| f.required && f.write_default.is_none() && !given(f)) {
        Some(f) => Err(Error::invalid("the data lacks a required column").with("column", &f.name)),
        None => Ok(()),
    }
}

/// The columns of the table that get values, each with its column of the data.
///
/// # Errors
/// `InvalidInput` for a column that the table lacks.
pub(crate) fn mapping(schema: &Schema, source: &SourceRows, columns: &Columns) -> Result<Mapping> {
    let find =
        |name: &str| schema.fields.iter().find(|f| f.name == name).cloned().ok_or_else(|| no_column(schema, name));
    match columns {
        Columns::ByName => source.names().map(|name| Ok((find(name)?, name.to_owned()))).collect(),
        Columns::Of(pairs) => pairs.iter().map(|(to, from)| Ok((find(to)?, from.clone()))).collect(),
    }
}

impl Patch for Clauses {
    fn patch(&self, rows: &RecordBatch, sources: &[u32]) -> Result<Patched> {
        let count = rows.num_rows();
        if sources.len() != count {
            return Err(Error::internal("a matched row lacks its row of the data"));
        }
        let stays = BooleanBuffer::collect_bool(count, |i| sources[i] != NO_SOURCE && !self.deletes(sources[i]));
        let Some((replaced, rows)) = self.replace(rows, &stays, sources)? else {
            return Ok(Patched::all_removed(count));
        };
        Ok(Patched { same: &stays & &!&replaced, replaced, rows: Some(rows) })
    }

    fn changes_all(&self) -> bool {
        self.updates.is_none()
    }

    fn removes_all(&self) -> bool {
        self.updates.is_none()
    }
}

/// Rows of a table with their new values from rows of the data, and which rows have not changed. `places` has the place
/// of the data's row for each row of the table. The first columns of the table's rows are those of the schema.
///
/// # Errors
/// `Internal` for rows of another table.
fn updated(
    schema: &Schema,
    old: &RecordBatch,
    (columns, given): (&Mapping, &Numbered),
    places: &[(usize, usize)],
) -> Result<(RecordBatch, BooleanBuffer)> {
    let mut new: Vec<ArrayRef> = old.columns().iter().take(schema.fields.len()).cloned().collect();
    let mut equal = BooleanBuffer::new_set(old.num_rows());
    for (number, (field, _)) in columns.iter().enumerate() {
        let at = schema.fields.iter().position(|f| f.id == field.id);
        let place = at.and_then(|at| new.get_mut(at)).ok_or_else(|| Error::internal("a column is missing"))?;
        let values = given.take(number, places)?;
        equal = &equal & &equal_rows(place, &values);
        *place = values;
    }
    let all: Vec<usize> = (0..new.len()).collect();
    let misfit = |e| Error::internal("updated rows do not fit the table").because(e);
    let own = old.schema().project(&all).map_err(misfit)?;
    Ok((RecordBatch::try_new(own.into(), new).map_err(misfit)?, equal))
}

/// Says which rows of two arrays of one type are equal. Null equals null. If the type can't be compared, no row is
/// equal.
pub(super) fn equal_rows(a: &ArrayRef, b: &ArrayRef) -> BooleanBuffer {
    if let Ok(same) = not_distinct(a, b) {
        return same.values().clone();
    }
    let encoded = |converter: &RowConverter, array: &ArrayRef| converter.convert_columns(std::slice::from_ref(array));
    let rows = RowConverter::new(vec![SortField::new(a.data_type().clone())])
        .and_then(|converter| Ok((encoded(&converter, a)?, encoded(&converter, b)?)));
    match rows {
        Ok((a, b)) => BooleanBuffer::collect_bool(a.num_rows(), |i| a.row(i) == b.row(i)),
        Err(_) => BooleanBuffer::new_unset(a.len()),
    }
}
