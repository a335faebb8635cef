//! Relations between entries: the same file twice, deletes and their data files, row ids.

use std::collections::{HashMap, HashSet};

use super::codes;
use super::examination::Examination;
use super::seen::{LiveData, LiveDelete, path_hash};
use crate::error::Result;
use crate::format::diagnosis::code::Code;
use crate::format::diagnosis::table_codes as shared;
use crate::format::task::FileContent;
use crate::iceberg::commit::reachable::each_live_file;
use crate::parallel::{check_cancelled, locked};

/// The most files whose path is looked up for a finding.
const MOST_PATHS: usize = 100;

/// For each manifest, the snapshots that list it, as bits.
pub(super) struct SnapshotBits {
    words: usize,
    bits: Vec<u64>,
}

impl SnapshotBits {
    fn new(of: &Examination<'_>) -> SnapshotBits {
        let words = of.lists.snapshots.len().div_ceil(64).max(1);
        let mut bits = vec![0; words * of.lists.manifests.len()];
        for (number, snapshot) in of.lists.snapshots.iter().enumerate() {
            for manifest in &snapshot.manifests {
                if let Some(word) = bits.get_mut(*manifest as usize * words + number / 64) {
                    *word |= 1 << (number % 64);
                }
            }
        }
        SnapshotBits { words, bits }
    }

    fn of(&self, manifest: u32) -> &[u64] {
        let start = manifest as usize * self.words;
        self.bits.get(start..start + self.words).unwrap_or_default()
    }
}

/// Compares entries with each other.
///
/// # Errors
/// A cancellation.
pub(super) fn check(of: &Examination<'_>) -> Result<()> {
    let bits = SnapshotBits::new(of);
    let data = std::mem::take(&mut of.seen().kept.data);
    let deletes = std::mem::take(&mut of.seen().kept.deletes);
    duplicates(of, &bits, data.iter().map(|d| (d.key, d.manifest)))?;
    let mut keys: Vec<(u64, u32)> = deletes.iter().map(|d| (d.key, d.manifest)).collect();
    keys.sort_unstable();
    duplicates(of, &bits, keys.into_iter())?;
    row_ids(of, &data)?;
    let mut reported = HashSet::new();
    for (name, manifests) in heads(of) {
        check_cancelled()?;
        Head::new(&name, &manifests, &data, &deletes).check(of, &data, &mut reported);
    }
    positions(of, &data);
    let mut seen = of.seen();
    (seen.kept.data, seen.kept.deletes) = (data, deletes);
    Ok(())
}

/// The manifests of each branch and tag, by its first name.
pub(super) fn heads(of: &Examination<'_>) -> Vec<(String, HashSet<u32>)> {
    let mut ids: HashMap<i64, String> = HashMap::new();
    let current = of.metadata.current_snapshot_id.map(|id| ("main".to_owned(), id));
    let named = of.metadata.refs.iter().map(|(name, r)| (name.clone(), r.snapshot_id));
    current.into_iter().chain(named).for_each(|(name, id)| {
        ids.entry(id).or_insert(name);
    });
    let listed = of.lists.snapshots.iter();
    let head = |s: &super::lists::ListedSnapshot| {
        let name = ids.get(&s.snapshot.id)?;
        Some((name.clone(), s.manifests.iter().copied().collect()))
    };
    listed.filter_map(head).collect()
}

