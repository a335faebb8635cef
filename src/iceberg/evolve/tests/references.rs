use std::sync::Arc;

use super::*;
use crate::format::evolution::RefKind;
use crate::iceberg::spec::metadata::MAIN_BRANCH;
use crate::iceberg::spec::snapshot::{Snapshot, SnapshotRef};

/// Snapshots 1, 2, 3 on main at times 10, 20, 30; 4 on `audit` from 3; 5 on `other` from 1.
fn history() -> TableMetadata {
    let mut metadata = table(2, &[], &[]);
    metadata.last_updated_ms = 1;
    for (id, parent, branch) in
        [(1, None, "main"), (2, Some(1), "main"), (3, Some(2), "main"), (4, Some(3), "audit"), (5, Some(1), "other")]
    {
        let snapshot = Snapshot {
            id,
            parent_id: parent,
            sequence_number: id,
            timestamp_ms: id * 10,
            manifest_list: Some(format!("/t/metadata/snap-{id}.avro")),
            ..Snapshot::default()
        };
        metadata = metadata.add_snapshot(snapshot, branch, id * 10).unwrap();
    }
    metadata
}

fn at(metadata: &TableMetadata, name: &str) -> Option<i64> {
    metadata.refs.get(name).map(|r| r.snapshot_id)
}

fn one(change: Json) -> Json {
    json!([change])
}

