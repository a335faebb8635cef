//! Rewriting rows of data files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::view::View;
use crate::data::write::writer::DataWriter;
use crate::error::Result;
use crate::format::task::{DataFile, FileContent};
use crate::parallel::{check_cancelled, in_parallel, threads};
use crate::store::{Store, Unsynced};

/// Written files that belong to no commit yet. Dropping this deletes them.
pub(crate) struct NewFiles {
    store: Arc<dyn Store>,
    files: Vec<DataFile>,
}

impl NewFiles {
    pub(crate) fn new(store: &Arc<dyn Store>) -> NewFiles {
        NewFiles { store: store.clone(), files: Vec::new() }
    }

    pub(crate) fn add(&mut self, files: impl IntoIterator<Item = DataFile>) {
        self.files.extend(files);
    }

    pub(crate) fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// Takes over the files of another.
    pub(crate) fn join(&mut self, other: NewFiles) {
        self.files.extend(other.take());
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size_bytes.max(0).unsigned_abs()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn has_data(&self) -> bool {
        self.files.iter().any(|f| f.content == FileContent::Data)
    }

    pub(crate) fn has_deletes(&self) -> bool {
        self.files.iter().any(|f| f.content != FileContent::Data)
    }

    /// The files. From now on the caller is responsible for them.
    pub(crate) fn take(mut self) -> Vec<DataFile> {
        std::mem::take(&mut self.files)
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        self.store.discard(self.files.iter().map(|file| file.path.clone()).collect());
    }
}

/// Distributes items to a few writers, one for each thread, and syncs their files together. Returns the written files,
/// and the results of `work` in the order of the items. After an error, all written files are deleted.
///
/// # Errors
/// Errors of `work` and of the writers; a cancellation.
pub(crate) fn write_each<I: Sync, T: Send>(
    view: &View,
    items: &[I],

    work: impl Fn(&I, &mut DataWriter) -> Result<T> + Sync,
) -> Result<(NewFiles, Vec<T>)> {
    let (next, written) = (AtomicUsize::new(0), Mutex::new(NewFiles::new(view.store())));
    let unsynced = Unsynced::new(view.table.write_context(0)?.locations.folder());
    let run = |thread: usize| {
        let mut done = Vec::new();
        let context = view.table.lineage_context(thread as u64)?;
        let mut writer = DataWriter::new(view.store().clone(), context)?.synced_by(&unsynced);
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            check_cancelled()?;
            match work(item, &mut writer) {
                Ok(out) => done.push((at, out)),
                Err(e) => {
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(e);
                }
            }
        }
        let files = writer.finish()?;
        written.lock().unwrap_or_else(PoisonError::into_inner).add(files);
        Ok(done)
    };
    let mut done: Vec<(usize, T)> = in_parallel(threads(items.len()), run)?.into_iter().flatten().collect();
    unsynced.sync()?;
    done.sort_by_key(|(at, _)| *at);
    let files = written.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((files, done.into_iter().map(|(_, out)| out).collect()))
}
