//! The Avro types of a table's primitive types.

use std::collections::HashSet;

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::{DecimalSchema, FixedSchema, InnerDecimalSchema, UuidSchema};

use super::declare::{fixed, reference};
use crate::error::Result;
use crate::types::{PrimitiveType, decimal};

/// The Avro type of a primitive type. `named` are the fixed types that the schema has so far. A fixed type is defined
/// once and then referred to by its name. Types without values of their own kind in Avro are null.
///
/// Source: Iceberg specification, Appendix A, "Avro"; names as in Java's `TypeToSchema`.
///
/// # Errors
/// `Internal` if Avro does not allow the name of a fixed type.
pub(crate) fn primitive_type(ty: &PrimitiveType, named: &mut HashSet<String>) -> Result<AvroSchema> {
    use PrimitiveType as P;
    Ok(match ty {
        P::Boolean => AvroSchema::Boolean,
        P::Int => AvroSchema::Int,
        P::Long => AvroSchema::Long,
        P::Float => AvroSchema::Float,
        P::Double => AvroSchema::Double,
        P::Date => AvroSchema::Date,
        P::Time => AvroSchema::TimeMicros,
        P::Timestamp => AvroSchema::LocalTimestampMicros,
        P::Timestamptz => AvroSchema::TimestampMicros,
        P::TimestampNs => AvroSchema::LocalTimestampNanos,
        P::TimestamptzNs => AvroSchema::TimestampNanos,
        P::String => AvroSchema::String,
        P::Binary | P::Geometry { .. } | P::Geography { .. } => AvroSchema::Bytes,
        P::Uuid => once("uuid_fixed", 16, named, |f| AvroSchema::Uuid(UuidSchema::Fixed(f)))?,
        P::Fixed(n) => once(&format!("fixed_{n}"), *n as usize, named, AvroSchema::Fixed)?,
        P::Decimal { precision, scale } => {
            let (name, size) = (format!("decimal_{precision}_{scale}"), decimal::bytes_of_precision(*precision));
            let (precision, scale) = (usize::from(*precision), usize::from(*scale));
            let decimal = |f| DecimalSchema { precision, scale, inner: InnerDecimalSchema::Fixed(f) };
            once(&name, size, named, |f| AvroSchema::Decimal(decimal(f)))?
        }
        // A variant is a record.
        P::Unknown | P::Variant => AvroSchema::Null,
    })
}

/// A fixed type, or its name if the schema has it already.
fn once(
    name: &str,
    size: usize,
    named: &mut HashSet<String>,
    meaning: impl FnOnce(FixedSchema) -> AvroSchema,
) -> Result<AvroSchema> {
    if named.insert(name.to_owned()) { Ok(meaning(fixed(name, size)?)) } else { reference(name) }
}
