//! Commits on a store that fails, and commits compared with a model of the live files.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::format::task::DataFile;
use crate::format::task::NewBucketFile;
use crate::format::task::{BucketFile, FileContent, FileFormat, FileSource, RowStats};
use crate::paimon::catalog::warehouse::create_table;
use crate::paimon::manifest::entries::ADD;
use crate::paimon::manifest::entries::DELETE;
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::IndexEntry;
use crate::paimon::manifest::index_manifest::read_index_manifest;
use crate::paimon::manifest::live::data_manifests;
use crate::paimon::manifest::live::live_files;
use crate::paimon::spec::binary_row_write::{encode_values, prefixed};
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::partition::partition_of;
use crate::paimon::spec::schema::SchemaParts;
use crate::paimon::spec::schema::TableSchema;
use crate::parallel::Cancellation;
use crate::store::location::join;
use crate::store::testing::{Change, Hooked, Hooks};
use crate::store::{FileInfo, Store};
use crate::types::Value;
use std::sync::Arc;

/// The fault of a write.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It is not done, and never will be.
    Refused,
    /// It is done, but reported as not done.
    LostReply,
    /// It is not done, and the error does not say so.
    Timeout,
}

/// A local store that fails at its n-th change (put, hint, deletion), or at its n-th look for a file.
#[derive(Debug, Default)]
struct Faulty {
    calls: AtomicUsize,
    fault: Mutex<Option<(usize, Fault)>>,
    looks: AtomicUsize,
    lost_look: Mutex<Option<usize>>,
}

impl Faulty {
    fn fail_at(&self, fault: Option<(usize, Fault)>) {
        self.calls.store(0, Atomic::SeqCst);
        *self.fault.lock().unwrap() = fault;
    }

    fn lose_look(&self, look: Option<usize>) {
        self.looks.store(0, Atomic::SeqCst);
        *self.lost_look.lock().unwrap() = look;
    }
}

impl Hooks for Faulty {
    fn before_size(&self, _: &str) -> Result<()> {
        match Some(self.looks.fetch_add(1, Atomic::SeqCst)) == *self.lost_look.lock().unwrap() {
            true => Err(Error::store("no answer")),
            false => Ok(()),
        }
    }

    fn change(&self, _: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        let turn = self.calls.fetch_add(1, Atomic::SeqCst);
        match *self.fault.lock().unwrap() {
            Some((n, Fault::Refused)) if n == turn => Err(Error::denied("not allowed")),
            Some((n, Fault::Timeout)) if n == turn => Err(Error::store("no answer")),
            Some((n, Fault::LostReply)) if n == turn => {
                work()?;
                Err(Error::store("the connection was reset"))
            }
            _ => work(),
        }
    }

    fn refused(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::PermissionDenied
    }
}

struct Setup {
    _dir: tempfile::TempDir,
    store: Arc<Hooked<Faulty>>,
    folder: TableFolder,
    schema: Arc<TableSchema>,
}

/// A table of columns `id` and `p`, parted by `p`; with a primary key if `keyed`.
fn setup(keyed: bool, options: &[(&str, &str)]) -> Setup {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Hooked(Faulty::default()));
    let names = |keys: &[&str]| keys.iter().map(|k| (*k).to_owned()).collect();
    let fields =
        vec![DataField::new(0, "id", TypeKind::Int.nullable()), DataField::new(0, "p", TypeKind::Int.nullable())];
    let parts = SchemaParts {
        fields,
        partition_keys: names(&["p"]),
        primary_keys: if keyed { names(&["p", "id"]) } else { Vec::new() },
        options: options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..SchemaParts::default()
    };
    let shared: Arc<dyn Store> = store.clone();
    let folder = create_table(&shared, &format!("{}/t", dir.path().display()), parts).unwrap();
    let schema = folder.latest_schema().unwrap();
    Setup { _dir: dir, store, folder, schema }
}

fn row(value: i32) -> Vec<u8> {
    prefixed(&encode_values([Some(Value::Int(value))], &[TypeKind::Int.nullable()]).unwrap(), 1)
}

