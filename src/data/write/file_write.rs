//! Begins new files of rows, in the format that the table wants.
//!
//! [`FileSettings`] says how all files of one writer are made. It begins a file, which is a [`NewFile`] of Parquet,
//! Avro or ORC.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use super::metrics::MetricsConfig;
use super::new_file::{FileObserver, NewFile, ObservedFile, Purpose};
use crate::data::arrow::schema::to_arrow;
use crate::data::avro::write::{AvroSettings, NewAvroFile};
use crate::data::blobs::write::{BlobColumns, FileWithBlobs};
use crate::data::declared_types::stored::ExactTypes;
use crate::data::orc::write::{NewOrcFile, OrcSettings};
use crate::data::parquet::schema::without_unknown;
use crate::data::parquet::write::{NewParquetFile, ParquetSettings};
use crate::error::{Error, Result};
use crate::format::task::FileFormat;
use crate::store::{Store, Unsynced};
use crate::types::Schema;

/// The format of data files, and of delete files without their own setting.
const FORMAT: &str = "write.format.default";
const DELETE_FORMAT: &str = "write.delete.format.default";

/// The format that a table's properties set for its data files, or for its delete files of rows.
///
/// # Errors
/// `InvalidInput` for a format that can't hold rows, naming the property.
pub(crate) fn format_of(properties: &BTreeMap<String, String>, deletes: bool) -> Result<FileFormat> {
    let keys: &[&'static str] = if deletes { &[DELETE_FORMAT, FORMAT] } else { &[FORMAT] };
    let given = keys.iter().find_map(|key| properties.get(*key).map(|format| (*key, format)));
    let Some((key, text)) = given else { return Ok(FileFormat::Parquet) };
    FileFormat::parse_rows(text.trim()).ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a format of data files"))
            .with("property", key)
            .hint("Use parquet, avro or orc")
    })
}

/// The columns of a table that files of a format have.
///
/// # Errors
/// The errors of [`without_unknown`].
pub(crate) fn stored_schema(format: FileFormat, schema: &Schema) -> Result<Schema> {
    match format {
        // Avro has a type that holds only null.
        FileFormat::Avro => Ok(schema.clone()),
        _ => without_unknown(schema),
    }
}

/// How all files of one writer are made.
#[derive(Clone, Debug)]
pub struct FileSettings {
    arrow: SchemaRef,
    form: FormatSettings,
    /// The observer of the rows of every file, and the Arrow schema of stored rows.
    observed: Option<(Arc<dyn FileObserver>, SchemaRef)>,
    /// Columns in files of their own.
    blobs: Option<Arc<BlobColumns>>,
}

#[derive(Clone, Debug)]
enum FormatSettings {
    Parquet(Arc<ParquetSettings>),
    Avro(Arc<AvroSettings>),
    Orc(Arc<OrcSettings>),
}

impl FileSettings {
    /// Settings for rows of `schema` (as Arrow: `arrow`) from the table's properties.
    ///
    /// # Errors
    /// `InvalidInput` for a property that can't be read; `Unsupported` for a type that the format does not have.
    pub fn new(
        format: FileFormat,
        schema: Arc<Schema>,
        arrow: SchemaRef,
        properties: &BTreeMap<String, String>,
        metrics: MetricsConfig,
        purpose: Purpose<'_>,
    ) -> Result<FileSettings> {
        let form = match format {
            FileFormat::Parquet => {
                let settings = ParquetSettings::new(schema, arrow.clone(), properties, metrics, purpose)?;
                FormatSettings::Parquet(Arc::new(settings))
            }
            FileFormat::Avro => FormatSettings::Avro(Arc::new(AvroSettings::new(&schema, properties, purpose)?)),
            FileFormat::Orc => FormatSettings::Orc(Arc::new(OrcSettings::new(&schema, properties, metrics, purpose)?)),
            FileFormat::Puffin | FileFormat::Blob => {
                return Err(Error::internal(format!("rows are not written to files of format {}", format.as_str())));
            }
        };
        Ok(FileSettings { arrow, form, observed: None, blobs: None })
    }

    /// Settings for rows whose columns have these exact types.
    ///
    /// # Errors
    /// The errors of [`FileSettings::new`].
    pub fn of_exact(
        format: FileFormat,
        schema: Arc<Schema>,
        exact: &ExactTypes,
        properties: &BTreeMap<String, String>,
        observer: Arc<dyn FileObserver>,
    ) -> Result<FileSettings> {
        let (arrow, stored) = (to_arrow(&schema)?, exact.stored_arrow(&schema, format)?);
        // The observer finds out the values that a manifest records for the columns.
        let metrics = MetricsConfig::new(&schema, &BTreeMap::new(), &[]);
        let settings =
            FileSettings::new(format, schema, stored.clone(), properties, metrics, Purpose::ExactRows(exact))?;
        Ok(FileSettings { arrow, observed: Some((observer, stored)), ..settings })
    }

    /// Writes columns that these settings don't have to files of their own.
    pub(crate) fn with_blobs(self, blobs: BlobColumns) -> FileSettings {
        FileSettings { arrow: blobs.arrow.clone(), blobs: Some(Arc::new(blobs)), ..self }
    }

    /// The schema that batches must have.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The format of the files.
    pub fn format(&self) -> FileFormat {
        match &self.form {
            FormatSettings::Parquet(_) => FileFormat::Parquet,
            FormatSettings::Avro(_) => FileFormat::Avro,
            FormatSettings::Orc(_) => FileFormat::Orc,
        }
    }

    /// Begins a file at `path`. It is durable after [`Unsynced::sync`].
    ///
    /// # Errors
    /// The errors of [`Store::create_unsynced`].
    pub fn create(&self, store: &dyn Store, path: String, unsynced: &Arc<Unsynced>) -> Result<Box<dyn NewFile>> {
        let observer = self.observed.as_ref().map(|(observer, stored)| (observer.begin(&path), stored.clone()));
        let sink = store.create_unsynced(&path, unsynced)?;
        let file: Box<dyn NewFile> = match &self.form {
            FormatSettings::Parquet(settings) => Box::new(NewParquetFile::begin(sink, path, settings.clone())),
            FormatSettings::Avro(settings) => Box::new(NewAvroFile::begin(sink, path, settings)),
            FormatSettings::Orc(settings) => Box::new(NewOrcFile::begin(sink, path, settings)?),
        };
        let file = match observer {
            Some((observer, stored)) => Box::new(ObservedFile { file, stored, observer, unsynced: unsynced.clone() }),
            None => file,
        };
        Ok(match &self.blobs {
            Some(blobs) => Box::new(FileWithBlobs::begin(file, blobs.clone(), unsynced)),
            None => file,
        })
    }
}

#[cfg(test)]
#[path = "file_write_tests.rs"]
pub(crate) mod tests;
