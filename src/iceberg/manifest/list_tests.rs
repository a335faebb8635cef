use apache_avro::types::Value as A;
use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::codec::avro::Container;
use crate::error::ErrorKind;
use crate::types::value::unhex;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/manifests/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn expected() -> Json {
    serde_json::from_slice(&fixture("expected.json")).unwrap()
}

/// Java wrote these lists, and also the expected contents.
#[test]
fn reads_what_java_wrote() {
    let expected = expected();
    for (name, version) in [("v1-list.avro", 1), ("v2-list.avro", 2), ("v3-list.avro", 3)] {
        let list = decode_manifest_list(&fixture(name)).unwrap();
        let java = expected[name].as_array().unwrap();
        assert_eq!(list.len(), java.len());
        for (m, j) in list.iter().zip(java) {
            let int = |key: &str| j[key].as_i64();
            assert!(m.path.ends_with(j["path"].as_str().unwrap()));
            assert_eq!(Some(m.length_bytes), int("length"));
            assert_eq!(Some(i64::from(m.spec_id)), int("spec_id"));
            assert_eq!(m.content == ManifestContent::Deletes, j["content"] == "deletes");
            assert_eq!(Some(m.sequence_number), int("sequence_number"));
            assert_eq!(Some(m.min_sequence_number), int("min_sequence_number"));
            assert_eq!(m.added_snapshot_id, int("added_snapshot_id"));
            assert_eq!(m.added_files_count, int("added_files"));
            assert_eq!(m.existing_files_count, int("existing_files"));
            assert_eq!(m.deleted_files_count, int("deleted_files"));
            assert_eq!(m.added_rows_count, int("added_rows"));
            assert_eq!(m.existing_rows_count, int("existing_rows"));
            assert_eq!(m.deleted_rows_count, int("deleted_rows"));
            assert_eq!(m.first_row_id, int("first_row_id"));
            let summary = |s: &Json| FieldSummary {
                contains_null: s["contains_null"].as_bool().unwrap(),
                contains_nan: s["contains_nan"].as_bool(),
                lower: s["lower_bound"].as_str().map(|h| unhex(h).unwrap()),
                upper: s["upper_bound"].as_str().map(|h| unhex(h).unwrap()),
            };
            let summaries = j["partitions"].as_array().unwrap().iter().map(summary).collect();
            assert_eq!(m.partitions, Some(summaries));
        }
        // Written again, it has the schema text that Java wrote and the same content.
        let header = ManifestListHeader { format_version: version, first_row_id: Some(0), ..Default::default() };
        let encoded = encode_manifest_list(&list, &header).unwrap();
        assert_eq!(decode_manifest_list(&encoded).unwrap(), list);
        let (java, ours) = (fixture(name), Container::parse(&encoded).unwrap().schema_json().unwrap());
        assert_eq!(ours, Container::parse(&java).unwrap().schema_json().unwrap());
    }
}

/// A list of one manifest with only these fields, written by the oracle.
fn list_of(fields: &[(&str, Option<i32>, Json, A)]) -> Vec<u8> {
    let members = fields.iter().map(|(name, id, ty, _)| {
        let mut f = serde_json::json!({"name": name, "type": ty});
        if let Some(id) = id {
            f["field-id"] = (*id).into();
        }
        f
    });
    let schema = serde_json::json!({"type": "record", "name": "manifest_file", "fields": members.collect::<Vec<_>>()});
    let schema = apache_avro::Schema::parse(&schema).unwrap();
    let mut writer = apache_avro::Writer::new(&schema, Vec::new()).unwrap();
    let record = fields.iter().map(|(name, _, _, v)| ((*name).to_owned(), v.clone())).collect();
    writer.append_value(A::Record(record)).unwrap();
    writer.into_inner().unwrap()
}

fn plain(id: bool) -> Vec<(&'static str, Option<i32>, Json, A)> {
    vec![
        ("manifest_path", id.then_some(500), "string".into(), A::String("m".into())),
        ("manifest_length", id.then_some(501), "long".into(), A::Long(9)),
        ("partition_spec_id", id.then_some(502), "int".into(), A::Int(0)),
    ]
}

#[test]
fn old_lists_lack_most_columns() {
    let m = &decode_manifest_list(&list_of(&plain(true))).unwrap()[0];
    let bare = ManifestFile { path: "m".into(), length_bytes: 9, ..Default::default() };
    assert_eq!(*m, bare);
    // Without ids the names decide, and counts may have their old names.
    let mut fields = plain(false);
    fields.push(("added_data_files_count", None, "int".into(), A::Int(4)));
    fields.push(("deleted_data_files_count", None, "int".into(), A::Int(-1)));
    let m = &decode_manifest_list(&list_of(&fields)).unwrap()[0];
    assert_eq!((m.added_files_count, m.deleted_files_count), (Some(4), None));
    // With ids the names do not matter.
    let mut fields = plain(true);
    fields.push(("added_files_count", Some(999), "int".into(), A::Int(4)));
    fields.push(("anything", Some(505), "int".into(), A::Int(5)));
    let m = &decode_manifest_list(&list_of(&fields)).unwrap()[0];
    assert_eq!((m.added_files_count, m.existing_files_count), (None, Some(5)));
}

