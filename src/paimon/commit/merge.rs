//! Merging the manifests of earlier commits: joins small ones, and cancels additions that were deleted later. A rewrite
//! of manifests also divides large ones.
//!
//! Source: Java's `ManifestFileMerger`, which divides none.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::manifests::{ManifestLayout, MetadataFiles};
use crate::error::{Error, Result};
use crate::paimon::manifest::entries::{ADD, DELETE, PaimonEntryRequest};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::read_manifest;
use crate::paimon::spec::binary_row::{BinaryRow, compare_fields};
use crate::paimon::spec::data_type::DataType;
use crate::paimon::spec::schema::TableSchema;
use crate::store::{Store, in_parallel};

/// Everything that entries record.
pub(super) const ALL: PaimonEntryRequest<'static> =
    PaimonEntryRequest { key_stats: true, value_stats: true, kind: None, keep: None };

/// The manifests to merge, and their folder.
pub(super) struct ManifestMerger<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) root: &'a str,
    pub(super) schema: &'a TableSchema,
    pub(super) layout: &'a ManifestLayout,
    /// Whether to merge all that can be merged, and not only where it pays off for the next commits. Large manifests
    /// are divided, too.
    pub(super) joins_all: bool,
}

/// Whether some of the manifests can be joined or divided, or have entries of removed files.
///
/// # Errors
/// `InvalidInput` for options that can't be read.
pub(crate) fn can_join(schema: &TableSchema, manifests: &[PaimonManifestFile]) -> Result<bool> {
    let layout = ManifestLayout::of(schema)?;
    let is_small = |m: &PaimonManifestFile| m.file_size < layout.target_bytes;
    let deletes = manifests.iter().any(|m| m.deleted_files > 0);
    let mut pairs = manifests.iter().zip(manifests.iter().skip(1));
    let joins = manifests.len() > 1 && (deletes || pairs.any(|(a, b)| is_small(a) && is_small(b)));
    Ok(joins || manifests.iter().any(|m| layout.divides(m)))
}

/// Combines entries. A file that was added and deleted again disappears.
///
/// # Errors
/// `CorruptTable` if a file is added twice.
pub(super) fn merged(entries: impl IntoIterator<Item = FileEntry>) -> Result<IndexMap<Vec<u8>, FileEntry>> {
    let mut out: IndexMap<Vec<u8>, FileEntry> = IndexMap::new();
    for entry in entries {
        let identity = entry.identity();
        match (entry.kind, out.contains_key(&identity)) {
            (ADD, true) => {
                return Err(Error::corrupt("a file is added that already exists").with("file", &entry.file_name));
            }
            (DELETE, true) => {
                out.shift_remove(&identity);
            }
            _ => {
                out.insert(identity, entry);
            }
        }
    }
    Ok(out)
}

