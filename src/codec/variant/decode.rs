//! Decodes variants.

use std::collections::HashSet;

use crate::error::{Error, Result};

/// The largest scale that a decimal may have.
const MAX_SCALE: u8 = 38;

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a variant is damaged: {what}"))
}

/// The little-endian number in `bytes`, which has at most four bytes.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
}

/// Numbers of one width side by side.
#[derive(Clone, Copy, Debug)]
struct Numbers<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Numbers<'a> {
    fn get(&self, i: usize) -> Option<usize> {
        let start = i.checked_mul(self.width)?;
        self.bytes.get(start..start.checked_add(self.width)?).map(number)
    }
}

/// Reads bytes from the front.
struct VariantReader<'a>(&'a [u8]);

impl<'a> VariantReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(|| damaged("it is cut off"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self, width: usize) -> Result<usize> {
        self.take(width).map(number)
    }

    /// `count` numbers of this width.
    fn numbers(&mut self, count: usize, width: usize) -> Result<Numbers<'a>> {
        let bytes = count.checked_mul(width).ok_or_else(|| damaged("it is cut off"))?;
        Ok(Numbers { bytes: self.take(bytes)?, width })
    }
}

/// The dictionary of field names.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    count: usize,
    offsets: Numbers<'a>,
    names: &'a str,
}

impl<'a> Metadata<'a> {
    /// Reads a dictionary. Ignores bytes after it.
    ///
    /// # Errors
    /// `CorruptTable` if it is cut off or a name is not UTF-8; `Unsupported` for versions other than 1.
    pub fn parse(bytes: &'a [u8]) -> Result<Metadata<'a>> {
        let mut reader = VariantReader(bytes);
        let [header] = reader.array()?;
        if header & 0x0f != 1 {
            return Err(Error::unsupported(format!("variants of version {} cannot be read", header & 0x0f)));
        }
        let width = usize::from(header >> 6) + 1;
        let count = reader.number(width)?;
        let offsets = reader.numbers(count.checked_add(1).ok_or_else(|| damaged("it is cut off"))?, width)?;
        let end = offsets.get(count).unwrap_or_default();
        let names = std::str::from_utf8(reader.take(end)?).map_err(|e| damaged("a name is not UTF-8").because(e))?;
        let mut last = 0;
        for i in 0..=count {
            let offset = offsets.get(i).unwrap_or_default();
            if offset < last || (i == 0 && offset != 0) || !names.is_char_boundary(offset) {
                return Err(damaged("the names of its dictionary overlap"));
            }
            last = offset;
        }
        Ok(Metadata { count, offsets, names })
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A name by its number.
    pub fn name(&self, id: usize) -> Option<&'a str> {
        if id >= self.count {
            return None;
        }
        self.names.get(self.offsets.get(id)?..self.offsets.get(id + 1)?)
    }

    /// All names, by number.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        (0..self.count).filter_map(|id| self.name(id))
    }
}

/// An exact number: `unscaled` · 10^-`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits.
    pub unscaled: i128,
    /// Digits after the point, 38 at most.
    pub scale: u8,
    /// Bytes it is stored in: 4, 8 or 16.
    pub width: u8,
}

