//! Each precondition against another commit that breaks it, and one that does not.

use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;
use crate::expr::parse;
use crate::format::task::{ColumnMetrics, FileMetrics};
use crate::iceberg::commit::producer::SnapshotProducer;
use crate::iceberg::commit::snapshot_input::Operation;
use crate::iceberg::plan::testing::{TestTable, file, partition};
use crate::types::value::encode_bound;
use crate::types::{Field, PartitionField, PartitionSpec, PrimitiveType, Schema, Transform, Value, ValueRef};

struct Setup {
    table: TestTable,
    since: Option<i64>,
}

fn schema() -> Schema {
    let field = |id, name| Field::new(id, name, false, PrimitiveType::Int);
    Schema::new(0, vec![field(1, "id"), field(2, "p")], vec![])
}

fn spec() -> PartitionSpec {
    let by_p = PartitionField { source_id: 2, field_id: 1000, name: "p".into(), transform: Transform::Identity };
    PartitionSpec { id: 0, fields: vec![by_p] }
}

fn in_p(p: i32) -> Arc<Partition> {
    partition(&spec(), &schema(), &[Some(Value::Int(p))])
}

/// Metrics of ids in a range, without nulls.
fn metrics(least: i32, greatest: i32) -> Option<FileMetrics> {
    let bound = |v: i32| Some([(1, encode_bound(ValueRef::Int(v)))].into_iter().collect());
    let count = |n: i64| Some([(1, n)].into_iter().collect());
    let metrics = ColumnMetrics {
        value_counts: count(1),
        null_value_counts: count(0),
        lower_bounds: bound(least),
        upper_bounds: bound(greatest),
        ..ColumnMetrics::default()
    };
    Some(metrics.into())
}

/// A data file of ids 1 to 9 in a partition.
fn data(name: &str, p: i32) -> DataFile {
    DataFile { metrics: metrics(1, 9), ..file(name, &in_p(p)) }
}

/// An equality delete of one id in a partition.
fn equality(name: &str, p: i32, id: i32) -> DataFile {
    let (content, equality_ids) = (FileContent::EqualityDeletes, Some(vec![1]));
    DataFile { content, equality_ids, metrics: metrics(id, id), ..file(name, &in_p(p)) }
}

fn vector(name: &str, of: &DataFile) -> DataFile {
    DataFile {
        content: FileContent::PositionDeletes,
        format: FileFormat::Puffin,
        referenced_data_file: Some(of.path.clone()),
        content_offset: Some(4),
        content_size_bytes: Some(40),
        ..file(name, &of.partition)
    }
}

impl Setup {
    /// Files a and b in partitions 1 and 2.
    fn new(version: u8) -> Setup {
        let mut setup = Setup { table: TestTable::new(version, &[schema()], &[spec()]), since: None };
        setup.commit(setup.change(Operation::Append).add_files([data("a", 1), data("b", 2)])).unwrap();
        setup.since = setup.table.metadata.current_snapshot_id;
        setup
    }

    fn change(&self, operation: Operation) -> SnapshotProducer {
        SnapshotProducer::new(self.table.store.clone(), operation)
    }

    fn commit(&mut self, mut change: SnapshotProducer) -> Result<()> {
        self.table.metadata = change.prepare(&self.table.metadata, 1)?;
        Ok(())
    }

    /// The clause on which a change with these preconditions fails. The change replaces file a.
    fn broken(&mut self, preconditions: Preconditions) -> Option<String> {
        let change = self.change(Operation::Overwrite).add_files([data("new", 1)]).remove_files([data("a", 1)]);
        let outcome = self.commit(change.with_preconditions(Preconditions { since: self.since, ..preconditions }));
        let e = outcome.err()?;
        assert_eq!(e.kind(), ErrorKind::CommitConflict, "{e}");
        assert!(e.hint_text().unwrap().contains("safe to run the operation again"));
        let context = |key: &str| e.context().iter().find(|(k, _)| *k == key).map(|(_, v)| v.clone());
        let snapshot = context("snapshot").map(|id| id.parse().unwrap());
        assert!(snapshot.is_none() || snapshot == self.table.metadata.current_snapshot_id);
        let others = snapshot.is_none() || ["operation", "file", "partition"].iter().all(|k| context(k).is_some());
        assert!(others, "{e}");
        Some(context("clause").unwrap())
    }
}

