//! New files that are complete but not durable yet, and their common sync.
//!
//! Each sync of a file waits for the disk. Syncs of many files at the same time share that wait, because a file system
//! writes its journal once for all of them. So writers of data files leave the syncs to [`Unsynced`], whose owner calls
//! [`Unsynced::sync`] before anything names the files: a commit, or a message to another process.
//!
//! This is as strong as a sync of each file before the next one is written:
//!
//! - A file's descriptor stays open from its creation to its sync. Linux reports each failed write of a file once to
//!   every descriptor that was open at that time (`errseq_t`). A file that is opened again may miss the error, because
//!   the kernel forgets it with the inode.
//! - `syncfs` is not used. It writes everything that other processes have in memory, and older kernels (before 5.8)
//!   don't report its errors.
//! - Names are durable when their folders were synced. All folders from the file up to [`Unsynced::new`]'s base are
//!   synced, also those that other writers have made. Their makers may not have synced them yet. The base is made, and
//!   its name synced, before the first file. If another process has just made it, only that process syncs its name.
//! - After an error, or a cancellation between two syncs, every later sync fails. The verb removes its files then.
//!
//! A file gets its name before its bytes are durable. After a crash the name may belong to an incomplete file. Such a
//! file is an orphan: no commit and no message names it.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::steps::{self, io_error};
use crate::error::{Error, Result};
use crate::parallel::{check_cancelled, in_parallel_on, locked, locked_unless_cancelled};
use crate::store::location::local_path;

/// The most files that wait for their sync. Each has an open descriptor.
const MOST_WAITING: usize = 64;

/// The most bytes that wait for their sync, but for one file. So the disk writes large files while others are made.
const MOST_WAITING_BYTES: u64 = 256 << 20;

/// The number of syncs at the same time.
const SYNCS_AT_ONCE: usize = 16;

/// The number of syncs for which a thread is worth it. Small appends need no thread, and make their calls in order.
const SYNCS_PER_THREAD: usize = 4;

/// New files that wait for their sync. Threads share it.
#[derive(Debug)]
pub struct Unsynced {
    base: String,
    waiting: Mutex<Waiting>,
    /// Locked while files or folders are synced, so that the number of open descriptors stays bounded.
    syncing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Waiting {
    files: Vec<WaitingFile>,
    bytes: u64,
    folders: BTreeSet<PathBuf>,
    /// Whether a sync has begun and not ended. It stays so after a panic.
    is_syncing: bool,
    /// The first error of a sync.
    failed: Option<String>,
}

#[derive(Debug)]
struct WaitingFile {
    path: String,
    target: PathBuf,
    file: File,
}

impl Unsynced {
    /// No files yet. New ones are in `base` or in folders below it.
    pub fn new(base: &str) -> Arc<Unsynced> {
        Arc::new(Unsynced { base: base.to_owned(), waiting: Mutex::default(), syncing: Mutex::default() })
    }

    /// Makes all files durable, with their names. Those of stores that are not local are durable already.
    ///
    /// # Errors
    /// `Store` if a file or a folder can't be synced, or if an earlier sync failed; a cancellation. The files must not
    /// be used then.
    pub fn sync(&self) -> Result<()> {
        self.sync_files()?;
        let _syncing = locked_unless_cancelled(&self.syncing)?;
        let folders: Vec<PathBuf> = self.taken(|waiting| std::mem::take(&mut waiting.folders))?.into_iter().collect();
        self.sync_each(&folders, |folder| {
            steps::sync_folder(folder).map_err(|e| io_error("sync the folder of", &folder.to_string_lossy(), e))
        })
    }

    /// Syncs the files that wait, and closes them.
    fn sync_files(&self) -> Result<()> {
        let _syncing = locked_unless_cancelled(&self.syncing)?;
        let files = self.taken(|waiting| {
            waiting.bytes = 0;
            std::mem::take(&mut waiting.files)
        })?;
        self.sync_each(&files, |file| {
            steps::sync_file(&file.file, &file.target).map_err(|e| io_error("sync", &file.path, e))
        })
    }

    /// Takes what is to be synced next.
    fn taken<T>(&self, take: impl FnOnce(&mut Waiting) -> T) -> Result<T> {
        let mut waiting = locked(&self.waiting);
        if let Some(cause) = &waiting.failed {
            // The cause may be an interrupt, which is told as such.
            check_cancelled()?;
            let error = Error::store("an earlier sync of new files failed, so none of them may be used");
            return Err(error.with("cause", cause));
        }
        if waiting.is_syncing {
            return Err(Error::internal("an earlier sync of new files did not end"));
        }
        waiting.is_syncing = true;
        Ok(take(&mut waiting))
    }

    /// Syncs what was taken.
    fn sync_each<T: Sync>(&self, items: &[T], sync: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
        let threads = items.len().div_ceil(SYNCS_PER_THREAD).min(SYNCS_AT_ONCE);
        let synced = in_parallel_on(threads, items.len(), |i| {
            check_cancelled()?;
            items.get(i).map_or(Ok(()), &sync)
        });
        let mut waiting = locked(&self.waiting);
        waiting.is_syncing = false;
        if let Err(e) = &synced {
            waiting.failed.get_or_insert(e.to_string());
        }
        synced.map(drop)
    }

    /// Adds a complete file of `bytes` bytes that has its name. Syncs files if too many wait.
    ///
    /// # Errors
    /// As [`Unsynced::sync`].
    pub(in crate::store) fn add(&self, path: &str, target: &Path, file: File, bytes: u64) -> Result<()> {
        let is_full = {
            let mut waiting = locked(&self.waiting);
            waiting.files.push(WaitingFile { path: path.to_owned(), target: target.to_path_buf(), file });
            waiting.bytes = waiting.bytes.saturating_add(bytes);
            waiting.files.len() >= MOST_WAITING || waiting.bytes >= MOST_WAITING_BYTES
        };
        if is_full { self.sync_files() } else { Ok(()) }
    }

    /// Makes the folder of a new file, without waiting for its name to be durable.
    pub(in crate::store) fn make_folder(&self, path: &str, folder: &Path) -> Result<()> {
        let failed = |e| io_error("make the folder of", path, e);
        let base = local_path(&self.base)?;
        let below: Vec<PathBuf> =
            folder.ancestors().take_while(|above| above.starts_with(&base)).map(Path::to_path_buf).collect();
        if below.is_empty() {
            // Others may be making the folders above, and it is unknown up to where.
            steps::make_folders(folder).map_err(failed)?;
            locked(&self.waiting).folders.insert(folder.to_path_buf());
            return Ok(());
        }
        steps::make_folders(&base).map_err(failed)?;
        steps::make_folders_unsynced(folder).map_err(failed)?;
        locked(&self.waiting).folders.extend(below);
        Ok(())
    }
}

#[cfg(test)]
#[path = "unsynced_tests.rs"]
mod tests;
