use std::sync::Arc;

use super::*;
use crate::paimon::catalog::warehouse::create_table;
use crate::paimon::commit::changes::Changes;
use crate::paimon::commit::producer::Commit;
use crate::paimon::spec::data_type::{DataField, TypeKind};
use crate::paimon::spec::schema::SchemaParts;
use crate::store::Store;
use crate::store::local::LocalStore;
use crate::store::testing::{Change, Hooked, Hooks};

fn table(dir: &tempfile::TempDir) -> TableFolder {
    let store: Arc<dyn Store> = Arc::new(LocalStore);
    let fields = vec![DataField::new(0, "id", TypeKind::Int.nullable())];
    let parts = SchemaParts { fields, ..SchemaParts::default() };
    create_table(&store, &format!("{}/t", dir.path().display()), parts).unwrap()
}

/// Empty commits, each with its own watermark.
fn commit(t: &TableFolder, watermarks: &[i64]) {
    for watermark in watermarks {
        Commit::new(t, Changes::default()).with_watermark(*watermark).run().into_result().unwrap();
    }
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

fn latest(t: &TableFolder) -> (i64, Option<i64>) {
    t.latest_snapshot().unwrap().map(|s| (s.id, s.watermark)).unwrap()
}

#[test]
fn a_tag_keeps_a_snapshot_under_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    assert_eq!(kind(t.create_tag("a", None)), ErrorKind::NotFound);
    commit(&t, &[1, 2, 3]);
    t.create_tag("two", Some(2)).unwrap();
    t.create_tag("now", None).unwrap();
    assert_eq!((t.tag("two").unwrap().snapshot.id, t.tag("now").unwrap().snapshot.id), (2, 3));
    assert_eq!(kind(t.create_tag("two", Some(1))), ErrorKind::AlreadyExists);
    assert_eq!(kind(t.create_tag("x", Some(9))), ErrorKind::NotFound);
    assert_eq!(
        (kind(t.create_tag("a/b", None)), kind(t.create_tag(" ", None))),
        (ErrorKind::InvalidInput, ErrorKind::InvalidInput)
    );
}

#[test]
fn a_rollback_takes_commits_back() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[1, 2, 3, 4]);
    t.create_tag("two", Some(2)).unwrap();
    t.create_tag("four", None).unwrap();
    assert_eq!(kind(t.roll_back(&RollbackTo::Snapshot(7))), ErrorKind::NotFound);
    t.roll_back(&RollbackTo::Snapshot(3)).unwrap();
    assert_eq!((latest(&t), t.tag_names().unwrap()), ((3, Some(3)), vec!["two".to_owned()]));
    // The tag's snapshot has expired, and is restored.
    t.store().delete(&t.snapshot_path(1)).unwrap();
    t.store().delete(&t.snapshot_path(2)).unwrap();
    t.roll_back(&RollbackTo::Tag("two".to_owned())).unwrap();
    assert_eq!((latest(&t), t.snapshot_ids().unwrap()), ((2, Some(2)), vec![2]));
    assert_eq!(t.earliest_snapshot_id().unwrap(), Some(2));
    commit(&t, &[9]);
    assert_eq!(latest(&t), (3, Some(9)));
}

#[test]
fn an_expired_snapshot_that_a_tag_keeps_has_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[1, 2, 3]);
    t.create_tag("one", Some(1)).unwrap();
    t.store().delete(&t.snapshot_path(1)).unwrap();
    t.create_tag("again", Some(1)).unwrap();
    assert_eq!(t.tag("again").unwrap().snapshot.watermark, Some(1));
    assert_eq!(kind(t.create_tag("none", Some(7))), ErrorKind::NotFound);
    t.roll_back(&RollbackTo::Snapshot(1)).unwrap();
    assert_eq!((latest(&t), t.snapshot_ids().unwrap()), ((1, Some(1)), vec![1]));
}

/// Somebody commits to snapshot 3 just before it is removed.
#[derive(Debug)]
struct Late;

impl Hooks for Late {
    fn change(&self, change: Change<'_>, work: &dyn Fn() -> Result<()>) -> Result<()> {
        if let Change::Delete(path) = change
            && let Some(folder) = path.strip_suffix("snapshot-3")
        {
            let own = PaimonSnapshot::parse(&LocalStore.get(path)?)?;
            LocalStore.put_if_absent(&format!("{folder}snapshot-4"), &PaimonSnapshot { id: 4, ..own }.encode())?;
            LocalStore.put(&format!("{folder}LATEST"), b"4")?;
        }
        work()
    }
}

#[test]
fn what_comes_while_a_rollback_goes_on_is_taken_back_too() {
    for to in [RollbackTo::Snapshot(2), RollbackTo::Tag("one".to_owned())] {
        let dir = tempfile::tempdir().unwrap();
        let t = table(&dir);
        commit(&t, &[1, 2, 3]);
        t.create_tag("one", Some(1)).unwrap();
        t.store().delete(&t.snapshot_path(1)).unwrap();
        let late = TableFolder::open(Arc::new(Hooked(Late)), t.root()).unwrap();
        let target = late.roll_back(&to).unwrap();
        assert_eq!((latest(&t).0, t.snapshot_ids().unwrap().last().copied()), (target.id, Some(target.id)));
        // A hint would hide later commits.
        assert!(t.store().get(&format!("{}/snapshot/LATEST", t.root())).is_err());
        commit(&t, &[9]);
        assert_eq!(latest(&t), (target.id + 1, Some(9)));
    }
}

#[test]
fn a_branch_goes_its_own_way_and_can_be_followed() {
    let dir = tempfile::tempdir().unwrap();
    let t = table(&dir);
    commit(&t, &[1, 2]);
    t.create_tag("two", None).unwrap();
    commit(&t, &[3]);
    let branch = t.create_branch("b", Some("two")).unwrap();
    assert_eq!(kind(t.create_branch("b", None)), ErrorKind::AlreadyExists);
    assert_eq!(
        (kind(t.create_branch("12", None)), kind(t.create_branch("main", None))),
        (ErrorKind::InvalidInput, ErrorKind::InvalidInput)
    );
    commit(&branch, &[30, 40]);
    assert_eq!((latest(&branch), latest(&t)), ((4, Some(40)), (3, Some(3))));
    t.fast_forward("b").unwrap();
    assert_eq!((latest(&t), t.snapshot_ids().unwrap()), ((4, Some(40)), vec![1, 2, 3, 4]));
    assert_eq!(t.snapshot(3).unwrap().watermark, Some(30));
    t.drop_branch("b").unwrap();
    assert_eq!((t.branches().unwrap(), kind(t.drop_branch("b"))), (Vec::<String>::new(), ErrorKind::NotFound));
    let empty = t.create_branch("e", None).unwrap();
    assert!(empty.latest_snapshot().unwrap().is_none() && kind(t.fast_forward("e")) == ErrorKind::InvalidInput);
    commit(&empty, &[7]);
    assert_eq!(latest(&empty), (1, Some(7)));
}
