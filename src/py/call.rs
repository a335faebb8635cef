//! Calls from Python into the crate. They are detached from the interpreter, so other threads run. Errors and panics
//! become exceptions.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use super::errors::to_exception;
use super::watch::Watch;
use crate::error::{Error, Result};

/// Runs `work` detached from the interpreter. A signal cancels it.
pub(super) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    run_watched(py, &Watch::new(), work)
}

/// As [`run`], for `work` that shares `watch` with others. A signal's exception wins over the error that it caused. It
/// also wins over a result, which may contain that error.
pub(super) fn run_watched<T: Send>(
    py: Python<'_>,
    watch: &Watch,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let done = py.detach(|| watch.cancellation().scope(|| guarded(work)));
    watch.end(py);
    let done = done.map_err(|e| to_exception(py, &e));
    watch.raised().map_or(done, Err)
}

/// Runs `work` without detaching; for work that costs less than detaching.
pub(super) fn run_attached<T>(py: Python<'_>, work: impl FnOnce() -> Result<T>) -> PyResult<T> {
    guarded(work).map_err(|e| to_exception(py, &e))
}

/// Turns a panic, which is a bug of Frazil, into an error, so no panic crosses a language border.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal(panic.as_ref())))
}

fn internal(panic: &(dyn Any + Send)) -> Error {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::internal(format!("a broken invariant: {}", said.unwrap_or("no message")))
        .hint("This is a bug in Frazil: please report it with the message and, if you can, the table's metadata")
}
