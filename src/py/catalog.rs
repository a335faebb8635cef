//! Catalogs.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use super::call::run;
use super::schema::Schema;
use super::table::Table;
use crate::format::catalog::NewTable;
use crate::tables::catalog;

/// A catalog; `frazil.Catalog` wraps it.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct Catalog {
    inner: catalog::Catalog,
}

#[pymethods]
impl Catalog {
    #[staticmethod]
    fn open(py: Python<'_>, name: &str, properties: BTreeMap<String, String>) -> PyResult<Catalog> {
        Ok(Catalog { inner: run(py, || catalog::Catalog::open(name, properties))? })
    }

    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn properties(&self) -> BTreeMap<String, String> {
        self.inner.properties().clone()
    }

    fn create_namespace(
        &self,
        py: Python<'_>,
        namespace: &str,
        if_not_exists: bool,
        properties: BTreeMap<String, String>,
    ) -> PyResult<()> {
        run(py, || self.inner.create_namespace_with(namespace, if_not_exists, &properties))
    }

    fn namespace_exists(&self, py: Python<'_>, namespace: &str) -> PyResult<bool> {
        run(py, || self.inner.namespace_exists(namespace))
    }

    fn namespace_properties(&self, py: Python<'_>, namespace: &str) -> PyResult<BTreeMap<String, String>> {
        run(py, || self.inner.namespace_properties(namespace))
    }

    fn update_namespace_properties(
        &self,
        py: Python<'_>,
        namespace: &str,
        removals: Vec<String>,
        updates: BTreeMap<String, String>,
    ) -> PyResult<()> {
        run(py, || self.inner.update_namespace_properties(namespace, &removals, &updates))
    }

    fn drop_namespace(&self, py: Python<'_>, namespace: &str) -> PyResult<()> {
        run(py, || self.inner.drop_namespace(namespace))
    }

    #[pyo3(signature = (parent=None))]
    fn list_namespaces(&self, py: Python<'_>, parent: Option<&str>) -> PyResult<Vec<String>> {
        run(py, || self.inner.list_namespaces(parent))
    }

    fn list_tables(&self, py: Python<'_>, namespace: &str) -> PyResult<Vec<String>> {
        run(py, || self.inner.list_tables(namespace))
    }

    fn table_exists(&self, py: Python<'_>, identifier: &str) -> PyResult<bool> {
        run(py, || self.inner.table_exists(identifier))
    }

    fn load_table(&self, py: Python<'_>, identifier: &str) -> PyResult<Table> {
        Ok(run(py, || self.inner.load(identifier))?.into())
    }

    #[pyo3(signature = (identifier, schema, *, partition_by, sort_by, properties, location, identifier_fields, format))]
    #[allow(clippy::too_many_arguments)]
    fn create_table(
        &self,
        py: Python<'_>,
        identifier: &str,
        schema: &Bound<'_, Schema>,
        partition_by: Vec<String>,
        sort_by: Vec<String>,
        properties: BTreeMap<String, String>,
        location: Option<String>,
        identifier_fields: Option<Vec<String>>,
        format: &str,
    ) -> PyResult<Table> {
        let schema = &schema.get().inner;
        let request = NewTable { partition_by, sort_by, properties, location, identifier_fields };
        Ok(run(py, || self.inner.create(identifier, schema, request, format))?.into())
    }

    fn drop_table(&self, py: Python<'_>, identifier: &str, purge: bool) -> PyResult<()> {
        run(py, || self.inner.drop_table(identifier, purge))
    }

    fn register_table(&self, py: Python<'_>, identifier: &str, metadata_location: &str) -> PyResult<Table> {
        Ok(run(py, || self.inner.register(identifier, metadata_location))?.into())
    }

    fn rename_table(&self, py: Python<'_>, identifier: &str, to: &str) -> PyResult<()> {
        run(py, || self.inner.rename_table(identifier, to))
    }
}
