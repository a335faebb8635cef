//! The folder of a table: its schemas, snapshots, tags and branches, found by listing and by hints.
//!
//! The hints `LATEST` and `EARLIEST` save a listing. They are used only if the files that they name agree with them.
//!
//! Source: Paimon specification, "Concepts: Basic Concepts"; Java's `SnapshotManager`, `SchemaManager`, `TagManager`,
//! `HintFileUtils`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::deletion::OwnFolders;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::spec::partition::checked_name;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::{PaimonSnapshot, Tag};
use crate::parallel::check_cancelled;
use crate::store::location::join;
use crate::store::{LONGEST_HINT, Store, in_parallel};

/// The branch of a table that is in its folder itself.
pub const MAIN_BRANCH: &str = "main";

/// How often the latest snapshot is looked for again after an answer that another writer may have caused.
const REREADS: usize = 2;

const SCHEMA: &str = "schema-";
const SNAPSHOT: &str = "snapshot-";
const TAG: &str = "tag-";
const BRANCH: &str = "branch-";

/// How many names an error lists.
const NAMES_SHOWN: usize = 10;

/// The options that give a table folders outside of its own.
const EXTERNAL_FOLDERS: [&str; 3] =
    ["data-file.external-paths", "blob-external-storage-path", "global-index.external-path"];

/// The folders that a schema's options name.
fn external_folders(schema: &TableSchema) -> impl Iterator<Item = &str> {
    let options = EXTERNAL_FOLDERS.iter().filter_map(|key| schema.options.get(*key));
    options.flat_map(|folders| folders.split(',')).map(str::trim)
}

/// The folder of a table, seen from one of its branches.
#[derive(Clone, Debug)]
pub struct TableFolder {
    store: Arc<dyn Store>,
    root: String,
    branch: String,
}

/// Whether a folder is that of a Paimon table: it has a schema.
///
/// # Errors
/// Those of the store.
pub fn is_table(store: &dyn Store, root: &str) -> Result<bool> {
    Ok(!main_schema_ids(store, root)?.is_empty())
}

/// The numbers of the main branch's schemas, ascending. Empty if the folder has no table.
fn main_schema_ids(store: &dyn Store, root: &str) -> Result<Vec<i64>> {
    // The root may be a file, such as the metadata of a table of another format.
    let names = names_in(store, &join(root, "schema")).if_found()?;
    Ok(numbers_of(&names.unwrap_or_default(), SCHEMA))
}

/// The names of the files in a folder, in no order.
pub(super) fn names_in(store: &dyn Store, folder: &str) -> Result<Vec<String>> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(store.list(folder)?.iter().map(|file| name(&file.path)).collect())
}

/// The numbers of files that are named by a prefix and one, ascending.
pub(super) fn numbers_of(names: &[String], prefix: &str) -> Vec<i64> {
    let number = |name: &String| {
        let digits = name.strip_prefix(prefix).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse::<i64>().ok()
    };
    let mut numbers: Vec<i64> = names.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// Some names for a hint.
fn some_of(names: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|n| n.to_string()).collect();
    if names.len() > NAMES_SHOWN {
        let left = names.len() - NAMES_SHOWN;
        names.truncate(NAMES_SHOWN);
        names.push(format!("and {left} more"));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// A name that a user gave, which must not lead out of its folder.
pub(super) fn given_name<'a>(name: &'a str, what: &str) -> Result<&'a str> {
    checked_name(name).map_err(|_| Error::invalid(format!("'{}' can't be the name of a {what}", name.escape_debug())))
}

impl TableFolder {
    /// The table in the folder `root`, on its main branch.
    ///
    /// # Errors
    /// `NotFound` if there is no Paimon table; those of the store.
    pub fn open(store: Arc<dyn Store>, root: &str) -> Result<TableFolder> {
        let none = || {
            Error::not_found("there is no Paimon table in the folder")
                .with("path", root)
                .hint("The folder of a table has a folder 'schema' with files 'schema-0', 'schema-1', …")
        };
        TableFolder::find(store, root)?.ok_or_else(none)
    }

    /// The table in the folder `root`, on its main branch; `None` if there is no Paimon table.
    ///
    /// # Errors
    /// Those of the store.
    pub fn find(store: Arc<dyn Store>, root: &str) -> Result<Option<TableFolder>> {
        Ok(TableFolder::find_with_schemas(store, root)?.map(|(folder, _)| folder))
    }

