//! Partition transforms of a column of any Arrow type that tables can store.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchReader, new_empty_array};
use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};

use super::schema::from_arrow;
use super::transform_array::transform_array;
use crate::data::write::conform::Conformer;
use crate::error::{Error, Result};
use crate::types::{PrimitiveType, Schema, Transform, Type};

/// The first column of every batch, transformed, as batches of one column; null for null.
///
/// # Errors
/// `InvalidInput` if the transform does not apply to the column's type; `Unsupported` for unknown transforms and for
/// Arrow types that no table type stands for; the reader's errors.
pub fn transform_column(
    batches: impl RecordBatchReader,
    transform: &Transform,
) -> Result<(SchemaRef, Vec<RecordBatch>)> {
    let input = batches.schema();
    let Some(field) = input.fields().first() else { return Err(Error::invalid("the data has no columns")) };
    let field: Field = field.as_ref().clone().with_nullable(true);
    let mut column = SourceColumn::new(field, transform)?;
    // The result for an empty array shows the type of the result, and whether there is one.
    let sample = column.transform(&new_empty_array(column.field.data_type()))?;
    let schema = Arc::new(ArrowSchema::new(vec![Field::new(column.field.name(), sample.data_type().clone(), true)]));
    let mut out = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|e| Error::invalid("the Arrow data can't be used").because(e))?;
        let transformed = column.transform(batch.column(0))?;
        out.push(
            RecordBatch::try_new(schema.clone(), vec![transformed])
                .map_err(|e| Error::internal("a transform's arrays differ in type").because(e))?,
        );
    }
    Ok((schema, out))
}

struct SourceColumn<'t> {
    field: Field,
    source: PrimitiveType,
    /// Converts arrays whose form differs from a table's.
    conformer: Option<Conformer>,
    transform: &'t Transform,
}

impl<'t> SourceColumn<'t> {
    fn new(field: Field, transform: &'t Transform) -> Result<Self> {
        let schema: Schema = from_arrow(&ArrowSchema::new(vec![field.clone()]))?;
        let Some(Type::Primitive(source)) = schema.fields.first().map(|f| f.ty.clone()) else {
            let found = field.data_type();
            return Err(Error::invalid(format!("{transform} does not apply to an array of type {found}")));
        };
        let conformer = if fits(field.data_type()) { None } else { Some(Conformer::new(Arc::new(schema))?) };
        Ok(SourceColumn { field, source, conformer, transform })
    }

    fn transform(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        let Some(conformer) = &mut self.conformer else {
            return transform_array(array, &self.source, self.transform);
        };
        let schema = Arc::new(ArrowSchema::new(vec![self.field.clone()]));
        let batch = RecordBatch::try_new(schema, vec![array.clone()])
            .map_err(|e| Error::invalid("the Arrow data can't be used").because(e))?;
        transform_array(conformer.conform(&batch, 0)?.column(0), &self.source, self.transform)
    }
}

/// Whether the transforms take arrays of this type as they are.
fn fits(ty: &DataType) -> bool {
    use DataType as D;
    matches!(
        ty,
        D::Boolean
            | D::Int32
            | D::Int64
            | D::Float32
            | D::Float64
            | D::Date32
            | D::Time64(TimeUnit::Microsecond)
            | D::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _)
            | D::Decimal128(_, _)
            | D::Utf8
            | D::LargeUtf8
            | D::Utf8View
            | D::Binary
            | D::LargeBinary
            | D::BinaryView
            | D::FixedSizeBinary(_)
    )
}