/// Finds files that one snapshot lists twice. Entries are ordered by their hash.
fn duplicates(of: &Examination<'_>, bits: &SnapshotBits, entries: impl Iterator<Item = (u64, u32)>) -> Result<()> {
    let (mut last, mut seen, mut before): (Option<u64>, Vec<u64>, Option<u32>) = (None, Vec::new(), None);
    let mut found: HashMap<u32, HashSet<u64>> = HashMap::new();
    for (key, manifest) in entries {
        let own = bits.of(manifest);
        if last != Some(key) {
            (last, seen, before) = (Some(key), own.to_vec(), Some(manifest));
            continue;
        }
        let is_shared = seen.iter().zip(own).any(|(a, b)| a & b != 0);
        if is_shared || before == Some(manifest) {
            found.entry(manifest).or_default().insert(key);
        }
        seen.iter_mut().zip(own).for_each(|(a, b)| *a |= b);
        before = Some(manifest);
    }
    let mut paths = 0;
    for (manifest, keys) in found {
        let Some(listed) = of.lists.manifests.get(manifest as usize) else { continue };
        let mut named = HashSet::new();
        if paths < MOST_PATHS {
            paths += keys.len();
            let store = of.store.as_ref();
            let real = of.location.resolve(&listed.path)?;
            // Damage of this manifest is reported elsewhere.
            let _ = each_live_file(store, &real, listed.size(), |path, _| {
                let key = path_hash(path);
                if keys.contains(&key) && named.insert(key) {
                    of.findings.add(&shared::DUPLICATE_FILE, path, format!("again in {}", listed.path));
                }
            });
        }
        if named.is_empty() {
            let evidence = format!("{} of its files are listed twice in one snapshot", keys.len());
            of.findings.add(&shared::DUPLICATE_FILE, &listed.path, evidence);
        }
    }
    Ok(())
}

/// Ranges of row ids must not overlap, and end below the next one.
fn row_ids(of: &Examination<'_>, data: &[LiveData]) -> Result<()> {
    let mut ranges: Vec<(i64, i64, u64, u32)> = data
        .iter()
        .filter(|d| d.first_row >= 0 && d.rows > 0)
        .map(|d| (d.first_row, d.first_row.saturating_add(d.rows), d.key, d.manifest))
        .collect();
    ranges.sort_unstable();
    ranges.dedup_by_key(|(start, _, key, _)| (*start, *key));
    let name = |manifest: u32| of.lists.manifests.get(manifest as usize).map_or("", |m| m.path.as_str());
    let mut farthest: Option<(i64, u64)> = None;
    for (start, end, key, manifest) in &ranges {
        if let Some((reached, other)) = farthest
            && *start < reached
            && other != *key
        {
            let evidence = format!("a file has the row ids {start} to {}, another one ids below {reached}", end - 1);
            of.findings.add(&codes::ROW_IDS_OVERLAP, name(*manifest), evidence);
        }
        if farthest.is_none_or(|(reached, _)| *end > reached) {
            farthest = Some((*end, *key));
        }
    }
    if let (Some((end, _)), Some(next)) = (farthest, of.metadata.next_row_id)
        && end > next
    {
        let evidence = format!("row ids up to {} are in use, next-row-id is {next}", end - 1);
        of.findings.add(&codes::NEXT_ROW_ID, of.table.metadata_location(), evidence);
    }
    Ok(())
}

/// The files of one branch or tag.
pub(super) struct Head<'a> {
    name: &'a str,
    manifests: &'a HashSet<u32>,
    /// The delete files.
    deletes: Vec<&'a LiveDelete>,
    /// Data files that deletes name.
    named: HashMap<u64, Vec<LiveData>>,
    /// The lowest sequence number by partition, and of all.
    oldest: HashMap<u64, i64>,
    oldest_of_all: Option<i64>,
}

