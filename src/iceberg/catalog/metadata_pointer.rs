//! Who keeps a table's current version: its folder, or a catalog.

use std::sync::Arc;

use super::filesystem;
use super::metadata_files::{FoundMetadata, load};
use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::iceberg::spec::metadata::METADATA_FOLDER;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::Store;
use crate::store::location::join;

/// The keeper of one table's current version.
pub trait MetadataPointer: Send + Sync + std::fmt::Debug {
    /// The newest version.
    ///
    /// # Errors
    /// `NotFound` if the table is gone; as metadata is read; the store's or the catalog's.
    fn load(&self) -> Result<(TableMetadata, FoundMetadata)>;

    /// Makes `next` the version after `base`, which is in the file `found`; says where it is.
    ///
    /// # Errors
    /// `CommitConflict` if there is another one after `base`: nothing was published. `CommitStateUnknown` if it can't be told.
    /// For others see [`MetadataPointer::is_certain`].
    fn publish(&self, base: &TableMetadata, found: &FoundMetadata, next: &TableMetadata) -> Result<FoundMetadata>;

    /// Whether `wanted` turns out to be the version after the one that `found` is, for want of a reply that said so.
    fn went_through(&self, found: &FoundMetadata, wanted: &TableMetadata) -> bool;

    /// Whether an error of [`MetadataPointer::publish`] proves by itself that nothing was published.
    fn is_certain(&self, error: &Error) -> bool;

    /// Makes sure that the table, as read from `found`, can be committed to.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` that says why not.
    fn check_writable(&self, metadata: &TableMetadata, found: &FoundMetadata) -> Result<()>;

    /// The table's root folder, where it really is.
    fn root(&self, metadata: &TableMetadata, found: &FoundMetadata) -> String;

    /// Whether the table is known by its folder, so that it and its metadata can't go elsewhere.
    fn is_by_folder(&self) -> bool;

    /// The catalog that must be asked again from another process: its name and properties, and the table's identifier there.
    fn catalog(&self) -> Option<KeptBy<'_>>;
}

/// What finds a table's catalog again.
#[derive(Debug)]
pub struct KeptBy<'a> {
    /// The catalog's name.
    pub name: &'a str,
    /// All that it was opened with, secrets too.
    pub properties: &'a std::collections::BTreeMap<String, String>,
    /// The table in it.
    pub ident: &'a TableIdent,
}

/// A table whose folder tells its newest version.
#[derive(Debug)]
pub struct FolderVersions {
    store: Arc<dyn Store>,
    root: String,
}

impl FolderVersions {
    /// Of the table that a metadata file belongs to.
    pub fn of(store: Arc<dyn Store>, metadata_location: &str) -> FolderVersions {
        FolderVersions { store, root: root_of(metadata_location) }
    }
}

impl MetadataPointer for FolderVersions {
    fn load(&self) -> Result<(TableMetadata, FoundMetadata)> {
        load(self.store.as_ref(), &self.root)
    }

    fn publish(&self, base: &TableMetadata, found: &FoundMetadata, next: &TableMetadata) -> Result<FoundMetadata> {
        let version = found.version.ok_or_else(|| tracked_elsewhere(&found.metadata_location))? + 1;
        let path = filesystem::publish(self.store.as_ref(), &self.root, version, next, Some(base))?;
        Ok(FoundMetadata { metadata_location: path, version: Some(version) })
    }

    fn went_through(&self, found: &FoundMetadata, wanted: &TableMetadata) -> bool {
        let next = found.version.and_then(|v| v.checked_add(1));
        let there = next.map(|v| filesystem::load_version(self.store.as_ref(), &self.root, v));
        matches!(there, Some(Ok(Some(there))) if there == *wanted)
    }

    /// Never: the file may have been made before the error.
    fn is_certain(&self, _: &Error) -> bool {
        false
    }

    fn check_writable(&self, metadata: &TableMetadata, found: &FoundMetadata) -> Result<()> {
        let recorded = join(&metadata.location, METADATA_FOLDER);
        let folder = found.metadata_location.rsplit_once('/').map_or("", |(folder, _)| folder);
        if !self.store.is_same_place(folder, &recorded)? {
            return Err(Error::invalid(
                "the metadata file is not in the table's own metadata folder, so it can't be written",
            )
            .with("path", &found.metadata_location)
            .with("recorded", &recorded)
            .hint("Open the table by its location; a copy can be read with moved=True"));
        }
        if found.version.is_none() {
            return Err(tracked_elsewhere(&found.metadata_location));
        }
        Ok(())
    }

    fn root(&self, _: &TableMetadata, _: &FoundMetadata) -> String {
        self.root.clone()
    }

    fn is_by_folder(&self) -> bool {
        true
    }

    fn catalog(&self) -> Option<KeptBy<'_>> {
        None
    }
}

/// The refusal to commit to a table whose current version only a catalog knows.
fn tracked_elsewhere(metadata_location: &str) -> Error {
    Error::unsupported("this table's versions are tracked by a catalog, so its folder can't be committed to")
        .with("path", metadata_location)
        .hint("Commit through the catalog that the table belongs to")
}

/// The folder that holds `metadata/`.
fn root_of(metadata_location: &str) -> String {
    let folder = metadata_location.rsplit_once('/').map_or("", |(f, _)| f);
    folder.strip_suffix("/metadata").unwrap_or(folder).to_owned()
}
