//! Tables in folders, without a service: the layout of Java's Hadoop tables and Hadoop catalog.
//!
//! A table is a folder with `metadata/` and `data/`. A namespace is a folder of tables and namespaces in the warehouse.
//! A commit is the creation of `metadata/v<N+1>.metadata.json`, which only one writer can win.

use std::collections::HashSet;
use std::sync::Arc;

use super::metadata_files::{FoundMetadata, find_metadata, load};
use super::metadata_names::{
    VERSION_HINT, file_name, find_version, first_there, read_metadata, version_of, version_paths,
};
use super::reachable::reachable_files;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::deletion::{FolderTree, OutsideLocations};
use crate::format::ident::{TableIdent, check_name};
use crate::iceberg::commit::own_folders::own_folders;
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::iceberg::spec::metadata_encode::encode_metadata;
use crate::parallel::{check_cancelled, with_patience};
use crate::store::location::{join, normalise};
use crate::store::{Store, delete_all, in_parallel};

/// The property that says how metadata files are compressed: `none` (default) or `gzip`.
pub const METADATA_COMPRESSION: &str = "write.metadata.compression-codec";

/// The property that lets a commit delete metadata files that left the log.
pub const DELETE_AFTER_COMMIT: &str = "write.metadata.delete-after-commit.enabled";

/// The property that says whether files of the table may be deleted.
pub const GC_ENABLED: &str = "gc.enabled";

/// The deepest folder that dropping a table follows.
const MAX_DEPTH: usize = 64;

/// The version that a new one replaces.
#[derive(Clone, Copy, Debug)]
pub struct BaseVersion<'a> {
    /// Its metadata.
    pub metadata: &'a TableMetadata,
    /// Its file.
    pub path: &'a str,
}

/// Publishes `metadata` as version `version` of the table at `table_location`. `base` is the version it replaces.
/// Returns the path of the new file.
///
/// # Errors
/// As [`NextVersion::prepare`] and [`NextVersion::publish`].
pub fn publish(
    store: &dyn Store,
    table_location: &str,
    version: u64,
    metadata: &TableMetadata,
    base: Option<BaseVersion<'_>>,
) -> Result<String> {
    NextVersion::prepare(store, table_location, version, metadata, base)?.publish()
}

/// A version of a table that is ready to be published. Its name was free a moment ago.
///
/// A plain and a compressed file with the same number are the same version. But the store checks only one name when it
/// creates a file. So all writers that build on one base use one name: the base's properties decide about compression.
/// A changed property counts from the next version on. The first version is never compressed.
///
/// Java decides by the new properties. A Java commit that changes the codec can therefore publish the same version
/// under another name. Then both files stay, because a third writer may already have built on either. The same is true
/// if the base was replaced in the moment of the publication.
pub struct NextVersion<'a> {
    store: &'a dyn Store,
    folder: String,
    version: u64,
    metadata: &'a TableMetadata,
    base: Option<BaseVersion<'a>>,
    path: String,
    bytes: Vec<u8>,
}

