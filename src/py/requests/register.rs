//! The register of a catalog that Python keeps: an object of `frazil.foreign.pyiceberg_catalogs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::error::Result;
use crate::format::ident::TableIdent;
use crate::format::register::TableRegister;
use crate::py::errors::{from_exception, from_exception_of_change};

/// The module with the function that opens a catalog by its name and properties.
const LIBRARY: &str = "frazil.foreign.pyiceberg_catalogs";

/// A register whose methods are those of a Python object.
#[derive(Debug)]
pub(in crate::py) struct PyRegister {
    object: Py<PyAny>,
    is_of_this_process: bool,
}

impl PyRegister {
    pub(in crate::py) fn new(object: &Bound<'_, PyAny>) -> PyResult<PyRegister> {
        let is_of_this_process = object.getattr("is_of_this_process")?.extract()?;
        Ok(PyRegister { object: object.clone().unbind(), is_of_this_process })
    }

    /// Calls a method. Its exceptions become errors of the same kind.
    fn call<A>(&self, method: &str, arguments: A) -> Result<()>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        Python::attach(|py| {
            let called = self.object.bind(py).call_method1(method, arguments);
            called.map(drop).map_err(|e| from_exception(py, e))
        })
    }

    /// Calls a method that moves the pointer of a table. Returns whether it says that it did.
    ///
    /// # Errors
    /// `CommitStateUnknown` if an interrupt ended the method and it may have moved the pointer.
    fn change<A>(&self, method: &str, arguments: A) -> Result<bool>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        Python::attach(|py| {
            let called = self.object.bind(py).call_method1(method, arguments);
            called.and_then(|moved| moved.is_truthy()).map_err(|e| from_exception_of_change(py, e))
        })
    }

    /// Calls a method for its result.
    fn get<A, T>(&self, method: &str, arguments: A) -> Result<T>
    where
        A: for<'py> PyCallArgs<'py>,
        T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
    {
        Python::attach(|py| {
            let called = self.object.bind(py).call_method1(method, arguments);
            called.and_then(|found| found.extract()).map_err(|e| from_exception(py, e))
        })
    }
}

/// Opens a catalog by its name and properties, by PyIceberg.
///
/// # Errors
/// Errors of the Python function, by their kinds.
pub(in crate::py) fn open_register(
    name: &str,
    properties: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableRegister>> {
    Python::attach(|py| {
        let opened =
            || PyRegister::new(&py.import(LIBRARY)?.call_method1("open_register", (name, properties.clone()))?);
        Ok(Arc::new(opened().map_err(|e| from_exception(py, e))?) as Arc<dyn TableRegister>)
    })
}

/// An identifier as its levels.
fn levels(table: &TableIdent) -> Vec<String> {
    table.namespace.iter().chain([&table.name]).cloned().collect()
}

impl TableRegister for PyRegister {
    fn location(&self, table: &TableIdent) -> Result<Option<String>> {
        self.get("location", (levels(table),))
    }

    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn insert(&self, table: &TableIdent, location: &str) -> Result<()> {
        self.change("insert", (levels(table), location)).map(drop)
    }

    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool> {
        self.change("swap", (levels(table), from, to))
    }

    fn remove(&self, table: &TableIdent) -> Result<bool> {
        self.get("remove", (levels(table),))
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool> {
        self.get("rename", (levels(from), levels(to)))
    }

    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        let names: Vec<String> = self.get("tables", (namespace.to_vec(),))?;
        Ok(names.into_iter().map(|name| TableIdent { namespace: namespace.to_vec(), name }).collect())
    }

    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>> {
        let found: Vec<Vec<String>> = self.get("namespaces", (below.to_vec(),))?;
        Ok(found.into_iter().collect())
    }

    fn is_used(&self, namespace: &[String]) -> Result<bool> {
        self.get("is_used", (namespace.to_vec(),))
    }

    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        self.get("properties", (namespace.to_vec(),))
    }

    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.call("create", (namespace.to_vec(), properties.clone()))
    }

    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()> {
        self.call("set_properties", (namespace.to_vec(), removed.to_vec(), set.clone()))
    }

    fn clear_properties(&self, namespace: &[String]) -> Result<()> {
        self.call("clear_properties", (namespace.to_vec(),))
    }

    fn is_of_this_process(&self) -> bool {
        self.is_of_this_process
    }
}