impl Setup {
    /// A new file of this number of rows; with keys from `keys.0` to `keys.1` at `level`, if the table has some.
    fn file(&self, name: &str, p: i32, rows: i64, (level, keys): (i32, (i32, i32))) -> NewBucketFile {
        let partition = Arc::new(partition_of(&self.schema, &row(p)).unwrap());
        let path = format!("{}/p={p}/bucket-0/{name}.parquet", self.folder.root());
        let mut file = DataFile::new(FileContent::Data, path, FileFormat::Parquet, partition);
        (file.record_count, file.size_bytes) = (rows, 100);
        let keyed = self.schema.has_primary_key();
        let key = |k| if keyed { row(k) } else { Vec::new() };
        file.bucket_file = Some(Box::new(BucketFile {
            bucket: 0,
            total_buckets: if keyed { 1 } else { -1 },
            level,
            schema_id: 0,
            min_key: key(keys.0),
            max_key: key(keys.1),
            min_sequence_number: 0,
            max_sequence_number: rows - 1,
            delete_row_count: Some(0),
            write_columns: None,
        }));
        let stats = RowStats { min: key(keys.0), max: key(keys.1), null_counts: vec![Some(0); usize::from(keyed)] };
        NewBucketFile {
            file,
            key_stats: stats,
            value_stats: RowStats::default(),
            value_stats_cols: Some(Vec::new()),
            extra_files: Vec::new(),
            embedded_index: None,
            creation_time_ms: 7,
            source: FileSource::Append,
            external: false,
        }
    }

    fn plain(&self, name: &str, p: i32) -> NewBucketFile {
        self.file(name, p, 10, (0, (0, 9)))
    }

    fn append(&self, names: &[&str]) -> CommitOutcome<PaimonSnapshot> {
        Commit::new(&self.folder, adding(names.iter().map(|n| self.plain(n, 1)))).run()
    }

    fn entries(&self) -> Vec<FileEntry> {
        let Some(latest) = self.folder.latest_snapshot().unwrap() else { return Vec::new() };
        let manifests = data_manifests(self.folder.manifests(), &latest).unwrap();
        let live = live_files(self.folder.manifests(), &manifests, &PaimonEntryRequest::default()).unwrap();
        live.iter().flat_map(|l| l.rows.iter().map(|r| l.columns.entry(*r as usize).unwrap())).collect()
    }

    fn names(&self) -> BTreeSet<String> {
        self.entries().iter().map(|e| e.file_name.trim_end_matches(".parquet").to_owned()).collect()
    }

    /// The files of manifests that no snapshot needs.
    fn orphans(&self) -> Vec<String> {
        let store = self.folder.store().as_ref();
        let root = self.folder.root();
        let mut needed = BTreeSet::new();
        for s in self.folder.snapshots().unwrap() {
            let lists = [Some(s.base_manifest_list.clone()), Some(s.delta_manifest_list.clone())];
            let lists = lists.into_iter().chain([s.changelog_manifest_list.clone()]).flatten();
            for list in lists {
                let manifests =
                    crate::paimon::manifest::live::read_manifest_list(self.folder.manifests(), &list, None).unwrap();
                needed.extend(manifests.into_iter().map(|m| m.file_name));
                needed.insert(list);
            }
            needed.extend(s.index_manifest);
        }
        let name = |f: FileInfo| f.path.rsplit('/').next().unwrap().to_owned();
        let all = store.list(&join(root, "manifest")).unwrap().into_iter().map(name);
        all.filter(|n| !needed.contains(n)).collect()
    }
}

