//! Expiry of a table that was committed to, file by file.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::*;
use crate::format::task::NewBucketFile;
use crate::paimon::catalog::refs::RollbackTo;
use crate::paimon::catalog::warehouse::create_table;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
pub(super) use crate::paimon::commit::testing::file;
use crate::paimon::manifest::live::read_manifest_list;
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::partition::manifest_path;
use crate::paimon::spec::schema::SchemaParts;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::store::testing::{Hooked, Hooks};

pub(super) fn table(dir: &tempfile::TempDir) -> TableFolder {
    table_with(&(Arc::new(LocalStore) as Arc<dyn Store>), dir, &[])
}

/// A table with these options.
pub(super) fn table_with(store: &Arc<dyn Store>, dir: &tempfile::TempDir, more: &[(&str, &str)]) -> TableFolder {
    let fields = vec![DataField::new(0, "id", TypeKind::Int.nullable())];
    let base = [("manifest.merge-min-count".to_owned(), "2".to_owned())];
    let parts = SchemaParts { fields, options: base.into(), ..SchemaParts::default() };
    let t = create_table(store, &format!("{}/t", dir.path().display()), parts).unwrap();
    // Only tables with keys may have these options, and their files would need keys.
    set_options(&t, &|options| {
        options.extend(more.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())))
    });
    t
}

/// Another schema, without checks.
pub(super) fn set_options(t: &TableFolder, change: &dyn Fn(&mut BTreeMap<String, String>)) {
    let mut parts = t.latest_schema().unwrap().parts();
    parts.id += 1;
    change(&mut parts.options);
    let schema = TableSchema::new(parts).unwrap();
    t.store().put(&t.schema_path(schema.id), &schema.encode()).unwrap();
}

/// Replaces files by another one. All of them exist.
pub(super) fn commit(t: &TableFolder, removed: &[&str], added: &str) {
    let new = file(t, added);
    for name in [format!("{added}.parquet"), format!("{added}.index")] {
        t.store().put_if_absent(&format!("{}/bucket-0/{name}", t.root()), b"x").unwrap();
    }
    let removed = removed.iter().map(|name| file(t, name).file).collect();
    let changes = Changes { added: vec![new], removed, ..Changes::default() };
    Commit::new(t, changes).run().into_result().unwrap();
}

pub(super) fn names(t: &TableFolder) -> BTreeSet<String> {
    let files = t.store().list(&format!("{}/bucket-0", t.root())).unwrap();
    let name = |f: crate::store::FileInfo| f.path.rsplit('/').next().unwrap().to_owned();
    files.into_iter().map(name).filter_map(|n| n.strip_suffix(".parquet").map(str::to_owned)).collect()
}

pub(super) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// Whether every existing snapshot and tag finds its files.
pub(super) fn check_whole(t: &TableFolder) {
    let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
    let roots = roots(t).unwrap().into_iter().filter(|root| root.held == HeldPart::State).map(|root| root.snapshot);
    for root in t.snapshots().unwrap().into_iter().chain(roots) {
        reader.live(&root, &mut |path| assert!(t.store().size(&path).is_ok())).unwrap();
    }
    check_logs(t);
}

/// Whether every existing changelog finds the files with its changes.
pub(super) fn check_logs(t: &TableFolder) {
    let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
    let lets_go = t.latest_schema().unwrap().options().produces_changelog();
    let list_path = |name: &str| manifest_path(t.root(), name).unwrap();
    for root in kept_changelogs(t).unwrap() {
        let files = match root.held {
            // With a producer, the files that commits added are removed, even for commits without a changelog.
            HeldPart::Delta if lets_go && t.store().size(&list_path(&root.snapshot.delta_manifest_list)).is_err() => {
                continue;
            }
            HeldPart::Delta => {
                read_manifest_list(t.manifests(), &root.snapshot.delta_manifest_list, None).unwrap();
                reader.added(&root.snapshot).unwrap()
            }
            _ => {
                let list = root.snapshot.changelog_manifest_list.as_ref().unwrap();
                let manifests = read_manifest_list(t.manifests(), list, None).unwrap();
                assert!(!manifests.is_empty());
                reader.changelog(&root.snapshot).unwrap()
            }
        };
        assert!(!files.is_empty() || root.snapshot.commit_kind != "APPEND", "{}", root.snapshot.id);
        files.iter().for_each(|path| assert!(t.store().size(path).is_ok(), "changelog {}: {path}", root.snapshot.id));
    }
}

