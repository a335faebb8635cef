//! Partition transforms: functions from a column's value to a partition value.
//!
//! Source: Iceberg specification, "Partition Transforms".

use std::fmt;

use super::hash;
use super::schema::PrimitiveType;
use super::temporal;
use super::value::{Value, ValueRef};

/// A function of one column's value. The result for null is null.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// The hash modulo this number of buckets.
    Bucket(u32),
    /// The value truncated to a width: numbers down to a multiple, text to code points, binary to bytes.
    Truncate(u32),
    /// Years from 1970.
    Year,
    /// Months from 1970-01.
    Month,
    /// Days from 1970-01-01.
    Day,
    /// Hours from 1970-01-01T00.
    Hour,
    /// Always null.
    Void,
    /// A transform that this version does not know. It is kept as written.
    Unknown(String),
}

impl Transform {
    /// Reads `bucket[16]` (the specification's text), `bucket(16)` or a bare name. Anything else is `Unknown`.
    pub fn parse(text: &str) -> Transform {
        let lower = text.trim().to_ascii_lowercase();
        let parameter = |name: &str| -> Option<u32> {
            let rest = lower.strip_prefix(name)?;
            let inner = rest
                .strip_prefix('[')
                .and_then(|r| r.strip_suffix(']'))
                .or_else(|| rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')))?;
            inner.trim().parse().ok().filter(|n| (1..=i32::MAX as u32).contains(n))
        };
        match lower.as_str() {
            "identity" => Transform::Identity,
            "year" | "years" => Transform::Year,
            "month" | "months" => Transform::Month,
            "day" | "days" | "date" => Transform::Day,
            "hour" | "hours" => Transform::Hour,
            "void" => Transform::Void,
            _ => parameter("bucket")
                .map(Transform::Bucket)
                .or_else(|| parameter("truncate").map(Transform::Truncate))
                .unwrap_or_else(|| Transform::Unknown(text.to_owned())),
        }
    }

    /// Whether the transform is defined for values of type `source`.
    pub fn accepts(&self, source: &PrimitiveType) -> bool {
        use PrimitiveType::*;
        match self {
            Transform::Identity => !matches!(source, Unknown | Variant | Geometry { .. } | Geography { .. }),
            Transform::Void => true,
            Transform::Bucket(_) => matches!(
                source,
                Int | Long
                    | Decimal { .. }
                    | Date
                    | Time
                    | Timestamp
                    | Timestamptz
                    | TimestampNs
                    | TimestamptzNs
                    | String
                    | Uuid
                    | Fixed(_)
                    | Binary
            ),
            Transform::Truncate(_) => matches!(source, Int | Long | Decimal { .. } | String | Binary),
            Transform::Year | Transform::Month | Transform::Day => {
                matches!(source, Date | Timestamp | Timestamptz | TimestampNs | TimestamptzNs)
            }
            Transform::Hour => matches!(source, Timestamp | Timestamptz | TimestampNs | TimestamptzNs),
            Transform::Unknown(_) => false,
        }
    }

    /// The type of the results. Days are dates, as Java writes them.
    pub fn result_type(&self, source: &PrimitiveType) -> PrimitiveType {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => source.clone(),
            Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => PrimitiveType::Int,
            Transform::Day => PrimitiveType::Date,
            Transform::Unknown(_) => PrimitiveType::String,
        }
    }

    /// Whether greater values never give smaller results.
    pub fn preserves_order(&self) -> bool {
        !matches!(self, Transform::Bucket(_) | Transform::Void | Transform::Unknown(_))
    }

    /// The result for a value of type `source`. `None` for void, unknown transforms and types that it does not accept.
    pub fn apply(&self, v: ValueRef<'_>, source: &PrimitiveType) -> Option<Value> {
        Some(match self {
            Transform::Identity => v.to_owned(),
            Transform::Bucket(n) => Value::Int(hash::bucket_of_hash(hash::hash_value(v, source)?, *n)),
            Transform::Truncate(w) => truncate(v, *w)?,
            Transform::Year => Value::Int(temporal::year_of_days(days(v, source)?) as i32),
            Transform::Month => Value::Int(temporal::month_of_days(days(v, source)?) as i32),
            Transform::Day => Value::Int(days(v, source)? as i32),
            Transform::Hour => Value::Int((micros(v, source)?.div_euclid(temporal::MICROS_PER_HOUR)) as i32),
            Transform::Void | Transform::Unknown(_) => return None,
        })
    }
}

fn micros(v: ValueRef<'_>, source: &PrimitiveType) -> Option<i64> {
    match (v, source) {
        (ValueRef::Long(t), PrimitiveType::Timestamp | PrimitiveType::Timestamptz) => Some(t),
        (ValueRef::Long(t), PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs) => Some(t.div_euclid(1000)),
        _ => None,
    }
}

