//! Opens the database of a URI.

use std::sync::Arc;

use super::postgres::Postgres;
use super::query::Database;
use super::sqlite::Sqlite;
use crate::error::{Error, Result};

/// Opens the database of a URI: `sqlite:////path/to/file.db` or `postgresql://user:password@host:port/name`, also with
/// SQLAlchemy's names of drivers (`postgresql+psycopg2:`) or JDBC's prefix. `None` for SQLite's databases in memory.
///
/// # Errors
/// `InvalidInput` for text that is not a URI; `Unsupported` for other databases.
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
            let opened = Sqlite::new(path)?;
            Ok(opened.map(|database| Arc::new(database) as Arc<dyn Database>))
        }
        "postgresql" | "postgres" => {
            let database = Postgres::new(&format!("postgresql:{rest}"), user, password)?;
            Ok(Some(Arc::new(database)))
        }
        other => Err(Error::unsupported(format!("SQL catalogs in '{other}' are not supported"))
            .hint("Supported databases: sqlite, postgresql")),
    }
}
