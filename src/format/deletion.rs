//! Deleting unused files of a table, and only below its own folders.
//!
//! Paths of files come from metadata and messages, which anybody may have written. A path outside the table's folders
//! is never deleted. Neither is a path that leaves these folders by `..` or by a symbolic link.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::store::location::{is_absolute, join, normalised, scheme};
use crate::store::{Store, in_parallel};

/// Folders outside a table's own in which a caller allows deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideLocations(Vec<String>);

impl OutsideLocations {
    /// Takes whole folders: a path matches by its segments.
    ///
    /// # Errors
    /// `InvalidInput` for a folder that is not absolute, contains `..` or is the root of all files.
    pub fn new(folders: Vec<String>) -> Result<OutsideLocations> {
        for folder in &folders {
            let normal = normalised(folder);
            let is_whole = is_absolute(&normal) || scheme(&normal).is_some();
            let path = scheme(&normal).map_or(&*normal, |scheme| &normal[scheme.len() + 1..]);
            if !is_whole || path.trim_matches('/').is_empty() || path.split('/').any(|part| part == "..") {
                return Err(Error::invalid("outside_locations= takes absolute folders below the root of the store")
                    .with("found", format!("'{folder}'"))
                    .hint("Name the folder whose files may be deleted"));
            }
        }
        Ok(OutsideLocations(folders))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// The folders of a table: those that it is configured to write to.
#[derive(Debug)]
pub(crate) struct OwnFolders<'s> {
    store: &'s dyn Store,
    /// Without slashes at the end: as recorded, and without links.
    folders: Vec<(String, String)>,
    /// The real folders of files seen, by the recorded ones.
    real: Mutex<HashMap<String, String>>,
}

impl<'s> OwnFolders<'s> {
    /// The table's location and its other folders.
    pub(crate) fn new<'f>(store: &'s dyn Store, folders: impl IntoIterator<Item = &'f str>) -> OwnFolders<'s> {
        OwnFolders { store, folders: Vec::new(), real: Mutex::default() }.and(folders)
    }

    /// Adds folders.
    pub(crate) fn and<'f>(mut self, folders: impl IntoIterator<Item = &'f str>) -> OwnFolders<'s> {
        let store = self.store;
        let spellings = |folder: &str| {
            let folder = normalised(folder).into_owned();
            let real = store.real_folder(&folder);
            (folder, real)
        };
        self.folders.extend(folders.into_iter().filter(|folder| !folder.is_empty()).map(spellings));
        self
    }

    /// Whether a file is below one of the folders.
    pub(crate) fn contain(&self, path: &str) -> bool {
        let path = normalised(path);
        if path.split('/').any(|part| part == "..") {
            return false;
        }
        let Some((parent, _)) = path.rsplit_once('/') else { return false };
        let below = |folder: &str, root: &str| {
            folder.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut own = self.folders.iter().filter(|(recorded, real)| below(parent, recorded) || below(parent, real));
        own.next().is_some() && {
            // Without links on the way, the real folder is the same. This also holds if the folder does not exist.
            let real = self.real_folder(parent);
            real == parent || self.folders.iter().any(|(_, folder)| below(&real, folder))
        }
    }

    fn real_folder(&self, folder: &str) -> String {
        let mut known = self.real.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(folder.to_owned()).or_insert_with(|| self.store.real_folder(folder)).clone()
    }

    /// Checks that a file is below one of the folders.
    ///
    /// # Errors
    /// `InvalidInput` if it is not.
    pub(crate) fn check(&self, path: &str) -> Result<()> {
        match self.contain(path) {
            true => Ok(()),
            false => Err(Error::invalid("a file to delete is not below the table's folders, so nothing was deleted")
                .with("path", path)
                .hint("Delete it yourself if nothing else uses it")),
        }
    }
}

/// What is below a folder.
#[derive(Debug, Default)]
pub(crate) struct FolderTree {
    /// All files.
    pub files: Vec<String>,
    /// All folders, inner ones first, and the folder itself.
    pub folders: Vec<String>,
}

impl FolderTree {
    /// Lists everything below a folder. `check` sees each folder before it is listed, with its depth from 0.
    ///
    /// # Errors
    /// Those of `check` and of the store; a cancellation.
    pub(crate) fn below(
        store: &dyn Store,
        folder: &str,
        check: &(dyn Fn(&str, usize) -> Result<()> + Sync),
    ) -> Result<FolderTree> {
        let (mut tree, mut level) = (FolderTree::default(), vec![folder.to_owned()]);
        for depth in 0.. {
            if level.is_empty() {
                break;
            }
            let listed = in_parallel(store, level.len(), |i| {
                check_cancelled()?;
                check(&level[i], depth)?;
                let (files, names) = store.list_all(&level[i])?;
                Ok((files, names.iter().map(|name| join(&level[i], name)).collect::<Vec<_>>()))
            })?;
            tree.folders.append(&mut level);
            for (files, below) in listed {
                tree.files.extend(files.into_iter().map(|file| file.path));
                level.extend(below);
            }
        }
        tree.folders.reverse();
        Ok(tree)
    }
}

