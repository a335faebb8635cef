//! Random histories of commits and maintenance, compared with a model. Any step may be interrupted.
//!
//! The model knows the rows (files) of each commit by the commit's manifest list. Its number and branch do not
//! matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::tests::{file, now, set_options, table_with};
use super::*;
use crate::error::ErrorKind;
use crate::format::task::{FileSource, NewBucketFile};
use crate::paimon::catalog::filesystem::MAIN_BRANCH;
use crate::paimon::catalog::refs::RollbackTo;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::manifest::live::{changelog_manifests, delta_manifests};
use crate::paimon::plan::changes::earliest_told;
use crate::paimon::plan::travel::ChangeMode;
use crate::store::Store;
use crate::store::testing::{Dying, Hooked};

/// How many histories a test run goes through, unless the environment names another number in `FRAZIL_HISTORIES`.
const HISTORIES: u64 = 12;

/// Numbers that look random (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn one_of<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())].clone())
    }
}

/// The mark of a commit.
fn key(snapshot: &PaimonSnapshot) -> String {
    snapshot.delta_manifest_list.clone()
}

/// A step of maintenance.
#[derive(Clone, Debug)]
enum MaintenanceStep {
    CreateTag(String, Option<i64>, Option<i64>),
    DropTag(String),
    CreateBranch(String, String),
    DropBranch(String),
    RollBack(RollbackTo),
    FastForward(String),
    Expire(ExpiryRequest),
}

/// The visible state of a branch.
#[derive(Clone, Debug, Default, PartialEq)]
struct Shown {
    latest: Option<String>,
    /// The commits that tags name, with their snapshots' numbers.
    tags: BTreeMap<String, (i64, String)>,
    /// The commits of the snapshots that are whole.
    snapshots: BTreeMap<i64, String>,
}

struct History {
    dice: Dice,
    store: Arc<Hooked<Dying>>,
    main: TableFolder,
    _dir: tempfile::TempDir,
    /// The files of each commit's state.
    states: BTreeMap<String, BTreeSet<String>>,
    files: usize,
    told: Vec<String>,
    /// The visible state after the last step, if nothing was committed since.
    seen: Option<BTreeMap<String, Shown>>,
}

impl History {
    fn new(seed: u64) -> History {
        let dir = tempfile::tempdir().unwrap();
        let store = Dying::after(i64::MAX);
        let main = table_with(&(store.clone() as Arc<dyn Store>), &dir, &[]);
        let states = BTreeMap::new();
        History { dice: Dice(seed), store, main, _dir: dir, states, files: 0, told: Vec::new(), seen: None }
    }

    /// A branch to do something to; mostly the main one.
    fn branch(&mut self) -> TableFolder {
        let others = self.main.branches().unwrap();
        match self.dice.below(3) {
            0 => self.dice.one_of(&others).map_or(self.main.clone(), |name| self.main.branch(&name).unwrap()),
            _ => self.main.clone(),
        }
    }

    /// A new file that is really there.
    fn put(&mut self, t: &TableFolder, prefix: &str) -> (String, NewBucketFile) {
        self.files += 1;
        let name = format!("{prefix}{}", self.files);
        for name in [format!("{name}.parquet"), format!("{name}.index")] {
            t.store().put_if_absent(&format!("{}/bucket-0/{name}", t.root()), b"x").unwrap();
        }
        let new = file(t, &name);
        (name, new)
    }

