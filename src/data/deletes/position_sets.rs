//! Positions of deleted rows, by the data file that they belong to.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};

/// Positions by data file.
pub(crate) type PositionsByFile = HashMap<String, Arc<PositionSet>>;

/// The positions of one data file, and their owner. As long as the owner lives, other tasks find them.
pub(crate) type SharedPositions = (Arc<PositionSet>, Arc<PositionsByFile>);

/// Adds the positions of a batch, run by run of the same data file.
pub(super) fn add_positions(out: &mut PositionsByFile, batch: &RecordBatch) -> Result<()> {
    let shape = || Error::internal("a position delete file was read as other columns");
    let [paths, positions] = batch.columns() else { return Err(shape()) };
    let paths = paths.as_string_opt::<i32>().ok_or_else(shape)?;
    let positions = positions.as_primitive_opt::<Int64Type>().ok_or_else(shape)?.values();
    let mut start = 0;
    while start < paths.len() {
        let path = paths.value(start);
        let run = (start..paths.len()).take_while(|&i| paths.value(i) == path).count();
        if !out.contains_key(path) {
            out.insert(path.to_owned(), Arc::default());
        }
        if let (Some(set), Some(run)) = (out.get_mut(path), positions.get(start..start + run)) {
            Arc::make_mut(set).extend(run)?;
        }
        start += run;
    }
    Ok(())
}

/// The memory that sets of positions take.
pub(super) fn positions_bytes(positions: &PositionsByFile) -> u64 {
    positions.iter().map(|(path, set)| 128 + path.len() as u64 + set.memory_bytes()).sum()
}
