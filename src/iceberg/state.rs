//! A table: open it, look at it, scan it, append to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::record_batch::RecordBatchReader;
use serde_json::json;

use crate::data::write::context::{RowOrder, Sorting, WriteContext};
use crate::data::write::locations::FileLocations;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, ErrorKind, Result};
use crate::format::commit::CommitOptions;
use crate::format::evolution::RefKind;
use crate::format::evolution::Retention;
use crate::format::request::{RefInfo, ScanRequest, SnapshotInfo, WriteOptions};
use crate::format::task::{CommitMessage, WrittenAt};
use crate::iceberg::catalog::interface::Opened;
use crate::iceberg::catalog::metadata_files::{self, FoundMetadata};
use crate::iceberg::catalog::metadata_pointer::{FolderVersions, MetadataPointer, TableVersion};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::committing;
use crate::iceberg::rows::live::schema_with_lineage;
use crate::iceberg::scan::handle::Scan;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::store::{self, Location, Store, location};
use crate::types::metadata_columns::LINEAGE_COLUMNS;
use crate::types::{PartitionSpec, Schema, SortOrder};

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

/// A table at one version of its metadata. Immutable; cheap to clone; shared by threads.
#[derive(Clone, Debug)]
pub struct Table {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    /// The table's root folder, where it really is.
    pub(crate) root: String,
    pub(crate) found: FoundMetadata,
    /// What keeps the table's current version.
    pub(crate) versions: Arc<dyn MetadataPointer>,
    pub(crate) metadata: Arc<TableMetadata>,
    pub(crate) location: Location,
    pub(crate) storage_options: BTreeMap<String, String>,
    schema: Arc<Schema>,
    spec: Arc<PartitionSpec>,
    sort_order: Arc<SortOrder>,
    moved: bool,
}

impl Table {
    /// Opens the table at a root folder or metadata file. With `moved` its recorded paths are read below `location`, and
    /// it can't be written.
    ///
    /// # Errors
    /// `NotFound` if there is no table; `CorruptTable` or `Unsupported` for metadata that can't be read; `InvalidInput` for
    /// options that no store has; the store's.
    pub fn open(location: &str, storage_options: BTreeMap<String, String>, moved: bool) -> Result<Table> {
        let store = store::open_store(location, &storage_options)?;
        Table::open_in(store, location, storage_options, moved)
    }

