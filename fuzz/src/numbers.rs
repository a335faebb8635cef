//! Numbers of variable length, as Parquet, ORC and Avro write them.

/// Seven bits in a byte, the lowest first.
pub fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n > 127 {
        out.push((n & 127) as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

/// The sign in the lowest bit.
pub fn zigzag(n: i64) -> Vec<u8> {
    varint(((n << 1) ^ (n >> 63)) as u64)
}
