use proptest::prelude::*;

use super::*;
use crate::codec::avro::encode::{put_bytes, put_int, put_long};
use crate::codec::avro::{AvroCodec, ContainerWriter};
use crate::store::local::LocalStore;

/// A batch of (kind, name, level) in one partition.
fn batch(entries: &[(u8, String, i32)]) -> PaimonEntryColumns {
    let mut columns = PaimonEntryColumns { partitions: vec![vec![0; 12].into()], ..PaimonEntryColumns::default() };
    for (place, (kind, name, level)) in entries.iter().enumerate() {
        columns.place.push(place as u32);
        columns.kind.push(*kind);
        columns.partition.push(0);
        columns.bucket.push(1);
        columns.level.push(*level);
        assert!(columns.file_name.push(Some(name.as_bytes())));
        assert!(columns.extra_files.push(None) & columns.embedded_index.push(None) & columns.external_path.push(None));
    }
    columns
}

/// The names and levels of live additions, in order.
fn live(manifests: &[Vec<(u8, String, i32)>]) -> Vec<(String, i32)> {
    let batches: Vec<PaimonEntryColumns> = manifests.iter().map(|m| batch(m)).collect();
    let mut deleted = DeletedFiles::default();
    for (i, b) in batches.iter().enumerate() {
        deleted.add(i, b);
    }
    let mut out = Vec::new();
    for (i, b) in batches.iter().enumerate() {
        let rows = b.rows().filter(|row| b.kind[*row] == ADD && !deleted.is_deleted(i, b, *row));
        out.extend(rows.map(|row| (b.name(row).unwrap().to_owned(), b.level[row])));
    }
    out
}

#[test]
fn a_file_that_moved_to_another_level_is_live_there() {
    let entry = |kind, name: &str, level| (kind, name.to_owned(), level);
    let manifests = [vec![entry(ADD, "a", 0), entry(ADD, "b", 0)], vec![entry(DELETE, "a", 0), entry(ADD, "a", 5)]];
    assert_eq!(live(&manifests), [("b".to_owned(), 0), ("a".to_owned(), 5)]);
}

#[test]
fn all_that_identifies_a_file_counts() {
    let one = batch(&[(ADD, "a".to_owned(), 0)]);
    let mut others = Vec::new();
    for change in 0..5 {
        let mut other = batch(&[(DELETE, "a".to_owned(), 0)]);
        let one_value = |value: &[u8]| {
            let mut column = crate::codec::columns::BytesColumn::default();
            assert!(column.push(Some(value)));
            column
        };
        match change {
            0 => other.partitions = vec![vec![1; 12].into()],
            1 => other.bucket = vec![2],
            2 => other.extra_files = one_value(b"\x01\0\0\0x"),
            3 => other.embedded_index = one_value(b""),
            _ => other.external_path = one_value(b"s3://x/a"),
        }
        others.push(other);
    }
    for other in &others {
        let mut deleted = DeletedFiles::default();
        deleted.add(1, other);
        assert!(!deleted.is_deleted(0, &one, 0));
        assert!(deleted.is_deleted(0, other, 0));
    }
}

proptest! {
    #[test]
    fn the_last_entry_of_a_file_decides(
        events in prop::collection::vec((0..4u8, 0..2i32), 0..40),
        cuts in prop::collection::vec(1..6usize, 40),
    ) {
        // Files are added and removed in turn, as commits make them.
        let mut there = std::collections::BTreeSet::new();
        let mut entries = Vec::new();
        for (name, level) in events {
            let file = (format!("f{name}"), level);
            let kind = if there.remove(&file) { DELETE } else { there.insert(file.clone()); ADD };
            entries.push((kind, file.0, file.1));
        }
        let (mut manifests, mut rest) = (Vec::new(), &entries[..]);
        for cut in cuts {
            let (head, tail) = rest.split_at(cut.min(rest.len()));
            manifests.push(head.to_vec());
            rest = tail;
        }
        let mut found = live(&manifests);
        found.sort();
        prop_assert_eq!(found, there.into_iter().collect::<Vec<_>>());
    }
}

