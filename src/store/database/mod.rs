//! Databases: where SQL catalogs keep their tables.
//!
//! A connection lives as long as one call, so that nothing of it survives into a forked process.
//!
//! - `open`: opens the database of a URI
//! - `postgres`: PostgreSQL servers
//! - `postgres_tls`: TLS to PostgreSQL servers: what `sslmode` and `sslrootcert` of a URI mean
//! - `query`: the operations of a database
//! - `sqlite`: SQLite files
//! - `uri_parameters`: the parameters of a database's URI

mod open;
mod postgres;
mod postgres_tls;
mod query;
mod sqlite;
mod uri_parameters;

pub use open::open_database;
pub use query::{Database, Statement, TextRow};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
