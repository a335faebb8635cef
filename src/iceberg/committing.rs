//! Commits of Iceberg tables. The loop in [`commit_loop`] applies their changes to the newest version.
//!
//! The outcome is typed: committed, certainly failed (files of the attempts are removed), or unknown (nothing is
//! removed).

use std::collections::BTreeMap;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::commit::CommitOptions;
use crate::format::commit_loop::{self, CommitAttempt, RetryPolicy, unknown};
use crate::iceberg::catalog::metadata_pointer::{Publication, TableVersion};
use crate::iceberg::catalog::reports::{CommitReport, MetricsReport};
use crate::iceberg::commit::cherry_pick::CherryPick;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::summary::WAP_ID;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::state::{IcebergTable, check_same_table};
use crate::parallel::Cancellation;
use crate::types::temporal::now_ms;

/// `commit.retry.*`, with the names and units of Java. By default there are more retries than Java's 4, and shorter
/// pauses than its minute. An attempt on a file system costs milliseconds, and all of many concurrent writers should
/// succeed.
///
/// # Errors
/// `InvalidInput` if a property is not a whole number from 0 up. It names the property and its value.
fn retry_policy(properties: &BTreeMap<String, String>) -> Result<RetryPolicy> {
    let number = |key: &str, default: u64| match properties.get(key) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| {
            Error::invalid(format!("the table property {key} is '{text}', which is not a whole number from 0 up"))
                .hint("Set it to a number of retries or milliseconds, or remove it")
        }),
    };
    Ok(RetryPolicy {
        retries: number(NUM_RETRIES, 100)?.min(10_000) as u32,
        min_wait_ms: number("commit.retry.min-wait-ms", 20)?,
        max_wait_ms: number("commit.retry.max-wait-ms", 1_000)?,
        total_ms: number("commit.retry.total-timeout-ms", 1_800_000)?,
        option: NUM_RETRIES,
    })
}

const NUM_RETRIES: &str = "commit.retry.num-retries";

/// How a commit ended.
pub(crate) type IcebergOutcome = commit_loop::CommitOutcome<IcebergTable>;

/// One change of a table. Each attempt of a commit applies it to the newest version.
pub(crate) trait TableChange: Send {
    /// The metadata of `base` with the change made. Files that the change needs are written at the first attempt. Later
    /// attempts reuse those that are still valid.
    ///
    /// # Errors
    /// `CommitConflict` if changes of the table make this one impossible: no further attempt is made.
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata>;

    /// Whether `metadata` already has the change, from any writer.
    fn is_applied(&self, metadata: &TableMetadata) -> bool;

    /// Whether `metadata` has the mark of this very change. Then an attempt was published, even if its reply was an
    /// error.
    fn is_marked_in(&self, _: &TableMetadata) -> bool {
        false
    }

    /// Whether it leaves the table as it is.
    fn only_checks(&self) -> bool {
        false
    }

    /// Whether it changes only the table's metadata, and no rows.
    fn only_evolves(&self) -> bool {
        false
    }

    /// The new snapshot that it makes, if it makes one and nothing else.
    fn as_snapshot(&self) -> Option<&SnapshotProducer> {
        None
    }

    /// The new snapshot that it makes, if it makes one. Otherwise the change itself.
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>>;

    /// Removes the files of attempts, so that the change can be applied again. Called only while none was published.
    fn undo(&mut self) {}

    /// Removes the files of attempts, and those written for the change. Called only when the commit certainly failed.
    fn clean_up(&mut self) {}

    /// Removes the files of abandoned attempts. Called only when `metadata` has the change.
    fn committed(&mut self, _: &TableMetadata) {}
}

