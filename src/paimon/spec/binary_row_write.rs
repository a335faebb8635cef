//! Writing binary rows, byte by byte as Java does: hashes and the identity of files depend on it.
//!
//! Source: Java's `BinaryRowWriter`, `BinaryArrayWriter`, `AbstractBinaryWriter`.

use super::binary_row::{Datum, array_header_bytes, element_width, header_bytes};
use super::data_type::{DataType, TypeKind};
use crate::error::{Error, Result};
use crate::types::{Value, ValueRef, decimal};

/// Values up to this length stand in the fixed part.
const INLINE_BYTES: usize = 7;

/// Decimals of many digits take this number of bytes, for any value.
const DECIMAL_BYTES: usize = 16;

/// A row of these fields, of kind insert, without its number of fields.
///
/// # Errors
/// `InvalidInput` if a value is not of its type, or there is more than a row can hold.
pub fn encode_row<'t>(fields: &[Option<Datum>], types: impl IntoIterator<Item = &'t DataType>) -> Result<Vec<u8>> {
    let header = header_bytes(fields.len());
    let mut out = vec![0; header + 8 * fields.len()];
    let mut types = types.into_iter();
    for (i, field) in fields.iter().enumerate() {
        let ty = types.next().ok_or_else(|| Error::invalid("a row has more values than types"))?;
        match field {
            Some(datum) => put(&mut out, header + 8 * i, datum, ty)?,
            None => put_null(&mut out, header + 8 * i, i, ty)?,
        }
    }
    Ok(out)
}

/// A null takes the space of a value if Java updates values of its type in place.
fn put_null(out: &mut Vec<u8>, at: usize, field: usize, ty: &DataType) -> Result<()> {
    set_bit(out, 0, field + 8);
    let room = match &ty.kind {
        TypeKind::Decimal { precision, .. } if *precision > 18 => DECIMAL_BYTES,
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) if *p > 3 => 8,
        _ => return Ok(()),
    };
    let offset = out.len();
    out.resize(offset + room, 0);
    put_halves(out, at, offset, 0)
}

/// Builds one row of values without parts after another in the same memory.
#[derive(Clone, Debug)]
pub struct RowBuilder {
    types: Vec<DataType>,
    bytes: Vec<u8>,
}

impl RowBuilder {
    /// A builder of rows of these types.
    pub fn new(types: Vec<DataType>) -> RowBuilder {
        RowBuilder { types, bytes: Vec::new() }
    }

    /// Fields of a row.
    pub fn arity(&self) -> usize {
        self.types.len()
    }

    /// A row of these values, of kind insert, without its number of fields. Values that are missing are null.
    ///
    /// # Errors
    /// As [`encode_row`].
    pub fn row<'v>(&mut self, values: impl IntoIterator<Item = Option<ValueRef<'v>>>) -> Result<&[u8]> {
        let header = header_bytes(self.types.len());
        self.bytes.clear();
        self.bytes.resize(header + 8 * self.types.len(), 0);
        let mut values = values.into_iter();
        for (i, ty) in self.types.iter().enumerate() {
            let at = header + 8 * i;
            match values.next().flatten() {
                Some(v) if put_value(&mut self.bytes, at, v, &ty.kind)? => {}
                Some(v) => return Err(Error::invalid(format!("{v:?} is not a value of the type {ty}"))),
                None => put_null(&mut self.bytes, at, i, ty)?,
            }
        }
        Ok(&self.bytes)
    }
}

/// As [`encode_row`], of values without parts.
///
/// # Errors
/// As [`encode_row`].
pub fn encode_values<'t>(
    values: impl IntoIterator<Item = Option<Value>>,
    types: impl IntoIterator<Item = &'t DataType>,
) -> Result<Vec<u8>> {
    let fields: Vec<Option<Datum>> = values.into_iter().map(|v| v.map(Datum::Value)).collect();
    encode_row(&fields, types)
}

/// A row after its number of fields, as in manifests.
pub fn prefixed(row: &[u8], arity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.len() + 4);
    out.extend_from_slice(&(arity as i32).to_be_bytes());
    out.extend_from_slice(row);
    out
}

