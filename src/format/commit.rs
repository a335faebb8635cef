//! Options of a commit, and the clock of commits.

use std::collections::BTreeMap;
use std::time::SystemTime;
use std::time::UNIX_EPOCH;

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
