//! Theta sketches: estimates of the number of distinct values, stored as blobs in statistics files.
//!
//! An [`AlphaSketch`] takes values one by one and keeps about 4,096 of their hashes. [`ThetaSketch`] is the result: the
//! hashes below a threshold, theta. Theta is the share of all possible hashes that are kept. Sketches of parts can be
//! united to a sketch of the whole, in any order.
//!
//! ```
//! use frazil::codec::theta::AlphaSketch;
//!
//! let mut sketch = AlphaSketch::default();
//! for word in ["a", "b", "a"] {
//!     sketch.update(word.as_bytes());
//! }
//! assert_eq!(sketch.finish().estimate(), 2.0);
//! ```
//!
//! Source: Puffin specification, "apache-datasketches-theta-v1"; the Apache DataSketches documentation, "Theta Sketch
//! Framework" (Alpha sketch, union, compact serialised form); Austin Appleby's MurmurHash3.

use hashbrown::HashSet;

use crate::error::{Error, Result};

/// The type of these blobs.
pub const THETA_SKETCH: &str = "apache-datasketches-theta-v1";

/// The approximate number of hashes in a sketch: DataSketches' default.
const NOMINAL: usize = 4096;

/// The initial theta, above every hash of 63 bits: nothing has been left out.
const ALL: u64 = i64::MAX as u64;

/// DataSketches' default seed of hashes.
const SEED: u64 = 9001;

/// Identifies the seed in the serialised form: 16 bits of the hash of [`SEED`].
const SEED_HASH: u16 = 0x93cc;

/// The number of entries at which hashes above theta are removed.
const CROWDED: usize = 2 * NOMINAL;

/// A sketch that takes values. When it has enough values, each new one lowers theta by a fixed factor. So no value
/// costs more than a look-up.
#[derive(Clone, Debug)]
pub struct AlphaSketch {
    /// Hashes that were below theta when they were added.
    hashes: HashSet<u64, AsIs>,
    theta: u64,
    entered: usize,
}

impl Default for AlphaSketch {
    fn default() -> Self {
        AlphaSketch { hashes: HashSet::default(), theta: ALL, entered: 0 }
    }
}

impl AlphaSketch {
    /// Adds a value by its bytes. A value without bytes does not count, as in DataSketches.
    #[inline]
    pub fn update(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.enter(murmur3_low(bytes) >> 1);
        }
    }

    #[inline]
    fn enter(&mut self, hash: u64) {
        if hash >= self.theta || hash == 0 || !self.hashes.insert(hash) {
            return;
        }
        self.entered += 1;
        if self.entered > NOMINAL {
            const ALPHA: f64 = NOMINAL as f64 / (NOMINAL as f64 + 1.0);
            self.theta = (self.theta as f64 * ALPHA) as u64;
            if self.hashes.len() >= CROWDED {
                let theta = self.theta;
                self.hashes.retain(|h| *h < theta);
            }
        }
    }

    /// The sketch of the values so far.
    pub fn finish(self) -> ThetaSketch {
        ThetaSketch::of(self.hashes.into_iter().collect(), self.theta)
    }
}

/// A complete sketch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThetaSketch {
    /// Ascending, below theta.
    hashes: Vec<u64>,
    theta: u64,
}

impl Default for ThetaSketch {
    fn default() -> Self {
        ThetaSketch { hashes: Vec::new(), theta: ALL }
    }
}

impl ThetaSketch {
    /// A sketch of the hashes below `theta`. If there are too many, lowers theta until the rest fits.
    fn of(mut hashes: Vec<u64>, mut theta: u64) -> ThetaSketch {
        hashes.retain(|h| *h < theta);
        hashes.sort_unstable();
        hashes.dedup();
        if let Some(first_too_many) = hashes.get(NOMINAL) {
            theta = *first_too_many;
            hashes.truncate(NOMINAL);
        }
        ThetaSketch { hashes, theta }
    }

    /// The sketch of all values of both.
    #[must_use]
    pub fn union(mut self, other: ThetaSketch) -> ThetaSketch {
        self.hashes.extend(other.hashes);
        ThetaSketch::of(self.hashes, self.theta.min(other.theta))
    }

    /// The number of distinct values. Exact up to 4,096; above that, within 5 % with 99.7 % confidence.
    pub fn estimate(&self) -> f64 {
        self.hashes.len() as f64 * (i64::MAX as f64 / self.theta as f64)
    }

