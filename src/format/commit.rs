//! Options of a commit, and what a commit would change.

use std::collections::BTreeMap;

/// The branch of a commit, and extra entries for its snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommitOptions {
    /// The branch; `None` means `main`. A new branch begins at the current snapshot.
    pub branch: Option<String>,
    /// Entries for the snapshot's summary. With `wap.id`, a table whose property `write.wap.enabled` is true only
    /// stages the snapshot, on no branch.
    pub snapshot_properties: BTreeMap<String, String>,
}

/// The changes that a transaction would make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DryRun {
    /// Counts by the names that summaries use: `added-data-files`, `deleted-records`, `manifests-created`, …. They
    /// are sums over the snapshots of the transaction. Totals such as `total-records` are those of its last snapshot.
    pub counts: BTreeMap<String, i64>,
    /// Snapshots that it would make.
    pub snapshots: usize,
    /// Bytes of the metadata file, manifest lists and manifests that it would write.
    pub metadata_bytes: u64,
}
