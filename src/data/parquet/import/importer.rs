//! Describes existing Parquet files by their footers, so that they can be added to a table without reading their rows.
//!
//! Statistics of other writers count only if they mean the same as Iceberg's bounds. Columns whose stored type differs
//! from the one that Iceberg writes (timestamps in milliseconds, unsigned numbers) get counts and no bounds.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::data::arrow::schema::arrow_primitive;
use crate::data::deletes::cache::DeleteCache;
use crate::data::parquet::file::ParquetFile;
use crate::data::parquet::import::fits::{check_ids, doubtful_leaves};
use crate::data::parquet::import::hive::folder_value;
use crate::data::parquet::import::lineage::{StoredLineage, has_lineage, lineage_of};
use crate::data::parquet::import::whole_units::check_whole_units;
use crate::data::parquet::plan::DecodePlan;
use crate::data::parquet::read::ParquetBatches;
use crate::data::read::constants::Constants;
use crate::data::read::file_columns::{FileColumn, FileColumns};
use crate::data::read::guard::guard;
use crate::data::read::project::Projection;
use crate::data::read::task::read_task;
use crate::data::write::metrics::{MetricsConfig, metrics_by_leaf, split_offsets};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{
    ColumnMetrics, DataFile, FieldMap, FileContent, FileFormat, Partition, PartitionValue, ReadContext, ScanTask,
};
use crate::store::{Location, Store};
use crate::types::name_mapping::NameMapping;
use crate::types::select::prune_to;
use crate::types::value::decode_bound;
use crate::types::{Field, FieldId, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Value};

/// Rows that are checked at a time.
const BATCH_ROWS: usize = 8_192;

/// A file in the form that the table records.
#[derive(Debug)]
pub(crate) struct ImportedFile {
    /// The data file, with its partition.
    pub file: DataFile,
    /// Whether its columns carry field ids; otherwise the table needs a name mapping to read it.
    pub has_ids: bool,
}

/// The table that files are added to.
#[derive(Debug)]
pub(crate) struct Importer {
    store: Arc<dyn Store>,
    schema: Arc<Schema>,
    spec: Arc<PartitionSpec>,
    mapping: NameMapping,
    mapping_text: String,
    kept: MetricsConfig,
    full: MetricsConfig,
    /// All schemas that the table has had, the current one first.
    schemas: Vec<Arc<Schema>>,
}

