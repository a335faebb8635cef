//! Row ids and the commits that last changed rows (format version 3).
//!
//! A file may store both. If it does not, or has null, the id follows from the row's place in the file, and the commit
//! is that of the file. Rows of files without a first row id have neither.
//!
//! Source: Iceberg specification, "Row Lineage" and "Reserved Field IDs".

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::datatypes::Int64Type;

use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result};
use crate::format::task::DataFile;

/// The ids of rows at these positions. `stored` is the file's own column, if it has one.
///
/// # Errors
/// `CorruptTable` if ids run out of range; `Internal` if `stored` is of another type or length.
pub(crate) fn row_ids(file: &DataFile, stored: Option<&ArrayRef>, positions: &RowPositions) -> Result<Int64Array> {
    let stored = stored.map(|stored| longs(stored, positions.len())).transpose()?;
    let Some(first) = file.first_row_id else {
        // Paimon files whose rows come from other files have the ids in a column. They have no first row id.
        let own = stored.filter(|_| file.bucket_file.is_some());
        return Ok(own.map_or_else(|| Int64Array::new_null(positions.len()), Clone::clone));
    };
    let inherited = |position: u64| i64::try_from(position).ok().and_then(|p| first.checked_add(p));
    let id = |(i, position): (usize, u64)| match stored.filter(|ids| ids.is_valid(i)) {
        Some(ids) => Ok(ids.value(i)),
        None => inherited(position).ok_or_else(|| Error::corrupt("row ids run out of range")),
    };
    let ids: Result<Vec<i64>> = positions.iter().enumerate().map(id).collect();
    Ok(Int64Array::from(ids?))
}

/// The sequence numbers of the commits that last changed the rows. Rows are given as in [`row_ids`].
///
/// # Errors
/// `Internal` if `stored` is of another type or length.
pub(crate) fn last_updated(file: &DataFile, stored: Option<&ArrayRef>, rows: usize) -> Result<Int64Array> {
    let stored = stored.map(|stored| longs(stored, rows)).transpose()?;
    // Rows of a Paimon table have the snapshot that made them as their sequence number.
    let number = file.sequence_number.or(file.bucket_file.as_ref().map(|f| f.max_sequence_number));
    let has_ids = file.first_row_id.is_some() || file.bucket_file.is_some();
    Ok(match (has_ids, number, stored) {
        (false, _, _) | (_, None, None) => Int64Array::new_null(rows),
        (_, None, Some(stored)) => stored.clone(),
        (_, Some(number), None) => Int64Array::from_value(number, rows),
        (_, Some(number), Some(stored)) => stored.iter().map(|stored| Some(stored.unwrap_or(number))).collect(),
    })
}

fn longs(stored: &ArrayRef, rows: usize) -> Result<&Int64Array> {
    let longs = stored.as_primitive_opt::<Int64Type>().filter(|a| a.len() == rows);
    longs.ok_or_else(|| Error::internal("a lineage column was read as something else"))
}
