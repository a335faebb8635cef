//! Schemas of new tables: checking them and numbering their columns.
//!
//! Source: Iceberg specification, "Schemas and Data Types", "Identifier Field IDs", "Appendix E" (additions of v3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::defaults::canonical;
use crate::error::{Error, Result};
use crate::types::schema_json::MAX_NEW_DEPTH;
use crate::types::{Field, FieldId, PrimitiveType, Schema, Type};

/// A schema with new ids, and the mapping from the old ids.
#[derive(Debug, Clone)]
pub struct FreshSchema {
    /// The schema, with id 0.
    pub schema: Schema,
    /// Old field id to new.
    pub ids: HashMap<FieldId, FieldId>,
}

/// Numbers the columns from 1, as the Java implementation does. All fields of a struct come first, then the fields
/// inside each of them, in order. The key of a map comes before its value.
///
/// # Errors
/// `InvalidInput` if an id is used twice, or a default is not a value of its column's type.
pub fn assign_fresh_ids(schema: &Schema) -> Result<FreshSchema> {
    Ok(numbered(schema, HashMap::new(), 0)?.0)
}

/// Numbers the columns like those of the same names in another schema. Columns of other names are numbered after
/// `last`, in the order of [`assign_fresh_ids`]. Returns the highest number ever used, too.
///
/// # Errors
/// As [`assign_fresh_ids`].
pub fn assign_ids_like(schema: &Schema, like: &Schema, last: FieldId) -> Result<(FreshSchema, FieldId)> {
    let known: HashMap<String, FieldId> = like.field_ids().filter_map(|id| Some((like.name_of(id)?, id))).collect();
    let same = |id: FieldId| Some((id, *known.get(&schema.name_of(id)?)?));
    numbered(schema, schema.field_ids().filter_map(same).collect(), last)
}

fn numbered(schema: &Schema, known: HashMap<FieldId, FieldId>, last: FieldId) -> Result<(FreshSchema, FieldId)> {
    let mut fresh = FreshIds { last, known, ids: HashMap::new() };
    let fields = fresh.fields(&schema.fields.iter().collect::<Vec<_>>())?;
    let identifiers = schema.identifier_field_ids.iter().map(|id| {
        let new = fresh.ids.get(id).copied();
        new.ok_or_else(|| Error::invalid(format!("the identifier field {id} is not in the schema")))
    });
    let identifiers = identifiers.collect::<Result<Vec<_>>>()?;
    Ok((FreshSchema { schema: Schema::new(0, fields, identifiers), ids: fresh.ids }, fresh.last))
}

struct FreshIds {
    last: FieldId,
    /// New ids by old ones, for columns that have one already.
    known: HashMap<FieldId, FieldId>,
    ids: HashMap<FieldId, FieldId>,
}

impl FreshIds {
    fn next(&mut self, old: &Field) -> Result<FieldId> {
        let id = match self.known.get(&old.id) {
            Some(id) => *id,
            None => {
                self.last =
                    self.last.checked_add(1).ok_or_else(|| Error::invalid("the schema has too many columns"))?;
                self.last
            }
        };
        match self.ids.insert(old.id, id) {
            None => Ok(id),
            Some(_) => {
                Err(Error::invalid(format!("the schema uses field id {} twice", old.id)).with("column", &old.name))
            }
        }
    }

    fn fields(&mut self, old: &[&Field]) -> Result<Vec<Field>> {
        let ids = old.iter().map(|f| self.next(f)).collect::<Result<Vec<_>>>()?;
        let mut out = Vec::with_capacity(old.len());
        for (field, id) in old.iter().zip(ids) {
            let default =
                |json: &Option<_>| canonical(json.as_ref(), &field.ty).map_err(|e| e.with("column", &field.name));
            let (initial_default, write_default) = (default(&field.initial_default)?, default(&field.write_default)?);
            out.push(Field { id, ty: self.ty(&field.ty)?, initial_default, write_default, ..(*field).clone() });
        }
        Ok(out)
    }

