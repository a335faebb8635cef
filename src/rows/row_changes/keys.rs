//! Finding the row of the source that a key belongs to.
//!
//! Keys are equal as Spark compares them: NaN equals NaN, -0.0 equals 0.0, and null equals nothing, not even null.

use std::hash::BuildHasher;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::data::deletes::long_keys::{as_longs, fits_longs};
use crate::error::{Error, Result};
use crate::parallel::check_cancelled;

/// The number of keys that are added between two checks for cancellation.
const KEYS_AT_ONCE: usize = 1 << 16;
/// Bits for each key in a bitmap, which excludes most missing keys quickly.
const FILTER_BITS: usize = 16;

/// The rows of the source by their keys.
pub(crate) struct KeyIndex {
    keys: Keys,
    /// Rows of the source by the hash of their key.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    filter: Vec<u64>,
    /// How far a hash is shifted to get the number of its bit.
    shift: u32,
    rows: u32,
}

/// The key of every row of the source. The key of a row with a null in it is not used.
enum Keys {
    /// One column with values that fit 64 bits.
    Longs(Vec<i64>),
    /// Any columns, in Arrow's row format.
    Bytes { converter: RowConverter, bytes: Vec<u8>, ends: Vec<usize> },
}

impl Keys {
    fn bytes(&self, row: u32) -> &[u8] {
        let Keys::Bytes { bytes, ends, .. } = self else { return &[] };
        let row = row as usize;
        let start = row.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
        ends.get(row).and_then(|end| bytes.get(start..*end)).unwrap_or_default()
    }

    fn long(&self, row: u32) -> Option<i64> {
        let Keys::Longs(longs) = self else { return None };
        longs.get(row as usize).copied()
    }
}

impl KeyIndex {
    /// An index of the rows of all batches, which have the key columns alone.
    ///
    /// # Errors
    /// As [`KeyIndex::new`] and [`KeyIndex::add`].
    pub(crate) fn of_batches(batches: &[RecordBatch]) -> Result<KeyIndex> {
        let columns = batches.first().map_or(&[][..], RecordBatch::columns);
        let mut index = KeyIndex::new(&columns.iter().map(|c| c.data_type().clone()).collect::<Vec<_>>())?;
        // A table that grows would move all keys at once, which takes long.
        index.table = HashTable::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        batches.iter().try_for_each(|batch| index.add(batch.columns()))?;
        index.seal()?;
        Ok(index)
    }

    /// An index for keys of columns of these types.
    ///
    /// # Errors
    /// `Unsupported` for types that can't be compared.
    pub(crate) fn new(types: &[DataType]) -> Result<KeyIndex> {
        let keys = match types {
            [ty] if fits_longs(ty) => Keys::Longs(Vec::new()),
            _ => {
                let fields = types.iter().map(|t| SortField::new(t.clone())).collect();
                let converter = RowConverter::new(fields)
                    .map_err(|e| Error::unsupported("a key column has a type that can't be compared").because(e))?;
                Keys::Bytes { converter, bytes: Vec::new(), ends: Vec::new() }
            }
        };
        Ok(KeyIndex {
            keys,
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            filter: Vec::new(),
            shift: 0,
            rows: 0,
        })
    }

