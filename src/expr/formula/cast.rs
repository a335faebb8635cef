//! Converts single values between types, as Spark does in ANSI mode.

use crate::types::value::format_value;
use crate::types::{PrimitiveType, Value, ValueRef, decimal, temporal};

/// Whether values of one type can be cast to another.
pub fn can_cast(from: &PrimitiveType, to: &PrimitiveType) -> bool {
    use PrimitiveType as P;
    match (from, to) {
        (P::Int | P::Long, P::Int | P::Long | P::Float | P::Double | P::Decimal { .. }) => true,
        (P::Float | P::Double, P::Int | P::Long | P::Float | P::Double) => true,
        (P::Decimal { .. }, P::Int | P::Long | P::Float | P::Double | P::Decimal { .. }) => true,
        (P::Date, P::Timestamp | P::Timestamptz) => true,
        (P::Timestamp | P::Timestamptz, P::Date | P::Timestamp | P::Timestamptz) => true,
        (P::Boolean | P::Int | P::Long | P::Decimal { .. } | P::Date | P::Uuid, P::String) => true,
        (P::Timestamp | P::Timestamptz, P::String) => true,
        (P::String, P::Boolean | P::Int | P::Long | P::Float | P::Double | P::Decimal { .. } | P::Date | P::Uuid) => {
            true
        }
        (P::String, P::Timestamp | P::Timestamptz) => true,
        (from, to) => from == to,
    }
}

/// The value in another type. `None` if the type has no such value, or if there is no cast.
pub fn cast_value(v: ValueRef<'_>, from: &PrimitiveType, to: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    if from == to {
        return Some(v.to_owned());
    }
    match (v, to) {
        (ValueRef::String(s), _) => from_text(s.trim(), to),
        (ValueRef::Int(days), P::Timestamp | P::Timestamptz) if *from == P::Date => {
            i64::from(days).checked_mul(temporal::MICROS_PER_DAY).map(Value::Long)
        }
        (ValueRef::Long(micros), P::Date) => {
            i32::try_from(micros.div_euclid(temporal::MICROS_PER_DAY)).ok().map(Value::Int)
        }
        (ValueRef::Long(micros), P::Timestamp | P::Timestamptz) => Some(Value::Long(micros)),
        (_, P::String) => Some(Value::String(as_text(v, from))),
        _ => number(v, from, to),
    }
}

fn number(v: ValueRef<'_>, from: &PrimitiveType, to: &PrimitiveType) -> Option<Value> {
    let scale = match from {
        PrimitiveType::Decimal { scale, .. } => *scale,
        _ => 0,
    };
    match v {
        ValueRef::Int(i) => of_whole(i128::from(i), 0, to),
        ValueRef::Long(i) => of_whole(i128::from(i), 0, to),
        ValueRef::Decimal(d) => of_whole(d, scale, to),
        ValueRef::Float(f) => of_real(f64::from(f), to),
        ValueRef::Double(f) => of_real(f, to),
        _ => None,
    }
}

fn of_whole(unscaled: i128, scale: u8, to: &PrimitiveType) -> Option<Value> {
    let whole = || unscaled / 10i128.pow(u32::from(scale.min(38)));
    match to {
        PrimitiveType::Int => i32::try_from(whole()).ok().map(Value::Int),
        PrimitiveType::Long => i64::try_from(whole()).ok().map(Value::Long),
        PrimitiveType::Float if scale == 0 => Some(Value::Float(unscaled as f32)),
        PrimitiveType::Double if scale == 0 => Some(Value::Double(unscaled as f64)),
        // The text of a decimal is exact, so it is rounded just once.
        PrimitiveType::Float => decimal::format_decimal(unscaled, scale).parse().ok().map(Value::Float),
        PrimitiveType::Double => decimal::format_decimal(unscaled, scale).parse().ok().map(Value::Double),
        PrimitiveType::Decimal { precision, scale: wanted } => {
            let value = rounded(unscaled, scale, *wanted)?;
            fits(value, *precision).then_some(Value::Decimal(value))
        }
        _ => None,
    }
}

fn fits(unscaled: i128, precision: u8) -> bool {
    unscaled.unsigned_abs() < 10u128.pow(u32::from(precision.min(38)))
}

/// The decimal with another scale. Digits that are lost are rounded, halves away from zero.
fn rounded(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    let power = 10i128.checked_pow(u32::from(from.abs_diff(to)))?;
    if to >= from {
        return unscaled.checked_mul(power);
    }
    let (whole, rest) = (unscaled / power, unscaled % power);
    let away = rest.unsigned_abs() >= power.unsigned_abs() / 2;
    Some(if away { whole + rest.signum() } else { whole })
}

fn of_real(f: f64, to: &PrimitiveType) -> Option<Value> {
    // Just below and just above, a float has no more values between them and the type's ends.
    let whole = |least: f64, above: f64| (f.trunc() >= least && f.trunc() < above).then_some(f.trunc());
    match to {
        PrimitiveType::Int => whole(-2_147_483_648.0, 2_147_483_648.0).map(|f| Value::Int(f as i32)),
        PrimitiveType::Long => {
            whole(-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0).map(|f| Value::Long(f as i64))
        }
        PrimitiveType::Float => Some(Value::Float(f as f32)),
        PrimitiveType::Double => Some(Value::Double(f)),
        _ => None,
    }
}

