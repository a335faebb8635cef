//! What a new table is to be.

use std::collections::BTreeMap;

/// What a new table is to be; see [`Catalog::create_table`].
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Texts such as `day(ts)` or `bucket(16, user_id)`.
    pub partition_by: Vec<String>,
    /// Texts such as `ts desc nulls last`.
    pub sort_by: Vec<String>,
    /// Table properties; `format-version` chooses 1, 2 or 3 (default 2).
    pub properties: BTreeMap<String, String>,
    /// Columns that together identify a row, by dotted path; `None` for those that the schema says.
    pub identifier_fields: Option<Vec<String>>,
    /// Where it goes; a file-system catalog decides itself and refuses another place.
    pub location: Option<String>,
}
