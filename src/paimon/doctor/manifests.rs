//! Manifest lists and manifests. Each manifest is read once.

use std::collections::HashMap;

use super::codes;
use super::folder::damaged;
use crate::error::{ErrorKind, Result};
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::finding::{Findings, Looked};
use crate::paimon::manifest::entries::{ADD, PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{read_manifest, read_manifest_list};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::{Phase, begin_phase, check_cancelled, in_parallel};

/// The manifests of a snapshot; `None` if some can't be read.
#[derive(Debug, Default)]
pub(super) struct SnapshotManifests {
    /// Those of commits before, then its own.
    pub data: Option<Vec<PaimonManifestFile>>,
    /// Those of its own entries.
    pub delta: Option<Vec<PaimonManifestFile>>,
    /// Those of its changelog.
    pub changelog: Option<Vec<PaimonManifestFile>>,
}

/// What a list records about a manifest: length, added and removed files, buckets, levels.
type ManifestRecord = (i64, i64, i64, Option<(i32, i32)>, Option<(i32, i32)>);

fn record_of(m: &PaimonManifestFile) -> ManifestRecord {
    (m.file_size, m.added_files, m.deleted_files, m.buckets, m.levels)
}

/// Checks manifests, and remembers which can be read.
pub(super) struct ManifestChecks<'a> {
    from: ManifestFolder<'a>,
    findings: &'a Findings,
    /// Whether manifests can be read, with their records that were compared. Lists may have different ones.
    known: HashMap<String, (ManifestRecord, bool)>,
}

impl<'a> ManifestChecks<'a> {
    pub(super) fn new(from: ManifestFolder<'a>, findings: &'a Findings) -> ManifestChecks<'a> {
        ManifestChecks { from, findings, known: HashMap::new() }
    }

    /// Reads the lists and manifests of a snapshot.
    ///
    /// # Errors
    /// A cancellation. Anything else becomes a finding.
    pub(super) fn of(&mut self, s: &PaimonSnapshot, only_changelog: bool) -> Result<SnapshotManifests> {
        let mut out = SnapshotManifests::default();
        if !only_changelog {
            let delta = self.list(s, &s.delta_manifest_list, s.delta_manifest_list_size, false)?;
            let base = self.list(s, &s.base_manifest_list, s.base_manifest_list_size, false)?;
            if let (Some(mut base), Some(delta)) = (base, delta.clone()) {
                base.extend(delta);
                out.data = Some(base);
            }
            out.delta = delta;
        }
        if let Some(name) = &s.changelog_manifest_list {
            out.changelog = self.list(s, name, s.changelog_manifest_list_size, true)?;
        }
        Ok(out)
    }

    fn list(
        &mut self,
        snapshot: &PaimonSnapshot,
        name: &str,
        bytes: Option<i64>,
        is_changelog: bool,
    ) -> Result<Option<Vec<PaimonManifestFile>>> {
        check_cancelled()?;
        let manifests = match read_manifest_list(self.from, name, bytes) {
            Ok(manifests) => manifests,
            Err(e) => {
                let (missing, broken) = match is_changelog {
                    true => (&codes::CHANGELOG_DAMAGED, &codes::CHANGELOG_DAMAGED),
                    false => (&codes::MANIFEST_LIST_MISSING, &codes::MANIFEST_LIST_DAMAGED),
                };
                let object = format!("{name} of snapshot {}", snapshot.id);
                let code = if e.kind() == ErrorKind::NotFound { missing } else { broken };
                damaged(self.findings, code, &object, &e)?;
                return Ok(None);
            }
        };
        let new: Vec<&PaimonManifestFile> =
            manifests.iter().filter(|m| self.known.get(&m.file_name).is_none_or(|k| k.0 != record_of(m))).collect();
        let (from, findings, _phase) = (self.from, self.findings, begin_phase(Phase::ReadingMetadata, new.len()));
        let checked = in_parallel(new.len(), |i| check(from, findings, new[i], is_changelog))?;
        let new: Vec<_> = new.into_iter().map(|m| (m.file_name.clone(), record_of(m))).collect();
        self.known.extend(new.into_iter().zip(checked).map(|((name, record), whole)| (name, (record, whole))));
        let is_whole = manifests.iter().all(|m| self.known.get(&m.file_name).is_some_and(|k| k.1));
        Ok(is_whole.then_some(manifests))
    }
}

/// Checks one manifest. Returns whether it can be read.
fn check(from: ManifestFolder<'_>, findings: &Findings, m: &PaimonManifestFile, is_changelog: bool) -> Result<bool> {
    findings.looked(Looked::Manifest);
    let columns = match read_manifest(from, m, &PaimonEntryRequest::default()) {
        Ok(columns) => columns,
        Err(e) => {
            let code: &'static Code = match (is_changelog, e.kind()) {
                (true, _) => &codes::CHANGELOG_DAMAGED,
                (false, ErrorKind::NotFound) => &codes::MANIFEST_MISSING,
                (false, _) => &codes::MANIFEST_DAMAGED,
            };
            damaged(findings, code, &m.file_name, &e)?;
            return Ok(false);
        }
    };
    for (code, evidence) in differences(from, m, &columns) {
        findings.add(code, &m.file_name, evidence);
    }
    Ok(true)
}

/// The entries of a manifest that add files, and those that remove files.
pub(super) fn counts(columns: &PaimonEntryColumns) -> (i64, i64) {
    let added = columns.kind.iter().filter(|kind| **kind == ADD).count() as i64;
    (added, columns.len() as i64 - added)
}

/// What the entry of the manifest list says differently from the manifest.
pub(super) fn differences(
    from: ManifestFolder<'_>,
    m: &PaimonManifestFile,
    columns: &PaimonEntryColumns,
) -> Vec<(&'static Code, String)> {
    let mut out = Vec::new();
    if let Ok(size) = from.path(&m.file_name).and_then(|path| from.store.size(&path))
        && i64::try_from(size) != Ok(m.file_size)
    {
        let evidence = format!("{} bytes are recorded, the file has {size}", m.file_size);
        out.push((&codes::MANIFEST_LENGTH, evidence));
    }
    let (added, deleted) = counts(columns);
    if (m.added_files, m.deleted_files) != (added, deleted) {
        let evidence = format!(
            "{} added and {} deleted files are recorded, it has {added} and {deleted}",
            m.added_files, m.deleted_files
        );
        out.push((&codes::MANIFEST_COUNTS, evidence));
    }
    let outside = |range: Option<(i32, i32)>, values: &[i32]| {
        let (low, high) = range?;
        values.iter().copied().find(|v| *v < low || *v > high)
    };
    for (what, range, values) in [("bucket", m.buckets, &columns.bucket), ("level", m.levels, &columns.level)] {
        if let Some(value) = outside(range, values) {
            let (low, high) = range.unwrap_or_default();
            let evidence = format!("{what}s {low} to {high} are recorded, it has {what} {value}");
            out.push((&codes::MANIFEST_RANGES, evidence));
        }
    }
    out
}
