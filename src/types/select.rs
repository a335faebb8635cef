//! Selecting columns: a schema pruned to dotted paths.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::metadata_columns::{LINEAGE_COLUMNS, is_metadata, metadata_column};
use super::schema::{Field, FieldId, Schema, Type};
use super::suggest::suggestion_hint;
use crate::error::{Error, Result};

/// The schema pruned to `columns`, with top-level columns in the order of `columns`. A path into a struct keeps the
/// nesting. The struct is pruned to its selected members, in the table's order. A column that is selected whole wins
/// over its parts. As in Java, members that a filter asks about (`filtered`) stay in a struct if anything in it is
/// selected.
///
/// # Errors
/// `InvalidInput` for a column that does not exist, naming those that do.
pub fn select(schema: &Schema, columns: &[String], filtered: &[FieldId], case_sensitive: bool) -> Result<Schema> {
    let mut wanted: Vec<FieldId> = Vec::new();
    for column in columns {
        let path: Vec<&str> = column.split('.').collect();
        check_parts(path.len())?;
        match schema.find(&path, case_sensitive) {
            Some(field) => wanted.push(field.id),
            None => return Err(unknown(schema, column)),
        }
    }
    let mut order: Vec<&Field> = Vec::new();
    let mut seen: HashSet<FieldId> = HashSet::new();
    for id in &wanted {
        if let Some(top) = schema.path(*id).and_then(|p| p.first().copied())
            && seen.insert(top.id)
        {
            order.push(top);
        }
    }
    let wanted: HashSet<FieldId> = wanted.iter().chain(filtered).copied().collect();
    let fields: Vec<Field> = order.into_iter().filter_map(|f| prune(f, &wanted)).collect();
    let mut kept = Schema::new(schema.id, fields, Vec::new());
    let identifiers = schema.identifier_field_ids.iter().copied();
    kept.identifier_field_ids = identifiers.filter(|id| kept.field(*id).is_some()).collect();
    Ok(kept)
}

/// The most parts, separated by dots, that the name of a column may have when it is looked up.
pub const MOST_NAME_PARTS: usize = 100_000;

/// Refuses a dotted name with too many parts.
///
/// # Errors
/// `InvalidInput`, naming the limit.
pub fn check_parts(parts: usize) -> Result<()> {
    if parts <= MOST_NAME_PARTS {
        return Ok(());
    }
    let message = format!("the name of a column has {parts} parts between dots; at most {MOST_NAME_PARTS} are allowed");
    Err(Error::invalid(message).hint("Check that a name and no other text was given"))
}

/// The schema pruned to the columns with these ids, in the table's order, structs pruned as well.
pub fn prune_to(schema: &Schema, ids: &[FieldId]) -> Schema {
    let ids: HashSet<FieldId> = ids.iter().copied().collect();
    let fields: Vec<Field> = schema.fields.iter().filter_map(|f| prune(f, &ids)).collect();
    Schema::new(schema.id, fields, Vec::new())
}

/// The primitive columns that `schema` lacks and others have, except those inside lists and maps. Each is in a schema
/// of its own, where all fields are optional. If several of `others` have a column, the last one counts.
pub fn dropped<'a>(schema: &Schema, others: impl DoubleEndedIterator<Item = &'a Schema>) -> Vec<Schema> {
    let mut out: BTreeMap<FieldId, Schema> = BTreeMap::new();
    for other in others.rev() {
        for id in other.field_ids().filter(|id| schema.field(*id).is_none()) {
            if let (false, Some(column)) = (out.contains_key(&id), other.path(id).and_then(|path| alone(&path))) {
                out.insert(id, Schema::new(other.id, vec![column], Vec::new()));
            }
        }
    }
    out.into_values().collect()
}

/// The top-level column with nothing but this path of structs to a primitive in it.
fn alone(path: &[&Field]) -> Option<Field> {
    let (leaf, around) = path.split_last()?;
    leaf.ty.as_primitive()?;
    let plain = |f: &Field, ty: Type| Field {
        initial_default: f.initial_default.clone(),
        ..Field::new(f.id, f.name.clone(), false, ty)
    };
    around.iter().rev().try_fold(plain(leaf, leaf.ty.clone()), |inner, around| match around.ty {
        Type::Struct(_) => Some(plain(around, Type::Struct(vec![inner].into()))),
        _ => None,
    })
}

fn unknown(schema: &Schema, column: &str) -> Error {
    if LINEAGE_COLUMNS.into_iter().filter_map(metadata_column).any(|c| c.name == column) {
        return Error::invalid(format!("there is no column '{column}'"))
            .with("column", column)
            .hint("Tables have row lineage from format version 3 on");
    }
    let bare = column.replace('"', "");
    if bare != column && schema.find(&bare.split('.').collect::<Vec<_>>(), true).is_some() {
        let error = Error::invalid(format!("there is no column '{column}'")).with("column", column);
        return error.hint(format!("Names are selected without quotes: '{bare}'"));
    }
    Error::invalid(format!("there is no column '{column}'")).with("column", column).hint(column_hint(schema, column))
}

