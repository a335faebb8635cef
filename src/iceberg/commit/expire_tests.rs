use std::sync::Arc;

use super::*;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::snapshot::{Snapshot, StatisticsFile};
use crate::types::{PartitionSpec, Schema, SortOrder};

const DAY: i64 = 24 * 60 * 60 * 1000;
/// Now: day 100. Snapshot n was made on day n * 10.
const NOW: i64 = 100 * DAY;

/// main: 1 - 2 - 3 - 6; audit: 1 - 2 - 4 - 5; nowhere: 7 (on 3).
fn table() -> TableMetadata {
    let schema = Schema::new(0, Vec::new(), Vec::new());
    let (spec, order) = (PartitionSpec::default(), SortOrder::default());
    let mut m = new_table(&schema, &spec, &order, "/t", &Default::default(), 2, 0).unwrap();
    let commits = [
        (1, None, Some("main")),
        (2, Some(1), Some("main")),
        (3, Some(2), Some("main")),
        (4, Some(2), Some("audit")),
        (5, Some(4), Some("audit")),
        (6, Some(3), Some("main")),
        (7, Some(3), None),
    ];
    for (id, parent_id, branch) in commits {
        let snapshot = Snapshot {
            id,
            parent_id,
            sequence_number: id,
            timestamp_ms: id * 10 * DAY,
            manifest_list: Some(format!("/t/metadata/snap-{id}.avro")),
            ..Snapshot::default()
        };
        m = match branch {
            Some(branch) => m.add_snapshot(snapshot, branch, id * 10 * DAY).unwrap(),
            None => m.stage_snapshot(snapshot, id * 10 * DAY).unwrap(),
        };
    }
    m.refs.insert("tag".into(), SnapshotRef::new(2, RefKind::Tag));
    m
}

fn property(m: &mut TableMetadata, name: &str, value: i64) {
    m.properties.insert(name.to_owned(), value.to_string());
}

fn kept(m: &TableMetadata, expiry: &Expiry) -> (Vec<i64>, Vec<String>) {
    let next = expire(m, expiry, NOW).unwrap();
    (next.snapshots.iter().map(|s| s.id).collect(), next.refs.keys().cloned().collect())
}

fn older_than(day: i64) -> Expiry {
    Expiry { older_than_ms: Some(day * DAY), ..Expiry::default() }
}

#[test]
fn branches_keep_heads_and_tags_their_snapshot() {
    let names = vec!["audit".to_owned(), "main".to_owned(), "tag".to_owned()];
    // Five days by default: everything except the snapshots that references need.
    assert_eq!(kept(&table(), &Expiry::default()), (vec![2, 5, 6], names.clone()));
    assert_eq!(kept(&table(), &older_than(0)), ((1..=7).collect(), names.clone()));
    assert_eq!(kept(&table(), &older_than(40)), (vec![2, 4, 5, 6, 7], names.clone()));
    // A snapshot made exactly at that time is not older: snapshot 7 was made on day 70.
    assert_eq!(kept(&table(), &older_than(70)), (vec![2, 5, 6, 7], names));
}

#[test]
fn so_many_of_each_branch_stay() {
    let expiry = Expiry { retain_last: Some(2), ..older_than(100) };
    assert_eq!(kept(&table(), &expiry).0, [2, 3, 4, 5, 6]);
    let mut m = table();
    property(&mut m, "history.expire.min-snapshots-to-keep", 3);
    assert_eq!(kept(&m, &older_than(100)).0, [2, 3, 4, 5, 6]);
    m.refs.get_mut("audit").unwrap().min_snapshots_to_keep = Some(1);
    assert_eq!(kept(&m, &expiry).0, [2, 3, 5, 6]);
    m.refs.get_mut("audit").unwrap().max_snapshot_age_ms = Some(90 * DAY);
    assert_eq!(kept(&m, &expiry).0, [1, 2, 3, 4, 5, 6]);
    assert!(expire(&m, &Expiry { retain_last: Some(0), ..Expiry::default() }, NOW).is_err());
}

#[test]
fn references_age_but_not_main() {
    let mut m = table();
    property(&mut m, "history.expire.max-ref-age-ms", 50 * DAY);
    assert_eq!(kept(&m, &older_than(100)), (vec![5, 6], vec!["audit".into(), "main".into()]));
    m.refs.get_mut("audit").unwrap().max_ref_age_ms = Some(49 * DAY);
    m.refs.get_mut("main").unwrap().max_ref_age_ms = Some(1);
    m.refs.get_mut("tag").unwrap().max_ref_age_ms = Some(80 * DAY);
    assert_eq!(kept(&m, &older_than(100)), (vec![2, 6], vec!["main".into(), "tag".into()]));
    // Snapshots of a removed branch are kept only by their own age.
    assert_eq!(kept(&m, &older_than(50)).0, [2, 5, 6, 7]);
}

#[test]
fn named_snapshots_go_unless_a_reference_needs_them() {
    let named = |ids: &[i64]| Expiry { snapshot_ids: ids.to_vec(), ..older_than(0) };
    assert_eq!(kept(&table(), &named(&[3, 7])).0, [1, 2, 4, 5, 6]);
    for id in [2, 5, 6] {
        let e = expire(&table(), &named(&[id]), NOW).unwrap_err();
        assert_eq!(e.context()[0], ("snapshot", id.to_string()));
    }
}

#[test]
fn logs_and_statistics_follow() {
    let mut m = table();
    let statistics = |id: i64| {
        let json = serde_json::json!({"snapshot-id": id, "statistics-path": format!("/t/{id}.puffin"),
            "file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []});
        Arc::new(StatisticsFile { snapshot_id: id, path: format!("/t/{id}.puffin"), size_bytes: 1, json })
    };
    m.statistics = vec![statistics(1), statistics(6)];
    m.partition_statistics = vec![statistics(3), statistics(5)];
    let next = expire(&m, &Expiry { snapshot_ids: vec![2], ..older_than(20) }, NOW);
    assert!(next.is_err());
    m.refs.remove("tag");
    let next = expire(&m, &Expiry { snapshot_ids: vec![2], ..older_than(20) }, NOW).unwrap();
    // The log has 1, 2, 3, 6: the entries before the hole are gone too.
    assert_eq!(next.snapshot_log.iter().map(|e| e.snapshot_id).collect::<Vec<_>>(), [3, 6]);
    assert_eq!(next.snapshots.iter().map(|s| s.id).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    assert_eq!(next.statistics.iter().map(|s| s.snapshot_id).collect::<Vec<_>>(), [6]);
    assert_eq!(next.partition_statistics.iter().map(|s| s.snapshot_id).collect::<Vec<_>>(), [3, 5]);
    assert_eq!((next.last_updated_ms, next.current_snapshot_id), (NOW, Some(6)));
    assert_eq!(expire(&m, &older_than(0), NOW).unwrap(), m);
}
