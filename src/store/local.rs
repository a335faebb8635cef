//! Local and mounted file systems.
//!
//! New files appear complete. Bytes are written to a temporary file in the same folder and synced. A hard link then
//! gives the file its name, and fails if the name is taken. So `put_if_absent` can publish a commit atomically. The
//! module `disk` has the single steps. Files of `create_unsynced` are synced later, by `unsynced`.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Unsynced;
use super::disk::steps::{self, io_error};
use super::limits::{Holes, ReadFailure, check_at_most, check_bytes, most_bytes, read_exactly};
use super::location::{local_path, local_spelling, normalise};
use super::{FileInfo, Store, StoreWriter};
use crate::error::{Error, ErrorKind, Result};

/// The store of plain paths and `file:` URIs.
#[derive(Debug, Clone, Copy)]
pub struct LocalStore;

/// A folder that is removed with its content when its owner is dropped.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    process: u32,
}

impl TemporaryFolder {
    /// Creates a folder that only this user can read.
    ///
    /// # Errors
    /// `Store` and other errors if the system's folder for temporary files is not writable.
    pub fn new() -> Result<TemporaryFolder> {
        let path = std::env::temp_dir().join(format!("frazil-{}", uuid::Uuid::new_v4()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|e| io_error("make", &path.to_string_lossy(), e))?;
        Ok(TemporaryFolder { path, process: std::process::id() })
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    /// Does nothing in a forked process, where the owner is only a copy.
    fn drop(&mut self) {
        if std::process::id() == self.process {
            // If the folder can't be removed, it stays in the system's folder for temporary files.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Whether a location is a file of a local file system.
pub fn is_file(location: &str) -> bool {
    local_path(location).is_ok_and(|path| Path::new(&path).is_file())
}

/// Opens a regular file. Does not wait for the other end of a pipe, and refuses folders, pipes and devices.
fn open(path: &str) -> Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.read(true).open(local_path(path)?).map_err(|e| io_error("open", path, e))?;
    match file.metadata().map_err(|e| io_error("open", path, e))?.is_file() {
        true => Ok(file),
        false => Err(Error::store("this is not a regular file").with("path", path)),
    }
}

/// The size of an open file.
fn size_of(file: &File, path: &str) -> Result<u64> {
    file.metadata().map(|meta| meta.len()).map_err(|e| io_error("read", path, e))
}

/// The crate's error for a read that ended early.
fn read_error(path: &str, failure: ReadFailure) -> Error {
    match failure {
        ReadFailure::Io(e) => io_error("read", path, e),
        ReadFailure::Own(e) => e.with("path", path),
    }
}

/// Reads a whole file of at most this number of bytes.
fn read_whole(path: &str, most: u64) -> Result<Vec<u8>> {
    let mut file = open(path)?;
    let size = size_of(&file, path)?;
    check_at_most(path, size, most)?;
    read_exactly(&mut file, size, Holes::Refused).map_err(|e| read_error(path, e))
}

/// Reads a range of an open file of `size` bytes. Never allocates more than the file holds.
fn read_range(file: &mut File, size: u64, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
    if offset.checked_add(length as u64).is_none_or(|end| end > size) {
        return Err(Error::corrupt(format!(
            "the file ends at byte {size}, before the {length} bytes wanted from byte {offset}"
        ))
        .with("path", path));
    }
    file.seek(SeekFrom::Start(offset)).map_err(|e| io_error("read", path, e))?;
    check_bytes(path, length as u64)?;
    let bytes = read_exactly(file, length as u64, Holes::Allowed).map_err(|e| read_error(path, e))?;
    match bytes.len() == length {
        true => Ok(bytes),
        false => Err(Error::store("the file became shorter while it was read").with("path", path)),
    }
}

impl Store for LocalStore {
    fn get(&self, path: &str) -> Result<Vec<u8>> {
        read_whole(path, most_bytes())
    }

    fn get_at_most(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        read_whole(path, most)
    }

    fn get_range(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut file = open(path)?;
        let size = size_of(&file, path)?;
        read_range(&mut file, size, path, offset, length)
    }

    fn get_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let mut file = open(path)?;
        let size = size_of(&file, path)?;
        let mut read = |r: &Range<u64>| {
            let length = usize::try_from(r.end.saturating_sub(r.start)).unwrap_or(usize::MAX);
            read_range(&mut file, size, path, r.start, length)
        };
        ranges.iter().map(&mut read).collect()
    }

    fn get_tail(&self, path: &str, length: u64) -> Result<(Vec<u8>, u64)> {
        let mut file = open(path)?;
        let size = size_of(&file, path)?;
        let length = size.min(length);
        Ok((read_range(&mut file, size, path, size - length, length as usize)?, size))
    }

    fn size(&self, path: &str) -> Result<u64> {
        size_of(&open(path)?, path)
    }

    fn put_if_absent(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut writer = LocalWriter::create(path)?;
        writer.write_all(bytes).map_err(|e| io_error("write", path, e))?;
        writer.publish().map(|_| ())
    }

    fn refused(&self, error: &Error) -> bool {
        use io::ErrorKind as K;
        let cause = std::error::Error::source(error).and_then(|e| e.downcast_ref::<io::Error>());
        let full = [K::StorageFull, K::QuotaExceeded, K::FileTooLarge, K::ReadOnlyFilesystem, K::NotFound];
        cause.is_some_and(|e| full.contains(&e.kind()) || e.kind() == K::PermissionDenied)
            || matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported)
    }

    fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut writer = LocalWriter::create(path)?;
        writer.write_all(bytes).map_err(|e| io_error("write", path, e))?;
        steps::sync_file(&writer.file, &writer.temporary.path).map_err(|e| io_error("write", path, e))?;
        steps::replace(&writer.temporary.path, &writer.target).map_err(|e| io_error("replace", path, e))?;
        writer.temporary.is_gone = true;
        Ok(())
    }

    fn create(&self, path: &str) -> Result<Box<dyn StoreWriter>> {
        Ok(Box::new(LocalWriter::create(path)?))
    }

    fn create_unsynced(&self, path: &str, unsynced: &Arc<Unsynced>) -> Result<Box<dyn StoreWriter>> {
        let make = |folder: &Path| unsynced.make_folder(path, folder);
        Ok(Box::new(LocalWriter { unsynced: Some(unsynced.clone()), ..LocalWriter::begin(path, make)? }))
    }

    fn list(&self, folder: &str) -> Result<Vec<FileInfo>> {
        let mut out = Vec::new();
        for (entry, meta) in entries(folder)? {
            if meta.is_file() {
                let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
                out.push(FileInfo {
                    path: super::location::join(folder, &entry),
                    size_bytes: meta.len(),
                    modified_ms: modified.map_or(0, |d| d.as_millis() as i64),
                });
            }
        }
        Ok(out)
    }

    fn list_names(&self, folder: &str) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for entry in read_folder(folder)? {
            let entry = entry.map_err(|e| io_error("list", folder, e))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // The folder tells the type of most entries. A link is followed.
            let is_file = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_file(),
                _ => fs::metadata(entry.path()).is_ok_and(|meta| meta.is_file()),
            };
            if is_file {
                out.push(name);
            }
        }
        Ok(out)
    }

    fn list_folders(&self, folder: &str) -> Result<Vec<String>> {
        let mut names: Vec<String> = entries(folder)?.into_iter().filter(|(_, m)| m.is_dir()).map(|(n, _)| n).collect();
        names.sort();
        Ok(names)
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        steps::make_folders(&local_path(folder)?).map_err(|e| io_error("make", folder, e))
    }

    fn is_same_place(&self, a: &str, b: &str) -> Result<bool> {
        if normalise(a) == normalise(b) {
            return Ok(true);
        }
        let real = |path: &str| -> Result<Option<PathBuf>> { Ok(fs::canonicalize(local_path(path)?).ok()) };
        Ok(real(a)?.is_some_and(|a| real(b).ok().flatten() == Some(a)))
    }

    fn real_folder(&self, folder: &str) -> String {
        let Ok(path) = local_path(folder) else { return normalise(folder) };
        let real = fs::canonicalize(&path).unwrap_or(path);
        real.into_os_string()
            .into_string()
            .map_or_else(|_| normalise(folder), |real| local_spelling(&real).into_owned())
    }

    fn delete(&self, path: &str) -> Result<()> {
        match steps::remove(&local_path(path)?) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io_error("delete", path, e)),
            _ => Ok(()),
        }
    }

    fn is_link(&self, path: &str) -> Result<bool> {
        match fs::symlink_metadata(local_path(path)?) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            meta => Ok(meta.map_err(|e| io_error("look at", path, e))?.is_symlink()),
        }
    }

    fn delete_folder(&self, folder: &str) -> Result<()> {
        fs::remove_dir(local_path(folder)?).map_err(|e| io_error("delete", folder, e))
    }

    fn rename_folder(&self, folder: &str, to: &str) -> Result<()> {
        let (from, target) = (local_path(folder)?, local_path(to)?);
        fs::symlink_metadata(&from).map_err(|e| io_error("rename", folder, e))?;
        // Nothing else gets the name meanwhile: an empty folder is replaced, any other is not.
        fs::create_dir(&target).map_err(|e| io_error("rename to", to, e))?;
        fs::rename(&from, &target).map_err(|e| {
            let _ = fs::remove_dir(&target);
            io_error("rename", folder, e)
        })
    }
}