fn adding(files: impl IntoIterator<Item = NewBucketFile>) -> Changes {
    Changes { added: files.into_iter().collect(), ..Changes::default() }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

fn failed(outcome: CommitOutcome<PaimonSnapshot>) -> Error {
    match outcome {
        CommitOutcome::Failed(e) => e,
        other => panic!("{other:?}"),
    }
}

#[test]
fn commits_follow_each_other() {
    let t = setup(false, &[]);
    let first = t.append(&["a", "b"]).into_result().unwrap();
    assert_eq!((first.id, first.total_record_count, first.commit_kind.as_str()), (1, Some(20), "APPEND"));
    let removed = t.plain("a", 1).file;
    let changes = Changes { removed: vec![removed.clone()], ..adding([t.plain("c", 2)]) };
    let properties = [("k".to_owned(), "v".to_owned())].into();
    let commit = Commit::new(&t.folder, changes).with_watermark(5).with_properties(properties);
    let second = commit.run().into_result().unwrap();
    assert_eq!((second.id, second.total_record_count, second.delta_record_count), (2, Some(20), Some(0)));
    assert_eq!(
        (second.commit_kind.as_str(), second.watermark, &second.properties["k"][..]),
        ("OVERWRITE", Some(5), "v")
    );
    assert_eq!((t.names(), t.orphans()), (set(&["b", "c"]), Vec::<String>::new()));
    // The file is already removed.
    let gone = Changes { removed: vec![removed], ..Changes::default() };
    assert_eq!(failed(Commit::new(&t.folder, gone).run()).kind(), ErrorKind::CommitConflict);
    let second = Commit::new(&t.folder, adding([t.plain("b", 1)])).checking_appends();
    assert_eq!(failed(second.run()).kind(), ErrorKind::InvalidInput);
    assert_eq!((t.names(), t.orphans()), (set(&["b", "c"]), Vec::<String>::new()));
    assert_eq!(t.append(&["d"]).into_result().unwrap().watermark, Some(5));
}

#[test]
fn owned_files_go_whenever_the_commit_fails() {
    for (option, value, kept) in [("commit.max-retries", "many", false), ("commit.max-retries", "3", true)] {
        let t = setup(false, &[(option, value)]);
        let new = t.plain("a", 1);
        t.store.put(&new.file.path, b"x").unwrap();
        let outcome = Commit::new(&t.folder, adding([new.clone()])).owning_files().run();
        assert_eq!(outcome.into_result().is_ok(), kept);
        assert_eq!(t.store.size(&new.file.path).is_ok(), kept);
    }
}

#[test]
fn any_number_of_levels_is_taken() {
    let t = setup(true, &[("bucket", "1"), ("num-levels", "-9223372036854775808")]);
    let commit = Commit::new(&t.folder, adding([t.plain("a", 1)])).overwriting(Replaced::Everything);
    commit.run().into_result().unwrap();
    assert_eq!(t.entries().iter().map(|e| e.level).collect::<Vec<_>>(), [0]);
}

#[test]
fn an_overwrite_takes_out_what_is_there() {
    let t = setup(true, &[("bucket", "1")]);
    let files = [("a", 1), ("b", 2), ("c", 3)].map(|(name, p)| t.plain(name, p));
    Commit::new(&t.folder, adding(files)).run().into_result().unwrap();
    let one = Replaced::Partition(vec![("p".to_owned(), Some(Value::Int(1)))]);
    let outside = Commit::new(&t.folder, adding([t.plain("x", 2)])).overwriting(one.clone());
    assert_eq!(failed(outside.run()).kind(), ErrorKind::InvalidInput);
    Commit::new(&t.folder, adding([t.plain("d", 1)])).overwriting(one).run().into_result().unwrap();
    assert_eq!(t.names(), set(&["b", "c", "d"]));
    // Alone in its bucket it needs no merging.
    assert_eq!(t.entries().iter().find(|e| e.file_name == "d.parquet").unwrap().level, 5);
    let files = [t.file("e", 2, 10, (0, (0, 9))), t.file("f", 2, 10, (0, (5, 19)))];
    Commit::new(&t.folder, adding(files)).overwriting(Replaced::PartitionsOfAdded).run().into_result().unwrap();
    assert_eq!(t.names(), set(&["c", "d", "e", "f"]));
    assert!(t.entries().iter().filter(|e| e.partition[..] == row(2)).all(|e| e.level == 0));
    let last = Commit::new(&t.folder, Changes::default()).overwriting(Replaced::Everything).run();
    assert_eq!(last.into_result().unwrap().total_record_count, Some(0));
    assert_eq!(t.names(), set(&[]));
}

#[test]
fn compactions_that_meet_are_told() {
    let t = setup(true, &[("bucket", "1")]);
    Commit::new(&t.folder, adding([t.plain("a", 1), t.plain("b", 1)])).run().into_result().unwrap();
    let compacted = |name: &str, keys| {
        let new = NewBucketFile { source: FileSource::Compact, ..t.file(name, 1, 10, (5, keys)) };
        Changes { removed: vec![t.plain("a", 1).file], ..adding([new]) }
    };
    let first = Commit::new(&t.folder, compacted("m", (0, 9))).compacting().run().into_result().unwrap();
    assert_eq!((first.commit_kind.as_str(), first.delta_record_count), ("COMPACT", Some(0)));
    assert_eq!(
        failed(Commit::new(&t.folder, compacted("n", (20, 29))).compacting().run()).kind(),
        ErrorKind::CommitConflict
    );
    // Files of one level overlap.
    let clash = Changes { moved: vec![(t.plain("b", 1).file, 5)], ..Changes::default() };
    let error = failed(Commit::new(&t.folder, clash).compacting().run());
    assert!(error.to_string().contains("level 5"), "{error}");
    let free = Changes { moved: vec![(t.plain("b", 1).file, 4)], ..Changes::default() };
    Commit::new(&t.folder, free).compacting().run().into_result().unwrap();
    let levels: BTreeSet<(String, i32)> = t.entries().iter().map(|e| (e.file_name.clone(), e.level)).collect();
    assert_eq!(levels, BTreeSet::from([("b.parquet".to_owned(), 4), ("m.parquet".to_owned(), 5)]));
    // Another number of buckets only by an overwrite.
    let mut other = t.plain("z", 1);
    other.file.bucket_file.as_mut().unwrap().total_buckets = 2;
    let other = Commit::new(&t.folder, adding([other])).checking_appends();
    assert_eq!(failed(other.run()).kind(), ErrorKind::CommitConflict);
    assert!(t.orphans().is_empty());
}

#[test]
fn a_commit_made_again_is_seen() {
    let t = setup(false, &[]);
    let commit = |n| Commit::new(&t.folder, adding([t.plain(&format!("f{n}"), 1)])).by("me", n).run().into_result();
    assert_eq!((commit(1).unwrap().id, commit(2).unwrap().id), (1, 2));
    assert_eq!((commit(2).unwrap().id, commit(1).unwrap().id), (2, 2));
    assert_eq!(Commit::new(&t.folder, adding([t.plain("x", 1)])).by("you", 1).run().into_result().unwrap().id, 3);
    assert_eq!((t.names(), t.orphans()), (set(&["f1", "f2", "x"]), Vec::<String>::new()));
}

#[test]
fn rows_get_their_ids() {
    let t = setup(false, &[("row-tracking.enabled", "true")]);
    t.append(&["a", "b"]).into_result().unwrap();
    assert_eq!(t.append(&["c"]).into_result().unwrap().next_row_id, Some(30));
    let ids: BTreeSet<_> =
        t.entries().iter().map(|e| (e.first_row_id.unwrap(), e.min_sequence_number, e.max_sequence_number)).collect();
    assert_eq!(ids, BTreeSet::from([(0, 1, 1), (10, 1, 1), (20, 2, 2)]));
}

fn vectors(name: &str, data_files: &[&str], kind: u8) -> IndexEntry {
    let range = |f: &&str| crate::paimon::manifest::index_manifest::DeletionVectorRange {
        data_file: format!("{f}.parquet"),
        offset: 1,
        length: 20,
        cardinality: Some(1),
    };
    IndexEntry {
        kind,
        partition: row(1),
        index_type: DELETION_VECTORS.to_owned(),
        file_name: name.to_owned(),
        deletion_vectors: Some(data_files.iter().map(range).collect()),
        ..IndexEntry::default()
    }
}

#[test]
fn deletion_vectors_go_with_their_files() {
    let t = setup(false, &[("deletion-vectors.enabled", "true")]);
    t.append(&["a", "b"]).into_result().unwrap();
    let with = |index: Vec<IndexEntry>, removed: &[&str]| {
        let removed = removed.iter().map(|n| t.plain(n, 1).file).collect();
        Commit::new(&t.folder, Changes { index, removed, ..Changes::default() }).run()
    };
    let first = with(vec![vectors("v1", &["a"], ADD)], &[]).into_result().unwrap();
    assert_eq!((first.commit_kind.as_str(), first.index_manifest.is_some()), ("OVERWRITE", true));
    let conflicts = [
        // Written without knowledge of v1.
        with(vec![vectors("v2", &["a"], ADD)], &[]),
        with(Vec::new(), &["a"]),
        with(vec![vectors("v0", &["a"], DELETE)], &[]),
        with(vec![vectors("v2", &["z"], ADD)], &[]),
    ];
    conflicts.into_iter().for_each(|c| assert_eq!(failed(c).kind(), ErrorKind::CommitConflict));
    with(vec![vectors("v1", &["a"], DELETE), vectors("v2", &["a", "b"], ADD)], &[]).into_result().unwrap();
    with(vec![vectors("v2", &["a", "b"], DELETE), vectors("v3", &["b"], ADD)], &["a"]).into_result().unwrap();
    let latest = t.append(&["c"]).into_result().unwrap();
    let name = latest.index_manifest.unwrap();
    let index = read_index_manifest(t.folder.manifests(), &name).unwrap();
    assert_eq!(index, [vectors("v3", &["b"], ADD)]);
    assert!(t.orphans().is_empty());
}

#[test]
fn deletion_vectors_stay_while_they_hide_rows() {
    use crate::paimon::catalog::alter::SchemaChange;
    let on = "deletion-vectors.enabled";
    let t = setup(false, &[(on, "true"), ("deletion-vectors.modifiable", "true")]);
    t.append(&["a"]).into_result().unwrap();
    let with = |entry: IndexEntry, removed: &[&str]| {
        let removed = removed.iter().map(|n| t.plain(n, 1).file).collect();
        Commit::new(&t.folder, Changes { index: vec![entry], removed, ..Changes::default() }).run().into_result()
    };
    with(vectors("v1", &["a"], ADD), &[]).unwrap();
    let off = [SchemaChange::SetOption(on.to_owned(), "false".to_owned()), SchemaChange::RemoveOption(on.to_owned())];
    for change in &off {
        let error = t.folder.alter(std::slice::from_ref(change)).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.hint_text().unwrap().contains("compact"), "{error}");
    }
    with(vectors("v1", &["a"], DELETE), &["a"]).unwrap();
    t.folder.alter(&off[..1]).unwrap();
}

