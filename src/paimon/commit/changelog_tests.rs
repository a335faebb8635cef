//! Expiry of tables whose changelogs outlast their snapshots. Changelogs that Java wrote are in tests/interop.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::tests::{check_logs, check_whole, commit, file, names, now, set, set_options, table_with};
use super::*;
use crate::format::task::{FileSource, NewBucketFile};
use crate::paimon::catalog::refs::RollbackTo;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::plan::changes::earliest_told;
use crate::paimon::plan::travel::ChangeMode;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::store::testing::{Dying, Hooked, Hooks};

const LONGER: [(&str, &str); 2] = [("changelog.num-retained.min", "4"), ("changelog.num-retained.max", "5")];
const LOGGED: [(&str, &str); 3] = [LONGER[0], LONGER[1], ("changelog-producer", "input")];

fn table(dir: &tempfile::TempDir, options: &[(&str, &str)]) -> TableFolder {
    table_with(&(Arc::new(LocalStore) as Arc<dyn Store>), dir, options)
}

/// A file that a compaction made from others. All of them exist.
pub(super) fn compacted(t: &TableFolder, removed: &[&str], added: &str) {
    let new = NewBucketFile { source: FileSource::Compact, ..put(t, added) };
    let removed = removed.iter().map(|name| file(t, name).file).collect();
    let changes = Changes { added: vec![new], removed, ..Changes::default() };
    Commit::new(t, changes).compacting().run().into_result().unwrap();
}

/// A file and its changelog.
pub(super) fn logged(t: &TableFolder, name: &str) {
    let changes =
        Changes { added: vec![put(t, name)], changelog: vec![put(t, &format!("log-{name}"))], ..Changes::default() };
    Commit::new(t, changes).run().into_result().unwrap();
}

fn put(t: &TableFolder, name: &str) -> NewBucketFile {
    for name in [format!("{name}.parquet"), format!("{name}.index")] {
        t.store().put_if_absent(&format!("{}/bucket-0/{name}", t.root()), b"x").unwrap();
    }
    file(t, name)
}

fn hint(t: &TableFolder, name: &str) -> String {
    String::from_utf8(t.store().get(&format!("{}/{name}", t.folder("changelog"))).unwrap()).unwrap()
}

/// The existing manifests that nothing leads to.
fn orphans(t: &TableFolder) -> Vec<String> {
    crate::paimon::commit::orphans::orphan_files(t, Some(now_ms() + 1)).unwrap()
}

#[test]
fn without_a_producer_the_files_that_writers_added_stay() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &LONGER);
    commit(&t, &[], "a");
    commit(&t, &[], "b");
    compacted(&t, &["a", "b"], "ab");
    commit(&t, &[], "c");
    compacted(&t, &["ab", "c"], "abc");
    commit(&t, &[], "d");
    let before = plan_expiry(&t, &now(1)).unwrap();
    assert_eq!((before.snapshots.len(), before.changelogs.clone()), (5, vec![1, 2]));
    assert_eq!(expire(&t, &now(1)).unwrap(), before);
    assert_eq!((t.snapshot_ids().unwrap(), t.changelog_ids().unwrap()), (vec![6], vec![3, 4, 5]));
    // A file that a compaction made is removed with its snapshot. Other files are removed with the changelog that
    // took them out.
    assert_eq!(names(&t), set(&["a", "b", "c", "abc", "d"]));
    assert_eq!((hint(&t, "EARLIEST").as_str(), hint(&t, "LATEST").as_str()), ("3", "5"));
    check_whole(&t);
    commit(&t, &[], "e");
    let expired = expire(&t, &now(1)).unwrap();
    assert_eq!((expired.snapshots, expired.changelogs), (vec![6], vec![3]));
    assert_eq!(names(&t), set(&["c", "abc", "d", "e"]));
    assert_eq!((t.changelog_ids().unwrap(), orphans(&t)), (vec![4, 5, 6], vec![]));
    check_whole(&t);
    let latest = t.snapshot_ids().unwrap()[0];
    assert_eq!(earliest_told(&t, ChangeMode::Delta, latest).unwrap(), Some(4));
    assert_eq!(t.commit_left(4).unwrap().id, 4);
    assert!(t.commit_left(3).is_err());
}

