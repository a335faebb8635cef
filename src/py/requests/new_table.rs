//! The definition of a new table.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::format::catalog::NewTable;
use crate::py::schema::PySchema;
use crate::types::Schema;

/// What a new table is like: the dictionary `frazil.requests.new_table.NewTable`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(in crate::py) struct PyNewTable<'py> {
    schema: Bound<'py, PySchema>,
    partition_by: Vec<String>,
    sort_by: Vec<String>,
    properties: BTreeMap<String, String>,
    location: Option<String>,
    identifier_fields: Option<Vec<String>>,
    declared_types: BTreeMap<String, String>,
    format: String,
}

impl PyNewTable<'_> {
    /// The columns, the rest of the definition, and the name of the format.
    pub(in crate::py) fn parts(self) -> (Arc<Schema>, NewTable, String) {
        let request = NewTable {
            partition_by: self.partition_by,
            sort_by: self.sort_by,
            properties: self.properties,
            location: self.location,
            identifier_fields: self.identifier_fields,
            declared_types: self.declared_types,
        };
        (self.schema.get().inner.clone(), request, self.format)
    }
}
