use std::path::Path;

use super::*;
use crate::error::ErrorKind;
use crate::iceberg::catalog::metadata_files::{find_metadata, load};
use crate::iceberg::spec::metadata::tests::fixture;
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::iceberg::spec::metadata_json::parse_metadata;
use crate::iceberg::spec::snapshot::{MetadataLogEntry, Snapshot};
use crate::store::far_testing::FarStore;
use crate::store::local::LocalStore;
use crate::store::testing::{Hooked, Hooks};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of metadata files.
struct Folder(tempfile::TempDir);

/// A metadata file of a test. The sequence number tells which file was opened.
#[derive(Clone, Copy)]
struct Version<'a> {
    name: &'a str,
    uuid: &'a str,
    sequence_number: i64,
    updated_ms: i64,
    logged: &'a str,
}

impl Folder {
    fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("metadata")).unwrap();
        Folder(dir)
    }

    fn of(names: &[(&str, i64)]) -> Folder {
        let folder = Folder::new();
        for (name, number) in names {
            folder.put(version(name, "a", *number));
        }
        folder
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join("metadata").join(name)
    }

    fn put(&self, v: Version<'_>) {
        self.put_with(v, |_| {});
    }

    fn put_with(&self, v: Version<'_>, change: impl Fn(&mut TableMetadata)) {
        let mut metadata = parse_metadata(&fixture("nested_v2.v1")).unwrap();
        metadata.snapshots.clear();
        metadata.snapshot_log.clear();
        metadata.refs.clear();
        metadata.current_snapshot_id = None;
        metadata.table_uuid = Some(v.uuid.to_owned());
        metadata.last_sequence_number = v.sequence_number;
        metadata.last_updated_ms = v.updated_ms;
        metadata.metadata_log.clear();
        if !v.logged.is_empty() {
            let metadata_file = format!("s3://elsewhere/metadata/{}", v.logged);
            metadata.metadata_log.push(MetadataLogEntry { timestamp_ms: 1_000_005, metadata_file });
        }
        change(&mut metadata);
        std::fs::write(self.file(v.name), encode_metadata(&metadata)).unwrap();
        // Times of files are compared, and some file systems keep only coarse ones.
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_millis(v.updated_ms.unsigned_abs());
        std::fs::File::options().write(true).open(self.file(v.name)).unwrap().set_modified(at).unwrap();
    }

    fn hint(&self, hint: impl AsRef<[u8]>) -> &Folder {
        std::fs::write(self.file("version-hint.text"), hint).unwrap();
        self
    }

    fn location(&self) -> String {
        self.0.path().display().to_string()
    }

    /// The sequence number of the opened file, and the version that a commit would follow.
    fn open(&self) -> Result<(i64, Option<u64>)> {
        load(&LocalStore, &self.location()).map(|(m, found)| (m.last_sequence_number, found.version))
    }
}

fn version<'a>(name: &'a str, uuid: &'a str, number: i64) -> Version<'a> {
    Version { name, uuid, sequence_number: number, updated_ms: 1_000_000 + number, logged: "" }
}

#[test]
fn a_stale_hint_in_any_form_leads_to_the_newest_version() {
    let folder = Folder::of(&[("v1.metadata.json", 1), ("v2.metadata.json", 2), ("v3.metadata.json", 3)]);
    let hints =
        ["1", "v1", "v1.metadata.json", "\u{feff}1", " 2\r\n", "s3://b/t/metadata/v2.metadata.json", "3", "", "?"];
    for hint in hints {
        assert_eq!(folder.hint(hint).open().unwrap(), (3, Some(3)), "{hint}");
    }
    for ahead in ["4", "v4", "v4.metadata.json", "\u{feff}4"] {
        let e = folder.hint(ahead).open().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::CorruptTable, "{ahead}");
        assert!(e.to_string().contains("version 4 is missing; the newest version is 3"), "{e}");
    }
    let folder =
        Folder::of(&[("00001-a.metadata.json", 1), ("00002-b.metadata.json", 2), ("00002-c.metadata.json", 3)]);
    assert_eq!(folder.hint("00001-a").open().unwrap(), (3, None));
    assert_eq!(folder.hint("00002-b.metadata.json").open().unwrap(), (2, None));
    let e = folder.hint("00003-d.metadata.json").open().unwrap_err();
    assert!(e.to_string().contains("00003-d.metadata.json"), "{e}");
}

