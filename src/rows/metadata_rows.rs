//! Rows of a metadata table.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

/// Rows of a metadata table.
#[derive(Clone, Debug)]
pub struct MetadataRows {
    /// The columns, even if there are no rows.
    pub schema: SchemaRef,
    /// The rows, in the order in which the metadata has them.
    pub batches: Vec<RecordBatch>,
}
