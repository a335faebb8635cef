//! The files that the snapshots of a table lead to, found without keeping their paths.
//!
//! Paths are compared by keyed 64-bit hashes, so a table of a million files needs only megabytes. This is safe for
//! deletion. Two paths with the same hash count as one path, so a file that may be reachable stays.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use frazil::error::Result;
//! # use frazil::iceberg::spec::{metadata::TableMetadata, snapshot::Snapshot};
//! # fn f(store: &dyn frazil::store::Store, gone: &[Arc<Snapshot>], after: &TableMetadata) -> Result<()> {
//! use frazil::iceberg::commit::reachable::{PathKeys, only_in};
//!
//! let files = only_in(&PathKeys::new(store), gone, after)?;
//! println!("{} manifests", files.manifests.len());
//! # Ok(()) }
//! ```

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{ErrorKind, Result, ResultExt};
use crate::format::task::FileContent;
use crate::iceberg::manifest::columns::Manifest;
use crate::iceberg::manifest::entries::EntryRequest;
use crate::iceberg::manifest::entries::Inherited;
use crate::iceberg::manifest::whole::{ListedSize, decode_list_of};
use crate::iceberg::plan::input::EntryScope;
use crate::iceberg::spec::metadata::TableMetadata;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::store::{Store, in_parallel};

/// The most folders whose real names are cached.
const FOLDERS: usize = 100_000;

/// Hashes of paths in a store, valid for one call.
#[derive(Debug)]
pub struct PathKeys<'s> {
    store: &'s dyn Store,
    state: RandomState,
    folders: Mutex<HashMap<String, u64>>,
}

impl<'s> PathKeys<'s> {
    /// Creates hashes for the paths of this store.
    pub fn new(store: &'s dyn Store) -> PathKeys<'s> {
        PathKeys { store, state: RandomState::new(), folders: Mutex::default() }
    }

    /// The hash of a path. All spellings of a path have the same hash: with or without the scheme `file:`, with extra
    /// slashes, or through links to folders.
    pub fn of(&self, path: &str) -> u64 {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.state.hash_one((self.folder(folder), name))
    }

    fn folder(&self, folder: &str) -> u64 {
        let lock = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(folder) {
            return *known;
        }
        let real = self.store.real_folder(folder);
        let parts: Vec<&str> = real.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let key = self.state.hash_one(parts);
        let mut folders = lock();
        if folders.len() >= FOLDERS {
            folders.clear();
        }
        folders.insert(folder.to_owned(), key);
        key
    }
}

/// A manifest of at least one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestPath {
    /// Its path, as recorded.
    pub path: String,
    /// Whether it may have live files, by the counts in the manifest list.
    pub may_be_live: bool,
    /// The size that the manifest list records.
    pub size: ListedSize,
}

/// Whether a missing manifest list or manifest is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The search fails.
    Fails,
    /// The file was deleted before, and is skipped with everything it led to.
    IsSkipped,
}

impl Missing {
    fn or_skip<T: Default>(self, result: Result<T>) -> Result<T> {
        match result {
            Err(e) if self == Missing::IsSkipped && e.kind() == ErrorKind::NotFound => Ok(T::default()),
            other => other,
        }
    }
}

/// The manifests of these snapshots, each once, without those with keys in `known`.
///
/// # Errors
/// Errors of the store; `CorruptTable` if a manifest list is damaged; cancellation.
pub fn manifests_of(
    keys: &PathKeys<'_>,
    snapshots: &[Arc<Snapshot>],
    known: &HashSet<u64>,
    missing: Missing,
) -> Result<Vec<ManifestPath>> {
    let seen = Mutex::new(HashSet::new());
    let _phase = begin_phase(Phase::ReadingSnapshots, snapshots.len());
    let found = in_parallel(keys.store, snapshots.len(), |i| {
        check_cancelled()?;
        let mut manifests = missing.or_skip(listed(keys.store, &snapshots[i])).with("snapshot", snapshots[i].id)?;
        count_done(Unit::Snapshots, 1);
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        manifests.retain(|m| {
            let key = keys.of(&m.path);
            !known.contains(&key) && seen.insert(key)
        });
        Ok(manifests)
    })?;
    Ok(found.into_iter().flatten().collect())
}

fn listed(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestPath>> {
    let Some(list) = &snapshot.manifest_list else {
        let inline = snapshot.manifests.iter().flatten();
        return Ok(inline
            .map(|path| ManifestPath { path: path.clone(), may_be_live: true, size: ListedSize::default() })
            .collect());
    };
    let manifests = decode_list_of(&store.get(list)?, snapshot).with("path", list)?;
    let one = |m: crate::iceberg::manifest::list::ManifestFile| {
        let may_be_live = EntryScope::Live.may_be_in(&m);
        ManifestPath { may_be_live, size: m.size(), path: m.path }
    };
    Ok(manifests.into_iter().map(one).collect())
}

/// Calls `see` with the path of each live file of a manifest.
///
/// # Errors
/// Errors of the store; `CorruptTable` if the manifest is damaged.
pub fn each_live_file(
    store: &dyn Store,
    path: &str,
    size: ListedSize,
    mut see: impl FnMut(&str, FileContent),
) -> Result<()> {
    let bytes = store.get(path)?;
    count_done(Unit::Manifests, 1);
    let manifest = Manifest::parse_listed(&bytes, size, None).with("path", path)?;
    for block in 0..manifest.block_count() {
        let columns =
            manifest.decode(block..block + 1, &EntryRequest::default(), &Inherited::default()).with("path", path)?;
        for (row, content) in columns.content.iter().enumerate() {
            let file = columns.path.get(row).and_then(|p| std::str::from_utf8(p).ok());
            let bad = || crate::error::Error::corrupt("a file's path is not UTF-8").with("path", path);
            see(file.ok_or_else(bad)?, *content);
        }
    }
    Ok(())
}

/// Files that only removed snapshots lead to, each once, with paths as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreachable {
    /// Data and delete files.
    pub files: Vec<(String, FileContent)>,
    /// Manifests.
    pub manifests: Vec<String>,
    /// Manifest lists.
    pub manifest_lists: Vec<String>,
}

