//! Casts values of a type that a Paimon column had to the type that it has now.
//!
//! Paimon's types say more than the table's types here: `TINYINT` and `SMALLINT` are ints, `CHAR(3)` is a string. A
//! column may get nearly any other type. Its files stay as they are, and their values are cast when they are read.
//! Integers lose their upper bits, decimals that do not fit become null, and text is cut or padded. Zones are UTC.
//!
//! Source: Java's `CastExecutors` and its rules.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};

use super::declared_text::{parse_date, parse_time, parse_timestamp, parse_whole};
use crate::data::arrow::array_value::value_at;
use crate::error::{Error, Result};
use crate::types::decimal::{format_decimal, parse_exact};
use crate::types::java::{double_text, float_text, time_text, timestamp_text};
use crate::types::temporal::format_date;
use crate::types::{PrimitiveType, Value, ValueRef};

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The largest number of digits of a decimal.
const MAX_DIGITS: u32 = 38;

/// A type as Paimon declares it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Declared {
    ty: PrimitiveType,
    size: Size,
}

/// The size that a declared type adds to the table's type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    /// Nothing.
    Any,
    /// An integer of this number of bits.
    Bits(u32),
    /// Text of exactly this number of characters, or that number of bytes.
    Exactly(usize),
    /// Text of at most this number of characters, or that number of bytes.
    AtMost(usize),
    /// A time with this number of digits in the fraction of a second.
    Digits(u32),
}

impl Declared {
    /// The type `ty`, which Paimon declares as `text` if that is known.
    pub(crate) fn new(ty: &PrimitiveType, text: Option<&str>) -> Declared {
        let text = text.unwrap_or_default();
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let number = || rest.split([')', ',']).next().and_then(|n| n.trim().parse::<u32>().ok());
        let length = || number().map_or(1, |n| n as usize);
        let size = match name.trim().trim_end_matches(" NOT NULL") {
            "TINYINT" => Size::Bits(8),
            "SMALLINT" => Size::Bits(16),
            "CHAR" | "BINARY" => Size::Exactly(length()),
            "VARCHAR" | "VARBINARY" => match length() {
                n if n >= i32::MAX as usize => Size::Any,
                n => Size::AtMost(n),
            },
            "TIME" => Size::Digits(number().unwrap_or(0)),
            name if name.starts_with("TIMESTAMP") => Size::Digits(number().unwrap_or(6)),
            _ => Size::Any,
        };
        Declared { ty: ty.clone(), size }
    }

    /// The bits of an integer that has fewer than the table's type.
    pub(crate) fn narrow_bits(&self) -> Option<u32> {
        if let Size::Bits(bits) = self.size { Some(bits) } else { None }
    }

    /// The declared digits of a time's fraction of the second.
    pub(crate) fn fraction_digits(&self) -> Option<u32> {
        if let Size::Digits(digits) = self.size { Some(digits) } else { None }
    }

    fn bits(&self) -> u32 {
        match (self.size, &self.ty) {
            (Size::Bits(bits), _) => bits,
            (_, PrimitiveType::Long) => 64,
            _ => 32,
        }
    }

    /// Digits of a second's fraction. If none are declared, those of the table's type.
    fn digits(&self) -> u32 {
        match (self.size, &self.ty) {
            (Size::Digits(digits), _) => digits,
            (_, PrimitiveType::Time) => 0,
            (_, PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs) => 9,
            _ => 6,
        }
    }

    fn per_second(&self) -> i64 {
        match self.ty {
            PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => 1_000_000_000,
            _ => 1_000_000,
        }
    }
}

fn is_timestamp(ty: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    matches!(ty, P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs)
}

/// A cast that is not a promotion: it may lose or change values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeclaredCast(Arc<(Declared, Declared)>);

