//! The live files of a snapshot: files that its manifests added and did not delete afterwards.
//!
//! First the deletions of all manifests are read. After that the additions of each manifest are independent, so
//! manifests can be read in parallel, and only the deletions stay in memory.
//!
//! Source: Paimon specification, "Data Manifest"; Java's `FileEntry.readDeletedEntries`.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::columns::Decoder;
use super::entries::{ADD, DELETE, Identity, PaimonEntryColumns, PaimonEntryRequest};
use super::folder::ManifestFolder;
use super::list::{PaimonManifestFile, decode_manifest_list};
use crate::codec::avro::OpenFile;
use crate::error::{Error, Result};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::{Unit, check_cancelled, count_done, expect_more, in_stages, threads};

/// An entry among those of a list of manifests: by manifest, then by its place there.
type EntryPlace = (usize, u32);

/// Files that manifests delete, and where.
#[derive(Debug, Default)]
pub struct DeletedFiles {
    by_name: HashMap<Box<[u8]>, Vec<(OwnedIdentity, EntryPlace)>>,
}

/// Live additions of one manifest, or of a part of it.
#[derive(Clone, Debug, Default)]
pub struct LiveEntries {
    /// All its additions that the request keeps.
    pub columns: PaimonEntryColumns,
    /// The rows of those that are live, ascending.
    pub rows: Vec<u32>,
}

/// Judges live additions one by one as they are decoded, and keeps a result for some of them. One for each
/// part of a manifest.
pub trait EntryJudge {
    /// The result of a judge.
    type Out: Send;

    /// Whether it wants the entry in a row, which is the last one.
    ///
    /// # Errors
    /// Its own errors.
    fn wants(&mut self, columns: &PaimonEntryColumns, row: usize) -> Result<bool>;

    /// The result for the entries that it wanted.
    fn end(self, columns: PaimonEntryColumns) -> Self::Out;
}

/// As [`Identity`], without the name.
#[derive(Debug)]
struct OwnedIdentity {
    partition: Box<[u8]>,
    bucket: i32,
    level: i32,
    extra_files: Option<Box<[u8]>>,
    embedded_index: Option<Box<[u8]>>,
    external_path: Option<Box<[u8]>>,
}

impl OwnedIdentity {
    fn of(identity: Identity<'_>) -> OwnedIdentity {
        OwnedIdentity {
            partition: identity.partition.into(),
            bucket: identity.bucket,
            level: identity.level,
            extra_files: identity.extra_files.map(Into::into),
            embedded_index: identity.embedded_index.map(Into::into),
            external_path: identity.external_path.map(Into::into),
        }
    }

    fn is(&self, name: &[u8], other: &Identity<'_>) -> bool {
        let own = Identity {
            partition: &self.partition,
            bucket: self.bucket,
            level: self.level,
            name,
            extra_files: self.extra_files.as_deref(),
            embedded_index: self.embedded_index.as_deref(),
            external_path: self.external_path.as_deref(),
        };
        own == *other
    }
}

impl DeletedFiles {
    /// The files that a list of manifests deletes, among those that the request's `keep` keeps.
    ///
    /// # Errors
    /// As [`read_manifest`].
    pub fn read(
        from: ManifestFolder<'_>,
        manifests: &[PaimonManifestFile],
        request: &PaimonEntryRequest<'_>,
    ) -> Result<DeletedFiles> {
        let deleting: Vec<usize> =
            manifests.iter().enumerate().filter(|(_, m)| m.deleted_files > 0).map(|(i, _)| i).collect();
        let wanted = PaimonEntryRequest { kind: Some(DELETE), keep: request.keep, ..PaimonEntryRequest::default() };
        let files: Vec<&PaimonManifestFile> = deleting.iter().filter_map(|m| manifests.get(*m)).collect();
        let batches = read_parts(from, &files, &wanted, |_| Ok(Everything(|columns| columns)))?;
        let mut out = DeletedFiles::default();
        for (manifest, columns) in deleting.iter().zip(&batches) {
            columns.iter().for_each(|part| out.add(*manifest, part));
        }
        Ok(out)
    }

    /// Takes note of the deletions of manifest number `manifest`.
    pub fn add(&mut self, manifest: usize, columns: &PaimonEntryColumns) {
        for row in columns.rows().filter(|row| columns.kind.get(*row) == Some(&DELETE)) {
            let identity = columns.identity(row);
            let place = (manifest, columns.place.get(row).copied().unwrap_or_default());
            let same_name = self.by_name.entry(identity.name.into()).or_default();
            match same_name.iter_mut().find(|(known, _)| known.is(identity.name, &identity)) {
                Some((_, last)) => *last = place.max(*last),
                None => same_name.push((OwnedIdentity::of(identity), place)),
            }
        }
    }