#[test]
fn with_a_producer_changelog_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &LOGGED);
    ["a", "b", "c", "d"].iter().for_each(|name| logged(&t, name));
    compacted(&t, &["a", "b"], "ab");
    compacted(&t, &["c", "d"], "cd");
    let expired = expire(&t, &now(1)).unwrap();
    assert_eq!((expired.snapshots.len(), expired.changelogs.clone()), (5, vec![1, 2]));
    assert_eq!(names(&t), set(&["ab", "cd", "log-c", "log-d"]));
    assert_eq!((t.changelog_ids().unwrap(), orphans(&t)), (vec![3, 4, 5], vec![]));
    check_whole(&t);
    // Nothing is left to do until more is committed.
    assert_eq!(expire(&t, &now(1)).unwrap(), ExpiredFiles::default());
    logged(&t, "e");
    logged(&t, "f");
    assert_eq!(expire(&t, &now(1)).unwrap().changelogs, [3, 4]);
    assert_eq!((names(&t), orphans(&t)), (set(&["ab", "cd", "e", "f", "log-e", "log-f"]), vec![]));
    check_whole(&t);
}

#[test]
fn tags_branches_and_changelogs_keep_what_they_have() {
    for options in [&LONGER[..], &LOGGED] {
        let dir = tempfile::tempdir().unwrap();
        let t = table(&dir, options);
        let write =
            |t: &TableFolder, name: &str| if options.len() > 2 { logged(t, name) } else { commit(t, &[], name) };
        write(&t, "a");
        t.create_tag("one", None).unwrap();
        t.create_tag("again", None).unwrap();
        let branch = t.create_branch("side", Some("again")).unwrap();
        write(&branch, "s");
        compacted(&t, &["a"], "A");
        for name in ["b", "c", "d", "e", "f"] {
            write(&t, name);
        }
        assert_eq!(expire(&t, &now(1)).unwrap().changelogs, [1, 2, 3]);
        check_whole(&t);
        check_whole(&branch);
        // The files of a tag are removed with it, except those that changelogs have, also changelogs of a branch.
        drop_tag(&t, "one").unwrap();
        drop_tag(&t, "again").unwrap();
        assert_eq!((expire(&branch, &now(1)).unwrap().snapshots, branch.changelog_ids().unwrap()), (vec![1], vec![1]));
        drop_tag(&branch, "again").unwrap();
        check_whole(&t);
        check_whole(&branch);
        ["x", "y", "z"].iter().for_each(|name| write(&branch, name));
        assert_eq!(expire(&branch, &now(1)).unwrap().changelogs, [1]);
        check_whole(&t);
        check_whole(&branch);
    }
}

#[test]
fn a_rollback_takes_back_changelogs() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &[("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")]);
    commit(&t, &[], "a");
    t.create_tag("one", None).unwrap();
    ["b", "c", "d"].iter().for_each(|name| commit(&t, &[], name));
    expire(&t, &now(1)).unwrap();
    assert_eq!(t.changelog_ids().unwrap(), [1, 2, 3]);
    t.roll_back(&RollbackTo::Tag("one".into())).unwrap();
    assert_eq!((t.changelog_ids().unwrap(), hint(&t, "LATEST")), (vec![1], "1".into()));
    commit(&t, &["a"], "e");
    commit(&t, &[], "f");
    // The snapshot that came back expires again.
    assert_eq!(expire(&t, &now(1)).unwrap().snapshots, [1, 2]);
    assert_eq!((t.changelog_ids().unwrap(), hint(&t, "LATEST")), (vec![1, 2], "2".into()));
    check_whole(&t);
    // A branch that replaces snapshots replaces their changelogs.
    let branch = t.create_branch("side", Some("one")).unwrap();
    commit(&branch, &[], "s");
    t.fast_forward("side").unwrap();
    assert_eq!((t.changelog_ids().unwrap(), hint(&t, "LATEST")), (vec![], "-1".into()));
    assert_eq!(t.snapshot_ids().unwrap(), [1, 2]);
}