#[test]
fn references_are_made_moved_and_dropped() {
    let base = history();
    let next = evolve(&base, json!([
        {"change": "create-tag", "name": "now"},
        {"change": "create-tag", "name": "old", "snapshot_id": 1, "max-ref-age-ms": 5},
        {"change": "create-branch", "name": "dev", "reference": "audit", "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 7},
        {"change": "create-branch", "name": "then", "timestamp_ms": 25},
        {"change": "rename-branch", "name": "other", "to": "another"},
        {"change": "replace-ref", "name": "audit", "snapshot_id": 5},
    ])).unwrap();
    let got = ["now", "old", "dev", "then", "another", "other", "audit"].map(|name| at(&next, name));
    assert_eq!(got, [Some(3), Some(1), Some(4), Some(2), Some(5), None, Some(5)]);
    assert_eq!(next.refs["old"], SnapshotRef { max_ref_age_ms: Some(5), ..SnapshotRef::new(1, RefKind::Tag) });
    let dev = &next.refs["dev"];
    assert_eq!((dev.kind, dev.min_snapshots_to_keep, dev.max_snapshot_age_ms), (RefKind::Branch, Some(2), Some(7)));
    // Retention that is not given stays.
    let kept = evolve(&next, json!([{"change": "set-retention", "name": "dev", "max-ref-age-ms": 9}, {"change": "replace-ref", "name": "dev", "snapshot_id": 1}])).unwrap();
    assert_eq!(
        (kept.refs["dev"].min_snapshots_to_keep, kept.refs["dev"].max_ref_age_ms, at(&kept, "dev")),
        (Some(2), Some(9), Some(1))
    );
    let dropped =
        evolve(&next, json!([{"change": "drop-ref", "name": "now"}, {"change": "drop-ref", "name": "dev"}])).unwrap();
    assert_eq!((at(&dropped, "now"), at(&dropped, "dev"), dropped.snapshots.len()), (None, None, 5));
    assert_eq!((dropped.current_snapshot_id, &dropped.snapshot_log), (Some(3), &base.snapshot_log));
}

#[test]
fn what_java_refuses_is_refused() {
    let base = evolve(&history(), one(json!({"change": "create-tag", "name": "v1"}))).unwrap();
    for (change, problem) in [
        (json!({"change": "create-tag", "name": "v1"}), "already"),
        (json!({"change": "create-branch", "name": "main"}), "already"),
        (json!({"change": "create-tag", "name": "x", "snapshot_id": 99}), "no such snapshot"),
        (json!({"change": "create-tag", "name": ""}), "needs a name"),
        (json!({"change": "create-tag", "name": "x", "min-snapshots-to-keep": 1}), "only a branch"),
        (json!({"change": "create-branch", "name": "x", "max-ref-age-ms": 0}), "above 0"),
        (json!({"change": "set-retention", "name": "v1", "max-snapshot-age-ms": 1}), "only a branch"),
        (json!({"change": "drop-ref", "name": "main"}), "can't be dropped"),
        (json!({"change": "drop-ref", "name": "nope"}), "no branch or tag"),
        (json!({"change": "rename-branch", "name": "main", "to": "x"}), "can't be renamed"),
        (json!({"change": "rename-branch", "name": "v1", "to": "x"}), "is a tag"),
        (json!({"change": "rename-branch", "name": "audit", "to": "v1"}), "already"),
        (json!({"change": "replace-ref", "name": "nope", "snapshot_id": 1}), "no branch or tag"),
        (json!({"change": "fast-forward", "name": "v1", "to": "audit"}), "is a tag"),
        (json!({"change": "fast-forward", "name": "main", "to": "other"}), "does not descend"),
        (json!({"change": "fast-forward", "name": "main", "to": "nope"}), "no branch or tag"),
        (json!({"change": "roll-back", "snapshot_id": 4}), "ancestor"),
        (json!({"change": "roll-back", "reference": "other"}), "ancestor"),
        (json!({"change": "roll-back", "timestamp_ms": 10}), "no snapshot from before"),
        (json!({"change": "roll-back", "name": "v1", "snapshot_id": 1}), "is a tag"),
        (json!({"change": "set-snapshot", "snapshot_id": 99}), "no such snapshot"),
        (json!({"change": "set-snapshot", "name": "v1", "snapshot_id": 1}), "is a tag"),
    ] {
        let error = refused(&base, one(change.clone()));
        assert!(error.contains(problem), "{change}: {error}");
    }
    assert!(
        refused(&table(2, &[], &[]), one(json!({"change": "create-branch", "name": "x"}))).contains("no snapshot yet")
    );
}

#[test]
fn main_moves_with_the_log() {
    let base = history();
    let forward = evolve(&base, one(json!({"change": "fast-forward", "name": "main", "to": "audit"}))).unwrap();
    assert_eq!((forward.current_snapshot_id, at(&forward, MAIN_BRANCH)), (Some(4), Some(4)));
    let entry = forward.snapshot_log.last().unwrap();
    assert_eq!((entry.snapshot_id, entry.timestamp_ms), (4, NOW + 1));
    for (to, id) in [(json!({"snapshot_id": 1}), 1), (json!({"timestamp_ms": 30}), 2), (json!({"timestamp_ms": 31}), 3)]
    {
        let mut change = json!({"change": "roll-back"});
        change.as_object_mut().unwrap().extend(to.as_object().unwrap().clone());
        assert_eq!(evolve(&base, one(change)).unwrap().current_snapshot_id, Some(id), "{to}");
    }
    let set = evolve(&base, one(json!({"change": "set-snapshot", "reference": "other"}))).unwrap();
    assert_eq!((set.current_snapshot_id, set.snapshot_log.len()), (Some(5), 4));
    let other = evolve(&base, one(json!({"change": "roll-back", "name": "audit", "snapshot_id": 2}))).unwrap();
    assert_eq!(
        (at(&other, "audit"), other.current_snapshot_id, &other.snapshot_log),
        (Some(2), Some(3), &base.snapshot_log)
    );
    let branched = evolve(&base, one(json!({"change": "fast-forward", "name": "new", "to": "audit"}))).unwrap();
    assert_eq!(at(&branched, "new"), Some(4));
    // The clock of another machine was ahead.
    let mut ahead = base.clone();
    ahead.snapshot_log.last_mut().unwrap().timestamp_ms = NOW + 500;
    let forward = evolve(&ahead, one(json!({"change": "fast-forward", "name": "main", "to": "audit"}))).unwrap();
    assert_eq!((forward.snapshot_log.last().unwrap().timestamp_ms, forward.last_updated_ms), (NOW + 500, NOW + 500));
}

#[test]
fn versions_are_those_that_their_author_saw() {
    let base = history();
    let changes =
        json!([{"change": "create-tag", "name": "v"}, {"change": "create-branch", "name": "b", "reference": "audit"}]);
    let pinned: Vec<_> =
        parse_evolutions(&changes.to_string()).unwrap().iter().map(|e| e.pinned(&base).unwrap()).collect();
    let snapshot =
        Snapshot { parent_id: Some(3), sequence_number: 6, id: 6, ..(**base.snapshot_by_id(3).unwrap()).clone() };
    let newer = base.add_snapshot(snapshot, MAIN_BRANCH, 60).unwrap();
    assert!(Requirements::of(&base, &pinned).check(&newer).is_ok());
    assert_eq!(at(&apply(&newer, &pinned, NOW).unwrap(), "v"), Some(3));
    let rollback = parse_evolutions(r#"[{"change": "roll-back", "snapshot_id": 1}]"#).unwrap();
    let conflict = Requirements::of(&base, &rollback).check(&newer).unwrap_err();
    assert_eq!(conflict.kind(), ErrorKind::CommitConflict);
    assert!(conflict.to_string().contains("snapshot of 'main'"), "{conflict}");
    let taken = Requirements::of(&base, &pinned).check(&apply(&newer, &pinned, NOW).unwrap()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::CommitConflict);
    assert!(Arc::ptr_eq(&base.snapshots[0], &newer.snapshots[0]));
}
