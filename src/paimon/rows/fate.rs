//! A change of the rows that are found, with what it needs to know of the table.

use super::row_matcher::RowMatcher;
use crate::rows::row_changes::assignments::Assignments;
use crate::rows::row_changes::clauses::Clauses;
use crate::rows::row_changes::patch::{Patch, Remove};

/// The fate of the rows that are found.
pub(crate) struct Fate<'a> {
    /// The result for each row.
    pub patch: &'a dyn Patch,
    /// The columns that get new values.
    pub columns: Vec<&'a str>,
    /// The places of the columns that the new values depend on; `None` for any columns.
    pub needs: Option<Vec<usize>>,
    /// Whether rows may be deleted.
    pub may_delete: bool,
}

impl<'a> Fate<'a> {
    /// They are deleted.
    pub(crate) fn gone() -> Fate<'a> {
        Fate { patch: &Remove, columns: Vec::new(), needs: Some(Vec::new()), may_delete: true }
    }

    /// They get other values.
    pub(crate) fn updated(new: &'a Assignments) -> Fate<'a> {
        let needs = (0..new.width()).filter(|at| new.copies(*at)).collect();
        Fate { patch: new, columns: new.columns().collect(), needs: Some(needs), may_delete: false }
    }

    /// A merge decides about them by their keys.
    pub(crate) fn merged(merge: &'a RowMatcher) -> Fate<'a> {
        let columns = merge.updated_columns().collect();
        Fate { patch: merge, columns, needs: None, may_delete: merge.may_delete() }
    }

    /// A merge decides about them whose matches are known. `may_delete` says whether a match is deleted.
    pub(crate) fn matched(clauses: &'a Clauses, may_delete: bool) -> Fate<'a> {
        let columns = clauses.updates.iter().flat_map(|(columns, _)| columns).map(|(field, _)| field.name.as_str());
        Fate { patch: clauses, columns: columns.collect(), needs: Some(Vec::new()), may_delete }
    }
}
