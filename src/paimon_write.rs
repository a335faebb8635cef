//! Rows to new data files of a table of Apache Paimon.
//!
//! [`PaimonWriter`] hands rows to [`DataWriter`], which parts, collects and writes them as it does for Iceberg, and tells it
//! what is Paimon's own: `append_rows` and `keyed_rows` are the rows of tables without and with a primary key, `buckets` gives
//! them their bucket, `limits` checks their values, `names` says where files go, `properties` how they are written, and
//! `facts` with `stats` what manifests record of them. `written` knows what buckets hold already.
//!
//! Rows of a table with a primary key are sorted and merged by key, as many as there are: so a writer makes one sorted run of
//! each bucket, whatever memory there is.
//!
//! Source: Java's `AppendOnlyWriter`, `MergeTreeWriter`, `KeyValueFileWriterFactory`.

mod append_rows;
mod buckets;
mod facts;
mod key_rows;
mod keyed_rows;
mod limits;
mod names;
mod properties;
mod stats;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::array::RecordBatch;

use crate::data::arrow_schema::to_arrow;
use crate::data::file_write::FileSettings;
use crate::data::locations::FileLocations;
use crate::data::merge_buffer::BufferMerge;
use crate::data::paimon_types::ExactTypes;
use crate::data::table_rows::TableFiles;
use crate::data::write::{DataWriter, RowOrder, Sorting, WriteContext};
use crate::error::{Error, Result};
use crate::paimon::bucket::UNAWARE_BUCKET;
use crate::paimon::data_type::{DataField, TypeKind};
use crate::paimon::options::Options;
use crate::paimon::partition::Paths;
use crate::paimon::schema::TableSchema;
use crate::paimon_table::PaimonTable;
use crate::task::{DataFile, FileFormat, FileSource, LeveledFile, PaimonContext, PaimonNewFile};
use crate::types::{
    Field, FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, SortField, SortOrder, Transform,
};
use append_rows::AppendRows;
use buckets::Buckets;
use facts::{FactFinder, Found, KeyedLayout};
use key_rows::{KeyRows, place_of};
use keyed_rows::{DELETE, INSERT, KeyedRows};
use names::{BUCKET, BUCKET_ID, FileNames, split_bucket};
use stats::StatsConfig;
use written::{WrittenBuckets, partition_row};

/// Ids of the columns that files have besides those of the table (Java's `SpecialFields`).
const KEY_FIELD_ID_START: FieldId = FieldId::MAX / 2;
const SEQUENCE_FIELD_ID: FieldId = FieldId::MAX - 1;
const KIND_FIELD_ID: FieldId = FieldId::MAX - 2;

/// New files are of this level.
const LEVEL: i32 = 0;

/// The empty row after its number of fields: the keys of tables without any.
const NO_KEY: [u8; 12] = [0; 12];

/// What a writer does with its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteKind {
    /// Adds them; in tables with a primary key they take the place of rows with the same key.
    #[default]
    Add,
    /// Takes rows with the same key away. They need all columns that can't be null.
    Delete,
}

/// Writes rows into new data files of a table. Nothing of it is public before a commit adds the files.
pub struct PaimonWriter {
    writer: DataWriter,
    table: Arc<TableSchema>,
    found: Arc<Found>,
    written: WrittenBuckets,
    /// Buckets of a partition, as entries record it.
    total_buckets: i32,
    /// The bucket of all rows, where rows don't have one of their own.
    bucket: i32,
    checks_totals: bool,
}

