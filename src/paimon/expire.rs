//! Snapshot expiry: snapshots go, and with them the files that only they had.
//!
//! A data file goes once a commit up to the first kept snapshot took it out, unless a tag or another branch has it. Files go
//! first and snapshots last, so that an expiry that was stopped is completed by the next one.
//!
//! Source: Java's `ExpireSnapshotsImpl` and `SnapshotDeletion`; stricter than Java in that other branches keep what they have.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::catalog::filesystem::{MAIN_BRANCH, TableFolder};
use super::commit::now_ms;
use super::entries::{ADD, DELETE, EntryColumns, EntryRequest};
use super::index_manifest::read_index_manifest;
use super::live::{
    changelog_manifests, data_manifests, delta_manifests, live_files, read_manifest, read_manifest_list,
};
use super::manifest_list::ManifestFile;
use super::partition::{Paths, checked_name, manifest_path, partition_of};
use super::schema::TableSchema;
use super::snapshot::Snapshot;
use super::tag_times::{duration_ms, overdue_tags, tag_file};
use crate::error::{Error, ErrorKind, Result};
use crate::store::location::join;
use crate::store::{Store, in_parallel};
use crate::workers::go_on;

/// Which snapshots go. What is not set is taken from the table's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// So many of the latest stay (`snapshot.num-retained.min`, 10).
    pub retain_min: Option<i64>,
    /// No more stay (`snapshot.num-retained.max`, all).
    pub retain_max: Option<i64>,
    /// Only snapshots made before go, milliseconds since the epoch (now less `snapshot.time-retained`, an hour).
    pub older_than_ms: Option<i64>,
    /// So many go at once (`snapshot.expire.limit`, 50).
    pub limit: Option<i64>,
}

/// What an expiry takes away: paths of files, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Numbers of the snapshots.
    pub snapshots: Vec<i64>,
    /// Tags whose time is over. What only they had goes with them, beside the files told here.
    pub tags: Vec<String>,
    /// Data and changelog files, and what is beside them.
    pub data_files: Vec<String>,
    /// Index files.
    pub index_files: Vec<String>,
    /// Manifests and index manifests.
    pub manifests: Vec<String>,
    /// Manifest lists.
    pub manifest_lists: Vec<String>,
    /// Files of statistics.
    pub statistics_files: Vec<String>,
    /// The first snapshot that stays.
    first_kept: Option<i64>,
}

impl Expired {
    /// Paths of all files, but for those of the snapshots.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        let lists =
            [&self.data_files, &self.index_files, &self.manifests, &self.manifest_lists, &self.statistics_files];
        lists.into_iter().flatten()
    }
}

/// Files that a snapshot leads to, but for data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Index,
    Manifest,
    List,
    Statistics,
}

/// Paths of files.
#[derive(Debug, Default)]
struct Files {
    data: HashSet<String>,
    metadata: HashMap<String, Kind>,
}

impl Files {
    /// Leaves out what a snapshot needs, but for its changelog. No more is held than there was: other branches may have many files.
    fn spare(&mut self, reader: &Reader<'_>, snapshot: &Snapshot) -> Result<()> {
        reader.live(snapshot, &mut |path| {
            self.data.remove(&path);
        })?;
        self.spare_metadata(reader, snapshot)
    }

    fn spare_metadata(&mut self, reader: &Reader<'_>, snapshot: &Snapshot) -> Result<()> {
        let mut needed = Files::default();
        reader.metadata(snapshot, false, &mut needed)?;
        self.metadata.retain(|path, _| !needed.metadata.contains_key(path));
        Ok(())
    }
}

/// Expires snapshots of the folder's branch.
///
/// # Errors
/// As [`plan_expiry`]; those of the store. Nothing that is needed is gone then.
pub fn expire(folder: &TableFolder, expiry: &Expiry) -> Result<Expired> {
    let expired = plan_expiry(folder, expiry)?;
    let store = folder.store().as_ref();
    // Readers of manifests look for data files, so those go first.
    let data: Vec<&String> = expired.data_files.iter().collect();
    let metadata: Vec<&String> = expired.files().skip(data.len()).collect();
    for paths in [&data, &metadata] {
        in_parallel(store, paths.len(), |i| paths.get(i).map_or(Ok(()), |path| store.delete(path)))?;
    }
    for id in &expired.snapshots {
        store.delete(&folder.snapshot_path(*id))?;
    }
    if let Some(first) = expired.first_kept {
        let _ = folder.hint_earliest(first);
    }
    for tag in &expired.tags {
        go_on()?;
        if_there(true, drop_tag(folder, tag))?;
    }
    Ok(expired)
}

