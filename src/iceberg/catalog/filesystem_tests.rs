use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::iceberg::spec::metadata::tests::fixture;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::local::LocalStore;
use crate::store::testing::{Change, Hooked, Hooks};
use crate::types::{Field, PartitionSpec, PrimitiveType, Schema, SortOrder};

struct Table {
    dir: tempfile::TempDir,
}

impl Table {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("metadata")).unwrap();
        Table { dir }
    }

    /// Writes metadata whose sequence number tells which file it is.
    fn with(self, name: &str, mark: i64) -> Self {
        self.file(name, &marked(mark))
    }

    fn file(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.dir.path().join("metadata").join(name), bytes).unwrap();
        self
    }

    fn location(&self) -> String {
        self.dir.path().display().to_string()
    }

    fn load(&self) -> Result<(i64, Option<u64>)> {
        load(&LocalStore, &self.location()).map(|(m, found)| (m.last_sequence_number, found.version))
    }
}

fn marked(mark: i64) -> Vec<u8> {
    let mut metadata = parse_metadata(&fixture("sorted.v1")).unwrap();
    metadata.last_sequence_number = mark;
    metadata.last_updated_ms += mark;
    encode_metadata(&metadata)
}

fn gzipped(mark: i64) -> Vec<u8> {
    compress(&marked(mark)).unwrap()
}

#[test]
fn the_newest_version_is_found_whatever_the_hint_says() {
    let hints: [&[u8]; 11] = [
        b"12",
        b"11\n",
        b" 2 ",
        b"99999999999999999999",
        b"-3",
        b"",
        b"eleven",
        b"\xff\xfe",
        b"../../v2",
        b"1 2",
        &[b'1'; 5000],
    ];
    for hint in hints {
        // Versions 3 to 9 are gone, as if they had left the log.
        let table = Table::new().with("v1.metadata.json", 1).with("v2.metadata.json", 2).with("v10.metadata.json", 10);
        let table = table.with("v11.metadata.json", 11).with("v12.metadata.json", 12).file("version-hint.text", hint);
        assert_eq!(table.load().unwrap(), (12, Some(12)), "{}", hint.escape_ascii());
    }
    let table =
        Table::new().with("v9.metadata.json", 9).with("v10.metadata.json", 10).with(".v11.metadata.json.crc", 0);
    assert_eq!(table.load().unwrap(), (10, Some(10)));
}

#[test]
fn a_version_that_was_published_is_not_undone_by_losing_its_file() {
    let table = Table::new().with("v1.metadata.json", 1).with("v2.metadata.json", 2);
    for hint in ["3", "99", "2147483647"] {
        let table = Table::new().with("v1.metadata.json", 1).with("v2.metadata.json", 2);
        let e = table.file("version-hint.text", hint.as_bytes()).load().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable);
        let text = e.to_string();
        assert!(text.contains(&format!("version {hint} is missing; the newest version is 2")), "{text}");
        assert!(text.contains(&format!("v{hint}.metadata.json")) && text.contains("version-hint.text"), "{text}");
    }
    // A hint below the newest version is only outdated, even if its own file is gone.
    let table = table.with("v7.metadata.json", 7).file("version-hint.text", b"5");
    assert_eq!(table.load().unwrap(), (7, Some(7)));
    // Other catalogs' tables have no versions.
    let table = Table::new().with("00003-aaaa.metadata.json", 3).file("version-hint.text", b"9");
    assert_eq!(table.load().unwrap(), (3, None));
}

#[test]
fn names_and_content_need_not_agree_on_compression() {
    let table = Table::new().file("v1.metadata.json", &gzipped(1)).with("v2.gz.metadata.json", 2);
    let table = table.file("v3.metadata.json.gz", &gzipped(3)).file("version-hint.text", b"1");
    assert_eq!(table.load().unwrap(), (3, Some(3)));
    let file = format!("{}/metadata/v2.gz.metadata.json", table.location());
    let (metadata, found) = load(&LocalStore, &format!("file://{file}")).unwrap();
    assert_eq!((metadata.last_sequence_number, found.version), (2, Some(2)));
    assert_eq!(found.metadata_location, format!("file://{file}"));
    // The plain file comes before the compressed one, as in the reference.
    let table = Table::new().with("v1.metadata.json", 1).file("v1.gz.metadata.json", &gzipped(7));
    assert_eq!(table.load().unwrap(), (1, Some(1)));
}