/// A remote store whose first listing was answered before the last version came.
#[derive(Debug, Default)]
struct EarlyListing {
    listings: AtomicUsize,
}

impl Hooks for EarlyListing {
    fn is_remote(&self) -> bool {
        true
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        let mut files = LocalStore.list(folder)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if self.listings.fetch_add(1, Ordering::SeqCst) == 0 {
            files.retain(|file| !file.path.ends_with("version-hint.text"));
            files.pop();
        }
        Ok(files)
    }
}

/// The hint and the listing are asked for at once, so a commit can come between the two answers.
#[test]
fn a_version_that_came_after_the_listing_is_not_lost() {
    let catalogs = [("00001-a.metadata.json", 1), ("00002-b.metadata.json", 2)];
    let folders = [("v1.metadata.json", 1), ("v2.metadata.json", 2)];
    for (names, hint) in [(folders, "2"), (catalogs, "00002-b")] {
        let folder = Folder::of(&names);
        folder.hint(hint);
        let store = Hooked::<EarlyListing>::default();
        let (metadata, _) = load(&store, &folder.location()).unwrap();
        assert_eq!((metadata.last_sequence_number, store.listings.load(Ordering::SeqCst)), (2, 2), "{hint}");
        // One listing is enough if it shows the hinted version.
        load(&store, &folder.location()).unwrap();
        assert_eq!(store.listings.load(Ordering::SeqCst), 3, "{hint}");
        // It is lost if the second listing does not show it, either.
        std::fs::remove_file(folder.file(names[1].0)).unwrap();
        let e = load(&store, &folder.location()).unwrap_err();
        assert!(e.to_string().contains("version 2 is missing"), "{e}");
    }
}

/// Some engines number versions by the time, up to nanoseconds.
#[test]
fn large_numbers_are_versions() {
    let names = [("v1.metadata.json", 1), ("v1720000000.metadata.json", 2), ("v20240101120000.metadata.json", 3)];
    assert_eq!(Folder::of(&names).open().unwrap(), (3, Some(20_240_101_120_000)));
    let folder = Folder::of(&names);
    assert_eq!(folder.hint("1720000000").open().unwrap().0, 3);
    folder.put(version("v18446744073709551615.metadata.json", "a", 9));
    assert_eq!(folder.open().unwrap(), (9, Some(u64::MAX)));
    // Beyond 64 bits it is not a version that anybody could follow.
    folder.put(version("v99999999999999999999.metadata.json", "a", 10));
    assert_eq!(folder.open().unwrap().0, 9);
}

#[test]
fn a_table_that_a_catalog_took_over_is_read_at_its_newest_version() {
    let folder = Folder::of(&[("v1.metadata.json", 1), ("v2.metadata.json", 2)]);
    folder.hint("2");
    folder.put(version("00000-aaaa.metadata.json", "a", 3));
    assert_eq!(folder.open().unwrap(), (3, None));
    // The log counts more than the clocks of two machines.
    let folder = Folder::of(&[("v5.metadata.json", 5)]);
    folder.put(Version { updated_ms: 1, logged: "v5.metadata.json", ..version("00000-aaaa.metadata.json", "a", 5) });
    assert_eq!(folder.open().unwrap().1, None);
    // Another file had that name before: the folder was used again for the catalog's file.
    let folder = Folder::new();
    let of_catalog = Version { logged: "v1.metadata.json", ..version("00002-aaaa.metadata.json", "a", 9) };
    folder.put(of_catalog);
    folder.put(Version { name: "v1.metadata.json", ..of_catalog });
    assert_eq!(folder.open().unwrap(), (9, Some(1)));
    // The reverse: registered from the catalog's file, and continued in the folder.
    let folder = Folder::of(&[("00007-aaaa.metadata.json", 7), ("v1.metadata.json", 7)]);
    assert_eq!(folder.open().unwrap(), (7, Some(1)));
    folder.put(version("v2.metadata.json", "a", 8));
    assert_eq!(folder.open().unwrap(), (8, Some(2)));
}