    /// Adds a file, or puts one in the place of others. It is visible at once.
    fn commit(&mut self, t: &TableFolder) {
        self.seen = None;
        let before = t.latest_snapshot().unwrap();
        let mut state = before.as_ref().map(|s| self.states[&key(s)].clone()).unwrap_or_default();
        let compacts = state.len() > 1 && self.dice.below(3) == 0;
        let (name, new) = self.put(t, "f");
        let mut changes = Changes { added: vec![new], ..Changes::default() };
        if compacts {
            let live: Vec<String> = state.iter().cloned().collect();
            let from = self.dice.below(live.len() - 1);
            let taken = &live[from..live.len().min(from + 2)];
            state.retain(|name| !taken.contains(name));
            changes.removed = taken.iter().map(|name| file(t, name).file).collect();
            changes.added[0].source = FileSource::Compact;
        } else if t.latest_schema().unwrap().options().produces_changelog() {
            changes.changelog.push(self.put(t, "log").1);
        }
        self.told.push(format!("{} commits {name}, compacts {compacts}", t.branch_name()));
        let commit = Commit::new(t, changes);
        let commit = if compacts && self.dice.below(2) == 0 { commit.compacting() } else { commit };
        let snapshot = commit.run().into_result().unwrap();
        assert_eq!(snapshot.id, before.map_or(1, |s| s.id + 1));
        state.insert(name);
        self.states.insert(key(&snapshot), state);
        assert_eq!(t.latest_snapshot().unwrap().map(|s| key(&s)), Some(key(&snapshot)));
    }

    /// Other options, from now on.
    fn change_options(&mut self, t: &TableFolder) {
        let producer = ["none", "input"][self.dice.below(2)];
        let kept = [None, None, Some("3"), Some("6"), Some("9")][self.dice.below(5)];
        self.seen = None;
        self.told.push(format!("{}: producer {producer}, changelogs {kept:?}", t.branch_name()));
        set_options(t, &|options| {
            options.insert("changelog-producer".into(), producer.into());
            for key in ["changelog.num-retained.min", "changelog.num-retained.max"] {
                options.remove(key);
                options.extend(kept.map(|n| (key.to_owned(), n.to_owned())));
            }
        });
    }

    fn action(&mut self, t: &TableFolder) -> Option<MaintenanceStep> {
        let tag = self.dice.one_of(&t.tag_names().unwrap());
        let id = self.dice.one_of(&t.snapshot_ids().unwrap());
        let branch = format!("b{}", self.dice.below(2));
        Some(match self.dice.below(16) {
            0 | 1 => {
                let name = format!("t{}", self.dice.below(4));
                MaintenanceStep::CreateTag(name, id.filter(|_| self.dice.below(2) == 0), None)
            }
            2 => MaintenanceStep::CreateTag(format!("over{}", self.dice.below(2)), None, Some(-1)),
            3 => MaintenanceStep::DropTag(tag?),
            4 | 5 if t.branch_name() == MAIN_BRANCH => MaintenanceStep::CreateBranch(branch, tag?),
            6 if t.branch_name() == MAIN_BRANCH => MaintenanceStep::DropBranch(branch),
            7 => MaintenanceStep::RollBack(RollbackTo::Snapshot(id?)),
            8 | 9 => MaintenanceStep::RollBack(RollbackTo::Tag(tag?)),
            10 if t.branch_name() == MAIN_BRANCH => MaintenanceStep::FastForward(branch),
            _ => {
                let limit = [None, None, Some(1), Some(2)][self.dice.below(4)];
                MaintenanceStep::Expire(ExpiryRequest { limit, ..now(1 + self.dice.below(4) as i64) })
            }
        })
    }

    fn run(&self, t: &TableFolder, action: &MaintenanceStep) -> Result<()> {
        match action {
            MaintenanceStep::CreateTag(name, id, retained) => t.create_tag_for(name, *id, *retained),
            MaintenanceStep::DropTag(name) => drop_tag(t, name),
            MaintenanceStep::CreateBranch(name, tag) => t.create_branch(name, Some(tag)).map(drop),
            MaintenanceStep::DropBranch(name) => t.drop_branch(name),
            MaintenanceStep::RollBack(to) => t.roll_back(to).map(drop),
            MaintenanceStep::FastForward(to) => t.fast_forward(to),
            MaintenanceStep::Expire(expiry) => expire(t, expiry).map(drop),
        }
    }

    /// Everything that is visible. All of it can be read.
    fn shown(&self) -> BTreeMap<String, Shown> {
        let names = self.main.branches().unwrap().into_iter().chain([MAIN_BRANCH.to_owned()]);
        names.map(|name| (name.clone(), self.shown_on(&self.main.branch(&name).unwrap()))).collect()
    }