/// A file that could not be deleted. It does no harm, and orphan removal finds it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotDeleted {
    /// The file.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// The reason why a file outside the table's folders stays.
const OUTSIDE: &str =
    "it is not below the table's folders; name its folder in outside_locations= if nothing else uses it";

impl NotDeleted {
    /// A file that is not below the table's folders.
    pub(crate) fn outside(path: &str) -> NotDeleted {
        NotDeleted { path: path.to_owned(), reason: OUTSIDE.to_owned() }
    }
}

/// The number of files between two reports of progress.
const SHOWN_AT_ONCE: usize = 10_000;

/// The result of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Whether files were deleted. In a dry run they were only listed.
    pub done: bool,
    /// Files that could not be deleted.
    pub failed: Vec<NotDeleted>,
}

impl Deletion {
    /// Deletes these files, if they are below the table's folders. If one can't be deleted, it still deletes the
    /// others.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn run<'p>(&mut self, own: &OwnFolders<'_>, paths: impl IntoIterator<Item = &'p str>) -> Result<()> {
        let store = own.store;
        self.done = true;
        let paths: Vec<&str> = paths.into_iter().collect();
        let _phase = begin_phase(Phase::Deleting, paths.len());
        let (paths, outside): (Vec<&str>, Vec<&str>) = paths.into_iter().partition(|path| own.contain(path));
        self.failed.extend(outside.iter().map(|path| NotDeleted::outside(path)));
        count_done(Unit::Files, outside.len() as u64);
        for some in paths.chunks(SHOWN_AT_ONCE) {
            let errors = store.delete_files(some)?.into_iter().zip(some);
            let failed =
                errors.filter_map(|(e, path)| Some(NotDeleted { path: (*path).to_owned(), reason: e?.to_string() }));
            self.failed.extend(failed);
            count_done(Unit::Files, some.len() as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::local::LocalStore;

    #[test]
    fn only_files_below_the_folders_are_own() {
        let own = OwnFolders::new(&LocalStore, ["/no/such/t", "file:///no/such/other/", ""]);
        for inside in ["/no/such/t/data/x", "file:/no/such/t/x", "/no/such/other/a/b", "file:///no/such/other/x"] {
            assert!(own.contain(inside) && own.check(inside).is_ok(), "{inside}");
        }
        for outside in ["/no/such/t2/x", "/no/such/t", "/no/such/t/../x", "/no/such/x", "x", "", "s3://no/such/t/x"] {
            assert!(!own.contain(outside) && own.check(outside).is_err(), "{outside}");
        }
    }

    #[test]
    fn folders_outside_are_whole_folders() {
        for folder in ["/", "", "//", "file:///", "s3://", "data/x", "../x", "/a/../b", "s3://bucket/../x"] {
            let error = OutsideLocations::new(vec![folder.to_owned()]).unwrap_err();
            assert!(error.to_string().contains("outside_locations"), "{folder}");
        }
        let outside =
            OutsideLocations::new(["/no/such/a/", "s3://bucket/b", "s3://other"].map(str::to_owned).to_vec()).unwrap();
        let own = OwnFolders::new(&LocalStore, ["/no/such/t"]).and(outside.iter());
        for inside in ["/no/such/a/x", "/no/such/t/x", "s3://bucket/b/c/x", "s3://other/x"] {
            assert!(own.contain(inside), "{inside}");
        }
        for outside in ["/no/such/ab/x", "/no/such/x", "s3://bucket/bc/x", "s3://bucket/x", "/no/such/a/../x"] {
            assert!(!own.contain(outside), "{outside}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        for name in ["t/data", "other"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::os::unix::fs::symlink(at("other"), at("t/data/link")).unwrap();
        std::os::unix::fs::symlink(at("t"), at("alias")).unwrap();
        for name in ["t/data/x", "other/x"] {
            std::fs::write(at(name), "").unwrap();
        }
        let own = OwnFolders::new(&LocalStore, [at("t").as_str()]);
        let mut deletion = Deletion::default();
        let paths = [at("t/data/link/x"), at("other/x"), at("t/data/x")];
        deletion.run(&own, paths.iter().map(String::as_str)).unwrap();
        let failed: Vec<&str> = deletion.failed.iter().map(|failed| failed.path.as_str()).collect();
        assert_eq!(failed.len(), 2);
        assert!(std::fs::exists(at("other/x")).unwrap() && !std::fs::exists(at("t/data/x")).unwrap());
        // A table that is itself reached by a link has its files under both names.
        let alias = OwnFolders::new(&LocalStore, [at("alias").as_str()]);
        assert!(alias.contain(&at("alias/data/x")) && alias.contain(&at("t/data/x")));
    }
}