#[test]
fn two_histories_of_one_table_are_an_error() {
    let snapshot = |id: i64, at: i64| {
        Arc::new(Snapshot {
            id,
            timestamp_ms: at,
            sequence_number: 1,
            manifest_list: Some("l".into()),
            ..Snapshot::default()
        })
    };
    let folder = Folder::new();
    folder.put_with(version("00001-aaaa.metadata.json", "a", 5), |m| {
        m.snapshots = vec![snapshot(1, 10), snapshot(2, 20)];
        m.current_snapshot_id = Some(2);
    });
    folder.put_with(version("v3.metadata.json", "a", 6), |m| {
        m.snapshots = vec![snapshot(1, 10), snapshot(3, 30)];
        m.current_snapshot_id = Some(3);
    });
    let e = find_metadata(&LocalStore, &folder.location()).unwrap_err();
    let text = e.to_string();
    assert!(
        text.contains("two histories") && text.contains("00001-aaaa") && text.contains("v3.metadata.json"),
        "{text}"
    );
}

/// A catalog drops a table without its files and makes another one in the same folder.
#[test]
fn of_two_tables_the_later_one_is_opened_or_an_error_names_both() {
    let old = |folder: &Folder| {
        for (number, name) in
            ["00000-a.metadata.json", "00001-b.metadata.json", "00002-c.metadata.json"].iter().enumerate()
        {
            folder.put(version(name, "old", number as i64 + 1));
        }
    };
    let folder = Folder::new();
    old(&folder);
    folder.put(Version { updated_ms: 9_000_000, ..version("00000-d.metadata.json", "new", 0) });
    assert_eq!(folder.open().unwrap(), (0, None));
    folder.put(Version { updated_ms: 9_000_001, ..version("00001-e.metadata.json", "new", 7) });
    assert_eq!(folder.open().unwrap(), (7, None));

    // It began while the other one was still being written.
    let folder = Folder::new();
    old(&folder);
    let overlapping = Version { updated_ms: 9_000_000, ..version("00000-d.metadata.json", "new", 0) };
    folder.put_with(overlapping, |m| {
        m.metadata_log.push(MetadataLogEntry { timestamp_ms: 5, metadata_file: "x".into() })
    });
    let text = folder.open().unwrap_err().to_string();
    assert!(
        text.contains("two tables") && text.contains("table-uuid old") && text.contains("table-uuid new"),
        "{text}"
    );

    // Versions of a folder follow each other, so nobody could commit to the later one.
    let folder = Folder::of(&[("v2.metadata.json", 2), ("v3.metadata.json", 3)]);
    folder.put(Version { updated_ms: 9_000_000, ..version("v1.metadata.json", "new", 0) });
    assert!(folder.open().unwrap_err().to_string().contains("two tables"));
    // The hint shows the same where times of files do not.
    folder.put(Version { updated_ms: 2_000_000, ..version("v1.metadata.json", "new", 0) });
    assert!(folder.hint("1").open().unwrap_err().to_string().contains("two tables"));
}

