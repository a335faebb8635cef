//! The handle of a Paimon table at one version: open it, refresh it, and read its metadata. Verbs are in files above.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::avro::ManifestCache;
use crate::error::{Error, Result, ResultExt};
use crate::format::commit_rows::CommitRows;
use crate::format::evolution::Retention;
use crate::format::request::{RefInfo, SnapshotInfo};
use crate::format::table_format::{Behaviour, TableFormat};
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::store::Store;
use crate::types::{PartitionField, PartitionSpec, Schema, SortOrder, Transform};

/// The format of Apache Paimon.
pub static PAIMON: TableFormat = TableFormat {
    id: "paimon",
    name: "Apache Paimon",
    behaviour: Behaviour { row_count_statistics: true, declared_types: true, ..Behaviour::NONE },
    instead: &[(
        "transactions",
        "A commit makes one kind of change. To commit several writes at once, use table.writer() and table.commit([message, ...]). To publish several changes together, make them on a branch and call refs.fast_forward",
    )],
};

/// The first id of a partition field, as in Iceberg. Paimon's partition fields have no ids.
const FIRST_PARTITION_FIELD_ID: i32 = 1000;

/// A table at one snapshot. Immutable; cheap to clone; shared by threads.
#[derive(Clone, Debug)]
pub struct PaimonTable {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    metadata: PaimonTableMetadata,
    schema: Arc<TableSchema>,
    schema_path: String,
    storage_options: BTreeMap<String, String>,
    /// Manifests that scans of this table read, of its other versions and branches too.
    kept: Arc<ManifestCache>,
}

impl From<&PaimonSnapshot> for SnapshotInfo {
    /// Paimon's `commitKind` is the operation. All else that a snapshot says about its commit is the summary.
    fn from(s: &PaimonSnapshot) -> SnapshotInfo {
        let mut summary = s.properties.clone();
        let facts = [
            ("total-records", s.total_record_count),
            ("delta-records", s.delta_record_count),
            ("changelog-records", s.changelog_record_count),
            ("watermark", s.watermark),
            ("next-row-id", s.next_row_id),
            ("commit-identifier", Some(s.commit_identifier)),
        ];
        summary.extend(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_string()))));
        summary.insert("commit-user".to_owned(), s.commit_user.clone());
        SnapshotInfo {
            id: s.id,
            parent_id: (s.id > 1).then_some(s.id - 1),
            sequence_number: s.id,
            timestamp_ms: s.time_ms,
            operation: Some(s.commit_kind.to_ascii_lowercase()),
            summary,
            schema_id: i32::try_from(s.schema_id).ok(),
        }
    }
}

impl PaimonTable {
    /// The table in a folder; `None` if it is not a Paimon table.
    ///
    /// # Errors
    /// As [`PaimonTableMetadata::load`].
    pub fn find(
        store: &Arc<dyn Store>,
        root: &str,
        storage_options: &BTreeMap<String, String>,
    ) -> Result<Option<PaimonTable>> {
        let found = PaimonTableMetadata::find(store.clone(), root)?;
        found.map(|metadata| PaimonTable::at(metadata, storage_options.clone(), Arc::default())).transpose()
    }

    /// The newest version of the same table, in its folder or that of a branch.
    fn newest(&self, folder: TableFolder) -> Result<PaimonTable> {
        let inner = &self.inner;
        PaimonTable::at(PaimonTableMetadata::load(folder)?, inner.storage_options.clone(), inner.kept.clone())
    }

    /// The table at a version of its metadata.
    ///
    /// # Errors
    /// `CorruptTable` if the version has no schema.
    pub(in crate::paimon) fn at(
        metadata: PaimonTableMetadata,
        storage_options: BTreeMap<String, String>,
        kept: Arc<ManifestCache>,
    ) -> Result<PaimonTable> {
        let schema = metadata.schema()?.clone();
        let schema_path = metadata.folder.schema_path(schema.id);
        Ok(PaimonTable { inner: Arc::new(Inner { schema, schema_path, storage_options, kept, metadata }) })
    }

    /// The same version with another schema.
    pub(crate) fn with_schema(&self, schema: impl Into<Arc<TableSchema>>) -> PaimonTable {
        let schema = schema.into();
        let inner = &self.inner;
        PaimonTable {
            inner: Arc::new(Inner {
                metadata: inner.metadata.clone(),
                schema_path: self.folder().schema_path(schema.id),
                schema,
                storage_options: inner.storage_options.clone(),
                kept: inner.kept.clone(),
            }),
        }
    }

