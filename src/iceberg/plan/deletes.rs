//! Matches delete files with the data files that they apply to.
//!
//! Equality deletes apply to strictly older data of their partition. If their spec is unpartitioned, they apply to the
//! whole table. Position deletes and deletion vectors apply to data that is as old as they are, or older. A deletion
//! vector replaces position deletes.
//!
//! The index is built from decoded columns and returns numbers of delete files. The object of a delete file is created
//! once, when a task needs it. A look-up is a binary search or a hash look-up, plus the files that it attaches.
//!
//! Source: Iceberg specification, "Scan Planning"; where it is silent, Java's `DeleteFileIndex`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result, ResultExt};
use crate::format::task::{DeleteRef, FileContent, FileFormat, Partition};
use crate::iceberg::manifest::entries::EntryColumns;
use crate::iceberg::plan::equality_keys::{DataKeys, EqualityKeyColumn};
use crate::iceberg::plan::kept_entries::{KeptEntries, PartitionGroup};
use crate::iceberg::plan::path_index::PathMap;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::parallel::check_cancelled;
use crate::types::metadata_columns::DELETE_FILE_PATH;
use crate::types::{Field, FieldId, Schema, Value, ValueRef};

/// The delete files of a snapshot, indexed by the data that they apply to.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    batches: Vec<KeptEntries>,
    files: Vec<DeleteFile>,
    global: Vec<EqualityDelete>,
    /// Numbers of the partitions that have delete files.
    partitions: HashMap<Vec<u8>, u32>,
    /// Deletes by partition number.
    of_partition: Vec<PartitionDeletes>,
    positions_by_path: PathMap,
    vectors: PathMap,
}

/// One delete file: the place of its entry, and its object after the first use.
#[derive(Debug)]
struct DeleteFile {
    batch: u32,
    /// Its place among the kept entries of the batch.
    place: u32,
    sequence_number: i64,
    partition: u32,
    object: OnceLock<DeleteRef>,
}

/// The delete files of one partition that do not name a single data file.
#[derive(Debug, Default)]
struct PartitionDeletes {
    equality: Vec<EqualityDelete>,
    /// Sequence numbers and files, ascending after closing.
    positions: Vec<(i64, u32)>,
}

#[derive(Debug)]
struct EqualityDelete {
    /// The last data sequence number that it applies to.
    reaches: i64,
    file: u32,
    keys: Vec<EqualityKeyColumn>,
}

/// The deletes attached to the kept files of a batch.
#[derive(Clone, Debug, Default)]
pub struct AttachedDeletes {
    index: Option<Arc<DeleteIndex>>,
    /// Start and end of each kept file's numbers in `files`. Files with the same deletes share a range.
    ranges: Vec<(u32, u32)>,
    files: Vec<u32>,
}

/// The shortest list that is shared. Finding a shorter list again costs more than storing it.
const LEAST_SHARED: usize = 4;
/// The number of files between two checks for cancellation.
const FILES_BETWEEN: usize = 256;

impl AttachedDeletes {
    /// The numbers of the delete files of the `k`-th kept file.
    fn of(&self, k: usize) -> &[u32] {
        let (start, end) = self.ranges.get(k).copied().unwrap_or_default();
        self.files.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The number of delete files of the `k`-th kept file.
    pub fn count(&self, k: usize) -> usize {
        self.of(k).len()
    }

    /// The numbers of the delete files of all kept files, one after the other. A number is a place among the delete
    /// files that planning kept.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.ranges.len()).flat_map(|k| self.of(k).iter().copied())
    }

    /// The number of kept files with known deletes.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there are no kept files.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of stored delete-file numbers.
    pub(crate) fn held(&self) -> usize {
        self.files.len()
    }

    /// The total number of attached deletes, counted once for each kept file.
    pub fn total(&self) -> usize {
        (0..self.ranges.len()).map(|k| self.count(k)).sum()
    }

