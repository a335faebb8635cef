//! Files of a compaction: the files of each bucket, and the steps for those that are picked.
//!
//! In tables whose columns are in several files, the deletion vector of rows belongs to the oldest of their files.
//!
//! Source: Java's `MergeTreeCompactTask`, `FileRewriteCompactTask`, `DataEvolutionUtils.retrieveAnchorFile`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;

use super::compact_pick::{CompactUnit, Levels, PickRules};
use super::deletes::{DeletionVectors, for_file};
use super::evolution::is_part;
use super::sections::{age, overlapping, sections};
use super::splits::OrderedKey;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::expr::residual::residual;
use crate::format::task::{DataFile, DeleteRef, MergeSection, Partition, ScanTask};
use crate::paimon::catalog::metadata::PaimonTableMetadata;
use crate::paimon::manifest::entries::PaimonEntryRequest;
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::IndexEntry;
use crate::paimon::manifest::live::{data_manifests, live_files};
use crate::paimon::plan::record_expiry::RecordExpiry;
use crate::paimon::spec::partition::{PaimonPartitionBounds, TablePaths, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::stats::{StatsBounds, StatsMapping};

/// All files of a bucket.
#[derive(Clone, Debug)]
pub struct BucketFiles {
    /// Their partition.
    pub partition: Arc<Partition>,
    /// Their partition as a binary row, as in manifests.
    pub partition_row: Arc<[u8]>,
    /// The bucket.
    pub bucket: i32,
    /// Buckets of the partition, as recorded by its last file.
    pub total_buckets: i32,
    /// The files, without statistics.
    pub files: Vec<FileEntry>,
    /// How each is read, with its deletion vector and without filter.
    pub tasks: Vec<ScanTask>,
    /// Index files with their deletion vectors.
    pub vectors: Vec<IndexEntry>,
    /// Places of files with expired rows.
    pub due: HashSet<usize>,
}

/// The buckets of the partitions that a filter of partition columns keeps, at the table's snapshot. With `expiry`,
/// files with expired rows are known.
///
/// # Errors
/// Those of reading manifests; `CorruptTable` for partitions that can't be read.
pub fn bucket_files(
    metadata: &PaimonTableMetadata,
    schema: &TableSchema,
    filter: &BoundPredicate,
    expiry: Option<&RecordExpiry>,
) -> Result<Vec<BucketFiles>> {
    let Some(snapshot) = &metadata.snapshot else { return Ok(Vec::new()) };
    let (from, root) = (metadata.folder.manifests(), metadata.folder.root());
    let judged: Mutex<HashMap<Vec<u8>, bool>> = Mutex::new(HashMap::new());
    let keep = |row: &[u8], _: i32, _: i32| {
        let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = || match partition_of(schema, row) {
            Ok(partition) => residual(filter, &PaimonPartitionBounds(&partition)) != BoundPredicate::False,
            // A partition that can't be read is kept, so that its error is seen later.
            Err(_) => true,
        };
        *judged.entry(row.to_vec()).or_insert_with(wanted)
    };
    let manifests = data_manifests(from, snapshot)?;
    let request =
        PaimonEntryRequest { keep: Some(&keep), value_stats: expiry.is_some(), ..PaimonEntryRequest::default() };
    let live = live_files(from, &manifests, &request)?;
    let paths = TablePaths::new(root, schema)?;
    let mut buckets: IndexMap<(Arc<[u8]>, i32), BucketFiles> = IndexMap::new();
    for part in &live {
        for row in part.rows.iter().map(|row| *row as usize) {
            let entry = part.columns.entry(row)?;
            let key = (entry.partition.clone(), entry.bucket);
            if !buckets.contains_key(&key) {
                let partition = Arc::new(partition_of(schema, &entry.partition)?);
                let (partition_row, bucket) = key.clone();
                let (files, tasks, vectors, due) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
                let new =
                    BucketFiles { partition, partition_row, bucket, total_buckets: 0, files, tasks, vectors, due };
                buckets.insert(key.clone(), new);
            }
            let Some(bucket) = buckets.get_mut(&key) else { continue };
            let folder = paths.bucket(&bucket.partition, bucket.bucket)?;
            let file = part.columns.data_file(row, bucket.partition.clone(), &folder)?;
            bucket.total_buckets = entry.total_buckets;
            bucket.tasks.push(whole_file(file));
            if let Some(expiry) = expiry
                && is_due(expiry, metadata, schema, &entry)?
            {
                bucket.due.insert(bucket.files.len());
            }
            bucket.files.push(entry);
        }
    }
    let mut buckets: Vec<BucketFiles> = buckets.into_values().collect();
    if schema.options().deletion_vectors()? {
        let wanted = buckets.iter().map(|b| (b.partition_row.to_vec().into_boxed_slice(), b.bucket)).collect();
        add_vectors(&mut buckets, &DeletionVectors::load(from, snapshot, &wanted)?, &paths)?;
    }
    Ok(buckets)
}

/// The task that reads all rows of a file.
fn whole_file(file: DataFile) -> ScanTask {
    ScanTask {
        start: 0,
        length: file.size_bytes,
        data_file: Arc::new(file),
        deletes: Vec::new(),
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: None,
    }
}

/// Adds to each task the deletion vector of its file.
fn add_vectors(buckets: &mut [BucketFiles], vectors: &DeletionVectors, paths: &TablePaths) -> Result<()> {
    for bucket in buckets {
        let of_files = vectors.of_bucket(&bucket.partition_row, bucket.bucket);
        for (task, file) in bucket.tasks.iter_mut().zip(&bucket.files) {
            if let Some(vector) = of_files.get(file.file_name.as_str()) {
                task.deletes.push(vector.reference(paths, &bucket.partition, &task.data_file.path)?);
            }
        }
        bucket.vectors = vectors.index_files(&bucket.partition_row, bucket.bucket).to_vec();
    }
    Ok(())
}

/// Whether a file has an expired row, as far as its statistics show.
fn is_due(
    expiry: &RecordExpiry,
    metadata: &PaimonTableMetadata,
    schema: &TableSchema,
    entry: &FileEntry,
) -> Result<bool> {
    let Some(file) = metadata.schemas.get(&entry.schema_id) else { return Ok(false) };
    let (recorded, written) = (entry.value_stats_cols.as_deref(), entry.write_cols.as_deref());
    let mapping = StatsMapping::of_values(schema, file, recorded, written);
    let bounds = StatsBounds::new(&mapping, entry.value_stats.as_ref(), entry.row_count);
    Ok(expiry.is_due(&bounds.with("file", &entry.file_name)?))
}

/// Files of a bucket that share no key with others: sorted runs of places in a list.
pub type CompactSection = Vec<Vec<usize>>;

/// The actions on compacted files, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactStep {
    /// Merge and rewrite them.
    Rewrite(Vec<CompactSection>),
    /// The file gets another level, unchanged.
    Upgrade(usize),
}

