//! Names that columns have in files without field ids.
//!
//! Source: Iceberg specification, "Column Projection" and Appendix C, "Name Mapping Serialization".

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Value as Json, json};

use super::json_members::JsonMembers;
use super::json_text;
use super::schema::{Field, FieldId, Schema};
use crate::error::{Error, Result};

/// The deepest nesting of a mapping.
const MAX_DEPTH: usize = 100;

/// The columns in one place of a file (at the top, or in one column) by their names there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameMapping(HashMap<String, MappedField>);

/// The column that a name in a file stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MappedField {
    /// The column's field id; `None` for a column that the table does not have.
    pub id: Option<FieldId>,
    /// The names below the column: the members of a struct, `element` of a list, `key` and `value` of a map.
    pub fields: NameMapping,
}

impl NameMapping {
    /// Reads the value of the table property `schema.name-mapping.default`.
    ///
    /// # Errors
    /// `CorruptTable` if it is not a name mapping, if a name occurs twice in one place, or if it nests too deep.
    pub fn parse(text: &str) -> Result<NameMapping> {
        let json = json_text::parse(text.as_bytes()).map_err(|e| bad("it is not JSON").because(e))?;
        from_json(&json, 0)
    }

    /// Each column by its own name alone. This is assumed for Avro and ORC files where the table has no mapping.
    pub fn of_names(fields: &[Field]) -> NameMapping {
        NameMapping::of(&fields.iter().collect::<Vec<_>>())
    }

    fn of(fields: &[&Field]) -> NameMapping {
        let mapped =
            |f: &&Field| (f.name.clone(), MappedField { id: Some(f.id), fields: NameMapping::of(&f.ty.children()) });
        NameMapping(fields.iter().map(mapped).collect())
    }

    /// The mapping of a schema's own names, as in the table property.
    pub fn text_of(schema: &Schema) -> String {
        Json::Array(schema.fields.iter().map(mapped_json).collect()).to_string()
    }

    /// The column that a name stands for, case-sensitively. A dot in the name is a part of it.
    pub fn find(&self, name: &str) -> Option<&MappedField> {
        self.0.get(name)
    }
}

fn mapped_json(field: &Field) -> Json {
    let mut out = json!({"field-id": field.id, "names": [field.name]});
    let below: Vec<Json> = field.ty.children().into_iter().map(mapped_json).collect();
    if !below.is_empty() {
        out["fields"] = Json::Array(below);
    }
    out
}

fn from_json(json: &Json, depth: usize) -> Result<NameMapping> {
    if depth > MAX_DEPTH {
        return Err(bad("it nests too deep"));
    }
    let fields = json.as_array().ok_or_else(|| bad("a list of fields was expected"))?;
    let mut out = HashMap::new();
    for field in fields {
        let field = field.as_object().ok_or_else(|| bad("a field is not an object"))?;
        let members = JsonMembers::of_map(field, |key| bad(&format!("`{key}` of a field has a wrong type")));
        let id = members.given_int("field-id")?;
        let below = match members.get("fields") {
            None => NameMapping::default(),
            Some(below) => from_json(below, depth + 1)?,
        };
        let names = if field.contains_key("names") { members.strings("names")? } else { Vec::new() };
        for name in names {
            match out.entry(name) {
                Entry::Vacant(free) => drop(free.insert(MappedField { id, fields: below.clone() })),
                Entry::Occupied(twin) => {
                    return Err(bad(&format!("the name '{}' occurs twice in one place", twin.key())));
                }
            }
        }
    }
    Ok(NameMapping(out))
}

fn bad(problem: &str) -> Error {
    Error::corrupt(format!("the table's name mapping cannot be used: {problem}"))
        .hint("See the table property schema.name-mapping.default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{PrimitiveType, Type};
    use std::sync::Arc;

    /// The example of the specification's Appendix C, with another name of a column nested in a struct.
    #[test]
    fn reads_names_at_every_depth() {
        let mapping = NameMapping::parse(
            r#"[{"field-id": 1, "names": ["id", "record_id"]}, {"field-id": 2, "names": ["data"]},
                {"field-id": 3, "names": ["location"], "fields": [
                    {"field-id": 4, "names": ["latitude", "lat"]}, {"field-id": 5, "names": ["longitude", "long"]}]},
                {"field-id": 6, "names": []}, {"names": ["a.b"], "fields": [{"field-id": 8, "names": ["c"]}]}]"#,
        )
        .unwrap();
        let id = |path: &[&str]| {
            let (last, around) = path.split_last().unwrap();
            let place = around.iter().try_fold(&mapping, |m, name| m.find(name).map(|f| &f.fields));
            place.and_then(|m| m.find(last)).and_then(|f| f.id)
        };
        assert_eq!((id(&["id"]), id(&["record_id"])), (Some(1), Some(1)));
        assert_eq!((id(&["location", "lat"]), id(&["location", "long"])), (Some(4), Some(5)));
        assert_eq!((id(&["a.b"]), id(&["a.b", "c"]), id(&["a", "b"])), (None, Some(8), None));
        assert_eq!((id(&["ID"]), id(&["location", "id"])), (None, None));
    }

    #[test]
    fn names_of_a_schema() {
        let list = Type::List(Arc::new(Field::new(3, "element", false, PrimitiveType::Int)));
        let mapping = NameMapping::of_names(&[Field::new(1, "l", false, list)]);
        let found = mapping.find("l").unwrap();
        assert_eq!((found.id, found.fields.find("element").unwrap().id), (Some(1), Some(3)));
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        let deep = "[{\"names\": [\"a\"], \"fields\": ".repeat(200);
        for text in ["", "{}", "[1]", r#"[{"names": "a"}]"#, r#"[{"names": [1]}]"#, &deep] {
            assert!(NameMapping::parse(text).is_err(), "{text}");
        }
        for text in [
            r#"[{"field-id": "1", "names": ["a"]}]"#,
            r#"[{"field-id": 4294967296, "names": ["a"]}]"#,
            r#"[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["a"]}]"#,
        ] {
            assert!(NameMapping::parse(text).is_err(), "{text}");
        }
    }
}
