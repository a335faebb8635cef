//! Arrow arrays of single values, with their sizes checked: Arrow's 32-bit offsets hold 2 GiB in one array.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int32Array, Int64Array, NullArray, StringArray, StructArray,
};
use arrow::compute::cast;
use arrow::datatypes::Field;

use super::schema::{arrow_primitive, struct_members};
use crate::error::{Error, Result};
use crate::types::{PrimitiveType as P, ValueRef};

/// The error of values that no array can hold.
pub(crate) fn bad(e: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::internal("the values of a metadata table are no Arrow array").because(e)
}

fn too_much() -> Error {
    Error::unsupported("a column of a piece of a manifest exceeds 2 GiB")
}

/// Checks that this number of bytes or items fits 32-bit offsets.
pub(crate) fn fits(sizes: impl Iterator<Item = usize>) -> Result<usize> {
    let mut total = 0usize;
    for size in sizes {
        total = total.saturating_add(size);
        if total > i32::MAX as usize {
            return Err(too_much());
        }
    }
    Ok(total)
}

/// Byte strings.
pub(crate) fn bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Result<BinaryArray> {
    fits(values.clone().map(|v| v.map_or(0, <[u8]>::len)))?;
    Ok(values.collect())
}

/// Text; `CorruptTable` if it is not UTF-8.
pub(crate) fn texts<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Result<StringArray> {
    StringArray::try_from_binary(bytes(values)?)
        .map_err(|e| Error::corrupt("a text in a manifest is not UTF-8").because(e))
}

/// Values of one type, as the Arrow type of `ty`.
///
/// # Errors
/// `CorruptTable` if a value is of another type.
pub(crate) fn values(ty: &P, values: &[Option<ValueRef<'_>>]) -> Result<ArrayRef> {
    fn pick<T>(
        ty: &P,
        values: &[Option<ValueRef<'_>>],
        f: impl Fn(ValueRef<'_>) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let mismatch = |v: ValueRef<'_>| Error::corrupt(format!("the value {v:?} is not of the type {ty}"));
        values.iter().map(|v| v.map(|v| f(v).ok_or_else(|| mismatch(v))).transpose()).collect()
    }
    macro_rules! numbers {
        ($array:ty, $variant:ident) => {
            <$array>::from(pick(ty, values, |v| match v {
                ValueRef::$variant(x) => Some(x),
                _ => None,
            })?)
        };
    }
    let as_type = |array: &dyn Array| cast(array, &arrow_primitive(ty)?).map_err(bad);
    let raw = || {
        let raw = |v: &Option<ValueRef<'_>>| match v {
            None => Ok(None),
            Some(ValueRef::Bytes(b)) => Ok(Some(b.to_vec())),
            Some(ValueRef::String(s)) => Ok(Some(s.as_bytes().to_vec())),
            Some(ValueRef::Uuid(u)) => Ok(Some(u.to_be_bytes().to_vec())),
            Some(v) => Err(Error::corrupt(format!("the value {v:?} is not of the type {ty}"))),
        };
        values.iter().map(raw).collect::<Result<Vec<_>>>()
    };
    Ok(match ty {
        P::Boolean => Arc::new(numbers!(BooleanArray, Boolean)),
        P::Int => Arc::new(numbers!(Int32Array, Int)),
        P::Long => Arc::new(numbers!(Int64Array, Long)),
        P::Float => Arc::new(numbers!(Float32Array, Float)),
        P::Double => Arc::new(numbers!(Float64Array, Double)),
        P::Date => as_type(&numbers!(Int32Array, Int))?,
        P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            as_type(&numbers!(Int64Array, Long))?
        }
        P::Decimal { precision, scale } => Arc::new(
            numbers!(Decimal128Array, Decimal).with_precision_and_scale(*precision, *scale as i8).map_err(bad)?,
        ),
        P::String => Arc::new(texts(raw()?.iter().map(Option::as_deref))?),
        P::Binary => Arc::new(bytes(raw()?.iter().map(Option::as_deref))?),
        P::Uuid => fixed(raw()?, 16)?,
        P::Fixed(n) => fixed(raw()?, *n)?,
        P::Unknown => Arc::new(NullArray::new(values.len())),
        P::Variant | P::Geometry { .. } | P::Geography { .. } => Arc::new(bytes(raw()?.iter().map(Option::as_deref))?),
    })
}

fn fixed(values: Vec<Option<Vec<u8>>>, length: u32) -> Result<ArrayRef> {
    let wrong = |e: arrow::error::ArrowError| Error::corrupt("a fixed value has another length").because(e);
    let length = i32::try_from(length).map_err(|_| too_much())?;
    fits(values.iter().map(|_| length as usize))?;
    Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), length).map_err(wrong)?))
}

/// A struct without nulls of its own.
pub(crate) fn structs(field: &Field, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
    let fields = struct_members(field).to_vec().into();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, rows).map_err(bad)?))
}
