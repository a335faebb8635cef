//! The wording of errors about the JSON of a table's handle. Each format has the members of its own handles.

use serde_json::Value as Json;

use crate::error::{Error, Result};
use crate::types::json_members::JsonMembers;
use crate::types::json_text;

const WRONG: &str = "the text is not JSON of a table";

pub(crate) fn parse(text: &str) -> Result<Json> {
    json_text::parse(text.as_bytes()).map_err(|e| Error::invalid(WRONG).because(e))
}

fn wrong(_key: &str) -> Error {
    Error::invalid(WRONG)
}

/// The members of a handle or of an object in it.
pub(crate) fn members(json: &Json) -> JsonMembers<'_> {
    JsonMembers::of(json, wrong)
}
