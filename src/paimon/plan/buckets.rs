//! Files that survive pruning, grouped by partition and bucket.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::deletes::BucketKey;
use super::files::{BatchJudge, Group, Judged, Pruner, Stage};
use super::input::PlanInput;
use super::planned::PlanCounters;
use crate::error::{Error, Result};
use crate::paimon::manifest::entries::EntryRequest;
use crate::paimon::manifest::list::ManifestFile;
use crate::paimon::manifest::live::DeletedFiles;
use crate::parallel::Cancellation;

/// The live files of manifests that survive on their own, in order.
///
/// # Errors
/// As [`super::planner::plan`].
pub(crate) fn live_files(
    input: &PlanInput,
    pruner: &Pruner<'_>,
    manifests: &[ManifestFile],
    counters: &mut PlanCounters,
    go_on: Cancellation,
) -> Result<Vec<Judged>> {
    let keep = |partition: &[u8], bucket, total| pruner.keeps(partition, bucket, total);
    let request = EntryRequest { keep: Some(&keep), ..pruner.request() };
    let deleted = DeletedFiles::read(input.manifests(), manifests, &request)?;
    let judge = |_| go_on().map(|()| BatchJudge::new(pruner));
    let parts = deleted.judged_parts(input.manifests(), manifests, &request, judge)?;
    let files: Vec<Judged> = parts.into_iter().flatten().collect();
    files.iter().for_each(|judged| judged.count(counters));
    Ok(files)
}

/// Which file of which batch, and at which stage it was decided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub batch: usize,
    pub row: usize,
    pub stage: Stage,
}

/// Files by partition and bucket, in the order of their first.
#[derive(Default)]
pub(crate) struct Buckets {
    groups: IndexMap<Box<[u8]>, InPartition>,
}

/// A bucket of a partition, and its files.
pub(crate) type Bucket<'b> = (&'b Arc<Group>, i32, &'b [Entry]);

/// The files of a partition by bucket.
struct InPartition {
    group: Arc<Group>,
    buckets: IndexMap<i32, Vec<Entry>>,
}

impl Buckets {
    /// # Errors
    /// `CorruptTable` if a partition can't be read.
    pub(crate) fn of(pruner: &Pruner<'_>, files: &[Judged]) -> Result<Buckets> {
        let mut out = Buckets::default();
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
                    let entry = Entry { batch, row: *row as usize, stage: *stage };
                    of_partition.buckets.entry(bucket).or_default().push(entry);
                }
            }
        }
        Ok(out)
    }

    fn place(&mut self, pruner: &Pruner<'_>, partition: &[u8]) -> Result<usize> {
        if let Some(place) = self.groups.get_index_of(partition) {
            return Ok(place);
        }
        let group = pruner.group(partition)?.ok_or_else(|| Error::internal("a kept file is of no kept partition"))?;
        Ok(self.groups.insert_full(partition.into(), InPartition { group, buckets: IndexMap::new() }).0)
    }

    /// All of them.
    pub(crate) fn keys(&self) -> HashSet<BucketKey> {
        let mut out = HashSet::new();
        for (partition, found) in &self.groups {
            out.extend(found.buckets.keys().map(|bucket| (partition.clone(), *bucket)));
        }
        out
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<Group>, i32, &[Entry])> {
        self.groups.values().flat_map(|of| of.buckets.iter().map(|(bucket, files)| (&of.group, *bucket, &files[..])))
    }

    /// All buckets in their order, in parts of about so many files.
    pub(crate) fn parts(&self, files: usize) -> Vec<Vec<Bucket<'_>>> {
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

    /// The files of one bucket; none if it has none.
    pub(crate) fn get(&self, partition: &[u8], bucket: i32) -> &[Entry] {
        self.groups.get(partition).and_then(|of| of.buckets.get(&bucket)).map(Vec::as_slice).unwrap_or_default()
    }
}