    /// Whether the addition in a row of manifest number `manifest` is deleted by a later entry.
    pub fn is_deleted(&self, manifest: usize, columns: &PaimonEntryColumns, row: usize) -> bool {
        if self.by_name.is_empty() {
            return false;
        }
        let identity = columns.identity(row);
        let place = (manifest, columns.place.get(row).copied().unwrap_or_default());
        let same_name = self.by_name.get(identity.name).map(|v| &v[..]).unwrap_or_default();
        same_name.iter().any(|(known, deleted)| *deleted > place && known.is(identity.name, &identity))
    }

    /// The live additions of a list of manifests, part by part. `work` gets each part with the place of its manifest
    /// in the list. Its results come in the order of manifests and parts. Nothing else is kept.
    ///
    /// # Errors
    /// As [`read_manifest`]; those of `work`.
    pub fn live_parts<T: Send>(
        &self,
        from: ManifestFolder<'_>,
        manifests: &[PaimonManifestFile],
        request: &PaimonEntryRequest<'_>,
        work: impl Fn(usize, LiveEntries) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<T>>> {
        let judge = |manifest: usize| {
            let work = &work;
            Ok(Everything(move |columns: PaimonEntryColumns| {
                let rows = columns.rows().map(|row| row as u32).collect();
                work(manifest, LiveEntries { columns, rows })
            }))
        };
        let parts = self.judged_parts(from, manifests, request, judge)?;
        parts.into_iter().map(|of_manifest| of_manifest.into_iter().collect()).collect()
    }

    /// The judges' results for the live additions of a list of manifests, in the order of manifests and their parts.
    /// Uses as many threads as pay off. `judge` makes one for a part of the manifest at a place in the list.
    ///
    /// # Errors
    /// As [`read_manifest`]; those of the judges.
    pub fn judged_parts<J: EntryJudge>(
        &self,
        from: ManifestFolder<'_>,
        manifests: &[PaimonManifestFile],
        request: &PaimonEntryRequest<'_>,
        judge: impl Fn(usize) -> Result<J> + Sync,
    ) -> Result<Vec<Vec<J::Out>>> {
        let adding: Vec<usize> =
            manifests.iter().enumerate().filter(|(_, m)| m.added_files > 0).map(|(i, _)| i).collect();
        let files: Vec<&PaimonManifestFile> = adding.iter().filter_map(|m| manifests.get(*m)).collect();
        let wanted = PaimonEntryRequest { kind: Some(ADD), ..*request };
        read_parts(from, &files, &wanted, |i| {
            let manifest = adding.get(i).copied().unwrap_or_default();
            Ok(OfLive { deleted: self, manifest, judge: judge(manifest)? })
        })
    }
}

/// Wants all entries, and returns the result for them.
struct Everything<F>(F);

impl<T: Send, F: FnOnce(PaimonEntryColumns) -> T> EntryJudge for Everything<F> {
    type Out = T;

    fn wants(&mut self, _: &PaimonEntryColumns, _: usize) -> Result<bool> {
        Ok(true)
    }

    fn end(self, columns: PaimonEntryColumns) -> T {
        (self.0)(columns)
    }
}

/// Asks a judge about additions that are live.
struct OfLive<'d, J> {
    deleted: &'d DeletedFiles,
    manifest: usize,
    judge: J,
}

impl<J: EntryJudge> EntryJudge for OfLive<'_, J> {
    type Out = J::Out;

    fn wants(&mut self, columns: &PaimonEntryColumns, row: usize) -> Result<bool> {
        Ok(!self.deleted.is_deleted(self.manifest, columns, row) && self.judge.wants(columns, row)?)
    }

    fn end(self, columns: PaimonEntryColumns) -> J::Out {
        self.judge.end(columns)
    }
}

/// The live files of a list of manifests, in order.
///
/// # Errors
/// As [`read_manifest`].
pub fn live_files(
    from: ManifestFolder<'_>,
    manifests: &[PaimonManifestFile],
    request: &PaimonEntryRequest<'_>,
) -> Result<Vec<LiveEntries>> {
    let deleted = DeletedFiles::read(from, manifests, request)?;
    let parts = deleted.live_parts(from, manifests, request, |_, entries| Ok(entries))?;
    Ok(parts.into_iter().flatten().collect())
}

/// Blocks of a manifest that one thread decodes at a time: some hundred entries of a small manifest, thousands of a
/// large one.
const BLOCKS_AT_ONCE: RangeInclusive<usize> = 4..=16;

/// A manifest, and some of its blocks.
type ManifestPart = (Arc<OpenFile>, Range<usize>);