#[test]
fn tables_of_other_catalogs() {
    let table = Table::new().with("00001-aaaa.metadata.json", 1).with("00010-bbbb.metadata.json", 10);
    let table = table.with("00009-cccc.metadata.json", 9);
    assert_eq!(table.load().unwrap(), (10, None));
    // If two files have the same number, the one updated last counts, though its name comes first.
    let table = table.with("00010-aaaa.metadata.json", 30).file("00010-cccc.metadata.json", b"torn");
    assert_eq!(table.load().unwrap(), (30, None));
    let table = table.file("version-hint.text", b"00009-cccc");
    assert_eq!(table.load().unwrap(), (30, None));
    let table = table.file("version-hint.text", b"00010-bbbb.metadata.json\n");
    assert_eq!(table.load().unwrap(), (10, None));
}

#[test]
fn what_is_no_table_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let make = |name: &str| std::fs::create_dir_all(dir.path().join(name)).unwrap();
    let write = |name: &str| std::fs::write(dir.path().join(name), b"x").unwrap();
    for folder in ["paimon/snapshot", "paimon/schema", "delta/_delta_log", "plain", "empty/metadata", "t/metadata"] {
        make(folder);
    }
    write("plain/part-0.parquet");
    write("t/metadata/v1.metadata.json");
    let cases = [
        ("paimon", "Paimon"),
        ("delta", "Delta"),
        ("plain", "plain Parquet"),
        ("empty", "metadata folder holds no"),
        ("t/metadata", "the folder above it"),
        ("nothing", "no such folder"),
    ];
    for (name, words) in &cases {
        let e = find_metadata(&LocalStore, &at(name)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound, "{name}");
        assert!(e.to_string().contains(words) && e.to_string().contains(&at(name)), "{e}");
    }
    let e = find_metadata(&LocalStore, &at("plain/part-0.parquet")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    let e = load(&LocalStore, &at("t")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CorruptTable);
    assert!(e.to_string().contains("v1.metadata.json"), "{e}");
    let e = load(&LocalStore, &at("gone.metadata.json")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
}

fn empty_table(location: &str) -> TableMetadata {
    let schema = Schema::new(0, vec![Field::new(1, "a", false, PrimitiveType::Int)], vec![]);
    let (spec, order) = (PartitionSpec::default(), SortOrder::default());
    new_table(&schema, &spec, &order, location, &BTreeMap::new(), 2, 1_000).unwrap()
}

fn on<'a>(metadata: &'a TableMetadata, path: &'a str) -> BaseVersion<'a> {
    BaseVersion { metadata, path }
}

/// Appends to the table until an append succeeds, as a commit loop does.
fn append(store: &dyn Store, location: &str, id: i64) {
    loop {
        let (base, found) = load(store, location).unwrap();
        let sequence_number = base.next_sequence_number(std::iter::empty()).unwrap();
        let list = Some("l".to_owned());
        let snapshot =
            Snapshot { id, sequence_number, manifest_list: list, timestamp_ms: 2_000, ..Snapshot::default() };
        let next = base.add_snapshot(snapshot, "main", 2_000).unwrap();
        let next = next.with_metadata_log(&found.metadata_location, base.last_updated_ms).unwrap();
        match publish(store, location, found.version.unwrap() + 1, &next, Some(on(&base, &found.metadata_location))) {
            Ok(_) => return,
            Err(e) => assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}"),
        }
    }
}

#[test]
fn racing_publishers_lose_nothing() {
    for codec in ["none", "gzip"] {
        let dir = tempfile::tempdir().unwrap();
        let location = dir.path().join("t").display().to_string();
        let mut first = empty_table(&location);
        first.properties.insert(METADATA_COMPRESSION.into(), codec.into());
        publish(&LocalStore, &location, 1, &first, None).unwrap();
        std::thread::scope(|s| {
            for writer in 0..4 {
                let location = &location;
                s.spawn(move || (0..8).for_each(|i| append(&LocalStore, location, 100 * writer + i)));
            }
        });
        let (metadata, found) = load(&LocalStore, &location).unwrap();
        assert_eq!((metadata.snapshots.len(), metadata.last_sequence_number, found.version), (32, 32, Some(33)));
        assert_eq!(metadata.metadata_log.len(), 32);
        let left: Vec<_> = std::fs::read_dir(dir.path().join("t/metadata")).unwrap().collect();
        assert_eq!(left.len(), 34);
    }
}

