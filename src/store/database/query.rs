//! What a database can do.

use crate::error::Result;

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
pub type TextRow = Vec<Option<String>>;

/// A database whose values are all texts.
pub trait Database: Send + Sync + std::fmt::Debug {
    /// The rows that a statement gives.
    ///
    /// # Errors
    /// `Store` if the database can't be reached or refuses the statement.
    fn query(&self, statement: &Statement) -> Result<Vec<TextRow>>;

    /// Runs statements in one transaction, and says how many rows each changed.
    ///
    /// # Errors
    /// `AlreadyExists` if a row with a key that must be unique is there; `CommitStateUnknown` if it can't be told
    /// whether the transaction was committed; after every other error it certainly was not.
    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>>;

    /// The columns of a table, none if there is no such table.
    ///
    /// # Errors
    /// As [`Database::query`].
    fn columns(&self, table: &str) -> Result<Vec<String>>;
}
