//! The traits of a store of files.

use std::collections::BTreeMap;
use std::ops::Range;

use super::location;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;

/// The number of concurrent calls to a remote store that pay off.
const REMOTE_CALLS: usize = 16;

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The path that opens it.
    pub path: String,
    /// Its length.
    pub size_bytes: u64,
    /// Last change, milliseconds since the epoch.
    pub modified_ms: i64,
}

/// A place where files are. Implementations are shared by threads and take paths as tables record them.
pub trait Store: Send + Sync + std::fmt::Debug {
    /// The whole file. A known `expected_size_bytes` saves a request for the size.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` or `Store`, each naming the path.
    fn get(&self, path: &str) -> Result<Vec<u8>>;

    /// Bytes `offset..offset + length` of the file; an error if it ends before.
    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>>;

    /// Several ranges of one file, in the requested order, for stores that need less than one request for each.
    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        ranges.iter().map(|r| self.get_range(path, r.start, r.end.saturating_sub(r.start) as usize)).collect()
    }

    /// The last bytes of the file, `length` at most, and its length; with one request where a store can do that.
    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        let size = self.size(path)?;
        let length = size.min(length);
        Ok((self.get_range(path, size - length, length as usize)?, size))
    }
    /// Starts to fetch ranges that will be wanted soon. `None` if that saves nothing.
    fn fetch_ahead(&self, _path: &str, _ranges: &[Range<u64>]) -> Option<Box<dyn Fetching>> {
        None
    }
    /// Whether the store is behind a network. Then calls mostly wait, and each call is expensive.
    fn is_remote(&self) -> bool {
        false
    }
    /// The number of concurrent calls that pay off, each on its own thread.
    fn at_once(&self) -> usize {
        if self.is_remote() { REMOTE_CALLS } else { parallel::threads(usize::MAX) }
    }
    /// The options that [`open_store`](super::open_store) makes such a store of, secrets among them.
    fn options(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// The file's length.
    fn size(&self, path: &str) -> Result<u64>;

    /// Writes a new file, making folders as needed. Replaces nothing.
    ///
    /// # Errors
    /// `AlreadyExists` if the path is taken: of two racing callers exactly one succeeds, and the file is never seen
    /// half-written.
    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// Whether an error of [`Store::put_if_absent`] proves that the file was not made and never will be: the store
    /// refused. After any other error, such as a timeout, it may still appear.
    fn refused(&self, error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidInput | ErrorKind::Unsupported)
    }

    /// Writes or replaces a file atomically; for hints only.
    fn put(&self, path: &str, bytes: &[u8]) -> Result<()>;

    /// A writer that streams a new file to its final place and makes it durable on [`StoreWriter::finish`].
    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>>;

    /// Files directly in a folder (not below it), in no order; empty if there is no such folder.
    fn list(&self, folder: &str) -> Result<Vec<FileInfo>>;

    /// Folders directly in a folder, by name.
    fn list_folders(&self, folder: &str) -> Result<Vec<String>>;

    /// Makes a folder and its parents.
    fn make_folder(&self, folder: &str) -> Result<()>;

    /// Whether two paths lead to the same folder, through any links.
    fn is_same_place(&self, a: &str, b: &str) -> Result<bool> {
        Ok(location::normalise(a) == location::normalise(b))
    }

    /// The real path of a folder, without links, for comparisons. If the folder does not exist, the given path.
    fn real_folder(&self, folder: &str) -> String {
        folder.trim_end_matches('/').to_owned()
    }

    /// Removes a file. A missing file is not an error.
    fn delete(&self, path: &str) -> Result<()>;

    /// Whether a path is a symbolic link, which recursive deletion must not follow. Only file systems have them.
    fn is_link(&self, _path: &str) -> Result<bool> {
        Ok(false)
    }

    /// Removes an empty folder.
    fn delete_folder(&self, folder: &str) -> Result<()>;

    /// Renames a folder with its contents to a free name.
    ///
    /// # Errors
    /// `NotFound` if it does not exist; `AlreadyExists` if the name is taken; `Unsupported` if folders are only parts
    /// of file names.
    fn rename_folder(&self, folder: &str, _to: &str) -> Result<()> {
        Err(Error::unsupported("an object store can't rename folders").with("path", folder))
    }
}

/// The results of `f(0), …, f(n - 1)`, in order. Each mostly waits for `store`, so they run on as many threads as pay
/// off. The error with the lowest index wins.
pub fn in_parallel<T: Send>(store: &dyn Store, n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    parallel::in_parallel_on(store.at_once(), n, f)
}

/// Ranges of a file that are being fetched. Dropping it cancels them.
pub trait Fetching: Send {
    /// Waits for their bytes, in the requested order.
    fn finish(self: Box<Self>) -> Result<Vec<Vec<u8>>>;
}

/// A file being written. Dropped without [`StoreWriter::finish`] it leaves nothing behind.
pub trait StoreWriter: std::io::Write + Send {
    /// Makes the file complete and durable; returns its length.
    fn finish(self: Box<Self>) -> Result<u64>;
}
