//! What would make the table faster or smaller, with the estimated gain.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::codes;
use super::examination::Examination;
use super::order::{FileBounds, overlap};
use super::relations::{Head, heads};
use super::seen::{Kept, LiveData};
use crate::data::verify::compare::name;
use crate::data::write::metrics::MetricsConfig;
use crate::format::diagnosis::finding::Gain;
use crate::format::diagnosis::table_codes as shared;
use crate::types::FieldId;

/// A file below this share of the target size is small.
const SMALL_SHARE: f64 = 0.75;
/// The least number of files that a compaction must save to be worth a finding.
const LEAST_SAVED: u64 = 5;
/// The least share of deleted rows that is worth a finding.
const DELETED_SHARE: f64 = 0.1;
/// The most snapshots without a finding.
const MOST_SNAPSHOTS: usize = 100;
/// The largest metadata file without a finding, in bytes.
const MOST_METADATA: u64 = 4 << 20;
/// How many times as large as the median a partition may be.
const SKEW: u64 = 10;
/// The least number of files whose order is judged.
const LEAST_ORDERED: usize = 16;
/// The least share of files that a value may be in, for a finding about the order of files.
const OVERLAP: f64 = 0.5;
/// The length of text in bounds, in code points, if no property gives another one.
const USUAL_LENGTH: usize = 16;

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
    statistics(of, &seen.kept, &manifests);
    let mut columns: Vec<_> = seen.kept.order.iter().collect();
    columns.sort_by_key(|(id, _)| **id);
    for (id, bounds) in columns {
        order(of, *id, bounds, &manifests, &data);
    }
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
    let small = (target as f64 * SMALL_SHARE) as u64;
    let mut partitions: HashMap<u64, (u64, u64, u64)> = HashMap::new();
    for file in data {
        let (all, files, bytes) = partitions.entry(file.partition).or_default();
        *all = all.saturating_add(unsigned(file.bytes));
        if unsigned(file.bytes) < small {
            (*files, *bytes) = (*files + 1, bytes.saturating_add(unsigned(file.bytes)));
        }
    }
    let saved = |(_, files, bytes): &(u64, u64, u64)| files.saturating_sub(bytes.div_ceil(target).max(1));
    let gain: u64 = partitions.values().map(saved).sum();
    if gain >= LEAST_SAVED {
        let small: u64 = partitions.values().map(|(_, files, _)| files).sum();
        let evidence = format!("{small} of {} data files are below three quarters of {target} bytes", data.len());
        let gain = Gain { files: gain, requests: gain.saturating_mul(2), ..Gain::default() };
        of.findings.gain(&shared::SMALL_FILES, of.table.location(), evidence, gain);
    }
    let mut bytes: Vec<u64> = partitions.values().map(|(all, ..)| *all).collect();
    bytes.sort_unstable();
    if let (Some(median), Some(largest)) = (bytes.get(bytes.len() / 2), bytes.last())
        && bytes.len() >= SKEW as usize
        && *largest > median.saturating_mul(SKEW)
        && *largest > target
    {
        let evidence = format!("the largest of {} partitions has {largest} bytes, the median {median}", bytes.len());
        of.findings.add(&shared::SKEWED_PARTITIONS, of.table.location(), evidence);
    }
}

/// Rows and bytes of delete files that apply to data files. Other findings are about those that apply to none.
fn delete_debt(of: &Examination<'_>, kept: &Kept, data: &[&LiveData], manifests: &HashSet<u32>) {
    let deletes = Head::new("main", manifests, &kept.data, &kept.deletes).applied();
    let rows: u64 = data.iter().map(|d| unsigned(d.rows)).sum();
    let deleted: u64 = deletes.iter().map(|d| unsigned(d.rows)).sum();
    let is_much = deleted as f64 > rows as f64 * DELETED_SHARE || deletes.len() > data.len();
    if deletes.is_empty() || !is_much {
        return;
    }
    let own: u64 = deletes.iter().map(|d| unsigned(d.bytes)).sum();
    let all: u64 = data.iter().map(|d| unsigned(d.bytes)).sum();
    let share = (deleted as f64 / rows.max(1) as f64).min(1.0);
    let bytes = own.saturating_add((all as f64 * share) as u64);
    let count = deletes.len() as u64;
    let evidence = format!("{count} delete files with {deleted} rows or keys, for {rows} rows");
    let gain = Gain { bytes, files: count, requests: count };
    of.findings.gain(&shared::DELETE_DEBT, of.table.location(), evidence, gain);
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
    if count > MOST_SNAPSHOTS {
        let evidence = format!("{count} snapshots; {files} data files are only in old ones");
        of.findings.gain(&shared::LONG_HISTORY, of.table.location(), evidence, Gain { bytes, files, requests: 0 });
    }
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
fn statistics(of: &Examination<'_>, kept: &Kept, manifests: &HashSet<u32>) {
    let mut columns: BTreeMap<FieldId, (u64, u64)> = BTreeMap::new();
    for ((id, _), (with, without)) in kept.bounded.iter().filter(|((_, manifest), _)| manifests.contains(manifest)) {
        let sums = columns.entry(*id).or_default();
        *sums = (sums.0 + with, sums.1 + without);
    }
    for (id, (with, without)) in columns {
        if without > with {
            let column = name(&of.table.inner.schema, id);
            let evidence = format!("{without} of {} data files have no bounds of it", with + without);
            let gain = Gain { requests: without, ..Gain::default() };
            of.findings.gain(&codes::MISSING_STATISTICS, column, evidence, gain);
        }
    }
}

/// How much the bounds of a column overlap, and whether they tell files apart.
fn order(of: &Examination<'_>, id: FieldId, column: &FileBounds, manifests: &HashSet<u32>, data: &[&LiveData]) {
    let bounds = column.of(manifests);
    let count = bounds.len();
    if count < LEAST_ORDERED {
        return;
    }
    let schema = &of.table.inner.schema;
    let mode = MetricsConfig::new(schema, &of.metadata.properties, &[]).mode(id);
    let lengths = [USUAL_LENGTH, mode.bound_length().unwrap_or(USUAL_LENGTH)];
    if let Some((low, high, files)) = column.same(&bounds, &lengths) {
        let (low, high) = (low.escape_debug(), high.escape_debug());
        let evidence = format!("{files} of {count} files have the bounds '{low}' and '{high}'");
        of.findings.add(&codes::USELESS_STATISTICS, name(schema, id), evidence);
        return;
    }
    let Some(share) = overlap(&column.ranked(&bounds)).filter(|share| *share > OVERLAP) else { return };
    let saved = ((share * count as f64) as u64).saturating_sub(1);
    let bytes: u64 = data.iter().map(|d| unsigned(d.bytes)).sum();
    let gain = Gain { bytes: bytes / count.max(1) as u64 * saved, files: saved, requests: saved * 2 };
    let evidence = format!("a value is in the bounds of {:.0} % of {count} files on average", share * 100.0);
    of.findings.gain(&codes::FILE_ORDER, name(schema, id), evidence, gain);
}
