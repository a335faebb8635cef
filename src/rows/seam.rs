//! The seam between table formats and everything above them.
//!
//! What every format does is a method of [`Table`] and [`Scan`]. What not every format does is a *capability*: an
//! accessor that gives a trait object, or `None`. [`required`] turns `None` into an `Unsupported` error that names the
//! format and says what to do instead. One dynamic call per call of a user goes through the seam, never one per file or
//! per batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::TaskSource;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::format::commit::{CommitOptions, DryRun};
use crate::format::estimate::Estimate;
use crate::format::evolution::Evolution;
use crate::format::maintenance::{
    CompactOptions, Compacted, DeleteOptions, FileOrder, Maintained, Maintenance, OrphanOptions, Orphans,
    RewrittenDeletes,
};
use crate::format::maintenance_parts::{
    DeletePart, Listed, PartWriter, PartedCompaction, PartedDeletes, PartedListing, PartedMetadata, PartsDone,
    Reachable,
};
use crate::format::packed_splits::Splits;
use crate::format::request::{At, RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::row_change::{ChangeFiles, Part, RowChange};
use crate::format::splits::SplitRequest;
use crate::format::task::{CommitMessage, DataFile, ReadContext, Split};
use crate::rows::explanation::Explained;
use crate::rows::metadata_rows::Rows;
use crate::rows::native_read::{NativeRead, NativeReadRequest};
use crate::rows::statistics::Statistics;
use crate::rows::stream::{BatchStream, RowReader, StreamRequest};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// A table at one version, of any format.
pub trait Table: Send + Sync + Debug {
    /// The name of the format: `iceberg` or `paimon`.
    fn format(&self) -> &'static str;
    /// The version of the format.
    fn format_version(&self) -> u8;
    /// The recorded location of the table.
    fn location(&self) -> &str;
    /// The metadata file that was read.
    fn metadata_location(&self) -> &str;
    /// The identity of the table; empty where the format has none.
    fn uuid(&self) -> &str;
    /// The current schema.
    fn schema(&self) -> &Arc<Schema>;
    /// The partition spec that writers use.
    fn partition_spec(&self) -> Arc<PartitionSpec>;
    /// The sort order that writers use.
    fn sort_order(&self) -> Arc<SortOrder>;
    /// The properties of the table.
    fn properties(&self) -> BTreeMap<String, String>;
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
    fn refs(&self) -> Result<Vec<RefInfo>>;
    /// The newest version of the same table.
    ///
    /// # Errors
    /// `NotFound` if the table was dropped; those of the store.
    fn refresh(&self) -> Result<Arc<dyn Table>>;
    /// The root folder that commits go to.
    ///
    /// # Errors
    /// `Unsupported` if the table can't be written.
    fn writable_location(&self) -> Result<&str>;
    /// The JSON from which the same version is opened again, in another process too.
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
    fn inspect(&self, name: &str, at: Option<&At>) -> Result<Rows>;

    /// Writes rows and commits them.
    ///
    /// # Errors
    /// `InvalidInput` for rows that do not fit the schema; `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn append(&self, rows: RowReader, options: &WriteOptions, commit: &CommitOptions) -> Result<Arc<dyn Table>>;
    /// Writes rows into new files without committing them.
    ///
    /// # Errors
    /// As [`Table::append`], but for the commit.
    fn write(&self, rows: RowReader, options: &WriteOptions) -> Result<CommitMessage>;
    /// Writes deletes by key or position without committing them.
    ///
    /// # Errors
    /// As [`Table::change_rows`], but for the commit.
    fn write_delta(
        &self,
        change: &RowChange,
        rows: RowReader,
        branch: Option<&str>,
        task: u64,
    ) -> Result<CommitMessage>;
    /// Commits what writers wrote, in one snapshot.
    ///
    /// # Errors
    /// `InvalidInput` for messages of another table; `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn commit(&self, messages: Vec<CommitMessage>, options: &CommitOptions) -> Result<Arc<dyn Table>>;
    /// Commits what writers wrote in place of other rows.
    ///
    /// # Errors
    /// As [`Table::commit`] and [`Table::check_overwrite`].
    fn commit_overwrite(
        &self,
        change: &RowChange,
        messages: Vec<CommitMessage>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn Table>>;
    /// Refuses an overwrite that can't be committed, before its rows are written.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the table; `Unsupported` for changes that the format does not have.
    fn check_overwrite(&self, change: &RowChange) -> Result<()>;
    /// Removes the files of messages that are given up.
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
        change: &RowChange,
        rows: Option<RowReader>,
        options: &CommitOptions,
    ) -> Result<Arc<dyn Table>>;
    /// Changes the schema, the properties or the references of the table in one commit.
    ///
    /// # Errors
    /// `InvalidInput`, `NotFound`, `AlreadyExists` or `Unsupported` for a change that the format does not allow.
    fn evolve(&self, evolutions: &[Evolution]) -> Result<Arc<dyn Table>>;
    /// Runs one action of maintenance. Returns the table at its newest version, and what was done.
    ///
    /// # Errors
    /// `Unsupported` for an action that the format does not have; those of the action.
    fn maintain(&self, action: &Maintenance) -> Result<(Arc<dyn Table>, Maintained)>;

    /// Several changes in one commit.
    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }
    /// Files that an engine or somebody else wrote become a part of the table.
    fn foreign_files(&self) -> Option<&dyn ForeignFiles> {
        None
    }
    /// Changes of rows that several processes do a part of.
    fn changes_in_parts(&self) -> Option<&dyn ChangesInParts> {
        None
    }
    /// Maintenance that several processes do a part of.
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
    /// Why a capability is missing, and what to do instead, if the format has something to say on it.
    fn missing(&self, _capability: &str) -> Option<Error> {
        None
    }
}