impl ManifestMerger<'_> {
    /// Merges manifests where it pays off. Returns the manifests that replace `input`, in order.
    pub(super) fn merge(
        &self,
        files: &mut MetadataFiles,
        input: Vec<PaimonManifestFile>,
    ) -> Result<Vec<PaimonManifestFile>> {
        let trigger = match self.joins_all {
            true => 1,
            false => self.schema.options().bytes("manifest.full-compaction-threshold-size", 16 << 20)?,
        };
        let changing = |m: &PaimonManifestFile| {
            m.deleted_files > 0 || m.file_size < self.layout.target_bytes || self.changes_alone(m)
        };
        let changing_bytes: i64 = input.iter().filter(|m| changing(m)).map(|m| m.file_size).sum();
        if changing_bytes >= trigger
            && let Some(whole) = self.merge_all(files, &input, changing)?
        {
            return Ok(whole);
        }
        self.merge_small(files, input)
    }

    /// Whether a rewrite changes a manifest even if no other is merged with it.
    fn changes_alone(&self, manifest: &PaimonManifestFile) -> bool {
        self.joins_all && (manifest.deleted_files > 0 || self.layout.divides(manifest))
    }

    fn entries(
        &self,
        manifests: &[PaimonManifestFile],
        request: &PaimonEntryRequest<'_>,
    ) -> Result<Vec<Vec<FileEntry>>> {
        in_parallel(self.store, manifests.len(), |i| {
            let Some(manifest) = manifests.get(i) else { return Ok(Vec::new()) };
            let columns = read_manifest(ManifestFolder::new(self.store, self.root), manifest, request)?;
            columns.rows().map(|row| columns.entry(row)).collect()
        })
    }

    fn merge_small(
        &self,
        files: &mut MetadataFiles,
        input: Vec<PaimonManifestFile>,
    ) -> Result<Vec<PaimonManifestFile>> {
        let min_count = match self.joins_all {
            true => 1,
            false => self.schema.options().integer("manifest.merge-min-count")?.unwrap_or(30),
        };
        let (mut out, mut candidates, mut bytes) = (Vec::new(), Vec::new(), 0i64);
        for manifest in input {
            bytes = bytes.saturating_add(manifest.file_size);
            candidates.push(manifest);
            if bytes >= self.layout.target_bytes {
                out.extend(self.merge_together(files, std::mem::take(&mut candidates))?);
                bytes = 0;
            }
        }
        if candidates.len() as i64 >= min_count {
            out.extend(self.merge_together(files, candidates)?);
        } else {
            out.extend(candidates);
        }
        Ok(out)
    }

    fn merge_together(
        &self,
        files: &mut MetadataFiles,
        manifests: Vec<PaimonManifestFile>,
    ) -> Result<Vec<PaimonManifestFile>> {
        if manifests.len() <= 1 {
            return Ok(manifests);
        }
        let entries = merged(self.entries(&manifests, &ALL)?.into_iter().flatten())?;
        files.write_manifests(entries.values(), self.layout)
    }

    /// Removes all deleted entries. `None` if there is too little to merge.
    fn merge_all(
        &self,
        files: &mut MetadataFiles,
        input: &[PaimonManifestFile],
        changing: impl Fn(&PaimonManifestFile) -> bool,
    ) -> Result<Option<Vec<PaimonManifestFile>>> {
        let deleting: Vec<PaimonManifestFile> = input.iter().filter(|m| m.deleted_files > 0).cloned().collect();
        let request = PaimonEntryRequest { kind: Some(DELETE), ..PaimonEntryRequest::default() };
        let deletions = self.entries(&deleting, &request)?;
        let deletions: Vec<FileEntry> = deletions.into_iter().flatten().collect();
        let deleted: HashSet<Vec<u8>> = deletions.iter().map(FileEntry::identity).collect();
        let partitions: HashSet<Arc<[u8]>> = deletions.iter().map(|e| e.partition.clone()).collect();
        let types = self.schema.partition_types();
        let (mut out, mut merging) = (Vec::new(), Vec::new());
        for manifest in input {
            let touched = || partitions.iter().any(|partition| may_have(manifest, partition, &types).unwrap_or(true));
            if changing(manifest) || touched() { &mut merging } else { &mut out }.push(manifest.clone());
        }
        if merging.len() <= 1 && !merging.iter().any(|m| self.changes_alone(m)) {
            return Ok(None);
        }
        let mut kept = Vec::new();
        for (manifest, mut entries) in merging.iter().zip(self.entries(&merging, &ALL)?) {
            let before = entries.len();
            entries.retain(|e| e.kind == ADD && !deleted.contains(&e.identity()));
            if changing(manifest) || entries.len() < before {
                kept.extend(entries);
            } else {
                out.push(manifest.clone());
            }
        }
        out.extend(files.write_manifests(&kept, self.layout)?);
        Ok(Some(out))
    }
}

/// Whether a manifest may have entries of a partition, by its statistics.
fn may_have(manifest: &PaimonManifestFile, partition: &[u8], types: &[DataType]) -> Result<bool> {
    let stats = &manifest.partition_stats;
    let (row, min, max) = (
        BinaryRow::from_prefixed(partition)?,
        BinaryRow::from_prefixed(&stats.min)?,
        BinaryRow::from_prefixed(&stats.max)?,
    );
    for (i, ty) in types.iter().enumerate() {
        let absent = match (row.is_null(i), min.is_null(i) || max.is_null(i)) {
            (true, _) => stats.null_counts.as_ref().and_then(|n| n.get(i)) == Some(&0),
            (false, true) => false,
            (false, false) => {
                compare_fields(&row, &min, i, ty)? == Ordering::Less
                    || compare_fields(&row, &max, i, ty)? == Ordering::Greater
            }
        };
        if absent {
            return Ok(false);
        }
    }
    Ok(true)
}
