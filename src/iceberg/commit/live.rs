//! Lookup of files in a table's manifests.

use std::collections::HashSet;

use crate::error::{Result, ResultExt};
use crate::iceberg::commit::manifests::inherited;
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::entries::{ADDED, DELETED, EXISTING, EntryRequest};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::location::{normalise, normalised};
use crate::store::{Location, Store, in_parallel};

/// The paths among `paths` that are live in some snapshot of the table.
///
/// # Errors
/// Errors of the store; `CorruptTable` if a manifest is damaged.
pub(crate) fn live_files<P: AsRef<str>>(
    store: &dyn Store,
    metadata: &TableMetadata,
    paths: &[P],
) -> Result<Vec<String>> {
    let (mut seen, mut manifests) = (HashSet::new(), Vec::new());
    for snapshot in &metadata.snapshots {
        let all = load_manifests(store, &Location::recorded(), snapshot).with("snapshot", snapshot.id)?;
        manifests.extend(all.into_iter().filter(|m| seen.insert(m.path.clone())));
    }
    named_in(store, &manifests, paths, false)
}

/// The paths among `paths` that are live in a snapshot.
///
/// # Errors
/// Errors of [`live_files`].
pub(crate) fn live_in_snapshot<P: AsRef<str>>(
    store: &dyn Store,
    snapshot: &Snapshot,
    paths: &[P],
) -> Result<Vec<String>> {
    let manifests = load_manifests(store, &Location::recorded(), snapshot).with("snapshot", snapshot.id)?;
    named_in(store, &manifests, paths, false)
}

/// The paths among `paths` that manifests list as live files, or also as deleted files.
///
/// # Errors
/// Errors of [`live_files`].
pub(super) fn named_in<P: AsRef<str>>(
    store: &dyn Store,
    manifests: &[ManifestFile],
    paths: &[P],
    deleted_too: bool,
) -> Result<Vec<String>> {
    // Other writers may have recorded the same file with a scheme.
    let wanted: HashSet<String> = paths.iter().map(|p| normalise(p.as_ref())).collect();
    let of = |i: usize| -> Result<Vec<String>> {
        let m = &manifests[i];
        let bytes = store.get(&m.path)?;
        let manifest = Manifest::parse_listed(&bytes, m.size(), None).with("path", &m.path)?;
        let all = 0..manifest.block_count();
        let request = EntryRequest { deleted_too, ..EntryRequest::default() };
        let entries = manifest.decode(all, &request, &Inherited::default()).with("path", &m.path)?;
        let found = entries.rows().filter_map(|row| std::str::from_utf8(entries.path.get(row)?).ok());
        Ok(found.filter(|p| wanted.contains(normalised(p).as_ref())).map(str::to_owned).collect())
    };
    Ok(in_parallel(store, manifests.len(), of)?.into_iter().flatten().collect())
}

/// Fills in counts that a v1 list may lack and later versions require. It counts the manifest's entries.
pub(super) fn fill_counts(store: &dyn Store, m: &mut ManifestFile) -> Result<()> {
    let known = [m.added_files_count, m.existing_files_count, m.deleted_files_count];
    let rows = [m.added_rows_count, m.existing_rows_count, m.deleted_rows_count];
    if known.iter().chain(&rows).all(Option::is_some) {
        return Ok(());
    }
    let bytes = store.get(&m.path)?;
    let manifest = Manifest::parse_listed(&bytes, m.size(), None).with("path", &m.path)?;
    let request = EntryRequest { deleted_too: true, ..EntryRequest::default() };
    let entries = manifest.decode(0..manifest.block_count(), &request, &inherited(m)).with("path", &m.path)?;
    let count = |status: u8| {
        let of_status = entries.status.iter().zip(&entries.record_count).filter(|(s, _)| **s == status);
        of_status.fold((0i64, 0i64), |(files, rows), (_, n)| (files + 1, rows.saturating_add(*n)))
    };
    let ((added, added_rows), (existing, existing_rows)) = (count(ADDED), count(EXISTING));
    let (deleted, deleted_rows) = count(DELETED);
    (m.added_files_count, m.added_rows_count) = (Some(added), Some(added_rows));
    (m.existing_files_count, m.existing_rows_count) = (Some(existing), Some(existing_rows));
    (m.deleted_files_count, m.deleted_rows_count) = (Some(deleted), Some(deleted_rows));
    Ok(())
}
