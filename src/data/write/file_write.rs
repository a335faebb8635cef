//! New files of rows, whatever their format.
//!
//! [`FileSettings`] says how all files of one writer are made, and begins them; a [`NewFile`] takes rows and turns out to
//! be a [`Written`]. `parquet_write`, `avro_write` and `orc_write` are the three forms.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::metrics::MetricsConfig;
use super::table_rows::{FileObserver, ObservedFile};
use crate::data::arrow::schema::to_arrow;
use crate::data::avro::write::{AvroFile, AvroSettings};
use crate::data::orc::write::{OrcFile, OrcSettings};
use crate::data::paimon_types::stored::ExactTypes;
use crate::data::parquet::schema::without_unknown;
use crate::data::parquet::write::{ParquetFile, ParquetSettings};
use crate::error::{Error, Result};
use crate::format::task::{ColumnMetrics, DataFile, FileContent, FileFormat, Partition};
use crate::store::{Store, StoreWriter};
use crate::types::{FieldId, Schema};

/// The format of data files, and of delete files if nothing else is said of them.
const FORMAT: &str = "write.format.default";
const DELETE_FORMAT: &str = "write.delete.format.default";

/// The format that a table's properties want for its data files, or for its delete files of rows.
///
/// # Errors
/// `InvalidInput` for one that rows can't be in, naming the property.
pub(crate) fn format_of(properties: &BTreeMap<String, String>, deletes: bool) -> Result<FileFormat> {
    let keys: &[&'static str] = if deletes { &[DELETE_FORMAT, FORMAT] } else { &[FORMAT] };
    let given = keys.iter().find_map(|key| properties.get(*key).map(|format| (*key, format)));
    let Some((key, text)) = given else { return Ok(FileFormat::Parquet) };
    FileFormat::parse(text.trim()).filter(|format| *format != FileFormat::Puffin).ok_or_else(|| {
        Error::invalid(format!("'{text}' is no format of files with rows"))
            .with("property", key)
            .hint("Use parquet, avro or orc")
    })
}

/// What of a table's columns is in files of a format.
///
/// # Errors
/// As [`without_unknown`].
pub(crate) fn stored_schema(format: FileFormat, schema: &Schema) -> Result<Schema> {
    match format {
        // Avro has a type of nothing but null.
        FileFormat::Avro => Ok(schema.clone()),
        _ => without_unknown(schema),
    }
}

/// What a file is for, as far as its settings go.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Rows of a table of this schema.
    Rows(&'a Schema),
    /// Rows of a Paimon table, whose columns are stored as these types want it.
    PaimonRows(&'a ExactTypes),
    /// Positions of deleted rows.
    PositionDeletes,
    /// Keys of deleted rows, in these columns.
    EqualityDeletes(&'a [FieldId]),
}

impl<'a> Purpose<'a> {
    /// Whether it is a delete file.
    pub(crate) fn is_delete(self) -> bool {
        !matches!(self, Purpose::Rows(_) | Purpose::PaimonRows(_))
    }

    /// The columns that the file names. Of a table's rows they are all, also those that files of the format do not have.
    pub(crate) fn named(self, stored: &'a Schema) -> &'a Schema {
        match self {
            Purpose::Rows(table) => table,
            _ => stored,
        }
    }

    /// The exact types of a Paimon table's columns.
    pub(crate) fn exact(self) -> Option<&'a ExactTypes> {
        if let Purpose::PaimonRows(exact) = self { Some(exact) } else { None }
    }

    /// What the file says of it: the words are Java's.
    pub(crate) fn metadata(self) -> Vec<(String, String)> {
        let of_type = |name: &str| ("delete-type".to_owned(), name.to_owned());
        match self {
            Purpose::Rows(_) | Purpose::PaimonRows(_) => vec![],
            Purpose::PositionDeletes => vec![of_type("position")],
            Purpose::EqualityDeletes(ids) => {
                let ids: Vec<String> = ids.iter().map(FieldId::to_string).collect();
                vec![of_type("equality"), ("delete-field-ids".to_owned(), ids.join(", "))]
            }
        }
    }
}

/// How all files of one writer are made.
#[derive(Clone, Debug)]
pub struct FileSettings {
    arrow: SchemaRef,
    form: Form,
    /// What sees the rows of every file, and the Arrow schema that they are stored with.
    observed: Option<(Arc<dyn FileObserver>, SchemaRef)>,
}

#[derive(Clone, Debug)]
enum Form {
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
                Form::Parquet(Arc::new(settings))
            }
            FileFormat::Avro => Form::Avro(Arc::new(AvroSettings::new(&schema, properties, purpose)?)),
            FileFormat::Orc => Form::Orc(Arc::new(OrcSettings::new(&schema, properties, metrics, purpose)?)),
            FileFormat::Puffin => return Err(Error::internal("Puffin files have no rows")),
        };
        Ok(FileSettings { arrow, form, observed: None })
    }

    /// Settings for rows of a Paimon table, of these exact types.
    ///
    /// # Errors
    /// As [`FileSettings::new`].
    pub fn of_paimon(
        format: FileFormat,
        schema: Arc<Schema>,
        exact: &ExactTypes,
        properties: &BTreeMap<String, String>,
        observer: Arc<dyn FileObserver>,
    ) -> Result<FileSettings> {
        let (arrow, stored) = (to_arrow(&schema)?, exact.stored_arrow(&schema, format)?);
        // What a manifest records of the columns is for the observer to find out.
        let metrics = MetricsConfig::new(&schema, &BTreeMap::new(), &[]);
        let settings =
            FileSettings::new(format, schema, stored.clone(), properties, metrics, Purpose::PaimonRows(exact))?;
        Ok(FileSettings { arrow, observed: Some((observer, stored)), ..settings })
    }

    /// The schema that batches must have.
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The format of the files.
    pub fn format(&self) -> FileFormat {
        match &self.form {
            Form::Parquet(_) => FileFormat::Parquet,
            Form::Avro(_) => FileFormat::Avro,
            Form::Orc(_) => FileFormat::Orc,
        }
    }

    /// Begins a file at `path`.
    ///
    /// # Errors
    /// What [`Store::create`] gives.
    pub fn create(&self, store: &dyn Store, path: String) -> Result<Box<dyn NewFile>> {
        let observer = self.observed.as_ref().map(|(observer, stored)| (observer.begin(&path), stored.clone()));
        let file: Box<dyn NewFile> = match &self.form {
            Form::Parquet(settings) => Box::new(ParquetFile::create(store, path, settings.clone())?),
            Form::Avro(settings) => Box::new(AvroFile::create(store, path, settings)?),
            Form::Orc(settings) => Box::new(OrcFile::create(store, path, settings)?),
        };
        Ok(match observer {
            Some((observer, stored)) => Box::new(ObservedFile { file, stored, observer }),
            None => file,
        })
    }
}

