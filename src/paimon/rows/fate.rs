//! What becomes of the rows that a change finds.

use crate::rows::assignments::Assignments;
use crate::rows::matcher::Matcher;

/// What becomes of the rows that a filter finds.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'a> {
    /// They are deleted.
    Gone,
    /// They get other values.
    Updated(&'a Assignments),
    /// What a merge says.
    Merged(&'a Matcher),
}
