use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::error::ErrorKind;
use crate::format::evolution::RefKind;
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::types::{Field, PartitionField, PrimitiveType, SortField, Transform};

/// Metadata that Java Iceberg 1.12 wrote, moved to `file:/warehouse`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/metadata/{name}.json", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn parsed(name: &str) -> TableMetadata {
    parse_metadata(&fixture(name)).unwrap()
}

fn from_json(json: &Json) -> Result<TableMetadata> {
    parse_metadata(json.to_string().as_bytes())
}

pub(crate) fn as_json(bytes: &[u8]) -> Json {
    serde_json::from_slice(bytes).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let n = compressor.gzip_compress(bytes, &mut out).unwrap();
    out.truncate(n);
    out
}

const JAVA_WRITTEN: [&str; 14] = [
    "history.v11",
    "identifier_fields.v1",
    "nested_v2.v1",
    "nested_v2.v2",
    "part_terms.v1",
    "partition_stats.v3",
    "sorted.v1",
    "stats_v2.v4",
    "upgrade_v1_v2_v3.v2",
    "upgrade_v1_v2_v3.v3",
    "upgrade_v1_v2_v3.v4",
    "upgrade_v1_v2_v3.v7",
    "upgrade_v1_v2_v3.v8",
    "v3_types.v1",
];

#[test]
fn what_java_wrote_is_written_the_same() {
    for name in JAVA_WRITTEN {
        let bytes = fixture(name);
        let metadata = parse_metadata(&bytes).unwrap();
        let written = encode_metadata(&metadata);
        assert_eq!(as_json(&written), as_json(&bytes), "{name}");
        assert_eq!(written.len(), bytes.len(), "{name}");
        assert!(metadata.extra.is_empty() && metadata.snapshots.iter().all(|s| s.extra.is_empty()), "{name}");
        assert_eq!(parse_metadata(&gzip(&bytes)).unwrap(), metadata);
    }
}

/// Needs the tables of the interop corpus generator, in the folder that FRAZIL_CORPUS names.
#[test]
#[ignore = "needs the interop corpus: set FRAZIL_CORPUS"]
fn what_java_wrote_is_written_the_same_in_the_whole_corpus() {
    let root = std::env::var("FRAZIL_CORPUS").unwrap();
    let (mut folders, mut files) = (vec![std::path::PathBuf::from(root)], 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
            if entry.is_dir() {
                folders.push(entry);
            } else if name.ends_with(".metadata.json") && !name.starts_with('.') {
                let bytes = std::fs::read(&entry).unwrap();
                let metadata = parse_metadata(&bytes).unwrap_or_else(|e| panic!("{}: {e}", entry.display()));
                let written = encode_metadata(&metadata);
                assert_eq!(parse_metadata(&written).unwrap(), metadata, "{}", entry.display());
                let mut plain = std::process::Command::new("gzip");
                let plain = plain.arg("-dcf").arg(&entry).output().unwrap().stdout;
                // Edited by hand to the oldest form, which is no longer written.
                if !entry.to_str().unwrap().contains("v1_inline_manifests/metadata/v4") {
                    assert_eq!(as_json(&written), as_json(&plain), "{}", entry.display());
                }
                files += 1;
            }
        }
    }
    assert!(files > 0);
    println!("{files} metadata files");
}

