//! Single values: owned ([`Value`]) and borrowed ([`ValueRef`]), their order, and their binary form in bounds.
//!
//! A value carries its physical form only. Its [`PrimitiveType`] is passed along with it. Dates are `Int` (days), times
//! and timestamps `Long` (micro- or nanoseconds), decimals their unscaled number, fixed and binary `Bytes`.

use std::cmp::Ordering;

use super::decimal;
use super::schema::PrimitiveType;
use super::temporal;
use crate::error::{Error, Result};

/// An owned value that is not null.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `boolean`.
    Boolean(bool),
    /// `int`, `date`.
    Int(i32),
    /// `long`, `time`, every timestamp.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `decimal`, unscaled.
    Decimal(i128),
    /// `string`.
    String(String),
    /// `uuid`, big-endian.
    Uuid(u128),
    /// `fixed`, `binary`.
    Bytes(Vec<u8>),
}

/// A borrowed value that is not null; see [`Value`] for the variants.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ValueRef<'a> {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Decimal(i128),
    String(&'a str),
    Uuid(u128),
    Bytes(&'a [u8]),
}

impl Value {
    /// Borrows it.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Boolean(v) => ValueRef::Boolean(*v),
            Value::Int(v) => ValueRef::Int(*v),
            Value::Long(v) => ValueRef::Long(*v),
            Value::Float(v) => ValueRef::Float(*v),
            Value::Double(v) => ValueRef::Double(*v),
            Value::Decimal(v) => ValueRef::Decimal(*v),
            Value::String(v) => ValueRef::String(v),
            Value::Uuid(v) => ValueRef::Uuid(*v),
            Value::Bytes(v) => ValueRef::Bytes(v),
        }
    }

    /// Like [`ValueRef::sql_cmp`].
    pub fn sql_cmp(&self, other: &Value) -> Option<Ordering> {
        self.as_ref().sql_cmp(other.as_ref())
    }
}

impl<'a> ValueRef<'a> {
    /// Copies it.
    pub fn to_owned(self) -> Value {
        match self {
            ValueRef::Boolean(v) => Value::Boolean(v),
            ValueRef::Int(v) => Value::Int(v),
            ValueRef::Long(v) => Value::Long(v),
            ValueRef::Float(v) => Value::Float(v),
            ValueRef::Double(v) => Value::Double(v),
            ValueRef::Decimal(v) => Value::Decimal(v),
            ValueRef::String(v) => Value::String(v.to_owned()),
            ValueRef::Uuid(v) => Value::Uuid(v),
            ValueRef::Bytes(v) => Value::Bytes(v.to_vec()),
        }
    }

    /// Whether it is a NaN.
    #[inline]
    pub fn is_nan(self) -> bool {
        match self {
            ValueRef::Float(f) => f.is_nan(),
            ValueRef::Double(d) => d.is_nan(),
            _ => false,
        }
    }

    /// The order of Spark SQL: NaN equals NaN and is above all numbers, -0.0 equals 0.0, bytes and uuids unsigned,
    /// strings by code point. `None` between different variants.
    #[inline]
    pub fn sql_cmp(self, other: ValueRef<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (ValueRef::Boolean(a), ValueRef::Boolean(b)) => a.cmp(&b),
            (ValueRef::Int(a), ValueRef::Int(b)) => a.cmp(&b),
            (ValueRef::Long(a), ValueRef::Long(b)) => a.cmp(&b),
            (ValueRef::Float(a), ValueRef::Float(b)) => float_cmp(f64::from(a), f64::from(b)),
            (ValueRef::Double(a), ValueRef::Double(b)) => float_cmp(a, b),
            (ValueRef::Decimal(a), ValueRef::Decimal(b)) => a.cmp(&b),
            (ValueRef::String(a), ValueRef::String(b)) => a.cmp(b),
            (ValueRef::Uuid(a), ValueRef::Uuid(b)) => a.cmp(&b),
            (ValueRef::Bytes(a), ValueRef::Bytes(b)) => a.cmp(b),
            _ => return None,
        })
    }

    /// Whether the value starts with `prefix`, for texts and bytes. False for other types.
    pub fn starts_with(self, prefix: ValueRef<'_>) -> bool {
        match (self, prefix) {
            (ValueRef::String(a), ValueRef::String(b)) => a.starts_with(b),
            (ValueRef::Bytes(a), ValueRef::Bytes(b)) => a.starts_with(b),
            _ => false,
        }
    }
}