#[test]
fn a_folder_without_metadata_has_no_newest() {
    let folder = Folder::new();
    folder.hint("3");
    assert_eq!(folder.open().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(Path::new(&folder.location()).exists());
}

#[test]
fn a_right_hint_spares_a_look_at_each_file() {
    let names = [("v1.metadata.json", 1), ("v2.metadata.json", 2), ("v3.gz.metadata.json", 3), ("v3.metadata.json", 4)];
    let folder = Folder::of(&names);
    // An earlier file was copied later.
    folder.put(Version { updated_ms: 9_000_000, ..version("v1.metadata.json", "a", 1) });
    assert_eq!(folder.hint("3").open().unwrap(), (4, Some(3)));
    assert_eq!(hinted_last(&LocalStore, &join(&folder.location(), "metadata"), Some(&Hint::Version(2))).unwrap(), None);
    // A catalog's file of another table is noticed with any hint.
    folder.put(Version { updated_ms: 9_000_001, ..version("00000-a.metadata.json", "new", 0) });
    assert_eq!(hinted_last(&LocalStore, &join(&folder.location(), "metadata"), Some(&Hint::Version(3))).unwrap(), None);
    assert!(folder.open().unwrap_err().to_string().contains("two tables"));
}

// ---------------------------------------------------------------- round trips

/// The turns of requests, as [`FarStore::turns`] gives them.
fn turns(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
    expected.iter().map(|(turn, what)| (*turn, (*what).to_owned())).collect()
}

#[test]
fn opening_a_root_in_a_far_store_takes_two_round_trips() {
    let folder = Folder::of(&[("v10.metadata.json", 10), ("v11.metadata.json", 11)]);
    folder.hint("11");
    let far = FarStore::default();
    let (metadata, found) = load(&far, &folder.location()).unwrap();
    assert_eq!((metadata.last_sequence_number, found.version), (11, Some(11)));
    let expected = [(1, "get version-hint.text"), (1, "list metadata"), (2, "get v11.metadata.json")];
    assert_eq!(far.turns(), turns(&expected));
    // A catalog's files, with the hint of a writer that leaves one.
    let folder = Folder::of(&[("00001-a.metadata.json", 1), ("00002-b.metadata.json", 2)]);
    folder.hint("00002-b");
    assert_eq!(load(&far, &folder.location()).unwrap().0.last_sequence_number, 2);
    let expected = [(1, "get version-hint.text"), (1, "list metadata"), (2, "get 00002-b.metadata.json")];
    assert_eq!(far.turns(), turns(&expected));
}

/// A listing is the slowest request, and a folder with many files takes several.
#[test]
fn the_hinted_file_is_requested_while_the_listing_is_on_its_way() {
    let folder = Folder::of(&[("v1.metadata.json", 1), ("v2.metadata.json", 2)]);
    folder.hint("2");
    let far = FarStore::with_slow_listings();
    assert_eq!(load(&far, &folder.location()).unwrap().0.last_sequence_number, 2);
    let requests = far.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!((requests[2].what.as_str(), requests[2].unanswered), ("get v2.metadata.json", 1));
    // Who only looks for the file does not read it.
    find_metadata(&far, &folder.location()).unwrap();
    assert_eq!(far.turns(), turns(&[(1, "get version-hint.text"), (1, "list metadata")]));
}

/// Names of files with their sequence numbers, the hint, and the opened sequence number or the start of the error.
type FolderCase<'a> = (&'a [(&'a str, i64)], &'a str, std::result::Result<i64, String>);

#[test]
fn a_far_folder_is_understood_as_a_local_one_is() {
    let wrong = |file: &str| format!("the metadata file of {file} is missing");
    let cases: [FolderCase<'_>; 12] = [
        // A hint behind the newest version, and none.
        (&[("v1.metadata.json", 1), ("v2.metadata.json", 2), ("v3.metadata.json", 3)], "1", Ok(3)),
        (&[("v1.metadata.json", 1), ("v2.metadata.json", 2)], "?", Ok(2)),
        // A hint ahead of it.
        (&[("v1.metadata.json", 1)], "2", Err(wrong("version 2"))),
        (&[("00001-a.metadata.json", 1)], "00002-b", Err(wrong("version 2"))),
        // The names of compressed files, and both names at once.
        (&[("v1.metadata.json", 1), ("v2.gz.metadata.json", 2)], "2", Ok(2)),
        (&[("v1.metadata.json", 1), ("v2.metadata.json.gz", 2)], "2", Ok(2)),
        (&[("v2.gz.metadata.json", 7), ("v2.metadata.json", 8)], "2", Ok(8)),
        (&[("v2.metadata.json", 2), ("v3.gz.metadata.json", 3)], "2", Ok(3)),
        // Two lines: the higher sequence number decides.
        (&[("v2.metadata.json", 2), ("00000-a.metadata.json", 3)], "2", Ok(3)),
        (&[("v4.metadata.json", 4), ("00000-a.metadata.json", 3)], "4", Ok(4)),
        // Of a lost race, the hinted one.
        (&[("00002-b.metadata.json", 2), ("00002-c.metadata.json", 3)], "00002-b", Ok(2)),
        (&[("00002-b.metadata.json", 2), ("00002-c.metadata.json", 3)], "", Ok(3)),
    ];
    for (names, hint, expected) in cases {
        let folder = Folder::of(names);
        folder.hint(hint);
        let stores: [&dyn Store; 2] = [&LocalStore, &FarStore::default()];
        for store in stores {
            match (load(store, &folder.location()), &expected) {
                (Ok((metadata, _)), Ok(number)) => assert_eq!(metadata.last_sequence_number, *number, "{names:?}"),
                (Err(e), Err(text)) => assert!(e.message().starts_with(text.as_str()), "{e}"),
                (found, _) => panic!("{names:?} {hint} {store:?}: {:?}", found.map(|(_, found)| found)),
            }
        }
    }
}

#[test]
fn files_that_are_compared_are_read_at_once_and_once() {
    let folder = Folder::of(&[("v2.metadata.json", 2), ("00000-a.metadata.json", 3)]);
    folder.hint("2");
    let far = FarStore::default();
    assert_eq!(load(&far, &folder.location()).unwrap().0.last_sequence_number, 3);
    let expected = [
        (1, "get version-hint.text"),
        (1, "list metadata"),
        (2, "get 00000-a.metadata.json"),
        (2, "get v2.metadata.json"),
    ];
    assert_eq!(far.turns(), turns(&expected));
}

#[test]
fn a_hinted_file_that_came_after_the_first_answers_is_opened() {
    let folder = Folder::of(&[("v1.metadata.json", 1), ("v2.metadata.json", 2)]);
    folder.hint("2");
    let (file, hidden) = (folder.file("v2.metadata.json"), folder.file("hidden"));
    std::fs::rename(&file, &hidden).unwrap();
    let far = FarStore::with_slow_listings();
    // The request for the hinted file is answered before the listing. The file appears between them.
    far.meanwhile("metadata", move || std::fs::rename(&hidden, &file).unwrap());
    assert_eq!(load(&far, &folder.location()).unwrap().0.last_sequence_number, 2);
}

#[test]
fn a_metadata_file_in_a_far_store_is_opened_by_one_request() {
    let folder = Folder::of(&[("v1.metadata.json", 1), ("v2.metadata.json", 2)]);
    let file = |name: &str| format!("{}/metadata/{name}", folder.location());
    let far = FarStore::default();
    let (metadata, found) = load(&far, &file("v1.metadata.json")).unwrap();
    assert_eq!((metadata.last_sequence_number, found.version), (1, Some(1)));
    assert_eq!(far.turns(), turns(&[(1, "get v1.metadata.json")]));
    let e = load(&far, &file("v3.metadata.json")).unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::NotFound, "there is no metadata file"));
    assert_eq!(far.turns(), turns(&[(1, "get v3.metadata.json")]));
    // A folder can have the ending of a file.
    let root = folder.0.path().join("t.json");
    std::fs::create_dir(&root).unwrap();
    std::fs::rename(folder.0.path().join("metadata"), root.join("metadata")).unwrap();
    assert_eq!(find_metadata(&LocalStore, &root.display().to_string()).unwrap().version, Some(2));
}

