use serde_json::Value as Json;

use super::*;
use crate::codec::avro::Container;
use crate::paimon::spec::testing::{expected, in_unions, schema, shown_row, table, with_null_record};

fn decoded(bytes: &[u8]) -> Result<Vec<PaimonManifestFile>> {
    decode_manifest_list(&OpenFile::parse(bytes)?)
}

fn list(name: &str, ending: &str) -> Vec<u8> {
    let folder = std::fs::read_dir(format!("{}/manifest", table(name))).unwrap();
    let path = folder.map(|f| f.unwrap().path()).find(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("manifest-list-") && name.ends_with(ending)
    });
    std::fs::read(path.unwrap()).unwrap()
}

#[test]
fn lists_say_what_java_says() {
    let types = schema("pk_dv_part", 0).partition_types();
    let lists = &expected("pk_dv_part")["manifests"];
    for (which, ending) in [("base", "-0"), ("delta", "-1")] {
        let found = decoded(&list("pk_dv_part", ending)).unwrap();
        let wanted = lists[which].as_array().unwrap();
        assert_eq!(found.len(), wanted.len());
        for (m, w) in found.iter().zip(wanted) {
            let pair = |a: &str, b: &str| w[a].as_i64().zip(w[b].as_i64());
            let wide = |r: Option<(i32, i32)>| r.map(|(a, b)| (i64::from(a), i64::from(b)));
            assert_eq!(Json::from(m.file_name.as_str()), w["fileName"]);
            assert_eq!(
                (Json::from(m.file_size), Json::from(m.schema_id)),
                (w["fileSize"].clone(), w["schemaId"].clone())
            );
            assert_eq!(Json::from(m.added_files), w["numAddedFiles"]);
            assert_eq!(Json::from(m.deleted_files), w["numDeletedFiles"]);
            assert_eq!(wide(m.buckets), pair("minBucket", "maxBucket"));
            assert_eq!(wide(m.levels), pair("minLevel", "maxLevel"));
            assert_eq!(m.row_ids, pair("minRowId", "maxRowId"));
            let p = &w["partitionStats"]["p"];
            assert_eq!(shown_row(&m.partition_stats.min, &types)[0], p[0]);
            assert_eq!(shown_row(&m.partition_stats.max, &types)[0], p[1]);
            assert_eq!(m.partition_stats.null_counts.as_ref().map(|n| Json::from(n[0])), Some(p[2].clone()));
        }
    }
}

#[test]
fn every_codec_is_read() {
    for codec in ["deflate", "null", "snappy"] {
        let manifests = decoded(&list(&format!("manifest_codec_{codec}"), "-1")).unwrap();
        assert_eq!(manifests.iter().map(|m| m.added_files).sum::<i64>(), 1, "{codec}");
        assert!(decoded(&list(&format!("manifest_codec_{codec}"), "-0")).unwrap().is_empty());
    }
}

#[test]
fn entries_may_be_in_unions() {
    for (name, ending) in [("pk_dv_part", "-0"), ("pk_dv_part", "-1"), ("manifest_codec_deflate", "-1")] {
        let bytes = list(name, ending);
        assert_eq!(decoded(&in_unions(&bytes)).unwrap(), decoded(&bytes).unwrap());
        assert!(decoded(&with_null_record(&bytes)).unwrap_err().to_string().contains("is null"));
    }
}

#[test]
fn torn_lists_are_errors() {
    let bytes = list("manifest_codec_null", "-1");
    let header = Container::parse(&bytes).unwrap().header_length;
    for cut in (0..bytes.len()).filter(|cut| *cut != header) {
        assert!(decoded(&bytes[..cut]).is_err(), "{cut}");
    }
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            let _ = decoded(&bytes);
        }
    }
}
