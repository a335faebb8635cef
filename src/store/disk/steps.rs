//! Steps of writing a file that survives a crash: new folders, synced bytes, an exclusive name, synced folders.
//!
//! A name is durable once its folder was synced, and bytes once their file was. An error of a sync is an error of the
//! write, because the kernel reports it only once. Steps with `unsynced` in their names leave the syncs to
//! [`Unsynced`](super::Unsynced).

use std::fs::{self, File};
use std::io;
use std::path::Path;

#[cfg(test)]
use super::journal::{Step, check_sync, record};
use crate::error::{Error, ErrorKind};
use crate::store::failure::GONE;

/// The crate's error for an I/O error on `path`.
pub(in crate::store) fn io_error(action: &str, path: &str, e: io::Error) -> Error {
    let kind = match e.kind() {
        // A path below a file does not exist.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        _ => ErrorKind::Store,
    };
    let error = Error::new(kind, format!("cannot {action} the file")).with("path", path);
    let error = match kind {
        ErrorKind::NotFound if e.kind() == io::ErrorKind::NotADirectory => {
            error.hint("A part of the path is a file, not a folder: check the path")
        }
        ErrorKind::NotFound => error.hint(GONE),
        ErrorKind::PermissionDenied => error.hint("Check the permissions of the file and its folders"),
        _ => error,
    };
    error.because(e)
}

/// Creates a folder and its parents, and makes their names durable.
pub(in crate::store) fn make_folders(folder: &Path) -> io::Result<()> {
    make_missing(folder, sync_parent)
}

/// Creates a folder and its parents. The caller makes their names durable.
pub(in crate::store) fn make_folders_unsynced(folder: &Path) -> io::Result<()> {
    make_missing(folder, |_| Ok(()))
}

/// Creates the missing ones of a folder and its parents. `made` gets each of them.
fn make_missing(folder: &Path, made: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut next = Some(folder);
    while let Some(path) = next.filter(|path| !path.as_os_str().is_empty() && !path.is_dir()) {
        missing.push(path);
        next = path.parent();
    }
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            // Another writer was first. A file with this name is an error.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            created => created?,
        }
        #[cfg(test)]
        record(Step::MakeFolder(path));
        made(path)?;
    }
    Ok(())
}

/// Makes the bytes of a file durable.
pub(in crate::store) fn sync_file(file: &File, _path: &Path) -> io::Result<()> {
    #[cfg(test)]
    check_sync(_path)?;
    file.sync_all()?;
    #[cfg(test)]
    record(Step::SyncFile(_path));
    Ok(())
}

/// Gives a finished file its final name, which must be free, and makes the name durable.
///
/// # Errors
/// `AlreadyExists` if another file has the name. After any other error the file may have it.
pub(in crate::store) fn publish(temporary: &Path, target: &Path) -> io::Result<()> {
    let has_two = give_name(temporary, target)?;
    sync_parent(target)?;
    if has_two {
        // The second name does no harm if it can't be removed.
        let _ = remove(temporary);
    }
    Ok(())
}

/// As [`publish`], but the caller makes the name durable.
pub(in crate::store) fn publish_unsynced(temporary: &Path, target: &Path) -> io::Result<()> {
    if give_name(temporary, target)? {
        let _ = remove(temporary);
    }
    Ok(())
}

/// Gives a file another name, which must be free. Returns whether it has both names.
fn give_name(temporary: &Path, target: &Path) -> io::Result<bool> {
    match fs::hard_link(temporary, target) {
        Ok(()) => {
            #[cfg(test)]
            record(Step::Link(temporary, target));
            Ok(true)
        }
        // A network file system repeats a request whose answer was lost. The name is then our own.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && is_same_file(temporary, target) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied) => {
            give_name_by_rename(temporary, target).map(|()| false)
        }
        Err(e) => Err(e),
    }
}

/// Gives a file another name in a file system without hard links.
fn give_name_by_rename(temporary: &Path, target: &Path) -> io::Result<()> {
    match rename_to_free_name(temporary, target) {
        Err(e) if matches!(e.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => {
            claim_and_rename(temporary, target)?;
        }
        renamed => renamed?,
    }
    #[cfg(test)]
    record(Step::Rename(temporary, target));
    Ok(())
}

/// A rename that fails if the name is taken.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename_to_free_name(temporary: &Path, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, temporary, CWD, target, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename_to_free_name(_temporary: &Path, _target: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Claims the name by an empty file, which the finished one replaces. The empty file stays if the process is killed in
/// between, so that this is the last resort.
fn claim_and_rename(temporary: &Path, target: &Path) -> io::Result<()> {
    File::create_new(target)?;
    fs::rename(temporary, target).inspect_err(|_| {
        let _ = fs::remove_file(target);
    })
}

/// Replaces a file, or creates it, and makes the name durable.
pub(in crate::store) fn replace(temporary: &Path, target: &Path) -> io::Result<()> {
    fs::rename(temporary, target)?;
    #[cfg(test)]
    record(Step::Rename(temporary, target));
    sync_parent(target)
}

/// Removes a file.
pub(in crate::store) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(test)]
    record(Step::Remove(path));
    Ok(())
}

/// Makes the names in the folder of `path` durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), sync_folder)
}

/// Makes the names in a folder durable. Some file systems can't sync folders and order names themselves.
pub(in crate::store) fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    #[cfg(test)]
    check_sync(folder)?;
    let synced = match File::open(folder) {
        // A folder that may be written but not listed can't be opened.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => opened.and_then(|opened| opened.sync_all()),
    };
    match synced {
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
        synced => synced?,
    }
    #[cfg(test)]
    record(Step::SyncFolder(folder));
    Ok(())
}

/// Whether two names are those of one file.
#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

#[cfg(not(unix))]
fn is_same_file(_a: &Path, _b: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_link_of_our_own_is_a_success() {
        let folder = tempfile::tempdir().unwrap();
        let (temporary, target) = (folder.path().join("t"), folder.path().join("v1"));
        fs::write(&temporary, "new").unwrap();
        fs::hard_link(&temporary, &target).unwrap();
        publish(&temporary, &target).unwrap();
        assert!(!temporary.exists() && fs::read(&target).unwrap() == b"new");
        fs::write(&temporary, "other").unwrap();
        assert_eq!(publish(&temporary, &target).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn names_are_exclusive_without_hard_links() {
        type Publish = fn(&Path, &Path) -> io::Result<()>;
        for way in [give_name_by_rename as Publish, claim_and_rename] {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("v1");
            let wins = std::thread::scope(|scope| {
                let racing: Vec<_> = (0..8u8)
                    .map(|i| {
                        let (temporary, target) = (folder.path().join(format!("t{i}")), &target);
                        fs::write(&temporary, [i; 1000]).unwrap();
                        scope.spawn(move || way(&temporary, target).map_err(|e| e.kind()))
                    })
                    .collect();
                racing.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert_eq!(wins.iter().filter(|won| won.is_ok()).count(), 1);
            assert!(wins.iter().flat_map(|won| won.err()).all(|kind| kind == io::ErrorKind::AlreadyExists));
            assert_eq!(fs::read(&target).unwrap().len(), 1000);
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "").unwrap();
        assert!(make_folders(&folder.path().join("f/g")).is_err());
        make_folders(&folder.path().join("a/b/c")).unwrap();
        make_folders(&folder.path().join("a/b/c")).unwrap();
        assert!(folder.path().join("a/b/c").is_dir());
    }
}
