//! The Avro schema of a Paimon table's files, as JSON.
//!
//! Source: Java's `AvroSchemaConverter`. Records are named after their path, timestamps with a zone are Avro's local
//! ones, and decimals are bytes.

use serde_json::{Map, Value as Json, json};

use crate::data::paimon_types::stored::{ExactLeaf, ExactTypes};
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The name of the record that rows are.
const ROW: &str = "record";
const NAMESPACE: &str = "org.apache.paimon.avro.generated";

/// The schema of rows of `schema`.
///
/// # Errors
/// `Unsupported` for types and names that Avro doesn't have.
pub(crate) fn paimon_avro(schema: &Schema, exact: &ExactTypes) -> Result<String> {
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("record"));
    out.insert("name".to_owned(), json!(ROW));
    out.insert("namespace".to_owned(), json!(NAMESPACE));
    out.insert("fields".to_owned(), members(ROW, &schema.fields, exact)?);
    Ok(Json::Object(out).to_string())
}

fn members(record: &str, fields: &[Field], exact: &ExactTypes) -> Result<Json> {
    let member = |f: &Field| {
        let fits = |(i, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit());
        if f.name.is_empty() || !f.name.chars().enumerate().all(fits) {
            return Err(Error::unsupported("Avro files can't have a column of this name").with("column", &f.name));
        }
        let ty = optional(&format!("{record}_{}", f.name), f, exact).map_err(|e| e.with("column", &f.name))?;
        Ok(match f.required {
            true => json!({"name": f.name, "type": ty}),
            false => json!({"name": f.name, "type": ty, "default": null}),
        })
    };
    Ok(Json::Array(fields.iter().map(member).collect::<Result<_>>()?))
}

fn optional(name: &str, f: &Field, exact: &ExactTypes) -> Result<Json> {
    let ty = of_type(name, f, exact)?;
    Ok(if f.required { ty } else { json!(["null", ty]) })
}

fn of_type(name: &str, f: &Field, exact: &ExactTypes) -> Result<Json> {
    Ok(match &f.ty {
        Type::Primitive(p) => primitive(p, exact.leaf(f.id, p))?,
        Type::Struct(fields) => json!({"type": "record", "name": name, "fields": members(name, fields, exact)?}),
        Type::List(element) => json!({"type": "array", "items": optional(name, element, exact)?}),
        Type::Map(key, value) if key.ty == Type::Primitive(PrimitiveType::String) => {
            json!({"type": "map", "values": optional(name, value, exact)?})
        }
        Type::Map(key, value) => {
            let key = json!({"name": "key", "type": of_type(&format!("{name}_key"), key, exact)?});
            let of_value = optional(&format!("{name}_value"), value, exact)?;
            let value = match value.required {
                true => json!({"name": "value", "type": of_value}),
                false => json!({"name": "value", "type": of_value, "default": null}),
            };
            let entry = json!({"type": "record", "name": name, "fields": [key, value]});
            json!({"type": "array", "items": entry, "logicalType": "map"})
        }
    })
}

fn primitive(p: &PrimitiveType, stored: ExactLeaf) -> Result<Json> {
    use PrimitiveType as P;
    let unit = if stored == ExactLeaf::Millis { "millis" } else { "micros" };
    let timestamp = |name: &str| json!({"type": "long", "logicalType": format!("{name}-{unit}")});
    Ok(match p {
        P::Boolean => json!("boolean"),
        P::Int => json!("int"),
        P::Long => json!("long"),
        P::Float => json!("float"),
        P::Double => json!("double"),
        P::Date => json!({"type": "int", "logicalType": "date"}),
        P::Time => json!({"type": "int", "logicalType": "time-millis"}),
        P::Timestamp => timestamp("timestamp"),
        P::Timestamptz => timestamp("local-timestamp"),
        P::String => json!("string"),
        P::Binary => json!("bytes"),
        P::Decimal { precision, scale } => {
            json!({"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale})
        }
        _ => {
            return Err(Error::unsupported(format!("columns of type {p} can't be written to Avro files"))
                .hint("Set the table's file.format to parquet"));
        }
    })
}