#[inline]
fn float_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Reads a bound (specification, Appendix D) of a column that is now of type `ty`.
///
/// A file written before a promotion holds the older, narrower form: 4 bytes under `long`, a float under `double`, a
/// date under a timestamp. `None` if the type has no bounds (variant, geometry, unknown).
///
/// # Errors
/// `CorruptTable` if the length does not fit the type or text is not UTF-8.
pub fn decode_bound<'a>(bytes: &'a [u8], ty: &PrimitiveType) -> Result<Option<ValueRef<'a>>> {
    use PrimitiveType as P;
    let bad = || Error::corrupt(format!("a bound of {} bytes does not fit the type {ty}", bytes.len()));
    let int = || bytes.try_into().map(i32::from_le_bytes);
    let long = || bytes.try_into().map(i64::from_le_bytes).map_err(|_| bad());
    Ok(Some(match ty {
        P::Boolean => ValueRef::Boolean(*bytes.first().filter(|_| bytes.len() == 1).ok_or_else(bad)? != 0),
        P::Int | P::Date => ValueRef::Int(int().map_err(|_| bad())?),
        P::Long => ValueRef::Long(int().map(i64::from).or_else(|_| long())?),
        P::Time => ValueRef::Long(long()?),
        P::Timestamp | P::Timestamptz => {
            ValueRef::Long(days_or(int(), temporal::MICROS_PER_DAY).map_or_else(long, Ok)?)
        }
        P::TimestampNs | P::TimestamptzNs => {
            ValueRef::Long(days_or(int(), temporal::MICROS_PER_DAY * 1000).map_or_else(long, Ok)?)
        }
        P::Float => ValueRef::Float(bytes.try_into().map(f32::from_le_bytes).map_err(|_| bad())?),
        P::Double => match <[u8; 4]>::try_from(bytes) {
            Ok(b) => ValueRef::Double(f64::from(f32::from_le_bytes(b))),
            Err(_) => ValueRef::Double(bytes.try_into().map(f64::from_le_bytes).map_err(|_| bad())?),
        },
        P::Decimal { .. } if bytes.is_empty() => return Err(bad()),
        P::Decimal { .. } => ValueRef::Decimal(decimal::from_be_bytes(bytes).ok_or_else(bad)?),
        P::String => ValueRef::String(std::str::from_utf8(bytes).map_err(|e| bad().because(e))?),
        P::Uuid => ValueRef::Uuid(bytes.try_into().map(u128::from_be_bytes).map_err(|_| bad())?),
        P::Fixed(n) if bytes.len() > *n as usize => return Err(bad()),
        P::Fixed(_) | P::Binary => ValueRef::Bytes(bytes),
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return Ok(None),
    }))
}

fn days_or<E>(int: std::result::Result<i32, E>, per_day: i64) -> Option<i64> {
    int.ok().map(|days| i64::from(days).saturating_mul(per_day))
}

/// The binary form of a value in bounds (specification, Appendix D).
pub fn encode_bound(v: ValueRef<'_>) -> Vec<u8> {
    match v {
        ValueRef::Boolean(b) => vec![u8::from(b)],
        ValueRef::Int(i) => i.to_le_bytes().to_vec(),
        ValueRef::Long(l) => l.to_le_bytes().to_vec(),
        ValueRef::Float(f) => f.to_le_bytes().to_vec(),
        ValueRef::Double(d) => d.to_le_bytes().to_vec(),
        ValueRef::Decimal(d) => decimal::minimal_bytes(d),
        ValueRef::String(s) => s.as_bytes().to_vec(),
        ValueRef::Uuid(u) => u.to_be_bytes().to_vec(),
        ValueRef::Bytes(b) => b.to_vec(),
    }
}