impl PaimonWriter {
    /// A writer for a table's rows. With `replaces`, what is there goes when the files are committed, so that the table may
    /// have got another number of buckets.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read or contradict each other; `Unsupported` for tables, types and formats
    /// that are not written yet; those of reading what is there.
    pub fn new(table: &PaimonTable, kind: WriteKind, replaces: bool) -> Result<PaimonWriter> {
        let schema = table.table_schema().clone();
        let options = schema.options();
        check_written(&schema, kind)?;
        let count = options.bucket()?;
        let keyed = schema.has_primary_key();
        // Sequence numbers go on where those of the bucket end.
        let written = match (keyed || count > 0) && !replaces {
            true => WrittenBuckets::read(table.metadata())?,
            false => WrittenBuckets::default(),
        };
        let plan = Plan::new(table, &schema, count)?;
        let found = Arc::new(Found::default());
        let (files, row_order) = match keyed {
            true => plan.keyed(kind, &written, &found)?,
            false => (plan.append(&found)?, RowOrder::Any),
        };
        let context = WriteContext {
            schema: files.prepared.clone(),
            spec: Arc::new(plan.spec()),
            order: Arc::new(SortOrder::default()),
            row_order,
            locations: FileLocations::in_folder(table.location()),
            properties: BTreeMap::new(),
            write_id: plan.write_id.clone(),
            task_id: 0,
        };
        let store = table.folder().store().clone();
        let writer = DataWriter::of_table(store, context, plan.columns.clone(), files)?;
        let total_buckets = if count > 0 { count } else { -1 };
        let checks_totals = count > 0 && !replaces;
        Ok(PaimonWriter { writer, table: schema, found, written, total_buckets, bucket: UNAWARE_BUCKET, checks_totals })
    }

    /// Adds rows. After an error the writer takes no more, and its files can't be committed.
    ///
    /// # Errors
    /// `InvalidInput` if the batch does not fit the table, naming the column; `Store` if a file can't be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch)
    }

    /// Completes all files; none if there were no rows.
    ///
    /// # Errors
    /// As [`PaimonWriter::write`]; `InvalidInput` if the table's number of buckets was changed and the rows don't replace
    /// what is there.
    pub fn finish(mut self) -> Result<Vec<PaimonNewFile>> {
        let store_files = self.writer.finish()?;
        let now = now_ms();
        let mut out = Vec::with_capacity(store_files.len());
        for file in store_files {
            let facts = self.found.take(&file.path)?;
            let (partition, bucket) = split_bucket(&file.partition, self.bucket)?;
            let row = partition_row(&self.table, &partition)?;
            if let (true, Some(before)) = (self.checks_totals, self.written.totals.get(&row))
                && *before != self.total_buckets
            {
                let now = self.total_buckets;
                return Err(Error::invalid(format!("the partition has {before} buckets, the table now {now}"))
                    .hint("Overwrite the partition to give its rows new buckets"));
            }
            let (first, last) = facts.sequence.unwrap_or_else(|| {
                let last = self.written.sequence.entry((row, bucket)).or_insert(-1);
                let first = last.saturating_add(1);
                *last = last.saturating_add(file.record_count);
                (first, *last)
            });
            let (min_key, max_key) = facts.keys.unwrap_or((NO_KEY.to_vec(), NO_KEY.to_vec()));
            let leveled = LeveledFile {
                bucket,
                total_buckets: self.total_buckets,
                level: LEVEL,
                schema_id: self.table.id,
                min_key,
                max_key,
                min_sequence_number: first,
                max_sequence_number: last,
                delete_row_count: Some(facts.deletes),
                write_columns: None,
            };
            out.push(PaimonNewFile {
                file: DataFile {
                    partition: Arc::new(partition),
                    leveled: Some(Box::new(leveled)),
                    metrics: None,
                    sort_order_id: None,
                    split_offsets: None,
                    ..file
                },
                key_stats: facts.key_stats,
                value_stats: facts.value_stats,
                value_stats_cols: facts.value_stats_cols,
                extra_files: Vec::new(),
                embedded_index: None,
                creation_time_ms: now,
                source: FileSource::Append,
                external: false,
            });
        }
        Ok(out)
    }

    /// Deletes everything written.
    ///
    /// # Errors
    /// The first file that could not be deleted; the others are tried all the same.
    pub fn abort(self) -> Result<()> {
        self.writer.abort()
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
}

