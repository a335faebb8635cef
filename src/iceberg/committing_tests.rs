//! The outcome of commits when the store fails: known, certainly not, or unknown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::array::{Int64Array, RecordBatch, RecordBatchIterator};
use arrow::record_batch::RecordBatchReader;

use super::*;
use crate::data::arrow::schema::to_arrow;
use crate::format::catalog::NewTable;
use crate::format::evolution::Evolution;
use crate::format::ident::TableIdent;
use crate::format::maintenance::ExpireOptions;
use crate::format::maintenance::Expiry;
use crate::format::request::ScanRequest;
use crate::iceberg::catalog::metadata_files;
use crate::iceberg::catalog_tables::IcebergCatalog;
use crate::iceberg::commit::preconditions::Preconditions;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::state::ICEBERG;
use crate::rows::seam::Catalog as _;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::store::testing::{Change, Hooked, Hooks};
use crate::types::{Field, PrimitiveType, Schema};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    /// Nobody knows whether the name of the next version is free.
    LostLook,
    /// The file is made, and the reply is lost.
    LostReply,
    /// The file is not made, and nobody knows.
    Timeout,
    Refused,
    /// Another writer makes the version first.
    LostRace,
    /// Another writer makes the same version under another name, just before.
    Forked,
    /// When the commit reads the list of manifests, the version that it began on has expired.
    Expired,
}

/// Local files, with a fault at the next publication of metadata.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub fault: Mutex<Fault>,
}

impl Faulty {
    /// Another writer appends, and expires the earlier snapshots.
    fn expire(&self, list: &str) -> Result<()> {
        let root = list.split("/metadata/").next().unwrap();
        let table = IcebergTable::open(root, BTreeMap::new(), false)?;
        let table = table.append(one_row(&table, 3))?;
        let expiry = Expiry { older_than_ms: Some(i64::MAX), retain_last: Some(1), ..Expiry::default() };
        table.expire_snapshots(&ExpireOptions { expiry, ..ExpireOptions::default() }).map(drop)
    }
}

fn one_row(table: &IcebergTable, id: i64) -> Box<dyn RecordBatchReader + Send> {
    let arrow = to_arrow(table.schema()).unwrap();
    let batch = RecordBatch::try_new(arrow.clone(), vec![Arc::new(Int64Array::from(vec![id]))]).unwrap();
    Box::new(RecordBatchIterator::new([Ok(batch)], arrow))
}

impl Hooks for Faulty {
    fn change(&self, change: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        let Change::PutIfAbsent(path) = change else { return work() };
        if !path.ends_with(".metadata.json") {
            return work();
        }
        match std::mem::replace(&mut *self.fault.lock().unwrap(), Fault::None) {
            Fault::None | Fault::Expired | Fault::LostLook => work(),
            Fault::LostReply => {
                work()?;
                Err(Error::store("the connection was reset"))
            }
            Fault::Timeout => Err(Error::store("no answer")),
            Fault::Refused => Err(Error::denied("not allowed")),
            Fault::Forked => {
                let before = path.replace("/v2.", "/v1.");
                LocalStore.put_if_absent(&path.replace(".metadata", ".gz.metadata"), &LocalStore.get(&before)?)?;
                work()
            }
            Fault::LostRace => {
                // The version before, under the next name.
                let version: u32 = path.rsplit("/v").next().unwrap().split('.').next().unwrap().parse().unwrap();
                let before = path.replace(&format!("/v{version}."), &format!("/v{}.", version - 1));
                LocalStore.put_if_absent(path, &LocalStore.get(&before)?)?;
                work()
            }
        }
    }

    fn refused(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::PermissionDenied
    }

    fn before_size(&self, path: &str) -> Result<()> {
        let mut fault = self.fault.lock().unwrap();
        if *fault == Fault::LostLook && path.ends_with("/v2.metadata.json") {
            *fault = Fault::None;
            return Err(Error::store("no answer"));
        }
        Ok(())
    }