fn days(v: ValueRef<'_>, source: &PrimitiveType) -> Option<i64> {
    match (v, source) {
        (ValueRef::Int(d), PrimitiveType::Date) => Some(i64::from(d)),
        _ => Some(micros(v, source)?.div_euclid(temporal::MICROS_PER_DAY)),
    }
}

/// Integers wrap at the type's minimum, as Java's do.
fn truncate(v: ValueRef<'_>, width: u32) -> Option<Value> {
    Some(match v {
        ValueRef::Int(i) => Value::Int(i.wrapping_sub(i64::from(i).rem_euclid(i64::from(width)) as i32)),
        ValueRef::Long(l) => Value::Long(l.wrapping_sub(l.rem_euclid(i64::from(width)))),
        ValueRef::Decimal(d) => Value::Decimal(d.checked_sub(d.rem_euclid(i128::from(width)))?),
        ValueRef::String(s) => {
            let end = s.char_indices().nth(width as usize).map_or(s.len(), |(i, _)| i);
            Value::String(s[..end].to_owned())
        }
        ValueRef::Bytes(b) => Value::Bytes(b[..b.len().min(width as usize)].to_vec()),
        _ => return None,
    })
}

/// The text of the specification: `bucket[16]`.
impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transform::Identity => f.write_str("identity"),
            Transform::Bucket(n) => write!(f, "bucket[{n}]"),
            Transform::Truncate(w) => write!(f, "truncate[{w}]"),
            Transform::Year => f.write_str("year"),
            Transform::Month => f.write_str("month"),
            Transform::Day => f.write_str("day"),
            Transform::Hour => f.write_str("hour"),
            Transform::Void => f.write_str("void"),
            Transform::Unknown(text) => f.write_str(text),
        }
    }
}

/// A partition value in readable form: `2017-11-16` for a day, `2017-11` for a month, `2017-11-16-22` for an hour.
pub fn format_partition_value(v: Option<ValueRef<'_>>, transform: &Transform, result: &PrimitiveType) -> String {
    let Some(v) = v else { return "null".to_owned() };
    match (transform, v) {
        (Transform::Year, ValueRef::Int(y)) => format!("{:04}", 1970 + i64::from(y)),
        (Transform::Month, ValueRef::Int(m)) => {
            let text = temporal::format_date(temporal::first_day_of_month(i64::from(m)));
            text[..text.len() - 3].to_owned()
        }
        (Transform::Day, ValueRef::Int(d)) => temporal::format_date(i64::from(d)),
        (Transform::Hour, ValueRef::Int(h)) => {
            let (day, hour) = (i64::from(h).div_euclid(24), i64::from(h).rem_euclid(24));
            format!("{}-{hour:02}", temporal::format_date(day))
        }
        (_, v) => super::value::format_value(v, result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_prints() {
        for t in ["identity", "bucket[16]", "truncate[3]", "year", "month", "day", "hour", "void", "zorder[2]"] {
            assert_eq!(Transform::parse(t).to_string(), t);
        }
        assert_eq!(Transform::parse("bucket[0]"), Transform::Unknown("bucket[0]".into()));
        assert_eq!(Transform::parse("bucket(4)"), Transform::Bucket(4));
    }

    /// Examples of the specification's truncate table and of times before the epoch.
    #[test]
    fn specification_examples() {
        let t = Transform::Truncate(10);
        assert_eq!(t.apply(ValueRef::Int(1), &PrimitiveType::Int), Some(Value::Int(0)));
        assert_eq!(t.apply(ValueRef::Int(-1), &PrimitiveType::Int), Some(Value::Int(-10)));
        let dec = PrimitiveType::Decimal { precision: 9, scale: 2 };
        assert_eq!(Transform::Truncate(50).apply(ValueRef::Decimal(1065), &dec), Some(Value::Decimal(1050)));
        let s = PrimitiveType::String;
        assert_eq!(Transform::Truncate(3).apply(ValueRef::String("iceberg"), &s), Some(Value::String("ice".into())));
        assert_eq!(Transform::Truncate(1).apply(ValueRef::String("żx"), &s), Some(Value::String("ż".into())));
        let ts = PrimitiveType::Timestamp;
        assert_eq!(Transform::Hour.apply(ValueRef::Long(-1), &ts), Some(Value::Int(-1)));
        assert_eq!(Transform::Year.apply(ValueRef::Long(-1), &ts), Some(Value::Int(-1)));
        assert_eq!(Transform::Day.apply(ValueRef::Long(-1), &PrimitiveType::TimestampNs), Some(Value::Int(-1)));
    }

    #[test]
    fn people_read_partition_values() {
        let f = |t: Transform, v| format_partition_value(Some(ValueRef::Int(v)), &t, &PrimitiveType::Int);
        assert_eq!(f(Transform::Hour, 24 * 365 + 5), "1971-01-01-05");
        assert_eq!(f(Transform::Month, -1), "1969-12");
        assert_eq!(f(Transform::Year, 47), "2017");
    }
}
