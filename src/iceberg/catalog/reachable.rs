//! The files that a table's metadata leads to. A purge deletes them.

use std::collections::{BTreeSet, HashSet};

use crate::error::{Result, ResultExt};
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::load::load_manifests;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::{Location, Store};

/// Files by kind.
#[derive(Debug, Default)]
pub(super) struct FilesByKind {
    /// Data and delete files of all snapshots, including those that a snapshot removed.
    pub data: BTreeSet<String>,
    /// Manifests, their lists, statistics and earlier metadata files.
    pub metadata: BTreeSet<String>,
}

/// Collects all files that the snapshots, statistics and log of a table's metadata name.
///
/// # Errors
/// Errors of the store; `CorruptTable` if a manifest is damaged.
pub(super) fn reachable_files(store: &dyn Store, metadata: &TableMetadata) -> Result<FilesByKind> {
    let mut out = FilesByKind::default();
    let mut seen = HashSet::new();
    let everything = EntryRequest { deleted_too: true, ..EntryRequest::default() };
    for snapshot in &metadata.snapshots {
        for m in load_manifests(store, &Location::recorded(), snapshot).with("snapshot", snapshot.id)? {
            if !seen.insert(m.path.clone()) {
                continue;
            }
            let bytes = store.get(&m.path)?;
            let manifest = Manifest::parse_listed(&bytes, m.size(), None).with("path", &m.path)?;
            let all = 0..manifest.block_count();
            let entries = manifest.decode(all, &everything, &Inherited::default()).with("path", &m.path)?;
            let paths = entries.rows().filter_map(|row| std::str::from_utf8(entries.path.get(row)?).ok());
            out.data.extend(paths.map(str::to_owned));
        }
        out.metadata.extend(snapshot.manifest_list.clone());
    }
    out.metadata.extend(seen);
    out.metadata.extend(metadata.statistics.iter().chain(&metadata.partition_statistics).map(|s| s.path.clone()));
    out.metadata.extend(metadata.metadata_log.iter().map(|e| e.metadata_file.clone()));
    Ok(out)
}
