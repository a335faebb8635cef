//! Binary rows: the form of partitions, keys and bounds in manifests, and the input of bucket hashes.
//!
//! A row is a fixed part, and a variable part that fields point into. The fixed part is a word with the row kind and
//! a bit for each null, then 8 bytes for each field, little-endian. Arrays, maps and rows nest in the variable part.
//! In manifests the number of fields stands before the row, big-endian.
//!
//! Source: Paimon specification, "BinaryRow"; Java's `BinaryRow`, `BinaryArray`, `BinaryMap`.

use std::cmp::Ordering;

use super::data_type::{DataType, TypeKind};
use crate::error::{Error, Result};
use crate::types::java::compare_doubles;
use crate::types::{Value, ValueRef, decimal};

/// The bits before those of the nulls: the row kind.
const HEADER_BITS: usize = 8;

/// Decimals of up to this number of digits are stored as a long.
const COMPACT_DIGITS: u8 = 18;

/// The deepest nesting of types.
const MAX_DEPTH: usize = 64;

/// A value of any type that is not null.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// A value of a type without children, in the units of [`DataType::to_primitive`].
    Value(Value),
    /// The elements of an array or a vector.
    Array(Vec<Option<Datum>>),
    /// The entries of a map or a multiset, in the order in which they are stored.
    Map(Vec<(Option<Datum>, Option<Datum>)>),
    /// The fields of a row.
    Row(Vec<Option<Datum>>),
    /// The two parts of a variant.
    Variant {
        /// Its dictionary.
        metadata: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
}

/// A row over its bytes.
#[derive(Clone, Copy, Debug)]
pub struct BinaryRow<'a> {
    bytes: &'a [u8],
    arity: usize,
}

/// Bytes before the fields of a row.
pub(crate) fn header_bytes(arity: usize) -> usize {
    (arity + 63 + HEADER_BITS) / 64 * 8
}

#[cold]
fn torn(what: &str) -> Error {
    Error::corrupt(format!("a binary row is damaged: {what} is outside the row"))
}

impl<'a> BinaryRow<'a> {
    /// A row of this number of fields.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are too few for them.
    pub fn new(bytes: &'a [u8], arity: usize) -> Result<BinaryRow<'a>> {
        // A field takes 8 bytes, so that no sum below overflows.
        if arity > bytes.len() / 8 || header_bytes(arity) + 8 * arity > bytes.len() {
            return Err(Error::corrupt(format!("a binary row of {} bytes can't have {arity} fields", bytes.len())));
        }
        Ok(BinaryRow { bytes, arity })
    }

    /// A row after its number of fields, as in manifests.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are too few for the fields that they claim.
    pub fn from_prefixed(bytes: &'a [u8]) -> Result<BinaryRow<'a>> {
        let (arity, bytes) = bytes.split_first_chunk().ok_or_else(|| torn("its number of fields"))?;
        let arity = usize::try_from(i32::from_be_bytes(*arity)).map_err(|_| torn("its number of fields"))?;
        BinaryRow::new(bytes, arity)
    }

    /// The number of fields.
    pub fn arity(&self) -> usize {
        self.arity
    }

    /// Its bytes without the number of fields.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether a field is null or missing.
    pub fn is_null(&self, field: usize) -> bool {
        let bit = field + HEADER_BITS;
        field >= self.arity || self.bytes.get(bit / 8).is_none_or(|b| b & (1 << (bit % 8)) != 0)
    }

    fn slot(&self, field: usize) -> usize {
        header_bytes(self.arity) + 8 * field
    }

    /// A field of a type without children; `None` for null.
    ///
    /// # Errors
    /// `CorruptTable` if its bytes lie outside the row or are not such a value; `Unsupported` for a time that its
    /// unit can't hold; `InvalidInput` for a type with children.
    pub fn value(&self, field: usize, ty: &DataType) -> Result<Option<ValueRef<'a>>> {
        if self.is_null(field) {
            return Ok(None);
        }
        read_value(self.bytes, self.slot(field), ty).map(Some)
    }

    /// A field of any type; `None` for null.
    ///
    /// # Errors
    /// As [`BinaryRow::value`].
    pub fn datum(&self, field: usize, ty: &DataType) -> Result<Option<Datum>> {
        if self.is_null(field) {
            return Ok(None);
        }
        read_datum(self.bytes, self.slot(field), ty, 0).map(Some)
    }

    /// All fields. Fields that the row does not have are null.
    ///
    /// # Errors
    /// As [`BinaryRow::value`].
    #[cfg(test)]
    pub(crate) fn data<'t>(&self, types: impl IntoIterator<Item = &'t DataType>) -> Result<Vec<Option<Datum>>> {
        types.into_iter().enumerate().map(|(i, ty)| self.datum(i, ty)).collect()
    }

