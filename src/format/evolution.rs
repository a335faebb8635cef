//! Changes of a table's schema, partition spec, sort order, properties and references as plain data.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::error::{Error, Result};

use crate::types::{Schema, Type};

/// One change of a table's metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Evolution {
    /// Changes columns.
    Schema(SchemaUpdate),
    /// Changes how rows are grouped into files.
    Spec(SpecUpdate),
    /// Changes how rows are sorted in files.
    SortOrder(SortOrderUpdate),
    /// Sets properties.
    SetProperties(BTreeMap<String, String>),
    /// Removes properties; it is not an error if one is not set.
    RemoveProperties(Vec<String>),
    /// Sets the recorded location.
    SetLocation(String),
    /// Raises the format version.
    Upgrade(u8),
    /// Changes a branch or tag.
    Ref(RefUpdate),
}

/// A version of the table.
#[derive(Clone, Debug, PartialEq)]
pub enum Version {
    /// The snapshot that `main` is at.
    Current,
    /// A snapshot by id.
    Snapshot(i64),
    /// The snapshot that a branch or tag is at.
    Ref(String),
    /// The snapshot that was current then, milliseconds since the epoch.
    TimestampMs(i64),
    /// The second snapshot if the table has it, else the first. The first is published directly. The second repeats
    /// its changes after other commits.
    Picked([i64; 2]),
}

/// How long a reference and its snapshots are kept. A value of `None` does not change.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retention {
    /// The number of a branch's snapshots that expiry keeps; above 0.
    pub min_snapshots_to_keep: Option<i32>,
    /// The maximum age of a branch's snapshots in milliseconds; above 0.
    pub max_snapshot_age_ms: Option<i64>,
    /// How old the reference may get, milliseconds; above 0.
    pub max_ref_age_ms: Option<i64>,
}

/// One change of a reference.
#[derive(Clone, Debug, PartialEq)]
pub enum RefChange {
    /// Makes it.
    Create(RefKind, Version, Retention),
    /// Points it at another snapshot; its retention stays.
    Replace(Version),
    /// Removes it.
    Drop,
    /// Renames a branch.
    Rename(String),
    /// Moves a branch to the snapshot of another reference, which must descend from its own.
    FastForward(String),
    /// Adds the files that another branch was given since both were the same.
    Merge(String),
    /// Sets how long it is kept.
    Retain(Retention),
    /// Moves a branch to any snapshot.
    SetSnapshot(Version),
    /// Moves a branch back to an ancestor of its snapshot; a time means the last ancestor made before.
    RollBack(Version),
}

/// A change of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct RefUpdate {
    /// The branch or tag.
    pub name: String,
    /// The change.
    pub change: RefChange,
}

impl RefUpdate {
    /// The references that it changes.
    pub fn changes(&self) -> Vec<&str> {
        match &self.change {
            RefChange::Rename(to) | RefChange::FastForward(to) | RefChange::Merge(to) => vec![&self.name, to],
            _ => vec![&self.name],
        }
    }
}

/// A list of changes of the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaUpdate {
    /// The operations, in order.
    pub operations: Vec<SchemaOperation>,
    /// Whether names are matched exactly.
    pub case_sensitive: bool,
    /// Whether columns may become required, even if existing rows contradict that.
    pub allow_incompatible: bool,
}

/// The position of a column in its struct.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// To the front.
    First,
    /// Before another column of the struct.
    Before(ColumnPath),
    /// After another column of the struct.
    After(ColumnPath),
}

/// A new column.
#[derive(Clone, Debug, PartialEq)]
pub struct NewColumn {
    /// Its path: that of the struct it goes into, then its name.
    pub path: ColumnPath,
    /// Its type; ids in it are ignored.
    pub ty: Type,
    /// Its comment.
    pub doc: Option<String>,
    /// Whether null is impossible.
    pub required: bool,
    /// Its value in existing rows, and in new rows that lack it unless `write_default` differs.
    pub default: Option<Json>,
    /// Its value in new rows that lack it.
    pub write_default: Option<Json>,
    /// Its position; `None` means last.
    pub position: Option<Position>,
}

/// One change of the schema.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SchemaOperation {
    /// Adds a column.
    Add(Box<NewColumn>),
    /// Removes a column with all its fields.
    Drop { path: ColumnPath },
    /// Renames a column.
    Rename { path: ColumnPath, name: String },
    /// Widens a column's type.
    Type { path: ColumnPath, ty: Type },
    /// Makes a column required (incompatible) or optional.
    Required { path: ColumnPath, required: bool },
    /// Sets or removes a comment.
    Doc { path: ColumnPath, doc: Option<String> },
    /// Sets or removes the default of new rows.
    Default { path: ColumnPath, default: Option<Json> },
    /// Moves a column within its struct.
    Move { path: ColumnPath, position: Position },
    /// Sets the columns that identify a row.
    Identifiers { paths: Vec<ColumnPath> },
    /// Adds and widens columns, by name, so that rows of another schema fit.
    Union { schema: Schema },
}

/// A list of changes of the partition spec.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecUpdate {
    /// The operations, in order.
    pub operations: Vec<SpecOperation>,
    /// Whether columns are matched exactly by name.
    pub case_sensitive: bool,
}

/// A column or a transform of one.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSource {
    /// A text such as `ts` or `day(ts)`.
    pub term: String,
    /// The transform, if the text is a column alone: `day` or `bucket[16]`.
    pub transform: Option<String>,
}

/// One change of the partition spec.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SpecOperation {
    /// Adds a field, by default named as the reference names it.
    Add { source: FieldSource, name: Option<String> },
    /// Removes a field, by its name or by its transform.
    Remove { field: String },
    /// Renames a field.
    Rename { name: String, to: String },
}

/// A new sort order. No fields: unsorted.
#[derive(Clone, Debug, PartialEq)]
pub struct SortOrderUpdate {
    /// Most significant first.
    pub fields: Vec<NewSortField>,
    /// Whether columns are matched exactly by name.
    pub case_sensitive: bool,
}

/// A field of a new sort order.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSortField {
    /// The column or transform.
    pub source: FieldSource,
    /// Greatest first.
    pub descending: bool,
    /// Nulls before values; by default where ascending.
    pub nulls_first: Option<bool>,
}

/// The path of a column, name by name.
pub type ColumnPath = Vec<String>;

/// Reads the dotted name of a column.
///
/// # Errors
/// `InvalidInput` if a name in it is empty.
pub fn column_path(dotted: &str) -> Result<ColumnPath> {
    let names: ColumnPath = dotted.split('.').map(str::to_owned).collect();
    match names.iter().any(String::is_empty) {
        true => Err(no_column(&format!("{dotted:?}"))),
        false => Ok(names),
    }
}

/// Checks the names on the path to a column.
///
/// # Errors
/// `InvalidInput` if there is no name, or an empty one.
pub fn checked_path(names: Vec<String>) -> Result<ColumnPath> {
    match names.is_empty() || names.iter().any(String::is_empty) {
        true => {
            let shown: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
            Err(no_column(&format!("[{}]", shown.join(","))))
        }
        false => Ok(names),
    }
}

fn no_column(shown: &str) -> Error {
    Error::invalid(format!("{shown} is not a column name: a part of it is empty"))
}

/// The kind of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefKind {
    /// It moves with each commit to it.
    Branch,
    /// It stays.
    Tag,
}
