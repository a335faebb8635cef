//! Finds the files that snapshots and changelogs need.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::expiry_roots::{HeldPart, Root};
use crate::error::{ErrorKind, Result};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::manifest::entries::{ADD, COMPACT, DELETE, PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::index_manifest::read_index_manifest;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{
    changelog_manifests, data_manifests, delta_manifests, live_files, read_manifest, read_manifest_list,
};
use crate::paimon::spec::partition::{TablePaths, checked_name, manifest_path, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::Store;
use crate::store::location::join;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileKind {
    Data,
    Index,
    Manifest,
    List,
    Statistics,
}

/// Paths of files that may be removed, each with its kind and the last snapshot or changelog that has it.
#[derive(Debug, Default)]
pub(crate) struct ReachableFiles(HashMap<String, (FileKind, i64)>);

impl ReachableFiles {
    pub(crate) fn add(&mut self, path: String, kind: FileKind, of: i64) {
        self.0.insert(path, (kind, of));
    }

    pub(crate) fn add_data(&mut self, paths: Vec<String>, of: i64) {
        paths.into_iter().for_each(|path| self.add(path, FileKind::Data, of));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The remaining files in order, kind by kind.
    pub(crate) fn sorted(&self) -> Vec<(FileKind, i64, &String)> {
        let mut out: Vec<_> = self.0.iter().map(|(path, (kind, of))| (*kind, *of, path)).collect();
        out.sort_unstable_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)));
        out
    }

    /// Removes the files that a root needs. The set never grows, because other branches may have many files.
    pub(crate) fn spare(&mut self, reader: &SnapshotReader<'_>, root: &Root) -> Result<()> {
        let snapshot = &root.snapshot;
        match root.held {
            HeldPart::State => {
                reader.live(snapshot, &mut |path| {
                    self.0.remove(&path);
                })?;
                self.spare_metadata(reader, snapshot, MetadataParts::ALL, false)?;
                // Java's expiry removes changelogs of snapshots that tags have.
                self.without(reader.changelog(snapshot)?);
            }
            HeldPart::Changelog => {
                self.spare_metadata(reader, snapshot, MetadataParts::CHANGELOG, true)?;
                self.without(reader.changelog(snapshot)?);
            }
            HeldPart::Delta => {
                self.spare_metadata(reader, snapshot, MetadataParts::DATA, true)?;
                self.without(reader.added(snapshot)?);
            }
        }
        Ok(())
    }

    /// Leaves out the metadata that a snapshot leads to.
    pub(crate) fn spare_metadata(
        &mut self,
        reader: &SnapshotReader<'_>,
        snapshot: &PaimonSnapshot,
        parts: MetadataParts,
        tolerant: bool,
    ) -> Result<()> {
        let mut needed = ReachableFiles::default();
        reader.metadata(snapshot, parts, tolerant, &mut needed)?;
        self.without(needed.0.into_keys());
        Ok(())
    }

    fn without(&mut self, paths: impl IntoIterator<Item = String>) {
        for path in paths {
            self.0.remove(&path);
        }
    }
}

/// The parts of a snapshot's metadata to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataParts {
    /// Lists and manifests of data files.
    pub(crate) data: bool,
    /// Lists and manifests of changelog files.
    pub(crate) changelog: bool,
    /// Index files and statistics.
    pub(crate) state: bool,
}

impl MetadataParts {
    pub(crate) const ALL: MetadataParts = MetadataParts { data: true, changelog: true, state: true };
    pub(crate) const CHANGELOG: MetadataParts = MetadataParts { data: false, changelog: true, state: false };
    pub(crate) const DATA: MetadataParts = MetadataParts { data: true, changelog: false, state: false };
}

/// The maker of a removed file: a writer, a compaction, or either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeBy {
    Writers,
    Compactions,
    Any,
}

impl MadeBy {
    /// If nothing is recorded, a writer made the file.
    fn is(self, source: Option<u8>) -> bool {
        match self {
            MadeBy::Any => true,
            MadeBy::Writers => source != Some(COMPACT),
            MadeBy::Compactions => source == Some(COMPACT),
        }
    }
}

