//! A column of the batches that are merged.

use arrow::array::{Array, ArrayRef};

use super::picks::{Computed, MergedValue};
use super::runs::LoadedBatch;
use crate::data::arrow::array_value::value_at;
use crate::types::{Type, ValueRef};

/// A column of the batches that are merged.
#[derive(Clone, Copy)]
pub(crate) struct MergedColumn<'a> {
    pub live: &'a [LoadedBatch],
    pub index: usize,
    pub ty: &'a Type,
}

impl<'a> MergedColumn<'a> {
    /// The array and the row of a place.
    pub(crate) fn at(&self, place: super::picks::RowPlace) -> Option<(&'a ArrayRef, usize)> {
        let array = self.live.get(place.slot as usize)?.columns.get(self.index)?;
        Some((array, place.row as usize))
    }

    /// The value of the column in a row.
    pub(crate) fn held(&self, place: super::picks::RowPlace) -> MergedValue {
        match self.at(place) {
            Some((array, row)) if array.is_valid(row) => MergedValue::At(place),
            _ => MergedValue::Null,
        }
    }

    /// A primitive value; `None` if it is null.
    pub(crate) fn value<'v>(&self, held: &'v MergedValue) -> Option<ValueRef<'v>>
    where
        'a: 'v,
    {
        match held {
            MergedValue::Null | MergedValue::Computed(Computed::Row(_)) => None,
            MergedValue::Computed(Computed::Value(value)) => Some(value.as_ref()),
            MergedValue::At(place) => {
                let (array, row) = self.at(*place)?;
                value_at(array, row, self.ty.as_primitive()?)
            }
        }
    }
}
