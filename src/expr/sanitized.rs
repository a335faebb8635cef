//! Filters without their literals.
//!
//! A report says which columns a filter compares, and about what values: how many digits a number has, how long ago a
//! time was. Texts become hashes.
//!
//! Source: Java's `ExpressionUtil.sanitize`.

use super::{BoundLeaf, BoundPredicate, BoundTerm};
use crate::types::hash::{bucket_of_hash, murmur3_bytes};
use crate::types::temporal::{MICROS_PER_DAY, parse_date, parse_timestamp};
use crate::types::value::format_value;
use crate::types::{PrimitiveType, Type, Value};

const MICROS_PER_HOUR: i64 = 3_600_000_000;
const FIVE_MINUTES: i64 = 300_000_000;
/// The most literals in the filter of a report.
const MOST_LITERALS: usize = 1000;

/// The filter with descriptions in place of literals. `now` is the time in microseconds since the epoch.
pub fn sanitized(filter: &BoundPredicate, now: i64) -> BoundPredicate {
    match filter {
        // Servers don't know questions about computed values.
        BoundPredicate::True | BoundPredicate::Test(_) => BoundPredicate::True,
        BoundPredicate::False => BoundPredicate::False,
        BoundPredicate::And(parts) => BoundPredicate::And(parts.iter().map(|part| sanitized(part, now)).collect()),
        BoundPredicate::Or(parts) => BoundPredicate::Or(parts.iter().map(|part| sanitized(part, now)).collect()),
        BoundPredicate::Leaf(leaf) => {
            let ty = leaf.term.ty.as_primitive().unwrap_or(&PrimitiveType::Unknown);
            let values = leaf.values.iter().map(|value| Value::String(described(value, ty, now))).collect();
            let term = BoundTerm { ty: Type::Primitive(PrimitiveType::String), ..leaf.term.clone() };
            BoundPredicate::Leaf(BoundLeaf { term, op: leaf.op, values })
        }
    }
}

/// Whether a filter has too many literals for a report.
pub fn is_too_long(filter: &BoundPredicate) -> bool {
    literals(filter) > MOST_LITERALS
}

fn literals(filter: &BoundPredicate) -> usize {
    match filter {
        BoundPredicate::True | BoundPredicate::False | BoundPredicate::Test(_) => 0,
        BoundPredicate::And(parts) | BoundPredicate::Or(parts) => parts.iter().map(literals).sum(),
        BoundPredicate::Leaf(leaf) => leaf.values.len(),
    }
}

fn described(value: &Value, ty: &PrimitiveType, now: i64) -> String {
    use PrimitiveType as P;
    match (value, ty) {
        (Value::Int(days), P::Date) => of_date(i64::from(*days), now),
        (Value::Long(_), P::Time) => "(time)".to_owned(),
        (Value::Long(micros), P::Timestamp | P::Timestamptz) => of_time(*micros, now),
        (Value::Long(nanos), P::TimestampNs | P::TimestamptzNs) => of_time(nanos.div_euclid(1_000), now),
        (Value::Int(number), _) => of_number(f64::from(*number), "int"),
        (Value::Long(number), _) => of_number(*number as f64, "int"),
        (Value::Float(number), _) => of_number(f64::from(*number), "float"),
        (Value::Double(number), _) => of_number(*number, "float"),
        (Value::String(text), _) => of_text(text, now),
        (value, ty) => hashed(&format_value(value.as_ref(), ty)),
    }
}

fn of_number(number: f64, kind: &str) -> String {
    let digits = if number == 0.0 { 1 } else { (number.abs().log10() as i32).saturating_add(1) };
    format!("({digits}-digit-{kind})")
}

fn direction(of: i64, now: i64) -> &'static str {
    if now > of { "ago" } else { "from-now" }
}