impl DeclaredCast {
    /// The cast between two types; `None` if values only need to be promoted or can stay.
    ///
    /// # Errors
    /// `Unsupported` if Paimon has no such cast.
    pub(crate) fn plan(from: &Declared, to: &Declared) -> Result<Option<DeclaredCast>> {
        use PrimitiveType as P;
        if from == to || keeps_values(from, to) {
            return Ok(None);
        }
        let is_whole = |ty: &P| matches!(ty, P::Int | P::Long);
        let is_number = |ty: &P| is_whole(ty) || matches!(ty, P::Float | P::Double | P::Decimal { .. });
        let known = match (&from.ty, &to.ty) {
            (a, b) if is_number(a) && is_number(b) => true,
            (a, P::Boolean) if is_whole(a) => true,
            (P::Boolean, b) if is_number(b) => true,
            (P::Int | P::Long, b) if is_timestamp(b) => from.bits() >= 32,
            (a, P::String) => {
                is_number(a) || is_timestamp(a) || matches!(a, P::Boolean | P::Date | P::Time | P::String | P::Binary)
            }
            (P::String, b) => {
                is_number(b) || is_timestamp(b) || matches!(b, P::Boolean | P::Date | P::Time | P::Binary)
            }
            (P::Binary, P::Binary) => true,
            (P::Date | P::Time, b) if is_timestamp(b) => true,
            (a, P::Date | P::Time) if is_timestamp(a) => true,
            (a, P::Int | P::Long) if is_timestamp(a) => to.bits() >= 32,
            (a, b) => is_timestamp(a) && is_timestamp(b) || *a == P::Time && *b == P::Time,
        };
        match known {
            true => Ok(Some(DeclaredCast(Arc::new((from.clone(), to.clone()))))),
            false => Err(Error::unsupported(format!(
                "the column was of type {} when the file was written, which is not cast to {}",
                from.ty, to.ty
            ))),
        }
    }

    /// The type before.
    pub(crate) fn from(&self) -> &PrimitiveType {
        &self.0.0.ty
    }

    /// The type after.
    pub(crate) fn to(&self) -> &PrimitiveType {
        &self.0.1.ty
    }

    /// Casts an array that has the Arrow type of [`DeclaredCast::from`].
    ///
    /// # Errors
    /// `InvalidInput` for text that is not a value of the type.
    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let (from, to) = self.0.as_ref();
        let value = |row| match value_at(array, row, &from.ty) {
            Some(v) => value_of(v, from, to),
            None => Ok(None),
        };
        let values = (0..array.len()).map(value).collect::<Result<Vec<_>>>()?;
        array_of(values, &to.ty)
    }
}

/// Whether all values stay the same, or are promoted in the same order.
fn keeps_values(from: &Declared, to: &Declared) -> bool {
    use PrimitiveType as P;
    let sizes = match (from.size, to.size) {
        (Size::Bits(a), Size::Bits(b)) | (Size::Digits(a), Size::Digits(b)) => a <= b,
        (_, Size::Bits(_)) => false,
        (Size::Exactly(a) | Size::AtMost(a), Size::AtMost(b)) => a <= b,
        (_, Size::Exactly(_) | Size::AtMost(_)) => false,
        _ => true,
    };
    match (&from.ty, &to.ty) {
        (a, b) if a == b => sizes,
        (P::Int, P::Long) | (P::Float, P::Double) => true,
        (P::Decimal { precision: p, scale: s }, P::Decimal { precision: q, scale: t }) => p <= q && s == t,
        (P::Timestamp, P::TimestampNs) | (P::Timestamptz, P::TimestamptzNs) => true,
        _ => false,
    }
}

fn value_of(value: ValueRef<'_>, from: &Declared, to: &Declared) -> Result<Option<Value>> {
    match value {
        ValueRef::Boolean(v) => Ok(from_whole(i64::from(v), to).or_else(|| text(if v { "true" } else { "false" }, to))),
        ValueRef::Int(v) if from.ty == PrimitiveType::Date => Ok(from_date(v, to)),
        ValueRef::Int(v) => Ok(from_number(i64::from(v), to)),
        ValueRef::Long(v) if from.ty == PrimitiveType::Time => Ok(from_time(v, from, to)),
        ValueRef::Long(v) if is_timestamp(&from.ty) => Ok(from_timestamp(v, from, to)),
        ValueRef::Long(v) => Ok(from_number(v, to)),
        ValueRef::Float(v) => from_real(f64::from(v), || float_text(v), to),
        ValueRef::Double(v) => from_real(v, || double_text(v), to),
        ValueRef::Decimal(v) => Ok(from_decimal(v, &from.ty, to)),
        ValueRef::String(v) => from_text(v, to),
        ValueRef::Bytes(v) if to.ty == PrimitiveType::Binary => Ok(Some(Value::Bytes(sized_bytes(v, to)))),
        ValueRef::Bytes(v) => match std::str::from_utf8(v) {
            Ok(v) => Ok(Some(Value::String(v.to_owned()))),
            Err(e) => Err(Error::corrupt("bytes of a column that became text are not UTF-8").because(e)),
        },
        ValueRef::Uuid(_) => Ok(None),
    }
}

