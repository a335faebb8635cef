//! Snapshots, branches and tags.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use crate::format::request;

/// A snapshot; `frazil.Snapshot` is made from it.
#[pyclass(name = "SnapshotInfo", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PySnapshotInfo {
    id: i64,
    parent_id: Option<i64>,
    sequence_number: i64,
    timestamp_ms: i64,
    operation: Option<String>,
    summary: BTreeMap<String, String>,
    schema_id: Option<i32>,
}

/// A branch or tag; `frazil.refs.Ref` is made from it.
#[pyclass(name = "RefInfo", frozen, get_all, module = "frazil._core")]
pub(in crate::py) struct PyRefInfo {
    name: String,
    snapshot_id: i64,
    #[pyo3(name = "type")]
    kind: &'static str,
    min_snapshots_to_keep: Option<i32>,
    max_snapshot_age_ms: Option<i64>,
    max_ref_age_ms: Option<i64>,
}

impl From<request::SnapshotInfo> for PySnapshotInfo {
    fn from(snapshot: request::SnapshotInfo) -> Self {
        PySnapshotInfo {
            id: snapshot.id,
            parent_id: snapshot.parent_id,
            sequence_number: snapshot.sequence_number,
            timestamp_ms: snapshot.timestamp_ms,
            operation: snapshot.operation,
            summary: snapshot.summary,
            schema_id: snapshot.schema_id,
        }
    }
}

impl From<request::RefInfo> for PyRefInfo {
    fn from(reference: request::RefInfo) -> Self {
        let kept = reference.retention;
        PyRefInfo {
            name: reference.name,
            snapshot_id: reference.snapshot_id,
            kind: reference.kind,
            min_snapshots_to_keep: kept.min_snapshots_to_keep,
            max_snapshot_age_ms: kept.max_snapshot_age_ms,
            max_ref_age_ms: kept.max_ref_age_ms,
        }
    }
}