    /// As [`TableFolder::find`], with the numbers of the table's schemas, ascending.
    pub(super) fn find_with_schemas(store: Arc<dyn Store>, root: &str) -> Result<Option<(TableFolder, Vec<i64>)>> {
        let root = root.trim_end_matches('/').to_owned();
        let ids = main_schema_ids(store.as_ref(), &root)?;
        Ok((!ids.is_empty()).then(|| (TableFolder { store, root, branch: MAIN_BRANCH.to_owned() }, ids)))
    }

    /// The same table on a branch.
    ///
    /// # Errors
    /// `NotFound` if the branch does not exist; `InvalidInput` if that can't be its name; those of the store.
    pub fn branch(&self, name: &str) -> Result<TableFolder> {
        let branch = given_name(name, "branch")?.to_owned();
        let folder = TableFolder { store: self.store.clone(), root: self.root.clone(), branch };
        if name != MAIN_BRANCH && !folder.is_complete()? {
            let (branches, tags) = (some_of(self.branches()?), some_of(self.tag_names()?));
            let hint = format!("Branches besides main: {branches}. Tags: {tags}");
            return Err(Error::not_found(format!("the table has no branch '{name}'"))
                .with("path", &self.root)
                .hint(hint));
        }
        Ok(folder)
    }

    /// The same table on a branch that may not exist.
    pub(crate) fn on_branch(&self, name: &str) -> TableFolder {
        TableFolder { branch: name.to_owned(), ..self.clone() }
    }

