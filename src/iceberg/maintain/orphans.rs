//! Removing files that no version of the table leads to: remains of failed or killed writers.
//!
//! The folder is listed before the metadata is read. Files that are committed in between are found in the metadata, and
//! uncommitted files are young. Only hashes of the listed paths are kept. The folder is listed again to get the paths
//! of orphans.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

use super::checks::check_may_delete;
use super::listing::Listing;
use crate::error::{Error, Result};
use crate::format::deletion::{Deletion, OwnFolders};
use crate::format::maintenance::{OrphanOptions, Orphans, PrefixMismatch};
use crate::iceberg::commit::reachable::{Marked, Missing, PathKeys, each_live_file, manifests_of};
use crate::iceberg::spec::metadata::METADATA_FOLDER;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{Phase, begin_phase, check_cancelled};
use crate::store::in_parallel;
use crate::store::location::{join, normalise, scheme};
use crate::types::temporal::now_ms;

/// The default age: younger files stay, as their writers may still commit them. Three days in milliseconds.
const DEFAULT_AGE_MS: i64 = 3 * 24 * 60 * 60 * 1000;

impl IcebergTable {
    /// Deletes files below the table's folder that no snapshot, metadata file or statistics lead to. They must be older
    /// than three days or `older_than_ms`. Hidden files and folders (`_`, `.`) stay, except for folders of jobs and of
    /// partition fields with such names. Links are not followed. Folders of other tables inside this one are left
    /// alone.
    ///
    /// # Errors
    /// `InvalidInput` if the property `gc.enabled` is false, or for a folder that is not the table's. Also for files
    /// that are recorded with another scheme or authority. `CorruptTable` or errors of the store if any metadata can't
    /// be read; a cancellation. Nothing is deleted then.
    pub fn remove_orphan_files(&self, options: &OrphanOptions) -> Result<(IcebergTable, Orphans)> {
        let listing = self.orphan_listing(options)?;
        let opened = &self.inner;
        let keys = PathKeys::new(opened.store.as_ref());
        let listed = Mutex::new(Vec::new());
        listing.each(&|path| {
            let key = keys.of(path);
            listed.lock().unwrap_or_else(PoisonError::into_inner).push(key);
        })?;
        let listed = Marked::new(listed.into_inner().unwrap_or_else(PoisonError::into_inner));
        let newest = self.refresh()?;
        // A catalog may have taken the table over meanwhile.
        newest.writable_location()?;
        if !options.dry_run {
            check_may_delete(&newest)?;
        }
        let prefixes = Prefixes::new(options, &listing.root, &keys, &listed);
        mark_reachable(&newest, &keys, &prefixes)?;
        prefixes.check()?;
        let orphans = Mutex::new(Vec::new());
        listing.each(&|path| {
            if listed.mark(keys.of(path)) {
                orphans.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
            }
        })?;
        let mut files = orphans.into_inner().unwrap_or_else(PoisonError::into_inner);
        files.sort_unstable();
        let mut deletion = Deletion::default();
        if !options.dry_run {
            let store = newest.inner.store.as_ref();
            deletion.run(&OwnFolders::new(store, [listing.root.as_str()]), files.iter().map(String::as_str))?;
        }
        Ok((newest, Orphans { files, deletion }))
    }

    /// The listing to find orphans.
    ///
    /// # Errors
    /// `InvalidInput` for a folder that is not the table's; errors of [`IcebergTable::writable_location`].
    pub(crate) fn orphan_listing(&self, options: &OrphanOptions) -> Result<Listing<'_>> {
        self.writable_location()?;
        let root = options.location.clone().unwrap_or_else(|| self.location().to_owned());
        check_location(self, &root, options)?;
        Ok(Listing {
            store: self.inner.store.as_ref(),
            root,
            older_than_ms: options.older_than_ms.unwrap_or_else(|| now_ms().saturating_sub(DEFAULT_AGE_MS)),
            shown: listing_shown(self),
        })
    }
}

/// Properties that name the table's own folders outside its location.
const OWN_FOLDERS: [&str; 4] =
    ["write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"];

/// In a folder that is not the table's, all files would look like orphans.
fn check_location(table: &IcebergTable, location: &str, options: &OrphanOptions) -> Result<()> {
    let store = &table.inner.store;
    let parts = |path: &str| -> Vec<String> {
        store.real_folder(path).split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect()
    };
    let properties = &table.inner.metadata.properties;
    let named = OWN_FOLDERS.iter().filter_map(|name| properties.get(*name)).map(String::as_str);
    let at = parts(location);
    let mut own = std::iter::once(table.location()).chain(named).chain(options.outside.iter());
    match own.any(|own| at.starts_with(&parts(own))) {
        true => Ok(()),
        false => Err(Error::invalid("this folder is not the table's, so files of others would be taken for orphans")
            .with("location", location)
            .with("table", table.location())
            .hint("Give the table's folder, one in it, or one that the property write.data.path or outside_locations= names")),
    }
}

/// Names of folders that are listed although they look hidden: those of partition fields.
pub(crate) fn listing_shown(table: &IcebergTable) -> BTreeSet<String> {
    let fields = table.inner.metadata.partition_specs.iter().flat_map(|spec| &spec.fields);
    fields.filter(|f| f.name.starts_with(['_', '.'])).map(|f| format!("{}=", f.name)).collect()
}

