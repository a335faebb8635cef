//! Metadata tables of one version: files, entries, manifests, partitions, buckets and index files.
//!
//! Source: Java's `FilesTable`, `ManifestsTable`, `PartitionsTable`, `BucketsTable`, `TableIndexesTable`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow::datatypes::{DataType as ArrowType, Field};

use super::columns::{NamedArray, ints, local_times, longs, owned_texts, rows, texts};
use super::metrics::ReadableMetrics;
use super::row_text::{key_text, partition_spec_text, row_text, stats_texts};
use crate::error::Result;
use crate::format::request::ScanRequest;
use crate::paimon::manifest::entries::{ADD, APPEND, COMPACT, PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::index_manifest::{IndexEntry, read_index_manifest};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{LiveEntries, changelog_manifests, data_manifests, live_files, read_manifest};
use crate::paimon::plan::files::Mappings;
use crate::paimon::plan::input::{PaimonPlanInput, schema_of};
use crate::paimon::spec::data_type::{DataField, DataType};
use crate::paimon::spec::partition::{TablePaths, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::spec::stats::StatsBounds;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;
use crate::rows::metadata_rows::MetadataRows;

/// A metadata table of a version by its name.
///
/// # Errors
/// As [`super::tables::inspect`].
pub(crate) fn of_version(table: &PaimonTable, snapshot: Option<&PaimonSnapshot>, name: &str) -> Result<MetadataRows> {
    let version = InspectedVersion { table, schema: table.table_schema(), snapshot };
    match name {
        "files" => version.files(None),
        "data_files" => version.files(Some(ReadableMetrics::new(&version.schema.fields)?)),
        "entries" => version.entries(),
        "manifests" => version.manifests(),
        "partitions" => version.partitions(),
        "buckets" => version.buckets(),
        _ => version.indexes(),
    }
}

struct InspectedVersion<'t> {
    table: &'t PaimonTable,
    schema: &'t TableSchema,
    snapshot: Option<&'t PaimonSnapshot>,
}

/// The totals of a partition or bucket.
#[derive(Default)]
struct Sums {
    rows: i64,
    bytes: i64,
    files: i64,
    updated_ms: Option<i64>,
}

impl Sums {
    fn add(&mut self, columns: &PaimonEntryColumns, row: usize) {
        let number = |column: &[i64]| column.get(row).copied().unwrap_or_default();
        self.rows = self.rows.saturating_add(number(&columns.row_count));
        self.bytes = self.bytes.saturating_add(number(&columns.file_size));
        self.files += 1;
        self.updated_ms = self.updated_ms.max(columns.creation_time_ms.get(row).copied().flatten());
    }
}

impl<'t> InspectedVersion<'t> {
    fn listed(&self) -> Result<Vec<PaimonManifestFile>> {
        let folder = self.table.folder();
        self.snapshot.map_or(Ok(Vec::new()), |s| data_manifests(folder.manifests(), s))
    }

    fn live(&self, request: &PaimonEntryRequest<'_>) -> Result<Vec<LiveEntries>> {
        let folder = self.table.folder();
        live_files(folder.manifests(), &self.listed()?, request)
    }

    fn partition_types(&self) -> impl Iterator<Item = &DataType> {
        self.schema.partition_fields().map(|f| &f.ty)
    }

    /// The live files. `metrics` collects their metrics, for one more column.
    fn files(&self, mut metrics: Option<ReadableMetrics>) -> Result<MetadataRows> {
        let key_stats = metrics.is_some() && self.schema.has_primary_key();
        let request = PaimonEntryRequest { key_stats, value_stats: true, ..PaimonEntryRequest::default() };
        let mut out = FileRows::new(self.table)?;
        for live in self.live(&request)? {
            check_cancelled()?;
            let mut mappings = Mappings::default();
            live.rows.iter().try_for_each(|row| out.add(&live.columns, *row as usize, &mut mappings))?;
            if let Some(metrics) = &mut metrics {
                metrics.add(&out.input, &live, &mut mappings)?;
            }
        }
        let mut columns = out.columns();
        columns.extend(metrics.map(ReadableMetrics::finish).transpose()?);
        rows(columns)
    }

    /// Additions and removals as in the manifests.
    fn entries(&self) -> Result<MetadataRows> {
        let folder = self.table.folder();
        let (mut out, mut kinds, mut manifests) = (FileRows::new(self.table)?, Vec::new(), Vec::new());
        for manifest in self.listed()? {
            check_cancelled()?;
            let request = PaimonEntryRequest { value_stats: true, ..PaimonEntryRequest::default() };
            let columns = read_manifest(folder.manifests(), &manifest, &request)?;
            let mut mappings = Mappings::default();
            for row in columns.rows() {
                out.add(&columns, row, &mut mappings)?;
                kinds.push(if columns.kind.get(row) == Some(&ADD) { "ADD" } else { "DELETE" });
                manifests.push(manifest.file_name.clone());
            }
        }
        let mut columns: Vec<NamedArray> = vec![
            ("kind", false, texts(kinds.into_iter().map(Some))),
            ("manifest", false, owned_texts(manifests.into_iter().map(Some))),
        ];
        columns.extend(out.columns());
        rows(columns)
    }

    fn manifests(&self) -> Result<MetadataRows> {
        let folder = self.table.folder();
        let mut all = self.listed()?;
        if let Some(snapshot) = self.snapshot {
            all.extend(changelog_manifests(folder.manifests(), snapshot)?);
        }
        let text = |row: &[u8]| row_text(row, self.partition_types());
        let bounds =
            |of: &dyn Fn(&PaimonManifestFile) -> Result<String>| all.iter().map(of).collect::<Result<Vec<_>>>();
        let least = bounds(&|m| text(&m.partition_stats.min))?;
        let greatest = bounds(&|m| text(&m.partition_stats.max))?;
        let of = || all.iter();
        rows(vec![
            ("file_name", false, texts(of().map(|m| Some(m.file_name.as_str())))),
            ("file_size", false, longs(of().map(|m| Some(m.file_size)))),
            ("num_added_files", false, longs(of().map(|m| Some(m.added_files)))),
            ("num_deleted_files", false, longs(of().map(|m| Some(m.deleted_files)))),
            ("schema_id", false, longs(of().map(|m| Some(m.schema_id)))),
            ("min_partition_stats", true, owned_texts(least.into_iter().map(Some))),
            ("max_partition_stats", true, owned_texts(greatest.into_iter().map(Some))),
            ("min_row_id", true, longs(of().map(|m| m.row_ids.map(|ids| ids.0)))),
            ("max_row_id", true, longs(of().map(|m| m.row_ids.map(|ids| ids.1)))),
        ])
    }

    /// The live files, grouped by the result of `key` for their partition and bucket.
    fn sums<K: Ord>(&self, key: impl Fn(&[u8], i32) -> Result<K>) -> Result<BTreeMap<K, Sums>> {
        let mut out: BTreeMap<K, Sums> = BTreeMap::new();
        for live in self.live(&PaimonEntryRequest::default())? {
            check_cancelled()?;
            for row in live.rows.iter().map(|row| *row as usize) {
                let bucket = live.columns.bucket.get(row).copied().unwrap_or_default();
                out.entry(key(live.columns.partition_row(row), bucket)?).or_default().add(&live.columns, row);
            }
        }
        Ok(out)
    }

    fn partitions(&self) -> Result<MetadataRows> {
        let fields: Vec<&DataField> = self.schema.partition_fields().collect();
        let options = self.schema.options();
        let found = self.sums(|row, _| partition_spec_text(row, &fields, options.default_partition_name()))?;
        let sums = || found.values();
        let none = || found.keys().map(|_| None);
        rows(vec![
            ("partition", true, texts(found.keys().map(|p| Some(p.as_str())))),
            ("record_count", false, longs(sums().map(|s| Some(s.rows)))),
            ("file_size_in_bytes", false, longs(sums().map(|s| Some(s.bytes)))),
            ("file_count", false, longs(sums().map(|s| Some(s.files)))),
            ("last_update_time", true, local_times(sums().map(|s| s.updated_ms))),
            // Only catalogs that keep partitions know these columns.
            ("created_at", true, local_times(none())),
            ("created_by", true, texts(found.keys().map(|_| None))),
            ("updated_by", true, texts(found.keys().map(|_| None))),
            ("options", true, texts(found.keys().map(|_| None))),
        ])
    }

    fn buckets(&self) -> Result<MetadataRows> {
        let found = self.sums(|row, bucket| Ok((row_text(row, self.partition_types())?, bucket)))?;
        let sums = || found.values();
        rows(vec![
            ("partition", true, texts(found.keys().map(|(p, _)| Some(p.as_str())))),
            ("bucket", false, ints(found.keys().map(|(_, bucket)| *bucket))),
            ("record_count", false, longs(sums().map(|s| Some(s.rows)))),
            ("file_size_in_bytes", false, longs(sums().map(|s| Some(s.bytes)))),
            ("file_count", false, longs(sums().map(|s| Some(s.files)))),
            ("last_update_time", true, local_times(sums().map(|s| s.updated_ms))),
        ])
    }

    fn indexes(&self) -> Result<MetadataRows> {
        let folder = self.table.folder();
        let all = match self.snapshot.and_then(|s| s.index_manifest.as_deref()) {
            Some(name) => read_index_manifest(folder.manifests(), name)?,
            None => Vec::new(),
        };
        let partitions = all.iter().map(|e| row_text(&e.partition, self.partition_types()));
        let partitions = partitions.collect::<Result<Vec<_>>>()?;
        let of = || all.iter();
        rows(vec![
            ("partition", true, owned_texts(partitions.into_iter().map(Some))),
            ("bucket", false, ints(of().map(|e| e.bucket))),
            ("index_type", false, texts(of().map(|e| Some(e.index_type.as_str())))),
            ("file_name", false, texts(of().map(|e| Some(e.file_name.as_str())))),
            ("file_size", false, longs(of().map(|e| Some(e.file_size)))),
            ("row_count", false, longs(of().map(|e| Some(e.row_count)))),
            ("dv_ranges", true, vector_ranges(&all)),
        ])
    }
}

/// The deletion vectors of index files.
fn vector_ranges(all: &[IndexEntry]) -> ArrayRef {
    let fields = [("f0", ArrowType::Utf8), ("f1", ArrowType::Int64), ("f2", ArrowType::Int64)]
        .map(|(name, ty)| Field::new(name, ty, false))
        .into_iter()
        .chain([Field::new("_CARDINALITY", ArrowType::Int64, true)]);
    let mut lists = ListBuilder::new(StructBuilder::from_fields(fields.collect::<Vec<_>>(), 0));
    for entry in all {
        for range in entry.deletion_vectors.iter().flatten() {
            let item = lists.values();
            if let Some(name) = item.field_builder::<StringBuilder>(0) {
                name.append_value(&range.data_file);
            }
            let numbers = [Some(range.offset), Some(range.length), range.cardinality];
            for (at, number) in (1..).zip(numbers) {
                if let Some(column) = item.field_builder::<Int64Builder>(at) {
                    column.append_option(number);
                }
            }
            item.append(true);
        }
        lists.append(entry.deletion_vectors.is_some());
    }
    Arc::new(lists.finish())
}

/// Rows of `files`, column by column.
struct FileRows<'t> {
    table: &'t PaimonTable,
    paths: TablePaths,
    input: PaimonPlanInput,
    texts: [Vec<Option<String>>; 9],
    numbers: [Vec<Option<i64>>; 8],
    buckets: Vec<i32>,
    levels: Vec<i32>,
    write_cols: ListBuilder<StringBuilder>,
}

