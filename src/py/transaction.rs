//! The class `Transaction` of `frazil._core`: several changes of a table in one commit.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use super::arrow::Input;
use super::call::run;
use super::errors::to_exception;
use super::requests::evolution::PyEvolution;
use super::requests::row_change::PyRowChange;
use super::table::PyTable;
use crate::error::{Error, Result};
use crate::expr;
use crate::format::commit::CommitOptions;
use crate::format::ident::TableIdent;
use crate::format::request::WriteOptions;
use crate::parallel::CallLock;
use crate::rows::seam;

/// Changes to be committed together; `frazil.Transaction` wraps it.
#[pyclass(name = "Transaction", frozen, module = "frazil._core")]
pub(super) struct PyTransaction {
    /// `None` after the transaction has ended.
    inner: CallLock<Option<Box<dyn seam::Transaction>>>,
}

impl From<Box<dyn seam::Transaction>> for PyTransaction {
    fn from(inner: Box<dyn seam::Transaction>) -> Self {
        PyTransaction { inner: CallLock::new(Some(inner)) }
    }
}

impl Drop for PyTransaction {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().take();
        // The call removes files, which may take long. Other threads run meanwhile.
        if inner.is_some() {
            let _ = Python::try_attach(|py| py.detach(move || drop(inner)));
        }
    }
}

fn ended() -> Error {
    Error::invalid("the transaction has ended").hint("Begin another with table.transaction()")
}

impl PyTransaction {
    /// Does something with the transaction while it is open. Rows may come from code of the user, which can't use the
    /// transaction meanwhile.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut dyn seam::Transaction) -> Result<T>) -> Result<T> {
        let done = self.inner.with(|inner| inner.as_mut().map_or_else(|| Err(ended()), |inner| work(inner.as_mut())));
        done.unwrap_or_else(|| Err(seam::in_use()))
    }

    /// Ends the transaction, and returns it if it had not ended.
    fn take(&self) -> Result<Option<Box<dyn seam::Transaction>>> {
        self.inner.with(|inner| Ok(inner.take())).unwrap_or_else(|| Err(seam::in_use()))
    }
}

#[pymethods]
impl PyTransaction {
    /// Begins a transaction at the newest version of a table; its snapshots are added to `branch`, `main` if `None`.
    #[staticmethod]
    fn begin(py: Python<'_>, table: &PyTable, branch: Option<String>) -> PyResult<PyTransaction> {
        Ok(run(py, || table.required("transactions", |t| t.transactions())?.begin(branch))?.into())
    }

    fn append(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        snapshot_properties: BTreeMap<String, String>,
        sort_by: Option<Vec<String>>,
    ) -> PyResult<()> {
        let write_options = WriteOptions { sort_by, ..WriteOptions::default() };
        Input::new(data)?.run(py, |rows| self.with(|t| t.append(rows, &write_options, snapshot_properties)))
    }

    fn delete_files(&self, py: Python<'_>, filter: &str) -> PyResult<()> {
        run(py, || {
            let filter = expr::parse(filter)?;
            self.with(|t| t.delete_files(&filter))
        })
    }

    fn change_rows(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        data: Option<&Bound<'_, PyAny>>,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let options = CommitOptions { branch: None, snapshot_properties };
        let work = |rows| {
            let change = change.read()?;
            self.with(|t| t.change_rows(&change, rows, &options))
        };
        match data {
            Some(data) => Input::new(data)?.run(py, |rows| work(Some(rows))),
            None => run(py, || work(None)),
        }
    }

