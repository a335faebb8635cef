//! The Avro schema of a Paimon table's files, as JSON.
//!
//! Source: Java's `AvroSchemaConverter`. Records are named after their path, timestamps with a zone are Avro's local
//! ones, and decimals are bytes.

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, RecordField};

use crate::codec::avro::declare::{self, Zones, array, field, map, map_of_pairs, optional_field, record};
use crate::data::declared_types::stored::{ExactLeaf, ExactTypes};
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The name of the record for rows.
const ROW: &str = "record";
const NAMESPACE: &str = "org.apache.paimon.avro.generated";

/// The schema of rows of `schema`.
///
/// # Errors
/// `Unsupported` for types and names that Avro doesn't have.
pub(crate) fn exact_avro(schema: &Schema, exact: &ExactTypes) -> Result<String> {
    let rows = record(&format!("{NAMESPACE}.{ROW}"), members(ROW, &schema.fields, exact))?;
    declare::text(&rows, Zones::ByName)
}

fn members(record: &str, fields: &[Field], exact: &ExactTypes) -> impl Iterator<Item = Result<RecordField>> {
    fields.iter().map(move |f| {
        let fits = |(i, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit());
        if f.name.is_empty() || !f.name.chars().enumerate().all(fits) {
            return Err(Error::unsupported("Avro files can't have a column of this name").with("column", &f.name));
        }
        member(&f.name, &format!("{record}_{}", f.name), f, exact).map_err(|e| e.with("column", &f.name))
    })
}

/// The member of a record for a field. `path` leads to its type.
fn member(name: &str, path: &str, f: &Field, exact: &ExactTypes) -> Result<RecordField> {
    let ty = of_type(path, f, exact)?;
    if f.required { Ok(field(name, ty)) } else { optional_field(name, ty) }
}

fn optional(path: &str, f: &Field, exact: &ExactTypes) -> Result<AvroSchema> {
    let ty = of_type(path, f, exact)?;
    if f.required { Ok(ty) } else { declare::optional(ty) }
}

fn of_type(path: &str, f: &Field, exact: &ExactTypes) -> Result<AvroSchema> {
    match &f.ty {
        Type::Primitive(p) => primitive(p, exact.leaf(f.id, p)),
        Type::Struct(fields) => record(path, members(path, fields, exact)),
        Type::List(element) => Ok(array(optional(path, element, exact)?, &[])),
        Type::Map(key, value) if key.ty == Type::Primitive(PrimitiveType::String) => {
            Ok(map(optional(path, value, exact)?, &[]))
        }
        Type::Map(key, value) => {
            let key = field("key", of_type(&format!("{path}_key"), key, exact)?);
            map_of_pairs(path, [Ok(key), member("value", &format!("{path}_value"), value, exact)])
        }
    }
}

fn primitive(p: &PrimitiveType, stored: ExactLeaf) -> Result<AvroSchema> {
    use PrimitiveType as P;
    let millis = stored == ExactLeaf::Millis;
    Ok(match p {
        P::Boolean => AvroSchema::Boolean,
        P::Int => AvroSchema::Int,
        P::Long => AvroSchema::Long,
        P::Float => AvroSchema::Float,
        P::Double => AvroSchema::Double,
        P::Date => AvroSchema::Date,
        P::Time => AvroSchema::TimeMillis,
        P::Timestamp if millis => AvroSchema::TimestampMillis,
        P::Timestamp => AvroSchema::TimestampMicros,
        P::Timestamptz if millis => AvroSchema::LocalTimestampMillis,
        P::Timestamptz => AvroSchema::LocalTimestampMicros,
        P::String => AvroSchema::String,
        P::Binary => AvroSchema::Bytes,
        P::Decimal { precision, scale } => {
            let (precision, scale) = (usize::from(*precision), usize::from(*scale));
            AvroSchema::Decimal(DecimalSchema { precision, scale, inner: InnerDecimalSchema::Bytes })
        }
        _ => {
            return Err(Error::unsupported(format!("columns of type {p} can't be written to Avro files"))
                .hint("Set the table's file.format to parquet"));
        }
    })
}
