//! Checks whether a commit fits the latest snapshot.
//!
//! Source: Java's `ConflictDetection`.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::changes::CommitKind;
use super::entries::{compare_keys, sort_by_keys};
use super::merge::merged;
use crate::error::{Error, Result, ResultExt};
use crate::paimon::manifest::entries::{ADD, DELETE};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::index_manifest::IndexEntry;
use crate::paimon::plan::sections::overlapping;
use crate::paimon::spec::schema::TableSchema;

/// The changes of a commit, and the snapshot that it builds on.
pub(super) struct Meeting<'a> {
    pub(super) schema: &'a TableSchema,
    pub(super) kind: CommitKind,
    /// Live files of the partitions that it changes.
    pub(super) base: &'a [FileEntry],
    pub(super) delta: &'a [FileEntry],
    /// Index files of the latest snapshot.
    pub(super) index_base: &'a [IndexEntry],
    pub(super) index_delta: &'a [IndexEntry],
}

/// Checks that all files of a partition are spread over the same number of buckets.
///
/// # Errors
/// `CommitConflict`, naming a file that is not.
pub(super) fn check_buckets<'a>(entries: impl IntoIterator<Item = &'a FileEntry>) -> Result<()> {
    let mut totals: HashMap<&[u8], i32> = HashMap::new();
    for entry in entries.into_iter().filter(|e| e.total_buckets > 0) {
        let total = *totals.entry(&entry.partition).or_insert(entry.total_buckets);
        if total != entry.total_buckets {
            let (found, wanted) = (entry.total_buckets, total);
            return Err(Error::conflict(format!("a partition with {wanted} buckets can't have files made for {found} buckets"))
                .with("file", &entry.file_name)
                .hint("To change a partition's number of buckets, overwrite it with rows that were all written for the new number"));
        }
    }
    Ok(())
}

/// Checks that no added file is already in the table, on any level.
///
/// # Errors
/// `InvalidInput`, naming one that is.
pub(super) fn check_not_in_table(live: &[FileEntry], added: &[FileEntry]) -> Result<()> {
    fn place(e: &FileEntry) -> (&[u8], i32, &str) {
        (&e.partition, e.bucket, &e.file_name)
    }
    let there: HashSet<_> = live.iter().map(place).collect();
    match added.iter().find(|e| there.contains(&place(e))) {
        None => Ok(()),
        Some(twice) => Err(Error::invalid("a file that the commit adds is in the table already")
            .with("file", &twice.file_name)
            .hint("Commit each message once: leave out those that are in the table already")),
    }
}

/// Ranges of row ids, ascending and apart.
struct RowRanges(Vec<(i64, i64)>);

impl RowRanges {
    fn of(ranges: impl Iterator<Item = (i64, i64)>) -> RowRanges {
        let mut ranges: Vec<(i64, i64)> = ranges.collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| {
            let meets = next.0 <= last.1;
            last.1 = if meets { last.1.max(next.1) } else { last.1 };
            meets
        });
        RowRanges(ranges)
    }

    fn meets(&self, (first, last): (i64, i64)) -> bool {
        let at = self.0.partition_point(|range| range.1 < first);
        self.0.get(at).is_some_and(|range| range.0 <= last)
    }
}

