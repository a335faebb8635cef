//! Columns of Arrow as binary rows: partitions, keys, and input of bucket hashes.

use arrow::array::{ArrayRef, RecordBatch};

use crate::data::arrow::array_value::value_at;
use crate::error::{Error, Result};
use crate::paimon::spec::binary_row_write::RowBuilder;
use crate::paimon::spec::data_type::DataField;
use crate::types::{FieldId, PrimitiveType, Schema};

/// Some columns of batches of one schema, row by row as binary rows.
#[derive(Clone, Debug)]
pub(crate) struct KeyRows {
    /// The places and the types of the columns.
    columns: Vec<(usize, PrimitiveType)>,
    builder: RowBuilder,
}

impl KeyRows {
    /// The rows of some fields, which batches of `schema` have.
    ///
    /// # Errors
    /// `Unsupported` for types with parts; `Internal` for fields that the schema lacks.
    pub(crate) fn new<'a>(schema: &Schema, fields: impl IntoIterator<Item = &'a DataField>) -> Result<KeyRows> {
        let (mut columns, mut types) = (Vec::new(), Vec::new());
        for field in fields {
            let parts = || Error::unsupported(format!("a column of type {} can't be a key", field.ty));
            let ty = field.ty.to_primitive().ok_or_else(|| parts().with("column", &field.name))?;
            columns.push((place_of(schema, field.id)?, ty));
            types.push(field.ty.clone());
        }
        Ok(KeyRows { columns, builder: RowBuilder::new(types) })
    }

    /// Rows without fields.
    pub(crate) fn none() -> KeyRows {
        KeyRows { columns: Vec::new(), builder: RowBuilder::new(Vec::new()) }
    }

    /// Fields of a row.
    pub(crate) fn arity(&self) -> usize {
        self.columns.len()
    }

    /// Gives the binary row of each row, without its number of fields, to `take`.
    ///
    /// # Errors
    /// `InvalidInput` for values that their type can't have; those of `take`.
    pub(crate) fn each(&mut self, rows: &RecordBatch, mut take: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let arrays = self.arrays(rows)?;
        for row in 0..rows.num_rows() {
            take(row, self.builder.row(arrays.iter().map(|(array, ty)| value_at(array, row, ty)))?)?;
        }
        Ok(())
    }

    /// The binary row of one row, after its number of fields.
    ///
    /// # Errors
    /// As [`KeyRows::each`].
    pub(crate) fn prefixed(&mut self, rows: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        let arrays = self.arrays(rows)?;
        let arity = arrays.len();
        let bytes = self.builder.row(arrays.iter().map(|(array, ty)| value_at(array, row, ty)))?;
        Ok(crate::paimon::spec::binary_row_write::prefixed(bytes, arity))
    }

    fn arrays<'a>(&self, rows: &'a RecordBatch) -> Result<Vec<(&'a ArrayRef, PrimitiveType)>> {
        let missing = || Error::internal("a key column is not among those of the rows");
        let array = |(at, ty): &(usize, PrimitiveType)| Some((rows.columns().get(*at)?, ty.clone()));
        self.columns.iter().map(array).collect::<Option<Vec<_>>>().ok_or_else(missing)
    }
}

/// The place of a column among those of a schema.
///
/// # Errors
/// `Internal` if it is missing.
pub(crate) fn place_of(schema: &Schema, id: FieldId) -> Result<usize> {
    let at = schema.fields.iter().position(|f| f.id == id);
    at.ok_or_else(|| Error::internal(format!("the rows have no column {id}")))
}
