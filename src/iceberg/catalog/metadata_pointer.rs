//! The pointer to a table's current version. It is kept by the table's folder or by a catalog.
//!
//! Every commit is published through [`MetadataPointer`]. The folder and the catalogs with a register (SQL, memory)
//! write the next metadata file and move the pointer to it. A REST catalog receives the requirements and updates
//! instead.

use std::sync::Arc;

use super::filesystem::{self, BaseVersion, NextVersion};
use super::metadata_files::{FoundMetadata, find_metadata, load};
use super::reports::MetricsReport;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::catalog::TableLabels;
use crate::format::ident::TableIdent;
use crate::iceberg::commit::metadata_commit::MetadataCommit;
use crate::iceberg::plan::served::planner::ScanPlanner;
use crate::iceberg::spec::metadata::{METADATA_FOLDER, TableMetadata};
use crate::store::Store;
use crate::store::location::join;

/// One version of a table and its location.
#[derive(Clone, Debug)]
pub struct TableVersion {
    /// The metadata.
    pub metadata: Arc<TableMetadata>,
    /// The metadata's file.
    pub found: FoundMetadata,
}

/// The result of a publication: of one table, or of several at once.
#[derive(Debug)]
pub enum Publication<V = Box<TableVersion>> {
    /// The commit succeeded and made this version.
    Committed(V),
    /// Nothing was published. `CommitConflict` if another commit came first.
    Refused(Error),
    /// Only the newest version can tell whether the commit was published. `CommitConflict` if another version is in the
    /// way; that version may be this commit's own.
    Unknown(Error),
    /// The file exists, but another writer's file may be the version of the table. Only a later version that contains
    /// the commit proves that it was published.
    Disputed(Error),
}

impl Publication {
    /// The result of a commit that wrote its own metadata file. `is_certain` tells whether an error proves that nothing
    /// was published.
    pub(super) fn of(
        commit: &MetadataCommit,
        published: Result<FoundMetadata>,
        is_certain: impl Fn(&Error) -> bool,
    ) -> Publication {
        match published {
            Ok(found) => {
                Publication::Committed(Box::new(TableVersion { metadata: Arc::new(commit.next.clone()), found }))
            }
            Err(e) if is_certain(&e) => Publication::Refused(e),
            Err(e) if filesystem::is_disputed(&e) => Publication::Disputed(e),
            Err(e) => Publication::Unknown(e),
        }
    }
}

impl<V> Publication<V> {
    /// The same result with another form of the version.
    pub fn map<W>(self, convert: impl FnOnce(V) -> W) -> Publication<W> {
        match self {
            Publication::Committed(version) => Publication::Committed(convert(version)),
            Publication::Refused(e) => Publication::Refused(e),
            Publication::Unknown(e) => Publication::Unknown(e),
            Publication::Disputed(e) => Publication::Disputed(e),
        }
    }
}

/// The pointer to one table's current version.
pub trait MetadataPointer: Send + Sync + std::fmt::Debug {
    /// The newest version.
    ///
    /// # Errors
    /// `NotFound` if the table no longer exists; errors of reading metadata; errors of the store or catalog.
    fn load(&self) -> Result<TableVersion>;

    /// The newest version, with the snapshots that the catalog opens tables with.
    ///
    /// # Errors
    /// As [`MetadataPointer::load`].
    fn load_as_opened(&self) -> Result<TableVersion> {
        self.load()
    }

    /// Whether the table was opened with all snapshots, not only those of branches and tags.
    fn opens_with_all_snapshots(&self) -> bool {
        true
    }

    /// Publishes the commit as the version after `base`. The commit was built on `base`.
    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication;

    /// Whether the commit is the version after `base`. Called when no reply confirmed it.
    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool;

    /// Checks that commits to the table, as read from `found`, are possible.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` with the reason.
    fn check_writable(&self, metadata: &TableMetadata, found: &FoundMetadata) -> Result<()>;

    /// The real location of the table's root folder.
    fn root(&self, metadata: &TableMetadata, found: &FoundMetadata) -> String;

    /// Whether the table is identified by its folder. Then the table and its metadata can't be moved.
    fn is_by_folder(&self) -> bool;

    /// Whether a commit may have at most one new snapshot.
    fn takes_one_snapshot(&self) -> bool {
        false
    }

    /// The pointer that tables at later versions use, if it is another one.
    fn lasting(&self) -> Option<Arc<dyn MetadataPointer>> {
        None
    }