/// Refuses what is not written yet.
fn check_written(schema: &TableSchema, kind: WriteKind) -> Result<()> {
    let options = schema.options();
    let no = |what: &str| Err(Error::unsupported(format!("{what} are not written yet")));
    if schema.has_primary_key() && options.bucket()? <= 0 {
        return no("tables with a primary key and without a fixed number of buckets");
    }
    if !schema.has_primary_key() && kind == WriteKind::Delete {
        return Err(Error::invalid("rows are deleted by key, and the table has no primary key"));
    }
    if schema.fields.iter().any(|f| f.ty.kind == TypeKind::Blob) {
        return no("tables with columns of type BLOB");
    }
    if schema.fields.iter().any(|f| f.default_value.is_some()) {
        return no("tables with default values of columns");
    }
    if options.get("changelog-producer").is_some_and(|p| p.eq_ignore_ascii_case("input")) {
        return no("tables with 'changelog-producer' = 'input'");
    }
    if options.get("data-file.external-paths").is_some_and(|p| !p.trim().is_empty()) {
        return no("files outside of the table");
    }
    Ok(())
}

/// How the rows of a table become files.
struct Plan<'t> {
    table: &'t TableSchema,
    options: Options<'t>,
    /// The columns of rows that come in, with their defaults.
    columns: Arc<Schema>,
    format: FileFormat,
    paths: Paths,
    write_id: String,
    /// The fixed number of buckets, if there is one.
    buckets: Option<i32>,
}