/// The capability, or an error that says that tables of this format lack it.
///
/// # Errors
/// `Unsupported` if `found` is `None`.
pub fn required<T>(table: &dyn Table, capability: &str, found: Option<T>) -> Result<T> {
    found.ok_or_else(|| {
        table.missing(capability).unwrap_or_else(|| {
            Error::unsupported(format!("{capability}: tables of the format '{}' do not have this yet", table.format()))
                .with("table", table.location())
                .hint("docs/not-yet.md lists what each format supports")
        })
    })
}

/// Begins transactions.
pub trait Transactions {
    /// A transaction at the newest version; its snapshots go to `branch`, `main` if `None`.
    ///
    /// # Errors
    /// As [`Table::writable_location`] and [`Table::refresh`].
    fn begin(&self, branch: Option<String>) -> Result<Box<dyn Transaction>>;
}

/// Several changes that one commit publishes. A transaction that is dropped removes what it wrote.
pub trait Transaction: Send {
    /// Adds rows.
    ///
    /// # Errors
    /// As [`Table::append`], but for the commit.
    fn append(&mut self, rows: RowReader, options: &WriteOptions, properties: BTreeMap<String, String>) -> Result<()>;
    /// Removes all files whose rows all match a filter.
    ///
    /// # Errors
    /// `InvalidInput` if a file matches in part.
    fn delete_files(&mut self, filter: &Predicate) -> Result<()>;
    /// Changes rows as the changes before leave them.
    ///
    /// # Errors
    /// As [`Table::change_rows`], but for the commit.
    fn change_rows(&mut self, change: &RowChange, rows: Option<RowReader>, options: &CommitOptions) -> Result<()>;
    /// Adds files that exist already.
    ///
    /// # Errors
    /// As [`ForeignFiles::add_files`], but for the commit.
    fn add_files(&mut self, paths: &[String], check_duplicates: bool, options: &CommitOptions) -> Result<()>;
    /// Changes schema, properties or references.
    ///
    /// # Errors
    /// As [`Table::evolve`], but for the commit.
    fn evolve(&mut self, evolutions: &[Evolution]) -> Result<()>;
    /// Publishes a staged snapshot.
    ///
    /// # Errors
    /// As [`CherryPicks::cherry_pick`], but for the commit.
    fn cherry_pick(&mut self, snapshot_id: i64) -> Result<()>;
    /// The table as the changes so far leave it; nobody else sees it.
    ///
    /// # Errors
    /// Those of applying the changes.
    fn table(&mut self) -> Result<Arc<dyn Table>>;
    /// What the commit would do.
    ///
    /// # Errors
    /// Those of applying the changes.
    fn dry_run(&mut self) -> Result<DryRun>;
    /// Publishes all changes.
    ///
    /// # Errors
    /// `CommitConflict`; `CommitStateUnknown`; those of the store.
    fn commit(self: Box<Self>) -> Result<Arc<dyn Table>>;
    /// Gives all changes up and removes what was written.
    fn abort(self: Box<Self>);
}