/// A missing file was deleted by an earlier expiry.
pub(crate) fn if_there<T: Default>(tolerant: bool, result: Result<T>) -> Result<T> {
    match result {
        Err(e) if tolerant && e.kind() == ErrorKind::NotFound => Ok(T::default()),
        other => other,
    }
}

/// Tells which files snapshots have.
pub(crate) struct SnapshotReader<'a> {
    store: &'a dyn Store,
    root: &'a str,
    paths: TablePaths,
    schema: Arc<TableSchema>,
}

impl<'a> SnapshotReader<'a> {
    pub(crate) fn new(folder: &'a TableFolder, schema: &Arc<TableSchema>) -> Result<SnapshotReader<'a>> {
        let (store, root) = (folder.store().as_ref(), folder.root());
        Ok(SnapshotReader { store, root, paths: TablePaths::new(root, schema)?, schema: schema.clone() })
    }

    fn manifests(&self) -> ManifestFolder<'a> {
        ManifestFolder::new(self.store, self.root)
    }

    /// The path of a data file, and the paths of its extra files.
    fn paths_of(&self, columns: &PaimonEntryColumns, row: usize, out: &mut Vec<String>) -> Result<()> {
        let partition = partition_of(&self.schema, columns.partition_row(row))?;
        let bucket = columns.bucket.get(row).copied().unwrap_or_default();
        let folder = self.paths.bucket(&partition, bucket)?;
        let path = self.paths.data_file(&folder, columns.name(row)?, columns.external(row)?)?;
        for name in columns.extra_files(row)? {
            out.push(self.paths.in_folder_of(&path, name)?);
        }
        out.push(path);
        Ok(())
    }

