//! What would make the table faster or smaller, with the estimated gain.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::examination::Examination;
use super::relations::heads;
use super::seen::{Kept, LiveData};
use crate::data::verify::compare::name;
use crate::format::diagnosis::file_order;
use crate::format::diagnosis::finding::Gain;
use crate::format::diagnosis::health::{DeleteSums, FileGroup, FileSizes, LEAST_SAVED, TableHealth};

/// A file below this share of the target size is small.
const SMALL_SHARE: f64 = 0.75;
/// The largest metadata file without a finding, in bytes.
const MOST_METADATA: u64 = 4 << 20;

/// Adds all findings about the table's health.
pub(super) fn check(of: &Examination<'_>) {
    let seen = of.seen();
    let main = of.metadata.current_snapshot_id;
    let listed = of.lists.snapshots.iter().find(|s| Some(s.snapshot.id) == main);
    let Some(listed) = listed else { return };
    let manifests: HashSet<u32> = listed.manifests.iter().copied().collect();
    let data: Vec<&LiveData> = seen.kept.data.iter().filter(|d| manifests.contains(&d.manifest)).collect();
    sizes(of, &data);
    delete_debt(of, &seen.kept, &data, &manifests);
    manifest_sizes(of, &manifests);
    history(of, &seen.kept);
    statistics(of, &seen.kept, data.len());
    let mut columns: Vec<_> = seen.kept.order.iter().collect();
    columns.sort_by_key(|(id, _)| **id);
    let bytes: u64 = data.iter().map(|d| unsigned(d.bytes)).sum();
    for (id, bounds) in columns {
        let of_main = bounds.iter().filter(|(m, ..)| manifests.contains(m)).map(|(_, low, high)| (*low, *high));
        let (bounds, column) = (of_main.collect(), name(&of.table.inner.schema, *id));
        file_order::check(of.findings, &codes::FILE_ORDER, column, bounds, bytes);
    }
}

fn health<'a>(of: &'a Examination<'_>) -> TableHealth<'a> {
    TableHealth { findings: of.findings, location: of.table.location() }
}

fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn property(of: &Examination<'_>, key: &str, default: u64) -> u64 {
    let value = of.metadata.properties.get(key).and_then(|v| v.trim().parse().ok());
    value.filter(|n| *n > 0).unwrap_or(default)
}

/// Small files and skewed partitions.
fn sizes(of: &Examination<'_>, data: &[&LiveData]) {
    let target = property(of, "write.target-file-size-bytes", 512 << 20);
    let sizes = FileSizes { target, small: (target as f64 * SMALL_SHARE) as u64 };
    let mut partitions: HashMap<u64, (u64, FileGroup)> = HashMap::new();
    for file in data {
        let (all, group) = partitions.entry(file.partition).or_default();
        *all = all.saturating_add(unsigned(file.bytes));
        group.add(unsigned(file.bytes), sizes);
    }
    health(of).small_files(partitions.values().map(|(_, group)| group), data.len(), sizes);
    health(of).skewed_partitions(partitions.values().map(|(all, _)| *all).collect(), sizes);
}

/// Rows and bytes of delete files.
fn delete_debt(of: &Examination<'_>, kept: &Kept, data: &[&LiveData], manifests: &HashSet<u32>) {
    let deletes: Vec<_> = kept.deletes.iter().filter(|d| manifests.contains(&d.manifest)).collect();
    let deleted_rows: u64 = deletes.iter().map(|d| unsigned(d.rows)).sum();
    let sums = DeleteSums {
        deletes: deletes.len() as u64,
        files: deletes.len() as u64,
        deleted_rows,
        bytes: deletes.iter().map(|d| unsigned(d.bytes)).sum(),
        data_files: data.len() as u64,
        rows: data.iter().map(|d| unsigned(d.rows)).sum(),
        data_bytes: data.iter().map(|d| unsigned(d.bytes)).sum(),
    };
    health(of).delete_debt(&sums, &format!("delete files with {deleted_rows} rows or keys"));
}

/// Manifests that are too small or too large.
fn manifest_sizes(of: &Examination<'_>, manifests: &HashSet<u32>) {
    let target = property(of, "commit.manifest.target-size-bytes", 8 << 20);
    let sizes: Vec<u64> = manifests
        .iter()
        .filter_map(|m| of.lists.manifests.get(*m as usize))
        .map(|m| unsigned(m.length_bytes))
        .collect();
    let bytes: u64 = sizes.iter().sum();
    let needed = bytes.div_ceil(target).max(1) * 2;
    let gain = (sizes.len() as u64).saturating_sub(needed);
    if gain >= LEAST_SAVED * 2 {
        let evidence = format!("{} manifests have {bytes} bytes, the target of each is {target}", sizes.len());
        let gain = Gain { files: gain, requests: gain, ..Gain::default() };
        of.findings.gain(&codes::SMALL_MANIFESTS, of.table.location(), evidence, gain);
    }
    let large: Vec<u64> = sizes.into_iter().filter(|size| *size > target.saturating_mul(4)).collect();
    if !large.is_empty() {
        let evidence = format!("{} manifests have over four times {target} bytes", large.len());
        let gain = Gain { bytes: large.iter().map(|size| size - target).sum(), ..Gain::default() };
        of.findings.gain(&codes::LARGE_MANIFESTS, of.table.location(), evidence, gain);
    }
}

/// The number of snapshots, and the files that only old ones have.
fn history(of: &Examination<'_>, kept: &Kept) {
    let count = of.metadata.snapshots.len();
    let heads: HashSet<u32> = heads(of).into_iter().flat_map(|(_, manifests)| manifests).collect();
    // Files are ordered by their hash.
    let (mut files, mut bytes) = (0u64, 0u64);
    for file in kept.data.chunk_by(|a, b| a.key == b.key) {
        if !file.iter().any(|d| heads.contains(&d.manifest)) {
            files += 1;
            bytes = bytes.saturating_add(file.first().map_or(0, |d| unsigned(d.bytes)));
        }
    }
    let more = format!("; {files} data files are only in old ones");
    health(of).long_history(count, &more, Gain { bytes, files, requests: 0 });
    let Ok(size) = of.store.size(of.table.metadata_location()) else { return };
    if size > MOST_METADATA {
        let metadata = of.metadata;
        let evidence = format!(
            "{size} bytes: {count} snapshots, {} schemas, {} statistics files",
            metadata.schemas.len(),
            metadata.statistics.len() + metadata.partition_statistics.len()
        );
        let gain = Gain { bytes: size - size / count.max(1) as u64, ..Gain::default() };
        of.findings.gain(&codes::LARGE_METADATA, of.table.metadata_location(), evidence, gain);
    }
}

/// Files without bounds of important columns.
fn statistics(of: &Examination<'_>, kept: &Kept, files: usize) {
    let mut columns: Vec<_> = kept.bounded.iter().collect();
    columns.sort_by_key(|(id, _)| **id);
    for (id, (with, without)) in columns {
        if *without > *with && *without > 0 {
            let column = name(&of.table.inner.schema, *id);
            let evidence = format!("{without} of {} entries have no bounds of it ({files} data files)", with + without);
            of.findings.gain(
                &codes::MISSING_STATISTICS,
                column,
                evidence,
                Gain { requests: *without, ..Gain::default() },
            );
        }
    }
}