    /// Decodes a serialised sketch. It may be compact, in any order, or still accepting values.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes are not a sketch, or its values were hashed with another seed. `Unsupported` for
    /// versions of the form before 3, and for compressed sketches.
    pub fn from_bytes(bytes: &[u8]) -> Result<ThetaSketch> {
        const COMPACT: u8 = 3;
        const EMPTY: u8 = 4;
        let short = || Error::corrupt(format!("a theta sketch of {} bytes is cut off", bytes.len()));
        let ([longs, version, family, _, table, flags, seed @ ..], _) =
            bytes.split_first_chunk::<8>().ok_or_else(short)?;
        if *version != 3 {
            return Err(Error::unsupported(format!("a theta sketch of version {version} can't be read")));
        }
        if !(1..=COMPACT).contains(family) {
            return Err(Error::corrupt("a value is not a theta sketch"));
        }
        if flags & EMPTY != 0 {
            return Ok(ThetaSketch::default());
        }
        if u16::from_le_bytes(*seed) != SEED_HASH {
            return Err(Error::corrupt("a theta sketch was made with another seed"));
        }
        // In longs: count, theta. A compact sketch without a count has one hash.
        let longs = usize::from(longs & 0x3f);
        let long = |at: usize| bytes.get(8 * at..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
        let count = if longs < 2 { 1 } else { long(1).ok_or_else(short)? as u32 as usize };
        let theta = if longs < 3 { ALL } else { long(2).ok_or_else(short)? };
        let is_table = *family != COMPACT;
        let entries = if is_table { 1usize.checked_shl(u32::from(*table)).unwrap_or(usize::MAX) } else { count };
        let end = entries.checked_add(longs.max(1)).filter(|end| *end <= bytes.len() / 8).ok_or_else(short)?;
        // Free places of a table hold zero.
        let hashes: Vec<u64> = (longs.max(1)..end).filter_map(long).filter(|h| !is_table || *h != 0).collect();
        if theta > ALL || hashes.iter().any(|h| *h == 0 || *h > ALL) {
            return Err(Error::corrupt("a theta sketch has impossible hashes"));
        }
        Ok(ThetaSketch::of(hashes, theta))
    }

    /// The serialised form: compact, in order.
    pub fn to_bytes(&self) -> Vec<u8> {
        const VERSION: u8 = 3;
        const FAMILY_COMPACT: u8 = 3;
        const READ_ONLY_COMPACT_ORDERED: u8 = 2 | 8 | 16;
        const EMPTY: u8 = 4;
        const SINGLE: u8 = 32;
        let exact = self.theta == ALL;
        let (longs, flag) = match (exact, self.hashes.len()) {
            (true, 0) => (1, EMPTY),
            (true, 1) => (1, SINGLE),
            (true, _) => (2, 0),
            (false, _) => (3, 0),
        };
        let mut out = vec![longs, VERSION, FAMILY_COMPACT, 0, 0, READ_ONLY_COMPACT_ORDERED | flag];
        out.extend(if flag == EMPTY { 0 } else { SEED_HASH }.to_le_bytes());
        if longs > 1 {
            out.extend((self.hashes.len() as u32).to_le_bytes());
            // The share of values that were sampled.
            out.extend(1.0f32.to_le_bytes());
        }
        if longs > 2 {
            out.extend(self.theta.to_le_bytes());
        }
        out.extend(self.hashes.iter().flat_map(|h| h.to_le_bytes()));
        out
    }
}

/// The values are hashes already, so they are not hashed again.
#[derive(Clone, Copy, Debug, Default)]
struct AsIs;

impl std::hash::BuildHasher for AsIs {
    type Hasher = Known;

