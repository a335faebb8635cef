//! Types and fields as JSON, as in schema files.

use serde_json::{Map, Value as Json, json};

use super::data_type::{DataField, DataType, TypeKind};
use super::data_type_text::parse_type_text;
use crate::error::{Error, Result, ResultExt};
use crate::types::json_members::JsonMembers;

/// The members of a field that are known.
const KEYS: [&str; 5] = ["id", "name", "type", "description", "defaultValue"];

/// The members of an object that are not among the known ones. They are kept when the object is written again.
pub(crate) fn unknown_members(members: &Map<String, Json>, known: &[&str]) -> Map<String, Json> {
    let unknown = members.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    unknown.map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl DataField {
    /// Reads a field of a schema file.
    ///
    /// # Errors
    /// `CorruptTable` if it lacks an id, a name or a type; as [`DataType::from_json`].
    pub fn from_json(json: &Json) -> Result<DataField> {
        let members = JsonMembers::of(json, |what| Error::corrupt(format!("a field of the schema has no {what}")));
        let text = |key: &str| members.any_string(key).map(str::to_owned);
        let name = members.string("name")?;
        let ty = members.required("type").with("column", name)?;
        Ok(DataField {
            id: members.int("id").with("column", name)?,
            ty: DataType::from_json(ty).with("column", name)?,
            description: text("description"),
            default_value: text("defaultValue"),
            unknown: json.as_object().map(|members| unknown_members(members, &KEYS)).unwrap_or_default(),
            name: name.to_owned(),
        })
    }

    /// The field in the form of schema files.
    pub fn to_json(&self) -> Json {
        let mut out = Map::new();
        out.insert("id".to_owned(), json!(self.id));
        out.insert("name".to_owned(), json!(self.name));
        out.insert("type".to_owned(), self.ty.to_json());
        out.extend(self.description.as_ref().map(|d| ("description".to_owned(), json!(d))));
        out.extend(self.default_value.as_ref().map(|d| ("defaultValue".to_owned(), json!(d))));
        out.extend(self.unknown.clone());
        Json::Object(out)
    }
}

impl DataType {
    /// Reads a type of a schema file: SQL text, or an object for types with children.
    ///
    /// # Errors
    /// `CorruptTable` if it is not a type; `Unsupported` for types that Paimon 1.4 does not have.
    pub fn from_json(json: &Json) -> Result<DataType> {
        let object = match json {
            Json::String(text) => return parse_type_text(text),
            Json::Object(object) => object,
            _ => return Err(Error::corrupt(format!("{json} is not a type of the schema"))),
        };
        let members = JsonMembers::of_map(object, |what| Error::corrupt(format!("a type of the schema has no {what}")));
        let text = members.any_string("type").ok_or_else(|| members.wrong("name"))?;
        let child = |key: &str| DataType::from_json(members.required(key)?).map(Box::new);
        let name = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let kind = match name {
            "ARRAY" => TypeKind::Array(child("element")?),
            "MULTISET" => TypeKind::Multiset(child("element")?),
            "MAP" => TypeKind::Map(child("key")?, child("value")?),
            "VECTOR" => {
                let length = object.get("length").and_then(Json::as_u64).and_then(|n| u32::try_from(n).ok());
                TypeKind::Vector { element: child("element")?, length: length.ok_or_else(|| members.wrong("length"))? }
            }
            "ROW" => TypeKind::Row(members.list("fields")?.iter().map(DataField::from_json).collect::<Result<_>>()?),
            _ => return Err(Error::unsupported(format!("the type '{text}' is not supported"))),
        };
        Ok(DataType { kind, nullable: !text.contains("NOT NULL") })
    }

    /// The type in the form of schema files.
    pub fn to_json(&self) -> Json {
        let named = |name: &str| json!(if self.nullable { name.to_owned() } else { format!("{name} NOT NULL") });
        match &self.kind {
            TypeKind::Array(element) => json!({"type": named("ARRAY"), "element": element.to_json()}),
            TypeKind::Multiset(element) => json!({"type": named("MULTISET"), "element": element.to_json()}),
            TypeKind::Map(key, value) => {
                json!({"type": named("MAP"), "key": key.to_json(), "value": value.to_json()})
            }
            TypeKind::Vector { element, length } => {
                json!({"type": named("VECTOR"), "element": element.to_json(), "length": length})
            }
            TypeKind::Row(fields) => {
                let fields: Vec<Json> = fields.iter().map(DataField::to_json).collect();
                json!({"type": named("ROW"), "fields": fields})
            }
            _ => json!(self.to_string()),
        }
    }
}
