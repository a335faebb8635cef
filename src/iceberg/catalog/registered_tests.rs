//! Failing commits to tables of a register: known, certainly not, or unknown.

use std::sync::Mutex;

use super::*;
use crate::format::register::{JointSwaps, TableSwap};
use crate::iceberg::catalog::joint_publication::TableCommit;
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
    /// Commits come after the register's answer, and delete the file that it named.
    OldAnswer,
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
        let found = self.names.location(table)?;
        let is_old = *self.fault.lock().unwrap() == Fault::OldAnswer;
        if let Some(old) = found.as_ref().filter(|_| is_old) {
            self.next();
            other_version(&self.names, table, old);
            std::fs::remove_file(old).unwrap();
        }
        Ok(found)
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
            Fault::None | Fault::OldAnswer => return self.names.swap(table, from, to),
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

    fn joint_swaps(&self) -> Option<&dyn JointSwaps> {
        Some(self)
    }

    fn remove(&self, table: &TableIdent) -> Result<bool> {
        self.names.remove(table)
    }

    fn remove_at(&self, table: &TableIdent, at: &str) -> Result<bool> {
        if self.next() == Fault::LostRace {
            other_version(&self.names, table, at);
        }
        self.names.remove_at(table, at)
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

impl JointSwaps for Faulty {
    /// Another writer changes the last table.
    fn swap_all(&self, swaps: &[TableSwap<'_>]) -> Result<bool> {
        let last = swaps.last().unwrap();
        match self.next() {
            Fault::None | Fault::OldAnswer => return self.names.swap_all(swaps),
            Fault::Refused => return Err(Error::denied("not allowed")),
            Fault::Timeout => {}
            Fault::LostReply => assert!(self.names.swap_all(swaps)?),
            Fault::LostReplyThenOther => {
                assert!(self.names.swap_all(swaps)?);
                other_version(&self.names, last.table, last.to.unwrap());
            }
            Fault::LostRace => {
                other_version(&self.names, last.table, last.from);
                assert!(!self.names.swap_all(swaps)?);
            }
        }
        Err(lost())
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
        self.create_as(&self.ident)
    }

    fn create_as(&self, ident: &TableIdent) -> Result<OpenedTable> {
        let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
        let location = self.catalog.new_location(ident)?.unwrap();
        let (spec, order) = (parse_partition_by::<&str>(&[], &schema)?, parse_sort_by::<&str>(&[], &schema)?);
        let metadata = new_table(&schema, &spec, &order, &location, &BTreeMap::new(), 2, 1)?;
        self.catalog.create(ident, MetadataCommit::creating(&metadata)?, None)
    }

    fn fail(&self, fault: Fault) {
        *self.names.fault.lock().unwrap() = fault;
    }

    /// Publishes a version with a property.
    fn publish(&self, table: &OpenedTable) -> Publication {
        let (base, commit) = ours(table);
        table.versions.publish(&base, &commit)
    }

    /// Publishes such versions of the tables `db.t` and `db.u`, while `db.v` stays as it is.
    fn publish_all(&self, tables: &[OpenedTable]) -> Publication<Vec<TableVersion>> {
        let idents: Vec<TableIdent> = ["db.t", "db.v", "db.u"].map(|name| TableIdent::parse(name).unwrap()).into();
        let commits: Vec<(TableVersion, MetadataCommit)> = tables.iter().map(ours).collect();
        let mut parts: Vec<TableCommit<'_>> = (idents.iter().zip(tables).zip(&commits))
            .map(|((ident, t), (base, commit))| TableCommit {
                ident,
                store: &t.store,
                versions: t.versions.as_ref(),
                base,
                commit,
            })
            .collect();
        let kept = MetadataCommit::between(&parts[1].base.metadata, (*parts[1].base.metadata).clone());
        parts[1].commit = &kept;
        self.catalog.joint_commits().unwrap().publish(&parts)
    }

    /// Three tables, in the order of [`Setup::publish_all`].
    fn create_all(&self) -> Vec<OpenedTable> {
        ["db.t", "db.v", "db.u"].map(|name| self.create_as(&TableIdent::parse(name).unwrap()).unwrap()).into()
    }

    /// The number of metadata files of each table, and whether it has our version.
    fn all(&self) -> [(usize, bool); 3] {
        ["t", "v", "u"].map(|name| {
            let folder = self.folder.path().join("db").join(name).join("metadata");
            let table = self.catalog.load(&TableIdent::parse(&format!("db.{name}")).unwrap()).unwrap();
            (std::fs::read_dir(folder).unwrap().count(), table.metadata.properties.contains_key("ours"))
        })
    }

    /// The number of metadata files.
    fn files(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("db/t/metadata")).map_or(0, Iterator::count)
    }

    fn is_ours(&self) -> bool {
        self.catalog.load(&self.ident).unwrap().metadata.properties.contains_key("ours")
    }
}

/// A version with a property.
fn ours(table: &OpenedTable) -> (TableVersion, MetadataCommit) {
    let mut next =
        table.metadata.with_metadata_log(&table.found.metadata_location, table.metadata.last_updated_ms).unwrap();
    next.properties.insert("ours".to_owned(), "yes".to_owned());
    let base = TableVersion { metadata: table.metadata.clone(), found: table.found.clone() };
    let commit = MetadataCommit::between(&base.metadata, next);
    (base, commit)
}

#[test]
fn several_tables_end_the_same_way() {
    for fault in [Fault::None, Fault::LostReply, Fault::LostReplyThenOther] {
        let setup = Setup::new();
        let tables = setup.create_all();
        setup.fail(fault);
        let Publication::Committed(versions) = setup.publish_all(&tables) else { panic!("{fault:?}") };
        let others = usize::from(fault == Fault::LostReplyThenOther);
        assert_eq!(setup.all(), [(2, true), (1, false), (2 + others, true)], "{fault:?}");
        assert_eq!(versions[1].found, tables[1].found);
        assert!(versions[2].metadata.properties.contains_key("ours"));
    }
    for (fault, kind, made, others) in [
        (Fault::LostRace, ErrorKind::CommitConflict, 0, 1),
        (Fault::Refused, ErrorKind::PermissionDenied, 0, 0),
        (Fault::Timeout, ErrorKind::CommitStateUnknown, 1, 0),
    ] {
        let setup = Setup::new();
        let tables = setup.create_all();
        setup.fail(fault);
        let error = match setup.publish_all(&tables) {
            Publication::Refused(e) if kind != ErrorKind::CommitStateUnknown => e,
            Publication::Unknown(e) if kind == ErrorKind::CommitStateUnknown => e,
            other => panic!("{fault:?}: {other:?}"),
        };
        assert_eq!(error.kind(), kind, "{fault:?}");
        assert_eq!(setup.all(), [(1 + made, false), (1, false), (1 + made + others, false)], "{fault:?}");
    }
}

#[test]
fn a_table_that_only_must_stay_is_in_the_way_too() {
    let setup = Setup::new();
    let tables = setup.create_all();
    committed(setup.publish(&tables[1]));
    let Publication::Refused(error) = setup.publish_all(&tables) else { panic!("published") };
    assert_eq!(error.kind(), ErrorKind::CommitConflict);
    assert!(error.to_string().contains("db.v"), "{error}");
    setup.catalog.remove(&TableIdent::parse("db.v").unwrap(), None).unwrap();
    let Publication::Refused(error) = setup.publish_all(&tables) else { panic!("published") };
    assert_eq!(error.kind(), ErrorKind::NotFound);
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
fn a_file_that_is_deleted_after_the_registers_answer_leads_to_the_newest() {
    let setup = Setup::new();
    let table = setup.create().unwrap();
    let pointer = setup.catalog.versions(&setup.ident, &table.store).unwrap();
    for number in [1, 2] {
        setup.fail(Fault::OldAnswer);
        let found = match number {
            1 => setup.catalog.load(&setup.ident).unwrap().found,
            _ => pointer.load().unwrap().found,
        };
        assert_eq!(number_of(&found.metadata_location), Some(number));
    }
    // A file that no commit has deleted is missing.
    let current = setup.names.location(&setup.ident).unwrap().unwrap();
    std::fs::remove_file(&current).unwrap();
    for error in [setup.catalog.load(&setup.ident).unwrap_err(), pointer.load().unwrap_err()] {
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(&current), "{error}");
    }
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
    setup.catalog.remove(&setup.ident, None).unwrap();
    let error = refused(setup.publish(&table));
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(setup.files(), 1);
}

#[test]
fn a_purge_deletes_the_files_of_the_version_that_it_removes() {
    let setup = Setup::new();
    setup.create().unwrap();
    setup.fail(Fault::LostRace);
    setup.catalog.remove(&setup.ident, Some(&OutsideLocations::new(vec![]).unwrap())).unwrap();
    assert_eq!((setup.files(), setup.catalog.load(&setup.ident).unwrap_err().kind()), (0, ErrorKind::NotFound));
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
