//! How the rows of a table become files: their columns, formats, folders, buckets and order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::append_rows::AppendRows;
use super::buckets::RowBuckets;
use super::default_values::Defaults;
use super::facts::{FactFinder, FoundFacts, KeyedLayout};
use super::file_indexes::IndexPlan;
use super::keyed::dynamic_buckets::DynamicBuckets;
use super::keyed::key_buckets::KeyBuckets;
use super::keyed::key_places::{KeyPlaces, Moved};
use super::keyed::key_rows::{KeyRows, place_of};
use super::keyed::keyed_rows::{KeyedRows, Role};
use super::keyed::row_kinds::{DELETE, IGNORE_UPDATE_BEFORE, INSERT, Kinds, RowKinds, UPDATE};
use super::names::{BUCKET, FileNames};
use super::new_files::LEVEL;
use super::properties;
use super::stats::StatsConfig;
use super::written::WrittenBuckets;
use crate::data::arrow::schema::to_arrow;
use crate::data::blobs::write::BlobColumns;
use crate::data::declared_types::stored::ExactTypes;
use crate::data::merge::buffer::BufferMerge;
use crate::data::merge::kind_rows::with_kind;
use crate::data::merge::rules::ignores_deletes;
use crate::data::write::context::{RowOrder, Sorting, WriteContext};
use crate::data::write::file_write::FileSettings;
use crate::data::write::locations::FileLocations;
use crate::data::write::table_rows::TableFiles;
use crate::data::write::writer::DataWriter;
use crate::error::{Error, Result};
use crate::format::task::{BucketContext, FileFormat};
use crate::paimon::manifest::hash_index::HashIndexes;
use crate::paimon::manifest::index_manifest::read_index_manifest;
use crate::paimon::spec::bucket::{POSTPONE_BUCKET, UNAWARE_BUCKET};
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::state::PaimonTable;
use crate::store::Store;
use crate::types::metadata_columns::{BUCKET_ID, STORED_KEY_BASE, STORED_SEQUENCE_NUMBER, STORED_VALUE_KIND};
use crate::types::options::Options;
use crate::types::{
    Field, FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, SortField, SortOrder, Transform,
};

/// The effect of a writer's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteKind {
    /// Adds them. In tables with a primary key they replace rows with the same key.
    #[default]
    Add,
    /// As [`WriteKind::Add`], for rows that existed with other values.
    Update,
    /// Deletes rows with the same key. The given rows need all columns that can't be null.
    Delete,
}

/// The state of a writer that another one needs to write its rows again.
#[derive(Clone, Debug, Default)]
pub struct RewriteState {
    /// Keys that were taken out of partitions.
    pub(super) moved: Moved,
}

/// How the rows of a table become files.
pub(crate) struct WritePlan<'t> {
    pub(crate) table: &'t TableSchema,
    pub(crate) options: Options<'t>,
    pub(crate) columns: Arc<Schema>,
    /// Values of columns that new rows lack or have as null.
    pub(crate) defaults: Defaults,
    pub(crate) format: FileFormat,
    pub(crate) paths: TablePaths,
    pub(crate) write_id: String,
    /// The fixed number of buckets, if there is one.
    pub(crate) buckets: Option<i32>,
    /// Whether rows get their buckets later.
    pub(crate) postpones: bool,
    pub(crate) store: Arc<dyn Store>,
    /// The level of the files.
    pub(crate) level: i32,
}

/// How files of a table with a primary key are made, and the places of the key columns that they add.
pub(crate) struct KeyedFiles {
    pub(crate) settings: FileSettings,
    pub(crate) stored: Schema,
    pub(crate) stored_keys: Vec<usize>,
}

/// How rows with keys are written.
pub(super) struct Keyed<'k> {
    pub(super) kind: WriteKind,
    /// Whether they were written before, and have their kinds.
    pub(super) is_rewrite: bool,
    pub(super) buckets: KeyBuckets,
    pub(super) written: &'k WrittenBuckets,
    pub(super) found: &'k Arc<FoundFacts>,
}

