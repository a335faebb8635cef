//! The result of planning one section of a manifest: the decoded entries, the kept ones among them, and the counters.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::expr::bounds::may_match;
use crate::expr::explain::explain;
use crate::expr::residual::residual;
use crate::expr::{BoundPredicate, Bounds, ColumnBounds};
use crate::format::manifest_count::ManifestCount;
use crate::format::task::{ChangeOperation, CommitChanges, DataFile, FileContent, FileFormat, ScanTask, TaskChange};
use crate::iceberg::plan::deletes::AttachedDeletes;
use crate::iceberg::plan::file_bounds::MetricsBounds;
use crate::iceberg::plan::input::EntryScope;
use crate::iceberg::plan::kept_entries::KeptEntries;
use crate::iceberg::plan::named_bounds::OfFile;
use crate::iceberg::plan::screen::Screen;
use crate::types::metadata_columns::FILE;
use crate::types::{FieldId, PrimitiveType};

/// The counts of every stage of planning.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct PlanCounters {
    pub data_manifests: ManifestCount,
    /// Manifests left after the counts of the manifest list.
    pub live_manifests: ManifestCount,
    /// Manifests left after the partition summaries of the manifest list.
    pub matching_manifests: ManifestCount,
    pub delete_manifests: ManifestCount,
    pub live_delete_manifests: ManifestCount,
    /// Delete manifests left after that. They are read only if a data manifest is left too.
    pub matching_delete_manifests: ManifestCount,
    /// Live delete files decoded.
    pub delete_files: u64,
    pub delete_file_bytes: u64,
    /// Deletes left after partition tuples and key bounds, by kind.
    pub position_deletes: u64,
    pub equality_deletes: u64,
    pub deletion_vectors: u64,
    pub delete_bytes_kept: u64,
    /// Live entries decoded.
    pub files: u64,
    pub file_bytes: u64,
    /// Files left after partition tuples.
    pub files_in_partitions: u64,
    pub partition_bytes: u64,
    /// Files left after column metrics.
    pub files_kept: u64,
    pub bytes_kept: u64,
    pub rows_kept: u64,
    /// Attached delete files, counted once for each task.
    pub deletes_attached: u64,
    /// Their bytes, of deletion vectors only their own. `None` unless the plan's end is reported.
    pub attached_bytes: Option<u64>,
    /// Data and delete manifests that the plan cache served, counted at every read.
    pub from_cache: ManifestCount,
    /// Time to read the manifest list.
    pub read_ms: f64,
    /// Time to check its manifests against the filter.
    pub list_ms: f64,
    pub deletes_ms: f64,
    pub entries_ms: f64,
}

impl PlanCounters {
    /// The manifests to open. Delete manifests count only if there are data files to delete from.
    pub fn to_open(&self) -> [ManifestCount; 2] {
        let deletes = self.matching_delete_manifests;
        [
            self.matching_manifests,
            if self.matching_manifests.manifests > 0 { deletes } else { ManifestCount::default() },
        ]
    }

    /// The counts by the names that reports of scans have.
    pub fn metrics(&self) -> Vec<(&'static str, u64)> {
        let [scanned, scanned_deletes] = self.to_open().map(|count| count.manifests);
        let indexed = self.position_deletes + self.equality_deletes + self.deletion_vectors;
        let mut counts = vec![
            ("result-data-files", self.files_kept),
            ("result-delete-files", self.deletes_attached),
            ("total-data-manifests", self.data_manifests.manifests),
            ("total-delete-manifests", self.delete_manifests.manifests),
            ("scanned-data-manifests", scanned),
            ("skipped-data-manifests", self.data_manifests.manifests.saturating_sub(scanned)),
            ("scanned-delete-manifests", scanned_deletes),
            ("skipped-delete-manifests", self.delete_manifests.manifests.saturating_sub(scanned_deletes)),
            ("skipped-data-files", self.files.saturating_sub(self.files_kept)),
            ("skipped-delete-files", self.delete_files.saturating_sub(indexed)),
            ("indexed-delete-files", indexed),
            ("equality-delete-files", self.equality_deletes),
            ("positional-delete-files", self.position_deletes),
            ("dvs", self.deletion_vectors),
            ("total-file-size-in-bytes", self.bytes_kept),
        ];
        counts.extend(self.attached_bytes.map(|bytes| ("total-delete-file-size-in-bytes", bytes)));
        counts
    }

    /// The number of manifests that a plan cache had, and of those that the plan needed.
    pub fn cached(&self) -> (u64, u64) {
        (self.from_cache.manifests, self.to_open().iter().map(|count| count.manifests).sum())
    }