impl<'t> Plan<'t> {
    fn new(table: &PaimonTable, schema: &'t TableSchema, count: i32) -> Result<Plan<'t>> {
        let options = schema.options();
        Ok(Plan {
            table: schema,
            options,
            columns: schema.columns().clone(),
            format: properties::file_format(&options, LEVEL)?,
            paths: Paths::new(table.location(), schema)?,
            write_id: uuid::Uuid::new_v4().to_string(),
            buckets: (count > 0).then_some(count),
        })
    }

    /// What parts rows: partition columns, then the bucket.
    fn spec(&self) -> PartitionSpec {
        let field = |(field_id, source_id, name): (FieldId, FieldId, &str)| PartitionField {
            source_id,
            field_id,
            name: name.to_owned(),
            transform: Transform::Identity,
        };
        let partition = self.table.partition_fields().map(|f| (f.id, f.name.as_str()));
        let fields = partition.chain(self.buckets.map(|_| (BUCKET_ID, BUCKET)));
        PartitionSpec {
            id: 0,
            fields: (1000..).zip(fields).map(|(id, (source, name))| field((id, source, name))).collect(),
        }
    }

    fn names(&self) -> FileNames {
        FileNames {
            paths: self.paths.clone(),
            prefix: self.options.get("data-file.prefix").unwrap_or("data-").to_owned(),
            write_id: self.write_id.clone(),
            format: self.format,
            count: 0,
            bucket: UNAWARE_BUCKET,
        }
    }

    fn bucketing(&self) -> Result<Option<Buckets>> {
        self.buckets.map(|count| Buckets::new(self.table, count)).transpose()
    }

    /// The columns, and behind them the bucket.
    fn with_bucket(&self, columns: Vec<Field>) -> Arc<Schema> {
        let bucket = self.buckets.map(|_| Field::new(BUCKET_ID, BUCKET, true, PrimitiveType::Int));
        Arc::new(Schema::new(self.columns.id, columns.into_iter().chain(bucket).collect::<Vec<_>>(), Vec::new()))
    }

    fn settings(&self, stored: Schema, exact: &ExactTypes, finder: FactFinder) -> Result<FileSettings> {
        let properties = properties::writer_properties(&self.options, self.format, LEVEL)?;
        FileSettings::of_paimon(self.format, Arc::new(stored), exact, &properties, Arc::new(finder))
    }

    fn append(&self, found: &Arc<Found>) -> Result<TableFiles> {
        let fields = &self.table.fields;
        let finder = FactFinder {
            key_stats: StatsConfig::of_keys(std::iter::empty(), self.format),
            value_stats: StatsConfig::of_values(fields, &[], &self.options, LEVEL, self.format)?,
            first_value: 0,
            keyed: None,
            found: found.clone(),
        };
        let stored = plain(self.columns.fields.to_vec());
        let prepared = self.with_bucket(self.columns.fields.to_vec());
        let rows = AppendRows {
            schema: Arc::new(self.table.clone()),
            buckets: self.bucketing()?,
            names: self.names(),
            prepared: to_arrow(&prepared)?,
            stored: to_arrow(&stored)?,
        };
        let settings = self.settings(stored, &ExactTypes(self.table.declared().as_ref().clone()), finder)?;
        let target_bytes = properties::target_bytes(&self.options, false)?;
        Ok(TableFiles { prepared, settings, target_bytes, rows: Box::new(rows) })
    }

    fn keyed(&self, kind: WriteKind, written: &WrittenBuckets, found: &Arc<Found>) -> Result<(TableFiles, RowOrder)> {
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
            value_stats: StatsConfig::of_values(&self.table.fields, &in_full, &self.options, LEVEL, self.format)?,
            first_value,
            keyed: Some(KeyedLayout {
                keys: KeyRows::new(&stored, keys.iter().copied())?,
                key_columns,
                sequence: first_value - 2,
                kind: first_value - 1,
            }),
            found: found.clone(),
        };
        let columns = self.columns.fields.iter().cloned().chain(BufferMerge::own_columns());
        let merged = plain(columns.clone().collect());
        let prepared = self.with_bucket(columns.collect());
        let kind_column = match self.options.get("rowkind.field") {
            None => None,
            Some(name) => {
                let field = self.table.field(name);
                let no = || Error::invalid(format!("the table has no column '{name}'")).with("option", "rowkind.field");
                Some(place_of(&self.columns, field.ok_or_else(no)?.id)?)
            }
        };
        let rows = KeyedRows {
            schema: Arc::new(self.table.clone()),
            buckets: self.bucketing()?,
            merge: BufferMerge::new(self.columns.clone(), self.merge_context())?,
            names: self.names(),
            kind: if kind == WriteKind::Delete { DELETE } else { INSERT },
            kind_column: kind_column.filter(|_| kind == WriteKind::Add),
            prepared: to_arrow(&prepared)?,
            merged: to_arrow(&merged)?,
            stored: to_arrow(&stored)?,
            stored_keys,
            sequence: written.sequence.clone(),
            rows: 0,
            held: None,
        };
        let settings = self.settings(stored, &exact, finder)?;
        let target_bytes = properties::target_bytes(&self.options, true)?;
        let order = SortOrder { id: 0, fields: keys.iter().map(|k| ascending(k.id)).collect() };
        let files = TableFiles { prepared, settings, target_bytes, rows: Box::new(rows) };
        Ok((files, RowOrder::By(Sorting::Order(order))))
    }

    fn merge_context(&self) -> PaimonContext {
        let (id, table) = (self.table.id, self.table);
        PaimonContext {
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
            let id = key.id.saturating_add(KEY_FIELD_ID_START);
            if let Some(text) = exact.0.get(&key.id).cloned() {
                exact.0.insert(id, text);
            }
            fields.push(Field { id, name: format!("_KEY_{}", key.name), ..key.clone() });
        }
        exact.0.insert(KIND_FIELD_ID, TypeKind::TinyInt.nullable().to_string());
        fields.push(Field::new(SEQUENCE_FIELD_ID, "_SEQUENCE_NUMBER", true, PrimitiveType::Long));
        fields.push(Field::new(KIND_FIELD_ID, "_VALUE_KIND", true, PrimitiveType::Int));
        fields.extend(self.columns.fields.iter().cloned());
        (plain(fields), exact)
    }
}

fn plain(fields: Vec<Field>) -> Schema {
    Schema::new(0, fields, Vec::new())
}

fn ascending(source_id: FieldId) -> SortField {
    SortField { source_id, transform: Transform::Identity, descending: false, nulls_first: true }
}

#[cfg(test)]
#[path = "paimon_write/tests.rs"]
mod tests;
