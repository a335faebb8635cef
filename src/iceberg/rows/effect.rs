//! The changes of files by a change of rows, as plain data.

use std::collections::{BTreeSet, HashSet};

use crate::error::Result;
use crate::expr::Predicate;
use crate::format::row_change::Command;
use crate::format::task::{CommitMessage, DataFile, RowDelta};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::rows::new_files::NewFiles;
use crate::iceberg::rows::view::View;

/// The numbers of rows that a change touched.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowCounts {
    pub updated: u64,
    pub deleted: u64,
    pub inserted: u64,
}

/// The changes of files by a change of rows.
pub(crate) struct Effect {
    pub added: NewFiles,
    pub removed: Vec<DataFile>,
    /// Data files that added delete files refer to.
    pub required: HashSet<String>,
    pub counts: RowCounts,
    /// Files with new rows that other writers wrote.
    pub borrowed: Vec<DataFile>,
}

impl Effect {
    pub(crate) fn none(view: &View) -> Effect {
        Effect {
            added: NewFiles::new(view.store()),
            removed: Vec::new(),
            required: HashSet::new(),
            counts: RowCounts::default(),
            borrowed: Vec::new(),
        }
    }

    /// The change of a command that read the rows matching `filter`.
    ///
    /// # Errors
    /// As [`View::preconditions`].
    pub(crate) fn change(self, view: &View, command: Command, filter: Predicate) -> Result<SnapshotProducer> {
        let preconditions = view.preconditions(command, filter, self.required)?;
        if self.added.is_empty() && self.removed.is_empty() && self.borrowed.is_empty() {
            return Ok(view.change(Operation::Delete).with_preconditions(preconditions).only_checking());
        }
        let removes = !self.removed.is_empty() || self.added.has_deletes();
        let operation = match (self.added.has_data() || !self.borrowed.is_empty(), removes) {
            (true, false) => Operation::Append,
            (true, true) => Operation::Overwrite,
            (false, _) => Operation::Delete,
        };
        let change = view.change(operation).remove_files(self.removed).add_files(self.added.take()).owning_files();
        let change = change.lending(self.borrowed.iter().map(|f| f.path.clone())).add_files(self.borrowed);
        Ok(change.with_preconditions(preconditions))
    }
}

/// Files that delete rows and add others.
pub(crate) struct Delta {
    pub effect: Effect,
    /// Specs whose data files equality deletes apply to; `None` for all specs, or without equality deletes.
    pub specs: Option<BTreeSet<i32>>,
}

impl Delta {
    pub(crate) fn message(self, view: &View) -> CommitMessage {
        let Effect { added, removed, required, .. } = self.effect;
        let mut referenced: Vec<String> = required.into_iter().collect();
        referenced.sort_unstable();
        let specs = self.specs.map(|specs| specs.into_iter().collect());
        let delta = RowDelta { since: view.since, removed, referenced, specs, part: None };
        let written_at = Some(view.table.written_now());
        CommitMessage { delta: Some(delta), ..CommitMessage::new(view.table.uuid(), added.take(), written_at) }
    }
}
