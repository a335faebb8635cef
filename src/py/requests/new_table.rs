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
    format: String,
}

impl PyNewTable<'_> {
    /// The columns, the rest of the definition, and the name of the format.
    pub(in crate::py) fn parts(self) -> (Arc<Schema>, NewTable, String) {
        let PyNewTable { schema, partition_by, sort_by, properties, location, identifier_fields, format } = self;
        let request = NewTable { partition_by, sort_by, properties, location, identifier_fields };
        (schema.get().inner.clone(), request, format)
    }
}
