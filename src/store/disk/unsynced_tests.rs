use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::Unsynced;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel::{Cancellation, in_parallel_on};
use crate::store::Store;
use crate::store::disk::journal::{JournalStep, steps_below, with_failing_syncs};
use crate::store::local::LocalStore;

/// A folder for the test, and the base of new files in it.
fn places() -> (TempDir, PathBuf, Arc<Unsynced>) {
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("data")).unwrap();
    let unsynced = Unsynced::new(root.join("data").to_str().unwrap());
    (folder, root, unsynced)
}

fn write(path: &Path, unsynced: &Arc<Unsynced>) -> Result<()> {
    let mut file = LocalStore.create_unsynced(path.to_str().unwrap(), unsynced)?;
    file.write_all(b"rows").unwrap();
    assert_eq!(file.finish()?, 4);
    Ok(())
}

/// The number of syncs of each file and folder.
fn syncs(steps: &[JournalStep]) -> (BTreeMap<&Path, usize>, BTreeMap<&Path, usize>) {
    let (mut files, mut folders) = (BTreeMap::new(), BTreeMap::new());
    for step in steps {
        match step {
            JournalStep::SyncFile(path, _) => *files.entry(path.as_path()).or_default() += 1,
            JournalStep::SyncFolder(path) => *folders.entry(path.as_path()).or_default() += 1,
            _ => {}
        }
    }
    (files, folders)
}

#[test]
fn each_file_and_each_folder_is_synced_once() {
    let (_folder, root, unsynced) = places();
    let path = |i: usize| root.join(format!("data/p={}/{i}.parquet", i % 50));
    let (_, written) = steps_below(&root, || (0..150).for_each(|i| write(&path(i), &unsynced).unwrap()));
    // Two bounds of 64 files were reached.
    let (files, folders) = syncs(&written);
    assert!(files.len() == 128 && folders.is_empty(), "{files:?} {folders:?}");
    assert!((0..150).all(|i| fs::read(path(i)).unwrap() == b"rows"));
    let (_, rest) = steps_below(&root, || unsynced.sync().unwrap());
    let all = [written, rest].concat();
    let (files, folders) = syncs(&all);
    assert!(files.len() == 150 && files.values().all(|n| *n == 1), "{files:?}");
    assert!(folders.len() == 51 && folders.values().all(|n| *n == 1), "{folders:?}");
    let is_synced = |step: &JournalStep| matches!(step, JournalStep::SyncFile(_, bytes) if bytes == b"rows");
    assert_eq!(all.iter().filter(|step| is_synced(step)).count(), 150);
    let (_, again) = steps_below(&root, || unsynced.sync().unwrap());
    assert_eq!(again, vec![]);
    assert!((0..50).all(|i| fs::read_dir(root.join(format!("data/p={i}"))).unwrap().count() == 3));
}