impl Importer {
    /// Makes an importer for a table with this schema, spec and these properties.
    ///
    /// # Errors
    /// `CorruptTable` if the table's name mapping can't be read.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        schema: Arc<Schema>,
        spec: Arc<PartitionSpec>,
        properties: &BTreeMap<String, String>,
        sorted: &[FieldId],
        name_mapping: Option<&str>,
        history: &[Arc<Schema>],
    ) -> Result<Importer> {
        let mapping = match name_mapping {
            Some(text) => NameMapping::parse(text)?,
            None => NameMapping::of_names(&schema.fields),
        };
        let mapping_text = name_mapping.map_or_else(|| NameMapping::text_of(&schema), str::to_owned);
        let everything = BTreeMap::from([("write.metadata.metrics.default".to_owned(), "full".to_owned())]);
        let kept = MetricsConfig::new(&schema, properties, sorted);
        let full = MetricsConfig::new(&schema, &everything, &[]);
        let schemas = std::iter::once(&schema).chain(history).cloned().collect();
        Ok(Importer { store, schema, spec, mapping, mapping_text, kept, full, schemas })
    }

    /// Reads the footer of a file, and required columns whose nulls the footer does not count.
    ///
    /// # Errors
    /// - `InvalidInput`: its columns or values do not fit the table. Or it has no column of the table, or columns of
    ///   another table. Or a required column is null, it stores row ids, or its rows belong to several partitions.
    /// - `CorruptTable`: it is not an intact Parquet file.
    /// - The store's errors.
    pub(crate) fn import(&self, path: &str) -> Result<ImportedFile> {
        self.read(path).with("path", path)
    }

    fn read(&self, path: &str) -> Result<ImportedFile> {
        let parquet = ParquetFile::open(&self.store, path)?;
        let mut columns = FileColumns::new(parquet.metadata.schema());
        let has_ids = columns.has_ids();
        if !has_ids {
            columns.identify_by(&self.mapping);
        }
        if !columns.iter().any(|c| self.schema.fields.iter().any(|f| c.id == Some(f.id))) {
            let names: Vec<&str> = columns.iter().map(|c| c.field.name().as_str()).collect();
            return Err(Error::invalid("the file has no column of the table")
                .with("columns", names.join(", "))
                .hint("Its rows would be all null: rename its columns, or evolve the table's schema first"));
        }
        check_ids(&columns, has_ids, &self.schemas)?;
        let file = self.checked(&parquet, &columns, path, None)?;
        for (field, stored) in lineage_of(&columns, has_ids, parquet.footer()) {
            self.check_no_lineage(field, stored, &file)?;
        }
        Ok(ImportedFile { file, has_ids })
    }

    /// Reads the footer of a file that an engine wrote for the table. All its rows belong to this partition.
    ///
    /// # Errors
    /// The errors of [`Importer::import`]; `InvalidInput` if a column lacks the field id or the stored type that
    /// Iceberg's writers give it; `InvalidInput` if statistics show another partition.
    pub(crate) fn import_own(&self, path: &str, partition: &[Option<Value>]) -> Result<DataFile> {
        let read = || {
            let parquet = ParquetFile::open(&self.store, path)?;
            let columns = FileColumns::new(parquet.metadata.schema());
            check_ids(&columns, true, &self.schemas)?;
            let (known, all) =
                (trusted_leaves(&self.schema, &columns).len(), parquet.footer().file_metadata().schema_descr());
            if known != all.num_columns() {
                return Err(Error::invalid(
                    "the engine's file has columns that Iceberg's writers store in another way",
                )
                .with("columns", all.num_columns())
                .with("of the right form", known)
                .hint("Check whether a Parquet setting of Spark changed meanwhile, or use engine='arrow'"));
            }
            self.checked(&parquet, &columns, path, Some(partition))
        };
        read().with("path", path)
    }

    /// The file with the facts of its footer, if its rows fit the table. The partition is given or taken from bounds.
    fn checked(
        &self,
        parquet: &ParquetFile,
        columns: &FileColumns,
        path: &str,
        partition: Option<&[Option<Value>]>,
    ) -> Result<DataFile> {
        let footer = parquet.footer();
        let known_columns = columns.iter().filter(|c| self.schema.fields.iter().any(|f| c.id == Some(f.id)));
        parquet.check_plain(known_columns.flat_map(|c| c.leaves.clone()))?;
        let ids = trusted_leaves(&self.schema, columns);
        let metrics = |config: &MetricsConfig| {
            guard(|| {
                Ok(metrics_by_leaf(&self.schema, config, footer, &BTreeMap::new(), &|leaf| ids.get(&leaf).copied()))
            })
        };
        let record_count = footer.row_groups().iter().map(|g| g.num_rows()).sum();
        let whole = metrics(&self.full)?;
        let partition = match (record_count, partition) {
            (0, _) => Partition { spec_id: self.spec.id, values: Vec::new() },
            (_, Some(values)) => self.partition_of(&whole, record_count, values)?,
            (_, None) => self.partition(&whole, record_count, columns, path)?,
        };
        let mut kept = metrics(&self.kept)?;
        let known = |id: FieldId| ids.values().any(|known| *known == id);
        kept.retain(known);
        let file = DataFile {
            record_count,
            size_bytes: self.store.size(path)? as i64,
            metrics: Some(kept.into()),
            split_offsets: Some(split_offsets(footer)),
            sort_order_id: Some(0),
            ..DataFile::new(FileContent::Data, path, FileFormat::Parquet, Arc::new(partition))
        };
        let fits = Projection::plan(&self.schema.fields, columns, &Constants::of(&Arc::new(file.clone())));
        fits.map_err(|e| {
            Error::invalid("the file's columns do not fit the table's")
                .because(e)
                .hint("Evolve the table's schema, or append() its rows with columns of the table's types")
        })?;
        let doubtful: Vec<Field> =
            (self.schema.fields.iter()).filter(|f| !self.is_without_nulls(f, columns, footer)).cloned().collect();
        let doubtful_values = doubtful_leaves(columns, &self.schema, footer);
        let check = || {
            if !doubtful.is_empty() {
                self.check_required(doubtful, &file)?;
            }
            doubtful_values.into_iter().try_for_each(|id| self.check_values(id, &file))
        };
        check().map_err(|e| match e.kind() {
            ErrorKind::InvalidInput => damage(parquet).unwrap_or(e),
            _ => e,
        })?;
        check_whole_units(parquet, columns, &self.schema)?;
        Ok(file)
    }

    /// Whether the footer shows that a column and its fields have no nulls where the table forbids them.
    fn is_without_nulls(&self, field: &Field, columns: &FileColumns, footer: &ParquetMetaData) -> bool {
        let column = columns.iter().find(|c| c.id == Some(field.id)).filter(|_| requires(field));
        let Some(column) = column else { return true };
        let leaves = footer.file_metadata().schema_descr().columns();
        column.leaves.clone().all(|leaf| {
            let never = leaves.get(leaf).is_some_and(|c| c.max_def_level() == 0);
            let nulls = |g: &RowGroupMetaData| g.columns().get(leaf)?.statistics()?.null_count_opt();
            never || footer.row_groups().iter().all(|g| g.num_rows() == 0 || nulls(g) == Some(0))
        })
    }

    /// Reads columns to find nulls that the table forbids.
    fn check_required(&self, fields: Vec<Field>, file: &DataFile) -> Result<()> {
        self.read_columns(Schema::new(self.schema.id, fields, Vec::new()), file).map_err(|e| match e.kind() {
            ErrorKind::CorruptTable => Error::invalid("a required column of the table is null in rows of the file")
                .because(e)
                .hint("Make the column optional first, or append the rows without nulls"),
            _ => e,
        })
    }

    /// Reads a column, to find values that the table's type can't hold.
    fn check_values(&self, id: FieldId, file: &DataFile) -> Result<()> {
        self.read_columns(prune_to(&self.schema, &[id]), file).map_err(|e| match e.kind() {
            ErrorKind::CorruptTable => Error::invalid("the file has a value that the table's type can't hold")
                .with("column", self.schema.name_of(id).unwrap_or_default())
                .with("type", self.schema.field(id).map(|f| f.ty.to_string()).unwrap_or_default())
                .because(e)
                .hint("Evolve the table's schema first, or append the rows with other values"),
            _ => e,
        })
    }

    /// Refuses ids of rows. A column without any is taken: readers give the rows theirs.
    fn check_no_lineage(&self, field: Field, stored: StoredLineage, file: &DataFile) -> Result<()> {
        match stored {
            StoredLineage::Nothing => return Ok(()),
            StoredLineage::Values => return Err(has_lineage(&field)),
            StoredLineage::Unknown => {}
        }
        // Rows without an id inherit this value, which no other row has.
        let none = i64::MIN / 2;
        let own = DataFile { first_row_id: Some(none), sequence_number: Some(none), ..file.clone() };
        let projection = Schema::new(self.schema.id, vec![field.clone()], Vec::new());
        let (schema, names) = (Arc::new(projection.clone()), NameMapping::text_of(&projection));
        self.read_rows((&schema, &names), projection, &own, |batch| {
            let ids = batch.columns().first().and_then(|c| c.as_primitive_opt::<Int64Type>());
            let inherited = |ids: &Int64Array| ids.iter().all(|id| id.is_none_or(|id| id < none / 2));
            if ids.is_some_and(inherited) { Ok(()) } else { Err(has_lineage(&field)) }
        })
        .map_err(|e| match e.kind() {
            ErrorKind::CorruptTable => has_lineage(&field).because(e),
            _ => e,
        })
    }

    fn read_columns(&self, projection: Schema, file: &DataFile) -> Result<()> {
        self.read_rows((&self.schema, &self.mapping_text), projection, file, |_| Ok(()))
    }

    fn read_rows(
        &self,
        (schema, name_mapping): (&Arc<Schema>, &str),
        projection: Schema,
        file: &DataFile,
        each: impl Fn(&RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let context = ReadContext {
            schema: schema.clone(),
            projection: Arc::new(projection),
            dropped: Arc::default(),
            change_filter: Arc::new(BoundPredicate::True),
            snapshot_id: None,
            location: Location::recorded(),
            storage_options: BTreeMap::new(),
            name_mapping: Some(name_mapping.to_owned()),
            keep_deleted: false,
            batch_rows: BATCH_ROWS,
            buckets: None,
        };
        let task = ScanTask {
            data_file: Arc::new(file.clone()),
            start: 0,
            length: file.size_bytes,
            deletes: Vec::new(),
            residual: Arc::new(BoundPredicate::True),
            change: None,
            merge: None,
        };
        let rows = read_task(&self.store, &Arc::new(context), &task, &DeleteCache::default());
        rows.and_then(|mut rows| rows.try_for_each(|batch| each(&batch?)))
    }

    /// The given partition of the rows, if null counts and bounds don't contradict it.
    fn partition_of(&self, metrics: &ColumnMetrics, records: i64, values: &[Option<Value>]) -> Result<Partition> {
        let one = |(f, value): (&PartitionField, &Option<Value>)| {
            if self.contradicts(f, value.as_ref(), metrics, records) {
                return Err(Error::invalid("the file has rows of another partition than its folder")
                    .with("partition field", &f.name));
            }
            Ok(self.value_of(f, value.clone()))
        };
        let values = self.spec.fields.iter().zip(values).map(one).collect::<Result<Vec<_>>>()?;
        Ok(Partition { spec_id: self.spec.id, values })
    }

    fn contradicts(&self, f: &PartitionField, value: Option<&Value>, m: &ColumnMetrics, records: i64) -> bool {
        let nulls = m.null_value_counts.as_ref().and_then(|n| n.get(&f.source_id)).copied();
        if f.transform == Transform::Void {
            return value.is_some();
        }
        if nulls.is_some_and(|nulls| nulls != if value.is_none() { records } else { 0 }) {
            return true;
        }
        let Some(source) = self.schema.field(f.source_id).and_then(|f| f.ty.as_primitive()) else { return true };
        let (lower, upper) = (bound(&m.lower_bounds, f, source), bound(&m.upper_bounds, f, source));
        let differs = |v: &Value| f.transform.apply(v.as_ref(), source).as_ref() != value;
        match f.transform.preserves_order() || lower == upper {
            true => lower.is_some_and(|v| differs(&v)) || upper.is_some_and(|v| differs(&v)),
            false => false,
        }
    }

    fn value_of(&self, f: &PartitionField, value: Option<Value>) -> PartitionValue {
        PartitionValue {
            name: f.name.clone(),
            field_id: f.field_id,
            source_id: f.source_id,
            transform: f.transform.clone(),
            ty: f.result_type(&self.schema),
            value,
        }
    }

    /// The partition of all rows. It follows from equal bounds, or from the folder if the file lacks the column.
    fn partition(
        &self,
        metrics: &ColumnMetrics,
        record_count: i64,
        columns: &FileColumns,
        path: &str,
    ) -> Result<Partition> {
        let value = |f: &PartitionField| {
            let absent = self.absent_column(f, columns);
            let value = match absent {
                Some(column) => folder_partition(f, column, path),
                None => self.partition_value(f, metrics, record_count),
            };
            let value = value.with("partition field", &f.name)?;
            Ok(self.value_of(f, value))
        };
        let values = self.spec.fields.iter().map(value).collect::<Result<Vec<_>>>()?;
        Ok(Partition { spec_id: self.spec.id, values })
    }

    /// The column of a partition field if the file does not have it.
    fn absent_column(&self, f: &PartitionField, columns: &FileColumns) -> Option<&Field> {
        let column = self.schema.fields.iter().find(|column| column.id == f.source_id)?;
        let is_there = columns.iter().any(|c| c.id == Some(column.id));
        (!is_there && f.transform != Transform::Void).then_some(column)
    }

    fn partition_value(&self, f: &PartitionField, m: &ColumnMetrics, record_count: i64) -> Result<Option<Value>> {
        if f.transform == Transform::Void {
            return Ok(None);
        }
        let unknown = || {
            Error::invalid("the file's statistics do not show which partition its rows belong to")
                .hint("Append its rows instead, or write it with statistics")
        };
        let source = self.schema.field(f.source_id).and_then(|f| f.ty.as_primitive()).ok_or_else(unknown)?;
        let nulls = m.null_value_counts.as_ref().and_then(|n| n.get(&f.source_id)).copied().ok_or_else(unknown)?;
        let bounded = [&m.lower_bounds, &m.upper_bounds].into_iter().any(|map| bound(map, f, source).is_some());
        if nulls == record_count && !bounded {
            return Ok(None);
        }
        let lower = bound(&m.lower_bounds, f, source).ok_or_else(unknown)?;
        let upper = bound(&m.upper_bounds, f, source).ok_or_else(unknown)?;
        // NaN is in no bound, so bounds of floats do not hold for all rows.
        if source.is_float() {
            return Err(unknown());
        }
        let of = |v: &Value| f.transform.apply(v.as_ref(), source);
        let (low, high) = (of(&lower), of(&upper));
        let one = if f.transform.preserves_order() { low == high } else { lower == upper };
        if nulls > 0 || !one {
            return Err(Error::invalid("the file has rows of several partitions")
                .hint("A file must have one value in each partition field; append its rows instead"));
        }
        if low.is_none() {
            return Err(unknown());
        }
        Ok(low)
    }
}