/// The steps of a compaction. Files that overlap no others and have `small_bytes` or more are not rewritten.
///
/// # Errors
/// `CorruptTable` for keys that can't be read.
pub fn steps(
    bucket: &BucketFiles,
    levels: &Levels,
    unit: &CompactUnit,
    rules: &PickRules,
    schema: &TableSchema,
    small_bytes: i64,
) -> Result<Vec<CompactStep>> {
    if unit.each {
        return Ok(unit.files.iter().map(|at| CompactStep::Rewrite(vec![vec![vec![*at]]])).collect());
    }
    let mut out =
        Steps { bucket, unit, is_top: unit.level == levels.top(), rules, waiting: Vec::new(), done: Vec::new() };
    for section in key_sections(bucket, &unit.files, schema)? {
        match &section[..] {
            [run] => {
                for at in run {
                    if bucket.files.get(*at).is_some_and(|f| f.file_size < small_bytes) {
                        out.waiting.push(vec![vec![*at]]);
                    } else {
                        out.rewrite();
                        out.upgrade(*at);
                    }
                }
            }
            _ => out.waiting.push(section),
        }
    }
    out.rewrite();
    Ok(out.done)
}

/// The sections of some files of a bucket, in the order of keys; older runs first.
///
/// # Errors
/// `CorruptTable` for keys that can't be read.
pub fn key_sections(bucket: &BucketFiles, files: &[usize], schema: &TableSchema) -> Result<Vec<CompactSection>> {
    let types = schema.key_types();
    let keys = |at: &usize| -> Result<(OrderedKey, OrderedKey)> {
        let Some(file) = bucket.files.get(*at) else { return Ok((OrderedKey::default(), OrderedKey::default())) };
        let key = |bytes: &[u8]| OrderedKey::read(bytes, &types).with("file", &file.file_name);
        Ok((key(&file.min_key)?, key(&file.max_key)?))
    };
    let keys = files.iter().map(keys).collect::<Result<Vec<_>>>()?;
    let age = |run: &Vec<usize>| {
        let files = run.iter().filter_map(|at| bucket.files.get(*at).map(|f| (f, *at)));
        files.map(|(f, at)| age(f.min_sequence_number, f.level, at)).min()
    };
    let of_files = |section: CompactSection| {
        let run = |run: Vec<usize>| run.into_iter().filter_map(|i| files.get(i).copied()).collect();
        let mut runs: CompactSection = section.into_iter().map(run).collect();
        runs.sort_by_key(age);
        runs
    };
    Ok(sections(&keys).into_iter().map(of_files).collect())
}

/// The steps so far.
struct Steps<'a> {
    bucket: &'a BucketFiles,
    unit: &'a CompactUnit,
    is_top: bool,
    rules: &'a PickRules,
    /// Sections that are rewritten together.
    waiting: Vec<CompactSection>,
    done: Vec<CompactStep>,
}

