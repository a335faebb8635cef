//! Effects of an interruption, case by case; histories with many of them are in `history_tests`.

use super::changelog_tests::{compacted, logged};
use super::tests::{check_logs, check_whole, commit, names, now, set, set_options, table_with};
use super::*;
use crate::error::ErrorKind;
use crate::paimon::catalog::refs::RollbackTo;
use crate::paimon::plan::changes::earliest_told;
use crate::paimon::plan::travel::{ChangeMode, End, between};
use crate::paimon::spec::partition::manifest_path;
use crate::store::Store;
use crate::store::testing::{Dying, Hooked};

fn table(options: &[(&str, &str)]) -> (tempfile::TempDir, Arc<Hooked<Dying>>, TableFolder) {
    let dir = tempfile::tempdir().unwrap();
    let store = Dying::after(i64::MAX);
    let t = table_with(&(store.clone() as Arc<dyn Store>), &dir, options);
    (dir, store, t)
}

fn dies<T>(store: &Hooked<Dying>, after: i64, work: impl FnOnce() -> Result<T>) {
    store.die_after(after);
    assert!(work().is_err());
    store.revive();
}

fn latest(t: &TableFolder) -> i64 {
    t.latest_snapshot().unwrap().unwrap().id
}

#[test]
fn a_rollback_to_an_expired_tag_leaves_the_table_at_a_snapshot_of_its_own_wherever_it_dies() {
    for changes in 0.. {
        let (_dir, store, t) = table(&[]);
        commit(&t, &[], "a");
        t.create_tag("one", None).unwrap();
        ["b", "c", "d", "e"].iter().for_each(|name| commit(&t, &[], name));
        t.create_tag("five", None).unwrap();
        expire(&t, &now(3)).unwrap();
        store.die_after(changes);
        let done = t.roll_back(&RollbackTo::Tag("one".into())).is_ok();
        store.revive();
        let at = latest(&t);
        assert!([1, 3, 4, 5].contains(&at) && (!done || at == 1), "{changes}: {at}");
        check_whole(&t);
        // Appended files are visible, on top of the earlier ones.
        commit(&t, &[], "x");
        assert_eq!(latest(&t), at + 1, "{changes}");
        let mut found = BTreeSet::new();
        let reader = SnapshotReader::new(&t, &t.latest_schema().unwrap()).unwrap();
        reader.live(&t.snapshot(at + 1).unwrap(), &mut |path| found.extend([path])).unwrap();
        // A data file of each commit, and another file that belongs to it.
        assert_eq!(found.len() as i64, 2 * (at + 1), "{changes}");
        t.roll_back(&RollbackTo::Tag("one".into())).unwrap();
        assert_eq!(
            (latest(&t), t.snapshot_ids().unwrap(), t.tag_names().unwrap()),
            (1, vec![1], vec!["one".to_owned()])
        );
        check_whole(&t);
        if done {
            assert!(changes > 6, "{changes}");
            break;
        }
    }
}

/// A table with five snapshots. An expiry began to remove snapshots 1 to 3, and died after this number of changes.
fn half_expired(options: &[(&str, &str)], changes: i64) -> (tempfile::TempDir, Arc<Hooked<Dying>>, TableFolder) {
    let (dir, store, t) = table(options);
    commit(&t, &[], "a");
    commit(&t, &["a"], "b");
    t.create_tag("two", None).unwrap();
    commit(&t, &["b"], "c");
    commit(&t, &["c"], "d");
    commit(&t, &[], "e");
    dies(&store, changes, || expire(&t, &now(2)));
    assert_eq!((t.snapshot_ids().unwrap(), t.lasting_from().unwrap()), (vec![1, 2, 3, 4, 5], 4));
    (dir, store, t)
}