impl<'t> FileRows<'t> {
    fn new(table: &'t PaimonTable) -> Result<FileRows<'t>> {
        Ok(FileRows {
            table,
            paths: TablePaths::new(table.location(), table.table_schema())?,
            input: table.scan(ScanRequest::default())?.plan_input(),
            texts: Default::default(),
            numbers: Default::default(),
            buckets: Vec::new(),
            levels: Vec::new(),
            write_cols: ListBuilder::new(StringBuilder::new()),
        })
    }

    /// Adds an entry's file. The mappings are those of its batch.
    fn add(&mut self, columns: &PaimonEntryColumns, row: usize, mappings: &mut Mappings) -> Result<()> {
        let schema = self.table.table_schema();
        let number = |column: &[i64]| column.get(row).copied();
        let schema_id = number(&columns.schema_id).unwrap_or_default();
        let written = schema_of(&self.input, Some(&schema_id))?;
        let (bucket, level) = (columns.bucket.get(row).copied(), columns.level.get(row).copied());
        let (bucket, level) = (bucket.unwrap_or_default(), level.unwrap_or_default());
        let name = columns.name(row)?;
        let folder = self.paths.bucket(&partition_of(schema, columns.partition_row(row))?, bucket)?;
        let mapping = mappings.values(&self.input, columns, row)?;
        let rows = number(&columns.row_count).unwrap_or_default();
        let bounds = StatsBounds::new(&mapping, columns.value_stats.get(row), rows)?;
        let [nulls, least, greatest] = stats_texts(&bounds, &schema.fields);
        let keys = |row: Option<&[u8]>| key_text(row.unwrap_or_default(), written.key_fields().map(|f| &f.ty));
        let source = match columns.file_source.get(row).copied().flatten() {
            Some(APPEND) => Some("APPEND".to_owned()),
            Some(COMPACT) => Some("COMPACT".to_owned()),
            _ => None,
        };
        let texts = [
            Some(row_text(columns.partition_row(row), schema.partition_fields().map(|f| &f.ty))?),
            Some(self.paths.data_file(&folder, name, columns.external(row)?)?),
            Some(name.rsplit_once('.').map_or("", |(_, ending)| ending).to_owned()),
            keys(columns.min_key.get(row))?,
            keys(columns.max_key.get(row))?,
            Some(nulls),
            Some(least),
            Some(greatest),
            source,
        ];
        let numbers = [
            Some(schema_id),
            Some(rows),
            number(&columns.file_size),
            number(&columns.min_sequence_number),
            number(&columns.max_sequence_number),
            columns.creation_time_ms.get(row).copied().flatten(),
            columns.delete_row_count.get(row).copied().flatten(),
            columns.first_row_id.get(row).copied().flatten(),
        ];
        self.texts.iter_mut().zip(texts).for_each(|(column, text)| column.push(text));
        self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.push(number));
        self.buckets.push(bucket);
        self.levels.push(level);
        let some = columns.write_cols_of(row);
        some.into_iter().flat_map(|names| names.iter()).for_each(|name| self.write_cols.values().append_value(name));
        self.write_cols.append(some.is_some());
        Ok(())
    }

    fn columns(mut self) -> Vec<NamedArray> {
        let [partition, path, format, min_key, max_key, nulls, least, greatest, source] =
            self.texts.map(|column| owned_texts(column.into_iter()));
        let created = local_times(self.numbers[5].iter().copied());
        let [schema_id, rows, bytes, first, last, _, deletes, row_id] =
            self.numbers.map(|column| longs(column.into_iter()));
        vec![
            ("partition", true, partition),
            ("bucket", false, ints(self.buckets.into_iter())),
            ("file_path", false, path),
            ("file_format", false, format),
            ("schema_id", false, schema_id),
            ("level", false, ints(self.levels.into_iter())),
            ("record_count", false, rows),
            ("file_size_in_bytes", false, bytes),
            ("min_key", true, min_key),
            ("max_key", true, max_key),
            ("null_value_counts", false, nulls),
            ("min_value_stats", false, least),
            ("max_value_stats", false, greatest),
            ("min_sequence_number", true, first),
            ("max_sequence_number", true, last),
            ("creation_time", true, created),
            ("deleteRowCount", true, deletes),
            ("file_source", true, source),
            ("first_row_id", true, row_id),
            ("write_cols", true, Arc::new(self.write_cols.finish())),
        ]
    }
}
