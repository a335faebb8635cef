//! New ids for rows of partitions whose ids have gaps, so that the ids of a partition follow each other.
//!
//! Only manifests and the index manifest change. A file has its rows' first id in its entry.
//!
//! Source: Java's `DataEvolutionRowIdReassigner`, `DataEvolutionRowIdAssignmentPlanner`.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::manifests::{ManifestLayout, MetadataFiles};
use super::merge::ALL;
use crate::error::{Error, Result, ResultExt};
use crate::expr::BoundPredicate;
use crate::expr::residual::residual;
use crate::paimon::manifest::entries::{ADD, PaimonEntryColumns, PaimonEntryRequest};
use crate::paimon::manifest::file_entry::FileEntry;
use crate::paimon::manifest::folder::ManifestFolder;
use crate::paimon::manifest::index_manifest::{GlobalIndex, IndexEntry};
use crate::paimon::manifest::list::PaimonManifestFile;
use crate::paimon::manifest::live::{DeletedFiles, read_manifest};
use crate::paimon::plan::evolution::is_part;
use crate::paimon::spec::binary_row::BinaryRow;
use crate::paimon::spec::partition::{PaimonPartitionBounds, partition_of};
use crate::paimon::spec::schema::TableSchema;
use crate::parallel::check_cancelled;

/// Runs of ids that are longer than this keep them.
const LONG_RUN: &str = "data-evolution.reassign.skip-contiguous-row-count";

/// The column of a file that stores the ids of its rows.
const ROW_ID: &str = "_ROW_ID";

/// A request for new ids.
#[derive(Clone, Debug)]
pub(crate) struct Renumbering {
    /// Which partitions: those with rows that the filter keeps.
    pub(crate) filter: BoundPredicate,
    /// What the last attempt of the commit did.
    pub(crate) done: Arc<Mutex<Renumbered>>,
}

/// What got new ids.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Renumbered {
    pub(crate) files: usize,
    pub(crate) rows: i64,
    /// Global indexes.
    pub(crate) indexes: usize,
    pub(crate) first_row_id: i64,
}

/// New ids for the rows of a snapshot.
pub(crate) struct NewRowIds {
    partitions: HashMap<Box<[u8]>, MovedRows>,
    /// The first of the ids.
    first: i64,
    /// The first id after them.
    end: i64,
    done: Arc<Mutex<Renumbered>>,
}

/// Rows with ids from the first to the second one.
type RowRange = (i64, i64);

/// Ranges of old ids, ascending and apart. Each has its first new id.
#[derive(Debug, Default)]
struct MovedRows(Vec<(RowRange, i64)>);

/// The ids of a file's rows. Files of blobs and of vectors have a part of the rows of other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileIds {
    rows: RowRange,
    is_part: bool,
}

impl Renumbering {
    /// The new ids on top of a list of manifests, from `first` on; `None` if no partition needs them.
    ///
    /// # Errors
    /// `Unsupported` for files that store the ids of their rows; `CorruptTable` for files without ids, or whose ids
    /// overlap; those of reading manifests.
    pub(crate) fn plan(
        &self,
        from: ManifestFolder<'_>,
        schema: &TableSchema,
        manifests: &[PaimonManifestFile],
        first: i64,
    ) -> Result<Option<NewRowIds>> {
        let long_run = schema.options().integer(LONG_RUN)?.unwrap_or(1_000_000_000);
        if long_run < 0 {
            return Err(Error::invalid("the option can't be negative").with("option", LONG_RUN));
        }
        let mut chosen: Vec<(Box<[u8]>, Vec<RowRange>)> = Vec::new();
        for (partition, files) in self.live_rows(from, schema, manifests)? {
            let ranges = short_runs(row_ranges(files)?, long_run);
            if has_gaps(&ranges) {
                chosen.push((partition, ranges));
            }
        }
        if chosen.is_empty() {
            return Ok(None);
        }
        sort_by_partition(&mut chosen, schema)?;
        let mut end = first;
        let mut partitions = HashMap::new();
        for (partition, ranges) in chosen {
            let mut moved = Vec::with_capacity(ranges.len());
            for (from, to) in ranges {
                moved.push(((from, to), end));
                end = (to - from).checked_add(1).and_then(|rows| end.checked_add(rows)).ok_or_else(too_large)?;
            }
            partitions.insert(partition, MovedRows(moved));
        }
        Ok(Some(NewRowIds { partitions, first, end, done: self.done.clone() }))
    }

