//! What would make the table faster or smaller, with the estimated gain.

use std::collections::HashMap;

use super::codes;
use super::live::LiveFile;
use crate::format::diagnosis::finding::{Findings, Gain};
use crate::format::diagnosis::table_codes as shared;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::spec::schema::TableSchema;

/// The default target size of data files, in bytes.
const TARGET_BYTES: u64 = 128 << 20;
/// The share of the target below which a file is small.
const SMALL_SHARE: u64 = 2;
/// The least number of files that a compaction must save to be worth a finding.
const LEAST_SAVED: u64 = 5;
/// The most files at level 0 of a bucket without a finding.
const MOST_LEVEL_0: u64 = 5;
/// The most snapshots without a finding.
const MOST_SNAPSHOTS: usize = 100;
/// Manifests below this size are small, in bytes.
const SMALL_MANIFEST: i64 = 1 << 20;
/// The most small manifests without a finding.
const MOST_MANIFESTS: usize = 60;

/// Adds all findings about the table's health.
pub(super) fn check(
    location: &str,
    files: &[LiveFile],
    manifests: &[PaimonManifestFile],
    snapshots: usize,
    schema: &TableSchema,
    findings: &Findings,
) {
    let mut buckets: HashMap<(&[u8], i32), (u64, u64, u64)> = HashMap::new();
    for live in files {
        let Some(bucket) = live.file.bucket_file.as_deref() else { continue };
        let (small, bytes, level_0) = buckets.entry((&*live.partition, bucket.bucket)).or_default();
        let size = u64::try_from(live.file.size_bytes).unwrap_or(0);
        if size < TARGET_BYTES / SMALL_SHARE {
            (*small, *bytes) = (*small + 1, bytes.saturating_add(size));
        }
        *level_0 += u64::from(bucket.level == 0);
    }
    if schema.has_primary_key() {
        let worst = buckets.values().map(|(_, _, level_0)| *level_0).max().unwrap_or(0);
        if worst > MOST_LEVEL_0 {
            let over: u64 = buckets.values().map(|(_, _, n)| n.saturating_sub(1)).sum();
            let gain = Gain { files: over, requests: over * 2, ..Gain::default() };
            findings.gain(&codes::LEVEL_ZERO_FILES, location, format!("up to {worst} files in a bucket"), gain);
        }
    } else {
        let saved: u64 =
            buckets.values().map(|(small, bytes, _)| small.saturating_sub(bytes.div_ceil(TARGET_BYTES).max(1))).sum();
        if saved >= LEAST_SAVED {
            let gain = Gain { files: saved, requests: saved * 2, ..Gain::default() };
            let evidence = format!("of {} data files, {saved} could be joined to others", files.len());
            findings.gain(&shared::SMALL_FILES, location, evidence, gain);
        }
    }
    if snapshots > MOST_SNAPSHOTS {
        let evidence = format!("{snapshots} snapshots");
        findings.gain(&shared::LONG_HISTORY, location, evidence, Gain { files: snapshots as u64, ..Gain::default() });
    }
    let small = manifests.iter().filter(|m| m.file_size < SMALL_MANIFEST).count();
    if small > MOST_MANIFESTS {
        let gain = Gain { files: small as u64, requests: small as u64, ..Gain::default() };
        findings.gain(&codes::SMALL_MANIFESTS, location, format!("{small} manifests below a megabyte"), gain);
    }
}