/// Decodes manifests in parts, on as many threads as pay off. `judge` makes the judge of a part, for the manifest at
/// a place in the list.
fn read_parts<J: EntryJudge>(
    from: ManifestFolder<'_>,
    manifests: &[&PaimonManifestFile],
    request: &PaimonEntryRequest<'_>,
    judge: impl Fn(usize) -> Result<J> + Sync,
) -> Result<Vec<Vec<J::Out>>> {
    if manifests.is_empty() {
        return Ok(Vec::new());
    }
    expect_more(Unit::Manifests, manifests.len());
    let name_of = |i: usize| manifests.get(i).map(|m| m.file_name.as_str()).unwrap_or_default();
    let prepare = |i: usize| -> Result<Vec<ManifestPart>> {
        check_cancelled()?;
        let file = match manifests.get(i) {
            Some(manifest) => {
                from.read("manifest", name_of(i), |file| manifest.check_whole(file).map(|()| file.clone()))?
            }
            None => return Ok(Vec::new()),
        };
        count_done(Unit::Manifests, 1);
        let (count, (least, most)) = (file.blocks().len(), BLOCKS_AT_ONCE.into_inner());
        let at_once = count.div_ceil(threads(usize::MAX)).clamp(least, most);
        let part = |start: usize| (file.clone(), start..start.saturating_add(at_once).min(count));
        Ok((0..count).step_by(at_once).map(part).collect())
    };
    in_stages(from.store.at_once(), manifests.len(), prepare, Decoder::default, |decoder, i, (file, part)| {
        check_cancelled()?;
        let mut judge = judge(i)?;
        let mut wants = |columns: &PaimonEntryColumns, row| judge.wants(columns, row);
        let columns = decoder.decode_blocks(&file, part, request, &mut wants);
        Ok(judge.end(columns.map_err(|e| from.unread_manifest(e, name_of(i)))?))
    })
}

/// Reads one manifest.
///
/// # Errors
/// Those of the store; as [`Decoder::decode`], naming the manifest.
pub fn read_manifest(
    from: ManifestFolder<'_>,
    manifest: &PaimonManifestFile,
    request: &PaimonEntryRequest<'_>,
) -> Result<PaimonEntryColumns> {
    check_cancelled()?;
    count_done(Unit::Manifests, 1);
    from.read("manifest", &manifest.file_name, |file| {
        manifest.check_whole(file)?;
        Decoder::default().decode(file, request)
    })
}

/// Reads a manifest list by its name and, if the snapshot records it, its length.
///
/// # Errors
/// Those of the store; as [`super::list::decode_manifest_list`], naming the list; `CorruptTable` if it was cut off.
pub fn read_manifest_list(
    from: ManifestFolder<'_>,
    name: &str,
    recorded_bytes: Option<i64>,
) -> Result<Vec<PaimonManifestFile>> {
    from.read("manifest list", name, |file| {
        let (bytes, recorded) = (file.size_bytes() as u64, recorded_bytes.and_then(|n| u64::try_from(n).ok()));
        if let Some(recorded) = recorded.filter(|recorded| *recorded > bytes) {
            return Err(Error::corrupt(format!(
                "the manifest list has {bytes} bytes; the snapshot records {recorded} bytes"
            ))
            .hint("The file was cut off or replaced. Restore it, or go back to an older snapshot"));
        }
        decode_manifest_list(file)
    })
}

/// The manifests of a snapshot: those of its base list, then those of its delta list.
///
/// # Errors
/// As [`read_manifest_list`].
pub fn data_manifests(from: ManifestFolder<'_>, snapshot: &PaimonSnapshot) -> Result<Vec<PaimonManifestFile>> {
    let mut out = read_manifest_list(from, &snapshot.base_manifest_list, snapshot.base_manifest_list_size)?;
    out.extend(delta_manifests(from, snapshot)?);
    Ok(out)
}

/// The manifests of a snapshot's own entries.
///
/// # Errors
/// As [`read_manifest_list`].
pub fn delta_manifests(from: ManifestFolder<'_>, snapshot: &PaimonSnapshot) -> Result<Vec<PaimonManifestFile>> {
    read_manifest_list(from, &snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)
}

/// The manifests of a snapshot's changelog files; empty without changelog.
///
/// # Errors
/// As [`read_manifest_list`].
pub fn changelog_manifests(from: ManifestFolder<'_>, snapshot: &PaimonSnapshot) -> Result<Vec<PaimonManifestFile>> {
    match &snapshot.changelog_manifest_list {
        Some(name) => read_manifest_list(from, name, snapshot.changelog_manifest_list_size),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
