//! Matching rows of a table with the rows of a merge's data, by their keys.
//!
//! A [`Matcher`] first gets the key columns of the table's rows, batch by batch and from any thread. Afterwards it
//! returns the rows of the data without a match. Each format decides for itself how it reads rows and changes them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;

use super::clauses::{Clauses, mapping};
use super::key_columns::KeyColumns;
use super::keys::KeyIndex;
use super::source::{Mapping, SourceRows, renamed, rows_of};
use crate::error::Result;
use crate::expr::Predicate;
use crate::format::row_change::Merge;
use crate::types::Schema;

/// A merge with its data, ready to match rows.
pub(crate) struct Matcher {
    source: SourceRows,
    keys: KeyColumns,
    index: KeyIndex,
    clauses: Clauses,
    /// The columns of inserted rows; `None` if no rows are inserted.
    inserts: Option<Mapping>,
    /// Whether rows of the data that delete their match may be inserted.
    deletes_all: bool,
    /// Rows of the data that match a row of the table.
    matched: Vec<AtomicBool>,
}

impl Matcher {
    /// A matcher for a merge into a table with this schema. `key_batches` has the keys of the data's rows.
    ///
    /// # Errors
    /// `InvalidInput` for columns and conditions that do not fit, and for two rows of the data with one key;
    /// `Unsupported` for keys that can't be compared.
    pub(crate) fn new(
        schema: &Arc<Schema>,
        merge: &Merge,
        source: SourceRows,
        keys: KeyColumns,
        key_batches: &[RecordBatch],
    ) -> Result<Matcher> {
        let index = KeyIndex::of_batches(key_batches)?;
        let clauses = Clauses::new(schema, merge, &source)?;
        let inserts = merge.insert.as_ref().map(|columns| mapping(schema, &source, columns)).transpose()?;
        let count = source.batches.iter().map(RecordBatch::num_rows).sum();
        Ok(Matcher {
            source,
            keys,
            index,
            clauses,
            inserts,
            deletes_all: merge.delete == Some(Predicate::True),
            matched: std::iter::repeat_with(|| AtomicBool::new(false)).take(count).collect(),
        })
    }

    /// The rows of the data.
    pub(crate) fn source(&self) -> &SourceRows {
        &self.source
    }

    /// The columns by which rows match.
    pub(crate) fn keys(&self) -> &KeyColumns {
        &self.keys
    }

    /// The effect of a row of the data on the row that it matches.
    pub(crate) fn clauses(&self) -> &Clauses {
        &self.clauses
    }

    /// The columns of inserted rows; `None` if no rows are inserted.
    pub(crate) fn inserts(&self) -> Option<&Mapping> {
        self.inserts.as_ref()
    }

    /// Calls `found` with each row that has a match, and the number of the data's row. Remembers the match. The rows
    /// have the columns that the keys were made for.
    ///
    /// # Errors
    /// `Internal` for rows of another table.
    pub(crate) fn find(&self, rows: &RecordBatch, mut found: impl FnMut(usize, u32)) -> Result<()> {
        self.index.find(&self.keys.of_table(rows)?, |row, source| {
            if let Some(matched) = self.matched.get(source as usize) {
                matched.store(true, Ordering::Relaxed);
            }
            found(row, source);
        })
    }

    /// The rows of the data to insert, with the table's column names: those without a match so far. Batches without
    /// such rows are left out.
    ///
    /// # Errors
    /// `InvalidInput` if the data lacks a column, or has two with one name.
    pub(crate) fn inserted(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        let mut first = 0;
        let batches = self.inserts.iter().flat_map(|columns| {
            self.source.batches.iter().enumerate().map(move |(number, batch)| (columns, number, batch))
        });
        batches.filter_map(move |(columns, number, batch)| {
            let new = self.new_rows(number, first, batch.num_rows());
            first += batch.num_rows();
            (new.count_set_bits() > 0).then(|| rows_of(&renamed(batch, columns)?, new))
        })
    }

    /// The rows of a batch of the data that are inserted. `first` is the number of its first row.
    fn new_rows(&self, batch: usize, first: usize, count: usize) -> BooleanBuffer {
        let matched = self.matched.get(first..first + count).unwrap_or_default();
        let unmatched = BooleanBuffer::collect_bool(matched.len(), |row| !matched[row].load(Ordering::Relaxed));
        let deletes = self.clauses.deletes.as_ref().filter(|_| !self.deletes_all);
        match deletes.and_then(|all| all.get(batch)) {
            Some(deletes) => &unmatched & &!deletes,
            None => unmatched,
        }
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
