//! 32-bit Murmur3 (x86) of single values by the crate `murmur3`, and Iceberg's hash of each type (seed 0).
//! [`super::hash_kernels`] hashes whole columns.
//!
//! Source: Iceberg specification, Appendix B.

use super::decimal;
use super::schema::PrimitiveType;
use super::value::ValueRef;

/// Murmur3 of bytes.
pub fn murmur3_bytes(bytes: &[u8]) -> u32 {
    murmur3_seeded(0, bytes)
}

/// Murmur3 of bytes with another seed than 0.
pub fn murmur3_seeded(seed: u32, bytes: &[u8]) -> u32 {
    // Reading from memory does not fail.
    murmur3::murmur3_32(&mut &bytes[..], seed).unwrap_or_default()
}

/// The hash of a value of type `ty`, or `None` where the type can't be hashed.
///
/// Integers, dates and times hash as longs, so that promotion keeps the bucket. Nanosecond timestamps hash as
/// microseconds (floored), and decimals as their minimal bytes.
pub fn hash_value(v: ValueRef<'_>, ty: &PrimitiveType) -> Option<u32> {
    let long = |v: i64| murmur3_bytes(&v.to_le_bytes());
    Some(match v {
        ValueRef::Boolean(b) => long(i64::from(b)),
        ValueRef::Int(i) => long(i64::from(i)),
        ValueRef::Long(l) => match ty {
            PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => long(l.div_euclid(1000)),
            _ => long(l),
        },
        ValueRef::Float(f) => long(double_bits(f64::from(f))),
        ValueRef::Double(d) => long(double_bits(d)),
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
}