    fn shown_on(&self, t: &TableFolder) -> Shown {
        let lasting = t.lasting_from().unwrap();
        let latest = t.latest_snapshot().unwrap();
        let last = t.snapshots().unwrap().into_iter().filter(|s| s.id >= lasting);
        let shown = Shown {
            latest: latest.as_ref().map(key),
            tags: t
                .tags()
                .unwrap()
                .iter()
                .map(|tag| (tag.name.clone(), (tag.snapshot.id, key(&tag.snapshot))))
                .collect(),
            snapshots: last.map(|s| (s.id, key(&s))).collect(),
        };
        assert_eq!(latest.as_ref().map(|s| s.id), shown.snapshots.last_key_value().map(|(id, _)| *id), "hidden");
        let tagged = t.tags().unwrap().into_iter().map(|tag| tag.snapshot);
        for snapshot in t.snapshots().unwrap().into_iter().filter(|s| s.id >= lasting).chain(tagged) {
            self.check_state(t, &snapshot);
        }
        self.check_changes(t, latest.as_ref());
        shown
    }

    /// A snapshot has the files that it should have, and all of them exist.
    fn check_state(&self, t: &TableFolder, snapshot: &PaimonSnapshot) {
        let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
        let mut found = BTreeSet::new();
        reader
            .live(snapshot, &mut |path| {
                self.check_there(t, snapshot, &path);
                let name = path.rsplit('/').next().unwrap();
                found.extend(name.strip_suffix(".parquet").map(str::to_owned));
            })
            .unwrap_or_else(|e| panic!("{} {}: {e}", t.branch_name(), snapshot.id));
        assert_eq!(&found, &self.states[&key(snapshot)], "{} {}", t.branch_name(), snapshot.id);
    }

    fn check_there(&self, t: &TableFolder, snapshot: &PaimonSnapshot, path: &str) {
        assert!(t.store().size(path).is_ok(), "{} {}: {path}", t.branch_name(), snapshot.id);
    }

    /// All changes that are said to be known can be read.
    fn check_changes(&self, t: &TableFolder, latest: Option<&PaimonSnapshot>) {
        let reader = SnapshotReader::new(t, &t.latest_schema().unwrap()).unwrap();
        let Some(latest) = latest else { return };
        for mode in [ChangeMode::Delta, ChangeMode::Changelog] {
            let first = earliest_told(t, mode, latest.id).unwrap().unwrap();
            assert!(first <= latest.id);
            for commit in (first..=latest.id).map(|id| t.commit_left(id).unwrap()) {
                let files = match mode {
                    ChangeMode::Delta if commit.commit_kind == "APPEND" => {
                        delta_manifests(t.manifests(), &commit).unwrap();
                        reader.added(&commit).unwrap()
                    }
                    ChangeMode::Changelog if commit.commit_kind != "OVERWRITE" => {
                        changelog_manifests(t.manifests(), &commit).unwrap();
                        reader.changelog(&commit).unwrap()
                    }
                    _ => Vec::new(),
                };
                let is_told = mode == ChangeMode::Delta || commit.changelog_manifest_list.is_some();
                assert!(!is_told || commit.commit_kind != "APPEND" || !files.is_empty());
                files.iter().for_each(|path| self.check_there(t, &commit, path));
            }
        }
        // Changelogs that record changes record all of them.
        for root in kept_changelogs(t).unwrap() {
            let files = match root.held {
                HeldPart::Delta => reader.added(&root.snapshot).unwrap(),
                _ => reader.changelog(&root.snapshot).unwrap(),
            };
            files.iter().for_each(|path| self.check_there(t, &root.snapshot, path));
        }
    }