/// What an expiry of snapshots of the folder's branch would take away.
///
/// # Errors
/// `InvalidInput` for numbers that contradict each other; `Unsupported` if changelogs are to be kept longer than snapshots; those
/// of the store; `CorruptTable` if a kept snapshot can't be read.
pub fn plan_expiry(folder: &TableFolder, expiry: &Expiry) -> Result<Expired> {
    let tags = overdue_tags(folder, now_ms())?;
    Ok(Expired { tags, ..plan_snapshots(folder, expiry)? })
}

fn plan_snapshots(folder: &TableFolder, expiry: &Expiry) -> Result<Expired> {
    let schema = folder.latest_schema()?;
    let Some(end) = first_kept(folder, &schema, expiry)? else { return Ok(Expired::default()) };
    let ids = folder.snapshot_ids()?;
    let going: Vec<i64> = ids.into_iter().filter(|id| *id < end).collect();
    if going.is_empty() {
        return Ok(Expired::default());
    }
    let gone = |id: &i64| match folder.snapshot(*id) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        snapshot => snapshot.map(Some),
    };
    let going: Vec<Snapshot> = going.iter().filter_map(|id| gone(id).transpose()).collect::<Result<_>>()?;
    let kept = folder.snapshot(end)?;
    let reader = Reader {
        store: folder.store().as_ref(),
        root: folder.root(),
        paths: Paths::new(folder.root(), &schema)?,
        schema,
    };
    let mut candidates = Files::default();
    for snapshot in going.iter().skip(1).chain([&kept]) {
        go_on()?;
        candidates.data.extend(reader.taken_out(snapshot)?);
    }
    for snapshot in &going {
        go_on()?;
        candidates.data.extend(reader.changelog(snapshot, true)?);
        reader.metadata(snapshot, true, &mut candidates)?;
    }
    candidates.spare_metadata(&reader, &kept)?;
    for root in roots(folder)? {
        go_on()?;
        candidates.spare(&reader, &root)?;
        // Java's expiry removes changelogs of snapshots that tags have.
        for path in reader.changelog(&root, true)? {
            candidates.data.remove(&path);
        }
    }
    let mut expired = Expired {
        snapshots: going.iter().map(|s| s.id).collect(),
        data_files: candidates.data.into_iter().collect(),
        first_kept: Some(end),
        ..Expired::default()
    };
    expired.data_files.sort_unstable();
    let mut metadata: Vec<(String, Kind)> = candidates.metadata.into_iter().collect();
    metadata.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in metadata {
        let list = match kind {
            Kind::Index => &mut expired.index_files,
            Kind::Manifest => &mut expired.manifests,
            Kind::List => &mut expired.manifest_lists,
            Kind::Statistics => &mut expired.statistics_files,
        };
        list.push(path);
    }
    Ok(expired)
}

/// Removes a tag, and what only it had if its snapshot has expired.
///
/// # Errors
/// `NotFound` if there is no such tag; as [`expire`].
pub fn drop_tag(folder: &TableFolder, name: &str) -> Result<()> {
    let tag = folder.tag(name)?.snapshot;
    folder.store().delete(&folder.tag_path(name))?;
    release(folder, &tag)
}

/// Lets a tag name another snapshot, and removes what only the one before had if that has expired.
///
/// # Errors
/// As [`drop_tag`].
pub fn replace_tag(folder: &TableFolder, name: &str, snapshot: &Snapshot) -> Result<()> {
    let before = folder.tag(name)?;
    let retained_ms = before.time_retained.as_ref().and_then(duration_ms);
    folder.store().put(&folder.tag_path(name), &tag_file(snapshot, retained_ms, now_ms()))?;
    release(folder, &before.snapshot)
}

/// Says how long a tag is kept from now on, milliseconds; for good if nothing is said.
///
/// # Errors
/// As [`TableFolder::tag`].
pub fn retain_tag(folder: &TableFolder, name: &str, retained_ms: Option<i64>) -> Result<()> {
    let tag = folder.tag(name)?;
    folder.store().put(&folder.tag_path(name), &tag_file(&tag.snapshot, retained_ms, now_ms()))
}

