//! Single values as JSON.
//!
//! Source: Iceberg specification, Appendix D, "JSON single-value serialization".

use serde_json::{Value as Json, json};

use super::decimal;
use super::json_members::as_int;
use super::schema::PrimitiveType;
use super::temporal;
use super::value::{Value, ValueRef, format_value, unhex};
use crate::error::{Error, Result};

/// The JSON form of a value. NaN and infinities, which JSON numbers lack, are strings.
pub fn value_to_json(v: ValueRef<'_>, ty: &PrimitiveType) -> Json {
    match v {
        ValueRef::Boolean(b) => json!(b),
        ValueRef::Int(i) if *ty != PrimitiveType::Date => json!(i),
        ValueRef::Long(l) if *ty == PrimitiveType::Long => json!(l),
        ValueRef::Float(f) if f.is_finite() => json!(f),
        ValueRef::Double(d) if d.is_finite() => json!(d),
        ValueRef::Float(f) => json!(non_finite_text(f64::from(f))),
        ValueRef::Double(d) => json!(non_finite_text(d)),
        v => json!(format_value(v, ty)),
    }
}

/// The text of NaN or an infinity.
pub(crate) fn non_finite_text(d: f64) -> &'static str {
    if d.is_nan() {
        "NaN"
    } else if d > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// Reads a value of type `ty`; `None` for JSON null.
///
/// # Errors
/// `CorruptTable` if the JSON is not a value of that type.
pub fn value_from_json(j: &Json, ty: &PrimitiveType) -> Result<Option<Value>> {
    if j.is_null() {
        return Ok(None);
    }
    parse(j, ty).map(Some).ok_or_else(|| Error::corrupt(format!("{j} is not a value of type {ty}")))
}

fn parse(j: &Json, ty: &PrimitiveType) -> Option<Value> {
    use PrimitiveType as P;
    let float = || match j {
        Json::Number(n) => n.as_f64(),
        Json::String(s) => match s.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    let timestamp = |per_second, zoned| {
        let (v, has_zone) = temporal::parse_timestamp(j.as_str()?, per_second)?;
        (has_zone == zoned).then_some(Value::Long(v))
    };
    Some(match ty {
        P::Boolean => Value::Boolean(j.as_bool()?),
        P::Int => Value::Int(as_int(j)?),
        P::Long => Value::Long(j.as_i64()?),
        P::Float => Value::Float(float()? as f32),
        P::Double => Value::Double(float()?),
        P::Decimal { scale, .. } => Value::Decimal(match j {
            Json::String(s) => decimal::parse_decimal(s, *scale)?,
            Json::Number(n) => decimal::parse_decimal(&n.to_string(), *scale)?,
            _ => return None,
        }),
        P::Date => Value::Int(i32::try_from(temporal::parse_date(j.as_str()?)?).ok()?),
        P::Time => Value::Long(temporal::parse_time(j.as_str()?, 1_000_000)?),
        P::Timestamp => timestamp(1_000_000, false)?,
        P::Timestamptz => timestamp(1_000_000, true)?,
        P::TimestampNs => timestamp(1_000_000_000, false)?,
        P::TimestamptzNs => timestamp(1_000_000_000, true)?,
        P::String => Value::String(j.as_str()?.to_owned()),
        P::Uuid => Value::Uuid(uuid::Uuid::parse_str(j.as_str()?).ok()?.as_u128()),
        P::Fixed(n) => Value::Bytes(unhex(j.as_str()?).filter(|b| b.len() == *n as usize)?),
        P::Binary => Value::Bytes(unhex(j.as_str()?)?),
        P::Unknown | P::Variant | P::Geometry { .. } | P::Geography { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of Appendix D.
    #[test]
    fn appendix_d() {
        let cases = [
            (json!(true), PrimitiveType::Boolean),
            (json!(34), PrimitiveType::Long),
            (json!(1.5), PrimitiveType::Float),
            (json!("14.20"), PrimitiveType::Decimal { precision: 9, scale: 2 }),
            (json!("2017-11-16"), PrimitiveType::Date),
            (json!("22:31:08.123456"), PrimitiveType::Time),
            (json!("2017-11-16T22:31:08.123456"), PrimitiveType::Timestamp),
            (json!("2017-11-16T22:31:08.123456+00:00"), PrimitiveType::Timestamptz),
            (json!("2017-11-16T22:31:08.123456789"), PrimitiveType::TimestampNs),
            (json!("iceberg"), PrimitiveType::String),
            (json!("f79c3e09-677c-4bbd-a479-3f349cb785e7"), PrimitiveType::Uuid),
            (json!("000102ff"), PrimitiveType::Fixed(4)),
            (json!("NaN"), PrimitiveType::Double),
        ];
        for (j, t) in cases {
            let v = value_from_json(&j, &t).unwrap().unwrap();
            assert_eq!(value_to_json(v.as_ref(), &t), j, "{t}");
        }
        assert!(value_from_json(&json!("2017-11-16T22:31:08"), &PrimitiveType::Timestamptz).is_err());
        assert!(value_from_json(&json!("00"), &PrimitiveType::Fixed(4)).is_err());
        assert_eq!(value_from_json(&Json::Null, &PrimitiveType::Int).unwrap(), None);
    }
}
