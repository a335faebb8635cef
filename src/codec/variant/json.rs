//! Variants as JSON text.
//!
//! Numbers of every kind are JSON numbers with all their digits. NaN and infinities are strings. Dates, times and
//! timestamps are ISO 8601 text; those with a zone end in `+00:00`. UUIDs are text, and bytes are Base64.

use base64::prelude::{BASE64_STANDARD, Engine as _};

use super::{Metadata, VariantValue, check, members};
use crate::error::{Error, Result};
use crate::types::decimal::format_decimal;
use crate::types::temporal::{format_date, format_time, format_timestamp};

const MICROS: i64 = 1_000_000;
const NANOS: i64 = 1_000_000_000;

/// The value at the front of `bytes` as JSON, without spaces; members of objects in the order of the bytes.
///
/// # Errors
/// As [`check`].
pub fn to_text(metadata: &Metadata<'_>, bytes: &[u8]) -> Result<String> {
    check(metadata, bytes)?;
    let mut out = String::new();
    write(metadata, bytes, &mut out)?;
    Ok(out)
}

/// As [`to_text`], of a value that was checked.
fn write(metadata: &Metadata<'_>, bytes: &[u8], out: &mut String) -> Result<()> {
    match VariantValue::parse(bytes)?.0 {
        VariantValue::Object(object) => {
            out.push('{');
            for (i, member) in members(metadata, &object).enumerate() {
                let (name, value) = member?;
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(name)?);
                out.push(':');
                write(metadata, value, out)?;
            }
            out.push('}');
        }
        VariantValue::Array(array) => {
            out.push('[');
            for i in 0..array.len() {
                if i > 0 {
                    out.push(',');
                }
                write(metadata, array.bytes(i)?, out)?;
            }
            out.push(']');
        }
        VariantValue::String(text) => out.push_str(&quoted(text)?),
        VariantValue::Null => out.push_str("null"),
        VariantValue::Boolean(b) => out.push_str(if b { "true" } else { "false" }),
        VariantValue::Int8(v) => out.push_str(&v.to_string()),
        VariantValue::Int16(v) => out.push_str(&v.to_string()),
        VariantValue::Int32(v) => out.push_str(&v.to_string()),
        VariantValue::Int64(v) => out.push_str(&v.to_string()),
        VariantValue::Float(v) if v.is_finite() => out.push_str(&serde_json::to_string(&v).map_err(formless)?),
        VariantValue::Float(v) => special(v.into(), out),
        VariantValue::Double(v) if v.is_finite() => out.push_str(&serde_json::to_string(&v).map_err(formless)?),
        VariantValue::Double(v) => special(v, out),
        VariantValue::Decimal(d) => out.push_str(&format_decimal(d.unscaled, d.scale)),
        scalar => {
            out.push('"');
            out.push_str(&plain(&scalar));
            out.push('"');
        }
    }
    Ok(())
}

/// Text of a value that has no JSON form of its own.
fn plain(value: &VariantValue<'_>) -> String {
    match value {
        VariantValue::Date(days) => format_date((*days).into()),
        VariantValue::Time(micros) => format_time(*micros, MICROS),
        VariantValue::Timestamp(micros) => format_timestamp(*micros, MICROS),
        VariantValue::Timestamptz(micros) => format_timestamp(*micros, MICROS) + "+00:00",
        VariantValue::TimestampNs(nanos) => format_timestamp(*nanos, NANOS),
        VariantValue::TimestamptzNs(nanos) => format_timestamp(*nanos, NANOS) + "+00:00",
        VariantValue::Uuid(uuid) => uuid::Uuid::from_u128(*uuid).to_string(),
        VariantValue::Binary(bytes) => BASE64_STANDARD.encode(bytes),
        _ => String::new(),
    }
}

fn special(v: f64, out: &mut String) {
    out.push_str(match v {
        v if v.is_nan() => "\"NaN\"",
        v if v > 0.0 => "\"Infinity\"",
        _ => "\"-Infinity\"",
    });
}

fn quoted(text: &str) -> Result<String> {
    serde_json::to_string(text).map_err(formless)
}

fn formless(e: serde_json::Error) -> Error {
    Error::internal("a value of a variant has no JSON form").because(e)
}