/// One value. The contents of containers are not read.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum VariantValue<'a> {
    Null,
    Boolean(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    Decimal(Decimal),
    /// Days from 1970-01-01.
    Date(i32),
    /// Microseconds from midnight.
    Time(i64),
    /// Microseconds from 1970-01-01T00:00:00, in UTC.
    Timestamptz(i64),
    /// Microseconds from 1970-01-01T00:00:00, without a zone.
    Timestamp(i64),
    /// Nanoseconds from 1970-01-01T00:00:00, in UTC.
    TimestamptzNs(i64),
    /// Nanoseconds from 1970-01-01T00:00:00, without a zone.
    TimestampNs(i64),
    Binary(&'a [u8]),
    String(&'a str),
    Uuid(u128),
    Object(VariantContainer<'a>),
    Array(VariantContainer<'a>),
}

/// The members of an object, or the elements of an array.
#[derive(Clone, Copy, Debug)]
pub struct VariantContainer<'a> {
    count: usize,
    /// The numbers of names. An array has none.
    ids: Numbers<'a>,
    offsets: Numbers<'a>,
    data: &'a [u8],
}

impl<'a> VariantValue<'a> {
    /// Reads the value at the front of `bytes`. Also returns its number of bytes.
    ///
    /// # Errors
    /// `CorruptTable` if it is cut off, or text is not UTF-8; `Unsupported` for types that version 1 does not have.
    pub fn parse(bytes: &'a [u8]) -> Result<(VariantValue<'a>, usize)> {
        let mut reader = VariantReader(bytes);
        let [header] = reader.array()?;
        let value = match (header & 0b11, header >> 2) {
            (0, kind) => primitive(kind, &mut reader)?,
            (1, length) => VariantValue::String(text(reader.take(length.into())?)?),
            (2, header) => VariantValue::Object(container(&mut reader, header, true)?),
            (_, header) => VariantValue::Array(container(&mut reader, header, false)?),
        };
        Ok((value, bytes.len() - reader.0.len()))
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| damaged("text is not UTF-8").because(e))
}

fn primitive<'a>(kind: u8, reader: &mut VariantReader<'a>) -> Result<VariantValue<'a>> {
    Ok(match kind {
        0 => VariantValue::Null,
        1 => VariantValue::Boolean(true),
        2 => VariantValue::Boolean(false),
        3 => VariantValue::Int8(i8::from_le_bytes(reader.array()?)),
        4 => VariantValue::Int16(i16::from_le_bytes(reader.array()?)),
        5 => VariantValue::Int32(i32::from_le_bytes(reader.array()?)),
        6 => VariantValue::Int64(i64::from_le_bytes(reader.array()?)),
        7 => VariantValue::Double(f64::from_le_bytes(reader.array()?)),
        8 => decimal(reader, 4, |r| Ok(i32::from_le_bytes(r.array()?).into()))?,
        9 => decimal(reader, 8, |r| Ok(i64::from_le_bytes(r.array()?).into()))?,
        10 => decimal(reader, 16, |r| Ok(i128::from_le_bytes(r.array()?)))?,
        11 => VariantValue::Date(i32::from_le_bytes(reader.array()?)),
        12 => VariantValue::Timestamptz(i64::from_le_bytes(reader.array()?)),
        13 => VariantValue::Timestamp(i64::from_le_bytes(reader.array()?)),
        14 => VariantValue::Float(f32::from_le_bytes(reader.array()?)),
        15 | 16 => {
            let length = reader.number(4)?;
            let bytes = reader.take(length)?;
            if kind == 15 { VariantValue::Binary(bytes) } else { VariantValue::String(text(bytes)?) }
        }
        17 => VariantValue::Time(i64::from_le_bytes(reader.array()?)),
        18 => VariantValue::TimestamptzNs(i64::from_le_bytes(reader.array()?)),
        19 => VariantValue::TimestampNs(i64::from_le_bytes(reader.array()?)),
        20 => VariantValue::Uuid(u128::from_be_bytes(reader.array()?)),
        _ => return Err(Error::unsupported(format!("a variant has a value of the unknown type {kind}"))),
    })
}

fn decimal<'a>(
    reader: &mut VariantReader<'a>,
    width: u8,
    unscaled: impl Fn(&mut VariantReader<'a>) -> Result<i128>,
) -> Result<VariantValue<'a>> {
    let [scale] = reader.array()?;
    if scale > MAX_SCALE {
        return Err(damaged("a decimal has more than 38 digits behind the point"));
    }
    Ok(VariantValue::Decimal(Decimal { unscaled: unscaled(reader)?, scale, width }))
}

fn container<'a>(reader: &mut VariantReader<'a>, header: u8, object: bool) -> Result<VariantContainer<'a>> {
    let offset_width = usize::from(header & 0b11) + 1;
    let (id_width, large) = match object {
        true => (usize::from(header >> 2 & 0b11) + 1, header & 0b1_0000 != 0),
        false => (0, header & 0b100 != 0),
    };
    let count = reader.number(if large { 4 } else { 1 })?;
    let ids = reader.numbers(count, id_width)?;
    let offsets = reader.numbers(count.checked_add(1).ok_or_else(|| damaged("it is cut off"))?, offset_width)?;
    let length = offsets.get(count).unwrap_or_default();
    Ok(VariantContainer { count, ids, offsets, data: reader.take(length)? })
}

