//! Planning a change of rows on the newest version, and planning it again after another commit came first.

use std::collections::BTreeMap;

use crate::error::{ErrorKind, Result};
use crate::format::commit::CommitOptions;
use crate::paimon::commit::producer::Commit;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;

/// How often a change is planned again at most, after other commits came first.
///
/// Each attempt runs the loop of commits, which publishes a plan and reports a conflict if the plan no longer holds.
/// Only then are rows read and planned again, so this loop stands around that one.
const ATTEMPTS: i64 = 10;

/// A commit, and the row counts of its snapshot.
pub(crate) type PlannedCommit = (Commit, BTreeMap<String, String>);

impl PaimonTable {
    /// Plans a change on the newest version and commits it. Starts again if another commit came first.
    pub(crate) fn retry(
        &self,
        options: &CommitOptions,
        plan: &dyn Fn(&PaimonTable) -> Result<Option<PlannedCommit>>,
    ) -> Result<PaimonTable> {
        let mut left = ATTEMPTS;
        loop {
            let table = self.newest_of(options.branch.as_deref())?;
            left = left.min(table.table_schema().options().integer("commit.max-retries")?.unwrap_or(left)) - 1;
            let Some((commit, counts)) = plan(&table)? else { return self.refresh() };
            match table.finish(self, commit, counts, options) {
                Err(e) if e.kind() == ErrorKind::CommitConflict && left >= 0 => check_cancelled()?,
                done => return done,
            }
        }
    }

    pub(crate) fn finish(
        &self,
        before: &PaimonTable,
        commit: Commit,
        mut properties: BTreeMap<String, String>,
        options: &CommitOptions,
    ) -> Result<PaimonTable> {
        properties.extend(options.snapshot_properties.clone());
        commit.with_properties(properties).run().into_result()?;
        before.after_commit()
    }
}
