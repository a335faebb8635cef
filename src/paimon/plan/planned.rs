//! Result of planning: splits, and the counts of each stage.

use std::sync::Arc;

use crate::format::manifest_count::ManifestCount;
use crate::format::task::{DeleteRef, Partition, ScanTask};

/// The counts of each stage of planning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PaimonPlanCounters {
    /// Manifests in the manifest lists.
    pub manifests: ManifestCount,
    /// Manifests left after checking partitions, buckets and levels in the lists.
    pub manifests_kept: ManifestCount,
    /// Live files of all manifests, by the counts of the lists.
    pub files_listed: u64,
    /// Live files after partitions and buckets.
    pub files_in_buckets: u64,
    /// Live files on levels that the scan does not see, in these buckets.
    pub files_hidden: u64,
    /// After levels and the bounds of keys.
    pub files_after_keys: u64,
    /// After statistics of values; files that others of their bucket keep stay.
    pub files_after_values: u64,
    /// After file indexes: those that the plan has.
    pub files_kept: u64,
    /// Their rows, not merged.
    pub rows_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
    /// The kept files that are merged with others.
    pub files_merged: u64,
    /// Files with a deletion vector.
    pub deletes_attached: u64,
    /// The bytes of these vectors.
    pub vector_bytes: u64,
    /// Reading manifest lists, milliseconds.
    pub list_ms: f64,
    /// Reading and judging manifests, milliseconds.
    pub entries_ms: f64,
    /// Making splits, milliseconds.
    pub splits_ms: f64,
}

impl PaimonPlanCounters {
    /// The counts by the names that reports of scans have. A skipped file is a live file of the manifest lists that the
    /// plan does not have.
    pub fn metrics(&self) -> Vec<(&'static str, u64)> {
        let (total, scanned) = (self.manifests.manifests, self.manifests_kept.manifests);
        vec![
            ("result-data-files", self.files_kept),
            ("result-delete-files", self.deletes_attached),
            ("total-data-manifests", total),
            ("scanned-data-manifests", scanned),
            ("skipped-data-manifests", total.saturating_sub(scanned)),
            ("skipped-data-files", self.files_listed.saturating_sub(self.files_kept)),
            ("dvs", self.deletes_attached),
            ("total-file-size-in-bytes", self.bytes_kept),
            ("total-delete-file-size-in-bytes", self.vector_bytes),
        ]
    }

    /// Adds the result of another part of a plan.
    pub(crate) fn add_kept(&mut self, other: &PaimonPlanCounters) {
        self.files_kept += other.files_kept;
        self.rows_kept = self.rows_kept.saturating_add(other.rows_kept);
        self.bytes_kept = self.bytes_kept.saturating_add(other.bytes_kept);
        self.files_merged += other.files_merged;
        self.deletes_attached += other.deletes_attached;
        self.vector_bytes = self.vector_bytes.saturating_add(other.vector_bytes);
    }
}

/// Files of one bucket that Java reads together.
#[derive(Clone, Debug)]
pub struct PlannedSplit {
    /// Their partition.
    pub partition: Arc<Partition>,
    /// Their bucket.
    pub bucket: i32,
    /// Buckets of the partition when the first of them was written.
    pub total_buckets: i32,
    /// Whether Java reads each file alone.
    pub raw_convertible: bool,
    /// Files that are read alone, and sections.
    pub tasks: Vec<ScanTask>,
}

impl PlannedSplit {
    /// All files, those of sections too.
    pub fn files(&self) -> impl Iterator<Item = &ScanTask> {
        self.tasks.iter().flat_map(files_of)
    }

    /// As [`PlannedSplit::files`].
    pub fn into_files(self) -> impl Iterator<Item = ScanTask> {
        self.tasks.into_iter().flat_map(|mut task| match task.merge.take() {
            Some(section) => Arc::unwrap_or_clone(section).runs.into_iter().flatten().collect(),
            None => vec![task],
        })
    }
}

/// A task, or the tasks of its section.
pub fn files_of(task: &ScanTask) -> impl Iterator<Item = &ScanTask> {
    let section = task.merge.iter().flat_map(|section| section.runs.iter().flatten());
    task.merge.is_none().then_some(task).into_iter().chain(section)
}

/// The result of planning.
#[derive(Clone, Debug, Default)]
pub struct PaimonPlan {
    /// The splits, in the order of partitions and buckets as manifests first name them.
    pub splits: Vec<PlannedSplit>,
    /// The counts of each stage.
    pub counters: PaimonPlanCounters,
}

/// Counts the result of a plan.
pub(crate) fn count(splits: &[PlannedSplit], counters: &mut PaimonPlanCounters) {
    for task in splits.iter().flat_map(|s| &s.tasks) {
        for file in files_of(task) {
            counters.files_merged += u64::from(task.merge.is_some());
            counters.files_kept += 1;
            counters.rows_kept = counters.rows_kept.saturating_add(file.data_file.record_count.max(0).unsigned_abs());
            counters.bytes_kept = counters.bytes_kept.saturating_add(file.data_file.size_bytes.max(0).unsigned_abs());
            counters.deletes_attached += file.deletes.len() as u64;
            let bytes = |delete: &DeleteRef| delete.file.content_size_bytes.unwrap_or(delete.file.size_bytes).max(0);
            let vectors = file.deletes.iter().map(|delete| bytes(delete).unsigned_abs());
            counters.vector_bytes = vectors.fold(counters.vector_bytes, u64::saturating_add);
        }
    }
}