fn filter(text: &str) -> Option<Predicate> {
    Some(parse(text).unwrap())
}

#[test]
fn new_data_that_may_match_is_a_conflict() {
    let new_data = |filter| Preconditions { no_new_data: true, filter, ..Preconditions::default() };
    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Append).add_files([data("c", 2)])).unwrap();
    assert_eq!(setup.broken(new_data(filter("p = 2"))).unwrap(), "no new data files that may match p = 2");
    assert!(setup.broken(new_data(None)).is_some());
    let of = |p| Preconditions { no_new_data: true, partitions: Some(vec![in_p(p)]), ..Preconditions::default() };
    assert_eq!(setup.broken(of(2)).unwrap(), "no new data files that may match partitions p=2");
    assert!(setup.broken(new_data(filter("p = 2 and id > 9"))).is_none(), "bounds tell that no row matches");
    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Append).add_files([data("c", 2)])).unwrap();
    assert!(setup.broken(of(1)).is_none());
    let mut setup = Setup::new(2);
    // The same rows in another file are no new data.
    setup.commit(setup.change(Operation::Replace).add_files([data("c", 2)]).remove_files([data("b", 2)])).unwrap();
    assert!(setup.broken(new_data(None)).is_none());
}

#[test]
fn new_deletes_are_a_conflict() {
    let deletes = |filter| Preconditions { no_new_deletes: true, filter, ..Preconditions::default() };
    let of_removed = || Preconditions { no_new_deletes_of_removed: true, ..Preconditions::default() };
    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Delete).add_files([equality("d", 2, 5)])).unwrap();
    assert!(setup.broken(deletes(filter("p = 2"))).unwrap().starts_with("no new delete files"));
    assert!(setup.broken(deletes(filter("p = 1"))).is_none());

    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Delete).add_files([equality("d", 1, 5)])).unwrap();
    assert_eq!(setup.broken(of_removed()).unwrap(), "no new deletes for a");
    let keeps = setup.change(Operation::Replace).add_files([data("new", 1)]).remove_files([data("a", 1)]);
    let keeps = keeps.data_sequence_number(1).with_preconditions(Preconditions { since: setup.since, ..of_removed() });
    assert!(setup.commit(keeps).is_ok(), "the delete still reaches the new file");

    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Delete).add_files([equality("d", 1, 50)])).unwrap();
    assert!(setup.broken(of_removed()).is_none(), "file a has no row of that id");
}

#[test]
fn files_that_are_gone_are_a_conflict() {
    let removed = || Preconditions { no_removed_data: true, ..Preconditions::default() };
    let required = |may| Preconditions {
        required: HashSet::from(["b".to_owned()]),
        required_may_be_deleted: may,
        ..Preconditions::default()
    };
    let without_b = || {
        let mut setup = Setup::new(2);
        setup.commit(setup.change(Operation::Delete).remove_files([data("b", 2)])).unwrap();
        setup
    };
    assert!(without_b().broken(removed()).unwrap().starts_with("no removed data files"));
    assert_eq!(without_b().broken(required(false)).unwrap(), "data files of added deletes are still there");
    assert!(without_b().broken(required(true)).is_none());
    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Delete).remove_files([data("a", 1)])).unwrap();
    assert_eq!(setup.broken(Preconditions::default()).unwrap(), "removed files are still there");
}

#[test]
fn two_vectors_for_one_file_are_a_conflict() {
    for (of, conflict) in [(data("a", 1), true), (data("b", 2), false)] {
        let mut setup = Setup::new(3);
        setup.commit(setup.change(Operation::Delete).add_files([vector("v", &of)])).unwrap();
        let change = setup.change(Operation::Delete).add_files([vector("w", &data("a", 1))]);
        let preconditions = Preconditions { since: setup.since, ..Preconditions::default() };
        assert_eq!(setup.commit(change.with_preconditions(preconditions)).is_err(), conflict);
    }
}