#[test]
fn an_expiry_that_fails_before_it_removes_anything_takes_nothing_away() {
    let (_dir, _, t) = table(&[]);
    ["a", "b", "c", "d", "e"].iter().for_each(|name| commit(&t, &[], name));
    let kept = t.latest_snapshot().unwrap().unwrap();
    t.store().delete(&manifest_path(t.root(), &kept.base_manifest_list).unwrap()).unwrap();
    assert_eq!(expire(&t, &now(1)).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!((t.snapshot_ids().unwrap(), t.lasting_from().unwrap()), (vec![1, 2, 3, 4, 5], 0));
    // A rollback repairs the damage.
    t.create_tag("four", Some(4)).unwrap();
    t.roll_back(&RollbackTo::Snapshot(4)).unwrap();
    expire(&t, &now(1)).unwrap();
    assert_eq!(t.snapshot_ids().unwrap(), [4]);
    check_whole(&t);
}

#[test]
fn snapshots_before_javas_hint_are_whole() {
    let (_dir, _, t) = table(&[]);
    ["a", "b", "c", "d", "e"].iter().for_each(|name| commit(&t, &[], name));
    // The state that Java's fast-forward leaves: it copies the branch's hints.
    t.hint_earliest(4).unwrap();
    assert!(plan_expiry(&t, &now(9)).unwrap().snapshots.is_empty());
    t.create_tag("two", Some(2)).unwrap();
    t.roll_back(&RollbackTo::Snapshot(3)).unwrap();
    assert_eq!((t.snapshot_ids().unwrap(), t.earliest_snapshot_id().unwrap()), (vec![1, 2, 3], Some(3)));
    check_whole(&t);
}

#[test]
fn what_one_expiry_said_is_not_true_of_other_commits() {
    let (_dir, _, t) = half_expired(&[], 4);
    // Java rolls back to a tag, and others commit.
    for id in [3, 4, 5] {
        t.store().delete(&t.snapshot_path(id)).unwrap();
    }
    t.hint_latest(2).unwrap();
    ["x", "y", "z"].iter().for_each(|name| commit(&t, &[], name));
    assert_eq!((latest(&t), t.lasting_from().unwrap()), (5, 0));
    t.create_tag("three", Some(3)).unwrap();
    t.roll_back(&RollbackTo::Snapshot(3)).unwrap();
    assert_eq!(latest(&t), 3);
}

#[test]
fn what_can_not_be_read_of_an_expiry_is_an_error() {
    let (_dir, _, t) = half_expired(&[], 4);
    for text in ["", "{}", "{\"firstKept\": 4}", "4"] {
        t.store().put(&format!("{}/snapshot/EXPIRING", t.root()), text.as_bytes()).unwrap();
        let e = t.create_tag("three", Some(3)).unwrap_err();
        assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("EXPIRING"), "{e}");
    }
}

#[test]
fn changes_of_what_is_being_expired_are_told_as_long_as_they_are_there() {
    let kept = [("changelog.num-retained.min", "100"), ("changelog.num-retained.max", "200")];
    for changes in 1.. {
        let (_dir, store, t) = table(&kept);
        ["a", "b", "c", "d", "e", "f", "g", "h"].iter().for_each(|name| commit(&t, &[], name));
        expire(&t, &now(5)).unwrap();
        t.create_tag("five", Some(5)).unwrap();
        assert_eq!(earliest_told(&t, ChangeMode::Delta, 8).unwrap(), Some(1));
        store.die_after(changes);
        let done = expire(&t, &now(2)).is_ok();
        store.revive();
        assert_eq!(earliest_told(&t, ChangeMode::Delta, 8).unwrap(), Some(1), "{changes}");
        t.roll_back(&RollbackTo::Tag("five".into())).unwrap();
        commit(&t, &[], "x");
        assert_eq!(earliest_told(&t, ChangeMode::Delta, 6).unwrap(), Some(1), "{changes}");
        if done {
            assert!(changes > 6, "{changes}");
            break;
        }
    }
    // The removed file of the first commit is not reported. The next commits remove files, so they have nothing to
    // report by delta.
    let (_dir, _, t) = half_expired(&[], 11);
    assert_eq!(earliest_told(&t, ChangeMode::Delta, 5).unwrap(), Some(2));
}

#[test]
fn what_is_half_expired_is_not_gone_back_to_and_goes_whatever_options_say_later() {
    let (_dir, _, t) = half_expired(&[], 4);
    assert_eq!(names(&t), set(&["b", "c", "d", "e"]));
    for refused in [t.create_tag("three", Some(3)), t.roll_back(&RollbackTo::Snapshot(3)).map(drop)] {
        let e = refused.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::NotFound);
        assert!(e.to_string().contains("snapshot 3 is being expired"), "{e}");
    }
    // A tag keeps its snapshot whole.
    t.create_tag("also", Some(2)).unwrap();
    assert_eq!(plan_expiry(&t, &now(9)).unwrap().snapshots, [1, 2, 3]);
    expire(&t, &now(9)).unwrap();
    assert_eq!((t.snapshot_ids().unwrap(), names(&t)), (vec![4, 5], set(&["b", "d", "e"])));
    check_whole(&t);
}

