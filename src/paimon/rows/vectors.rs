//! Index files of deletion vectors: those that a change writes, and those that it replaces.
//!
//! An index file is never changed. It is replaced if it has a vector of a data file that the change touches. Its
//! other vectors are written with the new ones. A bucket has one index file. Tables without buckets have any number
//! of them in a partition, of about the same size.
//!
//! Source: Java's `BaseAppendDeleteFileMaintainer`, `DeletionVectorIndexFileWriter`.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::codec::bitmap::PositionSet;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::format::task::{DataFile, Partition};
use crate::paimon::manifest::entries::{ADD, DELETE};
use crate::paimon::manifest::file_entry::partition_row;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, DeletionVectorRange, IndexEntry, read_index_manifest};
use crate::paimon::spec::partition::{TablePaths, partition_of};
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::paimon::state::PaimonTable;
use crate::parallel::check_cancelled;

/// The first byte of index files.
const VERSION: u8 = 1;

/// The size of an index file of a table without buckets, unless an option says otherwise.
const TARGET_BYTES: i64 = 2 << 20;

/// The vectors of a partition's bucket, by the names of data files.
struct BucketVectors {
    partition: Arc<Partition>,
    /// Rows that are deleted from now on.
    new: IndexMap<String, PositionSet>,
    /// Data files that are removed.
    gone: HashSet<String>,
}

/// The name of a data file.
fn name(file: &DataFile) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

/// The index entries of a change to a snapshot. The change deletes rows of files and removes other files. Paths of
/// new index files are added to `written`.
///
/// # Errors
/// Errors of reading and writing index files; `CorruptTable` for damaged ones; a cancellation.
pub(crate) fn changes(
    table: &PaimonTable,
    snapshot: Option<&Arc<PaimonSnapshot>>,
    deleted: Vec<(Arc<DataFile>, PositionSet)>,
    removed: &[DataFile],
    written: &mut Vec<String>,
) -> Result<Vec<IndexEntry>> {
    let (folder, schema) = (table.folder(), table.table_schema());
    let before: Vec<IndexEntry> = match snapshot.and_then(|s| s.index_manifest.as_deref()) {
        Some(manifest) => read_index_manifest(folder.manifests(), manifest)?,
        None if deleted.is_empty() => return Ok(Vec::new()),
        None => Vec::new(),
    };
    let mut buckets: IndexMap<(Vec<u8>, i32), BucketVectors> = IndexMap::new();
    let mut bucket_of = |file: &DataFile, take: &mut dyn FnMut(&mut BucketVectors)| -> Result<()> {
        let number = file.bucket_file.as_ref().map(|l| l.bucket);
        let number = number.ok_or_else(|| Error::internal("a file has no bucket").with("path", &file.path))?;
        let row = partition_row(schema, &file.partition)?;
        take(buckets.entry((row, number)).or_insert_with(|| BucketVectors {
            partition: file.partition.clone(),
            new: IndexMap::new(),
            gone: HashSet::new(),
        }));
        Ok(())
    };
    for (file, positions) in deleted {
        let mut positions = Some(positions);
        bucket_of(&file, &mut |bucket| {
            bucket.new.extend(positions.take().map(|positions| (name(&file).to_owned(), positions)));
        })?;
    }
    for file in removed {
        bucket_of(file, &mut |bucket| bucket.gone.extend([name(file).to_owned()]))?;
    }
    changed(table, &before, buckets, written)
}

/// The index entries of a change that takes vectors of data files out, by partition row, bucket and name of the data
/// file. Paths of new index files are added to `written`.
///
/// # Errors
/// As [`changes`].
pub(crate) fn taken_out(
    table: &PaimonTable,
    before: &[IndexEntry],
    gone: &[(Vec<u8>, i32, String)],
    written: &mut Vec<String>,
) -> Result<Vec<IndexEntry>> {
    let mut buckets: IndexMap<(Vec<u8>, i32), BucketVectors> = IndexMap::new();
    for (row, number, data_file) in gone {
        let partition = Arc::new(partition_of(table.table_schema(), row)?);
        let new_bucket = || BucketVectors { partition, new: IndexMap::new(), gone: HashSet::new() };
        buckets.entry((row.clone(), *number)).or_insert_with(new_bucket).gone.insert(data_file.clone());
    }
    changed(table, before, buckets, written)
}

