//! Tags and branches: create, drop and follow them.
//!
//! A tag is a copy of a snapshot's file under a name. A branch is a folder with schemas, snapshots and tags of its own;
//! data files and manifests are the table's.
//!
//! Source: Java's `TagManager`, `FileSystemBranchManager`, `RollbackHelper`.

use std::collections::BTreeSet;

use super::filesystem::{MAIN_BRANCH, TableFolder};
use super::warehouse::{files_below, remove_below};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::catalog::tag_times::{tag_file, trimmed};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::location::join;
use crate::types::temporal::now_ms;

/// The target of a rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollbackTo {
    /// The snapshot with this number.
    Snapshot(i64),
    /// The snapshot of this tag.
    Tag(String),
}

/// A name that the user gave to something new.
fn new_name<'a>(name: &'a str, what: &str) -> Result<&'a str> {
    let bad = || Error::invalid(format!("'{}' can't be the name of a {what}", name.escape_debug()));
    crate::paimon::spec::partition::checked_name(name).ok().filter(|n| !n.trim().is_empty()).ok_or_else(bad)
}

impl TableFolder {
    /// Makes a tag that expiry keeps.
    #[cfg(test)]
    pub(crate) fn create_tag(&self, name: &str, snapshot: Option<i64>) -> Result<()> {
        self.create_tag_for(name, snapshot, None)
    }

    /// Makes a tag for a snapshot; for the latest one if no snapshot is given. Expiry removes the tag after
    /// `retained_ms` milliseconds, if given.
    ///
    /// # Errors
    /// `AlreadyExists` if the tag already exists; `NotFound` if the snapshot does not exist; `InvalidInput` if that
    /// can't be its name; those of the store.
    pub fn create_tag_for(&self, name: &str, snapshot: Option<i64>, retained_ms: Option<i64>) -> Result<()> {
        let path = self.tag_path(new_name(name, "tag")?);
        let none = || Error::not_found("the table has no snapshot to tag").with("path", self.root());
        let snapshot = match snapshot {
            Some(id) => self.snapshot_or_tagged(id)?,
            None => self.latest_snapshot()?.ok_or_else(none)?,
        };
        let taken = |e: Error| match e.kind() {
            ErrorKind::AlreadyExists => Error::already_exists(format!("the tag '{name}' already exists")),
            _ => e,
        };
        let bytes = tag_file(&snapshot, retained_ms, now_ms());
        let make = || self.store().put_if_absent(&path, &bytes).map_err(taken);
        self.tag_lasting(&snapshot, make, || drop(self.store().delete(&path)))
    }

    /// Makes (`make`) a tag of a snapshot that has all its files. The tag keeps the files from then on, but an expiry
    /// may have begun just before. An expiry records the snapshots that it removes before it reads tags. So this
    /// checks that record again and, if necessary, undoes the tag (`undo`).
    ///
    /// # Errors
    /// `NotFound` if the snapshot has expired or is about to; those of `make` and of the store.
    pub(crate) fn tag_lasting(
        &self,
        snapshot: &PaimonSnapshot,
        make: impl FnOnce() -> Result<()>,
        undo: impl FnOnce(),
    ) -> Result<()> {
        let lasts = || Ok(snapshot.id >= self.lasting_from()? && self.has_snapshot(snapshot.id)?);
        let by_itself = lasts()?;
        if !by_itself {
            self.check_lasts(snapshot)?;
        }
        make()?;
        if by_itself && !lasts()? {
            undo();
            return Err(Error::not_found(format!("snapshot {} expired before it was tagged", snapshot.id)));
        }
        Ok(())
    }