#[test]
fn members_are_what_the_file_says() {
    let m = parsed("history.v11");
    assert_eq!((m.format_version, m.last_sequence_number, m.last_updated_ms), (2, 8, 1795247243825));
    assert_eq!(m.location, "file:/warehouse/db/history");
    assert_eq!(m.current_snapshot().unwrap().id, 3498297693738897478);
    assert_eq!(m.current_snapshot().unwrap().operation(), Some("overwrite"));
    assert_eq!(m.current_snapshot().unwrap().summary["total-records"], "3");
    assert_eq!(m.schema().unwrap().name_of(2).as_deref(), Some("cat"));
    assert_eq!(m.spec().unwrap().fields[0].transform, Transform::Identity);
    let (t1, b1) = (&m.refs["t1"], &m.refs["b1"]);
    assert_eq!((t1.kind, t1.max_ref_age_ms, t1.min_snapshots_to_keep), (RefKind::Tag, Some(31536000000), None));
    assert_eq!((b1.kind, b1.max_ref_age_ms, b1.min_snapshots_to_keep), (RefKind::Branch, Some(604800000), Some(2)));
    assert_eq!(m.snapshot_of_ref("b1").unwrap().unwrap().id, 3505296342824263237);
    assert_eq!(m.snapshot_of_ref("main").unwrap().unwrap().id, 3498297693738897478);
    assert_eq!(m.snapshot_of_ref("nope").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!((m.snapshot_log.len(), m.metadata_log.len()), (7, 10));
    assert_eq!(m.snapshot_as_of(1795247242508).unwrap().id, 4262319989431626820);
    assert_eq!(m.snapshot_as_of(1795247242509).unwrap().id, 648485678648943028);
    assert_eq!(m.snapshot_as_of(i64::MAX).unwrap().id, 3498297693738897478);
    assert_eq!(m.snapshot_as_of(0).unwrap_err().kind(), ErrorKind::NotFound);
    let ancestors: Vec<i64> = m.ancestors(3505296342824263237).iter().map(|s| s.id).collect();
    assert_eq!(ancestors, [3505296342824263237, 5641693858342214168]);
    assert_eq!(m.ancestors(3498297693738897478).len(), 7);

    let m = parsed("upgrade_v1_v2_v3.v8");
    assert_eq!((m.format_version, m.next_row_id), (3, Some(18)));
    let s = m.current_snapshot().unwrap();
    assert_eq!((s.first_row_id, s.added_rows, s.schema_id), (Some(0), Some(18), Some(0)));
    assert_eq!(parsed("upgrade_v1_v2_v3.v2").current_snapshot().unwrap().sequence_number, 0);

    let m = parsed("partition_stats.v3");
    assert_eq!(
        (m.partition_statistics[0].size_bytes, m.partition_statistics[0].snapshot_id),
        (4247, 4011620276758983572)
    );
    let m = parsed("stats_v2.v4");
    assert!(!m.statistics.is_empty() && m.statistics[0].path.starts_with("file:/warehouse/db/stats_v2/"));
    assert_eq!(parsed("sorted.v1").sort_order().unwrap().fields.len(), 3);
    let m = parsed("v3_types.v1");
    assert!(m.current_snapshot().is_none() && m.snapshot_of_ref("main").unwrap().is_none());
}

/// The oldest form: `schema` and `partition-spec` alone, manifests inline, no sort orders, no references.
#[test]
fn v1_defaults() {
    let m = parsed("v1_inline_manifests.v4");
    assert_eq!((m.format_version, m.last_sequence_number, m.current_schema_id, m.default_spec_id), (1, 0, 0, 0));
    assert_eq!((m.last_partition_id, m.default_sort_order_id, m.table_uuid.as_ref()), (1000, 0, None));
    assert_eq!(*m.sort_order().unwrap().as_ref(), SortOrder::default());
    assert_eq!(m.refs["main"], SnapshotRef::new(3270996812578026015, RefKind::Branch));
    let s = m.current_snapshot().unwrap();
    assert_eq!((s.manifests.as_ref().unwrap().len(), s.manifest_list.as_ref(), s.schema_id), (2, None, None));
    assert_eq!(m.schema_of_snapshot(s).unwrap().id, 0);
    let written = encode_metadata(&m);
    assert_eq!(parse_metadata(&written).unwrap(), m);
    let j = as_json(&written);
    assert_eq!(j["partition-spec"], as_json(&fixture("v1_inline_manifests.v4"))["partition-spec"]);
    assert_eq!(j["schemas"][0], j["schema"]);

    let mut j = as_json(&fixture("v1_inline_manifests.v4"));
    j["partition-spec"] = json!([
        {"name": "cat", "transform": "identity", "source-id": 2},
        {"name": "id_bucket", "transform": "bucket[4]", "source-id": 1}]);
    j["last-sequence-number"] = Json::Null;
    j["current-snapshot-id"] = json!(-1);
    let m = from_json(&j).unwrap();
    assert_eq!(m.spec().unwrap().fields.iter().map(|f| f.field_id).collect::<Vec<_>>(), [1000, 1001]);
    assert_eq!((m.last_partition_id, m.current_snapshot_id, m.refs.len()), (1001, None, 0));
    assert_eq!(parse_metadata(&encode_metadata(&m)).unwrap(), m);
}

/// As in the reference: the greatest timestamp up to the requested time. If several are equal, the first one counts,
/// wherever they are.
#[test]
fn time_travel_does_not_need_an_ordered_log() {
    let mut m = parsed("history.v11");
    let entry = |timestamp_ms, i: usize| SnapshotLogEntry { timestamp_ms, snapshot_id: m.snapshots[i].id };
    m.snapshot_log = vec![entry(30, 2), entry(10, 0), entry(20, 1), entry(20, 3)];
    let at = |t| m.snapshot_as_of(t).map(|s| s.id).ok();
    assert_eq!(
        (at(9), at(10), at(25), at(30)),
        (None, Some(m.snapshots[0].id), Some(m.snapshots[1].id), Some(m.snapshots[2].id))
    );
    m.snapshot_log[0].snapshot_id = 1;
    assert!(m.snapshot_as_of(30).unwrap_err().to_string().contains("expired"));
}

#[test]
fn a_damaged_ancestry_ends() {
    let mut m = parsed("history.v11");
    Arc::make_mut(&mut m.snapshots[0]).parent_id = Some(3498297693738897478);
    assert_eq!(m.ancestors(3498297693738897478).len(), 7);
    assert_eq!(m.ancestors(1).len(), 0);
    let s = Snapshot { schema_id: Some(77), ..(**m.current_snapshot().unwrap()).clone() };
    assert!(m.schema_of_snapshot(&s).unwrap_err().to_string().contains("schema 77"));
}

#[test]
fn unknown_members_survive_everywhere() {
    let mut j = as_json(&fixture("stats_v2.v4"));
    let odd = json!({"deep": [1, null, 2.5, "x"]});
    j["x-top"] = odd.clone();
    for path in [
        "/schemas/0",
        "/schemas/0/fields/0",
        "/partition-specs/0",
        "/sort-orders/0",
        "/snapshots/0",
        "/refs/main",
        "/statistics/0",
        "/statistics/0/blob-metadata/0",
    ] {
        j.pointer_mut(path).unwrap_or_else(|| panic!("{path}"))["x-odd"] = odd.clone();
    }
    j["snapshots"][0]["summary"]["operation"] = json!("compactify");
    j["encryption-keys"] = json!([{"key-id": "k", "x": 1}]);
    let m = from_json(&j).unwrap();
    assert_eq!(as_json(&encode_metadata(&m)), j);
    assert_eq!(m.snapshots[0].operation(), Some("compactify"));
    // A changed value is written with its new text, not with the recorded one.
    let mut changed = m.clone();
    changed.partition_specs[0] = Arc::new(PartitionSpec {
        id: m.partition_specs[0].id,
        fields: vec![PartitionField { source_id: 1, field_id: 1005, name: "n".into(), transform: Transform::Void }],
    });
    assert_eq!(as_json(&encode_metadata(&changed))["partition-specs"][0]["fields"][0]["field-id"], json!(1005));
}

#[test]
fn odd_but_harmless_forms_are_read() {
    let base = as_json(&fixture("upgrade_v1_v2_v3.v4"));
    let with = |key: &str, value: Json| {
        let mut j = base.clone();
        j[key] = value;
        from_json(&j)
    };
    assert_eq!(with("refs", Json::Null).unwrap().refs.len(), 1);
    assert!(with("statistics", Json::Null).unwrap().statistics.is_empty());
    assert_eq!(
        with("refs", json!({})).unwrap().snapshot_of_ref("main").unwrap().unwrap().id,
        base["current-snapshot-id"]
    );
    assert_eq!(with("location", json!("file:/warehouse/t//")).unwrap().location, "file:/warehouse/t");
    let orders = json!([{"order-id": 3, "fields": [{"transform": "identity", "source-id": 1, "direction": "ASC", "null-order": "NULLS-LAST"}]}]);
    assert_eq!(with("sort-orders", orders).unwrap().sort_order().unwrap().id, 0);
    let mut j = base.clone();
    j["snapshots"][0]["summary"] = json!({"operation": "append", "n": 7, "b": true, "null": null});
    let summary = &from_json(&j).unwrap().snapshots[0].summary;
    assert_eq!((summary["n"].as_str(), summary["b"].as_str(), summary.len()), ("7", "true", 3));
    // An old spec may use a dropped column.
    j["partition-specs"].as_array_mut().unwrap().push(json!({"spec-id": 9, "fields": [
        {"name": "gone", "transform": "identity", "source-id": 99, "field-id": 1009}]}));
    assert!(from_json(&j).is_ok());
}

#[test]
fn names_in_other_case_are_others() {
    let mut j = as_json(&fixture("nested_v2.v1"));
    let fields = j["schemas"][0]["fields"].as_array_mut().unwrap();
    let name = fields[0]["name"].as_str().unwrap().to_owned();
    fields.push(json!({"id": 900, "name": name.to_uppercase(), "required": false, "type": "int"}));
    j["last-column-id"] = json!(900);
    from_json(&j).unwrap();
    let last = j["schemas"][0]["fields"].as_array_mut().unwrap().last_mut().unwrap();
    last["name"] = json!(name);
    let e = from_json(&j).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    assert!(e.to_string().contains(&format!("column: {name}")), "{e}");
}

#[test]
fn contradictions_are_corrupt() {
    let base = as_json(&fixture("upgrade_v1_v2_v3.v8"));
    let edits: &[(&str, Json, ErrorKind)] = &[
        ("format-version", json!(0), ErrorKind::CorruptTable),
        ("format-version", json!(-1), ErrorKind::CorruptTable),
        ("format-version", json!("2"), ErrorKind::CorruptTable),
        ("format-version", json!(2.0), ErrorKind::CorruptTable),
        ("format-version", json!(4), ErrorKind::Unsupported),
        ("format-version", json!(99), ErrorKind::Unsupported),
        ("current-schema-id", json!(7), ErrorKind::CorruptTable),
        ("default-spec-id", json!(7), ErrorKind::CorruptTable),
        ("default-sort-order-id", json!(7), ErrorKind::CorruptTable),
        ("current-snapshot-id", json!(7), ErrorKind::CorruptTable),
        ("current-snapshot-id", Json::Null, ErrorKind::CorruptTable),
        ("last-sequence-number", json!(0), ErrorKind::CorruptTable),
        ("last-column-id", json!(i64::MAX), ErrorKind::CorruptTable),
        ("last-updated-ms", json!(u64::MAX), ErrorKind::CorruptTable),
        ("last-updated-ms", json!(1.5), ErrorKind::CorruptTable),
        ("refs", json!({"t": {"snapshot-id": 7, "type": "tag"}}), ErrorKind::CorruptTable),
        (
            "refs",
            json!({"main": {"snapshot-id": base["snapshots"][0]["snapshot-id"], "type": "branch"}}),
            ErrorKind::CorruptTable,
        ),
        ("refs", json!({"main": {"snapshot-id": base["current-snapshot-id"], "type": "tag"}}), ErrorKind::CorruptTable),
        (
            "refs",
            json!({"main": {"snapshot-id": base["current-snapshot-id"], "type": "fork"}}),
            ErrorKind::CorruptTable,
        ),
        ("schemas", json!([base["schemas"][0], base["schemas"][0]]), ErrorKind::CorruptTable),
        ("partition-specs", json!([base["partition-specs"][0], base["partition-specs"][0]]), ErrorKind::CorruptTable),
        ("sort-orders", json!([base["sort-orders"][0], base["sort-orders"][0]]), ErrorKind::CorruptTable),
        ("snapshots", json!([base["snapshots"][4], base["snapshots"][4]]), ErrorKind::CorruptTable),
        ("snapshots", json!([]), ErrorKind::CorruptTable),
    ];
    for (key, value, kind) in edits {
        let mut j = base.clone();
        j[key] = value.clone();
        let e = from_json(&j).expect_err(&format!("{key} = {value}"));
        assert_eq!(e.kind(), *kind, "{key} = {value}: {e}");
    }
    let required = [
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schemas",
        "current-schema-id",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "next-row-id",
    ];
    for key in required {
        let mut j = base.clone();
        j.as_object_mut().unwrap().remove(key);
        let e = from_json(&j).expect_err(key);
        assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains(key), "{key}: {e}");
    }
}