    /// The bytes of the attached deletes, counted once for each kept file. A deletion vector counts its own bytes.
    pub(crate) fn total_bytes(&self) -> u64 {
        let Some(index) = &self.index else { return 0 };
        self.numbers().map(|number| index.size_bytes(number)).fold(0, u64::saturating_add)
    }

    /// The delete files of the `k`-th kept file.
    ///
    /// # Errors
    /// `CorruptTable` if one has a path that is not UTF-8 or an impossible equality id.
    pub fn refs(&self, k: usize) -> Result<Vec<DeleteRef>> {
        match &self.index {
            Some(index) => self.of(k).iter().map(|file| index.file(*file)).collect(),
            None => Ok(Vec::new()),
        }
    }
}

/// Ranges of lists by their hash.
type KnownLists = HashMap<u64, (u32, u32)>;

impl AttachedDeletes {
    /// Adds a kept file with the last numbers. Removes the numbers again if an earlier file has the same list.
    fn push(&mut self, range: (u32, u32), known: &mut KnownLists) {
        let list = |(start, end): (u32, u32)| self.files.get(start as usize..end as usize).unwrap_or_default();
        let own = list(range);
        if own.len() < LEAST_SHARED {
            self.ranges.push(range);
            return;
        }
        // Neighbours usually have the same list, and comparing is cheaper than hashing.
        if let Some(last) = self.ranges.last().copied().filter(|last| list(*last) == own) {
            self.files.truncate(range.0 as usize);
            self.ranges.push(last);
            return;
        }
        let mut hasher = DefaultHasher::new();
        own.hash(&mut hasher);
        let same = *known.entry(hasher.finish()).or_insert(range);
        if same != range && list(same) == own {
            self.files.truncate(range.0 as usize);
            self.ranges.push(same);
        } else {
            self.ranges.push(range);
        }
    }
}

impl AttachedDeletes {
    /// Deletes that somebody else has matched: for each kept file, places among the delete files of `index`.
    ///
    /// # Errors
    /// `Unsupported` for 4 Gi places.
    pub(crate) fn given(index: Arc<DeleteIndex>, lists: Vec<Vec<u32>>) -> Result<AttachedDeletes> {
        let (mut out, mut known) = (AttachedDeletes::default(), HashMap::new());
        for list in lists {
            let start = out.files.len();
            out.files.extend(list);
            let range = u32::try_from(start).ok().zip(u32::try_from(out.files.len()).ok());
            out.push(range.ok_or_else(too_many)?, &mut known);
        }
        out.index = (!out.files.is_empty()).then_some(index);
        Ok(out)
    }
}

#[cold]
fn too_many() -> Error {
    Error::unsupported("a manifest's files have 4 Gi delete files")
}

impl DeleteIndex {
    /// Delete files that somebody else has matched.
    pub(crate) fn listed(batch: KeptEntries) -> DeleteIndex {
        let file =
            |place| DeleteFile { batch: 0, place, sequence_number: 0, partition: u32::MAX, object: OnceLock::new() };
        let files = (0..batch.rows.len() as u32).map(file).collect();
        DeleteIndex { batches: vec![batch], files, ..DeleteIndex::default() }
    }