impl<'a> VariantContainer<'a> {
    /// The number of members.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of a member's name in the dictionary. Elements of arrays have 0.
    pub fn name_id(&self, i: usize) -> usize {
        self.ids.get(i).unwrap_or_default()
    }

    /// The bytes of a member.
    ///
    /// # Errors
    /// As [`VariantValue::parse`]; `CorruptTable` if there is no such member or it lies outside the container.
    pub fn bytes(&self, i: usize) -> Result<&'a [u8]> {
        let rest = self.rest(i)?;
        let (_, size) = VariantValue::parse(rest)?;
        rest.get(..size).ok_or_else(|| damaged("it is cut off"))
    }

    fn rest(&self, i: usize) -> Result<&'a [u8]> {
        let offset = if i < self.count { self.offsets.get(i) } else { None };
        offset.and_then(|o| self.data.get(o..)).ok_or_else(|| damaged("a value lies outside of what holds it"))
    }
}

/// The members of an object with their names, in the order of the bytes.
///
/// # Errors
/// `CorruptTable` if a name is not in the dictionary or a member lies outside the object.
pub fn members<'a>(
    metadata: &Metadata<'a>,
    object: &VariantContainer<'a>,
) -> impl Iterator<Item = Result<(&'a str, &'a [u8])>> {
    (0..object.len()).map(move |i| Ok((member_name(metadata, object, i)?, object.bytes(i)?)))
}

fn member_name<'a>(metadata: &Metadata<'a>, object: &VariantContainer<'a>, i: usize) -> Result<&'a str> {
    metadata.name(object.name_id(i)).ok_or_else(|| damaged("a name is not in its dictionary"))
}

/// Checks every byte of the value at the front of `bytes` and returns its number of bytes. After that no function of
/// this module fails on it.
///
/// # Errors
/// As [`VariantValue::parse`]. `CorruptTable` for values that nest deeper than [`MAX_DEPTH`], and for members that
/// share bytes. Also for objects that have a name twice, or one that is not in the dictionary.
pub fn check(metadata: &Metadata<'_>, bytes: &[u8]) -> Result<usize> {
    let (value, size) = VariantValue::parse(bytes)?;
    check_members(metadata, &value, 1)?;
    Ok(size)
}

fn check_members(metadata: &Metadata<'_>, value: &VariantValue<'_>, depth: usize) -> Result<()> {
    let container = match value {
        VariantValue::Object(object) => {
            check_names(metadata, object)?;
            object
        }
        VariantValue::Array(array) => array,
        _ => return Ok(()),
    };
    if depth >= MAX_DEPTH {
        return Err(damaged("it nests too deep"));
    }
    let mut taken = 0usize;
    for i in 0..container.len() {
        let (member, size) = VariantValue::parse(container.rest(i)?)?;
        // Without this check, a few bytes could nest to endless values.
        taken = taken.saturating_add(size);
        if taken > container.data.len() {
            return Err(damaged("values share bytes"));
        }
        check_members(metadata, &member, depth + 1)?;
    }
    Ok(())
}

fn check_names(metadata: &Metadata<'_>, object: &VariantContainer<'_>) -> Result<()> {
    let mut ascending = true;
    let mut last = None;
    for i in 0..object.len() {
        let name = member_name(metadata, object, i)?;
        ascending &= last.is_none_or(|last| last < name);
        last = Some(name);
    }
    if ascending {
        return Ok(());
    }
    let mut seen = HashSet::with_capacity(object.len());
    let unique = (0..object.len()).all(|i| metadata.name(object.name_id(i)).is_some_and(|name| seen.insert(name)));
    if unique { Ok(()) } else { Err(damaged("an object has a name twice")) }
}

/// The deepest nesting of values.
pub const MAX_DEPTH: usize = 500;
