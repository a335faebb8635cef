//! Earlier versions of a table's metadata. The metadata log names their files.

use crate::error::{Result, ResultExt};
use crate::format::request::At;
use crate::iceberg::catalog::metadata_files::load_file;
use crate::iceberg::scan::version::{is_branch, version};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::{IcebergTable, check_same_table};

impl IcebergTable {
    /// The table at the version whose properties, partition spec and sort order a version of its rows has: the one that
    /// the commit of the snapshot made, or the one that was current at a point in time. A branch has the newest ones.
    /// `None` if the file is no longer in the metadata log, or no longer there.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; those of reading a metadata file.
    pub(crate) fn defined_at(&self, at: Option<&At>) -> Result<Option<IcebergTable>> {
        let Some(at) = at else { return Ok(Some(self.clone())) };
        let whole = self.whole()?;
        let metadata = &whole.inner.metadata;
        let (snapshot, _) = version(metadata, Some(at))?;
        match (at, snapshot) {
            (At::Ref(name), _) if is_branch(metadata, name) => Ok(Some(self.clone())),
            (At::TimestampMs(ms), _) => whole.current_at(*ms),
            (_, Some(snapshot)) => whole.committed_by(&snapshot),
            (_, None) => Ok(Some(self.clone())),
        }
    }

    /// The version that was current at a time.
    fn current_at(&self, ms: i64) -> Result<Option<IcebergTable>> {
        let metadata = &self.inner.metadata;
        if metadata.last_updated_ms <= ms {
            return Ok(Some(self.clone()));
        }
        match metadata.metadata_log.iter().rposition(|entry| entry.timestamp_ms <= ms) {
            Some(at) => self.logged(at),
            None => Ok(None),
        }
    }

    /// The first version with a snapshot. All later ones have it too, as it has not expired.
    fn committed_by(&self, snapshot: &Snapshot) -> Result<Option<IcebergTable>> {
        let log = &self.inner.metadata.metadata_log;
        let made_ms = snapshot.timestamp_ms;
        // Writers give the file the time of the snapshot. Clocks of several writers may differ.
        let start = log.iter().position(|entry| entry.timestamp_ms >= made_ms).unwrap_or(log.len());
        let mut at = start;
        let mut found = loop {
            match self.logged(at)? {
                Some(table) if table.has(snapshot) => break table,
                Some(_) if at < log.len() => at += 1,
                _ => return Ok(None),
            }
        };
        if at > start {
            return Ok(Some(found));
        }
        while let Some(before) = at.checked_sub(1) {
            match self.logged(before)? {
                Some(earlier) if earlier.has(snapshot) => (found, at) = (earlier, before),
                Some(_) => return Ok(Some(found)),
                None => {
                    let is_earlier = log.get(before).is_some_and(|entry| entry.timestamp_ms < made_ms);
                    return Ok(is_earlier.then_some(found));
                }
            }
        }
        // The log may have lost the files before.
        let metadata = &found.inner.metadata;
        let is_first = metadata.metadata_log.is_empty() || metadata.last_updated_ms == made_ms;
        Ok(is_first.then_some(found))
    }

    fn has(&self, snapshot: &Snapshot) -> bool {
        self.inner.metadata.snapshot_by_id(snapshot.id).is_some()
    }

    /// The version of an entry of the log; this version after the last entry. `None` if its file is not there.
    fn logged(&self, at: usize) -> Result<Option<IcebergTable>> {
        let inner = &self.inner;
        let Some(entry) = inner.metadata.metadata_log.get(at) else { return Ok(Some(self.clone())) };
        let path = inner.location.resolve(&entry.metadata_file)?;
        let Some((metadata, found)) = load_file(inner.store.as_ref(), &path).if_found()? else { return Ok(None) };
        check_same_table(&inner.metadata, &metadata, &inner.root)?;
        self.at(metadata, found).map(Some)
    }
}
