//! The result for the rows that a change finds.

use super::row_matcher::RowMatcher;
use crate::rows::row_changes::assignments::Assignments;

/// The fate of the rows that a filter finds.
#[derive(Clone, Copy)]
pub(crate) enum Fate<'a> {
    /// They are deleted.
    Gone,
    /// They get other values.
    Updated(&'a Assignments),
    /// A merge decides about them.
    Merged(&'a RowMatcher),
}
