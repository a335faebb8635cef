//! Dynamic buckets. A key stays in the bucket that has its hash. A new key gets the first bucket with room, or else a
//! new bucket.
//!
//! Source: Java's `HashBucketAssigner`, `PartitionIndex`, `BucketAssigner`.

use std::collections::{BTreeMap, HashMap};

use arrow::array::{Int32Array, RecordBatch};

use super::key_rows::KeyRows;
use crate::error::{Error, Result};
use crate::format::task::BucketHashes;
use crate::paimon::manifest::hash_index::HashIndexes;
use crate::paimon::spec::binary_row_write::prefixed;
use crate::paimon::spec::bucket::row_hash;
use crate::paimon::spec::schema::TableSchema;
use crate::parallel::check_cancelled;
use crate::types::options::Options;

/// Buckets have numbers of 16 bits in Java.
const MOST_BUCKETS: i32 = i16::MAX as i32;
/// The number of keys that are taken between two checks for cancellation.
const KEYS_AT_ONCE: usize = 1 << 16;

/// The limits on the number of buckets, and on the keys of each bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketRoom {
    /// `dynamic-bucket.target-row-num`.
    pub target_rows: i64,
    /// `dynamic-bucket.max-buckets`; `None` without a limit.
    pub most_buckets: Option<i32>,
    /// `dynamic-bucket.initial-buckets`: the number of lanes that keys are divided into. Each has its own buckets.
    pub lanes: i32,
}

impl BucketRoom {
    /// The limits of a table.
    ///
    /// # Errors
    /// `InvalidInput` for options that can't be read.
    pub(crate) fn of(options: &Options<'_>) -> Result<BucketRoom> {
        let positive = |key: &str, none: i64| {
            let value = options.integer(key)?.unwrap_or(none);
            match value > 0 || value == none {
                true => Ok(value),
                false => Err(Error::invalid(format!("'{key}' must be positive, not {value}"))),
            }
        };
        let count = |n: i64| i32::try_from(n).unwrap_or(MOST_BUCKETS).min(MOST_BUCKETS);
        let most = positive("dynamic-bucket.max-buckets", -1)?;
        Ok(BucketRoom {
            target_rows: positive("dynamic-bucket.target-row-num", 200_000)?,
            most_buckets: (most > 0).then(|| count(most)),
            lanes: count(positive("dynamic-bucket.initial-buckets", 1)?),
        })
    }
}

/// The place of a key.
#[derive(Clone, Copy, Debug)]
struct HashPlace {
    bucket: i32,
    /// Whether this writer has rows of the key.
    written: bool,
}

/// The keys of a partition by hash.
#[derive(Debug, Default)]
struct PartitionKeys {
    places: HashMap<i32, HashPlace>,
    /// The number of keys by bucket.
    counts: BTreeMap<i32, i64>,
    /// The first bucket that may have room, by lane. Earlier ones are full.
    starts: HashMap<i32, i32>,
}

impl PartitionKeys {
    /// The bucket of a key.
    fn place(&mut self, hash: i32, lane: i32, room: BucketRoom) -> Result<i32> {
        if let Some(known) = self.places.get_mut(&hash) {
            known.written = true;
            return Ok(known.bucket);
        }
        let bucket = self.room_for(hash, lane, room)?;
        *self.counts.entry(bucket).or_default() += 1;
        self.places.insert(hash, HashPlace { bucket, written: true });
        Ok(bucket)
    }

    fn room_for(&mut self, hash: i32, lane: i32, room: BucketRoom) -> Result<i32> {
        let start = self.starts.entry(lane).or_insert(lane);
        let of_lane = |bucket: i32| bucket % room.lanes == lane;
        let open = self.counts.range(*start..).find(|(bucket, count)| of_lane(**bucket) && **count < room.target_rows);
        if let Some((bucket, _)) = open {
            *start = *bucket;
            return Ok(*bucket);
        }
        let most = room.most_buckets.unwrap_or(MOST_BUCKETS);
        let step = usize::try_from(room.lanes).unwrap_or(1);
        let new = (lane..most).step_by(step).find(|bucket| !self.counts.contains_key(bucket));
        match (new, room.most_buckets) {
            (Some(bucket), _) => {
                // Earlier buckets may have been left out.
                *start = (*start).min(bucket);
                Ok(bucket)
            }
            (None, None) => Err(Error::invalid(format!("the keys of a partition fill all {most} buckets"))
                .with("option", "dynamic-bucket.target-row-num")
                .hint("Raise the option, so that buckets take more keys")),
            // All are full: take any of them.
            (None, Some(_)) => {
                let count = self.counts.len().max(1);
                let any = self.counts.keys().nth(hash.unsigned_abs() as usize % count).copied();
                Ok(any.unwrap_or(0))
            }
        }
    }
}

/// Gives rows their buckets, by the keys that buckets have.
#[derive(Debug)]
pub(crate) struct DynamicBuckets {
    keys: KeyRows,
    partitions: KeyRows,
    room: BucketRoom,
    /// The existing indexes; `None` if all existing rows are replaced.
    indexes: Option<HashIndexes>,
    /// The keys of each partition, by its binary row.
    known: HashMap<Vec<u8>, PartitionKeys>,
}

