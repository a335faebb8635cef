//! The steps of a table format that changes rows before they are written. [`super::writer::DataWriter`] calls them.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::file_write::FileSettings;
use super::partition_rows::PartitionRows;
use crate::error::Result;
use crate::format::task::Partition;
use crate::types::Schema;

/// Turns the rows that a table gets into the rows that files hold.
pub trait TableRows: Send {
    /// Checks rows that have the columns of the table. Adds the columns by which rows are partitioned and sorted.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table can't have.
    fn prepare(&mut self, rows: RecordBatch) -> Result<RecordBatch>;

    /// The stored form of rows that come in any order.
    ///
    /// # Errors
    /// `Internal` for rows that [`TableRows::prepare`] did not give.
    fn stored(&mut self, rows: RecordBatch) -> Result<RecordBatch>;

    /// The stored form of rows that come sorted, partition by partition. Some may be kept back until more have come.
    ///
    /// # Errors
    /// `InvalidInput` for rows that the table can't have.
    fn sorted(&mut self, part: PartitionRows) -> Result<Vec<PartitionRows>>;

    /// The rows that were kept back.
    ///
    /// # Errors
    /// The errors of [`TableRows::sorted`].
    fn rest(&mut self) -> Result<Vec<PartitionRows>>;

    /// The path of a new file.
    ///
    /// # Errors
    /// `Internal` if the partition is not the table's.
    fn path(&mut self, partition: &Partition) -> Result<String>;
}

/// How the files of such a table are written.
pub struct TableFiles {
    /// The columns of rows after [`TableRows::prepare`].
    pub prepared: Arc<Schema>,
    /// The files, of the columns that [`TableRows::stored`] gives.
    pub settings: FileSettings,
    /// A file of this size is full.
    pub target_bytes: u64,
    /// The steps for the rows.
    pub rows: Box<dyn TableRows>,
}