    /// Adds the counters of deletes.
    pub(crate) fn add_deletes(&mut self, other: &PlanCounters) {
        self.delete_manifests.extend(other.delete_manifests);
        self.live_delete_manifests.extend(other.live_delete_manifests);
        self.matching_delete_manifests.extend(other.matching_delete_manifests);
        self.delete_files += other.delete_files;
        self.delete_file_bytes = self.delete_file_bytes.saturating_add(other.delete_file_bytes);
        self.position_deletes += other.position_deletes;
        self.equality_deletes += other.equality_deletes;
        self.deletion_vectors += other.deletion_vectors;
        self.delete_bytes_kept = self.delete_bytes_kept.saturating_add(other.delete_bytes_kept);
        self.deletes_ms += other.deletes_ms;
        self.from_cache.extend(other.from_cache);
    }

    pub(crate) fn add_files(&mut self, other: &PlanCounters) {
        self.files += other.files;
        self.file_bytes = self.file_bytes.saturating_add(other.file_bytes);
        self.files_in_partitions += other.files_in_partitions;
        self.partition_bytes = self.partition_bytes.saturating_add(other.partition_bytes);
        self.files_kept += other.files_kept;
        self.bytes_kept = self.bytes_kept.saturating_add(other.bytes_kept);
        self.rows_kept = self.rows_kept.saturating_add(other.rows_kept);
        self.deletes_attached += other.deletes_attached;
        self.from_cache.extend(other.from_cache);
    }
}

/// Entries of one section of a manifest, and the kept ones among them.
#[derive(Debug, Default)]
pub struct PlannedBatch {
    /// The entries. A batch dereferences to them. Changes name this field.
    pub entries: KeptEntries,
    /// The deletes of each kept entry.
    pub deletes: AttachedDeletes,
    /// Whether `deletes` is already filled in.
    pub(crate) is_attached: bool,
    /// The counters, including entries that `columns` no longer holds.
    pub(crate) seen: PlanCounters,
    /// In a changelog: the change of the kept entries by the commit.
    pub change: Option<Box<BatchChange>>,
}

/// The change of a batch's files by a commit; see [`TableChange`].
#[derive(Clone, Debug)]
pub struct BatchChange {
    /// Added or removed.
    pub operation: ChangeOperation,
    /// The commit's number in the changelog, from 0.
    pub ordinal: i32,
    /// The commit.
    pub commit_snapshot_id: i64,
    /// For each kept file that stayed in the table: its deletes on the other side of the commit.
    pub removed_by: Option<AttachedDeletes>,
    /// All changes of the commit, if rows keep their ids.
    pub commit: Option<Arc<CommitChanges>>,
}

impl BatchChange {
    fn of(&self, k: usize) -> Result<Box<TaskChange>> {
        Ok(Box::new(TaskChange {
            operation: self.operation,
            ordinal: self.ordinal,
            commit_snapshot_id: self.commit_snapshot_id,
            removed_by: self.removed_by.as_ref().map(|d| d.refs(k)).transpose()?,
            commit: self.commit.clone(),
        }))
    }
}

impl std::ops::Deref for PlannedBatch {
    type Target = KeptEntries;

    fn deref(&self) -> &KeptEntries {
        &self.entries
    }
}

impl PlannedBatch {
    /// A batch of these entries, without deletes or changes.
    pub(crate) fn of(entries: KeptEntries) -> PlannedBatch {
        PlannedBatch { entries, ..PlannedBatch::default() }
    }

    /// The residual filter for the rows of a kept data file.
    ///
    /// # Errors
    /// `Internal` if the file was not kept.
    pub fn residual(&self, row: usize) -> Result<Arc<BoundPredicate>> {
        let of_group = &self.group(row)?.residual;
        let mut asks_file = false;
        of_group.for_each_term(&mut |term| asks_file |= term.field_id == FILE);
        let path = self.columns.path.get(row).filter(|_| asks_file).and_then(|path| std::str::from_utf8(path).ok());
        Ok(path.map_or_else(|| of_group.clone(), |path| Arc::new(residual(of_group, &OfFile(path)))))
    }

    /// Whether the task of the `k`-th kept entry, at this row, is a `PlainTaskFile` without deletes.
    pub fn is_plain(&self, k: usize, row: usize) -> bool {
        self.deletes.count(k) == 0 && self.columns.is_plain(row)
    }

    /// The task of the `k`-th kept entry.
    pub fn task(&self, k: usize) -> Result<ScanTask> {
        let row = *self.rows.get(k).ok_or_else(|| Error::internal("no such task"))? as usize;
        let group = self.group(row)?;
        let data_file: DataFile = self.columns.data_file(row, group.partition.clone())?;
        Ok(ScanTask {
            start: 0,
            length: data_file.size_bytes,
            data_file: Arc::new(data_file),
            deletes: self.deletes.refs(k)?,
            residual: self.residual(row)?,
            change: self.change.as_ref().map(|c| c.of(k)).transpose()?,
            merge: None,
        })
    }
}