/// A base so old that its successors were deleted. Their names are free, but nothing may be published there.
#[test]
fn a_version_out_of_turn_is_not_published() {
    let dir = tempfile::tempdir().unwrap();
    let location = dir.path().join("t").display().to_string();
    let (old, path) = short_lived(&location);
    (0..5).for_each(|id| append(&LocalStore, &location, id));
    let e = publish(&LocalStore, &location, 2, &snapshot_on(&old, 99), Some(on(&old, &path))).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitConflict);
    let (metadata, found) = load(&LocalStore, &location).unwrap();
    assert_eq!((metadata.snapshots.len(), found.version), (5, Some(6)));
    assert!(find_version(&LocalStore, &format!("{location}/metadata"), 2).unwrap().is_none());
}

/// A table of one version that keeps one old version.
fn short_lived(location: &str) -> (TableMetadata, String) {
    let mut first = empty_table(location);
    first.properties.insert(DELETE_AFTER_COMMIT.into(), "true".into());
    first.properties.insert("write.metadata.previous-versions-max".into(), "1".into());
    publish(&LocalStore, location, 1, &first, None).unwrap();
    let (metadata, found) = load(&LocalStore, location).unwrap();
    (metadata, found.metadata_location)
}

fn snapshot_on(base: &TableMetadata, id: i64) -> TableMetadata {
    let sequence_number = base.next_sequence_number(std::iter::empty()).unwrap();
    let list = Some("l".to_owned());
    let snapshot = Snapshot { id, sequence_number, manifest_list: list, timestamp_ms: 3_000, ..Snapshot::default() };
    base.add_snapshot(snapshot, "main", 3_000).unwrap()
}

/// Writers of one version that want different codecs. They share a name, so exactly one of them wins.
#[test]
fn racing_publishers_of_different_codecs() {
    for version in [1, 2].repeat(10) {
        let dir = tempfile::tempdir().unwrap();
        let location = dir.path().display().to_string();
        let first = empty_table(&location);
        let path = format!("{location}/metadata/v1.metadata.json");
        if version == 2 {
            assert_eq!(publish(&LocalStore, &location, 1, &first, None).unwrap(), path);
        }
        let base = (version == 2).then(|| on(&first, &path));
        let wins: Vec<i64> = std::thread::scope(|s| {
            let race = |mark: i64, codec: &'static str| {
                let mut metadata = empty_table(&location);
                metadata.last_sequence_number = mark;
                metadata.properties.insert(METADATA_COMPRESSION.into(), codec.into());
                let location = &location;
                let publish = move || publish(&LocalStore, location, version, &metadata, base);
                s.spawn(move || publish().map(|_| mark).map_err(|e| e.kind()))
            };
            let racers = [race(1, "none"), race(2, "gzip"), race(3, "none"), race(4, "GZIP")];
            let results = racers.map(|r| r.join().unwrap());
            assert!(results.iter().all(|r| matches!(r, Ok(_) | Err(ErrorKind::CommitConflict))), "{results:?}");
            results.into_iter().flatten().collect()
        });
        assert_eq!(wins.len(), 1);
        let (left, found) = load(&LocalStore, &location).unwrap();
        assert_eq!((left.last_sequence_number, found.version), (wins[0], Some(version)));
    }
}