#[test]
fn compactions_by_key_know_of_each_others_vectors() {
    let t = setup(true, &[("bucket", "1"), ("deletion-vectors.enabled", "true")]);
    let at = |name: &str, level: i32, from: i32| t.file(name, 1, 10, (level, (from, from + 9)));
    let files = [at("top", 5, 0), at("low", 4, 100), at("new", 0, 0), at("newer", 0, 50)];
    Commit::new(&t.folder, adding(files)).run().into_result().unwrap();
    let run = |added: Vec<NewBucketFile>, removed: &[NewBucketFile], index: Vec<IndexEntry>| {
        let removed = removed.iter().map(|f| f.file.clone()).collect();
        Commit::new(&t.folder, Changes { removed, index, ..adding(added) }).compacting().run()
    };
    // One marks rows of a file above.
    run(vec![at("m1", 3, 0)], &[at("new", 0, 0)], vec![vectors("v1", &["top"], ADD)]).into_result().unwrap();
    // Others that began before replace that file, or mark rows of a missing file.
    let conflicts = [
        run(vec![at("m2", 5, 0)], &[at("top", 5, 0), at("newer", 0, 50)], Vec::new()),
        run(
            vec![at("m3", 2, 50)],
            &[at("newer", 0, 50)],
            vec![vectors("v1", &["top"], DELETE), vectors("v2", &["top", "gone"], ADD)],
        ),
    ];
    conflicts.into_iter().for_each(|c| assert_eq!(failed(c).kind(), ErrorKind::CommitConflict));
    // A file that moves to another level keeps its vectors.
    let moved = Changes { moved: vec![(at("top", 5, 0).file, 4)], ..Changes::default() };
    Commit::new(&t.folder, moved).compacting().run().into_result().unwrap();
    // A commit that knows the vectors may replace the file. Leftover vectors are no fault of the commit.
    let known = vec![vectors("v1", &["top"], DELETE), vectors("v3", &["top", "low"], ADD)];
    run(vec![at("m4", 5, 0)], &[at("top", 4, 0)], known).into_result().unwrap();
    let more = vec![vectors("v3", &["top", "low"], DELETE), vectors("v4", &["top", "low", "m4"], ADD)];
    run(vec![at("m5", 2, 50)], &[at("newer", 0, 50)], more).into_result().unwrap();
    assert_eq!(t.names(), set(&["low", "m1", "m4", "m5"]));
    assert!(t.orphans().is_empty());
}

