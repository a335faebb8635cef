//! Opens a table again from its JSON, in another process too.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::iceberg::catalog::interface::Opened;
use crate::iceberg::state::Table;
use crate::tables::catalog::Catalog;

impl Table {
    /// See [`Table::to_json`].
    ///
    /// # Errors
    /// `InvalidInput` if the text is not that; as [`Table::open`].
    pub(super) fn from_json(text: &str) -> Result<Table> {
        let wrong = || Error::invalid("this is no JSON of a table");
        let j: serde_json::Value = serde_json::from_str(text).map_err(|e| wrong().because(e))?;
        let location = j.get("metadata-location").and_then(|v| v.as_str()).ok_or_else(wrong)?;
        let options = texts(j.get("storage-options")).ok_or_else(wrong)?;
        let table = Table::open(location, options, j.get("moved").and_then(|v| v.as_bool()).unwrap_or(false))?;
        let Some(kept) = j.get("catalog") else { return Ok(table) };
        let member = |key: &str| kept.get(key).and_then(|v| v.as_str()).ok_or_else(wrong);
        let properties = texts(kept.get("properties")).ok_or_else(wrong)?;
        let store = table.inner.store.clone();
        let versions = Catalog::versions(member("name")?, properties, member("identifier")?, &store)?;
        let (metadata, found) = (table.inner.metadata.as_ref().clone(), table.inner.found.clone());
        Table::of_catalog(Opened { store, metadata, found, versions })
    }
}

/// The members of a JSON object of texts.
fn texts(object: Option<&serde_json::Value>) -> Option<BTreeMap<String, String>> {
    let members = object?.as_object()?.iter();
    Some(members.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect())
}