#[test]
fn consumers_may_hold_changelogs_alone() {
    for (only, snapshots, changelogs) in [("false", vec![1], vec![]), ("true", vec![1, 2, 3, 4, 5], vec![1])] {
        let dir = tempfile::tempdir().unwrap();
        let t = table(&dir, &[("changelog.num-retained.max", "3"), ("consumer.changelog-only", only)]);
        ["a", "b", "c", "d", "e", "f"].iter().for_each(|name| commit(&t, &[], name));
        t.store().put(&format!("{}/consumer/consumer-x", t.root()), br#"{"nextSnapshot":2}"#).unwrap();
        let expired = expire(&t, &ExpiryRequest { retain_max: Some(2), ..now(1) }).unwrap();
        assert_eq!((expired.snapshots, expired.changelogs), (snapshots, changelogs), "{only}");
        check_whole(&t);
    }
}

#[test]
fn changelogs_of_former_times_go_once_they_are_kept_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &LONGER);
    commit(&t, &[], "a");
    commit(&t, &[], "b");
    commit(&t, &["a"], "c");
    commit(&t, &[], "d");
    expire(&t, &now(2)).unwrap();
    assert_eq!((t.changelog_ids().unwrap(), names(&t)), (vec![1, 2], set(&["a", "b", "c", "d"])));
    set_options(&t, &|options| options.retain(|key, _| !key.starts_with("changelog.")));
    // The remaining ones have their files.
    let one = expire(&t, &ExpiryRequest { limit: Some(1), ..now(1) }).unwrap();
    assert_eq!((one.changelogs, one.snapshots, names(&t)), (vec![1], vec![3], set(&["b", "c", "d"])));
    check_whole(&t);
    assert_eq!((expire(&t, &now(1)).unwrap().changelogs, hint(&t, "LATEST")), (vec![2], "-1".into()));
    assert_eq!((t.changelog_ids().unwrap(), orphans(&t)), (vec![], vec![]));
    check_whole(&t);
}

#[test]
fn changelogs_of_a_former_producer_tell_both_ways() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &LOGGED);
    ["a", "b", "c", "d"].iter().for_each(|name| logged(&t, name));
    let longer = |options: &mut BTreeMap<String, String>| {
        options.insert("changelog-producer".into(), "none".into());
        options.extend(["min", "max"].map(|key| (format!("changelog.num-retained.{key}"), "100".into())));
    };
    set_options(&t, &longer);
    compacted(&t, &["a", "b", "c", "d"], "abcd");
    ["e", "f"].iter().for_each(|name| commit(&t, &[], name));
    expire(&t, &now(2)).unwrap();
    assert_eq!(t.changelog_ids().unwrap(), [1, 2, 3, 4, 5]);
    set_options(&t, &|options| options.retain(|key, _| !key.starts_with("changelog.")));
    let one = expire(&t, &ExpiryRequest { limit: Some(1), ..now(1) }).unwrap();
    assert_eq!((one.changelogs, t.changelog_ids().unwrap()), (vec![1], vec![2, 3, 4, 5]));
    assert!(names(&t).is_superset(&set(&["b", "c", "d", "log-b", "log-c", "log-d"])));
    check_whole(&t);
}

#[test]
fn what_a_tag_has_stays_for_the_next_snapshot_across_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &[]);
    ["a", "b", "c", "d"].iter().for_each(|name| commit(&t, &[], name));
    t.create_tag("two", Some(2)).unwrap();
    for id in [2, 3] {
        t.store().delete(&t.snapshot_path(id)).unwrap();
    }
    drop_tag(&t, "two").unwrap();
    assert_eq!((t.snapshot_ids().unwrap(), names(&t)), (vec![1, 4], set(&["a", "b", "c", "d"])));
    check_whole(&t);
}

#[test]
fn a_time_in_a_gap_is_that_of_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &[("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")]);
    for name in ["a", "b", "c", "d", "e"] {
        commit(&t, &[], name);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    expire(&t, &now(1)).unwrap();
    let time = t.changelog(2).unwrap().unwrap().time_ms;
    assert_eq!(t.commit_at_time(time).unwrap(), Some(2));
    t.store().delete(&t.changelog_path(3)).unwrap();
    assert!(t.commit_at_time(time).unwrap_err().to_string().contains("not kept"));
    assert_eq!(t.commit_at_time(t.changelog(4).unwrap().unwrap().time_ms).unwrap(), Some(4));
    assert_eq!(t.commit_at_time(0).unwrap(), None);
}

/// Snapshots expire before the hint to the earliest one is read.
#[derive(Debug)]
struct Expiring(Mutex<Option<TableFolder>>);