/// Replaces every member at every depth by values of every other kind. The result is an answer or the right error,
/// never a panic.
#[test]
fn wrong_types_anywhere() {
    let values = [
        Json::Null,
        json!("x"),
        json!(""),
        json!(-5),
        json!(u64::MAX),
        json!(1e300),
        json!(true),
        json!([]),
        json!({}),
        json!([{}]),
        json!([null]),
        json!({"a": null}),
    ];
    for name in ["stats_v2.v4", "v1_inline_manifests.v4", "sorted.v1", "nested_v2.v1"] {
        let base = as_json(&fixture(name));
        let mut paths = Vec::new();
        collect_paths(&base, String::new(), &mut paths);
        for path in paths {
            for value in &values {
                let mut j = base.clone();
                *j.pointer_mut(&path).unwrap() = value.clone();
                match from_json(&j) {
                    Ok(m) => assert!(parse_metadata(&encode_metadata(&m)).unwrap() == m, "{name}{path} = {value}"),
                    Err(e) => assert!(
                        matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported),
                        "{name}{path} = {value}: {e:?}"
                    ),
                }
            }
        }
    }
}

fn collect_paths(j: &Json, at: String, out: &mut Vec<String>) {
    match j {
        Json::Object(map) => map.iter().for_each(|(k, v)| collect_paths(v, format!("{at}/{k}"), out)),
        Json::Array(items) => items.iter().enumerate().for_each(|(i, v)| collect_paths(v, format!("{at}/{i}"), out)),
        _ => {}
    }
    out.push(at);
}

