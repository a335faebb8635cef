//! 32-bit Murmur3 (x86) and Iceberg's hash of each type (seed 0).
//!
//! Source: Iceberg specification, Appendix B; Austin Appleby's MurmurHash3.

use super::schema::PrimitiveType;
use super::value::ValueRef;

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
pub fn murmur3_bytes(bytes: &[u8]) -> u32 {
    murmur3_seeded(0, bytes)
}

/// Murmur3 of bytes with another seed than 0.
#[inline]
pub fn murmur3_seeded(seed: u32, bytes: &[u8]) -> u32 {
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
pub fn murmur3_long(v: i64) -> u32 {
    finish(mix_h(mix_h(0, v as u32), (v >> 32) as u32), 8)
}

/// Murmur3 of 16 bytes.
#[inline]
pub fn murmur3_16(bytes: [u8; 16]) -> u32 {
    murmur3_prefix(u128::from_le_bytes(bytes), 16)
}

/// Murmur3 of a decimal's minimal two's-complement big-endian bytes, computed without creating them.
#[inline]
pub fn murmur3_decimal(unscaled: i128) -> u32 {
    if let Ok(v) = i64::try_from(unscaled) {
        let length = 8 - ((v ^ (v >> 63)).leading_zeros() - 1) / 8;
        let bytes = (v << (64 - 8 * length)).swap_bytes() as u64;
        let h = mix_word(0, bytes as u32, length >= 4);
        return finish(mix_word(h, (bytes >> 32) as u32, length == 8), length);
    }
    let length = 16 - ((unscaled ^ (unscaled >> 127)).leading_zeros() - 1) / 8;
    murmur3_prefix((unscaled << (128 - 8 * length)).swap_bytes() as u128, length)
}

/// Murmur3 of the first `length` little-endian bytes of `bytes`, 8 or more; those after them are 0.
#[inline]
fn murmur3_prefix(bytes: u128, length: u32) -> u32 {
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

/// The hash of a value of type `ty`, or `None` where the type can't be hashed.
///
/// Integers, dates and times hash as longs, so that promotion keeps the bucket; nanosecond timestamps hash as
/// microseconds (floored); decimals by their minimal bytes.
pub fn hash_value(v: ValueRef<'_>, ty: &PrimitiveType) -> Option<u32> {
    Some(match v {
        ValueRef::Boolean(b) => murmur3_long(i64::from(b)),
        ValueRef::Int(i) => murmur3_long(i64::from(i)),
        ValueRef::Long(l) => match ty {
            PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => murmur3_long(l.div_euclid(1000)),
            _ => murmur3_long(l),
        },
        ValueRef::Float(f) => murmur3_long(double_bits(f64::from(f))),
        ValueRef::Double(d) => murmur3_long(double_bits(d)),
        ValueRef::Decimal(d) => murmur3_decimal(d),
        ValueRef::String(s) => murmur3_bytes(s.as_bytes()),
        ValueRef::Uuid(u) => murmur3_16(u.to_be_bytes()),
        ValueRef::Bytes(b) => murmur3_bytes(b),
    })
}

fn double_bits(d: f64) -> i64 {
    if d.is_nan() {
        0x7ff8_0000_0000_0000
    } else if d == 0.0 {
        0
    } else {
        d.to_bits() as i64
    }
}

/// The bucket of a hash: sign bit dropped, then modulo. `buckets` must not be 0.
#[inline]
pub fn bucket_of_hash(hash: u32, buckets: u32) -> i32 {
    ((hash & 0x7fff_ffff) % buckets.max(1)) as i32
}

/// A number of buckets, prepared for many hashes. It avoids a division per hash.
///
/// A hash has 31 bits, so the quotient by any divisor is exactly the product with a rounded-up 32-bit reciprocal,
/// shifted (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", theorem 4.2).
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
    use super::*;
    use crate::types::decimal;
    use crate::types::temporal::{days_of_civil, parse_time, parse_timestamp};
    use proptest::prelude::*;

    /// Test values of Appendix B.
    #[test]
    fn appendix_b() {
        let h = |v, t: PrimitiveType| hash_value(v, &t).unwrap() as i32;
        assert_eq!(h(ValueRef::Int(34), PrimitiveType::Int), 2017239379);
        assert_eq!(h(ValueRef::Long(34), PrimitiveType::Long), 2017239379);
        assert_eq!(h(ValueRef::Decimal(1420), PrimitiveType::Decimal { precision: 9, scale: 2 }), -500754589);
        let date = days_of_civil(2017, 11, 16) as i32;
        assert_eq!(h(ValueRef::Int(date), PrimitiveType::Date), -653330422);
        assert_eq!(h(ValueRef::Long(parse_time("22:31:08", 1_000_000).unwrap()), PrimitiveType::Time), -662762989);
        let ts = parse_timestamp("2017-11-16T22:31:08", 1_000_000).unwrap().0;
        assert_eq!(h(ValueRef::Long(ts), PrimitiveType::Timestamp), -2047944441);
        assert_eq!(h(ValueRef::Long(ts * 1000), PrimitiveType::TimestampNs), -2047944441);
        assert_eq!(h(ValueRef::String("iceberg"), PrimitiveType::String), 1210000089);
        let uuid = 0xf79c3e09_677c_4bbd_a479_3f349cb785e7u128;
        assert_eq!(h(ValueRef::Uuid(uuid), PrimitiveType::Uuid), 1488055340);
        assert_eq!(h(ValueRef::Bytes(&[0, 1, 2, 3]), PrimitiveType::Binary), -188683207);
        assert_eq!(h(ValueRef::Boolean(true), PrimitiveType::Boolean), 1392991556);
        assert_eq!(h(ValueRef::Float(1.0), PrimitiveType::Float), -142385009);
        assert_eq!(h(ValueRef::Double(-0.0), PrimitiveType::Double), 1669671676);
    }

    proptest! {
        #[test]
        fn equals_the_murmur3_crate(bytes in proptest::collection::vec(any::<u8>(), 0..70), v: i64) {
            let oracle = |b: &[u8]| murmur3::murmur3_32(&mut std::io::Cursor::new(b), 0).unwrap();
            prop_assert_eq!(murmur3_bytes(&bytes), oracle(&bytes));
            prop_assert_eq!(murmur3_long(v), oracle(&v.to_le_bytes()));
        }

        /// Of every width: a random number shifted down by a random count of bits.
        #[test]
        fn decimals_and_uuids_equal_the_murmur3_crate(v: i128, bits in 0u32..128, bytes: [u8; 16]) {
            let oracle = |b: &[u8]| murmur3::murmur3_32(&mut std::io::Cursor::new(b), 0).unwrap();
            prop_assert_eq!(murmur3_decimal(v >> bits), oracle(&decimal::minimal_bytes(v >> bits)));
            prop_assert_eq!(murmur3_16(bytes), oracle(&bytes));
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
