use serde_json::Value as Json;

use super::*;
use crate::codec::avro::Container;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::live::{data_manifests, live_files, read_manifest};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::spec::stats::StatsRef;
use crate::paimon::spec::testing::{expected, in_unions, schema, shown_row, table, with_null_record};
use crate::store::local::LocalStore;
use crate::types::value::hex;

fn snapshot(name: &str, id: i64) -> PaimonSnapshot {
    PaimonSnapshot::parse(&std::fs::read(format!("{}/snapshot/snapshot-{id}", table(name))).unwrap()).unwrap()
}

const ALL: PaimonEntryRequest<'_> = PaimonEntryRequest { key_stats: true, value_stats: true, kind: None, keep: None };

/// Least, greatest and number of nulls of one column.
fn stats_of(stats: StatsRef<'_>, types: &[crate::paimon::spec::data_type::DataType], column: usize) -> Json {
    let (min, max) = (shown_row(stats.min.unwrap(), types), shown_row(stats.max.unwrap(), types));
    Json::from(vec![min[column].clone(), max[column].clone(), stats.null_counts.unwrap()[column].into()])
}

#[test]
fn entries_say_what_java_says() {
    for (name, id) in
        [("pk_dv_part", 5), ("manifest_codec_deflate", 1), ("manifest_codec_null", 1), ("manifest_codec_snappy", 1)]
    {
        let (root, schema, expected) = (table(name), schema(name, 0), expected(name));
        let manifests = data_manifests(ManifestFolder::new(&LocalStore, &root), &snapshot(name, id)).unwrap();
        let live = live_files(ManifestFolder::new(&LocalStore, &root), &manifests, &ALL).unwrap();
        let wanted = expected["entries"].as_array().unwrap();
        assert_eq!(live.iter().map(|l| l.rows.len()).sum::<usize>(), wanted.len(), "{name}");
        let types: Vec<_> = schema.fields.iter().map(|f| f.ty.clone()).collect();
        for live in &live {
            let c = &live.columns;
            for row in live.rows.iter().map(|row| *row as usize) {
                let w = wanted.iter().find(|w| w["fileName"] == c.name(row).unwrap()).unwrap();
                assert_eq!(shown_row(c.partition_row(row), &schema.partition_types()), w["partition"]);
                if schema.has_primary_key() {
                    let types = schema.key_types();
                    assert_eq!(shown_row(c.min_key.get(row).unwrap(), &types), w["minKey"]);
                    assert_eq!(shown_row(c.max_key.get(row).unwrap(), &types), w["maxKey"]);
                    assert_eq!(stats_of(c.key_stats.get(row), &types, 0), w["keyStats"]["id"]);
                }
                for (i, field) in schema.fields.iter().enumerate() {
                    assert_eq!(stats_of(c.value_stats.get(row), &types, i), w["valueStats"][&field.name]);
                }
                let numbers = [
                    (c.bucket[row].into(), "bucket"),
                    (c.total_buckets[row].into(), "totalBuckets"),
                    (c.level[row].into(), "level"),
                    (c.file_size[row], "fileSize"),
                    (c.row_count[row], "rowCount"),
                    (c.min_sequence_number[row], "minSequenceNumber"),
                    (c.max_sequence_number[row], "maxSequenceNumber"),
                    (c.schema_id[row], "schemaId"),
                ];
                for (found, key) in numbers {
                    assert_eq!(Json::from(found), w[key], "{key}");
                }
                assert_eq!(Json::from(c.delete_row_count[row]), w["deleteRowCount"]);
                assert_eq!(Json::from(c.first_row_id[row]), w["firstRowId"]);
                assert_eq!(Json::from(c.extra_files(row).unwrap()), w["extraFiles"]);
                assert_eq!(Json::from(c.embedded_index.get(row).map(hex)), w["embeddedIndex"]);
                assert_eq!(Json::from(c.external(row).unwrap()), w["externalPath"]);
                assert_eq!(c.write_cols_of(row).is_none(), w["writeCols"].is_null());
                let source = c.file_source[row].map(|s| if s == 0 { "APPEND" } else { "COMPACT" });
                assert_eq!(Json::from(source), w["fileSource"]);
                assert!(c.creation_time_ms[row].is_some_and(|t| t > 1_700_000_000_000));
            }
        }
    }
}

