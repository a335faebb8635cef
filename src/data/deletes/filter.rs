//! Tests which rows of one data file its deletes leave.
//!
//! `DeleteFilter::load` reads the deletes of a task through a cache that the tasks of a scan share.
//! [`DeleteFilter::keep`] gives the mask of a batch. [`open_rows`](crate::data::read::file::open_rows) gives rows with
//! the columns that the test needs.
//!
//! A deletion vector replaces position deletes, because it contains them already. Planning has decided which deletes
//! apply, by sequence numbers and partitions.
//!
//! Source: Iceberg specification, "Row-level deletes"; where it is silent, Java's `DeleteFilter`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;

use super::keys::{KeyArrays, KeyDeletes};
use super::position_sets::PositionsByFile;
use super::positions::RowPositions;
use crate::codec::bitmap::PositionSet;
use crate::error::Result;
use crate::types::FieldId;

/// The deletes of a data file. It is cheap to share, and holds the decoded deletes, not the files.
#[derive(Debug, Default)]
pub struct DeleteFilter {
    pub(super) positions: Option<Arc<PositionSet>>,
    /// Positions that other tasks share with this one.
    pub(super) shared: Vec<Arc<PositionsByFile>>,
    pub(super) keys: Vec<KeyDeletes>,
}

impl DeleteFilter {
    /// Whether every row stays.
    pub fn is_empty(&self) -> bool {
        self.positions.as_ref().is_none_or(|p| p.is_empty()) && self.keys.is_empty()
    }

    /// Whether the other filter surely removes all rows that this one removes. It is decided without reading rows.
    pub(crate) fn is_within(&self, other: &DeleteFilter) -> bool {
        let positions = match (&self.positions, &other.positions) {
            (Some(own), Some(all)) => own.is_subset(all),
            (own, None) => own.as_ref().is_none_or(|p| p.is_empty()),
            (None, _) => true,
        };
        positions && self.keys.is_empty()
    }

    /// The positions that are deleted.
    pub(crate) fn positions(&self) -> Option<&PositionSet> {
        self.positions.as_deref()
    }

    /// The key columns that [`DeleteFilter::keep`] needs.
    pub fn key_ids(&self) -> Vec<FieldId> {
        let ids: BTreeSet<FieldId> = self.keys.iter().flat_map(|k| k.ids()).copied().collect();
        ids.into_iter().collect()
    }

    /// Whether rows are deleted by position.
    pub fn has_positions(&self) -> bool {
        self.positions.is_some()
    }

    /// The mask of the rows that stay. `keys` are arrays of at least the columns [`DeleteFilter::key_ids`], as
    /// [`open_rows`](crate::data::read::file::open_rows) gives them.
    ///
    /// # Errors
    /// `Internal` if a key column is missing, or has another type than its column.
    pub fn keep(&self, keys: &HashMap<FieldId, ArrayRef>, positions: &RowPositions) -> Result<BooleanBuffer> {
        self.keep_keys(keys, self.keep_positions(positions))
    }

    /// The mask of the rows that stay by their position.
    pub(crate) fn keep_positions(&self, positions: &RowPositions) -> BooleanBuffer {
        let rows = positions.len();
        let Some(deleted) = &self.positions else { return BooleanBuffer::new_set(rows) };
        let mut mask = BooleanBufferBuilder::new(rows);
        mask.append_n(rows, true);
        let mut first = 0;
        for range in positions.ranges() {
            for position in deleted.in_range(range.clone()) {
                mask.set_bit(first + (position - range.start) as usize, false);
            }
            first += (range.end - range.start) as usize;
        }
        mask.finish()
    }

    /// The rows of `mask` that stay by their keys.
    pub(crate) fn keep_keys(&self, arrays: &KeyArrays, mut mask: BooleanBuffer) -> Result<BooleanBuffer> {
        for deletes in &self.keys {
            if mask.count_set_bits() == 0 {
                break;
            }
            mask = deletes.keep(arrays, mask)?;
        }
        Ok(mask)
    }
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "filter_property_tests.rs"]
mod property_tests;