    /// Compares two rows of the same types field by field, nulls first: the order of keys in files.
    ///
    /// # Errors
    /// As [`BinaryRow::value`].
    pub fn compare<'t>(
        &self,
        other: &BinaryRow<'_>,
        types: impl IntoIterator<Item = &'t DataType>,
    ) -> Result<Ordering> {
        for (i, ty) in types.into_iter().enumerate() {
            let order = match (self.is_null(i), other.is_null(i)) {
                (false, false) => compare_fields(self, other, i, ty)?,
                (a, b) => b.cmp(&a),
            };
            if order != Ordering::Equal {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }
}

/// Compares one field of two rows, null in neither.
pub(crate) fn compare_fields(a: &BinaryRow<'_>, b: &BinaryRow<'_>, field: usize, ty: &DataType) -> Result<Ordering> {
    let (at, bt) = (a.slot(field), b.slot(field));
    Ok(match &ty.kind {
        // Texts compare by their bytes, not by their characters.
        TypeKind::Char(_) | TypeKind::VarChar(_) | TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => {
            variable(a.bytes, at)?.cmp(variable(b.bytes, bt)?)
        }
        // Times compare in their stored units, which can hold every time.
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => {
            time_point(a.bytes, at, *p)?.cmp(&time_point(b.bytes, bt, *p)?)
        }
        _ => match (read_value(a.bytes, at, ty)?, read_value(b.bytes, bt, ty)?) {
            (ValueRef::Float(a), ValueRef::Float(b)) => compare_doubles(f64::from(a), f64::from(b)),
            (ValueRef::Double(a), ValueRef::Double(b)) => compare_doubles(a, b),
            (a, b) => a.sql_cmp(b).unwrap_or(Ordering::Equal),
        },
    })
}

fn fixed<const N: usize>(section: &[u8], at: usize) -> Result<[u8; N]> {
    section.get(at..).and_then(|s| s.first_chunk()).copied().ok_or_else(|| torn("a field"))
}

/// The upper and the lower half of a word: mostly an offset and a length.
fn halves(section: &[u8], at: usize) -> Result<(usize, usize)> {
    let word = u64::from_le_bytes(fixed(section, at)?);
    let half = |v: u64| usize::try_from(v).map_err(|_| torn("a field"));
    Ok((half(word >> 32)?, half(word & 0xffff_ffff)?))
}

/// The bytes of a value of any length. Up to 7 are in the word itself, and its last byte says so. Longer ones are
/// elsewhere in the section.
fn variable(section: &[u8], at: usize) -> Result<&[u8]> {
    let word: [u8; 8] = fixed(section, at)?;
    if word[7] & 0x80 != 0 {
        let length = usize::from(word[7] & 0x7f);
        if length > 7 {
            return Err(Error::corrupt(format!("a short value of a binary row claims {length} bytes")));
        }
        return section.get(at..at + length).ok_or_else(|| torn("a value"));
    }
    let (offset, length) = halves(section, at)?;
    section.get(offset..).and_then(|s| s.get(..length)).ok_or_else(|| torn("a value"))
}

/// Milliseconds since the epoch, and nanoseconds after those.
fn time_point(section: &[u8], at: usize, precision: u8) -> Result<(i64, u32)> {
    if precision <= 3 {
        return Ok((i64::from_le_bytes(fixed(section, at)?), 0));
    }
    let (offset, nanos) = halves(section, at)?;
    let nanos = u32::try_from(nanos).ok().filter(|n| *n < 1_000_000);
    let nanos =
        nanos.ok_or_else(|| Error::corrupt("a time of a binary row has more nanoseconds than a millisecond"))?;
    Ok((i64::from_le_bytes(fixed(section, offset)?), nanos))
}

fn timestamp(section: &[u8], at: usize, precision: u8) -> Result<i64> {
    let (millis, nanos) = time_point(section, at, precision)?;
    let (per_milli, rest) = if precision <= 6 { (1000, nanos / 1000) } else { (1_000_000, nanos) };
    // The product alone may be less than any that fits.
    let units = i128::from(millis) * per_milli + i128::from(rest);
    i64::try_from(units).map_err(|_| Error::unsupported(format!("a time {millis} ms from the epoch is out of range")))
}

fn unscaled(section: &[u8], at: usize, precision: u8) -> Result<i128> {
    if precision <= COMPACT_DIGITS {
        return Ok(i128::from(i64::from_le_bytes(fixed(section, at)?)));
    }
    let bytes = variable(section, at)?;
    let bad = || Error::corrupt(format!("a decimal of a binary row has {} bytes", bytes.len()));
    decimal::from_be_bytes(bytes).filter(|_| !bytes.is_empty()).ok_or_else(bad)
}

fn read_value<'a>(section: &'a [u8], at: usize, ty: &DataType) -> Result<ValueRef<'a>> {
    Ok(match &ty.kind {
        TypeKind::Boolean => ValueRef::Boolean(fixed::<1>(section, at)? != [0]),
        TypeKind::TinyInt => ValueRef::Int(i32::from(i8::from_le_bytes(fixed(section, at)?))),
        TypeKind::SmallInt => ValueRef::Int(i32::from(i16::from_le_bytes(fixed(section, at)?))),
        TypeKind::Int | TypeKind::Date => ValueRef::Int(i32::from_le_bytes(fixed(section, at)?)),
        TypeKind::BigInt => ValueRef::Long(i64::from_le_bytes(fixed(section, at)?)),
        TypeKind::Float => ValueRef::Float(f32::from_le_bytes(fixed(section, at)?)),
        TypeKind::Double => ValueRef::Double(f64::from_le_bytes(fixed(section, at)?)),
        TypeKind::Decimal { precision, .. } => ValueRef::Decimal(unscaled(section, at, *precision)?),
        TypeKind::Time(_) => ValueRef::Long(i64::from(i32::from_le_bytes(fixed(section, at)?)) * 1000),
        TypeKind::Timestamp(p) | TypeKind::TimestampLtz(p) => ValueRef::Long(timestamp(section, at, *p)?),
        TypeKind::Char(_) | TypeKind::VarChar(_) => {
            let text = std::str::from_utf8(variable(section, at)?);
            ValueRef::String(text.map_err(|e| Error::corrupt("a text of a binary row is not UTF-8").because(e))?)
        }
        TypeKind::Binary(_) | TypeKind::VarBinary(_) | TypeKind::Blob => ValueRef::Bytes(variable(section, at)?),
        TypeKind::Variant
        | TypeKind::Array(_)
        | TypeKind::Vector { .. }
        | TypeKind::Multiset(_)
        | TypeKind::Map(..)
        | TypeKind::Row(_) => return Err(Error::invalid(format!("a value of type {ty} is not primitive"))),
    })
}

