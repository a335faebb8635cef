//! The version that an operation is planned on.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::{Predicate, bind};
use crate::format::evolution::RefKind;
use crate::format::request::{At, ScanRequest};
use crate::format::row_change::Command;
use crate::format::task::DataFile;
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::producer::{NOT_REACHED, SnapshotProducer};
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::committing::ONE_SNAPSHOT;
use crate::iceberg::scan::handle::IcebergScan;
use crate::iceberg::state::IcebergTable;
use crate::store::Store;

/// Refuses a change that can't become one snapshot with the earlier ones.
fn check_alone(is_late: bool, why: &str) -> Result<()> {
    match is_late {
        false => Ok(()),
        true => Err(Error::unsupported(format!("two changes can't become one snapshot: {why}")).hint(ONE_SNAPSHOT)),
    }
}

/// How single rows of a file are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The file is rewritten.
    CopyOnWrite,
    /// A delete file names the rows.
    MergeOnRead,
}

/// The rows that concurrent commits must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Any rows that the operation would have read.
    Serializable,
    /// Any rows that it did read.
    Snapshot,
}

/// A version of a table, the branch that is changed, and the snapshot from which other commits are checked.
pub(crate) struct View {
    pub table: IcebergTable,
    branch: Option<String>,
    pub since: Option<i64>,
    /// Uncommitted snapshots of the transaction. They may still get other sequence numbers and row ids.
    own: HashSet<i64>,
    /// Whether the change becomes one snapshot with earlier ones that add files.
    pub follows_added_files: bool,
    /// Whether it becomes one snapshot with earlier ones that add rows.
    pub follows_new_rows: bool,
}

impl View {
    /// Creates the view of a committed version.
    ///
    /// # Errors
    /// `InvalidInput` for a branch that is a tag.
    pub(crate) fn new(table: IcebergTable, branch: Option<&str>) -> Result<View> {
        let refs = &table.inner.metadata.refs;
        if branch.and_then(|name| refs.get(name)).is_some_and(|r| r.kind == RefKind::Tag) {
            let name = branch.unwrap_or_default();
            return Err(Error::invalid(format!("'{name}' is a tag, and tags do not move")).hint("Name a branch"));
        }
        // A new branch begins at the current snapshot.
        let branch = branch.filter(|name| refs.contains_key(*name)).map(str::to_owned);
        let mut view = View {
            table,
            branch,
            since: None,
            own: HashSet::new(),
            follows_added_files: false,
            follows_new_rows: false,
        };
        view.since = view.scan(Predicate::True)?.snapshot_id();
        Ok(view)
    }

    /// Creates the view of a transaction's state. `own` are its snapshots; it began on `since`.
    ///
    /// # Errors
    /// As [`View::new`].
    pub(crate) fn of_transaction(
        table: IcebergTable,
        branch: Option<&str>,
        since: Option<i64>,
        own: HashSet<i64>,
    ) -> Result<View> {
        Ok(View { since, own, ..View::new(table, branch)? })
    }

    /// Checks that a change may remove all files of a filter or of partitions. No file is written before.
    ///
    /// # Errors
    /// `Unsupported` if earlier changes of the same snapshot added files.
    pub(crate) fn check_open_removal(&self) -> Result<()> {
        check_alone(self.follows_added_files, "the second removes files that the first may have added")
    }

    /// Checks that a change may delete rows by their keys. No file is written before.
    ///
    /// # Errors
    /// `Unsupported` if earlier changes of the same snapshot added files. Deletes by keys don't reach these.
    pub(crate) fn check_deletes_by_key(&self) -> Result<()> {
        check_alone(self.follows_new_rows, NOT_REACHED)
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.table.inner.store
    }

    /// The rows on which `filter` is true.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the table's columns.
    pub(crate) fn scan(&self, filter: Predicate) -> Result<IcebergScan> {
        // Metadata columns say nothing about the rows of other commits.
        bind(&filter, self.table.schema(), true)?;
        let at = self.branch.clone().map(At::Ref);
        let scan = self.table.scan(ScanRequest { filter: Some(filter), at, ..ScanRequest::default() })?;
        Ok(scan.with_all_deletes())
    }

    fn property(&self, command: Command, what: &str) -> Option<(String, String)> {
        let key = format!("write.{}.{what}", command.as_str());
        let value = self.table.inner.metadata.properties.get(&key)?;
        Some((key, value.trim().to_ascii_lowercase()))
    }

    /// How single rows are changed. A version 1 table has no delete files.
    ///
    /// # Errors
    /// `InvalidInput` for a property with an unknown mode.
    pub(crate) fn mode(&self, command: Command) -> Result<Mode> {
        match self.property(command, "mode") {
            None => Ok(Mode::CopyOnWrite),
            Some((_, mode)) if mode == "copy-on-write" => Ok(Mode::CopyOnWrite),
            Some((_, mode)) if mode == "merge-on-read" && self.table.format_version() == 1 => Ok(Mode::CopyOnWrite),
            Some((_, mode)) if mode == "merge-on-read" => Ok(Mode::MergeOnRead),
            Some((key, mode)) => Err(Error::invalid(format!("'{mode}' is not a mode of writing"))
                .with("property", key)
                .hint("Use copy-on-write or merge-on-read")),
        }
    }

    /// The rows that concurrent commits must not change.
    ///
    /// # Errors
    /// `InvalidInput` for a property with an unknown isolation level.
    pub(crate) fn isolation(&self, command: Command) -> Result<Isolation> {
        match self.property(command, "isolation-level") {
            None => Ok(Isolation::Serializable),
            Some((_, level)) if level == "serializable" => Ok(Isolation::Serializable),
            Some((_, level)) if level == "snapshot" => Ok(Isolation::Snapshot),
            Some((key, level)) => Err(Error::invalid(format!("'{level}' is not an isolation level"))
                .with("property", key)
                .hint("Use serializable or snapshot")),
        }
    }

    /// The preconditions of an operation that read the rows matching `filter`. They follow Spark's use of Java's
    /// `OverwriteFiles` (files are replaced) and `RowDelta` (deletes of these data files are added).
    ///
    /// # Errors
    /// As [`View::isolation`].
    pub(crate) fn preconditions(
        &self,
        command: Command,
        filter: Predicate,
        required: HashSet<String>,
    ) -> Result<Preconditions> {
        Ok(Preconditions {
            since: self.since,
            filter: Some(filter),
            no_new_data: self.isolation(command)? == Isolation::Serializable,
            // Rows that another writer deleted meanwhile must not return as updated ones.
            no_new_deletes: !required.is_empty() && command != Command::Delete,
            no_new_deletes_of_removed: true,
            required_may_be_deleted: command == Command::Delete,
            required,
            ..Preconditions::default()
        })
    }

    pub(crate) fn change(&self, operation: Operation) -> SnapshotProducer {
        SnapshotProducer::new(self.store().clone(), operation).planned_at(self.table.format_version())
    }

    /// Whether a file was added by the transaction itself.
    pub(crate) fn is_own(&self, file: &DataFile) -> bool {
        file.snapshot_id.is_some_and(|id| self.own.contains(&id))
    }

    /// The entry that names a file for removal. Files that the transaction added may get other sequence numbers.
    pub(crate) fn removable(&self, file: &DataFile) -> DataFile {
        match self.is_own(file) {
            false => file.clone(),
            true => DataFile { sequence_number: None, file_sequence_number: None, ..file.clone() },
        }
    }
}
