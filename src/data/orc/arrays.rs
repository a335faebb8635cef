//! Values of Arrow arrays that are not null, one by one.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::error::ArrowError;

use crate::error::{Error, Result};

#[cold]
pub(crate) fn unlike() -> Error {
    Error::internal("a batch is unlike the schema of its ORC file")
}

#[cold]
pub(super) fn failed(e: ArrowError) -> Error {
    Error::internal("values can't be picked for an ORC file").because(e)
}

/// The values of an array that are not null.
pub(crate) fn each<T: ArrowPrimitiveType>(
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    mut f: impl FnMut(T::Native),
) -> Result<()> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(unlike)?;
    match nulls {
        None => array.values().iter().for_each(|v| f(*v)),
        Some(nulls) => nulls.valid_indices().for_each(|row| f(array.value(row))),
    }
    Ok(())
}

/// The strings or byte strings of an array that are not null.
pub(crate) fn each_bytes(array: &ArrayRef, nulls: Option<&NullBuffer>, mut f: impl FnMut(&[u8])) -> Result<()> {
    let rows = valid_rows(array.len(), nulls);
    if let Some(fixed) = array.as_fixed_size_binary_opt() {
        let fixed: &FixedSizeBinaryArray = fixed;
        rows.for_each(|row| f(fixed.value(row)));
    } else if let Some(texts) = array.as_string_opt::<i32>() {
        rows.for_each(|row| f(texts.value(row).as_bytes()));
    } else {
        let bytes = array.as_binary_opt::<i32>().ok_or_else(unlike)?;
        rows.for_each(|row| f(bytes.value(row)));
    }
    Ok(())
}

/// The rows of an array that are not null.
pub(super) fn valid_rows(length: usize, nulls: Option<&NullBuffer>) -> impl Iterator<Item = usize> {
    (0..length).filter(move |row| nulls.is_none_or(|nulls| nulls.is_valid(*row)))
}
