//! Maintenance as plain data: the actions that a caller asks for, and their results.

use std::collections::BTreeMap;

use crate::expr::Predicate;
use crate::format::commit::CommitOptions;
use crate::format::deletion::{Deletion, OutsideLocations};

/// One action of maintenance.
#[derive(Clone, Debug, PartialEq)]
pub enum Maintenance {
    /// Removes old snapshots, and the files that only they led to.
    ExpireSnapshots(ExpireOptions),
    /// Deletes files that no version of the table leads to.
    RemoveOrphanFiles(OrphanOptions),
    /// Rewrites manifests, sorted by partition.
    RewriteManifests(ManifestOptions),
    /// Rewrites data files by the sizes and the order that the options give.
    Compact(CompactOptions),
    /// Rewrites data files by the table's own options.
    CompactBuckets(BucketCompaction),
    /// Rewrites position delete files.
    RewritePositionDeletes(DeleteOptions),
    /// Removes delete files that delete no row.
    RemoveDanglingDeletes(DeleteOptions),
    /// Converts equality deletes to deletes by position.
    ConvertEqualityDeletes(DeleteOptions),
    /// Estimates the number of distinct values of columns.
    ComputeStatistics(StatisticsOptions),
    /// Counts the files and rows of each partition of a snapshot. Without an id, it is the current snapshot.
    ComputePartitionStatistics(Option<i64>),
    /// Sets the snapshot that a consumer reads next, or removes the consumer.
    ResetConsumer(ConsumerReset),
    /// Marks partitions as complete. Each has values of partition columns, as texts.
    MarkPartitionsDone(Vec<BTreeMap<String, String>>),
    /// Makes a snapshot the earliest one of the table for readers.
    SetEarliestSnapshot(i64),
    /// Writes the indexes of existing data files again.
    RewriteFileIndexes(FileIndexOptions),
    /// Gives rows other ids, so that the ids of a partition follow each other.
    ReassignRowIds(OfPartitions),
    /// Takes global indexes out of the table.
    DropGlobalIndex(GlobalIndexDrop),
    /// Writes rows again without those that deletion vectors delete.
    MaterializeDeletionVectors(Materialization),
    /// Removes everything but the table itself.
    Purge,
    /// Records that the rows of files of other formats were loaded.
    RecordLoads(Vec<LoadedFile>),
}

impl Maintenance {
    /// The name of the action, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Maintenance::ExpireSnapshots(_) => "expire_snapshots",
            Maintenance::RemoveOrphanFiles(_) => "remove_orphan_files",
            Maintenance::RewriteManifests(_) => "rewrite_manifests",
            Maintenance::Compact(_) => "compact by sizes and orders",
            Maintenance::CompactBuckets(_) => "compact by the table's options",
            Maintenance::RewritePositionDeletes(_) => "rewrite_position_deletes",
            Maintenance::RemoveDanglingDeletes(_) => "remove_dangling_deletes",
            Maintenance::ConvertEqualityDeletes(_) => "convert_equality_deletes",
            Maintenance::ComputeStatistics(_) => "compute_statistics",
            Maintenance::ComputePartitionStatistics(_) => "compute_partition_statistics",
            Maintenance::ResetConsumer(_) => "reset_consumer",
            Maintenance::MarkPartitionsDone(_) => "mark_partitions_done",
            Maintenance::SetEarliestSnapshot(_) => "set_earliest_snapshot",
            Maintenance::RewriteFileIndexes(_) => "rewrite_file_indexes",
            Maintenance::ReassignRowIds(_) => "reassign_row_ids",
            Maintenance::DropGlobalIndex(_) => "drop_global_index",
            Maintenance::MaterializeDeletionVectors(_) => "materialize_deletion_vectors",
            Maintenance::Purge => "purge",
            Maintenance::RecordLoads(_) => "record_loads",
        }
    }
}

/// The result of an action of maintenance.
#[derive(Clone, Debug, PartialEq)]
pub enum Maintained {
    /// The result of [`Maintenance::ExpireSnapshots`].
    Expired(Expired),
    /// The result of [`Maintenance::RemoveOrphanFiles`].
    Orphans(Orphans),
    /// The result of [`Maintenance::RewriteManifests`].
    Manifests(RewrittenManifests),
    /// Results of all kinds of compaction.
    Compacted(Compacted),
    /// Results of the actions on delete files.
    Deletes(RewrittenDeletes),
    /// Results of the actions that compute statistics; `None` if there was nothing to compute.
    Statistics(Option<ComputedStatistics>),
    /// The result of [`Maintenance::RewriteFileIndexes`].
    FileIndexes(RewrittenIndexes),
    /// The result of [`Maintenance::ReassignRowIds`].
    RowIds(ReassignedRowIds),
    /// The number of index files that [`Maintenance::DropGlobalIndex`] takes out.
    DroppedFiles(usize),
    /// The action has no result.
    Done,
}

/// A file of another format whose rows a table got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedFile {
    /// The first 16 hexadecimal digits of the SHA-256 of its path. Empty in a record that was read.
    pub path_hash: String,
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// When it was changed last, milliseconds since the epoch.
    pub modified_ms: i64,
    /// When it was loaded, milliseconds since the epoch.
    pub loaded_at_ms: i64,
    /// The snapshot with its rows.
    pub snapshot_id: i64,
    /// The number of its rows.
    pub rows: i64,
}