fn mark_reachable(table: &IcebergTable, keys: &PathKeys<'_>, prefixes: &Prefixes<'_>) -> Result<()> {
    let store = table.inner.store.as_ref();
    metadata_paths(table).iter().for_each(|path| prefixes.mark(path));
    let manifests = manifests_of(keys, &table.inner.metadata.snapshots, &HashSet::new(), Missing::Fails)?;
    let _phase = begin_phase(Phase::ReadingMetadata, manifests.iter().filter(|m| m.may_be_live).count());
    in_parallel(store, manifests.len(), |i| {
        check_cancelled()?;
        prefixes.mark(&manifests[i].path);
        if !manifests[i].may_be_live {
            return Ok(());
        }
        each_live_file(store, &manifests[i].path, manifests[i].size, |path, _| prefixes.mark(path))
    })?;
    Ok(())
}

/// The paths in a table's metadata, except manifests and the files that manifests name.
pub(crate) fn metadata_paths(table: &IcebergTable) -> Vec<String> {
    let metadata = &table.inner.metadata;
    let hint = join(&join(&metadata.location, METADATA_FOLDER), "version-hint.text");
    let mut paths = vec![table.metadata_location().to_owned(), hint];
    paths.extend(metadata.metadata_log.iter().map(|entry| entry.metadata_file.clone()));
    paths.extend(metadata.statistics.iter().chain(&metadata.partition_statistics).map(|s| s.path.clone()));
    paths.extend(metadata.snapshots.iter().filter_map(|s| s.manifest_list.clone()));
    paths
}

/// Matches recorded paths with listed ones: the same path, perhaps with another scheme and authority.
#[derive(Debug)]
pub(crate) struct Spelling {
    schemes: BTreeMap<String, String>,
    authorities: BTreeMap<String, String>,
    /// Scheme and authority of the listed files.
    pub listed_at: (String, String),
}

impl Spelling {
    /// Creates the matcher for files listed below `root`.
    pub(crate) fn new(options: &OrphanOptions, root: &str) -> Spelling {
        let mut schemes = flat(&BTreeMap::from([("s3n,s3a".to_owned(), "s3".to_owned())]));
        schemes.extend(flat(&options.equal_schemes));
        let (scheme, authority, _) = parts_of(root);
        Spelling { schemes, authorities: flat(&options.equal_authorities), listed_at: (scheme, authority) }
    }

    /// The path as it was listed, and the scheme and authority that it is recorded with if they differ.
    pub(crate) fn listed(&self, recorded: &str) -> (String, Option<String>) {
        let (scheme, authority, path) = parts_of(recorded);
        let scheme = self.schemes.get(&scheme).unwrap_or(&scheme);
        let authority = self.authorities.get(&authority).unwrap_or(&authority);
        let (listed_scheme, listed_authority) = &self.listed_at;
        let path = match listed_scheme.as_str() {
            FILE => path,
            listed => format!("{listed}://{listed_authority}{path}"),
        };
        let same = scheme.eq_ignore_ascii_case(listed_scheme) && authority == listed_authority;
        (path, (!same).then(|| format!("{scheme}://{authority}")))
    }

    /// Refuses files that were recorded with another scheme or authority than they were listed with.
    ///
    /// # Errors
    /// `InvalidInput`, naming the recorded schemes and authorities.
    pub(crate) fn check(&self, mode: PrefixMismatch, conflicts: &BTreeSet<String>) -> Result<()> {
        if mode != PrefixMismatch::Error || conflicts.is_empty() {
            return Ok(());
        }
        let prefixes = conflicts.iter().cloned().collect::<Vec<_>>().join(", ");
        Err(Error::invalid("files are recorded under a different scheme or authority than they were listed with")
            .with("recorded", prefixes)
            .with("listed", format!("{}://{}", self.listed_at.0, self.listed_at.1))
            .hint(
                "Say by equal_schemes and equal_authorities which mean the same; prefix_mismatch=\"ignore\" keeps such \
                 files, and \"delete\" removes them",
            ))
    }
}

/// Compares recorded paths with listed ones: by path, then by scheme and authority.
struct Prefixes<'a> {
    mode: PrefixMismatch,
    spelling: Spelling,
    keys: &'a PathKeys<'a>,
    listed: &'a Marked,
    conflicts: Mutex<BTreeSet<String>>,
}

impl<'a> Prefixes<'a> {
    fn new(options: &OrphanOptions, root: &str, keys: &'a PathKeys<'a>, listed: &'a Marked) -> Prefixes<'a> {
        let spelling = Spelling::new(options, root);
        Prefixes { mode: options.prefix_mismatch, spelling, keys, listed, conflicts: Mutex::default() }
    }

    /// Marks the listed file of a recorded path, if there is one.
    fn mark(&self, recorded: &str) {
        let (path, other) = self.spelling.listed(recorded);
        let key = self.keys.of(&path);
        if let Some(prefix) = other {
            if self.mode == PrefixMismatch::Delete || !self.listed.has(key) {
                return;
            }
            self.conflicts.lock().unwrap_or_else(PoisonError::into_inner).insert(prefix);
        }
        self.listed.mark(key);
    }

    fn check(&self) -> Result<()> {
        self.spelling.check(self.mode, &self.conflicts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The scheme of local files.
const FILE: &str = "file";

/// Scheme, authority and path of a location, in one spelling for each kind of store.
fn parts_of(location: &str) -> (String, String, String) {
    let normal = normalise(location);
    let Some(scheme) = scheme(&normal).filter(|s| !s.eq_ignore_ascii_case(FILE)) else {
        return (FILE.to_owned(), String::new(), normal);
    };
    let rest = normal.get(scheme.len() + 1..).unwrap_or_default();
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    (scheme.to_owned(), authority.to_owned(), path.to_owned())
}

/// One entry for each name that a key lists.
fn flat(map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let each = map.iter().flat_map(|(keys, to)| keys.split(',').map(move |key| (key, to)));
    each.map(|(key, to)| (key.trim().to_owned(), to.trim().to_owned())).collect()
}