#[test]
fn a_far_folder_with_a_dot_in_its_name_is_not_asked_for_as_a_file() {
    let folder = Folder::of(&[("v1.metadata.json", 1)]);
    let root = folder.0.path().join("t.x");
    std::fs::create_dir(&root).unwrap();
    std::fs::rename(folder.0.path().join("metadata"), root.join("metadata")).unwrap();
    let far = FarStore::default();
    assert_eq!(load(&far, &root.display().to_string()).unwrap().1.version, Some(1));
    let expected = [(1, "get version-hint.text"), (1, "list metadata"), (2, "get v1.metadata.json")];
    assert_eq!(far.turns(), turns(&expected));
    // A file of another kind is told from a folder without a table.
    std::fs::write(folder.0.path().join("f.parquet"), "PAR1").unwrap();
    let text = |name: &str| load(&far, &folder.0.path().join(name).display().to_string()).unwrap_err().to_string();
    assert!(text("f.parquet").contains("neither a table nor table metadata"), "{}", text("f.parquet"));
    far.requests();
    assert!(text("nothing").contains("there is no table"), "{}", text("nothing"));
}

#[test]
fn a_far_folder_without_a_table_is_described_after_two_round_trips() {
    let folder = Folder::new();
    let place = folder.0.path().join("nothing").display().to_string();
    let far = FarStore::default();
    assert_eq!(load(&far, &place).unwrap_err().kind(), ErrorKind::NotFound);
    let expected = [(1, "get version-hint.text"), (1, "list metadata"), (2, "list nothing"), (2, "list nothing")];
    assert_eq!(far.turns(), turns(&expected));
}
