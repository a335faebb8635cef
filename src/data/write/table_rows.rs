//! What a table format other than Iceberg does with rows on their way into files: [`super::writer::DataWriter`] asks it.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::file_write::{FileSettings, NewFile, Written};
use super::partition_rows::PartitionRows;
use crate::data::paimon_types::stored::stored_rows;
use crate::error::Result;
use crate::format::task::Partition;
use crate::types::Schema;

/// The rows of a table, from those that come in to those that files hold.
pub trait TableRows: Send {
    /// Rows that have the columns of the table: checked, and with the columns that they are parted and sorted by.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table can't have.
    fn prepare(&mut self, rows: RecordBatch) -> Result<RecordBatch>;

    /// What files hold of rows that come in any order.
    ///
    /// # Errors
    /// `Internal` for rows that [`TableRows::prepare`] did not give.
    fn stored(&mut self, rows: RecordBatch) -> Result<RecordBatch>;

    /// What files hold of rows that come sorted, partition by partition. Some may be kept back until more have come.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table can't have.
    fn sorted(&mut self, part: PartitionRows) -> Result<Vec<PartitionRows>>;

    /// What was kept back.
    ///
    /// # Errors
    /// As [`TableRows::sorted`].
    fn rest(&mut self) -> Result<Vec<PartitionRows>>;

    /// The path of a new file.
    ///
    /// # Errors
    /// `Internal` if the partition is not the table's.
    fn path(&mut self, partition: &Partition) -> Result<String>;
}

/// How the files of such a table are made.
pub struct TableFiles {
    /// The columns of rows after [`TableRows::prepare`].
    pub prepared: Arc<Schema>,
    /// The files, of the columns that [`TableRows::stored`] gives.
    pub settings: FileSettings,
    /// When a file is full.
    pub target_bytes: u64,
    /// What becomes of the rows.
    pub rows: Box<dyn TableRows>,
}

/// Sees the rows of every file.
pub trait FileObserver: Debug + Send + Sync {
    /// A file begins.
    fn begin(&self, path: &str) -> Box<dyn RowObserver>;
}

/// Sees the rows of one file.
pub trait RowObserver: Send {
    /// Rows that are about to be written.
    ///
    /// # Errors
    /// `Internal` for rows that it does not understand.
    fn rows(&mut self, rows: &RecordBatch) -> Result<()>;

    /// There are no more.
    ///
    /// # Errors
    /// As [`RowObserver::rows`].
    fn end(self: Box<Self>) -> Result<()>;
}

/// A file whose rows are seen by an observer, and then stored with other Arrow types.
pub(crate) struct ObservedFile {
    pub file: Box<dyn NewFile>,
    pub stored: SchemaRef,
    pub observer: Box<dyn RowObserver>,
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
        self.observer.end()?;
        Ok(written)
    }
}
