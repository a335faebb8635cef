//! Streams of rows: a reader's batches.

use arrow::record_batch::RecordBatch;

use crate::data::deletes::keys::KeyArrays;
use crate::data::deletes::positions::RowPositions;
use crate::error::Result;

/// A stream of a task's rows.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A stream of rows with their positions.
pub type RowStream = Box<dyn Iterator<Item = Result<RawRows>> + Send>;

/// Some rows of a data file, before deletes are applied.
#[derive(Clone, Debug)]
pub struct RawRows {
    /// The columns of the context's projection.
    pub batch: RecordBatch,
    /// The requested key columns, by field id.
    pub keys: KeyArrays,
    /// The positions of the rows in the file.
    pub positions: RowPositions,
}
