//! Splits of a bucket: files that are read alone, and files that are read together.
//!
//! Source: Java's `MergeTreeSplitGenerator`, `AppendOnlySplitGenerator` and `DataEvolutionSplitGenerator`.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::buckets::PlannedEntry;
use super::deletes::{DeletionVectors, Vector};
use super::evolution::{ColumnFiles, is_part};
use super::files::{JudgedEntries, PruneStage, PrunedPartition};
use super::index::{IndexFile, SUFFIX};
use super::input::{PaimonPlanInput, paths};
use super::planned::PlannedSplit;
use super::rules::PlanRules;
use super::sections::{age, overlapping, pack, packed, sections};
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::format::task::{MergeSection, ScanTask};
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::data_type::DataType;
use crate::paimon::spec::partition::TablePaths;
use crate::types::{Value, ValueRef};

/// Makes the splits of a plan, bucket by bucket.
pub(crate) struct Splitter<'p> {
    pub input: &'p PaimonPlanInput,
    pub rules: &'p PlanRules,
    pub files: &'p [JudgedEntries],
    deletes: &'p DeletionVectors,
    paths: TablePaths,
    key_types: Vec<DataType>,
    index_files: RefCell<HashMap<String, IndexFile>>,
    left_out: Cell<u64>,
}

/// The files of some rows that are read, and the deletion vector of the rows.
type AlignedGroup<'p> = (Vec<PlannedEntry>, Option<Vector<'p>>);

/// The bucket that splits are made for.
pub(crate) struct SplitBucket<'p> {
    group: &'p Arc<PrunedPartition>,
    bucket: i32,
    folder: String,
    vectors: HashMap<&'p str, Vector<'p>>,
}

/// A key as the order of files sees it: by value, nulls first.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderedKey(Vec<Option<Value>>);

impl OrderedKey {
    /// The key of a file, a binary row after its number of fields.
    ///
    /// # Errors
    /// `CorruptTable` if its values are not of these types.
    pub(crate) fn read(bytes: &[u8], types: &[DataType]) -> Result<OrderedKey> {
        let row = key_row(bytes, types)?;
        let value = |(i, ty)| Ok(row.value(i, ty)?.map(|v| v.to_owned()));
        Ok(OrderedKey(types.iter().enumerate().map(value).collect::<Result<_>>()?))
    }
}

fn key_row<'a>(bytes: &'a [u8], types: &[DataType]) -> Result<BinaryRow<'a>> {
    let row = BinaryRow::from_prefixed(bytes)?;
    match row.arity() == types.len() {
        true => Ok(row),
        false => {
            let (found, wanted) = (row.arity(), types.len());
            Err(Error::corrupt(format!("a file's key has {found} columns, and the table's key {wanted}")))
        }
    }
}

