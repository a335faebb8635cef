//! The handle of a table: opening it and reading its properties.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, ErrorKind, Result};
use crate::format::evolution::{RefKind, Retention};
use crate::format::request::{RefInfo, SnapshotInfo};
use crate::format::table_format::{Behaviour, TableFormat};
use crate::format::task::WrittenAt;
use crate::iceberg::catalog::interface::OpenedTable;
use crate::iceberg::catalog::metadata_files::{self, FoundMetadata};
use crate::iceberg::catalog::metadata_pointer::{FolderPointer, MetadataPointer, TableVersion};
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::store::{self, Location, Store, location};
use crate::types::{PartitionSpec, Schema, SortOrder};

/// The format of Apache Iceberg.
pub static ICEBERG: TableFormat = TableFormat {
    id: "iceberg",
    name: "Apache Iceberg",
    behaviour: Behaviour {
        compaction_by_arguments: true,
        branch_writes_by_executors: true,
        independent_writers: true,
        distribution_modes: true,
        plan_cache: true,
        snapshot_parents: true,
        streams_of_appends: true,
        row_count_statistics: false,
        declared_types: false,
    },
    instead: &[],
};

impl From<&Snapshot> for SnapshotInfo {
    fn from(s: &Snapshot) -> Self {
        let mut summary = s.summary.clone();
        SnapshotInfo {
            id: s.id,
            parent_id: s.parent_id,
            sequence_number: s.sequence_number,
            timestamp_ms: s.timestamp_ms,
            operation: summary.remove("operation"),
            summary,
            schema_id: s.schema_id,
        }
    }
}

/// Which snapshots the metadata of a handle has.
#[derive(Debug)]
pub(in crate::iceberg) enum KnownSnapshots {
    /// All that the table had at this version.
    Whole,
    /// Those of branches and tags. The same table with all snapshots is loaded once, when something needs them.
    OfRefs(OnceLock<IcebergTable>),
}

/// A table at one version of its metadata. Immutable; cheap to clone; shared by threads.
#[derive(Clone, Debug)]
pub struct IcebergTable {
    pub(crate) inner: Arc<IcebergTableInner>,
}

#[derive(Debug)]
pub(crate) struct IcebergTableInner {
    pub(crate) store: Arc<dyn Store>,
    /// The table's actual root folder.
    pub(crate) root: String,
    pub(crate) found: FoundMetadata,
    /// Keeps the table's current version.
    pub(crate) versions: Arc<dyn MetadataPointer>,
    pub(crate) metadata: Arc<TableMetadata>,
    pub(crate) location: Location,
    pub(crate) storage_options: BTreeMap<String, String>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) spec: Arc<PartitionSpec>,
    pub(crate) sort_order: Arc<SortOrder>,
    pub(in crate::iceberg) moved: bool,
    /// Which snapshots `metadata` has.
    pub(in crate::iceberg) history: KnownSnapshots,
    /// The snapshots that the commit added by which this version was made here.
    pub(in crate::iceberg) committed: Vec<i64>,
}

impl IcebergTable {
    /// Opens the table at a root folder or metadata file. With `moved`, its recorded paths are read below `location`,
    /// and the table is read-only.
    ///
    /// # Errors
    /// `NotFound` for a missing table. `CorruptTable` or `Unsupported` for metadata that can't be read. `InvalidInput`
    /// for options that no store has. Errors of the store.
    pub fn open(location: &str, storage_options: BTreeMap<String, String>, moved: bool) -> Result<IcebergTable> {
        let store = store::open_store(location, &storage_options)?;
        IcebergTable::open_in(store, location, storage_options, moved)
    }

    /// As [`IcebergTable::open`], with the store that the table is in.
    pub(crate) fn open_in(
        store: Arc<dyn Store>,
        location: &str,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> Result<IcebergTable> {
        let (metadata, found) = metadata_files::load(store.as_ref(), &location::absolute(location)?)?;
        IcebergTable::of(store, metadata, found, storage_options, moved)
    }

    /// A table that is identified by its folder.
    pub(crate) fn of(
        store: Arc<dyn Store>,
        metadata: TableMetadata,
        found: FoundMetadata,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> Result<IcebergTable> {
        let versions = Arc::new(FolderPointer::of(store.clone(), &found.metadata_location));
        IcebergTable::build(store, versions, Arc::new(metadata), found, storage_options, moved, KnownSnapshots::Whole)
    }

    /// A table as a catalog opened it.
    pub(crate) fn of_catalog(opened: OpenedTable) -> Result<IcebergTable> {
        let OpenedTable { store, metadata, found, versions } = opened;
        let options = store.options();
        let history = match versions.opens_with_all_snapshots() {
            true => KnownSnapshots::Whole,
            false => KnownSnapshots::OfRefs(OnceLock::new()),
        };
        IcebergTable::build(store, versions, metadata, found, options, false, history)
    }

    /// The same table at another version, whose metadata has all snapshots.
    pub(crate) fn at(&self, metadata: impl Into<Arc<TableMetadata>>, found: FoundMetadata) -> Result<IcebergTable> {
        self.with_version(metadata.into(), found, KnownSnapshots::Whole)
    }

    /// The same table at another version, whose metadata may have only the snapshots of branches and tags.
    pub(in crate::iceberg) fn at_refs(
        &self,
        metadata: Arc<TableMetadata>,
        found: FoundMetadata,
    ) -> Result<IcebergTable> {
        self.with_version(metadata, found, KnownSnapshots::OfRefs(OnceLock::new()))
    }

    /// The table, which says that a commit added these snapshots.
    pub(in crate::iceberg) fn made_by(mut self, committed: Vec<i64>) -> IcebergTable {
        // Nobody else has the new table yet.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.committed = committed;
        }
        self
    }

    fn with_version(
        &self,
        metadata: Arc<TableMetadata>,
        found: FoundMetadata,
        history: KnownSnapshots,
    ) -> Result<IcebergTable> {
        let IcebergTableInner { store, versions, storage_options, moved, .. } = self.inner.as_ref();
        let versions = versions.lasting().unwrap_or_else(|| versions.clone());
        IcebergTable::build(store.clone(), versions, metadata, found, storage_options.clone(), *moved, history)
    }

    fn build(
        store: Arc<dyn Store>,
        versions: Arc<dyn MetadataPointer>,
        metadata: Arc<TableMetadata>,
        found: FoundMetadata,
        storage_options: BTreeMap<String, String>,
        moved: bool,
        history: KnownSnapshots,
    ) -> Result<IcebergTable> {
        let root = versions.root(&metadata, &found);
        let location = if moved { Location::moved(&metadata.location, &root) } else { Location::recorded() };
        let inner = IcebergTableInner {
            store,
            root,
            found,
            versions,
            location,
            storage_options,
            schema: metadata.schema()?.clone(),
            spec: metadata.spec()?.clone(),
            sort_order: metadata.sort_order()?.clone(),
            metadata,
            moved,
            history,
            committed: Vec::new(),
        };
        Ok(IcebergTable { inner: Arc::new(inner) })
    }

    /// The version of the format.
    pub fn format_version(&self) -> u8 {
        self.inner.metadata.format_version
    }

    /// The table's recorded location.
    pub fn location(&self) -> &str {
        &self.inner.metadata.location
    }

    /// The metadata file that was read.
    pub fn metadata_location(&self) -> &str {
        &self.inner.found.metadata_location
    }

    /// `table-uuid`; empty if a version 1 table has none.
    pub fn uuid(&self) -> &str {
        self.inner.metadata.table_uuid.as_deref().unwrap_or("")
    }

    /// The current schema.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.schema
    }