/// The rows of `columns` that are in scope and may match, ascending.
pub(crate) fn survivors(batch: &PlannedBatch, scope: &EntryScope, filter: &Arc<BoundPredicate>) -> Vec<u32> {
    let columns = &batch.columns;
    let screen = Screen::new(filter, columns);
    let whole: Vec<bool> =
        batch.groups.iter().map(|g| g.as_ref().is_some_and(|g| Arc::ptr_eq(&g.residual, filter))).collect();
    let rejected = |row: usize| {
        let group = columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
        // A delete file is checked by its key columns alone.
        let data = columns.content.get(row) == Some(&FileContent::Data);
        data && screen.rejects(columns, row) && whole.get(group).copied().unwrap_or_default()
    };
    let in_scope = |row: usize| match (columns.status.get(row), columns.snapshot_id.get(row)) {
        (Some(status), Some(snapshot_id)) => scope.holds(*status, *snapshot_id),
        _ => false,
    };
    let rows = columns.rows().filter(|row| in_scope(*row) && !rejected(*row) && keeps(batch, *row));
    rows.map(|row| row as u32).collect()
}

/// Whether, by its metrics, an entry may have rows that match the residual filter of its partition.
fn keeps(batch: &PlannedBatch, row: usize) -> bool {
    let index = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
    match batch.groups.get(index).and_then(Option::as_ref) {
        None => false,
        Some(group) if *group.residual == BoundPredicate::True => true,
        Some(group) => {
            let metrics = MetricsBounds::new(&batch.columns, row);
            match batch.columns.content.get(row) {
                Some(FileContent::PositionDeletes) => true,
                Some(FileContent::EqualityDeletes) => may_match(&group.residual, &KeyMetrics { metrics, batch, row }),
                _ => may_match(&group.residual, &metrics),
            }
        }
    }
}

/// The clause and bound by which [`keeps`] drops an entry of a kept group; `None` if it keeps the entry.
pub(crate) fn why_dropped(batch: &PlannedBatch, row: usize) -> Option<String> {
    let residual = &batch.group_of_any(row)?.residual;
    let metrics = MetricsBounds::new(&batch.columns, row);
    match batch.columns.content.get(row) {
        Some(FileContent::PositionDeletes) => None,
        Some(FileContent::EqualityDeletes) => explain(residual, &KeyMetrics { metrics, batch, row }),
        _ => explain(residual, &metrics),
    }
}

/// The metrics of an equality delete file's key columns. A deleted row has the same keys, but may differ in other
/// columns of the file.
struct KeyMetrics<'e> {
    metrics: MetricsBounds<'e>,
    batch: &'e PlannedBatch,
    row: usize,
}

impl Bounds for KeyMetrics<'_> {
    fn column<'a>(&'a self, field: FieldId, ty: &PrimitiveType) -> ColumnBounds<'a> {
        let keys = self.batch.columns.equality_ids.get(self.row).unwrap_or_default();
        if keys.contains(&i64::from(field)) { self.metrics.column(field, ty) } else { ColumnBounds::default() }
    }
}

/// Adds the counters of a batch.
pub(crate) fn count(batch: &PlannedBatch, seen: &mut PlanCounters) {
    let columns = &batch.columns;
    for row in columns.rows() {
        let size = columns.size_bytes[row].max(0) as u64;
        seen.files += 1;
        seen.file_bytes = seen.file_bytes.saturating_add(size);
        if batch.group_of_any(row).is_some() {
            seen.files_in_partitions += 1;
            seen.partition_bytes = seen.partition_bytes.saturating_add(size);
        }
    }
    for &row in &batch.rows {
        seen.files_kept += 1;
        seen.bytes_kept = seen.bytes_kept.saturating_add(columns.size_bytes[row as usize].max(0) as u64);
        seen.rows_kept = seen.rows_kept.saturating_add(columns.record_count[row as usize].max(0) as u64);
    }
}

/// Adds the counters of a batch of delete files.
pub(crate) fn count_deletes(batch: &PlannedBatch, seen: &mut PlanCounters) {
    let columns = &batch.columns;
    seen.from_cache.extend(batch.seen.from_cache);
    let size = |row: usize| columns.size_bytes.get(row).map_or(0, |bytes| bytes.max(&0).unsigned_abs());
    seen.delete_files += columns.len() as u64;
    seen.delete_file_bytes = columns.rows().map(size).fold(seen.delete_file_bytes, u64::saturating_add);
    for row in batch.rows.iter().map(|row| *row as usize) {
        seen.delete_bytes_kept = seen.delete_bytes_kept.saturating_add(size(row));
        *match (columns.content.get(row), columns.format.get(row)) {
            (Some(FileContent::EqualityDeletes), _) => &mut seen.equality_deletes,
            (_, Some(FileFormat::Puffin)) => &mut seen.deletion_vectors,
            _ => &mut seen.position_deletes,
        } += 1;
    }
}