    /// The rows of live files, by partition.
    fn live_rows(
        &self,
        from: ManifestFolder<'_>,
        schema: &TableSchema,
        manifests: &[PaimonManifestFile],
    ) -> Result<HashMap<Box<[u8]>, Vec<FileIds>>> {
        let judged: Mutex<HashMap<Vec<u8>, bool>> = Mutex::new(HashMap::new());
        let keep = |row: &[u8], _: i32, _: i32| {
            let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
            let wanted = || match partition_of(schema, row) {
                Ok(partition) => residual(&self.filter, &PaimonPartitionBounds(&partition)) != BoundPredicate::False,
                // A partition that can't be read is kept, so that its error is seen later.
                Err(_) => true,
            };
            *judged.entry(row.to_vec()).or_insert_with(wanted)
        };
        let request = PaimonEntryRequest { keep: Some(&keep), ..PaimonEntryRequest::default() };
        let deleted = DeletedFiles::read(from, manifests, &request)?;
        let parts = deleted.live_parts(from, manifests, &request, |_, part| {
            let rows = part.rows.iter().map(|row| rows_of(&part.columns, *row as usize));
            rows.collect::<Result<Vec<_>>>()
        })?;
        let mut out: HashMap<Box<[u8]>, Vec<FileIds>> = HashMap::new();
        for (partition, rows) in parts.into_iter().flatten().flatten() {
            out.entry(partition).or_default().push(rows);
        }
        Ok(out)
    }
}

/// The partition and the rows of a file.
fn rows_of(columns: &PaimonEntryColumns, row: usize) -> Result<(Box<[u8]>, FileIds)> {
    let name = columns.name(row)?;
    let first = columns.first_row_id.get(row).copied().flatten();
    let first = first.filter(|first| *first >= 0);
    let first = first.ok_or_else(|| Error::corrupt("the rows of a file have no ids").with("file", name))?;
    let count = columns.row_count.get(row).copied().unwrap_or_default();
    if count <= 0 {
        return Err(Error::corrupt("a file has no rows").with("file", name));
    }
    let last = first.checked_add(count - 1).ok_or_else(too_large).with("file", name)?;
    if columns.write_cols_of(row).is_some_and(|names| names.iter().any(|name| name == ROW_ID)) {
        return Err(stored(name));
    }
    Ok((columns.partition_row(row).into(), FileIds { rows: (first, last), is_part: is_part(name) }))
}

fn stored(name: &str) -> Error {
    Error::unsupported("a file stores the ids of its rows, so they can't get others").with("file", name)
}

fn too_large() -> Error {
    Error::corrupt("row ids overflow")
}

/// The ranges of rows that files have columns of, ascending.
///
/// # Errors
/// `CorruptTable` if files overlap that do not have the same rows.
fn row_ranges(mut files: Vec<FileIds>) -> Result<Vec<RowRange>> {
    let apart = || Error::corrupt("files with columns of the same rows do not cover the same row ids");
    files.sort_unstable();
    let mut out = Vec::new();
    let mut files = files.into_iter().peekable();
    while let Some(first) = files.next() {
        let mut span = first.rows;
        let mut whole = (!first.is_part).then_some(first.rows);
        while let Some(next) = files.next_if(|next| next.rows.0 <= span.1) {
            span.1 = span.1.max(next.rows.1);
            match whole {
                _ if next.is_part => {}
                Some(rows) if rows != next.rows => return Err(apart().with("first row id", next.rows.0)),
                _ => whole = Some(next.rows),
            }
        }
        let range = whole.unwrap_or(span);
        if span.0 < range.0 || range.1 < span.1 {
            return Err(apart().with("first row id", span.0));
        }
        out.push(range);
    }
    Ok(out)
}

