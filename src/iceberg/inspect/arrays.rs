//! Arrow arrays of lists and maps, with their sizes checked: Arrow's 32-bit offsets hold 2 GiB in one batch.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, MapArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Schema};

use crate::data::arrow::schema::struct_members;
use crate::data::arrow::value_array::{bad, bytes, fits};
use crate::error::{Error, Result};
use crate::format::task::FieldMap;

/// Numbers of 64 bits.
pub(crate) fn longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

/// Offsets and validity of lists of these lengths.
fn spans(lengths: impl Iterator<Item = Option<usize>> + Clone) -> Result<(OffsetBuffer<i32>, NullBuffer)> {
    fits(lengths.clone().map(|n| n.unwrap_or(0)))?;
    let valid = lengths.clone().map(|n| n.is_some()).collect();
    Ok((OffsetBuffer::from_lengths(lengths.map(|n| n.unwrap_or(0))), valid))
}

/// Lists of integers.
pub(crate) fn lists(
    field: &Field,
    lengths: impl Iterator<Item = Option<usize>> + Clone,
    items: ArrayRef,
) -> Result<ArrayRef> {
    let DataType::List(element) = field.data_type() else { return Err(Error::internal("no list column")) };
    let (offsets, valid) = spans(lengths)?;
    Ok(Arc::new(ListArray::try_new(element.clone(), offsets, items, Some(valid)).map_err(bad)?))
}

/// Maps of these lengths over keys and values that lie end to end.
pub(crate) fn maps(
    field: &Field,
    lengths: impl Iterator<Item = Option<usize>> + Clone,
    keys: ArrayRef,
    values: ArrayRef,
) -> Result<ArrayRef> {
    let DataType::Map(entry, _) = field.data_type() else { return Err(Error::internal("no map column")) };
    let (offsets, valid) = spans(lengths)?;
    let rows = keys.len();
    let entries =
        StructArray::try_new_with_length(struct_members(entry).to_vec().into(), vec![keys, values], None, rows);
    Ok(Arc::new(MapArray::try_new(entry.clone(), offsets, entries.map_err(bad)?, Some(valid), false).map_err(bad)?))
}

/// Maps by column id to counts.
pub(crate) fn count_maps<'a>(
    field: &Field,
    of: impl Iterator<Item = Option<&'a FieldMap<i64>>> + Clone,
) -> Result<ArrayRef> {
    let keys = Int32Array::from_iter_values(of.clone().flatten().flat_map(|m| m.keys().copied()));
    let counts = Int64Array::from_iter_values(of.clone().flatten().flat_map(|m| m.values().copied()));
    maps(field, of.map(|m| m.map(FieldMap::len)), Arc::new(keys), Arc::new(counts))
}

/// Maps by column id to bounds.
pub(crate) fn bound_maps<'a>(
    field: &Field,
    of: impl Iterator<Item = Option<&'a FieldMap<Vec<u8>>>> + Clone,
) -> Result<ArrayRef> {
    let keys = Int32Array::from_iter_values(of.clone().flatten().flat_map(|m| m.keys().copied()));
    let bounds = bytes(of.clone().flatten().flat_map(|m| m.values()).map(|v| Some(v.as_slice())))?;
    maps(field, of.map(|m| m.map(FieldMap::len)), Arc::new(keys), Arc::new(bounds))
}

/// The field of a column.
pub(crate) fn field<'a>(schema: &'a Schema, name: &str) -> Result<&'a Field> {
    schema.field_with_name(name).map_err(bad)
}
