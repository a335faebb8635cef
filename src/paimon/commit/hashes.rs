//! The hash index of a new snapshot: the keys of each bucket, for tables with dynamic buckets.
//!
//! Source: Java's `DynamicBucketIndexMaintainer`. In Java the last writer's index replaces all
//! others. Here the changes of other commits are kept, and a key that they put into another bucket ends the commit.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::manifests::MetadataFiles;
use crate::error::{Error, Result};
use crate::format::task::BucketHashes;
use crate::paimon::catalog::filesystem::TableFolder;
use crate::paimon::manifest::entries::{ADD, DELETE};
use crate::paimon::manifest::hash_index::{HashIndexes, encode_hashes};
use crate::paimon::manifest::index_manifest::{HASH, IndexEntry};
use crate::paimon::spec::schema::TableSchema;

/// The hashes of new rows by partition and bucket.
type ByBucket<'a> = BTreeMap<&'a [u8], BTreeMap<i32, BTreeSet<i32>>>;

fn by_bucket(hashes: &[BucketHashes]) -> ByBucket<'_> {
    let mut out = ByBucket::new();
    for bucket in hashes {
        let known = out.entry(&bucket.partition).or_default().entry(bucket.bucket).or_default();
        known.extend(bucket.hashes.iter().copied());
    }
    out
}

/// A bucket that was given a key which `known` has in another bucket, and that other bucket.
fn misplaced(buckets: &BTreeMap<i32, BTreeSet<i32>>, mut known: HashMap<i32, i32>) -> Option<(i32, i32)> {
    for (bucket, hashes) in buckets {
        for hash in hashes {
            let other = *known.entry(*hash).or_insert(*bucket);
            if other != *bucket {
                return Some((*bucket, other));
            }
        }
    }
    None
}

/// Whether rows with these hashes can't stay in their buckets: a snapshot has their keys in other buckets, or the
/// rows contradict each other.
///
/// # Errors
/// As [`HashIndexes::partition`].
pub fn are_misplaced(hashes: &[BucketHashes], indexes: &HashIndexes) -> Result<bool> {
    for (partition, buckets) in by_bucket(hashes) {
        let mut known = HashMap::new();
        for of_bucket in indexes.partition(partition)? {
            known.extend(of_bucket.hashes.into_iter().map(|hash| (hash, of_bucket.entry.bucket)));
        }
        if misplaced(&buckets, known).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the hash indexes of one attempt.
pub(super) struct Indexer<'a> {
    pub(super) folder: &'a TableFolder,
    pub(super) schema: &'a Arc<TableSchema>,
    pub(super) files: &'a mut MetadataFiles,
}

impl Indexer<'_> {
    /// Adds the index files of new rows to the commit's changes of index files.
    ///
    /// # Errors
    /// `CommitConflict` if a key has another bucket by now; those of the store.
    pub(super) fn add(
        &mut self,
        hashes: &[BucketHashes],
        base: &[IndexEntry],
        mut changes: Vec<IndexEntry>,
    ) -> Result<Vec<IndexEntry>> {
        if hashes.is_empty() {
            return Ok(changes);
        }
        let gone: HashSet<&str> = changes.iter().filter(|e| e.kind == DELETE).map(|e| e.file_name.as_str()).collect();
        let live = base.iter().filter(|e| !gone.contains(e.file_name.as_str()));
        let store = self.folder.store().clone();
        let indexes = HashIndexes::new(store, self.folder.root(), self.schema, live)?;
        for (partition, buckets) in by_bucket(hashes) {
            let before = indexes.partition(partition)?;
            let mut known = HashMap::new();
            for of_bucket in &before {
                known.extend(of_bucket.hashes.iter().map(|hash| (*hash, of_bucket.entry.bucket)));
            }
            if let Some((bucket, other)) = misplaced(&buckets, known) {
                return Err(Error::conflict("another commit put the same keys into another bucket")
                    .with("bucket", bucket)
                    .with("other", other)
                    .hint("Write the rows again"));
            }
            for (bucket, new) in buckets {
                let old = before.iter().find(|b| b.entry.bucket == bucket);
                let mut all: HashSet<i32> = old.into_iter().flat_map(|b| b.hashes.iter().copied()).collect();
                let count = all.len();
                all.extend(new);
                if all.len() > count {
                    changes.extend(old.map(|b| IndexEntry { kind: DELETE, ..b.entry.clone() }));
                    changes.push(self.write(&indexes, partition, bucket, all)?);
                }
            }
        }
        Ok(changes)
    }

    fn write(
        &mut self,
        indexes: &HashIndexes,
        partition: &[u8],
        bucket: i32,
        hashes: HashSet<i32>,
    ) -> Result<IndexEntry> {
        let row_count = hashes.len() as i64;
        let bytes = encode_hashes(hashes);
        let entry = IndexEntry {
            kind: ADD,
            partition: partition.to_vec(),
            bucket,
            index_type: HASH.to_owned(),
            file_name: self.files.index_name(),
            file_size: bytes.len() as i64,
            row_count,
            ..IndexEntry::default()
        };
        self.files.put_at(&entry.file_name, indexes.path(&entry)?, &bytes)?;
        Ok(entry)
    }
}