    /// The partition spec that writers use.
    pub fn partition_spec(&self) -> Arc<PartitionSpec> {
        self.inner.spec.clone()
    }

    /// The sort order that writers use.
    pub fn sort_order(&self) -> Arc<SortOrder> {
        self.inner.sort_order.clone()
    }

    /// Table properties.
    pub fn properties(&self) -> BTreeMap<String, String> {
        self.inner.metadata.properties.clone()
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Option<SnapshotInfo> {
        self.inner.metadata.current_snapshot().map(|s| SnapshotInfo::from(s.as_ref()))
    }

    /// All snapshots, oldest first.
    pub fn snapshots(&self) -> Vec<SnapshotInfo> {
        self.inner.metadata.snapshots.iter().map(|s| SnapshotInfo::from(s.as_ref())).collect()
    }

    /// Branches and tags by name.
    pub fn refs(&self) -> Vec<RefInfo> {
        let info = |(name, r): (&String, &crate::iceberg::spec::snapshot::SnapshotRef)| RefInfo {
            name: name.clone(),
            snapshot_id: r.snapshot_id,
            kind: match r.kind {
                RefKind::Branch => "branch",
                RefKind::Tag => "tag",
            },
            retention: Retention {
                min_snapshots_to_keep: r.min_snapshots_to_keep,
                max_snapshot_age_ms: r.max_snapshot_age_ms,
                max_ref_age_ms: r.max_ref_age_ms,
            },
        };
        self.inner.metadata.refs.iter().map(info).collect()
    }

    /// The newest version of the same table.
    ///
    /// # Errors
    /// As [`IcebergTable::open`]; `CorruptTable` if another table has replaced it.
    pub fn refresh(&self) -> Result<IcebergTable> {
        let TableVersion { metadata, found } = self.inner.versions.load()?;
        check_same_table(&self.inner.metadata, &metadata, &self.inner.root)?;
        self.at(metadata, found)
    }

    /// The current version, in the form that messages use.
    pub(crate) fn written_now(&self) -> WrittenAt {
        WrittenAt {
            sequence_number: self.inner.metadata.last_sequence_number,
            time_ms: crate::types::temporal::now_ms(),
        }
    }

    /// The root folder that commits go to.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` if the table can't be committed to.
    pub fn writable_location(&self) -> Result<&str> {
        self.check_writable()?;
        Ok(&self.inner.root)
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.inner.moved {
            return Err(Error::invalid("a table opened with moved=True is read-only")
                .with("path", &self.inner.root)
                .hint("Open it where its metadata says it is, or create a table and append the rows"));
        }
        self.inner.versions.check_writable(&self.inner.metadata, &self.inner.found)?;
        self.check_not_dropped()
    }

    /// Writing data files of a dropped table would create its folder again. If the opened version is missing, it may
    /// also have expired.
    fn check_not_dropped(&self) -> Result<()> {
        let store = &self.inner.store;
        if store.is_remote() {
            return Ok(());
        }
        match store.size(self.metadata_location()) {
            Err(e) if e.kind() == ErrorKind::NotFound => self.refresh().map(drop),
            _ => Ok(()),
        }
    }
}

/// Refuses metadata of another table under the same location (specification, `table-uuid`).
pub(crate) fn check_same_table(old: &TableMetadata, new: &TableMetadata, root: &str) -> Result<()> {
    match (&old.table_uuid, &new.table_uuid) {
        (Some(a), Some(b)) if a != b => {
            Err(Error::corrupt("the table at this location is not the one that was opened: its uuid changed")
                .with("path", root)
                .with("opened", a)
                .with("found", b)
                .hint("It was dropped and created again; open it again"))
        }
        _ => Ok(()),
    }
}