#[test]
fn folders_that_others_made_are_synced_up_to_the_base() {
    let (_folder, root, unsynced) = places();
    fs::create_dir_all(root.join("data/p=1/q=2")).unwrap();
    let (_, steps) = steps_below(&root, || {
        write(&root.join("data/p=1/q=2/x"), &unsynced).unwrap();
        unsynced.sync().unwrap();
    });
    let (_, folders) = syncs(&steps);
    let found: Vec<_> = folders.keys().map(|folder| folder.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
    assert_eq!(found, ["data", "data/p=1", "data/p=1/q=2"]);
}

#[test]
fn a_new_base_and_a_file_outside_of_it_have_durable_folders() {
    let (_folder, root, _) = places();
    let unsynced = Unsynced::new(root.join("new/base").to_str().unwrap());
    let (_, steps) = steps_below(&root, || {
        write(&root.join("new/base/p=1/x"), &unsynced).unwrap();
        write(&root.join("else/where/y"), &unsynced).unwrap();
        unsynced.sync().unwrap();
    });
    for (at, step) in steps.iter().enumerate() {
        if let JournalStep::MakeFolder(path) | JournalStep::Link(_, path) = step {
            let synced = JournalStep::SyncFolder(path.parent().unwrap().to_path_buf());
            assert!(steps[at..].contains(&synced), "{path:?} in {steps:?}");
        }
    }
    assert_eq!(syncs(&steps).0.len(), 2);
}

#[test]
fn a_failed_sync_is_an_error_of_this_and_of_every_later_one() {
    // Two files, then the folders `p=1` and `data`.
    for good in 0..4 {
        let (_folder, root, unsynced) = places();
        write(&root.join("data/p=1/x"), &unsynced).unwrap();
        write(&root.join("data/p=1/y"), &unsynced).unwrap();
        let e = with_failing_syncs(&root, good, || unsynced.sync()).unwrap_err();
        assert!(e.kind() == ErrorKind::Store && e.to_string().contains("the disk is broken"), "{good}: {e}");
        let e = unsynced.sync().unwrap_err().to_string();
        assert!(e.contains("an earlier sync of new files failed") && e.contains("the disk is broken"), "{good}: {e}");
    }
}

#[test]
fn a_sync_that_panics_fails_all_later_ones() {
    let (_folder, root, unsynced) = places();
    write(&root.join("data/x"), &unsynced).unwrap();
    let panics = || Cancellation::new(|| panic!("stopped")).scope(|| unsynced.sync());
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert!(unsynced.sync().unwrap_err().to_string().contains("an earlier sync of new files did not end"));
}

#[test]
fn large_files_do_not_wait_for_many_others() {
    let (_folder, root, unsynced) = places();
    let add = |name: &str, bytes: u64| {
        let path = root.join("data").join(name);
        fs::write(&path, b"rows").unwrap();
        unsynced.add(path.to_str().unwrap(), &path, fs::File::open(&path).unwrap(), bytes).unwrap();
    };
    let (_, steps) = steps_below(&root, || (0..3).for_each(|i| add(&i.to_string(), 100 << 20)));
    assert_eq!(syncs(&steps).0.len(), 3);
    let (_, steps) = steps_below(&root, || (3..5).for_each(|i| add(&i.to_string(), 100 << 20)));
    assert_eq!(syncs(&steps).0.len(), 0);
}

#[test]
fn a_failed_sync_at_the_bound_is_an_error_of_the_file_that_reached_it() {
    let (_folder, root, unsynced) = places();
    let failed =
        with_failing_syncs(&root, 10, || (0..64).find_map(|i| write(&root.join(format!("data/{i}")), &unsynced).err()));
    assert!(failed.unwrap().to_string().contains("the disk is broken"));
    assert!(unsynced.sync().is_err());
}

#[test]
fn a_taken_name_is_refused_at_once() {
    let (_folder, root, unsynced) = places();
    fs::write(root.join("data/x"), "old").unwrap();
    assert_eq!(write(&root.join("data/x"), &unsynced).unwrap_err().kind(), ErrorKind::AlreadyExists);
    unsynced.sync().unwrap();
    assert_eq!(fs::read(root.join("data/x")).unwrap(), b"old");
    assert_eq!(fs::read_dir(root.join("data")).unwrap().count(), 1);
}

#[test]
fn an_interrupt_is_heard_between_syncs() {
    let (_folder, root, unsynced) = places();
    (0..20).for_each(|i| write(&root.join(format!("data/{i}")), &unsynced).unwrap());
    let stopped = Cancellation::new(|| Err(Error::invalid("stopped")));
    let (e, steps) = steps_below(&root, || stopped.scope(|| unsynced.sync()));
    assert_eq!(e.unwrap_err().message(), "stopped");
    assert_eq!(steps, vec![]);
    assert!(unsynced.sync().is_err());
}

/// The descriptors of this process that are open for files below a folder.
#[cfg(target_os = "linux")]
fn open_below(root: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|fd| fs::read_link(fd.path()).ok()).filter(|path| path.starts_with(root)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn few_descriptors_are_open_while_many_threads_write() {
    let (_folder, root, unsynced) = places();
    let seen = in_parallel_on(4, 400, |i| {
        write(&root.join(format!("data/{i}")), &unsynced)?;
        Ok(open_below(&root))
    });
    let most = seen.unwrap().into_iter().max().unwrap();
    // 64 are synced and 64 wait, and each thread may add one more file, and hold one that it writes.
    assert!((32..=64 + 64 + 2 * 4).contains(&most), "{most}");
    unsynced.sync().unwrap();
    assert_eq!(open_below(&root), 0);
}
