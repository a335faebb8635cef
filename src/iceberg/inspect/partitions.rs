//! `partitions`: the live files of each partition, counted.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::record_batch::RecordBatch;

use super::arrays::field;
use super::files::partition_structs;
use super::logs::timestamps;
use crate::error::{Error, Result};
use crate::format::task::{FileContent, FileFormat, Partition};
use crate::iceberg::inspect::inspection::Inspection;
use crate::iceberg::manifest::entries::{DELETED, EntryRequest};
use crate::iceberg::manifest::list::ManifestFile;
use crate::iceberg::manifest::walk::{EntryBatch, MetadataWalk, partition_type};
use crate::types::value::encode_bound;
use crate::types::{Field, FieldId, Value};

/// The counts of one partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartitionCounts {
    pub records: i64,
    pub files: i64,
    pub bytes: i64,
    /// Rows deleted by position, by files and by vectors.
    pub position_records: i64,
    pub position_files: i64,
    pub vectors: i64,
    pub equality_records: i64,
    pub equality_files: i64,
    /// The newest commit to it that the table still knows: milliseconds and snapshot.
    pub updated: Option<(i64, i64)>,
    /// The spec of that commit's file, else that of the first file.
    pub spec_id: i32,
}

impl PartitionCounts {
    fn add(&mut self, other: &PartitionCounts) {
        for (sum, more) in [
            (&mut self.records, other.records),
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.position_records, other.position_records),
            (&mut self.position_files, other.position_files),
            (&mut self.vectors, other.vectors),
            (&mut self.equality_records, other.equality_records),
            (&mut self.equality_files, other.equality_files),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.see(other.updated, other.spec_id);
    }

    fn see(&mut self, updated: Option<(i64, i64)>, spec_id: i32) {
        if let Some((ms, _)) = updated
            && self.updated.is_none_or(|(latest, _)| ms > latest)
        {
            (self.updated, self.spec_id) = (updated, spec_id);
        }
    }
}

/// The entries that are counted, and how partitions are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Live files. Tuples of several specs are one partition if they are equal.
    Live,
    /// As in a partition statistics file: each spec has its own partitions, and removed files count for the time of the
    /// last change.
    BySpec,
}

/// The identity of a partition: the number of united fields that its spec has, and their values; for
/// [`Counting::BySpec`] also the spec. As in Java, a null value differs from a missing field.
type PartitionIdentity = (i32, usize, Vec<Option<Vec<u8>>>);

fn key(partition: &Partition, united: &[Field], counting: Counting) -> PartitionIdentity {
    let value = |id: FieldId| partition.values.iter().find(|v| v.field_id == id);
    let found = || united.iter().map(|f| value(f.id));
    let bytes = |v: &Value| encode_bound(v.as_ref());
    let spec_id = if counting == Counting::BySpec { partition.spec_id } else { 0 };
    (spec_id, found().flatten().count(), found().map(|v| v?.value.as_ref().map(bytes)).collect())
}

/// One row for each partition, in the order in which the manifests name them.
pub(crate) fn partitions(of: &Inspection<'_>) -> Result<RecordBatch> {
    let united = partition_type(of.walk.metadata)?;
    batch(of, &united, &counted(&of.walk, &of.manifests(false)?, &united, Counting::Live)?)
}

/// Counts of each partition that these manifests name.
///
/// # Errors
/// As [`MetadataWalk::entries`].
pub(crate) fn counted(
    walk: &MetadataWalk<'_>,
    manifests: &[ManifestFile],
    united: &[Field],
    counting: Counting,
) -> Result<Vec<(Partition, PartitionCounts)>> {
    let times: HashMap<i64, i64> = walk.metadata.snapshots.iter().map(|s| (s.id, s.timestamp_ms)).collect();
    let request = EntryRequest { deleted_too: counting == Counting::BySpec, ..EntryRequest::default() };
    let batches = walk.entries(manifests, &request, |batch| Ok(count(batch, &times)))?;
    let mut places: HashMap<PartitionIdentity, usize> = HashMap::new();
    let mut rows: Vec<(Partition, PartitionCounts)> = Vec::new();
    for (partition, counts) in batches.into_iter().flatten() {
        match places.entry(key(&partition, united, counting)) {
            std::collections::hash_map::Entry::Occupied(place) => {
                if let Some((_, sum)) = rows.get_mut(*place.get()) {
                    sum.add(&counts);
                }
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(rows.len());
                rows.push((partition, counts));
            }
        }
    }
    Ok(rows)
}

/// Counts by the tuples of one batch.
fn count(batch: EntryBatch<'_>, times: &HashMap<i64, i64>) -> Vec<(Partition, PartitionCounts)> {
    let (c, spec_id) = (&batch.columns, batch.manifest.spec_id);
    let mut counts = vec![PartitionCounts { spec_id, ..PartitionCounts::default() }; batch.partitions.len()];
    for row in c.rows() {
        let Some(sum) = counts.get_mut(c.partition[row] as usize) else { continue };
        if c.status[row] != DELETED {
            let (records, files) = match c.content[row] {
                FileContent::Data => {
                    sum.bytes = sum.bytes.saturating_add(c.size_bytes[row]);
                    (&mut sum.records, &mut sum.files)
                }
                FileContent::PositionDeletes if c.format[row] == FileFormat::Puffin => {
                    (&mut sum.position_records, &mut sum.vectors)
                }
                FileContent::PositionDeletes => (&mut sum.position_records, &mut sum.position_files),
                FileContent::EqualityDeletes => (&mut sum.equality_records, &mut sum.equality_files),
            };
            *records = records.saturating_add(c.record_count[row]);
            *files += 1;
        }
        let updated = c.snapshot_id[row].and_then(|id| Some((*times.get(&id)?, id)));
        sum.see(updated, spec_id);
    }
    batch.partitions.into_iter().zip(counts).collect()
}

fn batch(of: &Inspection<'_>, united: &[Field], rows: &[(Partition, PartitionCounts)]) -> Result<RecordBatch> {
    let mut columns = Vec::new();
    if !united.is_empty() {
        let tuples: Vec<&Partition> = rows.iter().map(|(p, _)| p).collect();
        columns.push(partition_structs(field(&of.schema, "partition")?, united, &tuples)?);
        columns.push(Arc::new(Int32Array::from_iter_values(rows.iter().map(|(_, c)| c.spec_id))));
    }
    columns.extend([
        longs(rows, |c| c.records),
        ints(rows, |c| c.files)?,
        longs(rows, |c| c.bytes),
        longs(rows, |c| c.position_records),
        ints(rows, |c| c.position_files + c.vectors)?,
        longs(rows, |c| c.equality_records),
        ints(rows, |c| c.equality_files)?,
        timestamps(rows.iter().map(|(_, c)| c.updated.map(|(ms, _)| ms))),
        Arc::new(rows.iter().map(|(_, c)| c.updated.map(|(_, id)| id)).collect::<Int64Array>()),
    ]);
    of.batch(columns)
}

/// A column of counts.
pub(crate) fn longs(rows: &[(Partition, PartitionCounts)], count: fn(&PartitionCounts) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, c)| count(c))))
}

/// A column of numbers of files.
///
/// # Errors
/// `Unsupported` if a number does not fit 32 bits.
pub(crate) fn ints(rows: &[(Partition, PartitionCounts)], count: fn(&PartitionCounts) -> i64) -> Result<ArrayRef> {
    let bad = |e| Error::unsupported("a partition has more files than fit into 32 bits").because(e);
    let counts = rows.iter().map(|(_, c)| i32::try_from(count(c)).map_err(bad)).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Int32Array::from(counts)))
}
