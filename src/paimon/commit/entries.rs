//! Manifest entries for the changes of a commit, on top of one snapshot.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::changes::{Changes, RecordedIndexes, Replaced};
use super::merge::ALL;
use crate::error::{Error, Result};
use crate::format::task::{DataFile, NewBucketFile, Partition};
use crate::paimon::manifest::entries::{ADD, APPEND, DELETE, PaimonEntryRequest};
use crate::paimon::manifest::file_entry::{FileEntry, partition_row};
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::index_manifest::{DELETION_VECTORS, IndexEntry};
use crate::paimon::manifest::live::{data_manifests, live_files};
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::bucket::POSTPONE_BUCKET;
use crate::paimon::spec::data_type::DataType;
use crate::paimon::spec::partition::{checked_name, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::paimon::spec::snapshot::PaimonSnapshot;
use crate::types::Value;
use crate::types::options::Options;

/// How the names of files with indexes end.
const INDEX_ENDING: &str = ".index";

/// Makes the entries of a commit on top of a snapshot.
#[derive(Debug)]
pub(super) struct ChangeEntries<'a> {
    pub(super) schema: &'a TableSchema,
    pub(super) changes: &'a Changes,
    pub(super) replaced: Option<&'a Replaced>,
    /// Partition rows, each made once.
    rows: EncodedPartitions,
}

/// The identity of a file to be removed: its partition's row, bucket, level and name.
type FilePlace = (Arc<[u8]>, i32, i32, String);

#[derive(Debug, Default)]
struct EncodedPartitions(Vec<(Arc<Partition>, Arc<[u8]>)>);

impl EncodedPartitions {
    fn of(&mut self, schema: &TableSchema, partition: &Arc<Partition>) -> Result<Arc<[u8]>> {
        if let Some((_, row)) = self.0.iter().rev().take(8).find(|(known, _)| Arc::ptr_eq(known, partition)) {
            return Ok(row.clone());
        }
        let row: Arc<[u8]> = partition_row(schema, partition)?.into();
        self.0.push((partition.clone(), row.clone()));
        Ok(row)
    }
}

impl<'a> ChangeEntries<'a> {
    pub(super) fn new(schema: &'a TableSchema, changes: &'a Changes, replaced: Option<&'a Replaced>) -> Self {
        ChangeEntries { schema, changes, replaced, rows: EncodedPartitions::default() }
    }

    /// The entries that add files, in order.
    ///
    /// # Errors
    /// `InvalidInput` for a file that is not the table's, or not in a replaced partition.
    pub(super) fn added(&mut self, files: &[NewBucketFile]) -> Result<Vec<FileEntry>> {
        let mut out = Vec::with_capacity(files.len());
        for new in files {
            let row = self.rows.of(self.schema, &new.file.partition)?;
            let entry = FileEntry::adding(new, row)?;
            if let Some(Replaced::Partition(values)) = self.replaced
                && !in_partition(self.schema, &entry.partition, values)?
            {
                return Err(Error::invalid("some new rows belong to another partition than the overwritten one")
                    .with("path", &new.file.path)
                    .hint("Give only rows of that partition. Rows without a partition column have null there"));
            }
            out.push(entry);
        }
        Ok(out)
    }

    fn place(&mut self, file: &DataFile) -> Result<FilePlace> {
        let bad = || Error::invalid("a file to be removed has no bucket and level").with("file", &file.path);
        let bucket_file = file.bucket_file.as_deref().ok_or_else(bad)?;
        let name = checked_name(file.path.rsplit('/').next().unwrap_or_default())?.to_owned();
        Ok((self.rows.of(self.schema, &file.partition)?, bucket_file.bucket, bucket_file.level, name))
    }

    /// The live files of the latest snapshot in the partitions that the commit changes.
    ///
    /// # Errors
    /// Errors of the store; `CorruptTable` if the snapshot's manifests are damaged.
    pub(super) fn base(
        &mut self,
        from: ManifestFolder<'_>,
        latest: &PaimonSnapshot,
        added: &[FileEntry],
    ) -> Result<Vec<FileEntry>> {
        let mut partitions: HashSet<Arc<[u8]>> = added.iter().map(|e| e.partition.clone()).collect();
        let moved = self.changes.moved.iter().map(|(file, _)| file);
        let reindexed = self.changes.reindexed.iter().map(|(file, _)| file);
        for file in self.changes.removed.iter().chain(moved).chain(reindexed) {
            partitions.insert(self.rows.of(self.schema, &file.partition)?);
        }
        let index = self.changes.index.iter().filter(|e| e.index_type == DELETION_VECTORS);
        partitions.extend(index.map(|e| Arc::from(&e.partition[..])));
        let keep = |partition: &[u8], _: i32, _: i32| match self.replaced {
            Some(Replaced::Everything) => true,
            // A partition that can't be read is kept, so that its error is seen later.
            Some(Replaced::Partition(values)) => in_partition(self.schema, partition, values).unwrap_or(true),
            _ => partitions.contains(partition),
        };
        let takes_out = self.replaced.is_some() || self.takes_out_files();
        let request = if takes_out { ALL } else { PaimonEntryRequest::default() };
        let manifests = data_manifests(from, latest)?;
        let live = live_files(from, &manifests, &PaimonEntryRequest { keep: Some(&keep), ..request })?;
        let entries = live.iter().flat_map(|l| l.rows.iter().map(|row| l.columns.entry(*row as usize)));
        entries.collect()
    }

