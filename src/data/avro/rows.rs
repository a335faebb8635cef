//! Encodes rows as Avro records.
//!
//! Avro is stored by row, Arrow by column. So the columns of a batch are prepared once, and then each row is appended.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, FixedSizeBinaryArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};

use super::schema_json::is_optional;
use crate::codec::avro::encode::{put_boolean, put_bytes, put_double, put_float, put_int, put_long};
use crate::error::{Error, Result};
use crate::types::{Field, PrimitiveType, Schema, Type, decimal};

/// The rows of a batch, ready to be encoded.
pub(crate) struct AvroRows<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    optional: bool,
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int(&'a [i32]),
    Long(&'a [i64]),
    Float(&'a [f32]),
    Double(&'a [f64]),
    /// Big-endian numbers of this length in bytes.
    Decimal(usize, &'a [i128]),
    /// Numbers of as many bytes as each needs.
    ShortDecimal(&'a [i128]),
    /// Text or bytes, and where each begins and ends.
    Bytes(&'a [i32], &'a [u8]),
    Fixed(&'a FixedSizeBinaryArray),
    Struct(Vec<Column<'a>>),
    /// Elements, or the entries of a map: both are encoded alike, as is an array of entries that stands for a map.
    Items(&'a [i32], Vec<Column<'a>>),
}

impl<'a> AvroRows<'a> {
    /// The rows of a batch that has the Arrow schema of `schema`, or times of another unit; decimals as bytes of any
    /// number if they are `short`.
    ///
    /// # Errors
    /// `Internal` if it has not.
    pub(crate) fn new(schema: &Schema, batch: &'a RecordBatch, short: bool) -> Result<AvroRows<'a>> {
        Ok(AvroRows { columns: members(&schema.fields, batch.columns(), short)? })
    }

    /// Appends a row.
    pub(crate) fn put(&self, row: usize, out: &mut Vec<u8>) {
        self.columns.iter().for_each(|column| column.put(row, out));
    }
}

#[cold]
fn unlike() -> Error {
    Error::internal("a batch is unlike the schema of its Avro file")
}

fn members<'a>(fields: &[Field], arrays: &'a [ArrayRef], short: bool) -> Result<Vec<Column<'a>>> {
    if fields.len() != arrays.len() {
        return Err(unlike());
    }
    fields.iter().zip(arrays).map(|(field, array)| Column::new(field, array, short)).collect()
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&[T::Native]> {
    array.as_primitive_opt::<T>().map(|a| &a.values()[..]).ok_or_else(unlike)
}

fn values<'a>(ty: &PrimitiveType, array: &'a ArrayRef, short: bool) -> Result<Values<'a>> {
    use PrimitiveType as P;
    Ok(match ty {
        P::Unknown => Values::Null,
        P::Boolean => Values::Boolean(array.as_boolean_opt().ok_or_else(unlike)?),
        P::Int => Values::Int(numbers::<Int32Type>(array)?),
        P::Date => Values::Int(numbers::<Date32Type>(array)?),
        P::Long => Values::Long(numbers::<Int64Type>(array)?),
        P::Time => match array.data_type() {
            DataType::Int32 => Values::Int(numbers::<Int32Type>(array)?),
            _ => Values::Long(numbers::<Time64MicrosecondType>(array)?),
        },
        P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Values::Long(numbers::<TimestampNanosecondType>(array)?),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Values::Long(numbers::<TimestampMillisecondType>(array)?),
            _ => Values::Long(numbers::<TimestampMicrosecondType>(array)?),
        },
        P::Float => Values::Float(numbers::<Float32Type>(array)?),
        P::Double => Values::Double(numbers::<Float64Type>(array)?),
        P::Decimal { .. } if short => Values::ShortDecimal(numbers::<Decimal128Type>(array)?),
        P::Decimal { precision, .. } => {
            Values::Decimal(decimal::bytes_of_precision(*precision), numbers::<Decimal128Type>(array)?)
        }
        P::String => {
            let texts = array.as_string_opt::<i32>().ok_or_else(unlike)?;
            Values::Bytes(texts.value_offsets(), texts.value_data())
        }
        P::Binary | P::Geometry { .. } | P::Geography { .. } => bytes(array)?,
        P::Uuid | P::Fixed(_) => Values::Fixed(array.as_fixed_size_binary_opt().ok_or_else(unlike)?),
        P::Variant => {
            let parts = array.as_struct_opt().ok_or_else(unlike)?.columns();
            let part = |part| Ok(Column { optional: false, nulls: None, values: bytes(part)? });
            Values::Struct(parts.iter().map(part).collect::<Result<_>>()?)
        }
    })
}

fn bytes(array: &ArrayRef) -> Result<Values<'_>> {
    let array = array.as_binary_opt::<i32>().ok_or_else(unlike)?;
    Ok(Values::Bytes(array.value_offsets(), array.value_data()))
}

impl<'a> Column<'a> {
    fn new(field: &Field, array: &'a ArrayRef, short: bool) -> Result<Column<'a>> {
        let values = match &field.ty {
            Type::Primitive(p) => values(p, array, short)?,
            Type::Struct(fields) => {
                Values::Struct(members(fields, array.as_struct_opt().ok_or_else(unlike)?.columns(), short)?)
            }
            Type::List(element) => {
                let lists = array.as_list_opt::<i32>().ok_or_else(unlike)?;
                Values::Items(lists.value_offsets(), vec![Column::new(element, lists.values(), short)?])
            }
            Type::Map(key, value) => {
                let maps = array.as_map_opt().ok_or_else(unlike)?;
                let entry = vec![Column::new(key, maps.keys(), short)?, Column::new(value, maps.values(), short)?];
                Values::Items(maps.value_offsets(), entry)
            }
        };
        Ok(Column { optional: is_optional(field), nulls: array.nulls(), values })
    }

    fn put(&self, row: usize, out: &mut Vec<u8>) {
        if self.optional {
            if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
                return put_long(out, 0);
            }
            put_long(out, 1);
        }
        match &self.values {
            Values::Null => {}
            Values::Boolean(values) => put_boolean(out, values.value(row)),
            Values::Int(values) => put_int(out, values[row]),
            Values::Long(values) => put_long(out, values[row]),
            Values::Float(values) => put_float(out, values[row]),
            Values::Double(values) => put_double(out, values[row]),
            Values::Decimal(size, values) => out.extend_from_slice(&values[row].to_be_bytes()[16 - size..]),
            Values::ShortDecimal(values) => put_bytes(out, &decimal::minimal_bytes(values[row])),
            Values::Bytes(ends, data) => put_bytes(out, &data[ends[row] as usize..ends[row + 1] as usize]),
            Values::Fixed(values) => out.extend_from_slice(values.value(row)),
            Values::Struct(columns) => columns.iter().for_each(|column| column.put(row, out)),
            Values::Items(ends, columns) => {
                let items = ends[row] as usize..ends[row + 1] as usize;
                if !items.is_empty() {
                    put_long(out, items.len() as i64);
                    items.for_each(|item| columns.iter().for_each(|column| column.put(item, out)));
                }
                put_long(out, 0);
            }
        }
    }
}
