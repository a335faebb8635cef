//! Failing commits to tables of a register: known, certainly not, or unknown.

use std::sync::Mutex;

use super::*;
use crate::iceberg::catalog::memory::MemoryRegister;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::types::{Field, PrimitiveType, Schema};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The change is made, and the reply is lost.
    LostReply,
    /// The change is not made, and nobody knows.
    Timeout,
    /// The change is made, the reply is lost, and another writer builds on it.
    LostReplyThenOther,
    /// Another writer is first, and the reply that says so is lost.
    LostRace,
    /// The change certainly is not made.
    Refused,
}

/// A register in memory, with a fault at the next change of a table.
#[derive(Debug)]
struct Faulty {
    names: MemoryRegister,
    fault: Mutex<Fault>,
}

impl Faulty {
    fn next(&self) -> Fault {
        std::mem::replace(&mut *self.fault.lock().unwrap(), Fault::None)
    }
}

fn lost() -> Error {
    Error::state_unknown("the connection was reset")
}

/// Another writer's version after `from`; returns its file.
fn other_version(names: &MemoryRegister, table: &TableIdent, from: &str) -> String {
    let store = open_store(from, &Default::default()).unwrap();
    let base = read_metadata(store.as_ref(), from).unwrap();
    let next = base.with_metadata_log(from, base.last_updated_ms).unwrap();
    let path = write_metadata(store.as_ref(), &next, number_of(from).unwrap() + 1).unwrap();
    assert!(names.swap(table, from, &path).unwrap());
    path
}

impl TableRegister for Faulty {
    fn location(&self, table: &TableIdent) -> Result<Option<String>> {
        self.names.location(table)
    }

    fn prepare(&self) -> Result<()> {
        Ok(())
    }

    fn insert(&self, table: &TableIdent, location: &str) -> Result<()> {
        match self.next() {
            Fault::Timeout => Err(lost()),
            Fault::LostReply => self.names.insert(table, location).and(Err(lost())),
            Fault::Refused => Err(Error::denied("not allowed")),
            _ => self.names.insert(table, location),
        }
    }

    fn swap(&self, table: &TableIdent, from: &str, to: &str) -> Result<bool> {
        match self.next() {
            Fault::None => return self.names.swap(table, from, to),
            Fault::Refused => return Err(Error::denied("not allowed")),
            Fault::Timeout => {}
            Fault::LostReply => assert!(self.names.swap(table, from, to)?),
            Fault::LostReplyThenOther => {
                assert!(self.names.swap(table, from, to)?);
                let next = other_version(&self.names, table, to);
                other_version(&self.names, table, &next);
            }
            Fault::LostRace => {
                let next = other_version(&self.names, table, from);
                other_version(&self.names, table, &next);
                assert!(!self.names.swap(table, from, to)?);
            }
        }
        Err(lost())
    }

    fn remove(&self, table: &TableIdent) -> Result<bool> {
        self.names.remove(table)
    }

    fn rename(&self, from: &TableIdent, to: &TableIdent) -> Result<bool> {
        self.names.rename(from, to)
    }

    fn tables(&self, namespace: &[String]) -> Result<Vec<TableIdent>> {
        self.names.tables(namespace)
    }

    fn namespaces(&self, below: &[String]) -> Result<BTreeSet<Vec<String>>> {
        self.names.namespaces(below)
    }

    fn is_used(&self, namespace: &[String]) -> Result<bool> {
        self.names.is_used(namespace)
    }

    fn properties(&self, namespace: &[String]) -> Result<BTreeMap<String, String>> {
        self.names.properties(namespace)
    }

    fn create(&self, namespace: &[String], properties: &BTreeMap<String, String>) -> Result<()> {
        self.names.create(namespace, properties)
    }

    fn set_properties(&self, namespace: &[String], removed: &[String], set: &BTreeMap<String, String>) -> Result<()> {
        self.names.set_properties(namespace, removed, set)
    }

    fn clear_properties(&self, namespace: &[String]) -> Result<()> {
        self.names.clear_properties(namespace)
    }

    fn is_of_this_process(&self) -> bool {
        true
    }
}

/// The metadata file of a published commit.
fn committed(publication: Publication) -> FoundMetadata {
    match publication {
        Publication::Committed(version) => version.found,
        other => panic!("{other:?}"),
    }
}

