//! Input of a commit: its changes, and its other actions and checks.

use std::collections::BTreeMap;

use super::mending::ManifestMends;
use super::renumber::Renumbering;
use crate::format::task::{BucketHashes, DataFile, NewBucketFile, WrittenAt};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::IndexEntry;
use crate::types::Value;

/// The identifier of commits that are not numbered.
pub const NO_IDENTIFIER: i64 = i64::MAX;

/// The kind of a snapshot: its effect on the table's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitKind {
    /// Adds files.
    Append,
    /// Replaces files by others with the same rows.
    Compact,
    /// Removes files or rows.
    Overwrite,
    /// Names a statistics file.
    Analyze,
}

impl CommitKind {
    /// As recorded in a snapshot.
    pub fn as_str(self) -> &'static str {
        match self {
            CommitKind::Append => "APPEND",
            CommitKind::Compact => "COMPACT",
            CommitKind::Overwrite => "OVERWRITE",
            CommitKind::Analyze => "ANALYZE",
        }
    }
}

/// The indexes of a data file, as its entry records them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedIndexes {
    /// Indexes in the entry itself.
    pub embedded: Option<Vec<u8>>,
    /// The name of a file with indexes.
    pub own_file: Option<String>,
}

/// Changes of a commit, independent of the snapshot below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Data files to add.
    pub added: Vec<NewBucketFile>,
    /// Entries of files to add that another branch has.
    pub adopted: Vec<FileEntry>,
    /// Data files to remove, as planning returned them. All must still exist.
    pub removed: Vec<DataFile>,
    /// Data files that move to another level unchanged.
    pub moved: Vec<(DataFile, i32)>,
    /// Data files that get other indexes and stay unchanged otherwise.
    pub reindexed: Vec<(DataFile, RecordedIndexes)>,
    /// Changelog files.
    pub changelog: Vec<NewBucketFile>,
    /// Index files to add and to remove. A file may replace another one, such as the hashes of a bucket or the
    /// deletion vectors of a data file. Then it needs an entry that removes the other one.
    pub index: Vec<IndexEntry>,
    /// The paths of the index files that were written for `index`.
    pub index_files: Vec<String>,
    /// The keys of added rows in dynamic buckets. The hash indexes of these buckets get them.
    pub hashes: Vec<BucketHashes>,
}

impl Changes {
    /// Whether nothing is done.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.adopted.is_empty()
            && self.removed.is_empty()
            && self.moved.is_empty()
            && self.reindexed.is_empty()
            && self.changelog.is_empty()
            && self.index.is_empty()
            && self.hashes.is_empty()
    }
}

/// The files that an overwrite removes, as they exist when it is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Replaced {
    /// All files.
    Everything,
    /// The rows of partitions with these values, for some or all partition columns.
    Partition(Vec<(String, Option<Value>)>),
    /// The files of the partitions that files are added to.
    PartitionsOfAdded,
}

/// Input of a commit: the same for all its attempts.
#[derive(Clone, Debug)]
pub(super) struct CommitInput {
    pub(super) folder: TableFolder,
    pub(super) changes: Changes,
    pub(super) replaced: Option<Replaced>,
    pub(super) kind: CommitKind,
    pub(super) user: String,
    pub(super) identifier: i64,
    pub(super) watermark: Option<i64>,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) checks_appends: bool,
    /// Whether the commit has to check that the added files still exist.
    pub(super) checks_files: bool,
    /// Whether scans must see all added files, without a compaction.
    pub(super) shows_all: bool,
    /// The snapshot that the changes rely on; `Some(None)` if they rely on a table without snapshots.
    pub(super) only_on: Option<Option<i64>>,
    pub(super) owns_files: bool,
    /// The name of the new statistics file.
    pub(super) statistics: Option<String>,
    /// Whether all manifests are merged that can be.
    pub(super) joins_manifests: bool,
    /// What the commit mends, if it does nothing else.
    pub(super) mends: Option<ManifestMends>,
    /// Which rows get other ids, if the commit does nothing else.
    pub(super) renumbers: Option<Renumbering>,
    /// The commit is younger than this snapshot and this time.
    pub(super) after: Option<WrittenAt>,
}
