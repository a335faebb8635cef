//! The result of a merge for whole rows of a table.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;

use crate::data::read::filter::matches;
use crate::data::write::partition_rows::{column_at, source_path};
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::row_change::Merge;
use crate::rows::row_changes::key_columns::KeyColumns;
use crate::rows::row_changes::key_ranges::KeyRanges;
use crate::rows::row_changes::matcher::Matcher;
use crate::rows::row_changes::patch::{NO_SOURCE, Patch, Patched};
use crate::rows::row_changes::source::SourceRows;
use crate::types::Schema;

/// A merge with its data, ready to match whole rows.
pub(crate) struct RowMatcher {
    schema: Arc<Schema>,
    matcher: Matcher,
    ranges: Predicate,
    /// Rows without a match are deleted if this is true.
    missing: Option<BoundPredicate>,
    /// The columns that rows match by.
    on: Vec<String>,
}

/// The result for some rows of the table.
pub(crate) struct Fates {
    /// Rows that change.
    pub changed: BooleanBuffer,
    /// The changed rows that are replaced.
    pub replaced: BooleanBuffer,
    /// The new rows, in order, with the columns of the table.
    pub rows: RecordBatch,
}

impl RowMatcher {
    /// A merge of rows into a table with this schema.
    ///
    /// # Errors
    /// As [`Matcher::new`]; `InvalidInput` for inserted rows with values that do not fit, and for conditions that do
    /// not fit.
    pub(crate) fn new(schema: &Arc<Schema>, merge: &Merge, source: SourceRows) -> Result<RowMatcher> {
        let keys = KeyColumns::whole(schema, &merge.on)?;
        let key_batches = source.keys(&keys)?;
        let ranges = match merge.delete_missing {
            Some(_) => Predicate::True,
            None => KeyRanges::of_values(&keys, &key_batches)?.filter()?,
        };
        let matcher = Matcher::new(schema, merge, source, keys, &key_batches)?;
        if let Some(columns) = matcher.inserts() {
            matcher.source().conformed(columns)?;
        }
        let missing = merge.delete_missing.as_ref().map(|filter| bind(filter, schema, true)).transpose()?;
        Ok(RowMatcher { schema: schema.clone(), matcher, ranges, missing, on: merge.on.clone() })
    }

    /// A filter that is true for all rows that may change.
    pub(crate) fn filter(&self) -> &Predicate {
        &self.ranges
    }

    /// The columns that updates set. A column that rows match by keeps its value if it is set to the same column.
    pub(crate) fn updated_columns(&self) -> impl Iterator<Item = &str> {
        let updates = self.matcher.clauses().updates.iter().flat_map(|(columns, _)| columns);
        let same = |field: &str, from: &str| field == from && self.on.iter().any(|key| key == field);
        updates.filter(move |(field, from)| !same(&field.name, from)).map(|(field, _)| field.name.as_str())
    }

    /// The columns that inserted rows have; `None` if no rows are inserted.
    pub(crate) fn inserted_columns(&self) -> Option<Vec<&str>> {
        self.matcher.inserts().map(|columns| columns.iter().map(|(field, _)| field.name.as_str()).collect())
    }

    /// Whether rows may be deleted.
    pub(crate) fn may_delete(&self) -> bool {
        self.matcher.clauses().deletes.is_some() || self.missing.is_some()
    }

    /// The result for rows that have the columns of the table first.
    ///
    /// # Errors
    /// `Internal` for rows of another table.
    pub(crate) fn fates(&self, rows: &RecordBatch) -> Result<Fates> {
        let count = rows.num_rows();
        let own: Vec<usize> = (0..self.schema.fields.len()).collect();
        let rows = rows.project(&own).map_err(|e| Error::internal("rows lack columns of the table").because(e))?;
        let mut sources = vec![NO_SOURCE; count];
        self.matcher.find(&rows, |row, source| {
            if let Some(place) = sources.get_mut(row) {
                *place = source;
            }
        })?;
        let is_matched = |row: usize| sources.get(row).is_some_and(|source| *source != NO_SOURCE);
        let clauses = self.matcher.clauses();
        let missing = self.is_missing(&rows)?;
        let deleted = BooleanBuffer::collect_bool(count, |row| match sources.get(row) {
            Some(source) if *source != NO_SOURCE => clauses.deletes(*source),
            _ => missing.as_ref().is_some_and(|mask| mask.value(row)),
        });
        let to_update = BooleanBuffer::collect_bool(count, |row| is_matched(row) && !deleted.value(row));
        Ok(match clauses.replace(&rows, &to_update, &sources)? {
            None => Fates { changed: deleted, replaced: BooleanBuffer::new_unset(count), rows: rows.slice(0, 0) },
            Some((replaced, rows)) => Fates { changed: &deleted | &replaced, replaced, rows },
        })
    }

    /// The rows that would be deleted if they had no match.
    fn is_missing(&self, rows: &RecordBatch) -> Result<Option<BooleanBuffer>> {
        let Some(filter) = &self.missing else { return Ok(None) };
        let column = |id| {
            let (path, _) = source_path(&self.schema, id)?;
            column_at(rows, &path).ok()
        };
        matches(filter, rows.num_rows(), &column).map(Some)
    }

    /// The rows of the data to insert, batch by batch. See [`Matcher::inserted`].
    pub(crate) fn inserted(&self) -> impl Iterator<Item = Result<RecordBatch>> {
        self.matcher.inserted()
    }
}

impl Patch for RowMatcher {
    fn patch(&self, rows: &RecordBatch, _: &[u32]) -> Result<Patched> {
        let Fates { changed, replaced, rows } = self.fates(rows)?;
        Ok(Patched { same: !&changed, replaced, rows: Some(rows) })
    }

    fn changes_all(&self) -> bool {
        true
    }

    fn removes_all(&self) -> bool {
        self.matcher.clauses().updates.is_none()
    }
}
