//! Bloom filters of the values of a column in a group of rows, as readers ask them for `=` and `in`.
//!
//! A value is hashed to 64 bits; sums of the halves say which bits are set. Numbers are hashed as longs or as the bits
//! of a double, and timestamps as milliseconds of UTC. Decimals are hashed as their shortest text, strings and byte
//! strings by their bytes.
//!
//! Source: ORC specification v1, "Bloom Filter Index"; sizes and hashes as in Java's `BloomFilter`.

use super::message::Message;

/// The seed of hashes of strings.
const SEED: u64 = 104_729;

/// The longest filter in bits, a multiple of 64: readers count bits in a signed number of 32 bits.
const MOST_BITS: u64 = (1 << 31) - 64;

/// The filter of a group of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    words: Vec<u64>,
    hashes: u32,
}

impl BloomFilter {
    /// An empty filter for `values` different values. Its rate of false positives is `fpp`, above 0 and below 1.
    pub fn new(values: u64, fpp: f64) -> BloomFilter {
        let values = values.max(1);
        let ln2 = std::f64::consts::LN_2;
        let needed = ((-(values as f64) * fpp.ln() / (ln2 * ln2)) as u64).min(MOST_BITS);
        // Java adds a word even if the bits already fill whole words.
        let bits = (needed + 64 - needed % 64).min(MOST_BITS);
        let hashes = ((bits as f64 / values as f64 * ln2).round() as u32).max(1);
        BloomFilter { words: vec![0; (bits / 64) as usize], hashes }
    }

    fn add(&mut self, hash: u64) {
        let (first, second) = (hash as u32, (hash >> 32) as u32);
        let bits = self.words.len() as u32 * 64;
        for i in 1..=self.hashes {
            let sum = first.wrapping_add(second.wrapping_mul(i));
            let sum = if (sum as i32) < 0 { !sum } else { sum };
            let bit = sum % bits;
            if let Some(word) = self.words.get_mut(bit as usize / 64) {
                *word |= 1 << (bit % 64);
            }
        }
    }

    /// Adds an integer, the days of a date or the milliseconds of a timestamp.
    pub fn add_long(&mut self, v: i64) {
        self.add(hash_long(v));
    }

    /// Adds a floating-point number.
    pub fn add_double(&mut self, v: f64) {
        let bits = if v.is_nan() { 0x7ff8_0000_0000_0000 } else { v.to_bits() };
        self.add_long(bits as i64);
    }

    /// Adds a string or byte string.
    pub fn add_bytes(&mut self, v: &[u8]) {
        self.add(hash_bytes(v));
    }

    /// Adds a decimal with `scale` digits after the point.
    pub fn add_decimal(&mut self, unscaled: i128, scale: u8) {
        self.add_bytes(shortest_text(unscaled, scale).as_bytes());
    }

    /// Returns the filter and empties it.
    pub fn take(&mut self) -> BloomFilter {
        let empty = BloomFilter { words: vec![0; self.words.len()], hashes: self.hashes };
        std::mem::replace(self, empty)
    }

    /// The number of bytes in memory.
    pub fn held(&self) -> usize {
        self.words.len() * 8
    }
}

/// The filters of a column's groups of rows.
pub fn bloom_filters(groups: &[BloomFilter]) -> Vec<u8> {
    let mut out = Message::default();
    for group in groups {
        out.message(1, |m| {
            m.number(1, u64::from(group.hashes));
            m.bytes(3, &group.words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
        });
    }
    out.into_bytes()
}

/// Thomas Wang's hash of a long.
fn hash_long(v: i64) -> u64 {
    let v = (!v).wrapping_add(v << 21);
    let v = v ^ (v >> 24);
    let v = v.wrapping_add(v << 3).wrapping_add(v << 8);
    let v = v ^ (v >> 14);
    let v = v.wrapping_add(v << 2).wrapping_add(v << 4);
    let v = v ^ (v >> 28);
    v.wrapping_add(v << 31) as u64
}

/// A hash of 64 bits made from the 128 bits of Murmur3.
fn hash_bytes(bytes: &[u8]) -> u64 {
    let mix = |k: u64| k.wrapping_mul(0x87c3_7b91_1142_53d5).rotate_left(31).wrapping_mul(0x4cf5_ad43_2745_937f);
    let (words, tail) = bytes.as_chunks::<8>();
    let word = |h: u64, w: &[u8; 8]| {
        (h ^ mix(u64::from_le_bytes(*w))).rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729)
    };
    let h = words.iter().fold(SEED, word);
    // Zero is mixed to zero.
    let h = h ^ mix(tail.iter().rev().fold(0, |k, b| k << 8 | u64::from(*b)));
    let h = h ^ bytes.len() as u64;
    let h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// A decimal without needless zeros: `-0.5`, `12`, `0`.
fn shortest_text(unscaled: i128, scale: u8) -> String {
    let digits = format!("{:0>1$}", unscaled.unsigned_abs(), usize::from(scale) + 1);
    let (whole, part) = digits.split_at(digits.len() - usize::from(scale));
    let part = part.trim_end_matches('0');
    let (sign, point) = (if unscaled < 0 { "-" } else { "" }, if part.is_empty() { "" } else { "." });
    format!("{sign}{whole}{point}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_decimals() {
        for (unscaled, scale, text) in [
            (0, 0, "0"),
            (0, 3, "0"),
            (1500, 3, "1.5"),
            (-5, 1, "-0.5"),
            (-5, 3, "-0.005"),
            (1200, 2, "12"),
            (100, 0, "100"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            assert_eq!(shortest_text(unscaled, scale), text);
        }
    }

    /// Java: 10,000 values with 5 % of false positives.
    #[test]
    fn sizes_are_javas() {
        let usual = BloomFilter::new(10_000, 0.05);
        assert_eq!((usual.words.len() * 64, usual.hashes), (62_400, 4));
        let smallest = BloomFilter::new(0, 0.999_999);
        assert_eq!((smallest.words.len(), smallest.hashes), (1, 44));
        assert_eq!(BloomFilter::new(u64::MAX, 0.05).words.len() as u64 * 64, MOST_BITS);
    }
}
