//! Partition values as readable text, in the reference's form.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::types::transform::format_partition_value;
use crate::types::{PrimitiveType as P, Transform, ValueRef};

/// The text of a partition value: dates and times in ISO 8601, bytes in base 64, floating-point numbers as Java writes
/// them, and `null`.
pub(crate) fn human(value: Option<ValueRef<'_>>, transform: &Transform, ty: &P) -> String {
    match value {
        Some(ValueRef::Bytes(bytes)) => BASE64_STANDARD.encode(bytes),
        Some(ValueRef::Float(v)) => float(f64::from(v), &format!("{v:e}")),
        Some(ValueRef::Double(v)) => float(v, &format!("{v:e}")),
        Some(ValueRef::Long(micros)) if *ty == P::Time => time(micros),
        value => format_partition_value(value, transform, ty),
    }
}

/// Plain between 0.001 and 10 million, else with an exponent: `1.0E10`. `shortest` has the digits, as in `1.25e10`.
fn float(v: f64, shortest: &str) -> String {
    if v.is_nan() {
        return "NaN".into();
    }
    if v.is_infinite() {
        return if v > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    if v == 0.0 || (1e-3..1e7).contains(&v.abs()) {
        let digits = exponent.parse().unwrap_or(0i32);
        let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len() as i32);
        return format!("{v:.*}", (fraction - digits).max(1) as usize);
    }
    if mantissa.contains('.') { format!("{mantissa}E{exponent}") } else { format!("{mantissa}.0E{exponent}") }
}

/// Hours and minutes, then seconds and groups of three decimals as far as needed.
fn time(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let mut out = format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
    if seconds % 60 != 0 || fraction != 0 {
        out += &format!(":{:02}", seconds % 60);
    }
    match fraction {
        0 => out,
        f if f % 1000 == 0 => out + &format!(".{:03}", f / 1000),
        f => out + &format!(".{f:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from the documentation of `Double.toString`, `LocalTime.toString` and RFC 4648, section 10.
    #[test]
    fn texts_are_javas() {
        let d = |v: f64| human(Some(ValueRef::Double(v)), &Transform::Identity, &P::Double);
        let f = |v: f32| human(Some(ValueRef::Float(v)), &Transform::Identity, &P::Float);
        for (v, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.001, "0.001"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.25e-4, "1.25E-4"),
            (123.456, "123.456"),
            (-2e10, "-2.0E10"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(d(v), text);
        }
        assert_eq!(f(0.1), "0.1");
        assert_eq!(f(16_777_216.0), "1.6777216E7");
        let t = |us| human(Some(ValueRef::Long(us)), &Transform::Identity, &P::Time);
        assert_eq!(t(36_900_000_000), "10:15");
        assert_eq!(t(36_930_000_000), "10:15:30");
        assert_eq!(t(36_930_500_000), "10:15:30.500");
        assert_eq!(t(1), "00:00:00.000001");
        let b = |v: &[u8]| human(Some(ValueRef::Bytes(v)), &Transform::Identity, &P::Binary);
        for (v, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(b(v.as_bytes()), text);
        }
        assert_eq!(human(None, &Transform::Identity, &P::Int), "null");
    }
}
