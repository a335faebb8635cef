//! Commits of Iceberg tables. The loop in [`commit_loop`] applies their changes to the newest version.
//!
//! The outcome is typed: committed, certainly failed (files of the attempts are removed), or unknown (nothing is
//! removed).

use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::format::commit::CommitOptions;
use crate::format::commit_loop::{self, CommitOutcome, RetryPolicy};
use crate::iceberg::catalog::joint_publication::JointPublisher;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::summary::WAP_ID;
use crate::iceberg::commit_attempt::ChangeAttempt;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::table_changes::{TableChange, TableChanges, names};

/// How a commit ended.
pub(crate) type IcebergOutcome = CommitOutcome<IcebergTable>;

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

/// Makes changes, in their order, in one commit: one new version of the table, or none. See [`commit_all`].
pub(crate) fn commit(table: &IcebergTable, changes: Vec<Box<dyn TableChange>>) -> IcebergOutcome {
    commit_one(TableChanges { table: table.clone(), changes, branch: None, ident: None })
}

/// As [`commit`].
pub(crate) fn commit_one(changes: TableChanges) -> IcebergOutcome {
    commit_all(vec![changes], None).and_then(|mut tables| match tables.pop() {
        Some(table) => IcebergOutcome::Committed(table),
        None => IcebergOutcome::Unknown(Error::internal("a commit without a table")),
    })
}

/// Makes the changes of all tables in one commit: a new version of each table, or of none. Usually it is one table. For
/// several, `publisher` is their catalog.
///
/// Every attempt starts from the newest version, never from the version at which a table was opened. That may be so old
/// that the names of later versions are free again, or belong to a table that was dropped since.
///
/// See [`commit_loop::run`].
pub(crate) fn commit_all(
    mut tables: Vec<TableChanges>,
    publisher: Option<&dyn JointPublisher>,
) -> CommitOutcome<Vec<IcebergTable>> {
    let takes_one = |tables: &[TableChanges]| tables.iter().any(TableChanges::takes_one_snapshot);
    let was_limited = takes_one(&tables);
    let mut outcome = tried(&mut tables, publisher);
    // The catalog may have said so only now.
    if let CommitOutcome::Failed(e) = &outcome
        && e.kind() == ErrorKind::Unsupported
        && !was_limited
        && takes_one(&tables)
    {
        tables.iter_mut().flat_map(|t| &mut t.changes).for_each(|c| c.undo());
        outcome = tried(&mut tables, publisher);
    }
    match &outcome {
        CommitOutcome::Committed(made) => {
            for (before, made) in tables.iter_mut().zip(made) {
                before.changes.iter_mut().for_each(|c| c.committed(&made.inner.metadata));
            }
        }
        // Cleans up even after an interrupt, which was already reported.
        CommitOutcome::Failed(_) => {
            tables.iter_mut().flat_map(|t| t.changes.iter_mut().rev()).for_each(|c| c.clean_up());
        }
        CommitOutcome::Unknown(_) => {}
    }
    match tables.len() {
        1 => outcome,
        _ => outcome.map_err(|e| e.with("tables", names(&tables, |_| true))),
    }
}

fn tried(tables: &mut [TableChanges], publisher: Option<&dyn JointPublisher>) -> CommitOutcome<Vec<IcebergTable>> {
    let mut limited = tables.iter_mut().filter(|t| t.takes_one_snapshot());
    let joined = limited.try_for_each(|t| join_snapshots(&mut t.changes));
    match joined.and_then(|()| tables.iter().map(TableChanges::policy).collect::<Result<Vec<_>>>()) {
        Ok(policies) => match policies.into_iter().reduce(RetryPolicy::stricter) {
            Some(policy) => {
                let began = Instant::now();
                let mut attempt = ChangeAttempt::new(tables, publisher);
                let outcome = commit_loop::run(&mut attempt, &policy);
                if let CommitOutcome::Committed(made) = &outcome {
                    attempt.report(made, began);
                }
                outcome
            }
            None => CommitOutcome::Committed(Vec::new()),
        },
        Err(e) => CommitOutcome::Failed(e),
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

#[cfg(test)]
#[path = "committing_tests.rs"]
pub(crate) mod tests;