impl<'a> NextVersion<'a> {
    /// Encodes the version, and looks whether its name is free. Nothing is written, whatever the error.
    ///
    /// # Errors
    /// - `CommitConflict` if the version exists already, or the base is no longer the version before. Load the table
    ///   again, rebuild on it and publish the next version.
    /// - `InvalidInput` for a version below 1 or an unknown compression codec; errors of the store.
    pub fn prepare(
        store: &'a dyn Store,
        table_location: &str,
        version: u64,
        metadata: &'a TableMetadata,
        base: Option<BaseVersion<'a>>,
    ) -> Result<NextVersion<'a>> {
        if version < 1 {
            return Err(Error::invalid(format!("{version} is not a valid table version")));
        }
        let folder = join(table_location, METADATA_FOLDER);
        codec_of(metadata)?;
        // A codec that only other engines know must not stop the commit that replaces it.
        let codec = base.and_then(|base| codec_of(base.metadata).ok()).unwrap_or(MetadataCodec::Plain);
        let bytes = codec.encode(metadata)?;
        let path = join(&folder, &format!("v{version}{}", codec.suffix()));
        let next = NextVersion { store, folder, version, metadata, base, path, bytes };
        if let Some(taken) = find_version(store, &next.folder, version)? {
            return Err(next.conflict(&taken));
        }
        match replaced_by(store, &next.folder, version, base, None)? {
            Some(newer) => Err(next.conflict(&newer)),
            None => Ok(next),
        }
    }

    /// Writes the file. Returns its path.
    ///
    /// The version hint and the deletion of old files (if the properties ask for it) are best effort. The commit is
    /// done once the file exists.
    ///
    /// # Errors
    /// - `CommitConflict` if the version exists now. Nothing was published.
    /// - `CommitStateUnknown` if another writer published the version at the same time under another name, or replaced
    ///   the base. [`is_disputed`] distinguishes it from a lost reply of the store.
    /// - Errors of the store. The file may exist.
    pub fn publish(self) -> Result<String> {
        with_patience(|| self.write())?;
        let _ = self.store.put(&join(&self.folder, VERSION_HINT), self.version.to_string().as_bytes());
        delete_old_files(self.store, &self.folder, self.metadata, self.base.map(|base| base.metadata));
        Ok(self.path)
    }

    fn write(&self) -> Result<()> {
        let NextVersion { store, folder, version, metadata, base, path, bytes } = self;
        match store.put_if_absent(path, bytes) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return Err(self.conflict(path)),
            put => put?,
        }
        match disputed_by(*store, folder, *version, path, metadata, *base)? {
            Some(other) => Err(disputed(*version, path, &other)),
            None => Ok(()),
        }
    }

    fn conflict(&self, taken: &str) -> Error {
        Error::conflict(format!("another commit made version {} of the table first", self.version)).with("path", taken)
    }
}

/// The name of the file that another writer published, in the context of an error.
const DISPUTED_BY: &str = "other";

fn disputed(version: u64, path: &str, other: &str) -> Error {
    Error::state_unknown(format!(
        "two writers published version {version} of the table at the same time, so it is unknown whether the commit \
         happened"
    ))
    .with("path", path)
    .with(DISPUTED_BY, other)
    .hint(
        "Both files stay, because other commits may have built on either. Open the table again and look for the rows \
         before trying again",
    )
}

/// Whether an error of [`publish`] says that another writer published the same version, or replaced the base.
pub(super) fn is_disputed(error: &Error) -> bool {
    error.kind() == ErrorKind::CommitStateUnknown && error.context().iter().any(|(name, _)| *name == DISPUTED_BY)
}

/// How a metadata file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetadataCodec {
    Plain,
    Gzip,
}

impl MetadataCodec {
    fn suffix(self) -> &'static str {
        match self {
            MetadataCodec::Plain => ".metadata.json",
            MetadataCodec::Gzip => ".gz.metadata.json",
        }
    }

    fn encode(self, metadata: &TableMetadata) -> Result<Vec<u8>> {
        match self {
            MetadataCodec::Plain => Ok(encode_metadata(metadata)),
            MetadataCodec::Gzip => compress(&encode_metadata(metadata)),
        }
    }
}

/// The codec that a table's properties ask for.
///
/// # Errors
/// `InvalidInput` for an unknown codec.
fn codec_of(metadata: &TableMetadata) -> Result<MetadataCodec> {
    match metadata.properties.get(METADATA_COMPRESSION).map(|c| c.to_ascii_lowercase()).as_deref() {
        None | Some("none") => Ok(MetadataCodec::Plain),
        Some("gzip") => Ok(MetadataCodec::Gzip),
        Some(other) => Err(Error::invalid(format!("the metadata compression codec '{other}' is unknown"))
            .hint(format!("Set {METADATA_COMPRESSION} to none or gzip"))),
    }
}

/// Encodes a version of metadata, compressed as its properties say. Returns the end of the file name and the bytes.
///
/// # Errors
/// `InvalidInput` for an unknown compression codec.
pub(super) fn encoded(metadata: &TableMetadata) -> Result<(&'static str, Vec<u8>)> {
    let codec = codec_of(metadata)?;
    Ok((codec.suffix(), codec.encode(metadata)?))
}