impl Steps<'_> {
    fn rewrite(&mut self) {
        match &std::mem::take(&mut self.waiting)[..] {
            [] => {}
            [only] => match &only[..] {
                [run] => run.iter().for_each(|at| self.upgrade(*at)),
                _ => self.done.push(CompactStep::Rewrite(vec![only.clone()])),
            },
            sections => self.done.push(CompactStep::Rewrite(sections.to_vec())),
        }
    }

    /// On the highest level no row deletes another.
    fn upgrade(&mut self, at: usize) {
        let Some(file) = self.bucket.files.get(at) else { return };
        let has_deletes = self.is_top && file.delete_row_count != Some(0);
        if has_deletes || self.rules.rewrites_all || self.bucket.due.contains(&at) {
            self.done.push(CompactStep::Rewrite(vec![vec![vec![at]]]));
        } else if file.level != self.unit.level {
            self.done.push(CompactStep::Upgrade(at));
        }
    }
}

/// Files that have columns of the same rows, as places in their bucket.
#[derive(Clone, Debug)]
pub(crate) struct RowGroup {
    /// The files, the oldest first.
    pub(crate) files: Vec<usize>,
    /// The first and the last row id.
    pub(crate) rows: (i64, i64),
}

impl RowGroup {
    /// The deletion vector of the rows, if they have one.
    pub(crate) fn vectors<'b>(&self, bucket: &'b BucketFiles) -> &'b [DeleteRef] {
        let oldest = self.files.first().and_then(|at| bucket.tasks.get(*at));
        oldest.map(|task| &task.deletes[..]).unwrap_or_default()
    }

    /// Whether a deletion vector deletes some of the rows.
    pub(crate) fn has_vector(&self, bucket: &BucketFiles) -> bool {
        !self.vectors(bucket).is_empty()
    }
}

/// Refuses files of blobs and of vectors.
///
/// # Errors
/// `Unsupported`, naming the file.
pub(crate) fn check_no_parts(bucket: &BucketFiles) -> Result<()> {
    match bucket.files.iter().find(|file| is_part(&file.file_name)) {
        None => Ok(()),
        Some(file) => Err(Error::unsupported("rows with files of blobs or vectors can't be written again yet")
            .with("file", &file.file_name)
            .hint("Java Paimon does it")),
    }
}

/// The groups of a bucket's files, by row ids ascending. Files of blobs and of vectors are left out, since they have
/// only a part of the rows.
///
/// # Errors
/// `CorruptTable` for files without row ids, or that overlap without having the same rows.
pub(crate) fn row_groups(bucket: &BucketFiles) -> Result<Vec<RowGroup>> {
    let (mut places, mut ranges) = (Vec::new(), Vec::new());
    for (at, file) in bucket.files.iter().enumerate().filter(|(_, file)| !is_part(&file.file_name)) {
        let ids = file.row_ids().filter(|(first, last)| *first >= 0 && first <= last);
        ranges.push(ids.ok_or_else(|| Error::corrupt("the rows of a file have no ids").with("file", &file.file_name))?);
        places.push(at);
    }
    let mut out = Vec::new();
    for group in overlapping(&ranges) {
        let mut rows = group.iter().filter_map(|at| ranges.get(*at).copied());
        let mut files: Vec<usize> = group.iter().filter_map(|at| places.get(*at).copied()).collect();
        files.sort_by_key(|at| bucket.files.get(*at).map(|f| (f.max_sequence_number, &f.file_name)));
        let Some(first) = rows.next() else { continue };
        if let Some(other) = rows.find(|other| *other != first) {
            return Err(Error::corrupt("files with columns of the same rows do not cover the same row ids")
                .with("first row id", other.0));
        }
        out.push(RowGroup { files, rows: first });
    }
    Ok(out)
}

/// The task that reads the rows of a group that are not deleted.
///
/// # Errors
/// `Internal` if the files are not the bucket's.
pub(crate) fn task_of_group(bucket: &BucketFiles, group: &RowGroup) -> Result<ScanTask> {
    let vectors = group.vectors(bucket);
    let of_file = |at: &usize| {
        let task = bucket.tasks.get(*at).ok_or_else(|| Error::internal("a group has files of another bucket"))?;
        let deletes = vectors.iter().map(|vector| for_file(vector, &task.data_file.path)).collect();
        Ok(ScanTask { deletes, ..task.clone() })
    };
    let mut tasks = group.files.iter().map(of_file).collect::<Result<Vec<_>>>()?;
    if tasks.len() == 1
        && let Some(only) = tasks.pop()
    {
        return Ok(only);
    }
    let oldest = tasks.first().map(|task| task.data_file.clone());
    Ok(ScanTask {
        data_file: oldest.ok_or_else(|| Error::internal("a group has no files"))?,
        start: 0,
        length: tasks.iter().map(|task| task.length).fold(0, i64::saturating_add),
        deletes: Vec::new(),
        residual: Arc::new(BoundPredicate::True),
        change: None,
        merge: Some(Arc::new(MergeSection { runs: tasks.into_iter().map(|task| vec![task]).collect(), before: None })),
    })
}