impl Ord for OrderedKey {
    fn cmp(&self, other: &OrderedKey) -> Ordering {
        let one = |(a, b): (&Option<Value>, &Option<Value>)| match (a, b) {
            (Some(a), Some(b)) => a.sql_cmp(b).unwrap_or(Ordering::Equal),
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        self.0.iter().zip(&other.0).map(one).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for OrderedKey {
    fn partial_cmp(&self, other: &OrderedKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedKey {
    fn eq(&self, other: &OrderedKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for OrderedKey {}

impl<'p> Splitter<'p> {
    /// # Errors
    /// As [`TablePaths::new`].
    pub(crate) fn new(
        input: &'p PaimonPlanInput,
        rules: &'p PlanRules,
        files: &'p [JudgedEntries],
        deletes: &'p DeletionVectors,
    ) -> Result<Splitter<'p>> {
        let key_types = input.schema.key_types();
        let (paths, index_files, left_out) = (paths(input)?, RefCell::default(), Cell::default());
        Ok(Splitter { input, rules, files, deletes, paths, key_types, index_files, left_out })
    }

    /// Files that statistics exclude and that no other file of their bucket keeps.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out.get()
    }

    /// Index files of the files that are read alone, by data file.
    pub(crate) fn index_files(self) -> HashMap<String, IndexFile> {
        self.index_files.into_inner()
    }

    /// The splits of a bucket.
    ///
    /// # Errors
    /// `CorruptTable` for keys, names and ids that can't be read; `Unsupported` for an unknown file format.
    pub(crate) fn bucket(
        &self,
        group: &'p Arc<PrunedPartition>,
        bucket: i32,
        entries: &[PlannedEntry],
    ) -> Result<Vec<PlannedSplit>> {
        let of_values =
            |entries: &[PlannedEntry]| entries.iter().filter(|e| e.stage == PruneStage::Values).count() as u64;
        let before = of_values(entries);
        let mut entries = self.matching(entries);
        self.left_out.set(self.left_out.get() + before.saturating_sub(of_values(&entries)));
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let place = self.place(group, bucket)?;
        if self.rules.data_evolution {
            return self.evolved(&place, &entries);
        }
        if self.rules.has_key {
            return self.keyed(&place, entries);
        }
        entries.sort_by_key(|e| self.number(*e, |c| &c.min_sequence_number));
        self.raw(&place, &entries)
    }

    /// A bucket's folder and deletion vectors.
    ///
    /// # Errors
    /// As [`TablePaths::bucket`].
    pub(crate) fn place(&self, group: &'p Arc<PrunedPartition>, bucket: i32) -> Result<SplitBucket<'p>> {
        let folder = self.paths.bucket(&group.partition, bucket)?;
        Ok(SplitBucket { group, bucket, folder, vectors: self.deletes.of_bucket(&group.row, bucket) })
    }

    /// Selects files of a bucket one by one if they don't overlap. Otherwise it takes all files or none.
    pub(crate) fn matching(&self, entries: &[PlannedEntry]) -> Vec<PlannedEntry> {
        let kept = |e: &PlannedEntry| e.stage == PruneStage::Kept;
        if !self.rules.values_by_bucket || entries.iter().all(kept) {
            return entries.to_vec();
        }
        if self.apart(entries) {
            return entries.iter().copied().filter(kept).collect();
        }
        match self.rules.drops_buckets() && !entries.iter().any(kept) {
            true => Vec::new(),
            false => entries.to_vec(),
        }
    }

    /// Whether no two files of a bucket can have the same key.
    pub(crate) fn apart(&self, entries: &[PlannedEntry]) -> bool {
        let level = |e: &PlannedEntry| self.files.get(e.batch).and_then(|f| f.columns.level.get(e.row)).copied();
        let first = entries.first().and_then(level);
        entries.len() <= 1 || first != Some(0) && entries.iter().all(|e| level(e) == first)
    }

    fn number(
        &self,
        e: PlannedEntry,
        column: impl Fn(&crate::paimon::manifest::entries::PaimonEntryColumns) -> &Vec<i64>,
    ) -> i64 {
        self.files.get(e.batch).and_then(|f| column(&f.columns).get(e.row)).copied().unwrap_or_default()
    }

    fn level(&self, e: PlannedEntry) -> i32 {
        self.files.get(e.batch).and_then(|f| f.columns.level.get(e.row)).copied().unwrap_or_default()
    }

    /// Rows that delete others; `None` if not recorded.
    fn retracts(&self, e: PlannedEntry) -> Option<i64> {
        self.files.get(e.batch).and_then(|f| f.columns.delete_row_count.get(e.row)).copied().flatten()
    }

    fn weight(&self, e: PlannedEntry) -> i64 {
        self.number(e, |c| &c.file_size).max(self.rules.open_file_bytes)
    }

    /// Files that are read alone, in order.
    fn raw(&self, place: &SplitBucket<'p>, entries: &[PlannedEntry]) -> Result<Vec<PlannedSplit>> {
        let packed = packed(entries, |e| self.weight(*e), self.rules.split_bytes);
        let mut splits = Vec::with_capacity(packed.len());
        for entries in packed {
            let mut tasks = Vec::with_capacity(entries.len());
            for e in entries {
                tasks.push(self.alone(place, *e)?);
            }
            splits.push(self.split(place, entries.first(), true, tasks)?);
        }
        Ok(splits)
    }

    fn split(
        &self,
        place: &SplitBucket<'p>,
        first: Option<&PlannedEntry>,
        raw_convertible: bool,
        tasks: Vec<ScanTask>,
    ) -> Result<PlannedSplit> {
        let total = first.and_then(|e| self.files.get(e.batch)?.columns.total_buckets.get(e.row)).copied();
        Ok(PlannedSplit {
            partition: place.group.partition.clone(),
            bucket: place.bucket,
            total_buckets: total.unwrap_or_default(),
            raw_convertible,
            tasks,
        })
    }

    fn keyed(&self, place: &SplitBucket<'p>, entries: Vec<PlannedEntry>) -> Result<Vec<PlannedSplit>> {
        let merged = |e: &PlannedEntry| self.level(*e) != 0 && self.retracts(*e).unwrap_or(0) == 0;
        let settled = self.rules.hides_level_0 || self.apart(&entries);
        if settled && entries.iter().all(merged) {
            // If it was not recorded whether rows delete others, merging finds out.
            if entries.iter().all(|e| self.retracts(*e).is_some()) {
                return self.raw(place, &entries);
            }
            let packed = pack(entries, |e| self.weight(*e), self.rules.split_bytes);
            let split = |entries: Vec<PlannedEntry>| {
                let tasks = entries.iter().map(|e| self.section(place, &[vec![*e]])).collect::<Result<_>>()?;
                self.split(place, entries.first(), true, tasks)
            };
            return packed.into_iter().map(split).collect();
        }
        let sections = self.sections(&entries)?;
        let weight = |section: &Vec<Vec<PlannedEntry>>| {
            let bytes = section.iter().flatten().map(|e| self.number(*e, |c| &c.file_size));
            bytes.fold(0, i64::saturating_add).max(self.rules.open_file_bytes)
        };
        let split = |sections: Vec<Vec<Vec<PlannedEntry>>>| {
            let mut files = sections.iter().flatten().flatten();
            let raw = match (files.next(), files.next()) {
                (Some(only), None) => self.retracts(*only).unwrap_or(0) == 0,
                _ => false,
            };
            let tasks = sections.iter().map(|s| self.section(place, s)).collect::<Result<_>>()?;
            self.split(place, entries.first(), raw, tasks)
        };
        pack(sections, weight, self.rules.split_bytes).into_iter().map(split).collect()
    }

    /// Sections of files, each of runs, the oldest first.
    fn sections(&self, entries: &[PlannedEntry]) -> Result<Vec<Vec<Vec<PlannedEntry>>>> {
        let of_files = match self.key_types.as_slice() {
            [one] if one.kind.integer_bits().is_some() => {
                let number = |bytes: &[u8]| match key_row(bytes, &self.key_types)?.value(0, one)? {
                    Some(ValueRef::Int(v)) => Ok(Some(i64::from(v))),
                    Some(ValueRef::Long(v)) => Ok(Some(v)),
                    _ => Ok(None),
                };
                sections(&entries.iter().map(|e| self.keys(*e, &number)).collect::<Result<Vec<_>>>()?)
            }
            types => {
                let key = |bytes: &[u8]| OrderedKey::read(bytes, types);
                sections(&entries.iter().map(|e| self.keys(*e, &key)).collect::<Result<Vec<_>>>()?)
            }
        };
        let at = |run: &Vec<usize>| run.iter().filter_map(|i| entries.get(*i).copied()).collect::<Vec<PlannedEntry>>();
        let age = |e: &PlannedEntry| age(self.number(*e, |c| &c.min_sequence_number), self.level(*e), (e.batch, e.row));
        let of_entries = |section: &Vec<Vec<usize>>| {
            let mut runs: Vec<Vec<PlannedEntry>> = section.iter().map(at).collect();
            runs.sort_by_key(|run| run.iter().map(age).min());
            runs
        };
        Ok(of_files.iter().map(of_entries).collect())
    }

    /// All files of a bucket in as few runs as can be.
    fn long_runs(&self, entries: &[PlannedEntry]) -> Result<Vec<Vec<PlannedEntry>>> {
        let mut out: Vec<Vec<PlannedEntry>> = Vec::new();
        for section in self.sections(entries)? {
            out.resize_with(out.len().max(section.len()), Vec::new);
            out.iter_mut().zip(section).for_each(|(long, run)| long.extend(run));
        }
        Ok(out)
    }

    /// The runs of all these files, each file a task.
    ///
    /// # Errors
    /// As [`Splitter::bucket`].
    pub(crate) fn runs(&self, place: &SplitBucket<'p>, entries: &[PlannedEntry]) -> Result<Vec<Vec<ScanTask>>> {
        let nothing = Arc::new(BoundPredicate::True);
        let one = |e: &PlannedEntry| Ok(ScanTask { residual: nothing.clone(), ..self.task(place, *e)? });
        self.long_runs(entries)?.iter().map(|run| run.iter().map(one).collect()).collect()
    }

    /// A split of all these files, in one section.
    ///
    /// # Errors
    /// As [`Splitter::bucket`].
    pub(crate) fn whole(&self, place: &SplitBucket<'p>, entries: &[PlannedEntry]) -> Result<PlannedSplit> {
        let task = self.together(place, &self.long_runs(entries)?, &Arc::new(BoundPredicate::True))?;
        self.split(place, entries.first(), false, vec![task])
    }

    /// The least and the greatest key of a file.
    fn keys<K>(&self, e: PlannedEntry, read: &dyn Fn(&[u8]) -> Result<K>) -> Result<(K, K)> {
        let columns = &self.files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns;
        let key = |bytes: Option<&[u8]>| read(bytes.unwrap_or_default());
        let both = key(columns.min_key.get(e.row)).and_then(|min| Ok((min, key(columns.max_key.get(e.row))?)));
        both.with("file", columns.name(e.row)?)
    }

    /// Runs that are merged. A single file is read alone if it can't have rows that delete others.
    fn section(&self, place: &SplitBucket<'p>, runs: &[Vec<PlannedEntry>]) -> Result<ScanTask> {
        if let [run] = runs
            && let [only] = run[..]
            && self.retracts(only) == Some(0)
        {
            return self.alone(place, only);
        }
        self.together(place, runs, &place.group.of_keys)
    }

    /// A task of runs. `inner` is the filter of each single file.
    fn together(
        &self,
        place: &SplitBucket<'p>,
        runs: &[Vec<PlannedEntry>],
        inner: &Arc<BoundPredicate>,
    ) -> Result<ScanTask> {
        let one = |e: &PlannedEntry| Ok(ScanTask { residual: inner.clone(), ..self.task(place, *e)? });
        let runs = runs.iter().map(|run| run.iter().map(one).collect::<Result<_>>()).collect::<Result<_>>()?;
        joined(place, runs)
    }

    /// The task of a file.
    ///
    /// # Errors
    /// As [`crate::paimon::manifest::entries::PaimonEntryColumns::data_file`] and [`Vector::reference`].
    pub(crate) fn task(&self, place: &SplitBucket<'p>, e: PlannedEntry) -> Result<ScanTask> {
        let name = self.name(e)?;
        self.task_with(place, e, place.vectors.get(name).copied())
    }

    fn name(&self, e: PlannedEntry) -> Result<&'p str> {
        self.files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns.name(e.row)
    }

    /// The task of a file that is read alone. Its index file may still exclude it.
    fn alone(&self, place: &SplitBucket<'p>, e: PlannedEntry) -> Result<ScanTask> {
        let task = self.task(place, e)?;
        if *task.residual != BoundPredicate::True && self.rules.index_files {
            self.note_index_file(e, &task)?;
        }
        Ok(task)
    }

    fn note_index_file(&self, e: PlannedEntry, task: &ScanTask) -> Result<()> {
        let columns = &self.files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns;
        for name in columns.extra_files(e.row)?.into_iter().filter(|name| name.ends_with(SUFFIX)) {
            let data_file = task.data_file.path.clone();
            let path = self.paths.in_folder_of(&data_file, name)?;
            let index = IndexFile { data_file: data_file.clone(), path, schema_id: self.number(e, |c| &c.schema_id) };
            self.index_files.borrow_mut().insert(data_file, index);
        }
        Ok(())
    }

    /// The task of a file whose rows a deletion vector may delete.
    fn task_with(&self, place: &SplitBucket<'p>, e: PlannedEntry, vector: Option<Vector<'p>>) -> Result<ScanTask> {
        let columns = &self.files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns;
        let data_file = columns.data_file(e.row, place.group.partition.clone(), &place.folder)?;
        let deletes = vector.map(|v| v.reference(&self.paths, &place.group.partition, &data_file.path)).transpose()?;
        Ok(ScanTask {
            start: 0,
            length: data_file.size_bytes,
            data_file: Arc::new(data_file),
            deletes: deletes.into_iter().collect(),
            residual: place.group.residual.clone(),
            change: None,
            merge: None,
        })
    }

    /// Files of the same rows are joined, each having some columns.
    fn evolved(&self, place: &SplitBucket<'p>, entries: &[PlannedEntry]) -> Result<Vec<PlannedSplit>> {
        let groups = self.row_groups(entries)?;
        let nothing = Arc::new(BoundPredicate::True);
        let files = ColumnFiles { input: self.input, batches: self.files };
        let mut kept = Vec::new();
        for group in groups {
            if files.keeps_group(&place.group.residual, &group)? {
                kept.push((files.needed(&group)?, self.vector_of(place, &group)?));
            }
        }
        let weight = |(group, _): &AlignedGroup<'p>| {
            let bytes = group.iter().map(|e| self.number(*e, |c| &c.file_size)).fold(0, i64::saturating_add);
            bytes.max(self.rules.open_file_bytes)
        };
        let split = |groups: Vec<AlignedGroup<'p>>| {
            let raw = groups.iter().all(|(g, _)| g.len() == 1);
            let task = |(group, vector): &AlignedGroup<'p>| match group[..] {
                [only] => self.task_with(place, only, *vector),
                _ => {
                    let mut group = group.clone();
                    // The oldest file that has all rows describes the task.
                    let is_part = |e: &PlannedEntry| self.name(*e).is_ok_and(is_part);
                    group.sort_by_key(|e| (is_part(e), self.number(*e, |c| &c.max_sequence_number)));
                    // Positions are the same in all files of the rows.
                    let one = |e| Ok(ScanTask { residual: nothing.clone(), ..self.task_with(place, e, *vector)? });
                    joined(place, group.into_iter().map(|e| Ok(vec![one(e)?])).collect::<Result<_>>()?)
                }
            };
            let tasks = groups.iter().map(task).collect::<Result<_>>()?;
            self.split(place, groups.first().and_then(|(g, _)| g.first()), raw, tasks)
        };
        pack(kept, weight, self.rules.split_bytes).into_iter().map(split).collect()
    }

    /// The deletion vector of a group's rows: that of its oldest file.
    ///
    /// Source: Java's `DataEvolutionUtils.retrieveAnchorFile`.
    fn vector_of(&self, place: &SplitBucket<'p>, group: &[PlannedEntry]) -> Result<Option<Vector<'p>>> {
        if place.vectors.is_empty() {
            return Ok(None);
        }
        let mut oldest: Option<(i64, &str)> = None;
        for e in group {
            let age = (self.number(*e, |c| &c.max_sequence_number), self.name(*e)?);
            if !is_part(age.1) && oldest.is_none_or(|oldest| age < oldest) {
                oldest = Some(age);
            }
        }
        Ok(oldest.and_then(|(_, name)| place.vectors.get(name)).copied())
    }

    /// Groups of files with overlapping row ids.
    fn row_groups(&self, entries: &[PlannedEntry]) -> Result<Vec<Vec<PlannedEntry>>> {
        let range = |e: &PlannedEntry| {
            let columns = &self.files.get(e.batch).ok_or_else(|| Error::internal("no such manifest"))?.columns;
            let first = columns.first_row_id.get(e.row).copied().flatten();
            let first = first.ok_or_else(|| Error::corrupt("a file of a table that tracks rows has no row ids"))?;
            let last = first.checked_add(self.number(*e, |c| &c.row_count).max(1) - 1);
            Ok((first, last.ok_or_else(|| Error::corrupt("row ids are too large"))?))
        };
        let ranges = entries.iter().map(range).collect::<Result<Vec<_>>>()?;
        let at = |group: Vec<usize>| group.into_iter().filter_map(|i| entries.get(i).copied()).collect();
        Ok(overlapping(&ranges).into_iter().map(at).collect())
    }
}

/// A task of runs.
fn joined(place: &SplitBucket<'_>, runs: Vec<Vec<ScanTask>>) -> Result<ScanTask> {
    let first = runs.first().and_then(|run| run.first()).ok_or_else(|| Error::internal("a section without files"))?;
    let length = runs.iter().flatten().map(|t| t.length).fold(0, i64::saturating_add);
    Ok(ScanTask {
        data_file: first.data_file.clone(),
        start: 0,
        length,
        deletes: Vec::new(),
        residual: place.group.residual.clone(),
        change: None,
        merge: Some(Arc::new(MergeSection { runs, before: None })),
    })
}
