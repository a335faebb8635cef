//! Deletion vectors after a compaction: those of files that are gone go, rows above that were replaced are added.
//!
//! Source: Java's `BucketedDvMaintainer`, `BaseAppendDeleteFileMaintainer`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::PoisonError;

use indexmap::IndexMap;

use super::{Job, Outcome};
use crate::codec::bitmap::PositionSet;
use crate::error::{Result, ResultExt};
use crate::paimon::compact_plan::BucketFiles;
use crate::paimon::entries::{ADD, DELETE};
use crate::paimon::index_manifest::{DELETION_VECTORS, DeletionVectorRange, IndexEntry};
use crate::paimon::partition::Paths;

/// What index files begin with.
const VERSION: u8 = 1;

/// How large an index file of a table without buckets gets, unless an option says otherwise.
const TARGET_BYTES: i64 = 2 << 20;

/// What happens to the vectors of a bucket.
#[derive(Default)]
struct Changed {
    /// Names of files that go.
    gone: HashSet<String>,
    /// Rows that are deleted from now on, by the names of files.
    deleted: HashMap<String, PositionSet>,
}

/// The index files of a compaction.
pub(super) struct Vectors<'a> {
    job: &'a Job,
    paths: Paths,
    /// Whether positions have 64 bits.
    wide: bool,
    /// Whether a bucket has one index file.
    one_file: bool,
    target_bytes: i64,
    id: String,
    count: usize,
    changed: BTreeMap<usize, Changed>,
}

fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

impl<'a> Vectors<'a> {
    pub fn new(job: &'a Job) -> Result<Vectors<'a>> {
        let options = job.options();
        Ok(Vectors {
            job,
            paths: Paths::new(job.table.location(), &job.schema)?,
            wide: options.boolean("deletion-vectors.bitmap64", false)?,
            one_file: job.schema.has_primary_key() || options.bucket()? > 0,
            target_bytes: options.bytes("deletion-vector.index-file.target-size", TARGET_BYTES)?,
            id: uuid::Uuid::new_v4().to_string(),
            count: 0,
            changed: BTreeMap::new(),
        })
    }

    /// Takes note of what compacting files of a bucket came to.
    pub fn take(&mut self, bucket: usize, outcome: &Outcome) {
        let changed = self.changed.entry(bucket).or_default();
        changed.gone.extend(outcome.removed.iter().map(|file| name(&file.path)));
        for (path, positions) in &outcome.deleted {
            changed.deleted.entry(name(path)).or_default().unite(positions);
        }
    }

    /// Writes the index files. Gives the entries of those that come and go.
    ///
    /// # Errors
    /// Of reading and writing index files.
    pub fn finish(mut self) -> Result<Vec<IndexEntry>> {
        let mut out = Vec::new();
        for (number, changed) in std::mem::take(&mut self.changed) {
            if let Some(bucket) = self.job.buckets.get(number) {
                self.change(bucket, changed, &mut out)?;
            }
        }
        Ok(out)
    }

    fn change(&mut self, bucket: &BucketFiles, changed: Changed, out: &mut Vec<IndexEntry>) -> Result<()> {
        let deletes: Vec<&String> = changed.deleted.keys().filter(|name| !changed.gone.contains(*name)).collect();
        let touches = |entry: &&IndexEntry| {
            let mut names = entry.deletion_vectors.iter().flatten().map(|v| &v.data_file);
            self.one_file && !deletes.is_empty() || names.any(|n| changed.gone.contains(n) || deletes.contains(&n))
        };
        let mut vectors: IndexMap<String, PositionSet> = IndexMap::new();
        for entry in bucket.vectors.iter().filter(touches) {
            self.read(bucket, entry, &mut vectors)?;
            out.push(IndexEntry { kind: DELETE, ..entry.clone() });
        }
        for (file, positions) in changed.deleted {
            vectors.entry(file).or_default().unite(&positions);
        }
        vectors.retain(|file, _| !changed.gone.contains(file));
        let mut vectors = vectors.into_iter().peekable();
        while vectors.peek().is_some() {
            let (mut bytes, mut ranges) = (vec![VERSION], Vec::new());
            for (data_file, positions) in vectors.by_ref() {
                ranges.push(self.append(&mut bytes, data_file, &positions)?);
                if !self.one_file && bytes.len() as i64 > self.target_bytes {
                    break;
                }
            }
            let file_name = format!("index-{}-{}", self.id, self.count);
            self.count += 1;
            let path = self.paths.index_file(&bucket.partition, bucket.bucket, &file_name, None)?;
            self.job.table.folder().store().put_if_absent(&path, &bytes)?;
            self.job.completed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
            out.push(IndexEntry {
                kind: ADD,
                partition: bucket.partition_row.to_vec(),
                bucket: bucket.bucket,
                index_type: DELETION_VECTORS.to_owned(),
                file_name,
                file_size: bytes.len() as i64,
                row_count: ranges.len() as i64,
                deletion_vectors: Some(ranges),
                ..IndexEntry::default()
            });
        }
        Ok(())
    }

    /// The vectors of an index file.
    fn read(&self, bucket: &BucketFiles, entry: &IndexEntry, out: &mut IndexMap<String, PositionSet>) -> Result<()> {
        let external = entry.external_path.as_deref();
        let path = self.paths.index_file(&bucket.partition, entry.bucket, &entry.file_name, external)?;
        let bytes = self.job.table.folder().store().get(&path)?;
        for range in entry.deletion_vectors.iter().flatten() {
            let at = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
            let vector = bytes.get(at(range.offset)..).unwrap_or_default();
            let positions = PositionSet::from_index_file(vector, at(range.length));
            out.insert(range.data_file.clone(), positions.with("path", &path).with("data_file", &range.data_file)?);
        }
        Ok(())
    }

    fn append(&self, bytes: &mut Vec<u8>, data_file: String, positions: &PositionSet) -> Result<DeletionVectorRange> {
        let encoded = match self.wide {
            true => positions.to_vector().map(|vector| (vector.len(), vector)),
            false => positions.to_narrow_vector().map(|(vector, length)| (length, vector)),
        };
        let (length, vector) = encoded.with("data_file", &data_file)?;
        let offset = bytes.len() as i64;
        bytes.extend_from_slice(&vector);
        let cardinality = i64::try_from(positions.len()).ok();
        Ok(DeletionVectorRange { data_file, offset, length: length as i64, cardinality })
    }
}
