//! Changelogs that outlast their snapshots: files `changelog/changelog-N`, copies of the files of snapshots that
//! expired.
//!
//! Such a copy refers to the files with the changes of its commit. The files of the table's state at that time may be
//! removed.
//!
//! Source: Java's `ChangelogManager`, `Changelog`, `NextSnapshotFetcher` and `RollbackHelper`.

use super::filesystem::{TableFolder, names_in, numbers_of};
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::catalog::tag_times::trimmed;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::in_parallel;
use crate::store::location::join;

const CHANGELOG: &str = "changelog-";

impl TableFolder {
    /// The file of a changelog that outlasts its snapshot.
    pub fn changelog_path(&self, id: i64) -> String {
        join(&self.folder("changelog"), &format!("{CHANGELOG}{id}"))
    }

    /// The numbers of the branch's changelogs that outlast their snapshots, ascending; there may be gaps.
    ///
    /// # Errors
    /// Those of the store.
    pub fn changelog_ids(&self) -> Result<Vec<i64>> {
        Ok(numbers_of(&names_in(self.store().as_ref(), &self.folder("changelog"))?, CHANGELOG))
    }

    /// The changelog with a number; `None` if it does not exist.
    ///
    /// # Errors
    /// `CorruptTable`, naming the file; those of the store.
    pub fn changelog(&self, id: i64) -> Result<Option<PaimonSnapshot>> {
        self.try_file(self.changelog_path(id), id)
    }

    /// All changelogs, by their numbers.
    ///
    /// # Errors
    /// As [`TableFolder::changelog`].
    pub fn changelogs(&self) -> Result<Vec<PaimonSnapshot>> {
        let ids = self.changelog_ids()?;
        let found = in_parallel(self.store().as_ref(), ids.len(), |i| {
            // One may be expired just now.
            ids.get(i).map_or(Ok(None), |id| self.changelog(*id))
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The rest of a commit: its snapshot, or its changelog if the snapshot has expired.
    ///
    /// # Errors
    /// As [`TableFolder::snapshot`].
    pub fn commit_left(&self, id: i64) -> Result<PaimonSnapshot> {
        // An expiry writes the changelog before it removes the snapshot.
        if let Some(snapshot) = self.try_file(self.snapshot_path(id), id)? {
            return Ok(snapshot);
        }
        self.changelog(id)?.map_or_else(|| self.snapshot(id), Ok)
    }

    /// The number of the latest commit up to a time (milliseconds since the epoch) that still has a snapshot or a
    /// changelog. `None` if all are younger.
    ///
    /// # Errors
    /// `InvalidInput` if the next commits have left nothing, because the wanted commit may be one of them; as
    /// [`TableFolder::snapshot`].
    pub fn commit_at_time(&self, time_ms: i64) -> Result<Option<i64>> {
        if let Some(snapshot) = self.snapshot_at_time(time_ms)? {
            return Ok(Some(snapshot.id));
        }
        // In this order, because an expiry writes a changelog before it removes the snapshot.
        let earliest = self.earliest_snapshot_id()?;
        let changelogs = self.changelogs()?;
        let Some(place) = changelogs.iter().rposition(|c| c.time_ms <= time_ms) else { return Ok(None) };
        let id = changelogs.get(place).map(|c| c.id);
        let next = match changelogs.get(place + 1) {
            Some(next) => Some(next.id),
            None => earliest,
        };
        match next == id.and_then(|id| id.checked_add(1)) {
            true => Ok(id),
            false => Err(Error::invalid("the commits from around that time are not kept").with("path", self.root())),
        }
    }

    /// Makes a snapshot a changelog. One of that number is replaced: a rollback may have brought back its snapshot.
    pub(crate) fn put_changelog(&self, snapshot: &PaimonSnapshot) -> Result<()> {
        let (path, bytes) = (self.changelog_path(snapshot.id), trimmed(snapshot).encode());
        match self.store().put_if_absent(&path, &bytes) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => self.store().put(&path, &bytes),
            put => put,
        }
    }

    /// Records which changelog is the latest; -1 if there is no changelog. Java trusts it unless a later one exists.
    pub(crate) fn hint_latest_changelog(&self, id: i64) -> Result<()> {
        self.store().put(&join(&self.folder("changelog"), "LATEST"), id.to_string().as_bytes())
    }

    /// Records which changelog is the earliest.
    pub(crate) fn hint_earliest_changelog(&self, id: i64) -> Result<()> {
        self.store().put(&join(&self.folder("changelog"), "EARLIEST"), id.to_string().as_bytes())
    }

    /// Removes the changelogs from a number on, because a rollback removes their commits.
    pub(in crate::paimon) fn drop_changelogs_from(&self, first: i64) -> Result<()> {
        let (kept, gone): (Vec<i64>, Vec<i64>) = self.changelog_ids()?.into_iter().partition(|id| *id < first);
        if gone.is_empty() {
            return Ok(());
        }
        self.hint_latest_changelog(kept.last().copied().unwrap_or(-1))?;
        gone.iter().rev().try_for_each(|id| self.store().delete(&self.changelog_path(*id)))
    }
}
