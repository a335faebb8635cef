//! Maintenance that other processes do a part of: one plans, others write or read, the first commits.

use std::collections::BTreeSet;
use std::sync::Arc;

use pyo3::prelude::*;

use super::call::{run, run_attached};
use super::commit_message::{PyCommitMessage, taken};
use super::requests::maintenance::{PyFileOrder, PyMaintenance, PyOrphanOptions, PyPartWriter};
use super::results::maintenance::{PyCompacted, PyOrphanFiles, PyRewrittenDeletes};
use super::split::PySplit;
use super::table::PyTable;
use crate::error::Result;
use crate::format::maintenance_parts::{self as format, Listed, PartsDone, Reachable};
use crate::format::task;
use crate::format::wire::task::{message_from_json, message_to_json};
use crate::rows::seam;

/// The steps of maintenance on one version of a table.
#[pyclass(name = "MaintenanceParts", frozen, module = "frazil._core")]
pub(super) struct PyMaintenanceParts {
    table: Py<PyTable>,
}

/// A group of files of a planned compaction.
#[pyclass(name = "CompactionGroup", frozen, module = "frazil._core")]
pub(super) struct PyCompactionGroup {
    removed: Vec<task::DataFile>,
    parts: Vec<Arc<task::Split>>,
    #[pyo3(get)]
    roll_at: u64,
}

/// Delete files that one process rewrites.
#[pyclass(name = "DeletePart", frozen, module = "frazil._core")]
pub(super) struct PyDeletePart {
    inner: format::DeletePart,
    table_uuid: String,
}

#[pymethods]
impl PyCompactionGroup {
    /// The parts. One process reads each.
    #[getter]
    fn parts(&self) -> Vec<PySplit> {
        self.parts.iter().map(|part| PySplit { inner: Arc::clone(part) }).collect()
    }
}

#[pymethods]
impl PyDeletePart {
    /// Reads the texts of files that another process has sent.
    #[new]
    fn new(py: Python<'_>, deletes: &str, concerned: &str, roll_at: u64) -> PyResult<PyDeletePart> {
        run_attached(py, || {
            let (deletes, concerned) = (message_from_json(deletes)?, message_from_json(concerned)?);
            let inner = format::DeletePart { deletes: deletes.files, concerned: concerned.files, roll_at };
            Ok(PyDeletePart { inner, table_uuid: deletes.table_uuid })
        })
    }

    /// The delete files, as text for another process.
    #[getter]
    fn deletes(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || self.text(&self.inner.deletes))
    }

    /// The data files that the delete files may concern, as text for another process.
    #[getter]
    fn concerned(&self, py: Python<'_>) -> PyResult<String> {
        run_attached(py, || self.text(&self.inner.concerned))
    }

    /// The size at which a new file begins, in bytes.
    #[getter]
    fn roll_at(&self) -> u64 {
        self.inner.roll_at
    }
}

impl PyDeletePart {
    /// Files in the complete form of messages.
    fn text(&self, files: &[task::DataFile]) -> Result<String> {
        message_to_json(&task::CommitMessage::new(&self.table_uuid, files.to_vec(), None))
    }
}

impl PyMaintenanceParts {
    /// Does a step, detached from the interpreter.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&dyn seam::MaintenanceInParts) -> Result<T> + Send,
    ) -> PyResult<T> {
        let table = self.table.get();
        run(py, || step(table.required("maintenance in parts", |t| t.maintenance_in_parts())?))
    }
}

#[pymethods]
impl PyMaintenanceParts {
    #[new]
    fn new(table: Py<PyTable>) -> PyMaintenanceParts {
        PyMaintenanceParts { table }
    }

    /// Plans a compaction. Returns the newest version, the snapshot that is read, the groups, and the counts of files
    /// that they remove.
    fn plan_compaction(
        &self,
        py: Python<'_>,
        action: &PyMaintenance,
    ) -> PyResult<(PyTable, Option<i64>, Vec<PyCompactionGroup>, PyCompacted)> {
        let (table, planned) = self.run(py, |parts| parts.plan_compaction(&action.read_compaction()?))?;
        let group = |group: format::PartedGroup| PyCompactionGroup {
            removed: group.removed,
            parts: group.parts.into_iter().map(Arc::new).collect(),
            roll_at: group.roll_at,
        };
        let groups = planned.groups.into_iter().map(group).collect();
        Ok((table.into(), planned.since, groups, planned.counted.into()))
    }

    /// Writes the rows of a part into new files, without committing them.
    fn compact_part(
        &self,
        py: Python<'_>,
        part: &PySplit,
        roll_at: u64,
        order: PyFileOrder,
        writer: &PyPartWriter,
    ) -> PyResult<PyCommitMessage> {
        let message = self.run(py, |parts| parts.compact_part(&part.inner, roll_at, &order.read()?, &writer.read()))?;
        Ok(message.into())
    }