/// Files that somebody else wrote.
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
    /// Removes what a failed job left.
    ///
    /// # Errors
    /// Those of the store.
    fn sweep_job(&self, folder: &str) -> Result<()>;
}

/// Changes of rows in parts: several processes do a part each, one commits them all.
pub trait ChangesInParts {
    /// The files that a delete or update touches.
    ///
    /// # Errors
    /// `InvalidInput` for other changes; those of planning.
    fn change_files(&self, change: &RowChange, branch: Option<&str>) -> Result<ChangeFiles>;
    /// Does a part without committing it.
    ///
    /// # Errors
    /// As [`Table::change_rows`], but for the commit.
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
    /// `NotFound` if there is no such snapshot; `CommitConflict` if its changes do not fit any more.
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

/// Maintenance that several processes do a part of: one plans, others write or read, the first commits.
pub trait MaintenanceInParts {
    /// Plans a compaction. Returns the newest version too, which writes the parts and commits them.
    ///
    /// # Errors
    /// As [`Table::maintain`].
    fn plan_compaction(&self, options: &CompactOptions) -> Result<(Arc<dyn Table>, PartedCompaction)>;
    /// Writes the rows of a part into new files, without committing them.
    ///
    /// # Errors
    /// `InvalidInput` for a job whose name is not a UUID; as [`Table::maintain`].
    fn compact_part(&self, part: &Split, roll_at: u64, order: &FileOrder, writer: &PartWriter)
    -> Result<CommitMessage>;
    /// Commits what the parts of a compaction wrote.
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
    /// Commits what the parts of a rewrite of position deletes wrote.
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
    /// Deletes the files that the writers of a job made and no snapshot has. Returns the newest version and the paths.
    ///
    /// # Errors
    /// `InvalidInput` for a job whose name is not a UUID; those of the store.
    fn remove_files_of(&self, job: &str) -> Result<(Arc<dyn Table>, Vec<String>)>;
}

/// A scan of a table of any format.
pub trait Scan: Send + Sync + Debug {
    /// Keeps only rows that this filter keeps as well.
    ///
    /// # Errors
    /// `InvalidInput` if the filter does not fit the schema.
    fn filter(&self, predicate: Predicate) -> Result<Box<dyn Scan>>;
    /// Reads only these columns (dotted paths), in this order.
    ///
    /// # Errors
    /// `InvalidInput` for a column that does not exist.
    fn select(&self, columns: &[String]) -> Result<Box<dyn Scan>>;
    /// Reads at most this number of rows.
    fn limit(&self, rows: usize) -> Box<dyn Scan>;
    /// What the tasks of this scan share.
    fn context(&self) -> &Arc<ReadContext>;
    /// The filter as text.
    fn filter_text(&self) -> String;
    /// The snapshot that is read; `None` for an empty table.
    fn snapshot_id(&self) -> Option<i64>;
    /// Whether the rows are those that changed.
    fn is_of_changes(&self) -> bool;
    /// Tasks, one for each file, in a deterministic order.
    ///
    /// # Errors
    /// Those of planning.
    fn plan_files(&self) -> Result<TaskSource>;
    /// The tasks as Arrow batches without an object for each; columns as in [`Scan::plan_schema`].
    ///
    /// # Errors
    /// Those of planning.
    fn plan_table(&self) -> Result<Vec<RecordBatch>>;
    /// The schema of [`Scan::plan_table`].
    fn plan_schema(&self) -> SchemaRef;
    /// The number of tasks.
    ///
    /// # Errors
    /// Those of planning.
    fn count_files(&self) -> Result<u64>;
    /// Splits, packed as the reference implementation packs them.
    ///
    /// # Errors
    /// `InvalidInput` for sizes that are not positive; those of planning.
    fn splits(&self, request: SplitRequest) -> Result<Vec<Split>>;
    /// The same in few bytes if there are at least `pack_from`, where the format can pack them.
    ///
    /// # Errors
    /// As [`Scan::splits`].
    fn splits_or_packed(&self, request: SplitRequest, _pack_from: usize) -> Result<Splits> {
        self.splits(request).map(Splits::Each)
    }
    /// What planning does and why.
    ///
    /// # Errors
    /// Those of planning.
    fn explain(&self, files: bool) -> Result<Explained>;
    /// What planning will cost, without doing it.
    ///
    /// # Errors
    /// Those of reading the manifest list.
    fn estimate(&self) -> Result<Estimate>;
    /// Counts and bounds of columns.
    ///
    /// # Errors
    /// `InvalidInput` for a column without statistics; those of planning.
    fn statistics(&self, columns: &[String]) -> Result<Statistics>;
    /// The rows, one batch at a time.
    ///
    /// # Errors
    /// Those of planning and reading.
    fn read(&self, request: StreamRequest) -> Result<BatchStream>;
    /// The number of rows.
    ///
    /// # Errors
    /// As [`Scan::read`].
    fn count(&self) -> Result<u64>;

