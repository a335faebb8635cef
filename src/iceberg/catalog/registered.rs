//! Catalogs that keep a register of names: SQL catalogs and those in memory.
//!
//! A table's metadata is in files `<N>-<uuid>.metadata.json`. The register names the current one. A commit writes a new
//! file. The register then switches to the new file if it still names the file that the commit was built on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::filesystem::{GC_ENABLED, delete_old_files, encoded};
use super::interface::{OpenedTable, TableCatalog};
use super::joint_publication::JointPublisher;
use super::metadata_files::FoundMetadata;
use super::metadata_names::{number_of, read_metadata};
use super::metadata_pointer::{KeptBy, MetadataPointer, Publication, TableVersion};
use super::reachable::reachable_files;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::deletion::OutsideLocations;
use crate::format::ident::{TableIdent, check_name};
use crate::format::register::TableRegister;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::commit::own_folders::own_folders;
use crate::iceberg::spec::metadata::METADATA_FOLDER;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::parallel::{check_cancelled, with_patience};
use crate::store::location::{absolute, join};
use crate::store::{Store, StoreOptions, delete_all, open_store};

/// The property that marks a namespace as existing. Users don't see it.
const EXISTS: &str = "exists";

/// The property of a namespace with the location of its tables.
const LOCATION: &str = "location";

/// The table property with another folder for metadata files.
const METADATA_PATH: &str = "write.metadata.path";

/// The name and properties that a catalog was opened with.
#[derive(Debug)]
struct Opening {
    name: String,
    properties: BTreeMap<String, String>,
    /// The properties that say how tables are stored.
    storage: StoreOptions,
    warehouse: Option<String>,
}

/// A catalog with a register.
#[derive(Clone)]
pub struct NamedCatalog {
    pub(super) names: Arc<dyn TableRegister>,
    opening: Arc<Opening>,
}

impl std::fmt::Debug for NamedCatalog {
    /// Leaves out the properties, because they hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NamedCatalog({:?})", self.opening.name)
    }
}

impl NamedCatalog {
    /// Opens the catalog of a register. Without a warehouse, a table needs its own location or a namespace with one.
    ///
    /// # Errors
    /// `Store` if the warehouse is a relative path and the working directory no longer exists; errors of
    /// [`StoreOptions::of_catalog`].
    pub fn new(
        names: Arc<dyn TableRegister>,
        name: &str,
        properties: BTreeMap<String, String>,
        warehouse: Option<&str>,
    ) -> Result<NamedCatalog> {
        let warehouse = warehouse.map(absolute).transpose()?.map(|w| w.trim_end_matches('/').to_owned());
        let storage = StoreOptions::of_catalog(&properties).with("catalog", name)?;
        Ok(NamedCatalog { names, opening: Arc::new(Opening { name: name.to_owned(), properties, storage, warehouse }) })
    }

    fn opened(&self, ident: &TableIdent, store: Arc<dyn Store>, metadata: TableMetadata, path: String) -> OpenedTable {
        let versions = Arc::new(CatalogPointer { catalog: self.clone(), ident: ident.clone(), store: store.clone() });
        OpenedTable { store, metadata: Arc::new(metadata), found: found_at(path), versions }
    }

    /// The store of a location.
    fn store(&self, location: &str) -> Result<Arc<dyn Store>> {
        open_store(location, self.opening.storage.as_map())
    }

    /// The current metadata file of a table. Fails if the table does not exist.
    fn current(&self, ident: &TableIdent) -> Result<String> {
        self.names.location(ident)?.ok_or_else(|| self.no_table(ident))
    }

    /// The current version of a table, with its store and its file. `open` opens the store of a file.
    fn current_version(
        &self,
        ident: &TableIdent,
        open: impl Fn(&str) -> Result<Arc<dyn Store>>,
    ) -> Result<(Arc<dyn Store>, TableMetadata, String)> {
        let mut path = self.current(ident)?;
        loop {
            let store = open(&path).with("table", ident)?;
            let missing = match read_metadata(store.as_ref(), &path) {
                Err(e) if e.kind() == ErrorKind::NotFound => e,
                metadata => return Ok((store, metadata.with("table", ident)?, path)),
            };
            // Commits that came meanwhile may have deleted the file.
            match self.current(ident)? {
                same if same == path => return Err(missing.with("table", ident)),
                newer => path = newer,
            }
            check_cancelled()?;
        }
    }

    pub(super) fn no_table(&self, ident: &TableIdent) -> Error {
        let error = Error::not_found(format!("the table '{ident}' does not exist")).with("catalog", &self.opening.name);
        // The error stays the same if the others can't be found.
        match self.names.others_with(ident).unwrap_or_default().as_slice() {
            [] => error,
            others => error.hint(format!(
                "The database has it for the catalog {}: open the catalog by that name",
                others.iter().map(|other| format!("'{other}'")).collect::<Vec<_>>().join(", ")
            )),
        }
    }

