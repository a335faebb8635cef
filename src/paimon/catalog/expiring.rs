//! Snapshots in the process of being removed. Frazil's own file `snapshot/EXPIRING` lists them while an expiry runs.
//! If the expiry dies, the file stays. Other engines ignore it.
//!
//! The hint `EARLIEST` can't be used for that: Java keeps whole snapshots before it, if a branch was merged.

use serde_json::{Value as Json, json};

use super::filesystem::TableFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::location::join;

/// The number of the first snapshot that stays.
const FIRST_KEPT: &str = "firstKept";

/// Its manifest list, since another commit may get the number.
const DELTA_MANIFEST_LIST: &str = "deltaManifestList";

impl TableFolder {
    fn expiring_path(&self) -> String {
        join(&self.folder("snapshot"), "EXPIRING")
    }

    /// Records that the snapshots before one are being expired.
    pub(crate) fn begin_expiry(&self, kept: &PaimonSnapshot) -> Result<()> {
        let said = json!({FIRST_KEPT: kept.id, DELTA_MANIFEST_LIST: kept.delta_manifest_list});
        self.store().put(&self.expiring_path(), said.to_string().as_bytes())
    }

    /// Records that no expiry is at work any more.
    pub(crate) fn end_expiry(&self) -> Result<()> {
        self.store().delete(&self.expiring_path())
    }

    /// Whether a snapshot has expired, or an expiry has begun to remove its files. It has not if a tag keeps them.
    ///
    /// # Errors
    /// As [`TableFolder::lasting_from`] and [`TableFolder::tags`].
    pub(crate) fn has_expired(&self, id: i64) -> Result<bool> {
        let whole = self.lasting_from()? <= id && self.try_snapshot(id)?.is_some();
        Ok(!whole && !self.tags()?.iter().any(|tag| tag.snapshot.id == id))
    }

    /// The number of the first snapshot that stays. An expiry has begun to remove the files of earlier ones, and the
    /// next expiry will complete that. 0 if no expiry has begun.
    ///
    /// # Errors
    /// `CorruptTable` if the record of an expiry can't be read; those of the store.
    pub(crate) fn lasting_from(&self) -> Result<i64> {
        let path = self.expiring_path();
        let bytes = match self.store().get(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(e),
        };
        let said: Json = serde_json::from_slice(&bytes).unwrap_or_default();
        let (Some(id), Some(list)) = (said[FIRST_KEPT].as_i64(), said[DELTA_MANIFEST_LIST].as_str()) else {
            return Err(Error::corrupt("the file that names the expiring snapshots can't be read")
                .with("path", path)
                .hint("Remove the file. The oldest snapshots may then lack files"));
        };
        let kept = self.try_snapshot(id)?;
        Ok(kept.filter(|kept| kept.delta_manifest_list == list).map_or(0, |kept| kept.id))
    }

    /// Keeps an existing snapshot from expiring, and makes it the earliest one if the others begin later.
    pub(super) fn begin_at(&self, id: i64) -> Result<()> {
        if self.lasting_from()? > id {
            self.begin_expiry(&self.snapshot(id)?)?;
        }
        match self.hint("EARLIEST")?.is_some_and(|first| first > id) {
            true => self.hint_earliest(id),
            false => Ok(()),
        }
    }

    /// Removes the half-expired snapshots from a number on, before the table is rolled back to them.
    pub(super) fn drop_half_expired_from(&self, first: i64) -> Result<()> {
        let lasting = self.lasting_from()?;
        let mut half = self.snapshot_ids()?.into_iter().filter(|id| (first..lasting).contains(id));
        half.try_for_each(|id| self.store().delete(&self.snapshot_path(id)))
    }
}
