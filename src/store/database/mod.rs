//! Databases: where SQL catalogs keep their tables.
//!
//! A connection lives as long as one call, so that nothing of it survives into a forked process.

mod postgres;
mod postgres_tls;
mod sqlite;

use std::sync::Arc;

use crate::error::{Error, Result};

/// A statement and its values. Parameters are numbered: `?1`, `?2`, ….
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// SQL that SQLite and PostgreSQL both know.
    pub text: String,
    /// The parameters' values.
    pub values: Vec<String>,
}

impl Statement {
    /// A statement with values.
    pub fn new(text: impl Into<String>, values: &[&str]) -> Statement {
        Statement { text: text.into(), values: values.iter().map(|v| (*v).to_owned()).collect() }
    }
}

/// A row of texts, some of them null.
pub type Row = Vec<Option<String>>;

/// A database whose values are all texts.
pub trait Database: Send + Sync + std::fmt::Debug {
    /// The rows that a statement gives.
    ///
    /// # Errors
    /// `Store` if the database can't be reached or refuses the statement.
    fn query(&self, statement: &Statement) -> Result<Vec<Row>>;

    /// Runs statements in one transaction, and says how many rows each changed.
    ///
    /// # Errors
    /// `AlreadyExists` if a row with a key that must be unique is there; `CommitStateUnknown` if it can't be told whether the
    /// transaction was committed; after every other error it certainly was not.
    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>>;

    /// The columns of a table, none if there is no such table.
    ///
    /// # Errors
    /// As [`Database::query`].
    fn columns(&self, table: &str) -> Result<Vec<String>>;
}

/// Opens the database of a URI: `sqlite:////path/to/file.db` or `postgresql://user:password@host:port/name`, also with
/// SQLAlchemy's names of drivers (`postgresql+psycopg2:`) or JDBC's prefix. `None` for SQLite's databases in memory.
///
/// # Errors
/// `InvalidInput` for a URI that is none; `Unsupported` for other databases.
pub fn open_database(uri: &str, user: Option<&str>, password: Option<&str>) -> Result<Option<Arc<dyn Database>>> {
    let (uri, of_java) = match uri.strip_prefix("jdbc:") {
        Some(rest) => (rest, true),
        None => (uri, false),
    };
    let (scheme, rest) = uri.split_once(':').ok_or_else(|| {
        Error::invalid("the uri of a SQL catalog names no kind of database")
            .hint("Write sqlite:////path/to/catalog.db or postgresql://user@host/database")
    })?;
    match scheme.split_once('+').map_or(scheme, |(kind, _)| kind) {
        "sqlite" => {
            let path = if of_java { rest } else { rest.strip_prefix("//").unwrap_or(rest) };
            let path = if of_java { path } else { path.strip_prefix('/').unwrap_or(path) };
            let opened = sqlite::Sqlite::new(path)?;
            Ok(opened.map(|database| Arc::new(database) as Arc<dyn Database>))
        }
        "postgresql" | "postgres" => {
            let database = postgres::Postgres::new(&format!("postgresql:{rest}"), user, password)?;
            Ok(Some(Arc::new(database)))
        }
        other => Err(Error::unsupported(format!("SQL catalogs in '{other}' are not supported"))
            .hint("Supported databases: sqlite, postgresql")),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
