//! The result for the rows that a change finds.

use super::row_matcher::RowMatcher;
use crate::rows::row_changes::assignments::Assignments;

/// What becomes of the rows that a filter finds.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'a> {
    /// They are deleted.
    Gone,
    /// They get other values.
    Updated(&'a Assignments),
    /// What a merge says.
    Merged(&'a RowMatcher),
}