fn touch(before: &RowRange, next: &RowRange) -> bool {
    before.1.checked_add(1) == Some(next.0)
}

fn has_gaps(ranges: &[RowRange]) -> bool {
    ranges.windows(2).any(|pair| matches!(pair, [a, b] if !touch(a, b)))
}

/// Ranges without those of runs with more than `longest` rows. With 0, all of them.
fn short_runs(ranges: Vec<RowRange>, longest: i64) -> Vec<RowRange> {
    if longest == 0 || !has_gaps(&ranges) {
        return ranges;
    }
    let runs = ranges.chunk_by(touch);
    let rows = |run: &[RowRange]| match (run.first(), run.last()) {
        (Some(first), Some(last)) => (last.1 - first.0).saturating_add(1),
        _ => 0,
    };
    runs.filter(|run| rows(run) <= longest).flatten().copied().collect()
}

/// Sorts by the values of partitions, nulls first.
fn sort_by_partition(chosen: &mut [(Box<[u8]>, Vec<RowRange>)], schema: &TableSchema) -> Result<()> {
    let types = schema.partition_types();
    let mut failure = None;
    chosen.sort_by(|(a, _), (b, _)| {
        let order = BinaryRow::from_prefixed(a).and_then(|a| a.compare(&BinaryRow::from_prefixed(b)?, &types));
        order.unwrap_or_else(|e| {
            failure = Some(e);
            Ordering::Equal
        })
    });
    failure.map_or(Ok(()), Err)
}

impl MovedRows {
    /// The first range that does not end before a row.
    fn from(&self, row: i64) -> usize {
        self.0.partition_point(|((_, last), _)| *last < row)
    }

    /// Whether some of these rows move.
    fn meets(&self, (first, last): RowRange) -> bool {
        self.0.get(self.from(first)).is_some_and(|((from, _), _)| *from <= last)
    }

    /// The new ids of rows that all move and still follow each other.
    fn moved(&self, (first, last): RowRange) -> Option<RowRange> {
        let at = self.from(first);
        let ((from, mut end), new) = *self.0.get(at).filter(|((from, _), _)| *from <= first)?;
        let new = new + (first - from);
        for (next, _) in self.0.get(at + 1..)? {
            if end >= last {
                break;
            }
            // Ranges that touch have new ids that follow each other, too.
            if !touch(&(from, end), next) {
                return None;
            }
            end = next.1;
        }
        (end >= last).then(|| (new, new + (last - first)))
    }
}

impl NewRowIds {
    /// The first id that is free afterwards.
    pub(super) fn end(&self) -> i64 {
        self.end
    }

