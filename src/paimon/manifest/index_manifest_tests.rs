use serde_json::Value as Json;

use super::*;
use crate::codec::avro::encode::{put_bytes, put_int, put_items, put_long, put_optional};
use crate::codec::avro::{AvroCodec, Container, ContainerWriter};
use crate::paimon::spec::testing::{expected, in_unions, schema, shown_row, table, with_null_record};
use crate::store::local::LocalStore;

fn decoded(bytes: &[u8]) -> Result<Vec<IndexEntry>> {
    decode_index_manifest(&OpenFile::parse(bytes)?)
}

/// The schema that Java 1.4 writes.
const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[
    {"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},
    {"name":"_BUCKET","type":"int"},{"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},
    {"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},
    {"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record","name":"d","fields":[
        {"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},
        {"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},
    {"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},
    {"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"g","fields":[
        {"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},{"name":"_INDEX_FIELD_ID","type":"int"},
        {"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},
        {"name":"_INDEX_META","type":["null","bytes"],"default":null}]}],"default":null}]}"#;

fn one_entry() -> (Vec<u8>, IndexEntry) {
    let entry = IndexEntry {
        kind: 0,
        partition: vec![0; 12],
        bucket: -2,
        index_type: DELETION_VECTORS.to_owned(),
        file_name: "index-1".to_owned(),
        file_size: 77,
        row_count: 2,
        deletion_vectors: Some(vec![
            DeletionVectorRange { data_file: "a".into(), offset: 1, length: 30, cardinality: Some(4) },
            DeletionVectorRange { data_file: "b".into(), offset: 39, length: 30, cardinality: None },
        ]),
        external_path: Some("s3://x/index-1".into()),
        unknown: None,
        global: Some(GlobalIndex {
            first_row_id: 5,
            last_row_id: 9,
            field_id: 3,
            extra_field_ids: Some(vec![1, 2]),
            meta: Some(vec![7]),
            source_meta: None,
        }),
    };
    let mut writer = ContainerWriter::new(SCHEMA, &[], AvroCodec::Zstd);
    let (e, g) = (&entry, entry.global.as_ref().unwrap());
    writer.record(|out| {
        put_int(out, 1);
        put_int(out, 0);
        put_bytes(out, &e.partition);
        put_int(out, e.bucket);
        put_bytes(out, e.index_type.as_bytes());
        put_bytes(out, e.file_name.as_bytes());
        put_long(out, e.file_size);
        put_long(out, e.row_count);
        put_optional(out, e.deletion_vectors.as_ref(), |out, ranges| {
            put_items(out, ranges.iter(), |out, r| {
                put_optional(out, Some(r), |out, r| {
                    put_bytes(out, r.data_file.as_bytes());
                    put_long(out, r.offset);
                    put_long(out, r.length);
                    put_optional(out, r.cardinality, put_long);
                });
            });
        });
        put_optional(out, e.external_path.as_ref().map(|p| p.as_bytes()), put_bytes);
        put_optional(out, Some(g), |out, g| {
            put_long(out, g.first_row_id);
            put_long(out, g.last_row_id);
            put_int(out, g.field_id);
            put_optional(out, g.extra_field_ids.as_ref(), |out, ids| {
                put_items(out, ids.iter(), |out, i| put_int(out, *i))
            });
            put_optional(out, g.meta.as_deref(), put_bytes);
        });
    });
    (writer.finish().unwrap(), entry)
}

#[test]
fn entries_say_what_java_says() {
    let root = table("pk_dv_part");
    let folder = std::fs::read_dir(format!("{root}/manifest")).unwrap();
    let names = folder.map(|f| f.unwrap().file_name().to_string_lossy().into_owned());
    let name = names.into_iter().find(|name| name.starts_with("index-manifest-")).unwrap();
    let found = read_index_manifest(ManifestFolder::new(&LocalStore, &root), &name).unwrap();
    let expected = expected("pk_dv_part");
    let wanted = expected["index_entries"].as_array().unwrap();
    assert_eq!(found.len(), wanted.len());
    let types = schema("pk_dv_part", 0).partition_types();
    for entry in &found {
        let w = wanted.iter().find(|w| w["fileName"] == entry.file_name).unwrap();
        assert_eq!(shown_row(&entry.partition, &types), w["partition"]);
        assert_eq!(
            (Json::from(entry.bucket), Json::from(entry.file_size)),
            (w["bucket"].clone(), w["fileSize"].clone())
        );
        assert_eq!(
            (Json::from(entry.index_type.as_str()), Json::from(entry.row_count)),
            (w["indexType"].clone(), w["rowCount"].clone())
        );
        assert_eq!(entry.deletion_vectors.as_ref().map(Vec::len), w["dvRanges"].as_array().map(Vec::len));
    }
}

#[test]
fn every_field_is_read() {
    let (bytes, entry) = one_entry();
    assert_eq!(decoded(&bytes).unwrap(), std::slice::from_ref(&entry));
    assert_eq!(decoded(&in_unions(&bytes)).unwrap(), [entry]);
    assert!(decoded(&with_null_record(&bytes)).is_err());
}

#[test]
fn torn_index_manifests_are_errors() {
    let (bytes, _) = one_entry();
    let header = Container::parse(&bytes).unwrap().header_length;
    for cut in (0..bytes.len()).filter(|cut| *cut != header) {
        assert!(decoded(&bytes[..cut]).is_err(), "{cut}");
    }
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0xff;
        let _ = decoded(&bytes);
    }
}

#[test]
fn hashes_are_big_endian() {
    assert_eq!(decode_hashes(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]).unwrap(), [1, -2]);
    assert!(decode_hashes(&[0, 0, 0]).is_err());
}
