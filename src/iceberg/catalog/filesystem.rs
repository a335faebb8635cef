//! Tables in folders, without a service: the layout of Java's Hadoop tables and Hadoop catalog.
//!
//! A table is a folder with `metadata/` and `data/`; a namespace is a folder of tables and namespaces below the warehouse.
//! A commit is the creation of `metadata/v<N+1>.metadata.json`, which only one writer can win.

use std::collections::HashSet;
use std::sync::Arc;

use super::metadata_files::{
    FoundMetadata, VERSION_HINT, find_metadata, find_version, first_there, load, read_metadata, version_of,
    version_paths,
};
use super::reachable::reachable_files;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::ident::{TableIdent, check_name};
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::store::location::{join, normalise};
use crate::store::{Store, in_parallel};

/// The property that says how metadata files are compressed: `none` (default) or `gzip`.
pub const METADATA_COMPRESSION: &str = "write.metadata.compression-codec";

/// The property that lets a commit delete metadata files that left the log.
pub const DELETE_AFTER_COMMIT: &str = "write.metadata.delete-after-commit.enabled";

/// The property that says whether files of the table may be deleted.
pub const GC_ENABLED: &str = "gc.enabled";

/// Folders nest at most so deep when a table is dropped.
const MAX_DEPTH: usize = 64;

/// Makes `metadata` the version `version` of the table at `table_location`; `base` is the version it replaces. Returns
/// the path of the new file.
///
/// A plain and a compressed file of one number are the same version, but the store can't create one only if the other is
/// absent. So a writer looks for the other names before and after it creates its own, and withdraws if one has appeared: of
/// two writers that use different names at least one sees the other, and never do both succeed. It also withdraws if its
/// base turns out to have been so old that its successors were deleted, which had left their names free.
///
/// The version hint and the deletion of old files (where the properties ask for it) are best effort: once the file is
/// there, the commit is done.
///
/// # Errors
/// `CommitConflict` if the version exists already: load the table again, rebuild on it, and publish the next. `InvalidInput`
/// for a version below 1 or an unknown compression codec. `CommitStateUnknown` if the new file had to be withdrawn and could
/// not. Store errors mean that nothing was published.
pub fn publish(
    store: &dyn Store,
    table_location: &str,
    version: i32,
    metadata: &TableMetadata,
    base: Option<&TableMetadata>,
) -> Result<String> {
    if version < 1 {
        return Err(Error::invalid(format!("{version} is no version of a table")));
    }
    let folder = join(table_location, METADATA_FOLDER);
    let (suffix, bytes) = encoded(metadata)?;
    let path = join(&folder, &format!("v{version}{suffix}"));
    let conflict = |taken: &str| {
        Error::conflict(format!("another commit made version {version} of the table first")).with("path", taken)
    };
    if let Some(taken) = find_version(store, &folder, version)? {
        return Err(conflict(&taken));
    }
    match store.put_if_absent(&path, &bytes) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(conflict(&path)),
        put => put?,
    }
    if let Some(other) = overtaken_by(store, &folder, version, &path, metadata)? {
        store.delete(&path).map_err(|e| {
            let error = Error::state_unknown(format!("version {version} of the table was published out of turn"));
            error.with("path", &path).with("other", &other).hint("Delete the wrong one").because(e)
        })?;
        return Err(conflict(&other));
    }
    let _ = store.put(&join(&folder, VERSION_HINT), version.to_string().as_bytes());
    delete_old_files(store, &folder, metadata, base);
    Ok(path)
}

/// The file of a version of metadata, compressed as its properties say, and how its name ends.
///
/// # Errors
/// `InvalidInput` for an unknown compression codec.
pub(super) fn encoded(metadata: &TableMetadata) -> Result<(&'static str, Vec<u8>)> {
    match metadata.properties.get(METADATA_COMPRESSION).map(|c| c.to_ascii_lowercase()).as_deref() {
        None | Some("none") => Ok((".metadata.json", encode_metadata(metadata))),
        Some("gzip") => Ok((".gz.metadata.json", compress(&encode_metadata(metadata))?)),
        Some(other) => Err(Error::invalid(format!("the metadata compression codec '{other}' is unknown"))
            .hint(format!("Set {METADATA_COMPRESSION} to none or gzip"))),
    }
}

/// The metadata of one version of a table, if it is there.
///
/// # Errors
/// Of the store; as [`read_metadata`].
pub fn load_version(store: &dyn Store, location: &str, version: i32) -> Result<Option<TableMetadata>> {
    let found = find_version(store, &join(location, METADATA_FOLDER), version)?;
    found.map(|path| read_metadata(store, &path)).transpose()
}

