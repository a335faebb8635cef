//! Removes files from a snapshot: finds and rewrites the manifests that hold them.
//!
//! A manifest is opened only if, according to the list, it may hold a removed file. It is rewritten only if it does.
//! Entries that stay become EXISTING and keep their numbers. Removed entries become DELETED by this snapshot. Entries
//! that were deleted before are dropped. This follows Java's `ManifestFilterManager`. Later attempts don't read a
//! manifest again.
//!
//! Source: Iceberg specification, "Manifest Entry Fields" and "Sequence Number Inheritance".

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result, ResultExt};
use crate::expr::bounds::{may_match, must_match};
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::task::{DataFile, FileContent, FileFormat, Partition};
use crate::iceberg::commit::manifests::{ManifestWriter, inherited, partitions_of};
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::entries::{DELETED, EXISTING, EntryColumns, EntryRequest};
use crate::iceberg::manifest::list::{ManifestContent, ManifestFile};
use crate::iceberg::plan::changes::may_hold;
use crate::iceberg::plan::deletes::partition_key;
use crate::iceberg::plan::file_bounds::{MetricsBounds, strict};
use crate::iceberg::plan::input::EntryScope;
use crate::iceberg::plan::kept_entries::PartitionGroup;
use crate::iceberg::plan::specs::ScanSpecs;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::store::in_parallel;

/// Identifies a file of a table: its path and, for a deletion vector, its position in that file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    /// The file's path.
    pub path: String,
    /// First byte and length of a deletion vector.
    pub blob: Option<(i64, i64)>,
}

impl FileId {
    /// The identity of a file.
    pub(crate) fn of(file: &DataFile) -> FileId {
        let vector = file.content == FileContent::PositionDeletes && file.format == FileFormat::Puffin;
        let blob = file.content_offset.zip(file.content_size_bytes).filter(|_| vector);
        FileId { path: file.path.clone(), blob }
    }
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.blob {
            None => f.write_str(&self.path),
            Some((offset, length)) => write!(f, "{}, {length} bytes at {offset}", self.path),
        }
    }
}

/// The files to remove: named files, all files of some partitions, and files in which all rows match a filter.
#[derive(Debug, Default)]
pub(super) struct FileRemoval {
    /// The named files, with the number of entries that were read of each. A table may list a file more than once.
    files: HashMap<FileId, usize>,
    /// The sequence numbers of the named files, by partition.
    places: BTreeMap<Vec<u8>, EntryPlace>,
    partitions: HashMap<Vec<u8>, Arc<Partition>>,
    filter: Option<Predicate>,
    /// The results for manifests from earlier attempts.
    known: HashMap<ManifestOrigin, Filtered>,
    /// The schema under which the filter was evaluated, and the data files that lost their deletion vectors.
    known_for: (i32, Dangling),
}

#[derive(Clone, Debug)]
struct EntryPlace {
    partition: Arc<Partition>,
    /// The highest data sequence number of the files. A manifest with only newer files holds none of them.
    newest: i64,
    /// The lowest sequence number of the commits that added the files. No older manifest holds any of them.
    added: i64,
}

/// A manifest as a list described it. Its entries inherit from the list.
pub(super) type ManifestOrigin = (String, i64, Option<i64>);

pub(super) fn source_of(m: &ManifestFile) -> ManifestOrigin {
    (m.path.clone(), m.sequence_number, m.first_row_id)
}

/// A manifest after the removal.
#[derive(Clone, Debug)]
pub(super) struct Filtered {
    /// The manifest, unchanged or rewritten.
    pub manifest: ManifestFile,
    /// The files removed from it, without their metrics.
    pub removed: Arc<Vec<DataFile>>,
    /// Repeated entries of the removed files.
    repeated: Arc<Vec<DataFile>>,
}

/// Delete files that are removed because they apply to no remaining data file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dangling {
    /// Removes the deletion vectors of these data files.
    pub data_files: Arc<HashSet<String>>,
    /// Removes delete files of these partitions.
    pub partitions: Arc<HashMap<Vec<u8>, Arc<Partition>>>,
    /// Removes delete files with lower data sequence numbers, if their manifest is opened for another reason.
    pub older_than: i64,
}

/// All manifests of one kind after the removal.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub manifests: Vec<ManifestFile>,
    pub removed: Vec<Arc<Vec<DataFile>>>,
    repeated: Vec<Arc<Vec<DataFile>>>,
    /// A named file that lost more entries than the change had read.
    pub unread: Option<FileId>,
    /// Manifests of earlier snapshots that were rewritten.
    pub replaced: usize,
}