impl DynamicBuckets {
    /// The buckets of a table, for rows with its columns.
    ///
    /// # Errors
    /// As [`BucketRoom::of`]; `Unsupported` for keys that can't be hashed.
    pub(crate) fn new(schema: &TableSchema, indexes: Option<HashIndexes>) -> Result<DynamicBuckets> {
        Ok(DynamicBuckets {
            keys: KeyRows::new(schema.columns(), schema.key_fields())?,
            partitions: KeyRows::new(schema.columns(), schema.partition_fields())?,
            room: BucketRoom::of(&schema.options())?,
            indexes,
            known: HashMap::new(),
        })
    }

    /// The bucket of each row.
    ///
    /// # Errors
    /// `InvalidInput` if there is no bucket left; those of reading indexes.
    pub(crate) fn of_rows(&mut self, rows: &RecordBatch) -> Result<Int32Array> {
        let mut hashes = Vec::with_capacity(rows.num_rows());
        self.keys.each(rows, |_, key| {
            hashes.push(row_hash(key));
            Ok(())
        })?;
        let arity = self.partitions.arity();
        let (known, indexes, room) = (&mut self.known, &self.indexes, self.room);
        let mut out = Vec::with_capacity(hashes.len());
        self.partitions.each(rows, |row, partition| {
            if !known.contains_key(partition) {
                known.insert(partition.to_vec(), loaded(indexes.as_ref(), &prefixed(partition, arity))?);
            }
            let gone = || Error::internal("a row without partition or key");
            let (keys, hash) = (known.get_mut(partition).ok_or_else(gone)?, *hashes.get(row).ok_or_else(gone)?);
            let lane = ((row_hash(partition) % room.lanes).abs() + (hash % room.lanes).abs()) % room.lanes;
            out.push(keys.place(hash, lane, room)?);
            Ok(())
        })?;
        Ok(out.into())
    }

    /// The keys of all rows so far.
    pub(crate) fn written(&self) -> Result<Vec<BucketHashes>> {
        let arity = self.partitions.arity();
        let mut out = Vec::new();
        for (partition, keys) in &self.known {
            let mut buckets: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
            let written = keys.places.iter().filter(|(_, place)| place.written);
            for (number, (hash, place)) in written.enumerate() {
                if number.is_multiple_of(KEYS_AT_ONCE) {
                    check_cancelled()?;
                }
                buckets.entry(place.bucket).or_default().push(*hash);
            }
            let partition = prefixed(partition, arity);
            out.extend(buckets.into_iter().map(|(bucket, mut hashes)| {
                hashes.sort_unstable();
                BucketHashes { partition: partition.clone(), bucket, hashes }
            }));
        }
        out.sort_by(|a, b| (&a.partition, a.bucket).cmp(&(&b.partition, b.bucket)));
        Ok(out)
    }
}

fn loaded(indexes: Option<&HashIndexes>, partition: &[u8]) -> Result<PartitionKeys> {
    let mut out = PartitionKeys::default();
    for of_bucket in indexes.map(|indexes| indexes.partition(partition)).transpose()?.unwrap_or_default() {
        check_cancelled()?;
        let bucket = of_bucket.entry.bucket;
        *out.counts.entry(bucket).or_default() += of_bucket.hashes.len() as i64;
        out.places.extend(of_bucket.hashes.into_iter().map(|hash| (hash, HashPlace { bucket, written: false })));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(target_rows: i64, most_buckets: Option<i32>, lanes: i32) -> BucketRoom {
        BucketRoom { target_rows, most_buckets, lanes }
    }

    #[test]
    fn keys_fill_one_bucket_after_another() {
        let mut keys = PartitionKeys::default();
        let room = room(2, None, 1);
        let placed: Vec<i32> = [7, 8, 7, 9, 8, 10, 11].iter().map(|hash| keys.place(*hash, 0, room).unwrap()).collect();
        assert_eq!(placed, [0, 0, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn buckets_that_are_missing_are_made_first() {
        let mut keys = PartitionKeys { counts: [(0, 2), (2, 1)].into(), ..PartitionKeys::default() };
        let placed: Vec<i32> = (0..4).map(|hash| keys.place(hash, 0, room(2, None, 1)).unwrap()).collect();
        assert_eq!(placed, [2, 1, 1, 3]);
    }

    #[test]
    fn full_buckets_take_more_if_there_may_be_no_others() {
        let mut keys = PartitionKeys::default();
        let placed: Vec<i32> = (0..20).map(|hash| keys.place(hash, 0, room(2, Some(3), 1)).unwrap()).collect();
        assert_eq!(placed.get(..6).unwrap(), [0, 0, 1, 1, 2, 2]);
        assert!(placed.iter().all(|bucket| *bucket < 3));
    }

    #[test]
    fn lanes_have_buckets_of_their_own() {
        let mut keys = PartitionKeys::default();
        let placed: Vec<i32> = (0..8).map(|hash| keys.place(hash, hash % 2, room(2, None, 2)).unwrap()).collect();
        assert_eq!(placed, [0, 1, 0, 1, 2, 3, 2, 3]);
    }
}