    /// Reads of an engine's own Parquet reader.
    fn native_reads(&self) -> Option<&dyn NativeReads> {
        None
    }
    /// Plans in parts, for planners in other processes.
    fn parted_plans(&self) -> Option<&dyn PartedPlans> {
        None
    }
}

impl dyn Scan {
    /// The Arrow schema of the rows.
    ///
    /// # Errors
    /// `Unsupported` for a column whose type has no Arrow form.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        to_arrow(&self.context().projection)
    }

    /// All rows, files read in parallel; batches in the order of the tasks.
    ///
    /// # Errors
    /// As [`Scan::read`]; a cancellation.
    pub fn read_all(&self) -> Result<Vec<RecordBatch>> {
        self.read(StreamRequest { ordered: true, all: true, ..StreamRequest::default() })?.collect_all()
    }
}

/// The capability of a scan, or an error that says that its format lacks it.
///
/// # Errors
/// `Unsupported` if `found` is `None`.
pub fn required_of_scan<T>(capability: &str, found: Option<T>) -> Result<T> {
    found.ok_or_else(|| {
        Error::unsupported(format!("{capability}: scans of this table's format do not have this yet"))
            .hint("plan_files(), plan() and explain() say what is read")
    })
}

/// Files that an engine's own Parquet reader can read.
pub trait NativeReads {
    /// Plans, and decides for each file who reads it.
    ///
    /// # Errors
    /// Those of planning; those of reading footers.
    fn native_read(&self, request: &NativeReadRequest, packing: SplitRequest) -> Result<NativeRead>;
}

/// Plans in parts.
pub trait PartedPlans {
    /// Whether this scan can be planned in parts.
    fn is_of_version(&self) -> bool;
    /// Parts of about `part_bytes` bytes of manifests; a single one if all have at most `whole_bytes`.
    ///
    /// # Errors
    /// `Unsupported` for scans of what happened between versions; those of reading the manifest list.
    fn plan_parts(&self, part_bytes: u64, whole_bytes: u64) -> Result<Vec<Box<dyn PlanPart>>>;
    /// A split without tasks, which reads the tasks of others.
    fn reader(&self) -> Split;
    /// About how many splits this number of files gives.
    ///
    /// # Errors
    /// `InvalidInput` for split sizes that are not positive.
    fn estimate_splits(&self, files: u128) -> Result<u64>;
}

/// A share of the manifests of a plan.
pub trait PlanPart: Send + Sync + Debug {
    /// Bytes of its manifests.
    fn manifest_bytes(&self) -> u64;
    /// The most files that it can give.
    fn most_files(&self) -> u64;
    /// How many data manifests and delete manifests it has.
    fn manifest_counts(&self) -> (usize, usize);
    /// The splits of its files.
    ///
    /// # Errors
    /// Those of planning.
    fn splits(&self) -> Result<Vec<Split>>;
    /// Its tasks as Arrow batches; columns as in [`PlanPart::table_schema`].
    ///
    /// # Errors
    /// Those of planning.
    fn plan_table(&self) -> Result<Vec<RecordBatch>>;
    /// The schema of [`PlanPart::plan_table`].
    fn table_schema(&self) -> SchemaRef;
    /// The JSON from which it is made again, in another process too.
    fn to_json(&self) -> String;
}