/// An integer, or a boolean as 0 or 1.
fn from_whole(v: i64, to: &Declared) -> Option<Value> {
    use PrimitiveType as P;
    match &to.ty {
        P::Int | P::Long => Some(whole(v, to)),
        P::Float => Some(Value::Float(v as f32)),
        P::Double => Some(Value::Double(v as f64)),
        P::Decimal { precision, scale } => decimal(i128::from(v), 0, *precision, *scale),
        _ => None,
    }
}

fn from_number(v: i64, to: &Declared) -> Option<Value> {
    match &to.ty {
        PrimitiveType::Boolean => Some(Value::Boolean(v != 0)),
        PrimitiveType::String => text(&v.to_string(), to),
        ty if is_timestamp(ty) => v.checked_mul(to.per_second()).map(Value::Long),
        _ => from_whole(v, to),
    }
}

/// The lower bits of an integer.
fn whole(v: i64, to: &Declared) -> Value {
    match to.bits() {
        8 => Value::Int(i32::from(v as i8)),
        16 => Value::Int(i32::from(v as i16)),
        32 => Value::Int(v as i32),
        _ => Value::Long(v),
    }
}

fn from_real(v: f64, words: impl Fn() -> String, to: &Declared) -> Result<Option<Value>> {
    use PrimitiveType as P;
    Ok(match &to.ty {
        // Java rounds towards zero and stops at the ends of the type, which is never less than 32 bits.
        P::Int => Some(whole(i64::from(v as i32), to)),
        P::Long => Some(Value::Long(v as i64)),
        P::Float => Some(Value::Float(v as f32)),
        P::Double => Some(Value::Double(v)),
        P::Decimal { precision, scale } => {
            let exact = v.is_finite().then(|| parse_exact(&double_text(v)));
            let exact = exact.ok_or_else(|| refused(&words(), to))?;
            exact.and_then(|(unscaled, digits)| decimal(unscaled, digits, *precision, *scale))
        }
        P::String => text(&words(), to),
        _ => None,
    })
}

fn from_decimal(v: i128, from: &PrimitiveType, to: &Declared) -> Option<Value> {
    use PrimitiveType as P;
    let P::Decimal { precision: digits, scale } = from else { return None };
    let real = || match digits {
        ..=18 => v as f64 / 10f64.powi(i32::from(*scale)),
        _ => format_decimal(v, *scale).parse().unwrap_or(f64::NAN),
    };
    match &to.ty {
        P::Int | P::Long => Some(whole((v / 10i128.pow(u32::from(*scale).min(MAX_DIGITS))) as i64, to)),
        P::Float => Some(Value::Float(real() as f32)),
        P::Double => Some(Value::Double(real())),
        P::Decimal { precision, scale: wanted } => decimal(v, i32::from(*scale), *precision, *wanted),
        P::String => text(&format_decimal(v, *scale), to),
        _ => None,
    }
}

/// Changes a decimal with `digits` digits after the point to `scale` digits. Halves are rounded away from zero. `None`
/// if the result has too many digits.
pub(crate) fn decimal(unscaled: i128, digits: i32, precision: u8, scale: u8) -> Option<Value> {
    let wanted = i32::from(scale);
    let power = digits.abs_diff(wanted);
    let out = match digits <= wanted {
        _ if unscaled == 0 => 0,
        true => unscaled.checked_mul(10i128.checked_pow(power)?)?,
        false if power > MAX_DIGITS => 0,
        false => {
            let divisor = 10i128.pow(power);
            let (whole, rest) = (unscaled / divisor, unscaled % divisor);
            let up = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
            whole + if up { unscaled.signum() } else { 0 }
        }
    };
    (out.unsigned_abs() < 10u128.pow(u32::from(precision).min(MAX_DIGITS))).then_some(Value::Decimal(out))
}

