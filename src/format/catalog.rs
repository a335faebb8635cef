//! The definition of a new table, and a catalog's entry of a table.

use std::collections::BTreeMap;

/// The definition of a new table; see `Catalog::create_table`.
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Texts such as `day(ts)` or `bucket(16, user_id)`.
    pub partition_by: Vec<String>,
    /// Texts such as `ts desc nulls last`.
    pub sort_by: Vec<String>,
    /// Table properties; `format-version` chooses 1, 2 or 3 (default 2).
    pub properties: BTreeMap<String, String>,
    /// Columns that together identify a row, by dotted path; `None` takes those of the schema.
    pub identifier_fields: Option<Vec<String>>,
    /// Exact types of columns by name, as texts, where the format has more types than this crate: `VARCHAR(20)`.
    pub declared_types: BTreeMap<String, String>,
    /// Its location. A file-system catalog chooses the location itself and refuses another one.
    pub location: Option<String>,
}

/// Labels that a catalog attaches to a table and to its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableLabels {
    /// Labels of the table, by name.
    pub table: BTreeMap<String, String>,
    /// Labels of columns, by field id.
    pub columns: BTreeMap<i32, BTreeMap<String, String>>,
    /// Other members of the catalog's answer, which mean nothing here, as JSON.
    pub others: BTreeMap<String, String>,
}
