//! Pickles of objects that have a JSON form.

use pyo3::prelude::*;

use super::errors::to_exception;
use crate::error::Error;

/// The result of `__reduce__`: a class's `from_json` and its argument.
pub(super) type Pickled<'py> = (Bound<'py, PyAny>, (String,));

/// The text of a method that reads JSON.
///
/// # Errors
/// `InvalidInputError` if it is something else.
pub(super) fn json_text(text: &Bound<'_, PyAny>) -> PyResult<String> {
    text.extract().map_err(|_| {
        let kind = text.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        to_exception(text.py(), &Error::invalid(format!("text must be text, not a '{kind}'")))
    })
}

/// Pickles an object of class `T` by the JSON that `T.from_json` reads.
pub(super) fn pickle_as_json<T: pyo3::PyTypeInfo>(py: Python<'_>, json: String) -> PyResult<Pickled<'_>> {
    Ok((py.get_type::<T>().getattr("from_json")?, (json,)))
}
