//! The state of a table after a crash at any point of a commit.
//!
//! The steps of a commit on the local disk are recorded. Each state that a crash may leave is then built in a folder
//! of its own. It has some of the first steps, where those that were not synced may be missing. The table must open
//! there, with the old rows or with the new ones. Once the commit returned, it must have the new ones.
//!
//! The order of syncs is checked as well: all data files and their folders are synced before the commit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
use tempfile::TempDir;

use crate::data::arrow::schema::to_arrow;
use crate::error::{ErrorKind, Result};
use crate::format::catalog::NewTable;
use crate::format::commit::CommitOptions;
use crate::format::ident::TableIdent;
use crate::format::maintenance::{BucketCompaction, CompactOptions, CompactRules, Maintenance};
use crate::format::request::{ScanRequest, WriteOptions};
use crate::format::table_format::TableFormat;
use crate::rows::seam::Table;
use crate::rows::stream::RowReader;
use crate::store::disk::journal::{JournalStep, steps_below, with_failing_syncs};
use crate::tables::{catalog, open::open};
use crate::types::{Field, PrimitiveType as P, Schema};

/// Tables without partitions, and with a partition for each row.
const PARTITIONINGS: [&[&str]; 2] = [&[], &["p"]];

/// The content of a folder: files with their bytes. Folders have no bytes.
type Disk = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn created(warehouse: &Path, format: &TableFormat, partition_by: &[&str]) -> Arc<dyn Table> {
    let partition_by = partition_by.iter().map(|text| (*text).to_owned()).collect();
    created_as(warehouse, format, NewTable { partition_by, ..NewTable::default() })
}

/// A Paimon table with the key `id`.
fn keyed(warehouse: &Path, options: &[(&str, &str)]) -> Arc<dyn Table> {
    let properties = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let identifier_fields = Some(vec!["id".to_owned()]);
    let format = catalog::FORMATS.iter().find(|format| format.id == "paimon").unwrap();
    created_as(warehouse, format, NewTable { properties, identifier_fields, ..NewTable::default() })
}

fn created_as(warehouse: &Path, format: &TableFormat, new: NewTable) -> Arc<dyn Table> {
    let properties = [("type", "filesystem"), ("warehouse", warehouse.to_str().unwrap())];
    let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let catalog = catalog::open("c", BTreeMap::from(properties)).unwrap();
    catalog.create_namespace(&["n".to_owned()], &BTreeMap::new()).unwrap();
    let fields = vec![Field::new(1, "id", true, P::Long), Field::new(2, "p", true, P::Long)];
    let schema = Schema::new(0, fields, vec![]);
    let ident = TableIdent::parse("n.t").unwrap();
    catalog.create_table(&ident, &schema, new, format).unwrap()
}

/// Rows that are in a partition of their own each, if the table has partitions.
fn rows(table: &dyn Table, ids: &[i64]) -> RowReader {
    let arrow = to_arrow(table.schema()).unwrap();
    let ids = Arc::new(Int64Array::from(ids.to_vec()));
    let batch = RecordBatch::try_new(arrow.clone(), vec![ids.clone(), ids]);
    Box::new(RecordBatchIterator::new([batch], arrow))
}

fn try_append(table: &dyn Table, ids: &[i64]) -> Result<Arc<dyn Table>> {
    table.append(rows(table, ids), &WriteOptions::default(), &CommitOptions::default())
}

fn append(table: &dyn Table, ids: &[i64]) -> Arc<dyn Table> {
    try_append(table, ids).unwrap()
}

/// The files and folders below a folder.
fn content(folder: &Path, disk: &mut Disk) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            content(&entry, disk);
            disk.insert(entry, None);
        } else {
            disk.insert(entry.clone(), Some(std::fs::read(entry).unwrap()));
        }
    }
}

/// Whether the names that a step changes are durable after the steps that follow it.
fn is_synced(step: &JournalStep, later: &[JournalStep]) -> bool {
    let synced = |folder: Option<&Path>| {
        later.iter().any(|step| matches!(step, JournalStep::SyncFolder(synced) if Some(synced.as_path()) == folder))
    };
    match step {
        JournalStep::MakeFolder(path) | JournalStep::Remove(path) => synced(path.parent()),
        JournalStep::Link(_, to) | JournalStep::Rename(_, to) => synced(to.parent()),
        JournalStep::SyncFile(..) | JournalStep::SyncFolder(_) => true,
    }
}

