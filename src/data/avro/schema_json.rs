//! The Avro schema of a table's files, as JSON.
//!
//! Source: Iceberg specification, Appendix A, "Avro"; names of named types as Java's `TypeToSchema` gives them: `table`
//! for the rows, `rN` for the struct in field N, `kN_vM` for the entries of a map whose keys are no strings.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::codec::avro::primitive::primitive_type;
use crate::data::parquet::schema::avro_name;
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type};

/// The schema of rows of `schema`.
///
/// # Errors
/// `Unsupported` for two columns whose names Avro can't tell apart.
pub(crate) fn avro_schema_json(schema: &Schema) -> Result<String> {
    let mut named = HashSet::new();
    Ok(record("table", &schema.fields, &mut named)?.to_string())
}

/// A record. Columns have names that Avro allows, and keep their own in an attribute.
fn record(name: &str, fields: &[Field], named: &mut HashSet<String>) -> Result<Json> {
    let mut taken = HashSet::new();
    let mut members = Vec::with_capacity(fields.len());
    for f in fields {
        let name = avro_name(&f.name);
        if !taken.insert(name.clone()) {
            let clash = format!("two columns would both be '{name}' in an Avro file");
            return Err(Error::unsupported(clash).with("column", &f.name).hint("Rename one of them"));
        }
        let mut member = Map::new();
        member.insert("type".to_owned(), optional(f, named)?);
        if let Some(doc) = &f.doc {
            member.insert("doc".to_owned(), json!(doc));
        }
        if !f.required {
            member.insert("default".to_owned(), Json::Null);
        }
        if name != f.name {
            member.insert("iceberg-field-name".to_owned(), json!(f.name));
        }
        member.insert("field-id".to_owned(), json!(f.id));
        member.insert("name".to_owned(), json!(name));
        members.push(Json::Object(member));
    }
    Ok(json!({"type": "record", "name": name, "fields": members}))
}

/// The type of a field: a union with null if there may be none.
fn optional(f: &Field, named: &mut HashSet<String>) -> Result<Json> {
    let ty = of_type(f, named)?;
    Ok(if is_optional(f) { json!(["null", ty]) } else { ty })
}

/// Whether a value of the field says first if it is there.
pub(crate) fn is_optional(f: &Field) -> bool {
    !f.required && f.ty != Type::Primitive(PrimitiveType::Unknown)
}

/// Whether a map is an Avro map, whose keys are strings.
fn has_text_keys(key: &Field) -> bool {
    key.ty == Type::Primitive(PrimitiveType::String)
}

fn of_type(f: &Field, named: &mut HashSet<String>) -> Result<Json> {
    Ok(match &f.ty {
        Type::Primitive(PrimitiveType::Variant) => {
            let part = |name: &str| json!({"name": name, "type": "bytes"});
            let parts = [part("metadata"), part("value")];
            json!({"type": "record", "name": format!("r{}", f.id), "fields": parts, "logicalType": "variant"})
        }
        Type::Primitive(p) => primitive_type(p, named),
        Type::Struct(fields) => record(&format!("r{}", f.id), fields, named)?,
        Type::List(element) => {
            json!({"type": "array", "items": optional(element, named)?, "element-id": element.id})
        }
        Type::Map(key, value) if has_text_keys(key) => {
            json!({"type": "map", "values": optional(value, named)?, "key-id": key.id, "value-id": value.id})
        }
        Type::Map(key, value) => {
            let key_member = json!({"name": "key", "type": of_type(key, named)?, "field-id": key.id});
            let mut value_member = json!({"name": "value", "type": optional(value, named)?, "field-id": value.id});
            if !value.required {
                value_member["default"] = Json::Null;
            }
            let name = format!("k{}_v{}", key.id, value.id);
            let entry = json!({"type": "record", "name": name, "fields": [key_member, value_member]});
            json!({"type": "array", "items": entry, "logicalType": "map"})
        }
    })
}

#[cfg(test)]
#[path = "schema_json_tests.rs"]
mod tests;
