//! Files that survive pruning, grouped by partition and bucket.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::deletes::BucketKey;
use super::files::{BatchJudge, FilePruner, JudgedEntries, PruneStage, PrunedPartition};
use super::input::PaimonPlanInput;
use super::planned::PaimonPlanCounters;
use crate::error::{Error, Result};
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::DeletedFiles;
use crate::parallel::check_cancelled;

/// The live files of manifests that survive on their own, in order.
///
/// # Errors
/// As [`super::planner::plan`].
pub(crate) fn live_files(
    input: &PaimonPlanInput,
    pruner: &FilePruner<'_>,
    manifests: &[PaimonManifestFile],
    counters: &mut PaimonPlanCounters,
) -> Result<Vec<JudgedEntries>> {
    let keep = |partition: &[u8], bucket, total| pruner.keeps(partition, bucket, total);
    let request = PaimonEntryRequest { keep: Some(&keep), ..pruner.request() };
    let deleted = DeletedFiles::read(input.manifests(), manifests, &request)?;
    let judge = |_| check_cancelled().map(|()| BatchJudge::new(pruner));
    let parts = deleted.judged_parts(input.manifests(), manifests, &request, judge)?;
    let files: Vec<JudgedEntries> = parts.into_iter().flatten().collect();
    files.iter().for_each(|judged| judged.count(counters));
    Ok(files)
}

/// A file: its batch, its row there, and the stage that decided about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedEntry {
    pub batch: usize,
    pub row: usize,
    pub stage: PruneStage,
}

/// Files by partition and bucket, in the order of their first file.
#[derive(Default)]
pub(crate) struct PlannedBuckets {
    groups: IndexMap<Box<[u8]>, InPartition>,
}

/// A bucket of a partition, and its files.
pub(crate) type PlannedBucket<'b> = (&'b Arc<PrunedPartition>, i32, &'b [PlannedEntry]);

/// The files of a partition by bucket.
struct InPartition {
    group: Arc<PrunedPartition>,
    buckets: IndexMap<i32, Vec<PlannedEntry>>,
}

impl PlannedBuckets {
    /// # Errors
    /// `CorruptTable` if a partition can't be read.
    pub(crate) fn of(pruner: &FilePruner<'_>, files: &[JudgedEntries]) -> Result<PlannedBuckets> {
        let mut out = PlannedBuckets::default();
        for (batch, judged) in files.iter().enumerate() {
            // The place of each of the batch's partitions among all.
            let mut places: HashMap<u32, usize> = HashMap::new();
            for (row, stage) in &judged.rows {
                let partition = judged.columns.partition.get(*row as usize).copied().unwrap_or_default();
                let place = match places.get(&partition) {
                    Some(place) => *place,
                    None => {
                        let place = out.place(pruner, judged.columns.partition_row(*row as usize))?;
                        places.insert(partition, place);
                        place
                    }
                };
                let bucket = judged.columns.bucket.get(*row as usize).copied().unwrap_or_default();
                if let Some((_, of_partition)) = out.groups.get_index_mut(place) {
                    let entry = PlannedEntry { batch, row: *row as usize, stage: *stage };
                    of_partition.buckets.entry(bucket).or_default().push(entry);
                }
            }
        }
        Ok(out)
    }

    fn place(&mut self, pruner: &FilePruner<'_>, partition: &[u8]) -> Result<usize> {
        if let Some(place) = self.groups.get_index_of(partition) {
            return Ok(place);
        }
        let group =
            pruner.group(partition)?.ok_or_else(|| Error::internal("the partition of a kept file was not kept"))?;
        Ok(self.groups.insert_full(partition.into(), InPartition { group, buckets: IndexMap::new() }).0)
    }

    /// The keys of all buckets.
    pub(crate) fn keys(&self) -> HashSet<BucketKey> {
        let mut out = HashSet::new();
        for (partition, found) in &self.groups {
            out.extend(found.buckets.keys().map(|bucket| (partition.clone(), *bucket)));
        }
        out
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<PrunedPartition>, i32, &[PlannedEntry])> {
        self.groups.values().flat_map(|of| of.buckets.iter().map(|(bucket, files)| (&of.group, *bucket, &files[..])))
    }

    /// All buckets in their order, in parts of about this number of files.
    pub(crate) fn parts(&self, files: usize) -> Vec<Vec<PlannedBucket<'_>>> {
        let (mut parts, mut room): (Vec<Vec<_>>, usize) = (Vec::new(), 0);
        for bucket in self.iter() {
            if room == 0 {
                parts.push(Vec::new());
                room = files;
            }
            room = room.saturating_sub(bucket.2.len());
            parts.last_mut().into_iter().for_each(|part| part.push(bucket));
        }
        parts
    }

    /// The files of one bucket; empty if it has no files.
    pub(crate) fn get(&self, partition: &[u8], bucket: i32) -> &[PlannedEntry] {
        self.groups.get(partition).and_then(|of| of.buckets.get(&bucket)).map(Vec::as_slice).unwrap_or_default()
    }
}