/// The synced bytes of files, and the first name that each name stands for. A file is synced under any of its names,
/// before or after it gets another one.
fn synced_bytes(steps: &[JournalStep]) -> (BTreeMap<&Path, &Vec<u8>>, BTreeMap<&Path, &Path>) {
    let (mut synced, mut firsts) = (BTreeMap::new(), BTreeMap::new());
    for step in steps {
        match step {
            JournalStep::Link(from, to) | JournalStep::Rename(from, to) => {
                let first = firsts.get(from.as_path()).copied().unwrap_or(from.as_path());
                firsts.insert(to.as_path(), first);
            }
            JournalStep::SyncFile(path, bytes) => {
                synced.insert(firsts.get(path.as_path()).copied().unwrap_or(path.as_path()), bytes);
            }
            _ => {}
        }
    }
    (synced, firsts)
}

/// The disk after some steps without those that were lost. Bytes that were never synced are lost as well.
fn after(before: &Disk, steps: &[JournalStep], lost: &BTreeSet<usize>) -> Disk {
    let mut disk = before.clone();
    let (synced, firsts) = synced_bytes(steps);
    for (i, step) in steps.iter().enumerate() {
        if lost.contains(&i) {
            continue;
        }
        match step {
            JournalStep::MakeFolder(path) => drop(disk.insert(path.clone(), None)),
            JournalStep::Link(_, to) | JournalStep::Rename(_, to) => {
                let bytes = firsts.get(to.as_path()).and_then(|first| synced.get(first));
                disk.insert(to.clone(), Some(bytes.map_or(Vec::new(), |bytes| bytes.to_vec())));
            }
            JournalStep::Remove(path) => drop(disk.remove(path)),
            JournalStep::SyncFile(..) | JournalStep::SyncFolder(_) => {}
        }
    }
    disk
}

/// The rows of the table in a disk's state, which replaces the folder's content.
fn rows_of(disk: &Disk, root: &Path, location: &str) -> std::result::Result<u64, String> {
    for entry in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        std::fs::remove_dir_all(entry).unwrap();
    }
    for (path, bytes) in disk {
        let folder = if bytes.is_none() { path } else { path.parent().unwrap() };
        // If the name of a folder is lost, its contents are lost too.
        let lost = path.ancestors().skip(1).take_while(|p| *p != root).any(|p| !disk.contains_key(p));
        if !lost {
            std::fs::create_dir_all(folder).unwrap();
            bytes.iter().for_each(|bytes| std::fs::write(path, bytes).unwrap());
        }
    }
    let table = open(location, BTreeMap::new(), false).map_err(|e| e.to_string())?;
    let batches = table.scan(ScanRequest::default()).and_then(|scan| scan.read_all()).map_err(|e| e.to_string())?;
    Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
}

/// A commit, as the disk saw it.
struct Committed {
    _folder: TempDir,
    root: PathBuf,
    location: String,
    before: Disk,
    steps: Vec<JournalStep>,
}

impl Committed {
    /// An append of three rows to a table of two.
    fn new(format: &TableFormat, partition_by: &[&str]) -> Committed {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = append(created(&root, format, partition_by).as_ref(), &[1, 2]);
        let mut before = Disk::new();
        content(&root, &mut before);
        let (new, steps) = steps_below(&root, || append(table.as_ref(), &[3, 4, 5]));
        Committed { _folder: folder, root, location: new.location().to_owned(), before, steps }
    }

    /// Tries every state that a crash may leave after some of the steps. Returns their number and the wrong ones.
    fn crashes(&self) -> (usize, Vec<String>) {
        let (mut tried, mut wrong) = (0, Vec::new());
        for end in 0..=self.steps.len() {
            let done = &self.steps[..end];
            let open: Vec<usize> = (0..end).filter(|i| !is_synced(&done[*i], &done[i + 1..])).collect();
            let mut losses: BTreeSet<BTreeSet<usize>> =
                BTreeSet::from([BTreeSet::new(), open.iter().copied().collect()]);
            losses.extend(open.iter().map(|one| BTreeSet::from([*one])));
            losses.extend(open.iter().map(|kept| open.iter().copied().filter(|i| i != kept).collect()));
            let expected: &[u64] = if end == self.steps.len() { &[5] } else { &[2, 5] };
            for lost in losses {
                tried += 1;
                match rows_of(&after(&self.before, done, &lost), &self.root, &self.location) {
                    Ok(rows) if expected.contains(&rows) => {}
                    rows => wrong.push(format!("after {end} steps without {lost:?}: {rows:?}")),
                }
            }
        }
        (tried, wrong)
    }
}

