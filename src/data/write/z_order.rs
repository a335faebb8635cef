//! Z-order: sorts rows along a curve. The curve keeps rows together that are close to each other in several columns.
//!
//! Each column gives bytes that compare as its values do. The bits of all columns are interleaved, the highest first.
//! So files of sorted rows have narrow bounds in each of the columns. The bytes are those of Java's `ZOrderByteUtils`
//! and `SparkZOrderUDF`. A number has 8 bytes, and null has zeros. Texts are cut or padded to a fixed number of bytes.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeBinaryArray, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimestampMicrosecondType,
    TimestampNanosecondType,
};

use super::partition_rows::{column_at, source_path};
use crate::error::{Error, Result};
use crate::types::{FieldId, PrimitiveType, Schema};

/// Bytes of a column of fixed width.
const FIXED_BYTES: usize = 8;

/// The largest number of bytes that a text may contribute.
const MOST_TEXT_BYTES: usize = 4096;

/// Java's casts of times with a zone to numbers give seconds.
const MICROS_PER_SECOND: i64 = 1_000_000;

/// The columns of a z-order, and the number of bits that each contributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZOrder {
    /// The columns: primitives outside of lists and maps. They have equal weight. For each bit, the first column comes
    /// first.
    pub columns: Vec<FieldId>,
    /// The largest size of the interleaved value in bytes. The lowest bits are left out first. Java's name is
    /// `max-output-size`.
    pub max_output_bytes: usize,
    /// Bytes that texts and binaries contribute. Java's name is `var-length-contribution`.
    pub text_bytes: usize,
}

impl ZOrder {
    /// A z-order of all bits of these columns, with 8 bytes of each text.
    pub fn of(columns: Vec<FieldId>) -> ZOrder {
        ZOrder { columns, max_output_bytes: usize::MAX, text_bytes: FIXED_BYTES }
    }
}

/// The columns of an order, found in batches.
#[derive(Debug)]
pub(crate) struct ZColumns {
    columns: Vec<ZColumn>,
    /// Bytes of a value.
    width: usize,
}

#[derive(Debug)]
struct ZColumn {
    path: Vec<usize>,
    ty: PrimitiveType,
    /// Bytes that the column contributes.
    width: usize,
}

impl ZColumns {
    /// # Errors
    /// `InvalidInput` for no columns, sizes out of range and columns that do not exist; `Unsupported` for types that
    /// have no such order in Java either.
    pub(crate) fn new(schema: &Schema, order: &ZOrder) -> Result<ZColumns> {
        if order.columns.is_empty() || order.max_output_bytes == 0 {
            return Err(Error::invalid("a z-order needs at least one column and one byte"));
        }
        if order.text_bytes == 0 || order.text_bytes > MOST_TEXT_BYTES {
            return Err(Error::invalid(format!("texts contribute 1 to {MOST_TEXT_BYTES} bytes to a z-order"))
                .with("bytes", order.text_bytes));
        }
        let column = |id: &FieldId| {
            let name = || schema.name_of(*id).unwrap_or_default();
            let absent = || Error::invalid("a z-order needs primitive columns outside of lists and maps");
            let (path, ty) = source_path(schema, *id).ok_or_else(|| absent().with("column", name()))?;
            use PrimitiveType as P;
            let width = match ty {
                P::String | P::Uuid | P::Binary | P::Fixed(_) => order.text_bytes,
                P::Decimal { .. } | P::Variant | P::Geometry { .. } | P::Geography { .. } | P::Unknown => {
                    return Err(Error::unsupported(format!("a column of type {ty} can't be in a z-order"))
                        .with("column", name()));
                }
                _ => FIXED_BYTES,
            };
            Ok(ZColumn { path, ty, width })
        };
        let columns = order.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let width = columns.iter().map(|c| c.width).sum::<usize>().min(order.max_output_bytes);
        Ok(ZColumns { columns, width })
    }

    /// Bytes of a value.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The value of each row.
    ///
    /// # Errors
    /// `InvalidInput` if the batch has another schema than this order.
    pub(crate) fn values(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let bytes = self.columns.iter().map(|c| c.bytes(&column_at(rows, &c.path)?)).collect::<Result<Vec<_>>>()?;
        let mut out = vec![0u8; self.width * rows.num_rows()];
        let mut of_row: Vec<&[u8]> = Vec::with_capacity(bytes.len());
        for (row, value) in out.chunks_exact_mut(self.width).enumerate() {
            of_row.clear();
            let columns = self.columns.iter().zip(&bytes);
            of_row.extend(columns.map(|(c, bytes)| bytes.get(row * c.width..(row + 1) * c.width).unwrap_or_default()));
            interleave(&of_row, value);
        }
        let width =
            i32::try_from(self.width).map_err(|e| Error::invalid("the keys of the z-order are too long").because(e))?;
        let array = FixedSizeBinaryArray::try_new(width, Buffer::from_vec(out), None);
        Ok(Arc::new(array.map_err(|e| Error::internal("z-order").because(e))?))
    }
}

