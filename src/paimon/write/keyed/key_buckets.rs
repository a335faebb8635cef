//! The bucket of every row of a table with a primary key.

use std::sync::{Arc, Mutex};

use arrow::array::{Int32Array, RecordBatch};

use super::dynamic_buckets::DynamicBuckets;
use super::key_places::KeyPlaces;
use crate::error::Result;
use crate::paimon::write::buckets::RowBuckets;
use crate::parallel::locked;

/// How the bucket of rows is determined.
#[derive(Clone)]
pub(crate) enum KeyBuckets {
    /// By the hash of the key alone.
    Fixed(RowBuckets),
    /// By the place of the key in its partition.
    Dynamic(Arc<Mutex<DynamicBuckets>>),
    /// By the place of the key in any partition.
    Anywhere(Arc<Mutex<KeyPlaces>>),
    /// Not yet.
    Postponed,
}

/// Rows with their places: all rows that are written for the incoming ones.
pub(crate) struct Bucketed {
    pub rows: RecordBatch,
    pub kinds: Int32Array,
    /// `None` if all rows have the same bucket.
    pub buckets: Option<Int32Array>,
}

impl KeyBuckets {
    /// Rows with the columns of the table.
    ///
    /// # Errors
    /// As [`RowBuckets::of_rows`], [`DynamicBuckets::of_rows`] and [`KeyPlaces::place`].
    pub(crate) fn place(&mut self, rows: RecordBatch, kinds: Int32Array) -> Result<Bucketed> {
        let buckets = match self {
            KeyBuckets::Fixed(fixed) => Some(fixed.of_rows(&rows)?),
            KeyBuckets::Dynamic(dynamic) => Some(locked(dynamic).of_rows(&rows)?),
            KeyBuckets::Anywhere(places) => {
                let placed = locked(places).place(&rows, &kinds)?;
                return Ok(Bucketed { rows: placed.rows, kinds: placed.kinds, buckets: Some(placed.buckets) });
            }
            KeyBuckets::Postponed => None,
        };
        Ok(Bucketed { rows, kinds, buckets })
    }
}