/// The entries of a folder; none if it does not exist.
fn read_folder(folder: &str) -> Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    let read = match fs::read_dir(local_path(folder)?) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|e| io_error("list", folder, e))?),
    };
    Ok(read.into_iter().flatten())
}

/// Names and metadata in a folder; empty if it does not exist. Skips entries that disappear meanwhile or are not UTF-8.
fn entries(folder: &str) -> Result<Vec<(String, fs::Metadata)>> {
    let mut out = Vec::new();
    for entry in read_folder(folder)? {
        let entry = entry.map_err(|e| io_error("list", folder, e))?;
        if let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), fs::metadata(entry.path())) {
            out.push((name, meta));
        }
    }
    Ok(out)
}

struct LocalWriter {
    path: String,
    target: PathBuf,
    temporary: TemporaryName,
    file: File,
    /// What syncs the file later, if it is not synced at its end.
    unsynced: Option<Arc<Unsynced>>,
}

/// The name of an unfinished file, which is removed with it.
struct TemporaryName {
    path: PathBuf,
    is_gone: bool,
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.is_gone {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl LocalWriter {
    fn create(path: &str) -> Result<Self> {
        LocalWriter::begin(path, |folder| {
            steps::make_folders(folder).map_err(|e| io_error("make the folder of", path, e))
        })
    }

    /// Begins a file in a folder, which `make` makes if it is missing.
    fn begin(path: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let target = local_path(path)?;
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(Error::invalid("the path does not name a file").with("path", path));
        };
        make(folder)?;
        let temporary = folder.join(format!(".{}.{}.tmp", name.to_string_lossy(), uuid::Uuid::new_v4().simple()));
        let file = File::create_new(&temporary).map_err(|e| io_error("create", path, e))?;
        let temporary = TemporaryName { path: temporary, is_gone: false };
        Ok(LocalWriter { path: path.to_owned(), target, temporary, file, unsynced: None })
    }

    /// Syncs the bytes, gives them their name if it is free, and syncs the folder.
    fn publish(mut self) -> Result<u64> {
        steps::sync_file(&self.file, &self.temporary.path).map_err(|e| io_error("write", &self.path, e))?;
        let size = self.file.metadata().map_err(|e| io_error("write", &self.path, e))?.len();
        steps::publish(&self.temporary.path, &self.target).map_err(|e| io_error("create", &self.path, e))?;
        self.temporary.is_gone = true;
        Ok(size)
    }

    /// Gives the bytes their name if it is free, and leaves the syncs to `unsynced`.
    fn publish_unsynced(mut self, unsynced: &Unsynced) -> Result<u64> {
        let size = self.file.metadata().map_err(|e| io_error("write", &self.path, e))?.len();
        steps::publish_unsynced(&self.temporary.path, &self.target).map_err(|e| io_error("create", &self.path, e))?;
        self.temporary.is_gone = true;
        unsynced.add(&self.path, &self.target, self.file, size)?;
        Ok(size)
    }
}

impl Write for LocalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl StoreWriter for LocalWriter {
    fn finish(mut self: Box<Self>) -> Result<u64> {
        match self.unsynced.take() {
            Some(unsynced) => self.publish_unsynced(&unsynced),
            None => self.publish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_racing_writers_one_wins_and_nothing_is_left_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = format!("file://{}/m/v1.json", dir.path().display());
        let wins: usize = std::thread::scope(|s| {
            let threads: Vec<_> = (0..8u8)
                .map(|i| {
                    let path = &path;
                    s.spawn(move || LocalStore.put_if_absent(path, &[i; 100_000]).map_err(|e| e.kind()))
                })
                .collect();
            threads.into_iter().map(|t| usize::from(t.join().unwrap().is_ok())).sum()
        });
        assert_eq!(wins, 1);
        let bytes = LocalStore.get(&path).unwrap();
        assert!(bytes.len() == 100_000 && bytes.iter().all(|b| *b == bytes[0]));
        assert_eq!(LocalStore.list(&format!("{}/m", dir.path().display())).unwrap().len(), 1);
    }

    #[test]
    fn an_abandoned_writer_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x").display().to_string();
        LocalStore.create(&path).unwrap().write_all(b"half").unwrap();
        assert_eq!(LocalStore.list(&dir.path().display().to_string()).unwrap(), vec![]);
        assert_eq!(LocalStore.get(&path).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.to_str().unwrap(), "/dev/zero", "/dev/tty"] {
            let error = LocalStore.get(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Store, "{error}");
        }
    }