/// Whether this metadata is the version of the table, and no other file disputes it.
///
/// # Errors
/// Errors of the store and of [`read_metadata`].
pub(super) fn is_published(
    store: &dyn Store,
    table_location: &str,
    version: u64,
    metadata: &TableMetadata,
    base: BaseVersion<'_>,
) -> Result<bool> {
    let folder = join(table_location, METADATA_FOLDER);
    let Some(path) = find_version(store, &folder, version)? else { return Ok(false) };
    Ok(read_metadata(store, &path)? == *metadata
        && disputed_by(store, &folder, version, &path, metadata, Some(base))?.is_none())
}

/// Finds a file that makes it unclear whether `published` is the version of the table. It is another file of the same
/// version, or one that replaced the base.
fn disputed_by(
    store: &dyn Store,
    folder: &str,
    version: u64,
    published: &str,
    metadata: &TableMetadata,
    base: Option<BaseVersion<'_>>,
) -> Result<Option<String>> {
    let others = version_paths(folder, version).into_iter().filter(|other| other != published);
    match first_there(store, others)? {
        Some(other) => Ok(Some(other)),
        None => replaced_by(store, folder, version, base, Some(metadata)),
    }
}

/// Finds a file that shows that `base` is no longer the version before `version`. This is another file of that number
/// which readers take first, or a later version if that number has no file. Commits delete old versions, which frees
/// their names. A later version that was built on `published` shows nothing.
fn replaced_by(
    store: &dyn Store,
    folder: &str,
    version: u64,
    base: Option<BaseVersion<'_>>,
    published: Option<&TableMetadata>,
) -> Result<Option<String>> {
    let Some(base) = base.filter(|_| version > 1) else { return Ok(None) };
    if let Some(before) = find_version(store, folder, version - 1)? {
        return Ok((file_name(&before) != file_name(base.path)).then_some(before));
    }
    let numbered = store.list(folder)?.into_iter().filter_map(|f| Some((version_of(&f.path)?, f.path)));
    let Some((_, newest)) = numbered.filter(|(v, _)| *v > version).max() else { return Ok(None) };
    let is_built_on_ours = match published.and_then(|published| published.current_snapshot_id) {
        Some(id) => read_metadata(store, &newest)?.snapshot_by_id(id).is_some(),
        None => false,
    };
    Ok((!is_built_on_ours).then_some(newest))
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut out = vec![0; compressor.gzip_compress_bound(bytes.len())];
    let failed = |e| Error::internal("gzip compression failed").because(e);
    let length = compressor.gzip_compress(bytes, &mut out).map_err(failed)?;
    out.truncate(length);
    Ok(out)
}