    fn ty(&mut self, old: &Type) -> Result<Type> {
        let one = |fields: Vec<Field>| fields.into_iter().next().map(Arc::new);
        let lost = || Error::internal("a nested type lost its field");
        Ok(match old {
            Type::Primitive(p) => Type::Primitive(p.clone()),
            Type::Struct(fields) => Type::Struct(self.fields(&fields.iter().collect::<Vec<_>>())?.into()),
            Type::List(element) => Type::List(one(self.fields(&[element])?).ok_or_else(lost)?),
            Type::Map(key, value) => {
                let mut fields = self.fields(&[key, value])?.into_iter().map(Arc::new);
                Type::Map(fields.next().ok_or_else(lost)?, fields.next().ok_or_else(lost)?)
            }
        })
    }
}

/// Checks a new schema: its names, its identifier fields, and that the format version supports its types and defaults.
///
/// # Errors
/// `InvalidInput` with the column.
pub fn check_schema(schema: &Schema, format_version: u8) -> Result<()> {
    let too_deep = schema.fields.iter().find(|f| depth_of(&f.ty) > MAX_NEW_DEPTH);
    if let Some(field) = too_deep {
        return Err(Error::invalid(format!("the type nests deeper than {MAX_NEW_DEPTH}"))
            .with("column", &field.name)
            .hint("Store the value as text or as a variant"));
    }
    let mut names = HashSet::new();
    check_fields(&schema.fields.iter().collect::<Vec<_>>(), "", format_version, &mut names)?;
    schema.identifier_field_ids.iter().try_for_each(|id| check_identifier(schema, *id))
}

/// The depth of nesting of types.
fn depth_of(ty: &Type) -> usize {
    ty.children().into_iter().map(|child| depth_of(&child.ty).saturating_add(1)).max().unwrap_or(0)
}

fn check_fields(fields: &[&Field], prefix: &str, version: u8, names: &mut HashSet<String>) -> Result<()> {
    for field in fields {
        let name = format!("{prefix}{}", field.name);
        let at = |problem: String| Err(Error::invalid(problem).with("column", &name));
        if field.name.is_empty() {
            return at("a column's name is empty".to_owned());
        }
        if !names.insert(name.clone()) {
            return at("two columns have this name".to_owned());
        }
        let newest = field.ty.as_primitive().is_some_and(needs_version_3);
        if newest && version < 3 {
            let problem = format!("the type {} needs format version 3, the table has {version}", field.ty);
            return at(problem).map_err(|e| e.hint(way_out(&field.ty)));
        }
        if field.required && matches!(field.ty, Type::Primitive(PrimitiveType::Unknown)) {
            return at("a column of type unknown is always null, so it can't be required".to_owned());
        }
        if matches!(&field.ty, Type::Struct(members) if members.is_empty()) {
            return at("a struct without fields can't be stored".to_owned());
        }
        if let Type::Primitive(PrimitiveType::Fixed(length)) = &field.ty
            && (*length == 0 || i32::try_from(*length).is_err())
        {
            return at(format!("values of {length} bytes can't be stored, so the type {} is not possible", field.ty));
        }
        if field.initial_default.is_some() && version < 3 {
            let problem = format!("an initial default needs format version 3, the table has {version}");
            return at(problem).map_err(|e| e.hint(format!("{NEWER}, or leave out the default")));
        }
        check_fields(&field.ty.children(), &format!("{name}."), version, names)?;
    }
    Ok(())
}

/// How a table gets format version 3.
const NEWER: &str =
    "Create the table with properties={'format-version': 3}, or raise its version with table.upgrade(3)";

/// What to do about a type that needs format version 3.
fn way_out(ty: &Type) -> String {
    use PrimitiveType as P;
    let other = match ty.as_primitive() {
        Some(P::TimestampNs) => "use microseconds: pyarrow.timestamp('us')",
        Some(P::TimestamptzNs) => "use microseconds: pyarrow.timestamp('us', 'UTC')",
        Some(P::Unknown) => "give the column a type: a column with only nulls has none in Arrow",
        Some(P::Geometry { .. } | P::Geography { .. }) => "store the well-known binary in a binary column",
        _ => "store the value as text",
    };
    format!("{NEWER}, or {other}")
}

fn needs_version_3(ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(ty, P::TimestampNs | P::TimestamptzNs | P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. })
}