pub(super) fn now(retain: i64) -> ExpiryRequest {
    ExpiryRequest {
        retain_min: Some(retain),
        retain_max: Some(retain),
        older_than_ms: Some(i64::MAX),
        ..ExpiryRequest::default()
    }
}

#[test]
fn what_only_expired_snapshots_had_goes() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[], "a");
    commit(&t, &["a"], "b");
    commit(&t, &[], "c");
    commit(&t, &["b", "c"], "d");
    // By default the last hour stays.
    assert_eq!(expire(&t, &ExpiryRequest::default()).unwrap(), ExpiredFiles::default());
    assert!(
        expire(&t, &ExpiryRequest { retain_min: Some(3), retain_max: Some(2), ..ExpiryRequest::default() }).is_err()
    );
    let expired = expire(&t, &now(2)).unwrap();
    assert_eq!((expired.snapshots, expired.data_files.len(), names(&t)), (vec![1, 2], 2, set(&["b", "c", "d"])));
    assert_eq!((t.snapshot_ids().unwrap(), t.earliest_snapshot_id().unwrap()), (vec![3, 4], Some(3)));
    check_whole(&t);
    assert_eq!((expire(&t, &now(1)).unwrap().snapshots.len(), names(&t)), (1, set(&["d"])));
    assert_eq!(expire(&t, &now(1)).unwrap(), ExpiredFiles::default());
    commit(&t, &["d"], "e");
    check_whole(&t);
}

#[test]
fn tags_and_branches_keep_what_they_have() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[], "a");
    t.create_tag("one", None).unwrap();
    commit(&t, &["a"], "b");
    t.create_tag("two", None).unwrap();
    let branch = t.create_branch("side", Some("two")).unwrap();
    commit(&branch, &["b"], "s");
    commit(&t, &["b"], "c");
    commit(&t, &["c"], "d");
    assert_eq!(expire(&t, &now(1)).unwrap().snapshots.len(), 3);
    assert_eq!(names(&t), set(&["a", "b", "d", "s"]));
    check_whole(&t);
    drop_tag(&t, "one").unwrap();
    assert_eq!((names(&t), drop_tag(&t, "one").is_err()), (set(&["b", "d", "s"]), true));
    drop_tag(&t, "two").unwrap();
    // The branch has a tag of its own.
    assert_eq!(names(&t), set(&["b", "d", "s"]));
    check_whole(&t);
    assert_eq!(expire(&branch, &now(1)).unwrap().snapshots.len(), 1);
    drop_tag(&branch, "two").unwrap();
    assert_eq!(names(&t), set(&["d", "s"]));
    check_whole(&t);
}

#[test]
fn consumers_and_limits_hold_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    ["a", "b", "c", "d", "e"].iter().for_each(|name| commit(&t, &[], name));
    t.store().put(&format!("{}/consumer/consumer-x", t.root()), br#"{"nextSnapshot":3}"#).unwrap();
    assert_eq!(expire(&t, &ExpiryRequest { limit: Some(1), ..now(1) }).unwrap().snapshots.len(), 1);
    assert_eq!((expire(&t, &now(1)).unwrap().snapshots.len(), t.snapshot_ids().unwrap()), (1, vec![3, 4, 5]));
    t.roll_back(&RollbackTo::Snapshot(4)).unwrap();
    commit(&t, &[], "f");
    check_whole(&t);
}

