//! Changes of rows: delete, overwrite, update, upsert and merge, each in one commit or as a part of a transaction.
//!
//! Most [`RowChange`]s take the same steps. They plan on the newest version (`plan`, `key_ranges`). Files that metadata
//! proves to match as a whole are only counted. In other files the rows are found by reading only the needed columns
//! (`live`). The result (`apply`) is written into new data files (`rewrite`) or named in delete files (`positions`), as
//! the properties `write.*.mode` say. [`SnapshotProducer`] commits it with the preconditions of the operation (`view`).
//! A commit of another writer that breaks them is a conflict.
//!
//! Deletes by key and by position (`delta`) do not search for rows. They are written directly (`by_key`,
//! `by_position`), and other processes may write them than the one that commits.
//!
//! A [`RowChange`] is plain data, and so are the results of a part (hits by file, data files). A later version may let
//! other processes do the parts.

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

    /// The change of files for a version. `None` if it changes nothing and read nothing.
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

    /// As [`RowChange::plan`], for rows that are already in files.
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
        match (self.needs_rows(), rows.is_some()) {
            (true, false) => Err(Error::invalid("the operation needs rows")),
            (false, true) => Err(Error::invalid("the operation takes no rows")),
            _ => Ok(()),
        }
    }
}

impl IcebergTable {
    /// Changes rows in one commit; returns the table at its new version. If no row changes, nothing is committed.
    /// `rows` are the new rows of an overwrite or merge. If the commit certainly failed, the written files are removed.
    ///
    /// # Errors
    /// `InvalidInput` for filters, columns and rows that do not fit the schema. `CommitConflict` if another commit
    /// changed something this one depends on (`write.delete.isolation-level` and the like), or after the last retry.
    /// `CommitStateUnknown` if it is not known whether the commit happened. Errors of the store; a cancellation.
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
    /// Overwrites with rows that are already in these files. The commit is planned on this version and identified by
    /// `fingerprint`. The files stay even if the commit fails. Returns the table at its new version.
    ///
    /// Errors of [`IcebergTable::change_rows`]; `InvalidInput` for changes that are not an overwrite.
    pub(crate) fn overwrite_by_files(
        &self,
        change: &RowChange,
        files: Vec<DataFile>,
        fingerprint: CommitFingerprint,
        options: &CommitOptions,
    ) -> Result<IcebergTable> {
        options.check(self)?;
        let view = View::new(self.clone(), options.branch.as_deref())?;
        match change.plan_written(&view, files)?.filter(|change| !change.only_checks()) {
            Some(change) => {
                let change = options.apply(change.once(fingerprint), self)?;
                committing::commit(self, vec![Box::new(change)]).into_result()
            }
            None => Ok(self.clone()),
        }
    }
}

impl IcebergTransaction {
    /// Adds a change of rows, planned on the table as earlier changes of the transaction leave it.
    ///
    /// # Errors
    /// As [`IcebergTable::change_rows`], but for the commit.
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
        let mut view = View::of_transaction(table, branch.as_deref(), since, self.own().collect())?;
        view.follows_added_files = self.joins(SnapshotProducer::adds_files);
        view.follows_new_rows = self.joins(SnapshotProducer::adds_rows);
        match change.plan(&view, rows)? {
            Some(change) => self.add_snapshot(change, options),
            None => Ok(()),
        }
    }
}
