//! Changes of rows: delete, overwrite, update, upsert and merge, each in one commit or as a part of a transaction.
//!
//! Most [`RowChange`]s go the same way. It plans on the newest version (`plan`, `key_ranges`): files that metadata
//! proves to be affected as a whole are only counted, of the others it finds the rows by reading no more columns than
//! the question needs (`live`). What becomes of the rows (`apply`) is written into new data files (`rewrite`) or
//! named in delete files (`positions`), as the properties `write.*.mode` say, and [`SnapshotProducer`] commits it
//! with what the operation relies on (`view`), so that a commit of another writer that would have made a difference
//! is a conflict.
//!
//! Deletes by key and by position (`delta`) do not look for rows: they are written as they come (`by_key`,
//! `by_position`), and may be written by other processes than the one that commits.
//!
//! A [`RowChange`] is plain data, and so is what a part of the work gives (hits by file, data files): a later version
//! may have other processes do the parts.

use crate::error::{Error, Result};
use crate::format::commit::CommitOptions;
use crate::format::row_change::RowChange;
use crate::format::task::DataFile;
use crate::iceberg::commit::fingerprint::CommitFingerprint;
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::committing;
use crate::iceberg::rows::effect::Delta;
use crate::iceberg::rows::overwrite::NewRows;
use crate::iceberg::rows::view::View;
use crate::iceberg::state::IcebergTable;
use crate::iceberg::transaction::pending::IcebergTransaction;
use crate::rows::stream::RowReader;

impl RowChange {
    fn needs_rows(&self) -> bool {
        !matches!(self, RowChange::Delete(_) | RowChange::Update(..))
    }

    /// The change of files that this comes to on a version; `None` if it changes nothing and looked at nothing.
    fn plan(&self, view: &View, rows: Option<RowReader>) -> Result<Option<SnapshotProducer>> {
        let rows = || rows.ok_or_else(|| Error::invalid("the operation needs rows"));
        match self {
            RowChange::Delete(filter) => crate::iceberg::rows::delete::delete(view, filter),
            RowChange::Overwrite(filter) => {
                crate::iceberg::rows::overwrite::overwrite(view, NewRows::Stream(rows()?), filter)
            }
            RowChange::OverwritePartitions => {
                crate::iceberg::rows::overwrite::overwrite_partitions(view, NewRows::Stream(rows()?))
            }
            RowChange::Update(filter, assigned) => crate::iceberg::rows::update::update(view, filter, assigned),
            RowChange::Merge(merge) => crate::iceberg::rows::merge::merge(view, rows()?, merge),
            RowChange::DeleteKeys(_) | RowChange::ReplaceKeys(_) | RowChange::DeletePositions => {
                Ok(Delta::of(view, self, rows()?, 0)?.change(view))
            }
        }
    }

    /// As [`RowChange::plan`], where the rows are in files already.
    fn plan_written(&self, view: &View, files: Vec<DataFile>) -> Result<Option<SnapshotProducer>> {
        match self {
            RowChange::Overwrite(filter) => {
                crate::iceberg::rows::overwrite::overwrite(view, NewRows::Written(files), filter)
            }
            RowChange::OverwritePartitions => {
                crate::iceberg::rows::overwrite::overwrite_partitions(view, NewRows::Written(files))
            }
            _ => Err(Error::invalid("only an overwrite takes rows that were written before")),
        }
    }

    fn check(&self, rows: Option<&RowReader>) -> Result<()> {
        match self.needs_rows() == rows.is_some() {
            true => Ok(()),
            false => Err(Error::invalid("the operation needs rows, or takes none")),
        }
    }
}

impl IcebergTable {
    /// Changes rows in one commit; returns the table at its new version. If no row changes, nothing is committed.
    /// `rows` are those that an overwrite or merge brings. If the commit certainly failed, the written files are
    /// removed.
    ///
    /// # Errors
    /// `InvalidInput` for filters, columns and rows that do not fit the schema; `CommitConflict` if another commit
    /// changed what this one relies on (`write.delete.isolation-level` and the like), or after the last retry;
    /// `CommitStateUnknown` if it can't be told whether the commit happened; the store's; a cancellation.
    pub fn change_rows(
        &self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        change.check(rows.as_ref())?;
        self.writable_location()?;
        let newest = self.refresh()?;
        // Refused before anything is written.
        options.check(&newest)?;
        let view = View::new(newest.clone(), options.branch.as_deref())?;
        match change.plan(&view, rows)?.filter(|change| !change.only_checks()) {
            Some(change) => committing::commit(&newest, vec![Box::new(options.apply(change, &newest)?)]).into_result(),
            None => Ok(newest),
        }
    }
}

impl IcebergTable {
    /// Overwrites by rows that are in these files already, in one commit that is known by `first_time`, planned on this
    /// version. They stay whatever becomes of the commit. Returns the table at its new version.
    ///
    /// # Errors
    /// As [`Table::change_rows`]; `InvalidInput` for changes that are no overwrite.
    pub(crate) fn overwrite_by_files(
        &self,
        change: &RowChange,
        files: Vec<DataFile>,
        first_time: CommitFingerprint,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        options.check(self)?;
        let view = View::new(self.clone(), options.branch.as_deref())?;
        match change.plan_written(&view, files)?.filter(|change| !change.only_checks()) {
            Some(change) => {
                let change = options.apply(change.once(first_time), self)?;
                committing::commit(self, vec![Box::new(change)]).into_result()
            }
            None => Ok(self.clone()),
        }
    }
}

impl IcebergTransaction {
    /// Adds a change of rows, planned on the table as the changes so far leave it.
    ///
    /// # Errors
    /// As [`Table::change_rows`], but for the commit.
    pub(crate) fn change_rows(
        &mut self,
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<()> {
        change.check(rows.as_ref())?;
        let (since, branch) = (self.since()?, self.branch().map(str::to_owned));
        let table = self.table()?;
        // Refused before anything is written.
        self.check_options(options)?;
        let view = View::of_transaction(table, branch.as_deref(), since, self.own().collect())?;
        match change.plan(&view, rows)? {
            Some(change) => self.add_snapshot(change, options),
            None => Ok(()),
        }
    }
}
