//! The rows that a commit brings.

use pyo3::prelude::*;

use crate::format::commit_rows::CommitRows;

/// The rows that the commits with one schema bring.
#[pyclass(name = "CommitRows", frozen, eq, module = "frazil._core")]
#[derive(PartialEq)]
pub(in crate::py) struct PyCommitRows {
    inner: CommitRows,
}

#[pymethods]
impl PyCommitRows {
    #[getter]
    fn has_key(&self) -> bool {
        self.inner.has_key
    }

    #[getter]
    fn changelog_producer(&self) -> &str {
        &self.inner.changelog_producer
    }

    #[getter]
    fn merged(&self) -> bool {
        self.inner.merged
    }

    #[getter]
    fn hidden_until_compacted(&self) -> bool {
        self.inner.hidden_until_compacted
    }

    #[getter]
    fn buckets_postponed(&self) -> bool {
        self.inner.buckets_postponed
    }

    #[getter]
    fn columns_apart(&self) -> bool {
        self.inner.columns_apart
    }

    #[getter]
    fn reported_by_compactions(&self) -> bool {
        self.inner.reported_by_compactions()
    }
}

impl From<CommitRows> for PyCommitRows {
    fn from(inner: CommitRows) -> Self {
        PyCommitRows { inner }
    }
}