impl ZColumn {
    /// The bytes of all values, one after the other.
    fn bytes(&self, array: &ArrayRef) -> Result<Vec<u8>> {
        use PrimitiveType as P;
        let found = match self.ty {
            P::Boolean => array.as_boolean_opt().map(|a| numbers(a.iter().map(|v| v.map(|v| u64::from(v) * TRUE)))),
            P::Int => array.as_primitive_opt::<Int32Type>().map(|a| longs(a.iter().map(|v| v.map(i64::from)))),
            P::Date => array.as_primitive_opt::<Date32Type>().map(|a| longs(a.iter().map(|v| v.map(i64::from)))),
            P::Long => array.as_primitive_opt::<Int64Type>().map(|a| longs(a.iter())),
            P::Time => array.as_primitive_opt::<Time64MicrosecondType>().map(|a| longs(a.iter())),
            P::Timestamp => array.as_primitive_opt::<TimestampMicrosecondType>().map(|a| longs(a.iter())),
            P::Timestamptz => array
                .as_primitive_opt::<TimestampMicrosecondType>()
                .map(|a| longs(a.iter().map(|v| v.map(|us| us.div_euclid(MICROS_PER_SECOND))))),
            P::TimestampNs | P::TimestamptzNs => {
                array.as_primitive_opt::<TimestampNanosecondType>().map(|a| longs(a.iter()))
            }
            P::Float => array.as_primitive_opt::<Float32Type>().map(|a| doubles(a.iter().map(|v| v.map(f64::from)))),
            P::Double => array.as_primitive_opt::<Float64Type>().map(|a| doubles(a.iter())),
            P::String => array.as_string_opt::<i32>().map(|a| self.texts(a.iter())),
            P::Binary => array.as_binary_opt::<i32>().map(|a| self.bounded(a.iter())),
            P::Fixed(_) => array.as_fixed_size_binary_opt().map(|a| self.bounded(a.iter())),
            P::Uuid => array.as_fixed_size_binary_opt().map(|a| {
                let uuids: Vec<Option<String>> = a.iter().map(|v| v.and_then(uuid_text)).collect();
                self.texts(uuids.iter().map(Option::as_deref))
            }),
            _ => None,
        };
        found.ok_or_else(|| Error::invalid("the batch does not have the schema of its table"))
    }

    fn bounded<'v>(&self, values: impl Iterator<Item = Option<&'v [u8]>>) -> Vec<u8> {
        let mut out = Vec::new();
        for value in values {
            let value = value.unwrap_or_default();
            let end = out.len() + self.width;
            out.extend_from_slice(value.get(..self.width).unwrap_or(value));
            out.resize(end, 0);
        }
        out
    }

    /// A character that does not fit as a whole is left out: Java's encoder writes no partial characters.
    fn texts<'v>(&self, values: impl Iterator<Item = Option<&'v str>>) -> Vec<u8> {
        let whole = |text: &'v str| text.get(..text.floor_char_boundary(self.width)).unwrap_or_default().as_bytes();
        self.bounded(values.map(|v| v.map(whole)))
    }
}

/// The bytes of "true" in Java: -127 in the first byte.
const TRUE: u64 = 0x81 << 56;

/// Spark stores uuids as texts.
fn uuid_text(bytes: &[u8]) -> Option<String> {
    uuid::Uuid::from_slice(bytes).ok().map(|uuid| uuid.to_string())
}

fn numbers(values: impl Iterator<Item = Option<u64>>) -> Vec<u8> {
    values.flat_map(|v| v.unwrap_or(0).to_be_bytes()).collect()
}

/// The sign bit is flipped, so that negative numbers come first.
fn longs(values: impl Iterator<Item = Option<i64>>) -> Vec<u8> {
    numbers(values.map(|v| v.map(|v| (v ^ i64::MIN) as u64)))
}

/// The bytes have the order of IEEE 754, with one NaN.
fn doubles(values: impl Iterator<Item = Option<f64>>) -> Vec<u8> {
    let ordered = |v: f64| {
        let bits = if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() } as i64;
        (bits ^ ((bits >> 63) | i64::MIN)) as u64
    };
    numbers(values.map(|v| v.map(ordered)))
}

/// Takes one bit of each column in turn, the highest bits first, until `out` is full. `out` holds zeros at the start.
/// Columns without more bits are skipped.
fn interleave(columns: &[&[u8]], out: &mut [u8]) {
    let longest = columns.iter().map(|c| c.len()).max().unwrap_or(0);
    let bits = out.len() * 8;
    let mut at = 0;
    for byte in 0..longest {
        for bit in (0..8).rev() {
            for value in columns.iter().filter_map(|column| column.get(byte)) {
                if at == bits {
                    return;
                }
                if let Some(to) = out.get_mut(at / 8) {
                    *to |= (value >> bit & 1) << (7 - at % 8);
                }
                at += 1;
            }
        }
    }
}

#[cfg(test)]
#[path = "z_order_tests.rs"]
mod tests;
