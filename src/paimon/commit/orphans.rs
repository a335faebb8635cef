//! Orphan files: files that no version of a table needs, left by failed or killed writers.
//!
//! The folders are listed before anything is read. Files that a commit adds in between are in its snapshot, and files
//! without a commit are young. A file stays if any snapshot, tag or kept changelog of any branch names it, even as a
//! removed one. Only the table's own folders are searched: those of manifests, index files, statistics, buckets, and of
//! the branches' snapshots and changelogs.
//!
//! Source: Java's `OrphanFilesClean` and `LocalOrphanFilesClean`; stricter than Java: if a file of an existing
//! snapshot is missing, nothing is removed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::paimon::catalog::filesystem::{MAIN_BRANCH, TableFolder};
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::index_manifest::read_index_manifest;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{read_manifest, read_manifest_list};
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::store::location::join;
use crate::store::{Store, in_parallel};
use crate::types::temporal::now_ms;

/// By default, files younger than this stay: a day, in milliseconds. Their writers may not have committed yet.
const DEFAULT_AGE_MS: i64 = 24 * 60 * 60 * 1000;

/// The prefix of a bucket's folder.
const BUCKET: &str = "bucket-";

/// Candidates for removal by name. Files with the same name stay together.
type Candidates = HashMap<String, Vec<String>>;

/// The paths of files that were changed before `older_than_ms` (a day ago) and that nothing leads to, in order.
///
/// # Errors
/// `InvalidInput` for a future time; `CorruptTable` or `NotFound` if metadata of an existing snapshot can't be read,
/// or a branch has not all of its schemas; those of the store.
pub fn orphan_files(folder: &TableFolder, older_than_ms: Option<i64>) -> Result<Vec<String>> {
    let now = now_ms();
    let before = older_than_ms.unwrap_or(now.saturating_sub(DEFAULT_AGE_MS));
    // One millisecond more is allowed. It includes the files of this millisecond.
    if before > now.saturating_add(1) {
        return Err(Error::invalid("files that are being written would count as orphans")
            .hint("Set older_than= to a time in the past, further back than the longest write takes"));
    }
    let branches = branches(folder)?;
    let (candidates, mut out) = listed(folder, &branches, before)?;
    if !candidates.is_empty() {
        let candidates = Mutex::new(candidates);
        for branch in &branches {
            Used { branch, candidates: &candidates }.take_out()?;
        }
        out.extend(candidates.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten());
    }
    out.sort_unstable();
    Ok(out)
}

/// The given files that something leads to: a snapshot, tag or kept changelog of any branch.
///
/// # Errors
/// As [`orphan_files`].
pub fn files_in_use(folder: &TableFolder, paths: impl IntoIterator<Item = String>) -> Result<Vec<String>> {
    let mut asked = Candidates::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        asked.entry(name).or_default().push(path);
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let unused = Mutex::new(asked.clone());
    for branch in &branches(folder)? {
        Used { branch, candidates: &unused }.take_out()?;
    }
    let unused = unused.into_inner().unwrap_or_else(PoisonError::into_inner);
    asked.retain(|name, _| !unused.contains_key(name));
    Ok(asked.into_values().flatten().collect())
}

/// All branches. A branch without all its schemas may be about to be made or removed, so its files are unknown.
fn branches(folder: &TableFolder) -> Result<Vec<TableFolder>> {
    let names = folder.branch_folders()?.into_iter().chain([MAIN_BRANCH.to_owned()]);
    let branches: Vec<TableFolder> = names.map(|name| folder.on_branch(&name)).collect();
    for branch in &branches {
        if !branch.is_complete()? {
            return Err(Error::corrupt("a branch lacks some of its schemas, so the files that it needs are unknown")
                .with("branch", branch.branch_name())
                .hint("If creating or dropping the branch was interrupted, drop it"));
        }
    }
    Ok(branches)
}

/// Old files that may be orphans, and old files that certainly are.
fn listed(folder: &TableFolder, branches: &[TableFolder], before: i64) -> Result<(Candidates, Vec<String>)> {
    let (store, root) = (folder.store().as_ref(), folder.root());
    let (mut out, _phase) = (Vec::new(), begin_phase(Phase::Listing, 0));
    for branch in branches {
        for (name, prefix) in [("snapshot", "snapshot-"), ("changelog", "changelog-")] {
            let old = old_files(store, &branch.folder(name), before)?;
            let is_known = |name: &str| name.starts_with(prefix) || ["EARLIEST", "LATEST", "EXPIRING"].contains(&name);
            out.extend(old.into_iter().filter(|(name, _)| !is_known(name)).map(|(_, path)| path));
        }
    }
    let schema = folder.on_branch(MAIN_BRANCH).latest_schema()?;
    let mut folders: Vec<String> = ["manifest", "index", "statistics"].iter().map(|name| join(root, name)).collect();
    folders.extend(bucket_folders(store, TablePaths::new(root, &schema)?.data_root(), &schema)?);
    let files = in_parallel(store, folders.len(), |i| {
        check_cancelled()?;
        let files = folders.get(i).map_or(Ok(Vec::new()), |folder| old_files(store, folder, before))?;
        count_done(Unit::Files, files.len() as u64);
        Ok(files)
    })?;
    let mut candidates = Candidates::new();
    for (name, path) in files.into_iter().flatten() {
        candidates.entry(name).or_default().push(path);
    }
    Ok((candidates, out))
}