    fn add_files(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        check_duplicates: bool,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<()> {
        let options = CommitOptions { branch: None, snapshot_properties };
        run(py, || self.with(|t| t.add_files(&paths, check_duplicates, &options)))
    }

    fn evolve(&self, py: Python<'_>, change: &PyEvolution) -> PyResult<()> {
        run(py, || {
            let change = change.read()?;
            self.with(|t| t.evolve(&[change]))
        })
    }

    fn cherry_pick(&self, py: Python<'_>, snapshot_id: i64) -> PyResult<()> {
        run(py, || self.with(|t| t.cherry_pick(snapshot_id)))
    }

    /// The unpublished table after the changes so far.
    fn table(&self, py: Python<'_>) -> PyResult<PyTable> {
        Ok(run(py, || self.with(|t| t.table()))?.into())
    }

    /// `(counts by the names of summaries, snapshots, bytes of metadata)`.
    fn dry_run(&self, py: Python<'_>) -> PyResult<(BTreeMap<String, i64>, usize, u64)> {
        let done = run(py, || self.with(|t| t.dry_run()))?;
        Ok((done.counts, done.snapshots, done.metadata_bytes))
    }

    /// Whether it was committed or abandoned. One that is in use by this call is open.
    fn ended(&self, py: Python<'_>) -> PyResult<bool> {
        run(py, || self.inner.with(|inner| Ok(inner.is_none())).unwrap_or(Ok(false)))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<PyTable> {
        let inner = run(py, || self.take()?.ok_or_else(ended))?;
        Ok(run(py, || inner.commit())?.into())
    }

    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let aborted = py.detach(|| self.take().map(|inner| inner.map(|inner| inner.abort())));
        aborted.map(drop).map_err(|e| to_exception(py, &e))
    }
}

/// Changes of several tables to be committed together; `frazil.CatalogTransaction` wraps it.
#[pyclass(name = "CatalogTransaction", frozen, module = "frazil._core")]
pub(super) struct PyCatalogTransaction {
    /// `None` after the transaction has ended.
    inner: CallLock<Option<Box<dyn seam::JointTransaction>>>,
}

impl From<Box<dyn seam::JointTransaction>> for PyCatalogTransaction {
    fn from(inner: Box<dyn seam::JointTransaction>) -> Self {
        PyCatalogTransaction { inner: CallLock::new(Some(inner)) }
    }
}

impl Drop for PyCatalogTransaction {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().take();
        if inner.is_some() {
            let _ = Python::try_attach(|py| py.detach(move || drop(inner)));
        }
    }
}

fn ended_over_tables() -> Error {
    Error::invalid("the transaction has ended").hint("Begin another with catalog.transaction()")
}

impl PyCatalogTransaction {
    /// Ends the transaction, and returns it if it had not ended.
    fn take(&self) -> Result<Option<Box<dyn seam::JointTransaction>>> {
        self.inner.with(|inner| Ok(inner.take())).unwrap_or_else(|| Err(seam::in_use()))
    }
}

#[pymethods]
impl PyCatalogTransaction {
    /// The changes of a table.
    fn table(&self, py: Python<'_>, identifier: &str, branch: Option<String>) -> PyResult<PyTransaction> {
        Ok(run(py, || {
            let ident = TableIdent::parse(identifier)?;
            let part = self.inner.with(|inner| inner.as_mut().ok_or_else(ended_over_tables)?.table(&ident, branch));
            part.unwrap_or_else(|| Err(seam::in_use()))
        })?
        .into())
    }

    /// Whether it was committed or abandoned.
    fn ended(&self, py: Python<'_>) -> PyResult<bool> {
        run(py, || self.inner.with(|inner| Ok(inner.is_none())).unwrap_or(Ok(false)))
    }

    /// The tables by their names.
    fn commit(&self, py: Python<'_>) -> PyResult<Vec<(String, PyTable)>> {
        let inner = run(py, || self.take()?.ok_or_else(ended_over_tables))?;
        let tables = run(py, || inner.commit())?;
        Ok(tables.into_iter().map(|(ident, table)| (ident.to_string(), table.into())).collect())
    }

    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        let aborted = py.detach(|| self.take().map(|inner| inner.map(|inner| inner.abort())));
        aborted.map(drop).map_err(|e| to_exception(py, &e))
    }
}
