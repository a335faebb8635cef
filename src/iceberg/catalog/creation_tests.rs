//! The first commit of a new table, on servers that do not do what was asked.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::*;
use crate::iceberg::spec::metadata_build::new_table;
use crate::iceberg::spec::partition_by::parse_partition_by;
use crate::iceberg::spec::snapshot::Snapshot;
use crate::iceberg::spec::sort_order::parse_sort_by;
use crate::store::open_store;
use crate::types::{Field, PrimitiveType, Schema};

const ID: i64 = 7;

/// The pointer of a catalog. The next publication has this result, and leaves this version.
#[derive(Debug)]
struct Careless {
    newest: Mutex<Option<TableMetadata>>,
    next: Mutex<Option<(Publication, Option<TableMetadata>)>>,
}

fn at(metadata: TableMetadata) -> TableVersion {
    TableVersion {
        metadata: Arc::new(metadata),
        found: FoundMetadata { metadata_location: String::new(), version: None },
    }
}

impl MetadataPointer for Careless {
    fn load(&self) -> Result<TableVersion> {
        let newest = self.newest.lock().unwrap().clone();
        newest.map(at).ok_or_else(|| Error::not_found("no such table"))
    }

    fn publish(&self, _: &TableVersion, _: &MetadataCommit) -> Publication {
        let (result, newest) = self.next.lock().unwrap().take().unwrap();
        *self.newest.lock().unwrap() = newest;
        result
    }

    fn was_published(&self, _: &TableVersion, _: &MetadataCommit) -> bool {
        false
    }

    fn check_writable(&self, _: &TableMetadata, _: &FoundMetadata) -> Result<()> {
        Ok(())
    }

    fn root(&self, metadata: &TableMetadata, _: &FoundMetadata) -> String {
        metadata.location.clone()
    }

    fn is_by_folder(&self) -> bool {
        false
    }

    fn catalog(&self) -> Option<KeptBy<'_>> {
        None
    }
}

fn empty() -> TableMetadata {
    let schema = Schema::new(0, vec![Field::new(1, "id", false, PrimitiveType::Long)], vec![]);
    let spec = parse_partition_by::<&str>(&[], &schema).unwrap();
    let order = parse_sort_by::<&str>(&[], &schema).unwrap();
    new_table(&schema, &spec, &order, "/nowhere/t", &BTreeMap::new(), 2, 1).unwrap()
}

/// The table with a snapshot.
fn filled(table: &TableMetadata, id: i64) -> TableMetadata {
    let manifest_list = Some("/nowhere/t/metadata/snap.avro".to_owned());
    let snapshot = Snapshot { id, sequence_number: 1, timestamp_ms: 2, manifest_list, ..Snapshot::default() };
    TableMetadata { snapshots: vec![Arc::new(snapshot)], last_sequence_number: 1, ..table.clone() }
}

fn renamed(table: TableMetadata) -> TableMetadata {
    TableMetadata { table_uuid: Some(uuid::Uuid::new_v4().to_string()), ..table }
}

/// Sends the first commit of `staged`, with the changes of `next`. Returns its result, and whether the newest version
/// shows it.
fn first(
    staged: &TableMetadata,
    next: TableMetadata,
    result: Publication,
    newest: Option<TableMetadata>,
) -> (Publication, bool) {
    let versions = Arc::new(Careless { newest: Mutex::default(), next: Mutex::new(Some((result, newest))) });
    let store = open_store("/nowhere/t", &BTreeMap::new()).unwrap();
    let TableVersion { metadata, found } = at(staged.clone());
    let opened = OpenedTable { store, metadata, found, versions };
    let (pointer, _) = CreatingPointer::of(&TableIdent::parse("db.t").unwrap(), opened);
    let base = pointer.load().unwrap();
    let commit = MetadataCommit::between(&base.metadata, next);
    let result = pointer.publish(&base, &commit);
    let _ = pointer.load();
    (result, pointer.was_published(&base, &commit))
}

fn conflict() -> Publication {
    Publication::Unknown(Error::conflict("late"))
}

fn lost() -> Publication {
    Publication::Unknown(Error::store("no answer"))
}

fn kind(result: &Publication) -> (&'static str, Option<ErrorKind>) {
    match result {
        Publication::Committed(_) => ("committed", None),
        Publication::Refused(e) => ("refused", Some(e.kind())),
        Publication::Unknown(e) => ("unknown", Some(e.kind())),
        Publication::Disputed(e) => ("disputed", Some(e.kind())),
    }
}

#[test]
fn a_table_without_the_rows_is_no_proof() {
    let staged = empty();
    let next = || filled(&staged, ID);
    for (answer, expected) in [
        (conflict(), ("unknown", Some(ErrorKind::CommitConflict))),
        (lost(), ("unknown", Some(ErrorKind::Store))),
        (Publication::Refused(Error::invalid("no")), ("refused", Some(ErrorKind::InvalidInput))),
    ] {
        // The server created the table when it was staged.
        let (result, is_shown) = first(&staged, next(), answer, Some(staged.clone()));
        assert_eq!((kind(&result), is_shown), (expected, false));
    }
    let (result, _) = first(&staged, next(), conflict(), Some(filled(&staged, 8)));
    assert_eq!(kind(&result), ("unknown", Some(ErrorKind::CommitStateUnknown)));
    let (result, _) = first(&staged, next(), lost(), Some(next()));
    assert_eq!(kind(&result).0, "committed");
}

#[test]
fn the_rows_are_a_proof_under_any_identity() {
    let staged = empty();
    let next = || filled(&staged, ID);
    let (result, _) = first(&staged, next(), lost(), Some(renamed(next())));
    assert_eq!(kind(&result).0, "committed");
    // Another table that may be this one, and one that can't be.
    let (result, _) = first(&staged, next(), lost(), Some(renamed(staged.clone())));
    assert_eq!(kind(&result), ("unknown", Some(ErrorKind::Store)));
    let (result, _) = first(&staged, next(), conflict(), Some(renamed(staged.clone())));
    assert_eq!(kind(&result), ("refused", Some(ErrorKind::AlreadyExists)));
}

#[test]
fn a_disputed_version_stays_disputed() {
    let staged = empty();
    let disputed = Publication::Disputed(Error::state_unknown("two files"));
    let (result, _) = first(&staged, filled(&staged, ID), disputed, Some(filled(&staged, ID)));
    assert_eq!(kind(&result).0, "disputed");
}

#[test]
fn changes_without_rows_are_looked_for() {
    let staged = empty();
    let mut next = staged.clone();
    next.properties.insert("a".to_owned(), "b".to_owned());
    let (result, is_shown) = first(&staged, next.clone(), lost(), Some(staged.clone()));
    assert_eq!((kind(&result).0, is_shown), ("unknown", false));
    let (result, is_shown) = first(&staged, next.clone(), lost(), Some(next));
    assert_eq!((kind(&result).0, is_shown), ("committed", true));
    let (result, is_shown) = first(&staged, staged.clone(), lost(), Some(staged.clone()));
    assert_eq!((kind(&result).0, is_shown), ("committed", true));
}