#[test]
fn raw_entries_come_in_the_order_of_the_file() {
    let (root, lists) = (table("pk_dv_part"), &expected("pk_dv_part")["manifests"]);
    let wanted = lists["base"].as_array().unwrap().iter().chain(lists["delta"].as_array().unwrap());
    let manifests = data_manifests(ManifestFolder::new(&LocalStore, &root), &snapshot("pk_dv_part", 5)).unwrap();
    let mut deletions = 0;
    for (manifest, wanted) in manifests.iter().zip(wanted) {
        let c =
            read_manifest(ManifestFolder::new(&LocalStore, &root), manifest, &PaimonEntryRequest::default()).unwrap();
        for (row, w) in wanted["entries"].as_array().unwrap().iter().enumerate() {
            assert_eq!((c.kind[row] == DELETE, c.place[row] as usize), (w[0] == "DELETE", row));
            assert_eq!((Json::from(c.name(row).unwrap()), Json::from(c.level[row])), (w[3].clone(), w[4].clone()));
            deletions += i64::from(c.kind[row] == DELETE);
        }
        assert_eq!(c.kind.iter().filter(|k| **k == DELETE).count() as i64, manifest.deleted_files);
        // Files without statistics have no bounds.
        assert!(c.value_stats.min.is_empty() && c.key_stats.max.is_empty());
    }
    assert!(deletions > 0);
}

fn one_manifest() -> Vec<u8> {
    let root = table("manifest_codec_null");
    let manifests =
        data_manifests(ManifestFolder::new(&LocalStore, &root), &snapshot("manifest_codec_null", 1)).unwrap();
    std::fs::read(format!("{root}/manifest/{}", manifests[0].file_name)).unwrap()
}

#[test]
fn only_what_is_asked_for_is_decoded() {
    let bytes = one_manifest();
    let decode = |request: &PaimonEntryRequest<'_>| decode_manifest(&bytes, request).unwrap().len();
    let asked = std::sync::Mutex::new(Vec::new());
    let keep = |partition: &[u8], bucket: i32, total: i32| {
        asked.lock().unwrap().push((partition.to_vec(), bucket, total));
        false
    };
    let all = decode(&PaimonEntryRequest::default());
    assert_eq!((all, decode(&PaimonEntryRequest { kind: Some(ADD), ..ALL })), (1, 1));
    assert_eq!(decode(&PaimonEntryRequest { kind: Some(DELETE), ..ALL }), 0);
    assert_eq!(decode(&PaimonEntryRequest { keep: Some(&keep), ..ALL }), 0);
    assert_eq!(*asked.lock().unwrap(), [(vec![0; 12], 0, -1)]);
}

#[test]
fn entries_may_be_in_unions() {
    for name in ["pk_dv_part", "manifest_codec_deflate", "manifest_codec_null"] {
        let folder = std::fs::read_dir(format!("{}/manifest", table(name))).unwrap().map(|f| f.unwrap().path());
        let is_manifest = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("manifest-") && !name.starts_with("manifest-list-")
        };
        for path in folder.filter(is_manifest) {
            let bytes = std::fs::read(path).unwrap();
            let [plain, united] = [&bytes, &in_unions(&bytes)].map(|bytes| decode_manifest(bytes, &ALL).unwrap());
            assert_eq!(format!("{united:?}"), format!("{plain:?}"));
            assert!(!plain.is_empty());
            assert!(decode_manifest(&with_null_record(&bytes), &ALL).is_err());
        }
    }
}

#[test]
fn torn_manifests_are_errors() {
    let bytes = one_manifest();
    let header = Container::parse(&bytes).unwrap().header_length;
    for cut in (0..bytes.len()).filter(|cut| *cut != header) {
        assert!(decode_manifest(&bytes[..cut], &ALL).is_err(), "{cut}");
    }
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let _ = decode_manifest(&bytes, &ALL);
        }
    }
}

#[test]
fn a_manifest_that_lacks_a_column_is_refused() {
    let error = |schema: &str| DecodeProgram::new(schema).err().unwrap();
    let record = |fields: &str| format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#);
    assert!(error(&record("")).message().contains("_KIND"));
    let file =
        r#"{"name":"_FILE","type":{"type":"record","name":"f","fields":[{"name":"_FILE_NAME","type":"string"}]}}"#;
    let head = r#"{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},
        {"name":"_TOTAL_BUCKETS","type":"int"}"#;
    assert!(error(&record(&format!("{head},{file}"))).message().contains("_FILE_SIZE"));
    assert!(error(&record(&head.replace("bytes", "int"))).message().contains("another type"));
    assert!(error(r#""int""#).message().contains("not a record"));
}