#[test]
fn a_crash_leaves_the_old_or_the_new_version() {
    for format in catalog::FORMATS {
        for partition_by in PARTITIONINGS {
            let (tried, wrong) = Committed::new(format, partition_by).crashes();
            assert!(tried > 20 && wrong.is_empty(), "{}: {tried} states, {wrong:#?}", format.id);
        }
    }
}

#[test]
fn a_missing_sync_is_found() {
    for format in catalog::FORMATS {
        for kept in [
            |step: &JournalStep| !matches!(step, JournalStep::SyncFile(..)),
            |step: &JournalStep| !matches!(step, JournalStep::SyncFolder(_)),
        ] {
            for partition_by in PARTITIONINGS {
                let mut committed = Committed::new(format, partition_by);
                committed.steps.retain(kept);
                assert!(!committed.crashes().1.is_empty(), "{} by {partition_by:?}", format.id);
            }
        }
    }
}

#[test]
fn a_data_file_that_is_synced_after_the_commit_is_found() {
    for format in catalog::FORMATS {
        let mut committed = Committed::new(format, &["p"]);
        let late = |step: &JournalStep| matches!(step, JournalStep::SyncFile(path, _) if is_data(path));
        let (late, mut steps): (Vec<_>, Vec<_>) = committed.steps.drain(..).partition(late);
        assert_eq!(late.len(), 3);
        steps.extend(late);
        committed.steps = steps;
        assert!(!committed.crashes().1.is_empty(), "{}", format.id);
    }
}

fn is_data(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "parquet")
}

/// Whether a file of this name makes a version of the table.
fn is_commit(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.ends_with(".metadata.json") || path.parent().unwrap().ends_with("snapshot") && name.starts_with("snapshot-")
}

