//! How Java prints and orders values.
//!
//! Source: `Double.toString` of the JDK; Paimon's `DateTimeUtils`.

use std::cmp::Ordering;

use super::temporal::format_date;

/// Compares as Java's `Double.compare`: -0.0 is below 0.0. All NaNs are equal and above the rest.
pub(crate) fn compare_doubles(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => a.total_cmp(&b),
        (a, b) => a.cmp(&b),
    }
}

/// A `double` as Java prints it.
pub(crate) fn double_text(v: f64) -> String {
    real_text(v, &format!("{:e}", v.abs()))
}

/// A `float` as Java prints it.
pub(crate) fn float_text(v: f32) -> String {
    real_text(f64::from(v), &format!("{:e}", v.abs()))
}

/// The shortest digits of a number, laid out as in Java: without exponent from 0.001 up to ten millions.
fn real_text(v: f64, shortest: &str) -> String {
    if v.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if v.is_sign_negative() { "-" } else { "" };
    if v.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let with_fraction = |text: &str, at: usize| {
        let (whole, fraction) = text.split_at(at.min(text.len()));
        let fraction = if fraction.is_empty() { "0" } else { fraction };
        format!("{sign}{whole}.{fraction}")
    };
    match exponent {
        _ if v == 0.0 => format!("{sign}0.0"),
        0..=6 => {
            let at = exponent as usize + 1;
            with_fraction(&format!("{digits:0<at$}"), at)
        }
        -3..=-1 => format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize)),
        _ => format!("{}E{exponent}", with_fraction(&digits, 1)),
    }
}

/// `22:31:08` of the milliseconds of a day. The fraction has at most the wanted digits, without zeros at the end.
pub(crate) fn time_text(millis: i64, digits: u32) -> String {
    let millis = millis.rem_euclid(86_400_000);
    let seconds = millis / 1000;
    let mut out = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut rest = millis % 1000;
    if digits > 0 {
        out.push('.');
        for _ in 0..digits {
            out.push_str(&(rest / 100).to_string());
            rest = rest % 100 * 10;
            if rest == 0 {
                break;
            }
        }
    }
    out
}

/// `2017-11-16 22:31:08`, and all digits of the fraction. Zeros at the end fill it up to the wanted length only.
pub(crate) fn timestamp_text(units: i64, per_second: i64, digits: u32) -> String {
    let seconds = units.div_euclid(per_second);
    let nanos = units.rem_euclid(per_second) * (1_000_000_000 / per_second);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let mut out = format!("{} {:02}:{:02}:{:02}", format_date(days), rest / 3600, rest / 60 % 60, rest % 60);
    let mut fraction = format!("{nanos:09}");
    while fraction.len() > digits as usize && fraction.ends_with('0') {
        fraction.pop();
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    out
}