fn set_bit(out: &mut [u8], start: usize, bit: usize) {
    if let Some(byte) = out.get_mut(start + bit / 8) {
        *byte |= 1 << (bit % 8);
    }
}

fn put_fixed(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(slot) = out.get_mut(at..at + bytes.len()) {
        slot.copy_from_slice(bytes);
    }
}

/// An upper and a lower half of a word.
fn put_halves(out: &mut [u8], at: usize, upper: usize, lower: usize) -> Result<()> {
    let half = |v: usize| i32::try_from(v).map_err(|_| Error::invalid("a binary row can't hold 2 GiB"));
    let word = (u64::from(half(upper)? as u32) << 32) | u64::from(half(lower)? as u32);
    put_fixed(out, at, &word.to_le_bytes());
    Ok(())
}

/// Bytes at the end, padded to whole words, and where they are.
fn put_far(out: &mut Vec<u8>, at: usize, bytes: &[u8]) -> Result<()> {
    let offset = out.len();
    out.extend_from_slice(bytes);
    out.resize(out.len().next_multiple_of(8), 0);
    put_halves(out, at, offset, bytes.len())
}

fn put_variable(out: &mut Vec<u8>, at: usize, bytes: &[u8]) -> Result<()> {
    if bytes.len() > INLINE_BYTES {
        return put_far(out, at, bytes);
    }
    put_fixed(out, at, bytes);
    put_fixed(out, at + 7, &[0x80 | bytes.len() as u8]);
    Ok(())
}

fn put_time_point(out: &mut Vec<u8>, at: usize, units: i64, precision: u8) -> Result<()> {
    let per_milli = if precision <= 6 { 1000 } else { 1_000_000 };
    let (millis, rest) = (units.div_euclid(per_milli), units.rem_euclid(per_milli));
    if precision <= 3 {
        put_fixed(out, at, &millis.to_le_bytes());
        return Ok(());
    }
    let offset = out.len();
    out.extend_from_slice(&millis.to_le_bytes());
    put_halves(out, at, offset, (rest * (1_000_000 / per_milli)) as usize)
}

fn put_decimal(out: &mut Vec<u8>, at: usize, unscaled: i128, precision: u8) -> Result<()> {
    if precision <= 18 {
        let unscaled = i64::try_from(unscaled).map_err(|_| Error::invalid("a decimal has too many digits"))?;
        put_fixed(out, at, &unscaled.to_le_bytes());
        return Ok(());
    }
    let (offset, bytes) = (out.len(), decimal::minimal_bytes(unscaled));
    out.resize(offset + DECIMAL_BYTES, 0);
    put_fixed(out, offset, &bytes);
    put_halves(out, at, offset, bytes.len())
}

fn put(out: &mut Vec<u8>, at: usize, datum: &Datum, ty: &DataType) -> Result<()> {
    let bad = || Error::invalid(format!("{datum:?} is not a value of the type {ty}"));
    match (datum, &ty.kind) {
        (Datum::Value(v), kind) => {
            put_value(out, at, v.as_ref(), kind).and_then(|fits| if fits { Ok(()) } else { Err(bad()) })
        }
        (Datum::Array(items), TypeKind::Array(element)) => put_far(out, at, &encode_array(items, element)?),
        (Datum::Array(items), TypeKind::Vector { element, .. }) => put_far(out, at, &encode_vector(items, element)?),
        (Datum::Map(entries), TypeKind::Map(key, value)) => put_far(out, at, &encode_map(entries, key, value)?),
        (Datum::Map(entries), TypeKind::Multiset(element)) => {
            put_far(out, at, &encode_map(entries, element, &TypeKind::Int.not_null())?)
        }
        (Datum::Row(members), TypeKind::Row(fields)) if members.len() == fields.len() => {
            put_far(out, at, &encode_row(members, fields.iter().map(|f| &f.ty))?)
        }
        (Datum::Variant { metadata, value }, TypeKind::Variant) => {
            let length = i32::try_from(value.len()).map_err(|_| bad())?;
            put_far(out, at, &[&length.to_le_bytes()[..], value, metadata].concat())
        }
        _ => Err(bad()),
    }
}

