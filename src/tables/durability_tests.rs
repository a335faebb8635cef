//! The state of a table after a crash at any point of a commit.
//!
//! The steps of a commit on the local disk are recorded. Each state that a crash may leave is then built in a folder
//! of its own. It has some of the first steps, where those that were not synced may be missing. The table must open
//! there, with the old rows or with the new ones. Once the commit returned, it must have the new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
use tempfile::TempDir;

use crate::data::arrow::schema::to_arrow;
use crate::format::catalog::NewTable;
use crate::format::commit::CommitOptions;
use crate::format::ident::TableIdent;
use crate::format::request::{ScanRequest, WriteOptions};
use crate::format::table_format::TableFormat;
use crate::rows::seam::Table;
use crate::store::journal::{JournalStep, steps_below};
use crate::tables::{catalog, open::open};
use crate::types::{Field, PrimitiveType as P, Schema};

/// The content of a folder: files with their bytes. Folders have no bytes.
type Disk = BTreeMap<PathBuf, Option<Vec<u8>>>;

fn created(warehouse: &Path, format: &TableFormat) -> Arc<dyn Table> {
    let properties = [("type", "filesystem"), ("warehouse", warehouse.to_str().unwrap())];
    let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let catalog = catalog::open("c", BTreeMap::from(properties)).unwrap();
    catalog.create_namespace(&["n".to_owned()], &BTreeMap::new()).unwrap();
    let schema = Schema::new(0, vec![Field::new(1, "id", true, P::Long)], vec![]);
    let ident = TableIdent::parse("n.t").unwrap();
    catalog.create_table(&ident, &schema, NewTable::default(), format).unwrap()
}

fn append(table: &dyn Table, ids: &[i64]) -> Arc<dyn Table> {
    let arrow = to_arrow(table.schema()).unwrap();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from(ids.to_vec()))]);
    let rows = Box::new(RecordBatchIterator::new([batch], arrow));
    table.append(rows, &WriteOptions::default(), &CommitOptions::default()).unwrap()
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

/// The disk after some steps without those that were lost. Bytes that were never synced are lost as well.
fn after(before: &Disk, steps: &[JournalStep], lost: &BTreeSet<usize>) -> Disk {
    let mut disk = before.clone();
    let mut synced: BTreeMap<&Path, &Vec<u8>> = BTreeMap::new();
    for (i, step) in steps.iter().enumerate() {
        if let JournalStep::SyncFile(path, bytes) = step {
            synced.insert(path, bytes);
        }
        if lost.contains(&i) {
            continue;
        }
        match step {
            JournalStep::MakeFolder(path) => drop(disk.insert(path.clone(), None)),
            JournalStep::Link(from, to) | JournalStep::Rename(from, to) => {
                disk.insert(to.clone(), Some(synced.get(from.as_path()).map_or(Vec::new(), |bytes| bytes.to_vec())));
            }
            JournalStep::Remove(path) => drop(disk.remove(path)),
            JournalStep::SyncFile(..) | JournalStep::SyncFolder(_) => {}
        }
    }
    disk
}

/// The rows of the table in a disk's state, which replaces the folder's content.
fn rows_of(disk: &Disk, root: &Path, location: &str) -> Result<u64, String> {
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
    fn new(format: &TableFormat) -> Committed {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let table = append(created(&root, format).as_ref(), &[1, 2]);
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
        let (tried, wrong) = Committed::new(format).crashes();
        assert!(tried > 20 && wrong.is_empty(), "{}: {tried} states, {wrong:#?}", format.id);
    }
}

#[test]
fn a_missing_sync_is_found() {
    for format in catalog::FORMATS {
        for kept in [
            |step: &JournalStep| !matches!(step, JournalStep::SyncFile(..)),
            |step: &JournalStep| !matches!(step, JournalStep::SyncFolder(_)),
        ] {
            let mut committed = Committed::new(format);
            committed.steps.retain(kept);
            assert!(!committed.crashes().1.is_empty(), "{}", format.id);
        }
    }
}
