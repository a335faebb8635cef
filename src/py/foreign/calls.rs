//! Calls from the crate into objects of the user.

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyPermissionError};
use pyo3::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::py::errors::interrupt_again;

/// Calls into Python, from any thread.
pub(super) fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    let done = Python::try_attach(|py| work(py).map_err(|e| error_of(py, &e)));
    done.unwrap_or_else(|| Err(Error::store("the interpreter is shutting down")))
}

/// The error for an exception of the user's object.
fn error_of(py: Python<'_>, e: &PyErr) -> Error {
    interrupt_again(py, e);
    let kind = match e {
        e if e.is_instance_of::<PyFileNotFoundError>(py) => ErrorKind::NotFound,
        e if e.is_instance_of::<PyFileExistsError>(py) => ErrorKind::AlreadyExists,
        e if e.is_instance_of::<PyPermissionError>(py) => ErrorKind::PermissionDenied,
        // Those of Frazil say what they are.
        e => match e.value(py).getattr("kind").and_then(|kind| kind.extract::<String>()).as_deref() {
            Ok(kind) if kind == ErrorKind::InvalidInput.as_str() => ErrorKind::InvalidInput,
            Ok(kind) if kind == ErrorKind::Unsupported.as_str() => ErrorKind::Unsupported,
            _ => ErrorKind::Store,
        },
    };
    let hint = e.value(py).getattr("hint").and_then(|hint| hint.extract::<String>()).ok();
    let text = e.value(py).to_string();
    let error = Error::new(kind, if text.is_empty() { e.to_string() } else { text });
    hint.into_iter().fold(error, Error::hint)
}
