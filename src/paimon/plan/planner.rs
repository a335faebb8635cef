//! Planning: manifest lists → manifests → live files → splits.
//!
//! Manifests are pruned by what their list says of partitions, buckets and levels; files by partition, bucket, level, key,
//! statistics of values and file index, each manifest on a thread of its own. What is left is put together bucket by bucket: files
//! of a primary-key table that overlap become sections to be merged. Splits are Java's.
//!
//! Source: Java's `KeyValueFileStoreScan`, `AppendOnlyFileStoreScan` and `SnapshotReaderImpl`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexMap;

use super::deletes::{BucketKey, DeletionVectors};
use super::files::{BatchJudge, Group, Judged, Pruner};
pub use super::files::{Mappings, Stage, indexed_type, schema_of};
use super::index::drop_by_index_files;
use super::rules::Rules;
use super::splits::Splitter;
use crate::codec::avro::ManifestCache;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::manifest_count::ManifestCount;
use crate::format::task::{Partition, ScanTask};
use crate::paimon::manifest::entries::EntryRequest;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::list::ManifestFile;
use crate::paimon::manifest::live::{DeletedFiles, data_manifests};
use crate::paimon::spec::partition::Paths;
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::Snapshot;
use crate::parallel::{Cancellation, in_parallel};
use crate::store::Store;
use crate::types::FieldId;

/// What is planned.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// Where the files are.
    pub store: Arc<dyn Store>,
    /// The table's folder.
    pub root: String,
    /// Manifests that former plans read.
    pub kept: Arc<ManifestCache>,
    /// The schemas of the branch, by their numbers.
    pub schemas: Arc<BTreeMap<i64, Arc<TableSchema>>>,
    /// The version; `None` for an empty table.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The schema that the filter is bound to.
    pub schema: Arc<TableSchema>,
    /// The filter.
    pub filter: Arc<BoundPredicate>,
    /// The table's options, overridden by those of the scan.
    pub options: Arc<BTreeMap<String, String>>,
    /// The columns that are read, the filter's left out; `None` for all. Only where files hold some columns does it matter.
    pub projection: Option<Vec<FieldId>>,
    /// Only files made then or later, milliseconds since the epoch.
    pub files_since_ms: Option<i64>,
    /// Whether files of level 0 are seen in tables that hide them, and merged with the others.
    pub every_level: bool,
}

impl PlanInput {
    /// Where manifests are read from.
    pub fn manifests(&self) -> ManifestFolder<'_> {
        ManifestFolder::new(self.store.as_ref(), &self.root).keeping(&self.kept)
    }
}

impl PlanCounters {
    /// Adds what another part of a plan has in the end.
    fn add_kept(&mut self, other: &PlanCounters) {
        self.files_kept += other.files_kept;
        self.rows_kept = self.rows_kept.saturating_add(other.rows_kept);
        self.bytes_kept = self.bytes_kept.saturating_add(other.bytes_kept);
        self.files_merged += other.files_merged;
        self.deletes_attached += other.deletes_attached;
    }
}

/// What each stage of planning saw and kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanCounters {
    /// In the manifest lists.
    pub manifests: ManifestCount,
    /// After what the lists say of partitions, buckets and levels.
    pub manifests_kept: ManifestCount,
    /// Live files of all manifests, by the counts of the lists.
    pub files_listed: u64,
    /// Live files after partitions and buckets.
    pub files_in_buckets: u64,
    /// Of them, those on levels that the scan does not see.
    pub files_hidden: u64,
    /// After levels and the bounds of keys.
    pub files_after_keys: u64,
    /// After statistics of values; files that others of their bucket keep stay.
    pub files_after_values: u64,
    /// After file indexes: those that the plan has.
    pub files_kept: u64,
    /// Their rows, not merged.
    pub rows_kept: u64,
    /// Their bytes.
    pub bytes_kept: u64,
    /// Of them, those that are merged with others.
    pub files_merged: u64,
    /// Files with a deletion vector.
    pub deletes_attached: u64,
    /// Reading manifest lists, milliseconds.
    pub list_ms: f64,
    /// Reading and judging manifests, milliseconds.
    pub entries_ms: f64,
    /// Making splits, milliseconds.
    pub splits_ms: f64,
}

/// Files of one bucket that Java reads together.
#[derive(Clone, Debug)]
pub struct PlannedSplit {
    /// Their partition.
    pub partition: Arc<Partition>,
    /// Their bucket.
    pub bucket: i32,
    /// Buckets of the partition when the first of them was written.
    pub total_buckets: i32,
    /// Whether Java reads each file for itself.
    pub raw_convertible: bool,
    /// Files that stand for themselves, and sections.
    pub tasks: Vec<ScanTask>,
}

impl PlannedSplit {
    /// All files, those of sections too.
    pub fn files(&self) -> impl Iterator<Item = &ScanTask> {
        self.tasks.iter().flat_map(files_of)
    }

    /// As [`PlannedSplit::files`].
    pub fn into_files(self) -> impl Iterator<Item = ScanTask> {
        self.tasks.into_iter().flat_map(|mut task| match task.merge.take() {
            Some(section) => Arc::unwrap_or_clone(section).runs.into_iter().flatten().collect(),
            None => vec![task],
        })
    }
}