/// The progress of a consumer: a reader that follows the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerReset {
    /// Its name.
    pub consumer: String,
    /// The snapshot that it reads next. `None` removes the consumer.
    pub next_snapshot: Option<i64>,
}

/// Which data files get their indexes again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileIndexOptions {
    /// Which partitions: those with rows that the filter keeps. It may use partition columns only.
    pub filter: Option<Predicate>,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// The indexes that were written again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewrittenIndexes {
    /// The partitions of the data files.
    pub partitions: usize,
    /// The data files with new indexes.
    pub files: usize,
}

/// Some partitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfPartitions {
    /// Which ones: those with rows that the filter keeps. It may use partition columns only.
    pub filter: Option<Predicate>,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// The rows that got other ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReassignedRowIds {
    /// The snapshot before.
    pub previous_snapshot_id: i64,
    /// The snapshot with the new ids.
    pub snapshot_id: i64,
    /// The data files whose entries were written again.
    pub files: usize,
    /// The rows.
    pub rows: i64,
    /// The files of global indexes whose rows got other ids.
    pub indexes: usize,
    /// The first new id.
    pub first_row_id: i64,
    /// The id that the next new row gets.
    pub next_row_id: i64,
    /// Why no row got another id; `None` if some did.
    pub skipped: Option<String>,
}

/// Which global indexes are taken out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalIndexDrop {
    /// The columns of the index, in order.
    pub columns: Vec<String>,
    /// The kind of the index, such as `btree`.
    pub index_type: String,
    /// Which partitions: those with rows that the filter keeps. It may use partition columns only.
    pub filter: Option<Predicate>,
    /// Only count the files.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// Which deletion vectors are applied to their data files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Materialization {
    /// Which partitions: those with rows that the filter keeps. It may use partition columns only.
    pub filter: Option<Predicate>,
    /// Options that override those of the table.
    pub options: BTreeMap<String, String>,
    /// Only report what would be written again.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// The treatment of a listed file that the table records with another scheme or authority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixMismatch {
    /// Nothing is deleted.
    #[default]
    Error,
    /// It stays.
    Ignore,
    /// It is an orphan.
    Delete,
}

/// Which orphan files to remove.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrphanOptions {
    /// Files that were changed then or later stay. Milliseconds since the epoch; `None` is the default of the format.
    pub older_than_ms: Option<i64>,
    /// The folder to look in; `None` is the table's folder.
    pub location: Option<String>,
    /// Only report what would be removed.
    pub dry_run: bool,
    /// The treatment of files that are recorded with another scheme or authority.
    pub prefix_mismatch: PrefixMismatch,
    /// Schemes that mean the same as others, several separated by commas: `s3a,s3n` → `s3` always applies.
    pub equal_schemes: BTreeMap<String, String>,
    /// Authorities that mean the same as others.
    pub equal_authorities: BTreeMap<String, String>,
    /// Folders outside the table's own that may be searched.
    pub outside: OutsideLocations,
}

/// How to expire snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpireOptions {
    /// The snapshots that expire.
    pub expiry: Expiry,
    /// Only report what would be removed.
    pub dry_run: bool,
    /// Leaves the files. A removal of orphan files finds them later.
    pub keep_files: bool,
    /// Folders outside the table's own in which files are deleted too.
    pub outside: OutsideLocations,
}

/// The snapshots that expire. The retention of a reference overrides this, and this overrides the table's properties.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expiry {
    /// Snapshots made before this time are old. Milliseconds since the epoch.
    pub older_than_ms: Option<i64>,
    /// The number of newest snapshots that a branch keeps in any case; 1 or more.
    pub retain_last: Option<i64>,
    /// Snapshots to remove regardless of age. No remaining reference may point to one of them.
    pub snapshot_ids: Vec<i64>,
}

/// The expired snapshots, and the files that were removed with them. Paths are as the table recorded them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Ids of the snapshots.
    pub snapshots: Vec<i64>,
    /// Numbers of the changelogs that had been kept longer than their snapshots.
    pub changelogs: Vec<i64>,
    /// Names of the branches and tags.
    pub refs: Vec<String>,
    /// Data files.
    pub data_files: Vec<String>,
    /// Position delete files and files of deletion vectors.
    pub position_delete_files: Vec<String>,
    /// Equality delete files.
    pub equality_delete_files: Vec<String>,
    /// Manifests.
    pub manifests: Vec<String>,
    /// Manifest lists.
    pub manifest_lists: Vec<String>,
    /// Statistics files of columns and of partitions.
    pub statistics_files: Vec<String>,
    /// How deleting them ended.
    pub deletion: Deletion,
}

/// Files that no version of the table leads to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// Their paths, as listed.
    pub files: Vec<String>,
    /// How deleting them ended.
    pub deletion: Deletion,
}