/// Checks that an identifier field is required, primitive and not floating-point, and that its enclosing structs are
/// required.
fn check_identifier(schema: &Schema, id: FieldId) -> Result<()> {
    let path = schema.path(id).unwrap_or_default();
    let Some((field, parents)) = path.split_last() else {
        return Err(Error::invalid(format!("the identifier field {id} is not in the schema")));
    };
    let problem = match &field.ty {
        Type::Primitive(p) if p.is_float() => Some("is floating-point"),
        Type::Primitive(_) if !field.required => Some("is not required"),
        Type::Primitive(_) => None,
        _ => Some("is nested"),
    };
    let outside = parents.iter().any(|p| !p.required || !matches!(p.ty, Type::Struct(_)));
    match problem.or(outside.then_some("lies in a list, a map or an optional struct")) {
        None => Ok(()),
        Some(problem) => Err(Error::invalid(format!("the identifier field {problem}"))
            .with("column", schema.name_of(id).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::schema_json::{schema_from_json, schema_to_json};
    use serde_json::Value as Json;

    /// A table of every nested shape that Java Iceberg 1.12 created: numbers scrambled, then assigned again.
    #[test]
    fn ids_follow_the_reference() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/metadata/nested_v2.v1.json");
        let metadata: Json = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let java = &metadata["schemas"][0];
        let scrambled = scramble(java.clone());
        assert_ne!(&scrambled, java);
        let fresh = assign_fresh_ids(&schema_from_json(&scrambled).unwrap()).unwrap();
        assert_eq!(&schema_to_json(&fresh.schema), java);
        assert_eq!(fresh.ids[&(1000 - 26 * 7)], 26);
    }

    fn scramble(j: Json) -> Json {
        match j {
            Json::Object(map) => {
                let member = |(k, v): (String, Json)| match (k.as_str(), v.as_i64()) {
                    ("id" | "element-id" | "key-id" | "value-id", Some(id)) => (k, Json::from(1000 - id * 7)),
                    _ => (k, scramble(v)),
                };
                Json::Object(map.into_iter().map(member).collect())
            }
            Json::Array(items) => Json::Array(items.into_iter().map(scramble).collect()),
            other => other,
        }
    }

    #[test]
    fn bad_schemas_are_refused() {
        let f = |id, name: &str, required, ty: PrimitiveType| Field::new(id, name, required, ty);
        let s = |fields: Vec<Field>, ids| Schema::new(0, fields, ids);
        let twice = s(vec![f(1, "a", true, PrimitiveType::Int), f(2, "a", true, PrimitiveType::Int)], vec![]);
        let nano = s(vec![f(1, "a", true, PrimitiveType::TimestampNs)], vec![]);
        let float = s(vec![f(1, "a", true, PrimitiveType::Double)], vec![1]);
        let optional = s(vec![f(1, "a", false, PrimitiveType::Int)], vec![1]);
        let missing = s(vec![f(1, "a", true, PrimitiveType::Int)], vec![2]);
        let empty = s(vec![f(1, "", true, PrimitiveType::Int)], vec![]);
        for schema in [&twice, &nano, &float, &optional, &missing, &empty] {
            assert!(check_schema(schema, 2).is_err(), "{schema}");
        }
        assert!(check_schema(&nano, 3).is_ok());
        let clash = s(vec![f(1, "a", true, PrimitiveType::Int), f(1, "b", true, PrimitiveType::Int)], vec![]);
        assert!(assign_fresh_ids(&clash).is_err());
    }

    /// Every created table can be opened, and deeper columns are refused before anything is written.
    #[test]
    fn types_nest_as_deep_as_they_can_be_read() {
        let column = |depth: usize| {
            let leaf = Type::Primitive(PrimitiveType::Long);
            let ty = (0..depth).fold(leaf, |ty, level| {
                Type::Struct([Field { ty, ..Field::new(level as i32 + 2, "a", false, PrimitiveType::Int) }].into())
            });
            Schema::new(0, vec![Field { ty, ..Field::new(1, "c", false, PrimitiveType::Int) }], vec![])
        };
        check_schema(&column(MAX_NEW_DEPTH), 2).unwrap();
        let e = check_schema(&column(MAX_NEW_DEPTH + 1), 2).unwrap_err();
        assert!(e.to_string().contains("nests deeper than 100"), "{e}");
        // Other tools make deeper columns, as deep as Java's JSON library can read them.
        for depth in [MAX_NEW_DEPTH, 120] {
            let text = schema_to_json(&column(depth)).to_string();
            let read = schema_from_json(&crate::types::json_text::parse(text.as_bytes()).unwrap()).unwrap();
            assert_eq!(read.fields, column(depth).fields);
        }
    }
}