/// Removes what only a snapshot has that no tag names any more, if it has expired.
fn release(folder: &TableFolder, tag: &Snapshot) -> Result<()> {
    if folder.has_snapshot(tag.id)? {
        return Ok(());
    }
    let schema = folder.latest_schema()?;
    let paths = Paths::new(folder.root(), &schema)?;
    let reader = Reader { store: folder.store().as_ref(), root: folder.root(), paths, schema };
    let mut own = Files::default();
    reader.live(tag, &mut |path| {
        own.data.insert(path);
    })?;
    reader.metadata(tag, true, &mut own)?;
    // Files that are not in the earliest snapshot are in no later one.
    let earliest = folder.earliest_snapshot_id()?.map(|id| folder.snapshot(id)).transpose()?;
    for root in roots(folder)?.into_iter().chain(earliest) {
        go_on()?;
        own.spare(&reader, &root)?;
    }
    own.data.iter().chain(own.metadata.keys()).try_for_each(|path| reader.store.delete(path))
}

/// The first snapshot that stays; none if there is none.
fn first_kept(folder: &TableFolder, schema: &TableSchema, expiry: &Expiry) -> Result<Option<i64>> {
    let options = schema.options();
    for key in ["changelog.num-retained.min", "changelog.num-retained.max", "changelog.time-retained"] {
        if options.get(key).is_some() {
            return Err(Error::unsupported("snapshots whose changelogs are kept longer can't be expired")
                .hint(format!("The table has the option '{key}'")));
        }
    }
    let number =
        |given: Option<i64>, key, default| Ok::<i64, Error>(given.or(options.integer(key)?).unwrap_or(default));
    let least = number(expiry.retain_min, "snapshot.num-retained.min", 10)?;
    let most = number(expiry.retain_max, "snapshot.num-retained.max", i64::MAX)?.max(1);
    let limit = number(expiry.limit, "snapshot.expire.limit", 50)?;
    if least < 1 || most < least {
        return Err(Error::invalid(format!("at least {least} and at most {most} snapshots can't be kept")));
    }
    let retained = options.duration_ms("snapshot.time-retained")?.unwrap_or(3_600_000);
    let older_than = expiry.older_than_ms.unwrap_or_else(|| now_ms().saturating_sub(retained));
    let ids = folder.snapshot_ids()?;
    let (Some(earliest), Some(latest)) = (ids.first().copied(), ids.last().copied()) else { return Ok(None) };
    let mut end = latest.saturating_sub(least).saturating_add(1).min(earliest.saturating_add(limit.max(0)));
    if let Some(next) = consumed(folder)? {
        end = end.min(next);
    }
    let start = latest.saturating_sub(most).saturating_add(1).max(earliest);
    for id in ids.iter().copied().filter(|id| (start..end).contains(id)) {
        match folder.snapshot(id) {
            Ok(snapshot) if snapshot.time_ms >= older_than => return Ok(Some(id)),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    // The first that is there: there may be gaps.
    Ok(ids.into_iter().find(|id| *id >= end))
}

/// The least snapshot that a consumer has yet to read.
fn consumed(folder: &TableFolder) -> Result<Option<i64>> {
    Ok(consumers(folder)?.into_iter().map(|(_, next)| next).min())
}

/// Consumers of the branch, each with the snapshot that it has yet to read; by name.
///
/// # Errors
/// Those of the store; `CorruptTable` if the file of one does not say.
pub fn consumers(folder: &TableFolder) -> Result<Vec<(String, i64)>> {
    let mut out = Vec::new();
    for file in folder.store().list(&folder.folder("consumer"))? {
        let Some(name) = file.path.rsplit('/').next().and_then(|name| name.strip_prefix("consumer-")) else { continue };
        let bytes = folder.store().get(&file.path)?;
        let json: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
        let bad = || Error::corrupt("a consumer's file does not say what it reads next").with("path", &file.path);
        let next = json.and_then(|j| j.get("nextSnapshot").and_then(serde_json::Value::as_i64)).ok_or_else(bad)?;
        out.push((name.to_owned(), next));
    }
    out.sort_unstable();
    Ok(out)
}

/// The snapshots outside of the branch's own that need their files: those of tags, and all of other branches.
fn roots(folder: &TableFolder) -> Result<Vec<Snapshot>> {
    let mut out: Vec<Snapshot> = folder.tags()?.into_iter().map(|tag| tag.snapshot).collect();
    let others = folder.branches()?.into_iter().chain([MAIN_BRANCH.to_owned()]);
    for name in others.filter(|name| name != folder.branch_name()) {
        let branch = folder.on_branch(&name);
        out.extend(branch.tags()?.into_iter().map(|tag| tag.snapshot));
        out.extend(branch.snapshots()?);
    }
    // Tags and branches begin as copies.
    let mut seen = HashSet::new();
    out.retain(|s| seen.insert((s.base_manifest_list.clone(), s.delta_manifest_list.clone())));
    Ok(out)
}

/// Tells which files snapshots have.
struct Reader<'a> {
    store: &'a dyn Store,
    root: &'a str,
    paths: Paths,
    schema: Arc<TableSchema>,
}

/// What is not there was deleted by an expiry before.
fn if_there<T: Default>(tolerant: bool, result: Result<T>) -> Result<T> {
    match result {
        Err(e) if tolerant && e.kind() == ErrorKind::NotFound => Ok(T::default()),
        other => other,
    }
}

impl Reader<'_> {
    /// A data file's path, and those of files beside it.
    fn paths_of(&self, columns: &EntryColumns, row: usize, out: &mut Vec<String>) -> Result<()> {
        let partition = partition_of(&self.schema, columns.partition_row(row))?;
        let bucket = columns.bucket.get(row).copied().unwrap_or_default();
        let folder = self.paths.bucket(&partition, bucket)?;
        let path = self.paths.data_file(&folder, columns.name(row)?, columns.external(row)?)?;
        for name in columns.extra_files(row)? {
            out.push(self.paths.beside(&path, name)?);
        }
        out.push(path);
        Ok(())
    }

    fn entries(&self, manifests: &[ManifestFile], kind: u8, tolerant: bool) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for manifest in manifests {
            let request = EntryRequest { kind: Some(kind), ..EntryRequest::default() };
            let columns = if_there(tolerant, read_manifest(self.store, self.root, manifest, &request))?;
            columns.rows().try_for_each(|row| self.paths_of(&columns, row, &mut out))?;
        }
        Ok(out)
    }

    /// The files that a commit took out. Those that only went to another level are still there.
    fn taken_out(&self, snapshot: &Snapshot) -> Result<Vec<String>> {
        let manifests = if_there(true, delta_manifests(self.store, self.root, snapshot))?;
        let moved: HashSet<String> = self.entries(&manifests, ADD, true)?.into_iter().collect();
        let mut out = self.entries(&manifests, DELETE, true)?;
        out.retain(|path| !moved.contains(path));
        Ok(out)
    }

    fn changelog(&self, snapshot: &Snapshot, tolerant: bool) -> Result<Vec<String>> {
        let manifests = if_there(tolerant, changelog_manifests(self.store, self.root, snapshot))?;
        self.entries(&manifests, ADD, tolerant)
    }

    /// Hands over the data files of a snapshot.
    fn live(&self, snapshot: &Snapshot, each: &mut dyn FnMut(String)) -> Result<()> {
        let manifests = data_manifests(self.store, self.root, snapshot)?;
        let mut paths = Vec::new();
        for live in live_files(self.store, self.root, &manifests, &EntryRequest::default())? {
            for row in &live.rows {
                self.paths_of(&live.columns, *row as usize, &mut paths)?;
                paths.drain(..).for_each(&mut *each);
            }
        }
        Ok(())
    }

    /// The files that a snapshot's file leads to, but for data and changelog files.
    fn metadata(&self, snapshot: &Snapshot, tolerant: bool, out: &mut Files) -> Result<()> {
        let lists = [(&snapshot.base_manifest_list, tolerant), (&snapshot.delta_manifest_list, tolerant)];
        let changelog = snapshot.changelog_manifest_list.as_ref().map(|list| (list, true));
        for (list, tolerant) in lists.into_iter().chain(changelog) {
            let manifests = if_there(tolerant, read_manifest_list(self.store, self.root, list))?;
            for manifest in &manifests {
                out.metadata.insert(manifest_path(self.root, &manifest.file_name)?, Kind::Manifest);
            }
            out.metadata.insert(manifest_path(self.root, list)?, Kind::List);
        }
        if let Some(name) = &snapshot.index_manifest {
            for entry in if_there(tolerant, read_index_manifest(self.store, self.root, name))? {
                let partition = partition_of(&self.schema, &entry.partition)?;
                let external = entry.external_path.as_deref();
                let path = self.paths.index_file(&partition, entry.bucket, &entry.file_name, external)?;
                out.metadata.insert(path, Kind::Index);
            }
            out.metadata.insert(manifest_path(self.root, name)?, Kind::Manifest);
        }
        if let Some(name) = &snapshot.statistics {
            out.metadata.insert(join(&join(self.root, "statistics"), checked_name(name)?), Kind::Statistics);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "expire_tests.rs"]
mod tests;
