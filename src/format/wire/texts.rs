//! JSON objects of texts, such as the options of a store.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// Reads the members of an object that are texts. `None` if this is not an object.
pub(crate) fn texts(object: Option<&Json>) -> Option<BTreeMap<String, String>> {
    let members = object?.as_object()?.iter();
    Some(members.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect())
}
