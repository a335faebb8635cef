//! Writes bitmap indexes.

use roaring::RoaringBitmap;

use super::key::{IndexKey, IndexedType};
use super::options::IndexOptions;
use super::out::{Out, serialized};
use super::value_rows::ValueRows;
use crate::error::Result;

/// Where the rows of a value are. The place is counted from the body's start. A negative number is -1 minus the only
/// row.
struct ValuePlace<'a> {
    key: &'a IndexKey,
    at: i32,
    length: i32,
}

/// If a value has only one row, that row is stored in the field for the place.
fn single(rows: &RoaringBitmap) -> Option<i32> {
    (rows.len() == 1).then(|| rows.min()).flatten().map(|row| !row.cast_signed())
}

/// The index of some rows.
///
/// # Errors
/// `Unsupported` if it is too large.
pub(super) fn encode(rows: &ValueRows, ty: IndexedType, options: &IndexOptions) -> Result<Vec<u8>> {
    let nulls = serialized(&rows.nulls)?;
    let mut body = Out::default();
    if rows.nulls.len() > 1 {
        body.bytes(&nulls);
    }
    let mut places = Vec::with_capacity(rows.values.len());
    for (key, found) in &rows.values {
        let (at, length) = match single(found) {
            Some(at) => (at, -1),
            None => {
                let bytes = serialized(found)?;
                let mut place = Out::default();
                // Checks both.
                place.size(body.0.len().saturating_add(bytes.len()))?;
                let at = body.0.len() as i32;
                body.bytes(&bytes);
                (at, bytes.len() as i32)
            }
        };
        places.push(ValuePlace { key: &key.0, at, length });
    }
    let mut out = Out::default();
    out.byte(options.version);
    out.int(rows.count.cast_signed());
    out.size(rows.values.len())?;
    out.byte(u8::from(!rows.nulls.is_empty()));
    if !rows.nulls.is_empty() {
        out.int(single(&rows.nulls).unwrap_or(0));
        if options.version > 1 {
            out.size(nulls.len())?;
        }
    }
    match options.version {
        1 => {
            for place in &places {
                ty.write(place.key, &mut out)?;
                out.int(place.at);
            }
        }
        _ => blocks(&places, ty, options.block_bytes, &mut out)?,
    }
    out.bytes(&body.0);
    Ok(out.0)
}

/// The places in blocks, after the first value of each block and its place.
fn blocks(places: &[ValuePlace<'_>], ty: IndexedType, most_bytes: usize, out: &mut Out) -> Result<()> {
    const COUNT_BYTES: usize = 4;
    let mut blocks: Vec<(&IndexKey, usize, Out)> = Vec::new();
    for place in places {
        let mut entry = Out::default();
        ty.write(place.key, &mut entry)?;
        entry.int(place.at);
        entry.int(place.length);
        match blocks.last_mut() {
            Some((_, count, block)) if COUNT_BYTES + block.0.len() + entry.0.len() <= most_bytes => {
                *count += 1;
                block.bytes(&entry.0);
            }
            _ => blocks.push((place.key, 1, entry)),
        }
    }
    out.size(blocks.len())?;
    let mut start = 0;
    for (first, _, block) in &blocks {
        ty.write(first, out)?;
        out.size(start)?;
        start += COUNT_BYTES + block.0.len();
    }
    out.size(start)?;
    for (_, count, block) in &blocks {
        out.size(*count)?;
        out.bytes(&block.0);
    }
    Ok(())
}
