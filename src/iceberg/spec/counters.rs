//! Counters of a table's metadata: the next ids and numbers, checked against the used ones and against overflow.
//!
//! Other writers leave counters that are too low. A number that is assigned twice mixes up columns, partition fields or
//! rows. So the next number is above both the counter and everything that has one already.
//!
//! Source: Iceberg specification, "Table Metadata Fields", "Sequence Numbers", "Row Lineage".

use std::sync::Arc;

use super::metadata::TableMetadata;
use super::partition::FIRST_PARTITION_FIELD_ID;
use crate::error::{Error, Result};
use crate::types::FieldId;

/// The number after the highest of `ids`; `first` without any.
fn after(ids: impl Iterator<Item = i32>, first: i32, what: &str) -> Result<i32> {
    match ids.max() {
        None => Ok(first),
        Some(highest) => highest.checked_add(1).map(|id| id.max(first)).ok_or_else(|| Error::used_up(what)),
    }
}

impl TableMetadata {
    /// The highest column id that was ever assigned, as far as the metadata shows.
    pub fn highest_column_id(&self) -> FieldId {
        self.schemas.iter().map(|s| s.highest_field_id()).max().unwrap_or(0).max(self.last_column_id)
    }

    /// The highest partition field id that was ever assigned, as far as the metadata shows.
    pub fn highest_partition_id(&self) -> FieldId {
        let fields = self.partition_specs.iter().flat_map(|spec| &spec.fields).map(|field| field.field_id);
        fields.max().unwrap_or(FIRST_PARTITION_FIELD_ID - 1).max(self.last_partition_id)
    }

    /// The id of the next schema.
    ///
    /// # Errors
    /// `InvalidInput` if the largest number is used.
    pub fn next_schema_id(&self) -> Result<i32> {
        after(self.schemas.iter().map(|s| s.id), 0, "schema ids")
    }

    /// The id of the next partition spec.
    ///
    /// # Errors
    /// `InvalidInput` if the largest number is used.
    pub fn next_spec_id(&self) -> Result<i32> {
        after(self.partition_specs.iter().map(|s| s.id), 0, "partition spec ids")
    }

    /// The id of the next sort order. The order 0 is the unsorted one.
    ///
    /// # Errors
    /// `InvalidInput` if the largest number is used.
    pub fn next_sort_order_id(&self) -> Result<i32> {
        after(self.sort_orders.iter().map(|o| o.id), 1, "sort order ids")
    }

    /// The sequence number of the next snapshot; always 0 in v1. It is above those of `manifests`.
    ///
    /// # Errors
    /// `InvalidInput` if the largest number is used.
    pub fn next_sequence_number(&self, manifests: impl Iterator<Item = i64>) -> Result<i64> {
        if self.format_version == 1 {
            return Ok(0);
        }
        let last = manifests.max().unwrap_or(0).max(self.last_sequence_number);
        last.checked_add(1).ok_or_else(|| Error::used_up("sequence numbers"))
    }

    /// The first row id of the next snapshot (v3): `next-row-id`, unless snapshots have that id already.
    ///
    /// # Errors
    /// `CorruptTable` if the row ids of a snapshot overflow.
    pub fn first_free_row_id(&self) -> Result<i64> {
        let ends = self.snapshots.iter().filter_map(|s: &Arc<_>| Some((s.id, s.first_row_id?, s.added_rows?)));
        ends.map(|(id, first, rows)| row_ids_end(first, rows).ok_or_else(|| overflow().with("snapshot", id)))
            .try_fold(self.next_row_id.unwrap_or(0), |next, end| Ok(next.max(end?)))
    }
}

/// The row id after `rows` rows.
pub fn row_ids_end(first: i64, rows: i64) -> Option<i64> {
    first.checked_add(rows).filter(|_| first >= 0 && rows >= 0)
}

/// The error for row ids beyond 64 bits.
pub fn overflow() -> Error {
    Error::corrupt("row ids overflow")
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
