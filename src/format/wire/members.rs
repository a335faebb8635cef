//! The wording of errors about the JSON of tasks.

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::types::json_members::JsonMembers;
use crate::types::json_text;

pub(crate) fn parse(text: impl AsRef<[u8]>) -> Result<Json> {
    json_text::parse(text.as_ref()).map_err(|e| Error::invalid("the text is not the JSON of a task").because(e))
}

pub(crate) fn wrong(key: &str) -> Error {
    Error::invalid(format!("'{key}' of the task's JSON is missing or of the wrong type"))
}

/// The members of an object in a task, a split or a message.
pub(crate) fn members(json: &Json) -> JsonMembers<'_> {
    JsonMembers::of(json, wrong)
}