/// The index entries of changes to buckets.
fn changed(
    table: &PaimonTable,
    before: &[IndexEntry],
    buckets: IndexMap<(Vec<u8>, i32), BucketVectors>,
    written: &mut Vec<String>,
) -> Result<Vec<IndexEntry>> {
    let schema = table.table_schema();
    let options = schema.options();
    let files = IndexFiles {
        table,
        paths: TablePaths::new(table.folder().root(), schema)?,
        one_file: schema.has_primary_key() || options.bucket()? > 0,
        wide: options.boolean("deletion-vectors.bitmap64", false)?,
        target_bytes: options.bytes("deletion-vector.index-file.target-size", TARGET_BYTES)?,
        id: uuid::Uuid::new_v4().to_string(),
    };
    let mut out = Vec::new();
    for ((row, number), bucket) in buckets {
        check_cancelled()?;
        let own = before
            .iter()
            .filter(|e| e.kind == ADD && e.index_type == DELETION_VECTORS && e.partition == row && e.bucket == number);
        files.change(&own.collect::<Vec<_>>(), (row, number), bucket, (&mut out, written))?;
    }
    Ok(out)
}

/// Reads and writes the index files of one change.
struct IndexFiles<'t> {
    table: &'t PaimonTable,
    paths: TablePaths,
    /// Whether a bucket has one file.
    one_file: bool,
    /// Whether positions have 64 bits.
    wide: bool,
    target_bytes: i64,
    id: String,
}

impl IndexFiles<'_> {
    fn change(
        &self,
        own: &[&IndexEntry],
        (row, number): (Vec<u8>, i32),
        mut bucket: BucketVectors,
        (out, written): (&mut Vec<IndexEntry>, &mut Vec<String>),
    ) -> Result<()> {
        let touches = |entry: &&IndexEntry| {
            let mut files = entry.deletion_vectors.iter().flatten().map(|v| v.data_file.as_str());
            self.one_file && !bucket.new.is_empty()
                || files.any(|f| bucket.new.contains_key(f) || bucket.gone.contains(f))
        };
        let touched: Vec<&IndexEntry> = own.iter().copied().filter(touches).collect();
        let mut vectors: IndexMap<String, PositionSet> = IndexMap::new();
        for entry in touched {
            self.read(entry, &bucket.gone, &mut vectors)?;
            out.push(IndexEntry { kind: DELETE, ..entry.clone() });
        }
        for (file, positions) in bucket.new.drain(..) {
            vectors.entry(file).or_default().unite(&positions);
        }
        let mut vectors = vectors.into_iter().peekable();
        while vectors.peek().is_some() {
            let (mut bytes, mut ranges) = (vec![VERSION], Vec::new());
            for (data_file, positions) in vectors.by_ref() {
                ranges.push(self.append(&mut bytes, data_file, &positions)?);
                if !self.one_file && bytes.len() as i64 > self.target_bytes {
                    break;
                }
            }
            let file_name = format!("index-{}-{}", self.id, written.len());
            let path = self.paths.index_file(&bucket.partition, number, &file_name, None)?;
            written.push(path.clone());
            self.table.folder().store().put_if_absent(&path, &bytes)?;
            out.push(IndexEntry {
                kind: ADD,
                partition: row.clone(),
                bucket: number,
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

    /// The vectors of an index file, without those of files that are removed.
    fn read(&self, entry: &IndexEntry, gone: &HashSet<String>, out: &mut IndexMap<String, PositionSet>) -> Result<()> {
        let partition = partition_of(self.table.table_schema(), &entry.partition)?;
        let external = entry.external_path.as_deref();
        let path = self.paths.index_file(&partition, entry.bucket, &entry.file_name, external)?;
        let kept = entry.deletion_vectors.iter().flatten().filter(|range| !gone.contains(&range.data_file));
        let kept: Vec<&DeletionVectorRange> = kept.collect();
        let Some(first) = kept.first() else { return Ok(()) };
        let bytes = self.table.folder().store().get(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                Error::corrupt("the deletion vector of a file is lost, so its deleted rows would come back")
                    .with("path", &path)
                    .with("data_file", &first.data_file)
                    .hint("Restore the index file, or go back to another snapshot: rollback()")
            }
            _ => e,
        })?;
        for range in kept {
            let at = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
            let vector = bytes.get(at(range.offset)..).unwrap_or_default();
            let positions = PositionSet::from_index_file(vector, at(range.length));
            let positions = positions.with("path", &path).with("data_file", &range.data_file)?;
            out.insert(range.data_file.clone(), positions);
        }
        Ok(())
    }

    fn append(&self, bytes: &mut Vec<u8>, data_file: String, positions: &PositionSet) -> Result<DeletionVectorRange> {
        let (vector, length) = match self.wide {
            true => positions.to_vector().map(|v| {
                let length = v.len();
                (v, length)
            }),
            false => positions.to_narrow_vector(),
        }
        .with("data_file", &data_file)?;
        let offset = bytes.len() as i64;
        bytes.extend_from_slice(&vector);
        let cardinality = i64::try_from(positions.len()).ok();
        Ok(DeletionVectorRange { data_file, offset, length: length as i64, cardinality })
    }
}
