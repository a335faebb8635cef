use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::spec::metadata::tests::{as_json, fixture};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::types::{Field, PrimitiveType};

fn parsed(name: &str) -> TableMetadata {
    parse_metadata(&fixture(name)).unwrap()
}

/// A new table like the one Java made: same schema under other ids, same partitioning and sorting as texts.
fn like(java: &TableMetadata, partition_by: &[&str], sort_by: &[&str]) -> TableMetadata {
    let spec = parse_partition_by(partition_by, java.schema().unwrap()).unwrap();
    let order = parse_sort_by(sort_by, java.schema().unwrap()).unwrap();
    let properties = java.properties.clone();
    let (version, now) = (java.format_version, java.last_updated_ms);
    let mut table =
        new_table(java.schema().unwrap(), &spec, &order, &java.location, &properties, version, now).unwrap();
    assert_eq!(table.table_uuid.as_ref().map(String::len), Some(36));
    table.table_uuid.clone_from(&java.table_uuid);
    table
}

#[test]
fn new_tables_are_those_java_makes() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("nested_v2.v1", &[], &[]),
        ("identifier_fields.v1", &[], &[]),
        ("v3_types.v1", &[], &[]),
        ("part_terms.v1", &["bucket(4, id)", "day(ts)", "truncate(2, s) as s_truncate"], &[]),
        ("sorted.v1", &[], &["cat", "day(ts) desc", "bucket(4, id) asc nulls last"]),
    ];
    for (name, partition_by, sort_by) in cases {
        let bytes = fixture(name);
        let table = like(&parse_metadata(&bytes).unwrap(), partition_by, sort_by);
        assert_eq!(as_json(&encode_metadata(&table)), as_json(&bytes), "{name}");
    }
}

/// The same steps between versions as in Java: an append to a v1, v2 and v3 table, an upgrade to v2 and to v3.
#[test]
fn commits_and_upgrades_are_those_java_makes() {
    for (before, after) in [
        ("upgrade_v1_v2_v3.v3", "upgrade_v1_v2_v3.v4"),
        ("nested_v2.v1", "nested_v2.v2"),
        ("upgrade_v1_v2_v3.v7", "upgrade_v1_v2_v3.v8"),
    ] {
        let (old, java) = (parsed(before), parsed(after));
        let snapshot = (**java.snapshots.last().unwrap()).clone();
        assert_eq!(snapshot.sequence_number, old.next_sequence_number(std::iter::empty()).unwrap());
        let new = old.add_snapshot(snapshot, MAIN_BRANCH, java.last_updated_ms).unwrap();
        assert_eq!(as_json(&encode_metadata(&logged(new, &java))), as_json(&fixture(after)), "{after}");
    }
    for (before, after) in
        [("upgrade_v1_v2_v3.v2", "upgrade_v1_v2_v3.v3"), ("upgrade_v1_v2_v3.v6", "upgrade_v1_v2_v3.v7")]
    {
        let (old, java) = (parsed(before), parsed(after));
        let properties = BTreeMap::from([("format-version".to_owned(), java.format_version.to_string())]);
        let new = old.set_properties(&properties, java.last_updated_ms).unwrap();
        assert_eq!(as_json(&encode_metadata(&logged(new, &java))), as_json(&fixture(after)), "{after}");
    }
}

/// Every commit of the corpus that added one snapshot and changed nothing else. The test needs the tables of the
/// interop corpus generator, in the folder that FRAZIL_CORPUS names.
#[test]
#[ignore = "needs the interop corpus: set FRAZIL_CORPUS"]
fn commits_are_those_java_makes_in_the_whole_corpus() {
    let root = std::env::var("FRAZIL_CORPUS").unwrap();
    let mut checked = 0;
    for table in std::fs::read_dir(std::path::Path::new(&root).join("db")).unwrap().map(|t| t.unwrap().path()) {
        let read = |v: i32| std::fs::read(table.join(format!("metadata/v{v}.metadata.json"))).ok();
        for version in 1.. {
            let (Some(old), Some(java)) = (read(version), read(version + 1)) else { break };
            let (old, m) = (parse_metadata(&old).unwrap(), parse_metadata(&java).unwrap());
            let Some(added) = m.snapshots.last().filter(|_| m.snapshots.len() == old.snapshots.len() + 1) else {
                continue;
            };
            let Some((branch, _)) = m.refs.iter().find(|(_, r)| r.snapshot_id == added.id) else { continue };
            let same = (&m.properties, &m.schemas, &m.partition_specs, m.current_schema_id, m.format_version);
            if same != (&old.properties, &old.schemas, &old.partition_specs, old.current_schema_id, old.format_version)
                || m.metadata_log.is_empty()
            {
                continue;
            }
            let new = old.add_snapshot((**added).clone(), branch, m.last_updated_ms).unwrap();
            assert_eq!(as_json(&encode_metadata(&logged(new, &m))), as_json(&java), "{} v{version}", table.display());
            checked += 1;
        }
    }
    assert!(checked > 0);
    println!("{checked} commits");
}