    /// The files of the entries of manifests. Missing manifests are skipped.
    fn entries(&self, manifests: &[PaimonManifestFile], kind: u8, made_by: MadeBy) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for manifest in manifests {
            let request = PaimonEntryRequest { kind: Some(kind), ..PaimonEntryRequest::default() };
            let columns = if_there(true, read_manifest(self.manifests(), manifest, &request))?;
            let source = |row: &usize| columns.file_source.get(*row).copied().flatten();
            let mut rows = columns.rows().filter(|row| made_by.is(source(row)));
            rows.try_for_each(|row| self.paths_of(&columns, row, &mut out))?;
        }
        Ok(out)
    }

    /// The files that a commit removed. Files that only moved to another level still exist.
    pub(crate) fn taken_out(&self, snapshot: &PaimonSnapshot, made_by: MadeBy) -> Result<Vec<String>> {
        let manifests = if_there(true, delta_manifests(self.manifests(), snapshot))?;
        let moved: HashSet<String> = self.entries(&manifests, ADD, MadeBy::Any)?.into_iter().collect();
        let mut out = self.entries(&manifests, DELETE, made_by)?;
        out.retain(|path| !moved.contains(path));
        Ok(out)
    }

    /// The files that writers added by a commit.
    pub(crate) fn added(&self, snapshot: &PaimonSnapshot) -> Result<Vec<String>> {
        let manifests = if_there(true, delta_manifests(self.manifests(), snapshot))?;
        self.entries(&manifests, ADD, MadeBy::Writers)
    }

    /// The changelog files of a commit.
    pub(crate) fn changelog(&self, snapshot: &PaimonSnapshot) -> Result<Vec<String>> {
        let manifests = if_there(true, changelog_manifests(self.manifests(), snapshot))?;
        self.entries(&manifests, ADD, MadeBy::Any)
    }

    /// Whether all files with the changes of a commit exist: its changelog, or without a producer the files it added.
    /// If these were removed under a former producer, the changelog is enough.
    pub(crate) fn has_changes(&self, snapshot: &PaimonSnapshot, by_delta: bool) -> Result<bool> {
        let log = &snapshot.changelog_manifest_list;
        if let Some(list) = log
            && !self.is_whole(list, snapshot.changelog_manifest_list_size, MadeBy::Any)?
        {
            return Ok(false);
        }
        let delta = &snapshot.delta_manifest_list;
        if !by_delta || (log.is_some() && !self.store.exists(&manifest_path(self.root, delta)?)?) {
            return Ok(true);
        }
        self.is_whole(delta, snapshot.delta_manifest_list_size, MadeBy::Writers)
    }

    /// Whether all files that writers added in a commit exist, or else its changelog, if it has one.
    pub(crate) fn tells(&self, commit: &PaimonSnapshot, by_delta: bool) -> Result<bool> {
        match &commit.changelog_manifest_list {
            _ if by_delta => {
                self.is_whole(&commit.delta_manifest_list, commit.delta_manifest_list_size, MadeBy::Writers)
            }
            Some(list) => self.is_whole(list, commit.changelog_manifest_list_size, MadeBy::Any),
            None => Ok(true),
        }
    }

    /// Whether a manifest list, its manifests and the files that they add exist.
    fn is_whole(&self, list: &str, size: Option<i64>, made_by: MadeBy) -> Result<bool> {
        if !self.store.exists(&manifest_path(self.root, list)?)? {
            return Ok(false);
        }
        let manifests = if_there(true, read_manifest_list(self.manifests(), list, size))?;
        for manifest in &manifests {
            if !self.store.exists(&manifest_path(self.root, &manifest.file_name)?)? {
                return Ok(false);
            }
        }
        for path in self.entries(&manifests, ADD, made_by)? {
            if !self.store.exists(&path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Hands over the data files of a snapshot.
    pub(crate) fn live(&self, snapshot: &PaimonSnapshot, each: &mut dyn FnMut(String)) -> Result<()> {
        let manifests = data_manifests(self.manifests(), snapshot)?;
        let mut paths = Vec::new();
        for live in live_files(self.manifests(), &manifests, &PaimonEntryRequest::default())? {
            for row in &live.rows {
                self.paths_of(&live.columns, *row as usize, &mut paths)?;
                paths.drain(..).for_each(&mut *each);
            }
        }
        Ok(())
    }

    /// The files that a snapshot leads to, except data and changelog files. Lists of changelogs may no longer exist.
    pub(crate) fn metadata(
        &self,
        snapshot: &PaimonSnapshot,
        parts: MetadataParts,
        tolerant: bool,
        out: &mut ReachableFiles,
    ) -> Result<()> {
        let of_data = [
            (&snapshot.base_manifest_list, snapshot.base_manifest_list_size),
            (&snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
        ];
        let of_data = of_data.into_iter().filter(|_| parts.data).map(|(list, size)| (list, size, tolerant));
        let changelog = snapshot.changelog_manifest_list.iter().filter(|_| parts.changelog);
        let changelog = changelog.map(|list| (list, snapshot.changelog_manifest_list_size, true));
        for (list, size, tolerant) in of_data.chain(changelog) {
            let manifests = if_there(tolerant, read_manifest_list(self.manifests(), list, size))?;
            for manifest in &manifests {
                out.add(manifest_path(self.root, &manifest.file_name)?, FileKind::Manifest, snapshot.id);
                for name in manifest.extra_files.iter().flatten() {
                    out.add(manifest_path(self.root, name)?, FileKind::Manifest, snapshot.id);
                }
            }
            out.add(manifest_path(self.root, list)?, FileKind::List, snapshot.id);
        }
        if !parts.state {
            return Ok(());
        }
        if let Some(name) = &snapshot.index_manifest {
            for entry in if_there(tolerant, read_index_manifest(self.manifests(), name))? {
                let partition = partition_of(&self.schema, &entry.partition)?;
                let external = entry.external_path.as_deref();
                let path = self.paths.index_file(&partition, entry.bucket, &entry.file_name, external)?;
                out.add(path, FileKind::Index, snapshot.id);
            }
            out.add(manifest_path(self.root, name)?, FileKind::Manifest, snapshot.id);
        }
        if let Some(name) = &snapshot.statistics {
            let path = join(&join(self.root, "statistics"), checked_name(name)?);
            out.add(path, FileKind::Statistics, snapshot.id);
        }
        Ok(())
    }
}

/// Whether the changes of a commit are still known while its snapshot is being expired: by the files that writers
/// added, or by its changelog.
///
/// # Errors
/// Those of the store; `CorruptTable` for manifests that can't be read.
pub(crate) fn is_still_told(folder: &TableFolder, commit: &PaimonSnapshot, by_delta: bool) -> Result<bool> {
    SnapshotReader::new(folder, &folder.latest_schema()?)?.tells(commit, by_delta)
}
