//! The columns of rows that files store: no columns of type unknown, and only the keys of equality deletes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};

use super::partition_rows::source_path;
use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::types::{FieldId, Schema};

/// Refuses columns that can't identify rows.
///
/// # Errors
/// `InvalidInput`, naming the column: specification, "Equality Delete Files" and "Identifier Field IDs".
pub(crate) fn check_keys(schema: &Schema, ids: &[FieldId]) -> Result<()> {
    if ids.is_empty() {
        return Err(Error::invalid("equality deletes need at least one key column"));
    }
    for id in ids {
        let name =
            schema.name_of(*id).ok_or_else(|| Error::invalid("a key column is not in the table").with("id", id))?;
        match source_path(schema, *id) {
            None => {
                return Err(
                    Error::invalid("a key column must be primitive and outside of lists and maps").with("column", name)
                );
            }
            Some((_, ty)) if ty.is_float() => {
                return Err(Error::invalid(format!("a column of type {ty} can't be a key column")).with("column", name));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Some of the columns of batches, structs cut to some of their members.
#[derive(Debug)]
pub(crate) struct StoredColumns {
    schema: SchemaRef,
    picks: Vec<Pick>,
}

/// One column, or member of a struct: its place, and its kept members if not all are kept.
#[derive(Debug)]
struct Pick {
    at: usize,
    field: FieldRef,
    members: Option<Vec<Pick>>,
}

impl StoredColumns {
    /// Takes the columns of `kept` out of batches of `from`, which has all of them.
    ///
    /// # Errors
    /// `Internal` if `from` lacks one.
    pub(crate) fn new(from: &ArrowSchema, kept: &Schema) -> Result<StoredColumns> {
        let schema = to_arrow(kept)?;
        let picks = picks(from.fields(), schema.fields())?;
        Ok(StoredColumns { schema, picks })
    }

    /// The schema of batches from [`StoredColumns::of`].
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The kept columns; nothing is copied.
    ///
    /// # Errors
    /// `Internal` if the batch is of another schema.
    pub(crate) fn of(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = cut(rows.columns(), &self.picks)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(|e| misfit().because(e))
    }
}

fn misfit() -> Error {
    Error::internal("columns are picked from rows that lack them")
}

fn picks(from: &Fields, kept: &Fields) -> Result<Vec<Pick>> {
    let pick = |field: &FieldRef| {
        let found = from.iter().position(|f| f.name() == field.name()).ok_or_else(misfit)?;
        let members = match (from[found].data_type(), field.data_type()) {
            (DataType::Struct(from), DataType::Struct(kept)) if from != kept => Some(picks(from, kept)?),
            _ => None,
        };
        Ok(Pick { at: found, field: field.clone(), members })
    };
    kept.iter().map(pick).collect()
}

fn cut(columns: &[ArrayRef], picks: &[Pick]) -> Result<Vec<ArrayRef>> {
    let one = |pick: &Pick| {
        let column = columns.get(pick.at).ok_or_else(misfit)?;
        let Some(members) = &pick.members else { return Ok(column.clone()) };
        let whole = column.as_struct_opt().ok_or_else(misfit)?;
        let fields: Fields = members.iter().map(|m| m.field.clone()).collect::<Vec<Arc<ArrowField>>>().into();
        let cut = StructArray::try_new(fields, cut(whole.columns(), members)?, whole.nulls().cloned());
        Ok(Arc::new(cut.map_err(|e| misfit().because(e))?) as ArrayRef)
    };
    picks.iter().map(one).collect()
}
