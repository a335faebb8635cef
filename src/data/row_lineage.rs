//! Row ids and the commits that last changed rows (format version 3).
//!
//! A file may store both; where it does not, or has null, a row's id follows from its place in the file and its commit is
//! that of the file. Rows of files without a first row id have neither.
//!
//! Source: Iceberg specification, "Row Lineage" and "Reserved Field IDs".

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use super::positions::RowPositions;
use crate::error::{Error, Result};
use crate::task::DataFile;
use crate::types::FieldId;
use crate::types::metadata_columns::{LAST_UPDATED, ROW_ID};

/// The ids of rows at these positions. `stored` is the file's own column, all null if it has none.
///
/// # Errors
/// `CorruptTable` if ids run out of range; `Internal` if `stored` is of another type or length.
pub fn row_ids(file: &DataFile, stored: &ArrayRef, positions: &RowPositions) -> Result<Int64Array> {
    let stored = longs(stored, positions)?;
    let Some(first) = file.first_row_id else { return Ok(Int64Array::new_null(stored.len())) };
    let inherited = |position: u64| i64::try_from(position).ok().and_then(|p| first.checked_add(p));
    let id = |(i, position): (usize, u64)| match stored.is_valid(i) {
        true => Ok(stored.value(i)),
        false => inherited(position).ok_or_else(|| Error::corrupt("row ids run out of range")),
    };
    let ids: Result<Vec<i64>> = positions.iter().enumerate().map(id).collect();
    Ok(Int64Array::from(ids?))
}

/// The sequence numbers of the commits that last changed rows, as [`row_ids`].
///
/// # Errors
/// `Internal` if `stored` is of another type or length.
pub fn last_updated(file: &DataFile, stored: &ArrayRef, positions: &RowPositions) -> Result<Int64Array> {
    let stored = longs(stored, positions)?;
    Ok(match (file.first_row_id, file.sequence_number) {
        (None, _) => Int64Array::new_null(stored.len()),
        (_, None) => stored.clone(),
        (_, Some(number)) => {
            (0..stored.len()).map(|i| Some(if stored.is_valid(i) { stored.value(i) } else { number })).collect()
        }
    })
}

fn longs<'a>(stored: &'a ArrayRef, positions: &RowPositions) -> Result<&'a Int64Array> {
    let longs = stored.as_primitive_opt::<Int64Type>().filter(|a| a.len() == positions.len());
    longs.ok_or_else(|| Error::internal("a lineage column was read as something else"))
}

/// One of the two, by the column's id.
///
/// # Errors
/// As [`row_ids`]; `Internal` for another column.
pub fn complete(id: FieldId, file: &DataFile, stored: &ArrayRef, positions: &RowPositions) -> Result<ArrayRef> {
    Ok(match id {
        ROW_ID => Arc::new(row_ids(file, stored, positions)?),
        LAST_UPDATED => Arc::new(last_updated(file, stored, positions)?),
        _ => return Err(Error::internal(format!("column {id} is no lineage"))),
    })
}
