//! Deleting unused files.

use std::sync::{Mutex, PoisonError};

use crate::error::Result;
use crate::parallel::check_cancelled;
use crate::store::{Store, in_parallel};

/// A file that could not be deleted. It does no harm, and orphan removal finds it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotDeleted {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// The result of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Whether files were deleted. In a dry run they were only listed.
    pub done: bool,
    /// Files that could not be deleted.
    pub failed: Vec<NotDeleted>,
}

impl Deletion {
    /// Deletes these files. If one can't be deleted, it still deletes the others.
    ///
    /// # Errors
    /// A cancellation.
    pub(crate) fn run<'p>(&mut self, store: &dyn Store, paths: impl IntoIterator<Item = &'p str>) -> Result<()> {
        self.done = true;
        let paths: Vec<&str> = paths.into_iter().collect();
        let failed = Mutex::new(std::mem::take(&mut self.failed));
        in_parallel(store, paths.len(), |i| {
            check_cancelled()?;
            if let Err(e) = store.delete(paths[i]) {
                let failure = NotDeleted { path: paths[i].to_owned(), reason: e.to_string() };
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
            }
            Ok(())
        })?;
        self.failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }
}