impl TableChange for SnapshotProducer {
    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.prepare(base, now_ms)
    }

    fn is_applied(&self, metadata: &TableMetadata) -> bool {
        SnapshotProducer::is_applied(self, metadata)
    }

    fn is_marked_in(&self, metadata: &TableMetadata) -> bool {
        metadata.snapshot_by_id(self.snapshot_id()).is_some()
    }

    fn only_checks(&self) -> bool {
        SnapshotProducer::only_checks(self)
    }

    fn as_snapshot(&self) -> Option<&SnapshotProducer> {
        (!SnapshotProducer::only_checks(self)).then_some(self)
    }

    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        if SnapshotProducer::only_checks(&self) { Err(self) } else { Ok(*self) }
    }

    fn undo(&mut self) {
        SnapshotProducer::undo(self);
    }

    fn clean_up(&mut self) {
        SnapshotProducer::clean_up(self);
    }

    fn committed(&mut self, metadata: &TableMetadata) {
        SnapshotProducer::committed(self, metadata);
    }
}

impl TableChange for CherryPick {
    fn into_snapshot(self: Box<Self>) -> std::result::Result<SnapshotProducer, Box<dyn TableChange>> {
        Err(self)
    }

    fn apply(&mut self, base: &TableMetadata, now_ms: i64) -> Result<TableMetadata> {
        self.prepare(base, now_ms)
    }

    fn is_applied(&self, _: &TableMetadata) -> bool {
        false
    }

    fn is_marked_in(&self, metadata: &TableMetadata) -> bool {
        self.change().is_some_and(|c| c.is_marked_in(metadata))
    }

    fn undo(&mut self) {
        self.change_mut().into_iter().for_each(SnapshotProducer::undo);
    }

    fn clean_up(&mut self) {
        self.change_mut().into_iter().for_each(SnapshotProducer::clean_up);
    }

    fn committed(&mut self, metadata: &TableMetadata) {
        self.change_mut().into_iter().for_each(|c| c.committed(metadata));
    }
}

/// The table property that makes commits with a `wap.id` staged: written, audited, then published.
const WAP_ENABLED: &str = "write.wap.enabled";

impl CommitOptions {
    /// Whether the snapshot is only staged.
    ///
    /// # Errors
    /// `InvalidInput` for a `wap.id` together with a branch on a table that stages. Files would be written for nothing.
    pub(crate) fn check(&self, table: &IcebergTable) -> Result<bool> {
        let enabled = table.inner.metadata.properties.get(WAP_ENABLED).is_some_and(|v| v.eq_ignore_ascii_case("true"));
        let staged = enabled && self.snapshot_properties.get(WAP_ID).is_some_and(|id| !id.is_empty());
        match self.branch.as_ref().filter(|_| staged) {
            Some(branch) => Err(Error::invalid(format!(
                "a commit with {WAP_ID} is staged on no branch, so it can't go to '{branch}'"
            ))
            .hint("Leave out one of the two")),
            None => Ok(staged),
        }
    }

    /// The change with these options.
    ///
    /// # Errors
    /// As [`CommitOptions::check`].
    pub(crate) fn apply(&self, change: SnapshotProducer, table: &IcebergTable) -> Result<SnapshotProducer> {
        let staged = self.check(table)?;
        let change = change.with_summary(self.snapshot_properties.clone());
        Ok(match &self.branch {
            Some(branch) => change.on_branch(branch),
            None if staged => change.staged(),
            None => change,
        })
    }
}

/// Makes changes, in their order, in one commit: one new version of the table, or none.
///
/// Every attempt starts from the newest version, never from the version at which `table` was opened. That may be so old
/// that the names of later versions are free again, or belong to a table that was dropped since.
///
/// See [`commit_loop::run`].
pub(crate) fn commit(table: &IcebergTable, mut changes: Vec<Box<dyn TableChange>>) -> IcebergOutcome {
    let versions = &table.inner.versions;
    let mut outcome = match versions.takes_one_snapshot() {
        true => tried_with_one_snapshot(table, &mut changes),
        false => tried(table, &mut changes),
    };
    // The catalog may have said so only now.
    if let IcebergOutcome::Failed(e) = &outcome
        && e.kind() == ErrorKind::Unsupported
        && changes.len() > 1
        && versions.takes_one_snapshot()
    {
        changes.iter_mut().for_each(|c| c.undo());
        outcome = tried_with_one_snapshot(table, &mut changes);
    }
    match &outcome {
        IcebergOutcome::Committed(table) => changes.iter_mut().for_each(|c| c.committed(&table.inner.metadata)),
        // Cleans up even after an interrupt, which was already reported.
        IcebergOutcome::Failed(_) => {
            Cancellation::none().scope(|| changes.iter_mut().rev().for_each(|c| c.clean_up()));
        }
        IcebergOutcome::Unknown(_) => {}
    }
    outcome
}

