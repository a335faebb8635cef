//! Converts single columns to the table's type. Defines the Arrow types that fit each table type, and how their values
//! change.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, FixedSizeBinaryBuilder, GenericByteArray, Int64Array, PrimitiveArray,
};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{
    BinaryType, ByteArrayType, DataType, Decimal128Type, Int64Type, LargeBinaryType, LargeUtf8Type, TimeUnit, Utf8Type,
};

use super::refusal::{Refusal, rebase_bytes};
use crate::data::arrow::schema::per_second;
use crate::data::arrow::variant;
use crate::types::PrimitiveType;
use crate::types::decimal::rescale;

/// The rule by which a leaf's values become the table's.
#[derive(Debug, PartialEq)]
pub(crate) enum Rule {
    /// The values stay the same.
    Same,
    /// Arrow's cast, which loses nothing here.
    Widen,
    /// Large offsets become small ones.
    Offsets,
    /// A count of units is multiplied by `times` and divided by `per`, exactly.
    Units { times: i64, per: i64 },
    /// Decimals get the scale `scale`, within `precision` digits.
    Decimal { from: i32, precision: u8, scale: u8 },
    /// Byte strings that must have this length.
    Fixed(i32),
    /// The text of a uuid.
    UuidText,
    /// A variant in any of its forms.
    Variant,
    /// A geometry as well-known binary.
    Geometry,
}

/// The type of the values in dictionary and run-end encodings.
pub(crate) fn plain(ty: &DataType) -> &DataType {
    match ty {
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        ty => ty,
    }
}

/// The rule for values of Arrow type `found` in a column of type `wanted`; `None` if they do not fit.
pub(crate) fn rule(wanted: &PrimitiveType, found: &DataType) -> Option<Rule> {
    use DataType as D;
    use PrimitiveType as P;
    let units = |times, per| Some(if times == per { Rule::Same } else { Rule::Units { times, per } });
    match (wanted, found) {
        (P::Boolean, D::Boolean) | (P::Int, D::Int32) | (P::Long, D::Int64) => Some(Rule::Same),
        (P::Float, D::Float32) | (P::Double, D::Float64) | (P::Date, D::Date32) => Some(Rule::Same),
        (P::String, D::Utf8) | (P::Binary, D::Binary) => Some(Rule::Same),
        (P::Int, D::Int8 | D::Int16 | D::UInt8 | D::UInt16) => Some(Rule::Widen),
        (P::Long, D::Int8 | D::Int16 | D::Int32 | D::UInt8 | D::UInt16 | D::UInt32) => Some(Rule::Widen),
        (P::Float, D::Float16) | (P::Double, D::Float16 | D::Float32) => Some(Rule::Widen),
        (P::String, D::Utf8View) | (P::Binary, D::BinaryView | D::FixedSizeBinary(_)) => Some(Rule::Widen),
        (P::String, D::LargeUtf8) | (P::Binary, D::LargeBinary) => Some(Rule::Offsets),
        (
            P::Decimal { precision, scale },
            D::Decimal32(_, s) | D::Decimal64(_, s) | D::Decimal128(_, s) | D::Decimal256(_, s),
        ) => Some(Rule::Decimal { from: i32::from(*s), precision: *precision, scale: *scale }),
        (P::Date, D::Date64) => Some(Rule::Units { times: 1, per: 86_400_000 }),
        (P::Time, D::Time32(unit) | D::Time64(unit)) => units(1_000_000, per_second(unit)),
        (P::Timestamp, D::Timestamp(unit, None)) => units(1_000_000, per_second(unit)),
        (P::TimestampNs, D::Timestamp(unit, None)) => units(1_000_000_000, per_second(unit)),
        (P::Timestamptz, D::Timestamp(unit, Some(zone))) => zoned(unit, zone, 1_000_000),
        (P::TimestamptzNs, D::Timestamp(unit, Some(zone))) => zoned(unit, zone, 1_000_000_000),
        (P::Uuid, D::FixedSizeBinary(16)) => Some(Rule::Same),
        (P::Uuid, D::Binary | D::LargeBinary | D::BinaryView) => Some(Rule::Fixed(16)),
        (P::Uuid, D::Utf8 | D::LargeUtf8 | D::Utf8View) => Some(Rule::UuidText),
        (P::Variant, D::Struct(_)) => Some(Rule::Variant),
        (P::Geometry { .. } | P::Geography { .. }, D::Binary | D::LargeBinary | D::BinaryView) => Some(Rule::Geometry),
        (P::Fixed(n), D::FixedSizeBinary(m)) => (i32::try_from(*n).ok()? == *m).then_some(Rule::Same),
        (P::Fixed(n), D::Binary | D::LargeBinary | D::BinaryView) => Some(Rule::Fixed(i32::try_from(*n).ok()?)),
        _ => None,
    }
}

