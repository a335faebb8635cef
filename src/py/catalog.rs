//! The class `Catalog` of `frazil._core`, which Python's catalogs call.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;

use super::call::run;
use super::foreign::headers_of;
use super::requests::new_table::PyNewTable;
use super::requests::register::PyRegister;
use super::results::view::{PyView, new_view};
use super::schema::PySchema;
use super::table::PyTable;
use super::transaction::{PyCatalogTransaction, PyTransaction};
use crate::error::{Error, ErrorKind, Result};
use crate::format::deletion::OutsideLocations;
use crate::format::ident::{TableIdent, parse_namespace};
use crate::format::table_format::TableFormat;
use crate::rows::seam;
use crate::tables::catalog::{self, FORMATS};

impl PyCatalog {
    fn views(&self, verb: &str) -> Result<&dyn seam::Views> {
        self.inner.required(verb, self.inner.views())
    }
}

/// The table format of an id.
fn format_of(id: &str) -> Result<&'static TableFormat> {
    let unknown = || Error::invalid(format!("'{id}' is not a table format"));
    FORMATS.into_iter().find(|known| known.id == id).ok_or_else(unknown)
}

/// A catalog; `frazil.Catalog` wraps it.
#[pyclass(name = "Catalog", frozen, module = "frazil._core")]
pub(super) struct PyCatalog {
    inner: Arc<dyn seam::Catalog>,
}

#[pymethods]
impl PyCatalog {
    #[staticmethod]
    #[pyo3(signature = (name, properties, headers=None))]
    fn open(
        py: Python<'_>,
        name: &str,
        properties: BTreeMap<String, String>,
        headers: Option<Py<PyAny>>,
    ) -> PyResult<PyCatalog> {
        let headers = headers.map(headers_of);
        Ok(PyCatalog { inner: run(py, || catalog::open_with(name, properties, headers))? })
    }

    /// The catalog of a register: an object of `frazil.foreign.pyiceberg_catalogs`.
    #[staticmethod]
    fn of_register(
        py: Python<'_>,
        name: &str,
        properties: BTreeMap<String, String>,
        register: &Bound<'_, PyAny>,
    ) -> PyResult<PyCatalog> {
        let register = Arc::new(PyRegister::new(register)?);
        Ok(PyCatalog { inner: run(py, || catalog::of_register(name, properties, register))? })
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
        let create = || self.inner.create_namespace(&parse_namespace(namespace)?, &properties);
        run(py, || match create() {
            Err(e) if if_not_exists && e.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done,
        })
    }

    fn namespace_exists(&self, py: Python<'_>, namespace: &str) -> PyResult<bool> {
        run(py, || self.inner.namespace_exists(&parse_namespace(namespace)?))
    }

    fn namespace_properties(&self, py: Python<'_>, namespace: &str) -> PyResult<BTreeMap<String, String>> {
        run(py, || {
            let properties = self.inner.required("namespace_properties", self.inner.namespace_properties())?;
            properties.get(&parse_namespace(namespace)?)
        })
    }

    fn update_namespace_properties(
        &self,
        py: Python<'_>,
        namespace: &str,
        removals: Vec<String>,
        updates: BTreeMap<String, String>,
    ) -> PyResult<()> {
        run(py, || {
            let properties = self.inner.required("update_namespace_properties", self.inner.namespace_properties())?;
            properties.update(&parse_namespace(namespace)?, &removals, &updates)
        })
    }

    fn drop_namespace(&self, py: Python<'_>, namespace: &str) -> PyResult<()> {
        run(py, || self.inner.drop_namespace(&parse_namespace(namespace)?))
    }

    #[pyo3(signature = (parent=None))]
    fn list_namespaces(&self, py: Python<'_>, parent: Option<&str>) -> PyResult<Vec<String>> {
        let list = || self.inner.list_namespaces(&parent.map_or(Ok(Vec::new()), parse_namespace)?);
        Ok(run(py, list)?.into_iter().map(|levels| levels.join(".")).collect())
    }

    fn list_tables(&self, py: Python<'_>, namespace: &str) -> PyResult<Vec<String>> {
        let tables = run(py, || self.inner.list_tables(&parse_namespace(namespace)?))?;
        Ok(tables.iter().map(TableIdent::to_string).collect())
    }

    fn table_exists(&self, py: Python<'_>, identifier: &str) -> PyResult<bool> {
        run(py, || self.inner.table_exists(&TableIdent::parse(identifier)?))
    }

    fn load_table(&self, py: Python<'_>, identifier: &str) -> PyResult<PyTable> {
        Ok(run(py, || self.inner.load_table(&TableIdent::parse(identifier)?))?.into())
    }

    fn create_table(&self, py: Python<'_>, identifier: &str, new: PyNewTable<'_>) -> PyResult<PyTable> {
        let (schema, request, format) = new.parts();
        let create = || self.inner.create_table(&TableIdent::parse(identifier)?, &schema, request, format_of(&format)?);
        Ok(run(py, create)?.into())
    }

    /// A transaction that creates a table.
    fn begin_table(&self, py: Python<'_>, identifier: &str, new: PyNewTable<'_>) -> PyResult<PyTransaction> {
        let (schema, request, format) = new.parts();
        Ok(run(py, || {
            let creations = self.inner.required("create_table_transaction", self.inner.creations())?;
            creations.begin_table(&TableIdent::parse(identifier)?, &schema, request, format_of(&format)?)
        })?
        .into())
    }