/// The value of a partition field whose column is not in the file. A folder names the value.
fn folder_partition(f: &PartitionField, column: &Field, path: &str) -> Result<Option<Value>> {
    let name = &column.name;
    if f.transform != Transform::Identity {
        return Err(Error::invalid(format!("the file has no column '{name}', which the table is partitioned by"))
            .hint("Only values of identity partitions are taken from folders. Append the rows with the column"));
    }
    let found = match column.ty.as_primitive() {
        Some(ty) => folder_value(path, name, ty)?,
        None => None,
    };
    match found {
        Some(None) if column.required => Err(Error::invalid(format!("the folder says that '{name}' is null"))
            .with("column", name)
            .hint("The column is required in the table. Make it optional first")),
        Some(value) => Ok(value),
        None => Err(Error::invalid(format!(
            "the file has no column '{name}', which the table is partitioned by, and no folder of its path names a value"
        ))
        .hint(format!("Put the file into a folder '{name}=value', or write the column into the file"))),
    }
}

/// A bound of a partition field's source column.
fn bound(map: &Option<FieldMap<Vec<u8>>>, f: &PartitionField, source: &PrimitiveType) -> Option<Value> {
    let bytes = map.as_ref()?.get(&f.source_id)?;
    Some(decode_bound(bytes, source).ok()??.to_owned())
}

