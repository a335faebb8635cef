//! Finds the place of an untyped literal among the values of a type.
//!
//! A literal may not be a value of the type. Examples are 1.5 for an integer, 3000000000 for a 32-bit one, and a time
//! with too many digits. Such a literal still has a place between two neighbours. A comparison with a neighbour then
//! has exactly the same meaning. Quoted text becomes the type of the column: a number, date, time, timestamp or uuid.
//! For bytes it holds hexadecimal digits, as in single-value JSON (specification, Appendix D). Kinds are never
//! converted silently: a number is not a text, a date or a boolean.

use crate::error::{Error, Result};
use crate::expr::predicate::Literal;
use crate::types::value::unhex;
use crate::types::{PrimitiveType, Value, temporal};

/// The place of a literal among a type's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LiteralPlace {
    /// The literal is exactly this value; never NaN.
    At(Value),
    /// The literal lies strictly between two neighbours; `None` if there is no value on that side.
    Between(Option<Value>, Option<Value>),
    /// NaN, above all other values.
    Nan,
}

/// Finds the place of `literal` among values of type `ty`.
///
/// # Errors
/// `InvalidInput` if the literal can't be compared with such values.
pub(super) fn place(literal: &Literal, ty: &PrimitiveType) -> Result<LiteralPlace> {
    use PrimitiveType as P;
    let wrong = || Error::invalid(format!("{literal} can't be compared with the type {ty}"));
    let found = match (ty, literal) {
        (P::Boolean, Literal::Boolean(b)) => Some(LiteralPlace::At(Value::Boolean(*b))),
        (P::Boolean, Literal::String(s)) => boolean(s),
        (P::Int, Literal::Number(s) | Literal::String(s)) => {
            whole(s, 0, i32::MIN.into(), i32::MAX.into(), |v| Value::Int(v as i32))
        }
        (P::Long, Literal::Number(s) | Literal::String(s)) => {
            whole(s, 0, i64::MIN.into(), i64::MAX.into(), |v| Value::Long(v as i64))
        }
        (P::Decimal { precision, scale }, Literal::Number(s) | Literal::String(s)) => {
            let most = 10i128.pow(u32::from(*precision).min(38)) - 1;
            whole(s, *scale, -most, most, Value::Decimal)
        }
        (P::Float, Literal::Number(s)) => number(s).map(float),
        (P::Float, Literal::String(s)) => named(s).or_else(|| number(s)).map(float),
        (P::Double, Literal::Number(s)) => number(s).map(double),
        (P::Double, Literal::String(s)) => named(s).or_else(|| number(s)).map(double),
        (P::Date, Literal::String(s)) => return date(s),
        (P::Time, Literal::String(s)) => time(s.trim()),
        (P::Timestamp, Literal::String(s)) => return instant(s, 1_000_000, false, ty),
        (P::Timestamptz, Literal::String(s)) => return instant(s, 1_000_000, true, ty),
        (P::TimestampNs, Literal::String(s)) => return instant(s, 1_000_000_000, false, ty),
        (P::TimestamptzNs, Literal::String(s)) => return instant(s, 1_000_000_000, true, ty),
        (P::Date | P::Time | P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs, Literal::Number(_)) => {
            return Err(wrong().hint("Write dates and times in quotes, as in '2023-01-31' or '2023-01-31T12:00:00'"));
        }
        (P::String, Literal::String(s)) => Some(LiteralPlace::At(Value::String(s.clone()))),
        (P::String, Literal::Number(_) | Literal::Boolean(_)) => {
            return Err(wrong().hint("Write text in single quotes"));
        }
        (P::Uuid, Literal::String(s)) => {
            uuid::Uuid::parse_str(s.trim()).ok().map(|u| LiteralPlace::At(Value::Uuid(u.as_u128())))
        }
        (P::Uuid, Literal::Bytes(b)) => {
            <[u8; 16]>::try_from(b.as_slice()).ok().map(|b| LiteralPlace::At(Value::Uuid(u128::from_be_bytes(b))))
        }
        (P::Binary | P::Fixed(_), Literal::Bytes(_) | Literal::String(_)) => return bytes(literal, ty),
        _ => None,
    };
    found.ok_or_else(wrong)
}