    /// Gives a table another definition and no rows.
    fn replace_table(
        &self,
        py: Python<'_>,
        identifier: &str,
        new: PyNewTable<'_>,
        or_create: bool,
    ) -> PyResult<PyTable> {
        let (schema, request, format) = new.parts();
        Ok(run(py, || {
            let creations = self.inner.required("replace_table", self.inner.creations())?;
            creations.replace_table(&TableIdent::parse(identifier)?, &schema, request, format_of(&format)?, or_create)
        })?
        .into())
    }

    /// A transaction that replaces a table.
    fn begin_replacement(
        &self,
        py: Python<'_>,
        identifier: &str,
        new: PyNewTable<'_>,
        or_create: bool,
    ) -> PyResult<PyTransaction> {
        let (schema, request, format) = new.parts();
        Ok(run(py, || {
            let creations = self.inner.required("replace_table_transaction", self.inner.creations())?;
            let ident = TableIdent::parse(identifier)?;
            creations.begin_replacement(&ident, &schema, request, format_of(&format)?, or_create)
        })?
        .into())
    }

    fn drop_table(
        &self,
        py: Python<'_>,
        identifier: &str,
        purge: bool,
        outside_locations: Vec<String>,
    ) -> PyResult<()> {
        run(py, || {
            if !purge && !outside_locations.is_empty() {
                return Err(Error::invalid("outside_locations= needs purge=True: otherwise no file is deleted"));
            }
            let outside = OutsideLocations::new(outside_locations)?;
            self.inner.drop_table(&TableIdent::parse(identifier)?, purge.then_some(&outside))
        })
    }

    fn register_table(
        &self,
        py: Python<'_>,
        identifier: &str,
        metadata_location: &str,
        overwrite: bool,
    ) -> PyResult<PyTable> {
        Ok(run(py, || {
            let registration = self.inner.required("register_table", self.inner.registration())?;
            registration.register_table(&TableIdent::parse(identifier)?, metadata_location, overwrite)
        })?
        .into())
    }

    fn unregister_table(&self, py: Python<'_>, identifier: &str) -> PyResult<String> {
        run(py, || {
            let registration = self.inner.required("unregister_table", self.inner.registration())?;
            registration.unregister_table(&TableIdent::parse(identifier)?)
        })
    }

    fn list_views(&self, py: Python<'_>, namespace: &str) -> PyResult<Vec<String>> {
        let views = run(py, || self.views("list_views")?.list_views(&parse_namespace(namespace)?))?;
        Ok(views.iter().map(TableIdent::to_string).collect())
    }

    fn load_view(&self, py: Python<'_>, identifier: &str) -> PyResult<PyView> {
        Ok(run(py, || self.views("load_view")?.load_view(&TableIdent::parse(identifier)?))?.into())
    }

    fn view_exists(&self, py: Python<'_>, identifier: &str) -> PyResult<bool> {
        run(py, || self.views("view_exists")?.view_exists(&TableIdent::parse(identifier)?))
    }

    fn create_view(
        &self,
        py: Python<'_>,
        identifier: &str,
        schema: &Bound<'_, PySchema>,
        texts: Vec<(String, String)>,
        properties: BTreeMap<String, String>,
    ) -> PyResult<PyView> {
        let new = new_view(schema, texts, properties);
        Ok(run(py, || self.views("create_view")?.create_view(&TableIdent::parse(identifier)?, &new))?.into())
    }

    fn replace_view(
        &self,
        py: Python<'_>,
        identifier: &str,
        schema: &Bound<'_, PySchema>,
        texts: Vec<(String, String)>,
        properties: BTreeMap<String, String>,
    ) -> PyResult<PyView> {
        let new = new_view(schema, texts, properties);
        Ok(run(py, || self.views("replace_view")?.replace_view(&TableIdent::parse(identifier)?, &new))?.into())
    }

    fn register_view(&self, py: Python<'_>, identifier: &str, metadata_location: &str) -> PyResult<PyView> {
        let register =
            || self.views("register_view")?.register_view(&TableIdent::parse(identifier)?, metadata_location);
        Ok(run(py, register)?.into())
    }

    fn rename_view(&self, py: Python<'_>, identifier: &str, to: &str) -> PyResult<()> {
        run(py, || self.views("rename_view")?.rename_view(&TableIdent::parse(identifier)?, &TableIdent::parse(to)?))
    }

    fn drop_view(&self, py: Python<'_>, identifier: &str) -> PyResult<()> {
        run(py, || self.views("drop_view")?.drop_view(&TableIdent::parse(identifier)?))
    }

    fn rename_table(&self, py: Python<'_>, identifier: &str, to: &str) -> PyResult<()> {
        run(py, || {
            let renames = self.inner.required("rename_table", self.inner.renames())?;
            renames.rename_table(&TableIdent::parse(identifier)?, &TableIdent::parse(to)?)
        })
    }
    /// A transaction over several tables.
    fn transaction(&self, py: Python<'_>) -> PyResult<PyCatalogTransaction> {
        Ok(run(py, || self.inner.begin_transaction())?.into())
    }
}