impl Outcome {
    /// The removed files.
    pub(super) fn files(&self) -> impl Iterator<Item = &DataFile> {
        self.removed.iter().flat_map(|files| files.iter())
    }

    /// Repeated entries of files that one manifest lists more than once. Java counts them separately.
    pub(super) fn duplicates(&self) -> impl Iterator<Item = &DataFile> {
        self.repeated.iter().flat_map(|files| files.iter())
    }
}

/// The removal on one version of a table.
struct Attempt<'a> {
    removal: &'a FileRemoval,
    writer: &'a ManifestWriter,
    base: &'a TableMetadata,
    specs: ScanSpecs,
    filter: Arc<BoundPredicate>,
    dangling: &'a Dangling,
    /// Entries of named files that were not found yet.
    missing: Mutex<HashMap<&'a FileId, usize>>,
}

impl FileRemoval {
    /// Names a file to remove. Call it once for each entry of a data file, and any number of times for a delete file.
    pub(super) fn add_file(&mut self, file: &DataFile) {
        let entries = self.files.entry(FileId::of(file)).or_insert(0);
        *entries = if file.content == FileContent::Data { *entries + 1 } else { 1 };
        let newest = file.sequence_number.unwrap_or(i64::MAX);
        let added = file.file_sequence_number.unwrap_or(i64::MIN);
        let new = || EntryPlace { partition: file.partition.clone(), newest, added };
        let place = self.places.entry(partition_key(&file.partition)).or_insert_with(new);
        (place.newest, place.added) = (place.newest.max(newest), place.added.min(added));
    }

    pub(super) fn add_partition(&mut self, partition: &Arc<Partition>) {
        self.partitions.insert(partition_key(partition), partition.clone());
    }

    pub(super) fn add_filter(&mut self, filter: Predicate) {
        self.filter = Some(match self.filter.take() {
            None => filter,
            Some(before) => Predicate::Or(vec![before, filter]),
        });
    }

    /// Whether it removes all files of partitions or filters, not only named files.
    pub(super) fn is_open(&self) -> bool {
        !self.partitions.is_empty() || self.filter.is_some()
    }

    /// Removes the files of a later removal too. Files of `new` are not in the table yet: those that the later removal
    /// names are returned instead.
    pub(super) fn join(&mut self, later: FileRemoval, new: &HashSet<FileId>) -> HashSet<FileId> {
        self.forget();
        let (cancelled, files): (HashMap<_, _>, HashMap<_, _>) =
            later.files.into_iter().partition(|(id, _)| new.contains(id));
        for (id, entries) in files {
            *self.files.entry(id).or_insert(0) += entries;
        }
        for (key, place) in later.places {
            let own = self.places.entry(key).or_insert_with(|| place.clone());
            (own.newest, own.added) = (own.newest.max(place.newest), own.added.min(place.added));
        }
        self.partitions.extend(later.partitions);
        later.filter.into_iter().for_each(|filter| self.add_filter(filter));
        cancelled.into_keys().collect()
    }