fn logged(new: TableMetadata, java: &TableMetadata) -> TableMetadata {
    let previous = java.metadata_log.last().unwrap();
    new.with_metadata_log(&previous.metadata_file, previous.timestamp_ms).unwrap()
}

fn snapshot(m: &TableMetadata, id: i64) -> Snapshot {
    Snapshot {
        id,
        sequence_number: m.next_sequence_number(std::iter::empty()).unwrap(),
        timestamp_ms: m.last_updated_ms,
        manifest_list: Some("l".into()),
        first_row_id: m.next_row_id,
        added_rows: m.next_row_id.map(|_| 5),
        ..Snapshot::default()
    }
}

#[test]
fn branches_and_tags() {
    let m = parsed("history.v11");
    let s = snapshot(&m, 1);
    let new = m.add_snapshot(s.clone(), "b1", 0).unwrap();
    assert_eq!((new.refs["b1"].snapshot_id, new.refs["b1"].min_snapshots_to_keep), (1, Some(2)));
    assert_eq!((new.current_snapshot_id, &new.snapshot_log), (m.current_snapshot_id, &m.snapshot_log));
    assert_eq!((new.last_updated_ms, new.last_sequence_number), (m.last_updated_ms, 9));
    assert_eq!(m.add_snapshot(s.clone(), "new", 0).unwrap().refs["new"], SnapshotRef::new(1, RefKind::Branch));
    let kind = |s: Snapshot, branch: &str| m.add_snapshot(s, branch, 0).unwrap_err().kind();
    assert_eq!(kind(s.clone(), "t1"), ErrorKind::InvalidInput);
    assert_eq!(kind(s.clone(), ""), ErrorKind::InvalidInput);
    assert_eq!(kind(Snapshot { id: 3498297693738897478, ..s.clone() }, "main"), ErrorKind::InvalidInput);
    assert_eq!(kind(Snapshot { sequence_number: 8, ..s.clone() }, "main"), ErrorKind::CommitConflict);
    assert_eq!(kind(Snapshot { manifest_list: None, ..s }, "main"), ErrorKind::InvalidInput);
}

/// Java refuses a log that goes back by more than a minute, so a slow clock must not write one.
#[test]
fn a_slow_clock_does_not_break_the_logs() {
    let m = parsed("history.v11");
    let new = m.add_snapshot(Snapshot { timestamp_ms: 5, ..snapshot(&m, 1) }, "main", 6).unwrap();
    assert_eq!(new.snapshot_log.last().unwrap().timestamp_ms, 1795247243824);
    assert_eq!(new.last_updated_ms, m.last_updated_ms);
    assert_eq!(parse_metadata(&encode_metadata(&new)).unwrap(), new);
}

#[test]
fn row_lineage_moves_on() {
    let m = parsed("upgrade_v1_v2_v3.v8");
    let s = snapshot(&m, 1);
    assert_eq!(m.add_snapshot(s.clone(), "main", 0).unwrap().next_row_id, Some(23));
    let kind = |s: Snapshot| m.add_snapshot(s, "main", 0).unwrap_err().kind();
    assert_eq!(kind(Snapshot { first_row_id: Some(17), ..s.clone() }), ErrorKind::CommitConflict);
    assert_eq!(kind(Snapshot { first_row_id: None, ..s.clone() }), ErrorKind::InvalidInput);
    assert_eq!(kind(Snapshot { added_rows: Some(i64::MAX), ..s.clone() }), ErrorKind::InvalidInput);
    assert_eq!(kind(Snapshot { added_rows: Some(-1), ..s }), ErrorKind::InvalidInput);
    let v1 = parsed("upgrade_v1_v2_v3.v2");
    assert!(v1.add_snapshot(Snapshot { sequence_number: 1, ..snapshot(&v1, 1) }, "main", 0).is_err());
    assert_eq!(v1.add_snapshot(snapshot(&v1, 1), "main", 0).unwrap().last_sequence_number, 0);
}

