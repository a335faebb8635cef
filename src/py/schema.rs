//! Schemas and their fields.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::arrow::{import_schema, schema_capsule};
use super::call::run_attached;
use super::errors::to_exception;
use super::pickle::{Pickled, pickle_as_json};
use crate::data::arrow::schema;
use crate::error::Error;
use crate::types;
use crate::types::Type;
use crate::types::schema_json::{schema_from_text, schema_to_json};

/// A table's columns; `frazil.Schema` wraps it.
#[pyclass(name = "Schema", frozen, module = "frazil._core")]
pub(super) struct PySchema {
    pub(super) inner: Arc<types::Schema>,
}

#[pymethods]
impl PySchema {
    /// Reads the schema of any object with `__arrow_c_schema__`.
    #[staticmethod]
    fn from_arrow(obj: &Bound<'_, PyAny>) -> PyResult<PySchema> {
        let py = obj.py();
        let Some(schema) = import_schema(obj)? else {
            let error = Error::invalid(format!("a '{}' is not a schema", obj.get_type().name()?))
                .hint("Give a pyarrow.Schema, a frazil.Schema or another object with __arrow_c_schema__");
            return Err(to_exception(py, &error));
        };
        let inner = run_attached(py, || schema::from_arrow(&schema))?;
        Ok(PySchema { inner: Arc::new(inner) })
    }

    /// Reads the specification's JSON.
    #[classmethod]
    fn from_json(cls: &Bound<'_, pyo3::types::PyType>, text: &str) -> PyResult<PySchema> {
        Ok(PySchema { inner: Arc::new(run_attached(cls.py(), || schema_from_text(text))?) })
    }

    /// The id of the schema in its table.
    #[getter]
    fn id(&self) -> i32 {
        self.inner.id
    }

    /// The top-level columns, in order.
    #[getter]
    fn fields(&self) -> Vec<PyField> {
        self.inner.fields.iter().map(PyField::new).collect()
    }

    /// The ids of the columns that identify a row.
    #[getter]
    fn identifier_field_ids(&self) -> Vec<i32> {
        self.inner.identifier_field_ids.to_vec()
    }

    fn to_json(&self) -> String {
        schema_to_json(&self.inner).to_string()
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PySchema>().is_ok_and(|other| *other.get().inner == *self.inner)
    }

    fn __hash__(&self) -> u64 {
        self.inner.fields.iter().fold(self.inner.fields.len() as u64, |h, f| h.wrapping_mul(31) ^ f.id as u64)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = run_attached(py, || schema::to_arrow(&self.inner))?;
        schema_capsule(py, &schema)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<PySchema>(py, self.to_json())
    }
}

/// A column, or a member of a nested column; `frazil.schema.Field` is made from it.
#[pyclass(name = "Field", frozen, get_all, module = "frazil._core")]
#[derive(Clone)]
pub(super) struct PyField {
    id: i32,
    name: String,
    #[pyo3(name = "type")]
    type_text: String,
    required: bool,
    doc: Option<String>,
    children: Vec<PyField>,
}

impl PyField {
    fn new(field: &types::Field) -> PyField {
        PyField { doc: field.doc.clone(), ..PyField::member(field.id, &field.name, field.required, &field.ty) }
    }

    fn member(id: i32, name: &str, required: bool, ty: &Type) -> PyField {
        let children = match ty {
            Type::Primitive(_) => Vec::new(),
            Type::Struct(fields) => fields.iter().map(PyField::new).collect(),
            Type::List(e) => vec![PyField::member(e.id, "element", e.required, &e.ty)],
            Type::Map(k, v) => {
                vec![PyField::member(k.id, "key", true, &k.ty), PyField::member(v.id, "value", v.required, &v.ty)]
            }
        };
        PyField { id, name: name.to_owned(), type_text: ty.to_string(), required, doc: None, children }
    }
}
