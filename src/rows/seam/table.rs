//! A table of any format: the operations of every format, and accessors for operations that some formats lack.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::format::catalog::TableLabels;
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::commit_rows::CommitRows;
use crate::format::diagnosis::finding::{Diagnosis, DoctorOptions};
use crate::format::diagnosis::repair::{RepairOptions, RepairStep};
use crate::format::evolution::Evolution;
use crate::format::maintenance::{
    CompactOptions, Compacted, DeleteOptions, FileOrder, Maintained, Maintenance, OrphanOptions, Orphans,
    RewrittenDeletes,
};
use crate::format::maintenance_parts::{
    DeletePart, Listed, PartWriter, PartedCompaction, PartedDeletes, PartedListing, PartedMetadata, PartsDone,
    Reachable,
};
use crate::format::request::{At, RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::row_change::{ChangeFiles, Part, RowChange};
use crate::format::table_format::TableFormat;
use crate::format::task::{CommitMessage, DataFile, Split};
use crate::rows::metadata_rows::MetadataRows;
use crate::rows::stream::RowReader;
use crate::types::{PartitionSpec, Schema, SortOrder};

use super::scan::Scan;

/// A table at one version, of any format. A format that lacks a verb keeps the default, which refuses it.
pub trait Table: Send + Sync + Debug {
    /// The format.
    fn format(&self) -> &'static TableFormat;
    /// The version of the format.
    fn format_version(&self) -> u8;
    /// The recorded location of the table.
    fn location(&self) -> &str;
    /// The metadata file that was read.
    fn metadata_location(&self) -> &str;
    /// The table's name in its catalog, if the table knows it.
    fn name(&self) -> Option<String> {
        None
    }
    /// The snapshots of the commit by which this version was made here. `None` if the format does not keep them.
    fn committed(&self) -> Option<&[i64]> {
        None
    }
    /// The identity of the table; empty where the format has none.
    fn uuid(&self) -> &str {
        ""
    }
    /// The current schema.
    fn schema(&self) -> &Arc<Schema>;
    /// The partition spec that writers use.
    fn partition_spec(&self) -> Arc<PartitionSpec> {
        Arc::new(PartitionSpec { id: 0, fields: Vec::new() })
    }
    /// The sort order that writers use.
    fn sort_order(&self) -> Arc<SortOrder> {
        Arc::new(SortOrder { id: 0, fields: Vec::new() })
    }
    /// The properties of the table.
    fn properties(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// The table with the properties, the partition spec and the sort order that it had at a version. Those of a
    /// snapshot are the ones with which its commit left the table. Those of a point in time were current then. A
    /// branch, and no version, have the newest ones that are known here. `None` if the metadata of that time is no
    /// longer kept.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; those of reading its metadata.
    fn defined_at(&self, _at: Option<&At>) -> Result<Option<Arc<dyn Table>>> {
        Err(self.format().refused("earlier properties"))
    }
    /// Labels that the table's catalog gives it.
    fn labels(&self) -> TableLabels {
        TableLabels::default()
    }
    /// The current snapshot.
    fn snapshot(&self) -> Option<SnapshotInfo>;
    /// All snapshots, oldest first.
    ///
    /// # Errors
    /// Those of the store; `CorruptTable` for a snapshot that can't be read.
    fn snapshots(&self) -> Result<Vec<SnapshotInfo>>;
    /// Branches and tags by name.
    ///
    /// # Errors
    /// As [`Table::snapshots`].
    fn refs(&self) -> Result<Vec<RefInfo>> {
        Ok(Vec::new())
    }
    /// The rows that the commits with each schema bring, by the ids of the schemas.
    ///
    /// # Errors
    /// `Unsupported` where options do not decide it; as [`Table::snapshots`].
    fn commit_rows(&self) -> Result<BTreeMap<i64, CommitRows>> {
        Err(self.format().refused("rows of commits by schema"))
    }
    /// The newest version of the same table.
    ///
    /// # Errors
    /// `NotFound` if the table was dropped; those of the store.
    fn refresh(&self) -> Result<Arc<dyn Table>>;
    /// The root folder that commits go to.
    ///
    /// # Errors
    /// `Unsupported` if the table can't be written.
    fn writable_location(&self) -> Result<&str> {
        Ok(self.location())
    }
    /// The JSON from which any process can open the same version.
    fn to_json(&self) -> String;

    /// A lazy scan.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; `InvalidInput` for a wrong filter, column or option.
    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>>;
    /// A metadata table by its name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name; those of the store.
    fn inspect(&self, _name: &str, _at: Option<&At>) -> Result<MetadataRows> {
        Err(self.format().refused("metadata tables"))
    }

    /// Writes rows and commits them.
    ///
    /// # Errors
    /// `InvalidInput` for rows that do not fit the schema; `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn append(&self, rows: RowReader, options: &WriteOptions, commit: &CommitOptions) -> Result<Arc<dyn Table>>;
    /// Writes rows into new files without committing them.
    ///
    /// # Errors
    /// As [`Table::append`], except the errors of the commit.
    fn write(&self, rows: RowReader, options: &WriteOptions) -> Result<CommitMessage>;
    /// Writes deletes by key or position without committing them.
    ///
    /// # Errors
    /// As [`Table::change_rows`], except the errors of the commit.
    fn write_delta(
        &self,
        _change: &RowChange,
        _rows: RowReader,
        _branch: Option<&str>,
        _task: u64,
    ) -> Result<CommitMessage> {
        Err(self.format().refused("writing deletes"))
    }
    /// Commits the messages of writers, in one snapshot.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table; `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Arc<dyn Table>>;
    /// Commits the messages of writers in place of other rows.
    ///
    /// # Errors
    /// As [`Table::commit`] and [`Table::check_overwrite`].
    fn commit_overwrite(
        &self,
        _change: &RowChange,
        _messages: Vec<CommitMessage>,
        _options: &CommitOptions,
    ) -> Result<Arc<dyn Table>> {
        Err(self.format().refused("overwrites"))
    }
    /// Refuses an overwrite that can't be committed, before its rows are written.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the table; `Unsupported` for changes that the format does not have.
    fn check_overwrite(&self, _change: &RowChange) -> Result<()> {
        Err(self.format().refused("overwrites"))
    }
    /// Removes the files of messages that will not be committed.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table; those of the store.
    fn abort(&self, messages: &[CommitMessage]) -> Result<()>;
    /// Changes rows in one commit.
    ///
    /// # Errors
    /// `InvalidInput` for filters, columns and rows that do not fit the schema; `CommitConflict`; `CommitStateUnknown`;
    /// `Unsupported` for changes that the format does not have; those of the store.
    fn change_rows(
        &self,
        _change: &RowChange,
        _rows: Option<RowReader>,
        _options: &CommitOptions,
    ) -> Result<Arc<dyn Table>> {
        Err(self.format().refused("changes of rows"))
    }
    /// Changes the schema, the properties or the references of the table in one commit.
    ///
    /// # Errors
    /// `InvalidInput`, `NotFound`, `AlreadyExists` or `Unsupported` for a change that the format does not allow.
    fn evolve(&self, _evolutions: &[Evolution]) -> Result<Arc<dyn Table>> {
        Err(self.format().refused("changes of the table"))
    }
    /// Runs one action of maintenance. Returns the table at its newest version, and the result.
    ///
    /// # Errors
    /// `Unsupported` for an action that the format does not have; those of the action.
    fn maintain(&self, action: &Maintenance) -> Result<(Arc<dyn Table>, Maintained)> {
        Err(self.format().refused(action.name()))
    }

    /// Examines the table from its metadata down to its files. Damage becomes a finding.
    ///
    /// # Errors
    /// `Unsupported` for formats without it; a cancellation.
    fn diagnose(&self, _options: &DoctorOptions) -> Result<Diagnosis> {
        Err(self.format().refused("doctor"))
    }
    /// Repairs the table, in commits. Returns it at its newest version, with what was done.
    ///
    /// # Errors
    /// `Unsupported` for repairs that the format does not have; errors of commits and of the store.
    fn repair(&self, _options: &RepairOptions) -> Result<(Arc<dyn Table>, Vec<RepairStep>)> {
        Err(self.format().refused("repairs"))
    }

    /// Several changes in one commit.
    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }
    /// Adds files that an engine or another program wrote.
    fn foreign_files(&self) -> Option<&dyn ForeignFiles> {
        None
    }
    /// Changes of rows that several processes share.
    fn changes_in_parts(&self) -> Option<&dyn ChangesInParts> {
        None
    }
    /// Maintenance that several processes share.
    fn maintenance_in_parts(&self) -> Option<&dyn MaintenanceInParts> {
        None
    }
    /// Publishes staged snapshots.
    fn cherry_picks(&self) -> Option<&dyn CherryPicks> {
        None
    }
    /// Replaces files by others with the same rows.
    fn file_rewrites(&self) -> Option<&dyn FileRewrites> {
        None
    }
}

/// Begins transactions.
pub trait Transactions {
    /// A transaction at the newest version; its snapshots go to `branch`, `main` if `None`.
    ///
    /// # Errors
    /// As [`Table::writable_location`] and [`Table::refresh`].
    fn begin(&self, branch: Option<String>) -> Result<Box<dyn Transaction>>;
}

/// The error for a transaction that the call uses already. It runs code of the user, such as a reader of rows.
pub fn in_use() -> Error {
    Error::invalid("the transaction is in use by the call that this call comes from")
        .hint("A reader or generator of rows can't use the transaction that it feeds. Make its rows before")
}

/// Several changes that one commit publishes. A transaction that is dropped removes the files that it wrote.
pub trait Transaction: Send {
    /// Adds rows.
    ///
    /// # Errors
    /// As [`Table::append`], except the errors of the commit.
    fn append(&mut self, rows: RowReader, options: &WriteOptions, properties: BTreeMap<String, String>) -> Result<()>;
    /// Removes all files in which every row matches a filter.
    ///
    /// # Errors
    /// `InvalidInput` if a file matches in part.
    fn delete_files(&mut self, filter: &Predicate) -> Result<()>;
    /// Changes rows. It sees the result of the earlier changes.
    ///
    /// # Errors
    /// As [`Table::change_rows`], except the errors of the commit.
    fn change_rows(&mut self, change: &RowChange, rows: Option<RowReader>, options: &CommitOptions) -> Result<()>;
    /// Adds files that exist already.
    ///
    /// # Errors
    /// As [`ForeignFiles::add_files`], except the errors of the commit.
    fn add_files(&mut self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<()>;
    /// Changes schema, properties or references.
    ///
    /// # Errors
    /// As [`Table::evolve`], except the errors of the commit.
    fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()>;
    /// Publishes a staged snapshot.
    ///
    /// # Errors
    /// As [`CherryPicks::cherry_pick`], except the errors of the commit.
    fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()>;
    /// The table with all changes so far. Nobody else sees it.
    ///
    /// # Errors
    /// Those of applying the changes.
    fn table(&mut self) -> Result<Arc<dyn Table>>;
    /// The effects that the commit would have.
    ///
    /// # Errors
    /// Those of applying the changes.
    fn dry_run(&mut self) -> Result<DryRun>;
    /// Publishes all changes.
    ///
    /// # Errors
    /// `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn commit(self: Box<Self>) -> Result<Arc<dyn Table>>;
    /// Discards all changes and removes the files that were written.
    fn abort(self: Box<Self>);
}

/// Files that another program wrote.
pub trait ForeignFiles {
    /// Adds Parquet, Avro or ORC files that exist already.
    ///
    /// # Errors
    /// `InvalidInput` for files that do not fit the schema; those of the commit.
    fn add_files(&self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<Arc<dyn Table>>;
    /// The folder that a job of an engine may write to; `None` if an engine can't write this table.
    ///
    /// # Errors
    /// As [`Table::writable_location`].
    fn job_folder(&self, name: &str) -> Result<Option<String>>;
    /// The files that a job wrote, as a message to commit.
    ///
    /// # Errors
    /// Those of the store; `InvalidInput` for files that do not fit the table.
    fn collect_job(&self, folder: &str, in_order: bool) -> Result<CommitMessage>;
    /// Removes the files of a failed job.
    ///
    /// # Errors
    /// Those of the store.
    fn sweep_job(&self, folder: &str) -> Result<()>;
}

/// Changes of rows in parts. Several processes do one part each, and one process commits all parts.
pub trait ChangesInParts {
    /// The files that a delete or update touches.
    ///
    /// # Errors
    /// `InvalidInput` for other changes; those of planning.
    fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles>;
    /// Does a part without committing it.
    ///
    /// # Errors
    /// As [`Table::change_rows`], except the errors of the commit.
    fn write_part(
        &self,
        part: &Part,
        rows: Option<RowReader>,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage>;
    /// Commits all parts. `filter` is that of the rows that the change read.
    ///
    /// # Errors
    /// As [`Table::change_rows`].
    fn commit_parts(
        &self,
        change: &RowChange,
        filter: &Predicate,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn Table>>;
}

/// Publishing staged snapshots.
pub trait CherryPicks {
    /// Makes the changes of a staged snapshot current.
    ///
    /// # Errors
    /// `NotFound` if the snapshot does not exist; `CommitConflict` if its changes no longer fit.
    fn cherry_pick(&self, snapshot_id: i64) -> Result<Arc<dyn Table>>;
}

/// Replacing files by others with the same rows.
pub trait FileRewrites {
    /// Commits new files in place of others.
    ///
    /// # Errors
    /// `InvalidInput` if nothing is replaced or the rows differ in number; `CommitConflict`.
    fn commit_rewrite(
        &self,
        replaced: Vec<DataFile>,
        messages: Vec<CommitMessage>,
        at: Option<At>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn Table>>;
}

/// Maintenance that several processes share: one process plans and commits, and others write or read.
pub trait MaintenanceInParts {
    /// Plans a compaction. Returns the newest version too, which writes the parts and commits them.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn plan_compaction(&self, options: &CompactOptions) -> Result<(Arc<dyn Table>, PartedCompaction)>;
    /// Writes the rows of a part into new files, without committing them.
    ///
    /// # Errors
    /// `InvalidInput` for a job with a name that is not a UUID; as [`Table::maintain`].
    fn compact_part(&self, part: &Split, roll_at: u64, order: &FileOrder, writer: &PartWriter)
    -> Result<CommitMessage>;
    /// Commits the written parts of a compaction.
    ///
    /// # Errors
    /// As [`Table::maintain`]; `InvalidInput` for messages of another table.
    fn commit_compaction(&self, done: PartsDone, options: &CommitOptions) -> Result<(Arc<dyn Table>, Compacted)>;
    /// Plans a rewrite of position deletes. Returns the newest version too.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn plan_delete_rewrite(&self, options: &DeleteOptions) -> Result<(Arc<dyn Table>, PartedDeletes)>;
    /// Rewrites the delete files of a part, without committing the new ones. `since` is the snapshot that was planned.
    ///
    /// # Errors
    /// As [`MaintenanceInParts::compact_part`].
    fn rewrite_deletes_part(&self, since: i64, part: DeletePart, writer: &PartWriter) -> Result<CommitMessage>;
    /// Commits the written parts of a rewrite of position deletes.
    ///
    /// # Errors
    /// As [`MaintenanceInParts::commit_compaction`].
    fn commit_delete_rewrite(
        &self,
        done: PartsDone,
        options: &CommitOptions,
    ) -> Result<(Arc<dyn Table>, RewrittenDeletes)>;
    /// Lists the folders at the top. The folders below them are the parts of the listing.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn plan_listing(&self, options: &OrphanOptions) -> Result<PartedListing>;
    /// Lists folders and everything in them.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn list_part(&self, options: &OrphanOptions, folders: Vec<String>) -> Result<Vec<Listed>>;
    /// The files that the newest version leads to, and the manifests that lead to more. Returns that version too.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn plan_reachable(&self, options: &OrphanOptions) -> Result<(Arc<dyn Table>, PartedMetadata)>;
    /// The live files of manifests, each once.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn reachable_part(&self, options: &OrphanOptions, manifests: &[String]) -> Result<Vec<Reachable>>;
    /// Deletes orphans, unless some may be recorded with the schemes and authorities in `conflicts`.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn delete_orphans(
        &self,
        options: &OrphanOptions,
        conflicts: &BTreeSet<String>,
        files: Vec<String>,
    ) -> Result<Orphans>;
    /// Deletes files that the writers of a job made and that are in no snapshot. Returns the newest version and the
    /// paths.
    ///
    /// # Errors
    /// `InvalidInput` for a job with a name that is not a UUID; those of the store.
    fn remove_files_of(&self, job: &str) -> Result<(Arc<dyn Table>, Vec<String>)>;
}
