//! The files of one writer: their names, their sync, and their deletion if the writer is dropped.

use std::sync::Arc;

use super::context::WriteContext;
use super::locations::FileLocations;
use crate::error::{ErrorKind, Result};
use crate::format::task::{FileFormat, Partition};
use crate::parallel::Cancellation;
use crate::store::{Store, Unsynced};

/// Names and remembers files. It deletes them if it is dropped before [`Output::release`].
#[derive(Debug)]
pub(crate) struct Output {
    store: Arc<dyn Store>,
    locations: FileLocations,
    write_id: String,
    task_id: u64,
    /// The suffix after the number in names of delete files.
    suffix: &'static str,
    begun: u64,
    files: Vec<String>,
    unsynced: Arc<Unsynced>,
    /// Whether another owner syncs the files.
    is_synced_later: bool,
}

impl Output {
    pub(crate) fn new(store: Arc<dyn Store>, context: &WriteContext, deletes: bool) -> Output {
        Output {
            store,
            locations: context.locations.clone(),
            write_id: context.write_id.clone(),
            task_id: context.task_id,
            suffix: if deletes { "-deletes" } else { "" },
            begun: 0,
            files: Vec::new(),
            unsynced: Unsynced::new(context.locations.folder()),
            is_synced_later: false,
        }
    }

    /// Leaves the sync of the files to the owner of `unsynced`, who syncs those of several writers together.
    pub(crate) fn leave_syncs_to(&mut self, unsynced: &Arc<Unsynced>) {
        self.unsynced = unsynced.clone();
        self.is_synced_later = true;
    }

    /// What syncs the files.
    pub(crate) fn unsynced(&self) -> &Arc<Unsynced> {
        &self.unsynced
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// The number of the next file.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// The number and path of the next file. `partition` is `None` for a file that belongs to no single partition.
    pub(crate) fn next(&mut self, partition: Option<&Partition>, format: FileFormat) -> (u64, String) {
        let count = self.next_number();
        let (task, id, suffix) = (self.task_id, &self.write_id, self.suffix);
        let name = format!("{task:05}-0-{id}-{count:05}{suffix}.{}", format.as_str());
        (count, self.locations.path(partition, &name))
    }

    /// Remembers a file after its last step, with or without success. A file of unknown state is deleted later, but a
    /// file that existed before is not.
    pub(crate) fn record<T>(&mut self, path: &str, ended: &Result<T>) {
        if !ended.as_ref().is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
            self.files.push(path.to_owned());
        }
    }

    /// Makes the files durable, unless another owner does.
    ///
    /// # Errors
    /// As [`Unsynced::sync`].
    pub(crate) fn sync(&self) -> Result<()> {
        if self.is_synced_later { Ok(()) } else { self.unsynced.sync() }
    }

    /// From now on the caller owns the files.
    pub(crate) fn release(&mut self) {
        self.files.clear();
    }

    /// [`Output::sync`], then [`Output::release`].
    ///
    /// # Errors
    /// As [`Unsynced::sync`].
    pub(crate) fn complete(&mut self) -> Result<()> {
        self.sync()?;
        self.release();
        Ok(())
    }

    /// Deletes all that is not released, also in a cancelled call.
    ///
    /// # Errors
    /// The error of the first file that could not be deleted. The others are still tried.
    pub(crate) fn delete_all(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.files);
        let deleted: Vec<Result<()>> =
            Cancellation::none().scope(|| files.iter().map(|path| self.store.delete(path)).collect());
        deleted.into_iter().collect()
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.files.len()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        self.store.discard(std::mem::take(&mut self.files));
    }
}
