//! The interface of every catalog, and its implementation by the file-system catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::filesystem::FilesystemCatalog;
use super::joint_publication::JointPublisher;
use super::metadata_files::FoundMetadata;
use super::metadata_pointer::{FolderPointer, MetadataPointer};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::deletion::OutsideLocations;
use crate::format::ident::TableIdent;
use crate::format::view::{NewView, ViewInfo};
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::Store;

/// A table as a catalog opens it.
#[derive(Debug)]
pub struct OpenedTable {
    /// The store of its files.
    pub store: Arc<dyn Store>,
    /// Its newest version.
    pub metadata: Arc<TableMetadata>,
    /// The metadata file of that version.
    pub found: FoundMetadata,
    /// The pointer to its current version.
    pub versions: Arc<dyn MetadataPointer>,
}

/// A catalog.
pub trait TableCatalog: Send + Sync + std::fmt::Debug {
    /// Checks that the catalog can be reached.
    ///
    /// # Errors
    /// Errors of the catalog's storage.
    fn prepare(&self) -> Result<()>;

    /// The catalog's properties, if a server tells more than those that the catalog was opened with.
    ///
    /// # Errors
    /// Errors of the connection.
    fn server_properties(&self) -> Result<Option<&BTreeMap<String, String>>> {
        Ok(None)
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` for an invalid name; `Unsupported` if the catalog can't store the properties.
    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()>;

    /// Removes an empty namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if the namespace is not empty.
    fn drop_namespace(&self, namespace: &[String]) -> Result<()>;

    /// Checks that a namespace exists.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn check_namespace(&self, namespace: &[String]) -> Result<()>;

    /// Lists the namespaces directly in another one. An empty `parent` lists those at the top.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>>;

    /// A namespace's properties.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>>;

    /// Removes and sets properties of a namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if a key is both removed and set; `Unsupported` if the catalog can't store
    /// properties.
    fn update_namespace_properties(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()>;

    /// Lists the tables directly in a namespace.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;

    /// Checks that a new table can be in this namespace. A catalog whose server checks it does nothing.
    ///
    /// # Errors
    /// `NotFound` if the namespace does not exist.
    fn check_parent(&self, namespace: &[String]) -> Result<()> {
        self.check_namespace(namespace)
    }

    /// Whether a table exists.
    ///
    /// # Errors
    /// As [`TableCatalog::load`], but for `NotFound`.
    fn exists(&self, ident: &TableIdent) -> Result<bool> {
        Ok(self.load(ident).if_found()?.is_some())
    }

    /// The default location of a new table. `None` if the catalog decides when it creates the table.
    ///
    /// # Errors
    /// `InvalidInput` if the catalog has no default location, or for an invalid name.
    fn new_location(&self, ident: &TableIdent) -> Result<Option<String>>;

    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if the table does not exist; errors of reading metadata.
    fn load(&self, ident: &TableIdent) -> Result<OpenedTable>;

    /// The pointer to the current version of a table in `store`.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid name.
    fn versions(&self, ident: &TableIdent, store: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>>;

    /// Creates a table by its first commit, which [`MetadataCommit::creating`] made. Its requirement is that the table
    /// doesn't exist. Catalogs that keep metadata files publish [`MetadataCommit::next`]. A REST catalog receives the
    /// requirement and the updates. `location` is the location that the caller has chosen. Without one, and without a
    /// default location, that of the commit means nothing.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` if the catalog can't have a table at this location.
    fn create(&self, ident: &TableIdent, commit: MetadataCommit, location: Option<&str>) -> Result<OpenedTable>;

    /// Opens a table that does not exist yet, with the metadata of its first version. Nothing is created. The first
    /// commit to its pointer creates it: one that [`MetadataCommit::creating`] made. `location` is as for
    /// [`TableCatalog::create`].
    ///
    /// # Errors
    /// As [`TableCatalog::create`].
    fn stage(&self, ident: &TableIdent, commit: MetadataCommit, location: Option<&str>) -> Result<OpenedTable>;

    /// Registers an existing table by its metadata file. With `overwrite`, a table of this name gets the file's
    /// version.
    ///
    /// # Errors
    /// `AlreadyExists` without `overwrite`; `Unsupported` if the catalog can't have or overwrite the table;
    /// `CommitConflict` if another client changed the table meanwhile.
    fn register(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<OpenedTable>;

    /// Removes a table and leaves all its files. Returns its newest metadata file.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` if the catalog can't do it; `CommitStateUnknown` if an answer was lost.
    fn unregister(&self, ident: &TableIdent) -> Result<String>;

    /// Renames a table.
    ///
    /// # Errors
    /// `NotFound`; `AlreadyExists` if the name is taken; `Unsupported` if the catalog can't rename tables.
    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;

    /// Removes a table. With `purge`, deletes its files too: those in its folders and in those that `purge` names.
    ///
    /// # Errors
    /// `NotFound`; `Unsupported` for folders that the catalog can't take into account; errors of the store.
    fn remove(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()>;

    /// Commits to several tables at once. `None` if the catalog publishes each table by itself.
    fn joint_commits(&self) -> Option<&dyn JointPublisher> {
        None
    }

    /// The catalog's views. `None` if it has no views.
    fn views(&self) -> Option<&dyn ViewCatalog> {
        None
    }
}

/// The views of a catalog.
pub trait ViewCatalog {
    /// Lists the views directly in a namespace.
    ///
    /// # Errors
    /// Here and below: `Unsupported` if the catalog's server has no views; errors of the server. `NotFound` if the
    /// namespace does not exist.
    fn list(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;

    /// Loads a view. `NotFound` if it does not exist.
    fn load_view(&self, ident: &TableIdent) -> Result<ViewInfo>;

    /// Whether a view exists.
    fn has_view(&self, ident: &TableIdent) -> Result<bool>;

    /// Creates a view. `AlreadyExists` if the name is taken.
    fn create_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo>;

    /// Gives a view another version. `CommitConflict` if another client did so first.
    fn replace_view(&self, ident: &TableIdent, new: &NewView) -> Result<ViewInfo>;

    /// Registers a view by its metadata file. `AlreadyExists` if the name is taken.
    fn register_view(&self, ident: &TableIdent, metadata_location: &str) -> Result<ViewInfo>;

    /// Renames a view. `AlreadyExists` if the name is taken.
    fn rename_view(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;

    /// Removes a view. `NotFound` if it does not exist.
    fn drop_view(&self, ident: &TableIdent) -> Result<()>;
}

impl FilesystemCatalog {
    fn opened(&self, metadata: TableMetadata, found: FoundMetadata) -> OpenedTable {
        let store = self.store().clone();
        let versions = Arc::new(FolderPointer::of(store.clone(), &found.metadata_location));
        OpenedTable { store, metadata: Arc::new(metadata), found, versions }
    }
}

/// The error for changes of a table's entry, which a file-system catalog doesn't have.
fn folder_decides(ident: &TableIdent, doing: &str) -> Error {
    Error::unsupported(format!("a file-system catalog can't {doing} tables: a table is the content of its folder"))
        .with("table", ident)
}

/// The error for properties of a namespace in a file-system catalog.
fn no_properties(namespace: &[String]) -> Error {
    Error::unsupported("namespaces of a file-system catalog are folders, which have no properties")
        .with("namespace", namespace.join("."))
}

impl TableCatalog for FilesystemCatalog {
    /// The warehouse folder may not exist yet.
    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        match properties.is_empty() {
            true => FilesystemCatalog::create_namespace(self, namespace),
            false => Err(no_properties(namespace)),
        }
    }

    fn drop_namespace(&self, namespace: &[String]) -> Result<()> {
        FilesystemCatalog::drop_namespace(self, namespace)
    }

    fn check_namespace(&self, namespace: &[String]) -> Result<()> {
        FilesystemCatalog::check_namespace(self, namespace)
    }

    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>> {
        FilesystemCatalog::list_namespaces(self, parent)
    }

    fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        FilesystemCatalog::check_namespace(self, namespace)?;
        Ok(BTreeMap::from([("location".to_owned(), self.namespace_location(namespace)?)]))
    }

    fn update_namespace_properties(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()> {
        FilesystemCatalog::check_namespace(self, namespace)?;
        if removed.is_empty() && set.is_empty() { Ok(()) } else { Err(no_properties(namespace)) }
    }

    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        FilesystemCatalog::list_tables(self, namespace)
    }

    fn new_location(&self, ident: &TableIdent) -> Result<Option<String>> {
        self.table_location(ident).map(Some)
    }

    fn load(&self, ident: &TableIdent) -> Result<OpenedTable> {
        let (metadata, found) = self.load_table(ident)?;
        Ok(self.opened(metadata, found))
    }

    fn versions(&self, ident: &TableIdent, store: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>> {
        let (_, found) = self.load_table(ident)?;
        Ok(Arc::new(FolderPointer::of(store.clone(), &found.metadata_location)))
    }

    fn create(&self, ident: &TableIdent, commit: MetadataCommit, _: Option<&str>) -> Result<OpenedTable> {
        let found = self.create_table(ident, &commit.next)?;
        Ok(self.opened(commit.next, found))
    }

    fn stage(&self, ident: &TableIdent, commit: MetadataCommit, _: Option<&str>) -> Result<OpenedTable> {
        let location = self.free_location(ident, &commit.next)?;
        let versions = Arc::new(FolderPointer::at(self.store().clone(), &location));
        let found = FoundMetadata { metadata_location: String::new(), version: None };
        Ok(OpenedTable { store: self.store().clone(), metadata: Arc::new(commit.next), found, versions })
    }

    fn register(&self, ident: &TableIdent, metadata_location: &str, overwrite: bool) -> Result<OpenedTable> {
        match self.register_table(ident, metadata_location) {
            Ok((metadata, found)) => Ok(self.opened(metadata, found)),
            Err(e) if overwrite && e.kind() == ErrorKind::AlreadyExists => Err(folder_decides(ident, "overwrite")
                .because(e)
                .hint("Go back to an earlier snapshot with table.refs, or use a catalog of another type")),
            Err(e) => Err(e),
        }
    }

    fn unregister(&self, ident: &TableIdent) -> Result<String> {
        self.load_table(ident)?;
        Err(folder_decides(ident, "unregister")
            .hint("Use a catalog of another type. Its tables have names of their own"))
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.load_table(from)?;
        Err(Error::unsupported(
            "a file-system catalog can't rename tables: a table is in the folder of its name, \
            and its files are recorded there",
        )
        .with("table", from)
        .with("to", to)
        .hint("Create a table of the new name and append the rows of the old one"))
    }

    fn remove(&self, ident: &TableIdent, purge: Option<&OutsideLocations>) -> Result<()> {
        match purge {
            Some(outside) => self.purge_table(ident, outside),
            None => self.drop_table(ident),
        }
    }
}
