//! Finding orphans in parts. Some processes list folders, others read manifests, and the planner compares.
//!
//! The order is that of [`IcebergTable::remove_orphan_files`]: the folder is listed before the metadata is read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use super::checks::check_may_delete;
use super::listing::Listing;
use super::orphans::{Spelling, metadata_paths};
use crate::error::{Result, ResultExt};
use crate::format::deletion::{Deletion, OwnFolders};
use crate::format::maintenance::OrphanOptions;
use crate::format::maintenance_parts::{Listed, PartedListing, PartedMetadata, Reachable};
use crate::iceberg::commit::reachable::{ManifestPath, Missing, PathKeys, each_live_file, manifests_of};
use crate::iceberg::manifest::whole::ListedSize;
use crate::iceberg::state::IcebergTable;
use crate::parallel::{Phase, begin_phase, check_cancelled};
use crate::store::{Store, in_parallel};
use crate::types::temporal::now_ms;

/// About the number of folders that become parts. The planner lists the folders above them.
const FOLDERS: usize = 256;

impl IcebergTable {
    /// Lists the folders at the top. Returns the folders below them, which are the parts.
    ///
    /// # Errors
    /// As [`IcebergTable::remove_orphan_files`].
    pub fn orphans_to_list(&self, options: &OrphanOptions) -> Result<PartedListing> {
        let listing = self.orphan_listing(options)?;
        if !options.dry_run {
            check_may_delete(self)?;
        }
        let (folders, listed) = listed(&listing, vec![listing.root.clone()], FOLDERS)?;
        // A later listing must not find newer files. Times of files are rounded down.
        let older_than_ms = listing.older_than_ms.min(now_ms().saturating_add(1));
        Ok(PartedListing { folders, listed, older_than_ms })
    }

    /// Lists folders and everything below them.
    ///
    /// # Errors
    /// As [`IcebergTable::remove_orphan_files`].
    pub fn list_part(&self, options: &OrphanOptions, folders: Vec<String>) -> Result<Vec<Listed>> {
        let listing = self.orphan_listing(options)?;
        Ok(listed(&listing, folders, usize::MAX)?.1)
    }

    /// The paths that the newest version leads to, and the manifests still to be read. Returns that version too.
    ///
    /// # Errors
    /// As [`IcebergTable::remove_orphan_files`].
    pub fn reachable_to_read(&self, options: &OrphanOptions) -> Result<(IcebergTable, PartedMetadata)> {
        let newest = self.refresh()?;
        newest.writable_location()?;
        if !options.dry_run {
            check_may_delete(&newest)?;
        }
        let store = newest.inner.store.as_ref();
        let spelling = Spelling::new(options, &newest.orphan_listing(options)?.root);
        let keys = PathKeys::new(store);
        let all = manifests_of(&keys, &newest.inner.metadata.snapshots, &HashSet::new(), Missing::Fails)?;
        let mut spelt = Spelt::new(store);
        let mut paths = metadata_paths(&newest);
        paths.extend(all.iter().map(|m| m.path.clone()));
        let reachable = paths.iter().map(|path| spelt.reachable(&spelling, path)).collect();
        let live: Vec<ManifestPath> = all.into_iter().filter(|m| m.may_be_live).collect();
        check_whole(store, &live)?;
        let manifests = live.into_iter().map(|m| m.path).collect();
        Ok((newest, PartedMetadata { manifests, reachable }))
    }

    /// The live files of manifests, each once.
    ///
    /// # Errors
    /// As [`IcebergTable::remove_orphan_files`].
    pub fn reachable_part(&self, options: &OrphanOptions, manifests: &[String]) -> Result<Vec<Reachable>> {
        let store = self.inner.store.as_ref();
        let spelling = Spelling::new(options, &self.orphan_listing(options)?.root);
        let mut spelt = Spelt::new(store);
        let mut found = HashSet::new();
        let _phase = begin_phase(Phase::ReadingMetadata, manifests.len());
        for path in manifests {
            check_cancelled()?;
            each_live_file(store, path, ListedSize::default(), |path, _| {
                found.insert(spelt.reachable(&spelling, path));
            })
            .with("manifest", path)?;
        }
        Ok(found.into_iter().collect())
    }

    /// Deletes orphans, unless some of them may be recorded with another of these schemes and authorities.
    ///
    /// # Errors
    /// As [`IcebergTable::remove_orphan_files`].
    pub fn delete_orphans(
        &self,
        options: &OrphanOptions,
        conflicts: &BTreeSet<String>,
        files: &[String],
    ) -> Result<Deletion> {
        let listing = self.orphan_listing(options)?;
        Spelling::new(options, &listing.root).check(options.prefix_mismatch, conflicts)?;
        let mut deletion = Deletion::default();
        if !options.dry_run {
            check_may_delete(self)?;
            deletion.run(&OwnFolders::new(listing.store, [listing.root.as_str()]), files.iter().map(String::as_str))?;
        }
        Ok(deletion)
    }
}

/// Checks that no manifest was cut off. The parts that read them do not know the sizes that the manifest lists record.
fn check_whole(store: &dyn Store, manifests: &[ManifestPath]) -> Result<()> {
    in_parallel(store, manifests.len(), |i| {
        check_cancelled()?;
        let m = &manifests[i];
        match m.size.may_be_whole(store.size(&m.path)?) {
            true => Ok(()),
            false => each_live_file(store, &m.path, m.size, |_, _| ()),
        }
    })
    .map(|_| ())
}

/// The files in folders. Where there are more than `most`, the folders below them.
fn listed(listing: &Listing<'_>, folders: Vec<String>, most: usize) -> Result<(Vec<String>, Vec<Listed>)> {
    let found = Mutex::new(Vec::new());
    let see = |path: &str| found.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    let below = listing.below(folders, most, &see)?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut spelt = Spelt::new(listing.store);
    Ok((below, found.into_iter().map(|path| (spelt.of(&path), path)).collect()))
}

/// One text for all spellings of a path, as [`PathKeys`] has one number.
struct Spelt<'s> {
    store: &'s dyn Store,
    folders: HashMap<String, String>,
}

/// The largest number of folders whose real names are remembered.
const REMEMBERED: usize = 10_000;

impl<'s> Spelt<'s> {
    fn new(store: &'s dyn Store) -> Spelt<'s> {
        Spelt { store, folders: HashMap::new() }
    }

    fn of(&mut self, path: &str) -> String {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some(known) = self.folders.get(folder) {
            return format!("{known}/{name}");
        }
        let real = self.store.real_folder(folder);
        let parts: Vec<&str> = real.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        let key = parts.join("/");
        if self.folders.len() >= REMEMBERED {
            self.folders.clear();
        }
        let text = format!("{key}/{name}");
        self.folders.insert(folder.to_owned(), key);
        text
    }

    fn reachable(&mut self, spelling: &Spelling, recorded: &str) -> Reachable {
        let (path, other) = spelling.listed(recorded);
        (self.of(&path), other)
    }
}
