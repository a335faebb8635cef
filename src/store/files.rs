//! The traits of a store of files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::Unsynced;
use super::limits::check_at_most;
use super::location;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::parallel::{self, Cancellation};

/// The number of simultaneous calls that is useful for a remote store.
const REMOTE_CALLS: usize = 16;

/// The most whole files that are on their way at once, or have arrived and wait for their reader. Each one may need a
/// connection.
const MOST_AHEAD: usize = 160;

/// The most bytes of them. One file may have more.
const MOST_BYTES_AHEAD: u64 = 32 << 20;

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The path that opens it.
    pub path: String,
    /// Its length.
    pub size_bytes: u64,
    /// Its last change, in milliseconds since the epoch.
    pub modified_ms: i64,
}

/// A store of files. Threads share implementations. Paths are used as tables record them.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Reads a whole file.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` or `Store`, with the path. `CorruptTable` if the file is larger than any file of
    /// metadata.
    fn get(&self, path: &str) -> Result<Vec<u8>>;

    /// Reads a whole file of a kind that is small.
    ///
    /// # Errors
    /// As [`Store::get`]; `CorruptTable` if the file has more bytes than `most`.
    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        let (bytes, size) = self.get_tail(path, most)?;
        check_at_most(path, size, most)?;
        Ok(bytes)
    }

    /// Reads bytes `offset..offset + length` of the file. Fails if the file ends earlier.
    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>>;

    /// Reads several ranges of one file, in the requested order. Stores may override it to save requests.
    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        ranges.iter().map(|r| self.get_range(path, r.start, r.end.saturating_sub(r.start) as usize)).collect()
    }

    /// Reads at most `length` bytes from the end, and the file's length. Uses one request if the store can do that.
    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        let size = self.size(path)?;
        let length = size.min(length);
        Ok((self.get_range(path, size - length, length as usize)?, size))
    }
    /// Starts to fetch ranges that will be needed soon. `None` if the store gains nothing from it.
    fn fetch_ahead(&self, _path: &str, _ranges: &[Range<u64>]) -> Option<Box<dyn Fetching>> {
        None
    }
    /// Starts to fetch a whole file that will be needed soon, as [`Store::get`] does. `None` if the store gains nothing
    /// from it.
    fn fetch_whole_ahead(&self, _path: &str) -> Option<Box<dyn Fetching>> {
        None
    }
    /// Starts to fetch the end of a file that will be needed soon, as [`Store::get_tail`] does. `None` if the store
    /// gains nothing from it.
    fn fetch_tail_ahead(&self, _path: &str, _length: u64) -> Option<Box<dyn Fetching<(Vec<u8>, u64)>>> {
        None
    }
    /// Whether the store is reached over a network, where calls mostly wait and each one has a cost.
    fn is_remote(&self) -> bool {
        false
    }
    /// The number of simultaneous calls, each on its own thread, that is useful.
    fn at_once(&self) -> usize {
        if self.is_remote() { REMOTE_CALLS } else { parallel::threads(usize::MAX) }
    }
    /// The options that [`open_store`](super::open_store) needs to open the same store, including secrets.
    fn options(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// The file's length.
    fn size(&self, path: &str) -> Result<u64>;

    /// Whether the file exists.
    fn exists(&self, path: &str) -> Result<bool> {
        Ok(self.size(path).if_found()?.is_some())
    }

    /// Writes a new file and creates folders as needed. Never replaces a file.
    ///
    /// # Errors
    /// `AlreadyExists` if the path is taken. If two callers race, exactly one succeeds. Readers never see an incomplete
    /// file.
    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Whether an error of [`Store::put_if_absent`] proves that the file was not created and never will be, because the
    /// store refused. After any other error, such as a timeout, the file may still appear.
    fn refused(&self, error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported)
    }

    /// Writes or replaces a file atomically. Use it only for hints.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// A writer that streams a new file to its final place and makes it durable on [`StoreWriter::finish`].
    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>>;

    /// As [`Store::create`], but [`StoreWriter::finish`] may leave the file to [`Unsynced::sync`], which makes it
    /// durable with many others. Only local stores do so.
    fn create_unsynced(&self, path: &str, _unsynced: &Arc<Unsynced>) -> Result<Box<dyn StoreWriter>> {
        self.create(path)
    }

    /// Lists the files directly in a folder, in no order. Empty if the folder does not exist.
    fn list(&self, folder: &str) -> Result<Vec<FileInfo>>;

    /// The names of the files directly in a folder, in no order. Local stores do not look at each file for this, so it
    /// may include files that disappear meanwhile.
    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        let name = |file: FileInfo| file.path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(self.list(folder)?.into_iter().map(name).collect())
    }

    /// Lists the folders directly in a folder, by name.
    fn list_folders(&self, folder: &str) -> Result<Vec<String>>;

    /// The results of [`Store::list`] and [`Store::list_folders`].
    fn list_all(&self, folder: &str) -> Result<(Vec<FileInfo>, Vec<String>)> {
        Ok((self.list(folder)?, self.list_folders(folder)?))
    }

    /// Creates a folder and its parents.
    fn make_folder(&self, folder: &str) -> Result<()>;

    /// Whether two paths lead to the same folder, also through links.
    fn is_same_place(&self, a: &str, b: &str) -> Result<bool> {
        Ok(location::normalise(a) == location::normalise(b))
    }

    /// The real path of a folder, without links, to compare places. The given path if the folder does not exist.
    fn real_folder(&self, folder: &str) -> String {
        folder.trim_end_matches('/').to_owned()
    }

    /// Removes a file. A missing file is not an error.
    fn delete(&self, path: &str) -> Result<()>;

    /// Removes files. Returns the error for each file that can't be removed. A missing file is not an error.
    ///
    /// # Errors
    /// A cancellation.
    fn delete_files(&self, paths: &[&str]) -> Result<Vec<Option<Error>>> {
        parallel::in_parallel_on(self.at_once(), paths.len(), |i| {
            let failed = paths.get(i).and_then(|path| self.delete(path).err());
            parallel::check_cancelled().map(|()| failed)
        })
    }

    /// Removes files that a failed call has written, also after its cancellation. A file that can't be removed stays as
    /// a harmless orphan, because the error of the call matters more.
    fn discard(&self, paths: Vec<String>) {
        Cancellation::none().scope(|| paths.iter().for_each(|path| drop(self.delete(path))));
    }

    /// Whether a path is a symbolic link, which recursive deletion must not follow. Only file systems have them.
    fn is_link(&self, _path: &str) -> Result<bool> {
        Ok(false)
    }

    /// Removes an empty folder.
    fn delete_folder(&self, folder: &str) -> Result<()>;

    /// Renames a folder with all its content. The new name must be free.
    ///
    /// # Errors
    /// `NotFound` if the folder does not exist; `AlreadyExists` if the new name is taken; `Unsupported` in stores where
    /// folders are only parts of file names.
    fn rename_folder(&self, folder: &str, _to: &str) -> Result<()> {
        Err(Error::unsupported("an object store can't rename folders").with("path", folder))
    }
}

