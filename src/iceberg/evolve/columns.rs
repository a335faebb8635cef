//! Finding columns by the names that a user writes.

use crate::error::{Error, Result};
use crate::types::suggest::suggest;
use crate::types::{Field, Schema, Type};

/// A path with dots between its names.
pub(super) fn dotted(path: &[String]) -> String {
    path.join(".")
}

/// Whether two names are the same.
pub(super) fn same_name(a: &str, b: &str, case_sensitive: bool) -> bool {
    if case_sensitive { a == b } else { a.to_lowercase() == b.to_lowercase() }
}

/// The column that a path leads to. As in the reference, paths through lists and maps may leave out `element` and
/// `value`.
///
/// # Errors
/// `InvalidInput` if several columns have the name when case is ignored.
pub(super) fn find<'a>(schema: &'a Schema, path: &[String], case_sensitive: bool) -> Result<Option<&'a Field>> {
    find_in(&schema.fields.iter().collect::<Vec<_>>(), path, case_sensitive).map_err(|e| e.with("column", dotted(path)))
}

fn find_in<'a>(fields: &[&'a Field], path: &[String], case_sensitive: bool) -> Result<Option<&'a Field>> {
    for taken in (1..=path.len()).rev() {
        let name = dotted(&path[..taken]);
        let mut hits = fields.iter().filter(|f| same_name(&f.name, &name, case_sensitive));
        let Some(&hit) = hits.next() else { continue };
        if hits.next().is_some() {
            return Err(Error::invalid(format!("several columns are named '{name}' when case is ignored")));
        }
        let found = match &path[taken..] {
            [] => Some(hit),
            rest => below(hit, rest, case_sensitive)?,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn below<'a>(field: &'a Field, path: &[String], case_sensitive: bool) -> Result<Option<&'a Field>> {
    let found = find_in(&field.ty.children(), path, case_sensitive)?;
    match (&field.ty, found) {
        (Type::List(inner) | Type::Map(_, inner), None) if matches!(inner.ty, Type::Struct(_)) => {
            find_in(&inner.ty.children(), path, case_sensitive)
        }
        (_, found) => Ok(found),
    }
}

/// As [`find`], for a column that must exist.
///
/// # Errors
/// `InvalidInput` if it does not exist, naming similar columns.
pub(super) fn require<'a>(schema: &'a Schema, path: &[String], case_sensitive: bool) -> Result<&'a Field> {
    find(schema, path, case_sensitive)?.ok_or_else(|| missing(schema, path))
}

/// The error for a missing column.
pub(super) fn missing(schema: &Schema, path: &[String]) -> Error {
    let error = Error::invalid(format!("there is no column '{}'", dotted(path))).with("column", dotted(path));
    let mut names: Vec<String> = schema.field_ids().filter_map(|id| schema.name_of(id)).collect();
    names.sort();
    match suggest(&names, &dotted(path)).as_slice() {
        [] => {
            let top: Vec<&str> = schema.fields.iter().map(|f| f.name.as_str()).take(20).collect();
            error.hint(format!("The columns are: {}", top.join(", ")))
        }
        alike => {
            let alike: Vec<&str> = alike.iter().map(|n| n.as_str()).collect();
            error.hint(format!("Did you mean {}?", alike.join(" or ")))
        }
    }
}
