//! Records the steps of local writes in tests, to build the states that a crash may leave. Lets syncs fail.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A step that changes what is stored, or makes earlier steps durable.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'p> {
    MakeFolder(&'p Path),
    SyncFile(&'p Path),
    Link(&'p Path, &'p Path),
    Rename(&'p Path, &'p Path),
    Remove(&'p Path),
    SyncFolder(&'p Path),
}

/// A recorded step. Bytes are recorded when they are synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JournalStep {
    MakeFolder(PathBuf),
    SyncFile(PathBuf, Vec<u8>),
    /// A further name of a file.
    Link(PathBuf, PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    SyncFolder(PathBuf),
}

/// Who records, and below which folder.
static RECORDERS: Mutex<Vec<(PathBuf, Vec<JournalStep>)>> = Mutex::new(Vec::new());

/// The steps below a folder while `work` runs, in all threads.
pub(crate) fn steps_below<T>(folder: &Path, work: impl FnOnce() -> T) -> (T, Vec<JournalStep>) {
    RECORDERS.lock().unwrap().push((folder.to_path_buf(), Vec::new()));
    let done = work();
    let mut recorders = RECORDERS.lock().unwrap();
    let own = recorders.iter().position(|(root, _)| root == folder).unwrap();
    (done, recorders.remove(own).1)
}

/// The folders below which syncs fail, and the number of syncs that succeed before.
static FAULTS: Mutex<Vec<(PathBuf, usize)>> = Mutex::new(Vec::new());

/// Lets syncs below a folder fail while `work` runs, in all threads, after the first `good` ones.
pub(crate) fn with_failing_syncs<T>(folder: &Path, good: usize, work: impl FnOnce() -> T) -> T {
    FAULTS.lock().unwrap().push((folder.to_path_buf(), good));
    let done = work();
    FAULTS.lock().unwrap().retain(|(root, _)| root != folder);
    done
}

/// The error that a sync has, if a test wants it to fail.
pub(super) fn check_sync(path: &Path) -> std::io::Result<()> {
    let mut faults = FAULTS.lock().unwrap();
    match faults.iter_mut().find(|(root, _)| path.starts_with(root)) {
        Some((_, 0)) => Err(std::io::Error::other("the disk is broken")),
        Some((_, good)) => {
            *good -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

pub(super) fn record(step: Step<'_>) {
    let own = |path: &Path| path.to_path_buf();
    let (place, recorded) = match step {
        Step::MakeFolder(path) => (path, JournalStep::MakeFolder(own(path))),
        Step::SyncFile(path) => (path, JournalStep::SyncFile(own(path), std::fs::read(path).unwrap_or_default())),
        Step::Link(from, to) => (to, JournalStep::Link(own(from), own(to))),
        Step::Rename(from, to) => (to, JournalStep::Rename(own(from), own(to))),
        Step::Remove(path) => (path, JournalStep::Remove(own(path))),
        Step::SyncFolder(path) => (path, JournalStep::SyncFolder(own(path))),
    };
    let mut recorders = RECORDERS.lock().unwrap();
    for (_, steps) in recorders.iter_mut().filter(|(root, _)| place.starts_with(root)) {
        steps.push(recorded.clone());
    }
}
