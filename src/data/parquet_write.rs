//! One Parquet file: its settings from table properties, its bytes to the store, its metrics at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::SchemaDescriptor;

use super::metrics::{MetricsConfig, file_metrics, split_offsets};
use super::parquet_properties::writer_properties;
use super::parquet_schema::to_parquet;
use super::partition_rows::{column_at, source_path};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Store, StoreWriter};
use crate::task::{ColumnMetrics, DataFile, FileContent, FileFormat, Partition};
use crate::types::schema_json::schema_to_json;
use crate::types::{FieldId, Schema};

/// How all files of one writer are made.
#[derive(Debug)]
pub struct ParquetSettings {
    schema: Arc<Schema>,
    arrow: SchemaRef,
    parquet: SchemaDescriptor,
    properties: WriterProperties,
    metrics: MetricsConfig,
    floats: Vec<FloatColumn>,
}

/// A float or double column whose NaN are counted: outside lists and maps, with metrics.
#[derive(Clone, Debug)]
struct FloatColumn {
    id: FieldId,
    path: Vec<usize>,
}

/// What a file turned out to be.
#[derive(Debug)]
pub struct WrittenParquet {
    /// Rows in it.
    pub record_count: i64,
    /// Its length.
    pub size_bytes: i64,
    /// Its column metrics.
    pub metrics: ColumnMetrics,
    /// Where its row groups begin.
    pub split_offsets: Vec<i64>,
}

impl WrittenParquet {
    /// As a manifest will list it, before a commit. Position delete files have no sort order of the table's.
    pub(super) fn into_file(self, content: FileContent, path: String, partition: Arc<Partition>) -> DataFile {
        DataFile {
            record_count: self.record_count,
            size_bytes: self.size_bytes,
            metrics: Some(self.metrics.into()),
            split_offsets: Some(self.split_offsets),
            ..DataFile::new(content, path, FileFormat::Parquet, partition)
        }
    }
}

/// What a file is for, as far as its settings go.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Rows of a table of this schema.
    Rows(&'a Schema),
    /// Positions of deleted rows.
    PositionDeletes,
    /// Keys of deleted rows, in these columns.
    EqualityDeletes(&'a [FieldId]),
}

impl Purpose<'_> {
    /// What the footer says of it: the words are Java's.
    fn metadata(self) -> Vec<KeyValue> {
        let of_type = |name: &str| KeyValue::new("delete-type".to_owned(), name.to_owned());
        match self {
            Purpose::Rows(_) => vec![],
            Purpose::PositionDeletes => vec![of_type("position")],
            Purpose::EqualityDeletes(ids) => {
                let ids: Vec<String> = ids.iter().map(FieldId::to_string).collect();
                vec![of_type("equality"), KeyValue::new("delete-field-ids".to_owned(), ids.join(", "))]
            }
        }
    }
}

impl ParquetSettings {
    /// Settings for rows of `schema` (as Arrow: `arrow`) from the table's properties.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for a type that can't be written.
    pub fn new(
        schema: Arc<Schema>,
        arrow: SchemaRef,
        properties: &BTreeMap<String, String>,
        metrics: MetricsConfig,
        purpose: Purpose<'_>,
    ) -> Result<Self> {
        let parquet = to_parquet(&schema)?;
        // Of a table's rows all columns are named, also those of type unknown, which files do not have.
        let (deletes, named) = match purpose {
            Purpose::Rows(table) => (false, table),
            _ => (true, &*schema),
        };
        let json = schema_to_json(named).to_string();
        let mut metadata = purpose.metadata();
        metadata.push(KeyValue::new("iceberg.schema".to_owned(), json));
        let statistics = metrics.statistics_bytes(&schema);
        let properties = writer_properties(properties, deletes, (&schema, &parquet), statistics, metadata)?;
        let float = |id: FieldId| {
            let (path, ty) = source_path(&schema, id)?;
            ty.is_float().then_some(FloatColumn { id, path })
        };
        let mut floats: Vec<FloatColumn> = schema.field_ids().filter_map(float).collect();
        floats.sort_by_key(|f| f.id);
        Ok(ParquetSettings { parquet, arrow, properties, metrics, floats, schema })
    }

