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
    columns: Vec<ColumnEncoder<'a>>,
}

struct ColumnEncoder<'a> {
    optional: bool,
    nulls: Option<&'a NullBuffer>,
    values: EncodedValues<'a>,
}

enum EncodedValues<'a> {
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
    Struct(Vec<ColumnEncoder<'a>>),
    /// Elements, or the entries of a map. Both are encoded alike, also for an array of entries that stands for a map.
    Items(&'a [i32], Vec<ColumnEncoder<'a>>),
}

impl<'a> AvroRows<'a> {
    /// The rows of a batch that has the Arrow schema of `schema`. Its times may have another unit. `short` says whether
    /// decimals are bytes of any number.
    ///
    /// # Errors
    /// `Internal` if the batch has another schema.
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

fn members<'a>(fields: &[Field], arrays: &'a [ArrayRef], short: bool) -> Result<Vec<ColumnEncoder<'a>>> {
    if fields.len() != arrays.len() {
        return Err(unlike());
    }
    fields.iter().zip(arrays).map(|(field, array)| ColumnEncoder::new(field, array, short)).collect()
}

fn numbers<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&[T::Native]> {
    array.as_primitive_opt::<T>().map(|a| &a.values()[..]).ok_or_else(unlike)
}

fn values<'a>(ty: &PrimitiveType, array: &'a ArrayRef, short: bool) -> Result<EncodedValues<'a>> {
    use PrimitiveType as P;
    Ok(match ty {
        P::Unknown => EncodedValues::Null,
        P::Boolean => EncodedValues::Boolean(array.as_boolean_opt().ok_or_else(unlike)?),
        P::Int => EncodedValues::Int(numbers::<Int32Type>(array)?),
        P::Date => EncodedValues::Int(numbers::<Date32Type>(array)?),
        P::Long => EncodedValues::Long(numbers::<Int64Type>(array)?),
        P::Time => match array.data_type() {
            DataType::Int32 => EncodedValues::Int(numbers::<Int32Type>(array)?),
            _ => EncodedValues::Long(numbers::<Time64MicrosecondType>(array)?),
        },
        P::Timestamp | P::Timestamptz | P::TimestampNs | P::TimestamptzNs => match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                EncodedValues::Long(numbers::<TimestampNanosecondType>(array)?)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                EncodedValues::Long(numbers::<TimestampMillisecondType>(array)?)
            }
            _ => EncodedValues::Long(numbers::<TimestampMicrosecondType>(array)?),
        },
        P::Float => EncodedValues::Float(numbers::<Float32Type>(array)?),
        P::Double => EncodedValues::Double(numbers::<Float64Type>(array)?),
        P::Decimal { .. } if short => EncodedValues::ShortDecimal(numbers::<Decimal128Type>(array)?),
        P::Decimal { precision, .. } => {
            EncodedValues::Decimal(decimal::bytes_of_precision(*precision), numbers::<Decimal128Type>(array)?)
        }
        P::String => {
            let texts = array.as_string_opt::<i32>().ok_or_else(unlike)?;
            EncodedValues::Bytes(texts.value_offsets(), texts.value_data())
        }
        P::Binary | P::Geometry { .. } | P::Geography { .. } => bytes(array)?,
        P::Uuid | P::Fixed(_) => EncodedValues::Fixed(array.as_fixed_size_binary_opt().ok_or_else(unlike)?),
        P::Variant => {
            let parts = array.as_struct_opt().ok_or_else(unlike)?.columns();
            let part = |part| Ok(ColumnEncoder { optional: false, nulls: None, values: bytes(part)? });
            EncodedValues::Struct(parts.iter().map(part).collect::<Result<_>>()?)
        }
    })
}

fn bytes(array: &ArrayRef) -> Result<EncodedValues<'_>> {
    let array = array.as_binary_opt::<i32>().ok_or_else(unlike)?;
    Ok(EncodedValues::Bytes(array.value_offsets(), array.value_data()))
}

impl<'a> ColumnEncoder<'a> {
    fn new(field: &Field, array: &'a ArrayRef, short: bool) -> Result<ColumnEncoder<'a>> {
        let values = match &field.ty {
            Type::Primitive(p) => values(p, array, short)?,
            Type::Struct(fields) => {
                EncodedValues::Struct(members(fields, array.as_struct_opt().ok_or_else(unlike)?.columns(), short)?)
            }
            Type::List(element) => {
                let lists = array.as_list_opt::<i32>().ok_or_else(unlike)?;
                EncodedValues::Items(lists.value_offsets(), vec![ColumnEncoder::new(element, lists.values(), short)?])
            }
            Type::Map(key, value) => {
                let maps = array.as_map_opt().ok_or_else(unlike)?;
                let entry = vec![
                    ColumnEncoder::new(key, maps.keys(), short)?,
                    ColumnEncoder::new(value, maps.values(), short)?,
                ];
                EncodedValues::Items(maps.value_offsets(), entry)
            }
        };
        Ok(ColumnEncoder { optional: is_optional(field), nulls: array.nulls(), values })
    }

    fn put(&self, row: usize, out: &mut Vec<u8>) {
        if self.optional {
            if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
                return put_long(out, 0);
            }
            put_long(out, 1);
        }
        match &self.values {
            EncodedValues::Null => {}
            EncodedValues::Boolean(values) => put_boolean(out, values.value(row)),
            EncodedValues::Int(values) => put_int(out, values[row]),
            EncodedValues::Long(values) => put_long(out, values[row]),
            EncodedValues::Float(values) => put_float(out, values[row]),
            EncodedValues::Double(values) => put_double(out, values[row]),
            EncodedValues::Decimal(size, values) => out.extend_from_slice(&values[row].to_be_bytes()[16 - size..]),
            EncodedValues::ShortDecimal(values) => put_bytes(out, &decimal::minimal_bytes(values[row])),
            EncodedValues::Bytes(ends, data) => put_bytes(out, &data[ends[row] as usize..ends[row + 1] as usize]),
            EncodedValues::Fixed(values) => out.extend_from_slice(values.value(row)),
            EncodedValues::Struct(columns) => columns.iter().for_each(|column| column.put(row, out)),
            EncodedValues::Items(ends, columns) => {
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
