//! Schemas.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::arrow::{import_schema, schema_capsule};
use super::call::run_attached;
use super::errors::to_exception;
use super::{Pickled, pickle_as_json};
use crate::data::arrow::schema;
use crate::error::Error;
use crate::types;
use crate::types::schema_json::{schema_from_json, schema_to_json};

/// A table's columns; `frazil.Schema` wraps it.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct Schema {
    pub(super) inner: Arc<types::Schema>,
}

#[pymethods]
impl Schema {
    /// Reads the schema of any object with `__arrow_c_schema__`.
    #[staticmethod]
    fn from_arrow(obj: &Bound<'_, PyAny>) -> PyResult<Schema> {
        let py = obj.py();
        let Some(schema) = import_schema(obj)? else {
            let error = Error::invalid(format!("a '{}' is no schema", obj.get_type().name()?))
                .hint("Give a pyarrow.Schema, a frazil.Schema or another object with __arrow_c_schema__");
            return Err(to_exception(py, &error));
        };
        let inner = run_attached(py, || schema::from_arrow(&schema))?;
        Ok(Schema { inner: Arc::new(inner) })
    }

    /// Reads the specification's JSON.
    #[classmethod]
    fn from_json(cls: &Bound<'_, pyo3::types::PyType>, text: &str) -> PyResult<Schema> {
        let inner = run_attached(cls.py(), || {
            let json = serde_json::from_str(text).map_err(|e| Error::invalid("the schema is no JSON").because(e))?;
            schema_from_json(&json)
        })?;
        Ok(Schema { inner: Arc::new(inner) })
    }

    fn to_json(&self) -> String {
        schema_to_json(&self.inner).to_string()
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Schema>().is_ok_and(|other| *other.get().inner == *self.inner)
    }

    fn __hash__(&self) -> u64 {
        self.inner.fields.iter().fold(self.inner.fields.len() as u64, |h, f| h.wrapping_mul(31) ^ f.id as u64)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run_attached(py, || schema::to_arrow(&self.inner))?;
        schema_capsule(py, &schema)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<Schema>(py, self.to_json())
    }
}
