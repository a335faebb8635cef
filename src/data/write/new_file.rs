//! A file of rows that is being written, in any format.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::data::declared_types::stored::{ExactTypes, stored_rows};
use crate::error::{Error, Result};
use crate::format::task::{ColumnMetrics, DataFile, FileContent, FileFormat, Partition};
use crate::store::{StoreWriter, Unsynced};
use crate::types::{FieldId, Schema};

/// A file being written. It leaves no file if it is dropped before [`NewFile::finish`].
pub trait NewFile: Send {
    /// The file's path.
    fn path(&self) -> &str;

    /// Shows the rows that are coming, for a format that looks at them before it begins. The first rows that a file is
    /// shown, or gets, decide how its columns are encoded. More rows give a better choice.
    ///
    /// # Errors
    /// The errors of [`NewFile::write`].
    fn expect_rows(&mut self, _rows: &RecordBatch) -> Result<()> {
        Ok(())
    }

    /// Adds rows, which must have the settings' Arrow schema.
    ///
    /// # Errors
    /// `Store` if the store fails, naming the path; `Unsupported` for values that the format can't hold.
    fn write(&mut self, rows: &RecordBatch) -> Result<()>;

    /// About how many bytes the file would have if it ended now.
    fn estimated_bytes(&self) -> u64;

    /// Memory held by rows that the store does not have yet.
    fn buffered_bytes(&self) -> usize;

    /// Gives the rows in progress to the store, which frees their memory.
    ///
    /// # Errors
    /// The errors of [`NewFile::write`].
    fn flush(&mut self) -> Result<()>;

    /// Completes the file under its path. [`Unsynced::sync`] makes it durable.
    ///
    /// # Errors
    /// The errors of [`NewFile::write`]; `AlreadyExists` if the path is taken.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// The purpose of a file, which decides its settings.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Rows of a table of this schema.
    Rows(&'a Schema),
    /// Rows of a table whose columns are stored by these exact types.
    ExactRows(&'a ExactTypes),
    /// Positions of deleted rows.
    PositionDeletes,
    /// Keys of deleted rows, in these columns.
    EqualityDeletes(&'a [FieldId]),
}

impl<'a> Purpose<'a> {
    /// Whether it is a delete file.
    pub(crate) fn is_delete(self) -> bool {
        !matches!(self, Purpose::Rows(_) | Purpose::ExactRows(_))
    }

    /// The columns that the file names. For a table's rows these are all columns, also those that files of the format
    /// do not have.
    pub(crate) fn named(self, stored: &'a Schema) -> &'a Schema {
        match self {
            Purpose::Rows(table) => table,
            _ => stored,
        }
    }

    /// The exact types of the columns, if the table declares them.
    pub(crate) fn exact(self) -> Option<&'a ExactTypes> {
        if let Purpose::ExactRows(exact) = self { Some(exact) } else { None }
    }

    /// The metadata in the file. The words are Java's.
    pub(crate) fn metadata(self) -> Vec<(String, String)> {
        let of_type = |name: &str| ("delete-type".to_owned(), name.to_owned());
        match self {
            Purpose::Rows(_) | Purpose::ExactRows(_) => vec![],
            Purpose::PositionDeletes => vec![of_type("position")],
            Purpose::EqualityDeletes(ids) => {
                let ids: Vec<String> = ids.iter().map(FieldId::to_string).collect();
                vec![of_type("equality"), ("delete-field-ids".to_owned(), ids.join(", "))]
            }
        }
    }
}

/// The facts about a finished file.
#[derive(Debug)]
pub struct Written {
    /// The number of rows in it.
    pub record_count: i64,
    /// The file's length in bytes.
    pub size_bytes: i64,
    /// Its column metrics, if files of the format have any.
    pub metrics: Option<ColumnMetrics>,
    /// The offsets where it can be split, if it can be.
    pub split_offsets: Option<Vec<i64>>,
}

impl Written {
    /// The entry that a manifest will list, before a commit. Position delete files have no sort order of the table's.
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

/// Appends bytes to a file.
///
/// # Errors
/// `Store`, naming the path.
pub(crate) fn write_all(sink: &mut dyn StoreWriter, path: &str, bytes: &[u8]) -> Result<()> {
    sink.write_all(bytes).map_err(|e| Error::store("cannot write the file").with("path", path).because(e))
}

/// Observes the rows of every file.
pub trait FileObserver: Debug + Send + Sync {
    /// Begins to observe a file.
    fn begin(&self, path: &str) -> Box<dyn RowObserver>;
}

/// Observes the rows of one file.
pub trait RowObserver: Send {
    /// Takes rows that are about to be written.
    ///
    /// # Errors
    /// `Internal` for rows that it does not understand.
    fn rows(&mut self, rows: &RecordBatch) -> Result<()>;

    /// Ends after the last rows. `unsynced` syncs the files that the observer writes.
    ///
    /// # Errors
    /// The errors of [`RowObserver::rows`].
    fn end(self: Box<Self>, unsynced: &Arc<Unsynced>) -> Result<()>;
}

/// A file whose rows are seen by an observer, and then stored with other Arrow types.
pub(crate) struct ObservedFile {
    pub file: Box<dyn NewFile>,
    pub stored: SchemaRef,
    pub observer: Box<dyn RowObserver>,
    pub unsynced: Arc<Unsynced>,
}

impl NewFile for ObservedFile {
    fn path(&self) -> &str {
        self.file.path()
    }

    fn expect_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        self.file.expect_rows(&stored_rows(rows, &self.stored)?)
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        self.observer.rows(rows)?;
        self.file.write(&stored_rows(rows, &self.stored)?)
    }

    fn estimated_bytes(&self) -> u64 {
        self.file.estimated_bytes()
    }

    fn buffered_bytes(&self) -> usize {
        self.file.buffered_bytes()
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        let written = self.file.finish()?;
        self.observer.end(&self.unsynced)?;
        Ok(written)
    }
}