/// Writes a value. Returns false if it is not of that type.
fn put_value(out: &mut Vec<u8>, at: usize, v: ValueRef<'_>, kind: &TypeKind) -> Result<bool> {
    match (v, kind) {
        (ValueRef::Boolean(v), TypeKind::Boolean) => put_fixed(out, at, &[u8::from(v)]),
        (ValueRef::Int(v), TypeKind::TinyInt) => match i8::try_from(v) {
            Ok(v) => put_fixed(out, at, &v.to_le_bytes()),
            Err(_) => return Ok(false),
        },
        (ValueRef::Int(v), TypeKind::SmallInt) => match i16::try_from(v) {
            Ok(v) => put_fixed(out, at, &v.to_le_bytes()),
            Err(_) => return Ok(false),
        },
        (ValueRef::Int(v), TypeKind::Int | TypeKind::Date) => put_fixed(out, at, &v.to_le_bytes()),
        (ValueRef::Long(v), TypeKind::BigInt) => put_fixed(out, at, &v.to_le_bytes()),
        (ValueRef::Float(v), TypeKind::Float) => put_fixed(out, at, &v.to_le_bytes()),
        (ValueRef::Double(v), TypeKind::Double) => put_fixed(out, at, &v.to_le_bytes()),
        (ValueRef::Decimal(v), TypeKind::Decimal { precision, .. }) => put_decimal(out, at, v, *precision)?,
        (ValueRef::Long(micros), TypeKind::Time(_)) => match i32::try_from(micros.div_euclid(1000)) {
            Ok(millis) => put_fixed(out, at, &millis.to_le_bytes()),
            Err(_) => return Ok(false),
        },
        (ValueRef::Long(v), TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p)) => put_time_point(out, at, v, *p)?,
        (ValueRef::String(v), TypeKind::Char(_) | TypeKind::VarChar(_)) => put_variable(out, at, v.as_bytes())?,
        (ValueRef::Bytes(v), TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob) => {
            put_variable(out, at, v)?
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn encode_array(items: &[Option<Datum>], element: &DataType) -> Result<Vec<u8>> {
    let (header, width) = (array_header_bytes(items.len()), element_width(element));
    let count = i32::try_from(items.len()).map_err(|_| Error::invalid("an array has too many elements"))?;
    let mut out = vec![0; (header + width * items.len()).next_multiple_of(8)];
    put_fixed(&mut out, 0, &count.to_le_bytes());
    for (i, item) in items.iter().enumerate() {
        match item {
            Some(datum) => put(&mut out, header + width * i, datum, element)?,
            None => set_bit(&mut out, 4, i),
        }
    }
    Ok(out)
}

fn encode_vector(items: &[Option<Datum>], element: &DataType) -> Result<Vec<u8>> {
    let width = element_width(element);
    let count = i32::try_from(items.len()).map_err(|_| Error::invalid("a vector has too many elements"))?;
    let mut out = vec![0; 4 + width * items.len()];
    put_fixed(&mut out, 0, &count.to_le_bytes());
    for (i, item) in items.iter().enumerate() {
        let item = item.as_ref().ok_or_else(|| Error::invalid("a vector has a null"))?;
        put(&mut out, 4 + width * i, item, element)?;
    }
    Ok(out)
}

fn encode_map(entries: &[(Option<Datum>, Option<Datum>)], key: &DataType, value: &DataType) -> Result<Vec<u8>> {
    let (keys, values): (Vec<_>, Vec<_>) = entries.iter().cloned().unzip();
    let (keys, values) = (encode_array(&keys, key)?, encode_array(&values, value)?);
    let length = i32::try_from(keys.len()).map_err(|_| Error::invalid("a map has too many keys"))?;
    Ok([&length.to_le_bytes()[..], &keys, &values].concat())
}