    /// Whether a step may end in the visible state.
    fn check_step(
        &self,
        (t, action): (&TableFolder, &MaintenanceStep),
        (before, after): (&BTreeMap<String, Shown>, &BTreeMap<String, Shown>),
        result: &Result<()>,
    ) {
        let own = t.branch_name().to_owned();
        let (was, is) = (&before[&own], &after[&own]);
        for (name, shown) in before.iter().filter(|(name, _)| **name != own) {
            match (action, after.get(name)) {
                (MaintenanceStep::DropBranch(dropped), None) => assert_eq!(dropped, name),
                (_, now) => assert_eq!(now, Some(shown), "{name}"),
            }
        }
        let done = result.is_ok();
        let lost: BTreeSet<&String> =
            was.tags.iter().filter(|(n, t)| is.tags.get(*n) != Some(t)).map(|(n, _)| n).collect();
        match action {
            MaintenanceStep::CreateTag(name, _, _) => {
                assert!(lost.is_empty() && is.tags.keys().all(|n| n == name || was.tags.contains_key(n)));
                assert!(!done || is.tags.contains_key(name));
            }
            MaintenanceStep::DropTag(name) => {
                assert!(lost.iter().all(|n| *n == name) && (!done || !is.tags.contains_key(name)))
            }
            MaintenanceStep::Expire(expiry) => {
                assert!(lost.iter().all(|n| n.starts_with("over")));
                let kept = expiry.retain_min.unwrap_or_default() as usize;
                assert!(was.snapshots.iter().rev().take(kept).all(|(id, key)| is.snapshots.get(id) == Some(key)));
            }
            MaintenanceStep::CreateBranch(name, tag) => {
                assert!(lost.is_empty() && (!done || after.contains_key(name)));
                if let (Some(branch), None) = (after.get(name), before.get(name)) {
                    let (id, state) = &was.tags[tag];
                    let tags = BTreeMap::from([(tag.clone(), (*id, state.clone()))]);
                    let snapshots = BTreeMap::from([(*id, state.clone())]);
                    assert_eq!(*branch, Shown { latest: Some(state.clone()), tags, snapshots });
                }
            }
            MaintenanceStep::DropBranch(name) => assert!(lost.is_empty() && (!done || !after.contains_key(name))),
            MaintenanceStep::RollBack(to) => {
                let (id, state) = match to {
                    RollbackTo::Snapshot(id) => {
                        // One that is being expired may have a tag.
                        let tagged = was.tags.values().find(|tag| tag.0 == *id).map(|tag| tag.1.clone());
                        (*id, was.snapshots.get(id).cloned().or(tagged))
                    }
                    RollbackTo::Tag(name) => (was.tags[name].0, Some(was.tags[name].1.clone())),
                };
                assert!(lost.iter().all(|name| was.tags[*name].0 > id));
                assert!(!done || (lost.len() == was.tags.values().filter(|tag| tag.0 > id).count()));
                assert!(!done || state.is_none() || is.latest == state);
                // Earlier snapshots stay.
                assert!(was.snapshots.range(..id).all(|(id, key)| is.snapshots.get(id) == Some(key)));
                let later = was.snapshots.range(id..).map(|(_, key)| key);
                assert!(is.latest == state || later.chain(&was.latest).any(|key| is.latest.as_ref() == Some(key)));
                return;
            }
            MaintenanceStep::FastForward(to) => {
                let Some(other) = before.get(to) else { return assert_eq!(was, is) };
                let common = |key: &&String| {
                    other.snapshots.values().any(|k| k == *key) || other.tags.values().any(|(_, k)| k == *key)
                };
                let both = was.snapshots.iter().filter(|(_, key)| common(key)).map(|(id, _)| *id).max();
                let all = was.snapshots.range(both.unwrap_or(0)..).map(|(_, key)| key).chain(other.snapshots.values());
                assert!(
                    is.latest.is_none() && both.is_none()
                        || all.chain(&was.latest).any(|key| is.latest.as_ref() == Some(key))
                );
                assert!(
                    !done
                        || (is.latest == other.latest && other.tags.iter().all(|(n, tag)| is.tags.get(n) == Some(tag)))
                );
                return;
            }
        }
        assert_eq!(was.latest, is.latest);
    }