    #[test]
    fn a_huge_sparse_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x").display().to_string();
        LocalStore.put_if_absent(&path, b"abcdef").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 42).unwrap();
        let e = LocalStore.get(&path).unwrap_err();
        assert!(e.kind() == ErrorKind::CorruptTable && e.to_string().contains("4398046511104 bytes"), "{e}");
        assert!(LocalStore.get_at_most(&path, 1024).is_err());
        assert!(LocalStore.get_range(&path, 0, 1 << 41).is_err());
        assert_eq!(LocalStore.get_tail(&path, 8).unwrap(), (vec![0; 8], 1 << 42));
        // Where the size is allowed, the hole is found.
        file.set_len(200 << 20).unwrap();
        let e = LocalStore.get(&path).unwrap_err();
        assert!(e.to_string().contains("all zero"), "{e}");
    }

    #[test]
    fn ranges_and_folders_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x").display().to_string();
        LocalStore.put_if_absent(&path, b"abcdef").unwrap();
        assert_eq!(LocalStore.get_range(&path, 2, 3).unwrap(), b"cde");
        assert_eq!(LocalStore.get_ranges(&path, &[4..6, 0..1]).unwrap(), [&b"ef"[..], b"a"]);
        assert!(LocalStore.get_ranges(&path, &[0..1, 4..7]).is_err());
        assert_eq!(LocalStore.get_range(&path, u64::MAX, 3).unwrap_err().kind(), ErrorKind::CorruptTable);
        assert!(LocalStore.get(&dir.path().display().to_string()).is_err());
        LocalStore.put(&path, b"new").unwrap();
        assert_eq!(LocalStore.get(&path).unwrap(), b"new");
        LocalStore.delete(&path).unwrap();
        LocalStore.delete(&path).unwrap();
    }
}
