//! Names of Arrow types as pyarrow writes them, for messages.

use std::fmt;

use arrow::datatypes::{DataType, FieldRef, TimeUnit};

/// The name of an Arrow type: `string`, `timestamp[us, tz=UTC]`, `list<item: int64>`.
pub(crate) fn type_name(ty: &DataType) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| write_name(f, ty))
}

fn write_name(f: &mut fmt::Formatter<'_>, ty: &DataType) -> fmt::Result {
    use DataType as D;
    match ty {
        D::Boolean => f.write_str("bool"),
        D::Float16 => f.write_str("halffloat"),
        D::Float32 => f.write_str("float"),
        D::Float64 => f.write_str("double"),
        D::Utf8 => f.write_str("string"),
        D::LargeUtf8 => f.write_str("large_string"),
        D::Utf8View => f.write_str("string_view"),
        D::LargeBinary => f.write_str("large_binary"),
        D::BinaryView => f.write_str("binary_view"),
        D::FixedSizeBinary(length) => write!(f, "fixed_size_binary[{length}]"),
        D::Date32 => f.write_str("date32[day]"),
        D::Date64 => f.write_str("date64[ms]"),
        D::Time32(unit) => write!(f, "time32[{}]", unit_name(unit)),
        D::Time64(unit) => write!(f, "time64[{}]", unit_name(unit)),
        D::Timestamp(unit, None) => write!(f, "timestamp[{}]", unit_name(unit)),
        D::Timestamp(unit, Some(zone)) => write!(f, "timestamp[{}, tz={zone}]", unit_name(unit)),
        D::Duration(unit) => write!(f, "duration[{}]", unit_name(unit)),
        D::Interval(_) => f.write_str("month_day_nano_interval"),
        D::Decimal32(precision, scale) => write!(f, "decimal32({precision}, {scale})"),
        D::Decimal64(precision, scale) => write!(f, "decimal64({precision}, {scale})"),
        D::Decimal128(precision, scale) => write!(f, "decimal128({precision}, {scale})"),
        D::Decimal256(precision, scale) => write!(f, "decimal256({precision}, {scale})"),
        D::List(item) => one(f, "list", item),
        D::LargeList(item) => one(f, "large_list", item),
        D::ListView(item) => one(f, "list_view", item),
        D::LargeListView(item) => one(f, "large_list_view", item),
        D::FixedSizeList(item, length) => {
            write!(f, "fixed_size_list<{}: {}>[{length}]", item.name(), type_name(item.data_type()))
        }
        D::Struct(fields) => {
            let members = fields.iter().map(|m| format!("{}: {}", m.name(), type_name(m.data_type())));
            write!(f, "struct<{}>", members.collect::<Vec<_>>().join(", "))
        }
        D::Map(entries, _) => match entries.data_type() {
            D::Struct(pair) if pair.len() == 2 => {
                write!(f, "map<{}, {}>", type_name(pair[0].data_type()), type_name(pair[1].data_type()))
            }
            _ => f.write_str("map"),
        },
        D::Dictionary(index, value) => {
            write!(f, "dictionary<values={}, indices={}>", type_name(value), type_name(index))
        }
        D::RunEndEncoded(ends, values) => {
            let (ends, values) = (type_name(ends.data_type()), type_name(values.data_type()));
            write!(f, "run_end_encoded<run_ends: {ends}, values: {values}>")
        }
        // Int64 is int64.
        plain => f.write_str(&plain.to_string().to_lowercase()),
    }
}

fn one(f: &mut fmt::Formatter<'_>, kind: &str, item: &FieldRef) -> fmt::Result {
    write!(f, "{kind}<{}: {}>", item.name(), type_name(item.data_type()))
}

fn unit_name(unit: &TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{Field, Fields};

    use super::*;

    /// The expected texts are those of pyarrow 26.
    #[test]
    fn names_are_those_of_pyarrow() {
        let item = |ty| Arc::new(Field::new("item", ty, true));
        let pair =
            Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int8, true)]);
        let cases = [
            (DataType::Utf8, "string"),
            (DataType::Int64, "int64"),
            (DataType::UInt8, "uint8"),
            (DataType::Null, "null"),
            (DataType::Binary, "binary"),
            (DataType::Float64, "double"),
            (DataType::Timestamp(TimeUnit::Microsecond, None), "timestamp[us]"),
            (DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), "timestamp[ns, tz=UTC]"),
            (DataType::Duration(TimeUnit::Millisecond), "duration[ms]"),
            (DataType::Decimal128(9, 2), "decimal128(9, 2)"),
            (DataType::FixedSizeBinary(16), "fixed_size_binary[16]"),
            (DataType::List(item(DataType::Int32)), "list<item: int32>"),
            (DataType::Struct(pair.clone()), "struct<key: string, value: int8>"),
            (DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false), "map<string, int8>"),
        ];
        for (ty, name) in cases {
            assert_eq!(type_name(&ty).to_string(), name);
        }
    }
}