    /// Whether there is nothing to remove.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.partitions.is_empty() && self.filter.is_none()
    }

    /// Forgets the results of earlier attempts.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// Returns the manifests without the removed files.
    ///
    /// # Errors
    /// - `CommitConflict` if a named file is missing, or if some rows of a data file match the filter and others may
    ///   not.
    /// - Errors of the store; `CorruptTable` if a manifest is damaged.
    pub(super) fn apply(
        &mut self,
        writer: &ManifestWriter,
        base: &TableMetadata,
        manifests: Vec<ManifestFile>,
        dangling: &Dangling,
    ) -> Result<Outcome> {
        let vectors_go = !dangling.data_files.is_empty();
        if self.is_empty() && !vectors_go {
            return Ok(Outcome { manifests, ..Outcome::default() });
        }
        let (schema, of) = &self.known_for;
        let still_good = *schema == base.current_schema_id
            && of.data_files == dangling.data_files
            && of.older_than <= dangling.older_than;
        if !still_good {
            self.known.clear();
        }
        self.known_for = (base.current_schema_id, dangling.clone());
        let filtered = self.filter_all(writer, base, &manifests, dangling)?;
        let mut out = Outcome::default();
        for (m, filtered) in manifests.iter().zip(filtered) {
            out.replaced += usize::from(filtered.manifest.path != m.path);
            if !filtered.removed.is_empty() {
                out.removed.push(filtered.removed.clone());
                out.repeated.push(filtered.repeated.clone());
            }
            self.known.insert(source_of(m), filtered.clone());
            out.manifests.push(filtered.manifest);
        }
        out.unread = self.check_found(&out)?;
        Ok(out)
    }

    fn filter_all(
        &self,
        writer: &ManifestWriter,
        base: &TableMetadata,
        manifests: &[ManifestFile],
        dangling: &Dangling,
    ) -> Result<Vec<Filtered>> {
        let filter = match &self.filter {
            None => BoundPredicate::False,
            Some(filter) => bind(filter, base.schema()?, true)?,
        };
        let mut missing: HashMap<&FileId, usize> = self.files.iter().map(|(id, n)| (id, *n)).collect();
        for filtered in manifests.iter().filter_map(|m| self.known.get(&source_of(m))) {
            filtered.entries().for_each(|id| find(&mut missing, &id));
        }
        let attempt = Attempt {
            removal: self,
            writer,
            base,
            specs: ScanSpecs::new(base, base.schema()?),
            filter: Arc::new(filter),
            dangling,
            missing: Mutex::new(missing),
        };
        in_parallel(writer.store.as_ref(), manifests.len(), |i| attempt.filter(&manifests[i]))
    }

    /// Checks that all entries that were read of named files were found. Returns a file with more entries than that.
    fn check_found(&self, out: &Outcome) -> Result<Option<FileId>> {
        let mut found: HashMap<FileId, usize> = HashMap::new();
        for id in out.files().chain(out.duplicates()).map(FileId::of) {
            *found.entry(id).or_insert(0) += 1;
        }
        let of = |id: &FileId| found.get(id).copied().unwrap_or(0);
        match self.files.iter().filter(|(id, n)| of(id) < **n).map(|(id, _)| id).min() {
            None => Ok(self.files.iter().filter(|(id, n)| of(id) > **n).map(|(id, _)| id).min().cloned()),
            Some(id) => Err(Error::conflict("a file that this commit removes is not in the table any more")
                .with("file", id)
                .with("clause", "removed files are still there")
                .hint(crate::iceberg::commit::preconditions::RUN_AGAIN)),
        }
    }
}

/// Subtracts an entry from the missing ones.
fn find(missing: &mut HashMap<&FileId, usize>, id: &FileId) {
    match missing.get_mut(id) {
        Some(n) if *n > 1 => *n -= 1,
        _ => drop(missing.remove(id)),
    }
}

impl Filtered {
    /// The removed entries.
    fn entries(&self) -> impl Iterator<Item = FileId> + '_ {
        self.removed.iter().chain(self.repeated.iter()).map(FileId::of)
    }
}

impl<'a> Attempt<'a> {
    fn missing(&self) -> MutexGuard<'_, HashMap<&'a FileId, usize>> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn filter(&self, m: &ManifestFile) -> Result<Filtered> {
        if let Some(known) = self.removal.known.get(&source_of(m)) {
            return Ok(known.clone());
        }
        let unchanged = || Filtered { manifest: m.clone(), removed: Arc::default(), repeated: Arc::default() };
        if !self.may_lose(m)? {
            return Ok(unchanged());
        }
        let bytes = self.writer.store.get(&m.path)?;
        let goes = self.loses(m, &bytes).with("path", &m.path)?;
        if goes.contains(&true) { self.rewrite(m, &goes).with("path", &m.path) } else { Ok(unchanged()) }
    }

    /// Whether, according to the list, the manifest may hold a file to remove.
    fn may_lose(&self, m: &ManifestFile) -> Result<bool> {
        if !EntryScope::Live.may_be_in(m) {
            return Ok(false);
        }
        let removal = self.removal;
        let holds = |p: &EntryPlace| m.min_sequence_number <= p.newest && p.added <= m.sequence_number;
        if !self.missing().is_empty() && removal.places.values().any(|p| holds(p) && may_hold(m, &p.partition)) {
            return Ok(true);
        }
        let of_partition = |all: &HashMap<Vec<u8>, Arc<Partition>>| all.values().any(|p| may_hold(m, p));
        if of_partition(&removal.partitions) {
            return Ok(true);
        }
        if m.content == ManifestContent::Deletes
            && !self.dangling.data_files.is_empty()
            && of_partition(&self.dangling.partitions)
        {
            return Ok(true);
        }
        Ok(removal.filter.is_some() && self.specs.summary_may_match(m, &self.filter)?)
    }

