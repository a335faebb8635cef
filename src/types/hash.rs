//! 32-bit Murmur3 (x86, seed 0) and Iceberg's hash of each type.
//!
//! Source: Iceberg specification, Appendix B; Austin Appleby's MurmurHash3.

use super::decimal;
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
    let mut words = bytes.chunks_exact(4);
    let mut h = 0;
    for w in &mut words {
        h = mix_h(h, u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    }
    let tail = words.remainder();
    if !tail.is_empty() {
        let k = tail.iter().rev().fold(0u32, |k, &b| (k << 8) | b as u32);
        h ^= mix_k(k);
    }
    finish(h, bytes.len() as u32)
}

/// Murmur3 of the 8 little-endian bytes of a long, without going through memory.
#[inline]
pub fn murmur3_long(v: i64) -> u32 {
    finish(mix_h(mix_h(0, v as u32), (v >> 32) as u32), 8)
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
        ValueRef::Decimal(d) => murmur3_bytes(&decimal::minimal_bytes(d)),
        ValueRef::String(s) => murmur3_bytes(s.as_bytes()),
        ValueRef::Uuid(u) => murmur3_bytes(&u.to_be_bytes()),
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

#[cfg(test)]
mod tests {
    use super::*;
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
    }
}
