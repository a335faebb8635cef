use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::*;
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::spec::testing::table;
use crate::paimon::state::PaimonTable;
use crate::store::far_testing::FarStore;
use crate::store::local::LocalStore;
use crate::store::testing::{Hooked, Hooks};

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            std::fs::copy(entry.path(), to).map(|_| ()).unwrap()
        }
    }
}

/// A copy of a table with five snapshots, two tags and two branches.
struct Copy {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Copy {
    fn new() -> Copy {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("t");
        copy(Path::new(&table("time_travel")), &root);
        Copy { _dir: dir, root }
    }

    fn put(&self, path: &str, text: &str) -> &Copy {
        std::fs::write(self.root.join(path), text).unwrap();
        self
    }

    fn remove(&self, path: &str) -> &Copy {
        std::fs::remove_file(self.root.join(path)).unwrap();
        self
    }

    fn open(&self) -> TableFolder {
        TableFolder::open(Arc::new(LocalStore), &format!("{}/", self.root.display())).unwrap()
    }

    fn ends(&self) -> (Option<i64>, Option<i64>) {
        let folder = self.open();
        (folder.earliest_snapshot_id().unwrap(), folder.latest_snapshot().unwrap().map(|s| s.id))
    }
}

#[test]
fn a_table_has_a_schema() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    assert!(!is_table(&LocalStore, root).unwrap());
    let error = TableFolder::open(Arc::new(LocalStore), root).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    std::fs::create_dir(dir.path().join("schema")).unwrap();
    std::fs::write(dir.path().join("schema/schema-x"), "").unwrap();
    assert!(!is_table(&LocalStore, root).unwrap());
    // The first schema may be missing.
    std::fs::write(dir.path().join("schema/schema-7"), "").unwrap();
    assert!(is_table(&LocalStore, root).unwrap());
    let error = TableFolder::open(Arc::new(LocalStore), root).unwrap().schemas().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CorruptTable);
    assert!(error.to_string().contains("schema-7"), "{error}");
}

#[test]
fn the_latest_snapshot_is_found_whatever_the_hints_say() {
    let t = Copy::new();
    assert_eq!(t.ends(), (Some(1), Some(5)));
    for hint in ["3", "0", "-1", "x", "", "5\n", "99999999999999999999"] {
        assert_eq!(t.put("snapshot/LATEST", hint).put("snapshot/EARLIEST", hint).ends().1, Some(5), "{hint}");
    }
    t.remove("snapshot/LATEST").remove("snapshot/EARLIEST");
    assert_eq!(t.ends(), (Some(1), Some(5)));
    t.put("snapshot/snapshot-5.tmp", "").put("snapshot/snapshot-", "").put("snapshot/.snapshot-8", "");
    assert_eq!(t.ends(), (Some(1), Some(5)));
    t.remove("snapshot/snapshot-1").put("snapshot/LATEST", "4").put("snapshot/EARLIEST", "1");
    assert_eq!(t.ends(), (Some(2), Some(5)));
}

#[test]
fn a_lost_latest_snapshot_is_not_undone_in_silence() {
    let t = Copy::new();
    for hint in ["6", "99", "9223372036854775807"] {
        let error = t.put("snapshot/LATEST", hint).open().latest_snapshot().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptTable);
        assert!(error.to_string().contains(&format!("snapshot-{hint}")), "{error}");
    }
    t.remove("snapshot/snapshot-5").put("snapshot/LATEST", "5");
    assert!(t.open().latest_snapshot().is_err());
    t.remove("snapshot/LATEST");
    assert_eq!(t.ends().1, Some(4));
}

#[test]
fn gaps_are_stepped_over() {
    let t = Copy::new();
    let times: Vec<i64> = t.open().snapshots().unwrap().iter().map(|s| s.time_ms).collect();
    t.remove("snapshot/snapshot-3");
    let folder = t.open();
    assert_eq!(folder.snapshot_ids().unwrap(), [1, 2, 4, 5]);
    let at = |time| folder.snapshot_at_time(time).unwrap().map(|s| s.id);
    assert_eq!((at(times[0] - 1), at(times[0]), at(times[2]), at(times[4] + 1)), (None, Some(1), Some(2), Some(5)));
    let error = folder.snapshot(3).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.hint_text(), Some("There are snapshots from 1 to 5"));
}