impl<'t> WritePlan<'t> {
    pub(crate) fn new(
        table: &PaimonTable,
        schema: &'t TableSchema,
        defaults: &Defaults,
        count: i32,
        options: Options<'t>,
    ) -> Result<WritePlan<'t>> {
        Ok(WritePlan {
            table: schema,
            options,
            columns: schema.columns().clone(),
            defaults: defaults.clone(),
            format: properties::file_format(&options, LEVEL)?,
            paths: TablePaths::new(table.location(), schema)?,
            write_id: uuid::Uuid::new_v4().to_string(),
            buckets: (count > 0).then_some(count),
            postpones: count == POSTPONE_BUCKET,
            store: table.folder().store().clone(),
            level: LEVEL,
        })
    }

    /// The partition spec of rows: partition columns, then the bucket.
    fn spec(&self) -> PartitionSpec {
        let field = |(field_id, source_id, name): (FieldId, FieldId, &str)| PartitionField {
            source_id,
            field_id,
            name: name.to_owned(),
            transform: Transform::Identity,
        };
        let partition = self.table.partition_fields().map(|f| (f.id, f.name.as_str()));
        let fields = partition.chain(self.has_buckets().then_some((BUCKET_ID, BUCKET)));
        PartitionSpec {
            id: 0,
            fields: (1000..).zip(fields).map(|(id, (source, name))| field((id, source, name))).collect(),
        }
    }

    pub(crate) fn names(&self) -> FileNames {
        FileNames {
            paths: self.paths.clone(),
            prefix: self.options.get("data-file.prefix").unwrap_or("data-").to_owned(),
            write_id: self.write_id.clone(),
            format: self.format,
            count: 0,
            bucket: self.bucket(),
        }
    }

    fn bucketing(&self) -> Result<Option<RowBuckets>> {
        self.buckets.map(|count| RowBuckets::new(self.table, count)).transpose()
    }

    fn indexes(&self) -> Result<Option<Arc<IndexPlan>>> {
        IndexPlan::of(self.table, &self.options, self.store.clone())
    }

    /// Whether rows have buckets of their own.
    fn has_buckets(&self) -> bool {
        self.buckets.is_some() || self.table.has_primary_key() && !self.postpones
    }

    /// The bucket of all rows, if they have none of their own.
    pub(super) fn bucket(&self) -> i32 {
        if self.postpones { POSTPONE_BUCKET } else { UNAWARE_BUCKET }
    }

    /// The way in which rows with keys get their buckets.
    pub(super) fn key_buckets(
        &self,
        table: &PaimonTable,
        kind: WriteKind,
        replaces: bool,
        other: RewriteState,
    ) -> Result<KeyBuckets> {
        if let Some(fixed) = self.bucketing()? {
            return Ok(KeyBuckets::Fixed(fixed));
        }
        if self.postpones {
            return Ok(KeyBuckets::Postponed);
        }
        if is_over_partitions(self.table) {
            let places = KeyPlaces::new(table, replaces, kind == WriteKind::Delete, other.moved)?;
            return Ok(KeyBuckets::Anywhere(Arc::new(Mutex::new(places))));
        }
        let indexes = if replaces { None } else { Some(hash_indexes(table)?) };
        Ok(KeyBuckets::Dynamic(Arc::new(Mutex::new(DynamicBuckets::new(self.table, indexes)?))))
    }

    /// The columns of incoming rows.
    fn incoming(&self, is_rewrite: bool) -> Arc<Schema> {
        let columns = self.defaults.incoming(&self.columns);
        Arc::new(if is_rewrite { with_kind(&columns) } else { columns })
    }

    /// Whether files of the changelog are written: with `changelog-producer` = `input`.
    pub(super) fn writes_changelog(&self) -> bool {
        let producer = self.options.get("changelog-producer").unwrap_or_default();
        self.table.has_primary_key() && producer.eq_ignore_ascii_case("input") && !self.postpones
    }

    pub(super) fn writer(
        &self,
        table: &PaimonTable,
        is_rewrite: bool,
        files: (TableFiles, RowOrder),
    ) -> Result<DataWriter> {
        let (files, row_order) = files;
        let context = WriteContext {
            schema: files.prepared.clone(),
            spec: Arc::new(self.spec()),
            order: Arc::new(SortOrder::default()),
            row_order,
            locations: FileLocations::in_folder(table.location()),
            properties: BTreeMap::new(),
            write_id: self.write_id.clone(),
            task_id: 0,
        };
        DataWriter::of_table(table.folder().store().clone(), context, self.incoming(is_rewrite), files)
    }

    /// The columns, then the bucket.
    fn with_bucket(&self, columns: Vec<Field>) -> Arc<Schema> {
        let bucket = self.has_buckets().then(|| Field::new(BUCKET_ID, BUCKET, true, PrimitiveType::Int));
        Arc::new(Schema::new(self.columns.id, columns.into_iter().chain(bucket).collect::<Vec<_>>(), Vec::new()))
    }

    fn settings(&self, stored: Schema, exact: &ExactTypes, finder: FactFinder) -> Result<FileSettings> {
        let properties = properties::writer_properties(&self.options, self.format, self.level)?;
        FileSettings::of_exact(self.format, Arc::new(stored), exact, &properties, Arc::new(finder))
    }

    pub(crate) fn append_files(&self, found: &Arc<FoundFacts>) -> Result<(FileSettings, Schema)> {
        let all = plain(self.columns.fields.to_vec());
        let blobs = self.table.blob_places();
        let others: Vec<usize> = (0..all.fields.len()).filter(|at| !blobs.contains(at)).collect();
        let indexes = self.indexes()?;
        if blobs.is_empty() {
            return Ok((self.files_of(&others, indexes, found)?, all));
        }
        let indexes = indexes.map(|plan| plan.among(&others)).transpose()?;
        let settings = self.files_of(&others, indexes, found)?;
        let name = |at: usize| self.table.fields.get(at).map(|field| (at, field.name.clone()));
        let blobs = BlobColumns {
            columns: blobs.into_iter().filter_map(name).collect(),
            others,
            arrow: to_arrow(&all)?,
            target_bytes: properties::blob_target_bytes(&self.options)?,
            refuses_descriptors: self.options.boolean("blob-as-descriptor", false)?,
            written: found.blobs.clone(),
        };
        Ok((settings.with_blobs(blobs), all))
    }

    /// How files of these columns are made.
    pub(crate) fn files_of(
        &self,
        places: &[usize],
        indexes: Option<Arc<IndexPlan>>,
        found: &Arc<FoundFacts>,
    ) -> Result<FileSettings> {
        let fields: Vec<DataField> = places.iter().filter_map(|at| self.table.fields.get(*at).cloned()).collect();
        let finder = FactFinder {
            key_stats: StatsConfig::of_keys(std::iter::empty(), self.format),
            value_stats: StatsConfig::of_values(&fields, &[], &self.options, self.level, self.format)?,
            first_value: 0,
            keyed: None,
            indexes,
            found: found.clone(),
        };
        let stored = plain(places.iter().filter_map(|at| self.columns.fields.get(*at).cloned()).collect());
        self.settings(stored, &ExactTypes(self.table.declared().as_ref().clone()), finder)
    }

    pub(super) fn append(&self, found: &Arc<FoundFacts>, are_new: bool) -> Result<TableFiles> {
        let (settings, stored) = self.append_files(found)?;
        let prepared = self.with_bucket(self.columns.fields.to_vec());
        let rows = AppendRows {
            schema: Arc::new(self.table.clone()),
            defaults: self.defaults.clone(),
            kinds: if are_new { self.appended_kinds()? } else { None },
            buckets: self.bucketing()?,
            names: self.names(),
            prepared: to_arrow(&prepared)?,
            stored: to_arrow(&stored)?,
        };
        let target_bytes = properties::target_bytes(&self.options, false)?;
        Ok(TableFiles { prepared, settings, target_bytes, rows: Box::new(rows) })
    }

    pub(crate) fn keyed_files(&self, found: &Arc<FoundFacts>) -> Result<KeyedFiles> {
        let thin = self.options.boolean("data-file.thin-mode", false)?;
        let keys: Vec<&DataField> = self.table.key_fields().collect();
        let key_places = keys.iter().map(|k| place_of(&self.columns, k.id)).collect::<Result<Vec<_>>>()?;
        let stored_keys = if thin { Vec::new() } else { key_places.clone() };
        let (stored, exact) = self.stored_with_keys(&stored_keys);
        let first_value = stored_keys.len() + 2;
        // In thin files keys are only among the values.
        let key_columns: Vec<usize> = match thin {
            true => key_places.iter().map(|at| at + first_value).collect(),
            false => (0..keys.len()).collect(),
        };
        let in_full: Vec<DataField> = if thin { keys.iter().map(|k| (*k).clone()).collect() } else { Vec::new() };
        let finder = FactFinder {
            key_stats: StatsConfig::of_keys(keys.iter().map(|k| (*k).clone()), self.format),
            value_stats: StatsConfig::of_values(&self.table.fields, &in_full, &self.options, self.level, self.format)?,
            first_value,
            keyed: Some(KeyedLayout {
                keys: KeyRows::new(&stored, keys.iter().copied())?,
                key_columns,
                sequence: first_value - 2,
                kind: first_value - 1,
            }),
            indexes: self.indexes()?,
            found: found.clone(),
        };
        Ok(KeyedFiles { settings: self.settings(stored.clone(), &exact, finder)?, stored, stored_keys })
    }

    /// The position of the column with the kind of rows.
    fn kind_column(&self) -> Result<Option<usize>> {
        const KEY: &str = "rowkind.field";
        let Some(name) = self.options.get(KEY) else { return Ok(None) };
        let no = || Error::invalid(format!("the table has no column '{name}'")).with("option", KEY);
        place_of(&self.columns, self.table.field(name).ok_or_else(no)?.id).map(Some)
    }

    /// The kinds of rows in a table without a primary key.
    fn appended_kinds(&self) -> Result<Option<RowKinds>> {
        let Some(at) = self.kind_column()? else { return Ok(None) };
        Ok(Some(RowKinds {
            of: Kinds::Column(at),
            ignores_deletes: ignores_deletes(&self.options)?.is_some(),
            ignores_update_before: self.options.boolean(IGNORE_UPDATE_BEFORE, false)?,
        }))
    }

    pub(super) fn keyed(&self, keyed: &Keyed<'_>, role: Role) -> Result<(TableFiles, RowOrder)> {
        let KeyedFiles { settings, stored, stored_keys } = self.keyed_files(keyed.found)?;
        let columns = self.columns.fields.iter().cloned().chain(BufferMerge::own_columns());
        let merged = plain(columns.clone().collect());
        let prepared = self.with_bucket(columns.collect());
        let merge = BufferMerge::new(self.columns.clone(), self.merge_context())?;
        let rows = KeyedRows {
            role: role.clone(),
            schema: Arc::new(self.table.clone()),
            defaults: self.defaults.clone(),
            buckets: keyed.buckets.clone(),
            names: self.names(),
            kinds: RowKinds {
                of: match (keyed.is_rewrite, keyed.kind, self.kind_column()?) {
                    (true, ..) => Kinds::Last,
                    (_, WriteKind::Delete, _) => Kinds::All(DELETE),
                    (_, _, Some(at)) => Kinds::Column(at),
                    (_, WriteKind::Update, _) => Kinds::All(UPDATE),
                    _ => Kinds::All(INSERT),
                },
                ignores_deletes: merge.ignores_deletes(),
                ignores_update_before: self.options.boolean(IGNORE_UPDATE_BEFORE, false)?,
            },
            merge,
            prepared: to_arrow(&prepared)?,
            merged: to_arrow(&merged)?,
            stored: to_arrow(&stored)?,
            stored_keys,
            sequence: keyed.written.sequence.clone(),
            rows: 0,
            held: None,
        };
        let target_bytes = properties::target_bytes(&self.options, true)?;
        let postponed = matches!(role, Role::Postponed);
        let order = SortOrder { id: 0, fields: self.table.key_fields().map(|k| ascending(k.id)).collect() };
        let files = TableFiles { prepared, settings, target_bytes, rows: Box::new(rows) };
        Ok((files, if postponed { RowOrder::Any } else { RowOrder::By(Sorting::Order(order)) }))
    }

    fn merge_context(&self) -> BucketContext {
        let (id, table) = (self.table.id, self.table);
        BucketContext {
            schemas: BTreeMap::from([(id, self.columns.clone())]),
            declared: BTreeMap::from([(id, table.declared().clone())]),
            key: table.key_fields().map(|f| f.id).collect(),
            options: table.options.clone(),
        }
    }

    /// The columns of files of a table with a primary key: copies of these key columns, sequence number, kind, and the
    /// columns of the table.
    fn stored_with_keys(&self, keys: &[usize]) -> (Schema, ExactTypes) {
        let mut exact = ExactTypes(self.table.declared().as_ref().clone());
        let mut fields = Vec::with_capacity(keys.len() + 2 + self.columns.fields.len());
        for key in keys.iter().filter_map(|at| self.columns.fields.get(*at)) {
            let id = key.id.saturating_add(STORED_KEY_BASE);
            if let Some(text) = exact.0.get(&key.id).cloned() {
                exact.0.insert(id, text);
            }
            fields.push(Field { id, name: format!("_KEY_{}", key.name), ..key.clone() });
        }
        exact.0.insert(STORED_VALUE_KIND, TypeKind::TinyInt.nullable().to_string());
        fields.push(Field::new(STORED_SEQUENCE_NUMBER, "_SEQUENCE_NUMBER", true, PrimitiveType::Long));
        fields.push(Field::new(STORED_VALUE_KIND, "_VALUE_KIND", true, PrimitiveType::Int));
        fields.extend(self.columns.fields.iter().cloned());
        (plain(fields), exact)
    }
}

/// Whether the primary key lacks a partition column, so that a key may move to another partition.
pub(crate) fn is_over_partitions(schema: &TableSchema) -> bool {
    schema.has_primary_key() && schema.partition_keys.iter().any(|k| !schema.primary_keys.contains(k))
}

/// The hashes of keys that a table's buckets have at its snapshot.
///
/// # Errors
/// Those of reading the index manifest.
pub(crate) fn hash_indexes(table: &PaimonTable) -> Result<HashIndexes> {
    let folder = table.folder();
    let manifest = table.metadata().snapshot.as_ref().and_then(|s| s.index_manifest.as_deref());
    let entries = match manifest {
        Some(name) => read_index_manifest(folder.manifests(), name)?,
        None => Vec::new(),
    };
    HashIndexes::new(folder.store().clone(), folder.root(), table.table_schema(), &entries)
}

fn plain(fields: Vec<Field>) -> Schema {
    Schema::new(0, fields, Vec::new())
}

fn ascending(source_id: FieldId) -> SortField {
    SortField { source_id, transform: Transform::Identity, descending: false, nulls_first: true }
}
