//! Values as text for Frazil's filters, which take the type of the column.

use arrow::datatypes::{DataType, Decimal128Type, DecimalType, TimeUnit};
use arrow::temporal_conversions as temporal;
use datafusion_common::ScalarValue;

use crate::filter::quoted;

/// A float in a comparison.
pub(crate) enum Number {
    Nan,
    /// 0.0 or -0.0.
    Zero,
    /// Another number, as text.
    Other(String),
}

/// The value of a literal for a column of floats, if both have the same type.
pub(crate) fn float_of(value: &ScalarValue, ty: &DataType) -> Option<Number> {
    let number = match (value, ty) {
        // As a 64-bit number it has the same value exactly.
        (ScalarValue::Float32(Some(v)), DataType::Float32) => f64::from(*v),
        (ScalarValue::Float64(Some(v)), DataType::Float64) => *v,
        _ => return None,
    };
    Some(if number.is_nan() {
        Number::Nan
    } else if number == 0.0 {
        Number::Zero
    } else if number.is_infinite() {
        Number::Other(if number > 0.0 { "'inf'" } else { "'-inf'" }.to_owned())
    } else {
        Number::Other(format!("{number:e}"))
    })
}

/// The text of a value for a column of type `ty`. `None` if the value is null or has another type: DataFusion then
/// compares what it has cast, and Frazil would compare something else.
pub(crate) fn text_of(value: &ScalarValue, ty: &DataType) -> Option<String> {
    use ScalarValue as S;
    match (value, ty) {
        (S::Boolean(Some(v)), DataType::Boolean) => Some(v.to_string()),
        (S::Int8(Some(v)), DataType::Int8) => Some(v.to_string()),
        (S::Int16(Some(v)), DataType::Int16) => Some(v.to_string()),
        (S::Int32(Some(v)), DataType::Int32) => Some(v.to_string()),
        (S::Int64(Some(v)), DataType::Int64) => Some(v.to_string()),
        (S::Utf8(Some(v)) | S::LargeUtf8(Some(v)) | S::Utf8View(Some(v)), _) if is_text(ty) => Some(quoted(v)),
        (S::Binary(Some(v)) | S::LargeBinary(Some(v)) | S::BinaryView(Some(v)), _) if is_binary(ty) => Some(hex(v)),
        (S::FixedSizeBinary(n, Some(v)), DataType::FixedSizeBinary(size)) if n == size => Some(hex(v)),
        (S::Decimal128(Some(v), p, s), DataType::Decimal128(precision, scale)) if (p, s) == (precision, scale) => {
            (*scale >= 0).then(|| Decimal128Type::format_decimal(*v, *precision, *scale))
        }
        (S::Date32(Some(v)), DataType::Date32) => {
            temporal::date32_to_datetime(*v).and_then(|date| moment(date.and_utc().timestamp(), 0, false, true))
        }
        (S::Time64Microsecond(Some(v)), DataType::Time64(TimeUnit::Microsecond)) => {
            temporal::time64us_to_time(*v).map(|time| quoted(&time.format("%H:%M:%S%.6f").to_string()))
        }
        (S::TimestampMillisecond(Some(v), zone), DataType::Timestamp(TimeUnit::Millisecond, own)) => {
            timestamp(*v, 1_000, zone.is_some(), own.is_some())
        }
        (S::TimestampMicrosecond(Some(v), zone), DataType::Timestamp(TimeUnit::Microsecond, own)) => {
            timestamp(*v, 1_000_000, zone.is_some(), own.is_some())
        }
        (S::TimestampNanosecond(Some(v), zone), DataType::Timestamp(TimeUnit::Nanosecond, own)) => {
            timestamp(*v, 1_000_000_000, zone.is_some(), own.is_some())
        }
        _ => None,
    }
}

/// A moment is the same in every zone. A local time has none, so both sides must have a zone or none.
fn timestamp(value: i64, ticks: i64, zoned: bool, column_zoned: bool) -> Option<String> {
    let nanos = value.rem_euclid(ticks) * (1_000_000_000 / ticks);
    if zoned == column_zoned { moment(value.div_euclid(ticks), u32::try_from(nanos).ok()?, zoned, false) } else { None }
}

/// A date or timestamp as text. Years have four digits.
fn moment(seconds: i64, nanos: u32, zoned: bool, is_date: bool) -> Option<String> {
    const FIRST: i64 = -62_135_596_800;
    const LAST: i64 = 253_402_300_799;
    if !(FIRST..=LAST).contains(&seconds) {
        return None;
    }
    let local = temporal::timestamp_s_to_datetime(seconds)?;
    let day = local.format("%Y-%m-%d");
    if is_date {
        return Some(quoted(&day.to_string()));
    }
    let zone = if zoned { "+00:00" } else { "" };
    Some(quoted(&format!("{day}T{}.{nanos:09}{zone}", local.format("%H:%M:%S"))))
}

/// Whether values of the type are text.
pub(crate) fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(ty: &DataType) -> bool {
    matches!(ty, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}
