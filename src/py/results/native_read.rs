//! Files that an engine can read by itself.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::py::arrow::PyBatches;
use crate::py::schema::PySchema;
use crate::py::split::PySplits;
use crate::rows::native_read;
use crate::rows::native_read::{NativeValue, deleted_schema, reasons_schema};

/// The files of a scan, by their reader.
#[pyclass(name = "NativeRead", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyNativeRead {
    /// The columns to read.
    schema: Py<PySchema>,
    /// The filter.
    filter: Py<PyNativeFilter>,
    /// Files for the engine.
    groups: Vec<Py<PyNativeGroup>>,
    /// Deleted rows of these files.
    deleted: Py<PyBatches>,
    /// The reasons why the engine does not read the other files: one reason for all, or a reason for each.
    refused: Py<PyAny>,
    /// The splits of the other files.
    rest: Py<PyAny>,
}

/// Files whose columns have the same names.
#[pyclass(name = "NativeGroup", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyNativeGroup {
    columns: Vec<Option<String>>,
    filtered: bool,
    files: Vec<Py<PyNativeFile>>,
}

/// A file for the engine.
#[pyclass(name = "NativeFile", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyNativeFile {
    path: String,
    size_bytes: i64,
    record_count: i64,
    number: Option<usize>,
}

/// A filter for an engine to build.
#[pyclass(name = "NativeFilter", frozen, module = "frazil._core")]
pub(in crate::py) enum PyNativeFilter {
    /// Keeps all rows or none.
    Constant { value: bool },
    /// Keeps the rows that all parts keep.
    And { parts: Vec<Py<PyNativeFilter>> },
    /// Keeps the rows that one of the parts keeps.
    Or { parts: Vec<Py<PyNativeFilter>> },
    /// Compares a column with values.
    Leaf { op: String, path: Vec<String>, type_name: String, values: Vec<Single> },
}

/// A value of a filter: a boolean, a number or text.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(in crate::py) enum Single {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
}

impl PyNativeRead {
    /// Makes objects for Python.
    ///
    /// # Errors
    /// Errors of Python.
    pub(in crate::py) fn new(py: Python<'_>, found: native_read::NativeRead) -> PyResult<PyNativeRead> {
        let groups = found.groups.into_iter().map(|group| Py::new(py, PyNativeGroup::new(py, group)?));
        let reasons = match found.reasons {
            native_read::Reasons::Everywhere(reason) => reason.into_pyobject(py)?.into_any().unbind(),
            native_read::Reasons::Each(files) => Py::new(py, PyBatches::new(reasons_schema(), vec![files]))?.into_any(),
        };
        // The engine reads no file that needs a filter which it does not know.
        let known = native_read::NativeFilter::new(&found.filter);
        let filter = known.unwrap_or(native_read::NativeFilter::Constant(true));
        Ok(PyNativeRead {
            schema: Py::new(py, PySchema { inner: Arc::new(found.wanted) })?,
            filter: PyNativeFilter::new(py, filter)?,
            groups: groups.collect::<PyResult<_>>()?,
            deleted: Py::new(py, PyBatches::new(deleted_schema(), vec![found.deleted]))?,
            refused: reasons,
            rest: PySplits::from(found.rest).into_pyobject(py)?.unbind(),
        })
    }
}

impl PyNativeGroup {
    fn new(py: Python<'_>, group: native_read::PlainGroup) -> PyResult<PyNativeGroup> {
        let file = |f: native_read::NativeFile| {
            let (path, size_bytes, record_count, number) = (f.path, f.size_bytes, f.record_count, f.number);
            Py::new(py, PyNativeFile { path, size_bytes, record_count, number })
        };
        let files = group.files.into_iter().map(file).collect::<PyResult<_>>()?;
        Ok(PyNativeGroup { columns: group.columns, filtered: group.is_filtered, files })
    }
}

impl PyNativeFilter {
    fn new(py: Python<'_>, filter: native_read::NativeFilter) -> PyResult<Py<PyNativeFilter>> {
        use native_read::NativeFilter as F;
        let all = |parts: Vec<F>| parts.into_iter().map(|part| PyNativeFilter::new(py, part)).collect::<PyResult<_>>();
        let filter = match filter {
            F::Constant(value) => PyNativeFilter::Constant { value },
            F::And(parts) => PyNativeFilter::And { parts: all(parts)? },
            F::Or(parts) => PyNativeFilter::Or { parts: all(parts)? },
            F::Leaf { op, path, type_name, values } => PyNativeFilter::Leaf {
                op: op.to_owned(),
                path,
                type_name,
                values: values.into_iter().map(Single::from).collect(),
            },
        };
        Ok(filter.into_pyobject(py)?.unbind())
    }
}

impl From<NativeValue> for Single {
    fn from(value: NativeValue) -> Self {
        match value {
            NativeValue::Boolean(value) => Single::Boolean(value),
            NativeValue::Integer(value) => Single::Integer(value),
            NativeValue::Float(value) => Single::Float(value),
            NativeValue::Text(value) => Single::Text(value),
        }
    }
}