    /// Indexes the kept entries of delete manifests. Their columns hold the metrics of [`DELETE_FILE_PATH`] and of all
    /// key columns.
    ///
    /// # Errors
    /// `CorruptTable` for a deletion vector without a data file, or two deletion vectors for one data file. Also for
    /// an equality delete file without key columns, or a data file in a delete manifest. A cancellation.
    pub fn new(batches: Vec<KeptEntries>, schema: &Schema, metadata: &TableMetadata) -> Result<DeleteIndex> {
        let (mut index, mut named) = (DeleteIndex::default(), Vec::new());
        for (b, batch) in batches.iter().enumerate() {
            let groups: Vec<Option<u32>> =
                batch.groups.iter().map(|g| g.as_ref().map(|g| index.number_partition(&g.partition))).collect();
            for (place, row) in batch.rows.iter().enumerate() {
                if place % FILES_BETWEEN == 0 {
                    check_cancelled()?;
                }
                let row = *row as usize;
                let group = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
                let partition = groups.get(group).copied().flatten();
                let partition = partition.ok_or_else(|| Error::internal("a delete file has no partition"))?;
                let sequence_number = sequence_number(&batch.columns, row)?;
                let (batch_number, place) = (b as u32, place as u32);
                let object = OnceLock::new();
                index.files.push(DeleteFile { batch: batch_number, place, sequence_number, partition, object });
                index.add(batch, row, schema, metadata, &mut named)?;
            }
        }
        // Oldest first, so that each file is the newest for its path so far.
        named.sort_by_key(|(_, sequence_number, _)| *sequence_number);
        for (path, sequence_number, file) in named {
            index.positions_by_path.insert(path, sequence_number, file);
        }
        index.batches = batches;
        index.global.sort_by_key(|d| d.reaches);
        index.of_partition.iter_mut().for_each(|p| {
            p.equality.sort_by_key(|d| d.reaches);
            p.positions.sort_unstable();
        });
        Ok(index)
    }

