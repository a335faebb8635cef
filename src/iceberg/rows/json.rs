//! Changes of rows as JSON, in which form they come from Python.

use serde_json::Value as Json;

use crate::error::{Error, Result, ResultExt};
use crate::expr::{Literal, Op, Predicate, Term, parse};
use crate::format::row_change::{Assigned, Columns, Merge, Part, RowChange};
use crate::types::Transform;

/// Reads a change: `{"change": "delete", "where": "id < 5"}`.
///
/// # Errors
/// `InvalidInput` if the text is none, or a filter or value in it can't be read.
pub fn row_change_from_json(text: &str) -> Result<RowChange> {
    let json: Json = serde_json::from_str(text).map_err(|e| wrong().because(e))?;
    let filter = || match json.get("where") {
        Some(Json::String(text)) => parse(text),
        _ => Err(wrong()),
    };
    Ok(match json.get("change").and_then(Json::as_str) {
        Some("delete") => RowChange::Delete(filter()?),
        Some("overwrite") => RowChange::Overwrite(filter()?),
        Some("overwrite-partitions") => RowChange::OverwritePartitions,
        Some("update") => {
            let set = json.get("set").and_then(Json::as_object).ok_or_else(wrong)?;
            let one = |(name, v): (&String, &Json)| Ok((name.clone(), assigned(v).with("column", name)?));
            RowChange::Update(filter()?, set.iter().map(one).collect::<Result<_>>()?)
        }
        Some("merge") => RowChange::Merge(merge(&json)?),
        Some("delete-keys") => RowChange::DeleteKeys(key(&json)?),
        Some("replace-keys") => RowChange::ReplaceKeys(key(&json)?),
        Some("delete-positions") => RowChange::DeletePositions,
        _ => return Err(wrong()),
    })
}

/// Reads a part: `{"change": {…}, "files": […]}` of a delete or an update, or `{"change": {…}, "where": "id >= 5"}` of a merge.
///
/// # Errors
/// As [`row_change_from_json`].
pub fn part_from_json(text: &str) -> Result<Part> {
    let json: Json = serde_json::from_str(text).map_err(|e| wrong().because(e))?;
    let change = row_change_from_json(&json.get("change").ok_or_else(wrong)?.to_string())?;
    if let Some(files) = json.get("files").and_then(Json::as_array) {
        let files = files.iter().map(|path| path.as_str().map(str::to_owned)).collect::<Option<_>>();
        return Ok(Part::Files { change, files: files.ok_or_else(wrong)? });
    }
    match (change, json.get("where").and_then(Json::as_str)) {
        (RowChange::Merge(merge), Some(filter)) => Ok(Part::Matches { merge, filter: parse(filter)? }),
        _ => Err(wrong()),
    }
}

fn wrong() -> Error {
    Error::invalid("this is no JSON of a change of rows")
}

/// `null`, `{"literal": "'text'"}` or `{"column": "name"}`, quoted as in filters.
fn assigned(json: &Json) -> Result<Assigned> {
    if json.is_null() {
        return Ok(Assigned::Value(None));
    }
    if let Some(term) = json.get("column").and_then(Json::as_str) {
        return column(term).map(Assigned::Column);
    }
    let text = json.get("literal").and_then(Json::as_str).ok_or_else(wrong)?;
    literal(text).map(|l| Assigned::Value(Some(l)))
}

/// A literal as filters have it.
fn literal(text: &str) -> Result<Literal> {
    match parse(&format!("x = {text}"))? {
        Predicate::Leaf(_, Op::Eq, mut literals) if literals.len() == 1 => literals.pop().ok_or_else(wrong),
        _ => Err(Error::invalid("this is no value").with("value", text)),
    }
}

/// The name of a column of the table itself.
fn column(text: &str) -> Result<String> {
    match parse(&format!("{text} is null"))? {
        Predicate::Leaf(Term { mut path, transform: Transform::Identity }, Op::IsNull, _) if path.len() == 1 => {
            path.pop().ok_or_else(wrong)
        }
        _ => Err(Error::invalid("only columns that are not members of others can be copied").with("column", text)),
    }
}

/// The columns of a key; none where it says none.
fn key(json: &Json) -> Result<Vec<String>> {
    match json.get("on") {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(on) => {
            let names = on.as_array().ok_or_else(wrong)?.iter().map(|n| n.as_str().map(str::to_owned));
            names.collect::<Option<_>>().ok_or_else(wrong)
        }
    }
}

fn merge(json: &Json) -> Result<Merge> {
    Ok(Merge {
        on: key(json)?,
        update: columns(json.get("update"))?,
        delete: condition(json.get("delete"))?,
        insert: columns(json.get("insert"))?,
        delete_missing: condition(json.get("delete-missing"))?,
    })
}

/// `null`, `true` (by name) or `{"table's column": "data's column"}`.
fn columns(json: Option<&Json>) -> Result<Option<Columns>> {
    Ok(match json {
        None | Some(Json::Null | Json::Bool(false)) => None,
        Some(Json::Bool(true)) => Some(Columns::ByName),
        Some(Json::Object(pairs)) => {
            let pair = |(to, from): (&String, &Json)| Some((to.clone(), from.as_str()?.to_owned()));
            Some(Columns::Of(pairs.iter().map(pair).collect::<Option<_>>().ok_or_else(wrong)?))
        }
        Some(_) => return Err(wrong()),
    })
}

/// `null` or a filter as text.
fn condition(json: Option<&Json>) -> Result<Option<Predicate>> {
    match json {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => parse(text).map(Some),
        Some(_) => Err(wrong()),
    }
}
