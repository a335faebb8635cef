//! New snapshots: puts changes on top of the latest snapshot and publishes the new one by creating its file.
//!
//! ```no_run
//! # use frazil::error::Result;
//! # use frazil::paimon::catalog::filesystem::TableFolder;
//! # use frazil::format::task::{DataFile, NewBucketFile};
//! # fn f(folder: &TableFolder, old: Vec<DataFile>, new: Vec<NewBucketFile>) -> Result<()> {
//! use frazil::paimon::commit::{changes::Changes, producer::Commit};
//!
//! let changes = Changes { added: new, removed: old, ..Changes::default() };
//! let snapshot = Commit::new(folder, changes).owning_files().run().into_result()?;
//! # Ok(()) }
//! ```
//!
//! Each attempt reads the latest snapshot, finds the entries of the commit (`entries`) and checks that they fit
//! (`conflicts`). It merges the manifests of all commits before (`merge`), writes the commit's own (`manifests`), and
//! puts index files together (`index`). Then it creates `snapshot-N`, which only one writer can do. The loser of a
//! race starts again on the winner's snapshot.
//!
//! Files are removed only if it is certain that no snapshot has them.
//!
//! Source: Paimon specification, "Snapshot"; Java's `FileStoreCommitImpl` and `RenamingSnapshotCommit`.

use std::collections::BTreeMap;

use super::attempt::{Plan, SnapshotAttempt};
use super::changes::{Changes, CommitInput, CommitKind, NO_IDENTIFIER, Replaced};
use super::mending::ManifestMends;
use super::renumber::Renumbering;
use crate::error::{Error, Result};
use crate::format::commit_loop::{self, CommitAttempt, CommitOutcome, RetryPolicy};
use crate::format::task::WrittenAt;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::manifest::index_manifest::DELETION_VECTORS;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::types::options::Options;

/// The option for the number of retries of a commit.
const MAX_RETRIES: &str = "commit.max-retries";

/// How often a change is planned again at most: each plan reads rows and writes files.
const MAX_PLANS: u32 = 10;

/// One commit, from its first attempt to its last.
#[derive(Debug)]
pub struct Commit {
    input: CommitInput,
}

impl Commit {
    /// A commit to the folder's branch, by a new, unique user. It adds files, or overwrites if something is removed
    /// too.
    pub fn new(folder: &TableFolder, changes: Changes) -> Commit {
        let removes = !changes.removed.is_empty() || !changes.moved.is_empty();
        let vectors = changes.index.iter().any(|e| e.index_type == DELETION_VECTORS);
        let input = CommitInput {
            folder: folder.clone(),
            kind: if removes || vectors { CommitKind::Overwrite } else { CommitKind::Append },
            changes,
            replaced: None,
            user: uuid::Uuid::new_v4().to_string(),
            identifier: NO_IDENTIFIER,
            watermark: None,
            properties: BTreeMap::new(),
            checks_appends: false,
            checks_files: false,
            shows_all: false,
            only_on: None,
            owns_files: false,
            joins_manifests: false,
            mends: None,
            renumbers: None,
            statistics: None,
            after: None,
        };
        Commit { input }
    }

    /// Makes it a compaction: rows stay the same.
    #[must_use]
    pub fn compacting(self) -> Self {
        Commit { input: CommitInput { kind: CommitKind::Compact, ..self.input } }
    }

    /// Makes the commit replace these existing files.
    #[must_use]
    pub fn overwriting(self, replaced: Replaced) -> Self {
        Commit { input: CommitInput { kind: CommitKind::Overwrite, replaced: Some(replaced), ..self.input } }
    }

    /// Makes the commit known by a user and a number. If it is made again, it is recognised and does nothing.
    #[must_use]
    pub fn by(self, user: &str, identifier: i64) -> Self {
        Commit { input: CommitInput { user: user.to_owned(), identifier, ..self.input } }
    }

    /// The state before the commit's files were written: no earlier snapshot has the commit. The sequence number is
    /// that of a snapshot.
    #[must_use]
    pub fn after(self, written_at: Option<WrittenAt>) -> Self {
        Commit { input: CommitInput { after: written_at, ..self.input } }
    }

    /// The event time up to which the data is complete, milliseconds since the epoch. It never decreases.
    #[must_use]
    #[cfg(test)]
    pub(crate) fn with_watermark(self, watermark_ms: i64) -> Self {
        Commit { input: CommitInput { watermark: Some(watermark_ms), ..self.input } }
    }

    /// Further properties of the snapshot.
    #[must_use]
    pub fn with_properties(self, properties: BTreeMap<String, String>) -> Self {
        Commit { input: CommitInput { properties, ..self.input } }
    }

    /// Checks that added files fit the existing ones and are new. Commits that only append skip this check by default.
    #[must_use]
    pub fn checking_appends(self) -> Self {
        Commit { input: CommitInput { checks_appends: true, ..self.input } }
    }

    /// Checks that added files still exist, unless the table already has the commit. Files that another process wrote
    /// may have been committed, compacted and expired since.
    #[must_use]
    pub fn checking_files(self) -> Self {
        Commit { input: CommitInput { checks_files: true, ..self.input } }
    }