/// The value of type `ty` that a literal denotes. Decimal fractions become the nearest float.
///
/// # Errors
/// `InvalidInput` if the type has no such value.
pub fn value_of(literal: &Literal, ty: &PrimitiveType) -> Result<Value> {
    match (place(literal, ty)?, ty, literal) {
        (LiteralPlace::At(value), _, _) => Ok(value),
        (LiteralPlace::Nan, PrimitiveType::Float, _) => Ok(Value::Float(f32::NAN)),
        (LiteralPlace::Nan, _, _) => Ok(Value::Double(f64::NAN)),
        (LiteralPlace::Between(..), PrimitiveType::Float, Literal::Number(text)) => text
            .trim()
            .parse()
            .map(Value::Float)
            .map_err(|e| Error::invalid(format!("{text} is not a number")).because(e)),
        (LiteralPlace::Between(..), _, _) => Err(Error::invalid(format!("{literal} is not a value of the type {ty}"))),
    }
}

fn boolean(text: &str) -> Option<LiteralPlace> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    (is("true") || is("false")).then(|| LiteralPlace::At(Value::Boolean(is("true"))))
}

/// A number's text times 10^`scale` among the whole numbers.
enum Whole {
    At(i128),
    /// Strictly between this and the next.
    After(i128),
    Below,
    Above,
}

/// Exact for any number of digits and any exponent. `None` if the text is not a number.
fn locate(text: &str, scale: u8) -> Option<Whole> {
    let text = text.trim();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent_negative = exponent.starts_with('-');
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if int.len() + fraction.len() == 0 || exponent.is_empty() || ![int, fraction, exponent].into_iter().all(all_digits)
    {
        return None;
    }
    // An exponent beyond i64 has the same effect as any exponent that the digits can't outweigh.
    let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    let shift = if exponent_negative { -exponent } else { exponent } - fraction.len() as i64 + i64::from(scale);
    let digits: Vec<u8> = int.bytes().chain(fraction.bytes()).skip_while(|b| *b == b'0').collect();
    if digits.is_empty() {
        return Some(Whole::At(0));
    }
    let whole_digits = digits.len() as i64 + shift;
    if whole_digits > 38 {
        return Some(if negative { Whole::Below } else { Whole::Above });
    }
    let kept = usize::try_from(whole_digits).unwrap_or(0);
    let digit = |i: usize| i128::from(digits.get(i).map_or(0, |d| d - b'0'));
    let magnitude = (0..kept).fold(0i128, |n, i| n * 10 + digit(i));
    let exact = digits.iter().skip(kept).all(|d| *d == b'0');
    Some(match (exact, negative) {
        (true, false) => Whole::At(magnitude),
        (true, true) => Whole::At(-magnitude),
        (false, false) => Whole::After(magnitude),
        (false, true) => Whole::After(-magnitude - 1),
    })
}

fn whole(text: &str, scale: u8, min: i128, max: i128, make: impl Fn(i128) -> Value) -> Option<LiteralPlace> {
    let below = || LiteralPlace::Between(None, Some(make(min)));
    let above = || LiteralPlace::Between(Some(make(max)), None);
    Some(match locate(text, scale)? {
        Whole::Below => below(),
        Whole::Above => above(),
        Whole::At(n) if n < min => below(),
        Whole::At(n) if n > max => above(),
        Whole::At(n) => LiteralPlace::At(make(n)),
        Whole::After(n) if n < min => below(),
        Whole::After(n) if n >= max => above(),
        Whole::After(n) => LiteralPlace::Between(Some(make(n)), Some(make(n + 1))),
    })
}

/// A parsed floating-point literal. An infinity that is written by name differs from a number beyond the largest
/// double.
enum Real {
    Nan,
    Infinite(bool),
    Finite(f64),
    TooLarge(bool),
}

fn number(text: &str) -> Option<Real> {
    locate(text, 0)?;
    let v: f64 = text.trim().parse().ok()?;
    Some(if v.is_infinite() { Real::TooLarge(v < 0.0) } else { Real::Finite(v) })
}

fn named(text: &str) -> Option<Real> {
    match text.trim().to_ascii_lowercase().as_str() {
        "nan" => Some(Real::Nan),
        "inf" | "infinity" | "+inf" | "+infinity" => Some(Real::Infinite(false)),
        "-inf" | "-infinity" => Some(Real::Infinite(true)),
        _ => None,
    }
}

fn double(real: Real) -> LiteralPlace {
    let at = |v: f64| Some(Value::Double(v));
    match real {
        Real::Nan => LiteralPlace::Nan,
        Real::Infinite(negative) => {
            LiteralPlace::At(Value::Double(if negative { f64::NEG_INFINITY } else { f64::INFINITY }))
        }
        // Adding positive zero turns -0.0 into 0.0, which is equal.
        Real::Finite(v) => LiteralPlace::At(Value::Double(v + 0.0)),
        Real::TooLarge(true) => LiteralPlace::Between(at(f64::NEG_INFINITY), at(f64::MIN)),
        Real::TooLarge(false) => LiteralPlace::Between(at(f64::MAX), at(f64::INFINITY)),
    }
}

