//! Members of JSON objects, read with an error that names the member.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::error::{Error, Result};

pub(crate) fn parse(text: impl AsRef<[u8]>) -> Result<Json> {
    serde_json::from_slice(text.as_ref()).map_err(|e| Error::invalid("the text is not the JSON of a task").because(e))
}

pub(crate) fn wrong(key: &str) -> Error {
    Error::invalid(format!("'{key}' of the task's JSON is missing or of the wrong type"))
}

pub(crate) fn member<'a>(j: &'a Json, key: &str) -> Result<&'a Json> {
    j.get(key).ok_or_else(|| wrong(key))
}

pub(crate) fn array<'a>(j: &'a Json, key: &str) -> Result<&'a Vec<Json>> {
    member(j, key)?.as_array().ok_or_else(|| wrong(key))
}

pub(crate) fn text_of<'a>(j: &'a Json, key: &str) -> Result<&'a str> {
    member(j, key)?.as_str().ok_or_else(|| wrong(key))
}

pub(crate) fn int_of(j: &Json, key: &str) -> Result<i64> {
    member(j, key)?.as_i64().ok_or_else(|| wrong(key))
}

pub(crate) fn id_of(j: &Json, key: &str) -> Result<i32> {
    i32::try_from(int_of(j, key)?).map_err(|_| wrong(key))
}

/// Reads the members of an object that are texts. `None` if this is not an object.
pub(crate) fn texts(object: Option<&Json>) -> Option<BTreeMap<String, String>> {
    let members = object?.as_object()?.iter();
    Some(members.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect())
}