    fn build_hasher(&self) -> Known {
        Known(0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Known(u64);

impl std::hash::Hasher for Known {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0.rotate_left(8) ^ u64::from(*b));
    }

    /// The table uses the highest and the lowest bits. All hashes below theta share their highest bits, so the lower
    /// half is mixed into the upper half.
    fn write_u64(&mut self, v: u64) {
        self.0 = v ^ (v << 32);
    }
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

#[inline]
fn mix_k1(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline]
fn mix_k2(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

#[inline]
fn mix_end(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// The first 64 bits of 128-bit Murmur3 (x64) with [`SEED`].
#[inline]
fn murmur3_low(bytes: &[u8]) -> u64 {
    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut h1, mut h2) = (SEED, SEED);
    for block in blocks {
        let word = u128::from_le_bytes(*block);
        h1 = (h1 ^ mix_k1(word as u64)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ mix_k2((word >> 64) as u64)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let mut last = [0; 16];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    // An empty tail changes nothing.
    let word = u128::from_le_bytes(last);
    h1 ^= mix_k1(word as u64);
    h2 ^= mix_k2((word >> 64) as u64);
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    mix_end(h1).wrapping_add(mix_end(h2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sketch(values: std::ops::Range<u64>) -> ThetaSketch {
        let mut out = AlphaSketch::default();
        values.for_each(|v| out.update(&v.to_le_bytes()));
        out.finish()
    }

    #[test]
    fn the_seed_hash_is_that_of_the_seed() {
        let oracle = murmur3::murmur3_x64_128(&mut std::io::Cursor::new(SEED.to_le_bytes()), 0).unwrap();
        assert_eq!(oracle as u16, SEED_HASH);
    }

    #[test]
    fn what_is_no_sketch_is_refused() {
        let bytes = sketch(0..3).to_bytes();
        for end in 0..bytes.len() {
            assert!(ThetaSketch::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for (at, byte) in [(1, 4), (2, 9), (6, 0), (8, 255), (15, 255)] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            assert_eq!(ThetaSketch::from_bytes(&wrong).is_err(), at != 15, "{at}");
        }
        assert!(ThetaSketch::from_bytes(&[3, 3, 2, 12, 63, 0, 0xcc, 0x93, 0, 0, 0, 0, 0, 0, 128, 63]).is_err());
    }

    #[test]
    fn few_values_are_counted() {
        assert_eq!(sketch(0..0), ThetaSketch::default());
        assert_eq!(sketch(0..0).to_bytes(), [1, 3, 3, 0, 0, 30, 0, 0]);
        let one = sketch(5..6);
        assert_eq!(one.to_bytes()[..8], [1, 3, 3, 0, 0, 58, 0xcc, 0x93]);
        assert_eq!(one.to_bytes().len(), 16);
        for n in [1, 2, 100, 4096] {
            assert_eq!(sketch(0..n).union(sketch(n / 2..n)).estimate(), n as f64);
        }
        let mut empty = AlphaSketch::default();
        empty.update(b"");
        assert_eq!(empty.finish().estimate(), 0.0);
    }

    #[test]
    fn many_values_are_estimated() {
        for n in [5_000u64, 100_000, 1_000_000] {
            let whole = sketch(0..n);
            assert!((whole.estimate() / n as f64 - 1.0).abs() < 0.05, "{n}: {}", whole.estimate());
            assert!(whole.hashes.len() <= NOMINAL);
            let parts = sketch(0..n / 3).union(sketch(n / 4..n / 2)).union(sketch(n / 2..n));
            assert!((parts.estimate() / n as f64 - 1.0).abs() < 0.05, "{n}: {}", parts.estimate());
            let bytes = whole.to_bytes();
            assert_eq!(bytes.len(), 24 + 8 * whole.hashes.len());
            assert_eq!(bytes[..8], [3, 3, 3, 0, 0, 26, 0xcc, 0x93]);
        }
    }

    proptest! {
        #[test]
        fn hashes_equal_the_murmur3_crate(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
            let oracle = murmur3::murmur3_x64_128(&mut std::io::Cursor::new(&bytes), SEED as u32).unwrap();
            prop_assert_eq!(murmur3_low(&bytes), oracle as u64);
        }

        #[test]
        fn unions_do_not_depend_on_the_order(parts in proptest::collection::vec((0u64..20_000, 0u64..9_000), 1..5)) {
            let of = |(start, count): &(u64, u64)| sketch(*start..start + count);
            let forth = parts.iter().map(of).fold(ThetaSketch::default(), ThetaSketch::union);
            let back = parts.iter().rev().map(of).fold(ThetaSketch::default(), |a, b| b.union(a));
            prop_assert_eq!(&forth, &back);
            prop_assert_eq!(ThetaSketch::from_bytes(&forth.to_bytes()).unwrap(), forth);
        }
    }
}
