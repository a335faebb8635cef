//! The stored form of a Paimon table's columns, where it differs from Iceberg's files.
//!
//! [`ExactTypes`] holds the types that Paimon declares for the leaves of a schema. The Arrow types of stored batches
//! follow from it: times of day are milliseconds, and so are timestamps of up to three digits.
//!
//! Source: Java's `ParquetSchemaConverter`, `OrcTypeUtil`, `AvroSchemaConverter`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field as ArrowField, FieldRef, Schema as ArrowSchema, SchemaRef, TimeUnit};

use super::declared_cast::Declared;
use crate::data::arrow::schema::to_arrow;
use crate::error::{Error, Result};
use crate::format::task::FileFormat;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

/// Types that Paimon declares for leaf columns (`TINYINT`, `TIMESTAMP(3)`), by their ids. Other columns have the type
/// of the table's schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactTypes(pub BTreeMap<FieldId, String>);

/// A leaf as files store it, if its type in the schema does not determine that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExactLeaf {
    /// The leaf is stored in the form of its type.
    Plain,
    /// An integer of this number of bits.
    Narrow(u32),
    /// A time of day, or a timestamp of up to three digits.
    Millis,
    /// A timestamp of more than six digits.
    Nanos,
}

impl ExactTypes {
    /// How a leaf is stored.
    pub(crate) fn leaf(&self, id: FieldId, ty: &PrimitiveType) -> ExactLeaf {
        use PrimitiveType as P;
        let declared = Declared::new(ty, self.0.get(&id).map(String::as_str));
        match ty {
            P::Int => declared.narrow_bits().map_or(ExactLeaf::Plain, ExactLeaf::Narrow),
            P::Time => ExactLeaf::Millis,
            P::Timestamp | P::Timestamptz if declared.fraction_digits().is_some_and(|digits| digits <= 3) => {
                ExactLeaf::Millis
            }
            P::TimestampNs | P::TimestamptzNs => ExactLeaf::Nanos,
            _ => ExactLeaf::Plain,
        }
    }

    /// The Arrow schema of the batches that a writer of the format takes, for rows of `schema`.
    ///
    /// # Errors
    /// The errors of [`to_arrow`].
    pub(crate) fn stored_arrow(&self, schema: &Schema, format: FileFormat) -> Result<SchemaRef> {
        let arrow = to_arrow(schema)?;
        let fields = arrow.fields().iter().zip(schema.fields.iter());
        Ok(Arc::new(ArrowSchema::new(fields.map(|(a, f)| self.stored_field(a, f, format)).collect::<Vec<_>>())))
    }

    fn stored_field(&self, arrow: &FieldRef, field: &Field, format: FileFormat) -> FieldRef {
        let members = |members: &[FieldRef], of: &[Field]| {
            members.iter().zip(of).map(|(a, f)| self.stored_field(a, f, format)).collect::<Vec<_>>()
        };
        let ty = match (arrow.data_type(), &field.ty) {
            (DataType::Struct(inner), Type::Struct(of)) => DataType::Struct(members(inner, of).into()),
            (DataType::List(inner), Type::List(of)) => DataType::List(self.stored_field(inner, of, format)),
            (DataType::Map(entries, sorted), Type::Map(key, value)) => match entries.data_type() {
                DataType::Struct(inner) => {
                    let of = [key.as_ref().clone(), value.as_ref().clone()];
                    let inner = DataType::Struct(members(inner, &of).into());
                    DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(inner)), *sorted)
                }
                _ => return arrow.clone(),
            },
            (ty, Type::Primitive(p)) => match (self.leaf(field.id, p), ty, format) {
                // ORC's timestamps are seconds and nanoseconds, for input of any unit.
                (ExactLeaf::Millis, DataType::Timestamp(_, zone), FileFormat::Parquet | FileFormat::Avro) => {
                    DataType::Timestamp(TimeUnit::Millisecond, zone.clone())
                }
                (ExactLeaf::Millis, DataType::Time64(_), FileFormat::Parquet) => {
                    DataType::Time32(TimeUnit::Millisecond)
                }
                (ExactLeaf::Millis, DataType::Time64(_), _) => DataType::Int32,
                _ => return arrow.clone(),
            },
            _ => return arrow.clone(),
        };
        Arc::new(ArrowField::clone(arrow).with_data_type(ty))
    }
}

/// Rows in the Arrow schema that they are stored with.
///
/// # Errors
/// `InvalidInput` for a time that the stored type can't hold.
pub(crate) fn stored_rows(rows: &RecordBatch, stored: &SchemaRef) -> Result<RecordBatch> {
    let column = |(column, field): (&ArrayRef, &FieldRef)| match column.data_type() == field.data_type() {
        true => Ok(column.clone()),
        false => stored_column(column, field.data_type()).map_err(|e| e.with("column", field.name())),
    };
    let columns = rows.columns().iter().zip(stored.fields()).map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(stored.clone(), columns, &options)
        .map_err(|e| Error::internal("rows are unlike the columns of their file").because(e))
}

fn stored_column(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let unfit = |e| Error::invalid("a time can't be stored as its column's type").because(e);
    match (column.data_type(), to) {
        // Arrow casts a time of day to the number of its units.
        (DataType::Time64(_), DataType::Int32) => {
            let millis = cast(column, &DataType::Time32(TimeUnit::Millisecond)).map_err(unfit)?;
            cast(&millis, to).map_err(unfit)
        }
        _ => cast(column, to).map_err(unfit),
    }
}
