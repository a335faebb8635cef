//! Committing a change that is planned on the newest version, and again if another commit contradicts the plan.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::format::commit::CommitOptions;
use crate::paimon::commit::producer::{Commit, run_planned};
use crate::paimon::state::PaimonTable;

/// A commit, and the row counts of its snapshot.
pub(crate) type PlannedCommit = (Commit, BTreeMap<String, String>);

impl PaimonTable {
    /// Plans a change on the newest version and commits it. Plans it again after a conflict.
    pub(crate) fn commit_planned(
        &self,
        options: &CommitOptions,
        plan: &dyn Fn(&PaimonTable) -> Result<Option<PlannedCommit>>,
    ) -> Result<PaimonTable> {
        let mut on_newest = || {
            let planned = plan(&self.newest_of(options.branch.as_deref())?)?;
            Ok(planned.map(|planned| with_counts(planned, options)))
        };
        match run_planned(&mut on_newest).into_result()? {
            Some(_) => self.after_commit(),
            None => self.refresh(),
        }
    }

    /// Commits a change that is planned only once. Returns the table at its new version.
    pub(crate) fn commit_once(&self, planned: PlannedCommit, options: &CommitOptions) -> Result<PaimonTable> {
        with_counts(planned, options).run().into_result()?;
        self.after_commit()
    }
}

fn with_counts((commit, mut properties): PlannedCommit, options: &CommitOptions) -> Commit {
    properties.extend(options.snapshot_properties.clone());
    commit.with_properties(properties)
}

/// The numbers of rows, as properties of the snapshot.
pub(super) fn counted(key: &str, rows: u64) -> BTreeMap<String, String> {
    BTreeMap::from([(format!("frazil.rows-{key}"), rows.to_string())])
}
