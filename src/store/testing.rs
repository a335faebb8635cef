//! A local store for tests, which can hook some of its calls.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::local::LocalStore;
use super::{FileInfo, Store, StoreWriter};
use crate::error::{Error, Result};

/// A call that changes what is stored, with its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    PutIfAbsent(&'a str),
    Put(&'a str),
    Delete(&'a str),
}

/// What a test does at calls of the store. Calls without a hook work on local files.
pub(crate) trait Hooks: Send + Sync + std::fmt::Debug {
    /// Before a whole file is read.
    fn before_get(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    /// Before a file is looked for.
    fn before_size(&self, _path: &str) -> Result<()> {
        Ok(())
    }

    /// In place of a change, which `work` makes.
    fn change(&self, _change: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        work()
    }

    /// In place of the start of a streamed file.
    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        LocalStore.create(path)
    }

    /// In place of a listing.
    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        LocalStore.list(folder)
    }

    /// Whether callers see a remote store.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether an error proves that nothing was written.
    fn refused(&self, error: &Error) -> bool {
        LocalStore.refused(error)
    }

    /// How many calls are made at once.
    fn at_once(&self) -> usize {
        LocalStore.at_once()
    }
}

/// Local files with hooks.
#[derive(Debug, Default)]
pub(crate) struct Hooked<H>(pub(crate) H);

impl<H> Deref for Hooked<H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.0
    }
}

impl<H: Hooks> Store for Hooked<H> {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.0.before_get(path)?;
        LocalStore.get(path)
    }

    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        self.0.before_get(path)?;
        LocalStore.get_at_most(path, most)
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        LocalStore.get_range(path, offset, length)
    }

    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        LocalStore.get_ranges(path, ranges)
    }

    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        LocalStore.get_tail(path, length)
    }

    fn at_once(&self) -> usize {
        self.0.at_once()
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.0.before_size(path)?;
        LocalStore.size(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.0.change(Change::PutIfAbsent(path), &|| LocalStore.put_if_absent(path, bytes))
    }

    fn refused(&self, error: &Error) -> bool {
        self.0.refused(error)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.0.change(Change::Put(path), &|| LocalStore.put(path, bytes))
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        self.0.create(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        self.0.list(folder)
    }

    fn is_remote(&self) -> bool {
        self.0.is_remote()
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        LocalStore.list_names(folder)
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        LocalStore.list_folders(folder)
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        LocalStore.make_folder(folder)
    }

    fn is_same_place(&self, a: &str, b: &str) -> Result<bool> {
        LocalStore.is_same_place(a, b)
    }

    fn real_folder(&self, folder: &str) -> String {
        LocalStore.real_folder(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.0.change(Change::Delete(path), &|| LocalStore.delete(path))
    }

    fn is_link(&self, path: &str) -> Result<bool> {
        LocalStore.is_link(path)
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        LocalStore.delete_folder(folder)
    }

    fn rename_folder(&self, folder: &str, to: &str) -> Result<()> {
        LocalStore.rename_folder(folder, to)
    }
}

/// Lets a number of changes through and no others, as if the process died or the store went away.
#[derive(Debug)]
pub(crate) struct Dying(AtomicI64);

impl Dying {
    /// A store that makes `changes` changes, one at a time.
    pub(crate) fn after(changes: i64) -> Arc<Hooked<Dying>> {
        Arc::new(Hooked(Dying(AtomicI64::new(changes))))
    }

    /// Allows `changes` more changes.
    pub(crate) fn die_after(&self, changes: i64) {
        self.0.store(changes, Ordering::SeqCst);
    }

    pub(crate) fn revive(&self) {
        self.die_after(i64::MAX);
    }
}

impl Hooks for Dying {
    fn change(&self, _: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        match self.0.fetch_sub(1, Ordering::SeqCst) {
            left if left > 0 => work(),
            _ => Err(Error::denied("it is dead")),
        }
    }

    fn at_once(&self) -> usize {
        1
    }
}
