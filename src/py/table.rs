//! The class `Table` of `frazil._core`, which Python's tables call.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::arrow::{Input, PyBatches};
use super::call::{run, run_attached};
use super::commit_message::{PyCommitMessage, taken};
use super::pickle::{Pickled, pickle_as_json};
use super::requests::evolution::PyEvolution;
use super::requests::maintenance::PyMaintenance;
use super::requests::row_change::PyRowChange;
use super::requests::version::PyAt;
use super::results::commit_rows::PyCommitRows;
use super::results::diagnosis::{PyDiagnosis, PyDoctorRequest, PyRepairStep};
use super::results::maintenance::PyMaintained;
use super::results::snapshot::{PyRefInfo, PySnapshotInfo};
use super::scan::PyScan;
use super::schema::PySchema;
use super::task::{PyDataFile, PyDeleteFile};
use crate::error::{Result, ResultExt};
use crate::expr;
use crate::format::commit::CommitOptions;
use crate::format::diagnosis::repair::{RepairKind, RepairOptions};
use crate::format::request::{ScanRequest, WriteOptions};
use crate::format::task;
use crate::rows::seam::{self, TableCapability};
use crate::tables::open;
use crate::tables::reopen::table_from_json;

/// `(name, transform, source_id, field_id)`.
type PartitionFieldTuple = (String, String, i32, i32);
/// `(source_id, transform, descending, nulls_first)`.
type SortFieldTuple = (i32, String, bool, bool);

/// A table at one version; `frazil.Table` wraps it.
#[pyclass(name = "Table", frozen, module = "frazil._core")]
pub(super) struct PyTable {
    pub(super) inner: Arc<dyn seam::Table>,
}

impl From<Arc<dyn seam::Table>> for PyTable {
    fn from(inner: Arc<dyn seam::Table>) -> Self {
        PyTable { inner }
    }
}

impl PyTable {
    /// The capability of the table, or an `Unsupported` error that names the verb.
    pub(super) fn required<'t, T>(
        &'t self,
        verb: &str,
        found: impl FnOnce(&'t dyn seam::Table) -> Option<T>,
    ) -> Result<T> {
        let required = self.inner.format().required(verb, found(self.inner.as_ref()));
        required.with("table", self.inner.location())
    }
}

#[pymethods]
impl PyTable {
    #[staticmethod]
    fn open(
        py: Python<'_>,
        location: &str,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> PyResult<PyTable> {
        Ok(run(py, || open::open(location, storage_options, moved))?.into())
    }

    #[getter]
    fn format(&self) -> &'static str {
        self.inner.format().id
    }