/// The field ids of leaves whose statistics mean the same as Iceberg's bounds, by the leaf's number.
pub(crate) fn trusted_leaves(schema: &Schema, columns: &FileColumns) -> HashMap<usize, FieldId> {
    let mut out = HashMap::new();
    let mut pending: Vec<&FileColumn> = columns.iter().collect();
    while let Some(column) = pending.pop() {
        pending.extend(&column.children);
        let field = column.id.and_then(|id| schema.field(id)).filter(|_| column.children.is_empty());
        let Some(ty) = field.and_then(|f| f.ty.as_primitive()) else { continue };
        let same = arrow_primitive(ty).is_ok_and(|ours| is_same(&ours, column.field.data_type()));
        if let (true, Some(id)) = (same, column.id) {
            out.insert(column.leaves.start, id);
        }
    }
    out
}

/// Whether a field, or a field inside it, forbids nulls.
fn requires(field: &Field) -> bool {
    field.required || field.ty.children().into_iter().any(requires)
}

/// Whether statistics of a stored type are those of the type that Iceberg writes.
fn is_same(ours: &DataType, stored: &DataType) -> bool {
    use DataType as D;
    match (ours, stored) {
        (D::Utf8 | D::LargeUtf8, D::Utf8 | D::LargeUtf8 | D::Utf8View) => true,
        (D::Binary | D::LargeBinary, D::Binary | D::LargeBinary | D::BinaryView) => true,
        (D::Timestamp(a, None), D::Timestamp(b, None)) => a == b,
        (D::Timestamp(a, Some(_)), D::Timestamp(b, Some(_))) => a == b,
        (D::Decimal128(_, a), D::Decimal128(_, b)) => a == b,
        (a, b) => a == b,
    }
}

/// The error of a file that can't be decoded, for any columns of the table.
fn damage(parquet: &ParquetFile) -> Option<Error> {
    let decode = || {
        let file = parquet.clone();
        let (groups, leaves) = (0..file.footer().num_row_groups(), 0..file.parquet_schema().num_columns());
        let metadata = file.metadata.clone();
        let plan = DecodePlan { metadata, groups: groups.collect(), selection: None, leaves: leaves.collect() };
        let batch_rows = plan.batch_rows(BATCH_ROWS);
        ParquetBatches::after(file, plan, batch_rows, 0)?.try_for_each(|batch| batch.map(|_| ()))
    };
    decode().err()
}

#[cfg(test)]
#[path = "importer_tests.rs"]
mod tests;
