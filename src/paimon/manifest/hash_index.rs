//! Hash indexes: index files with the hashes of the keys of a bucket, in tables with dynamic buckets.
//!
//! A file holds the hashes of one bucket, each four bytes, most significant first. Keys with the same
//! hash always share a bucket.
//!
//! Source: Java's `HashIndexFile` and `PartitionIndex`.

use std::collections::HashMap;
use std::sync::Arc;

use super::index_manifest::{HASH, IndexEntry, decode_hashes};
use crate::error::{Result, ResultExt};
use crate::paimon::spec::partition::{TablePaths, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::store::{Store, in_parallel};

/// The hashes of a bucket's keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HashedBucket {
    /// The index file that has them.
    pub entry: IndexEntry,
    /// Its hashes, in no order.
    pub hashes: Vec<i32>,
}

/// The hash indexes of a snapshot. A partition is read on first use.
#[derive(Clone, Debug)]
pub struct HashIndexes {
    store: Arc<dyn Store>,
    schema: Arc<TableSchema>,
    paths: TablePaths,
    entries: HashMap<Vec<u8>, Vec<IndexEntry>>,
}

impl HashIndexes {
    /// The hash indexes among the index files of a snapshot of the table in the folder `root`.
    ///
    /// # Errors
    /// As [`TablePaths::new`].
    pub fn new<'e>(
        store: Arc<dyn Store>,
        root: &str,
        schema: &Arc<TableSchema>,
        index: impl IntoIterator<Item = &'e IndexEntry>,
    ) -> Result<HashIndexes> {
        let mut entries: HashMap<Vec<u8>, Vec<IndexEntry>> = HashMap::new();
        for entry in index.into_iter().filter(|e| e.index_type == HASH) {
            entries.entry(entry.partition.clone()).or_default().push(entry.clone());
        }
        Ok(HashIndexes { store, schema: schema.clone(), paths: TablePaths::new(root, schema)?, entries })
    }

    /// The buckets of a partition, a binary row after its number of fields.
    ///
    /// # Errors
    /// Errors of the store; `CorruptTable` for files that hold no hashes.
    pub fn partition(&self, partition: &[u8]) -> Result<Vec<HashedBucket>> {
        let entries = self.entries.get(partition).map(Vec::as_slice).unwrap_or_default();
        let read = in_parallel(self.store.as_ref(), entries.len(), |i| {
            let Some(entry) = entries.get(i) else { return Ok(HashedBucket::default()) };
            let path = self.path(entry)?;
            let hashes = decode_hashes(&self.store.get(&path)?).with("index file", &path)?;
            Ok(HashedBucket { entry: entry.clone(), hashes })
        })?;
        Ok(read)
    }

    /// Where an index file is.
    ///
    /// # Errors
    /// `CorruptTable` for a partition that is not of the table, or a name that leads elsewhere.
    pub fn path(&self, entry: &IndexEntry) -> Result<String> {
        let partition = partition_of(&self.schema, &entry.partition)?;
        self.paths.index_file(&partition, entry.bucket, &entry.file_name, entry.external_path.as_deref())
    }
}

/// The content of an index file.
pub fn encode_hashes(hashes: impl IntoIterator<Item = i32>) -> Vec<u8> {
    hashes.into_iter().flat_map(i32::to_be_bytes).collect()
}
