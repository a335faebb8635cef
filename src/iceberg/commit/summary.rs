//! The summary of a snapshot, with the same keys as Java's `SnapshotSummary`.
//!
//! Source: Iceberg specification, Appendix F, "Snapshot summary".

use std::collections::BTreeMap;

use crate::error::Result;
use crate::format::task::{DataFile, FileContent, FileFormat};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;

/// The summary key of a staged snapshot. It names the audit that the snapshot waits for.
pub(crate) const WAP_ID: &str = "wap.id";

/// The summary key with the `wap.id` of the staged snapshot that this one publishes.
pub(super) const PUBLISHED_WAP_ID: &str = "published-wap-id";

/// The summary key with the id of the snapshot that this one repeats.
pub(super) const SOURCE_ID: &str = "source-snapshot-id";

/// The summary key that marks a dynamic overwrite.
pub(crate) const REPLACE_PARTITIONS: &str = "replace-partitions";

/// The property with the largest number of changed partitions that still get their own summaries.
const PARTITION_LIMIT: &str = "write.summary.partition-limit";

/// The prefix of the keys of changed partitions.
const PARTITION_PREFIX: &str = "partitions.";

/// Each total with the keys that raise and lower it.
const TOTALS: [(&str, &str, &str); 6] = [
    ("total-records", "added-records", "deleted-records"),
    ("total-files-size", "added-files-size", "removed-files-size"),
    ("total-data-files", "added-data-files", "deleted-data-files"),
    ("total-delete-files", "added-delete-files", "removed-delete-files"),
    ("total-position-deletes", "added-position-deletes", "removed-position-deletes"),
    ("total-equality-deletes", "added-equality-deletes", "removed-equality-deletes"),
];

/// The keys of counts, in Java's order.
const MEMBERS: [&str; 18] = [
    "added-data-files",
    "deleted-data-files",
    "added-equality-delete-files",
    "removed-equality-delete-files",
    "added-position-delete-files",
    "removed-position-delete-files",
    "added-delete-files",
    "removed-delete-files",
    "added-dvs",
    "removed-dvs",
    "added-records",
    "deleted-records",
    "added-files-size",
    "removed-files-size",
    "added-position-deletes",
    "removed-position-deletes",
    "added-equality-deletes",
    "removed-equality-deletes",
];

/// Numbers by key. Zeros are not written.
#[derive(Clone, Debug, Default)]
struct SummaryCounts([i64; MEMBERS.len()]);

impl SummaryCounts {
    /// Counts a file. `removed` is 0 or 1 and selects the first or second key of each pair.
    fn count(&mut self, file: &DataFile, removed: usize) {
        let bytes = file.content_size_bytes.filter(|_| file.format == FileFormat::Puffin).unwrap_or(file.size_bytes);
        let rows = file.record_count;
        self.raise(12 + removed, bytes);
        match file.content {
            FileContent::Data => {
                self.raise(removed, 1);
                self.raise(10 + removed, rows);
            }
            FileContent::PositionDeletes => {
                self.raise(if file.format == FileFormat::Puffin { 8 } else { 4 } + removed, 1);
                self.raise(6 + removed, 1);
                self.raise(14 + removed, rows);
            }
            FileContent::EqualityDeletes => {
                self.raise(2 + removed, 1);
                self.raise(6 + removed, 1);
                self.raise(16 + removed, rows);
            }
        }
    }

    fn raise(&mut self, member: usize, by: i64) {
        if let Some(n) = self.0.get_mut(member) {
            *n = n.saturating_add(by);
        }
    }

    fn members(&self) -> impl Iterator<Item = (&'static str, i64)> {
        MEMBERS.into_iter().zip(self.0).filter(|(_, n)| *n > 0)
    }
}

/// Counts the additions and removals of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    all: SummaryCounts,
    by_partition: BTreeMap<String, SummaryCounts>,
    /// Removed entries that repeat a file, because a manifest lists it more than once.
    pub duplicates: usize,
    /// Rows of these repeated data files.
    pub duplicate_rows: i64,
}

impl Summary {
    pub(super) fn add(&mut self, file: &DataFile) {
        self.count(file, 0);
    }

    pub(super) fn remove(&mut self, file: &DataFile) {
        self.count(file, 1);
    }

    fn count(&mut self, file: &DataFile, removed: usize) {
        self.all.count(file, removed);
        self.by_partition.entry(file.partition.path()).or_default().count(file, removed);
    }

    /// The value of a key; 0 if it is not written.
    pub(super) fn get(&self, member: &str) -> i64 {
        self.all.members().find(|(name, _)| *name == member).map_or(0, |(_, n)| n)
    }

    /// Adds the keys to `out` and replaces others of the same name. Also adds the totals, computed from those of
    /// `parent`.
    ///
    /// # Errors
    /// `InvalidInput` if the property that limits partition summaries is not a number.
    pub(super) fn write(
        &self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        out: &mut BTreeMap<String, String>,
    ) -> Result<()> {
        let limit = base.int_property(PARTITION_LIMIT, 0)?;
        out.retain(|key, _| !is_computed(key));
        out.extend(self.all.members().map(|(key, n)| (key.to_owned(), n.to_string())));
        if self.duplicates > 0 {
            out.insert("deleted-duplicate-files".into(), self.duplicates.to_string());
        }
        out.insert("changed-partition-count".into(), self.by_partition.len().to_string());
        if self.by_partition.len() as i64 <= limit && !self.by_partition.is_empty() {
            out.insert("partition-summaries-included".into(), "true".into());
            for (path, counts) in self.by_partition.iter().filter(|(path, _)| !path.is_empty()) {
                let members: Vec<String> = counts.members().map(|(key, n)| format!("{key}={n}")).collect();
                out.insert(format!("{PARTITION_PREFIX}{path}"), members.join(","));
            }
        }
        for (total, added, removed) in TOTALS {
            if let Some(n) = self.total(parent, total, added, removed) {
                out.insert(total.into(), n.to_string());
            }
        }
        Ok(())
    }

    /// A total after the commit. `None` if the parent does not record it, or if the result would be negative.
    fn total(&self, parent: Option<&Snapshot>, total: &str, added: &str, removed: &str) -> Option<i64> {
        let before = match parent {
            None => 0,
            Some(p) => p.summary.get(total)?.parse::<i64>().ok().filter(|n| *n >= 0)?,
        };
        let after = before.checked_add(self.get(added)).filter(|n| *n >= 0)?;
        after.checked_sub(self.get(removed)).filter(|n| *n >= 0)
    }
}

/// Whether a key is computed, so that callers can't set it.
fn is_computed(key: &str) -> bool {
    let others = [
        "operation",
        "deleted-duplicate-files",
        "changed-partition-count",
        "partition-summaries-included",
        "manifests-created",
        "manifests-kept",
        "manifests-replaced",
    ];
    MEMBERS.contains(&key)
        || others.contains(&key)
        || TOTALS.iter().any(|(total, _, _)| *total == key)
        || key.starts_with(PARTITION_PREFIX)
}
