//! Who keeps a table's current version: its folder, or a catalog.
//!
//! [`MetadataPointer`] is the one door to publish a commit. The folder and the catalogs with a register (SQL, memory) write the
//! next metadata file and move the pointer to it. A REST catalog posts the requirements and updates instead.

use std::sync::Arc;

use super::filesystem;
use super::metadata_files::{FoundMetadata, load};
use crate::error::{Error, Result};
use crate::format::ident::TableIdent;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::store::Store;
use crate::store::location::join;

/// One version of a table, and where it is.
#[derive(Clone, Debug)]
pub struct TableVersion {
    /// The metadata.
    pub metadata: TableMetadata,
    /// The file of the metadata.
    pub found: FoundMetadata,
}

/// How a publication ended.
#[derive(Debug)]
pub enum Publication {
    /// The commit is in the table, at this version.
    Committed(Box<TableVersion>),
    /// Certainly nothing was published. `CommitConflict` if another commit came first.
    Refused(Error),
    /// Only the newest version can tell whether the commit was published. `CommitConflict` if another version is in the way,
    /// which may turn out to be this commit's.
    Unknown(Error),
}

impl Publication {
    /// How the publication of a commit ended that wrote its metadata file itself. `is_certain` tells whether an error proves
    /// that nothing was published.
    pub(super) fn of(
        commit: &MetadataCommit,
        published: Result<FoundMetadata>,
        is_certain: impl Fn(&Error) -> bool,
    ) -> Publication {
        match published {
            Ok(found) => Publication::Committed(Box::new(TableVersion { metadata: commit.next.clone(), found })),
            Err(e) if is_certain(&e) => Publication::Refused(e),
            Err(e) => Publication::Unknown(e),
        }
    }
}

/// The keeper of one table's current version.
pub trait MetadataPointer: Send + Sync + std::fmt::Debug {
    /// The newest version.
    ///
    /// # Errors
    /// `NotFound` if the table is gone; as metadata is read; the store's or the catalog's.
    fn load(&self) -> Result<TableVersion>;

    /// Makes the commit the version after `base`, on which it was built.
    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication;

    /// Whether the commit turns out to be the version after `base`, although no reply said so.
    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool;

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
    fn load(&self) -> Result<TableVersion> {
        let (metadata, found) = load(self.store.as_ref(), &self.root)?;
        Ok(TableVersion { metadata, found })
    }

    /// An error leaves the outcome open: the file may have been made before it.
    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication {
        let published = || -> Result<FoundMetadata> {
            let found = &base.found;
            let version = found.version.ok_or_else(|| tracked_elsewhere(&found.metadata_location))? + 1;
            let (store, base) = (self.store.as_ref(), Some(&base.metadata));
            let path = filesystem::publish(store, &self.root, version, &commit.next, base)?;
            Ok(FoundMetadata { metadata_location: path, version: Some(version) })
        };
        Publication::of(commit, published(), |_| false)
    }

    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool {
        let next = base.found.version.and_then(|v| v.checked_add(1));
        let there = next.map(|v| filesystem::load_version(self.store.as_ref(), &self.root, v));
        matches!(there, Some(Ok(Some(there))) if there == commit.next)
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
