//! Single values of Arrow arrays.

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};

use crate::types::{PrimitiveType, ValueRef};

/// The value at `row` of an array that has the Arrow type of `ty`; `None` if it is null or the array has another type.
pub(crate) fn value_at<'a>(array: &'a dyn Array, row: usize, ty: &PrimitiveType) -> Option<ValueRef<'a>> {
    use PrimitiveType as P;
    fn number<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> Option<T::Native> {
        Some(array.as_primitive_opt::<T>()?.value(row))
    }
    if row >= array.len() || array.is_null(row) {
        return None;
    }
    Some(match ty {
        P::Boolean => ValueRef::Boolean(array.as_boolean_opt()?.value(row)),
        P::Int => ValueRef::Int(number::<Int32Type>(array, row)?),
        P::Date => ValueRef::Int(number::<Date32Type>(array, row)?),
        P::Long => ValueRef::Long(number::<Int64Type>(array, row)?),
        P::Time => ValueRef::Long(number::<Time64MicrosecondType>(array, row)?),
        P::Timestamp | P::Timestamptz => ValueRef::Long(number::<TimestampMicrosecondType>(array, row)?),
        P::TimestampNs | P::TimestamptzNs => ValueRef::Long(number::<TimestampNanosecondType>(array, row)?),
        P::Float => ValueRef::Float(number::<Float32Type>(array, row)?),
        P::Double => ValueRef::Double(number::<Float64Type>(array, row)?),
        P::Decimal { .. } => ValueRef::Decimal(number::<Decimal128Type>(array, row)?),
        P::String => ValueRef::String(array.as_string_opt::<i32>()?.value(row)),
        P::Binary => ValueRef::Bytes(array.as_binary_opt::<i32>()?.value(row)),
        P::Fixed(_) => ValueRef::Bytes(array.as_fixed_size_binary_opt()?.value(row)),
        P::Uuid => ValueRef::Uuid(uuid(array.as_fixed_size_binary_opt()?.value(row))?),
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return None,
    })
}

/// The number of a uuid's 16 bytes.
pub(crate) fn uuid(bytes: &[u8]) -> Option<u128> {
    bytes.try_into().ok().map(u128::from_be_bytes)
}
