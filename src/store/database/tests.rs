use std::sync::Arc;

use super::*;
use crate::error::ErrorKind;

fn sqlite(folder: &tempfile::TempDir) -> Arc<dyn Database> {
    open_database(&format!("sqlite:///{}/t.db", folder.path().display()), None, None).unwrap().unwrap()
}

#[test]
fn a_transaction_is_made_as_a_whole_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(&folder);
    assert!(database.columns("t").unwrap().is_empty());
    let make = Statement::new("CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, v VARCHAR(9))", &[]);
    database.execute(&[make]).unwrap();
    assert_eq!(database.columns("t").unwrap(), ["k", "v"]);
    let put = |k: &str| Statement::new("INSERT INTO t (k) VALUES (?1)", &[k]);
    assert_eq!(database.execute(&[put("a"), put("b")]).unwrap(), [1, 1]);
    let error = database.execute(&[put("c"), put("a")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    let rows = database.query(&Statement::new("SELECT k, v FROM t ORDER BY k", &[])).unwrap();
    assert_eq!(rows, [vec![Some("a".to_owned()), None], vec![Some("b".to_owned()), None]]);
}

#[test]
fn a_transaction_that_misses_a_row_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let database = sqlite(&folder);
    let make = Statement::new("CREATE TABLE t (k VARCHAR(9) PRIMARY KEY, v VARCHAR(9))", &[]);
    let put = Statement::new("INSERT INTO t (k, v) VALUES (?1, ?2)", &["a", "old"]);
    database.execute(&[make, put]).unwrap();
    let set = |k: &str, v: &str| Statement::new("UPDATE t SET v = ?1 WHERE k = ?2", &[v, k]);
    let value = || database.query(&Statement::new("SELECT v FROM t", &[])).unwrap()[0][0].clone().unwrap();
    assert!(!database.execute_if_each_changes(&[set("a", "new"), set("b", "new")]).unwrap());
    assert_eq!(value(), "old");
    assert!(database.execute_if_each_changes(&[set("a", "new"), set("a", "newer")]).unwrap());
    assert_eq!(value(), "newer");
}

#[test]
fn a_locked_database_is_waited_for_and_then_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let uri = format!("sqlite:///{}?timeout=0.2", path.display());
    let database = open_database(&uri, None, None).unwrap().unwrap();
    database.execute(&[Statement::new("CREATE TABLE t (k VARCHAR(9))", &[])]).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = database.execute(&[Statement::new("DELETE FROM t", &[])]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(error.to_string().contains("locked"), "{error}");
}

#[test]
fn waiting_for_a_lock_can_be_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let database = sqlite(&folder);
    database.execute(&[Statement::new("CREATE TABLE t (k VARCHAR(9))", &[])]).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let statement = Statement::new("DELETE FROM t", &[]);
    let stopped = crate::parallel::Cancellation::after(2).scope(|| database.execute(&[statement]));
    assert_eq!(stopped.unwrap_err().message(), "stopped");
}

#[cfg(unix)]
#[test]
fn a_device_or_a_pipe_is_no_database() {
    let error = open_database("sqlite:////dev/zero", None, None).unwrap().unwrap().columns("t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

#[test]
fn uris() {
    for memory in ["sqlite://", "sqlite:///:memory:", "jdbc:sqlite::memory:"] {
        assert!(open_database(memory, None, None).unwrap().is_none(), "{memory}");
    }
    for (uri, path) in [
        ("sqlite:////a/b.db", "/a/b.db"),
        ("sqlite+pysqlite:////a/b.db", "/a/b.db"),
        ("jdbc:sqlite:/a/b.db", "/a/b.db"),
    ] {
        let shown = format!("{:?}", open_database(uri, None, None).unwrap().unwrap());
        assert!(shown.contains(&format!("\"{path}\"")), "{shown}");
    }
    for postgres in ["postgresql+psycopg2://u:secret@h:5432/d", "postgresql://u:secret@h/d", "jdbc:postgresql://h/d"] {
        let shown = format!("{:?}", open_database(postgres, None, Some("secret")).unwrap().unwrap());
        assert!(shown.contains("d at") && !shown.contains("secret"), "{shown}");
    }
    for wrong in ["nothing", "mysql://h/d", "sqlite:////a.db?mode=ro", "postgresql://h/d?nonsense=1"] {
        assert!(open_database(wrong, None, None).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.db"), "no database at all, but a text").unwrap();
    let error = sqlite(&folder).columns("t").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let missing = open_database("sqlite:////no/such/folder/t.db", None, None).unwrap().unwrap();
    assert_eq!(missing.columns("t").unwrap_err().kind(), ErrorKind::Store);
}
