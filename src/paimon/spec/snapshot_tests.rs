use serde_json::json;

use super::*;
use crate::error::ErrorKind;
use crate::paimon::spec::testing::table;

fn read(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/{path}", table("time_travel"))).unwrap()
}

#[test]
fn a_snapshot_that_java_wrote() {
    let snapshot = PaimonSnapshot::parse(&read("snapshot/snapshot-2")).unwrap();
    assert_eq!((snapshot.id, snapshot.schema_id, snapshot.version), (2, 0, 3));
    assert_eq!((snapshot.commit_user.as_str(), snapshot.commit_identifier), ("corpus-writer", 101));
    assert_eq!((snapshot.commit_kind.as_str(), snapshot.total_record_count), ("APPEND", Some(8)));
    assert_eq!((snapshot.watermark, snapshot.next_row_id), (Some(1_700_000_000_001), Some(0)));
    assert_eq!(snapshot.properties["step"], "1");
    assert_eq!((snapshot.index_manifest.as_deref(), snapshot.changelog_record_count), (None, None));
    assert!(snapshot.base_manifest_list.ends_with("-0") && snapshot.delta_manifest_list.ends_with("-1"));
    assert!(snapshot.base_manifest_list_size.is_some());
}

#[test]
fn a_tag_is_a_snapshot_with_more() {
    let tag = Tag::parse("v2", &read("tag/tag-v2")).unwrap();
    assert_eq!((tag.name.as_str(), tag.snapshot.id, &tag.create_time), ("v2", 2, &None));
    let mut raw = tag.snapshot.raw;
    raw.insert("tagCreateTime".into(), json!([2024, 1, 2, 3, 4]));
    raw.insert("tagTimeRetained".into(), json!(86400.0));
    raw.insert("uuid".into(), json!("u"));
    let tag = Tag::parse("t", &serde_json::to_vec(&raw).unwrap()).unwrap();
    assert_eq!((tag.create_time, tag.time_retained), (Some(json!([2024, 1, 2, 3, 4])), Some(json!(86400.0))));
    assert_eq!(tag.snapshot.raw, raw);
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let raw = PaimonSnapshot::parse(&read("snapshot/snapshot-1")).unwrap().raw;
    for key in ["id", "schemaId", "baseManifestList", "deltaManifestList", "commitKind", "timeMillis"] {
        let mut raw = raw.clone();
        raw.remove(key);
        let error = PaimonSnapshot::from_json(raw).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptTable);
        assert!(error.message().contains(key));
    }
    let mut newer = raw;
    newer.insert("version".into(), json!(4));
    assert_eq!(PaimonSnapshot::from_json(newer).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(PaimonSnapshot::parse(b"7").is_err());
}