    /// Labels that the catalog gives the table.
    fn labels(&self) -> TableLabels {
        TableLabels::default()
    }

    /// Plans scans of the table, if the catalog's server is to do it.
    ///
    /// # Errors
    /// `Unsupported` if the server is to do it but does not offer it; errors of the catalog.
    fn planner(&self) -> Result<Option<Arc<dyn ScanPlanner>>> {
        Ok(None)
    }

    /// Whether the catalog wants reports.
    fn takes_reports(&self) -> bool {
        false
    }

    /// Gives the catalog a report. Returns at once, and a failure is nobody's concern.
    fn report(&self, _: &MetricsReport) {}

    /// The catalog that another process has to open, with its name, its properties and the table's identifier.
    fn catalog(&self) -> Option<KeptBy<'_>>;
}

/// The data that another process needs to open a table's catalog.
#[derive(Debug)]
pub struct KeptBy<'a> {
    /// The catalog's name.
    pub name: &'a str,
    /// All properties of the catalog, including secrets.
    pub properties: &'a std::collections::BTreeMap<String, String>,
    /// The table's identifier in the catalog.
    pub ident: &'a TableIdent,
}

/// A table whose folder determines its newest version.
#[derive(Debug)]
pub struct FolderPointer {
    store: Arc<dyn Store>,
    root: String,
}

impl FolderPointer {
    /// Creates the pointer for the table that a metadata file belongs to.
    pub fn of(store: Arc<dyn Store>, metadata_location: &str) -> FolderPointer {
        FolderPointer { store, root: root_of(metadata_location) }
    }

    /// Creates the pointer for a table at a folder, which need not exist.
    pub fn at(store: Arc<dyn Store>, root: &str) -> FolderPointer {
        FolderPointer { store, root: root.to_owned() }
    }

    /// The number of a new table's version. Another table in the folder may have lost its first version already.
    fn first_version(&self) -> Result<u64> {
        match find_metadata(self.store.as_ref(), &self.root).if_found()? {
            None => Ok(1),
            Some(found) => {
                Err(Error::already_exists("the folder has a table already").with("path", found.metadata_location))
            }
        }
    }
}

impl MetadataPointer for FolderPointer {
    fn load(&self) -> Result<TableVersion> {
        let (metadata, found) = load(self.store.as_ref(), &self.root)?;
        Ok(TableVersion { metadata: Arc::new(metadata), found })
    }

    /// After an error of the publication, the outcome is unknown: the file may have been created before the error.
    fn publish(&self, base: &TableVersion, commit: &MetadataCommit) -> Publication {
        let version = match if commit.creates() { self.first_version() } else { next_version(&base.found) } {
            Ok(version) => version,
            Err(e) => return Publication::Refused(e),
        };
        let base = BaseVersion { metadata: &base.metadata, path: &base.found.metadata_location };
        let base = Some(base).filter(|_| !commit.creates());
        let next = match NextVersion::prepare(self.store.as_ref(), &self.root, version, &commit.next, base) {
            Ok(next) => next,
            // Only the table in the way tells whether another client created it.
            Err(e) if commit.creates() && e.kind() == ErrorKind::CommitConflict => return Publication::Unknown(e),
            Err(e) => return Publication::Refused(e),
        };
        let found = next.publish().map(|path| FoundMetadata { metadata_location: path, version: Some(version) });
        Publication::of(commit, found, |_| false)
    }

    fn was_published(&self, base: &TableVersion, commit: &MetadataCommit) -> bool {
        let base_version = BaseVersion { metadata: &base.metadata, path: &base.found.metadata_location };
        let next = base.found.version.and_then(|v| v.checked_add(1));
        let is_there = |v| filesystem::is_published(self.store.as_ref(), &self.root, v, &commit.next, base_version);
        next.is_some_and(|v| is_there(v).unwrap_or(false))
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
        next_version(found).map(|_| ())
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

/// The version that a commit to the folder makes.
///
/// # Errors
/// `Unsupported` if a catalog tracks the versions, or no larger number is left.
fn next_version(found: &FoundMetadata) -> Result<u64> {
    let version = found.version.ok_or_else(|| tracked_elsewhere(&found.metadata_location))?;
    version.checked_add(1).ok_or_else(|| {
        Error::unsupported(format!("no version number is left after {version}"))
            .with("path", &found.metadata_location)
            .hint("Copy the table, or commit to it through a catalog")
    })
}

/// The error for a commit to a folder whose current version only a catalog knows.
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