/// Deletes the metadata files that `base` logged and `metadata` no longer logs. Deletes only files in the table's own
/// metadata folder, because the log is plain text and could name any path.
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
        if check_cancelled().is_err() {
            return;
        }
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
    /// Opens the catalog of a warehouse. The warehouse folder may not exist yet.
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

    /// The store that holds the catalog's tables.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The folder of a namespace. An empty namespace gives the warehouse.
    ///
    /// # Errors
    /// `InvalidInput` if a level is not a valid name.
    pub fn namespace_location(&self, namespace: &[String]) -> Result<String> {
        namespace.iter().try_for_each(|level| check_name(level))?;
        Ok(namespace.iter().fold(self.warehouse.clone(), |folder, level| join(&folder, level)))
    }

    /// The folder of a table. The folder may not exist.
    ///
    /// # Errors
    /// `InvalidInput` if a part is not a valid name.
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

    /// Checks that a namespace exists.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    pub fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        if self.is_namespace(namespace)? {
            return Ok(());
        }
        Err(Error::not_found(format!("the namespace '{}' does not exist", namespace.join(".")))
            .with("path", self.namespace_location(namespace)?)
            .hint("Create it with create_namespace()"))
    }

    /// Creates a namespace and its parents.
    ///
    /// # Errors
    /// `AlreadyExists` if it exists; `InvalidInput` if it has no levels, a level is not a valid name, or a level is a
    /// table.
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
            return Err(Error::already_exists(format!("the namespace '{}' already exists", namespace.join("."))));
        }
        self.store.make_folder(&folder)
    }

    /// Removes an empty namespace.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `InvalidInput` if it holds a table, namespace or file.
    pub fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        self.check_namespace(namespace)?;
        let folder = self.namespace_location(namespace)?;
        let (files, folders) = self.store.list_all(&folder)?;
        if !files.is_empty() || !folders.is_empty() {
            return Err(Error::invalid(format!("the namespace '{}' is not empty", namespace.join(".")))
                .with("path", folder)
                .hint("Drop its tables and namespaces first"));
        }
        self.store.delete_folder(&folder)
    }

    /// Lists the namespaces directly in a namespace, sorted by name. An empty `parent` lists those of the warehouse.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    pub fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        self.check_namespace(parent)?;
        let names = self.names_below(parent, false)?;
        Ok(names.into_iter().map(|name| parent.iter().cloned().chain([name]).collect()).collect())
    }

    /// Lists the tables directly in a namespace, sorted by name.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    pub fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.check_namespace(namespace)?;
        let names = self.names_below(namespace, true)?;
        Ok(names.into_iter().map(|name| TableIdent { namespace: namespace.to_vec(), name }).collect())
    }

    /// The names of the tables in a namespace, or of the namespaces.
    fn names_below(&self, namespace: &[String], tables: bool) -> Result<Vec<String>> {
        let folder = self.namespace_location(namespace)?;
        let names = self.store.list_folders(&folder)?;
        let are = in_parallel(self.store.as_ref(), names.len(), |i| self.is_table(&join(&folder, &names[i])))?;
        Ok(names.into_iter().zip(are).filter(|(_, is)| *is == tables).map(|(name, _)| name).collect())
    }

    /// The newest metadata of a table.
    ///
    /// # Errors
    /// `NotFound` if the table does not exist; errors of [`load`].
    pub fn load_table(&self, ident: &TableIdent) -> Result<(TableMetadata, FoundMetadata)> {
        load(&*self.store, &self.table_location(ident)?).map_err(|e| e.with("table", ident))
    }

    /// Creates a table from metadata that `new_table` built for [`FilesystemCatalog::table_location`].
    ///
    /// # Errors
    /// `AlreadyExists` if a table has this name, also if another writer creates it at the same time; `InvalidInput` if
    /// the metadata has another location.
    pub fn create_table(&self, ident: &TableIdent, metadata: &TableMetadata) -> Result<FoundMetadata> {
        let location = self.free_location(ident, metadata)?;
        self.publish_first(ident, &location, metadata)
    }

    /// Publishes the first version of a table.
    ///
    /// # Errors
    /// `AlreadyExists` if another writer made it first; `CommitStateUnknown` if the store failed and the version may
    /// exist; errors of the store that prove that it does not.
    fn publish_first(&self, ident: &TableIdent, location: &str, metadata: &TableMetadata) -> Result<FoundMetadata> {
        let taken = || Error::already_exists(format!("the table '{ident}' already exists")).with("path", location);
        let next = match NextVersion::prepare(&*self.store, location, 1, metadata, None) {
            Err(e) if e.kind() == ErrorKind::CommitConflict => return Err(taken()),
            next => next?,
        };
        let path = next.path.clone();
        match next.publish() {
            Ok(metadata_location) => Ok(FoundMetadata { metadata_location, version: Some(1) }),
            Err(e) => Err(match e.kind() {
                ErrorKind::CommitConflict => taken(),
                ErrorKind::CommitStateUnknown => e,
                _ if check_cancelled().is_err() => e,
                _ if self.store.is_remote() && self.store.refused(&e) => e,
                // In a file system, a file that is not there after the call does not appear later.
                _ if !self.store.is_remote() && matches!(self.store.exists(&path), Ok(false)) => e,
                _ => Error::state_unknown(format!("it is unknown whether the table '{ident}' was made"))
                    .with("path", path)
                    .hint("Look whether the table exists before trying again")
                    .because(e),
            }),
        }
    }

    /// The folder of a new table, which holds no table yet.
    ///
    /// # Errors
    /// `AlreadyExists` if it holds one; `InvalidInput` if the metadata has another location.
    pub(super) fn free_location(&self, ident: &TableIdent, metadata: &TableMetadata) -> Result<String> {
        let location = self.table_location(ident)?;
        if normalise(&metadata.location) != normalise(&location) {
            return Err(Error::invalid("a table of a file-system catalog must be in the folder of its name")
                .with("location", &metadata.location)
                .hint(format!("Leave out the location; the table's folder is {location}")));
        }
        match find_metadata(&*self.store, &location) {
            Ok(_) => Err(Error::already_exists(format!("the table '{ident}' already exists")).with("path", &location)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(location),
            Err(e) => Err(e),
        }
    }

    /// Registers a table whose metadata another catalog left in the table's folder. It becomes the first version here.
    ///
    /// # Errors
    /// `AlreadyExists` if this catalog has such a table; `Unsupported` if the table is in another folder. A table of
    /// this catalog must be in the folder of its name.
    pub fn register_table(
        &self,
        ident: &TableIdent,
        metadata_location: &str,
    ) -> Result<(TableMetadata, FoundMetadata)> {
        let location = self.table_location(ident)?;
        let taken = || Error::already_exists(format!("the table '{ident}' already exists")).with("path", &location);
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
        let found = self.publish_first(ident, &location, &metadata)?;
        Ok((metadata, found))
    }

    /// Deletes a table and every file that its metadata names, in its folder, in those that its properties name, and in
    /// `outside`. If the property `gc.enabled` is false, data files outside the table's folder stay.
    ///
    /// # Errors
    /// Errors of [`FilesystemCatalog::drop_table`] and [`load`]. `CorruptTable` if a manifest is damaged; then nothing
    /// is deleted.
    pub fn purge_table(&self, ident: &TableIdent, outside: &OutsideLocations) -> Result<()> {
        let (metadata, _) = self.load_table(ident)?;
        let files = reachable_files(&*self.store, &metadata)?;
        self.drop_table(ident)?;
        let keeps_data = metadata.properties.get(GC_ENABLED).is_some_and(|v| v.eq_ignore_ascii_case("false"));
        let data = files.data.iter().filter(|_| !keeps_data);
        let own = own_folders(self.store.as_ref(), &metadata).and(outside.iter());
        let all: Vec<&str> = data.chain(&files.metadata).map(String::as_str).filter(|path| own.contain(path)).collect();
        delete_all(self.store.as_ref(), &all)
    }

    /// Deletes a table's folder with all its data and metadata. Files outside the folder stay.
    ///
    /// # Errors
    /// `NotFound` if the table does not exist. `Unsupported` if another catalog tracks the table. Also if a folder on
    /// the way to the table, or inside it, is a symbolic link. Then nothing is deleted.
    pub fn drop_table(&self, ident: &TableIdent) -> Result<()> {
        let location = self.table_location(ident)?;
        if !self.is_table(&location)? {
            return Err(Error::not_found(format!("the table '{ident}' does not exist")).with("path", location));
        }
        // A table whose metadata can't be read can be dropped.
        if let Some(found) = find_metadata(&*self.store, &location).ok().filter(|found| found.version.is_none()) {
            return Err(Error::unsupported("this table's versions are tracked by another catalog")
                .with("path", found.metadata_location)
                .hint("Drop the table in that catalog; if it has dropped it already, delete the folder"));
        }
        for depth in 1..=ident.namespace.len() {
            self.refuse_link(&self.namespace_location(&ident.namespace[..depth])?)?;
        }
        let FolderTree { files, folders } = FolderTree::below(self.store.as_ref(), &location, &|folder, depth| {
            self.refuse_link(folder)?;
            match depth < MAX_DEPTH {
                true => Ok(()),
                false => Err(Error::unsupported(format!("the folder has more than {MAX_DEPTH} levels of folders"))
                    .with("path", folder)),
            }
        })?;
        // Metadata is deleted first. A partly deleted table then no longer opens, instead of opening with missing
        // files.
        let metadata = normalise(&join(&location, METADATA_FOLDER)) + "/";
        let rank = |path: &String| match normalise(path).starts_with(&metadata) {
            true if path.contains(".metadata.json") => 0,
            true => 1,
            false => 2,
        };
        for wanted in 0..3 {
            let paths: Vec<&str> = files.iter().filter(|path| rank(path) == wanted).map(String::as_str).collect();
            delete_all(self.store.as_ref(), &paths)?;
        }
        folders
            .iter()
            .try_for_each(|folder| self.store.delete_folder(folder))
            .hint("The folder holds files that are not the table's")
    }

    fn refuse_link(&self, folder: &str) -> Result<()> {
        if self.store.is_link(folder)? {
            return Err(Error::unsupported("a table behind a symbolic link can't be deleted")
                .with("path", folder)
                .hint("Delete it at its real location"));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "filesystem_tests.rs"]
mod tests;
