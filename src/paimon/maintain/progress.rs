//! The progress of consumers, and the earliest snapshot that readers look for.
//!
//! Source: Java's `ConsumerManager`, `SnapshotManager.repairEarliestSnapshot`.

use serde_json::json;

use crate::error::{Error, Result};
use crate::format::maintenance::ConsumerReset;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::pretty_json::pretty;
use crate::store::location::join;

impl TableFolder {
    /// Sets the snapshot that a consumer reads next, or removes the consumer. One that does not exist is made.
    ///
    /// # Errors
    /// `InvalidInput` for a name that is no file name; `NotFound` if the snapshot does not exist; those of the store.
    pub(crate) fn reset_consumer(&self, reset: &ConsumerReset) -> Result<()> {
        let name = format!("consumer-{}", reset.consumer);
        let bad = |_| Error::invalid(format!("'{}' can't be the name of a consumer", reset.consumer.escape_debug()));
        let path = join(&self.folder("consumer"), checked_name(&name).map_err(bad)?);
        match reset.next_snapshot {
            None => self.store().delete(&path),
            Some(next) => {
                self.snapshot(next)?;
                self.store().put(&path, &pretty(&json!({ "nextSnapshot": next })))
            }
        }
    }

    /// Makes a snapshot the earliest one that readers look for. Earlier snapshots must already be gone or unusable:
    /// their files stay.
    ///
    /// # Errors
    /// `InvalidInput` if it is earlier than the present one or later than the last, or if a snapshot after it is
    /// missing; those of the store.
    pub(crate) fn set_earliest(&self, id: i64) -> Result<()> {
        let none = || Error::invalid("a table without snapshots has no earliest one");
        let ids = self.snapshot_ids()?;
        let last = ids.last().copied().ok_or_else(none)?;
        let first = self.earliest_snapshot_id()?.ok_or_else(none)?;
        if id < first || id > last {
            return Err(Error::invalid(format!("snapshot {id} is not between the earliest and the latest one"))
                .with("earliest", first)
                .with("latest", last));
        }
        match (id..=last).find(|wanted| ids.binary_search(wanted).is_err()) {
            None => self.hint_earliest(id),
            Some(missing) => Err(Error::invalid(format!("snapshot {missing} does not exist"))
                .hint("All snapshots from the earliest one on must exist")),
        }
    }
}