    /// Whether the branch has all of its schemas. The lowest schema is written last and removed first. A branch lacks
    /// it if its creation or removal was interrupted.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn is_complete(&self) -> Result<bool> {
        match self.schema_ids()?.first() {
            None => Ok(false),
            Some(0) => Ok(true),
            Some(first) => Ok(self.on_branch(MAIN_BRANCH).schema_ids()?.first().is_none_or(|lowest| first <= lowest)),
        }
    }

    /// The store that the table is in.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The table's folder, without a slash at its end. Data files and manifests of all branches are below it.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The table's folder and those that options name. Only files below them are deleted. The schemas of all branches
    /// count, also old ones, because their files may still exist. They are read only if one of `paths` needs it.
    ///
    /// # Errors
    /// Errors of [`TableFolder::latest_schema`] and of the store. A schema that can't be read adds no folders.
    pub(crate) fn own_folders<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<OwnFolders<'_>> {
        let own = OwnFolders::new(self.store.as_ref(), [self.root.as_str()]);
        let latest = self.latest_schema()?;
        let own = own.and(external_folders(&latest));
        if paths.into_iter().all(|path| own.contain(path)) {
            return Ok(own);
        }
        let mut schemas = Vec::new();
        for branch in [MAIN_BRANCH.to_owned()].into_iter().chain(self.branch_folders()?) {
            let branch = self.on_branch(&branch);
            schemas.extend(branch.schema_ids()?.into_iter().map(|id| (branch.clone(), id)));
        }
        let schemas = in_parallel(self.store.as_ref(), schemas.len(), |i| {
            check_cancelled()?;
            Ok(schemas.get(i).and_then(|(branch, id)| branch.schema(*id).ok()))
        })?;
        Ok(schemas.iter().flatten().fold(own, |own, schema| own.and(external_folders(schema))))
    }

    /// The manifests of all branches.
    pub fn manifests(&self) -> ManifestFolder<'_> {
        ManifestFolder::new(self.store.as_ref(), &self.root)
    }

    /// The branch's name.
    pub fn branch_name(&self) -> &str {
        &self.branch
    }

    /// A folder of the branch.
    pub(crate) fn folder(&self, name: &str) -> String {
        if self.branch == MAIN_BRANCH {
            return join(&self.root, name);
        }
        join(&join(&join(&self.root, "branch"), &format!("{BRANCH}{}", self.branch)), name)
    }

    /// The file of a schema.
    pub fn schema_path(&self, id: i64) -> String {
        join(&self.folder("schema"), &format!("{SCHEMA}{id}"))
    }

    /// The file of a snapshot.
    pub fn snapshot_path(&self, id: i64) -> String {
        join(&self.folder("snapshot"), &format!("{SNAPSHOT}{id}"))
    }

    pub(crate) fn tag_path(&self, name: &str) -> String {
        join(&self.folder("tag"), &format!("{TAG}{name}"))
    }

    // ---------------------------------------------------------------- schemas

    /// The numbers of the branch's schemas, ascending.
    ///
    /// # Errors
    /// Those of the store.
    pub fn schema_ids(&self) -> Result<Vec<i64>> {
        Ok(numbers_of(&names_in(self.store.as_ref(), &self.folder("schema"))?, SCHEMA))
    }

    /// The branch's current schema: the latest.
    ///
    /// # Errors
    /// As [`TableFolder::schemas`].
    pub fn latest_schema(&self) -> Result<Arc<TableSchema>> {
        let last = self.schema_ids()?.last().copied().ok_or_else(|| self.no_schema())?;
        Ok(Arc::new(self.schema(last)?))
    }

    /// A schema.
    ///
    /// # Errors
    /// `CorruptTable`, naming the file, if it is not a schema or has another number; errors of the store.
    pub fn schema(&self, id: i64) -> Result<TableSchema> {
        let path = self.schema_path(id);
        let bytes = self.store.get(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => e.hint("A snapshot or a data file was written with a schema that does not exist"),
            _ => e,
        })?;
        let schema = TableSchema::parse(&bytes).with("path", &path)?;
        if schema.id != id {
            return Err(Error::corrupt(format!("the file contains schema {}", schema.id)).with("path", path));
        }
        Ok(schema)
    }

    fn no_schema(&self) -> Error {
        Error::not_found("there is no table: it has no schema")
            .with("path", self.folder("schema"))
            .hint("It may have been dropped since it was opened. Open it again")
    }

    /// All schemas of the branch by their numbers.
    ///
    /// # Errors
    /// As [`TableFolder::schema`]; `NotFound` if there are no schemas.
    pub fn schemas(&self) -> Result<BTreeMap<i64, Arc<TableSchema>>> {
        let ids = self.schema_ids()?;
        if ids.is_empty() {
            return Err(self.no_schema());
        }
        let schemas = in_parallel(self.store.as_ref(), ids.len(), |i| {
            let id = ids.get(i).copied().unwrap_or_default();
            Ok((id, Arc::new(self.schema(id)?)))
        })?;
        Ok(schemas.into_iter().collect())
    }

    // ---------------------------------------------------------------- snapshots

    /// The number in a hint; `None` if there is no readable hint.
    pub(super) fn hint(&self, name: &str) -> Result<Option<i64>> {
        let bytes = match self.store.get_at_most(&join(&self.folder("snapshot"), name), LONGEST_HINT).if_found() {
            // A file that is too long is not a hint. The folder is listed instead.
            Err(e) if e.kind() == ErrorKind::CorruptTable => None,
            bytes => bytes?,
        };
        let number = bytes
            .and_then(|bytes| std::str::from_utf8(&bytes).ok()?.trim_start_matches('\u{feff}').trim().parse().ok());
        Ok(number.filter(|id| *id > 0))
    }

    /// The numbers of the branch's snapshots, ascending; there may be gaps.
    ///
    /// # Errors
    /// Those of the store.
    pub fn snapshot_ids(&self) -> Result<Vec<i64>> {
        Ok(numbers_of(&names_in(self.store.as_ref(), &self.folder("snapshot"))?, SNAPSHOT))
    }

    /// Whether a snapshot exists.
    ///
    /// # Errors
    /// Those of the store.
    pub fn has_snapshot(&self, id: i64) -> Result<bool> {
        self.store.exists(&self.snapshot_path(id))
    }

    /// Says which snapshot is the latest, to save others a listing.
    ///
    /// # Errors
    /// Those of the store. Without the hint, others list the folder.
    pub(crate) fn hint_latest(&self, id: i64) -> Result<()> {
        self.store.put(&join(&self.folder("snapshot"), "LATEST"), id.to_string().as_bytes())
    }

    /// Says which snapshot is the earliest, to save others a listing.
    pub(crate) fn hint_earliest(&self, id: i64) -> Result<()> {
        self.store.put(&join(&self.folder("snapshot"), "EARLIEST"), id.to_string().as_bytes())
    }

    /// Removes the hint to the latest snapshot.
    pub(super) fn forget_latest(&self) -> Result<()> {
        self.store.delete(&join(&self.folder("snapshot"), "LATEST"))
    }

    /// A snapshot; `None` if it does not exist.
    pub(super) fn try_snapshot(&self, id: i64) -> Result<Option<PaimonSnapshot>> {
        self.try_file(self.snapshot_path(id), id)
    }

    /// The snapshot in a file; `None` if it does not exist.
    pub(super) fn try_file(&self, path: String, id: i64) -> Result<Option<PaimonSnapshot>> {
        let bytes = match self.store.get(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let snapshot = PaimonSnapshot::parse(&bytes).with("path", &path)?;
        if snapshot.id != id {
            return Err(Error::corrupt(format!("the file contains snapshot {}", snapshot.id)).with("path", path));
        }
        Ok(Some(snapshot))
    }

    /// A snapshot.
    ///
    /// # Errors
    /// `NotFound` with the existing ones; `CorruptTable` with the file; those of the store.
    pub fn snapshot(&self, id: i64) -> Result<PaimonSnapshot> {
        if let Some(snapshot) = self.try_snapshot(id)? {
            return Ok(snapshot);
        }
        let ids = self.snapshot_ids()?;
        let there = match (ids.first(), ids.last()) {
            (Some(first), Some(last)) => format!("There are snapshots from {first} to {last}"),
            _ => "The table has no snapshots".to_owned(),
        };
        Err(Error::not_found(format!("the table has no snapshot {id}")).with("path", &self.root).hint(there))
    }

    /// The latest snapshot; `None` if nothing was ever committed.
    ///
    /// # Errors
    /// As [`TableFolder::snapshot`]; `CorruptTable` if the hint names a missing snapshot, because the last commit
    /// must not be lost silently.
    pub fn latest_snapshot(&self) -> Result<Option<PaimonSnapshot>> {
        let mut attempt = 0;
        loop {
            match self.latest_at_once() {
                // A rollback has removed the listed snapshot, or removed the hinted one before others came again.
                Err(e) if attempt < REREADS && matches!(e.kind(), ErrorKind::NotFound | ErrorKind::CorruptTable) => {
                    attempt += 1;
                }
                found => return found,
            }
        }
    }

    /// One search for the latest snapshot. Other writers may change the folder between its requests.
    fn latest_at_once(&self) -> Result<Option<PaimonSnapshot>> {
        let hint = self.latest_hint()?;
        match hint.map(|id| self.hinted_latest(id)).transpose()?.flatten() {
            Some(snapshot) => Ok(Some(snapshot)),
            None => self.listed_latest(hint),
        }
    }

    /// The number in the hint to the latest snapshot.
    pub(super) fn latest_hint(&self) -> Result<Option<i64>> {
        self.hint("LATEST")
    }

    /// The hinted snapshot; `None` if the hint is outdated.
    pub(super) fn hinted_latest(&self, id: i64) -> Result<Option<PaimonSnapshot>> {
        let next = self.snapshot_path(id.saturating_add(1));
        if !self.store.is_remote() {
            return if self.store.exists(&next)? { Ok(None) } else { self.try_snapshot(id) };
        }
        let mut both = in_parallel(self.store.as_ref(), 2, |i| match i {
            0 => Ok((self.store.exists(&next)?, Ok(None))),
            _ => Ok((false, self.try_snapshot(id))),
        })?;
        let snapshot = both.pop().map_or(Ok(None), |(_, snapshot)| snapshot);
        if both.pop().is_some_and(|(is_outdated, _)| is_outdated) { Ok(None) } else { snapshot }
    }

    /// The latest of the listed snapshots, for a hint that names no latest one.
    pub(super) fn listed_latest(&self, hint: Option<i64>) -> Result<Option<PaimonSnapshot>> {
        let last = self.snapshot_ids()?.last().copied();
        // A rollback changes the hint before it removes snapshots.
        match hint.filter(|id| last.is_none_or(|last| last < *id)) {
            Some(lost) if self.latest_hint()? == hint => {
                let left = last.map_or("There is no other snapshot".to_owned(), |last| {
                    format!("To go on from snapshot {last}, delete the file LATEST in the same folder")
                });
                Err(Error::corrupt(format!("the latest snapshot, {lost}, is missing"))
                    .with("path", self.snapshot_path(lost))
                    .hint(format!("Restore the file. {left}")))
            }
            _ => last.map(|id| self.snapshot(id)).transpose(),
        }
    }

    /// The number of the earliest snapshot that still exists.
    ///
    /// # Errors
    /// Those of the store.
    pub fn earliest_snapshot_id(&self) -> Result<Option<i64>> {
        match self.hint("EARLIEST")? {
            Some(id) if self.store.exists(&self.snapshot_path(id))? => Ok(Some(id)),
            _ => Ok(self.snapshot_ids()?.first().copied()),
        }
    }

    /// All snapshots that still exist, by their numbers.
    ///
    /// # Errors
    /// As [`TableFolder::snapshot`].
    pub fn snapshots(&self) -> Result<Vec<PaimonSnapshot>> {
        let ids = self.snapshot_ids()?;
        let snapshots = in_parallel(self.store.as_ref(), ids.len(), |i| {
            // One may be expired just now.
            ids.get(i).map_or(Ok(None), |id| self.try_snapshot(*id))
        })?;
        Ok(snapshots.into_iter().flatten().collect())
    }

    /// The latest snapshot made at a time or before it (milliseconds since the epoch); `None` if all are younger.
    ///
    /// # Errors
    /// As [`TableFolder::snapshot`].
    pub fn snapshot_at_time(&self, time_ms: i64) -> Result<Option<PaimonSnapshot>> {
        let mut ids = self.snapshot_ids()?;
        let (mut low, mut found) = (0, None);
        while let Some(id) = ids.get(low + (ids.len() - low) / 2).copied() {
            let middle = low + (ids.len() - low) / 2;
            match self.try_snapshot(id)? {
                Some(snapshot) if snapshot.time_ms <= time_ms => {
                    low = middle + 1;
                    found = Some(snapshot);
                }
                Some(_) => ids.truncate(middle),
                // It expired just now, or a rollback removed it.
                None => drop(ids.remove(middle)),
            }
        }
        Ok(found)
    }

    /// The earliest snapshot with a watermark at a time or after it (milliseconds since the epoch); `None` if no
    /// snapshot has one.
    ///
    /// # Errors
    /// As [`TableFolder::snapshot`].
    pub fn snapshot_by_watermark(&self, watermark_ms: i64) -> Result<Option<PaimonSnapshot>> {
        Ok(self.snapshots()?.into_iter().find(|s| s.watermark.is_some_and(|w| w >= watermark_ms)))
    }

    /// The snapshot that a version names: that of the tag with this name, or the one with this number.
    ///
    /// # Errors
    /// `NotFound` if it is neither; as [`TableFolder::snapshot`].
    pub fn snapshot_of_version(&self, version: &str) -> Result<PaimonSnapshot> {
        if checked_name(version).is_ok()
            && let Some(tag) = self.try_tag(version)?
        {
            return Ok(tag.snapshot);
        }
        match version.parse() {
            Ok(id) => self.snapshot(id),
            Err(_) => Err(self.no_tag(version)?),
        }
    }

    // ---------------------------------------------------------------- tags and branches

    fn try_tag(&self, name: &str) -> Result<Option<Tag>> {
        let path = self.tag_path(name);
        let bytes = self.store.get(&path).if_found()?;
        bytes.map(|bytes| Tag::parse(name, &bytes).with("path", &path)).transpose()
    }

    fn no_tag(&self, name: &str) -> Result<Error> {
        let hint = format!("Tags: {}", some_of(self.tag_names()?));
        Ok(Error::not_found(format!("the table has no tag '{name}'")).with("path", &self.root).hint(hint))
    }

    /// The names of the branch's tags, in their order.
    ///
    /// # Errors
    /// Those of the store.
    pub fn tag_names(&self) -> Result<Vec<String>> {
        let names = names_in(self.store.as_ref(), &self.folder("tag"))?;
        let mut tags: Vec<String> =
            names.iter().filter_map(|n| n.strip_prefix(TAG)).filter(|n| !n.is_empty()).map(str::to_owned).collect();
        tags.sort();
        Ok(tags)
    }

    /// A tag.
    ///
    /// # Errors
    /// `NotFound`, listing the existing tags; `InvalidInput` if that can't be its name; `CorruptTable`, naming the
    /// file; those of the store.
    pub fn tag(&self, name: &str) -> Result<Tag> {
        match self.try_tag(given_name(name, "tag")?)? {
            Some(tag) => Ok(tag),
            None => Err(self.no_tag(name)?),
        }
    }

    /// All tags, by their names.
    ///
    /// # Errors
    /// As [`TableFolder::tag`].
    pub fn tags(&self) -> Result<Vec<Tag>> {
        let names = self.tag_names()?;
        let tags = in_parallel(self.store.as_ref(), names.len(), |i| {
            names.get(i).map_or(Ok(None), |name| self.try_tag(name))
        })?;
        Ok(tags.into_iter().flatten().collect())
    }

    /// The names of the table's branches except the main one, in order.
    ///
    /// # Errors
    /// Those of the store.
    pub fn branches(&self) -> Result<Vec<String>> {
        let complete = |name: String| self.on_branch(&name).is_complete().map(|complete| complete.then_some(name));
        self.branch_folders()?.into_iter().filter_map(|name| complete(name).transpose()).collect()
    }

    /// The names of all folders of branches. They include folders that an interrupted creation or removal of a branch
    /// left.
    pub(crate) fn branch_folders(&self) -> Result<Vec<String>> {
        let folders = self.store.list_folders(&join(&self.root, "branch"))?;
        let mut names: Vec<String> = folders.iter().filter_map(|n| n.strip_prefix(BRANCH)).map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
#[path = "filesystem_tests.rs"]
mod tests;
