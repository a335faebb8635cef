//! Errors of the crate as exceptions of `frazil.exceptions`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::error::{Error, public_text};

/// `{kind: class}` of `frazil.exceptions`.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// The exception for `error`. If the classes can't be imported, the exception of that import.
pub(super) fn to_exception(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

/// A text as an error may show it: without secrets, and of at most `most` bytes (at least 100).
#[pyfunction]
#[pyo3(name = "public_text")]
pub(super) fn py_public_text(text: &str, most: usize) -> String {
    public_text(text, most.max(100)).into_owned()
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let classes = CLASSES.import(py, "frazil.exceptions", "BY_KIND")?;
    let class = classes.as_any().get_item(error.kind().as_str())?.cast_into::<PyType>()?;
    let context = PyDict::new(py);
    for (key, value) in error.context() {
        context.set_item(key, value)?;
    }
    let exception = class.call1((error.to_string(), context, error.hint_text()))?;
    Ok(PyErr::from_value(exception))
}
