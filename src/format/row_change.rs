//! Changes of rows as plain data: delete, overwrite, update, merge.

use crate::error::{Error, Result};
use crate::expr::{Literal, Op, Predicate, Term, parse};
use crate::format::task::CommitMessage;
use crate::types::Transform;

/// A change of the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    /// Deletes the rows that match the filter. A file in which every row matches is removed by metadata alone. For
    /// other files the property `write.delete.mode` decides.
    Delete(Predicate),
    /// Deletes the rows that match the filter and adds new rows, in one snapshot. Files that match in part are
    /// rewritten.
    Overwrite(Predicate),
    /// Replaces all rows of the partitions that have new rows; in a table without partitions, all rows. Without new
    /// rows nothing happens.
    OverwritePartitions,
    /// Sets columns of the rows that match the filter (`write.update.mode`).
    Update(Predicate, Vec<(String, Assigned)>),
    /// Updates or deletes rows that match the data by key, and inserts the other rows (`write.merge.mode`).
    Merge(Merge),
    /// Deletes rows by the keys of the data in these columns, with equality delete files. It does not read the table.
    /// Without columns, the key is the table's identifier fields.
    DeleteKeys(Vec<String>),
    /// The same, and adds the rows of the data.
    ReplaceKeys(Vec<String>),
    /// Deletes rows by data file and position.
    DeletePositions,
}

/// The columns of the data for the columns of the table.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// Each column goes into the column of the same name.
    ByName,
    /// `(table's column, data's column)`.
    Of(Vec<(String, String)>),
}

/// The actions for rows that match by key, and for those that don't.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The key: columns that the table and the data both have. Empty: the table's identifier fields.
    pub on: Vec<String>,
    /// Matched rows are updated. Rows that are already equal don't change.
    pub update: Option<Columns>,
    /// Matched rows are deleted if this is true for the data's row. Rows of the data for which a condition is true are
    /// never inserted; `True` does not count as a condition.
    pub delete: Option<Predicate>,
    /// Rows of the data without a match are inserted.
    pub insert: Option<Columns>,
    /// Rows of the table without a match are deleted if this is true for them.
    pub delete_missing: Option<Predicate>,
}

impl Merge {
    /// Whether it updates the rows that match, inserts the others, and does nothing else.
    pub(crate) fn is_upsert(&self) -> bool {
        let (by_name, no) = (Some(&Columns::ByName), [&self.delete, &self.delete_missing]);
        self.update.as_ref() == by_name && self.insert.as_ref() == by_name && no.iter().all(|p| p.is_none())
    }
}

/// The new value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Assigned {
    /// A value; `None` is null.
    Value(Option<Literal>),
    /// The value of another column of the same type.
    Column(String),
}

impl Assigned {
    /// Reads a value as filters write it: `5`, `'text'`.
    ///
    /// # Errors
    /// `InvalidInput` if the text is not one value.
    pub fn literal(text: &str) -> Result<Assigned> {
        match parse(&format!("x = {text}"))? {
            Predicate::Leaf(_, Op::Eq, mut literals) if literals.len() == 1 => Ok(Assigned::Value(literals.pop())),
            _ => Err(Error::invalid("the text is not a single value").with("value", text)),
        }
    }

    /// Reads the name of a column of the table itself, quoted as in filters.
    ///
    /// # Errors
    /// `InvalidInput` for fields of structs, and for texts that are not names.
    pub fn column(text: &str) -> Result<Assigned> {
        match parse(&format!("{text} is null"))? {
            Predicate::Leaf(Term { path, transform: Transform::Identity }, Op::IsNull, _) if path.len() == 1 => {
                Ok(Assigned::Column(path.concat()))
            }
            _ => Err(Error::invalid("only columns at the top level can be copied").with("column", text)),
        }
    }
}

/// The command whose properties control a change: `write.<command>.mode` and `write.<command>.isolation-level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Rows are removed.
    Delete,
    /// Rows get other values.
    Update,
    /// Rows of a source are matched.
    Merge,
}

impl Command {
    /// The command with this name.
    ///
    /// # Errors
    /// `InvalidInput` for another name.
    pub fn parse(name: &str) -> Result<Command> {
        let known = [Command::Delete, Command::Update, Command::Merge].into_iter().find(|c| c.as_str() == name);
        known.ok_or_else(|| Error::invalid(format!("'{name}' is not a command")).hint("Use delete, update or merge"))
    }

    /// Its name in properties.
    pub fn as_str(self) -> &'static str {
        match self {
            Command::Delete => "delete",
            Command::Update => "update",
            Command::Merge => "merge",
        }
    }
}

/// A part of a change.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A delete or update of the rows of these files.
    Files {
        /// The whole change.
        change: RowChange,
        /// Real paths of data files.
        files: Vec<String>,
    },
    /// The rows of the source whose matches a merge has found: see `Table::write_part`.
    Matches {
        /// The whole change.
        merge: Merge,
        /// True for every row of the table that the source's keys match.
        filter: Predicate,
        /// The command that the user gave, if the engine expresses it as a merge.
        command: Command,
    },
}

/// The parts of a delete or update.
#[derive(Clone, Debug)]
pub struct ChangeFiles {
    /// Files that are removed as a whole; committed with the parts.
    pub whole: CommitMessage,
    /// Files whose rows must be read: path and size in bytes.
    pub files: Vec<(String, i64)>,
}
