//! The results of maintenance actions.

use pyo3::prelude::*;

use crate::format::deletion::Deletion;
use crate::format::maintenance as format;
use crate::py::requests::conversions::Pairs;

/// The result of an action: an object of one of the classes below. `None` if there was nothing to compute.
#[derive(IntoPyObject)]
pub(in crate::py) enum Maintained {
    Expired(ExpiredSnapshots),
    Orphans(OrphanFiles),
    Manifests(RewrittenManifests),
    Compacted(Compacted),
    Deletes(RewrittenDeletes),
    Statistics(Option<ComputedStatistics>),
}

/// What expired, and the files that nothing refers to any more.
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct ExpiredSnapshots {
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
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct OrphanFiles {
    files: Vec<String>,
    deleted: bool,
    failed: Pairs<String>,
}

/// How manifests changed.
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct RewrittenManifests {
    rewritten: Vec<String>,
    added: Vec<String>,
}

/// What a compaction rewrote.
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct Compacted {
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
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct RewrittenDeletes {
    rewritten_files: usize,
    rewritten_bytes: u64,
    added_files: usize,
    added_bytes: u64,
}

/// A statistics file that was computed.
#[pyclass(frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct ComputedStatistics {
    snapshot_id: i64,
    path: String,
    size_bytes: i64,
    distinct: Pairs<i64>,
}

impl From<format::Maintained> for Maintained {
    fn from(done: format::Maintained) -> Self {
        match done {
            format::Maintained::Expired(done) => Maintained::Expired(done.into()),
            format::Maintained::Orphans(done) => Maintained::Orphans(done.into()),
            format::Maintained::Manifests(done) => {
                Maintained::Manifests(RewrittenManifests { rewritten: done.rewritten, added: done.added })
            }
            format::Maintained::Compacted(done) => Maintained::Compacted(done.into()),
            format::Maintained::Deletes(done) => Maintained::Deletes(done.into()),
            format::Maintained::Statistics(done) => Maintained::Statistics(done.map(Into::into)),
        }
    }
}

impl From<format::Expired> for ExpiredSnapshots {
    fn from(done: format::Expired) -> Self {
        ExpiredSnapshots {
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

impl From<format::Orphans> for OrphanFiles {
    fn from(done: format::Orphans) -> Self {
        OrphanFiles { files: done.files, deleted: done.deletion.done, failed: failed(done.deletion) }
    }
}

impl From<format::Compacted> for Compacted {
    fn from(done: format::Compacted) -> Self {
        Compacted {
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

impl From<format::RewrittenDeletes> for RewrittenDeletes {
    fn from(done: format::RewrittenDeletes) -> Self {
        RewrittenDeletes {
            rewritten_files: done.rewritten_files,
            rewritten_bytes: done.rewritten_bytes,
            added_files: done.added_files,
            added_bytes: done.added_bytes,
        }
    }
}

impl From<format::ComputedStatistics> for ComputedStatistics {
    fn from(done: format::ComputedStatistics) -> Self {
        ComputedStatistics {
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
