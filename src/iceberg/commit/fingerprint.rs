//! Detects commit messages that were committed before, so that their rows are not added a second time.
//!
//! The summary of a commit identifies its messages. Only commits that may have had the same messages are examined. A
//! commit made before a file was written can't contain it. If commits since then have expired, the manifests of the
//! newest snapshot that are new enough are examined instead.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result, ResultExt};
use crate::format::task::WrittenAt;
use crate::iceberg::commit::live::named_in;
use crate::iceberg::commit::summary::SOURCE_ID;
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::plan::changes::is_by;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{Location, Store};
use crate::types::hash::murmur3_bytes;

/// The summary key that identifies the messages of a commit.
const MESSAGES: &str = "frazil.messages";

/// With more messages than this number, the value is only this word.
const MANY: (usize, &str) = (32, "many");

/// The largest expected clock difference between machines, in milliseconds.
const SKEW_MS: i64 = 3_600_000;

/// The messages of one commit.
#[derive(Debug, Clone, Default)]
pub struct CommitFingerprint {
    files: Vec<String>,
    /// Names that identify changes without files.
    names: Vec<String>,
    messages: BTreeSet<String>,
    /// The earliest time at which a file was written; 0 if a message does not record it.
    written: Option<WrittenAt>,
    /// Manifests that hold none of the files.
    checked: HashSet<String>,
}

impl CommitFingerprint {
    /// Adds the files of a message.
    pub fn add(&mut self, files: impl IntoIterator<Item = String>, written: Option<WrittenAt>) {
        let mut own: Vec<String> = files.into_iter().collect();
        if own.is_empty() {
            return;
        }
        own.sort_unstable();
        self.messages.insert(format!("{:08x}", murmur3_bytes(own.join("\n").as_bytes())));
        self.files.extend(own);
        let at = written.unwrap_or(WrittenAt { sequence_number: 0, time_ms: i64::MIN });
        let known = self.written.get_or_insert(at);
        known.sequence_number = known.sequence_number.min(at.sequence_number);
        known.time_ms = known.time_ms.min(at.time_ms);
    }

    /// Adds a name that identifies a change without files.
    pub fn add_name(&mut self, name: String) {
        self.names.push(name);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.names.is_empty()
    }

    /// The names that identify the change: its files, if it has any.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = if self.files.is_empty() { &self.names } else { &self.files };
        names.iter().map(String::as_str)
    }

    /// The summary entry for the messages, if any of them has files.
    pub(crate) fn member(&self) -> Option<(String, String)> {
        let ids: Vec<&str> = self.messages.iter().map(String::as_str).collect();
        let value = match ids.len() {
            0 => return None,
            n if n > MANY.0 => MANY.1.to_owned(),
            _ => ids.join(","),
        };
        Some((MESSAGES.to_owned(), value))
    }

    /// Fails if the branch has or had a file of the messages. For a staged commit, fails if any snapshot has one.
    ///
    /// # Errors
    /// `InvalidInput` with the file; errors of the store; `CorruptTable` if a manifest is damaged.
    pub(crate) fn check(
        &mut self,
        store: &dyn Store,
        base: &TableMetadata,
        parent: Option<&Arc<Snapshot>>,
        staged: bool,
    ) -> Result<()> {
        let Some(written) = self.written else { return Ok(()) };
        let is_later = |s: &Snapshot| {
            (s.sequence_number == 0 || s.sequence_number > written.sequence_number)
                && s.timestamp_ms >= written.time_ms.saturating_sub(SKEW_MS)
        };
        let ancestors = parent.map(|p| base.ancestors(p.id)).unwrap_or_default();
        let unknown = ancestors.last().is_some_and(|oldest| is_later(oldest) && oldest.parent_id.is_some());
        let all = ancestors.into_iter().chain(base.snapshots.iter().filter(|_| staged));
        let (mut seen, mut suspects) = (HashSet::new(), Vec::new());
        for snapshot in all.filter(|s| is_later(s) && seen.insert(s.id)) {
            let newest = parent.is_some_and(|p| p.id == snapshot.id);
            if self.may_be_of(snapshot) || (newest && unknown) {
                suspects.push((snapshot, newest && unknown));
            }
        }
        for (snapshot, whole) in suspects {
            let young =
                |m: &ManifestFile| whole && (m.sequence_number == 0 || m.sequence_number > written.sequence_number);
            let all = load_manifests(store, &Location::recorded(), snapshot).with("snapshot", snapshot.id)?;
            let wanted = |m: &ManifestFile| is_by(m, snapshot.id) || young(m);
            let new: Vec<ManifestFile> =
                all.into_iter().filter(|m| wanted(m) && !self.checked.contains(&m.path)).collect();
            if let Some(path) = named_in(store, &new, &self.files, true)?.first() {
                return Err(Error::invalid("a file of the messages was committed before")
                    .with("path", path)
                    .with("snapshot", snapshot.id)
                    .hint("Commit each message once: leave out those that are in the table already"));
            }
            self.checked.extend(new.into_iter().map(|m| m.path));
        }
        Ok(())
    }

    /// Whether, according to its summary, a snapshot may contain one of the messages.
    fn may_be_of(&self, snapshot: &Snapshot) -> bool {
        match snapshot.summary.get(MESSAGES) {
            Some(ids) => ids == MANY.1 || ids.split(',').any(|id| self.messages.contains(id)),
            // This snapshot repeats a staged commit.
            None => snapshot.summary.contains_key(SOURCE_ID),
        }
    }
}