    fn before_get(&self, path: &str) -> Result<()> {
        let expires = path.contains("/snap-") && *self.fault.lock().unwrap() == Fault::Expired;
        if !expires {
            return Ok(());
        }
        *self.fault.lock().unwrap() = Fault::None;
        self.expire(path)
    }
}

pub(crate) struct Setup {
    _folder: tempfile::TempDir,
    pub store: Arc<Hooked<Faulty>>,
    pub table: IcebergTable,
}

impl Setup {
    pub(crate) fn new() -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let warehouse = folder.path().to_str().unwrap().to_owned();
        let catalog = IcebergCatalog::open("c", BTreeMap::from([("warehouse".to_owned(), warehouse)])).unwrap();
        catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
        let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
        let ident = TableIdent::parse("db.t").unwrap();
        let created = catalog.create_table(&ident, &schema, NewTable::default(), &ICEBERG).unwrap();
        let store = Arc::new(Hooked(Faulty { fault: Mutex::new(Fault::None) }));
        let (metadata, found) = metadata_files::load(store.as_ref(), created.location()).unwrap();
        let table = IcebergTable::of(store.clone(), metadata, found, BTreeMap::new(), false).unwrap();
        Setup { _folder: folder, store, table }
    }

    fn rows(&self, id: i64) -> Box<dyn RecordBatchReader + Send> {
        one_row(&self.table, id)
    }

    pub(crate) fn append(&self, fault: Fault) -> Result<IcebergTable> {
        *self.store.fault.lock().unwrap() = fault;
        self.table.append(self.rows(1))
    }

    pub(crate) fn files(&self, folder: &str) -> usize {
        self.store.list(&format!("{}/{folder}", self.table.inner.root)).unwrap().len()
    }

    pub(crate) fn snapshots(&self) -> usize {
        self.table.refresh().unwrap().snapshots().len()
    }
}

#[test]
fn a_lost_reply_is_no_failure() {
    let setup = Setup::new();
    let table = setup.append(Fault::LostReply).unwrap();
    assert_eq!((table.snapshots().len(), setup.snapshots()), (1, 1));
    // The first version and hint. The second version, its list and its manifest.
    assert_eq!((setup.files("metadata"), setup.files("data")), (5, 1));
}

#[test]
fn nothing_is_removed_while_the_outcome_is_unknown() {
    let setup = Setup::new();
    let e = setup.append(Fault::Timeout).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitStateUnknown);
    assert!(e.to_string().contains("no answer") && e.hint_text().unwrap().contains("Nothing was removed"), "{e}");
    assert_eq!((setup.snapshots(), setup.files("metadata"), setup.files("data")), (0, 4, 1));
    assert_eq!(setup.append(Fault::None).unwrap().snapshots().len(), 1);
}

/// Readers take our file, but a commit that was built on the other one may still come.
#[test]
fn a_version_that_another_writer_published_too_is_unknown() {
    let setup = Setup::new();
    let e = setup.append(Fault::Forked).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::CommitStateUnknown);
    assert!(e.to_string().contains("two writers published version 2"), "{e}");
    // The first version and the hint. Our version with its list and its manifest, and the other one.
    assert_eq!((setup.snapshots(), setup.files("metadata"), setup.files("data")), (1, 6, 1));
    assert_eq!(setup.append(Fault::None).unwrap().snapshots().len(), 2);
}

#[test]
fn a_refused_commit_leaves_nothing() {
    let setup = Setup::new();
    let e = setup.append(Fault::Refused).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert_eq!((setup.snapshots(), setup.files("metadata"), setup.files("data")), (0, 2, 0));
}

/// Nothing was sent, so the outcome is known.
#[test]
fn a_commit_that_fails_before_its_publication_leaves_nothing() {
    let setup = Setup::new();
    let e = setup.append(Fault::LostLook).unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::Store, "no answer"));
    assert_eq!((setup.snapshots(), setup.files("metadata"), setup.files("data")), (0, 2, 0));
    assert_eq!(setup.append(Fault::None).unwrap().snapshots().len(), 1);
}

