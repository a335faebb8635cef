//! Whether manifests and manifest lists are whole. The layer above each of them records lengths and counts.
//!
//! A file that was cut off between two blocks looks whole: it only has fewer entries. Its rows, or its deletes, would
//! be left out silently.
//!
//! Some writers record wrong counts, and tools that copy tables leave old lengths. So a manifest is refused only if it
//! is shorter, and has fewer entries, than the manifest list records.

use std::sync::Arc;

use super::columns::Manifest;
use super::layout::EntryLayout;
use super::list::{ManifestFile, decode_manifest_list};
use crate::error::{Error, Result};
use crate::iceberg::spec::snapshot::Snapshot;
use crate::types::{PartitionSpec, Schema, Transform};

/// The size of a manifest, as the manifest list records it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListedSize {
    /// 0 if it is not known.
    length_bytes: i64,
    /// Entries of any status.
    entries: Option<i64>,
}

impl ListedSize {
    /// Entries of any status, as recorded.
    pub(crate) fn entries(&self) -> Option<i64> {
        self.entries
    }

    /// Whether a file of this length may be the whole manifest without a look at its entries.
    pub(crate) fn may_be_whole(&self, bytes: u64) -> bool {
        self.length_bytes <= 0 || bytes >= self.length_bytes.unsigned_abs()
    }

    /// Compares a manifest of `bytes` bytes with the recorded size.
    ///
    /// # Errors
    /// `CorruptTable` if it is only a part of the recorded one.
    pub fn check(&self, manifest: &Manifest<'_>, bytes: usize) -> Result<()> {
        if self.may_be_whole(bytes as u64) {
            return Ok(());
        }
        let found = manifest.entry_count(0..manifest.block_count());
        if self.entries.is_some_and(|n| u64::try_from(n).is_ok_and(|n| found >= n)) {
            return Ok(());
        }
        let recorded = self.entries.map_or_else(String::new, |n| format!(" and {n} entries"));
        Err(Error::corrupt(format!(
            "the manifest has {bytes} bytes and {found} entries; the manifest list records {} bytes{recorded}",
            self.length_bytes
        ))
        .hint("The file was cut off or replaced. Restore it, or go back to an older snapshot"))
    }
}

impl ManifestFile {
    /// The manifest's size, as the list records it.
    pub fn size(&self) -> ListedSize {
        let counts = [self.added_files_count, self.existing_files_count, self.deleted_files_count];
        let entries = counts.into_iter().try_fold(0i64, |sum, n| sum.checked_add(n?));
        ListedSize { length_bytes: self.length_bytes, entries }
    }
}

impl<'a> Manifest<'a> {
    /// Like [`Manifest::parse_like`], for a manifest that a list names.
    ///
    /// # Errors
    /// Errors of [`Manifest::parse`]; `CorruptTable` if the file is only a part of the one that the list records.
    pub fn parse_listed(bytes: &'a [u8], listed: ListedSize, other: Option<&Arc<EntryLayout>>) -> Result<Manifest<'a>> {
        let manifest = Manifest::parse_like(bytes, other)?;
        listed.check(&manifest, bytes.len())?;
        Ok(manifest)
    }

    /// Checks that partition tuples have all fields of the spec under which the list has the manifest. A missing value
    /// would count as null, and filters would leave its rows out.
    ///
    /// # Errors
    /// `CorruptTable`, naming the field.
    pub fn check_spec(&self, spec: &PartitionSpec, schema: &Schema) -> Result<()> {
        if self.block_count() == 0 {
            return Ok(());
        }
        // Nothing is filtered by a field without a value or without a column.
        let matters = spec.fields.iter().filter(|f| f.transform != Transform::Void);
        let mut matters = matters.filter(|f| schema.field(f.source_id).is_some());
        match matters.find(|field| !self.layout().has_field(field.field_id)) {
            None => Ok(()),
            Some(field) => Err(Error::corrupt(format!(
                "the partition tuples of a manifest lack the field '{}' of the partition spec {}",
                field.name, spec.id
            ))
            .hint("The manifest was written under another spec, or by a faulty writer. Rewrite it under its spec")),
        }
    }
}

/// Reads the manifest list of a snapshot.
///
/// # Errors
/// Errors of [`decode_manifest_list`]; `CorruptTable` if the list has fewer manifests than the snapshot says.
pub fn decode_list_of(bytes: &[u8], snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let manifests = decode_manifest_list(bytes)?;
    let count = |key: &str| snapshot.summary.get(key).and_then(|n| n.trim().parse::<u64>().ok());
    let cut = |said: String| {
        Error::corrupt(format!("the manifest list has {} manifests, but {said}", manifests.len()))
            .hint("The file was cut off or replaced. Restore it, or go back to an older snapshot")
    };
    // Totals are copied from snapshot to snapshot and often wrong. These counts are of the snapshot's own commit.
    if let (Some(created), Some(kept)) = (count("manifests-created"), count("manifests-kept"))
        && created.saturating_add(kept) > manifests.len() as u64
    {
        return Err(cut(format!("the snapshot created {created} and kept {kept}")));
    }
    let added = ["added-data-files", "added-delete-files"].map(|key| count(key).unwrap_or(0));
    let added = added.into_iter().fold(0, u64::saturating_add);
    if manifests.is_empty() && added > 0 {
        return Err(cut(format!("the snapshot added {added} files")));
    }
    Ok(manifests)
}

#[cfg(test)]
#[path = "whole_tests.rs"]
mod tests;