    /// Makes an overwrite fail with `CommitConflict` if its files overlap and scans of the table leave out such files.
    #[must_use]
    pub fn showing_all(self) -> Self {
        Commit { input: CommitInput { shows_all: true, ..self.input } }
    }

    /// Fails if another commit came after this snapshot. With `None` it fails if the table has a snapshot.
    #[must_use]
    pub fn only_on(self, snapshot: Option<i64>) -> Self {
        Commit { input: CommitInput { only_on: Some(snapshot), ..self.input } }
    }

    /// Makes the commit merge all manifests that can be merged.
    #[must_use]
    pub(crate) fn joining_manifests(self) -> Self {
        Commit { input: CommitInput { joins_manifests: true, ..self.input } }
    }

    /// A commit that mends the manifests and the number of rows of the snapshot before, and nothing else.
    #[must_use]
    pub(crate) fn mending(folder: &TableFolder, mends: ManifestMends) -> Commit {
        let commit = Commit::new(folder, Changes::default()).compacting();
        Commit { input: CommitInput { mends: Some(mends), ..commit.input } }
    }

    /// A commit that gives rows other ids, and nothing else. It fails with `CommitConflict` if no row needs them.
    #[must_use]
    pub(crate) fn renumbering(folder: &TableFolder, renumbering: Renumbering) -> Commit {
        let commit = Commit::new(folder, Changes::default());
        Commit { input: CommitInput { kind: CommitKind::Overwrite, renumbers: Some(renumbering), ..commit.input } }
    }

    /// Makes the commit name a statistics file, and nothing else.
    #[must_use]
    pub(crate) fn with_statistics(self, name: &str) -> Self {
        let statistics = Some(name.to_owned());
        Commit { input: CommitInput { kind: CommitKind::Analyze, statistics, ..self.input } }
    }

    /// Makes the commit own the data and index files that it adds: if it certainly fails, they are deleted.
    #[must_use]
    pub fn owning_files(self) -> Self {
        Commit { input: CommitInput { owns_files: true, ..self.input } }
    }

    /// Commits. Returns the snapshot that has the changes, or the error.
    pub fn run(self) -> CommitOutcome<PaimonSnapshot> {
        match run_attempts(SnapshotAttempt::new(self.input), None) {
            CommitOutcome::Committed(Some(snapshot)) => CommitOutcome::Committed(snapshot),
            CommitOutcome::Committed(None) => {
                CommitOutcome::Unknown(Error::internal("no snapshot contains the commit"))
            }
            CommitOutcome::Failed(e) => CommitOutcome::Failed(e),
            CommitOutcome::Unknown(e) => CommitOutcome::Unknown(e),
        }
    }
}

/// Plans a commit on the newest version and runs it. `plan` is called again if another commit contradicts the plan.
/// `None` if there is nothing to commit.
pub(crate) fn run_planned(plan: &mut dyn FnMut() -> Result<Option<Commit>>) -> CommitOutcome<Option<PaimonSnapshot>> {
    let mut plan = || Ok(plan()?.map(|commit| commit.input));
    match plan() {
        Ok(Some(input)) => run_attempts(SnapshotAttempt::new(input), Some(&mut plan)),
        Ok(None) => CommitOutcome::Committed(None),
        Err(e) => CommitOutcome::Failed(e),
    }
}

fn run_attempts<'p>(mut attempt: SnapshotAttempt<'p>, plan: Option<Plan<'p>>) -> CommitOutcome<Option<PaimonSnapshot>> {
    let policy = match attempt.newest().and_then(|base| retry_policy(base.schema.options())) {
        Ok(policy) => policy,
        Err(e) => {
            attempt.clean_up();
            return CommitOutcome::Failed(e);
        }
    };
    if let Some(plan) = plan {
        attempt = attempt.planned_by(plan, policy.retries.min(MAX_PLANS));
    }
    let verdict = commit_loop::run(&mut attempt, &policy);
    // Files are also removed after an interrupt, which the result already reports.
    match &verdict {
        CommitOutcome::Committed(_) => attempt.delete_unused(),
        CommitOutcome::Failed(_) => attempt.clean_up(),
        CommitOutcome::Unknown(_) => {}
    }
    verdict
}

/// Reads the `commit.*` options. By default there are more retries than Java's 10, and none waits longer than a second.
/// Then a large number of writers can commit at the same time.
fn retry_policy(options: Options<'_>) -> Result<RetryPolicy> {
    let millis = |key, default| Ok::<u64, Error>(options.duration_ms(key)?.map_or(default, |ms| ms.max(0) as u64));
    Ok(RetryPolicy {
        retries: options.integer(MAX_RETRIES)?.unwrap_or(100).clamp(0, 10_000) as u32,
        min_wait_ms: millis("commit.min-retry-wait", 10)?,
        max_wait_ms: millis("commit.max-retry-wait", 1_000)?,
        total_ms: millis("commit.timeout", 1_800_000)?,
        option: MAX_RETRIES,
    })
}

#[cfg(test)]
#[path = "producer_tests.rs"]
mod tests;