/// A writer replaces the file of a consumer in steps: before each read, it has the next content. `None`: no file.
#[derive(Debug)]
struct Replacing(Mutex<Vec<Option<&'static str>>>);

impl Hooks for Replacing {
    fn before_get(&self, path: &str) -> Result<()> {
        match self.0.lock().unwrap().pop().filter(|_| path.ends_with("consumer-x")) {
            Some(Some(text)) => std::fs::write(path, text).unwrap(),
            Some(None) => drop(std::fs::remove_file(path)),
            None => {}
        }
        Ok(())
    }
}

#[test]
fn a_consumers_file_that_is_replaced_just_now_is_read_again() {
    const THREE: Option<&str> = Some(r#"{"nextSnapshot":3}"#);
    for (contents, expected) in [
        (&[Some(""), None, Some(r#"{"nextSn"#), THREE][..], Some(vec![("x".to_owned(), 3)])),
        // It was removed.
        (&[None, None, None, None], Some(vec![])),
        // It stays damaged.
        (&[Some("{}")], None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let t = table(&dir);
        t.store().put(&format!("{}/consumer/consumer-x", t.root()), b"").unwrap();
        let steps = Mutex::new(contents.iter().rev().copied().collect());
        let store: Arc<dyn Store> = Arc::new(Hooked(Replacing(steps)));
        let found = consumers(&TableFolder::find(store, t.root()).unwrap().unwrap());
        assert_eq!(found.as_ref().ok(), expected.as_ref(), "{found:?}");
        assert!(found.err().is_none_or(|e| e.to_string().contains("consumer-x")));
    }
}

#[test]
fn an_expiry_that_was_stopped_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[], "a");
    commit(&t, &["a"], "b");
    commit(&t, &["b"], "c");
    // Its files are removed, its snapshots not yet.
    let before = t.snapshot(1).unwrap();
    for list in [&before.base_manifest_list, &before.delta_manifest_list] {
        t.store().delete(&manifest_path(t.root(), list).unwrap()).unwrap();
    }
    t.store().delete(&format!("{}/bucket-0/a.parquet", t.root())).unwrap();
    assert_eq!((expire(&t, &now(1)).unwrap().snapshots.len(), names(&t)), (2, set(&["c"])));
    check_whole(&t);
}

/// A file with a path of its own. It exists.
fn external_file(t: &TableFolder, folder: &str, name: &str) -> NewBucketFile {
    let mut new = file(t, name);
    new.file.path = format!("{folder}/{name}.parquet");
    (new.external, new.extra_files) = (true, Vec::new());
    t.store().put_if_absent(&new.file.path, b"x").unwrap();
    new
}

/// Files in a folder that only an old schema names are the table's own. Others stay, unless the caller allows their
/// removal.
#[test]
fn files_outside_are_told_and_removed_only_where_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    let at = |name: &str| format!("{}/{name}", dir.path().display());
    set_options(&t, &|options| {
        options.insert("data-file.external-paths".to_owned(), format!("s3://elsewhere/x,file://{}", at("old")));
    });
    set_options(&t, &|options| drop(options.remove("data-file.external-paths")));
    let is_there = |path: &str| t.store().exists(path).unwrap();
    let folders = ["old", "older", "other"];
    for (number, allowed) in [(0, vec![]), (1, vec![at("older"), at("oth")])] {
        let files = folders.map(|folder| external_file(&t, &at(folder), &format!("{folder}{number}")));
        let paths = files.each_ref().map(|new| new.file.path.clone());
        let removed = files.each_ref().map(|new| new.file.clone()).to_vec();
        Commit::new(&t, Changes { added: files.to_vec(), ..Changes::default() }).run().into_result().unwrap();
        Commit::new(&t, Changes { removed, ..Changes::default() }).run().into_result().unwrap();
        commit(&t, &[], &format!("n{number}"));
        let outside = OutsideLocations::new(allowed).unwrap();
        let planned = plan_expiry(&t, &ExpiryRequest { outside: outside.clone(), ..now(1) }).unwrap();
        assert!(planned.failed.is_empty() && paths.iter().all(|path| planned.data_files.contains(path)));
        let expired = expire(&t, &ExpiryRequest { outside, ..now(1) }).unwrap();
        let failed: BTreeSet<&str> = expired.failed.iter().map(|failed| failed.path.as_str()).collect();
        let stays = if number == 0 { &paths[1..] } else { &paths[2..] };
        assert_eq!(failed, stays.iter().map(String::as_str).collect());
        assert!(expired.failed[0].reason.contains("outside_locations"));
        for path in &paths {
            assert_eq!(is_there(path), stays.contains(path), "{path}");
        }
        check_whole(&t);
    }
}
