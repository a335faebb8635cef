//! Which rows a commit moved to other files, by row id.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};
use crate::format::task::ChangeOperation;

/// A lineage column as numbers.
pub(super) fn longs(lineage: Option<&ArrayRef>) -> Result<&Int64Array> {
    lineage.and_then(|a| a.as_primitive_opt()).ok_or_else(|| Error::internal("a lineage column was not read"))
}

/// The rows that a commit both removed and added, by id.
#[derive(Debug, Default)]
pub(crate) struct RowMoves {
    /// The rows that stayed unchanged.
    pub(super) carried: PositionSet,
    /// The rows that changed.
    pub(super) updated: PositionSet,
    pub(super) sequence_number: i64,
}

impl RowMoves {
    /// Whether the commit wrote this row with other values.
    pub(super) fn is_update(&self, updated: &Int64Array, row: usize) -> bool {
        updated.is_null(row) || updated.value(row) >= self.sequence_number
    }

    /// The change type of a row. `None` if the row was only moved.
    pub(super) fn change_type(
        &self,
        operation: ChangeOperation,
        ids: &Int64Array,
        updated: &Int64Array,
        row: usize,
    ) -> Option<&'static str> {
        let known =
            |set: &PositionSet| ids.is_valid(row) && u64::try_from(ids.value(row)).is_ok_and(|id| set.contains(id));
        match operation {
            ChangeOperation::Delete if known(&self.carried) => None,
            ChangeOperation::Delete if known(&self.updated) => Some("update_before"),
            ChangeOperation::Insert if known(&self.carried) && !self.is_update(updated, row) => None,
            ChangeOperation::Insert if known(&self.updated) => Some("update_after"),
            operation => Some(operation.as_str()),
        }
    }
}