    /// Adds a table whose metadata is in a file.
    fn insert(&self, ident: &TableIdent, path: &str) -> Result<()> {
        let inserted = with_patience(|| self.names.insert(ident, path)).or_else(|e| {
            match (e.kind(), self.names.location(ident)) {
                (ErrorKind::CommitStateUnknown, Ok(Some(there))) if there == path => Ok(()),
                _ => Err(e),
            }
        });
        inserted.map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => taken(ident),
            _ => e.with("table", ident),
        })
    }

    /// Checks that a new table can have a name.
    fn check_free(&self, ident: &TableIdent) -> Result<()> {
        check_name(&ident.name)?;
        match self.names.location(ident)? {
            None => Ok(()),
            Some(_) => Err(taken(ident)),
        }
    }

    /// Makes another file the current version of a table, if `from` is still the current one.
    fn replace(&self, ident: &TableIdent, from: &str, to: &str) -> Result<()> {
        let swapped = match from == to {
            true => Ok(true),
            false => self.names.swap(ident, from, to),
        };
        match swapped.with("table", ident) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::conflict("another client changed the table meanwhile")
                .with("table", ident)
                .hint("Look at the table, then register the file again")),
            Err(e) if e.kind() == ErrorKind::CommitStateUnknown => match self.names.location(ident) {
                Ok(Some(there)) if there == to => Ok(()),
                _ => Err(e),
            },
            Err(e) => Err(e),
        }
    }

    /// The folder of a namespace's tables, if the namespace or the warehouse gives one.
    fn namespace_location(&self, namespace: &[String]) -> Option<String> {
        let warehouse = self.opening.warehouse.clone()?;
        Some(namespace.iter().fold(warehouse, |folder, level| join(&folder, level)))
    }
}

pub(super) fn found_at(metadata_location: String) -> FoundMetadata {
    FoundMetadata { metadata_location, version: None }
}

fn taken(ident: &TableIdent) -> Error {
    Error::already_exists(format!("the table '{ident}' already exists"))
}

/// Writes metadata into a new file of the table's metadata folder.
pub(super) fn write_metadata(store: &dyn Store, metadata: &TableMetadata, number: u64) -> Result<String> {
    let (suffix, bytes) = encoded(metadata)?;
    let path = join(&metadata_folder(metadata), &format!("{number:05}-{}{suffix}", uuid::Uuid::new_v4()));
    // The file can be there although writing it failed. No register names it yet.
    store.put_if_absent(&path, &bytes).inspect_err(|e| forget(store, &path, e))?;
    Ok(path)
}

pub(super) fn metadata_folder(metadata: &TableMetadata) -> String {
    let elsewhere = metadata.properties.get(METADATA_PATH).filter(|path| !path.is_empty());
    elsewhere.cloned().unwrap_or_else(|| join(&metadata.location, METADATA_FOLDER))
}