    /// Decides for each live entry whether it is removed.
    fn loses(&self, m: &ManifestFile, bytes: &[u8]) -> Result<Vec<bool>> {
        let manifest = Manifest::parse_listed(bytes, m.size(), None)?;
        let mut metric_fields = self.filter.field_ids();
        metric_fields.sort_unstable();
        metric_fields.dedup();
        let request = EntryRequest { metric_fields, ..EntryRequest::default() };
        let columns = manifest.decode(0..manifest.block_count(), &request, &inherited(m))?;
        let spec = self.specs.get(m.spec_id)?;
        let partitions = partitions_of(self.base, m, &manifest, &columns)?;
        let groups: Vec<(bool, Option<PartitionGroup>)> = partitions
            .into_iter()
            .map(|p| {
                let goes =
                    !self.removal.partitions.is_empty() && self.removal.partitions.contains_key(&partition_key(&p));
                (goes, spec.group(Partition::clone(&p), &self.filter, m.content))
            })
            .collect();
        let goes = |row: usize| -> Result<bool> {
            let group = columns.partition.get(row).and_then(|i| groups.get(*i as usize));
            let (whole, group) = group.ok_or_else(|| Error::internal("an entry has no partition"))?;
            Ok(*whole
                || self.is_named(&columns, row)
                || self.is_dangling(m, &columns, row)
                || self.matches(&columns, row, group.as_ref())?)
        };
        columns.rows().map(goes).collect()
    }

    fn is_named(&self, columns: &EntryColumns, row: usize) -> bool {
        if self.removal.files.is_empty() {
            return false;
        }
        let Some(Ok(path)) = columns.path.get(row).map(std::str::from_utf8) else { return false };
        let vector = columns.content.get(row) == Some(&FileContent::PositionDeletes)
            && columns.format.get(row) == Some(&FileFormat::Puffin);
        let number = |column: &[Option<i64>]| column.get(row).copied().flatten();
        let blob = number(&columns.content_offset).zip(number(&columns.content_size_bytes)).filter(|_| vector);
        let id = FileId { path: path.to_owned(), blob };
        let named = self.removal.files.contains_key(&id);
        if named {
            find(&mut self.missing(), &id);
        }
        named
    }

    fn is_dangling(&self, m: &ManifestFile, columns: &EntryColumns, row: usize) -> bool {
        if m.content == ManifestContent::Data {
            return false;
        }
        let number = columns.sequence_number.get(row).copied().flatten().unwrap_or(0);
        if number > 0 && number < self.dangling.older_than {
            return true;
        }
        let vector = columns.format.get(row) == Some(&FileFormat::Puffin);
        let of = columns.referenced_data_file.get(row).and_then(|path| std::str::from_utf8(path).ok());
        vector && of.is_some_and(|path| self.dangling.data_files.contains(path))
    }

    /// Whether every row matches the filter. A delete file matches only if its partition alone proves it.
    fn matches(&self, columns: &EntryColumns, row: usize, group: Option<&PartitionGroup>) -> Result<bool> {
        let Some(group) = group else { return Ok(false) };
        if *group.residual == BoundPredicate::True {
            return Ok(true);
        }
        if columns.content.get(row) != Some(&FileContent::Data) {
            return Ok(false);
        }
        let bounds = MetricsBounds::new(columns, row);
        if !may_match(&group.residual, &bounds) {
            return Ok(false);
        }
        if strict(&group.residual) && must_match(&group.residual, &bounds) {
            return Ok(true);
        }
        Err(Error::conflict("some rows of a file match the filter of the files to remove, and others may not")
            .with("file", columns.path.get(row).map(String::from_utf8_lossy).unwrap_or_default())
            .with("partition", group.partition.path())
            .with("clause", &self.filter)
            .hint(crate::iceberg::commit::preconditions::RUN_AGAIN))
    }

    /// Rewrites a manifest. `goes` says for each live entry whether it is removed.
    fn rewrite(&self, m: &ManifestFile, goes: &[bool]) -> Result<Filtered> {
        let entries = self.writer.read(self.base, m)?.into_iter().filter(|e| e.status != DELETED);
        let (mut written, mut removed, mut seen, mut repeated) = (Vec::new(), Vec::new(), HashSet::new(), Vec::new());
        for (mut entry, goes) in entries.zip(goes) {
            if *goes {
                (entry.status, entry.snapshot_id) = (DELETED, Some(self.writer.snapshot_id));
                let file = DataFile { metrics: None, ..entry.file.clone() };
                let first = seen.insert(FileId::of(&file));
                if first { removed.push(file) } else { repeated.push(file) }
            } else {
                entry.status = EXISTING;
            }
            written.push(entry);
        }
        let manifest = self.writer.write(self.base, m.content, m.spec_id, &written)?;
        Ok(Filtered { manifest, removed: Arc::new(removed), repeated: Arc::new(repeated) })
    }
}