    /// The entries of the commit: first those that remove files, then those that add files.
    ///
    /// # Errors
    /// `CommitConflict` if a file to remove no longer exists.
    pub(super) fn delta(&mut self, base: &[FileEntry], added: Vec<FileEntry>) -> Result<Vec<FileEntry>> {
        let mut out = Vec::new();
        let partitions: HashSet<Arc<[u8]>> = added.iter().map(|e| e.partition.clone()).collect();
        for entry in base {
            if self.replaces(entry, &partitions)? {
                out.push(entry.of_kind(DELETE));
            }
        }
        let changes = self.changes;
        let mut added = added;
        if self.takes_out_files() {
            let places: HashMap<FilePlace, &FileEntry> = base.iter().map(|e| (place_of(e), e)).collect();
            let gone = |file: &DataFile| {
                Error::conflict("a file that the commit removes is gone: another commit removed it first")
                    .with("file", &file.path)
            };
            for file in &changes.removed {
                out.push(places.get(&self.place(file)?).ok_or_else(|| gone(file))?.of_kind(DELETE));
            }
            for (file, level) in &changes.moved {
                let entry = *places.get(&self.place(file)?).ok_or_else(|| gone(file))?;
                out.push(entry.of_kind(DELETE));
                added.push(FileEntry { level: *level, ..entry.of_kind(ADD) });
            }
            for (file, indexes) in &changes.reindexed {
                let entry = *places.get(&self.place(file)?).ok_or_else(|| gone(file))?;
                out.push(entry.of_kind(DELETE));
                added.push(with_indexes(entry, indexes));
            }
        }
        if self.schema.options().boolean("manifest.delete-file-drop-stats", false)? {
            out = out.into_iter().map(FileEntry::without_stats).collect();
        }
        out.extend(added);
        Ok(out)
    }

    /// Whether the changes name files of the table.
    fn takes_out_files(&self) -> bool {
        let changes = self.changes;
        !(changes.removed.is_empty() && changes.moved.is_empty() && changes.reindexed.is_empty())
    }

    /// Whether an overwrite removes a file.
    fn replaces(&self, entry: &FileEntry, added: &HashSet<Arc<[u8]>>) -> Result<bool> {
        let postponed = self.schema.options().bucket()? == POSTPONE_BUCKET;
        if entry.bucket < 0 && !postponed {
            return Ok(false);
        }
        Ok(match self.replaced {
            None => false,
            Some(Replaced::Everything) => true,
            Some(Replaced::Partition(values)) => in_partition(self.schema, &entry.partition, values)?,
            Some(Replaced::PartitionsOfAdded) => added.contains(&entry.partition),
        })
    }

    /// The index files that the commit adds and removes.
    ///
    /// # Errors
    /// `CorruptTable` for a partition that can't be read.
    pub(super) fn index(&self, base: &[IndexEntry], added: &[FileEntry]) -> Result<Vec<IndexEntry>> {
        let partitions: HashSet<&[u8]> = added.iter().map(|e| &e.partition[..]).collect();
        let mut out = Vec::new();
        for entry in base {
            let goes = match self.replaced {
                None => false,
                Some(Replaced::Everything) => true,
                Some(Replaced::Partition(values)) => in_partition(self.schema, &entry.partition, values)?,
                Some(Replaced::PartitionsOfAdded) => partitions.contains(&entry.partition[..]),
            };
            if goes {
                out.push(IndexEntry { kind: DELETE, ..entry.clone() });
            }
        }
        out.extend(self.changes.index.iter().cloned());
        Ok(out)
    }
}

/// The entry that adds a file again, with other indexes.
fn with_indexes(entry: &FileEntry, indexes: &RecordedIndexes) -> FileEntry {
    let others = entry.extra_files.iter().filter(|name| !name.ends_with(INDEX_ENDING));
    let extra_files = others.chain(&indexes.own_file).cloned().collect();
    FileEntry { extra_files, embedded_index: indexes.embedded.clone(), ..entry.of_kind(ADD) }
}

fn place_of(entry: &FileEntry) -> FilePlace {
    (entry.partition.clone(), entry.bucket, entry.level, entry.file_name.clone())
}