fn tried_with_one_snapshot(table: &IcebergTable, changes: &mut Vec<Box<dyn TableChange>>) -> IcebergOutcome {
    match join_snapshots(changes) {
        Ok(()) => tried(table, changes),
        Err(e) => IcebergOutcome::Failed(e),
    }
}

fn tried(table: &IcebergTable, changes: &mut [Box<dyn TableChange>]) -> IcebergOutcome {
    match policy_of(table, changes) {
        Ok(policy) => {
            let began = Instant::now();
            let mut attempt = ChangeAttempt { table, changes, ended: Ended::Open, attempts: 0, added: Vec::new() };
            let outcome = commit_loop::run(&mut attempt, &policy);
            if let IcebergOutcome::Committed(next) = &outcome {
                attempt.report(next, began);
            }
            outcome
        }
        Err(e) => IcebergOutcome::Failed(e),
    }
}

/// Makes the new snapshots of a commit the last of them, for catalogs that take no more in a commit. The
/// changes can be cleaned up after an error.
///
/// # Errors
/// As [`SnapshotProducer::check_joinable`].
fn join_snapshots(changes: &mut Vec<Box<dyn TableChange>>) -> Result<()> {
    let (mut out, mut joined): (Vec<Box<dyn TableChange>>, Option<SnapshotProducer>) = (Vec::new(), None);
    let (mut at, mut refused) = (0, None);
    for change in std::mem::take(changes) {
        let snapshot = match change.into_snapshot() {
            Ok(snapshot) => snapshot,
            Err(other) => {
                out.push(other);
                continue;
            }
        };
        joined = match joined.take() {
            None => Some(snapshot),
            Some(before) => match before.check_joinable(&snapshot) {
                Ok(()) => Some(before.joined(snapshot)),
                Err(e) => {
                    refused.get_or_insert(e);
                    out.push(Box::new(before));
                    Some(snapshot)
                }
            },
        };
        at = out.len();
    }
    if let Some(snapshot) = joined {
        out.insert(at, Box::new(snapshot));
    }
    *changes = out;
    refused.map_or(Ok(()), |e| Err(e.hint(ONE_SNAPSHOT)))
}

/// The hint for changes that a catalog does not take in one commit.
pub(crate) const ONE_SNAPSHOT: &str =
    "The catalog's server takes one new snapshot in a commit: commit the changes one after another";

/// How often to retry, by the table's properties. A commit that may correct invalid properties does not fail because of
/// them.
fn policy_of(table: &IcebergTable, changes: &[Box<dyn TableChange>]) -> Result<RetryPolicy> {
    match retry_policy(&table.inner.metadata.properties).with("table", &table.inner.root) {
        Err(_) if changes.iter().all(|c| c.only_evolves()) => retry_policy(&BTreeMap::new()),
        policy => policy,
    }
}

/// An attempt to make changes.
struct ChangeAttempt<'a> {
    table: &'a IcebergTable,
    changes: &'a mut [Box<dyn TableChange>],
    /// How the last publication ended.
    ended: Ended,
    attempts: u32,
    /// The snapshots that the last attempt adds.
    added: Vec<i64>,
}

/// How a publication ended, if it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The newest version decides.
    Open,
    /// It certainly failed.
    Failed,
    /// Another writer published the same version. Only a later version decides.
    Disputed,
}

