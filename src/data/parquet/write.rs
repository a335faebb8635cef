//! One Parquet file: its settings come from table properties, its bytes go to the store, and its metrics follow at the
//! end.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::SchemaDescriptor;

use super::dictionary;
use super::exact::{exact_order, exact_parquet, in_exact_order};
use super::int96::RowWriter;
use super::properties::writer_properties;
use super::schema::to_parquet;
use crate::data::write::metrics::{MetricsConfig, file_metrics, split_offsets};
use crate::data::write::new_file::{NewFile, Purpose, Written};
use crate::data::write::partition_rows::{column_at, source_path};
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::check_cancelled;
use crate::store::StoreWriter;
use crate::types::schema_json::schema_to_json;
use crate::types::{FieldId, Schema};

/// How all files of one writer are made.
#[derive(Debug)]
pub(crate) struct ParquetSettings {
    schema: Arc<Schema>,
    arrow: SchemaRef,
    /// The order of columns in the file, if rows have another one.
    order: Option<SchemaRef>,
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

impl ParquetSettings {
    /// Settings for rows of `schema` (as Arrow: `arrow`) from the table's properties.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for a type that can't be written.
    pub(crate) fn new(
        schema: Arc<Schema>,
        arrow: SchemaRef,
        properties: &BTreeMap<String, String>,
        metrics: MetricsConfig,
        purpose: Purpose<'_>,
    ) -> Result<Self> {
        let mut metadata = purpose.metadata();
        let parquet = match purpose.exact() {
            Some(exact) => exact_parquet(&schema, exact)?,
            None => {
                metadata.push(("iceberg.schema".to_owned(), schema_to_json(purpose.named(&schema)).to_string()));
                to_parquet(&schema)?
            }
        };
        let order = purpose.exact().and_then(|_| exact_order(&arrow));
        let statistics = metrics.statistics_bytes(&schema);
        let properties = writer_properties(properties, purpose.is_delete(), (&schema, &parquet), statistics, metadata)?;
        let float = |id: FieldId| {
            let (path, ty) = source_path(&schema, id)?;
            ty.is_float().then_some(FloatColumn { id, path })
        };
        let mut floats: Vec<FloatColumn> = schema.field_ids().filter_map(float).collect();
        floats.sort_by_key(|f| f.id);
        Ok(ParquetSettings { parquet, arrow, order, properties, metrics, floats, schema })
    }

    /// The Arrow schema of rows as the file has them.
    fn stored(&self) -> &SchemaRef {
        self.order.as_ref().unwrap_or(&self.arrow)
    }

