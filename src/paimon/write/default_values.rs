//! Default values: the value of a column in rows that lack it or have null.
//!
//! Source: Java's `DefaultValueRow`, `DefaultValueUtils`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, Scalar, StringArray};
use arrow::compute::is_not_null;
use arrow::compute::kernels::zip::zip;

use crate::data::declared_types::declared_cast::{Declared, DeclaredCast};
use crate::error::{Error, Result, ResultExt};
use crate::paimon::spec::data_type::DataField;
use crate::paimon::spec::schema::TableSchema;
use crate::types::{Field, PrimitiveType, Schema};

/// The default values of a table's columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults(Vec<(usize, ArrayRef)>);

impl Defaults {
    /// The default values of a table.
    ///
    /// # Errors
    /// `InvalidInput` for one that is not a value of its column's type; `Unsupported` for columns with parts.
    pub(crate) fn of(table: &TableSchema) -> Result<Defaults> {
        let mut out = Vec::new();
        for (at, field) in table.fields.iter().enumerate() {
            if let Some(text) = &field.default_value {
                out.push((at, value(field, text).with("column", &field.name).with("default value", text)?));
            }
        }
        Ok(Defaults(out))
    }

    /// The columns of incoming rows. Columns with a default may be missing.
    pub(crate) fn incoming(&self, columns: &Schema) -> Schema {
        let given = |(at, f): (usize, &Field)| match self.0.iter().any(|(with, _)| *with == at) {
            true => Field { required: false, ..f.clone() },
            false => f.clone(),
        };
        let fields: Vec<Field> = columns.fields.iter().enumerate().map(given).collect();
        Schema::new(columns.id, fields, Vec::new())
    }

    /// Rows with the columns of the table, without nulls where there is a default.
    ///
    /// # Errors
    /// `Internal` for rows of another table.
    pub(crate) fn fill(&self, rows: RecordBatch) -> Result<RecordBatch> {
        if self.0.is_empty() {
            return Ok(rows);
        }
        let failed = |e| Error::internal("default values can't be put into rows").because(e);
        let mut columns = rows.columns().to_vec();
        for (at, value) in &self.0 {
            if let Some(column) = columns.get_mut(*at).filter(|c| c.null_count() > 0) {
                let given = is_not_null(column).map_err(failed)?;
                *column = zip(&given, column, &Scalar::new(value.clone())).map_err(failed)?;
            }
        }
        RecordBatch::try_new(rows.schema(), columns).map_err(failed)
    }
}

/// A default as an array of one value. Java casts it from text.
fn value(field: &DataField, text: &str) -> Result<ArrayRef> {
    let ty = field.ty.to_primitive();
    let ty =
        ty.ok_or_else(|| Error::unsupported(format!("default values of the type {} are not written yet", field.ty)))?;
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let array: ArrayRef = Arc::new(StringArray::from(vec![quoted.unwrap_or(text)]));
    let to = Declared::new(&ty, Some(&field.ty.to_string()));
    let cast = DeclaredCast::plan(&Declared::new(&PrimitiveType::String, None), &to).map_err(|e| {
        Error::unsupported(format!("a column of type {} can't have a default value", field.ty)).because(e)
    })?;
    match cast {
        Some(cast) => cast.apply(&array),
        None => Ok(array),
    }
}
