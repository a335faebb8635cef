//! Tags and branches: made, dropped, and followed.
//!
//! A tag is a copy of a snapshot's file under a name. A branch is a folder with schemas, snapshots and tags of its own; data files
//! and manifests are the table's.
//!
//! Source: Java's `TagManager`, `FileSystemBranchManager`, `RollbackHelper`.

use super::filesystem::{MAIN_BRANCH, TableFolder};
use super::warehouse::remove_below;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::commit::now_ms;
use crate::paimon::snapshot::Snapshot;
use crate::paimon::tag_times::{tag_file, trimmed};
use crate::store::location::join;

/// Where a rollback goes.
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
    crate::paimon::partition::checked_name(name).ok().filter(|n| !n.trim().is_empty()).ok_or_else(bad)
}

impl TableFolder {
    /// Makes a tag of a snapshot; of the latest one if none is named.
    ///
    /// # Errors
    /// `AlreadyExists` if there is such a tag; `NotFound` if there is no such snapshot; `InvalidInput` if that can't be its name;
    /// those of the store.
    pub fn create_tag(&self, name: &str, snapshot: Option<i64>) -> Result<()> {
        self.create_tag_for(name, snapshot, None)
    }

    /// The same, of a tag that expiry removes once it is so old, milliseconds.
    ///
    /// # Errors
    /// As [`TableFolder::create_tag`].
    pub fn create_tag_for(&self, name: &str, snapshot: Option<i64>, retained_ms: Option<i64>) -> Result<()> {
        let path = self.tag_path(new_name(name, "tag")?);
        let none = || Error::not_found("the table has no snapshot to tag").with("path", self.root());
        let snapshot = match snapshot {
            Some(id) => self.snapshot(id)?,
            None => self.latest_snapshot()?.ok_or_else(none)?,
        };
        self.store().put_if_absent(&path, &tag_file(&snapshot, retained_ms, now_ms())).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::already_exists(format!("there is a tag '{name}' already")),
            _ => e,
        })?;
        // It keeps the files of a snapshot that may have expired just now, before there was a tag.
        if !self.has_snapshot(snapshot.id)? {
            let _ = self.store().delete(&path);
            return Err(Error::not_found(format!("snapshot {} expired before it was tagged", snapshot.id)));
        }
        Ok(())
    }

    /// Gives a tag another name.
    ///
    /// # Errors
    /// `NotFound` if there is no such tag; `AlreadyExists` if the name is taken; `InvalidInput` if that can't be its name; those
    /// of the store.
    pub fn rename_tag(&self, name: &str, to: &str) -> Result<()> {
        let path = self.tag_path(new_name(to, "tag")?);
        self.tag(name)?;
        let bytes = self.store().get(&self.tag_path(name))?;
        self.store().put_if_absent(&path, &bytes).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => Error::already_exists(format!("there is a tag '{to}' already")),
            _ => e,
        })?;
        self.store().delete(&self.tag_path(name))
    }

    /// Makes a branch of a tag's snapshot, or without any.
    ///
    /// # Errors
    /// `AlreadyExists` if there is such a branch; `NotFound` if there is no such tag; `InvalidInput` if that can't be its name;
    /// those of the store.
    pub fn create_branch(&self, name: &str, tag: Option<&str>) -> Result<TableFolder> {
        new_name(name, "branch")?;
        if name == MAIN_BRANCH || name.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Error::invalid(format!("'{name}' can't be the name of a branch")));
        }
        if self.branches()?.iter().any(|branch| branch == name) {
            return Err(Error::already_exists(format!("there is a branch '{name}' already")));
        }
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
            // Last: a branch is there once it has a schema. The highest first, since it is the one that counts.
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

    fn remove_branch_folder(&self) -> Result<()> {
        remove_below(self.store().as_ref(), &self.branch_root(), |path| path.contains("/schema/"))
    }

    /// Removes a branch. Its data files stay until they are looked for as orphans.
    ///
    /// # Errors
    /// `NotFound` if there is none; `InvalidInput` for the main branch; those of the store.
    pub fn drop_branch(&self, name: &str) -> Result<()> {
        if name == MAIN_BRANCH {
            return Err(Error::invalid("the main branch can't be dropped"));
        }
        self.branch(name)?.remove_branch_folder()
    }

    /// Makes this branch what another is: what it has from that one's first snapshot on is replaced.
    ///
    /// # Errors
    /// `NotFound` if there is no such branch; `InvalidInput` if it has no snapshot, or is this one; those of the store.
    pub fn fast_forward(&self, to: &str) -> Result<()> {
        if to == self.branch_name() {
            return Err(Error::invalid(format!("the branch '{to}' is there already")));
        }
        let branch = self.branch(to)?;
        let none = || Error::invalid(format!("the branch '{to}' has no snapshot"));
        let first = branch.snapshot(branch.earliest_snapshot_id()?.ok_or_else(none)?)?;
        let _ = self.forget_latest();
        for tag in self.tags()?.into_iter().filter(|tag| tag.snapshot.id >= first.id) {
            self.store().delete(&self.tag_path(&tag.name))?;
        }
        self.drop_changelogs_from(first.id)?;
        for id in self.snapshot_ids()?.into_iter().rev().filter(|id| *id >= first.id) {
            self.store().delete(&self.snapshot_path(id))?;
        }
        for id in self.schema_ids()?.into_iter().rev().filter(|id| *id > first.schema_id) {
            self.store().delete(&self.schema_path(id))?;
        }
        for id in branch.schema_ids()? {
            copy(self, &branch.schema_path(id), &self.schema_path(id))?;
        }
        for id in branch.snapshot_ids()? {
            copy(self, &branch.snapshot_path(id), &self.snapshot_path(id))?;
        }
        for name in branch.tag_names()? {
            copy(self, &branch.tag_path(&name), &self.tag_path(&name))?;
        }
        if let Some(latest) = self.snapshot_ids()?.last() {
            let _ = self.hint_latest(*latest);
        }
        Ok(())
    }

    /// Takes back all commits after a snapshot, and the tags of what is taken back. A tag's snapshot that has expired comes back.
    ///
    /// # Errors
    /// `NotFound` if there is no such snapshot or tag; those of the store.
    pub fn roll_back(&self, to: &RollbackTo) -> Result<Snapshot> {
        let target = match to {
            RollbackTo::Snapshot(id) => self.snapshot(*id)?,
            RollbackTo::Tag(name) => trimmed(&self.tag(name)?.snapshot),
        };
        let path = self.snapshot_path(target.id);
        if !self.has_snapshot(target.id)? {
            match self.store().put_if_absent(&path, &target.encode()) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => drop(self.hint_earliest(target.id)),
            }
        }
        let _ = self.hint_latest(target.id);
        for tag in self.tags()?.into_iter().filter(|tag| tag.snapshot.id > target.id) {
            self.store().delete(&self.tag_path(&tag.name)).with("tag", &tag.name)?;
        }
        self.drop_changelogs_from(target.id.saturating_add(1))?;
        // The newest first: until the last one is gone, the table is at one of those between.
        for id in self.snapshot_ids()?.into_iter().rev().filter(|id| *id > target.id) {
            self.store().delete(&self.snapshot_path(id))?;
        }
        Ok(target)
    }
}

/// Copies a file; one that is there already is the same.
fn copy(folder: &TableFolder, from: &str, to: &str) -> Result<()> {
    let store = folder.store();
    let bytes = store.get(from)?;
    match store.put_if_absent(to, &bytes) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => match store.get(to)? == bytes {
            true => Ok(()),
            false => Err(Error::conflict("a file of the branch is there with another content").with("path", to)),
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