    /// Whether the index has no delete files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The number of delete files in the index.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// The delete files, in the order of their manifests.
    pub(crate) fn files(&self) -> impl Iterator<Item = Result<DeleteRef>> + '_ {
        (0..self.files.len() as u32).map(|number| self.file(number))
    }

    /// The bytes of a delete file, or of a deletion vector in its file.
    fn size_bytes(&self, number: u32) -> u64 {
        let bytes = || {
            let file = self.files.get(number as usize)?;
            let batch = self.batches.get(file.batch as usize)?;
            let row = *batch.rows.get(file.place as usize)? as usize;
            let own = batch.columns.content_size_bytes.get(row).copied().flatten();
            own.or_else(|| batch.columns.size_bytes.get(row).copied())
        };
        bytes().map_or(0, |bytes| bytes.max(0).unsigned_abs())
    }

    /// Key columns of the equality deletes. Their metrics in data files reduce the matches.
    pub fn key_fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        let all = self.global.iter().chain(self.of_partition.iter().flat_map(|p| &p.equality));
        all.flat_map(|d| d.keys.iter().map(EqualityKeyColumn::field_id))
    }

    /// The partitions with data files that the deletes may apply to, by a key of their values. `None` if some deletes
    /// apply to all partitions.
    pub fn partitions_reached(&self) -> Option<HashMap<Vec<u8>, Arc<Partition>>> {
        let groups = self.batches.iter().flat_map(|b| b.groups.iter().flatten());
        let by_key = |g: &PartitionGroup| (partition_key(&g.partition), g.partition.clone());
        self.global.is_empty().then(|| groups.map(by_key).collect())
    }

    fn number_partition(&mut self, partition: &Partition) -> u32 {
        let next = self.of_partition.len() as u32;
        let number = *self.partitions.entry(partition_key(partition)).or_insert(next);
        if number == next {
            self.of_partition.push(PartitionDeletes::default());
        }
        number
    }

    /// Adds the file with the last number.
    fn add<'b>(
        &mut self,
        batch: &'b KeptEntries,
        row: usize,
        schema: &Schema,
        metadata: &TableMetadata,
        named: &mut Vec<(&'b [u8], i64, u32)>,
    ) -> Result<()> {
        let file = (self.files.len() - 1) as u32;
        let columns = &batch.columns;
        let puffin = columns.format.get(row) == Some(&FileFormat::Puffin);
        let added = match columns.content.get(row) {
            Some(FileContent::PositionDeletes) if puffin => self.add_vector(file, columns, row),
            Some(FileContent::PositionDeletes) => {
                named.extend(self.add_positions(file, columns, row));
                Ok(())
            }
            Some(FileContent::EqualityDeletes) => self.add_equality(file, batch, row, schema, metadata),
            Some(FileContent::Data) | None => Err(Error::corrupt("a delete manifest lists a data file")),
        };
        added.map_err(|e| e.with("path", columns.path.get(row).map(String::from_utf8_lossy).unwrap_or_default()))
    }

    fn add_vector(&mut self, file: u32, columns: &EntryColumns, row: usize) -> Result<()> {
        let path = columns.referenced_data_file.get(row);
        let path = path.ok_or_else(|| Error::corrupt("a deletion vector does not name its data file"))?;
        if self.vectors.insert(path, self.sequence_number(file), file) {
            return Ok(());
        }
        Err(Error::corrupt("a data file has two deletion vectors").with("data_file", String::from_utf8_lossy(path)))
    }

    /// Returns the path if the file's deletes are all for one data file, for [`DeleteIndex::positions_by_path`].
    ///
    /// Other bounds of paths are not used, as in Java. Some writers take them from the first and last row of files
    /// that are not sorted, so deleted rows would come back.
    fn add_positions<'c>(&mut self, file: u32, columns: &'c EntryColumns, row: usize) -> Option<(&'c [u8], i64, u32)> {
        let paths = columns.metrics.iter().find(|m| m.field_id == DELETE_FILE_PATH);
        let (lower, upper) = (paths.and_then(|m| m.lower.get(row)), paths.and_then(|m| m.upper.get(row)));
        let bounded = lower.filter(|l| Some(*l) == upper && is_whole_path(l));
        let only = columns.referenced_data_file.get(row).or(bounded);
        let sequence_number = self.sequence_number(file);
        if only.is_none() {
            let partition = self.files.get(file as usize).map_or(u32::MAX, |f| f.partition);
            if let Some(deletes) = self.of_partition.get_mut(partition as usize) {
                deletes.positions.push((sequence_number, file));
            }
        }
        only.map(|path| (path, sequence_number, file))
    }

    fn add_equality(
        &mut self,
        file: u32,
        batch: &KeptEntries,
        row: usize,
        schema: &Schema,
        metadata: &TableMetadata,
    ) -> Result<()> {
        let ids = batch.columns.equality_ids.get(row).filter(|ids| !ids.is_empty());
        let ids = ids.ok_or_else(|| Error::corrupt("an equality delete file names no key columns"))?;
        let path = |id: &i64| -> Option<Vec<&Field>> {
            let id = FieldId::try_from(*id).ok()?;
            schema.path(id).or_else(|| metadata.schemas.iter().find_map(|s| s.path(id)))
        };
        let keys = ids.iter().filter_map(|id| EqualityKeyColumn::new(&path(id)?, &batch.columns, row)).collect();
        let spec_id = batch.group(row)?.partition.spec_id;
        let spec = metadata.partition_specs.iter().find(|s| s.id == spec_id);
        let entry = EqualityDelete { reaches: self.sequence_number(file).saturating_sub(1), file, keys };
        let partition = self.files.get(file as usize).map_or(u32::MAX, |f| f.partition);
        match (spec, self.of_partition.get_mut(partition as usize)) {
            (Some(spec), Some(deletes)) if !spec.is_unpartitioned() => deletes.equality.push(entry),
            _ => self.global.push(entry),
        }
        Ok(())
    }

    fn sequence_number(&self, file: u32) -> i64 {
        self.files.get(file as usize).map_or(0, |f| f.sequence_number)
    }

    /// The delete file with this number. It is created at the first use.
    fn file(&self, number: u32) -> Result<DeleteRef> {
        let no_file = || Error::internal("there is no such delete file");
        let file = self.files.get(number as usize).ok_or_else(no_file)?;
        if let Some(object) = file.object.get() {
            return Ok(object.clone());
        }
        let batch = self.batches.get(file.batch as usize).ok_or_else(no_file)?;
        let row = *batch.rows.get(file.place as usize).ok_or_else(no_file)? as usize;
        let mut data_file = batch.columns.data_file(row, batch.group(row)?.partition.clone())?;
        if let Some(metrics) = data_file.metrics.take() {
            // Keeps only the metrics that matching uses, like Java's delete files.
            let mut metrics = metrics.get().with("path", &data_file.path)?.clone();
            let keys = data_file.equality_ids.as_deref();
            metrics.retain(|id| keys.map_or(id == DELETE_FILE_PATH, |keys| keys.contains(&id)));
            data_file.metrics = Some(metrics.into());
        }
        Ok(file.object.get_or_init(|| DeleteRef { file: Arc::new(data_file) }).clone())
    }

    /// The deletes of each kept file of a batch of data files.
    ///
    /// # Errors
    /// `CorruptTable` if a deletion vector, or a position delete for one path, has another partition than its data
    /// file. Also if a deletion vector is older than its data file. A cancellation.
    pub fn attach(self: &Arc<Self>, batch: &KeptEntries) -> Result<AttachedDeletes> {
        self.attach_some(batch, usize::MAX)
    }

    /// Like [`DeleteIndex::attach`], but stops after the file at which more than `most` numbers are stored.
    ///
    /// # Errors
    /// Errors of [`DeleteIndex::attach`].
    pub(crate) fn attach_some(self: &Arc<Self>, batch: &KeptEntries, most: usize) -> Result<AttachedDeletes> {
        let number = |g: &PartitionGroup| self.partitions.get(&partition_key(&g.partition)).copied();
        let partitions: Vec<Option<u32>> = batch.groups.iter().map(|g| g.as_ref().and_then(number)).collect();
        let mut out = AttachedDeletes { ranges: Vec::with_capacity(batch.rows.len()), ..AttachedDeletes::default() };
        let (mut known, mut keys) = (HashMap::new(), DataKeys::new(&batch.columns));
        for (k, row) in batch.rows.iter().enumerate() {
            if out.files.len() > most {
                break;
            }
            if k % FILES_BETWEEN == 0 {
                check_cancelled()?;
            }
            let start = out.files.len();
            let row = *row as usize;
            let group = batch.columns.partition.get(row).copied().unwrap_or(u32::MAX) as usize;
            keys.move_to(row);
            let partition = partitions.get(group).copied().flatten();
            self.deletes_of(batch, row, partition, &mut keys, &mut out.files)?;
            let range = u32::try_from(start).ok().zip(u32::try_from(out.files.len()).ok());
            let range = range.ok_or_else(too_many)?;
            out.push(range, &mut known);
        }
        out.index = (!out.files.is_empty()).then(|| self.clone());
        Ok(out)
    }

    fn deletes_of(
        &self,
        batch: &KeptEntries,
        row: usize,
        partition: Option<u32>,
        keys: &mut DataKeys<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let sequence_number = sequence_number(&batch.columns, row)?;
        let deletes = partition.and_then(|p| self.of_partition.get(p as usize));
        for list in [Some(&self.global), deletes.map(|d| &d.equality)].into_iter().flatten() {
            let start = list.partition_point(|d| d.reaches < sequence_number);
            let reaching = list.get(start..).unwrap_or_default().iter();
            out.extend(reaching.filter(|d| d.may_touch(keys)).map(|d| d.file));
        }
        let Some(path) = batch.columns.path.get(row) else { return Ok(()) };
        if let Some((of, file)) = self.vectors.newest(path) {
            if of < sequence_number {
                return Err(self.broken("a deletion vector is older than its data file", file, path));
            }
            self.check_partition(file, partition, path)?;
            out.push(file);
            return Ok(());
        }
        if let Some(deletes) = deletes {
            let first = deletes.positions.partition_point(|(number, _)| *number < sequence_number);
            out.extend(deletes.positions.get(first..).unwrap_or_default().iter().map(|(_, file)| *file));
        }
        let start = out.len();
        self.positions_by_path.find(path, sequence_number, out);
        self.oldest_first(out, start);
        for file in out.get(start..).unwrap_or_default() {
            self.check_partition(*file, partition, path)?;
        }
        Ok(())
    }

    fn oldest_first(&self, files: &mut [u32], start: usize) {
        let found = files.get_mut(start..).unwrap_or_default();
        if found.len() > 1 {
            found.sort_unstable_by_key(|file| (self.sequence_number(*file), *file));
        }
    }

    /// Checks that a delete file that names its data file has the same partition. Otherwise the metadata is corrupt.
    fn check_partition(&self, file: u32, partition: Option<u32>, data_file: &[u8]) -> Result<()> {
        if self.files.get(file as usize).map(|f| f.partition) == partition {
            return Ok(());
        }
        Err(self.broken("a delete file and its data file are of different partitions", file, data_file))
    }

    fn broken(&self, what: &str, file: u32, data_file: &[u8]) -> Error {
        let path = self.file(file).map(|f| f.file.path.clone()).unwrap_or_default();
        Error::corrupt(what).with("data_file", String::from_utf8_lossy(data_file)).with("path", path)
    }
}

