//! Options of a commit, and the clock of commits.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a commit goes, and what its snapshot says of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitOptions {
    /// The branch; `main` if none. One that is not there yet begins at the current snapshot.
    pub branch: Option<String>,
    /// Members for the snapshot's summary. With `wap.id`, a table whose property `write.wap.enabled` is true only stages
    /// the snapshot, on no branch.
    pub snapshot_properties: BTreeMap<String, String>,
}

/// The time by this machine's clock, milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// What a transaction would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRun {
    /// By the summaries' names: `added-data-files`, `deleted-records`, `total-records`, `manifests-created`, …: sums over the
    /// snapshots that the transaction makes, and of totals the last.
    pub counts: BTreeMap<String, i64>,
    /// Snapshots that it makes.
    pub snapshots: usize,
    /// Bytes of the metadata file, manifest lists and manifests that it writes.
    pub metadata_bytes: u64,
}