    /// The same table on a branch.
    ///
    /// # Errors
    /// `NotFound` if the branch does not exist, or if the table was dropped and created again; as
    /// [`PaimonTableMetadata::load`].
    pub(crate) fn branch(&self, name: &str) -> Result<PaimonTable> {
        self.metadata().check_same_table()?;
        self.newest(self.folder().branch(name)?)
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &TableFolder {
        &self.inner.metadata.folder
    }

    pub(crate) fn metadata(&self) -> &PaimonTableMetadata {
        &self.inner.metadata
    }

    /// The manifests that scans keep.
    pub(crate) fn kept_manifests(&self) -> &Arc<ManifestCache> {
        &self.inner.kept
    }

    /// The current schema in Paimon's own form.
    pub(crate) fn table_schema(&self) -> &Arc<TableSchema> {
        &self.inner.schema
    }

    pub(crate) fn storage_options(&self) -> &BTreeMap<String, String> {
        &self.inner.storage_options
    }

    /// The version of its schema files.
    pub fn format_version(&self) -> u8 {
        u8::try_from(self.inner.schema.version).unwrap_or(u8::MAX)
    }

    /// Its root folder.
    pub fn location(&self) -> &str {
        self.folder().root()
    }

    /// The file of the current schema.
    pub fn metadata_location(&self) -> &str {
        &self.inner.schema_path
    }

    /// Paimon's tables in file systems have no identity.
    pub fn uuid(&self) -> &str {
        ""
    }

    /// The current schema.
    pub fn schema(&self) -> &Arc<Schema> {
        self.inner.schema.columns()
    }

    /// The partition spec: the partition columns, unchanged.
    pub fn partition_spec(&self) -> Arc<PartitionSpec> {
        let field = |(id, f): (i32, &crate::paimon::spec::data_type::DataField)| PartitionField {
            source_id: f.id,
            field_id: id,
            name: f.name.clone(),
            transform: Transform::Identity,
        };
        let fields = (FIRST_PARTITION_FIELD_ID..).zip(self.inner.schema.partition_fields()).map(field).collect();
        Arc::new(PartitionSpec { id: 0, fields })
    }

    /// The sort order: always empty, as Paimon sorts by keys only.
    pub fn sort_order(&self) -> Arc<SortOrder> {
        Arc::new(SortOrder { id: 0, fields: Vec::new() })
    }

    /// The table's options.
    pub fn properties(&self) -> BTreeMap<String, String> {
        self.inner.schema.options.clone()
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Option<SnapshotInfo> {
        self.inner.metadata.snapshot.as_deref().map(SnapshotInfo::from)
    }

    /// All snapshots that still exist, oldest first, up to the current one.
    ///
    /// # Errors
    /// As [`TableFolder::snapshots`]; `NotFound` if the table was dropped and created again.
    pub fn snapshots(&self) -> Result<Vec<SnapshotInfo>> {
        self.metadata().check_same_table()?;
        let Some(current) = &self.inner.metadata.snapshot else { return Ok(Vec::new()) };
        let all = self.folder().snapshots()?;
        Ok(all.iter().filter(|s| s.id <= current.id).map(SnapshotInfo::from).collect())
    }

    /// The rows that the commits with each schema bring, by the ids of the schemas.
    ///
    /// # Errors
    /// As [`TableFolder::schemas`]; `NotFound` if the table was dropped and created again.
    pub fn commit_rows(&self) -> Result<BTreeMap<i64, CommitRows>> {
        self.metadata().check_same_table()?;
        Ok(self.folder().schemas()?.into_iter().map(|(id, schema)| (id, schema.commit_rows())).collect())
    }

    /// Branches and tags by name. A branch without snapshots is not among them.
    ///
    /// # Errors
    /// As [`TableFolder::tags`] and [`TableFolder::latest_snapshot`]; `NotFound` if the table was dropped and created
    /// again.
    pub fn refs(&self) -> Result<Vec<RefInfo>> {
        self.metadata().check_same_table()?;
        let info =
            |name: String, snapshot_id, kind| RefInfo { name, snapshot_id, kind, retention: Retention::default() };
        let folder = self.folder();
        let mut refs: Vec<RefInfo> = Vec::new();
        refs.extend(self.inner.metadata.snapshot.iter().map(|s| info(folder.branch_name().to_owned(), s.id, "branch")));
        for name in folder.branches()?.into_iter().filter(|name| name != folder.branch_name()) {
            // One may be dropped just now.
            let latest = folder.branch(&name).and_then(|branch| branch.latest_snapshot()).if_found()?.flatten();
            refs.extend(latest.map(|s| info(name, s.id, "branch")));
        }
        refs.extend(folder.tags()?.into_iter().map(|tag| info(tag.name, tag.snapshot.id, "tag")));
        refs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(refs)
    }

    /// The newest version of the same table.
    ///
    /// # Errors
    /// As [`PaimonTableMetadata::load`]; `NotFound` if the table was dropped and created again.
    pub fn refresh(&self) -> Result<PaimonTable> {
        let newest = self.newest(self.folder().clone())?;
        self.metadata().check_same(newest.metadata())?;
        Ok(newest)
    }

    /// The version that a commit of this process led to.
    ///
    /// # Errors
    /// `CommitStateUnknown` if the table can't be read afterwards. The commit was made, and must not be repeated.
    pub(crate) fn after_commit(&self) -> Result<PaimonTable> {
        self.refresh().map_err(|e| {
            Error::state_unknown("the commit was made, but the table could not be read after it")
                .with("table", self.location())
                .hint("Open the table again and look for the change; do not repeat it")
                .because(e)
        })
    }

    /// The newest version of a branch; of this table's own branch if `branch` is `None`.
    ///
    /// # Errors
    /// As [`PaimonTable::branch`] and [`PaimonTable::refresh`].
    pub(crate) fn newest_of(&self, branch: Option<&str>) -> Result<PaimonTable> {
        match branch {
            Some(name) if name != self.folder().branch_name() => self.branch(name),
            _ => self.refresh(),
        }
    }
}