fn of_date(days: i64, now: i64) -> String {
    let today = now.div_euclid(MICROS_PER_DAY);
    match today.abs_diff(days) {
        0 => "(date-today)".to_owned(),
        difference @ 1..90 => format!("(date-{difference}-days-{})", direction(days, today)),
        _ => "(date)".to_owned(),
    }
}

fn of_time(micros: i64, now: i64) -> String {
    let difference = i64::try_from(now.abs_diff(micros)).unwrap_or(i64::MAX);
    let hours = difference / MICROS_PER_HOUR;
    match hours {
        _ if difference < FIVE_MINUTES => "(timestamp-about-now)".to_owned(),
        0..=72 => format!("(timestamp-{hours}-hours-{})", direction(micros, now)),
        73..2160 => format!("(timestamp-{}-days-{})", hours / 24, direction(micros, now)),
        _ => "(timestamp)".to_owned(),
    }
}

/// A text may be a date or a time.
fn of_text(text: &str, now: i64) -> String {
    let has_form = |form: &str| {
        let fits = |(c, f): (char, char)| if f == '0' { c.is_ascii_digit() } else { c == f };
        text.chars().count() >= form.len() && text.chars().zip(form.chars()).all(fits)
    };
    if has_form("0000-00-00T00:00")
        && let Some((micros, _)) = parse_timestamp(text, 1_000_000)
    {
        return of_time(micros, now);
    }
    if has_form("0000-00-00")
        && text.len() == 10
        && let Some(days) = parse_date(text)
    {
        return of_date(days, now);
    }
    let is_time = has_form("00:00") && text.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    if is_time { "(time)".to_owned() } else { hashed(text) }
}

fn hashed(text: &str) -> String {
    format!("(hash-{:08x})", bucket_of_hash(murmur3_bytes(text.as_bytes()), i32::MAX.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = MICROS_PER_DAY;

    /// Values from Java's `TestExpressionUtil`.
    #[test]
    fn literals_are_described() {
        let now = 20_000 * DAY + 5 * MICROS_PER_HOUR;
        let of = |value: Value, ty: PrimitiveType| described(&value, &ty, now);
        let text = |text: &str| of(Value::String(text.to_owned()), PrimitiveType::String);
        assert_eq!(of(Value::Int(34), PrimitiveType::Int), "(2-digit-int)");
        assert_eq!(of(Value::Long(-345), PrimitiveType::Long), "(3-digit-int)");
        assert_eq!(of(Value::Long(0), PrimitiveType::Long), "(1-digit-int)");
        assert_eq!(of(Value::Double(12.25), PrimitiveType::Double), "(2-digit-float)");
        assert_eq!(of(Value::Double(f64::INFINITY), PrimitiveType::Double), "(2147483647-digit-float)");
        assert_eq!(text("string_0"), "(hash-14128790)");
        assert_eq!(text("aaa"), "(hash-34d05fb7)");
        assert_eq!(text("2022-04-29"), "(date)");
        assert_eq!(text("22:30:00"), "(time)");
        assert_eq!(of(Value::Int(20_000), PrimitiveType::Date), "(date-today)");
        assert_eq!(of(Value::Int(19_993), PrimitiveType::Date), "(date-7-days-ago)");
        assert_eq!(of(Value::Int(20_007), PrimitiveType::Date), "(date-7-days-from-now)");
        assert_eq!(of(Value::Long(now - 60_000_000), PrimitiveType::Timestamp), "(timestamp-about-now)");
        assert_eq!(of(Value::Long(now - 3 * MICROS_PER_HOUR), PrimitiveType::Timestamptz), "(timestamp-3-hours-ago)");
        assert_eq!(of(Value::Long(now + 4 * DAY), PrimitiveType::Timestamp), "(timestamp-4-days-from-now)");
        assert_eq!(of(Value::Long(now - 91 * DAY), PrimitiveType::Timestamp), "(timestamp)");
        assert_eq!(of(Value::Long(1), PrimitiveType::Time), "(time)");
    }
}