/// Which manifests to rewrite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestOptions {
    /// Only manifests of this partition spec; `None` is all specs.
    pub spec_id: Option<i32>,
    /// The target size of new manifests; `None` follows the property `commit.manifest.target-size-bytes`.
    pub target_bytes: Option<i64>,
    /// Only report which manifests would be rewritten.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// Which manifests were rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewrittenManifests {
    /// Manifests that the new snapshot no longer lists.
    pub rewritten: Vec<String>,
    /// Manifests that hold their entries.
    pub added: Vec<String>,
}

/// Which columns and snapshot to compute statistics for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatisticsOptions {
    /// Dotted names; `None` is all primitive columns at the top level.
    pub columns: Option<Vec<String>>,
    /// The snapshot; `None` is the current one.
    pub snapshot_id: Option<i64>,
}

/// A statistics file that was computed for a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedStatistics {
    /// The snapshot that it describes.
    pub snapshot_id: i64,
    /// Its path.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// Estimates of distinct values by the columns' names.
    pub distinct: Vec<(String, i64)>,
}

/// The files that a compaction chooses and writes. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactRules {
    /// The target size of files; `None` follows the property of the table.
    pub target_bytes: Option<u64>,
    /// Smaller files are rewritten; `None` is three quarters of the target.
    pub min_bytes: Option<u64>,
    /// Larger files are rewritten; `None` is 1.8 times the target.
    pub max_bytes: Option<u64>,
    /// A group with this number of files is rewritten.
    pub min_input_files: usize,
    /// A file with this number of delete files is rewritten, and its group with it.
    pub delete_file_threshold: Option<usize>,
    /// A file with this share of deleted rows is rewritten. Only delete files that belong to one data file count.
    pub delete_ratio_threshold: f64,
    /// All files are rewritten.
    pub rewrite_all: bool,
    /// The largest size of a group.
    pub max_group_bytes: u64,
}

impl Default for CompactRules {
    fn default() -> Self {
        CompactRules {
            target_bytes: None,
            min_bytes: None,
            max_bytes: None,
            min_input_files: 5,
            delete_file_threshold: None,
            delete_ratio_threshold: 0.3,
            rewrite_all: false,
            max_group_bytes: 100 << 30,
        }
    }
}

/// The order of rows in rewritten files, within each partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FileOrder {
    /// The order in which they are read.
    #[default]
    AsRead,
    /// Sorted by these texts (`ts desc nulls last`); without texts, by the table's own order.
    Sort(Vec<String>),
    /// Along a curve through several columns.
    ZOrder {
        /// The columns.
        by: Vec<String>,
        /// The most bytes of the curve's value that are compared; `None` is all.
        max_output_bytes: Option<usize>,
        /// The bytes of strings and binaries that are used; `None` is 8.
        text_bytes: Option<usize>,
    },
}

/// How to compact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactOptions {
    /// Only files that may have such rows. Each is rewritten as a whole.
    pub filter: Option<Predicate>,
    /// Which files are rewritten, and the sizes of new ones.
    pub rules: CompactRules,
    /// The order of the rows.
    pub order: FileOrder,
    /// The most commits, each with a share of the groups. If one fails, the others still count. `None` is one commit.
    pub max_commits: Option<usize>,
    /// The number of these commits that may fail; `None` is all.
    pub max_failed_commits: Option<usize>,
    /// Only report what would be rewritten.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commits.
    pub commit: CommitOptions,
}

/// How to compact by the table's own options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BucketCompaction {
    /// Which partitions: those with rows that the filter keeps. It may use partition columns only.
    pub filter: Option<Predicate>,
    /// Compacts only the files that are picked by their number and sizes, not all files.
    pub minor: bool,
    /// Options that override those of the table.
    pub options: BTreeMap<String, String>,
    /// Only report what would be compacted.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// The result of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Groups of files that were planned.
    pub groups: usize,
    /// Data files that were removed from the table. After a dry run, those that would be.
    pub rewritten_files: usize,
    /// Their size.
    pub rewritten_bytes: u64,
    /// Data files that now hold their rows.
    pub added_files: usize,
    /// Their size.
    pub added_bytes: u64,
    /// The number of commits.
    pub commits: usize,
    /// Why commits failed, or why their files could not be written. Empty unless several commits were allowed.
    pub failed: Vec<String>,
    /// Data files that got another level without being rewritten.
    pub upgraded_files: usize,
    /// New files of the changelog.
    pub changelog_files: usize,
}

/// Which delete files to rewrite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeleteOptions {
    /// Only delete files of data files that may have such rows. Rewrites of position deletes use it.
    pub filter: Option<Predicate>,
    /// Which delete files are rewritten, and the sizes of new ones.
    pub rules: CompactRules,
    /// Only report what would be rewritten or removed.
    pub dry_run: bool,
    /// The branch and the snapshot properties of the commit.
    pub commit: CommitOptions,
}

/// How delete files changed. Each deletion vector counts as a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewrittenDeletes {
    /// Delete files that were removed from the table. After a dry run, those that would be.
    pub rewritten_files: usize,
    /// Their size.
    pub rewritten_bytes: u64,
    /// Delete files that replace them.
    pub added_files: usize,
    /// Their size.
    pub added_bytes: u64,
}
