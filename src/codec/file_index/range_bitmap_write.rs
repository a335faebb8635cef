//! Writes range-bitmap indexes.

use roaring::RoaringBitmap;

use super::key::{IndexKey, IndexedType};
use super::out::{Out, serialized};
use super::value_rows::ValueRows;
use crate::error::Result;

const VERSION: u8 = 1;

/// Bytes of a chunk of keys after its first key.
fn default_chunk_bytes(ty: IndexedType) -> usize {
    match ty {
        IndexedType::Boolean | IndexedType::TinyInt | IndexedType::SmallInt => 0,
        _ => 16 << 10,
    }
}

/// The index of some rows.
///
/// # Errors
/// `Unsupported` if it is too large.
pub(super) fn encode(rows: &ValueRows, ty: IndexedType, chunk_bytes: Option<usize>) -> Result<Vec<u8>> {
    let keys: Vec<&IndexKey> = rows.values.keys().map(|key| &key.0).collect();
    let dictionary = dictionary(&keys, ty, chunk_bytes.unwrap_or_else(|| default_chunk_bytes(ty)))?;
    let mut head = Out::default();
    head.byte(VERSION);
    head.int(rows.count.cast_signed());
    head.size(keys.len())?;
    for end in [keys.first(), keys.last()].into_iter().flatten() {
        ty.write(end, &mut head)?;
    }
    head.size(dictionary.len())?;
    let mut out = Out::default();
    out.block(&head.0)?;
    out.bytes(&dictionary);
    out.bytes(&slices(rows.values.values())?);
    Ok(out.0)
}

/// The keys in chunks.
fn dictionary(keys: &[&IndexKey], ty: IndexedType, chunk_bytes: usize) -> Result<Vec<u8>> {
    let (mut places, mut heads, mut all_keys, mut count) = (Out::default(), Out::default(), Out::default(), 0usize);
    let mut rest = keys.iter().enumerate().peekable();
    while let Some((code, first)) = rest.next() {
        let (mut offsets, mut chunk, mut size) = (Out::default(), Out::default(), 0usize);
        while let Some((_, key)) = rest.peek() {
            let length = ty.written_bytes(key)?;
            let full = ty.is_text() && offsets.0.len() + 4 > chunk_bytes;
            if full || chunk.0.len() + length > chunk_bytes {
                break;
            }
            if ty.is_text() {
                offsets.size(chunk.0.len())?;
            }
            ty.write(key, &mut chunk)?;
            size += 1;
            rest.next();
        }
        places.size(heads.0.len())?;
        heads.byte(VERSION);
        ty.write(first, &mut heads)?;
        heads.size(code)?;
        heads.size(all_keys.0.len())?;
        heads.size(size)?;
        if ty.is_text() {
            heads.size(offsets.0.len())?;
            heads.size(chunk.0.len())?;
        } else {
            heads.size(chunk.0.len())?;
            heads.size(ty.written_bytes(first)?)?;
        }
        all_keys.bytes(&offsets.0);
        all_keys.bytes(&chunk.0);
        count += 1;
    }
    let mut head = Out::default();
    head.byte(VERSION);
    head.size(count)?;
    head.size(places.0.len())?;
    head.size(heads.0.len())?;
    let mut out = Out::default();
    out.block(&head.0)?;
    out.bytes(&places.0);
    out.bytes(&heads.0);
    out.bytes(&all_keys.0);
    Ok(out.0)
}

/// The bit slices of codes, which are given in order to the rows of each.
fn slices<'a>(rows_of_codes: impl ExactSizeIterator<Item = &'a RoaringBitmap>) -> Result<Vec<u8>> {
    let greatest = u32::try_from(rows_of_codes.len()).unwrap_or(u32::MAX).saturating_sub(1);
    let count = (u32::BITS - greatest.leading_zeros()).max(1) as usize;
    let (mut all, mut slices) = (RoaringBitmap::new(), vec![RoaringBitmap::new(); count]);
    for (code, rows) in (0u32..).zip(rows_of_codes) {
        all |= rows;
        for (bit, slice) in slices.iter_mut().enumerate() {
            if code >> bit & 1 == 1 {
                *slice |= rows;
            }
        }
    }
    let (all, mut places, mut body) = (serialized(&all)?, Out::default(), Out::default());
    for slice in &slices {
        let bytes = serialized(slice)?;
        places.size(body.0.len())?;
        places.size(bytes.len())?;
        body.bytes(&bytes);
    }
    let mut head = Out::default();
    head.byte(VERSION);
    head.byte(count as u8);
    head.size(all.len())?;
    head.size(places.0.len())?;
    head.bytes(&places.0);
    let mut out = Out::default();
    out.block(&head.0)?;
    out.bytes(&all);
    out.bytes(&body.0);
    Ok(out.0)
}