    /// Commits the files that the parts of groups wrote.
    fn commit_compaction(
        &self,
        py: Python<'_>,
        action: &PyMaintenance,
        since: i64,
        groups: Vec<PyRef<'_, PyCompactionGroup>>,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
    ) -> PyResult<(PyTable, PyCompacted)> {
        let removed = groups.iter().flat_map(|group| group.removed.iter().cloned()).collect();
        let done = PartsDone { since, removed, messages: taken(&messages) };
        let (table, done) = self.run(py, |parts| parts.commit_compaction(done, &action.read_compaction()?.commit))?;
        Ok((table.into(), done.into()))
    }

    /// Plans a rewrite of position deletes. Returns the newest version, the snapshot that is read, the parts, and the
    /// counts of files that they remove.
    fn plan_delete_rewrite(
        &self,
        py: Python<'_>,
        action: &PyMaintenance,
    ) -> PyResult<(PyTable, Option<i64>, Vec<PyDeletePart>, PyRewrittenDeletes)> {
        let (table, planned) = self.run(py, |parts| parts.plan_delete_rewrite(&action.read_deletes()?))?;
        let part = |inner| PyDeletePart { inner, table_uuid: table.uuid().to_owned() };
        let parts = planned.parts.into_iter().map(part).collect();
        Ok((table.into(), planned.since, parts, planned.counted.into()))
    }

    /// Rewrites the delete files of a part, without committing the new ones.
    fn rewrite_deletes_part(
        &self,
        py: Python<'_>,
        since: i64,
        part: &PyDeletePart,
        writer: &PyPartWriter,
    ) -> PyResult<PyCommitMessage> {
        let part = part.inner.clone();
        Ok(self.run(py, |parts| parts.rewrite_deletes_part(since, part, &writer.read()))?.into())
    }

    /// Commits the files that the parts of a rewrite of position deletes wrote.
    fn commit_delete_rewrite(
        &self,
        py: Python<'_>,
        action: &PyMaintenance,
        since: i64,
        rewritten: Vec<PyRef<'_, PyDeletePart>>,
        messages: Vec<PyRef<'_, PyCommitMessage>>,
    ) -> PyResult<(PyTable, PyRewrittenDeletes)> {
        let removed = rewritten.iter().flat_map(|part| part.inner.deletes.iter().cloned()).collect();
        let done = PartsDone { since, removed, messages: taken(&messages) };
        let (table, done) = self.run(py, |parts| parts.commit_delete_rewrite(done, &action.read_deletes()?.commit))?;
        Ok((table.into(), done.into()))
    }

    /// Plans a listing: the folders to list, the files above them, and the time before which files count.
    fn plan_listing(&self, py: Python<'_>, options: PyOrphanOptions) -> PyResult<(Vec<String>, Vec<Listed>, i64)> {
        let planned = self.run(py, |parts| parts.plan_listing(&options.read()?))?;
        Ok((planned.folders, planned.listed, planned.older_than_ms))
    }

    /// Lists folders and everything in them: keys and paths of files.
    fn list_part(&self, py: Python<'_>, options: PyOrphanOptions, folders: Vec<String>) -> PyResult<Vec<Listed>> {
        self.run(py, |parts| parts.list_part(&options.read()?, folders))
    }

    /// The newest version, the manifests to read, and the other files that the table leads to.
    fn plan_reachable(
        &self,
        py: Python<'_>,
        options: PyOrphanOptions,
    ) -> PyResult<(PyTable, Vec<String>, Vec<Reachable>)> {
        let (table, planned) = self.run(py, |parts| parts.plan_reachable(&options.read()?))?;
        Ok((table.into(), planned.manifests, planned.reachable))
    }

    /// The live files of manifests: their keys, and the prefixes that they are recorded with if these differ.
    fn reachable_part(
        &self,
        py: Python<'_>,
        options: PyOrphanOptions,
        manifests: Vec<String>,
    ) -> PyResult<Vec<Reachable>> {
        self.run(py, |parts| parts.reachable_part(&options.read()?, &manifests))
    }

    /// Deletes orphans, unless some may be recorded with the prefixes in `conflicts`.
    fn delete_orphans(
        &self,
        py: Python<'_>,
        options: PyOrphanOptions,
        conflicts: Vec<String>,
        files: Vec<String>,
    ) -> PyResult<PyOrphanFiles> {
        let conflicts = conflicts.into_iter().collect::<BTreeSet<_>>();
        Ok(self.run(py, |parts| parts.delete_orphans(&options.read()?, &conflicts, files))?.into())
    }

    /// Deletes the files that the writers of a job made and that no snapshot has.
    fn remove_files_of(&self, py: Python<'_>, job: &str) -> PyResult<Vec<String>> {
        Ok(self.run(py, |parts| parts.remove_files_of(job))?.1)
    }
}
