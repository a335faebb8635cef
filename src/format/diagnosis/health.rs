//! What makes a table of any format slow or large: its findings, each with the estimated gain of its remedy.

use super::finding::{Findings, Gain};
use super::table_codes as codes;

/// The least number of files that a compaction must save to be worth a finding.
pub(crate) const LEAST_SAVED: u64 = 5;
/// The least share of deleted rows that is worth a finding.
const DELETED_SHARE: f64 = 0.1;
/// The most snapshots without a finding.
const MOST_SNAPSHOTS: usize = 100;
/// How many times as large as the median a partition may be. Fewer partitions have no median worth the name.
const SKEW: u64 = 10;
/// A manifest above this number of targets is large.
const LARGE_MANIFEST: u64 = 4;

/// Whether a manifest is much larger than its target, both in bytes.
pub(crate) fn is_large_manifest(bytes: u64, target: u64) -> bool {
    bytes > target.saturating_mul(LARGE_MANIFEST)
}

/// The sizes of data files that a compaction makes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSizes {
    /// The size of a full file, in bytes.
    pub target: u64,
    /// Files below this size are joined with others, in bytes.
    pub small: u64,
}

/// The files that a compaction may join with each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileGroup {
    small_files: u64,
    small_bytes: u64,
}

impl FileGroup {
    /// Adds a file.
    pub(crate) fn add(&mut self, bytes: u64, sizes: FileSizes) {
        if bytes < sizes.small {
            self.small_files += 1;
            self.small_bytes = self.small_bytes.saturating_add(bytes);
        }
    }

    /// How many files fewer there are after a compaction.
    fn saved(&self, target: u64) -> u64 {
        self.small_files.saturating_sub(self.small_bytes.div_ceil(target.max(1)).max(1))
    }
}

/// The deletes of a version, and the data files that they are for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeleteSums {
    /// Delete files or deletion vectors: what a scan asks for one by one.
    pub deletes: u64,
    /// The files that have them.
    pub files: u64,
    /// Rows or keys that they delete.
    pub deleted_rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Data files.
    pub data_files: u64,
    /// Rows of data files, with the deleted ones.
    pub rows: u64,
    /// Bytes of data files.
    pub data_bytes: u64,
}

/// The health of one table.
#[derive(Clone, Copy)]
pub(crate) struct TableHealth<'a> {
    pub findings: &'a Findings,
    /// The location of the table.
    pub location: &'a str,
}

impl TableHealth<'_> {
    /// Reports files that are much smaller than the target, if a compaction would save enough of them.
    pub(crate) fn small_files<'g>(
        &self,
        groups: impl Iterator<Item = &'g FileGroup>,
        data_files: usize,
        sizes: FileSizes,
    ) {
        let (mut small, mut saved) = (0u64, 0u64);
        for group in groups {
            small = small.saturating_add(group.small_files);
            saved = saved.saturating_add(group.saved(sizes.target));
        }
        if saved >= LEAST_SAVED {
            let FileSizes { target, small: limit } = sizes;
            let evidence =
                format!("{small} of {data_files} data files are below {limit} bytes, the target of each is {target}");
            let gain = Gain { files: saved, requests: saved.saturating_mul(2), ..Gain::default() };
            self.findings.gain(&codes::SMALL_FILES, self.location, evidence, gain);
        }
    }

    /// Reports a partition that is far larger than the others. `bytes` has the bytes of each. The gain is the
    /// largest minus the median.
    pub(crate) fn skewed_partitions(&self, mut bytes: Vec<u64>, sizes: FileSizes) {
        bytes.sort_unstable();
        if let (Some(median), Some(largest)) = (bytes.get(bytes.len() / 2), bytes.last())
            && bytes.len() >= SKEW as usize
            && *largest > median.saturating_mul(SKEW)
            && *largest > sizes.target
        {
            let count = bytes.len();
            let evidence = format!("the largest of {count} partitions has {largest} bytes, the median {median}");
            let gain = Gain { bytes: largest - median, ..Gain::default() };
            self.findings.gain(&codes::SKEWED_PARTITIONS, self.location, evidence, gain);
        }
    }

    /// Reports deletes of many rows, or of more files than there are data files. `what` names the deletes.
    pub(crate) fn delete_debt(&self, of: &DeleteSums, what: &str) {
        let is_much = of.deleted_rows as f64 > of.rows as f64 * DELETED_SHARE || of.deletes > of.data_files;
        if of.deletes == 0 || !is_much {
            return;
        }
        let share = (of.deleted_rows as f64 / of.rows.max(1) as f64).min(1.0);
        let bytes = of.bytes.saturating_add((of.data_bytes as f64 * share) as u64);
        let evidence = format!("{} {what}, for {} rows", of.deletes, of.rows);
        let gain = Gain { bytes, files: of.files, requests: of.deletes };
        self.findings.gain(&codes::DELETE_DEBT, self.location, evidence, gain);
    }

    /// Reports manifests that are much larger than their target. `sizes` has the bytes of each that can be divided.
    pub(crate) fn large_manifests(&self, sizes: impl Iterator<Item = u64>, target: u64) {
        let large: Vec<u64> = sizes.filter(|size| is_large_manifest(*size, target)).collect();
        if large.is_empty() {
            return;
        }
        let evidence = format!("manifests with over four times {target} bytes: {}", large.len());
        let bytes = large.iter().fold(0u64, |sum, size| sum.saturating_add(size - target));
        self.findings.gain(&codes::LARGE_MANIFESTS, self.location, evidence, Gain { bytes, ..Gain::default() });
    }

    /// Reports a long history. `more` follows the number of snapshots; `gain` is what only old ones have.
    pub(crate) fn long_history(&self, snapshots: usize, more: &str, gain: Gain) {
        if snapshots > MOST_SNAPSHOTS {
            self.findings.gain(&codes::LONG_HISTORY, self.location, format!("{snapshots} snapshots{more}"), gain);
        }
    }
}