#[test]
fn a_rollback_over_what_is_half_expired_shows_none_of_it() {
    for changes in 0..9 {
        let (_dir, store, t) = half_expired(&[], 6);
        store.die_after(changes);
        drop(t.roll_back(&RollbackTo::Tag("two".into())));
        store.revive();
        let lasting = t.lasting_from().unwrap();
        let reader = SnapshotReader::new(&t, &t.latest_schema().unwrap()).unwrap();
        for id in t.snapshot_ids().unwrap().into_iter().filter(|id| *id >= lasting) {
            reader.live(&t.snapshot(id).unwrap(), &mut |path| assert!(t.store().size(&path).is_ok())).unwrap();
        }
    }
}

#[test]
fn a_tag_beside_what_is_half_expired_is_dropped_with_its_files() {
    // All files are removed, the snapshots not yet.
    let (_dir, _, t) = half_expired(&[], 11);
    drop_tag(&t, "two").unwrap();
    assert!(t.tag_names().unwrap().is_empty());
    expire(&t, &now(2)).unwrap();
    check_whole(&t);
    // The snapshot of the tag is removed, and the next one has lost some files.
    let (_dir, _, t) = half_expired(&[], 11);
    t.store().delete(&t.snapshot_path(2)).unwrap();
    drop_tag(&t, "two").unwrap();
    assert_eq!(names(&t), set(&["d", "e"]));
    check_whole_from(&t, 4);
}

fn check_whole_from(t: &TableFolder, first: i64) {
    let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
    for snapshot in t.snapshots().unwrap().into_iter().filter(|s| s.id >= first) {
        reader.live(&snapshot, &mut |path| assert!(t.store().size(&path).is_ok())).unwrap();
    }
}

#[test]
fn a_branch_that_is_half_expired_stops_no_expiry_and_no_search_for_orphans() {
    let (_dir, store, t) = table(&[]);
    commit(&t, &[], "a");
    t.create_tag("one", None).unwrap();
    let branch = t.create_branch("side", Some("one")).unwrap();
    drop_tag(&branch, "one").unwrap();
    commit(&branch, &["a"], "s");
    commit(&branch, &["s"], "u");
    ["b", "c"].iter().for_each(|name| commit(&t, &[], name));
    dies(&store, 6, || expire(&branch, &now(1)));
    let lists = branch.snapshot(2).unwrap().delta_manifest_list;
    assert!(t.store().size(&manifest(&t, &lists)).is_err() && branch.has_snapshot(2).unwrap());
    assert!(crate::paimon::commit::orphans::orphan_files(&t, Some(now_ms() + 1)).is_ok());
    assert_eq!(expire(&t, &now(1)).unwrap().snapshots, [1, 2]);
    expire(&branch, &now(1)).unwrap();
    check_whole(&t);
    check_whole(&branch);
}

fn manifest(t: &TableFolder, name: &str) -> String {
    crate::paimon::spec::partition::manifest_path(t.root(), name).unwrap()
}

#[test]
fn no_changelog_is_made_of_what_has_lost_its_files() {
    let (_dir, store, t) = table(&[("changelog-producer", "input")]);
    ["a", "b", "c"].iter().for_each(|name| logged(&t, name));
    dies(&store, 2, || expire(&t, &now(1)));
    let kept = [("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")];
    set_options(&t, &|options| options.extend(kept.map(|(key, value)| (key.to_owned(), value.to_owned()))));
    expire(&t, &now(1)).unwrap();
    // One file of a changelog was removed before.
    assert_eq!((t.snapshot_ids().unwrap(), t.changelog_ids().unwrap()), (vec![3], vec![2]));
    check_logs(&t);
    check_whole(&t);
}

#[test]
fn changes_are_told_from_where_a_former_producer_left_what_was_added() {
    let kept = [("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")];
    let (_dir, _, t) = table(&[kept[0], kept[1], ("changelog-producer", "input")]);
    ["a", "b"].iter().for_each(|name| logged(&t, name));
    compacted(&t, &["a", "b"], "ab");
    logged(&t, "c");
    expire(&t, &now(1)).unwrap();
    set_options(&t, &|options| drop(options.insert("changelog-producer".into(), "none".into())));
    ["d", "e"].iter().for_each(|name| commit(&t, &[], name));
    expire(&t, &now(1)).unwrap();
    assert_eq!(t.changelog_ids().unwrap(), [1, 2, 3, 4, 5]);
    // Compactions add nothing, so that the third does not matter.
    assert_eq!(earliest_told(&t, ChangeMode::Delta, 6).unwrap(), Some(3));
    assert_eq!(earliest_told(&t, ChangeMode::Changelog, 6).unwrap(), Some(1));
    assert_eq!(earliest_told(&t, ChangeMode::Delta, 2).unwrap(), None);
}

