//! All snapshots of a table that was opened with those of its branches and tags only.

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::Result;
use crate::format::request::{At, ScanRequest};
use crate::iceberg::catalog::metadata_pointer::TableVersion;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::StatisticsFile;
use crate::iceberg::state::{IcebergTable, KnownSnapshots, check_same_table};

impl IcebergTable {
    /// The same version with all its snapshots. Everything that looks for other snapshots than those of branches and
    /// tags asks for it. Commits never start from a version without it.
    ///
    /// # Errors
    /// Those of loading the table.
    pub(crate) fn whole(&self) -> Result<IcebergTable> {
        let KnownSnapshots::OfRefs(kept) = &self.inner.history else { return Ok(self.clone()) };
        if let Some(whole) = kept.get() {
            return Ok(whole.clone());
        }
        let newest = self.inner.versions.load()?;
        check_same_table(&self.inner.metadata, &newest.metadata, &self.inner.root)?;
        let metadata = match newest.found == self.inner.found && !newest.found.metadata_location.is_empty() {
            true => newest.metadata,
            false => Arc::new(with_snapshots_of(&self.inner.metadata, &newest.metadata)),
        };
        let whole = self.at(metadata, self.inner.found.clone())?;
        Ok(kept.get_or_init(|| whole).clone())
    }

    /// The newest version. It has no more snapshots than this handle needed so far.
    ///
    /// # Errors
    /// As [`IcebergTable::refresh`].
    pub(crate) fn refresh_as_opened(&self) -> Result<IcebergTable> {
        match &self.inner.history {
            KnownSnapshots::OfRefs(kept) if kept.get().is_none() => {
                let TableVersion { metadata, found } = self.inner.versions.load_as_opened()?;
                check_same_table(&self.inner.metadata, &metadata, &self.inner.root)?;
                self.at_refs(metadata, found)
            }
            _ => self.refresh(),
        }
    }

    /// The handle that a scan needs: this one, or the one with all snapshots.
    ///
    /// # Errors
    /// As [`IcebergTable::whole`].
    pub(crate) fn for_scan(&self, request: &ScanRequest) -> Result<IcebergTable> {
        let is_known = match &request.at {
            None | Some(At::Ref(_)) => true,
            Some(At::Snapshot(id)) => self.inner.metadata.snapshot_by_id(*id).is_some(),
            Some(At::TimestampMs(_)) => false,
        };
        match is_known && request.since.is_none() && !request.changes {
            true => Ok(self.clone()),
            false => self.whole(),
        }
    }
}

/// A version with the snapshots that a newer one still has. Snapshots that were made later are left out, and with them
/// their entries of the log and their statistics.
fn with_snapshots_of(own: &TableMetadata, newest: &TableMetadata) -> TableMetadata {
    let mut next = own.clone();
    let known: HashSet<i64> = own.snapshots.iter().map(|s| s.id).collect();
    let is_earlier = |number: i64, timestamp_ms: i64| match number {
        // Version 1 has no numbers.
        0 => timestamp_ms <= own.last_updated_ms,
        number => number <= own.last_sequence_number,
    };
    let older = newest.snapshots.iter().filter(|s| is_earlier(s.sequence_number, s.timestamp_ms));
    next.snapshots.extend(older.filter(|s| !known.contains(&s.id)).cloned());
    next.snapshots.sort_by_key(|s| (s.sequence_number, s.timestamp_ms));
    let known: HashSet<i64> = next.snapshots.iter().map(|s| s.id).collect();
    let log = newest.snapshot_log.iter().filter(|e| e.timestamp_ms <= own.last_updated_ms);
    let log: Vec<_> = log.filter(|e| known.contains(&e.snapshot_id)).cloned().collect();
    if log.len() > next.snapshot_log.len() {
        next.snapshot_log = log;
    }
    let add = |files: &mut Vec<Arc<StatisticsFile>>, more: &[Arc<StatisticsFile>]| {
        let has: HashSet<i64> = files.iter().map(|f| f.snapshot_id).collect();
        let more = more.iter().filter(|f| known.contains(&f.snapshot_id) && !has.contains(&f.snapshot_id));
        files.extend(more.cloned());
    };
    add(&mut next.statistics, &newest.statistics);
    add(&mut next.partition_statistics, &newest.partition_statistics);
    next
}