/// A hint for a column that does not exist. It lists similar names, or else the names of the columns.
pub fn column_hint(schema: &Schema, column: &str) -> String {
    let paths: Vec<String> = schema.field_ids().filter_map(|id| schema.name_of(id)).take(5000).collect();
    let own = schema.fields.iter().filter(|f| !is_metadata(f.id));
    suggestion_hint(&paths, &own.map(|f| f.name.as_str()).take(50).collect::<Vec<_>>(), column)
}

/// The field cut to the wanted ids. `None` if none of its ids is wanted.
fn prune(field: &Field, wanted: &HashSet<FieldId>) -> Option<Field> {
    if wanted.contains(&field.id) {
        return Some(field.clone());
    }
    let ty = match &field.ty {
        Type::Primitive(_) => return None,
        Type::Struct(fields) => {
            let kept: Vec<Field> = fields.iter().filter_map(|f| prune(f, wanted)).collect();
            if kept.is_empty() {
                return None;
            }
            Type::Struct(kept.into())
        }
        Type::List(element) => Type::List(Arc::new(prune(element, wanted)?)),
        // A map keeps its keys: values alone are not a map. Asking for the key alone gives the whole map.
        Type::Map(key, value) => match prune(value, wanted) {
            Some(value) => Type::Map(key.clone(), Arc::new(value)),
            None if prune(key, wanted).is_some() => field.ty.clone(),
            None => return None,
        },
    };
    Some(Field { ty, ..field.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::PrimitiveType::*;

    fn schema() -> Schema {
        let inner = Type::Struct(vec![Field::new(4, "a", false, Int), Field::new(5, "b", false, Long)].into());
        let value = Arc::new(Field::new(8, "value", false, inner.clone()));
        let map = Type::Map(Arc::new(Field::new(7, "key", true, String)), value);
        Schema::new(
            1,
            vec![
                Field::new(1, "id", true, Long),
                Field::new(
                    2,
                    "p",
                    false,
                    Type::Struct(vec![Field::new(10, "x", false, Int), Field::new(11, "y", false, Int)].into()),
                ),
                Field::new(3, "m", false, map),
            ],
            vec![1],
        )
    }

    fn names(columns: &[&str]) -> Vec<std::string::String> {
        columns.iter().map(|c| c.to_string()).collect()
    }

    #[test]
    fn keeps_nesting_and_the_order_asked_for() {
        let s = select(&schema(), &names(&["p.y", "id", "p.x"]), &[], true).unwrap();
        assert_eq!(s.fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["p", "id"]);
        assert_eq!(s.fields[0].ty.children().len(), 2);
        assert_eq!(s.identifier_field_ids, [1]);
        let s = select(&schema(), &names(&["p.y"]), &[10, 1], true).unwrap();
        assert_eq!(s.fields.len(), 1);
        assert_eq!(s.fields[0].ty.children().len(), 2);
        let s = select(&schema(), &names(&["m.value.b"]), &[], true).unwrap();
        assert_eq!(s.fields[0].to_string(), "3: m: optional map<string, struct<5: b: optional long>>");
    }

    #[test]
    fn dropped_columns_are_found_at_any_depth() {
        let now = Schema::new(3, vec![Field::new(1, "id", true, Long)], vec![]);
        let newer = Schema::new(2, vec![Field::new(20, "z", true, Long)], vec![]);
        let older = Schema::new(0, vec![Field::new(20, "z", true, Int)], vec![]);
        let found = dropped(&now, [&older, &schema(), &newer].into_iter());
        let texts: Vec<_> = found.iter().map(|s| s.fields[0].to_string()).collect();
        assert_eq!(
            texts,
            [
                "2: p: optional struct<10: x: optional int>",
                "2: p: optional struct<11: y: optional int>",
                "20: z: optional long"
            ]
        );
        assert!(dropped(&schema(), [&schema(), &now].into_iter()).is_empty());
    }

    #[test]
    fn names_what_is_missing() {
        let e = select(&schema(), &names(&["nope"]), &[], true).unwrap_err().to_string();
        assert!(e.contains("'nope'") && e.contains("id, p, m"), "{e}");
        assert!(select(&schema(), &names(&["ID"]), &[], true).is_err());
        assert!(select(&schema(), &names(&["ID"]), &[], false).is_ok());
        let e = select(&schema(), &names(&["\"p.x\""]), &[], true).unwrap_err().to_string();
        assert!(e.contains("without quotes: 'p.x'"), "{e}");
        let e = select(&schema(), &names(&["_row_id"]), &[], true).unwrap_err().to_string();
        assert!(e.contains("format version 3"), "{e}");
        let e = select(&schema(), &[".a".repeat(200_000)], &[], true).unwrap_err().to_string();
        assert!(e.contains("200001 parts") && e.len() < 300, "{}", e.len());
    }
}
