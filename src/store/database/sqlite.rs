//! SQLite files that hold catalogs: connections, and locks of others.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params_from_iter};

use super::uri_parameters::UriParameters;
use super::{Database, Statement, TextRow};
use crate::error::{Error, Result};
use crate::parallel::{POLL_INTERVAL, check_cancelled};
use crate::store::location;

/// How long to wait for other writers unless the URI says `timeout=SECONDS`.
const WAIT: Duration = Duration::from_secs(30);

/// A database file.
#[derive(Debug)]
pub(super) struct Sqlite {
    path: String,
    wait: Duration,
}

impl Sqlite {
    /// The database of a path, which may be followed by `?timeout=SECONDS`; `None` if it is one in memory.
    pub(super) fn new(path: &str) -> Result<Option<Sqlite>> {
        let mut parameters = UriParameters::of(path);
        let path = parameters.place();
        let unsupported = |name: &str, value: &str| {
            Error::unsupported(format!("the option '{name}={value}' of a SQLite database is not supported"))
                .hint("Only timeout=SECONDS is")
        };
        let wait = match parameters.take("timeout")? {
            Some(text) => {
                let seconds = text.parse::<f64>().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
                seconds.ok_or_else(|| unsupported("timeout", &text))?
            }
            None => WAIT,
        };
        if let Some((name, value)) = parameters.rest().first() {
            return Err(unsupported(name, value));
        }
        if path.is_empty() || path == ":memory:" {
            return Ok(None);
        }
        Ok(Some(Sqlite { path: location::absolute(path)?, wait: wait.min(Duration::from_secs(3600)) }))
    }

    fn open(&self) -> Result<Connection> {
        check_cancelled()?;
        if Path::new(&self.path).metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Error::invalid("the path of the database is not a file").with("database", &self.path));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags).map_err(|e| self.failed(e))?;
        UNTIL.set(Instant::now().checked_add(self.wait));
        connection.busy_handler(Some(go_on_waiting)).map_err(|e| self.failed(e))?;
        Ok(connection)
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        let code = error.sqlite_error_code();
        if let (Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked), Err(cancelled)) = (code, check_cancelled()) {
            return cancelled;
        }
        let kind = match code {
            Some(ErrorCode::ConstraintViolation) => Error::already_exists("the row is in the database already"),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::store("another process keeps the database locked").hint("Try again; nothing was changed")
            }
            Some(ErrorCode::CannotOpen) => Error::store("the database can't be opened").hint(
                "Check that its folder exists and can be written. An absolute path has four slashes: \
                     sqlite:////lake/catalog.db",
            ),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Error::denied("the database can't be written"),
            Some(ErrorCode::NotADatabase) => Error::invalid("the file is not a SQLite database"),
            _ => Error::store("the database failed"),
        };
        kind.with("database", &self.path).because(error)
    }
}

thread_local! {
    /// When this thread gives up waiting for other writers.
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Waits a little for another writer. Returns false to give up.
fn go_on_waiting(_waits: i32) -> bool {
    let in_time = UNTIL.get().is_some_and(|until| Instant::now() < until);
    if !in_time || check_cancelled().is_err() {
        return false;
    }
    std::thread::sleep(POLL_INTERVAL);
    true
}

impl Database for Sqlite {
    fn query(&self, statement: &Statement) -> Result<Vec<TextRow>> {
        let connection = self.open()?;
        let read = || -> rusqlite::Result<Vec<TextRow>> {
            let mut prepared = connection.prepare(&statement.text)?;
            let width = prepared.column_count();
            let row = |r: &rusqlite::Row<'_>| (0..width).map(|i| r.get::<_, Option<String>>(i)).collect();
            prepared.query_map(params_from_iter(&statement.values), row)?.collect()
        };
        read().map_err(|e| self.failed(e))
    }

    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>> {
        self.committed(statements, |_| true).map(|(_, counts)| counts)
    }

    fn execute_if_each_changes(&self, statements: &[Statement]) -> Result<bool> {
        self.committed(statements, |count| count > 0).map(|(is_committed, _)| is_committed)
    }

    fn columns(&self, table: &str) -> Result<Vec<String>> {
        let rows = self.query(&Statement::new("SELECT name FROM pragma_table_info(?1)", &[table]))?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

impl Sqlite {
    /// Runs statements in one transaction, and commits it if all their counts are as expected. Returns whether it did,
    /// and the counts.
    fn committed(&self, statements: &[Statement], is_expected: fn(u64) -> bool) -> Result<(bool, Vec<u64>)> {
        let mut connection = self.open()?;
        // Taking the write lock at once: a reader that turns writer could only fail.
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|e| self.failed(e))?;
        let run = |s: &Statement| transaction.execute(&s.text, params_from_iter(&s.values)).map(|n| n as u64);
        let counts = statements.iter().map(run).collect::<rusqlite::Result<Vec<_>>>().map_err(|e| self.failed(e))?;
        if !counts.iter().all(|count| is_expected(*count)) {
            transaction.rollback().map_err(|e| self.failed(e))?;
            return Ok((false, counts));
        }
        transaction.commit().map_err(|e| match e.sqlite_error_code() {
            // Readers kept the file locked: the transaction is rolled back when the connection closes.
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.failed(e),
            _ => Error::state_unknown("it is unknown whether the database committed the transaction")
                .with("database", &self.path)
                .because(e),
        })?;
        Ok((true, counts))
    }
}
