//! Sets of keys of one column whose values fit 64 bits: integers, dates, times, floats.
//!
//! The keys of a delete file are mostly close to each other, and so are those of a batch of rows. So each batch uses
//! only the keys between its least and its greatest key. If rows ascend by one, as generated ids do, a key gives its
//! row. Otherwise dense keys become a bitmap, and other keys become a hash set with a bitmap of hashes in front. If
//! that range has more keys than the batch has rows, all keys are put into one such set, once for all batches.

use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::data::step_sort::sort_in_steps;
use crate::error::Result;
use crate::parallel::check_cancelled;

/// A batch may have this many bits of a bitmap for each of its rows.
const DENSE_BITS: u64 = 32;
/// The number of keys that are put into a set between two checks for cancellation.
const KEYS_AT_ONCE: usize = 1 << 16;
/// Bits for each key in a bitmap of hashes.
const FILTER_BITS: usize = 16;

/// The values of a column as longs that are equal exactly for equal values; `None` for other types. One NaN stands for
/// all.
pub(crate) fn as_longs(array: &ArrayRef) -> Option<(ScalarBuffer<i64>, Option<&NullBuffer>)> {
    let widened = |values: &ScalarBuffer<i32>| values.iter().map(|v| i64::from(*v)).collect();
    let longs: ScalarBuffer<i64> = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values().clone(),
        DataType::Time64(TimeUnit::Microsecond) => array.as_primitive::<Time64MicrosecondType>().values().clone(),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().values().clone()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().values().clone()
        }
        DataType::Int32 => widened(array.as_primitive::<Int32Type>().values()),
        DataType::Date32 => widened(array.as_primitive::<Date32Type>().values()),
        DataType::Float32 => {
            let bits = |f: &f32| i64::from(if f.is_nan() { f32::NAN.to_bits() } else { f.to_bits() });
            array.as_primitive::<Float32Type>().values().iter().map(bits).collect()
        }
        DataType::Float64 => {
            let bits = |f: &f64| (if f.is_nan() { f64::NAN.to_bits() } else { f.to_bits() }) as i64;
            array.as_primitive::<Float64Type>().values().iter().map(bits).collect()
        }
        _ => return None,
    };
    Some((longs, array.nulls()))
}

/// Whether keys of one column of this type are kept as longs.
pub(crate) fn fits_longs(ty: &DataType) -> bool {
    as_longs(&arrow::array::new_empty_array(ty)).is_some()
}

/// The distinct keys of a delete file.
#[derive(Debug, Default)]
pub(crate) struct LongKeys {
    /// Ascending.
    keys: Vec<i64>,
    has_null: bool,
}

impl LongKeys {
    /// Makes a set of keys that come in any order and may repeat.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn new(keys: Vec<i64>, has_null: bool) -> Result<LongKeys> {
        let mut keys = sort_in_steps(keys)?;
        keys.dedup();
        keys.shrink_to_fit();
        Ok(LongKeys { keys, has_null })
    }

    /// Bytes it takes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.keys.capacity() as u64 * 8
    }

    /// The keys from `least` to `greatest`. The search begins where the last one ended: batches of a file often ascend.
    fn between(&self, least: i64, greatest: i64, ended: &AtomicUsize) -> &[i64] {
        let start = ascent(&self.keys, ended.load(Relaxed), |k| k < least);
        let end = ascent(&self.keys, start, |k| k <= greatest);
        ended.store(end, Relaxed);
        self.keys.get(start..end).unwrap_or_default()
    }
}

/// The number of ascending keys that are `below` a limit. The search doubles its steps from `start` on.
fn ascent(keys: &[i64], start: usize, below: impl Fn(i64) -> bool) -> usize {
    let start = start.min(keys.len());
    let (before, behind) = keys.split_at(start);
    if before.last().is_some_and(|k| !below(*k)) {
        return before.partition_point(|k| below(*k));
    }
    let mut step = 1;
    while behind.get(step - 1).is_some_and(|k| below(*k)) {
        step *= 2;
    }
    let known = step / 2;
    let rest = behind.get(known..step.min(behind.len())).unwrap_or_default();
    start + known + rest.partition_point(|k| below(*k))
}

