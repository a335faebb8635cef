//! The result for the rows that a change found: replaced, kept or removed.

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;

use crate::error::Result;

/// The value in place of a row of the source.
pub(crate) const NO_SOURCE: u32 = u32::MAX;

/// The result for some rows. A row that is neither kept nor replaced is removed.
pub(crate) struct Patched {
    /// Rows that don't change.
    pub same: BooleanBuffer,
    /// Rows that are replaced.
    pub replaced: BooleanBuffer,
    /// The new rows, in order. They have the columns of the replaced rows, without lineage.
    pub rows: Option<RecordBatch>,
}

impl Patched {
    /// Removes all rows.
    pub(crate) fn all_removed(rows: usize) -> Patched {
        Patched { same: BooleanBuffer::new_unset(rows), replaced: BooleanBuffer::new_unset(rows), rows: None }
    }
}

/// Decides the result for rows.
pub(crate) trait Patch: Sync {
    /// `rows` are some of the hits of a file, with all columns of the table; `sources` those of `Hits` that belong to
    /// them.
    fn patch(&self, rows: &RecordBatch, sources: &[u32]) -> Result<Patched>;

    /// Whether every hit changes.
    fn changes_all(&self) -> bool;

    /// Whether all hits are removed, so they need not be read.
    fn removes_all(&self) -> bool {
        false
    }
}

/// Deletes all hits.
pub(crate) struct Remove;

impl Patch for Remove {
    fn patch(&self, rows: &RecordBatch, _: &[u32]) -> Result<Patched> {
        Ok(Patched::all_removed(rows.num_rows()))
    }

    fn changes_all(&self) -> bool {
        true
    }

    fn removes_all(&self) -> bool {
        true
    }
}