#[test]
fn the_metadata_log_stays_short() {
    let mut m = parsed("history.v11");
    assert_eq!(m.with_metadata_log("f", 7).unwrap().metadata_log.len(), 11);
    for (max, length) in [("3", 3), ("0", 1), ("-5", 1), ("99999999999", 11)] {
        m.properties.insert(PREVIOUS_VERSIONS_MAX.into(), max.into());
        let log = m.with_metadata_log("f", 7).unwrap().metadata_log;
        assert_eq!((log.len(), log.last().unwrap().metadata_file.as_str()), (length, "f"), "{max}");
    }
    m.properties.insert(PREVIOUS_VERSIONS_MAX.into(), "many".into());
    assert_eq!(m.with_metadata_log("f", 7).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn properties_and_versions() {
    let m = parsed("upgrade_v1_v2_v3.v4");
    let set = |k: &str, v: &str| m.set_properties(&BTreeMap::from([(k.to_owned(), v.to_owned())]), 0);
    let new = set("owner", "me").unwrap();
    assert_eq!(new.properties["owner"], "me");
    assert_eq!(new.remove_properties(&["owner", "nope"], 0), m);
    assert_eq!(set("uuid", "x").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(set("format-version", "1").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(set("format-version", "x").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(set("format-version", "4").unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(set("format-version", "2").unwrap(), m);
    let v3 = parsed("v1_inline_manifests.v4").upgrade_format_version(3, 0).unwrap();
    assert_eq!((v3.next_row_id, v3.table_uuid.is_some()), (Some(0), true));
    assert_eq!(parse_metadata(&encode_metadata(&v3)).unwrap(), v3);
}

#[test]
fn new_tables_are_checked() {
    let schema = Schema::new(0, vec![Field::new(1, "a", true, PrimitiveType::TimestampNs)], vec![]);
    let (spec, order) = (PartitionSpec::default(), SortOrder::default());
    let make = |properties: Json, version| {
        let properties = properties.as_object().unwrap().iter();
        let properties = properties.map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect();
        new_table(&schema, &spec, &order, "/t/", &properties, version, 1)
    };
    let m = make(json!({"format-version": "3", "uuid": "x", "write.parquet.compression-codec": "gzip"}), 2).unwrap();
    assert_eq!((m.format_version, m.location.as_str(), m.properties.len()), (3, "/t", 1));
    assert_eq!(m.properties["write.parquet.compression-codec"], "gzip");
    assert_eq!(make(json!({}), 2).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(make(json!({}), 4).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(make(json!({}), 0).unwrap_err().kind(), ErrorKind::InvalidInput);
    let none = BTreeMap::new();
    let field =
        |source_id, transform| crate::types::PartitionField { source_id, field_id: 7, name: "p".into(), transform };
    for bad in [field(2, Transform::Day), field(1, Transform::Truncate(3)), field(1, Transform::Unknown("z".into()))] {
        let spec = PartitionSpec { id: 3, fields: vec![bad] };
        let e = new_table(&schema, &spec, &order, "/t", &none, 3, 1).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::InvalidInput, "{e}");
    }
    assert!(new_table(&schema, &spec, &order, "//", &none, 3, 1).is_err());
}

proptest! {
    /// Any sequence of snapshots, on any branch and clock, results in metadata that can be read back.
    #[test]
    fn every_new_version_is_valid(
        version in 1..=3u8,
        steps in proptest::collection::vec((any::<i64>(), any::<i64>(), any::<i32>(), prop::sample::select(vec!["main", "b", "c"])), 0..12),
    ) {
        let schema = Schema::new(0, vec![Field::new(1, "a", true, PrimitiveType::Int)], vec![]);
        let mut m = new_table(&schema, &PartitionSpec::default(), &SortOrder::default(), "/t", &BTreeMap::new(), version, 1).unwrap();
        for (id, now, stamp, branch) in steps {
            let s = Snapshot { timestamp_ms: i64::from(stamp), ..snapshot(&m, id) };
            if id == -1 || m.snapshot_by_id(id).is_some() {
                continue;
            }
            m = m.add_snapshot(s, branch, now).unwrap().with_metadata_log("f", m.last_updated_ms).unwrap();
            prop_assert!(m.snapshot_log.is_sorted_by_key(|e| e.timestamp_ms));
            prop_assert!(m.metadata_log.is_sorted_by_key(|e| e.timestamp_ms));
            prop_assert_eq!(m.snapshot_log.last().map(|e| e.snapshot_id), m.current_snapshot_id);
        }
        prop_assert_eq!(parse_metadata(&encode_metadata(&m)).unwrap(), m);
    }
}

/// A snapshot has one file of each kind, the newest, and only an existing snapshot has any.
#[test]
fn statistics_are_those_of_a_snapshot_of_the_table() {
    let java = parsed("stats_v2.v4");
    let old = java.statistics.first().unwrap().clone();
    let file = |id: i64, path: &str| {
        let json = json!({"snapshot-id": id, "statistics-path": path, "file-size-in-bytes": 7});
        Arc::new(StatisticsFile::from_json(json).unwrap())
    };
    for kind in [StatisticsKind::Columns, StatisticsKind::Partitions] {
        let others = java.statistics_of(kind).len()
            - java.statistics_of(kind).iter().filter(|f| f.snapshot_id == old.snapshot_id).count();
        let first = java.with_statistics(kind, file(old.snapshot_id, "a"), java.last_updated_ms + 5).unwrap();
        let second = first.with_statistics(kind, file(old.snapshot_id, "b"), 0).unwrap();
        let parsed = parse_metadata(&encode_metadata(&second)).unwrap();
        assert_eq!(parsed.statistics_of(kind).len(), others + 1);
        assert_eq!(parsed.statistics_of(kind).last().unwrap().path, "b");
        assert_eq!(parsed.last_updated_ms, java.last_updated_ms + 5);
        let gone = java.with_statistics(kind, file(1, "c"), 0).unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::CommitConflict);
    }
}
