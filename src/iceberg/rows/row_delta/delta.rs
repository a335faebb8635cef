//! Row deltas: deletes that are written without reading the rows that they delete.
//!
//! A writer returns a [`CommitMessage`], which is committed at once or first sent to another process.

use super::by_key::by_key;
use super::by_position::by_position;
use crate::error::{Error, Result};
use crate::format::row_change::RowChange;
use crate::format::task::CommitMessage;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::rows::effect::Delta;
use crate::iceberg::rows::view::View;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::write::commit_messages::row_delta;
use crate::rows::stream::RowReader;

impl Delta {
    pub(crate) fn of(view: &View, change: &RowChange, rows: RowReader, task: u64) -> Result<Delta> {
        match change {
            RowChange::DeleteKeys(on) => by_key(view, rows, on, false, task),
            RowChange::ReplaceKeys(on) => by_key(view, rows, on, true, task),
            RowChange::DeletePositions => by_position(view, rows),
            _ => Err(Error::invalid("only deletes by key and by position can be written without a commit")),
        }
    }

    /// The change of the table; `None` if nothing changes.
    pub(crate) fn change(self, view: &View) -> Option<SnapshotProducer> {
        if self.effect.added.is_empty() && self.effect.removed.is_empty() {
            return None;
        }
        Some(row_delta(&view.table, vec![self.message(view)]).owning_files())
    }
}

impl IcebergTable {
    /// Writes deletes by key or position, and replacement rows, without committing. Positions refer to this version of
    /// a branch. `task` numbers the writers of one job.
    ///
    /// # Errors
    /// As [`IcebergTable::change_rows`], but for the commit; `InvalidInput` for other changes.
    pub fn write_delta(
        &self,
        change: &RowChange,
        rows: RowReader,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage> {
        self.writable_location()?;
        let view = View::new(self.clone(), branch)?;
        Ok(Delta::of(&view, change, rows, task)?.message(&view))
    }
}
