//! Rows with their positions in their file.

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::nullif;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};

/// Rows of one file.
pub(crate) struct Placed {
    /// Their positions in the file, ascending.
    pub positions: Int64Array,
    /// The requested columns.
    pub rows: RecordBatch,
}

/// The rows of a file, batch by batch.
pub(crate) type PlacedRows = Box<dyn Iterator<Item = Result<Placed>> + Send>;

/// Removes the last column, the positions, from rows.
///
/// # Errors
/// `Internal` if the rows have no positions.
pub(crate) fn placed(batch: RecordBatch) -> Result<Placed> {
    let at = batch.num_columns().checked_sub(1);
    let positions = at.and_then(|at| batch.column(at).as_primitive_opt::<Int64Type>().cloned());
    let (Some(at), Some(positions)) = (at, positions) else {
        return Err(Error::internal("rows were read without their positions"));
    };
    let columns: Vec<usize> = (0..at).collect();
    let rows = batch.project(&columns).map_err(|e| Error::internal("columns can't be taken").because(e))?;
    Ok(Placed { positions, rows })
}

/// The rows without ids that were counted from `NO_ROW_ID`.
pub(crate) fn without_ids(rows: &RecordBatch, at: usize) -> Result<RecordBatch> {
    let mut columns = rows.columns().to_vec();
    if let Some(column) = columns.get_mut(at) {
        let ids = column.as_primitive_opt::<Int64Type>();
        let made_up = ids.map(|ids| BooleanArray::from_unary(ids, |id| id < 0));
        let made_up = made_up.ok_or_else(|| Error::internal("row ids have the wrong type"))?;
        let nulled: ArrayRef = nullif(column, &made_up).map_err(|e| Error::internal("row ids").because(e))?;
        *column = nulled;
    }
    RecordBatch::try_new(rows.schema(), columns).map_err(|e| Error::internal("row ids").because(e))
}

/// Says which of these ascending positions are in the set.
pub(crate) fn found_among(positions: &Int64Array, set: &PositionSet) -> BooleanBuffer {
    let bounds = positions.values().first().zip(positions.values().last());
    let (first, last) = bounds.map_or((0, 0), |(f, l)| (f.max(&0).unsigned_abs(), l.max(&0).unsigned_abs() + 1));
    let mut found = set.in_range(first..last).peekable();
    BooleanBuffer::collect_bool(positions.len(), |i| {
        let at = positions.value(i).max(0).unsigned_abs();
        while found.next_if(|p| *p < at).is_some() {}
        found.peek() == Some(&at)
    })
}