fn from_date(days: i32, to: &Declared) -> Option<Value> {
    match &to.ty {
        PrimitiveType::String => text(&format_date(i64::from(days)), to),
        ty if is_timestamp(ty) => i64::from(days).checked_mul(86_400 * to.per_second()).map(Value::Long),
        _ => None,
    }
}

fn from_time(micros: i64, from: &Declared, to: &Declared) -> Option<Value> {
    match &to.ty {
        PrimitiveType::String => text(&time_text(micros.div_euclid(1000), from.digits()), to),
        PrimitiveType::Time => Some(Value::Long(micros)),
        ty if is_timestamp(ty) => micros.checked_mul(to.per_second() / 1_000_000).map(Value::Long),
        _ => None,
    }
}

fn from_timestamp(units: i64, from: &Declared, to: &Declared) -> Option<Value> {
    use PrimitiveType as P;
    let millis = units.div_euclid(from.per_second() / 1000);
    match &to.ty {
        P::Date => {
            // Java rounds towards 1970 for times without a zone, and down for times with a zone.
            let zoned = matches!(from.ty, P::Timestamptz | P::TimestamptzNs);
            let days = if zoned { millis.div_euclid(MILLIS_PER_DAY) } else { millis / MILLIS_PER_DAY };
            i32::try_from(days).ok().map(Value::Int)
        }
        P::Time => Some(Value::Long(millis.rem_euclid(MILLIS_PER_DAY) * 1000)),
        P::Int | P::Long => Some(whole(millis / 1000, to)),
        P::String => text(&timestamp_text(units, from.per_second(), from.digits()), to),
        ty if is_timestamp(ty) => rescale_timestamp(units, from, to).map(Value::Long),
        _ => None,
    }
}

/// A timestamp in the units and with the digits of another type.
fn rescale_timestamp(units: i64, from: &Declared, to: &Declared) -> Option<i64> {
    let (have, wanted) = (from.per_second(), to.per_second());
    let out = match have <= wanted {
        true => units.checked_mul(wanted / have)?,
        false => units.div_euclid(have / wanted),
    };
    let per_milli = wanted / 1000;
    Some(match to.digits() {
        digits if from.digits() <= digits => out,
        // Java rounds milliseconds towards 1970.
        digits @ 0..=3 => {
            let step = 10i64.pow(3 - digits);
            out.div_euclid(per_milli) / step * step * per_milli
        }
        digits => {
            let step = wanted / 10i64.pow(digits.min(9)).min(wanted);
            out.div_euclid(step) * step
        }
    })
}

fn from_text(v: &str, to: &Declared) -> Result<Option<Value>> {
    use PrimitiveType as P;
    let bad = || refused(v, to);
    Ok(match &to.ty {
        P::String => text(v, to),
        P::Binary => Some(Value::Bytes(sized_bytes(v.as_bytes(), to))),
        P::Boolean => match v.to_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "1" => Some(Value::Boolean(true)),
            "f" | "false" | "n" | "no" | "0" => Some(Value::Boolean(false)),
            _ => return Err(bad()),
        },
        P::Int | P::Long => Some(whole(parse_whole(v, to.bits()).ok_or_else(bad)?, to)),
        P::Float => Some(Value::Float(parse_real(v).ok_or_else(bad)?.parse().map_err(|_| bad())?)),
        P::Double => Some(Value::Double(parse_real(v).ok_or_else(bad)?.parse().map_err(|_| bad())?)),
        P::Decimal { precision, scale } => {
            let exact = (!v.contains(char::is_whitespace)).then(|| parse_exact(v)).flatten();
            let (unscaled, digits) = exact.ok_or_else(bad)?;
            decimal(unscaled, digits, *precision, *scale)
        }
        P::Date => Some(Value::Int(parse_date(v).ok_or_else(bad)?)),
        P::Time => Some(Value::Long(i64::from(parse_time(v).ok_or_else(bad)?) * 1000)),
        ty if is_timestamp(ty) => {
            let takes_numbers = matches!(ty, P::Timestamp | P::TimestampNs);
            let units = parse_timestamp(v, to.per_second(), to.digits(), takes_numbers);
            Some(Value::Long(units.ok_or_else(bad)?))
        }
        _ => None,
    })
}