/// The columns that every manifest has.
const SCHEMA: &str = r#"{"type":"record","name":"r","fields":[{"name":"_KIND","type":"int"},{"name":"_PARTITION","type":"bytes"},
    {"name":"_BUCKET","type":"int"},{"name":"_TOTAL_BUCKETS","type":"int"},
    {"name":"_FILE","type":{"type":"record","name":"f","fields":[
        {"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},
        {"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},{"name":"_SCHEMA_ID","type":"long"},
        {"name":"_LEVEL","type":"int"}]}}]}"#;

/// A manifest with one entry in each block.
fn manifest(entries: impl Iterator<Item = (u8, String)>) -> Vec<u8> {
    let mut writer = ContainerWriter::new(SCHEMA, &[], AvroCodec::Zstd);
    for (kind, name) in entries {
        writer.record(|out| {
            put_int(out, i32::from(kind));
            put_bytes(out, &[0; 12]);
            put_int(out, 0);
            put_int(out, -1);
            put_bytes(out, name.as_bytes());
            put_long(out, 1);
            put_long(out, 1);
            put_bytes(out, &[0; 12]);
            put_bytes(out, &[0; 12]);
            put_long(out, 0);
            put_int(out, 0);
        });
        writer.end_block();
    }
    writer.finish().unwrap()
}

#[test]
fn manifests_of_many_blocks_are_put_together_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    std::fs::create_dir(dir.path().join("manifest")).unwrap();
    let file = |name: &str, entries: Vec<(u8, String)>| {
        let count = |kind| entries.iter().filter(|(k, _)| *k == kind).count() as i64;
        let (added_files, deleted_files) = (count(ADD), count(DELETE));
        std::fs::write(dir.path().join("manifest").join(name), manifest(entries.into_iter())).unwrap();
        PaimonManifestFile { file_name: name.to_owned(), added_files, deleted_files, ..PaimonManifestFile::default() }
    };
    let name = |i: usize| format!("f{i}.orc");
    let manifests = [
        file("a", (0..50).map(|i| (ADD, name(i))).collect()),
        file("b", (0..50).filter(|i| i % 3 == 0).map(|i| (DELETE, name(i))).collect()),
        // Deleted and added once more within one manifest, in blocks that different threads decode.
        file("c", (0..40).map(|i| (u8::from(i < 20), name(i % 20 + 100))).chain([(DELETE, name(119))]).collect()),
    ];
    let live = live_files(ManifestFolder::new(&LocalStore, root), &manifests, &PaimonEntryRequest::default()).unwrap();
    assert!(live.len() > manifests.len());
    let found: Vec<String> = live
        .iter()
        .flat_map(|part| part.rows.iter().map(|row| part.columns.name(*row as usize).unwrap().to_owned()))
        .collect();
    let wanted: Vec<String> = (0..50).filter(|i| i % 3 != 0).chain(100..119).map(name).collect();
    assert_eq!(found, wanted);
    let deleted =
        DeletedFiles::read(ManifestFolder::new(&LocalStore, root), &manifests, &PaimonEntryRequest::default()).unwrap();
    let parts = deleted.live_parts(
        ManifestFolder::new(&LocalStore, root),
        &manifests,
        &PaimonEntryRequest::default(),
        |manifest, live| Ok(if manifest == 2 { live.columns.place } else { Vec::new() }),
    );
    let places: Vec<u32> = parts.unwrap().into_iter().flatten().flatten().collect();
    assert_eq!(places, (20..39).collect::<Vec<_>>());
    let error = live_files(
        ManifestFolder::new(&LocalStore, root),
        &[PaimonManifestFile { file_name: "d".into(), added_files: 1, ..PaimonManifestFile::default() }],
        &PaimonEntryRequest::default(),
    );
    assert!(error.unwrap_err().to_string().contains("manifest/d"));
}