impl Hooks for Expiring {
    fn before_get(&self, path: &str) -> Result<()> {
        let now_or_never = self.0.lock().unwrap().take_if(|_| path.ends_with("snapshot/EARLIEST"));
        now_or_never.iter().try_for_each(|t| expire(t, &now(1)).map(drop))
    }
}

#[test]
fn an_expiry_during_a_search_by_time_hides_no_commit() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir, &[("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")]);
    for name in ["a", "b", "c", "d", "e"] {
        commit(&t, &[], name);
        std::thread::sleep(std::time::Duration::from_millis(3));
    }
    expire(&t, &now(3)).unwrap();
    assert_eq!((t.changelog_ids().unwrap(), t.snapshot_ids().unwrap()), (vec![1, 2], vec![3, 4, 5]));
    let time = t.changelog(2).unwrap().unwrap().time_ms;
    let store = Arc::new(Hooked(Expiring(Mutex::new(Some(t.clone())))));
    let seen = TableFolder::find(store, t.root()).unwrap().unwrap();
    assert_eq!(seen.commit_at_time(time).unwrap(), Some(2));
    assert_eq!(t.snapshot_ids().unwrap(), [5]);
}

/// All files of a table except hints.
fn all(t: &TableFolder) -> BTreeSet<String> {
    let folders = ["bucket-0", "manifest", "snapshot", "changelog"].map(|name| format!("{}/{name}", t.root()));
    let files = folders.iter().flat_map(|folder| t.store().list(folder).unwrap()).map(|file| file.path);
    files.filter(|path| !path.ends_with("LATEST") && !path.ends_with("EARLIEST")).collect()
}

/// A table with two snapshots too many, and changelogs; `ab` and `abcd` were made by compactions.
fn to_expire(dir: &tempfile::TempDir, options: &[(&str, &str)]) {
    let t = table(dir, options);
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        if options.len() > 2 {
            logged(&t, name)
        } else {
            commit(&t, &[], name)
        }
        if name == "b" {
            compacted(&t, &["a", "b"], "ab");
            expire(&t, &now(2)).unwrap();
        }
    }
    compacted(&t, &["ab", "c", "d"], "abcd");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(std::result::Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            std::fs::copy(entry.path(), to).map(drop).unwrap()
        }
    }
}

/// Expires a copy of a table, dies after this number of changes, and expires it again. Returns whether the first
/// expiry reached its end, the number of files that are needed then, and the number of others.
fn dies(template: &tempfile::TempDir, changes: i64) -> (bool, usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    copy(template.path(), dir.path());
    let store = Dying::after(changes);
    let t = TableFolder::open(store.clone(), &format!("{}/t", dir.path().display())).unwrap();
    let done = expire(&t, &now(2)).is_ok();
    store.revive();
    // The remaining changelogs are whole, no commit between is lost, and all remaining snapshots find their files.
    check_logs(&t);
    let earliest = t.changelog_ids().unwrap().first().copied().unwrap();
    (earliest..=9).for_each(|id| drop(t.commit_left(id).unwrap()));
    let reader = SnapshotReader::new(&t, &t.latest_schema().unwrap()).unwrap();
    for id in [8, 9] {
        let is_there = &mut |path: String| assert!(t.store().size(&path).is_ok());
        reader.live(&t.snapshot(id).unwrap(), is_there).unwrap();
    }
    expire(&t, &now(2)).unwrap();
    check_whole(&t);
    assert_eq!((t.snapshot_ids().unwrap(), t.changelog_ids().unwrap()), (vec![8, 9], vec![6, 7]));
    let orphans: BTreeSet<String> = orphans(&t).into_iter().collect();
    (done, all(&t).difference(&orphans).count(), orphans.len())
}

#[test]
fn an_expiry_that_dies_anywhere_leaves_what_is_needed() {
    for options in [&LONGER[..], &LOGGED] {
        let template = tempfile::tempdir().unwrap();
        to_expire(&template, options);
        let (_, needed, orphans) = dies(&template, i64::MAX);
        assert_eq!(orphans, 0);
        let ended = (0..).find(|changes| {
            let (done, left, orphans) = dies(&template, *changes);
            assert_eq!(left, needed, "{changes}");
            // At most those of one changelog.
            assert!(orphans <= 8, "{changes}: {orphans}");
            done
        });
        assert!(ended.unwrap() > 20, "{ended:?}");
    }
}
