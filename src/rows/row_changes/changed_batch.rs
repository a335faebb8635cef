//! Rows of a file before and after a change.

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::interleave_record_batch;

use super::clauses::equal_rows;
use super::patch::{Patch, Patched};
use super::placed::{Placed, found_among};
use super::source::rows_of;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};

/// The indexes of the columns with the ids of rows and with the commits that changed them last.
pub(crate) type Lineage = [usize; 2];

/// The rows of a file that a change found.
#[derive(Clone, Copy)]
pub(crate) struct FoundRows<'a> {
    /// Their positions; `None` means all rows.
    pub positions: Option<&'a PositionSet>,
    /// In a merge: for each position, ascending, the row of the source, or `NO_SOURCE`. Otherwise empty.
    pub sources: &'a [u32],
}

impl FoundRows<'_> {
    /// Checks that a reader gave all of them.
    ///
    /// # Errors
    /// `CorruptTable` if it gave others.
    pub(crate) fn check_seen(self, seen: usize) -> Result<()> {
        match self.positions.is_none_or(|positions| u64::try_from(seen) == Ok(positions.len())) {
            true => Ok(()),
            false => Err(Error::corrupt("a file gave other rows when it was read again")),
        }
    }
}

/// The error for changed rows that Arrow refuses.
pub(crate) fn joined(e: arrow::error::ArrowError) -> Error {
    Error::invalid("changed rows do not fit the table").because(e)
}

/// Rows of a file and the change that applies to them.
pub(crate) struct ChangedBatch {
    placed: Placed,
    hit: BooleanBuffer,
    patched: Patched,
}

impl ChangedBatch {
    /// Applies `patch` to the found rows among these. `seen` counts the found rows of the file.
    ///
    /// # Errors
    /// Those of `patch`.
    pub(crate) fn of(
        placed: Placed,
        found: FoundRows<'_>,
        seen: &mut usize,
        patch: &dyn Patch,
    ) -> Result<ChangedBatch> {
        let hit = match found.positions {
            Some(positions) => found_among(&placed.positions, positions),
            None => BooleanBuffer::new_set(placed.rows.num_rows()),
        };
        let count = hit.count_set_bits();
        let sources = found.sources.get(*seen..).map_or(&[][..], |left| left.get(..count).unwrap_or_default());
        *seen += count;
        let patched = match count {
            0 => Patched::all_removed(0),
            _ => patch.patch(&rows_of(&placed.rows, hit.clone())?, sources)?,
        };
        if patched.same.len() != count || patched.replaced.len() != count {
            return Err(Error::internal("a change returned another number of rows than it got"));
        }
        Ok(ChangedBatch { placed, hit, patched })
    }

    /// Whether a row changes.
    pub(crate) fn changes(&self) -> bool {
        self.patched.same.count_set_bits() < self.patched.same.len()
    }

    /// The number of rows with new values.
    pub(crate) fn updated(&self) -> u64 {
        self.patched.replaced.count_set_bits() as u64
    }

    /// The number of rows that are removed.
    pub(crate) fn deleted(&self) -> u64 {
        (self.patched.same.len() - self.patched.same.count_set_bits()) as u64 - self.updated()
    }

    /// Whether a row gets another value in the column at this place.
    ///
    /// # Errors
    /// `Internal` if the new rows lack the column.
    pub(crate) fn changes_column(&self, place: usize) -> Result<bool> {
        let Some(new) = &self.patched.rows else { return Ok(false) };
        let old = rows_of(&rows_of(&self.placed.rows, self.hit.clone())?, self.patched.replaced.clone())?;
        match (old.columns().get(place), new.columns().get(place)) {
            (Some(old), Some(new)) if old.len() == new.len() => Ok(equal_rows(old, new).count_set_bits() < new.len()),
            _ => Err(Error::internal("the rows that replace others are missing")),
        }
    }

    /// The positions of the rows that are removed or replaced.
    pub(crate) fn changed_positions(&self) -> Vec<i64> {
        let hit = self.placed.positions.values().iter().zip(self.hit.iter()).filter(|(_, hit)| *hit);
        hit.zip(self.patched.same.iter()).filter(|(_, same)| !same).map(|((position, _), _)| *position).collect()
    }

    /// All rows of the batch after the change, in their order. `lineage` is set if the rows have these columns.
    ///
    /// # Errors
    /// `InvalidInput` if the new values do not fit.
    pub(crate) fn after(&self, lineage: Option<Lineage>) -> Result<RecordBatch> {
        if !self.changes() {
            return Ok(self.placed.rows.clone());
        }
        let (mut at, mut new) = (0, 0);
        let mut kept = BooleanArray::builder(self.hit.len());
        let mut from: Vec<(usize, usize)> = Vec::with_capacity(self.hit.len());
        for (row, hit) in self.hit.iter().enumerate() {
            let (same, replaced) = match hit {
                false => (true, false),
                true => (self.patched.same.value(at), self.patched.replaced.value(at)),
            };
            at += usize::from(hit);
            kept.append_value(same || replaced);
            if replaced {
                from.push((1, new));
                new += 1;
            } else if same {
                from.push((0, row));
            }
        }
        if new == 0 {
            return rows_of(&self.placed.rows, kept.finish().values().clone());
        }
        let replacements = self.replacements(lineage)?;
        interleave_record_batch(&[&self.placed.rows, &replacements], &from).map_err(joined)
    }

    /// The rows that replace others, with the same ids. They count as changed by the coming commit.
    ///
    /// # Errors
    /// As [`ChangedBatch::after`].
    pub(crate) fn replacements(&self, lineage: Option<Lineage>) -> Result<RecordBatch> {
        let old = rows_of(&rows_of(&self.placed.rows, self.hit.clone())?, self.patched.replaced.clone())?;
        let rows = self.patched.rows.as_ref().filter(|rows| rows.num_rows() == old.num_rows());
        let rows = rows.ok_or_else(|| Error::internal("the rows that replace others are missing"))?;
        let mut all: Vec<ArrayRef> = rows.columns().to_vec();
        if let Some([ids, updated]) = lineage {
            all.truncate(ids);
            all.push(old.column(ids).clone());
            all.push(new_null_array(old.column(updated).data_type(), old.num_rows()));
        }
        RecordBatch::try_new(old.schema(), all).map_err(joined)
    }
}