/// The number in a text, without the parts that only Java allows: blanks around it, and a letter for the type after it.
fn parse_real(v: &str) -> Option<&str> {
    let v = v.trim();
    let number = v.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(v);
    let digits = number.trim_start_matches(['+', '-']);
    match digits {
        "NaN" | "Infinity" => Some(number),
        _ => digits.starts_with(|c: char| c.is_ascii_digit() || c == '.').then_some(number),
    }
}

fn refused(v: &str, to: &Declared) -> Error {
    let shown: String = v.chars().take(80).collect();
    Error::invalid(format!("'{shown}' is not a valid {}; the file was written before the column got this type", to.ty))
}

/// Text with the number of characters that its type wants.
fn text(v: &str, to: &Declared) -> Option<Value> {
    if to.ty != PrimitiveType::String {
        return None;
    }
    let (most, least) = match to.size {
        Size::Exactly(n) => (n, n),
        Size::AtMost(n) => (n, 0),
        _ => return Some(Value::String(v.to_owned())),
    };
    let mut out: String = v.chars().take(most).collect();
    let length = out.chars().count();
    out.extend(std::iter::repeat_n(' ', least.saturating_sub(length)));
    Some(Value::String(out))
}

fn sized_bytes(v: &[u8], to: &Declared) -> Vec<u8> {
    let mut out = v.to_vec();
    match to.size {
        Size::Exactly(n) => out.resize(n, 0),
        Size::AtMost(n) => out.truncate(n),
        _ => {}
    }
    out
}

/// The array of values of a primitive type.
pub(crate) fn array_of(values: Vec<Option<Value>>, ty: &PrimitiveType) -> Result<ArrayRef> {
    use PrimitiveType as P;
    fn each<T>(values: Vec<Option<Value>>, of: impl Fn(Value) -> Option<T>) -> impl Iterator<Item = Option<T>> {
        values.into_iter().map(move |v| v.and_then(&of))
    }
    let int = |v| if let Value::Int(v) = v { Some(v) } else { None };
    let long = |v| if let Value::Long(v) = v { Some(v) } else { None };
    let text = |v| if let Value::String(v) = v { Some(v) } else { None };
    let bytes = |v| if let Value::Bytes(v) = v { Some(v) } else { None };
    Ok(match ty {
        P::Boolean => {
            let boolean = |v| if let Value::Boolean(v) = v { Some(v) } else { None };
            Arc::new(each(values, boolean).collect::<BooleanArray>())
        }
        P::Int => Arc::new(each(values, int).collect::<Int32Array>()),
        P::Date => Arc::new(each(values, int).collect::<Date32Array>()),
        P::Long => Arc::new(each(values, long).collect::<Int64Array>()),
        P::Time => Arc::new(each(values, long).collect::<Time64MicrosecondArray>()),
        P::Timestamp => Arc::new(each(values, long).collect::<TimestampMicrosecondArray>()),
        P::Timestamptz => Arc::new(each(values, long).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        P::TimestampNs => Arc::new(each(values, long).collect::<TimestampNanosecondArray>()),
        P::TimestamptzNs => Arc::new(each(values, long).collect::<TimestampNanosecondArray>().with_timezone("UTC")),
        P::Float => {
            Arc::new(each(values, |v| if let Value::Float(v) = v { Some(v) } else { None }).collect::<Float32Array>())
        }
        P::Double => {
            Arc::new(each(values, |v| if let Value::Double(v) = v { Some(v) } else { None }).collect::<Float64Array>())
        }
        P::Decimal { precision, scale } => {
            let number = |v| if let Value::Decimal(v) = v { Some(v) } else { None };
            let array: Decimal128Array = each(values, number).collect();
            let array = array.with_precision_and_scale(*precision, *scale as i8);
            Arc::new(array.map_err(|e| Error::internal("a decimal has an impossible type").because(e))?)
        }
        P::String => Arc::new(each(values, text).collect::<StringArray>()),
        P::Binary => Arc::new(each(values, bytes).collect::<BinaryArray>()),
        P::Uuid => {
            let uuid = |v| if let Value::Uuid(v) = v { Some(v.to_be_bytes()) } else { None };
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(each(values, uuid), 16);
            Arc::new(array.map_err(|e| Error::internal("a uuid does not have 16 bytes").because(e))?)
        }
        other => return Err(Error::internal(format!("no values are cast to {other}"))),
    })
}

#[cfg(test)]
#[path = "declared_cast_tests.rs"]
mod tests;
