//! The bucket transform of whole Arrow arrays. Each value equals the one of [`crate::types::Transform::apply`].

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, GenericByteArray, Int32Array, PrimitiveArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowNativeType, ByteArrayType, DataType, Date32Type, Decimal128Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use crate::error::{Error, Result};
use crate::types::PrimitiveType;
use crate::types::hash_kernels::{Buckets, kernel_16, kernel_bytes, kernel_decimal, kernel_long};

/// The bucket of every value of a column of type `source`, null for null. Takes large and view layouts too.
///
/// # Errors
/// `InvalidInput` if `buckets` is 0 or above `i32::MAX`; if the type can't be bucketed; if the array is not of that
/// type.
pub fn bucket_array(array: &ArrayRef, source: &PrimitiveType, buckets: u32) -> Result<Int32Array> {
    use PrimitiveType as P;
    let into = Buckets::new(buckets)
        .ok_or_else(|| Error::invalid(format!("a bucket transform can't have {buckets} buckets")))?;
    let bucketed = match source {
        P::Int => array.as_primitive_opt::<Int32Type>().map(|a| primitives(a, into, |v| kernel_long(v.into()))),
        P::Date => array.as_primitive_opt::<Date32Type>().map(|a| primitives(a, into, |v| kernel_long(v.into()))),
        P::Long => array.as_primitive_opt::<Int64Type>().map(|a| primitives(a, into, kernel_long)),
        P::Time => array.as_primitive_opt::<Time64MicrosecondType>().map(|a| primitives(a, into, kernel_long)),
        P::Timestamp | P::Timestamptz => match array.data_type() {
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                array.as_primitive_opt::<TimestampMicrosecondType>().map(|a| primitives(a, into, kernel_long))
            }
            _ => None,
        },
        P::TimestampNs | P::TimestamptzNs => match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => array
                .as_primitive_opt::<TimestampNanosecondType>()
                .map(|a| primitives(a, into, |v| kernel_long(v.div_euclid(1000)))),
            _ => None,
        },
        P::Decimal { .. } => array.as_primitive_opt::<Decimal128Type>().map(|a| primitives(a, into, kernel_decimal)),
        P::String | P::Uuid | P::Fixed(_) | P::Binary => bytes(array, source == &P::String, into),
        _ => None,
    };
    bucketed.unwrap_or_else(|| {
        let found = array.data_type();
        Err(Error::invalid(format!("a bucket transform of {source} does not apply to an array of type {found}")))
    })
}

/// Text or bytes in any layout; `None` for an array of another type.
fn bytes(array: &ArrayRef, text: bool, into: Buckets) -> Option<Result<Int32Array>> {
    match array.data_type() {
        DataType::Utf8 if text => array.as_string_opt::<i32>().map(|a| slices(a, into)),
        DataType::LargeUtf8 if text => array.as_string_opt::<i64>().map(|a| slices(a, into)),
        DataType::Utf8View if text => array.as_string_view_opt().map(|a| {
            let hashes = a.iter().map(|s| s.map_or(0, |s| hash_bytes(s.as_bytes())));
            collect(hashes, a.nulls(), into)
        }),
        DataType::Binary if !text => array.as_binary_opt::<i32>().map(|a| slices(a, into)),
        DataType::LargeBinary if !text => array.as_binary_opt::<i64>().map(|a| slices(a, into)),
        DataType::BinaryView if !text => array.as_binary_view_opt().map(|a| {
            let hashes = a.iter().map(|b| b.map_or(0, hash_bytes));
            collect(hashes, a.nulls(), into)
        }),
        DataType::FixedSizeBinary(_) if !text => array.as_fixed_size_binary_opt().map(|a| fixed(a, into)),
        _ => None,
    }
}

fn hash_bytes(bytes: &[u8]) -> u32 {
    kernel_bytes(0, bytes)
}

/// Also hashes the content of null slots, which is cheaper than a check.
fn primitives<T: ArrowPrimitiveType>(
    a: &PrimitiveArray<T>,
    into: Buckets,
    hash: impl Fn(T::Native) -> u32,
) -> Result<Int32Array> {
    collect(a.values().iter().map(|v| hash(*v)), a.nulls(), into)
}

fn slices<T: ByteArrayType>(a: &GenericByteArray<T>, into: Buckets) -> Result<Int32Array> {
    let (offsets, data) = (a.value_offsets(), a.value_data());
    let hash = |w: &[T::Offset]| data.get(w[0].as_usize()..w[1].as_usize()).map_or(0, hash_bytes);
    collect(offsets.windows(2).map(hash), a.nulls(), into)
}

fn fixed(a: &FixedSizeBinaryArray, into: Buckets) -> Result<Int32Array> {
    match a.value_size() {
        0 => collect((0..a.len()).map(|_| hash_bytes(&[])), a.nulls(), into),
        16 => {
            let values = a.value_data().as_chunks::<16>().0.iter().take(a.len());
            collect(values.map(|v| kernel_16(*v)), a.nulls(), into)
        }
        size => {
            let values = a.value_data().chunks_exact(size).take(a.len());
            collect(values.map(hash_bytes), a.nulls(), into)
        }
    }
}

fn collect(hashes: impl Iterator<Item = u32>, nulls: Option<&NullBuffer>, into: Buckets) -> Result<Int32Array> {
    // There are two steps. The second has no hash, so the compiler can process several values at once.
    let mut values: Vec<i32> = hashes.map(|h| h as i32).collect();
    match into.mask() {
        Some(mask) => values.iter_mut().for_each(|v| *v &= mask as i32),
        None => values.iter_mut().for_each(|v| *v = into.of(*v as u32)),
    }
    Int32Array::try_new(values.into(), nulls.cloned())
        .map_err(|e| Error::internal("the buckets do not fit their array").because(e))
}
