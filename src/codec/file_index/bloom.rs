//! Bloom filters of 64-bit hashes.

use super::be::Bytes;
use super::key::{IndexKey, IndexedType};
use super::rows::MatchingRows;
use crate::codec::xxhash::xxh64;
use crate::error::{Error, Result};

/// More hash functions than any rate of false positives needs.
const MOST_FUNCTIONS: u32 = 1 << 12;

/// All rows if one of the keys may be in the filter, else no rows.
pub(super) fn rows(bytes: &[u8], keys: &[IndexKey], ty: IndexedType) -> Result<MatchingRows> {
    let mut from = Bytes(bytes);
    let functions = from.int()?.cast_unsigned();
    let bits = from.0;
    if functions == 0 || functions > MOST_FUNCTIONS || bits.is_empty() {
        return Err(Error::corrupt(format!("a Bloom filter of {functions} hash functions and {} bytes", bits.len())));
    }
    // Booleans and decimals are not hashed.
    if matches!(ty, IndexedType::Boolean | IndexedType::Decimal { .. }) {
        return Ok(MatchingRows::Unknown);
    }
    let found = keys.iter().any(|key| may_hold(bits, functions, hash(key)));
    Ok(if found { MatchingRows::Unknown } else { MatchingRows::none() })
}

fn may_hold(bits: &[u8], functions: u32, hash: u64) -> bool {
    places(bits.len(), functions, hash).all(|bit| bits.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1))
}

/// The bits of a hash in a filter of `bytes` bytes.
fn places(bytes: usize, functions: u32, hash: u64) -> impl Iterator<Item = usize> {
    let (low, high) = (hash as u32, (hash >> 32) as u32);
    (1..=functions).map(move |i| {
        let combined = low.wrapping_add(i.wrapping_mul(high)).cast_signed();
        let positive = if combined < 0 { !combined } else { combined };
        positive.cast_unsigned() as usize % (bytes * 8)
    })
}

/// A filter that is being built.
#[derive(Clone, Debug)]
pub(super) struct BloomBits {
    functions: u32,
    bits: Vec<u8>,
}

impl BloomBits {
    /// A filter for `items` values, with this rate of false positives.
    ///
    /// # Errors
    /// `InvalidInput` for impossible numbers.
    pub(super) fn new(items: u32, false_positives: f64) -> Result<BloomBits> {
        let (ln_2, wanted) = (std::f64::consts::LN_2, f64::from(items));
        let bits = (-wanted * false_positives.ln() / (ln_2 * ln_2)).trunc();
        if items == 0 || !(bits >= 0.0 && bits < f64::from(i32::MAX) - 8.0) {
            return Err(Error::invalid(format!(
                "a Bloom filter can't have {items} items and a rate of false positives of {false_positives}"
            )));
        }
        let bytes = bits as usize / 8 + 1;
        let functions = ((bytes * 8) as f64 / wanted * ln_2).round().max(1.0) as u32;
        Ok(BloomBits { functions: functions.min(MOST_FUNCTIONS), bits: vec![0; bytes] })
    }

    pub(super) fn add(&mut self, key: &IndexKey) {
        for bit in places(self.bits.len(), self.functions, hash(key)) {
            if let Some(byte) = self.bits.get_mut(bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        [&self.functions.to_be_bytes()[..], &self.bits].concat()
    }
}

fn hash(key: &IndexKey) -> u64 {
    // As `floatToIntBits`: all NaNs have the same bits.
    match key {
        IndexKey::Whole(v) => mix(*v),
        IndexKey::Float(v) if v.is_nan() => mix(0x7fc0_0000),
        IndexKey::Float(v) => mix(i64::from(v.to_bits().cast_signed())),
        IndexKey::Double(v) if v.is_nan() => mix(0x7ff8_0000_0000_0000),
        IndexKey::Double(v) => mix(v.to_bits().cast_signed()),
        IndexKey::Bytes(v) => xxh64(v, 0),
    }
}

/// Thomas Wang's 64-bit to 64-bit integer hash. Shifts to the right carry the sign along, as those of Java Paimon do.
fn mix(key: i64) -> u64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ (key >> 24);
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ (key >> 14);
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ (key >> 28);
    key.wrapping_add(key << 31).cast_unsigned()
}