impl ChangeAttempt<'_> {
    /// Tells the catalog about a commit that succeeded.
    fn report(&self, next: &IcebergTable, began: Instant) {
        let versions = &self.table.inner.versions;
        if self.added.is_empty() || !versions.takes_reports() {
            return;
        }
        for snapshot in self.added.iter().filter_map(|id| next.inner.metadata.snapshot_by_id(*id)) {
            versions.report(&MetricsReport::Commit(Box::new(CommitReport {
                snapshot_id: snapshot.id,
                sequence_number: snapshot.sequence_number,
                summary: snapshot.summary.clone(),
                attempts: self.attempts,
                duration: began.elapsed(),
            })));
        }
    }
}

impl CommitAttempt for ChangeAttempt<'_> {
    type Base = TableVersion;
    type Next = MetadataCommit;
    type Done = IcebergTable;

    fn newest(&mut self) -> Result<TableVersion> {
        reload(self.table)
    }

    fn newer(&mut self, base: &TableVersion, error: &Error) -> Option<TableVersion> {
        let newest = (error.kind() == ErrorKind::NotFound).then(|| reload(self.table).ok()).flatten()?;
        (newest.found.metadata_location != base.found.metadata_location).then_some(newest)
    }

    fn is_applied(&mut self, base: &TableVersion) -> Result<bool> {
        Ok(self.changes.iter().all(|c| c.is_applied(&base.metadata)))
    }

    fn prepare(&mut self, base: &TableVersion) -> Result<MetadataCommit> {
        Ok(MetadataCommit::between(&base.metadata, apply_all(self.changes, base)?))
    }

    fn publish(&mut self, base: &TableVersion, commit: &MetadataCommit) -> Result<IcebergTable> {
        self.ended = Ended::Open;
        self.attempts += 1;
        self.added = commit.added_snapshots().collect();
        match self.table.inner.versions.publish(base, commit) {
            Publication::Committed(version) => self.table.at(version.metadata, version.found).map_err(unknown),
            Publication::Refused(e) => {
                self.ended = Ended::Failed;
                Err(e)
            }
            Publication::Disputed(e) => {
                self.ended = Ended::Disputed;
                Err(e)
            }
            Publication::Unknown(e) => Err(e),
        }
    }

    fn was_published(&mut self, newest: &TableVersion, base: &TableVersion, commit: &MetadataCommit) -> Result<bool> {
        let marked = self.changes.iter().any(|c| c.is_marked_in(&newest.metadata));
        if self.ended == Ended::Disputed {
            // A commit that was built on the other file may still come.
            let number = |at: &TableVersion| at.found.version.unwrap_or_default();
            return Ok(marked && number(newest) > number(base).saturating_add(1));
        }
        Ok(marked || self.table.inner.versions.was_published(base, commit))
    }

    fn done(&mut self, base: TableVersion) -> Result<IcebergTable> {
        self.table.at(base.metadata, base.found)
    }

    fn is_certain(&self, _: &Error) -> bool {
        self.ended == Ended::Failed
    }

    fn is_refused(&self, error: &Error) -> bool {
        self.table.inner.store.refused(error)
    }
}

/// The version after `base`, with all changes that it does not have yet.
pub(crate) fn apply_all(changes: &mut [Box<dyn TableChange>], base: &TableVersion) -> Result<TableMetadata> {
    let changed = apply_each(changes, &base.metadata)?;
    changed.with_metadata_log(&base.found.metadata_location, base.metadata.last_updated_ms)
}

pub(crate) fn apply_each(changes: &mut [Box<dyn TableChange>], base: &TableMetadata) -> Result<TableMetadata> {
    let now = now_ms();
    changes.iter_mut().try_fold(base.clone(), |metadata, change| match change.is_applied(&metadata) {
        true => Ok(metadata),
        false => change.apply(&metadata, now),
    })
}

pub(crate) fn reload(table: &IcebergTable) -> Result<TableVersion> {
    let newest = table.inner.versions.load()?;
    check_same_table(&table.inner.metadata, &newest.metadata, &table.inner.root)?;
    Ok(newest)
}

#[cfg(test)]
#[path = "committing_tests.rs"]
pub(crate) mod tests;