impl TableCatalog for NamedCatalog {
    fn prepare(&self) -> Result<()> {
        self.names.prepare()
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        namespace.iter().try_for_each(|level| check_name(level))?;
        let there = || Error::already_exists(format!("the namespace '{}' already exists", namespace.join(".")));
        if !self.names.namespaces(namespace)?.is_empty() {
            return Err(there());
        }
        let mut properties = properties.clone();
        properties.insert(EXISTS.to_owned(), "true".to_owned());
        self.names.create(namespace, &properties).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => there(),
            _ => e,
        })
    }

    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.check_namespace(namespace)?;
        let nested = self.names.namespaces(namespace)?.iter().any(|n| n.len() > namespace.len());
        if nested || self.names.is_used(namespace)? {
            return Err(Error::invalid(format!("the namespace '{}' is not empty", namespace.join(".")))
                .hint("Drop its tables and namespaces first"));
        }
        self.names.clear_properties(namespace)
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        if namespace.is_empty() || !self.names.namespaces(namespace)?.is_empty() {
            return Ok(());
        }
        Err(Error::not_found(format!("the namespace '{}' does not exist", namespace.join(".")))
            .with("catalog", &self.opening.name)
            .hint("Create it with create_namespace()"))
    }

    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.check_namespace(parent)?;
        let all = self.names.namespaces(parent)?;
        let below: BTreeSet<Vec<String>> = all.iter().filter_map(|n| Some(n.get(..=parent.len())?.to_vec())).collect();
        Ok(below.into_iter().collect())
    }

    fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        self.check_namespace(namespace)?;
        let mut properties = self.names.properties(namespace)?;
        properties.remove(EXISTS);
        if let (Some(location), false) = (self.namespace_location(namespace), properties.contains_key(LOCATION)) {
            properties.insert(LOCATION.to_owned(), location);
        }
        Ok(properties)
    }

    fn update_namespace_properties(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()> {
        if let Some(key) = removed.iter().find(|key| set.contains_key(*key)) {
            return Err(Error::invalid(format!("the property '{key}' can't be both removed and set")));
        }
        if removed.iter().chain(set.keys()).any(|key| key == EXISTS) {
            return Err(Error::invalid(format!("the property '{EXISTS}' is reserved")));
        }
        self.check_namespace(namespace)?;
        self.names.set_properties(namespace, removed, set)
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.check_namespace(namespace)?;
        self.names.tables(namespace)
    }

    /// The location of the namespace or warehouse, plus the table's name. A random suffix is added if the folder is
    /// that of another table, which was renamed or dropped without its files.
    fn new_location(&self, ident: &TableIdent) -> Result<Option<String>> {
        check_name(&ident.name)?;
        let own = self.names.properties(&ident.namespace)?.remove(LOCATION);
        let folder = own.or_else(|| self.namespace_location(&ident.namespace)).ok_or_else(|| {
            Error::invalid("the catalog has no warehouse, so the new table needs a location")
                .with("table", ident)
                .hint("Open the catalog with warehouse=, or give the table a location")
        })?;
        let location = join(&folder, &ident.name);
        match self.store(&location)?.list(&join(&location, METADATA_FOLDER))?.is_empty() {
            true => Ok(Some(location)),
            false => Ok(Some(format!("{location}-{}", uuid::Uuid::new_v4().simple()))),
        }
    }

    fn load(&self, ident: &TableIdent) -> Result<OpenedTable> {
        let (store, metadata, path) = self.current_version(ident, |path| self.store(path))?;
        Ok(self.opened(ident, store, metadata, path))
    }

    fn versions(&self, ident: &TableIdent, store: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>> {
        Ok(Arc::new(CatalogPointer { catalog: self.clone(), ident: ident.clone(), store: store.clone() }))
    }

    fn create(&self, ident: &TableIdent, commit: MetadataCommit, _: Option<&str>) -> Result<OpenedTable> {
        self.check_free(ident)?;
        let metadata = commit.next;
        let store = self.store(&metadata_folder(&metadata))?;
        let path = write_metadata(store.as_ref(), &metadata, 0)?;
        self.insert(ident, &path).inspect_err(|e| forget(store.as_ref(), &path, e))?;
        Ok(self.opened(ident, store, metadata, path))
    }

    fn stage(&self, ident: &TableIdent, commit: MetadataCommit, _: Option<&str>) -> Result<OpenedTable> {
        self.check_free(ident)?;
        let store = self.store(&metadata_folder(&commit.next))?;
        Ok(self.opened(ident, store, commit.next, String::new()))
    }

    fn register(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<OpenedTable> {
        let store = self.store(metadata_location)?;
        let metadata = read_metadata(store.as_ref(), metadata_location)?;
        match if overwrite { self.names.location(ident)? } else { None } {
            None => self.insert(ident, metadata_location)?,
            Some(current) => self.replace(ident, &current, metadata_location)?,
        }
        Ok(self.opened(ident, store, metadata, metadata_location.to_owned()))
    }

    /// The register removes only the version that was read just before, so no commit is missing in the file.
    fn unregister(&self, ident: &TableIdent) -> Result<String> {
        loop {
            let current = self.current(ident)?;
            if self.names.remove_at(ident, &current).with("table", ident).with("metadata", &current)? {
                return Ok(current);
            }
            check_cancelled()?;
        }
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        check_name(&to.name)?;
        self.current(from)?;
        if from == to {
            return Ok(());
        }
        self.check_namespace(&to.namespace)?;
        match self.names.rename(from, to) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.no_table(from)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(taken(to)),
            Err(e) => Err(e.with("table", from).with("to", to)),
        }
    }

    fn joint_commits(&self) -> Option<&dyn JointPublisher> {
        self.names.joint_swaps().map(|_| self as &dyn JointPublisher)
    }

    /// Without `purge`, the files stay and the table can be registered again. A purge removes the version that it has
    /// read, so that it deletes no file of another version or table.
    fn remove(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        let Some(outside) = purge else {
            return if self.names.remove(ident)? { Ok(()) } else { Err(self.no_table(ident)) };
        };
        let (files, table) = loop {
            let table = self.load(ident)?;
            let files = reachable_files(table.store.as_ref(), &table.metadata)?;
            if self.names.remove_at(ident, &table.found.metadata_location).with("table", ident)? {
                break (files, table);
            }
            check_cancelled()?;
        };
        let keeps_data = table.metadata.properties.get(GC_ENABLED).is_some_and(|v| v.eq_ignore_ascii_case("false"));
        let data = files.data.iter().filter(|_| !keeps_data);
        let all = data.chain(&files.metadata).chain([&table.found.metadata_location]);
        let own = own_folders(table.store.as_ref(), &table.metadata).and(outside.iter());
        let all: Vec<&str> = all.map(String::as_str).filter(|path| own.contain(path)).collect();
        delete_all(table.store.as_ref(), &all)
    }
}

/// Removes a metadata file after an error that proves that no register names it.
pub(super) fn forget(store: &dyn Store, path: &str, error: &Error) {
    if error.kind() != ErrorKind::CommitStateUnknown {
        store.discard(vec![path.to_owned()]);
    }
}

/// A table whose current version is in the register.
#[derive(Debug)]
pub(super) struct CatalogPointer {
    pub(super) catalog: NamedCatalog,
    pub(super) ident: TableIdent,
    pub(super) store: Arc<dyn Store>,
}

impl CatalogPointer {
    /// Switches the register to a new file.
    fn swap(&self, from: &str, to: &str) -> Result<()> {
        let names = &self.catalog.names;
        let swapped = match with_patience(|| names.swap(&self.ident, from, to)) {
            Err(e) if e.kind() == ErrorKind::CommitStateUnknown => self.swapped(from, to, e),
            other => other,
        };
        match swapped.with("table", &self.ident)? {
            true => Ok(()),
            false if names.location(&self.ident)?.is_none() => Err(self.catalog.no_table(&self.ident)),
            false => Err(Error::conflict("another commit made the next version of the table first")
                .with("table", &self.ident)
                .with("path", from)),
        }
    }

    /// Finds out whether a swap was made although its reply was lost.
    ///
    /// If the register names a file that is neither `from` nor `to`, it was changed at least once. The log of that
    /// file's metadata names the file that came after `from`. The swap was made exactly if that file is `to`.
    pub(super) fn swapped(&self, from: &str, to: &str, lost: Error) -> Result<bool> {
        let Ok(Some(current)) = self.catalog.names.location(&self.ident) else { return Err(lost) };
        if current == to {
            return Ok(true);
        }
        let Ok(metadata) = read_metadata(self.store.as_ref(), &current) else { return Err(lost) };
        let mut files = metadata.metadata_log.iter().map(|e| e.metadata_file.as_str()).chain([current.as_str()]);
        match files.by_ref().find(|file| *file == from).and_then(|_| files.next()) {
            Some(next) => Ok(next == to),
            None => Err(lost),
        }
    }
}

impl MetadataPointer for CatalogPointer {
    fn load(&self) -> Result<TableVersion> {
        let (_, metadata, path) = self.catalog.current_version(&self.ident, |_| Ok(self.store.clone()))?;
        Ok(TableVersion { metadata: Arc::new(metadata), found: found_at(path) })
    }

    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication {
        let published = || -> Result<FoundMetadata> {
            if commit.creates() {
                return Ok(self.catalog.create(&self.ident, commit.clone(), None)?.found);
            }
            let (store, from, next) = (self.store.as_ref(), &base.found.metadata_location, &commit.next);
            let number = number_of(from).map_or(0, |n| n.saturating_add(1));
            let path = write_metadata(store, next, number)?;
            self.swap(from, &path).inspect_err(|e| forget(store, &path, e))?;
            delete_old_files(store, &metadata_folder(next), next, Some(&base.metadata));
            Ok(found_at(path))
        };
        Publication::of(commit, published(), |e| e.kind() != ErrorKind::CommitStateUnknown)
    }

    /// [`MetadataPointer::publish`] has already checked this.
    fn was_published(&self, _: &TableVersion, _: &MetadataCommit) -> bool {
        false
    }

    fn check_writable(&self, _: &TableMetadata, _: &FoundMetadata) -> Result<()> {
        Ok(())
    }

    fn root(&self, metadata: &TableMetadata, _: &FoundMetadata) -> String {
        metadata.location.trim_end_matches('/').to_owned()
    }

    fn is_by_folder(&self) -> bool {
        false
    }

    fn catalog(&self) -> Option<KeptBy<'_>> {
        let opening = &self.catalog.opening;
        let elsewhere = !self.catalog.names.is_of_this_process();
        elsewhere.then_some(KeptBy { name: &opening.name, properties: &opening.properties, ident: &self.ident })
    }
}

#[cfg(test)]
#[path = "registered_tests.rs"]
mod tests;
