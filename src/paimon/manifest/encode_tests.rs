//! Files that Java wrote stay the same after reading and writing, byte for byte except for compression.

use super::*;
use crate::codec::avro::{Container, Inflater, OpenFile};
use crate::paimon::commit::manifests::{ManifestLayout, manifest_of};
use crate::paimon::manifest::columns::decode_manifest;
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::index_manifest::decode_index_manifest;
use crate::paimon::manifest::list::decode_manifest_list;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::spec::testing::table;

/// Files of all tables that Java wrote, with paths below the table that begin with `prefix`.
fn files(prefix: &str) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    let tables = [table(""), table("plan/warehouse/corpus.db")];
    for name in tables.iter().flat_map(|root| std::fs::read_dir(root).unwrap()).map(|e| e.unwrap().path()) {
        let (folder, start) = prefix.rsplit_once('/').unwrap();
        let Ok(entries) = std::fs::read_dir(name.join(folder)) else { continue };
        for entry in entries.map(|e| e.unwrap().path()) {
            if entry.file_name().unwrap().to_str().unwrap().starts_with(start) {
                out.push((entry.display().to_string(), std::fs::read(&entry).unwrap()));
            }
        }
    }
    assert!(!out.is_empty(), "{prefix}");
    out
}

/// The schema, and the records of all blocks.
fn content(bytes: &[u8]) -> (String, Vec<u8>) {
    let container = Container::parse(bytes).unwrap();
    let mut inflater = Inflater::default();
    let mut records = Vec::new();
    for i in 0..container.blocks.len() {
        records.extend_from_slice(inflater.inflate(container.codec, container.block_data(i).unwrap()).unwrap());
    }
    (container.schema_json().unwrap().to_owned(), records)
}

#[test]
fn manifests_are_as_java_writes_them() {
    let all = PaimonEntryRequest { key_stats: true, value_stats: true, ..PaimonEntryRequest::default() };
    for (path, bytes) in files("manifest/manifest-").into_iter().filter(|(path, _)| !path.contains("manifest-list-")) {
        let columns = decode_manifest(&bytes, &all).unwrap();
        let entries: Vec<FileEntry> = columns.rows().map(|row| columns.entry(row).unwrap()).collect();
        for codec in [AvroCodec::Null, AvroCodec::Zstd] {
            assert_eq!(content(&encode_manifest(&entries, codec).unwrap()), content(&bytes), "{path}");
        }
    }
}

#[test]
fn lists_and_index_manifests_are_as_java_writes_them() {
    for (path, bytes) in files("manifest/manifest-list-") {
        let manifests = decode_manifest_list(&OpenFile::parse(&bytes).unwrap()).unwrap();
        assert_eq!(content(&encode_manifest_list(&manifests, AvroCodec::Zstd).unwrap()), content(&bytes), "{path}");
    }
    for (path, bytes) in files("manifest/index-manifest-") {
        let entries = decode_index_manifest(&OpenFile::parse(&bytes).unwrap()).unwrap();
        assert_eq!(content(&encode_index_manifest(&entries, AvroCodec::Snappy).unwrap()), content(&bytes), "{path}");
    }
}

#[test]
fn lists_say_of_manifests_what_java_says() {
    let mut seen = 0;
    for (path, bytes) in files("manifest/manifest-list-") {
        let folder = path.rsplit_once("/manifest/").unwrap().0;
        let schema = std::fs::read(format!("{folder}/schema/schema-0")).unwrap();
        let schema = TableSchema::parse(&schema).unwrap();
        for mut wanted in decode_manifest_list(&OpenFile::parse(&bytes).unwrap()).unwrap() {
            let Ok(bytes) = std::fs::read(format!("{folder}/manifest/{}", wanted.file_name)) else { continue };
            let all = PaimonEntryRequest { key_stats: true, value_stats: true, ..PaimonEntryRequest::default() };
            let columns = decode_manifest(&bytes, &all).unwrap();
            let entries: Vec<FileEntry> = columns.rows().map(|row| columns.entry(row).unwrap()).collect();
            let mut found = manifest_of(&entries, &ManifestLayout::of(&schema).unwrap()).unwrap();
            (found.file_size, wanted.file_size) = (0, 0);
            found.file_name.clone_from(&wanted.file_name);
            assert_eq!(found, wanted, "{path}");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn snapshots_and_schemas_are_as_java_writes_them() {
    for prefix in ["snapshot/snapshot-", "tag/tag-"] {
        for (path, bytes) in files(prefix) {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            assert_eq!(text(&PaimonSnapshot::parse(&bytes).unwrap().encode()), text(&bytes), "{path}");
        }
    }
    for (path, bytes) in files("schema/schema-") {
        let schema = TableSchema::parse(&bytes).unwrap();
        assert_eq!(String::from_utf8(schema.encode()).unwrap(), String::from_utf8(bytes).unwrap(), "{path}");
        let copy = TableSchema::new(schema.parts()).unwrap();
        assert_eq!(copy.fields, schema.fields);
        assert_eq!(copy.encode().len(), schema.encode().len(), "{path}");
    }
}

#[test]
fn what_java_could_not_read_is_not_written() {
    let options = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    let codec = |key, value| manifest_codec(Options(&options(key, value)));
    assert_eq!(codec("manifest.compression", "NONE").unwrap(), AvroCodec::Null);
    assert_eq!(codec("x", "").unwrap(), AvroCodec::Zstd);
    assert!(codec("manifest.compression", "lz4").is_err() && codec("manifest.format", "orc").is_err());
    let range = DeletionVectorRange { offset: 1 << 31, ..DeletionVectorRange::default() };
    let entry = IndexEntry { deletion_vectors: Some(vec![range]), ..IndexEntry::default() };
    assert!(encode_index_manifest(&[entry], AvroCodec::Null).is_err());
}

#[test]
fn global_indexes_keep_what_they_were_made_of() {
    let entry = |source_meta| {
        let global = GlobalIndex {
            first_row_id: 5,
            last_row_id: 9,
            field_id: 3,
            extra_field_ids: Some(vec![1]),
            meta: Some(vec![7]),
            source_meta,
        };
        IndexEntry { index_type: "btree".into(), file_name: "i".into(), global: Some(global), ..IndexEntry::default() }
    };
    let says_source = |entries: &[IndexEntry]| {
        let bytes = encode_index_manifest(entries, AvroCodec::Null).unwrap();
        assert_eq!(decode_index_manifest(&OpenFile::parse(&bytes[..]).unwrap()).unwrap(), entries);
        bytes.windows(12).any(|window| window == b"_SOURCE_META")
    };
    let other = IndexEntry { file_name: "h".into(), index_type: "HASH".into(), ..IndexEntry::default() };
    assert!(says_source(&[entry(None), entry(Some(vec![1, 2])), other]));
    // Readers of older versions know the other members only.
    assert!(!says_source(&[entry(None)]));
}
