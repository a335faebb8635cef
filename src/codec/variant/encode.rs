//! Encodes variants.
//!
//! Containers are written from the inside: first the members, one after the other. Then [`wrap_array`] or
//! [`wrap_object`] puts the header before them.

use super::VariantValue;
use crate::error::{Error, Result};

/// The most bytes of a short string.
const SHORT: usize = 63;

fn header(kind: u8) -> u8 {
    kind << 2
}

/// Appends a value that is not a container; containers are appended as null.
///
/// # Errors
/// `InvalidInput` for text and bytes of more than 4 GiB.
pub fn put(value: &VariantValue<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut fixed = |kind: u8, bytes: &[u8]| {
        out.push(header(kind));
        out.extend_from_slice(bytes);
    };
    match value {
        VariantValue::Null | VariantValue::Object(_) | VariantValue::Array(_) => fixed(0, &[]),
        VariantValue::Boolean(b) => fixed(if *b { 1 } else { 2 }, &[]),
        VariantValue::Int8(v) => fixed(3, &v.to_le_bytes()),
        VariantValue::Int16(v) => fixed(4, &v.to_le_bytes()),
        VariantValue::Int32(v) => fixed(5, &v.to_le_bytes()),
        VariantValue::Int64(v) => fixed(6, &v.to_le_bytes()),
        VariantValue::Double(v) => fixed(7, &v.to_le_bytes()),
        VariantValue::Decimal(d) => {
            let (kind, width) = match d.width {
                4 => (8, 4),
                8 => (9, 8),
                _ => (10, 16),
            };
            fixed(kind, &[d.scale]);
            out.extend(d.unscaled.to_le_bytes().into_iter().take(width));
        }
        VariantValue::Date(v) => fixed(11, &v.to_le_bytes()),
        VariantValue::Timestamptz(v) => fixed(12, &v.to_le_bytes()),
        VariantValue::Timestamp(v) => fixed(13, &v.to_le_bytes()),
        VariantValue::Float(v) => fixed(14, &v.to_le_bytes()),
        VariantValue::Time(v) => fixed(17, &v.to_le_bytes()),
        VariantValue::TimestamptzNs(v) => fixed(18, &v.to_le_bytes()),
        VariantValue::TimestampNs(v) => fixed(19, &v.to_le_bytes()),
        VariantValue::Uuid(v) => fixed(20, &v.to_be_bytes()),
        VariantValue::String(text) if text.len() <= SHORT => {
            out.push((text.len() as u8) << 2 | 1);
            out.extend_from_slice(text.as_bytes());
        }
        VariantValue::String(text) => long(16, text.as_bytes(), out)?,
        VariantValue::Binary(bytes) => long(15, bytes, out)?,
    }
    Ok(())
}

fn long(kind: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let length = word(bytes.len())?;
    out.push(header(kind));
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

fn word(n: usize) -> Result<u32> {
    u32::try_from(n).map_err(|e| Error::invalid("a variant would have more than 4 GiB").because(e))
}

/// The number of bytes that the number takes, from 1 to 4.
fn width(n: u32) -> u8 {
    (4 - n.leading_zeros() / 8).max(1) as u8
}

fn put_number(n: u32, width: u8, out: &mut Vec<u8>) {
    out.extend(n.to_le_bytes().into_iter().take(width.into()));
}

/// Makes an array of the values written since `start`; `elements` are the positions in `out` where each element
/// begins.
///
/// # Errors
/// `InvalidInput` if it has more than 4 GiB.
pub fn wrap_array(elements: &[usize], start: usize, out: &mut Vec<u8>) -> Result<()> {
    let (count, length) = (word(elements.len())?, word(out.len() - start)?);
    let offset_width = width(length);
    let mut head = vec![header(u8::from(count > 255) << 2 | (offset_width - 1)) | 3];
    put_number(count, if count > 255 { 4 } else { 1 }, &mut head);
    for at in elements {
        put_number(word(at - start)?, offset_width, &mut head);
    }
    put_number(length, offset_width, &mut head);
    out.splice(start..start, head);
    Ok(())
}

/// Makes an object of the values written since `start`. `members` has each member's name, the name's number in the
/// dictionary, and the member's position in `out`. They are sorted by name.
///
/// # Errors
/// `InvalidInput` if it has more than 4 GiB.
pub fn wrap_object(members: &mut [(&str, u32, usize)], start: usize, out: &mut Vec<u8>) -> Result<()> {
    members.sort_unstable_by_key(|(name, ..)| *name);
    let (count, length) = (word(members.len())?, word(out.len() - start)?);
    let offset_width = width(length);
    let id_width = width(members.iter().map(|(_, id, _)| *id).max().unwrap_or(0));
    let mut head = vec![header(u8::from(count > 255) << 4 | (id_width - 1) << 2 | (offset_width - 1)) | 2];
    put_number(count, if count > 255 { 4 } else { 1 }, &mut head);
    members.iter().for_each(|(_, id, _)| put_number(*id, id_width, &mut head));
    for (_, _, at) in members.iter() {
        put_number(word(at - start)?, offset_width, &mut head);
    }
    put_number(length, offset_width, &mut head);
    out.splice(start..start, head);
    Ok(())
}