    /// The schema that batches must have.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }
}

/// The bytes' way to the store; what it holds can be taken out for the final step.
struct Sink(Option<Box<dyn StoreWriter>>);

impl Sink {
    fn writer(&mut self) -> io::Result<&mut Box<dyn StoreWriter>> {
        self.0.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

/// A Parquet file being written. Dropped before [`ParquetFile::finish`] it leaves nothing behind.
pub struct ParquetFile {
    path: String,
    settings: Arc<ParquetSettings>,
    writer: ArrowWriter<Sink>,
    nan_counts: BTreeMap<FieldId, i64>,
}

fn count_nans(array: &ArrayRef) -> i64 {
    fn count<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, is_nan: impl Fn(T::Native) -> bool) -> i64 {
        let nans = array.values().iter().enumerate().filter(|(_, v)| is_nan(**v));
        nans.filter(|(row, _)| array.is_valid(*row)).count() as i64
    }
    match (array.as_primitive_opt::<Float32Type>(), array.as_primitive_opt::<Float64Type>()) {
        (Some(floats), _) => count(floats, f32::is_nan),
        (_, Some(doubles)) => count(doubles, f64::is_nan),
        _ => 0,
    }
}

/// The crate's error for one of the Parquet writer: a failed store underneath, or else data that it does not take.
fn write_error(path: &str, e: ParquetError) -> Error {
    if let ParquetError::External(source) = &e
        && let Some(io) = source.downcast_ref::<io::Error>()
        && let Some(own) = io.get_ref().and_then(|inner| inner.downcast_ref::<Error>())
    {
        return own.again();
    }
    let kind = match &e {
        ParquetError::External(source) if source.is::<io::Error>() => ErrorKind::Store,
        _ => ErrorKind::Internal,
    };
    Error::new(kind, "cannot write the file").with("path", path).because(e)
}

impl ParquetFile {
    /// Begins a file at `path`.
    ///
    /// # Errors
    /// What [`Store::create`] gives.
    pub fn create(store: &dyn Store, path: String, settings: Arc<ParquetSettings>) -> Result<Self> {
        let sink = Sink(Some(store.create(&path)?));
        let options = ArrowWriterOptions::new()
            .with_properties(settings.properties.clone())
            .with_parquet_schema(settings.parquet.clone())
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(sink, settings.arrow.clone(), options)
            .map_err(|e| write_error(&path, e))?;
        let nan_counts = settings.floats.iter().map(|f| (f.id, 0)).collect();
        Ok(ParquetFile { path, settings, writer, nan_counts })
    }

    /// The file's path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds rows, which must have the settings' Arrow schema.
    ///
    /// # Errors
    /// `Store` if the store fails, naming the path.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        for float in &self.settings.floats {
            *self.nan_counts.entry(float.id).or_default() += count_nans(&column_at(rows, &float.path)?);
        }
        self.writer.write(rows).map_err(|e| write_error(&self.path, e))
    }

    /// What the file would be long if it ended now, about.
    pub fn estimated_bytes(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Memory held by the row group in progress.
    pub fn buffered_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    /// Ends the row group in progress, which frees its memory.
    ///
    /// # Errors
    /// As [`ParquetFile::write`].
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|e| write_error(&self.path, e))
    }

    /// Writes the footer and makes the file durable under its path.
    ///
    /// # Errors
    /// As [`ParquetFile::write`]; `AlreadyExists` if the path is taken.
    pub fn finish(mut self) -> Result<WrittenParquet> {
        let footer = self.writer.finish().map_err(|e| write_error(&self.path, e))?;
        let sink = self.writer.inner_mut().0.take();
        let sink = sink.ok_or_else(|| Error::internal("the file is closed twice").with("path", &self.path))?;
        let size = sink.finish().map_err(|e| e.with("path", &self.path))?;
        let settings = &self.settings;
        Ok(WrittenParquet {
            record_count: footer.file_metadata().num_rows(),
            size_bytes: size as i64,
            metrics: file_metrics(&settings.schema, &settings.metrics, &footer, &self.nan_counts),
            split_offsets: split_offsets(&footer),
        })
    }
}
