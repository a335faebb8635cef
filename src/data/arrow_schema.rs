//! Iceberg schemas as Arrow schemas.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};

use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The Arrow schema of `schema`; every field carries its id as metadata `PARQUET:field_id`.
///
/// # Errors
/// `Unsupported` for types without an Arrow form.
pub fn to_arrow(schema: &Schema) -> Result<SchemaRef> {
    let fields = schema.fields.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ArrowSchema::new(fields)))
}

fn field(f: &Field) -> Result<ArrowField> {
    let metadata = HashMap::from([("PARQUET:field_id".to_owned(), f.id.to_string())]);
    Ok(ArrowField::new(&f.name, data_type(&f.ty)?, !f.required).with_metadata(metadata))
}

fn data_type(ty: &Type) -> Result<DataType> {
    use PrimitiveType as P;
    let utc = || Some("UTC".into());
    Ok(match ty {
        Type::Struct(fields) => DataType::Struct(fields.iter().map(field).collect::<Result<Vec<_>>>()?.into()),
        Type::List(e) => DataType::List(Arc::new(field(e)?)),
        Type::Map(k, v) => {
            let entries = DataType::Struct(vec![field(k)?, field(v)?].into());
            DataType::Map(Arc::new(ArrowField::new("key_value", entries, false)), false)
        }
        Type::Primitive(p) => match p {
            P::Boolean => DataType::Boolean,
            P::Int => DataType::Int32,
            P::Long => DataType::Int64,
            P::Float => DataType::Float32,
            P::Double => DataType::Float64,
            P::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
            P::Date => DataType::Date32,
            P::Time => DataType::Time64(TimeUnit::Microsecond),
            P::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            P::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, utc()),
            P::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
            P::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
            P::String => DataType::Utf8,
            P::Uuid => DataType::FixedSizeBinary(16),
            P::Fixed(n) => DataType::FixedSizeBinary(*n as i32),
            P::Binary => DataType::Binary,
            other => return Err(Error::unsupported(format!("the type {other} has no Arrow form"))),
        },
    })
}