#[test]
fn an_added_file_is_not_there_yet() {
    let mut setup = Setup::new(2);
    setup.commit(setup.change(Operation::Append).add_files([data("c", 1)])).unwrap();
    let absent = |name: &str| Preconditions { absent: HashSet::from([name.to_owned()]), ..Preconditions::default() };
    assert_eq!(setup.broken(absent("c")).unwrap(), "added files are not in the table yet");
    assert!(setup.broken(absent("new")).is_none());
}

#[test]
fn an_unknown_history_is_a_conflict() {
    let mut setup = Setup::new(2);
    setup.since = Some(12345);
    let preconditions = Preconditions { no_new_data: true, ..Preconditions::default() };
    let e = setup.commit(
        setup.change(Operation::Overwrite).with_preconditions(Preconditions { since: setup.since, ..preconditions }),
    );
    assert_eq!(e.unwrap_err().kind(), ErrorKind::CommitConflict);
}

#[test]
fn what_a_transaction_did_itself_is_no_conflict() {
    let mut setup = Setup::new(2);
    let own = setup.change(Operation::Append).add_files([data("c", 1)]);
    let id = own.snapshot_id();
    setup.commit(own).unwrap();
    let preconditions = Preconditions { since: setup.since, no_new_data: true, ..Preconditions::default() };
    let change =
        setup.change(Operation::Overwrite).remove_files([data("a", 1)]).with_preconditions(preconditions).after([id]);
    setup.commit(change).unwrap();
}

#[test]
fn files_that_a_version_cannot_have_are_refused() {
    let position = DataFile { format: FileFormat::Parquet, ..vector("d", &data("a", 1)) };
    for (version, added, fits) in [
        (1, equality("d", 1, 1), false),
        (2, vector("d", &data("a", 1)), false),
        (2, position.clone(), true),
        (3, position, false),
        (3, vector("d", &data("a", 1)), true),
        (3, equality("d", 1, 1), true),
    ] {
        let mut setup = Setup::new(version);
        let done = setup.commit(setup.change(Operation::Delete).add_files([added]));
        assert_eq!(done.is_ok(), fits, "v{version}");
    }
}

#[test]
fn rows_that_move_to_another_spec_are_out_of_reach_of_deletes_of_partitions() {
    let unpartitioned = PartitionSpec { id: 1, fields: vec![] };
    let global = partition(&unpartitioned, &schema(), &[]);
    let everywhere = DataFile { partition: global.clone(), ..equality("d", 1, 5) };
    // The delete, and the place where the rewrite of file a puts its rows.
    for (delete, moves, broken) in [
        (equality("d", 1, 5), true, Some("no new equality deletes of partitions")),
        // It is no longer known whether bounds of the new files prove that no row is deleted.
        (equality("d", 2, 5), true, Some("no new equality deletes of partitions")),
        (everywhere, true, None),
        (equality("d", 1, 5), false, None),
    ] {
        let mut setup = Setup { table: TestTable::new(2, &[schema()], &[spec(), unpartitioned.clone()]), since: None };
        setup.commit(setup.change(Operation::Append).add_files([data("a", 1), data("b", 2)])).unwrap();
        let since = setup.table.metadata.current_snapshot_id;
        setup.commit(setup.change(Operation::Delete).add_files([delete])).unwrap();
        let new = if moves { DataFile { partition: global.clone(), ..data("new", 1) } } else { data("new", 1) };
        let rewrite = setup.change(Operation::Replace).add_files([new]).remove_files([data("a", 1)]);
        let preconditions = Preconditions { since, no_new_deletes_of_removed: true, ..Preconditions::default() };
        let done = setup.commit(rewrite.data_sequence_number(1).with_preconditions(preconditions));
        let clause = done.err().map(|e| {
            assert_eq!(e.kind(), ErrorKind::CommitConflict);
            e.context().iter().find(|(k, _)| *k == "clause").unwrap().1.clone()
        });
        assert_eq!(clause.as_deref(), broken, "moves: {moves}");
    }
}