/// Bytes of an element in an array.
pub(crate) fn element_width(ty: &DataType) -> usize {
    match &ty.kind {
        TypeKind::Boolean | TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::Int | TypeKind::Float | TypeKind::Date | TypeKind::Time(_) => 4,
        _ => 8,
    }
}

/// Bytes before the elements of an array: their number, and a bit for each null in words of 4 bytes.
pub(crate) fn array_header_bytes(elements: usize) -> usize {
    4 + elements.div_ceil(32) * 4
}

/// A number at the start of a section that its bytes can cover.
fn count(section: &[u8], what: &str) -> Result<usize> {
    usize::try_from(i32::from_le_bytes(fixed(section, 0)?)).map_err(|_| torn(what))
}

fn read_datum(section: &[u8], at: usize, ty: &DataType, depth: usize) -> Result<Datum> {
    if depth > MAX_DEPTH {
        return Err(Error::unsupported(format!("a type nests deeper than {MAX_DEPTH}")));
    }
    let depth = depth + 1;
    Ok(match &ty.kind {
        TypeKind::Variant => {
            let part = variable(section, at)?;
            let length = count(part, "a variant")?;
            let rest = part.get(4..).unwrap_or_default();
            let (value, metadata) = rest.split_at_checked(length).ok_or_else(|| torn("a variant"))?;
            Datum::Variant { metadata: metadata.to_vec(), value: value.to_vec() }
        }
        TypeKind::Array(element) => Datum::Array(read_array(variable(section, at)?, element, depth)?),
        TypeKind::Vector { element, .. } => Datum::Array(read_vector(variable(section, at)?, element, depth)?),
        TypeKind::Multiset(element) => read_map(variable(section, at)?, element, &TypeKind::Int.not_null(), depth)?,
        TypeKind::Map(key, value) => read_map(variable(section, at)?, key, value, depth)?,
        TypeKind::Row(fields) => {
            let row = BinaryRow::new(variable(section, at)?, fields.len())?;
            let member = |(i, field): (usize, &super::data_type::DataField)| match row.is_null(i) {
                true => Ok(None),
                false => read_datum(row.bytes, row.slot(i), &field.ty, depth).map(Some),
            };
            Datum::Row(fields.iter().enumerate().map(member).collect::<Result<_>>()?)
        }
        _ => Datum::Value(read_value(section, at, ty)?.to_owned()),
    })
}

