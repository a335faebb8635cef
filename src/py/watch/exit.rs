//! The end of the process: it waits a moment for files that are being removed.

use pyo3::prelude::*;

use crate::py::call::run;

#[pyfunction]
fn finish_cleaning(py: Python<'_>) -> PyResult<()> {
    run(py, || {
        crate::store::finish_cleaning();
        Ok(())
    })
}

/// Waits for the cleaning of calls that were cancelled when the interpreter exits.
pub(in crate::py) fn clean_before_exit(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let function = wrap_pyfunction!(finish_cleaning, module)?;
    module.py().import("atexit")?.call_method1("register", (function,)).map(drop)
}