/// A file that shows that `published` came out of turn: another of the same version; or, if the version before is gone, the
/// newest one, unless it was built on ours. The version before goes only when later ones push it out of the log, so while
/// it is there, ours was free because nobody had made it yet.
fn overtaken_by(
    store: &dyn Store,
    folder: &str,
    version: i32,
    published: &str,
    metadata: &TableMetadata,
) -> Result<Option<String>> {
    let others = version_paths(folder, version).into_iter().filter(|other| other != published);
    if let Some(other) = first_there(store, others)? {
        return Ok(Some(other));
    }
    if version == 1 || find_version(store, folder, version - 1)?.is_some() {
        return Ok(None);
    }
    let numbered = store.list(folder)?.into_iter().filter_map(|f| Some((version_of(&f.path)?, f.path)));
    let Some((_, newest)) = numbered.filter(|(v, _)| *v > version).max() else { return Ok(None) };
    let built_on_ours = match metadata.current_snapshot_id {
        Some(id) => read_metadata(store, &newest)?.snapshot_by_id(id).is_some(),
        None => false,
    };
    Ok((!built_on_ours).then_some(newest))
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let failed = |e| Error::internal("gzip compression failed").because(e);
    let length = compressor.gzip_compress(bytes, &mut out).map_err(failed)?;
    out.truncate(length);
    Ok(out)
}

/// Deletes the metadata files that `base` logged and `metadata` no longer does. Only files of the table's own metadata
/// folder: the log is mere text, and could name anything.
pub(super) fn delete_old_files(
    store: &dyn Store,
    folder: &str,
    metadata: &TableMetadata,
    base: Option<&TableMetadata>,
) {
    let enabled = metadata.properties.get(DELETE_AFTER_COMMIT).is_some_and(|v| v.eq_ignore_ascii_case("true"));
    let folder = normalise(folder);
    let kept: HashSet<&str> = metadata.metadata_log.iter().map(|e| e.metadata_file.as_str()).collect();
    for entry in base.into_iter().filter(|_| enabled).flat_map(|b| &b.metadata_log) {
        if kept.contains(entry.metadata_file.as_str()) {
            continue;
        }
        let path = normalise(&entry.metadata_file);
        let inside = path.strip_prefix(&folder).and_then(|rest| rest.strip_prefix('/'));
        if inside.is_some_and(|name| !name.contains('/') && name.contains(".metadata.json")) {
            let _ = store.delete(&entry.metadata_file);
        }
    }
}

/// A warehouse folder of namespaces and tables.
#[derive(Clone, Debug)]
pub struct FilesystemCatalog {
    store: Arc<dyn Store>,
    warehouse: String,
}

impl FilesystemCatalog {
    /// The catalog of a warehouse, which need not be there yet.
    ///
    /// # Errors
    /// `InvalidInput` for an empty location.
    pub fn new(store: Arc<dyn Store>, warehouse: &str) -> Result<Self> {
        let trimmed = warehouse.trim_end_matches('/');
        if trimmed.is_empty() {
            return Err(Error::invalid("the catalog needs a warehouse folder").with("warehouse", warehouse));
        }
        Ok(FilesystemCatalog { store, warehouse: trimmed.to_owned() })
    }

    /// The store of its tables.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The warehouse's location, without a slash at the end.
    pub fn warehouse(&self) -> &str {
        &self.warehouse
    }

    /// The folder of a namespace; of no levels, the warehouse.
    ///
    /// # Errors
    /// `InvalidInput` if a level is no valid name.
    pub fn namespace_location(&self, namespace: &[String]) -> Result<String> {
        namespace.iter().try_for_each(|level| check_name(level))?;
        Ok(namespace.iter().fold(self.warehouse.clone(), |folder, level| join(&folder, level)))
    }

    /// The folder of a table, whether or not it is there.
    ///
    /// # Errors
    /// `InvalidInput` if a part is no valid name.
    pub fn table_location(&self, ident: &TableIdent) -> Result<String> {
        check_name(&ident.name)?;
        Ok(join(&self.namespace_location(&ident.namespace)?, &ident.name))
    }

    /// Whether a folder holds a table: its `metadata/` holds a metadata file.
    fn is_table(&self, folder: &str) -> Result<bool> {
        let files = self.store.list(&join(folder, METADATA_FOLDER))?;
        Ok(files.iter().any(|f| f.path.ends_with(".metadata.json") || f.path.ends_with(".metadata.json.gz")))
    }