/// Removes files. If one can't be removed, it still removes the others.
///
/// # Errors
/// That of the first file that can't be removed; a cancellation.
pub fn delete_all(store: &dyn Store, paths: &[&str]) -> Result<()> {
    let failed = store.delete_files(paths)?.into_iter().zip(paths).find_map(|(e, path)| Some((e?, path)));
    failed.map_or(Ok(()), |(e, path)| Err(e).with("path", path))
}

/// The results of `f(0), …, f(n - 1)`, in order. Each call mostly waits for `store`, so they run on as many threads as
/// are useful. Returns the first error by index.
pub fn in_parallel<T: Send>(store: &dyn Store, n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    parallel::in_parallel_on(store.at_once(), n, f)
}

/// Whole files that several threads read about in order. More of them are on their way than there are threads.
pub struct FilesAhead<'a> {
    store: &'a dyn Store,
    /// Paths and sizes. `None` for a file that is not read here.
    files: Vec<Option<(String, u64)>>,
    ahead: Mutex<FilesOnTheWay>,
}

/// What is on its way.
#[derive(Default)]
struct FilesOnTheWay {
    /// The first file that was not started.
    next: usize,
    started: Vec<Option<Box<dyn Fetching>>>,
    count: usize,
    bytes: u64,
}

impl<'a> FilesAhead<'a> {
    /// Files by their paths and sizes. Nothing is requested yet.
    pub fn new(store: &'a dyn Store, files: Vec<Option<(String, u64)>>) -> FilesAhead<'a> {
        let started = files.iter().map(|_| None).collect();
        FilesAhead { store, files, ahead: Mutex::new(FilesOnTheWay { started, ..FilesOnTheWay::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, FilesOnTheWay> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a file. Starts further ones.
    ///
    /// # Errors
    /// As [`Store::get`]; `Internal` for a file that is not among the given ones.
    pub fn get(&self, i: usize) -> Result<Vec<u8>> {
        let known = self.files.get(i).and_then(Option::as_ref);
        let (path, size) = known.ok_or_else(|| Error::internal("a file was not announced"))?;
        let started = {
            let mut ahead = self.lock();
            self.start(&mut ahead);
            // There was no room for it, or the store starts nothing ahead.
            ahead.next = ahead.next.max(i + 1);
            ahead.started.get_mut(i).and_then(Option::take)
        };
        let Some(started) = started else { return self.store.get(path) };
        let found = started.finish();
        let mut ahead = self.lock();
        ahead.count -= 1;
        ahead.bytes = ahead.bytes.saturating_sub(*size);
        self.start(&mut ahead);
        found?.pop().ok_or_else(|| Error::internal("the store gave no bytes for a file").with("path", path))
    }

    /// The number of files that are on their way, or arrived and wait to be read.
    #[cfg(test)]
    pub(super) fn on_the_way(&self) -> usize {
        self.lock().count
    }

    /// Starts files as long as there is room.
    fn start(&self, ahead: &mut FilesOnTheWay) {
        while let Some(file) = self.files.get(ahead.next) {
            let is_full = |size: u64| ahead.count >= MOST_AHEAD || ahead.bytes.saturating_add(size) > MOST_BYTES_AHEAD;
            let Some((path, size)) = file else {
                ahead.next += 1;
                continue;
            };
            if is_full(*size) {
                return;
            }
            let Some(fetching) = self.store.fetch_whole_ahead(path) else { return };
            if let Some(slot) = ahead.started.get_mut(ahead.next) {
                *slot = Some(fetching);
            }
            ahead.next += 1;
            ahead.count += 1;
            ahead.bytes = ahead.bytes.saturating_add(*size);
        }
    }
}

/// Bytes of a file that are being fetched: ranges, unless said otherwise. Dropping them cancels the fetch.
pub trait Fetching<T = Vec<Vec<u8>>>: Send {
    /// Waits for the bytes and returns them; several ranges in the requested order.
    fn finish(self: Box<Self>) -> Result<T>;
}

/// A file that is being written. Dropping it without [`StoreWriter::finish`] leaves no file.
pub trait StoreWriter: std::io::Write + Send {
    /// Makes the file complete and durable. Returns its length. A file of [`Store::create_unsynced`] may be durable
    /// later.
    fn finish(self: Box<Self>) -> Result<u64>;
}
