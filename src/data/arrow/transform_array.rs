//! Partition transforms of whole Arrow arrays. Each value equals the one of [`Transform::apply`].
//!
//! Arrays are in the layout of [`super::schema::to_arrow`].

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, StringArray, StringViewArray, new_null_array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

use super::bucket_array::bucket_array;
use super::type_names::type_name;
use crate::data::write::bounds_truncate::{lower_bytes, lower_text};
use crate::error::{Error, Result};
use crate::types::{PrimitiveType, Transform, Value, temporal};

/// Runs `$body` with `$a` bound to the array as its primitive type; longs and microseconds alike.
macro_rules! as_longs {
    ($array:expr, $a:ident => $body:expr) => {
        match $array.data_type() {
            DataType::Int64 => $array.as_primitive_opt::<Int64Type>().map(|$a| $body),
            DataType::Time64(TimeUnit::Microsecond) => {
                $array.as_primitive_opt::<Time64MicrosecondType>().map(|$a| $body)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                $array.as_primitive_opt::<TimestampMicrosecondType>().map(|$a| $body)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                $array.as_primitive_opt::<TimestampNanosecondType>().map(|$a| $body)
            }
            _ => None,
        }
    };
}

fn misfit(array: &ArrayRef, what: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("{what} does not apply to an array of type {}", type_name(array.data_type())))
}

/// `transform` of every value of a column of type `source`: an array of the transform's result type, null for null.
///
/// # Errors
/// `Unsupported` for an unknown transform; `InvalidInput` if the transform does not accept the type; if the array is
/// not of that type; if a truncated decimal no longer fits its precision.
pub(crate) fn transform_array(array: &ArrayRef, source: &PrimitiveType, transform: &Transform) -> Result<ArrayRef> {
    if let Transform::Unknown(name) = transform {
        return Err(Error::unsupported(format!("rows can't be partitioned by the unknown transform '{name}'")));
    }
    let transformed = match transform {
        _ if !transform.accepts(source) => None,
        Transform::Identity => Some(identity(array)),
        Transform::Void => Some(new_null_array(array.data_type(), array.len())),
        Transform::Bucket(n) => return Ok(Arc::new(bucket_array(array, source, *n)?)),
        Transform::Truncate(width) => truncate(array, *width)?,
        Transform::Year => by_day(array, |d| temporal::year_of_days(d) as i32),
        Transform::Month => by_day(array, |d| temporal::month_of_days(d) as i32),
        Transform::Day => by_day(array, |d| d as i32).map(|days| as_dates(&days)),
        Transform::Hour => by_micros(array, |us| us.div_euclid(temporal::MICROS_PER_HOUR) as i32),
        Transform::Unknown(_) => None,
    };
    transformed.ok_or_else(|| misfit(array, transform))
}

/// Floats with a single form of NaN, other values unchanged.
fn identity(array: &ArrayRef) -> ArrayRef {
    if let Some(floats) = array.as_primitive_opt::<Float32Type>() {
        return Arc::new(floats.unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v }));
    }
    match array.as_primitive_opt::<Float64Type>() {
        Some(doubles) => Arc::new(doubles.unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v })),
        None => array.clone(),
    }
}

fn as_dates(days: &ArrayRef) -> ArrayRef {
    match days.as_primitive_opt::<Int32Type>() {
        Some(days) => Arc::new(days.unary::<_, Date32Type>(|d| d)),
        None => days.clone(),
    }
}

fn ints<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, f: impl Fn(T::Native) -> i32) -> ArrayRef {
    Arc::new(array.unary::<_, Int32Type>(f))
}

fn by_day(array: &ArrayRef, f: impl Fn(i64) -> i32) -> Option<ArrayRef> {
    match array.as_primitive_opt::<Date32Type>() {
        Some(dates) => Some(ints(dates, |d| f(i64::from(d)))),
        None => by_micros(array, |us| f(us.div_euclid(temporal::MICROS_PER_DAY))),
    }
}

fn by_micros(array: &ArrayRef, f: impl Fn(i64) -> i32) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive_opt::<TimestampMicrosecondType>().map(|a| ints(a, f))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive_opt::<TimestampNanosecondType>().map(|a| ints(a, |ns| f(ns.div_euclid(1000))))
        }
        _ => None,
    }
}

