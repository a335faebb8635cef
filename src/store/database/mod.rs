//! Databases: where SQL catalogs keep their tables.
//!
//! A connection lives as long as one call, so that nothing of it survives into a forked process.

mod open;
mod postgres;
mod postgres_tls;
mod query;
mod sqlite;

pub use open::open_database;
pub use query::{Database, Statement, TextRow};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