#[test]
fn whatever_goes_wrong_the_table_has_all_of_a_commit_or_nothing() {
    for fault in [Fault::Refused, Fault::LostReply, Fault::Timeout] {
        for turn in 0.. {
            let t = setup(false, &[("manifest.merge-min-count", "2")]);
            t.append(&["a"]).into_result().unwrap();
            t.append(&["b"]).into_result().unwrap();
            t.store.fail_at(Some((turn, fault)));
            let changes = Changes { removed: vec![t.plain("a", 1).file], ..adding([t.plain("c", 1)]) };
            let outcome = Commit::new(&t.folder, changes).run();
            let reached = t.store.calls.load(Atomic::SeqCst) > turn;
            t.store.fail_at(None);
            let (old, new) = (set(&["a", "b"]), set(&["b", "c"]));
            match &outcome {
                CommitOutcome::Committed(_) => assert_eq!(t.names(), new, "{fault:?} {turn}"),
                CommitOutcome::Failed(_) => assert_eq!(t.names(), old, "{fault:?} {turn}"),
                CommitOutcome::Unknown(_) => assert!([&old, &new].contains(&&t.names()), "{fault:?} {turn}"),
            }
            if fault == Fault::Refused {
                assert!(!matches!(outcome, CommitOutcome::Unknown(_)), "{turn}");
            }
            let before = t.names();
            t.append(&["d"]).into_result().unwrap();
            assert_eq!(t.names(), &before | &set(&["d"]));
            if !reached {
                assert!(turn > 4, "{turn}");
                break;
            }
        }
    }
}