/// The files that the snapshots `gone` lead to and the snapshots of `after` do not.
///
/// Missing files of `gone` are skipped. All metadata files of `after` must exist: the search can't protect files that
/// it can't read.
///
/// # Errors
/// Errors of the store; `CorruptTable` if a metadata file is damaged; cancellation.
pub fn only_in(keys: &PathKeys<'_>, gone: &[Arc<Snapshot>], after: &TableMetadata) -> Result<Unreachable> {
    let kept = manifests_of(keys, &after.snapshots, &HashSet::new(), Missing::Fails)?;
    let kept_lists = after.snapshots.iter().filter_map(|s| s.manifest_list.as_deref());
    let known: HashSet<u64> = kept.iter().map(|m| m.path.as_str()).chain(kept_lists).map(|p| keys.of(p)).collect();
    let manifests = manifests_of(keys, gone, &known, Missing::IsSkipped)?;
    let files = files_only_in(keys, &manifests, &kept)?;
    let mut lists: Vec<String> = gone.iter().filter_map(|s| s.manifest_list.clone()).collect();
    lists.retain(|path| !known.contains(&keys.of(path)));
    lists.sort_unstable();
    lists.dedup();
    let files = files.into_iter().filter(|(path, _)| !known.contains(&keys.of(path))).collect();
    Ok(Unreachable { files, manifests: manifests.into_iter().map(|m| m.path).collect(), manifest_lists: lists })
}

/// The live files of `manifests` that are not live in any of `kept`. The search reads `manifests` twice, so that it
/// keeps only the paths that it returns.
fn files_only_in(
    keys: &PathKeys<'_>,
    manifests: &[ManifestPath],
    kept: &[ManifestPath],
) -> Result<Vec<(String, FileContent)>> {
    let candidates: Vec<&ManifestPath> = manifests.iter().filter(|m| m.may_be_live).collect();
    let kept: Vec<&ManifestPath> = kept.iter().filter(|m| m.may_be_live).collect();
    let _phase = begin_phase(Phase::ReadingMetadata, 2 * candidates.len() + kept.len());
    let of_each = in_parallel(keys.store, candidates.len(), |i| {
        check_cancelled()?;
        let mut found = Vec::new();
        let read =
            each_live_file(keys.store, &candidates[i].path, candidates[i].size, |path, _| found.push(keys.of(path)));
        Missing::IsSkipped.or_skip(read).map(|()| found)
    })?;
    let marked = Marked::new(of_each.into_iter().flatten().collect());
    if marked.keys.is_empty() {
        return Ok(Vec::new());
    }
    in_parallel(keys.store, kept.len(), |i| {
        check_cancelled()?;
        each_live_file(keys.store, &kept[i].path, kept[i].size, |path, _| {
            marked.mark(keys.of(path));
        })
    })?;
    let found = in_parallel(keys.store, candidates.len(), |i| {
        check_cancelled()?;
        let mut found = Vec::new();
        let read = each_live_file(keys.store, &candidates[i].path, candidates[i].size, |path, content| {
            if marked.mark(keys.of(path)) {
                found.push((path.to_owned(), content));
            }
        });
        Missing::IsSkipped.or_skip(read).map(|()| found)
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// A set of keys. Any thread can mark each key once.
#[derive(Debug, Default)]
pub struct Marked {
    keys: Vec<u64>,
    marks: Vec<AtomicU64>,
}

impl Marked {
    /// Creates a set without marked keys.
    pub fn new(mut keys: Vec<u64>) -> Marked {
        keys.sort_unstable();
        keys.dedup();
        let marks = (0..keys.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Marked { keys, marks }
    }

    /// Whether a key is in the set, marked or not.
    pub fn has(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }

    /// Marks a key. Returns true if the set has the key and it was not yet marked.
    pub fn mark(&self, key: u64) -> bool {
        let Ok(at) = self.keys.binary_search(&key) else { return false };
        let bit = 1u64 << (at % 64);
        self.marks.get(at / 64).is_some_and(|m| m.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_path_have_one_key() {
        let keys = PathKeys::new(&crate::store::local::LocalStore);
        let same = ["/a/b/c", "file:/a/b/c", "file:///a/b/c", "file://localhost/a/b/c", "/a//b/./c", "file:/a/b//c"];
        for path in same {
            assert_eq!(keys.of(path), keys.of("/a/b/c"), "{path}");
        }
        for other in ["/a/b", "/a/bc", "/a/b/c/d", "s3://a/b/c", "/ab/c"] {
            assert_ne!(keys.of(other), keys.of("/a/b/c"), "{other}");
        }
        assert_eq!(keys.of("s3://a/b"), keys.of("s3a://a/b"));
        assert_ne!(keys.of("s3://a/b"), keys.of("gs://a/b"));
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("there");
        std::fs::create_dir(&there).unwrap();
        std::os::unix::fs::symlink(&there, dir.path().join("link")).unwrap();
        let path = |name: &str| format!("{}/{name}/x.parquet", dir.path().display());
        assert_eq!(keys.of(&path("link")), keys.of(&path("there")));
    }

    #[test]
    fn a_key_is_marked_once() {
        let marked = Marked::new((0..1000).map(|k| k * 3).chain([3, 6]).collect());
        assert!(marked.mark(3) && !marked.mark(3) && !marked.mark(4) && marked.mark(2997));
    }
}
