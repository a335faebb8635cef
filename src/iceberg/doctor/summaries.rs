//! Summaries of snapshots against the sums over their manifests.

use super::codes;
use super::examination::Examination;
use super::lists::ListedSnapshot;
use super::seen::ManifestTotals;
use crate::iceberg::manifest::list::ManifestContent;

/// The sums over the manifests of a snapshot, by the keys of its summary.
pub(super) fn totals_of<'t>(manifests: impl Iterator<Item = &'t ManifestTotals>) -> [(&'static str, i64); 6] {
    let (mut files, mut rows, mut deletes, mut bytes, mut positions, mut keys) = (0i64, 0i64, 0i64, 0i64, 0i64, 0i64);
    for totals in manifests {
        files += totals.data.0;
        rows = rows.saturating_add(totals.data.1);
        deletes += totals.deletes.0;
        bytes = bytes.saturating_add(totals.data.2).saturating_add(totals.deletes.1);
        positions = positions.saturating_add(totals.deleted_rows.0);
        keys = keys.saturating_add(totals.deleted_rows.1);
    }
    [
        ("total-data-files", files),
        ("total-records", rows),
        ("total-delete-files", deletes),
        ("total-files-size", bytes),
        ("total-position-deletes", positions),
        ("total-equality-deletes", keys),
    ]
}

/// Compares all summaries.
pub(super) fn check(of: &Examination<'_>) {
    let seen = of.seen();
    for listed in &of.lists.snapshots {
        let manifests: Vec<&ManifestTotals> = listed.manifests.iter().filter_map(|m| seen.totals.get(m)).collect();
        if manifests.len() != listed.manifests.len() || listed.snapshot.summary.is_empty() {
            continue;
        }
        compare(of, listed, &codes::SUMMARY_TOTALS, &totals_of(manifests.iter().copied()));
        let own = listed.manifests.iter().filter(|m| {
            let manifest = of.lists.manifests.get(**m as usize);
            manifest
                .is_some_and(|m| m.added_snapshot_id == Some(listed.snapshot.id) && m.content == ManifestContent::Data)
        });
        let (mut added, mut deleted) = ((0i64, 0i64), (0i64, 0i64));
        for totals in own.filter_map(|m| seen.totals.get(m)) {
            let [_, a, d] = totals.entries;
            added = (added.0 + a.0, added.1.saturating_add(a.1));
            deleted = (deleted.0 + d.0, deleted.1.saturating_add(d.1));
        }
        let counts = [
            ("added-data-files", added.0),
            ("added-records", added.1),
            ("deleted-data-files", deleted.0),
            ("deleted-records", deleted.1),
        ];
        compare(of, listed, &codes::SUMMARY_ADDED, &counts);
    }
}

fn compare(
    of: &Examination<'_>,
    listed: &ListedSnapshot,
    code: &'static crate::format::diagnosis::code::Code,
    counts: &[(&'static str, i64)],
) {
    let summary = &listed.snapshot.summary;
    let differing = counts.iter().filter_map(|(key, found)| {
        let recorded: i64 = summary.get(*key)?.trim().parse().ok()?;
        (recorded != *found).then(|| format!("{key} is {recorded}, the manifests have {found}"))
    });
    let differing: Vec<String> = differing.collect();
    if !differing.is_empty() {
        of.findings.add(code, format!("snapshot {}", listed.snapshot.id), differing.join("; "));
    }
}