/// Whether a partition has these values.
fn in_partition(schema: &TableSchema, row: &[u8], values: &[(String, Option<Value>)]) -> Result<bool> {
    let partition = partition_of(schema, row)?;
    for (name, wanted) in values {
        let none = || Error::invalid(format!("'{name}' is not a partition column"));
        if partition.values.iter().find(|v| v.name == *name).ok_or_else(none)?.value != *wanted {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares two keys after their numbers of fields.
///
/// # Errors
/// `CorruptTable` if one can't be read.
pub(super) fn compare_keys(a: &[u8], b: &[u8], types: &[DataType]) -> Result<Ordering> {
    BinaryRow::from_prefixed(a)?.compare(&BinaryRow::from_prefixed(b)?, types)
}

/// Sorts files by their least keys.
///
/// # Errors
/// As [`compare_keys`].
pub(super) fn sort_by_keys(files: &mut [&FileEntry], types: &[DataType]) -> Result<()> {
    let mut failure = None;
    files.sort_by(|a, b| {
        compare_keys(&a.min_key, &b.min_key, types).unwrap_or_else(|e| {
            failure = Some(e);
            Ordering::Equal
        })
    });
    failure.map_or(Ok(()), Err)
}

/// Whether files of an overwrite stay on a level that scans leave out, because [`upgraded`] did not raise them.
///
/// # Errors
/// `InvalidInput` for options that can't be read.
pub(super) fn stay_hidden(schema: &TableSchema, added: &[FileEntry]) -> Result<bool> {
    let options = schema.options();
    let low = added.iter().any(|e| e.level == 0 && e.bucket >= 0);
    Ok(low && upgrades(&options)? && options.hides_level_0(schema.has_primary_key())?)
}

fn upgrades(options: &Options<'_>) -> Result<bool> {
    Ok(options.boolean("overwrite-upgrade", true)? && !options.boolean("pk-clustering-override", false)?)
}

/// Puts the files of an overwrite on the highest level, bucket by bucket, where they don't overlap: they need no
/// merging.
///
/// # Errors
/// `CorruptTable` for keys that can't be read.
pub(super) fn upgraded(schema: &TableSchema, added: Vec<FileEntry>) -> Result<Vec<FileEntry>> {
    let (options, types) = (schema.options(), schema.key_types());
    let low = added.iter().all(|e| e.level == 0 && e.bucket >= 0);
    if types.is_empty() || !low || !upgrades(&options)? {
        return Ok(added);
    }
    let runs = options.integer("num-sorted-run.compaction-trigger")?.unwrap_or(5);
    let levels = options.integer("num-levels")?.unwrap_or(runs.saturating_add(1));
    let highest = i32::try_from(levels.saturating_sub(1).max(0)).unwrap_or(i32::MAX);
    let mut buckets: Vec<Vec<FileEntry>> = Vec::new();
    let mut places: HashMap<(Arc<[u8]>, i32), usize> = HashMap::new();
    for entry in added {
        let at = *places.entry((entry.partition.clone(), entry.bucket)).or_insert_with(|| {
            buckets.push(Vec::new());
            buckets.len() - 1
        });
        buckets.get_mut(at).into_iter().for_each(|bucket| bucket.push(entry.clone()));
    }
    let mut out = Vec::new();
    for files in buckets {
        let mut sorted: Vec<&FileEntry> = files.iter().collect();
        sort_by_keys(&mut sorted, &types)?;
        let mut apart = true;
        for pair in sorted.windows(2) {
            let [a, b] = pair else { continue };
            apart &= compare_keys(&a.max_key, &b.min_key, &types)? == Ordering::Less;
        }
        let level = if apart { highest } else { 0 };
        out.extend(files.into_iter().map(|e| FileEntry { level, ..e }));
    }
    Ok(out)
}

/// Gives the rows of new files their ids, and files without sequence numbers the commit's. Returns the next row id.
///
/// # Errors
/// `InvalidInput` for a file of columns that comes before the rows that it belongs to.
pub(super) fn track_rows(entries: &mut [FileEntry], snapshot_id: i64, first_row_id: i64) -> Result<i64> {
    let (mut next, mut rows_start) = (first_row_id, first_row_id);
    let mut blobs: HashMap<Option<String>, i64> = HashMap::new();
    for entry in entries {
        if entry.min_sequence_number == 0 {
            (entry.min_sequence_number, entry.max_sequence_number) = (snapshot_id, snapshot_id);
        }
        let columns = entry.write_cols.as_deref();
        let has_ids = entry.first_row_id.is_some() || columns.is_some_and(|c| c.iter().any(|c| c == "_ROW_ID"));
        if entry.file_source != Some(APPEND) || has_ids {
            continue;
        }
        if entry.file_name.ends_with(".blob") {
            let start = blobs.entry(columns.and_then(|c| c.first().cloned())).or_insert(rows_start);
            if *start >= next {
                return Err(
                    Error::invalid("a file of blobs comes before the file of its rows").with("file", &entry.file_name)
                );
            }
            entry.first_row_id = Some(*start);
            *start = row_id_after(*start, entry)?;
        } else {
            entry.first_row_id = Some(next);
            rows_start = next;
            blobs.clear();
            next = row_id_after(next, entry)?;
        }
    }
    Ok(next)
}

/// The row id after the rows of a file.
fn row_id_after(first: i64, entry: &FileEntry) -> Result<i64> {
    first
        .checked_add(entry.row_count)
        .filter(|_| first >= 0 && entry.row_count >= 0)
        .ok_or_else(|| Error::corrupt("row ids overflow").with("file", &entry.file_name).with("first row id", first))
}