#[test]
fn torn_files_are_corrupt() {
    let bytes = fixture("sorted.v1");
    for bytes in [bytes.clone(), gzip(&bytes)] {
        for end in 0..bytes.len() {
            let e = parse_metadata(&bytes[..end]).expect_err("torn");
            assert_eq!(e.kind(), ErrorKind::CorruptTable, "{end}: {e}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x55;
            if let Err(e) = parse_metadata(&flipped) {
                assert!(matches!(e.kind(), ErrorKind::CorruptTable | ErrorKind::Unsupported), "{at}: {e:?}");
            }
        }
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(parse_metadata(deep.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptTable);
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(parse_metadata(deep.as_bytes()).unwrap_err().kind(), ErrorKind::CorruptTable);
    assert_eq!(parse_metadata(b"\xff\xfe{}").unwrap_err().kind(), ErrorKind::CorruptTable);
}

#[test]
fn gzip_sizes_may_lie_but_bombs_stop() {
    let plain = fixture("history.v11");
    let mut lying = gzip(&plain);
    let tail = lying.len() - 4;
    for size in [0u32, 1, 100, u32::MAX] {
        lying[tail..].copy_from_slice(&size.to_le_bytes());
        assert_eq!(parse_metadata(&lying).unwrap_err().kind(), ErrorKind::CorruptTable, "{size}");
    }
    let mut padded = plain.clone();
    padded.resize(plain.len() + (2 << 20), b' ');
    assert_eq!(parse_metadata(&gzip(&padded)).unwrap(), parsed("history.v11"));
    padded.resize(80 << 20, b' ');
    let e = parse_metadata(&gzip(&padded)).unwrap_err();
    assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("decompresses"), "{e}");
}

fn texts() -> impl Strategy<Value = BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-z.é\"\\\\]{1,8}", ".{0,12}", 0..4)
}

