//! Schemas as JSON.
//!
//! Source: Iceberg specification, Appendix C, "Schemas".

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::json_members::JsonMembers;
use super::json_text;
use super::schema::{Field, FieldId, PrimitiveType, Schema, Type};
use crate::error::{Error, Result};

/// The deepest nesting of types, so that a hostile file can't exhaust the stack of a thread.
const MAX_DEPTH: usize = 128;

/// The deepest type of a column that a table is made with. Files of every format hold such columns.
pub const MAX_NEW_DEPTH: usize = 100;

/// Reads a schema object.
///
/// # Errors
/// `CorruptTable` for a missing or wrong member, an unknown type or a field id used twice.
pub fn schema_from_json(j: &Json) -> Result<Schema> {
    let top = members(j);
    let id = top.given_int("schema-id")?.unwrap_or(0);
    let Type::Struct(fields) = type_from_json(j, 0)? else {
        return Err(Error::corrupt("a schema must be of type struct"));
    };
    let identifiers = match top.given("identifier-field-ids") {
        Some(_) => top.ints("identifier-field-ids")?,
        None => Vec::new(),
    };
    check_ids(&fields)?;
    Ok(Schema::new(id, fields, identifiers))
}

fn check_ids(fields: &[Field]) -> Result<()> {
    fn walk(f: &Field, seen: &mut HashSet<FieldId>) -> Result<()> {
        if !seen.insert(f.id) {
            return Err(Error::corrupt(format!("the schema uses field id {} twice", f.id)).with("column", &f.name));
        }
        f.ty.children().into_iter().try_for_each(|c| walk(c, seen))
    }
    let mut seen = HashSet::new();
    fields.iter().try_for_each(|f| walk(f, &mut seen))
}

/// The members of a schema, a type or a field.
fn members(json: &Json) -> JsonMembers<'_> {
    JsonMembers::of(json, |key| Error::corrupt(format!("'{key}' of a schema is missing or has a wrong type")))
}

/// Reads a type: a name, or an object for nested types.
///
/// # Errors
/// `CorruptTable` as [`schema_from_json`]; `Unsupported` for a type name that this version does not know.
pub fn type_from_json(j: &Json, depth: usize) -> Result<Type> {
    if depth > MAX_DEPTH {
        return Err(Error::corrupt(format!("a type nests deeper than {MAX_DEPTH}")));
    }
    if let Some(name) = j.as_str() {
        return parse_primitive(name).map(Type::Primitive);
    }
    let child = |id, name: &str, required, ty: &Json| -> Result<Arc<Field>> {
        Ok(Arc::new(Field::new(id, name, required, type_from_json(ty, depth + 1)?)))
    };
    let m = members(j);
    match m.string("type")? {
        "struct" => {
            let fields = m.list("fields")?.iter().map(|f| field_from_json(f, depth + 1)).collect::<Result<Vec<_>>>()?;
            Ok(Type::Struct(fields.into()))
        }
        "list" => {
            let required = m.flag("element-required")?;
            Ok(Type::List(child(m.int("element-id")?, "element", required, m.required("element")?)?))
        }
        "map" => {
            let key = child(m.int("key-id")?, "key", true, m.required("key")?)?;
            let required = m.flag("value-required")?;
            Ok(Type::Map(key, child(m.int("value-id")?, "value", required, m.required("value")?)?))
        }
        name => parse_primitive(name).map(Type::Primitive),
    }
}

fn field_from_json(j: &Json, depth: usize) -> Result<Field> {
    let m = members(j);
    let name = m.string("name")?;
    let parse = || -> Result<Field> {
        Ok(Field {
            id: m.int("id")?,
            name: name.to_owned(),
            required: m.flag("required")?,
            ty: type_from_json(m.required("type")?, depth)?,
            doc: m.any_string("doc").map(str::to_owned),
            initial_default: m.given("initial-default").cloned(),
            write_default: m.given("write-default").cloned(),
        })
    };
    parse().map_err(|e| e.with("column", name))
}

/// Reads a primitive type's name, with or without spaces: `decimal(9, 2)`, `fixed[16]`, `geometry(srid:0)`.
///
/// # Errors
/// `Unsupported` if there is no such type; `CorruptTable` for parameters out of range.
pub fn parse_primitive(text: &str) -> Result<PrimitiveType> {
    use PrimitiveType as P;
    let lower = text.trim().to_ascii_lowercase();
    Ok(match lower.as_str() {
        "boolean" => P::Boolean,
        "int" => P::Int,
        "long" => P::Long,
        "float" => P::Float,
        "double" => P::Double,
        "date" => P::Date,
        "time" => P::Time,
        "timestamp" => P::Timestamp,
        "timestamptz" => P::Timestamptz,
        "timestamp_ns" => P::TimestampNs,
        "timestamptz_ns" => P::TimestamptzNs,
        "string" => P::String,
        "uuid" => P::Uuid,
        "binary" => P::Binary,
        "unknown" => P::Unknown,
        "variant" => P::Variant,
        "geometry" => P::Geometry { crs: None },
        "geography" => P::Geography { crs: None, algorithm: None },
        _ => return parse_parametrised(text.trim()),
    })
}