    /// The manifests that replace those of the snapshot before, in the same order.
    ///
    /// # Errors
    /// `Unsupported` for files that store the ids of their rows; those of reading and writing manifests.
    pub(super) fn applied(
        &self,
        files: &mut MetadataFiles,
        from: ManifestFolder<'_>,
        before: Vec<PaimonManifestFile>,
        layout: &ManifestLayout,
    ) -> Result<Vec<PaimonManifestFile>> {
        let (mut out, mut count) = (Vec::with_capacity(before.len()), 0);
        for manifest in before {
            check_cancelled()?;
            if manifest.row_ids.is_some_and(|ids| !self.partitions.values().any(|moved| moved.meets(ids))) {
                out.push(manifest);
                continue;
            }
            let columns = read_manifest(from, &manifest, &ALL)?;
            let mut changed = false;
            let mut entries = columns.rows().map(|row| columns.entry(row)).collect::<Result<Vec<FileEntry>>>()?;
            for entry in &mut entries {
                if let Some(first) = self.first_id(entry)? {
                    entry.first_row_id = Some(first);
                    changed = true;
                    count += usize::from(entry.kind == ADD);
                }
            }
            match changed {
                true => out.extend(files.write_manifests(&entries, layout)?),
                false => out.push(manifest),
            }
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done = Renumbered { files: count, rows: self.end - self.first, indexes: 0, first_row_id: self.first };
        Ok(out)
    }

    /// The first new id of a file's rows, if they move. A file that was removed may have rows of several ranges. It
    /// keeps its ids.
    fn first_id(&self, entry: &FileEntry) -> Result<Option<i64>> {
        let moved = self.partitions.get(&entry.partition[..]);
        let Some((first, _)) = moved.zip(entry.row_ids()).and_then(|(moved, ids)| moved.moved(ids)) else {
            return Ok(None);
        };
        match entry.write_cols.iter().flat_map(|names| names.iter()).any(|name| name == ROW_ID) {
            true => Err(stored(&entry.file_name)),
            false => Ok(Some(first)),
        }
    }

    /// The index files of the new snapshot; `None` if they stay the same. A global index of rows that no longer follow
    /// each other is left out.
    pub(super) fn indexes(&self, before: &[IndexEntry]) -> Option<Vec<IndexEntry>> {
        let (mut out, mut count) = (Vec::with_capacity(before.len()), 0);
        for entry in before {
            let ranges = entry.global.as_ref().zip(self.partitions.get(&entry.partition[..]));
            match ranges {
                Some((global, moved)) if moved.meets((global.first_row_id, global.last_row_id)) => {
                    let Some((first_row_id, last_row_id)) = moved.moved((global.first_row_id, global.last_row_id))
                    else {
                        continue;
                    };
                    count += 1;
                    let global = Some(GlobalIndex { first_row_id, last_row_id, ..global.clone() });
                    out.push(IndexEntry { global, ..entry.clone() });
                }
                _ => out.push(entry.clone()),
            }
        }
        self.done.lock().unwrap_or_else(PoisonError::into_inner).indexes = count;
        (out != before).then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(first: i64, last: i64) -> FileIds {
        FileIds { rows: (first, last), is_part: false }
    }

    fn part(first: i64, last: i64) -> FileIds {
        FileIds { rows: (first, last), is_part: true }
    }

    #[test]
    fn files_of_the_same_rows_are_one_range() {
        let files = vec![whole(10, 19), part(0, 3), whole(0, 9), part(4, 9), whole(0, 9), whole(30, 30)];
        assert_eq!(row_ranges(files).unwrap(), [(0, 9), (10, 19), (30, 30)]);
        assert_eq!(row_ranges(vec![part(0, 3), part(2, 9)]).unwrap(), [(0, 9)]);
        assert!(row_ranges(vec![whole(0, 9), whole(5, 14)]).is_err());
        assert!(row_ranges(vec![whole(0, 9), part(5, 14)]).is_err());
    }

    #[test]
    fn long_runs_keep_their_ids() {
        let ranges = vec![(0, 9), (10, 19), (40, 44), (50, 50)];
        assert_eq!(short_runs(ranges.clone(), 20), ranges);
        assert_eq!(short_runs(ranges.clone(), 0), ranges);
        assert_eq!(short_runs(ranges, 19), [(40, 44), (50, 50)]);
        // Without gaps nothing moves, so nothing is left out.
        assert_eq!(short_runs(vec![(0, 9), (10, 19)], 5), [(0, 9), (10, 19)]);
        assert!(has_gaps(&[(0, 9), (11, 19)]) && !has_gaps(&[(0, 9), (10, 19)]));
    }

    #[test]
    fn rows_move_as_a_whole() {
        let moved = MovedRows(vec![((0, 9), 100), ((10, 19), 110), ((40, 44), 120)]);
        assert_eq!(moved.moved((0, 9)), Some((100, 109)));
        assert_eq!(moved.moved((3, 5)), Some((103, 105)));
        assert_eq!(moved.moved((42, 44)), Some((122, 124)));
        // Over two ranges that touch.
        assert_eq!(moved.moved((8, 11)), Some((108, 111)));
        assert_eq!(moved.moved((15, 41)), None);
        assert_eq!(moved.moved((20, 30)), None);
        assert_eq!(moved.moved((40, 45)), None);
        assert!(moved.meets((15, 41)) && moved.meets((0, 0)) && moved.meets((44, 90)));
        assert!(!moved.meets((20, 39)) && !moved.meets((45, 90)));
    }
}