/// The error of a commit that certainly was not published.
fn refused(publication: Publication) -> Error {
    match publication {
        Publication::Refused(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The error of a commit that may have been published.
fn unknown(publication: Publication) -> Error {
    match publication {
        Publication::Unknown(error) => error,
        other => panic!("{other:?}"),
    }
}

struct Setup {
    folder: tempfile::TempDir,
    names: Arc<Faulty>,
    catalog: NamedCatalog,
    ident: TableIdent,
}

impl Setup {
    fn new() -> Setup {
        let folder = tempfile::tempdir().unwrap();
        let names = Arc::new(Faulty { names: MemoryRegister::new(None), fault: Mutex::new(Fault::None) });
        let catalog = NamedCatalog::new(names.clone(), "c", BTreeMap::new(), folder.path().to_str()).unwrap();
        catalog.create_namespace(&["db".to_owned()], &BTreeMap::new()).unwrap();
        Setup { folder, names, catalog, ident: TableIdent::parse("db.t").unwrap() }
    }

    fn create(&self) -> Result<OpenedTable> {
        let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
        let location = self.catalog.new_location(&self.ident)?.unwrap();
        let (spec, order) = (parse_partition_by::<&str>(&[], &schema)?, parse_sort_by::<&str>(&[], &schema)?);
        let metadata = new_table(&schema, &spec, &order, &location, &BTreeMap::new(), 2, 1)?;
        self.catalog.create(&self.ident, MetadataCommit::creating(&metadata)?, None)
    }

    fn fail(&self, fault: Fault) {
        *self.names.fault.lock().unwrap() = fault;
    }

    /// Publishes a version with a property.
    fn publish(&self, table: &OpenedTable) -> Publication {
        let mut next =
            table.metadata.with_metadata_log(&table.found.metadata_location, table.metadata.last_updated_ms).unwrap();
        next.properties.insert("ours".to_owned(), "yes".to_owned());
        let base = TableVersion { metadata: table.metadata.clone(), found: table.found.clone() };
        table.versions.publish(&base, &MetadataCommit::between(&base.metadata, next))
    }

    /// The number of metadata files.
    fn files(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("db/t/metadata")).map_or(0, Iterator::count)
    }

    fn is_ours(&self) -> bool {
        self.catalog.load(&self.ident).unwrap().metadata.properties.contains_key("ours")
    }
}

#[test]
fn a_lost_reply_is_found_out() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    setup.fail(Fault::LostReply);
    let found = committed(setup.publish(&table));
    assert!(setup.is_ours());
    assert_eq!(setup.catalog.load(&setup.ident).unwrap().found, found);
}

#[test]
fn a_lost_reply_is_found_out_behind_other_commits() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    setup.fail(Fault::LostReplyThenOther);
    committed(setup.publish(&table));
    assert!(setup.is_ours());
    assert_eq!(setup.files(), 4);
}

#[test]
fn a_lost_race_is_a_conflict_and_leaves_nothing() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    setup.fail(Fault::LostRace);
    let error = refused(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert_eq!(setup.files(), 3);
    // The same without a fault.
    let error = refused(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert_eq!(setup.files(), 3);
    assert!(!setup.is_ours());
}

#[test]
fn what_may_happen_yet_is_unknown_and_keeps_its_file() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    setup.fail(Fault::Timeout);
    let error = unknown(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::CommitStateUnknown);
    assert_eq!(setup.files(), 2);
}

#[test]
fn a_log_that_forgot_the_base_tells_nothing() {
    let setup = Setup::new();
    let mut table = setup.create().unwrap();
    Arc::make_mut(&mut table.metadata)
        .properties
        .insert("write.metadata.previous-versions-max".to_owned(), "1".to_owned());
    table.found = committed(setup.publish(&table));
    setup.fail(Fault::LostRace);
    assert_eq!(unknown(setup.publish(&table)).kind(), ErrorKind::CommitStateUnknown);
}

#[test]
fn refusals_are_certain() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    setup.fail(Fault::Refused);
    let error = refused(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(setup.files(), 1);
    setup.catalog.remove(&setup.ident, false).unwrap();
    let error = refused(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(setup.files(), 1);
}

#[test]
fn creations_end_the_same_ways() {
    for (fault, kind, files) in [
        (Fault::LostReply, None, 1),
        (Fault::Timeout, Some(ErrorKind::CommitStateUnknown), 1),
        (Fault::Refused, Some(ErrorKind::PermissionDenied), 0),
    ] {
        let setup = Setup::new();
        setup.fail(fault);
        assert_eq!(setup.create().err().map(|e| e.kind()), kind, "{fault:?}");
        assert_eq!(setup.files(), files, "{fault:?}");
    }
}