#[test]
fn refuses_what_can_not_be() {
    let with = |i: usize, ty: &str, v: A| {
        let mut fields = plain(true);
        fields[i].2 = ty.into();
        fields[i].3 = v;
        decode_manifest_list(&list_of(&fields)).unwrap_err()
    };
    assert!(with(1, "long", A::Long(-1)).to_string().contains("length of -1"));
    assert!(with(1, "string", A::String("9".into())).to_string().contains("another type"));
    assert!(with(2, "long", A::Long(1 << 40)).to_string().contains("32-bit"));
    let mut fields = plain(true);
    fields.push(("content", Some(517), "int".into(), A::Int(2)));
    assert_eq!(decode_manifest_list(&list_of(&fields)).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(decode_manifest_list(&list_of(&plain(true)[..2])).unwrap_err().to_string().contains("partition_spec_id"));
    assert!(decode_manifest_list(b"").is_err());
}

#[test]
fn writers_must_give_what_the_version_requires() {
    let fails = |m: ManifestFile, version: u8| {
        let header = ManifestListHeader { format_version: version, first_row_id: Some(0), ..Default::default() };
        encode_manifest_list(&[m], &header).unwrap_err().to_string()
    };
    let counted = ManifestFile {
        added_snapshot_id: Some(1),
        added_files_count: Some(1),
        existing_files_count: Some(0),
        deleted_files_count: Some(0),
        added_rows_count: Some(1),
        existing_rows_count: Some(0),
        deleted_rows_count: Some(0),
        ..Default::default()
    };
    assert!(fails(ManifestFile::default(), 2).contains("snapshot id"));
    assert!(fails(ManifestFile { added_rows_count: None, ..counted.clone() }, 2).contains("counts"));
    assert!(fails(ManifestFile { content: ManifestContent::Deletes, ..counted.clone() }, 1).contains("v1"));
    assert!(fails(ManifestFile { added_files_count: Some(1 << 31), ..counted.clone() }, 2).contains("more files"));
    assert!(fails(counted.clone(), 3).contains("first row id"));
    assert!(fails(counted.clone(), 4).contains("version 4"));
    let header = ManifestListHeader { format_version: 3, ..Default::default() };
    assert!(encode_manifest_list(&[counted], &header).is_err());
}

fn manifest() -> impl Strategy<Value = ManifestFile> {
    let bytes = || prop::option::of(prop::collection::vec(any::<u8>(), 0..20));
    let summary = (any::<bool>(), any::<Option<bool>>(), bytes(), bytes())
        .prop_map(|(n, nan, lower, upper)| FieldSummary { contains_null: n, contains_nan: nan, lower, upper });
    let counts = prop::array::uniform6(0..i64::from(i32::MAX));
    let numbers = (0..i64::MAX, any::<i32>(), any::<i64>(), any::<i64>(), any::<i64>());
    let summaries = prop::option::of(prop::collection::vec(summary, 0..4));
    (".{0,60}", numbers, any::<bool>(), counts, summaries, bytes(), 0..i64::MAX).prop_map(
        |(path, numbers, deletes, c, partitions, key_metadata, first_row_id)| ManifestFile {
            path,
            length_bytes: numbers.0,
            spec_id: numbers.1,
            content: if deletes { ManifestContent::Deletes } else { ManifestContent::Data },
            sequence_number: numbers.2,
            min_sequence_number: numbers.3,
            added_snapshot_id: Some(numbers.4),
            added_files_count: Some(c[0]),
            existing_files_count: Some(c[1]),
            deleted_files_count: Some(c[2]),
            added_rows_count: Some(c[3]),
            existing_rows_count: Some(c[4]),
            deleted_rows_count: Some(c[5]),
            partitions,
            key_metadata,
            first_row_id: (!deletes).then_some(first_row_id),
            unknown: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read(list in prop::collection::vec(manifest(), 0..20)) {
        let header = ManifestListHeader { format_version: 3, first_row_id: Some(7), ..Default::default() };
        let bytes = encode_manifest_list(&list, &header).unwrap();
        prop_assert_eq!(&decode_manifest_list(&bytes).unwrap(), &list);
        let reader = apache_avro::Reader::new(&bytes[..]).unwrap();
        prop_assert_eq!(reader.collect::<std::result::Result<Vec<_>, _>>().unwrap().len(), list.len());
    }
}

#[test]
fn torn_or_flipped_bytes_never_panic() {
    let bytes = fixture("v2-list.avro");
    for cut in 0..bytes.len() {
        assert!(decode_manifest_list(&bytes[..cut]).map_or(true, |l| l.is_empty()), "{cut}");
    }
    // Uncompressed, so that flips reach the records.
    let list = decode_manifest_list(&bytes).unwrap();
    let schema = manifest_list_schema(2).unwrap();
    let text = declare::text(&schema, Zones::AdjustToUtc).unwrap();
    let mut writer = ContainerWriter::new(&text, &[], AvroCodec::Null);
    let encoder = RecordEncoder::new(&schema).unwrap();
    list.iter().for_each(|m| writer.append(&encoder, &ManifestRecord::new(m, 2).unwrap()).unwrap());
    let plain = writer.finish().unwrap();
    assert_eq!(decode_manifest_list(&plain).unwrap(), list);
    for at in 0..plain.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = plain.clone();
            flipped[at] ^= mask;
            let _ = decode_manifest_list(&flipped);
        }
    }
}
