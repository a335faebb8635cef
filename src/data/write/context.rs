//! What all writers of a table are given.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

use super::locations::FileLocations;
use super::metrics::MetricsConfig;
use super::z_order::ZOrder;
use crate::types::{PartitionSpec, Schema, SortOrder};

/// What a writer writes, and where.
#[derive(Clone, Debug)]
pub struct WriteContext {
    /// The schema of the rows.
    pub schema: Arc<Schema>,
    /// How rows are put into files.
    pub spec: Arc<PartitionSpec>,
    /// The table's sort order. Its columns get bounds even if the table wants no bounds by default.
    pub order: Arc<SortOrder>,
    /// Whether the rows have that order.
    pub row_order: RowOrder,
    /// Where files are written.
    pub locations: FileLocations,
    /// The table's properties.
    pub properties: BTreeMap<String, String>,
    /// Unique to this writer, a UUID: it makes the file names unique. Two writers of the same task never share one.
    pub write_id: String,
    /// The number of the task or partition that writes, in front of the file names.
    pub task_id: u64,
}

impl WriteContext {
    /// What to record of each column.
    pub(crate) fn metrics(&self) -> MetricsConfig {
        MetricsConfig::new(&self.schema, &self.properties, &self.order.ordered_columns())
    }
}

/// How the rows of a writer come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// In any order: files are recorded as unsorted.
    Any,
    /// In the table's sort order within each partition: recorded.
    Sorted,
    /// In any order, and to be brought into the table's: recorded. An order of unknown transforms, or of columns that
    /// are not there, is not made.
    Sort,
    /// In any order, and to be brought into this one.
    By(Sorting),
}

/// The memory that the rows of a batch take, without other rows in the same buffers.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    let column = |c: &arrow::array::ArrayRef| c.to_data().get_slice_memory_size().unwrap_or(0);
    batch.columns().iter().map(column).sum()
}

/// What rows are sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sorting {
    /// Columns, or transforms of columns. Files record the order's id, which is 0 if the table has no such order.
    Order(SortOrder),
    /// A curve through several columns.
    ZOrder(ZOrder),
}

impl Sorting {
    /// The order that files record: 0 is unsorted.
    pub fn recorded_id(&self) -> i32 {
        match self {
            Sorting::Order(order) => order.id,
            Sorting::ZOrder(_) => 0,
        }
    }
}