fn read_array(section: &[u8], element: &DataType, depth: usize) -> Result<Vec<Option<Datum>>> {
    let (count, width) = (count(section, "an array")?, element_width(element));
    // Every element takes at least one byte. So a count that the bytes don't cover is not believed.
    if count > section.len() || array_header_bytes(count) + count * width > section.len() {
        return Err(torn("an array"));
    }
    let header = array_header_bytes(count);
    let item = |i: usize| match section.get(4 + i / 8).is_none_or(|b| b & (1 << (i % 8)) != 0) {
        true => Ok(None),
        false => read_datum(section, header + i * width, element, depth).map(Some),
    };
    (0..count).map(item).collect()
}

fn read_vector(section: &[u8], element: &DataType, depth: usize) -> Result<Vec<Option<Datum>>> {
    let (count, width) = (count(section, "a vector")?, element_width(element));
    if count > section.len() || 4 + count * width > section.len() {
        return Err(torn("a vector"));
    }
    (0..count).map(|i| read_datum(section, 4 + i * width, element, depth).map(Some)).collect()
}

fn read_map(section: &[u8], key: &DataType, value: &DataType, depth: usize) -> Result<Datum> {
    let length = count(section, "a map")?;
    let rest = section.get(4..).unwrap_or_default();
    let (keys, values) = rest.split_at_checked(length).ok_or_else(|| torn("a map"))?;
    let (keys, values) = (read_array(keys, key, depth)?, read_array(values, value, depth)?);
    if keys.len() != values.len() {
        return Err(Error::corrupt(format!(
            "a map of a binary row has {} keys and {} values",
            keys.len(),
            values.len()
        )));
    }
    Ok(Datum::Map(keys.into_iter().zip(values).collect()))
}

#[cfg(test)]
#[path = "binary_row_tests.rs"]
mod tests;