/// The value as text for people and partition paths: ISO dates and times, hexadecimal bytes, plain numbers.
pub fn format_value(v: ValueRef<'_>, ty: &PrimitiveType) -> String {
    use PrimitiveType as P;
    match (v, ty) {
        (ValueRef::Int(d), P::Date) => temporal::format_date(i64::from(d)),
        (ValueRef::Long(t), P::Time) => temporal::format_time(t, 1_000_000),
        (ValueRef::Long(t), P::Timestamp) => temporal::format_timestamp(t, 1_000_000),
        (ValueRef::Long(t), P::Timestamptz) => temporal::format_timestamp(t, 1_000_000) + "+00:00",
        (ValueRef::Long(t), P::TimestampNs) => temporal::format_timestamp(t, 1_000_000_000),
        (ValueRef::Long(t), P::TimestamptzNs) => temporal::format_timestamp(t, 1_000_000_000) + "+00:00",
        (ValueRef::Decimal(d), P::Decimal { scale, .. }) => decimal::format_decimal(d, *scale),
        (ValueRef::Boolean(b), _) => b.to_string(),
        (ValueRef::Int(i), _) => i.to_string(),
        (ValueRef::Long(l), _) => l.to_string(),
        (ValueRef::Float(f), _) => format!("{f:?}"),
        (ValueRef::Double(d), _) => format!("{d:?}"),
        (ValueRef::Decimal(d), _) => d.to_string(),
        (ValueRef::String(s), _) => s.to_owned(),
        (ValueRef::Uuid(u), _) => uuid::Uuid::from_u128(u).to_string(),
        (ValueRef::Bytes(b), _) => hex(b),
    }
}

/// Lower-case hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    digits(bytes, b"0123456789abcdef")
}

/// Upper-case hexadecimal digits of bytes.
pub fn hex_upper(bytes: &[u8]) -> String {
    digits(bytes, b"0123456789ABCDEF")
}

fn digits(bytes: &[u8], digits: &[u8; 16]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for b in bytes {
        out.push(char::from(digits[usize::from(b >> 4)]));
        out.push(char::from(digits[usize::from(b & 15)]));
    }
    out
}

/// Decodes hexadecimal digits; `None` if the text has another form.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| (c as char).to_digit(16).map(|d| d as u8);
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return None;
    }
    pairs.iter().map(|p| Some(digit(p[0])? << 4 | digit(p[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_spark_sqls() {
        let d = ValueRef::Double;
        assert_eq!(d(-0.0).sql_cmp(d(0.0)), Some(Ordering::Equal));
        assert_eq!(d(f64::NAN).sql_cmp(d(f64::NAN)), Some(Ordering::Equal));
        assert_eq!(d(f64::NAN).sql_cmp(d(f64::INFINITY)), Some(Ordering::Greater));
        assert_eq!(ValueRef::Uuid(u128::MAX).sql_cmp(ValueRef::Uuid(1)), Some(Ordering::Greater));
        assert_eq!(ValueRef::Int(1).sql_cmp(ValueRef::Long(1)), None);
    }

    #[test]
    fn old_narrow_bounds_widen() {
        let b = |bytes: &[u8], t| decode_bound(bytes, &t).unwrap().unwrap().to_owned();
        assert_eq!(b(&5i32.to_le_bytes(), PrimitiveType::Long), Value::Long(5));
        assert_eq!(b(&1.5f32.to_le_bytes(), PrimitiveType::Double), Value::Double(1.5));
        assert_eq!(b(&1i32.to_le_bytes(), PrimitiveType::Timestamp), Value::Long(temporal::MICROS_PER_DAY));
        assert!(decode_bound(&[1, 2, 3], &PrimitiveType::Int).is_err());
        assert!(decode_bound(&[0xff], &PrimitiveType::String).is_err());
        assert_eq!(decode_bound(&[1], &PrimitiveType::Variant).unwrap(), None);
    }

    #[test]
    fn bounds_round_trip() {
        let cases = [
            (Value::Boolean(true), PrimitiveType::Boolean),
            (Value::Int(-7), PrimitiveType::Date),
            (Value::Long(i64::MIN), PrimitiveType::Timestamptz),
            (Value::Float(-0.0), PrimitiveType::Float),
            (Value::Decimal(-128), PrimitiveType::Decimal { precision: 9, scale: 2 }),
            (Value::String("żółw".into()), PrimitiveType::String),
            (Value::Uuid(1 << 127), PrimitiveType::Uuid),
            (Value::Bytes(vec![]), PrimitiveType::Binary),
        ];
        for (v, t) in cases {
            assert_eq!(decode_bound(&encode_bound(v.as_ref()), &t).unwrap().unwrap().to_owned(), v);
        }
        assert_eq!(unhex(&hex(&[0, 0xab])), Some(vec![0, 0xab]));
        assert_eq!(unhex("é"), None);
    }
}
