//! Files of a change before its commit takes them over.

use crate::format::task::NewBucketFile;
use crate::store::Store;

/// Files that were written for a commit that has not taken them over; they are deleted unless it does.
pub(crate) struct Unpublished<'a> {
    store: &'a dyn Store,
    pub(crate) data: Vec<NewBucketFile>,
    pub(crate) index: Vec<String>,
}

impl<'a> Unpublished<'a> {
    /// No file yet.
    pub(crate) fn new(store: &'a dyn Store) -> Unpublished<'a> {
        Unpublished { store, data: Vec::new(), index: Vec::new() }
    }

    /// Hands over the data files and the index files.
    pub(crate) fn taken(&mut self) -> (Vec<NewBucketFile>, Vec<String>) {
        (std::mem::take(&mut self.data), std::mem::take(&mut self.index))
    }
}

impl Drop for Unpublished<'_> {
    fn drop(&mut self) {
        self.store.discard(self.data.iter().map(|f| &f.file.path).chain(&self.index).cloned().collect());
    }
}
