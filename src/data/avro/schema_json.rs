//! The Avro schema of a table's files, as JSON.
//!
//! Source: Iceberg specification, Appendix A, "Avro"; names of named types as Java's `TypeToSchema` gives them: `table`
//! for the rows, `rN` for the struct in field N, `kN_vM` for the entries of a map whose keys are not strings.

use std::collections::HashSet;

use apache_avro::Schema as AvroSchema;
use apache_avro::schema::RecordField;
use serde_json::{Value as Json, json};

use crate::codec::avro::declare::{self, FIELD_ID, Zones, array, map, map_of_pairs};
use crate::codec::avro::primitive::primitive_type;
use crate::data::parquet::schema::avro_name;
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The schema of rows of `schema`.
///
/// # Errors
/// `Unsupported` for two columns with the same Avro name.
pub(crate) fn avro_schema_json(schema: &Schema) -> Result<String> {
    let mut named = HashSet::new();
    declare::text(&record("table", &schema.fields, &mut named)?, Zones::AdjustToUtc)
}

/// A record. Columns have names that Avro allows, and keep their own in an attribute.
fn record(name: &str, fields: &[Field], named: &mut HashSet<String>) -> Result<AvroSchema> {
    let mut taken = HashSet::new();
    let members = fields.iter().map(|f| {
        let name = avro_name(&f.name);
        if !taken.insert(name.clone()) {
            let clash = format!("two columns would both be '{name}' in an Avro file");
            return Err(Error::unsupported(clash).with("column", &f.name).hint("Rename one of them"));
        }
        let mut member = with_id(&name, optional(f, named)?, f);
        member.doc.clone_from(&f.doc);
        if name != f.name {
            member.custom_attributes.insert("iceberg-field-name".to_owned(), json!(f.name));
        }
        Ok(member)
    });
    declare::record(name, members)
}

/// A member with the id of a field, and the default of one that is not required.
fn with_id(name: &str, ty: AvroSchema, f: &Field) -> RecordField {
    let mut out = declare::field(name, ty);
    out.default = (!f.required).then_some(Json::Null);
    out.custom_attributes.insert(FIELD_ID.to_owned(), json!(f.id));
    out
}

/// The type of a field: a union with null if it may be null.
fn optional(f: &Field, named: &mut HashSet<String>) -> Result<AvroSchema> {
    let ty = of_type(f, named)?;
    if is_optional(f) { declare::optional(ty) } else { Ok(ty) }
}

/// Whether a value of the field begins with a mark for null.
pub(crate) fn is_optional(f: &Field) -> bool {
    !f.required && f.ty != Type::Primitive(PrimitiveType::Unknown)
}

/// Whether a map is an Avro map, whose keys are strings.
fn has_text_keys(key: &Field) -> bool {
    key.ty == Type::Primitive(PrimitiveType::String)
}

fn of_type(f: &Field, named: &mut HashSet<String>) -> Result<AvroSchema> {
    match &f.ty {
        Type::Primitive(PrimitiveType::Variant) => {
            let part = |name: &str| Ok(declare::field(name, AvroSchema::Bytes));
            let mut variant = declare::record(&format!("r{}", f.id), [part("metadata"), part("value")])?;
            if let AvroSchema::Record(record) = &mut variant {
                record.attributes.insert("logicalType".to_owned(), json!("variant"));
            }
            Ok(variant)
        }
        Type::Primitive(p) => primitive_type(p, named),
        Type::Struct(fields) => record(&format!("r{}", f.id), fields, named),
        Type::List(element) => Ok(array(optional(element, named)?, &[("element-id", json!(element.id))])),
        Type::Map(key, value) if has_text_keys(key) => {
            Ok(map(optional(value, named)?, &[("key-id", json!(key.id)), ("value-id", json!(value.id))]))
        }
        Type::Map(key, value) => {
            let mut key_member = with_id("key", of_type(key, named)?, key);
            key_member.default = None;
            let value_member = with_id("value", optional(value, named)?, value);
            map_of_pairs(&format!("k{}_v{}", key.id, value.id), [Ok(key_member), Ok(value_member)])
        }
    }
}

#[cfg(test)]
#[path = "schema_json_tests.rs"]
mod tests;
