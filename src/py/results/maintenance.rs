//! The results of maintenance actions.

use pyo3::prelude::*;

use crate::format::deletion::Deletion;
use crate::format::maintenance as format;
use crate::py::requests::conversions::Pairs;

/// The result of an action: an object of one of the classes below. `None` if there was nothing to compute.
#[derive(IntoPyObject)]
pub(in crate::py) enum PyMaintained {
    Expired(PyExpiredSnapshots),
    Orphans(PyOrphanFiles),
    Manifests(PyRewrittenManifests),
    Compacted(PyCompacted),
    Deletes(PyRewrittenDeletes),
    Statistics(Option<PyComputedStatistics>),
    FileIndexes(PyRewrittenIndexes),
    RowIds(PyReassignedRowIds),
    DroppedFiles(usize),
    Done(Option<()>),
}

/// The expired snapshots, and the files that nothing refers to any more.
#[pyclass(name = "ExpiredSnapshots", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyExpiredSnapshots {
    snapshots: Vec<i64>,
    changelogs: Vec<i64>,
    refs: Vec<String>,
    data_files: Vec<String>,
    position_delete_files: Vec<String>,
    equality_delete_files: Vec<String>,
    manifests: Vec<String>,
    manifest_lists: Vec<String>,
    statistics_files: Vec<String>,
    deleted: bool,
    failed: Pairs<String>,
}

/// Files that nothing refers to.
#[pyclass(name = "OrphanFiles", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyOrphanFiles {
    files: Vec<String>,
    deleted: bool,
    failed: Pairs<String>,
}

/// How manifests changed.
#[pyclass(name = "RewrittenManifests", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyRewrittenManifests {
    rewritten: Vec<String>,
    added: Vec<String>,
}

/// The result of a compaction.
#[pyclass(name = "Compacted", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyCompacted {
    groups: usize,
    rewritten_files: usize,
    rewritten_bytes: u64,
    added_files: usize,
    added_bytes: u64,
    commits: usize,
    failed: Vec<String>,
    upgraded_files: usize,
    changelog_files: usize,
}

/// How delete files changed.
#[pyclass(name = "RewrittenDeletes", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyRewrittenDeletes {
    rewritten_files: usize,
    rewritten_bytes: u64,
    added_files: usize,
    added_bytes: u64,
}

/// A statistics file that was computed.
#[pyclass(name = "ComputedStatistics", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyComputedStatistics {
    snapshot_id: i64,
    path: String,
    size_bytes: i64,
    distinct: Pairs<i64>,
}

/// The indexes of data files that were written again.
#[pyclass(name = "RewrittenIndexes", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyRewrittenIndexes {
    partitions: usize,
    files: usize,
}

/// The rows that got other ids.
#[pyclass(name = "ReassignedRowIds", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyReassignedRowIds {
    previous_snapshot_id: i64,
    snapshot_id: i64,
    files: usize,
    rows: i64,
    indexes: usize,
    first_row_id: i64,
    next_row_id: i64,
    skipped: Option<String>,
}

impl From<format::Maintained> for PyMaintained {
    fn from(done: format::Maintained) -> Self {
        match done {
            format::Maintained::Expired(done) => PyMaintained::Expired(done.into()),
            format::Maintained::Orphans(done) => PyMaintained::Orphans(done.into()),
            format::Maintained::Manifests(done) => {
                PyMaintained::Manifests(PyRewrittenManifests { rewritten: done.rewritten, added: done.added })
            }
            format::Maintained::Compacted(done) => PyMaintained::Compacted(done.into()),
            format::Maintained::Deletes(done) => PyMaintained::Deletes(done.into()),
            format::Maintained::Statistics(done) => PyMaintained::Statistics(done.map(Into::into)),
            format::Maintained::FileIndexes(done) => {
                PyMaintained::FileIndexes(PyRewrittenIndexes { partitions: done.partitions, files: done.files })
            }
            format::Maintained::RowIds(done) => PyMaintained::RowIds(done.into()),
            format::Maintained::DroppedFiles(count) => PyMaintained::DroppedFiles(count),
            format::Maintained::Done => PyMaintained::Done(None),
        }
    }
}

impl From<format::Expired> for PyExpiredSnapshots {
    fn from(done: format::Expired) -> Self {
        PyExpiredSnapshots {
            snapshots: done.snapshots,
            changelogs: done.changelogs,
            refs: done.refs,
            data_files: done.data_files,
            position_delete_files: done.position_delete_files,
            equality_delete_files: done.equality_delete_files,
            manifests: done.manifests,
            manifest_lists: done.manifest_lists,
            statistics_files: done.statistics_files,
            deleted: done.deletion.done,
            failed: failed(done.deletion),
        }
    }
}

impl From<format::Orphans> for PyOrphanFiles {
    fn from(done: format::Orphans) -> Self {
        PyOrphanFiles { files: done.files, deleted: done.deletion.done, failed: failed(done.deletion) }
    }
}

impl From<format::Compacted> for PyCompacted {
    fn from(done: format::Compacted) -> Self {
        PyCompacted {
            groups: done.groups,
            rewritten_files: done.rewritten_files,
            rewritten_bytes: done.rewritten_bytes,
            added_files: done.added_files,
            added_bytes: done.added_bytes,
            commits: done.commits,
            failed: done.failed,
            upgraded_files: done.upgraded_files,
            changelog_files: done.changelog_files,
        }
    }
}

impl From<format::ReassignedRowIds> for PyReassignedRowIds {
    fn from(done: format::ReassignedRowIds) -> Self {
        PyReassignedRowIds {
            previous_snapshot_id: done.previous_snapshot_id,
            snapshot_id: done.snapshot_id,
            files: done.files,
            rows: done.rows,
            indexes: done.indexes,
            first_row_id: done.first_row_id,
            next_row_id: done.next_row_id,
            skipped: done.skipped,
        }
    }
}

impl From<format::RewrittenDeletes> for PyRewrittenDeletes {
    fn from(done: format::RewrittenDeletes) -> Self {
        PyRewrittenDeletes {
            rewritten_files: done.rewritten_files,
            rewritten_bytes: done.rewritten_bytes,
            added_files: done.added_files,
            added_bytes: done.added_bytes,
        }
    }
}

impl From<format::ComputedStatistics> for PyComputedStatistics {
    fn from(done: format::ComputedStatistics) -> Self {
        PyComputedStatistics {
            snapshot_id: done.snapshot_id,
            path: done.path,
            size_bytes: done.size_bytes,
            distinct: Pairs(done.distinct),
        }
    }
}

/// Paths and reasons of files that could not be deleted.
fn failed(deletion: Deletion) -> Pairs<String> {
    Pairs(deletion.failed.into_iter().map(|file| (file.path, file.reason)).collect())
}