    fn is_namespace(&self, namespace: &[String]) -> Result<bool> {
        let folder = self.namespace_location(namespace)?;
        let there = match namespace.split_last() {
            None => true,
            Some((name, parents)) => {
                self.store.list_folders(&self.namespace_location(parents)?)?.iter().any(|f| f == name)
            }
        };
        Ok(there && !self.is_table(&folder)?)
    }

    /// Makes sure that a namespace is there.
    ///
    /// # Errors
    /// `NotFound` if it is not.
    pub fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        if self.is_namespace(namespace)? {
            return Ok(());
        }
        Err(Error::not_found(format!("there is no namespace '{}'", namespace.join(".")))
            .with("path", self.namespace_location(namespace)?)
            .hint("Make it with create_namespace()"))
    }

    /// Makes a namespace and those above it.
    ///
    /// # Errors
    /// `AlreadyExists` if it is there; `InvalidInput` for no levels or a level that is no valid name or a table.
    pub fn create_namespace(&self, namespace: &[String]) -> Result<()> {
        if namespace.is_empty() {
            return Err(Error::invalid("a namespace needs a name"));
        }
        let folder = self.namespace_location(namespace)?;
        for depth in 1..=namespace.len() {
            let above = self.namespace_location(&namespace[..depth])?;
            if self.is_table(&above)? {
                return Err(Error::invalid("a table has this name").with("path", above));
            }
        }
        if self.is_namespace(namespace)? {
            return Err(Error::already_exists(format!("the namespace '{}' is there already", namespace.join("."))));
        }
        self.store.make_folder(&folder)
    }

    /// Removes a namespace that has nothing in it.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` if it holds a table, namespace or file.
    pub fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.check_namespace(namespace)?;
        let folder = self.namespace_location(namespace)?;
        if !self.store.list_folders(&folder)?.is_empty() || !self.store.list(&folder)?.is_empty() {
            return Err(Error::invalid(format!("the namespace '{}' is not empty", namespace.join(".")))
                .with("path", folder)
                .hint("Drop its tables and namespaces first"));
        }
        self.store.delete_folder(&folder)
    }

    /// The namespaces directly in a namespace, by name; of no levels, those of the warehouse.
    ///
    /// # Errors
    /// `NotFound` if there is no such namespace.
    pub fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.check_namespace(parent)?;
        let (folder, mut out) = (self.namespace_location(parent)?, Vec::new());
        for name in self.store.list_folders(&folder)? {
            if !self.is_table(&join(&folder, &name))? {
                out.push(parent.iter().cloned().chain([name]).collect());
            }
        }
        Ok(out)
    }

    /// The tables directly in a namespace, by name.
    ///
    /// # Errors
    /// `NotFound` if there is no such namespace.
    pub fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.check_namespace(namespace)?;
        let (folder, mut out) = (self.namespace_location(namespace)?, Vec::new());
        for name in self.store.list_folders(&folder)? {
            if self.is_table(&join(&folder, &name))? {
                out.push(TableIdent { namespace: namespace.to_vec(), name });
            }
        }
        Ok(out)
    }

    /// The newest metadata of a table.
    ///
    /// # Errors
    /// `NotFound` if there is no such table; as [`load`].
    pub fn load_table(&self, ident: &TableIdent) -> Result<(TableMetadata, FoundMetadata)> {
        load(&*self.store, &self.table_location(ident)?).map_err(|e| e.with("table", ident))
    }

    /// Makes a table of metadata that `new_table` made for [`FilesystemCatalog::table_location`].
    ///
    /// # Errors
    /// `AlreadyExists` if there is a table of this name, also if another writer makes it just now; `InvalidInput` if the
    /// metadata has another location.
    pub fn create_table(&self, ident: &TableIdent, metadata: &TableMetadata) -> Result<FoundMetadata> {
        let location = self.table_location(ident)?;
        if normalise(&metadata.location) != normalise(&location) {
            return Err(Error::invalid("a table of a file-system catalog can't have another location")
                .with("location", &metadata.location)
                .hint(format!("Leave the location out; the table's place is {location}")));
        }
        let taken = || Error::already_exists(format!("the table '{ident}' is there already")).with("path", &location);
        match find_metadata(&*self.store, &location) {
            Ok(_) => return Err(taken()),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        match publish(&*self.store, &location, 1, metadata, None) {
            Ok(metadata_location) => Ok(FoundMetadata { metadata_location, version: Some(1) }),
            Err(e) if e.kind() == ErrorKind::CommitConflict => Err(taken()),
            Err(e) => Err(e),
        }
    }

    /// Makes a table of metadata that another catalog left in the table's folder: it becomes the first version here.
    ///
    /// # Errors
    /// `AlreadyExists` if this catalog has such a table; `Unsupported` if the metadata is that of a table elsewhere: a table
    /// of this catalog is in the folder of its name.
    pub fn register_table(
        &self,
        ident: &TableIdent,
        metadata_location: &str,
    ) -> Result<(TableMetadata, FoundMetadata)> {
        let location = self.table_location(ident)?;
        let taken = || Error::already_exists(format!("the table '{ident}' is there already")).with("path", &location);
        match find_metadata(&*self.store, &location) {
            Ok(found) if found.version.is_some() => return Err(taken()),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let metadata = read_metadata(&*self.store, metadata_location)?;
        if normalise(&metadata.location) != normalise(&location) {
            return Err(Error::unsupported(
                "a file-system catalog can only register a table that is in the folder of its name",
            )
            .with("location", &metadata.location)
            .with("path", &location)
            .hint("Open the table by its own location, or use a catalog of another type"));
        }
        match publish(&*self.store, &location, 1, &metadata, None) {
            Ok(metadata_location) => Ok((metadata, FoundMetadata { metadata_location, version: Some(1) })),
            Err(e) if e.kind() == ErrorKind::CommitConflict => Err(taken()),
            Err(e) => Err(e),
        }
    }

    /// Deletes a table with every file that its metadata names, wherever it is. Where the property `gc.enabled` is false,
    /// data files outside of the table's folder stay.
    ///
    /// # Errors
    /// As [`FilesystemCatalog::drop_table`] and [`load`]; `CorruptTable` if a manifest is: nothing is deleted then.
    pub fn purge_table(&self, ident: &TableIdent) -> Result<()> {
        let (metadata, _) = self.load_table(ident)?;
        let files = reachable_files(&*self.store, &metadata)?;
        self.drop_table(ident)?;
        let keeps_data = metadata.properties.get(GC_ENABLED).is_some_and(|v| v.eq_ignore_ascii_case("false"));
        let data = files.data.iter().filter(|_| !keeps_data);
        let all: Vec<&String> = data.chain(&files.metadata).collect();
        in_parallel(self.store.as_ref(), all.len(), |i| self.store.delete(all[i])).map(|_| ())
    }

    /// Deletes a table's folder with all its data and metadata. Files that the table keeps elsewhere stay.
    ///
    /// # Errors
    /// `NotFound` if there is no such table. `Unsupported` if its folder, or one on the way to it or inside it, is a
    /// symbolic link: nothing is deleted then.
    pub fn drop_table(&self, ident: &TableIdent) -> Result<()> {
        let location = self.table_location(ident)?;
        if !self.is_table(&location)? {
            return Err(Error::not_found(format!("there is no table '{ident}'")).with("path", location));
        }
        for depth in 1..=ident.namespace.len() {
            self.refuse_link(&self.namespace_location(&ident.namespace[..depth])?)?;
        }
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        self.collect(&location, MAX_DEPTH, &mut files, &mut folders)?;
        // Metadata goes first: a table half deleted is no table, rather than one with missing files.
        let metadata = normalise(&join(&location, METADATA_FOLDER)) + "/";
        let rank = |path: &String| match normalise(path).starts_with(&metadata) {
            true if path.contains(".metadata.json") => 0,
            true => 1,
            false => 2,
        };
        for wanted in 0..3 {
            let paths: Vec<&String> = files.iter().filter(|path| rank(path) == wanted).collect();
            in_parallel(self.store.as_ref(), paths.len(), |i| self.store.delete(paths[i]))?;
        }
        folders.iter().try_for_each(|folder| self.store.delete_folder(folder)).hint("Something else is in the folder")
    }

    fn refuse_link(&self, folder: &str) -> Result<()> {
        if self.store.is_link(folder)? {
            return Err(Error::unsupported("a table that lies behind a symbolic link is not deleted")
                .with("path", folder)
                .hint("Delete it where it really is"));
        }
        Ok(())
    }

    /// All files below a folder, and all folders, inner ones first.
    fn collect(&self, folder: &str, depth: usize, files: &mut Vec<String>, folders: &mut Vec<String>) -> Result<()> {
        self.refuse_link(folder)?;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::unsupported(format!("folders nest deeper than {MAX_DEPTH}")).with("path", folder));
        };
        files.extend(self.store.list(folder)?.into_iter().map(|f| f.path));
        for name in self.store.list_folders(folder)? {
            self.collect(&join(folder, &name), depth, files, folders)?;
        }
        folders.push(folder.to_owned());
        Ok(())
    }
}

#[cfg(test)]
#[path = "filesystem_tests.rs"]
mod tests;
