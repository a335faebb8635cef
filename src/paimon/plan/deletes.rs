//! Deletion vectors of a snapshot's data files, and their locations.
//!
//! Source: Paimon specification, "Table Index: Deletion Vectors".

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::error::Result;
use crate::format::task::{DataFile, DeleteRef, FileContent, FileFormat, Partition};
use crate::paimon::manifest::entries::ADD;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, IndexEntry, read_index_manifest};
use crate::paimon::spec::partition::TablePaths;
use crate::paimon::spec::snapshot::PaimonSnapshot;

/// A number of deleted rows that was not recorded.
pub const UNKNOWN_CARDINALITY: i64 = -1;

/// A partition (a binary row after its number of fields) and a bucket.
pub type BucketKey = (Box<[u8]>, i32);

/// The index files with deletion vectors of some buckets.
#[derive(Debug, Default)]
pub struct DeletionVectors {
    by_bucket: HashMap<BucketKey, Vec<IndexEntry>>,
}

impl DeletionVectors {
    /// The vectors of a snapshot for the `wanted` buckets.
    ///
    /// # Errors
    /// As [`read_index_manifest`].
    pub fn load(
        from: ManifestFolder<'_>,
        snapshot: &PaimonSnapshot,
        wanted: &HashSet<BucketKey>,
    ) -> Result<DeletionVectors> {
        let mut out = DeletionVectors::default();
        let Some(manifest) = snapshot.index_manifest.as_ref().filter(|_| !wanted.is_empty()) else { return Ok(out) };
        for entry in read_index_manifest(from, manifest)? {
            if entry.kind != ADD || entry.index_type != DELETION_VECTORS {
                continue;
            }
            let bucket: BucketKey = (entry.partition.as_slice().into(), entry.bucket);
            if wanted.contains(&bucket) {
                out.by_bucket.entry(bucket).or_default().push(entry);
            }
        }
        Ok(out)
    }

    /// The vectors of one bucket, by the names of the data files. The last vector of a file counts.
    pub fn of_bucket(&self, partition: &[u8], bucket: i32) -> HashMap<&str, Vector<'_>> {
        let vectors = self.index_files(partition, bucket).iter().flat_map(|index| {
            let ranges = index.deletion_vectors.as_deref().unwrap_or_default();
            ranges.iter().map(move |range| (range.data_file.as_str(), Vector { index, range }))
        });
        vectors.collect()
    }

    /// The index files of one bucket.
    pub fn index_files(&self, partition: &[u8], bucket: i32) -> &[IndexEntry] {
        self.by_bucket.get(&(partition.into(), bucket)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A deletion vector in an index file.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'d> {
    index: &'d IndexEntry,
    range: &'d crate::paimon::manifest::index_manifest::DeletionVectorRange,
}

impl Vector<'_> {
    /// Its form in a task.
    ///
    /// # Errors
    /// As [`TablePaths::index_file`].
    pub fn reference(&self, paths: &TablePaths, partition: &Arc<Partition>, data_file: &str) -> Result<DeleteRef> {
        let index = self.index;
        let path = paths.index_file(partition, index.bucket, &index.file_name, index.external_path.as_deref())?;
        let mut file = DataFile::new(FileContent::PositionDeletes, path, FileFormat::Puffin, partition.clone());
        file.size_bytes = index.file_size;
        file.record_count = self.range.cardinality.unwrap_or(UNKNOWN_CARDINALITY);
        file.content_offset = Some(self.range.offset);
        file.content_size_bytes = Some(self.range.length);
        file.referenced_data_file = Some(data_file.to_owned());
        Ok(DeleteRef { file: Arc::new(file) })
    }
}

/// A deletion vector as one of another file that has columns of the same rows.
pub(crate) fn for_file(vector: &DeleteRef, data_file: &str) -> DeleteRef {
    let file = DataFile { referenced_data_file: Some(data_file.to_owned()), ..vector.file.as_ref().clone() };
    DeleteRef { file: Arc::new(file) }
}