#[test]
fn racing_commits_lose_nothing() {
    let t = setup(false, &[("commit.min-retry-wait", "1 ms"), ("manifest.merge-min-count", "3")]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let t = &t;
            scope.spawn(move || {
                for n in 0..5 {
                    t.append(&[&format!("w{writer}-{n}")]).into_result().unwrap();
                }
            });
        }
    });
    assert_eq!((t.names().len(), t.folder.latest_snapshot().unwrap().unwrap().id), (20, 20));
    assert_eq!((t.folder.snapshot_ids().unwrap().len(), t.orphans()), (20, Vec::<String>::new()));
}

#[test]
fn a_snapshot_that_is_gone_is_nothing_to_build_on() {
    let t = setup(false, &[]);
    t.append(&["a"]).into_result().unwrap();
    t.append(&["b"]).into_result().unwrap();
    let commit = Commit::new(&t.folder, adding([t.plain("c", 1)]));
    let mut attempt = SnapshotAttempt::new(commit.input.clone());
    let base = attempt.newest().unwrap();
    let next = attempt.prepare(&base).unwrap();
    t.store.delete(&t.folder.snapshot_path(2)).unwrap();
    assert_eq!(attempt.publish(&base, &next).unwrap_err().kind(), ErrorKind::CommitConflict);
    // A rollback changes the hint as well; without that the snapshot is lost.
    let lost = Commit::new(&t.folder, adding([t.plain("d", 1)])).run().into_result();
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::CorruptTable);
    t.folder.hint_latest(1).unwrap();
    assert_eq!(commit.run().into_result().unwrap().id, 2);
    assert_eq!(t.names(), set(&["a", "c"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random commits, with manifests that merge early, leave the files that a set of names predicts.
    #[test]
    fn a_table_is_what_its_commits_made_it(
        steps in proptest::collection::vec((0u8..4, 0i32..3, any::<prop::sample::Index>()), 1..14),
        options in prop::sample::select(vec![("2", "8 mb", "16 mb"), ("3", "1 kb", "1 b"), ("2", "1 b", "3 kb")]),
    ) {
        let (count, target, full) = options;
        let t = setup(false, &[
            ("manifest.merge-min-count", count),
            ("manifest.target-file-size", target),
            ("manifest.full-compaction-threshold-size", full),
        ]);
        let mut model: Vec<(String, i32)> = Vec::new();
        for (i, (what, p, index)) in steps.into_iter().enumerate() {
            let new = (format!("f{i}"), p);
            let added = adding([t.plain(&new.0, p)]);
            let commit = match what {
                0 if !model.is_empty() => {
                    let (name, p) = model.remove(index.index(model.len()));
                    Commit::new(&t.folder, Changes { removed: vec![t.plain(&name, p).file], ..added })
                }
                1 => {
                    model.retain(|(_, other)| *other != p);
                    Commit::new(&t.folder, added).overwriting(Replaced::PartitionsOfAdded)
                }
                2 if i % 3 == 0 => {
                    model.clear();
                    Commit::new(&t.folder, added).overwriting(Replaced::Everything)
                }
                _ => Commit::new(&t.folder, added),
            };
            let snapshot = commit.run().into_result().unwrap();
            model.push(new);
            prop_assert_eq!(snapshot.total_record_count, Some(10 * model.len() as i64));
            prop_assert_eq!(t.names(), model.iter().map(|(n, _)| n.clone()).collect::<BTreeSet<_>>());
        }
        prop_assert!(t.orphans().is_empty());
    }
}

#[test]
fn what_is_interrupted_before_it_is_published_is_not() {
    let t = setup(false, &[]);
    let outcome = Cancellation::after(0).scope(|| Commit::new(&t.folder, adding([t.plain("a", 1)])).run());
    assert!(matches!(outcome, CommitOutcome::Failed(_)), "{outcome:?}");
    assert!(t.folder.latest_snapshot().unwrap().is_none());
    assert_eq!(t.append(&["b"]).into_result().unwrap().id, 1);
    assert_eq!((t.names(), t.orphans()), (set(&["b"]), Vec::<String>::new()));
}

/// Nothing was sent, so the outcome is known.
#[test]
fn a_look_without_an_answer_before_the_publication_is_a_failure() {
    let (t, mut failures) = (setup(false, &[]), 0);
    t.append(&["a"]).into_result().unwrap();
    for look in 0.. {
        t.store.lose_look(Some(look));
        let new = t.plain("b", 1);
        let outcome = Commit::new(&t.folder, adding([new])).run();
        t.store.lose_look(None);
        match outcome {
            CommitOutcome::Committed(_) => break,
            CommitOutcome::Failed(e) => assert_eq!(e.message(), "no answer"),
            CommitOutcome::Unknown(e) => panic!("{look}: {e}"),
        }
        failures += 1;
        assert_eq!((t.names(), t.orphans()), (set(&["a"]), Vec::<String>::new()), "{look}");
    }
    assert!(failures > 0);
}

/// Runs a change with `stale` plans that another commit contradicts. `last` says whether later plans have something
/// to commit.
fn replanned(t: &Setup, stale: usize, last: bool) -> (Result<Option<PaimonSnapshot>>, usize) {
    let mut plans = 0;
    let mut plan = || {
        plans += 1;
        let latest = t.folder.latest_snapshot()?.map(|s| s.id);
        if plans <= stale {
            t.append(&[&format!("other{plans}")]).into_result()?;
        } else if !last {
            return Ok(None);
        }
        let own = adding([t.plain(&format!("own{plans}"), 1)]);
        Ok(Some(Commit::new(&t.folder, own).owning_files().only_on(latest)))
    };
    let done = run_planned(&mut plan).into_result();
    (done, plans)
}

#[test]
fn a_change_is_planned_again_after_conflicts() {
    let t = setup(false, &[]);
    let (done, plans) = replanned(&t, 2, true);
    assert_eq!((done.unwrap().unwrap().id, plans), (3, 3));
    assert_eq!((t.names(), t.orphans()), (set(&["other1", "other2", "own3"]), Vec::new()));
}

#[test]
fn a_new_plan_may_have_nothing_to_commit() {
    let t = setup(false, &[]);
    assert!(matches!(replanned(&t, 0, false), (Ok(None), 1)));
    assert!(matches!(replanned(&t, 1, false), (Ok(None), 2)));
    assert_eq!((t.names(), t.orphans()), (set(&["other1"]), Vec::new()));
}

#[test]
fn a_change_is_not_planned_again_for_ever() {
    for (options, most) in [(&[][..], 11), (&[("commit.max-retries", "1")], 2), (&[("commit.max-retries", "0")], 1)] {
        let t = setup(false, options);
        let (done, plans) = replanned(&t, usize::MAX, true);
        assert_eq!((done.unwrap_err().kind(), plans), (ErrorKind::CommitConflict, most));
        assert_eq!((t.names().len(), t.orphans()), (most, Vec::new()));
    }
}