/// A file being written. Dropped before [`NewFile::finish`] it leaves nothing behind.
pub trait NewFile: Send {
    /// The file's path.
    fn path(&self) -> &str;

    /// Tells which rows are coming, for a format that looks at them before it begins: the first that a file is told of, or
    /// gets, decide how its columns are encoded. The more the better.
    ///
    /// # Errors
    /// As [`NewFile::write`].
    fn expect_rows(&mut self, _rows: &RecordBatch) -> Result<()> {
        Ok(())
    }

    /// Adds rows, which must have the settings' Arrow schema.
    ///
    /// # Errors
    /// `Store` if the store fails, naming the path; `Unsupported` for values that the format can't hold.
    fn write(&mut self, rows: &RecordBatch) -> Result<()>;

    /// What the file would be long if it ended now, about.
    fn estimated_bytes(&self) -> u64;

    /// Memory held by rows that are not yet the store's.
    fn buffered_bytes(&self) -> usize;

    /// Gives the rows in progress to the store, which frees their memory.
    ///
    /// # Errors
    /// As [`NewFile::write`].
    fn flush(&mut self) -> Result<()>;

    /// Completes the file and makes it durable under its path.
    ///
    /// # Errors
    /// As [`NewFile::write`]; `AlreadyExists` if the path is taken.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// Appends bytes to a file.
///
/// # Errors
/// `Store`, naming the path.
pub(crate) fn write_all(sink: &mut dyn StoreWriter, path: &str, bytes: &[u8]) -> Result<()> {
    sink.write_all(bytes).map_err(|e| Error::store("cannot write the file").with("path", path).because(e))
}

/// What a file turned out to be.
#[derive(Debug)]
pub struct Written {
    /// Rows in it.
    pub record_count: i64,
    /// Its length.
    pub size_bytes: i64,
    /// Its column metrics, if files of the format have any.
    pub metrics: Option<ColumnMetrics>,
    /// Where it can be split, if it can.
    pub split_offsets: Option<Vec<i64>>,
}

impl Written {
    /// As a manifest will list it, before a commit. Position delete files have no sort order of the table's.
    pub(crate) fn into_file(
        self,
        content: FileContent,
        path: String,
        format: FileFormat,
        partition: Arc<Partition>,
    ) -> DataFile {
        DataFile {
            record_count: self.record_count,
            size_bytes: self.size_bytes,
            metrics: self.metrics.map(Into::into),
            split_offsets: self.split_offsets,
            ..DataFile::new(content, path, format, partition)
        }
    }
}

#[cfg(test)]
#[path = "file_write_tests.rs"]
pub(crate) mod tests;