    /// The properties of a file that begins with these rows.
    fn properties_for(&self, rows: &RecordBatch) -> WriterProperties {
        let dear: Vec<bool> = rows.columns().iter().map(|column| !dictionary::pays(column)).collect();
        let leaves = self.parquet.columns().iter().enumerate().filter(|(_, c)| c.path().parts().len() == 1);
        let plain = leaves.filter(|(leaf, _)| dear.get(self.parquet.get_column_root_idx(*leaf)) == Some(&true));
        plain
            .fold(self.properties.clone().into_builder(), |out, (_, leaf)| {
                out.set_column_dictionary_enabled(leaf.path().clone(), false)
            })
            .build()
    }
}

/// The bytes' way to the store. The store's writer can be taken out for the final step.
struct Sink(Option<Box<dyn StoreWriter>>);

impl Sink {
    fn writer(&mut self) -> io::Result<&mut Box<dyn StoreWriter>> {
        self.0.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A row group has many pages, which the crate writes one after the other.
        check_cancelled().map_err(io::Error::other)?;
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

/// A Parquet file being written. It leaves no file if it is dropped before [`NewParquetFile::finish`].
pub(crate) struct NewParquetFile {
    path: String,
    settings: Arc<ParquetSettings>,
    /// The store's writer, until the first rows decide how the file is encoded.
    sink: Option<Sink>,
    writer: Option<RowWriter<Sink>>,
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

/// The error of this crate for an error of the Parquet writer: either the store failed, or the writer does not take the
/// data.
fn write_error(path: &str, e: ParquetError) -> Error {
    if let ParquetError::External(source) = &e
        && let Some(io) = source.downcast_ref::<io::Error>()
        && let Some(own) = io.get_ref().and_then(|inner| inner.downcast_ref::<Error>())
    {
        return own.duplicate();
    }
    let kind = match &e {
        ParquetError::External(source) if source.is::<io::Error>() => ErrorKind::Store,
        _ => ErrorKind::Internal,
    };
    Error::new(kind, "cannot write the file").with("path", path).because(e)
}

impl NewParquetFile {
    /// Begins a file at `path`, whose bytes go to `sink`.
    pub(crate) fn begin(sink: Box<dyn StoreWriter>, path: String, settings: Arc<ParquetSettings>) -> Self {
        let sink = Some(Sink(Some(sink)));
        let nan_counts = settings.floats.iter().map(|f| (f.id, 0)).collect();
        NewParquetFile { path, settings, sink, writer: None, nan_counts }
    }

    fn started(&mut self, first: &RecordBatch) -> Result<&mut RowWriter<Sink>> {
        if let Some(sink) = self.sink.take() {
            let settings = &self.settings;
            let options = ArrowWriterOptions::new()
                .with_properties(settings.properties_for(first))
                .with_parquet_schema(settings.parquet.clone())
                .with_skip_arrow_metadata(true);
            let has_int96 = settings.parquet.columns().iter().any(|c| c.physical_type() == PhysicalType::INT96);
            let writer = ArrowWriter::try_new_with_options(sink, settings.stored().clone(), options)
                .and_then(|writer| RowWriter::new(writer, settings.stored().clone(), has_int96));
            self.writer = Some(writer.map_err(|e| write_error(&self.path, e))?);
        }
        self.writer
            .as_mut()
            .ok_or_else(|| Error::internal("the Parquet file can't be started").with("path", &self.path))
    }
}

impl NewFile for NewParquetFile {
    fn expect_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        self.started(rows).map(|_| ())
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        for float in &self.settings.floats {
            *self.nan_counts.entry(float.id).or_default() += count_nans(&column_at(rows, &float.path)?);
        }
        let ordered = self.settings.order.as_ref().map(|order| in_exact_order(rows, order)).transpose();
        let ordered = ordered.map_err(|e| write_error(&self.path, e.into()))?;
        let written = self.started(rows)?.write(ordered.as_ref().unwrap_or(rows));
        written.map_err(|e| write_error(&self.path, e))
    }

    fn estimated_bytes(&self) -> u64 {
        self.writer.as_ref().map_or(0, RowWriter::estimated_bytes)
    }

    fn buffered_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, RowWriter::buffered_bytes)
    }

    fn flush(&mut self) -> Result<()> {
        let flushed = self.writer.as_mut().map_or(Ok(()), RowWriter::flush);
        flushed.map_err(|e| write_error(&self.path, e))
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let nothing = RecordBatch::new_empty(self.settings.arrow.clone());
        let writer = self.started(&nothing)?;
        let footer = writer.finish();
        let sink = writer.sink().0.take();
        let footer = footer.map_err(|e| write_error(&self.path, e))?;
        let sink = sink.ok_or_else(|| Error::internal("the file is closed twice").with("path", &self.path))?;
        let size = sink.finish().map_err(|e| e.with("path", &self.path))?;
        let settings = &self.settings;
        Ok(Written {
            record_count: footer.file_metadata().num_rows(),
            size_bytes: size as i64,
            metrics: Some(file_metrics(&settings.schema, &settings.metrics, &footer, &self.nan_counts)),
            split_offsets: Some(split_offsets(&footer)),
        })
    }
}