/// As in Java Iceberg: the literal is a double first and is then rounded to a float.
fn float(real: Real) -> LiteralPlace {
    let at = |v: f32| Some(Value::Float(v));
    match real {
        Real::Nan => LiteralPlace::Nan,
        Real::Infinite(negative) => {
            LiteralPlace::At(Value::Float(if negative { f32::NEG_INFINITY } else { f32::INFINITY }))
        }
        Real::Finite(v) if (v as f32).is_finite() => LiteralPlace::At(Value::Float(v as f32 + 0.0)),
        Real::Finite(v) if v < 0.0 => LiteralPlace::Between(at(f32::NEG_INFINITY), at(f32::MIN)),
        Real::TooLarge(true) => LiteralPlace::Between(at(f32::NEG_INFINITY), at(f32::MIN)),
        Real::Finite(_) | Real::TooLarge(false) => LiteralPlace::Between(at(f32::MAX), at(f32::INFINITY)),
    }
}

fn date(text: &str) -> Result<LiteralPlace> {
    let text = text.trim();
    let Some(days) = temporal::parse_date(text) else {
        let error = Error::invalid(format!("'{text}' is not a date"));
        return Err(
            match temporal::parse_timestamp(text, 1_000_000_000).or_else(|| temporal::parse_timestamp(text, 1_000_000))
            {
                Some(_) => error.hint("The column holds dates; leave out the time of day"),
                None => error.hint("Write dates as '2023-01-31'"),
            },
        );
    };
    Ok(match i32::try_from(days) {
        Ok(days) => LiteralPlace::At(Value::Int(days)),
        Err(_) if days < 0 => LiteralPlace::Between(None, Some(Value::Int(i32::MIN))),
        Err(_) => LiteralPlace::Between(Some(Value::Int(i32::MAX)), None),
    })
}

fn time(text: &str) -> Option<LiteralPlace> {
    if let Some(micros) = temporal::parse_time(text, 1_000_000) {
        return Some(LiteralPlace::At(Value::Long(micros)));
    }
    let nanos = temporal::parse_time(text, 1_000_000_000)?;
    Some(after(nanos.div_euclid(1000)))
}

fn after(units: i64) -> LiteralPlace {
    LiteralPlace::Between(Some(Value::Long(units)), units.checked_add(1).map(Value::Long))
}

/// A timestamp in microseconds or nanoseconds. Text with more digits, or beyond the range, is between two values.
fn instant(text: &str, per_second: i64, zoned: bool, ty: &PrimitiveType) -> Result<LiteralPlace> {
    let text = text.trim();
    let read = |per_second| temporal::parse_timestamp(text, per_second);
    let (place, has_zone) = if let Some((units, has_zone)) = read(per_second) {
        (LiteralPlace::At(Value::Long(units)), has_zone)
    } else if let (1_000_000, Some((nanos, has_zone))) = (per_second, read(1_000_000_000)) {
        (after(nanos.div_euclid(1000)), has_zone)
    } else if let Some((units, has_zone)) = [1_000_000, 1_000, 1].into_iter().find_map(read) {
        let beyond = match units < 0 {
            true => LiteralPlace::Between(None, Some(Value::Long(i64::MIN))),
            false => LiteralPlace::Between(Some(Value::Long(i64::MAX)), None),
        };
        (beyond, has_zone)
    } else {
        return Err(Error::invalid(format!("'{text}' is not a timestamp"))
            .hint("Write '2023-01-31', '2023-01-31T12:00:00.5' or, with a zone, '2023-01-31T12:00:00+01:00'"));
    };
    if has_zone && !zoned {
        return Err(Error::invalid(format!("'{text}' has a time zone, but the type {ty} has none"))
            .hint("Leave the zone out, or compare with a timestamptz column"));
    }
    Ok(place)
}

fn bytes(literal: &Literal, ty: &PrimitiveType) -> Result<LiteralPlace> {
    let bytes = match literal {
        Literal::Bytes(b) => b.clone(),
        Literal::String(s) => unhex(s).ok_or_else(|| {
            Error::invalid(format!("{literal} can't be compared with the type {ty}"))
                .hint("Write bytes as hexadecimal digits, x'00ff'")
        })?,
        _ => return Err(Error::invalid(format!("{literal} can't be compared with the type {ty}"))),
    };
    match ty {
        PrimitiveType::Fixed(n) if bytes.len() != *n as usize => {
            Err(Error::invalid(format!("{literal} has {} bytes, values of type {ty} have {n}", bytes.len())))
        }
        _ => Ok(LiteralPlace::At(Value::Bytes(bytes))),
    }
}
