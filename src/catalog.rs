//! Catalogs: names to tables.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::table::Table;
use crate::types::Schema;

/// What a new table is to be; see [`Catalog::create_table`].
#[derive(Clone, Debug, Default)]
pub struct NewTable {
    /// Texts such as `day(ts)` or `bucket(16, user_id)`.
    pub partition_by: Vec<String>,
    /// Texts such as `ts desc nulls last`.
    pub sort_by: Vec<String>,
    /// Table properties; `format-version` chooses 1, 2 or 3 (default 2).
    pub properties: BTreeMap<String, String>,
    /// Where it goes; `None`: below the warehouse.
    pub location: Option<String>,
}

/// A catalog. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {}

fn later<T>() -> Result<T> {
    Err(Error::unsupported("not built yet"))
}

impl Catalog {
    /// Opens a catalog: `properties` has `type` and what that needs (`warehouse`).
    pub fn open(_name: &str, _properties: BTreeMap<String, String>) -> Result<Catalog> {
        later()
    }
    /// Its name.
    pub fn name(&self) -> &str {
        ""
    }
    /// Its properties.
    pub fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Makes a namespace (`a.b` nests).
    pub fn create_namespace(&self, _namespace: &str, _if_not_exists: bool) -> Result<()> {
        later()
    }
    /// Removes an empty namespace.
    pub fn drop_namespace(&self, _namespace: &str) -> Result<()> {
        later()
    }
    /// Namespaces directly below `parent`, dotted.
    pub fn list_namespaces(&self, _parent: Option<&str>) -> Result<Vec<String>> {
        later()
    }
    /// Tables of a namespace, as `namespace.name`.
    pub fn list_tables(&self, _namespace: &str) -> Result<Vec<String>> {
        later()
    }
    /// Whether the table exists.
    pub fn table_exists(&self, _identifier: &str) -> Result<bool> {
        later()
    }
    /// Opens a table.
    pub fn load_table(&self, _identifier: &str) -> Result<Table> {
        later()
    }
    /// Creates an empty table.
    pub fn create_table(&self, _identifier: &str, _schema: &Schema, _request: NewTable) -> Result<Table> {
        later()
    }
    /// Removes a table with all its files.
    pub fn drop_table(&self, _identifier: &str) -> Result<()> {
        later()
    }
}
