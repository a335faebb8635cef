//! Messages of writers.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::call::{run, run_attached};
use super::lock::lock;
use super::pickle::{Pickled, json_text, pickle_as_json};
use super::task::{PyDataFile, PyDeleteFile};
use crate::format::task;
use crate::format::wire::task::{message_from_json, message_to_json};

/// The files that one writer made, to be committed with others.
#[pyclass(name = "CommitMessage", frozen, module = "frazil._core")]
pub(super) struct PyCommitMessage {
    pub(super) inner: Arc<task::CommitMessage>,
    /// Called if the message is dropped before anybody used it.
    forgotten: Mutex<Option<Py<PyAny>>>,
}

impl PyCommitMessage {
    fn new(inner: task::CommitMessage) -> PyCommitMessage {
        PyCommitMessage { inner: Arc::new(inner), forgotten: Mutex::new(None) }
    }

    /// From now on it is not forgotten: it was committed, aborted or sent elsewhere.
    fn used(&self) {
        lock(&self.forgotten).take();
    }
}

impl Drop for PyCommitMessage {
    fn drop(&mut self) {
        let Some(tell) = lock(&self.forgotten).take() else { return };
        let (files, rows) = (self.inner.files.len(), self.record_count());
        // An exception may be on its way; then nobody forgot anything.
        let _ = Python::try_attach(|py| match PyErr::take(py) {
            Some(raised) => raised.restore(py),
            None => {
                if let Err(raised) = tell.call1(py, (files, rows)) {
                    raised.write_unraisable(py, None);
                }
            }
        });
    }
}

impl From<task::CommitMessage> for PyCommitMessage {
    fn from(inner: task::CommitMessage) -> Self {
        PyCommitMessage::new(inner)
    }
}

#[pymethods]
impl PyCommitMessage {
    /// The table that the files belong to.
    #[getter]
    fn table_uuid(&self) -> &str {
        &self.inner.table_uuid
    }

    /// The new data files.
    #[getter]
    fn files(&self) -> Vec<PyDataFile> {
        let data = self.inner.files.iter().filter(|f| f.content == task::FileContent::Data);
        data.map(|f| PyDataFile { inner: Arc::new(f.clone()) }).collect()
    }

    /// The new delete files and deletion vectors.
    #[getter]
    fn delete_files(&self) -> Vec<PyDeleteFile> {
        let deletes = self.inner.files.iter().filter(|f| f.content != task::FileContent::Data);
        deletes.map(|f| PyDeleteFile { inner: Arc::new(f.clone()) }).collect()
    }

    /// Rows in the new data files.
    #[getter]
    fn record_count(&self) -> i64 {
        let data = self.inner.files.iter().filter(|f| f.content == task::FileContent::Data);
        data.map(|f| f.record_count).sum()
    }

    /// Has a function called with the numbers of files and rows if the message is dropped before it is used.
    fn watch(&self, forgotten: Py<PyAny>) {
        *lock(&self.forgotten) = Some(forgotten);
    }

    /// The message as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.used();
        run_attached(py, || message_to_json(&self.inner))
    }

    /// Reads the result of `to_json`.
    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<PyCommitMessage> {
        let text = json_text(text)?;
        Ok(run(cls.py(), || message_from_json(&text))?.into())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyCommitMessage>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __repr__(&self) -> String {
        format!("CommitMessage({} files, {} rows)", self.inner.files.len(), self.record_count())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<PyCommitMessage>(py, self.to_json(py)?)
    }
}

/// The messages behind Python's objects.
pub(super) fn taken(messages: &[PyRef<'_, PyCommitMessage>]) -> Vec<task::CommitMessage> {
    messages.iter().for_each(|message| message.used());
    messages.iter().map(|m| (*m.inner).clone()).collect()
}