/// Checks the order of the steps of a verb that makes `count` data files. Returns what is wrong.
fn disorder(steps: &[JournalStep], count: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    let link = |step: &JournalStep| match step {
        JournalStep::Link(_, to) => Some(to.clone()),
        _ => None,
    };
    let commit = steps.iter().position(|step| link(step).is_some_and(|to| is_commit(&to))).unwrap();
    let of = |wanted: &dyn Fn(&JournalStep) -> bool| -> Vec<usize> {
        (0..steps.len()).filter(|at| wanted(&steps[*at])).collect()
    };
    let made = of(&|step| link(step).is_some_and(|to| is_data(&to)));
    if made.len() != count {
        wrong.push(format!("{} files instead of {count}", made.len()));
    }
    let synced = of(&|step| matches!(step, JournalStep::SyncFile(path, _) if is_data(path)));
    if synced.len() != count || synced.iter().any(|at| *at > commit) {
        wrong.push(format!("syncs of files at {synced:?}, the commit at {commit}"));
    }
    for at in made {
        let path = link(&steps[at]).unwrap();
        let own = of(&|step| matches!(step, JournalStep::SyncFile(synced, _) if *synced == path));
        let folder = path.parent().unwrap();
        let folders = of(&|step| matches!(step, JournalStep::SyncFolder(synced) if synced == folder));
        if own.len() != 1 || !folders.iter().any(|synced| (at..commit).contains(synced)) {
            wrong.push(format!("{path:?} at {at} is synced at {own:?}, its folder at {folders:?}"));
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let JournalStep::MakeFolder(path) = step else { continue };
        let parent = JournalStep::SyncFolder(path.parent().unwrap().to_path_buf());
        if at < commit && !steps[at..commit].contains(&parent) {
            wrong.push(format!("the name of {path:?} is not durable"));
        }
    }
    wrong
}

#[test]
fn each_file_of_a_wide_append_is_synced_once_and_before_the_commit() {
    for format in catalog::FORMATS {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = created(&root, format, &["p"]);
        let ids: Vec<i64> = (0..150).collect();
        let (table, steps) = steps_below(&root, || append(table.as_ref(), &ids));
        assert_eq!(disorder(&steps, 150), Vec::<String>::new(), "{}", format.id);
        let folders: Vec<&Path> = steps
            .iter()
            .filter_map(|step| match step {
                JournalStep::SyncFolder(path) if path.file_name()?.to_str()?.starts_with("p=") => Some(path.as_path()),
                _ => None,
            })
            .collect();
        let distinct: BTreeSet<&Path> = folders.iter().copied().collect();
        assert_eq!((folders.len(), distinct.len()), (150, 150), "{}", format.id);
        // A second append, so that each partition has files to compact.
        let (table, steps) = steps_below(&root, || append(table.as_ref(), &ids));
        assert_eq!(disorder(&steps, 150), Vec::<String>::new(), "{}", format.id);
        let every = CompactOptions {
            rules: CompactRules { rewrite_all: true, ..CompactRules::default() },
            ..CompactOptions::default()
        };
        let options = BTreeMap::from([("compaction.min.file-num".to_owned(), "2".to_owned())]);
        let compaction = match format.id {
            "iceberg" => Maintenance::Compact(every),
            _ => Maintenance::CompactBuckets(BucketCompaction { options, ..BucketCompaction::default() }),
        };
        let (done, steps) = steps_below(&root, || table.maintain(&compaction));
        done.unwrap();
        assert_eq!(disorder(&steps, 150), Vec::<String>::new(), "{}", format.id);
    }
}

#[test]
fn a_message_describes_durable_files() {
    for format in catalog::FORMATS {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = created(&root, format, &["p"]);
        let written = || table.write(rows(table.as_ref(), &[1, 2, 3]), &WriteOptions::default()).unwrap();
        let (message, mut steps) = steps_below(&root, written);
        steps.push(JournalStep::Link(PathBuf::new(), root.join("the-message.metadata.json")));
        assert_eq!(disorder(&steps, 3), Vec::<String>::new(), "{}", format.id);
        table.abort(&[message]).unwrap();
    }
}

#[test]
fn a_failed_sync_fails_the_append_and_leaves_no_version_and_no_file() {
    for format in catalog::FORMATS {
        // The syncs of five files, of their folders, and of the folder above.
        for good in 0..11 {
            let folder = TempDir::new().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let table = append(created(&root, format, &["p"]).as_ref(), &[1, 2]);
            let mut before = Disk::new();
            content(&root, &mut before);
            let e = with_failing_syncs(&root, good, || try_append(table.as_ref(), &[3, 4, 5, 6, 7])).err().unwrap();
            assert!(e.to_string().contains("the disk is broken"), "{}, {good}: {e}", format.id);
            let mut disk = Disk::new();
            content(&root, &mut disk);
            disk.retain(|_, bytes| bytes.is_some());
            before.retain(|_, bytes| bytes.is_some());
            assert_eq!(disk, before, "{}, {good}", format.id);
        }
    }
}

#[test]
fn a_failed_sync_of_a_changelog_leaves_no_file() {
    let options = [
        ("changelog-producer", "input"),
        ("bucket", "1"),
        ("file-index.bloom-filter.columns", "p"),
        ("file-index.in-manifest-threshold", "1 B"),
    ];
    let mut failed = 0;
    for good in 0..40 {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = append(keyed(&root, &options).as_ref(), &[1, 2]);
        let mut before = Disk::new();
        content(&root, &mut before);
        let done = with_failing_syncs(&root, good, || try_append(table.as_ref(), &[3, 4, 5]));
        let Err(e) = done else { break };
        failed += 1;
        // Later syncs are those of the commit itself, which may have happened.
        if e.kind() == ErrorKind::CommitStateUnknown {
            break;
        }
        let mut disk = Disk::new();
        content(&root, &mut disk);
        disk.retain(|_, bytes| bytes.is_some());
        before.retain(|_, bytes| bytes.is_some());
        assert_eq!(disk.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{good}: {e}");
    }
    // The data file, its index, the file of the changelog and its index have syncs of their own, and so do the folders.
    assert!(failed > 5, "{failed}");
}