/// The folders of buckets, below those of partitions.
fn bucket_folders(store: &dyn Store, data_root: &str, schema: &TableSchema) -> Result<Vec<String>> {
    let mut level = vec![data_root.to_owned()];
    for depth in 0..=schema.partition_keys.len() {
        let is_last = depth == schema.partition_keys.len();
        let below = in_parallel(store, level.len(), |i| {
            check_cancelled()?;
            let Some(parent) = level.get(i) else { return Ok(Vec::new()) };
            let names = store.list_folders(parent)?;
            let wanted =
                names.iter().filter(|name| if is_last { name.starts_with(BUCKET) } else { name.contains('=') });
            Ok(wanted.map(|name| join(parent, name)).collect())
        })?;
        level = below.into_iter().flatten().collect();
    }
    Ok(level)
}

/// Names and paths of the files in a folder that were last changed before a time.
fn old_files(store: &dyn Store, folder: &str, before: i64) -> Result<Vec<(String, String)>> {
    let old = store.list(folder)?.into_iter().filter(|file| file.modified_ms < before);
    Ok(old.filter_map(|file| Some((file.path.rsplit('/').next()?.to_owned(), file.path))).collect())
}

/// The files of a kept snapshot that still exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    All,
    /// All except the files of its changes: Java's expiry removes them although a tag has the snapshot.
    Data,
    /// The files of its changes, and few of the others.
    Changes,
}

/// Removes the files that a branch needs from the candidates.
struct Used<'a> {
    branch: &'a TableFolder,
    candidates: &'a Mutex<Candidates>,
}

impl Used<'_> {
    fn take_out(&self) -> Result<()> {
        let branch = self.branch;
        let mut manifests = BTreeMap::new();
        let lasting = branch.lasting_from()?;
        for id in branch.snapshot_ids()? {
            let lasts = if id < lasting { Lasts::Changes } else { Lasts::All };
            self.root(&branch.snapshot_path(id), lasts, &mut manifests).with("snapshot", id)?;
        }
        for name in branch.tag_names()? {
            self.root(&branch.tag_path(&name), Lasts::Data, &mut manifests).with("tag", name)?;
        }
        for file in branch.store().list(&branch.folder("changelog"))? {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            if name.starts_with("changelog-") {
                self.root(&file.path, Lasts::Changes, &mut manifests).with("changelog", name)?;
            }
        }
        let manifests: Vec<(PaimonManifestFile, Vec<String>)> = manifests.into_values().collect();
        let _phase = begin_phase(Phase::ReadingMetadata, manifests.len());
        in_parallel(branch.store().as_ref(), manifests.len(), |i| match manifests.get(i) {
            Some((manifest, of)) => self.manifest(manifest, of),
            None => Ok(()),
        })?;
        Ok(())
    }

    /// Removes the files that a snapshot, tag or changelog leads to.
    fn root(
        &self,
        path: &str,
        lasts: Lasts,
        manifests: &mut BTreeMap<String, (PaimonManifestFile, Vec<String>)>,
    ) -> Result<()> {
        check_cancelled()?;
        let store = self.branch.store().as_ref();
        let Some(bytes) = store.get(path).if_found()? else { return Ok(()) };
        let snapshot = PaimonSnapshot::parse(&bytes).with("path", path)?;
        let expired = |e: Error, is_needed: bool| match e.kind() {
            ErrorKind::NotFound if !is_needed => Ok(()),
            // It may have expired meanwhile.
            ErrorKind::NotFound if store.get(path).if_found()?.is_none() => Ok(()),
            _ => Err(e),
        };
        let (has_data, has_all) = (lasts != Lasts::Changes, lasts == Lasts::All);
        let lists = [
            (&snapshot.base_manifest_list, snapshot.base_manifest_list_size, has_data),
            (&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size, has_data),
        ];
        let changes = snapshot.changelog_manifest_list.as_ref();
        let changes = changes.map(|list| (list, snapshot.changelog_manifest_list_size, has_all));
        for (list, size, is_needed) in lists.into_iter().chain(changes) {
            self.keep(list);
            match read_manifest_list(self.branch.manifests(), list, size) {
                Ok(found) => {
                    for manifest in found {
                        self.keep(&manifest.file_name);
                        manifest.extra_files.iter().flatten().for_each(|name| self.keep(name));
                        let entry = manifests.entry(manifest.file_name.clone());
                        let (_, of) = entry.or_insert_with(|| (manifest, Vec::new()));
                        if is_needed {
                            of.push(path.to_owned());
                        }
                    }
                }
                Err(e) => expired(e, is_needed)?,
            }
        }
        if let Some(name) = &snapshot.index_manifest {
            self.keep(name);
            match read_index_manifest(self.branch.manifests(), name) {
                Ok(entries) => entries.iter().for_each(|entry| self.keep(&entry.file_name)),
                Err(e) => expired(e, has_data)?,
            }
        }
        snapshot.statistics.iter().for_each(|name| self.keep(name));
        Ok(())
    }

    /// Removes the data files that a manifest names.
    fn manifest(&self, manifest: &PaimonManifestFile, of: &[String]) -> Result<()> {
        let store = self.branch.store().as_ref();
        match read_manifest(self.branch.manifests(), manifest, &PaimonEntryRequest::default()) {
            Ok(columns) => columns.rows().try_for_each(|row| {
                self.keep(columns.name(row)?);
                columns.extra_files(row)?.iter().for_each(|name| self.keep(name));
                Ok(())
            }),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let is_there = |path: &String| Ok::<bool, Error>(store.get(path).if_found()?.is_some());
                match of.iter().map(is_there).find(|there| !matches!(there, Ok(false))) {
                    None => Ok(()),
                    Some(there) => there.and(Err(e)),
                }
            }
            Err(e) => Err(e),
        }
    }

    fn keep(&self, name: &str) {
        self.candidates.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
