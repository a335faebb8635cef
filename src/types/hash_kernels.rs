//! 32-bit Murmur3 (x86) for whole columns: several times as fast as [`super::hash`], which the tests hold it to.
//!
//! Source: Austin Appleby's MurmurHash3.

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

#[inline]
fn mix_k(k: u32) -> u32 {
    k.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

#[inline]
fn mix_h(h: u32, k: u32) -> u32 {
    (h ^ mix_k(k)).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline]
fn finish(mut h: u32, len: u32) -> u32 {
    h ^= len;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// Murmur3 of bytes.
#[inline]
pub fn kernel_bytes(seed: u32, bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let h = words.iter().fold(seed, |h, w| mix_h(h, u32::from_le_bytes(*w)));
    let k = match *tail {
        [] => 0,
        [a] => u32::from(a),
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a, b, c, ..] => u32::from_le_bytes([a, b, c, 0]),
    };
    // An empty tail changes nothing.
    let h = h ^ mix_k(k);
    finish(h, bytes.len() as u32)
}

/// Murmur3 of the 8 little-endian bytes of a long, without going through memory.
#[inline]
pub fn kernel_long(v: i64) -> u32 {
    finish(mix_h(mix_h(0, v as u32), (v >> 32) as u32), 8)
}

/// Murmur3 of 16 bytes.
#[inline]
pub fn kernel_16(bytes: [u8; 16]) -> u32 {
    kernel_prefix(u128::from_le_bytes(bytes), 16)
}

/// Murmur3 of a decimal's minimal two's-complement big-endian bytes, computed without creating them.
#[inline]
pub fn kernel_decimal(unscaled: i128) -> u32 {
    if let Ok(v) = i64::try_from(unscaled) {
        let length = 8 - ((v ^ (v >> 63)).leading_zeros() - 1) / 8;
        let bytes = (v << (64 - 8 * length)).swap_bytes() as u64;
        let h = mix_word(0, bytes as u32, length >= 4);
        return finish(mix_word(h, (bytes >> 32) as u32, length == 8), length);
    }
    let length = 16 - ((unscaled ^ (unscaled >> 127)).leading_zeros() - 1) / 8;
    kernel_prefix((unscaled << (128 - 8 * length)).swap_bytes() as u128, length)
}

/// Murmur3 of the first `length` little-endian bytes of `bytes`, 8 or more; those after them are 0.
#[inline]
fn kernel_prefix(bytes: u128, length: u32) -> u32 {
    let h = mix_h(mix_h(0, bytes as u32), (bytes >> 32) as u32);
    let h = mix_word(h, (bytes >> 64) as u32, length >= 12);
    finish(mix_word(h, (bytes >> 96) as u32, length == 16), length)
}

/// Mixes a whole word, or the tail, which may be empty (0). Has no branches, because lengths vary between values.
#[inline]
fn mix_word(h: u32, word: u32, whole: bool) -> u32 {
    let tail = h ^ mix_k(word);
    if whole { tail.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64) } else { tail }
}

/// A number of buckets, prepared for many hashes. It avoids a division per hash.
///
/// A hash has 31 bits. So the quotient by any divisor is exactly the product with a rounded-up 32-bit reciprocal,
/// shifted. Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", theorem 4.2.
#[derive(Clone, Copy, Debug)]
pub struct Buckets {
    count: u32,
    reciprocal: u32,
    shift: u32,
}

impl Buckets {
    /// `None` for 0 and for more than `i32::MAX` buckets.
    pub fn new(count: u32) -> Option<Buckets> {
        if count == 0 || count > i32::MAX as u32 {
            return None;
        }
        let shift = 31 + (u32::BITS - (count - 1).leading_zeros());
        Some(Buckets { count, reciprocal: ((1u64 << shift) / u64::from(count) + 1) as u32, shift })
    }

    /// If the count is a power of two, the mask that gives a hash's bucket.
    #[inline]
    pub fn mask(self) -> Option<u32> {
        self.count.is_power_of_two().then(|| self.count - 1)
    }

    /// The bucket of a hash: sign bit dropped, then modulo.
    #[inline]
    pub fn of(self, hash: u32) -> i32 {
        let hash = hash & 0x7fff_ffff;
        let quotient = ((u64::from(hash) * u64::from(self.reciprocal)) >> self.shift) as u32;
        hash.wrapping_sub(quotient.wrapping_mul(self.count)) as i32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decimal;
    use super::super::hash::{bucket_of_hash, murmur3_seeded};
    use super::*;

    proptest! {
        #[test]
        fn equals_the_murmur3_crate(bytes in proptest::collection::vec(any::<u8>(), 0..70), v: i64, seed: u32) {
            prop_assert_eq!(kernel_bytes(seed, &bytes), murmur3_seeded(seed, &bytes));
            prop_assert_eq!(kernel_long(v), murmur3_seeded(0, &v.to_le_bytes()));
        }

        /// Numbers of every width: a random number is shifted down by a random count of bits.
        #[test]
        fn decimals_and_uuids_equal_the_murmur3_crate(v: i128, bits in 0u32..128, bytes: [u8; 16]) {
            prop_assert_eq!(kernel_decimal(v >> bits), murmur3_seeded(0, &decimal::minimal_bytes(v >> bits)));
            prop_assert_eq!(kernel_16(bytes), murmur3_seeded(0, &bytes));
        }

        #[test]
        fn buckets_equal_the_remainder(count in 1..=i32::MAX as u32, hash: u32, bits in 0u32..31) {
            for count in [count, (count >> bits).max(1), 1 << bits] {
                let near = (hash & 0x7fff_ffff) / count * count;
                for hash in [hash, near, near.wrapping_sub(1), u32::MAX, 0] {
                    let buckets = Buckets::new(count).unwrap();
                    prop_assert_eq!(buckets.of(hash), bucket_of_hash(hash, count));
                    if let Some(mask) = buckets.mask() {
                        prop_assert_eq!((hash & mask) as i32, bucket_of_hash(hash, count));
                    }
                }
            }
        }
    }
}
