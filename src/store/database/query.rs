//! The operations of a database.

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
    /// The rows that a statement returns.
    ///
    /// # Errors
    /// `Store` if the database can't be reached or refuses the statement.
    fn query(&self, statement: &Statement) -> Result<Vec<TextRow>>;

    /// Runs statements in one transaction, and returns the number of rows that each changed.
    ///
    /// # Errors
    /// `AlreadyExists` if a unique key exists already; `CommitStateUnknown` if it is unknown whether the transaction
    /// was committed. After any other error it certainly was not.
    fn execute(&self, statements: &[Statement]) -> Result<Vec<u64>>;

    /// Runs statements in one transaction, if each changes a row. Otherwise nothing changes. Returns whether each did.
    ///
    /// # Errors
    /// As [`Database::execute`].
    fn execute_if_each_changes(&self, statements: &[Statement]) -> Result<bool>;

    /// The columns of a table; empty if the table does not exist.
    ///
    /// # Errors
    /// As [`Database::query`].
    fn columns(&self, table: &str) -> Result<Vec<String>>;
}