#[test]
fn a_lost_race_is_run_again_with_the_same_manifest() {
    let setup = Setup::new();
    let table = setup.append(Fault::LostRace).unwrap();
    assert!(table.metadata_location().ends_with("/v3.metadata.json"));
    // Three versions and the hint. The list of the second attempt, and the one manifest.
    assert_eq!((setup.files("metadata"), setup.files("data")), (6, 1));
}

#[test]
fn a_version_that_expires_meanwhile_is_left_for_the_next() {
    let setup = Setup::new();
    setup.append(Fault::None).unwrap();
    let table = setup.append(Fault::Expired).unwrap();
    // The other writer's row and ours: the first snapshot is gone.
    assert_eq!((table.snapshots().len(), setup.files("data")), (2, 3));
    assert_eq!(table.scan(ScanRequest::default()).unwrap().count().unwrap(), 3);
}

#[test]
fn a_file_that_is_gone_for_good_ends_a_commit() {
    let setup = Setup::new();
    let table = setup.append(Fault::None).unwrap();
    let list = table.inner.metadata.current_snapshot().unwrap().manifest_list.clone().unwrap();
    setup.store.delete(&list).unwrap();
    let before = setup.files("data");
    assert_eq!(setup.append(Fault::None).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(setup.files("data"), before);
}

#[test]
fn a_conflict_ends_a_commit_and_cleans_up() {
    let setup = Setup::new();
    let first = setup.append(Fault::None).unwrap();
    let message = first.write(setup.rows(2), 0).unwrap();
    let since = first.snapshot().map(|s| s.id);
    first.append(setup.rows(3)).unwrap();
    let before = (setup.files("metadata"), setup.files("data"));
    let preconditions = Preconditions { since, no_new_data: true, ..Preconditions::default() };
    let change = SnapshotProducer::new(setup.store.clone(), Operation::Overwrite).add_files(message.files);
    let change = change.with_preconditions(preconditions).owning_files();
    let IcebergOutcome::Failed(e) = commit(&first, vec![Box::new(change)]) else { panic!("it was committed") };
    assert_eq!(e.kind(), ErrorKind::CommitConflict);
    assert_eq!((setup.files("metadata"), setup.files("data")), (before.0, before.1 - 1));
}

#[test]
fn a_retry_property_that_is_no_number_is_refused_and_can_be_mended() {
    let setup = Setup::new();
    let (mut metadata, found) = metadata_files::load(setup.store.as_ref(), &setup.table.inner.root).unwrap();
    metadata.properties.insert("commit.retry.min-wait-ms".to_owned(), "soon".to_owned());
    let table = IcebergTable::of(setup.store.clone(), metadata, found, BTreeMap::new(), false).unwrap();
    let e = table.append(setup.rows(1)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
    let text = e.to_string();
    assert!(text.contains("commit.retry.min-wait-ms is 'soon'") && text.contains(&table.inner.root), "{text}");
    // The files that were written for the commit are gone.
    assert_eq!((setup.files("metadata"), setup.files("data")), (2, 0));
    let mend = Evolution::SetProperties(BTreeMap::from([("commit.retry.min-wait-ms".to_owned(), "7".to_owned())]));
    assert_eq!(table.evolve(&[mend]).unwrap().append(setup.rows(1)).unwrap().snapshots().len(), 1);
}

#[test]
fn rows_of_encrypted_tables_are_not_written_as_they_are() {
    let setup = Setup::new();
    let (mut metadata, found) = metadata_files::load(setup.store.as_ref(), &setup.table.inner.root).unwrap();
    metadata.properties.insert("encryption.key-id".to_owned(), "k".to_owned());
    let table = IcebergTable::of(setup.store.clone(), metadata, found, BTreeMap::new(), false).unwrap();
    let e = table.append(setup.rows(1)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(e.to_string().contains("encryption.key-id"), "{e}");
    assert_eq!((setup.files("metadata"), setup.files("data")), (2, 0));
}
