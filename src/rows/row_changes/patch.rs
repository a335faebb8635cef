//! What becomes of rows that a change found: replaced, kept or removed.

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;

use crate::error::Result;

/// In place of a row of the source.
pub(crate) const NO_SOURCE: u32 = u32::MAX;

/// What becomes of some rows. A row that neither stays nor is replaced goes.
pub(crate) struct Patched {
    /// Rows that stay as they are after all.
    pub same: BooleanBuffer,
    /// Rows that others take the place of.
    pub replaced: BooleanBuffer,
    /// Those others, in order. They have the columns of the rows that they replace, but for lineage.
    pub rows: Option<RecordBatch>,
}

impl Patched {
    /// All rows go.
    pub fn gone(rows: usize) -> Patched {
        Patched { same: BooleanBuffer::new_unset(rows), replaced: BooleanBuffer::new_unset(rows), rows: None }
    }
}

/// Says what becomes of rows.
pub(crate) trait Patch: Sync {
    /// `rows` are some of the hits of a file, with all columns of the table; `sources` those of [`Hits`] that belong to
    /// them.
    fn patch(&self, rows: &RecordBatch, sources: &[u32]) -> Result<Patched>;

    /// Whether no hit stays as it is.
    fn changes_all(&self) -> bool;

    /// Whether all hits go, so that nobody need look at them.
    fn removes_all(&self) -> bool {
        false
    }
}

/// Deletes all hits.
pub(crate) struct Remove;

impl Patch for Remove {
    fn patch(&self, rows: &RecordBatch, _: &[u32]) -> Result<Patched> {
        Ok(Patched::gone(rows.num_rows()))
    }

    fn changes_all(&self) -> bool {
        true
    }

    fn removes_all(&self) -> bool {
        true
    }
}
