//! Deleted rows in a form for engines to look up: one number for 64 rows of a file, with a bit for each row.
//!
//! Rows of a file follow each other. So after the first of 64 rows, the lookups hit the processor's nearest cache. With
//! one entry for each row, lookups would be spread over a large table.

use std::sync::Arc;

use arrow::array::Int64Array;
use arrow::record_batch::RecordBatch;

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};
use crate::rows::native_read::deleted_schema;

/// Bits of the number that 64 rows have in their file. It is packed with the file's number.
pub const WORD_BITS: u32 = 34;

/// Rows of a word, as a power of two.
const ROWS_SHIFT: u32 = 6;

/// Deleted rows of some files.
#[derive(Debug, Default)]
pub(crate) struct DeletedRows {
    words: Vec<i64>,
    masks: Vec<i64>,
    count: u64,
}

impl DeletedRows {
    /// The number of rows.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds the rows of a file. Each file needs its own number.
    ///
    /// # Errors
    /// `Unsupported` if the file's number or a position does not fit; nothing is added then.
    pub(crate) fn add(&mut self, number: usize, positions: &PositionSet) -> Result<()> {
        let before = self.words.len();
        let added = positions.iter().try_for_each(|position| self.add_row(number, position));
        match added {
            Ok(()) => self.count += positions.len(),
            Err(_) => {
                self.words.truncate(before);
                self.masks.truncate(before);
            }
        }
        added
    }

    /// Adds a row after the earlier ones.
    fn add_row(&mut self, number: usize, position: u64) -> Result<()> {
        let (word, bit) = (packed(number, position >> ROWS_SHIFT)?, position & ((1 << ROWS_SHIFT) - 1));
        if self.words.last() != Some(&word) {
            self.words.push(word);
            self.masks.push(0);
        }
        if let Some(mask) = self.masks.last_mut() {
            *mask |= 1i64 << bit;
        }
        Ok(())
    }

    /// All rows, in the schema [`deleted_schema`].
    ///
    /// # Errors
    /// No error is expected.
    pub(crate) fn into_batch(self) -> Result<RecordBatch> {
        let columns = [self.words, self.masks].map(|column| Arc::new(Int64Array::from(column)) as _);
        RecordBatch::try_new(deleted_schema(), columns.into())
            .map_err(|e| Error::internal("deleted rows make no batch").because(e))
    }
}

/// Packs the number of a file and the number of a group of 64 rows into one integer, which is not negative.
fn packed(number: usize, word: u64) -> Result<i64> {
    let number = i64::try_from(number).ok().filter(|n| *n < 1 << (i64::BITS - 1 - WORD_BITS));
    let word = i64::try_from(word).ok().filter(|w| *w < 1 << WORD_BITS);
    match (number, word) {
        (Some(number), Some(word)) => Ok(number << WORD_BITS | word),
        _ => Err(Error::unsupported("a file has more rows than can be numbered, or there are too many files")),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;
    use proptest::prelude::*;

    use super::*;

    fn set(positions: &[i64]) -> PositionSet {
        let mut set = PositionSet::default();
        set.extend(positions).unwrap();
        set
    }

    /// File and position of each row, read from the batch as an engine reads it.
    fn rows(batch: &RecordBatch) -> Vec<(i64, i64)> {
        let column = |name| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec();
        let of = |(word, mask): (i64, i64)| {
            let bits = (0..64).filter(move |bit| mask >> bit & 1 == 1);
            bits.map(move |bit| (word >> WORD_BITS, (word & ((1 << WORD_BITS) - 1)) << 6 | bit))
        };
        column("word").into_iter().zip(column("mask")).flat_map(of).collect()
    }

    #[test]
    fn sixty_four_rows_share_a_word() {
        let mut deleted = DeletedRows::default();
        deleted.add(0, &set(&[0, 1, 63, 64])).unwrap();
        deleted.add(1, &set(&[64, (1 << 40) - 1])).unwrap();
        assert_eq!(deleted.count(), 6);
        assert_eq!(deleted.words, [0, 1, 1 << 34 | 1, 1 << 34 | ((1 << 34) - 1)]);
        assert_eq!(deleted.masks, [i64::MIN | 3, 1, 1, i64::MIN]);
    }

    #[test]
    fn what_does_not_fit_adds_nothing() {
        let mut deleted = DeletedRows::default();
        deleted.add(7, &set(&[5])).unwrap();
        assert!(deleted.add(8, &set(&[5, 1 << 40])).is_err());
        assert!(deleted.add(1 << 29, &set(&[5])).is_err());
        deleted.add((1 << 29) - 1, &set(&[0])).unwrap();
        assert_eq!(rows(&deleted.into_batch().unwrap()), [(7, 5), ((1 << 29) - 1, 0)]);
    }

    proptest! {
        #[test]
        fn all_rows_are_there_and_no_others(
            files in prop::collection::vec(prop::collection::btree_set(0i64..1000, 0..200), 0..5),
            far in 0i64..1 << 39,
        ) {
            let (mut deleted, mut expected) = (DeletedRows::default(), Vec::new());
            for (number, positions) in files.iter().enumerate() {
                let positions: Vec<i64> = positions.iter().map(|p| p + far).collect();
                deleted.add(number, &set(&positions)).unwrap();
                expected.extend(positions.iter().map(|p| (number as i64, *p)));
            }
            prop_assert_eq!(deleted.count(), expected.len() as u64);
            let batch = deleted.into_batch().unwrap();
            prop_assert_eq!(rows(&batch), expected);
            let mut words = batch.column(0).as_primitive::<Int64Type>().values().to_vec();
            words.dedup();
            prop_assert_eq!(words.len(), batch.num_rows());
        }
    }
}