#[test]
fn a_version_is_published_once_and_hinted() {
    let dir = tempfile::tempdir().unwrap();
    let location = dir.path().display().to_string();
    let mut m = empty_table(&location);
    let path = publish(&LocalStore, &location, 1, &m, None).unwrap();
    assert_eq!(path, format!("{location}/metadata/v1.metadata.json"));
    assert_eq!(std::fs::read(dir.path().join("metadata/version-hint.text")).unwrap(), b"1");
    m.properties.insert(METADATA_COMPRESSION.into(), "gzip".into());
    assert_eq!(publish(&LocalStore, &location, 1, &m, None).unwrap_err().kind(), ErrorKind::CommitConflict);
    // The base's codec decides about the name, so that all writers of a version share it.
    let mut plain = m.clone();
    plain.properties.remove(METADATA_COMPRESSION);
    let path = publish(&LocalStore, &location, 2, &m, Some(on(&plain, &path))).unwrap();
    assert!(path.ends_with("/v2.metadata.json"));
    let path = publish(&LocalStore, &location, 3, &m, Some(on(&m, &path))).unwrap();
    assert!(path.ends_with("/v3.gz.metadata.json"));
    assert!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]));
    assert_eq!(load(&LocalStore, &location).unwrap().0, m);
    // A codec that only another engine knows does not stop the commit that replaces it.
    let mut unknown = m.clone();
    unknown.properties.insert(METADATA_COMPRESSION.into(), "zstd".into());
    let path = publish(&LocalStore, &location, 4, &m, Some(on(&unknown, &path))).unwrap();
    assert!(path.ends_with("/v4.metadata.json"));
    m.properties.insert(METADATA_COMPRESSION.into(), "rot13".into());
    assert_eq!(publish(&LocalStore, &location, 5, &m, None).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(publish(&LocalStore, &location, 0, &m, None).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn old_files_go_only_when_asked_and_only_from_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let location = format!("file://{}", dir.path().join("t").display());
    let precious = dir.path().join("precious.metadata.json");
    std::fs::write(&precious, b"x").unwrap();
    let mut m = empty_table(&location);
    m.properties.insert("write.metadata.previous-versions-max".into(), "2".into());
    publish(&LocalStore, &location, 1, &m, None).unwrap();
    for version in 2..6 {
        let base = m.clone();
        let before = format!("{location}/metadata/v{}.metadata.json", version - 1);
        m = m.with_metadata_log(&before, 0).unwrap();
        publish(&LocalStore, &location, version, &m, Some(on(&base, &before))).unwrap();
    }
    let there = |name: &str| dir.path().join("t/metadata").join(name).exists();
    assert!((1..6).all(|v| there(&format!("v{v}.metadata.json"))));
    m.properties.insert(DELETE_AFTER_COMMIT.into(), "true".into());
    m.metadata_log[0].metadata_file = format!("{location}/metadata/../../precious.metadata.json");
    m.metadata_log.insert(0, m.metadata_log[1].clone());
    m.metadata_log[0].metadata_file = precious.display().to_string();
    let base = m.clone();
    m.metadata_log.clear();
    let before = format!("{location}/metadata/v5.metadata.json");
    publish(&LocalStore, &location, 6, &m, Some(on(&base, &before))).unwrap();
    assert!(precious.exists() && !there("v4.metadata.json") && there("v3.metadata.json") && there("v6.metadata.json"));
}

fn catalog(dir: &Path) -> FilesystemCatalog {
    FilesystemCatalog::new(Arc::new(LocalStore), &format!("{}/wh/", dir.display())).unwrap()
}

fn levels(text: &str) -> Vec<String> {
    text.split('.').filter(|l| !l.is_empty()).map(str::to_owned).collect()
}

#[test]
fn namespaces_and_tables_are_folders() {
    let dir = tempfile::tempdir().unwrap();
    let cat = catalog(dir.path());
    assert_eq!(cat.list_namespaces(&[]).unwrap(), Vec::<Vec<String>>::new());
    cat.create_namespace(&levels("db")).unwrap();
    cat.create_namespace(&levels("db.inner")).unwrap();
    cat.create_namespace(&levels("a")).unwrap();
    assert_eq!(cat.create_namespace(&levels("db")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(cat.create_namespace(&[]).unwrap_err().kind(), ErrorKind::InvalidInput);
    let ident = TableIdent::parse("db.events").unwrap();
    let location = cat.table_location(&ident).unwrap();
    let found = cat.create_table(&ident, &empty_table(&location)).unwrap();
    assert_eq!(found.metadata_location, format!("{}/wh/db/events/metadata/v1.metadata.json", dir.path().display()));
    assert_eq!(cat.create_table(&ident, &empty_table(&location)).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(cat.create_table(&ident, &empty_table("/else")).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(cat.create_namespace(&levels("db.events.x")).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(cat.list_namespaces(&[]).unwrap(), [levels("a"), levels("db")]);
    assert_eq!(cat.list_namespaces(&levels("db")).unwrap(), [levels("db.inner")]);
    assert_eq!(cat.list_tables(&levels("db")).unwrap(), std::slice::from_ref(&ident));
    assert_eq!(cat.list_tables(&levels("db.inner")).unwrap(), []);
    for missing in ["nope", "db.events", "db.nope"] {
        assert_eq!(cat.list_tables(&levels(missing)).unwrap_err().kind(), ErrorKind::NotFound, "{missing}");
    }
    assert_eq!(cat.load_table(&ident).unwrap().0.location, location);
    let e = cat.load_table(&TableIdent::parse("db.nope").unwrap()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NotFound);
    for bad in ["..", "a/b", "", "a\0b", "."] {
        let ident = TableIdent { namespace: levels("db"), name: bad.to_owned() };
        assert_eq!(cat.table_location(&ident).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(cat.drop_table(&ident).is_err() && cat.list_tables(&[bad.to_owned()]).is_err());
    }
}

#[test]
fn of_racing_creators_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let cat = catalog(dir.path());
    let ident = TableIdent::parse("db.t").unwrap();
    let location = cat.table_location(&ident).unwrap();
    let wins: Vec<bool> = std::thread::scope(|s| {
        let racers: Vec<_> = (0..8)
            .map(|_| s.spawn(|| cat.create_table(&ident, &empty_table(&location)).map_err(|e| e.kind())))
            .collect();
        let results = racers.into_iter().map(|r| r.join().unwrap());
        results.inspect(|r| assert!(matches!(r, Ok(_) | Err(ErrorKind::AlreadyExists)))).map(|r| r.is_ok()).collect()
    });
    assert_eq!(wins.iter().filter(|w| **w).count(), 1);
}

#[test]
fn dropping_takes_the_folder_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let cat = catalog(dir.path());
    let (t, other) = (TableIdent::parse("db.t").unwrap(), TableIdent::parse("db.other").unwrap());
    for ident in [&t, &other] {
        cat.create_table(ident, &empty_table(&cat.table_location(ident).unwrap())).unwrap();
    }
    let root = dir.path().join("wh/db/t");
    std::fs::create_dir_all(root.join("data/day=1")).unwrap();
    std::fs::write(root.join("data/day=1/f.parquet"), b"x").unwrap();
    let outside = dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), b"x").unwrap();

    std::os::unix::fs::symlink(&outside, root.join("data/link")).unwrap();
    assert_eq!(cat.drop_table(&t).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(root.join("metadata/v1.metadata.json").exists() && outside.join("precious").exists());
    std::fs::remove_file(root.join("data/link")).unwrap();

    std::os::unix::fs::symlink(&root, dir.path().join("wh/db/alias")).unwrap();
    let alias = TableIdent::parse("db.alias").unwrap();
    assert_eq!(cat.drop_table(&alias).unwrap_err().kind(), ErrorKind::Unsupported);
    std::os::unix::fs::symlink(dir.path().join("wh/db"), dir.path().join("wh/dbalias")).unwrap();
    let alias = TableIdent::parse("dbalias.t").unwrap();
    assert_eq!(cat.drop_table(&alias).unwrap_err().kind(), ErrorKind::Unsupported);

    cat.drop_table(&t).unwrap();
    assert!(!root.exists());
    assert_eq!(cat.drop_table(&t).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(cat.list_tables(&levels("db")).unwrap(), [other]);
}

/// A store in which other writers work just before our version appears, or just after.
struct Between<F: Fn(&str) + Send + Sync> {
    before: bool,
    others: F,
}

impl<F: Fn(&str) + Send + Sync> std::fmt::Debug for Between<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Between")
    }
}

impl<F: Fn(&str) + Send + Sync> Hooks for Between<F> {
    fn change(&self, change: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        let Change::PutIfAbsent(path) = change else {
            assert!(!matches!(change, Change::Delete(path) if version_of(path).is_some()), "a version was withdrawn");
            return work();
        };
        if self.before {
            (self.others)(path);
        }
        work()?;
        if !self.before {
            (self.others)(path);
        }
        Ok(())
    }
}

/// Three writers. We publish a version. A second one (Java, which changes the codec) publishes the same version under
/// its own name. A third builds on one of the two. In any order, both files and the third commit stay.
#[test]
fn a_version_that_a_third_writer_built_on_is_never_withdrawn() {
    for (before, third_on) in
        [(true, Some("gz.")), (true, None), (false, Some("gz.")), (false, Some("")), (false, None)]
    {
        let dir = tempfile::tempdir().unwrap();
        let location = dir.path().display().to_string();
        publish(&LocalStore, &location, 1, &empty_table(&location), None).unwrap();
        let (base, found) = load(&LocalStore, &location).unwrap();
        let theirs = snapshot_on(&base, 7);
        let second = format!("{location}/metadata/v2.gz.metadata.json");
        let others = |ours: &str| {
            let third = third_on.map(|on| {
                let built_on = format!("{location}/metadata/v2.{on}metadata.json");
                let publish_second =
                    || LocalStore.put_if_absent(&second, &compress(&encode_metadata(&theirs)).unwrap());
                if on == "gz." {
                    publish_second().unwrap();
                    return snapshot_on(&theirs, 8);
                }
                assert_eq!(built_on, ours);
                let third = snapshot_on(&read_metadata(&LocalStore, ours).unwrap(), 8);
                publish_second().unwrap();
                third
            });
            match third {
                Some(third) => LocalStore.put_if_absent(&ours.replace("v2.", "v3."), &encode_metadata(&third)).unwrap(),
                None => LocalStore.put_if_absent(&second, &compress(&encode_metadata(&theirs)).unwrap()).unwrap(),
            }
        };
        let store = Hooked(Between { before, others });
        let ours = snapshot_on(&base, 9);
        let e = publish(&store, &location, 2, &ours, Some(on(&base, &found.metadata_location))).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CommitStateUnknown, "{before} {third_on:?}");
        assert!(is_disputed(&e) && e.to_string().contains("v2.gz.metadata.json"), "{e}");
        let at = |name: &str| read_metadata(&LocalStore, &format!("{location}/metadata/{name}")).unwrap();
        assert_eq!((at("v2.metadata.json"), at("v2.gz.metadata.json")), (ours.clone(), theirs.clone()));
        let (newest, found) = load(&LocalStore, &location).unwrap();
        assert_eq!(found.version, Some(if third_on.is_some() { 3 } else { 2 }));
        assert!(newest.snapshot_by_id(if third_on.is_some() { 8 } else { 9 }).is_some());
        // A third writer of ours that read the second file learns that it is no longer the version before.
        if third_on.is_none() {
            let e =
                publish(&LocalStore, &location, 3, &snapshot_on(&theirs, 8), Some(on(&theirs, &second))).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::CommitConflict);
            assert!(find_version(&LocalStore, &format!("{location}/metadata"), 3).unwrap().is_none());
        }
    }
}

/// A third writer that had already built on the second writer's file when ours appeared. Its commit stays, and it is
/// told.
#[test]
fn a_base_that_is_replaced_during_the_publication_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let location = dir.path().display().to_string();
    publish(&LocalStore, &location, 1, &empty_table(&location), None).unwrap();
    let (base, _) = load(&LocalStore, &location).unwrap();
    let theirs = snapshot_on(&base, 7);
    let second = format!("{location}/metadata/v2.gz.metadata.json");
    LocalStore.put_if_absent(&second, &compress(&encode_metadata(&theirs)).unwrap()).unwrap();
    let first = |_: &str| {
        let ours = encode_metadata(&snapshot_on(&base, 9));
        LocalStore.put_if_absent(&format!("{location}/metadata/v2.metadata.json"), &ours).unwrap();
    };
    let store = Hooked(Between { before: true, others: first });
    let e = publish(&store, &location, 3, &snapshot_on(&theirs, 8), Some(on(&theirs, &second))).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitStateUnknown);
    assert!(load(&LocalStore, &location).unwrap().0.snapshot_by_id(8).is_some());
}