    /// The name of the format, for messages.
    #[getter]
    fn format_name(&self) -> &'static str {
        self.inner.format().name
    }

    /// Whether the table can do something; the names are those of `frazil.capabilities`.
    fn supports(&self, py: Python<'_>, capability: &str) -> PyResult<bool> {
        run_attached(py, || Ok(self.inner.supports(TableCapability::parse(capability)?)))
    }

    #[getter]
    fn format_version(&self) -> u8 {
        self.inner.format_version()
    }

    #[getter]
    fn location(&self) -> &str {
        self.inner.location()
    }

    #[getter]
    fn metadata_location(&self) -> &str {
        self.inner.metadata_location()
    }

    /// The name in its catalog, if the table knows it.
    #[getter]
    fn name(&self) -> Option<String> {
        self.inner.name()
    }

    /// The snapshots that the last commit added, by which this version was made.
    #[getter]
    fn committed(&self) -> Option<Vec<i64>> {
        self.inner.committed().map(<[i64]>::to_vec)
    }

    #[getter]
    fn labels(&self) -> (BTreeMap<String, String>, BTreeMap<i32, BTreeMap<String, String>>) {
        let labels = self.inner.labels();
        (labels.table, labels.columns)
    }

    /// Other members of the catalog's answer, as JSON.
    #[getter]
    fn catalog_members(&self) -> BTreeMap<String, String> {
        self.inner.labels().others
    }

    #[getter]
    fn uuid(&self) -> &str {
        self.inner.uuid()
    }

    #[getter]
    fn properties(&self) -> BTreeMap<String, String> {
        self.inner.properties()
    }

    fn schema(&self) -> PySchema {
        PySchema { inner: Arc::clone(self.inner.schema()) }
    }

    fn partition_spec(&self) -> (i32, Vec<PartitionFieldTuple>) {
        let spec = self.inner.partition_spec();
        let fields = spec.fields.iter();
        (spec.id, fields.map(|f| (f.name.clone(), f.transform.to_string(), f.source_id, f.field_id)).collect())
    }

    fn sort_order(&self) -> (i32, Vec<SortFieldTuple>) {
        let order = self.inner.sort_order();
        let fields = order.fields.iter();
        (order.id, fields.map(|f| (f.source_id, f.transform.to_string(), f.descending, f.nulls_first)).collect())
    }

    /// The table with the properties, spec and order that it had at a version. None if they are no longer known.
    #[pyo3(signature = (at=None))]
    fn defined_at(&self, py: Python<'_>, at: Option<PyAt>) -> PyResult<Option<PyTable>> {
        let at = at.map(Into::into);
        Ok(run(py, || self.inner.defined_at(at.as_ref()))?.map(Into::into))
    }

    fn snapshot(&self) -> Option<PySnapshotInfo> {
        self.inner.snapshot().map(Into::into)
    }

    fn snapshots(&self, py: Python<'_>) -> PyResult<Vec<PySnapshotInfo>> {
        Ok(run(py, || self.inner.snapshots())?.into_iter().map(Into::into).collect())
    }

    fn refs(&self, py: Python<'_>) -> PyResult<Vec<PyRefInfo>> {
        Ok(run(py, || self.inner.refs())?.into_iter().map(Into::into).collect())
    }

    /// The rows that the commits with each schema bring, by the ids of the schemas.
    fn commit_rows(&self, py: Python<'_>) -> PyResult<BTreeMap<i64, PyCommitRows>> {
        Ok(run(py, || self.inner.commit_rows())?.into_iter().map(|(id, rows)| (id, rows.into())).collect())
    }

    fn evolve(&self, py: Python<'_>, change: &PyEvolution) -> PyResult<PyTable> {
        Ok(run(py, || self.inner.evolve(&[change.read()?]))?.into())
    }

    /// Runs one action of maintenance. Returns the table at its new version, and the action's result.
    fn maintain(&self, py: Python<'_>, action: &PyMaintenance) -> PyResult<(PyTable, PyMaintained)> {
        let (table, done) = run(py, || self.inner.maintain(&action.read()?))?;
        Ok((table.into(), done.into()))
    }

    fn diagnose(&self, py: Python<'_>, request: &PyDoctorRequest) -> PyResult<PyDiagnosis> {
        Ok(run(py, || self.inner.diagnose(&request.read()))?.into())
    }

    /// Repairs the table. Returns it at its new version, and what was done.
    fn repair(
        &self,
        py: Python<'_>,
        kinds: Vec<String>,
        dry_run: bool,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<(PyTable, Vec<PyRepairStep>)> {
        let (table, steps) = run(py, || {
            let kinds = kinds.iter().map(|name| RepairKind::parse(name)).collect::<Result<_>>()?;
            self.inner.repair(&RepairOptions { kinds, dry_run, snapshot_properties })
        })?;
        Ok((table.into(), steps.into_iter().map(Into::into).collect()))
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<PyTable> {
        Ok(run(py, || self.inner.refresh())?.into())
    }

    #[pyo3(signature = (*, filter=None, select=None, at=None, since=None, changes=false, options=None))]
    #[allow(clippy::too_many_arguments)]
    fn scan(
        &self,
        py: Python<'_>,
        filter: Option<&str>,
        select: Option<Vec<String>>,
        at: Option<PyAt>,
        since: Option<PyAt>,
        changes: bool,
        options: Option<BTreeMap<String, String>>,
    ) -> PyResult<PyScan> {
        let inner = run(py, || {
            let filter = filter.map(expr::parse).transpose()?;
            let (at, since) = (at.map(Into::into), since.map(Into::into));
            let options = options.unwrap_or_default();
            self.inner.scan(ScanRequest { filter, select, at, since, changes, options })
        })?;
        Ok(PyScan { inner })
    }

    #[pyo3(signature = (name, at=None))]
    fn inspect(&self, py: Python<'_>, name: &str, at: Option<PyAt>) -> PyResult<PyBatches> {
        let at = at.map(Into::into);
        let rows = run(py, || self.inner.inspect(name, at.as_ref()))?;
        Ok(PyBatches::new(rows.schema, rows.batches))
    }

    #[pyo3(signature = (data, *, branch=None, snapshot_properties=None, sort_by=None))]
    fn append(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        branch: Option<String>,
        snapshot_properties: Option<BTreeMap<String, String>>,
        sort_by: Option<Vec<String>>,
    ) -> PyResult<PyTable> {
        let write_options = WriteOptions { sort_by, ..WriteOptions::default() };
        let options = CommitOptions { branch, snapshot_properties: snapshot_properties.unwrap_or_default() };
        Ok(Input::new(data)?.run(py, |rows| self.inner.append(rows, &write_options, &options))?.into())
    }

    fn change_rows(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        data: Option<&Bound<'_, PyAny>>,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<PyTable> {
        let options = CommitOptions { branch, snapshot_properties };
        let work = |rows| self.inner.change_rows(&change.read()?, rows, &options);
        let done = match data {
            Some(data) => Input::new(data)?.run(py, |rows| work(Some(rows))),
            None => run(py, || work(None)),
        };
        Ok(done?.into())
    }

    /// `rewrites`: the rows were read from the table, and keep their lineage.
    fn write(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        task: u64,
        rewrites: bool,
        replaces: bool,
        sort_by: Option<Vec<String>>,
    ) -> PyResult<PyCommitMessage> {
        let write_options = WriteOptions { task, sort_by, rewrites, replaces };
        let message = Input::new(data)?.run(py, |rows| self.inner.write(rows, &write_options))?;
        Ok(message.into())
    }

    fn job_folder(&self, py: Python<'_>, name: &str) -> PyResult<Option<String>> {
        run(py, || self.required("files of an engine", |t| t.foreign_files())?.job_folder(name))
    }

    fn collect_job(&self, py: Python<'_>, folder: &str, in_order: bool) -> PyResult<PyCommitMessage> {
        let collect = || self.required("files of an engine", |t| t.foreign_files())?.collect_job(folder, in_order);
        let message = run(py, collect)?;
        Ok(message.into())
    }

    fn sweep_job(&self, py: Python<'_>, folder: &str) -> PyResult<()> {
        run(py, || self.required("files of an engine", |t| t.foreign_files())?.sweep_job(folder))
    }

    /// Deletes by key or position, as [`Table::change_rows`] takes them, without committing.
    fn write_delta(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        data: &Bound<'_, PyAny>,
        branch: Option<&str>,
        task: u64,
    ) -> PyResult<PyCommitMessage> {
        let message = Input::new(data)?.run(py, |rows| self.inner.write_delta(&change.read()?, rows, branch, task))?;
        Ok(message.into())
    }

    /// The division of a delete or update: files that are removed as a whole, and `(path, bytes)` of the others.
    fn change_files(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        branch: Option<&str>,
    ) -> PyResult<(PyCommitMessage, Vec<(String, i64)>)> {
        let done = run(py, || {
            let change = change.read()?;
            self.required("change_files", |t| t.changes_in_parts())?.change_files(&change, branch)
        })?;
        Ok((done.whole.into(), done.files))
    }

    /// The part of a delete or update that concerns some data files, without committing.
    fn write_file_part(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        files: Vec<String>,
        branch: Option<&str>,
        task: u64,
    ) -> PyResult<PyCommitMessage> {
        let message = run(py, || {
            let part = change.read_file_part(files)?;
            self.required("write_part", |t| t.changes_in_parts())?.write_part(&part, None, branch, task)
        })?;
        Ok(message.into())
    }

    /// The part of a merge that concerns rows which were matched, without committing.
    #[allow(clippy::too_many_arguments)]
    fn write_matched_part(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        filter: &str,
        data: &Bound<'_, PyAny>,
        branch: Option<&str>,
        task: u64,
        command: &str,
    ) -> PyResult<PyCommitMessage> {
        let message = Input::new(data)?.run(py, |rows| {
            let part = change.read_matched_part(filter, command)?;
            self.required("write_part", |t| t.changes_in_parts())?.write_part(&part, Some(rows), branch, task)
        })?;
        Ok(message.into())
    }

    /// Commits all parts of a change. `filter` selects every row that the change read.
    #[pyo3(signature = (change, filter, messages, snapshot_properties, *, branch=None))]
    fn commit_parts(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        filter: &str,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
        snapshot_properties: BTreeMap<String, String>,
        branch: Option<String>,
    ) -> PyResult<PyTable> {
        let messages = taken(&messages);
        let options = CommitOptions { branch, snapshot_properties };
        let done = run(py, || {
            let (change, filter) = (change.read()?, expr::parse(filter)?);
            self.required("commit_parts", |t| t.changes_in_parts())?.commit_parts(&change, &filter, messages, &options)
        });
        Ok(done?.into())
    }

    #[pyo3(signature = (data_files, delete_files, messages, at, branch, snapshot_properties))]
    #[allow(clippy::too_many_arguments)]
    fn commit_rewrite(
        &self,
        py: Python<'_>,
        data_files: Vec<PyRef<'_, PyDataFile>>,
        delete_files: Vec<PyRef<'_, PyDeleteFile>>,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
        at: Option<PyAt>,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<PyTable> {
        let replaced = data_files.iter().map(|f| &f.inner).chain(delete_files.iter().map(|f| &f.inner));
        let replaced: Vec<_> = replaced.map(|f| task::DataFile::clone(f)).collect();
        let messages = taken(&messages);
        let at = at.map(Into::into);
        let options = CommitOptions { branch, snapshot_properties };
        Ok(run(py, || {
            self.required("commit_rewrite", |t| t.file_rewrites())?.commit_rewrite(replaced, messages, at, &options)
        })?
        .into())
    }

    #[pyo3(signature = (messages, snapshot_properties, *, branch=None))]
    fn commit(
        &self,
        py: Python<'_>,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
        snapshot_properties: BTreeMap<String, String>,
        branch: Option<String>,
    ) -> PyResult<PyTable> {
        let messages = taken(&messages);
        let options = CommitOptions { branch, snapshot_properties };
        Ok(run(py, || self.inner.commit(messages, &options))?.into())
    }

    /// `change`: an overwrite, as [`Table::change_rows`] takes it.
    #[pyo3(signature = (change, messages, snapshot_properties, *, branch=None))]
    fn commit_overwrite(
        &self,
        py: Python<'_>,
        change: &PyRowChange,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
        snapshot_properties: BTreeMap<String, String>,
        branch: Option<String>,
    ) -> PyResult<PyTable> {
        let messages = taken(&messages);
        let options = CommitOptions { branch, snapshot_properties };
        let done = run(py, || self.inner.commit_overwrite(&change.read()?, messages, &options));
        Ok(done?.into())
    }

    fn check_overwrite(&self, py: Python<'_>, change: &PyRowChange) -> PyResult<()> {
        run(py, || self.inner.check_overwrite(&change.read()?))
    }

    #[pyo3(signature = (paths, check_duplicates, *, branch, snapshot_properties))]
    fn add_files(
        &self,
        py: Python<'_>,
        paths: Vec<String>,
        check_duplicates: bool,
        branch: Option<String>,
        snapshot_properties: BTreeMap<String, String>,
    ) -> PyResult<PyTable> {
        let options = CommitOptions { branch, snapshot_properties };
        Ok(run(py, || {
            self.required("add_files", |t| t.foreign_files())?.add_files(&paths, check_duplicates, &options)
        })?
        .into())
    }

    fn cherry_pick(&self, py: Python<'_>, snapshot_id: i64) -> PyResult<PyTable> {
        Ok(run(py, || self.required("cherry_pick", |t| t.cherry_picks())?.cherry_pick(snapshot_id))?.into())
    }

    fn abort(&self, py: Python<'_>, messages: Vec<PyRef<'_, PyCommitMessage>>) -> PyResult<()> {
        let messages = taken(&messages);
        run(py, || self.inner.abort(&messages))
    }

    fn writable_location(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || self.inner.writable_location().map(str::to_owned))
    }

    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    #[classmethod]
    fn from_json(cls: &Bound<'_, PyType>, text: &str) -> PyResult<PyTable> {
        Ok(run(cls.py(), || table_from_json(text))?.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        pickle_as_json::<PyTable>(py, self.to_json())
    }
}