/// Whether bytes begin like well-known binary: byte order and type of geometry.
fn geometries(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, Refusal> {
    let bytes = match array.data_type() {
        DataType::LargeBinary => shorten(array)?,
        _ => cast(array, target)?,
    };
    let wrong = bytes.as_binary::<i32>().iter().position(|b| b.is_some_and(|b| b.len() < 5 || b[0] > 1));
    match wrong {
        None => Ok(bytes),
        Some(row) => Err(Refusal::at(row, "the value is not the well-known binary of a geometry")),
    }
}

/// Any zone counts from the same epoch, but only UTC is the table's own type.
fn zoned(unit: &TimeUnit, zone: &str, wanted: i64) -> Option<Rule> {
    let same = per_second(unit) == wanted && zone == "UTC";
    Some(if same { Rule::Same } else { Rule::Units { times: wanted, per: per_second(unit) } })
}

/// The values of `array` as `target`. Null slots are not checked.
pub(crate) fn apply(rule: &Rule, array: &ArrayRef, target: &DataType) -> Result<ArrayRef, Refusal> {
    match rule {
        Rule::Same => Ok(array.clone()),
        Rule::Widen => Ok(cast(array, target)?),
        Rule::Offsets => shorten(array),
        Rule::Variant => Ok(variant::whole(array)?),
        Rule::Geometry => geometries(array, target),
        Rule::Units { times, per } => change_unit(array, *times, *per, target),
        Rule::Decimal { from, precision, scale } => change_scale(array, *from, *precision, *scale),
        Rule::Fixed(length) => {
            let bytes = cast(array, &DataType::LargeBinary)?;
            let bytes = bytes.as_binary::<i64>();
            fixed(
                bytes.iter(),
                *length,
                |b| Some(b).filter(|b| b.len() == *length as usize),
                || format!("the column takes {length} bytes, and this value has another length"),
            )
        }
        Rule::UuidText => {
            let text = cast(array, &DataType::LargeUtf8)?;
            let parse = |t: &str| uuid::Uuid::try_parse(t).ok().map(uuid::Uuid::into_bytes);
            fixed(text.as_string::<i64>().iter(), 16, parse, || "this is not the text of a uuid".to_owned())
        }
    }
}

fn fixed<T, B: AsRef<[u8]>>(
    values: impl ExactSizeIterator<Item = Option<T>>,
    length: i32,
    parse: impl Fn(T) -> Option<B>,
    complaint: impl Fn() -> String,
) -> Result<ArrayRef, Refusal> {
    let mut out = FixedSizeBinaryBuilder::with_capacity(values.len(), length);
    for (row, value) in values.enumerate() {
        match value {
            None => out.append_null(),
            Some(v) => out.append_value(parse(v).ok_or_else(|| Refusal::at(row, complaint()))?)?,
        }
    }
    Ok(Arc::new(out.finish()))
}

/// Turns 64-bit offsets into 32-bit ones. The bytes are shared.
fn shorten(array: &ArrayRef) -> Result<ArrayRef, Refusal> {
    fn shorten<L, S>(large: &GenericByteArray<L>) -> Result<ArrayRef, Refusal>
    where
        L: ByteArrayType<Offset = i64>,
        S: ByteArrayType<Offset = i32>,
    {
        let (offsets, start, end) = rebase_bytes(large.value_offsets())?;
        let bytes = large.values().slice_with_length(start, end - start);
        Ok(Arc::new(GenericByteArray::<S>::try_new(offsets, bytes, large.nulls().cloned())?))
    }
    match array.data_type() {
        DataType::LargeUtf8 => shorten::<LargeUtf8Type, Utf8Type>(array.as_bytes::<LargeUtf8Type>()),
        _ => shorten::<LargeBinaryType, BinaryType>(array.as_bytes::<LargeBinaryType>()),
    }
}

fn change_unit(array: &ArrayRef, times: i64, per: i64, target: &DataType) -> Result<ArrayRef, Refusal> {
    // Units divide each other, so one of the two factors is 1.
    let (times, per) = if times > per { (times / per, 1) } else { (1, per / times) };
    let counts = match array.data_type() {
        DataType::Time32(_) => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(array, &DataType::Int64)?,
    };
    let counts = counts.as_primitive::<Int64Type>();
    let exact = |v: i64| if per == 1 { v.checked_mul(times) } else { Some(v / per).filter(|_| v % per == 0) };
    let message = if per == 1 { "the value is out of range" } else { "the value is finer than the column's unit" };
    let out = convert(counts, exact, message)?;
    let out: ArrayRef = Arc::new(Int64Array::new(out, counts.nulls().cloned()));
    let strict = CastOptions { safe: false, ..Default::default() };
    let out = match target {
        DataType::Date32 => cast_with_options(&out, &DataType::Int32, &strict)?,
        _ => out,
    };
    Ok(cast(&out, target)?)
}

/// Applies `f` to each value that is not null. A value that it refuses is an error of its row.
fn convert<T: arrow::datatypes::ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    f: impl Fn(T::Native) -> Option<T::Native>,
    message: &str,
) -> Result<ScalarBuffer<T::Native>, Refusal> {
    let one = |(row, v): (usize, &T::Native)| match f(*v) {
        Some(out) => Ok(out),
        None if array.is_null(row) => Ok(*v),
        None => Err(Refusal::at(row, message)),
    };
    Ok(array.values().iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()?.into())
}

fn change_scale(array: &ArrayRef, from: i32, precision: u8, scale: u8) -> Result<ArrayRef, Refusal> {
    let wide = DataType::Decimal128(38, from as i8);
    let strict = CastOptions { safe: false, ..Default::default() };
    let array = match array.data_type() {
        DataType::Decimal128(_, _) => array,
        _ => &cast_with_options(array, &wide, &strict)?,
    };
    let array = array.as_primitive::<Decimal128Type>();
    let limit = 10u128.pow(u32::from(precision.min(38)));
    let to = i32::from(scale);
    let exact = |v: i128| if from == to { Some(v) } else { rescale(v, from, to) };
    let fits = |v: i128| exact(v).filter(|v| v.unsigned_abs() < limit);
    let message = format!("the value does not fit decimal({precision}, {scale})");
    let out = convert(array, fits, &message)?;
    let out = Decimal128Array::new(out, array.nulls().cloned()).with_precision_and_scale(precision, scale as i8)?;
    Ok(Arc::new(out))
}