impl EqualityDelete {
    fn may_touch(&self, data: &mut DataKeys<'_>) -> bool {
        !self.keys.iter().any(|k| k.excludes(data))
    }
}

/// The data sequence number of an entry. Without it, it is not known which deletes apply to which rows.
fn sequence_number(columns: &EntryColumns, row: usize) -> Result<i64> {
    columns.sequence_number.get(row).copied().flatten().ok_or_else(|| {
        let path = columns.path.get(row).map(String::from_utf8_lossy).unwrap_or_default();
        Error::corrupt("an entry of a table with deletes has no sequence number, and was not added by its manifest")
            .with("path", path)
    })
}

/// Bytes that are equal exactly if the partitions are equal. They hold the spec's id and the values. Integers have one
/// width, floats are compared by bits, and all NaNs are the same.
pub(crate) fn partition_key(partition: &Partition) -> Vec<u8> {
    let mut key = partition.spec_id.to_le_bytes().to_vec();
    let float = |d: f64| if d.is_nan() { f64::NAN.to_bits() } else { d.to_bits() };
    for v in &partition.values {
        let mut put = |tag: u8, bytes: &[u8]| {
            key.push(tag);
            key.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            key.extend_from_slice(bytes);
        };
        match v.value.as_ref().map(Value::as_ref) {
            None => put(0, &[]),
            Some(ValueRef::Boolean(b)) => put(1, &[u8::from(b)]),
            Some(ValueRef::Int(i)) => put(2, &i64::from(i).to_le_bytes()),
            Some(ValueRef::Long(l)) => put(2, &l.to_le_bytes()),
            Some(ValueRef::Float(f)) => put(3, &float(f64::from(f)).to_le_bytes()),
            Some(ValueRef::Double(d)) => put(3, &float(d).to_le_bytes()),
            Some(ValueRef::Decimal(d)) => put(4, &d.to_le_bytes()),
            Some(ValueRef::String(s)) => put(5, s.as_bytes()),
            Some(ValueRef::Uuid(u)) => put(6, &u.to_le_bytes()),
            Some(ValueRef::Bytes(b)) => put(7, b),
        }
    }
    key
}

#[cfg(test)]
#[path = "deletes_tests.rs"]
mod tests;

/// Whether a bound is a whole path. A writer that cuts bounds without rounding gives the same beginning of a path as
/// both bounds. A whole path ends in a file format, which a cut one hardly does.
pub(crate) fn is_whole_path(bound: &[u8]) -> bool {
    let name = bound.rsplit(|b| *b == b'/').next().unwrap_or_default();
    let ending = name.rsplit(|b| *b == b'.').next().unwrap_or_default();
    name.len() < bound.len()
        && [&b"parquet"[..], b"orc", b"avro"].iter().any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
#[path = "deletes_property_tests.rs"]
mod property_tests;