fn from_text(text: &str, to: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    let is = |words: &[&str]| words.iter().any(|w| text.eq_ignore_ascii_case(w));
    match to {
        P::Boolean if is(&["t", "true", "y", "yes", "1"]) => Some(Value::Boolean(true)),
        P::Boolean if is(&["f", "false", "n", "no", "0"]) => Some(Value::Boolean(false)),
        P::Int => text.parse().ok().map(Value::Int),
        P::Long => text.parse().ok().map(Value::Long),
        P::Float => text.parse().ok().map(Value::Float),
        P::Double => text.parse().ok().map(Value::Double),
        P::Decimal { precision, scale } => {
            let (unscaled, behind) = decimal::parse_exact(text)?;
            let value = match u8::try_from(behind) {
                Ok(behind) => rounded(unscaled, behind, *scale)?,
                Err(_) => decimal::rescale(unscaled, behind, i32::from(*scale))?,
            };
            fits(value, *precision).then_some(Value::Decimal(value))
        }
        P::Date => temporal::parse_date(text).and_then(|d| i32::try_from(d).ok()).map(Value::Int),
        P::Timestamp => match temporal::parse_timestamp(text, 1_000_000)? {
            (micros, false) => Some(Value::Long(micros)),
            (_, true) => None,
        },
        P::Timestamptz => temporal::parse_timestamp(text, 1_000_000).map(|(micros, _)| Value::Long(micros)),
        P::Uuid => uuid::Uuid::parse_str(text).ok().map(|u| Value::Uuid(u.as_u128())),
        _ => None,
    }
}

/// Timestamps have a space between date and time and no zone, as in Spark in UTC.
fn as_text(v: ValueRef<'_>, from: &PrimitiveType) -> String {
    match (v, from) {
        (ValueRef::Long(micros), PrimitiveType::Timestamp | PrimitiveType::Timestamptz) => {
            let text = temporal::format_timestamp(micros, 1_000_000).replacen('T', " ", 1);
            match text.contains('.') {
                true => text.trim_end_matches('0').to_owned(),
                false => text,
            }
        }
        _ => format_value(v, from),
    }
}

/// Whether greater values never give lesser ones.
pub(super) fn keeps_order(from: &PrimitiveType, to: &PrimitiveType) -> bool {
    let text = |ty: &PrimitiveType| *ty == PrimitiveType::String;
    from == to || !text(from) && !text(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrimitiveType as P;

    /// Results of Spark 4 in ANSI mode.
    #[test]
    fn casts_as_spark_does() {
        let dec = |precision, scale| P::Decimal { precision, scale };
        let text = |s: &str| Value::String(s.to_owned());
        for (v, from, to, want) in [
            (text(" 42 "), P::String, P::Int, Some(Value::Int(42))),
            (text("+7"), P::String, P::Long, Some(Value::Long(7))),
            (text("1.5"), P::String, P::Int, None),
            (text(""), P::String, P::Int, None),
            (text("2147483648"), P::String, P::Int, None),
            (text("1e3"), P::String, P::Double, Some(Value::Double(1000.0))),
            (text("-Infinity"), P::String, P::Double, Some(Value::Double(f64::NEG_INFINITY))),
            (text("1.005"), P::String, dec(10, 2), Some(Value::Decimal(101))),
            (text("-1.005"), P::String, dec(10, 2), Some(Value::Decimal(-101))),
            (text("123.4"), P::String, dec(2, 0), None),
            (text("2024-02-29"), P::String, P::Date, Some(Value::Int(19_782))),
            (text("2023-02-29"), P::String, P::Date, None),
            (text("2024-02-29 12:00:00+02:00"), P::String, P::Timestamptz, Some(Value::Long(1_709_200_800_000_000))),
            (text("Yes"), P::String, P::Boolean, Some(Value::Boolean(true))),
            (text("maybe"), P::String, P::Boolean, None),
            (Value::Long(1 << 40), P::Long, P::Int, None),
            (Value::Double(-1.9), P::Double, P::Int, Some(Value::Int(-1))),
            (Value::Double(f64::NAN), P::Double, P::Long, None),
            (Value::Double(9.3e18), P::Double, P::Long, None),
            (Value::Decimal(-199), dec(9, 2), P::Int, Some(Value::Int(-1))),
            (Value::Decimal(125), dec(9, 2), dec(9, 1), Some(Value::Decimal(13))),
            (Value::Decimal(-125), dec(9, 2), dec(9, 1), Some(Value::Decimal(-13))),
            (Value::Decimal(124), dec(9, 2), dec(9, 1), Some(Value::Decimal(12))),
            (Value::Int(1000), P::Int, dec(3, 0), None),
            (Value::Decimal(110), dec(9, 2), P::Double, Some(Value::Double(1.1))),
            (Value::Long(-1), P::Timestamp, P::Date, Some(Value::Int(-1))),
            (Value::Int(1), P::Date, P::Timestamp, Some(Value::Long(86_400_000_000))),
            (Value::Long(1_500_000), P::Timestamptz, P::String, Some(text("1970-01-01 00:00:01.5"))),
            (Value::Long(0), P::Timestamp, P::String, Some(text("1970-01-01 00:00:00"))),
            (Value::Decimal(110), dec(9, 2), P::String, Some(text("1.10"))),
            (Value::Boolean(true), P::Boolean, P::String, Some(text("true"))),
        ] {
            assert!(can_cast(&from, &to), "{from} to {to}");
            assert_eq!(cast_value(v.as_ref(), &from, &to), want, "{v:?} from {from} to {to}");
        }
        assert!(!can_cast(&P::Double, &P::String) && !can_cast(&P::Boolean, &P::Int));
    }
}