fn truncate(array: &ArrayRef, width: u32) -> Result<Option<ArrayRef>> {
    if width == 0 {
        return Err(Error::invalid("the width of a truncate transform must be above 0"));
    }
    let wide = i64::from(width);
    Ok(match array.data_type() {
        DataType::Int32 => array
            .as_primitive_opt::<Int32Type>()
            .map(|a| ints(a, |v| v.wrapping_sub(i64::from(v).rem_euclid(wide) as i32))),
        DataType::Int64 => array
            .as_primitive_opt::<Int64Type>()
            .map(|a| Arc::new(a.unary::<_, Int64Type>(|v| v.wrapping_sub(v.rem_euclid(wide)))) as ArrayRef),
        DataType::Decimal128(precision, _) => {
            array.as_primitive_opt::<Decimal128Type>().map(|a| truncate_decimals(a, width, *precision)).transpose()?
        }
        DataType::Utf8 => array.as_string_opt::<i32>().map(|a| cut_text::<_, StringArray>(a, width)),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(|a| cut_text::<_, LargeStringArray>(a, width)),
        DataType::Utf8View => array.as_string_view_opt().map(|a| cut_text::<_, StringViewArray>(a, width)),
        DataType::Binary => array.as_binary_opt::<i32>().map(|a| cut_bytes::<_, BinaryArray>(a, width)),
        DataType::LargeBinary => array.as_binary_opt::<i64>().map(|a| cut_bytes::<_, LargeBinaryArray>(a, width)),
        DataType::BinaryView => array.as_binary_view_opt().map(|a| cut_bytes::<_, BinaryViewArray>(a, width)),
        _ => None,
    })
}

/// The first `width` code points of each text, in the layout of the input.
fn cut_text<'a, I, A>(texts: I, width: u32) -> ArrayRef
where
    I: IntoIterator<Item = Option<&'a str>>,
    A: Array + FromIterator<Option<&'a str>> + 'static,
{
    Arc::new(texts.into_iter().map(|s| s.map(|s| lower_text(s, width as usize))).collect::<A>())
}

/// The first `width` bytes of each value, in the layout of the input.
fn cut_bytes<'a, I, A>(values: I, width: u32) -> ArrayRef
where
    I: IntoIterator<Item = Option<&'a [u8]>>,
    A: Array + FromIterator<Option<&'a [u8]>> + 'static,
{
    Arc::new(values.into_iter().map(|b| b.map(|b| lower_bytes(b, width as usize))).collect::<A>())
}

fn truncate_decimals(a: &PrimitiveArray<Decimal128Type>, width: u32, precision: u8) -> Result<ArrayRef> {
    let cut = a.unary::<_, Decimal128Type>(|v| v.wrapping_sub(v.rem_euclid(i128::from(width))));
    let limit = 10u128.pow(u32::from(precision.min(38)));
    if cut.iter().flatten().any(|v| v.unsigned_abs() >= limit) {
        return Err(Error::invalid(format!("a decimal truncated to multiples of {width} exceeds {precision} digits")));
    }
    Ok(Arc::new(cut.with_data_type(a.data_type().clone())))
}

/// The value of type `ty` at `row`; `None` for null, for a row past the end and for an array of another type.
pub(crate) fn value_at(array: &ArrayRef, row: usize, ty: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    if row >= array.len() || array.is_null(row) {
        return None;
    }
    Some(match ty {
        P::Boolean => Value::Boolean(array.as_boolean_opt()?.value(row)),
        P::Int => Value::Int(array.as_primitive_opt::<Int32Type>()?.value(row)),
        P::Date => Value::Int(array.as_primitive_opt::<Date32Type>()?.value(row)),
        P::Float => Value::Float(array.as_primitive_opt::<Float32Type>()?.value(row)),
        P::Double => Value::Double(array.as_primitive_opt::<Float64Type>()?.value(row)),
        P::Long | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => {
            Value::Long(as_longs!(array, a => a.value(row))?)
        }
        P::Decimal { .. } => Value::Decimal(array.as_primitive_opt::<Decimal128Type>()?.value(row)),
        P::String => Value::String(array.as_string_opt::<i32>()?.value(row).to_owned()),
        P::Uuid => Value::Uuid(u128::from_be_bytes(array.as_fixed_size_binary_opt()?.value(row).try_into().ok()?)),
        P::Fixed(_) => Value::Bytes(array.as_fixed_size_binary_opt()?.value(row).to_vec()),
        P::Binary => Value::Bytes(array.as_binary_opt::<i32>()?.value(row).to_vec()),
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return None,
    })
}
