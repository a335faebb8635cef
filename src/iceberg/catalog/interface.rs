//! What every catalog can do, and how the file-system catalog does it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::filesystem::FilesystemCatalog;
use super::metadata_files::FoundMetadata;
use super::metadata_pointer::{FolderVersions, MetadataPointer};
use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::Store;

/// A table as a catalog opens it.
#[derive(Debug)]
pub struct Opened {
    /// Where its files are.
    pub store: Arc<dyn Store>,
    /// Its newest version.
    pub metadata: TableMetadata,
    /// The file of that.
    pub found: FoundMetadata,
    /// What keeps its current version.
    pub versions: Arc<dyn MetadataPointer>,
}

/// A catalog.
pub trait TableCatalog: Send + Sync + std::fmt::Debug {
    /// Makes sure that the catalog can be asked.
    ///
    /// # Errors
    /// Of what keeps it.
    fn prepare(&self) -> Result<()>;

    /// Makes a namespace.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` for a wrong name; `Unsupported` for properties that it can't have.
    fn create_namespace(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()>;

    /// Removes a namespace that has nothing in it.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` if something is in it.
    fn drop_namespace(&self, namespace: &[String]) -> Result<()>;

    /// Makes sure that a namespace is there.
    ///
    /// # Errors
    /// `NotFound` if it is not.
    fn check_namespace(&self, namespace: &[String]) -> Result<()>;

    /// The namespaces directly in another one; of no levels, those at the top.
    ///
    /// # Errors
    /// `NotFound` if there is no such namespace.
    fn list_namespaces(&self, parent: &[String]) -> Result<Vec<Vec<String>>>;

    /// A namespace's properties.
    ///
    /// # Errors
    /// `NotFound` if there is no such namespace.
    fn namespace_properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>>;

    /// Removes and sets properties of a namespace.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` for a key both to remove and to set; `Unsupported` if it can't have any.
    fn update_namespace_properties(
        &self,
        namespace: &[String],
        removed: &[String],
        set: &BTreeMap<String, String>,
    ) -> Result<()>;

    /// The tables directly in a namespace.
    ///
    /// # Errors
    /// `NotFound` if there is no such namespace.
    fn list_tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>>;

    /// Where a new table goes if its maker does not say.
    ///
    /// # Errors
    /// `InvalidInput` if the catalog has no place for it, or for a wrong name.
    fn new_location(&self, ident: &TableIdent) -> Result<String>;

    /// Opens a table.
    ///
    /// # Errors
    /// `NotFound` if there is no such table; as metadata is read.
    fn load(&self, ident: &TableIdent) -> Result<Opened>;

    /// What keeps the versions of a table in `store`.
    ///
    /// # Errors
    /// `InvalidInput` for a wrong name.
    fn versions(&self, ident: &TableIdent, store: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>>;

    /// Makes a table of new metadata.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` for a location that it can't have.
    fn create(&self, ident: &TableIdent, metadata: TableMetadata) -> Result<Opened>;

    /// Makes a table known by its metadata file.
    ///
    /// # Errors
    /// `AlreadyExists`; `Unsupported` for a table that it can't have.
    fn register(&self, ident: &TableIdent, metadata_location: &str) -> Result<Opened>;

    /// Gives a table another name.
    ///
    /// # Errors
    /// `NotFound`; `AlreadyExists` if the name is taken; `Unsupported` if it can't.
    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()>;

    /// Removes a table, with `purge` its files too.
    ///
    /// # Errors
    /// `NotFound`; the store's.
    fn remove(&self, ident: &TableIdent, purge: bool) -> Result<()>;
}

impl FilesystemCatalog {
    fn opened(&self, metadata: TableMetadata, found: FoundMetadata) -> Opened {
        let store = self.store().clone();
        let versions = Arc::new(FolderVersions::of(store.clone(), &found.metadata_location));
        Opened { store, metadata, found, versions }
    }
}

/// The refusal to store properties of a namespace.
fn no_properties(namespace: &[String]) -> Error {
    Error::unsupported("namespaces of a file-system catalog are folders, which have no properties")
        .with("namespace", namespace.join("."))
}

impl TableCatalog for FilesystemCatalog {
    /// A warehouse need not be there.
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

    fn new_location(&self, ident: &TableIdent) -> Result<String> {
        self.table_location(ident)
    }

    fn load(&self, ident: &TableIdent) -> Result<Opened> {
        let (metadata, found) = self.load_table(ident)?;
        Ok(self.opened(metadata, found))
    }

    fn versions(&self, ident: &TableIdent, store: &Arc<dyn Store>) -> Result<Arc<dyn MetadataPointer>> {
        let (_, found) = self.load_table(ident)?;
        Ok(Arc::new(FolderVersions::of(store.clone(), &found.metadata_location)))
    }

    fn create(&self, ident: &TableIdent, metadata: TableMetadata) -> Result<Opened> {
        let found = self.create_table(ident, &metadata)?;
        Ok(self.opened(metadata, found))
    }

    fn register(&self, ident: &TableIdent, metadata_location: &str) -> Result<Opened> {
        let (metadata, found) = self.register_table(ident, metadata_location)?;
        Ok(self.opened(metadata, found))
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<()> {
        self.load_table(from)?;
        Err(Error::unsupported("a file-system catalog can't rename tables: a table is in the folder of its name, and its files are recorded there")
            .with("table", from)
            .with("to", to)
            .hint("Create a table of the new name and append the rows of the old one"))
    }

    fn remove(&self, ident: &TableIdent, purge: bool) -> Result<()> {
        if purge { self.purge_table(ident) } else { self.drop_table(ident) }
    }
}