/// The keys of a delete file, and the place where a reader's last search in them ended.
pub(crate) type Searched<'a> = (&'a LongKeys, &'a AtomicUsize);

/// The rows of `mask` whose key is in no set. `union` returns all keys of the sets.
///
/// # Errors
/// The errors of `union`.
pub(crate) fn keep(
    sets: &[Searched<'_>],
    union: impl FnOnce() -> Result<Arc<LongSet>>,
    longs: &[i64],
    nulls: Option<&NullBuffer>,
    mask: BooleanBuffer,
) -> Result<BooleanBuffer> {
    let has_null = || sets.iter().any(|(keys, _)| keys.has_null);
    let is_run = nulls.is_none_or(|n| n.null_count() == 0) && ascend_by_one(longs);
    let found = if is_run { longs.first().copied().zip(longs.last().copied()) } else { range(longs, nulls) };
    let Some((least, greatest)) = found else {
        return Ok(if has_null() { BooleanBuffer::new_unset(mask.len()) } else { mask });
    };
    let in_range = sets.iter().map(|(keys, ended)| keys.between(least, greatest, ended));
    let in_range: Vec<&[i64]> = in_range.filter(|keys| !keys.is_empty()).collect();
    let count: usize = in_range.iter().map(|s| s.len()).sum();
    let width = greatest.abs_diff(least).saturating_add(1);
    let unless = |is_deleted: &dyn Fn(&[i64]) -> BooleanBuffer| &mask & &is_deleted(longs);
    let kept = if count == 0 {
        mask.clone()
    } else if is_run {
        without(&mask, &in_range, least)
    } else if width <= DENSE_BITS * longs.len() as u64 {
        let bitmap = Bitmap::of(&in_range, least, width);
        unless(&|longs| {
            BooleanBuffer::collect_bool(longs.len(), |i| !bitmap.contains(longs[i].wrapping_sub(least) as u64))
        })
    } else {
        let set = if count <= longs.len() { Arc::new(LongSet::of(&in_range)?) } else { union()? };
        unless(&|longs| BooleanBuffer::collect_bool(longs.len(), |i| !set.contains(longs[i])))
    };
    Ok(match nulls {
        None => kept,
        // Null is a key like any other. The value in a null slot is not a key.
        Some(nulls) if has_null() => &kept & nulls.inner(),
        Some(nulls) => &kept | &(&mask & &!nulls.inner()),
    })
}

/// Whether each key is one more than the key before it.
fn ascend_by_one(longs: &[i64]) -> bool {
    let (Some(first), Some(last)) = (longs.first(), longs.last()) else { return false };
    // The fold does not stop early, so that the compiler can use vector instructions.
    first.checked_add(longs.len() as i64 - 1) == Some(*last)
        && longs.iter().enumerate().fold(true, |all, (i, key)| all & (*key == first.wrapping_add(i as i64)))
}

/// The mask without the rows of these keys. The first row has the key `least`, and each other row one more than the row
/// before.
fn without(mask: &BooleanBuffer, keys: &[&[i64]], least: i64) -> BooleanBuffer {
    let mut left = BooleanBufferBuilder::new(mask.len());
    left.append_buffer(mask);
    for key in keys.iter().copied().flatten() {
        left.set_bit(key.wrapping_sub(least) as usize, false);
    }
    left.finish()
}

/// The least and the greatest key that is not null.
fn range(longs: &[i64], nulls: Option<&NullBuffer>) -> Option<(i64, i64)> {
    let all = |(least, greatest): (i64, i64), k: i64| (least.min(k), greatest.max(k));
    let none = (i64::MAX, i64::MIN);
    let (least, greatest) = match nulls.filter(|n| n.null_count() > 0) {
        None => longs.iter().copied().fold(none, all),
        Some(nulls) => nulls.valid_indices().filter_map(|i| longs.get(i).copied()).fold(none, all),
    };
    (least <= greatest).then_some((least, greatest))
}

/// A bit for each number of a range.
struct Bitmap(Vec<u64>);

impl Bitmap {
    fn of(slices: &[&[i64]], least: i64, width: u64) -> Bitmap {
        let mut words = vec![0u64; (width / 64 + 1) as usize];
        for key in slices.iter().copied().flatten() {
            let at = key.wrapping_sub(least) as u64;
            if let Some(word) = words.get_mut((at / 64) as usize) {
                *word |= 1 << (at % 64);
            }
        }
        Bitmap(words)
    }

    fn contains(&self, at: u64) -> bool {
        self.0.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// A hash set with a bitmap of hashes in front, which quickly excludes most missing keys.
#[derive(Debug, Default)]
pub(crate) struct LongSet {
    filter: Vec<u64>,
    /// The shift that turns a hash into a bit's number.
    shift: u32,
    table: HashTable<i64>,
    hasher: DefaultHashBuilder,
}

impl LongSet {
    /// All keys of the sets.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn union<'a>(sets: impl Iterator<Item = &'a LongKeys>) -> Result<LongSet> {
        LongSet::of(&sets.map(|s| s.keys.as_slice()).collect::<Vec<_>>())
    }

    /// Bytes it takes in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.filter.capacity() * 8 + self.table.capacity() * 10) as u64
    }

    fn of(slices: &[&[i64]]) -> Result<LongSet> {
        let count: usize = slices.iter().map(|s| s.len()).sum();
        let bits = (count * FILTER_BITS).next_power_of_two().max(64);
        let mut set = LongSet {
            filter: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
            table: HashTable::with_capacity(count),
            hasher: DefaultHashBuilder::default(),
        };
        for (number, &key) in slices.iter().copied().flatten().enumerate() {
            if number.is_multiple_of(KEYS_AT_ONCE) {
                check_cancelled()?;
            }
            let bit = set.bit(key);
            if let Some(word) = set.filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
            let LongSet { table, hasher, .. } = &mut set;
            let hash = hasher.hash_one(key);
            table.entry(hash, |k| *k == key, |k| hasher.hash_one(*k)).or_insert(key);
        }
        Ok(set)
    }

    /// This is Fibonacci hashing. Keys that pass are looked up in the table, whose hash nobody can predict.
    fn bit(&self, key: i64) -> u64 {
        (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift
    }

    fn contains(&self, key: i64) -> bool {
        let bit = self.bit(key);
        self.filter.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
            && self.table.find(self.hasher.hash_one(key), |k| *k == key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use arrow::array::{Float64Array, Int64Array};
    use proptest::prelude::*;

    use super::*;

    /// The rows that `keep` leaves, and whether it used the union.
    fn kept(sets: &[Vec<Option<i64>>], rows: &[Option<i64>], last_ended: usize) -> (Vec<bool>, bool) {
        kept_of(sets, &(Arc::new(Int64Array::from(rows.to_vec())) as ArrayRef), last_ended)
    }

    fn kept_of(sets: &[Vec<Option<i64>>], array: &ArrayRef, last_ended: usize) -> (Vec<bool>, bool) {
        let sets: Vec<LongKeys> = sets
            .iter()
            .map(|keys| LongKeys::new(keys.iter().flatten().copied().collect(), keys.contains(&None)).unwrap())
            .collect();
        let ended: Vec<AtomicUsize> = sets.iter().map(|_| AtomicUsize::new(last_ended)).collect();
        let sets: Vec<Searched<'_>> = sets.iter().zip(&ended).collect();
        let (longs, nulls) = as_longs(array).unwrap();
        let asked = Cell::new(false);
        let union = || {
            asked.set(true);
            LongSet::union(sets.iter().map(|(keys, _)| *keys)).map(Arc::new)
        };
        // Rows that are already deleted stay deleted. The mask is a slice of another mask.
        let mask = BooleanBuffer::collect_bool(array.len() + 3, |i| i < 3 || (i - 3) % 7 != 6).slice(3, array.len());
        let kept = keep(&sets, union, &longs, nulls, mask).unwrap();
        (kept.iter().collect(), asked.get())
    }

    fn expected(sets: &[Vec<Option<i64>>], rows: &[Option<i64>]) -> Vec<bool> {
        let is_left = |(i, row): (usize, &Option<i64>)| i % 7 != 6 && !sets.iter().any(|set| set.contains(row));
        rows.iter().enumerate().map(is_left).collect()
    }

    #[test]
    fn dense_sparse_and_many_keys() {
        let dense: Vec<Option<i64>> = (0..1000).map(|i| Some(i64::MAX - i)).collect();
        let sparse: Vec<Option<i64>> = (0..1000).map(|i: i64| Some(i.wrapping_mul(0x1234_5678_9abc_def1))).collect();
        let wide = vec![Some(i64::MIN), Some(i64::MAX), None, Some(0)];
        assert!(kept(std::slice::from_ref(&sparse), &wide, 0).1);
        assert!(!kept(&[sparse.clone(), dense.clone()], &dense, 0).1);
        let ascending: Vec<Option<i64>> = (0..1000).map(|i| Some(i64::MAX - 1400 + i)).collect();
        let with_gap = ascending.iter().map(|key| key.filter(|k| k % 50 != 7)).collect();
        for rows in [&dense, &sparse, &wide, &ascending, &with_gap, &vec![None; 9], &vec![]] {
            for sets in
                [vec![], vec![dense.clone()], vec![sparse.clone(), wide.clone()], vec![wide.clone(), dense.clone()]]
            {
                let (found, asked) = kept(&sets, rows, sets.len() * 300);
                assert_eq!(found, expected(&sets, rows));
                let many = sets.iter().map(Vec::len).sum::<usize>() > rows.len();
                assert!(many || !asked, "the union is for more keys than rows");
            }
        }
    }

    #[test]
    fn floats_are_equal_as_java_compares_them() {
        let array: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, -f64::NAN, 0.0, -0.0, 1.5]));
        let (longs, _) = as_longs(&array).unwrap();
        assert_eq!(longs[0], longs[1]);
        assert_ne!(longs[2], longs[3]);
        assert_eq!(longs[4] as u64, 1.5f64.to_bits());
    }

    proptest! {
        #[test]
        fn as_a_look_at_every_key_says(
            sets in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, -40i64..40), 0..30), 0..4),
            rows in prop::collection::vec(prop::option::weighted(0.9, -40i64..40), 0..50),
            spread in prop::sample::select(vec![1, 1 << 20, 1 << 57]),
            sorts in any::<bool>(),
            last_ended in 0..40usize,
        ) {
            let wide = |keys: &Vec<Option<i64>>| keys.iter().map(|k| k.map(|k| k * spread)).collect::<Vec<_>>();
            let (sets, mut rows) = (sets.iter().map(wide).collect::<Vec<_>>(), wide(&rows));
            if sorts {
                rows.sort_unstable();
                rows.dedup();
            }
            prop_assert_eq!(kept(&sets, &rows, last_ended).0, expected(&sets, &rows));
        }

        #[test]
        fn of_ascending_rows_too(
            sets in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, 0i64..90), 0..30), 1..4),
            first in prop::sample::select(vec![i64::MIN, -20, i64::MAX - 90]),
            valid in prop::collection::vec(prop::bool::weighted(0.9), 30..80),
            has_nulls in any::<bool>(),
            offset in 0..20usize,
        ) {
            let from_first = |keys: &Vec<Option<i64>>| keys.iter().map(|k| k.map(|k| first + k)).collect::<Vec<_>>();
            let sets: Vec<_> = sets.iter().map(from_first).collect();
            // Null slots hold the next number as well.
            let nulls = has_nulls.then(|| NullBuffer::from(valid.clone()));
            let rows = Int64Array::new((first..).take(valid.len()).collect(), nulls).slice(offset, valid.len() - offset);
            let values: Vec<Option<i64>> = rows.iter().collect();
            prop_assert_eq!(kept_of(&sets, &(Arc::new(rows) as ArrayRef), 7).0, expected(&sets, &values));
        }
    }
}
