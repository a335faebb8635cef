//! The context that all writers of a table get.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};

use super::locations::FileLocations;
use super::metrics::MetricsConfig;
use super::z_order::ZOrder;
use crate::types::{PartitionSpec, Schema, SortOrder};

/// The rows that a writer writes, and the places of its files.
#[derive(Clone, Debug)]
pub struct WriteContext {
    /// The schema of the rows.
    pub schema: Arc<Schema>,
    /// The partition spec by which rows are put into files.
    pub spec: Arc<PartitionSpec>,
    /// The table's sort order. Its columns get bounds even if the table wants no bounds by default.
    pub order: Arc<SortOrder>,
    /// Whether the rows have that order.
    pub row_order: RowOrder,
    /// The places where files are written.
    pub locations: FileLocations,
    /// The table's properties.
    pub properties: BTreeMap<String, String>,
    /// A UUID that is unique to this writer. It makes the file names unique. Two writers of the same task never share
    /// one.
    pub write_id: String,
    /// The number of the task or partition that writes, in front of the file names.
    pub task_id: u64,
}

impl WriteContext {
    /// The metrics to record for each column.
    pub(crate) fn metrics(&self) -> MetricsConfig {
        MetricsConfig::new(&self.schema, &self.properties, &self.order.ordered_columns())
    }
}

/// The order in which a writer gets its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Rows come in any order. Files are recorded as unsorted.
    Any,
    /// Rows come in the table's sort order within each partition. Files record it.
    Sorted,
    /// Rows come in any order, and the writer sorts them in the table's order. Files record it. Rows are not sorted if
    /// the order has unknown transforms or missing columns.
    Sort,
    /// Rows come in any order, and the writer sorts them in this order.
    By(Sorting),
}

/// The memory that the rows of a batch take, without other rows in the same buffers.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    let column = |c: &arrow::array::ArrayRef| c.to_data().get_slice_memory_size().unwrap_or(0);
    batch.columns().iter().map(column).sum()
}

/// The order in which rows are sorted.
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
