//! Earlier versions of a table's metadata. The metadata log names their files.

use crate::error::{ErrorKind, Result};
use crate::format::request::At;
use crate::iceberg::catalog::metadata_files::load_file;
use crate::iceberg::catalog::metadata_names::is_first_name;
use crate::iceberg::scan::version::{is_branch, version};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::state::{IcebergTable, check_same_table};

impl IcebergTable {
    /// The table at the version whose properties, partition spec and sort order a version of its rows has: the one that
    /// the commit of the snapshot made, or the one that was current at a point in time. A branch has the newest ones.
    /// `None` if the file is no longer in the metadata log, or can't be read.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; those of a store that fails.
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
        let is_older = |at: usize| log.get(at).is_some_and(|entry| entry.timestamp_ms < snapshot.timestamp_ms);
        // Writers give the file the time of the snapshot, but their clocks may differ. So its neighbour is looked at
        // next, and then the middle of what is left.
        let mut next = log.partition_point(|entry| entry.timestamp_ms < snapshot.timestamp_ms);
        let (mut low, mut high, mut found, mut is_guess) = (0, log.len(), self.clone(), true);
        while low < high {
            let at = next.clamp(low, high - 1);
            match self.logged(at)? {
                Some(table) if table.has(snapshot) => (found, high) = (table, at),
                Some(_) => low = at + 1,
                None if at + 1 == high && is_older(at) => low = high,
                None => return Ok(None),
            }
            next = match is_guess {
                // It was looked at, so that it is one of both ends now.
                true if high == at => high.saturating_sub(1),
                true => low,
                false => low + (high - low) / 2,
            };
            is_guess = false;
        }
        Ok((low > 0 || found.is_first_with(snapshot)).then_some(found))
    }

    /// Whether no version before this one can have a snapshot that this one has. The newest log may have lost them.
    fn is_first_with(&self, snapshot: &Snapshot) -> bool {
        let metadata = &self.inner.metadata;
        match metadata.metadata_log.last() {
            Some(before) => before.timestamp_ms < snapshot.timestamp_ms,
            // Some writers keep no log.
            None => metadata.last_updated_ms == snapshot.timestamp_ms || is_first_name(self.metadata_location()),
        }
    }

    fn has(&self, snapshot: &Snapshot) -> bool {
        self.inner.metadata.snapshot_by_id(snapshot.id).is_some()
    }

    /// The version of an entry of the log; this version after the last entry. `None` if its file is not there, can't be
    /// read, or is of another table: nothing else depends on it.
    fn logged(&self, at: usize) -> Result<Option<IcebergTable>> {
        use ErrorKind::{CorruptTable, InvalidInput, NotFound, PermissionDenied, Unsupported};
        let Some(entry) = self.inner.metadata.metadata_log.get(at) else { return Ok(Some(self.clone())) };
        match self.open_logged(&entry.metadata_file) {
            // A store may refuse access to files that do not exist.
            Err(e) if matches!(e.kind(), NotFound | PermissionDenied | CorruptTable | InvalidInput | Unsupported) => {
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    fn open_logged(&self, file: &str) -> Result<IcebergTable> {
        let inner = &self.inner;
        let path = inner.location.resolve(file)?;
        let (metadata, found) = load_file(inner.store.as_ref(), &path)?;
        check_same_table(&inner.metadata, &metadata, &inner.root)?;
        self.at(metadata, found)
    }
}
