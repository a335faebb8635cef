//! A store whose small files are requested before they are opened.
//!
//! Most of the time of a small file in a remote store is the wait for one answer. So more of them are on their way than
//! there are threads that read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Fetching, FileInfo, Store, StoreWriter};
use crate::error::{Error, Result};

/// Files that are on their way at once, or have arrived and wait for their reader, at most.
const MOST_AHEAD: usize = 64;

/// The most bytes of them.
const MOST_BYTES_AHEAD: u64 = 16 << 20;

/// A remote store. [`Store::get_tail`] waits for the file if it was requested before.
#[derive(Debug)]
pub struct SmallFiles {
    store: Arc<dyn Store>,
    ahead: Mutex<SmallFilesAhead>,
}

/// What is on its way.
#[derive(Default)]
struct SmallFilesAhead {
    files: BTreeMap<String, Requested>,
    bytes: u64,
}

impl std::fmt::Debug for SmallFilesAhead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.files.keys()).finish()
    }
}

/// A file that is on its way.
struct Requested {
    tail: Box<dyn Fetching<(Vec<u8>, u64)>>,
    /// The length that was asked for.
    length: u64,
    /// The recorded size of the file.
    size: u64,
}

impl SmallFiles {
    /// Wraps a store. Nothing is requested yet.
    pub fn new(store: Arc<dyn Store>) -> SmallFiles {
        SmallFiles { store, ahead: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, SmallFilesAhead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another file may be requested.
    pub fn has_room(&self) -> bool {
        let ahead = self.lock();
        ahead.files.len() < MOST_AHEAD && ahead.bytes < MOST_BYTES_AHEAD
    }

    /// Requests the last `length` bytes of a file of `size` bytes, unless it is on its way or the store gains nothing
    /// from it.
    pub fn request(&self, path: &str, length: u64, size: u64) {
        if self.lock().files.contains_key(path) {
            return;
        }
        // A request may have to connect first, which must not hold up others.
        let Some(tail) = self.store.fetch_tail_ahead(path, length) else { return };
        let mut ahead = self.lock();
        ahead.bytes = ahead.bytes.saturating_add(size);
        if let Some(other) = ahead.files.insert(path.to_owned(), Requested { tail, length, size }) {
            ahead.bytes = ahead.bytes.saturating_sub(other.size);
        }
    }

    /// Gives up a file that was requested but not read.
    pub fn forget(&self, path: &str) {
        drop(self.take(path));
    }

    /// Gives up all files that were requested but not read.
    pub fn forget_all(&self) {
        let given_up = std::mem::take(&mut *self.lock());
        drop(given_up);
    }

    fn take(&self, path: &str) -> Option<Requested> {
        let mut ahead = self.lock();
        let taken = ahead.files.remove(path)?;
        ahead.bytes = ahead.bytes.saturating_sub(taken.size);
        Some(taken)
    }
}

impl Store for SmallFiles {
    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        match self.take(path).filter(|requested| requested.length == length) {
            Some(requested) => requested.tail.finish(),
            None => self.store.get_tail(path, length),
        }
    }

    fn get(&self, path: &str) -> Result<Vec<u8>> {
        self.store.get(path)
    }

    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        self.store.get_at_most(path, most)
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.store.get_range(path, offset, length)
    }

    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.store.get_ranges(path, ranges)
    }

    fn fetch_ahead(&self, path: &str, ranges: &[Range<u64>]) -> Option<Box<dyn Fetching>> {
        self.store.fetch_ahead(path, ranges)
    }

    fn fetch_whole_ahead(&self, path: &str) -> Option<Box<dyn Fetching>> {
        self.store.fetch_whole_ahead(path)
    }

    fn fetch_tail_ahead(&self, path: &str, length: u64) -> Option<Box<dyn Fetching<(Vec<u8>, u64)>>> {
        self.store.fetch_tail_ahead(path, length)
    }

    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    fn at_once(&self) -> usize {
        self.store.at_once()
    }

    fn options(&self) -> BTreeMap<String, String> {
        self.store.options()
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.store.size(path)
    }

    fn exists(&self, path: &str) -> Result<bool> {
        self.store.exists(path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.store.put_if_absent(path, bytes)
    }

    fn refused(&self, error: &Error) -> bool {
        self.store.refused(error)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.store.put(path, bytes)
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        self.store.create(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        self.store.list(folder)
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        self.store.list_names(folder)
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        self.store.list_folders(folder)
    }

    fn list_all(&self, folder: &str) -> Result<(Vec<FileInfo>, Vec<String>)> {
        self.store.list_all(folder)
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        self.store.make_folder(folder)
    }

    fn is_same_place(&self, a: &str, b: &str) -> Result<bool> {
        self.store.is_same_place(a, b)
    }

    fn real_folder(&self, folder: &str) -> String {
        self.store.real_folder(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.store.delete(path)
    }

    fn delete_files(&self, paths: &[&str]) -> Result<Vec<Option<Error>>> {
        self.store.delete_files(paths)
    }

    fn discard(&self, paths: Vec<String>) {
        self.store.discard(paths);
    }

    fn is_link(&self, path: &str) -> Result<bool> {
        self.store.is_link(path)
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        self.store.delete_folder(folder)
    }

    fn rename_folder(&self, folder: &str, to: &str) -> Result<()> {
        self.store.rename_folder(folder, to)
    }
}