    /// As [`Table::open`], with the store that the table is in.
    pub(crate) fn open_in(
        store: Arc<dyn Store>,
        location: &str,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> Result<Table> {
        let (metadata, found) = metadata_files::load(store.as_ref(), &location::absolute(location)?)?;
        Table::of(store, metadata, found, storage_options, moved)
    }

    /// A table that is known by its folder.
    pub(crate) fn of(
        store: Arc<dyn Store>,
        metadata: TableMetadata,
        found: FoundMetadata,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> Result<Table> {
        let versions = Arc::new(FolderVersions::of(store.clone(), &found.metadata_location));
        Table::made(store, versions, metadata, found, storage_options, moved)
    }

    /// A table as a catalog opened it.
    pub(crate) fn of_catalog(opened: Opened) -> Result<Table> {
        let Opened { store, metadata, found, versions } = opened;
        let options = store.options();
        Table::made(store, versions, metadata, found, options, false)
    }

    /// The same table at another version.
    pub(crate) fn at(&self, metadata: TableMetadata, found: FoundMetadata) -> Result<Table> {
        let Inner { store, versions, storage_options, moved, .. } = self.inner.as_ref();
        Table::made(store.clone(), versions.clone(), metadata, found, storage_options.clone(), *moved)
    }

    fn made(
        store: Arc<dyn Store>,
        versions: Arc<dyn MetadataPointer>,
        metadata: TableMetadata,
        found: FoundMetadata,
        storage_options: BTreeMap<String, String>,
        moved: bool,
    ) -> Result<Table> {
        let root = versions.root(&metadata, &found);
        let location = if moved { Location::moved(&metadata.location, &root) } else { Location::recorded() };
        let inner = Inner {
            store,
            root,
            found,
            versions,
            location,
            storage_options,
            schema: metadata.schema()?.clone(),
            spec: metadata.spec()?.clone(),
            sort_order: metadata.sort_order()?.clone(),
            metadata: Arc::new(metadata),
            moved,
        };
        Ok(Table { inner: Arc::new(inner) })
    }

    /// `iceberg` or `paimon`.
    pub fn format(&self) -> &'static str {
        "iceberg"
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

    /// `table-uuid`; empty where v1 has none.
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
    /// As [`Table::open`]; `CorruptTable` if another table has taken its place.
    pub fn refresh(&self) -> Result<Table> {
        let TableVersion { metadata, found } = self.inner.versions.load()?;
        check_same_table(&self.inner.metadata, &metadata, &self.inner.root)?;
        self.at(metadata, found)
    }

    /// The JSON from which [`Table::from_json`] opens the same version again, in another process too. Of a table of a catalog,
    /// it has all that the catalog was opened with, secrets too; of a catalog in memory nothing, so that what is opened is
    /// read-only.
    pub fn to_json(&self) -> String {
        let mut out = json!({
            "metadata-location": self.metadata_location(),
            "storage-options": self.inner.storage_options,
            "moved": self.inner.moved,
        });
        if let Some(kept) = self.inner.versions.catalog() {
            let ident = kept.ident.to_string();
            out["catalog"] = json!({"name": kept.name, "properties": kept.properties, "identifier": ident});
        }
        out.to_string()
    }

    /// A lazy scan.
    ///
    /// # Errors
    /// `NotFound` for a version that does not exist; `InvalidInput` for a wrong filter, column or option, or if `at` does
    /// not come from `since`.
    pub fn scan(&self, request: ScanRequest) -> Result<Scan> {
        Scan::new(self, request)
    }

    /// Writes the stream's rows and commits them; returns the new version of the table. If the commit certainly failed,
    /// the written files are removed.
    ///
    /// # Errors
    /// `InvalidInput` for rows that do not fit the schema; `CommitConflict` after the last retry;
    /// `CommitStateUnknown` if it can't be told whether the commit happened; the store's.
    pub fn append(&self, rows: Box<dyn RecordBatchReader + Send>) -> Result<Table> {
        self.append_with(rows, &WriteOptions::default(), &CommitOptions::default())
    }

    /// As [`Table::append`], sorted, to a branch or with members for the snapshot's summary.
    ///
    /// # Errors
    /// As [`Table::append`] and [`Table::write_with`]; `InvalidInput` for options that don't go together, or a branch that
    /// is a tag.
    pub fn append_with(
        &self,
        rows: Box<dyn RecordBatchReader + Send>,
        how: &WriteOptions,
        options: &CommitOptions,
    ) -> Result<Table> {
        options.check(self)?;
        let message = self.write_with(rows, how)?;
        if message.files.is_empty() {
            return self.refresh();
        }
        let change = SnapshotProducer::append(self.inner.store.clone(), message.files).owning_files();
        committing::commit(self, vec![Box::new(options.apply(change, self)?)]).into_result()
    }

    /// Writes the stream's rows into new files without committing. `task` numbers the writers of one job. Files of a
    /// failed write are removed.
    ///
    /// # Errors
    /// As [`Table::append`].
    pub fn write(&self, rows: Box<dyn RecordBatchReader + Send>, task: u64) -> Result<CommitMessage> {
        self.write_with(rows, &WriteOptions { task, ..WriteOptions::default() })
    }

    /// As [`Table::write`], in another order than the table's, or for rows that are in the table already.
    ///
    /// # Errors
    /// As [`Table::write`]; `InvalidInput` for texts that are no sort order, and for rows without their lineage where they
    /// are to keep it.
    pub fn write_with(&self, rows: Box<dyn RecordBatchReader + Send>, how: &WriteOptions) -> Result<CommitMessage> {
        self.check_writable()?;
        let mut context = if how.again { self.lineage_context(how.task)? } else { self.write_context(how.task)? };
        context.row_order = match how.sort_by.as_deref() {
            None => RowOrder::Sort,
            Some([]) => RowOrder::Any,
            Some(texts) => RowOrder::By(Sorting::Order(self.order_by(texts)?)),
        };
        let given = rows.schema();
        let mut lineage = context.schema.fields.iter().filter(|f| LINEAGE_COLUMNS.contains(&f.id));
        if let Some(column) = lineage.find(|f| given.index_of(&f.name).is_err()) {
            let text = "rows of a table of format version 3 keep their identity when they are rewritten";
            return Err(Error::invalid(text)
                .with("column", &column.name)
                .hint("Read them with select=[..., \"_row_id\", \"_last_updated_sequence_number\"]"));
        }
        let mut writer = DataWriter::new(self.inner.store.clone(), context)?;
        for batch in rows {
            let batch = batch.map_err(|e| Error::invalid("the stream of rows failed").because(e))?;
            writer.write(&batch)?;
        }
        let rewrites = how.again.then(|| self.format_version());
        Ok(CommitMessage { rewrites, ..CommitMessage::new(self.uuid(), writer.finish()?, Some(self.written_now())) })
    }

    /// Now, as messages say it.
    pub(crate) fn written_now(&self) -> WrittenAt {
        WrittenAt {
            sequence_number: self.inner.metadata.last_sequence_number,
            time_ms: crate::format::commit::now_ms(),
        }
    }

    /// The sort order that texts describe (`ts desc nulls last`), with the id of the table's own order that is the same; 0
    /// if none is.
    ///
    /// # Errors
    /// As [`parse_sort_by`].
    pub(crate) fn order_by<T: AsRef<str>>(&self, texts: &[T]) -> Result<SortOrder> {
        let order = parse_sort_by(texts, self.schema())?;
        let own = std::iter::once(&self.inner.sort_order).chain(&self.inner.metadata.sort_orders);
        let id = own.into_iter().find(|own| own.fields == order.fields).map_or(0, |own| own.id);
        Ok(SortOrder { id, ..order })
    }

    /// How rows are written that keep who they are: with their lineage, where the table has it.
    ///
    /// # Errors
    /// As [`Table::write_context`]; `Unsupported` if the table has a column with the name of one of lineage.
    pub(crate) fn lineage_context(&self, task: u64) -> Result<WriteContext> {
        Ok(WriteContext { schema: schema_with_lineage(self)?, ..self.write_context(task)? })
    }

    /// How this version's rows are written: one context for each writer, as it names files by it. `task` numbers the
    /// writers of one job.
    ///
    /// # Errors
    /// As [`FileLocations::new`].
    pub(crate) fn write_context(&self, task: u64) -> Result<WriteContext> {
        let m = &self.inner.metadata;
        Ok(WriteContext {
            schema: self.schema().clone(),
            spec: self.inner.spec.clone(),
            order: self.inner.sort_order.clone(),
            row_order: RowOrder::Sort,
            locations: FileLocations::new(&m.location, &m.properties)?,
            properties: m.properties.clone(),
            write_id: uuid::Uuid::new_v4().to_string(),
            task_id: task,
        })
    }

    /// The root folder that commits go to.
    ///
    /// # Errors
    /// `InvalidInput` or `Unsupported` if the table can't be committed to.
    pub fn writable_location(&self) -> Result<&str> {
        self.check_writable()?;
        Ok(&self.inner.root)
    }

    fn check_writable(&self) -> Result<()> {
        if self.inner.moved {
            return Err(Error::invalid("a table opened with moved=True is read-only")
                .with("path", &self.inner.root)
                .hint("Open it where its metadata says it is, or create a table and append the rows"));
        }
        self.inner.versions.check_writable(&self.inner.metadata, &self.inner.found)?;
        self.check_not_dropped()
    }

    /// Data files of a table that was dropped would make its folder anew. Where the version that was opened is not there any
    /// more, it may also have expired.
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
                .hint("It was dropped and created again; open it anew"))
        }
        _ => Ok(()),
    }
}
