//! Maintenance whose parts other processes do: plans, parts and their writers as plain data.

use crate::format::maintenance::{Compacted, RewrittenDeletes};
use crate::format::task::{CommitMessage, DataFile, Split};

/// A planned compaction.
#[derive(Debug)]
pub struct PartedCompaction {
    /// The snapshot that is read; `None` if there is nothing to do.
    pub since: Option<i64>,
    /// The groups. The files of a group are committed together.
    pub groups: Vec<PartedGroup>,
    /// The counts of files that a compaction of all groups removes.
    pub counted: Compacted,
}

/// A group of files.
#[derive(Debug)]
pub struct PartedGroup {
    /// The files, which the commit removes.
    pub removed: Vec<DataFile>,
    /// The parts. One process reads each.
    pub parts: Vec<Split>,
    /// The size at which the writer of a part begins a new file, in bytes.
    pub roll_at: u64,
}

/// The writer of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartWriter {
    /// The name of the job, a UUID. It is a part of the names of the files.
    pub job: String,
    /// The part's number among those of the job.
    pub part: u64,
    /// The number of this attempt. Each attempt has its own.
    pub attempt: u64,
}

/// The results of a job's parts.
#[derive(Clone, Debug, PartialEq)]
pub struct PartsDone {
    /// The snapshot that was read.
    pub since: i64,
    /// The files that the commit removes.
    pub removed: Vec<DataFile>,
    /// The messages of the parts' writers.
    pub messages: Vec<CommitMessage>,
}

/// A planned rewrite of delete files.
#[derive(Debug, Default)]
pub struct PartedDeletes {
    /// The snapshot that is read; `None` if there is nothing to do.
    pub since: Option<i64>,
    /// The parts.
    pub parts: Vec<DeletePart>,
    /// The counts of files that a rewrite of all parts removes.
    pub counted: RewrittenDeletes,
}

/// Delete files that one process rewrites.
#[derive(Clone, Debug)]
pub struct DeletePart {
    /// Position delete files.
    pub deletes: Vec<DataFile>,
    /// The data files that they may reach, and the deletion vectors of these.
    pub concerned: Vec<DataFile>,
    /// The size at which a new file begins, in bytes.
    pub roll_at: u64,
}

/// A listed file: a key that is the same for all spellings of its path, and the path.
pub type Listed = (String, String);

/// A file that the table leads to: the key of its path, and the other scheme and authority that it is recorded with.
pub type Reachable = (String, Option<String>);

/// The folders to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartedListing {
    /// Folders of the same depth.
    pub folders: Vec<String>,
    /// Files above them.
    pub listed: Vec<Listed>,
    /// Files that were changed then or later do not count. Milliseconds since the epoch.
    pub older_than_ms: i64,
}

/// The manifests to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartedMetadata {
    /// Manifests whose live files the table leads to.
    pub manifests: Vec<String>,
    /// The other files that it leads to, manifests among them.
    pub reachable: Vec<Reachable>,
}
