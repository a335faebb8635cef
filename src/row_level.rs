//! Changes of rows: delete, overwrite, update, upsert and merge, each in one commit.
//!
//! Every operation goes the same way. It plans on the newest version (`plan`): files that metadata proves to be affected
//! as a whole are only counted, of the others it finds the rows by reading no more columns than the question needs
//! (`live`). What became of the rows is written (`rewrite`), and [`SnapshotChange`] commits it with what the operation
//! relies on, so that a commit of another writer that would have made a difference is a conflict.
//!
//! [`SnapshotChange`]: crate::iceberg::commit::SnapshotChange

mod delete;
mod live;
mod overwrite;
mod plan;
mod rewrite;
mod view;

use arrow::record_batch::RecordBatchReader;

use crate::error::Result;
use crate::expr::Predicate;
use crate::iceberg::commit::{Operation, SnapshotChange};
use crate::table::Table;
use crate::transaction::{self, CommitOptions};
use crate::workers::GoOn;

use self::view::View;

/// Rows that come in batches.
pub type RowReader = Box<dyn RecordBatchReader + Send>;

impl Table {
    /// Deletes the rows on which `filter` is true; returns the table at its new version. Files of which every row matches
    /// go by metadata alone; of the others the rows, as property `write.delete.mode` says. If no row matches, nothing is
    /// committed.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema; `CommitConflict` if another commit changed what this one
    /// relies on (`write.delete.isolation-level`), or after the last retry; `CommitStateUnknown` if it can't be told whether
    /// the commit happened; the store's; what `go_on` gives.
    pub fn delete(&self, filter: &Predicate, options: &CommitOptions, go_on: GoOn) -> Result<Table> {
        self.change_rows(options, |view| delete::delete(view, filter, go_on))
    }

    /// Replaces the rows on which `filter` is true by `rows`, in one snapshot. Files that match in part are rewritten.
    ///
    /// # Errors
    /// As [`Table::delete`] and [`Table::append`].
    pub fn overwrite(
        &self,
        rows: RowReader,
        filter: &Predicate,
        options: &CommitOptions,
        go_on: GoOn,
    ) -> Result<Table> {
        self.change_rows(options, |view| overwrite::overwrite(view, rows, filter, go_on))
    }

    /// Replaces all partitions that `rows` have rows for by `rows`, in one snapshot; a table without partitions, as a
    /// whole. Without rows nothing is committed.
    ///
    /// # Errors
    /// As [`Table::append`].
    pub fn overwrite_partitions(&self, rows: RowReader, options: &CommitOptions) -> Result<Table> {
        self.change_rows(options, |view| overwrite::overwrite_partitions(view, rows))
    }

    /// Commits what `plan` makes of the newest version; the newest version itself if that is nothing.
    fn change_rows(
        &self,
        options: &CommitOptions,
        plan: impl FnOnce(&View) -> Result<Option<SnapshotChange>>,
    ) -> Result<Table> {
        self.writable_location()?;
        let newest = self.refresh()?;
        // Refused before anything is written.
        options.apply(SnapshotChange::new(newest.inner.store.clone(), Operation::Overwrite), &newest)?;
        let view = View::new(newest.clone(), options.branch.as_deref())?;
        match plan(&view)? {
            Some(change) => transaction::commit(&newest, vec![Box::new(options.apply(change, &newest)?)]).into_result(),
            None => Ok(newest),
        }
    }
}