    /// Whether something may be refused although nothing went wrong.
    fn may_refuse(t: &TableFolder, action: &MaintenanceStep, e: &Error) -> bool {
        match action {
            MaintenanceStep::CreateTag(..) => matches!(e.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound),
            // It was made again after it had been done.
            MaintenanceStep::DropTag(name) => e.kind() == ErrorKind::NotFound && !t.tag_names().unwrap().contains(name),
            MaintenanceStep::CreateBranch(name, _) => {
                e.kind() == ErrorKind::AlreadyExists && t.branches().unwrap().contains(name)
            }
            MaintenanceStep::DropBranch(name) => {
                e.kind() == ErrorKind::NotFound && !t.branch_folders().unwrap().contains(name)
            }
            MaintenanceStep::RollBack(RollbackTo::Snapshot(id)) => {
                e.to_string().contains("being expired") && *id < t.lasting_from().unwrap()
            }
            MaintenanceStep::FastForward(to) => !t.branches().unwrap().contains(to),
            _ => false,
        }
    }

    fn step(&mut self) {
        let t = self.branch();
        match self.dice.below(20) {
            0..=8 => return self.commit(&t),
            9 => return self.change_options(&t),
            _ => {}
        }
        let Some(action) = self.action(&t) else { return };
        let mut dies = self.dice.below(2) == 0;
        loop {
            let before = self.seen.take().unwrap_or_else(|| self.shown());
            if dies {
                let most = [4, 12, 40][self.dice.below(3)];
                self.store.die_after(self.dice.below(most) as i64);
            }
            let result = self.run(&t, &action);
            self.store.revive();
            let is_over = !matches!(&result, Err(e) if e.to_string().contains("it is dead"));
            self.told.push(format!(
                "{}: {action:?} {:?}",
                t.branch_name(),
                result.as_ref().map_err(ToString::to_string)
            ));
            if let Err(e) = &result {
                assert!(!is_over || History::may_refuse(&t, &action, e), "{e}");
            }
            let after = self.shown();
            self.check_step((&t, &action), (&before, &after), &result);
            self.seen = Some(after);
            if is_over || self.dice.below(2) == 0 {
                return;
            }
            dies = self.dice.below(4) == 0;
        }
    }

    /// Files that nothing leads to are not needed, not even by snapshots that are being expired.
    fn check_orphans(&self) {
        if self.main.branches().unwrap() != self.main.branch_folders().unwrap() {
            return;
        }
        let orphans = crate::paimon::commit::orphans::orphan_files(&self.main, Some(now_ms() + 1)).unwrap();
        for path in orphans {
            self.main.store().delete(&path).unwrap();
        }
        self.shown();
    }
}

/// Runs one history. If something is wrong, returns its steps.
fn history(seed: u64) -> std::result::Result<(), String> {
    let mut history = History::new(seed);
    let run = std::panic::AssertUnwindSafe(|| {
        for _ in 0..40 {
            history.step();
        }
        history.check_orphans();
        for t in history.shown().keys().map(|name| history.main.branch(name).unwrap()) {
            expire(&t, &now(1)).unwrap();
            expire(&t, &now(1)).unwrap();
            assert!(t.snapshot_ids().unwrap().len() <= 1);
        }
        history.shown();
        history.check_orphans();
    });
    std::panic::catch_unwind(run).map_err(|_| format!("history {seed}:\n{}", history.told.join("\n")))
}

#[test]
fn no_history_of_interrupted_action_loses_anything() {
    let named = |key: &str| std::env::var(key).ok().and_then(|n| n.parse::<u64>().ok());
    let first = named("FRAZIL_FIRST_HISTORY").unwrap_or(0);
    let bad: Vec<String> = (first..first + named("FRAZIL_HISTORIES").unwrap_or(HISTORIES))
        .filter_map(|seed| history(seed).err())
        .collect();
    assert!(bad.is_empty(), "{} histories went wrong, the first of them:\n{}", bad.len(), bad[0]);
}