#[test]
fn snapshots_are_found_by_time_watermark_and_version() {
    let t = Copy::new();
    let folder = t.open();
    let by_watermark = |w| folder.snapshot_by_watermark(w).unwrap().map(|s| s.id);
    assert_eq!((by_watermark(1_700_000_000_001), by_watermark(1_700_000_000_002)), (Some(2), Some(3)));
    assert_eq!((by_watermark(0), by_watermark(i64::MAX)), (Some(1), None));
    let of_version = |v: &str| folder.snapshot_of_version(v).map(|s| s.id);
    assert_eq!((of_version("v4").unwrap(), of_version("3").unwrap()), (4, 3));
    // A tag comes before a number.
    t.put("tag/tag-3", &std::fs::read_to_string(t.root.join("tag/tag-v4")).unwrap());
    assert_eq!(of_version("3").unwrap(), 4);
    assert_eq!(of_version("77").unwrap_err().kind(), ErrorKind::NotFound);
    let error = of_version("nope").unwrap_err();
    assert_eq!((error.kind(), error.hint_text()), (ErrorKind::NotFound, Some("Tags: 3, v2, v4")));
    assert_eq!(of_version("../snapshot/snapshot-1").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn tags_and_branches_are_listed_and_opened() {
    let t = Copy::new();
    let folder = t.open();
    let tags: Vec<(String, i64)> = folder.tags().unwrap().into_iter().map(|t| (t.name, t.snapshot.id)).collect();
    assert_eq!(tags, [("v2".to_owned(), 2), ("v4".to_owned(), 4)]);
    assert_eq!(folder.tag("v2").unwrap().snapshot, folder.snapshot(2).unwrap());
    assert_eq!(folder.branches().unwrap(), ["b_empty", "b_tag"]);
    let branch = folder.branch("b_tag").unwrap();
    assert_eq!((branch.branch_name(), branch.root()), ("b_tag", folder.root()));
    assert_eq!(branch.snapshot_ids().unwrap(), [2]);
    assert_eq!(branch.tag_names().unwrap(), ["v2"]);
    let empty = PaimonTableMetadata::load(folder.branch("b_empty").unwrap()).unwrap();
    assert!(empty.snapshot.is_none() && empty.schema().unwrap().id == 0);
    assert_eq!(folder.branch("main").unwrap().snapshot_ids().unwrap().len(), 5);
    let error = folder.branch("nope").unwrap_err();
    assert_eq!(
        (error.kind(), error.hint_text()),
        (ErrorKind::NotFound, Some("Branches besides main: b_empty, b_tag. Tags: v2, v4"))
    );
}

#[test]
fn names_do_not_lead_out_of_the_table() {
    let folder = Copy::new().open();
    for name in ["", "..", "x/../../y", "/etc", "a\0"] {
        assert_eq!(folder.tag(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
        assert_eq!(folder.branch(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
    }
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_named() {
    let t = Copy::new();
    t.put("snapshot/snapshot-6", "{")
        .put("schema/schema-1", &std::fs::read_to_string(t.root.join("schema/schema-0")).unwrap());
    let folder = t.open();
    for error in [folder.latest_snapshot().unwrap_err(), folder.schemas().unwrap_err(), folder.snapshots().unwrap_err()]
    {
        assert_eq!(error.kind(), ErrorKind::CorruptTable);
        assert!(error.context().iter().any(|(key, value)| *key == "path" && value.contains("-")), "{error}");
    }
    std::fs::copy(t.root.join("snapshot/snapshot-1"), t.root.join("snapshot/snapshot-6")).unwrap();
    assert!(folder.snapshot(6).unwrap_err().message().contains("snapshot 1"));
}

#[test]
fn opening_reads_all_schemas_and_the_latest_snapshot() {
    let metadata = PaimonTableMetadata::load(Copy::new().open()).unwrap();
    assert_eq!(metadata.snapshot.as_ref().unwrap().id, 5);
    assert_eq!(metadata.schema().unwrap().id, 0);
    assert!(metadata.schema_by_id(0).is_ok());
    assert_eq!(metadata.schema_by_id(9).unwrap_err().kind(), ErrorKind::CorruptTable);
}

/// Another writer that changes the table before a call of the store, once.
#[derive(Debug, Default)]
struct Meanwhile {
    /// The end of the path that is read then, and what happens.
    at: Mutex<Option<(&'static str, PathBuf, Vec<Step>)>>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(&'static str, &'static str),
    Remove(&'static str),
    RemoveFolder(&'static str),
}

impl Hooks for Meanwhile {
    fn before_get(&self, path: &str) -> Result<()> {
        let steps = self.at.lock().unwrap().take_if(|(end, ..)| path.ends_with(*end));
        for step in steps.iter().flat_map(|(_, root, steps)| steps.iter().map(move |step| (root, step))) {
            match step {
                (root, Step::Put(path, text)) => std::fs::write(root.join(path), text).unwrap(),
                (root, Step::Remove(path)) => std::fs::remove_file(root.join(path)).unwrap(),
                (root, Step::RemoveFolder(path)) => std::fs::remove_dir_all(root.join(path)).unwrap(),
            }
        }
        Ok(())
    }
}

impl Copy {
    /// The table, in which these steps come before the first read of a file.
    fn open_with(&self, before: &'static str, steps: &[Step]) -> TableFolder {
        let store = Hooked(Meanwhile { at: Mutex::new(Some((before, self.root.clone(), steps.to_vec()))) });
        TableFolder::open(Arc::new(store), &self.root.display().to_string()).unwrap()
    }
}

/// An answer of the folder may be older than the next one.
#[test]
fn a_rollback_between_two_answers_is_no_damage() {
    let rolled_back = [Step::Put("snapshot/LATEST", "4"), Step::Remove("snapshot/snapshot-5")];
    // The hint is old, so the folder is listed. Then the last snapshot is removed.
    for hint in ["3", "5"] {
        let t = Copy::new();
        let folder = t.put("snapshot/LATEST", hint).open_with("snapshot-5", &rolled_back);
        assert_eq!(folder.latest_snapshot().unwrap().unwrap().id, 4, "{hint}");
    }
}

#[test]
fn snapshots_that_expire_during_a_search_by_time_are_skipped() {
    let t = Copy::new();
    let times: Vec<i64> = t.open().snapshots().unwrap().iter().map(|s| s.time_ms).collect();
    let [_, _, third, fourth, fifth] = times[..] else { panic!("{times:?}") };
    // The search begins in the middle of the listed snapshots.
    let expired =
        [Step::Remove("snapshot/snapshot-1"), Step::Remove("snapshot/snapshot-2"), Step::Remove("snapshot/snapshot-3")];
    for (time, expected) in [(third, None), (fourth, Some(4)), (fifth, Some(5)), (i64::MAX, Some(5))] {
        let t = Copy::new();
        let found = t.open_with("snapshot-3", &expired).snapshot_at_time(time).unwrap();
        assert_eq!(found.map(|s| s.id), expected, "{time}");
    }
}

#[test]
fn a_branch_that_is_dropped_during_a_list_is_left_out() {
    let t = Copy::new();
    let names = t.open().branches().unwrap();
    let [first, second] = &names[..] else { panic!("{names:?}") };
    let at: &'static str = Box::leak(format!("branch-{first}/snapshot/LATEST").into_boxed_str());
    let gone: &'static str = Box::leak(format!("branch/branch-{second}").into_boxed_str());
    let folder = t.open_with(at, &[Step::RemoveFolder(gone)]);
    let store: Arc<dyn Store> = folder.store().clone();
    let table = PaimonTable::find(&store, folder.root(), &BTreeMap::new()).unwrap().unwrap();
    let refs = table.refs().unwrap();
    let branches: Vec<&str> = refs.iter().filter(|r| r.kind == "branch").map(|r| r.name.as_str()).collect();
    // The first branch has no snapshots.
    assert_eq!(branches, [MAIN_BRANCH]);
}

// ---------------------------------------------------------------- round trips

impl Copy {
    /// The metadata of the table as a far store opens it, and the requests with their turns.
    fn open_far(&self, far: &FarStore) -> (PaimonTableMetadata, Vec<(usize, String)>) {
        let root = self.root.display().to_string();
        let metadata = PaimonTableMetadata::find(Arc::new(far.clone()), &root).unwrap().unwrap();
        (metadata, far.turns())
    }
}

/// The number of requests and the longest chain of those that depend on one another.
fn size(turns: &[(usize, String)]) -> (usize, usize) {
    (turns.len(), turns.last().map_or(0, |(turn, _)| *turn))
}

#[test]
fn opening_in_a_far_store_takes_three_round_trips() {
    let (t, far) = (Copy::new(), FarStore::default());
    let (metadata, turns) = t.open_far(&far);
    assert_eq!(metadata.snapshot.as_ref().unwrap().id, 5);
    assert_eq!(metadata.schemas.keys().copied().collect::<Vec<_>>(), [0]);
    let expected = [
        (1, "list schema"),
        (2, "get LATEST"),
        (3, "get schema-0"),
        (3, "get snapshot-5"),
        (3, "head schema-1"),
        (3, "head snapshot-6"),
    ];
    assert_eq!(turns, expected.map(|(turn, what)| (turn, what.to_owned())));
    // A known table needs one less.
    let metadata = PaimonTableMetadata::load(metadata.folder).unwrap();
    assert_eq!(metadata.snapshot.as_ref().unwrap().id, 5);
    assert_eq!(size(&far.turns()), (6, 2));
}

#[test]
fn a_far_table_with_an_outdated_hint_or_none_is_opened_at_its_latest_snapshot() {
    for hint in ["3", "x"] {
        let t = Copy::new();
        let (metadata, turns) = t.put("snapshot/LATEST", hint).open_far(&FarStore::default());
        assert_eq!(metadata.snapshot.unwrap().id, 5, "{hint}");
        // Not more than one request after the other took: the schemas, the hint, the next snapshot, the snapshots, the
        // latest, the schemas again, the schema.
        assert!(size(&turns).1 <= 7, "{turns:?}");
    }
    let t = Copy::new();
    t.put("snapshot/LATEST", "9");
    let found = PaimonTableMetadata::find(Arc::new(FarStore::default()), &t.root.display().to_string());
    let e = found.unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::CorruptTable, "the latest snapshot, 9, is missing"));
}

#[test]
fn a_far_table_that_is_rolled_back_meanwhile_is_no_damage() {
    let (t, far) = (Copy::new(), FarStore::default());
    let root = t.root.clone();
    far.meanwhile("snapshot-5", move || {
        std::fs::write(root.join("snapshot/LATEST"), "4").unwrap();
        std::fs::remove_file(root.join("snapshot/snapshot-5")).unwrap();
    });
    assert_eq!(t.open_far(&far).0.snapshot.unwrap().id, 4);
}

/// The schemas are listed before the snapshot is read. Another writer may add one between.
#[test]
fn a_schema_that_comes_with_the_latest_snapshot_is_known() {
    let (t, far) = (Copy::new(), FarStore::default());
    let root = t.root.clone();
    far.meanwhile("LATEST", move || {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
        let with = |text: String, old: &str, new: &str| {
            assert!(text.contains(old), "{text}");
            text.replacen(old, new, 1)
        };
        std::fs::write(root.join("schema/schema-1"), with(read("schema/schema-0"), "\"id\" : 0", "\"id\" : 1"))
            .unwrap();
        let snapshot = with(read("snapshot/snapshot-5"), "\"schemaId\" : 0", "\"schemaId\" : 1");
        std::fs::write(root.join("snapshot/snapshot-6"), with(snapshot, "\"id\" : 5", "\"id\" : 6")).unwrap();
        std::fs::write(root.join("snapshot/LATEST"), "6").unwrap();
    });
    let (metadata, _) = t.open_far(&far);
    let snapshot = metadata.snapshot.unwrap();
    assert_eq!((snapshot.id, snapshot.schema_id), (6, 1));
    assert_eq!(metadata.schemas.keys().copied().collect::<Vec<_>>(), [0, 1]);
}