    /// Adds the next rows of the source.
    ///
    /// # Errors
    /// `InvalidInput` for a repeated key, and for more than 2³² - 1 rows; a cancellation.
    pub(crate) fn add(&mut self, columns: &[ArrayRef]) -> Result<()> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
        let count = columns.first().map_or(0, |c| c.len());
        let nulls = nulls_of(&columns);
        let first = self.rows;
        let too_many = || Error::invalid("the data has 2^32 rows or more; change the table in several parts");
        self.rows = u32::try_from(count).ok().and_then(|n| first.checked_add(n)).ok_or_else(too_many)?;
        match &mut self.keys {
            Keys::Longs(longs) => {
                let (values, _) = columns.first().and_then(as_longs).ok_or_else(mistyped)?;
                longs.extend_from_slice(&values);
            }
            Keys::Bytes { converter, bytes, ends } => {
                let rows = converter.convert_columns(&columns).map_err(|e| mistyped().because(e))?;
                for row in &rows {
                    bytes.extend_from_slice(row.as_ref());
                    ends.push(bytes.len());
                }
            }
        }
        let KeyIndex { keys, table, hasher, .. } = self;
        let hash = |row: u32| match keys.long(row) {
            Some(long) => hasher.hash_one(long),
            None => hasher.hash_one(keys.bytes(row)),
        };
        let same = |a: u32, b: u32| keys.long(a) == keys.long(b) && keys.bytes(a) == keys.bytes(b);
        for (row, i) in (first..self.rows).zip(0usize..) {
            if i.is_multiple_of(KEYS_AT_ONCE) {
                check_cancelled()?;
            }
            if nulls.as_ref().is_some_and(|n: &NullBuffer| n.is_null(i)) {
                continue;
            }
            let code = hash(row);
            if let Some(other) = table.find(code, |other| same(*other, row)) {
                return Err(Error::invalid("two rows of the data have the same key")
                    .with("rows", format!("{other} and {row}"))
                    .hint("A row of the table can match only one row of the data: remove one of the rows"));
            }
            table.insert_unique(code, row, |other| hash(*other));
        }
        Ok(())
    }

    /// Prepares the index for look-ups, after all rows were added.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn seal(&mut self) -> Result<()> {
        let Keys::Longs(longs) = &self.keys else { return Ok(()) };
        let bits = (self.table.len() * FILTER_BITS).next_power_of_two().max(64);
        (self.filter, self.shift) = (vec![0; bits / 64], 64 - bits.trailing_zeros());
        for (number, row) in self.table.iter().enumerate() {
            if number.is_multiple_of(KEYS_AT_ONCE) {
                check_cancelled()?;
            }
            let bit = bit(longs.get(*row as usize).copied().unwrap_or_default(), self.shift);
            if let Some(word) = self.filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        }
        Ok(())
    }

    /// Calls `found` with each row that has a key of the source, and with the source's row.
    ///
    /// # Errors
    /// `Internal` if the columns are of other types than the index.
    pub(crate) fn find(&self, columns: &[ArrayRef], mut found: impl FnMut(usize, u32)) -> Result<()> {
        let columns: Vec<ArrayRef> = columns.iter().map(canonical).collect();
        let nulls = nulls_of(&columns);
        let is_null = |i: usize| nulls.as_ref().is_some_and(|n| n.is_null(i));
        match &self.keys {
            Keys::Longs(longs) => {
                let (values, _) = columns.first().and_then(as_longs).ok_or_else(mistyped)?;
                for (i, key) in values.iter().copied().enumerate() {
                    if self.may_have(key) && !is_null(i) {
                        let same = |row: &u32| longs.get(*row as usize) == Some(&key);
                        if let Some(row) = self.table.find(self.hasher.hash_one(key), same) {
                            found(i, *row);
                        }
                    }
                }
            }
            Keys::Bytes { converter, .. } => {
                let rows = converter.convert_columns(&columns).map_err(|e| mistyped().because(e))?;
                for (i, key) in rows.iter().enumerate().filter(|(i, _)| !is_null(*i)) {
                    let key = key.as_ref();
                    if let Some(row) = self.table.find(self.hasher.hash_one(key), |row| self.keys.bytes(*row) == key) {
                        found(i, *row);
                    }
                }
            }
        }
        Ok(())
    }

    fn may_have(&self, key: i64) -> bool {
        let bit = bit(key, self.shift);
        self.filter.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

/// Fibonacci hashing. Keys that pass are looked up in the table, which has a hash that nobody can predict.
fn bit(key: i64, shift: u32) -> u64 {
    (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift
}

fn mistyped() -> Error {
    Error::internal("the type of a key column has changed")
}

fn nulls_of(columns: &[ArrayRef]) -> Option<NullBuffer> {
    columns.iter().fold(None, |all, c| NullBuffer::union(all.as_ref(), c.logical_nulls().as_ref()))
}

/// The array with one NaN for all and one zero for both.
fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            Arc::new(floats.unary::<_, Float32Type>(|f| if f.is_nan() { f32::NAN } else { f + 0.0 }))
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            Arc::new(floats.unary::<_, Float64Type>(|f| if f.is_nan() { f64::NAN } else { f + 0.0 }))
        }
        _ => array.clone(),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int32Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;
    use crate::parallel::Cancellation;

    fn found(index: &KeyIndex, columns: &[ArrayRef]) -> Vec<(usize, u32)> {
        let mut out = Vec::new();
        index.find(columns, |row, source| out.push((row, source))).unwrap();
        out
    }

    fn index(columns: &[ArrayRef]) -> Result<KeyIndex> {
        let mut index = KeyIndex::new(&columns.iter().map(|c| c.data_type().clone()).collect::<Vec<_>>())?;
        index.add(columns)?;
        index.seal()?;
        Ok(index)
    }

    #[test]
    fn floats_are_equal_as_spark_compares_them() {
        let keys: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(-0.0), None, Some(1.5)]));
        let rows: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), Some(-f64::NAN), Some(0.0), None]));
        assert_eq!(
            found(&index(std::slice::from_ref(&keys)).unwrap(), std::slice::from_ref(&rows)),
            [(0, 3), (1, 0), (2, 1)]
        );
        let names: ArrayRef = Arc::new(StringArray::from(vec!["a"; 4]));
        let both = index(&[keys, names.clone()]).unwrap();
        assert_eq!(found(&both, &[rows, names]), [(0, 3), (1, 0), (2, 1)]);
    }

    #[test]
    fn equal_keys_are_refused_but_not_nulls() {
        let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0]));
        assert_eq!(index(&[zeros]).err().unwrap().kind(), crate::error::ErrorKind::InvalidInput);
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None, None, Some(1)]));
        assert_eq!(found(&index(std::slice::from_ref(&nulls)).unwrap(), &[nulls]), [(2, 2)]);
    }

    #[test]
    fn a_cancelled_index_stops_within_some_keys() {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200_000));
        let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
        let batches = [batch.slice(0, 150_000), batch.slice(150_000, 50_000)];
        let all = Cancellation::checks_in(|| drop(KeyIndex::of_batches(&batches).unwrap()));
        assert!(all >= 2 * 200_000 / KEYS_AT_ONCE, "{all}");
        for checks in 0..all {
            let stopped = Cancellation::after(checks).scope(|| KeyIndex::of_batches(&batches).map(drop));
            assert_eq!(stopped.unwrap_err().message(), "stopped");
        }
    }

    proptest! {
        #[test]
        fn as_a_look_at_every_key_says(
            keys in prop::collection::btree_set((-30i64..30, -2i32..2), 0..40),
            rows in prop::collection::vec((prop::option::of(-35i64..35), -2i32..2), 0..60),
            spread in prop::sample::select(vec![1i64, 1 << 40]),
        ) {
            let keys: Vec<(i64, i32)> = keys.into_iter().collect();
            let long = |n: i64| n * spread;
            let first: ArrayRef = Arc::new(Int64Array::from_iter_values(keys.iter().map(|k| long(k.0))));
            let second: ArrayRef = Arc::new(Int32Array::from_iter_values(keys.iter().map(|k| k.1)));
            let columns: [ArrayRef; 2] = [
                Arc::new(rows.iter().map(|r| r.0.map(long)).collect::<Int64Array>()),
                Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.1))),
            ];
            let at = |row: &(Option<i64>, i32)| keys.iter().position(|k| Some(k.0) == row.0 && k.1 == row.1);
            let expected: Vec<_> =
                rows.iter().enumerate().filter_map(|(i, row)| Some((i, u32::try_from(at(row)?).unwrap()))).collect();
            prop_assert_eq!(found(&index(&[first.clone(), second]).unwrap(), &columns), expected);
            let distinct: std::collections::BTreeSet<i64> = keys.iter().map(|k| k.0).collect();
            let distinct: Vec<i64> = distinct.into_iter().collect();
            let only: ArrayRef = Arc::new(Int64Array::from_iter_values(distinct.iter().map(|k| long(*k))));
            let at = |row: &(Option<i64>, i32)| distinct.iter().position(|k| Some(*k) == row.0);
            let expected: Vec<_> =
                rows.iter().enumerate().filter_map(|(i, row)| Some((i, u32::try_from(at(row)?).unwrap()))).collect();
            prop_assert_eq!(found(&index(&[only]).unwrap(), &columns[..1]), expected);
        }
    }
}
