//! Partition values in paths, as Java prints them.
//!
//! Source: Java's `InternalRowPartitionComputer`, `PartitionPathUtils`, and `toString` of its values.

use super::data_type::{DataType, TypeKind};
use crate::types::java::{double_text, float_text, time_text, timestamp_text};
use crate::types::{Value, decimal, temporal};

/// The value in a folder's name, not yet escaped. `legacy` is how Java's objects print, otherwise SQL's cast to text.
pub(crate) fn partition_text(value: &Value, ty: &DataType, legacy: bool) -> String {
    match (value, &ty.kind) {
        (Value::Int(days), TypeKind::Date) if !legacy => temporal::format_date(i64::from(*days)),
        (Value::Long(micros), TypeKind::Time(_)) if legacy => micros.div_euclid(1000).to_string(),
        (Value::Long(micros), TypeKind::Time(precision)) => time_text(micros.div_euclid(1000), u32::from(*precision)),
        (Value::Long(units), TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p)) => {
            let per_second = if *p <= 6 { 1_000_000 } else { 1_000_000_000 };
            if legacy { local_text(*units, per_second) } else { timestamp_text(*units, per_second, u32::from(*p)) }
        }
        (Value::Decimal(unscaled), TypeKind::Decimal { scale, .. }) => decimal::format_decimal(*unscaled, *scale),
        (Value::Boolean(v), _) => v.to_string(),
        (Value::Int(v), _) => v.to_string(),
        (Value::Long(v), _) => v.to_string(),
        (Value::Float(v), _) => float_text(*v),
        (Value::Double(v), _) => double_text(*v),
        (Value::String(v), _) => v.clone(),
        (Value::Bytes(v), _) => String::from_utf8_lossy(v).into_owned(),
        (Value::Decimal(v), _) => v.to_string(),
        (Value::Uuid(v), _) => v.to_string(),
    }
}

/// As Java's `LocalDateTime` prints: seconds only if not zero, a fraction of 3, 6 or 9 digits.
fn local_text(units: i64, per_second: i64) -> String {
    let (seconds, rest) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let nanos = rest * (1_000_000_000 / per_second);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let mut out = format!("{}T{:02}:{:02}", temporal::format_date(days), of_day / 3600, of_day / 60 % 60);
    if of_day % 60 > 0 || nanos > 0 {
        out.push_str(&format!(":{:02}", of_day % 60));
    }
    match nanos {
        0 => {}
        n if n % 1_000_000 == 0 => out.push_str(&format!(".{:03}", n / 1_000_000)),
        n if n % 1000 == 0 => out.push_str(&format!(".{:06}", n / 1000)),
        n => out.push_str(&format!(".{n:09}")),
    }
    out
}

/// Escapes the characters that Hive does not allow in paths: `%XX` of the character's code.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0'..='\x1f'
            | '\x7f'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '}'
            | '['
            | ']'
            | '^' => out.push_str(&format!("%{:02X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_java() {
        let text = |v: f64| partition_text(&Value::Double(v), &TypeKind::Double.nullable(), true);
        for (v, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-0.0125, "-0.0125"),
            (0.001, "0.001"),
            (0.000_1, "1.0E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.25e300, "1.25E300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(v), expected);
        }
        assert_eq!(partition_text(&Value::Float(0.1), &TypeKind::Float.nullable(), true), "0.1");
    }

    #[test]
    fn times_print_as_in_java() {
        let text = |v, kind: TypeKind, legacy| partition_text(&Value::Long(v), &kind.nullable(), legacy);
        let half = 1_704_067_200_500_000;
        assert_eq!(text(half, TypeKind::Timestamp(3), true), "2024-01-01T00:00:00.500");
        assert_eq!(text(half, TypeKind::Timestamp(6), false), "2024-01-01 00:00:00.500000");
        assert_eq!(text(half - 500_000, TypeKind::Timestamp(3), true), "2024-01-01T00:00");
        assert_eq!(text(half - 500_000, TypeKind::Timestamp(0), false), "2024-01-01 00:00:00");
        assert_eq!(text(-1, TypeKind::Timestamp(6), true), "1969-12-31T23:59:59.999999");
        assert_eq!(text(-1, TypeKind::Timestamp(9), true), "1969-12-31T23:59:59.999999999");
        assert_eq!(text(3_661_500_000, TypeKind::Time(3), true), "3661500");
        assert_eq!(text(3_661_500_000, TypeKind::Time(3), false), "01:01:01.5");
        let date = |legacy| partition_text(&Value::Int(19_725), &TypeKind::Date.nullable(), legacy);
        assert_eq!((date(true).as_str(), date(false).as_str()), ("19725", "2024-01-03"));
    }

    #[test]
    fn what_paths_mean_otherwise_is_escaped() {
        assert_eq!(escape("a/b=c%d:e f\n.ä"), "a%2Fb%3Dc%25d%3Ae f%0A.ä");
    }
}
