//! Computes calls of single values.
//!
//! The meaning is Spark's in ANSI mode, with two differences. Integers are computed with 64 bits, and a result beyond
//! them is an error. Days of intervals have 24 hours, because all times are in UTC.

use crate::error::{Error, Result};
use crate::expr::formula::bound::{BoundFunction, CastKind};
use crate::expr::formula::cast::cast_value;
use crate::expr::formula::unbound::Interval;
use crate::types::temporal::{MICROS_PER_DAY, civil_of_days, days_of_civil, first_day_of_month, month_of_days};
use crate::types::value::format_value;
use crate::types::{PrimitiveType, Value, ValueRef};

/// The value of a function of values that are not null. `None` is null: only `try_cast` gives it.
///
/// # Errors
/// `InvalidInput` if the result's type has no such value, or for a division by zero.
pub fn apply(
    function: BoundFunction,
    arguments: &[(ValueRef<'_>, &PrimitiveType)],
    ty: &PrimitiveType,
) -> Result<Option<Value>> {
    use BoundFunction as F;
    match (function, arguments) {
        (F::Lower, [(ValueRef::String(s), _)]) => Ok(Some(Value::String(s.to_lowercase()))),
        (F::Upper, [(ValueRef::String(s), _)]) => Ok(Some(Value::String(s.to_uppercase()))),
        (F::Cast(kind), [(v, from)]) => match cast_value(*v, from, ty) {
            None if kind != CastKind::Tried => {
                Err(Error::invalid(format!("{} can't be cast from {from} to {ty}", shown(*v, from))).hint(
                    "Correct the value, leave its rows out by another condition, or write try_cast, which gives null",
                ))
            }
            value => Ok(value),
        },
        (F::Negate, [(v, _)]) => negated(*v).ok_or_else(|| overflow(&format!("-({})", shown(*v, ty)), ty)).map(Some),
        (F::Shift(by), [(v, _)]) => {
            shifted(*v, by, ty).map(Some).ok_or_else(|| overflow(&format!("{} plus an interval", shown(*v, ty)), ty))
        }
        (_, [(a, a_type), (b, b_type)]) => {
            if matches!(function, F::Divide | F::Remainder) && is_zero(*b) {
                return Err(Error::invalid(format!("{} is divided by zero", shown(*a, a_type)))
                    .hint("Leave the rows with a divisor of zero out by another condition"));
            }
            binary(function, *a, *b).map(Some).ok_or_else(|| {
                let sign = sign_of(function);
                overflow(&format!("{} {sign} {}", shown(*a, a_type), shown(*b, b_type)), ty)
            })
        }
        _ => Err(Error::internal("a function got arguments of other types")),
    }
}

fn shown(v: ValueRef<'_>, ty: &PrimitiveType) -> String {
    match v {
        ValueRef::String(s) => format!("'{s}'"),
        ValueRef::Float(f) => number_text(f64::from(f)),
        ValueRef::Double(f) => number_text(f),
        v => format_value(v, ty),
    }
}

/// A number with an exponent.
pub(super) fn number_text(v: f64) -> String {
    format!("{v:e}")
}

fn overflow(what: &str, ty: &PrimitiveType) -> Error {
    Error::invalid(format!("the result of {what} is beyond the values of type {ty}"))
}

/// The operator of a function with two arguments.
pub(super) fn sign_of(function: BoundFunction) -> char {
    match function {
        BoundFunction::Add | BoundFunction::AddDays => '+',
        BoundFunction::Multiply => '*',
        BoundFunction::Divide => '/',
        BoundFunction::Remainder => '%',
        _ => '-',
    }
}

fn is_zero(v: ValueRef<'_>) -> bool {
    match v {
        ValueRef::Long(v) => v == 0,
        ValueRef::Float(v) => v == 0.0,
        ValueRef::Double(v) => v == 0.0,
        _ => false,
    }
}

fn negated(v: ValueRef<'_>) -> Option<Value> {
    match v {
        ValueRef::Long(v) => v.checked_neg().map(Value::Long),
        ValueRef::Float(v) => Some(Value::Float(-v)),
        ValueRef::Double(v) => Some(Value::Double(-v)),
        ValueRef::Decimal(v) => v.checked_neg().map(Value::Decimal),
        _ => None,
    }
}

fn binary(function: BoundFunction, a: ValueRef<'_>, b: ValueRef<'_>) -> Option<Value> {
    use BoundFunction as F;
    match (a, b) {
        (ValueRef::Int(a), ValueRef::Int(b)) if function == F::DaysBetween => {
            Some(Value::Long(i64::from(a) - i64::from(b)))
        }
        (ValueRef::Int(a), ValueRef::Long(b)) => {
            let days = match function {
                F::AddDays => i64::from(a).checked_add(b)?,
                F::SubtractDays => i64::from(a).checked_sub(b)?,
                _ => return None,
            };
            i32::try_from(days).ok().map(Value::Int)
        }
        (ValueRef::Long(a), ValueRef::Long(b)) => whole(function, a, b).map(Value::Long),
        (ValueRef::Float(a), ValueRef::Float(b)) => real32(function, a, b).map(Value::Float),
        (ValueRef::Double(a), ValueRef::Double(b)) => real(function, a, b).map(Value::Double),
        (ValueRef::Decimal(a), ValueRef::Decimal(b)) => match function {
            F::Add => a.checked_add(b),
            F::Subtract => a.checked_sub(b),
            F::Multiply => a.checked_mul(b),
            _ => None,
        }
        .map(Value::Decimal),
        _ => None,
    }
}

fn whole(function: BoundFunction, a: i64, b: i64) -> Option<i64> {
    match function {
        BoundFunction::Add => a.checked_add(b),
        BoundFunction::Subtract => a.checked_sub(b),
        BoundFunction::Multiply => a.checked_mul(b),
        // The least integer has no remainder in Rust if it is divided by -1. It is zero.
        BoundFunction::Remainder => Some(a.wrapping_rem(b)),
        _ => None,
    }
}

fn real(function: BoundFunction, a: f64, b: f64) -> Option<f64> {
    Some(match function {
        BoundFunction::Add => a + b,
        BoundFunction::Subtract => a - b,
        BoundFunction::Multiply => a * b,
        BoundFunction::Divide => a / b,
        BoundFunction::Remainder => a % b,
        _ => return None,
    })
}

fn real32(function: BoundFunction, a: f32, b: f32) -> Option<f32> {
    Some(match function {
        BoundFunction::Add => a + b,
        BoundFunction::Subtract => a - b,
        BoundFunction::Multiply => a * b,
        BoundFunction::Remainder => a % b,
        _ => return None,
    })
}

/// Months are added first. A day that the month lacks becomes its last one.
fn shifted(v: ValueRef<'_>, by: Interval, ty: &PrimitiveType) -> Option<Value> {
    match (v, ty) {
        (ValueRef::Int(days), PrimitiveType::Date) => {
            let days = months_later(i64::from(days), by.months).checked_add(by.micros / MICROS_PER_DAY)?;
            i32::try_from(days).ok().map(Value::Int)
        }
        (ValueRef::Long(t), _) => {
            let per_day = match ty {
                PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => MICROS_PER_DAY * 1000,
                _ => MICROS_PER_DAY,
            };
            let micros = by.micros.checked_mul(per_day / MICROS_PER_DAY)?;
            let moved = match by.months {
                0 => t,
                months => months_later(t.div_euclid(per_day), months)
                    .checked_mul(per_day)?
                    .checked_add(t.rem_euclid(per_day))?,
            };
            moved.checked_add(micros).map(Value::Long)
        }
        _ => None,
    }
}

fn months_later(days: i64, months: i32) -> i64 {
    if months == 0 {
        return days;
    }
    let month = month_of_days(days) + i64::from(months);
    let last = first_day_of_month(month + 1) - 1;
    let (year, month_of_year, _) = civil_of_days(last);
    let (_, _, day) = civil_of_days(days);
    days_of_civil(year, month_of_year, day).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use PrimitiveType as P;

    fn of(function: BoundFunction, a: Value, b: Value, ty: &P) -> Result<Option<Value>> {
        apply(function, &[(a.as_ref(), ty), (b.as_ref(), ty)], ty)
    }

    #[test]
    fn computes_as_spark_does() {
        use BoundFunction as F;
        let long = |f, a, b| of(f, Value::Long(a), Value::Long(b), &P::Long).unwrap();
        assert_eq!(long(F::Add, 2, 3), Some(Value::Long(5)));
        assert_eq!(long(F::Remainder, -7, 3), Some(Value::Long(-1)));
        assert_eq!(long(F::Remainder, 7, -3), Some(Value::Long(1)));
        assert_eq!(long(F::Remainder, i64::MIN, -1), Some(Value::Long(0)));
        let double = |f, a, b| of(f, Value::Double(a), Value::Double(b), &P::Double).unwrap();
        assert_eq!(double(F::Divide, 3.0, 2.0), Some(Value::Double(1.5)));
        assert_eq!(double(F::Remainder, -7.5, 2.0), Some(Value::Double(-1.5)));
    }

    #[test]
    fn errors_name_the_values() {
        use BoundFunction as F;
        let error = of(F::Add, Value::Long(i64::MAX), Value::Long(1), &P::Long).unwrap_err();
        assert_eq!(error.message(), "the result of 9223372036854775807 + 1 is beyond the values of type long");
        let error = of(F::Remainder, Value::Long(7), Value::Long(0), &P::Long).unwrap_err();
        assert_eq!(error.message(), "7 is divided by zero");
        let cast = F::Cast(CastKind::Written);
        let error = apply(cast, &[(ValueRef::String("abc"), &P::String)], &P::Int).unwrap_err();
        assert_eq!(error.message(), "'abc' can't be cast from string to int");
        let tried = F::Cast(CastKind::Tried);
        assert_eq!(apply(tried, &[(ValueRef::String("abc"), &P::String)], &P::Int).unwrap(), None);
    }

    /// The examples of Spark's documentation of `add_months`, and ends of leap years.
    #[test]
    fn months_keep_the_day_where_they_can() {
        let day = |text: &str| temporal_day(text);
        let later = |text: &str, months| crate::types::temporal::format_date(months_later(day(text), months));
        assert_eq!(later("2016-08-31", 1), "2016-09-30");
        assert_eq!(later("2024-01-31", 1), "2024-02-29");
        assert_eq!(later("2024-02-29", 12), "2025-02-28");
        assert_eq!(later("2024-03-31", -1), "2024-02-29");
        assert_eq!(later("1969-12-15", -13), "1968-11-15");
    }

    fn temporal_day(text: &str) -> i64 {
        crate::types::temporal::parse_date(text).unwrap()
    }

    #[test]
    fn intervals_move_dates_and_times() {
        let by = Interval { months: 1, micros: 2 * MICROS_PER_DAY };
        let date = apply(BoundFunction::Shift(by), &[(ValueRef::Int(30), &P::Date)], &P::Date).unwrap();
        // 1970-01-31 is moved to 1970-02-28 and two days more.
        assert_eq!(date, Some(Value::Int(60)));
        let nanos = Interval { months: 0, micros: 1 };
        let time = apply(BoundFunction::Shift(nanos), &[(ValueRef::Long(5), &P::TimestampNs)], &P::TimestampNs);
        assert_eq!(time.unwrap(), Some(Value::Long(1005)));
    }

    /// Java and Spark have the same results for these letters.
    #[test]
    fn cases_of_letters() {
        let of = |f, s: &str| apply(f, &[(ValueRef::String(s), &P::String)], &P::String).unwrap();
        let text = |s: &str| Some(Value::String(s.to_owned()));
        assert_eq!(of(BoundFunction::Lower, "ÀÉÎ ABC"), text("àéî abc"));
        assert_eq!(of(BoundFunction::Lower, "ΟΔΟΣ"), text("οδος"));
        assert_eq!(of(BoundFunction::Lower, "İ"), text("i\u{307}"));
        assert_eq!(of(BoundFunction::Upper, "straße"), text("STRASSE"));
    }
}