fn parse_parametrised(text: &str) -> Result<PrimitiveType> {
    let open = text.find(['(', '[']).unwrap_or(text.len());
    let inner = text.get(open + 1..text.len().saturating_sub(1)).unwrap_or("");
    let closed = text.ends_with(if text[open..].starts_with('[') { ']' } else { ')' });
    let mut parts = inner.split(',').map(str::trim);
    let (first, second, more) = (parts.next().unwrap_or(""), parts.next(), parts.next());
    let range = || Error::corrupt(format!("the type {text} has parameters out of range"));
    match text[..open].trim_end().to_ascii_lowercase().as_str() {
        _ if !closed || more.is_some() => {}
        "decimal" => {
            let precision: u8 = first.parse().map_err(|_| range())?;
            let scale: u8 = second.unwrap_or("").parse().map_err(|_| range())?;
            if !(1..=38).contains(&precision) || scale > precision {
                return Err(range());
            }
            return Ok(PrimitiveType::Decimal { precision, scale });
        }
        "fixed" if second.is_none() => {
            let length = first.parse().ok().filter(|n| *n <= i32::MAX as u32).ok_or_else(range)?;
            return Ok(PrimitiveType::Fixed(length));
        }
        "geometry" if second.is_none() => return Ok(PrimitiveType::Geometry { crs: Some(first.to_owned()) }),
        "geography" => {
            let algorithm = second.map(|a| a.to_ascii_lowercase());
            return Ok(PrimitiveType::Geography { crs: Some(first.to_owned()), algorithm });
        }
        _ => {}
    }
    Err(Error::unsupported(format!("'{text}' is not a type that this version knows")))
}

/// Reads the text of a schema's JSON.
///
/// # Errors
/// `InvalidInput` if the text is not JSON; as [`schema_from_json`].
pub fn schema_from_text(text: &str) -> Result<Schema> {
    let json = json_text::parse(text.as_bytes()).map_err(|e| Error::invalid("the schema is not JSON").because(e))?;
    schema_from_json(&json)
}

/// The JSON object of a schema, without indentation.
pub fn schema_to_json(schema: &Schema) -> Json {
    let mut out = Map::new();
    out.insert("type".into(), json!("struct"));
    out.insert("schema-id".into(), json!(schema.id));
    if !schema.identifier_field_ids.is_empty() {
        out.insert("identifier-field-ids".into(), json!(schema.identifier_field_ids));
    }
    out.insert("fields".into(), Json::Array(schema.fields.iter().map(field_to_json).collect()));
    Json::Object(out)
}

fn field_to_json(f: &Field) -> Json {
    let mut out = Map::new();
    out.insert("id".into(), json!(f.id));
    out.insert("name".into(), json!(f.name));
    out.insert("required".into(), json!(f.required));
    out.insert("type".into(), type_to_json(&f.ty));
    let mut optional = |key: &str, value: Option<Json>| {
        if let Some(v) = value {
            out.insert(key.into(), v);
        }
    };
    optional("doc", f.doc.as_ref().map(|d| json!(d)));
    optional("initial-default", f.initial_default.clone());
    optional("write-default", f.write_default.clone());
    Json::Object(out)
}

/// The JSON of a type.
pub fn type_to_json(ty: &Type) -> Json {
    match ty {
        Type::Primitive(p) => json!(p.to_string()),
        Type::Struct(fields) => {
            json!({"type": "struct", "fields": fields.iter().map(field_to_json).collect::<Vec<_>>()})
        }
        Type::List(e) => json!({
            "type": "list", "element-id": e.id, "element": type_to_json(&e.ty), "element-required": e.required,
        }),
        Type::Map(k, v) => json!({
            "type": "map", "key-id": k.id, "key": type_to_json(&k.ty),
            "value-id": v.id, "value": type_to_json(&v.ty), "value-required": v.required,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_every_type() {
        let j = json!({"type": "struct", "schema-id": 3, "identifier-field-ids": [1], "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long", "doc": "key"},
            {"id": 2, "name": "d", "required": false, "type": "decimal(9, 2)", "initial-default": "1.00", "write-default": "2.00"},
            {"id": 3, "name": "l", "required": false, "type":
                {"type": "list", "element-id": 4, "element": "fixed[16]", "element-required": true}},
            {"id": 5, "name": "m", "required": false, "type": {"type": "map", "key-id": 6, "key": "string",
                "value-id": 7, "value": {"type": "struct", "fields": [
                    {"id": 8, "name": "g", "required": false, "type": "geography(srid:4326, vincenty)"}]},
                "value-required": false}},
            {"id": 9, "name": "v", "required": false, "type": "variant"},
        ]});
        assert_eq!(schema_to_json(&schema_from_json(&j).unwrap()), j);
        assert_eq!(parse_primitive("decimal(9,2)").unwrap(), PrimitiveType::Decimal { precision: 9, scale: 2 });
    }

    #[test]
    fn refuses_what_is_no_schema() {
        for bad in ["decimal(39,0)", "decimal(4,9)", "fixed[-1]", "fixed(3", "hyperint", "(", "é("] {
            assert!(parse_primitive(bad).is_err(), "{bad}");
        }
        let twice = json!({"type": "struct", "fields": [
            {"id": 1, "name": "a", "required": true, "type": "long"}, {"id": 1, "name": "b", "required": true, "type": "long"}]});
        assert!(schema_from_json(&twice).unwrap_err().to_string().contains("twice"));
        let mut deep = json!("int");
        for _ in 0..500 {
            deep = json!({"type": "list", "element-id": 1, "element": deep, "element-required": true});
        }
        assert!(type_from_json(&deep, 0).is_err());
    }
}