impl<'a> Head<'a> {
    pub(super) fn new(
        name: &'a str,
        manifests: &'a HashSet<u32>,
        data: &[LiveData],
        deletes: &'a [LiveDelete],
    ) -> Head<'a> {
        let deletes: Vec<&LiveDelete> = deletes.iter().filter(|d| manifests.contains(&d.manifest)).collect();
        let mut head =
            Head { name, manifests, deletes, named: HashMap::new(), oldest: HashMap::new(), oldest_of_all: None };
        if head.deletes.is_empty() {
            return head;
        }
        let wanted: HashSet<u64> = head.deletes.iter().filter_map(|d| d.names).collect();
        for d in data.iter().filter(|d| head.manifests.contains(&d.manifest)) {
            if wanted.contains(&d.key) {
                head.named.entry(d.key).or_default().push(*d);
            }
            let oldest = head.oldest.entry(d.partition).or_insert(d.sequence);
            *oldest = d.sequence.min(*oldest);
            head.oldest_of_all = Some(head.oldest_of_all.map_or(d.sequence, |n| n.min(d.sequence)));
        }
        head
    }

    fn check(&self, of: &Examination<'_>, data: &[LiveData], reported: &mut HashSet<(&'static str, u64)>) {
        let mut vectors = HashSet::new();
        let mut report = |code: &'static Code, delete: &LiveDelete, evidence: String| {
            if reported.insert((code.id, delete.key)) {
                of.findings.add(code, &delete.path, evidence);
            }
        };
        for delete in &self.deletes {
            if let Some(key) = delete.names.filter(|_| delete.is_vector)
                && !vectors.insert(key)
            {
                report(&codes::TWO_VECTORS, delete, format!("its data file has another vector in {}", self.name));
            }
            let named = delete.names.map(|key| self.named.get(&key).map(Vec::as_slice).unwrap_or_default());
            match named {
                Some([]) => {
                    let exists = data.binary_search_by_key(&delete.names, |d| Some(d.key)).is_ok();
                    let when = if exists { "only other snapshots have it" } else { "no snapshot has it" };
                    report(
                        &codes::DELETE_UNKNOWN_FILE,
                        delete,
                        format!("its data file is not in {}: {when}", self.name),
                    );
                }
                Some(files) => {
                    for file in files {
                        if delete.rows > file.rows {
                            let evidence = format!("{} deletes for {} rows", delete.rows, file.rows);
                            report(&codes::DELETE_COUNT, delete, evidence);
                        }
                        if delete.partition != file.partition {
                            let evidence = "it is recorded in another partition than its data file".to_owned();
                            report(&codes::DELETE_PARTITION, delete, evidence);
                        }
                    }
                    if files.iter().all(|file| file.sequence > delete.sequence) {
                        report(&codes::DANGLING_DELETE, delete, format!("its data file is newer, in {}", self.name));
                    }
                }
                None if self.is_dangling(delete) => {
                    let evidence = format!("{} has no older data file in its partition", self.name);
                    report(&codes::DANGLING_DELETE, delete, evidence);
                }
                None => {}
            }
        }
    }

    /// The delete files that may apply to a data file.
    pub(super) fn applied(&self) -> Vec<&'a LiveDelete> {
        let applies = |delete: &&LiveDelete| match delete.names {
            Some(key) => {
                self.named.get(&key).is_some_and(|files| files.iter().any(|file| file.sequence <= delete.sequence))
            }
            None => !self.is_dangling(delete),
        };
        self.deletes.iter().copied().filter(applies).collect()
    }

    /// Whether a delete file that names no single data file applies to none.
    fn is_dangling(&self, delete: &LiveDelete) -> bool {
        let of_partition = self.oldest.get(&delete.partition).copied();
        match delete.content {
            FileContent::EqualityDeletes => {
                let oldest = if delete.is_global { self.oldest_of_all } else { of_partition };
                oldest.is_none_or(|oldest| delete.sequence <= oldest)
            }
            _ => of_partition.is_none_or(|oldest| delete.sequence < oldest),
        }
    }
}

/// Positions that were read from delete files must be rows of their data files.
fn positions(of: &Examination<'_>, data: &[LiveData]) {
    for (key, last, path) in std::mem::take(&mut *locked(&of.positions)) {
        let rows = data.binary_search_by_key(&key, |d| d.key).ok().and_then(|at| data.get(at)).map(|d| d.rows);
        let outside = rows.and_then(|rows| u64::try_from(rows).ok()).filter(|rows| last >= *rows);
        if let Some(rows) = outside {
            of.findings.add(&codes::DELETE_POSITION, &path, format!("position {last} of a file with {rows} rows"));
        }
    }
}