fn snapshot(id: i64) -> impl Strategy<Value = Snapshot> {
    let numbers = (any::<Option<i64>>(), 0..9i64, any::<i64>(), any::<Option<i32>>());
    let rows = proptest::option::of((0..i64::MAX, 0..i64::MAX));
    (numbers, texts(), rows, ".{0,9}", any::<bool>()).prop_map(move |(n, mut summary, rows, path, inline)| {
        if !summary.is_empty() {
            summary.insert("operation".into(), "append".into());
        }
        Snapshot {
            id,
            parent_id: n.0,
            sequence_number: n.1,
            timestamp_ms: n.2,
            manifest_list: (!inline).then(|| path.clone()),
            manifests: inline.then(|| vec![path.clone()]),
            summary,
            schema_id: n.3,
            first_row_id: rows.map(|r| r.0),
            added_rows: rows.map(|r| r.1),
            key_id: rows.map(|_| path),
            extra: Map::from_iter([("x-new".to_owned(), json!([n.2]))]),
        }
    })
}

prop_compose! {
    fn metadata()(
        format_version in 1..=3u8,
        (first, second) in (snapshot(5), snapshot(-7)),
        properties in texts(),
        names in proptest::collection::btree_set(".{1,6}", 1..5),
        transform in prop::sample::select(vec!["identity", "bucket[3]", "day", "void", "later[9]"]),
        (stamp, log) in (any::<i64>(), proptest::collection::vec((any::<i64>(), any::<i64>()), 0..4)),
        (has_snapshots, flag, tag) in (any::<bool>(), any::<bool>(), ".{1,6}"),
    ) -> TableMetadata {
        let seq = |s: Snapshot| Snapshot { sequence_number: if format_version > 1 { s.sequence_number } else { 0 }, ..s };
        let fields: Vec<Field> =
            names.into_iter().zip(1..).map(|(n, id)| Field::new(id, n, flag, PrimitiveType::Decimal { precision: 9, scale: 2 })).collect();
        let field = PartitionField { source_id: 1, field_id: 1003, name: "p".into(), transform: Transform::parse(transform) };
        let sort = SortField { source_id: 1, transform: Transform::parse(transform), descending: flag, nulls_first: !flag };
        let mut refs = BTreeMap::new();
        if has_snapshots {
            refs.insert("main".to_owned(), SnapshotRef::new(5, RefKind::Branch));
            refs.entry(tag).or_insert(SnapshotRef { max_ref_age_ms: Some(stamp), ..SnapshotRef::new(5, RefKind::Tag) });
        }
        let stats = json!({"snapshot-id": stamp, "statistics-path": "p", "file-size-in-bytes": 4, "other": {}});
        TableMetadata {
            format_version,
            table_uuid: Some("u".into()),
            location: "file:/warehouse/t".into(),
            last_sequence_number: if format_version > 1 { 9 } else { 0 },
            last_updated_ms: stamp,
            last_column_id: 9,
            schemas: vec![Arc::new(Schema::new(4, fields, vec![1]))],
            current_schema_id: 4,
            partition_specs: vec![Arc::new(PartitionSpec { id: 2, fields: vec![field] }), Arc::default()],
            default_spec_id: 2,
            last_partition_id: 1003,
            sort_orders: vec![Arc::new(SortOrder { id: 3, fields: vec![sort] }), Arc::default()],
            default_sort_order_id: 3,
            properties,
            current_snapshot_id: has_snapshots.then_some(5),
            snapshots: if has_snapshots { vec![Arc::new(seq(first)), Arc::new(seq(second))] } else { vec![] },
            snapshot_log: log.iter().map(|(t, s)| SnapshotLogEntry { timestamp_ms: *t, snapshot_id: *s }).collect(),
            metadata_log: log.iter().map(|(t, s)| MetadataLogEntry { timestamp_ms: *t, metadata_file: s.to_string() }).collect(),
            refs,
            statistics: vec![Arc::new(StatisticsFile::from_json(stats.clone()).unwrap())],
            partition_statistics: vec![Arc::new(StatisticsFile::from_json(stats).unwrap())],
            next_row_id: (format_version == 3).then_some(17),
            encryption_keys: vec![json!({"key-id": "k"})],
            extra: Map::from_iter([("x-top".to_owned(), json!({"a": stamp}))]),
            recorded: Arc::default(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(m in metadata()) {
        let bytes = encode_metadata(&m);
        let read = parse_metadata(&bytes).unwrap();
        prop_assert_eq!(&read, &m);
        prop_assert_eq!(as_json(&encode_metadata(&read)), as_json(&bytes));
    }

    #[test]
    fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse_metadata(&bytes).is_err());
        let gzip_like = [&[0x1f, 0x8b][..], &bytes].concat();
        prop_assert!(parse_metadata(&gzip_like).is_err());
    }
}
