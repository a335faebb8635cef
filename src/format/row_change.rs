//! Changes of rows as plain data: delete, overwrite, update, merge.

use crate::error::{Error, Result};
use crate::expr::{Literal, Op, Predicate, Term, parse};
use crate::format::task::CommitMessage;
use crate::types::Transform;

/// What is to happen to the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum RowChange {
    /// The rows on which the filter is true go. Files of which every row matches go by metadata alone; of the others the
    /// rows, as property `write.delete.mode` says.
    Delete(Predicate),
    /// The rows on which the filter is true go, and others come in one snapshot. Files that match in part are rewritten.
    Overwrite(Predicate),
    /// All rows of the partitions that others come for go; of a table without partitions, all rows. Without other rows
    /// nothing happens.
    OverwritePartitions,
    /// Columns of the rows on which the filter is true get other values (`write.update.mode`).
    Update(Predicate, Vec<(String, Assigned)>),
    /// Rows that match others by a key are updated or deleted, and others inserted (`write.merge.mode`).
    Merge(Merge),
    /// Rows with a key of others in these columns go, by equality delete files, without a look at the table. No columns: the
    /// table's identifier fields.
    DeleteKeys(Vec<String>),
    /// The same, and those others come.
    ReplaceKeys(Vec<String>),
    /// Rows go that others name by data file and position.
    DeletePositions,
}

/// Which columns of the data go where.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// Into those of the same name.
    ByName,
    /// `(table's column, data's column)`.
    Of(Vec<(String, String)>),
}

/// What to do with rows that match by key, and with those that don't.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The key: columns that the table and the data both have. Empty: the table's identifier fields.
    pub on: Vec<String>,
    /// Matched rows are updated; those that are equal already stay as they are.
    pub update: Option<Columns>,
    /// Matched rows are deleted where this is true of the data's row. Rows of the data on which a condition is true are
    /// never inserted; `True` is none.
    pub delete: Option<Predicate>,
    /// Rows of the data without a match are inserted.
    pub insert: Option<Columns>,
    /// Rows of the table without a match are deleted where this is true of them.
    pub delete_missing: Option<Predicate>,
}

impl Merge {
    /// Whether it updates the rows that match, inserts the others, and does nothing else.
    pub(crate) fn is_upsert(&self) -> bool {
        let (by_name, no) = (Some(&Columns::ByName), [&self.delete, &self.delete_missing]);
        self.update.as_ref() == by_name && self.insert.as_ref() == by_name && no.iter().all(|p| p.is_none())
    }
}

impl Merge {
    /// Updates the rows that match, and inserts the others.
    pub fn upsert(on: Vec<String>) -> Merge {
        let by_name = Some(Columns::ByName);
        Merge { on, update: by_name.clone(), delete: None, insert: by_name, delete_missing: None }
    }
}

/// What a column becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum Assigned {
    /// A value; `None` is null.
    Value(Option<Literal>),
    /// What another column of the same type has.
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
            _ => Err(Error::invalid("this is no value").with("value", text)),
        }
    }

    /// Reads the name of a column of the table itself, quoted as in filters.
    ///
    /// # Errors
    /// `InvalidInput` for members of structs, and for texts that are no names.
    pub fn column(text: &str) -> Result<Assigned> {
        match parse(&format!("{text} is null"))? {
            Predicate::Leaf(Term { path, transform: Transform::Identity }, Op::IsNull, _) if path.len() == 1 => {
                Ok(Assigned::Column(path.concat()))
            }
            _ => Err(Error::invalid("only columns that are not members of others can be copied").with("column", text)),
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
    /// The rows of the source that a merge has found the matches of: see [`Table::write_part`].
    Matches {
        /// The whole change.
        merge: Merge,
        /// True of every row of the table that the source's keys match.
        filter: Predicate,
    },
}

/// What a delete or update is parted into.
#[derive(Clone, Debug)]
pub struct ChangeFiles {
    /// Files that go as they are; committed with the parts.
    pub whole: CommitMessage,
    /// Files whose rows must be looked at: path and size in bytes.
    pub files: Vec<(String, i64)>,
}
