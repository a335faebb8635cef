//! Messages of writers.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::call::{run, run_attached};
use super::pickle::{Pickled, json_text, pickle_as_json};
use super::task::{DataFile, DeleteFile};
use crate::format::task;
use crate::format::wire::task::{message_from_json, message_to_json};

/// The files that one writer made, to be committed with others.
#[pyclass(frozen, module = "frazil._core")]
pub(super) struct CommitMessage {
    pub(super) inner: Arc<task::CommitMessage>,
}

impl From<task::CommitMessage> for CommitMessage {
    fn from(inner: task::CommitMessage) -> Self {
        CommitMessage { inner: Arc::new(inner) }
    }
}

#[pymethods]
impl CommitMessage {
    /// The table that the files belong to.
    #[getter]
    fn table_uuid(&self) -> &str {
        &self.inner.table_uuid
    }

    /// The new data files.
    #[getter]
    fn files(&self) -> Vec<DataFile> {
        let data = self.inner.files.iter().filter(|f| f.content == task::FileContent::Data);
        data.map(|f| DataFile { inner: Arc::new(f.clone()) }).collect()
    }

    /// The new delete files and deletion vectors.
    #[getter]
    fn delete_files(&self) -> Vec<DeleteFile> {
        let deletes = self.inner.files.iter().filter(|f| f.content != task::FileContent::Data);
        deletes.map(|f| DeleteFile { inner: Arc::new(f.clone()) }).collect()
    }

    /// Rows in the new data files.
    #[getter]
    fn record_count(&self) -> i64 {
        let data = self.inner.files.iter().filter(|f| f.content == task::FileContent::Data);
        data.map(|f| f.record_count).sum()
    }

    /// The message as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || message_to_json(&self.inner))
    }

    /// Reads the result of `to_json`.
    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &Bound<'_, PyAny>) -> PyResult<CommitMessage> {
        let text = json_text(text)?;
        Ok(CommitMessage { inner: Arc::new(run(cls.py(), || message_from_json(&text))?) })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<CommitMessage>().is_ok_and(|other| other.get().inner == self.inner)
    }

    fn __repr__(&self) -> String {
        format!("CommitMessage({} files, {} rows)", self.inner.files.len(), self.record_count())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<CommitMessage>(py, self.to_json(py)?)
    }
}

/// The messages behind Python's objects.
pub(super) fn taken(messages: &[PyRef<'_, CommitMessage>]) -> Vec<task::CommitMessage> {
    messages.iter().map(|m| (*m.inner).clone()).collect()
}