    /// A snapshot by its number, also one that has expired and that a tag keeps.
    fn snapshot_or_tagged(&self, id: i64) -> Result<PaimonSnapshot> {
        let found = self.snapshot(id);
        match found {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let tagged = self.tags()?.into_iter().find(|tag| tag.snapshot.id == id);
                tagged.map(|tag| trimmed(&tag.snapshot)).ok_or(e)
            }
            found => found,
        }
    }

    /// Whether a tag keeps the files of a snapshot.
    fn is_tagged(&self, snapshot: &PaimonSnapshot) -> Result<bool> {
        Ok(self.tags()?.iter().any(|tag| is_same_commit(&tag.snapshot, snapshot)))
    }

    /// Refuses a snapshot if some of its files may already be deleted.
    ///
    /// # Errors
    /// `NotFound` if its expiry has begun, and no tag keeps it; those of the store.
    pub(crate) fn check_lasts(&self, snapshot: &PaimonSnapshot) -> Result<()> {
        let first = self.lasting_from()?;
        if snapshot.id >= first || self.is_tagged(snapshot)? {
            return Ok(());
        }
        Err(Error::not_found(format!(
            "snapshot {} is being expired, and some of its files may be deleted",
            snapshot.id
        ))
        .with("path", self.snapshot_path(snapshot.id))
        .hint(format!("Snapshots from {first} on are complete, and so are those with tags")))
    }

    /// Gives a tag another name.
    ///
    /// # Errors
    /// `NotFound` if the tag does not exist; `AlreadyExists` if the name is taken; `InvalidInput` if that can't be its
    /// name; those of the store.
    pub fn rename_tag(&self, name: &str, to: &str) -> Result<()> {
        let path = self.tag_path(new_name(to, "tag")?);
        self.tag(name)?;
        let bytes = self.store().get(&self.tag_path(name))?;
        self.store().put_if_absent(&path, &bytes).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::already_exists(format!("the tag '{to}' already exists")),
            _ => e,
        })?;
        self.store().delete(&self.tag_path(name))
    }

    /// Makes a branch of a tag's snapshot, or without any.
    ///
    /// # Errors
    /// `AlreadyExists` if the branch already exists; `NotFound` if the tag does not exist; `InvalidInput` if that can't
    /// be its name; those of the store.
    pub fn create_branch(&self, name: &str, tag: Option<&str>) -> Result<TableFolder> {
        self.clear_for_branch(name)?;
        let tag = tag.map(|tag| self.tag(tag)).transpose()?;
        let branch = self.on_branch(name);
        let last_schema = match &tag {
            Some(tag) => tag.snapshot.schema_id,
            None => self.latest_schema()?.id,
        };
        let fill = || -> Result<()> {
            if let Some(tag) = &tag {
                copy(self, &self.tag_path(&tag.name), &branch.tag_path(&tag.name))?;
                branch
                    .store()
                    .put_if_absent(&branch.snapshot_path(tag.snapshot.id), &trimmed(&tag.snapshot).encode())?;
            }
            // Last, because a branch exists once it has its lowest schema.
            for id in self.schema_ids()?.into_iter().rev().filter(|id| *id <= last_schema) {
                copy(self, &self.schema_path(id), &branch.schema_path(id))?;
            }
            Ok(())
        };
        if let Err(e) = fill() {
            let _ = branch.remove_branch_folder();
            return Err(e.with("branch", name));
        }
        Ok(branch)
    }

    /// Checks that a new branch can have a name, and removes what an interrupted call left there.
    fn clear_for_branch(&self, name: &str) -> Result<()> {
        new_name(name, "branch")?;
        if name == MAIN_BRANCH || name.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Error::invalid(format!("'{name}' can't be the name of a branch")));
        }
        if self.branch_folders()?.iter().any(|branch| branch == name) {
            let there = self.on_branch(name);
            if there.is_complete()? {
                return Err(Error::already_exists(format!("the branch '{name}' already exists")));
            }
            there.remove_branch_folder()?;
        }
        Ok(())
    }

    /// Gives a branch another name. Object stores can't rename folders: there its files are copied and then removed. If
    /// that is interrupted, the branch has its old name, or both names.
    ///
    /// # Errors
    /// `NotFound` if the branch does not exist; `AlreadyExists` if the name is taken; `InvalidInput` for the main
    /// branch, and if that can't be its name; those of the store.
    pub fn rename_branch(&self, name: &str, to: &str) -> Result<()> {
        if name == MAIN_BRANCH {
            return Err(Error::invalid("the main branch can't be renamed"));
        }
        let (from, branch) = (self.branch(name)?, self.on_branch(to));
        self.clear_for_branch(to)?;
        match self.store().rename_folder(&from.branch_root(), &branch.branch_root()) {
            Err(e) if e.kind() == ErrorKind::Unsupported => {}
            renamed => return renamed,
        }
        let root = from.branch_root();
        for path in files_below(self.store().as_ref(), &root)? {
            let end = path.strip_prefix(&root).unwrap_or_default();
            if !end.starts_with("/schema/") {
                copy(self, &path, &format!("{}{end}", branch.branch_root()))?;
            }
        }
        // Last, because a branch exists once it has its lowest schema.
        for id in from.schema_ids()?.into_iter().rev() {
            copy(self, &from.schema_path(id), &branch.schema_path(id))?;
        }
        from.remove_branch_folder()
    }

    fn remove_branch_folder(&self) -> Result<()> {
        // From here on the branch does not exist.
        if let Some(lowest) = self.schema_ids()?.first() {
            self.store().delete(&self.schema_path(*lowest))?;
        }
        remove_below(self.store().as_ref(), &self.branch_root(), |path| path.contains("/schema/"))
    }

    /// Removes a branch. Its data files stay until they are looked for as orphans.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` for the main branch; those of the store.
    pub fn drop_branch(&self, name: &str) -> Result<()> {
        if name == MAIN_BRANCH {
            return Err(Error::invalid("the main branch can't be dropped"));
        }
        // If creating or dropping a branch was interrupted, there is a folder but no branch.
        let is_left = self.branch_folders()?.iter().any(|branch| branch == name);
        let branch = if is_left { self.on_branch(name) } else { self.branch(name)? };
        branch.remove_branch_folder()
    }

    /// Makes this branch equal to another one. It replaces this branch's commits since the last common commit, and its
    /// tags from the other's first snapshot on.
    ///
    /// If interrupted, the branch is at one of its own snapshots or of the other's. It may have no snapshot if both
    /// have other schemas and no common commit. A second call completes the change.
    ///
    /// # Errors
    /// `NotFound` if the branch does not exist; `InvalidInput` if it has no snapshot, or is this one; those of the
    /// store.
    pub fn fast_forward(&self, to: &str) -> Result<()> {
        if to == self.branch_name() {
            return Err(Error::invalid(format!("the branch '{to}' already exists")));
        }
        let branch = self.branch(to)?;
        let none = || Error::invalid(format!("the branch '{to}' has no snapshot"));
        let first = branch.earliest_snapshot_id()?.ok_or_else(none)?;
        let common = self.common_with(&branch)?;
        let replaced = first.min(common.saturating_add(1));
        self.forget_latest()?;
        let theirs = branch.tags()?;
        for tag in self.tags()?.into_iter().filter(|tag| tag.snapshot.id >= replaced && !theirs.contains(tag)) {
            self.store().delete(&self.tag_path(&tag.name))?;
        }
        self.drop_changelogs_from(replaced)?;
        let ids: Vec<i64> = branch.snapshot_ids()?.into_iter().filter(|id| *id >= first).collect();
        let put = |end: i64| -> Result<()> {
            for id in ids.iter().copied().filter(|id| *id < end) {
                // The file of a common commit may have been written twice.
                if id > common || !self.has_snapshot(id)? {
                    copy(self, &branch.snapshot_path(id), &self.snapshot_path(id))?;
                }
            }
            Ok(())
        };
        self.drop_half_expired_from(first)?;
        // Files are read with the schemas of their snapshots. No two of them may have the same number.
        let fits = self.schemas_fit(&branch)?;
        self.take_back(&self.snapshots_after(common)?, &|last| match fits {
            true => self.follow_schemas(&branch).and_then(|()| put(last)).and_then(|()| self.begin_at(first)),
            false => Ok(()),
        })?;
        self.follow_schemas(&branch)?;
        put(i64::MAX)?;
        self.begin_at(first)?;
        for tag in theirs {
            self.store().put(&self.tag_path(&tag.name), &branch.store().get(&branch.tag_path(&tag.name))?)?;
        }
        Ok(())
    }

    /// The number of the last commit that both branches have had; 0 if it is unknown.
    fn common_with(&self, branch: &TableFolder) -> Result<i64> {
        let known = |folder: &TableFolder| -> Result<Vec<PaimonSnapshot>> {
            let tagged = folder.tags()?.into_iter().map(|tag| tag.snapshot);
            Ok(folder.snapshots()?.into_iter().chain(tagged).chain(folder.changelogs()?).collect())
        };
        let theirs = known(branch)?;
        let is_theirs = |own: &&PaimonSnapshot| theirs.iter().any(|their| is_same_commit(own, their));
        Ok(known(self)?.iter().filter(is_theirs).map(|s| s.id).max().unwrap_or(0))
    }

    /// The lowest number of a schema that the branches do not share: only one has it, or the contents differ.
    fn first_other_schema(&self, branch: &TableFolder) -> Result<Option<i64>> {
        let (own, theirs) = (self.schema_ids()?, branch.schema_ids()?);
        for id in own.iter().chain(&theirs).copied().collect::<BTreeSet<i64>>() {
            let both = own.contains(&id) && theirs.contains(&id);
            if !both || self.store().get(&self.schema_path(id))? != self.store().get(&branch.schema_path(id))? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whether the other branch has all schemas of this one.
    fn schemas_fit(&self, branch: &TableFolder) -> Result<bool> {
        let last = self.schema_ids()?.last().copied();
        Ok(self.first_other_schema(branch)?.is_none_or(|first| last.is_some_and(|last| first > last)))
    }

    /// Takes over the schemas of another branch. At any time, all remaining snapshots can be read with the latest
    /// schema.
    fn follow_schemas(&self, branch: &TableFolder) -> Result<()> {
        let Some(first) = self.first_other_schema(branch)? else { return Ok(()) };
        for id in self.schema_ids()?.into_iter().rev().filter(|id| *id >= first) {
            self.store().delete(&self.schema_path(id))?;
        }
        for id in branch.schema_ids()?.into_iter().filter(|id| *id >= first) {
            copy(self, &branch.schema_path(id), &self.schema_path(id))?;
        }
        Ok(())
    }

    /// Removes all commits after a snapshot, and their tags. If the tag's snapshot has expired, it restores the
    /// snapshot.
    ///
    /// If interrupted, the table is at the snapshot or at a later one, and continues from there. Commits of others
    /// during the rollback are either removed or stay visible.
    ///
    /// # Errors
    /// `NotFound` if there is no such snapshot or tag, or it is being expired; those of the store.
    pub fn roll_back(&self, to: &RollbackTo) -> Result<PaimonSnapshot> {
        let target = match to {
            RollbackTo::Snapshot(id) => self.snapshot_or_tagged(*id)?,
            RollbackTo::Tag(name) => trimmed(&self.tag(name)?.snapshot),
        };
        if self.has_snapshot(target.id)? {
            self.check_lasts(&target)?;
        }
        // A hint to a deleted snapshot is an error, and a hint to the target hides snapshots after a gap.
        self.forget_latest()?;
        for tag in self.tags()?.into_iter().filter(|tag| tag.snapshot.id > target.id) {
            self.store().delete(&self.tag_path(&tag.name)).with("tag", &tag.name)?;
        }
        self.drop_changelogs_from(target.id.saturating_add(1))?;
        self.drop_half_expired_from(target.id.saturating_add(1))?;
        self.take_back(&self.snapshots_after(target.id)?, &|_| {
            match self.has_snapshot(target.id)? {
                // An expiry may have begun meanwhile.
                true => self.check_lasts(&target)?,
                false => self.store().put_if_absent(&self.snapshot_path(target.id), &target.encode())?,
            }
            self.begin_at(target.id)
        })?;
        loop {
            let late = self.snapshots_after(target.id)?;
            // Snapshots that follow the target without a gap were committed on it. Others were committed on a deleted
            // snapshot.
            let follows = late.iter().zip(target.id.saturating_add(1)..).take_while(|(id, next)| *id == next).count();
            match late.get(follows..) {
                None | Some([]) => return Ok(target),
                Some(lost) => self.take_back(lost, &|_| Ok(()))?,
            }
        }
    }

    /// The numbers of the snapshots after one.
    fn snapshots_after(&self, id: i64) -> Result<Vec<i64>> {
        Ok(self.snapshot_ids()?.into_iter().filter(|later| *later > id).collect())
    }

    /// Removes the last snapshots, the newest first. Whenever it stops, the table is at one of them or at the one
    /// before. Their replacement is written before the last of them is removed (`put`, which gets its number).
    ///
    /// Meanwhile no hint names the latest snapshot: it would hide a commit that somebody has just made on a removed
    /// snapshot.
    fn take_back(&self, going: &[i64], put: &dyn Fn(i64) -> Result<()>) -> Result<()> {
        self.forget_latest()?;
        let Some((lowest, above)) = going.split_first() else { return put(i64::MAX) };
        for id in above.iter().rev() {
            self.store().delete(&self.snapshot_path(*id))?;
        }
        put(*lowest)?;
        self.store().delete(&self.snapshot_path(*lowest))?;
        // A commit that came in between has written another hint.
        self.forget_latest()
    }
}

/// Whether two snapshot files describe the same commit.
fn is_same_commit(a: &PaimonSnapshot, b: &PaimonSnapshot) -> bool {
    (a.id, &a.base_manifest_list, &a.delta_manifest_list) == (b.id, &b.base_manifest_list, &b.delta_manifest_list)
}

/// Copies a file. If it exists already, its content must be the same.
fn copy(folder: &TableFolder, from: &str, to: &str) -> Result<()> {
    let store = folder.store();
    let bytes = store.get(from)?;
    match store.put_if_absent(to, &bytes) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => match store.get(to)? == bytes {
            true => Ok(()),
            false => Err(Error::conflict("a file of the branch already exists with other content").with("path", to)),
        },
        put => put,
    }
}

impl TableFolder {
    /// The folder of a branch that is not the main one.
    fn branch_root(&self) -> String {
        join(&join(self.root(), "branch"), &format!("branch-{}", self.branch_name()))
    }
}

#[cfg(test)]
#[path = "refs_tests.rs"]
mod tests;