#[test]
fn what_commits_added_before_there_was_a_producer_stays_for_their_changelogs() {
    let kept = [("changelog.num-retained.min", "9"), ("changelog.num-retained.max", "9")];
    let (_dir, _, t) = table(&kept);
    ["a", "b"].iter().for_each(|name| commit(&t, &[], name));
    expire(&t, &now(1)).unwrap();
    let producer = |producer: &'static str| {
        set_options(&t, &|options| drop(options.insert("changelog-producer".into(), producer.into())));
    };
    producer("input");
    compacted(&t, &["a", "b"], "ab");
    logged(&t, "c");
    expire(&t, &now(1)).unwrap();
    // The second expired when there was a producer already, and has no changelog of it.
    assert_eq!((t.changelog_ids().unwrap(), names(&t)), (vec![1, 2, 3], set(&["a", "ab", "c", "log-c"])));
    producer("none");
    check_logs_that_tell(&t);
    assert_eq!(earliest_told(&t, ChangeMode::Delta, 1).unwrap(), Some(1));
    assert_eq!(earliest_told(&t, ChangeMode::Delta, 4).unwrap(), Some(3));
}

fn check_logs_that_tell(t: &TableFolder) {
    let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
    for root in kept_changelogs(t).unwrap().iter().filter(|root| root.held == HeldPart::Delta) {
        reader.added(&root.snapshot).unwrap().iter().for_each(|path| assert!(t.store().size(path).is_ok(), "{path}"));
    }
}

#[test]
fn a_tag_stands_for_its_snapshot_though_that_has_expired() {
    let (_dir, _, t) = table(&[]);
    commit(&t, &[], "a");
    t.create_tag("one", None).unwrap();
    ["b", "c"].iter().for_each(|name| commit(&t, &[], name));
    expire(&t, &now(1)).unwrap();
    let ends = |mode: &str, start: End, end: End| {
        let options = BTreeMap::from([("incremental-between-scan-mode".to_owned(), mode.to_owned())]);
        between(&t, &options, &start, &end)
    };
    let one = || End::Tag("one".into());
    let diff = ends("diff", one(), End::Snapshot(3)).unwrap().unwrap();
    assert_eq!((diff.start, diff.before.map(|s| s.id), diff.end.id), (1, Some(1), 3));
    assert_eq!(ends("delta", End::Snapshot(0), one()).unwrap().unwrap().end.id, 1);
    assert!(ends("delta", one(), End::Snapshot(1)).unwrap().is_none());
    assert_eq!(ends("diff", End::Snapshot(1), End::Snapshot(3)).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_branch_that_was_half_made_or_half_dropped_is_none_and_can_be_both() {
    for changes in 0.. {
        let (_dir, store, t) = table(&[]);
        commit(&t, &[], "a");
        set_options(&t, &|options| drop(options.insert("x".into(), "y".into())));
        t.create_tag("one", None).unwrap();
        store.die_after(changes);
        let done = t.create_branch("side", Some("one")).is_ok();
        store.revive();
        assert_eq!((t.branches().unwrap().len() == 1, t.branch("side").is_ok()), (done, done), "{changes}");
        expire(&t, &now(1)).unwrap();
        if !done {
            assert_eq!(latest(&t.create_branch("side", Some("one")).unwrap()), 1);
        }
        dies(&store, 1, || t.drop_branch("side"));
        assert!(t.branches().unwrap().is_empty() && t.branch("side").is_err());
        t.drop_branch("side").unwrap();
        assert!(t.branch_folders().unwrap().is_empty());
        if done {
            assert!(changes > 3, "{changes}");
            break;
        }
    }
}

#[test]
fn a_branch_that_is_followed_keeps_its_files_from_what_the_other_line_took_out() {
    for changes in 0.. {
        let (_dir, store, t) = table(&[]);
        commit(&t, &[], "a");
        t.create_tag("one", None).unwrap();
        let branch = t.create_branch("side", Some("one")).unwrap();
        commit(&t, &["a"], "b");
        commit(&t, &["b"], "c");
        ["s", "u", "v"].iter().for_each(|name| commit(&branch, &[], name));
        drop_tag(&branch, "one").unwrap();
        // The branch continues from 4. Only the tag and the first snapshot of the table know the common part.
        expire(&branch, &now(1)).unwrap();
        store.die_after(changes);
        let done = t.fast_forward("side").is_ok();
        store.revive();
        check_whole(&t);
        assert!(!done || latest(&t) == 4);
        t.fast_forward("side").unwrap();
        t.drop_branch("side").unwrap();
        commit(&t, &[], "w");
        expire(&t, &now(1)).unwrap();
        assert_eq!(latest(&t), 5);
        check_whole(&t);
        if done {
            break;
        }
    }
}
