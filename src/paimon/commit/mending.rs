//! Commits that mend what a snapshot records about its manifests. They change no file of the table.

use std::collections::HashSet;

use super::manifests::{ManifestLayout, MetadataFiles};
use super::merge::ALL;
use crate::error::Result;
use crate::paimon::manifest::entries::{PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{DeletedFiles, live_files, read_manifest};
use crate::parallel::check_cancelled;

/// What a commit mends. It also counts the rows of the snapshot again.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManifestMends {
    /// Names of manifests that the new snapshot no longer has.
    pub(crate) lost: HashSet<String>,
    /// Names of manifests that are written again from their entries.
    pub(crate) wrong: HashSet<String>,
    /// Whether entries of wrong manifests are lost.
    pub(crate) loses_entries: bool,
}

impl ManifestMends {
    /// The manifests that replace those of the snapshot before, in the same order.
    ///
    /// # Errors
    /// Those of reading and writing manifests.
    pub(super) fn applied(
        &self,
        files: &mut MetadataFiles,
        from: ManifestFolder<'_>,
        before: Vec<PaimonManifestFile>,
        layout: &ManifestLayout,
    ) -> Result<Vec<PaimonManifestFile>> {
        let mut out = Vec::with_capacity(before.len());
        for manifest in before {
            check_cancelled()?;
            if self.lost.contains(&manifest.file_name) {
                continue;
            }
            if !self.wrong.contains(&manifest.file_name) {
                out.push(manifest);
                continue;
            }
            let columns = read_whatever_is_recorded(from, &manifest.file_name, &ALL)?;
            let entries = columns.rows().map(|row| columns.entry(row)).collect::<Result<Vec<FileEntry>>>()?;
            out.extend(files.write_manifests(&entries, layout)?);
        }
        let is_complete = self.lost.is_empty() && !self.loses_entries;
        if is_complete || out.iter().all(|m| m.deleted_files == 0) {
            return Ok(out);
        }
        // Other manifests may remove files of lost entries. Such entries would remove files that no manifest adds.
        let live = live_files(from, &out, &ALL)?;
        let entries = live.iter().flat_map(|l| l.rows.iter().map(|row| l.columns.entry(*row as usize)));
        files.write_manifests(&entries.collect::<Result<Vec<FileEntry>>>()?, layout)
    }
}

/// Reads a manifest without comparing it with its record in the list, which may be wrong.
///
/// # Errors
/// As [`read_manifest`].
pub(crate) fn read_whatever_is_recorded(
    from: ManifestFolder<'_>,
    name: &str,
    request: &PaimonEntryRequest<'_>,
) -> Result<PaimonEntryColumns> {
    let unrecorded = PaimonManifestFile { file_name: name.to_owned(), ..PaimonManifestFile::default() };
    read_manifest(from, &unrecorded, request)
}

/// The rows of the live files of manifests, not merged.
///
/// # Errors
/// As [`read_manifest`].
pub(crate) fn live_rows(from: ManifestFolder<'_>, manifests: &[PaimonManifestFile]) -> Result<i64> {
    let request = PaimonEntryRequest::default();
    let deleted = DeletedFiles::read(from, manifests, &request)?;
    let parts = deleted.live_parts(from, manifests, &request, |_, part| {
        let rows = part.rows.iter().filter_map(|row| part.columns.row_count.get(*row as usize));
        Ok(rows.fold(0, |sum: i64, rows| sum.saturating_add(*rows)))
    })?;
    Ok(parts.into_iter().flatten().fold(0, i64::saturating_add))
}
