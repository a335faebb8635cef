//! One Parquet file: its settings from table properties, its bytes to the store, its metrics at the end.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::SchemaDescriptor;

use super::metrics::{MetricsConfig, file_metrics, split_offsets};
use super::parquet_schema::to_parquet;
use super::partition_rows::{column_at, source_path};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{Store, StoreWriter};
use crate::task::ColumnMetrics;
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

/// A whole number above 0 from a table property.
///
/// # Errors
/// `InvalidInput`, naming the property, if it is something else.
pub(super) fn size_property(properties: &BTreeMap<String, String>, key: &'static str, default: u64) -> Result<u64> {
    match properties.get(key) {
        None => Ok(default),
        Some(text) => text
            .trim()
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| Error::invalid(format!("'{text}' is no number above 0")).with("property", key)),
    }
}

fn compression(properties: &BTreeMap<String, String>) -> Result<Compression> {
    const CODEC: &str = "write.parquet.compression-codec";
    const LEVEL: &str = "write.parquet.compression-level";
    let codec = properties.get(CODEC).map_or("zstd", |c| c.trim()).to_ascii_lowercase();
    let level = match properties.get(LEVEL) {
        None => None,
        Some(text) => Some(
            text.trim()
                .parse::<i32>()
                .map_err(|_| Error::invalid(format!("'{text}' is no whole number")).with("property", LEVEL))?,
        ),
    };
    let bad_level =
        |e: ParquetError| Error::invalid(format!("{codec} has no such level")).with("property", LEVEL).because(e);
    let unsigned = |default: u32| level.map_or(default, |l| u32::try_from(l).unwrap_or(u32::MAX));
    Ok(match codec.as_str() {
        "zstd" => Compression::ZSTD(ZstdLevel::try_new(level.unwrap_or(3)).map_err(bad_level)?),
        "gzip" => Compression::GZIP(GzipLevel::try_new(unsigned(6)).map_err(bad_level)?),
        "brotli" => Compression::BROTLI(BrotliLevel::try_new(unsigned(1)).map_err(bad_level)?),
        "snappy" => Compression::SNAPPY,
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "uncompressed" | "none" => Compression::UNCOMPRESSED,
        other => {
            return Err(Error::invalid(format!("'{other}' is no compression codec"))
                .with("property", CODEC)
                .hint("Use zstd, snappy, gzip, lz4, brotli or uncompressed"));
        }
    })
}

impl ParquetSettings {
    /// Settings for rows of `schema` (as Arrow: `arrow`) from the table properties `write.parquet.*`.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for a type that can't be written.
    pub fn new(
        schema: Arc<Schema>,
        arrow: SchemaRef,
        properties: &BTreeMap<String, String>,
        sorted: &[FieldId],
    ) -> Result<Self> {
        let size = |key, default| size_property(properties, key, default).map(|n| n.min(i32::MAX as u64) as usize);
        let metrics = MetricsConfig::new(&schema, properties, sorted);
        let json = schema_to_json(&schema).to_string();
        let made = WriterProperties::builder()
            .set_created_by(format!("frazil {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![KeyValue::new("iceberg.schema".to_owned(), json)]))
            .set_compression(compression(properties)?)
            .set_max_row_group_row_count(None)
            .set_max_row_group_bytes(Some(size("write.parquet.row-group-size-bytes", 128 << 20)?))
            .set_data_page_size_limit(size("write.parquet.page-size-bytes", 1 << 20)?)
            .set_data_page_row_count_limit(size("write.parquet.page-row-limit", 20_000)?)
            .set_dictionary_page_size_limit(size("write.parquet.dict-size-bytes", 2 << 20)?)
            .set_statistics_truncate_length(metrics.statistics_bytes(&schema))
            .build();
        let float = |id: FieldId| {
            let (path, ty) = source_path(&schema, id)?;
            ty.is_float().then_some(FloatColumn { id, path })
        };
        let mut floats: Vec<FloatColumn> = schema.field_ids().filter_map(float).collect();
        floats.sort_by_key(|f| f.id);
        Ok(ParquetSettings { parquet: to_parquet(&schema)?, arrow, properties: made, metrics, floats, schema })
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
    let kind = match &e {
        ParquetError::External(source) if source.is::<io::Error>() => ErrorKind::Store,
        _ => ErrorKind::Internal,
    };
    Error::new(kind, "cannot write the data file").with("path", path).because(e)
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
        let sink = sink.ok_or_else(|| Error::internal("the data file is closed twice").with("path", &self.path))?;
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
