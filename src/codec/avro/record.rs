//! Compiled steps over a record: wanted members are read, others skipped.

use super::decode::{Budget, Cursor, Skip};
use super::schema::{Member, Node, Optional};
use crate::error::{Error, Result};

/// The action for the next member of a record.
#[derive(Clone, Debug)]
pub enum RecordStep<T> {
    /// Read it, if it has a value.
    Read(Optional, T),
    /// Skip it.
    Skip(Skip),
}

impl<T: Copy> RecordStep<T> {
    /// The meaning of the next member, if it is wanted and has a value; the value comes next. Skips other members.
    ///
    /// # Errors
    /// `CorruptTable` if the bytes end.
    pub fn wanted(&self, cursor: &mut Cursor<'_>) -> Result<Option<T>> {
        match self {
            RecordStep::Skip(skip) => {
                *cursor = skip.run(cursor.clone())?;
                Ok(None)
            }
            RecordStep::Read(optional, column) => Ok(cursor.present(*optional)?.then_some(*column)),
        }
    }
}

/// The steps for a record. Members are found in a table of (field id, name, meaning) as in [`Member::pick`]. `fits`
/// says whether a member has the right type for its meaning.
///
/// # Errors
/// `CorruptTable` if a wanted member has another type; `Unsupported` if the schema is too large.
pub fn compile<T: Copy>(
    members: &[Member],
    table: &[(i32, &str, T)],
    budget: &mut Budget,
    mut fits: impl FnMut(T, &Node) -> bool,
) -> Result<Vec<RecordStep<T>>> {
    let step = |m: &Member| match m.pick(table) {
        None => Ok(RecordStep::Skip(Skip::of(&m.node, budget)?)),
        Some(column) => {
            let (optional, node) = m.node.optional();
            if optional != Optional::Never && !fits(column, node) {
                return Err(Error::corrupt(format!("field '{}' of the Avro file has another type", m.name)));
            }
            Ok(RecordStep::Read(optional, column))
        }
    };
    members.iter().map(step).collect()
}