/// A task, or those that its section is of.
pub fn files_of(task: &ScanTask) -> impl Iterator<Item = &ScanTask> {
    let section = task.merge.iter().flat_map(|section| section.runs.iter().flatten());
    task.merge.is_none().then_some(task).into_iter().chain(section)
}

/// What planning gives.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// In the order of partitions and buckets as manifests first name them.
    pub splits: Vec<PlannedSplit>,
    /// What was seen and kept.
    pub counters: PlanCounters,
}

/// Plans the state of a table at a snapshot.
///
/// # Errors
/// `NotFound`, `CorruptTable` or `Unsupported`, naming the file; `InvalidInput` for options that are not what they should be; what
/// `go_on` gives.
pub fn plan(input: &PlanInput, go_on: Cancellation) -> Result<Plan> {
    let rules = Rules::of_state(input)?;
    let Some(snapshot) = &input.snapshot else { return Ok(Plan::default()) };
    plan_state(input, &rules, snapshot, go_on).with("snapshot", snapshot.id)
}

fn plan_state(input: &PlanInput, rules: &Rules, snapshot: &Snapshot, go_on: Cancellation) -> Result<Plan> {
    let began = Instant::now();
    let mut counters = PlanCounters::default();
    let manifests = data_manifests(input.manifests(), snapshot)?;
    let pruner = Pruner::new(input, rules)?;
    let kept = pruner.manifests(manifests, &mut counters)?;
    counters.list_ms = millis_since(began);
    let read = Instant::now();
    let files = live_files(input, &pruner, &kept, &mut counters, go_on)?;
    counters.entries_ms = millis_since(read);
    let split = Instant::now();
    let buckets = Buckets::of(&pruner, &files)?;
    let deletes = match rules.deletion_vectors {
        true => DeletionVectors::load(input.manifests(), snapshot, &buckets.keys())?,
        false => DeletionVectors::default(),
    };
    let splits = splits(input, rules, &files, (&buckets, &deletes), &mut counters, go_on)?;
    counters.splits_ms = millis_since(split);
    Ok(Plan { splits, counters })
}

/// Entries whose splits one thread makes at a time.
const ENTRIES_AT_ONCE: usize = 512;

/// The splits of all buckets, on as many threads as pay off.
fn splits(
    input: &PlanInput,
    rules: &Rules,
    files: &[Judged],
    (buckets, deletes): (&Buckets, &DeletionVectors),
    counters: &mut PlanCounters,
    go_on: Cancellation,
) -> Result<Vec<PlannedSplit>> {
    let parts = buckets.parts(ENTRIES_AT_ONCE);
    let made = in_parallel(parts.len(), |i| {
        let splitter = Splitter::new(input, rules, files, deletes)?;
        let (mut splits, mut counted) = (Vec::new(), PlanCounters::default());
        for (group, bucket, entries) in parts.get(i).into_iter().flatten() {
            go_on()?;
            splits.extend(splitter.bucket(group, *bucket, entries)?);
        }
        count(&splits, &mut counted);
        Ok((splits, splitter.left_out(), splitter.index_files(), counted))
    })?;
    let (mut splits, mut indexes, mut counted) = (Vec::new(), HashMap::new(), PlanCounters::default());
    for (of_part, left_out, index_files, counted_there) in made {
        counters.files_after_values = counters.files_after_values.saturating_sub(left_out);
        splits.extend(of_part);
        indexes.extend(index_files);
        counted.add_kept(&counted_there);
    }
    if !indexes.is_empty() {
        splits = drop_by_index_files(input, splits, &indexes)?;
        counted = PlanCounters::default();
        count(&splits, &mut counted);
    }
    splits.retain(|s| !s.tasks.is_empty());
    counters.add_kept(&counted);
    Ok(splits)
}

fn millis_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Counts what a plan has in the end.
pub(crate) fn count(splits: &[PlannedSplit], counters: &mut PlanCounters) {
    for task in splits.iter().flat_map(|s| &s.tasks) {
        for file in files_of(task) {
            counters.files_merged += u64::from(task.merge.is_some());
            counters.files_kept += 1;
            counters.rows_kept = counters.rows_kept.saturating_add(file.data_file.record_count.max(0).unsigned_abs());
            counters.bytes_kept = counters.bytes_kept.saturating_add(file.data_file.size_bytes.max(0).unsigned_abs());
            counters.deletes_attached += file.deletes.len() as u64;
        }
    }
}

/// The live files of manifests that survive on their own, in order.
///
/// # Errors
/// As [`plan`].
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
type Bucket<'b> = (&'b Arc<Group>, i32, &'b [Entry]);

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
    fn parts(&self, files: usize) -> Vec<Vec<Bucket<'_>>> {
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

/// Where the files of a scan's table are.
///
/// # Errors
/// As [`Paths::new`].
pub(crate) fn paths(input: &PlanInput) -> Result<Paths> {
    Paths::new(&input.root, &input.schema)
}

#[cfg(test)]
#[path = "planner_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "planner_property_tests.rs"]
mod property_tests;