/// While we publish on a version, others commit often enough that its file is deleted. Java may build on our late
/// version by an outdated hint. So it stays, and the newest version is still found.
#[test]
fn a_version_out_of_turn_is_not_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    let location = dir.path().join("t").display().to_string();
    let (old, path) = short_lived(&location);
    let others = |_: &str| (0..5).for_each(|id| append(&LocalStore, &location, id));
    let store = Hooked(Between { before: true, others });
    let late = snapshot_on(&old, 99);
    let e = publish(&store, &location, 2, &late, Some(on(&old, &path))).unwrap_err();
    assert!(e.kind() == ErrorKind::CommitStateUnknown && is_disputed(&e), "{e}");
    assert!(!is_published(&LocalStore, &location, 2, &late, on(&old, &path)).unwrap());
    let (metadata, found) = load(&LocalStore, &location).unwrap();
    assert_eq!((metadata.snapshots.len(), found.version), (5, Some(6)));
}

/// Two writers of one table. The second one publishes under a name that only it uses, as Java does.
#[test]
fn a_version_that_another_name_has_is_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let location = dir.path().display().to_string();
    std::fs::create_dir(dir.path().join("metadata")).unwrap();
    std::fs::write(dir.path().join("metadata/v1.gz.metadata.json"), gzipped(7)).unwrap();
    let e = publish(&LocalStore, &location, 1, &empty_table(&location), None).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitConflict);
    assert!(!dir.path().join("metadata/v1.metadata.json").exists());
}
