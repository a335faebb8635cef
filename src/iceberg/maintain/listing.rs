//! Lists the files below a folder, without hidden ones.

use std::collections::BTreeSet;

use crate::data::write::locations::is_job_folder;
use crate::error::Result;
use crate::parallel::{Phase, Unit, begin_phase, check_cancelled, count_done};
use crate::store::location::join;
use crate::store::{Store, in_parallel};

/// The folder to list, and how.
pub(crate) struct Listing<'a> {
    pub store: &'a dyn Store,
    pub root: String,
    /// Files changed at or after this time are left out: milliseconds since the epoch.
    pub older_than_ms: i64,
    /// Prefixes of names that are not hidden although they begin with `_` or `.`.
    pub shown: BTreeSet<String>,
}

impl Listing<'_> {
    /// Passes each file to `see`, in any order. Hidden names, links and folders of other tables are left out.
    ///
    /// # Errors
    /// Errors of the store; a cancellation.
    pub(crate) fn each(&self, see: &(dyn Fn(&str) + Sync)) -> Result<()> {
        self.below(vec![self.root.clone()], usize::MAX, see).map(drop)
    }

    /// As [`Listing::each`], level by level from these folders, until enough folders are found. Returns those folders.
    ///
    /// # Errors
    /// As [`Listing::each`].
    pub(crate) fn below(
        &self,
        mut level: Vec<String>,
        enough: usize,
        see: &(dyn Fn(&str) + Sync),
    ) -> Result<Vec<String>> {
        let _phase = begin_phase(Phase::Listing, 0);
        while !level.is_empty() && level.len() < enough {
            let below = in_parallel(self.store, level.len(), |i| {
                check_cancelled()?;
                self.folder(&level[i], see)
            })?;
            level = below.into_iter().flatten().collect();
        }
        Ok(level)
    }

    /// Passes the files in a folder to `see`; returns the folders in it.
    fn folder(&self, folder: &str, see: &(dyn Fn(&str) + Sync)) -> Result<Vec<String>> {
        let (files, names) = self.store.list_all(folder)?;
        if folder != self.root && names.iter().any(|n| n == "metadata") && self.is_table(folder)? {
            return Ok(Vec::new());
        }
        // Engines that write into the folder of a job leave hidden files there when they are killed.
        let of_job = folder.split('/').any(is_job_folder);
        count_done(Unit::Files, files.len() as u64);
        for file in files {
            if file.modified_ms < self.older_than_ms
                && (of_job || !self.is_hidden(name_of(&file.path)))
                && !self.store.is_link(&file.path)?
            {
                see(&file.path);
            }
        }
        let mut below = Vec::new();
        for name in names.iter().filter(|n| of_job || !self.is_hidden(n)) {
            let path = join(folder, name);
            if !self.store.is_link(&path)? {
                below.push(path);
            }
        }
        Ok(below)
    }

    fn is_hidden(&self, name: &str) -> bool {
        name.starts_with(['_', '.']) && !self.shown.iter().any(|shown| name.starts_with(shown))
    }

    /// Whether another table lives in the folder: catalogs may nest them.
    fn is_table(&self, folder: &str) -> Result<bool> {
        let files = self.store.list(&join(folder, "metadata"))?;
        Ok(files.iter().any(|f| f.path.ends_with(".metadata.json") || f.path.ends_with(".metadata.json.gz")))
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
