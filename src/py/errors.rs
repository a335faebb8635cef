//! Errors of the crate as exceptions of `frazil.exceptions`.

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::error::{Error, ErrorKind, is_secret_option, public_text};
use crate::parallel::{POLL_INTERVAL, pause};

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

/// Whether an option or property of this name may have a secret value.
#[pyfunction]
#[pyo3(name = "is_secret_option")]
pub(super) fn py_is_secret_option(name: &str) -> bool {
    is_secret_option(name)
}

/// The error for an exception. If the exception is one of Frazil's, the error has the same kind. Other exceptions,
/// such as that of Ctrl-C, come back as they are where the error leaves Rust.
pub(super) fn from_exception(py: Python<'_>, exception: PyErr) -> Error {
    let value = exception.value(py);
    let kind = value.getattr("kind").and_then(|kind| kind.extract::<String>());
    let Some(kind) = kind.ok().and_then(|kind| ErrorKind::of_name(&kind)) else {
        return Error::internal("Python code that Frazil called failed").because(Foreign(exception));
    };
    let message = value.getattr("_message").and_then(|m| m.extract::<String>());
    let error = Error::new(kind, message.unwrap_or_else(|_| value.to_string()));
    match value.getattr("hint").and_then(|hint| hint.extract::<Option<String>>()) {
        Ok(Some(hint)) => error.hint(hint),
        _ => error,
    }
}

/// The error for an exception of a change, which may have been made although the exception ended it.
pub(super) fn from_exception_of_change(py: Python<'_>, exception: PyErr) -> Error {
    let is_unsent = exception.value(py).getattr("_frazil_unsent").is_ok();
    if exception.is_instance_of::<PyException>(py) || is_unsent {
        return from_exception(py, exception);
    }
    interrupt_again(py, &exception);
    Error::state_unknown("it is unknown whether the catalog made the change").because(Foreign(exception))
}

/// Lets the call end by an interrupt that the user's code got. Otherwise an error that Frazil handles would hide it.
pub(super) fn interrupt_again(py: Python<'_>, exception: &PyErr) {
    if exception.is_instance_of::<PyKeyboardInterrupt>(py) {
        let _ = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
        // The call looks for signals once an interval. Later calls into Python must not take this one from it.
        let _ = pause(2 * POLL_INTERVAL);
    }
}

/// An exception that is not Frazil's.
#[derive(Debug)]
struct Foreign(PyErr);

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for Foreign {}

/// The exception that is not Frazil's and caused an error.
fn foreign(error: &Error) -> Option<&PyErr> {
    let mut cause = std::error::Error::source(error);
    while let Some(current) = cause {
        if let Some(Foreign(exception)) = current.downcast_ref() {
            return Some(exception);
        }
        cause = current.source();
    }
    None
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if let Some(exception) = foreign(error) {
        return Ok(exception.clone_ref(py));
    }
    let classes = CLASSES.import(py, "frazil.exceptions", "BY_KIND")?;
    let class = classes.as_any().get_item(error.kind().as_str())?.cast_into::<PyType>()?;
    let context = PyDict::new(py);
    for (key, value) in error.context() {
        context.set_item(key, value)?;
    }
    let exception = class.call1((error.to_string(), context, error.hint_text()))?;
    Ok(PyErr::from_value(exception))
}