impl Meeting<'_> {
    /// Runs all checks.
    ///
    /// # Errors
    /// `CommitConflict`, saying which file is in the way; `InvalidInput` for changes that contradict themselves.
    pub(super) fn check(&self) -> Result<()> {
        if self.kind != CommitKind::Overwrite {
            check_buckets(self.base.iter().chain(self.delta))?;
        }
        let itself = |e: Error| Error::invalid("the commit adds a file twice").because(e);
        merged(self.delta.iter().cloned()).map_err(itself)?;
        let all = merged(self.base.iter().chain(self.delta).cloned())
            .map_err(|e| Error::conflict("a file that the commit adds is in the table already").because(e))?;
        if let Some(gone) = all.values().find(|e| e.kind == DELETE) {
            return Err(Error::conflict("a file that the commit removes is gone: another commit removed it first")
                .with("file", &gone.file_name));
        }
        let live: Vec<&FileEntry> = all.values().collect();
        self.check_keys(&live)?;
        self.check_vectors(&live)?;
        self.check_row_ids(&live)?;
        self.check_lost_rows()
    }

    /// Above level 0, the files of a level don't overlap.
    fn check_keys(&self, live: &[&FileEntry]) -> Result<()> {
        let types = self.schema.key_types();
        if types.is_empty() || self.schema.options().boolean("pk-clustering-override", false)? {
            return Ok(());
        }
        let mut levels: HashMap<(&[u8], i32, i32), Vec<&FileEntry>> = HashMap::new();
        for entry in live.iter().filter(|e| e.level >= 1) {
            levels.entry((&entry.partition, entry.bucket, entry.level)).or_default().push(entry);
        }
        for files in levels.values_mut() {
            sort_by_keys(files, &types)?;
            for pair in files.windows(2) {
                let [a, b] = pair else { continue };
                if compare_keys(&a.max_key, &b.min_key, &types).with("file", &a.file_name)? != Ordering::Less {
                    return Err(Error::conflict(format!("two files of level {} have the same keys", a.level))
                        .with("file", &a.file_name)
                        .with("other", &b.file_name)
                        .hint("Another compaction of the bucket came first"));
                }
            }
        }
        Ok(())
    }

    /// A data file is removed with its deletion vector, and only live files get one. Java checks only tables without
    /// primary key. This check is stricter: otherwise one of two compactions would bring back rows that the other
    /// deleted.
    fn check_vectors(&self, live: &[&FileEntry]) -> Result<()> {
        let removed: HashSet<&str> =
            self.index_delta.iter().filter(|e| e.kind == DELETE).map(|e| e.file_name.as_str()).collect();
        let names_of = |kind: u8| self.delta.iter().filter(move |e| e.kind == kind).map(|e| e.file_name.as_str());
        // Files that move to another level keep their names and their vectors.
        let moved: HashSet<&str> = names_of(ADD).collect();
        let gone: HashSet<&str> = names_of(DELETE).filter(|name| !moved.contains(name)).collect();
        for entry in self.index_base.iter().filter(|e| !removed.contains(e.file_name.as_str())) {
            let vector = entry.deletion_vectors.iter().flatten().find(|v| gone.contains(v.data_file.as_str()));
            if let Some(vector) = vector {
                return Err(Error::conflict("another commit deleted rows of a file that this commit removes")
                    .with("file", &vector.data_file));
            }
        }
        let names: HashSet<&str> = live.iter().map(|e| e.file_name.as_str()).collect();
        // In tables with a primary key, writers copy a bucket's vectors unchanged, even those of files removed long
        // ago.
        let carried: HashSet<&str> = match self.schema.has_primary_key() {
            true => self.index_base.iter().flat_map(|e| &e.deletion_vectors).flatten().map(|v| &*v.data_file).collect(),
            false => HashSet::new(),
        };
        for entry in self.index_delta.iter().filter(|e| e.kind == ADD) {
            let known = |name: &str| names.contains(name) || carried.contains(name);
            let vector = entry.deletion_vectors.iter().flatten().find(|v| !known(&v.data_file));
            if let Some(vector) = vector {
                return Err(Error::conflict("a file whose rows the commit deletes is gone: another commit removed it")
                    .with("file", &vector.data_file));
            }
        }
        Ok(())
    }

    /// Rows that a compaction takes out under their ids have no other columns and no index left. Otherwise another
    /// commit wrote them meanwhile.
    ///
    /// Source: Java's `MaterializeDvRowIdConflictCheck`.
    fn check_lost_rows(&self) -> Result<()> {
        if self.kind != CommitKind::Compact || !self.schema.options().data_evolution()? {
            return Ok(());
        }
        let of_kind = |kind: u8| self.delta.iter().filter(move |e| e.kind == kind);
        let kept = RowRanges::of(of_kind(ADD).filter_map(FileEntry::row_ids));
        let lost = RowRanges::of(of_kind(DELETE).filter_map(FileEntry::row_ids).filter(|ids| !kept.meets(*ids)));
        let removed: HashSet<&str> = of_kind(DELETE).map(|e| e.file_name.as_str()).collect();
        let stays = |e: &&FileEntry| !removed.contains(e.file_name.as_str());
        let of_lost = |e: &&FileEntry| e.row_ids().is_some_and(|ids| lost.meets(ids));
        if let Some(other) = self.base.iter().filter(stays).find(of_lost) {
            return Err(Error::conflict("another commit wrote columns of the rows that this commit writes again")
                .with("file", &other.file_name));
        }
        let dropped: HashSet<&str> =
            self.index_delta.iter().filter(|e| e.kind == DELETE).map(|e| e.file_name.as_str()).collect();
        let indexes = self.index_base.iter().filter(|e| !dropped.contains(e.file_name.as_str()));
        let of_lost = |e: &&IndexEntry| e.global.as_ref().is_some_and(|g| lost.meets((g.first_row_id, g.last_row_id)));
        match indexes.into_iter().find(of_lost) {
            None => Ok(()),
            Some(index) => {
                Err(Error::conflict("another commit made an index of the rows that this commit writes again")
                    .with("file", &index.file_name))
            }
        }
    }

    /// Files with columns of the same rows must cover exactly the same rows.
    fn check_row_ids(&self, live: &[&FileEntry]) -> Result<()> {
        if self.kind != CommitKind::Compact || !self.schema.options().data_evolution()? {
            return Ok(());
        }
        let files: Vec<(&FileEntry, (i64, i64))> =
            live.iter().filter(|e| !e.file_name.ends_with(".blob")).filter_map(|e| Some((*e, e.row_ids()?))).collect();
        let ranges: Vec<(i64, i64)> = files.iter().map(|(_, range)| *range).collect();
        for group in overlapping(&ranges) {
            let mut members = group.iter().filter_map(|i| files.get(*i));
            let Some((_, first)) = members.next() else { continue };
            if let Some((other, _)) = members.find(|(_, range)| range != first) {
                return Err(Error::conflict("another commit wrote columns of the rows that this commit compacts")
                    .with("file", &other.file_name));
            }
        }
        Ok(())
    }
}
