//! Metadata columns whose values differ from row to row.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array};
use arrow::buffer::BooleanBuffer;

use super::row_lineage::{last_updated, row_ids};
use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result};
use crate::format::task::DataFile;
use crate::types::FieldId;
use crate::types::metadata_columns::{DELETED, LAST_UPDATED, POS, ROW_ID};

/// Facts about a batch's rows in addition to their columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowFacts<'a> {
    /// The number of rows.
    pub rows: usize,
    /// Their positions; empty if not requested.
    pub positions: &'a RowPositions,
    /// The deleted rows; `None` if no row is deleted.
    pub deleted: Option<&'a BooleanBuffer>,
}

/// A metadata column whose values differ from row to row.
#[derive(Clone, Debug)]
pub(crate) enum RowColumn {
    Position,
    Deleted,
    RowId(Arc<DataFile>),
    LastUpdated(Arc<DataFile>),
}

impl RowColumn {
    /// The column with this id in a file; `None` if it is another one.
    pub(crate) fn new(id: FieldId, file: &Arc<DataFile>) -> Option<RowColumn> {
        match id {
            POS => Some(RowColumn::Position),
            DELETED => Some(RowColumn::Deleted),
            ROW_ID => Some(RowColumn::RowId(file.clone())),
            LAST_UPDATED => Some(RowColumn::LastUpdated(file.clone())),
            _ => None,
        }
    }

    /// Whether a file may store its own column of this id.
    pub(crate) fn may_be_stored(&self) -> bool {
        matches!(self, RowColumn::RowId(_) | RowColumn::LastUpdated(_))
    }

    /// Whether the positions of rows must be known.
    pub(crate) fn needs_positions(&self) -> bool {
        matches!(self, RowColumn::Position | RowColumn::RowId(_))
    }

    /// The values of the column. `stored` are those of the file's own column.
    ///
    /// # Errors
    /// The errors of [`row_ids`]; `Internal` if positions are needed and not known.
    pub(crate) fn values(&self, stored: Option<&ArrayRef>, facts: &RowFacts<'_>) -> Result<ArrayRef> {
        if self.needs_positions() && facts.positions.len() != facts.rows {
            return Err(Error::internal("the positions of rows were not requested"));
        }
        Ok(match self {
            RowColumn::Position => Arc::new(Int64Array::from_iter_values(facts.positions.iter().map(|p| p as i64))),
            RowColumn::Deleted => {
                let deleted = facts.deleted.cloned();
                Arc::new(BooleanArray::new(deleted.unwrap_or_else(|| BooleanBuffer::new_unset(facts.rows)), None))
            }
            RowColumn::RowId(file) => Arc::new(row_ids(file, stored, facts.positions)?),
            RowColumn::LastUpdated(file) => Arc::new(last_updated(file, stored, facts.rows)?),
        })
    }
}

#[cfg(test)]
#[path = "row_columns_tests.rs"]
mod tests;
