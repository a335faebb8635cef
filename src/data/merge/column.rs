//! A column of the batches that are merged.

use arrow::array::{Array, ArrayRef};

use super::picks::{Computed, Held};
use super::runs::Loaded;
use crate::data::arrow::array_value::value_at;
use crate::types::{Type, ValueRef};

/// A column of the batches that are merged.
#[derive(Clone, Copy)]
pub(crate) struct Column<'a> {
    pub live: &'a [Loaded],
    pub index: usize,
    pub ty: &'a Type,
}

impl<'a> Column<'a> {
    /// The array and the row that a place speaks of.
    pub fn at(&self, place: super::picks::Place) -> Option<(&'a ArrayRef, usize)> {
        let array = self.live.get(place.slot as usize)?.columns.get(self.index)?;
        Some((array, place.row as usize))
    }

    /// What the column has in a row.
    pub fn held(&self, place: super::picks::Place) -> Held {
        match self.at(place) {
            Some((array, row)) if array.is_valid(row) => Held::At(place),
            _ => Held::Null,
        }
    }

    /// A primitive value; `None` if it is null.
    pub fn value<'v>(&self, held: &'v Held) -> Option<ValueRef<'v>>
    where
        'a: 'v,
    {
        match held {
            Held::Null | Held::Computed(Computed::Row(_)) => None,
            Held::Computed(Computed::Value(value)) => Some(value.as_ref()),
            Held::At(place) => {
                let (array, row) = self.at(*place)?;
                value_at(array, row, self.ty.as_primitive()?)
            }
        }
    }
}
