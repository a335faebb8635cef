//! What would make the table faster or smaller, with the estimated gain.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::codes;
use super::examination::Examination;
use super::relations::{Head, heads};
use super::seen::{Kept, LiveData};
use crate::data::verify::compare::name;
use crate::data::write::bounds_truncate::upper_text;
use crate::data::write::metrics::MetricsConfig;
use crate::format::diagnosis::file_order::{FileBounds, LEAST_ORDERED};
use crate::format::diagnosis::finding::Gain;
use crate::format::diagnosis::health::{DeleteSums, FileGroup, FileSizes, LEAST_SAVED, TableHealth};
use crate::types::FieldId;

/// A file below this share of the target size is small.
const SMALL_SHARE: f64 = 0.75;
/// The largest metadata file without a finding, in bytes.
const MOST_METADATA: u64 = 4 << 20;
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
    let bytes: u64 = data.iter().map(|d| unsigned(d.bytes)).sum();
    for (id, bounds) in columns {
        order(of, *id, bounds, &manifests, bytes);
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

/// Rows and bytes of delete files that apply to data files. Other findings are about those that apply to none.
fn delete_debt(of: &Examination<'_>, kept: &Kept, data: &[&LiveData], manifests: &HashSet<u32>) {
    let deletes = Head::new("main", manifests, &kept.data, &kept.deletes).applied();
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
    health(of).large_manifests(sizes.into_iter(), target);
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
fn order(of: &Examination<'_>, id: FieldId, column: &FileBounds, manifests: &HashSet<u32>, data_bytes: u64) {
    let (bounds, schema) = (column.of(manifests), &of.table.inner.schema);
    let count = bounds.len();
    if count < LEAST_ORDERED {
        return;
    }
    let mode = MetricsConfig::new(schema, &of.metadata.properties, &[]).mode(id);
    let lengths = [USUAL_LENGTH, mode.bound_length().unwrap_or(USUAL_LENGTH)];
    match column.same(&bounds).filter(|(low, high, _)| is_cut_text(low, high, &lengths)) {
        Some((low, high, files)) => {
            let (low, high) = (low.escape_debug(), high.escape_debug());
            let evidence = format!("{files} of {count} files have the bounds '{low}' and '{high}'");
            of.findings.add(&codes::USELESS_STATISTICS, name(schema, id), evidence);
        }
        None => column.report(&bounds, of.findings, &codes::FILE_ORDER, name(schema, id), data_bytes),
    }
}

/// Whether bounds are those of longer texts with one beginning, of one of these lengths in code points.
fn is_cut_text(low: &str, high: &str, lengths: &[usize]) -> bool {
    let length = low.chars().count();
    lengths.contains(&length) && upper_text(&format!("{low} "), length).as_deref() == Some(high)
}

#[cfg(test)]
mod tests {
    use super::is_cut_text;

    #[test]
    fn bounds_of_cut_texts_are_known() {
        assert!(is_cut_text("https://example.", "https://example/", &[16]));
        // The text is not as long as cut texts are.
        assert!(!is_cut_text("https://example.", "https://example/", &[15]));
        // Other texts of the same length are between these bounds, and one text alone is not cut.
        assert!(!is_cut_text("https://example.", "https://example9", &[16]));
        assert!(!is_cut_text("https://example.", "https://example.", &[16]));
    }
}
