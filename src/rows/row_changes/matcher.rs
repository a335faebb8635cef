//! The result of a merge for rows of a table, however they were found.
//!
//! A [`Matcher`] first gets the table's rows batch by batch. Afterwards it returns the rows of the data without a
//! match.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::buffer::BooleanBuffer;

use super::clauses::{Clauses, mapping, updated};
use super::key_columns::KeyColumns;
use super::key_ranges::KeyRanges;
use super::keys::KeyIndex;
use super::source::{Mapping, SourceRows, renamed, rows_of};
use crate::data::read::filter::matches;
use crate::data::write::partition_rows::{column_at, source_path};
use crate::error::{Error, Result};
use crate::expr::{BoundPredicate, Predicate, bind};
use crate::format::row_change::Merge;
use crate::rows::row_changes::patch::NO_SOURCE;
use crate::types::Schema;

/// The rows of a merge's data. They can be matched any number of times.
pub(crate) struct MergeRows(SourceRows);

impl MergeRows {
    /// Reads a stream to its end.
    ///
    /// # Errors
    /// `InvalidInput` if the stream fails; a cancellation.
    pub(crate) fn read(rows: crate::rows::stream::RowReader) -> Result<MergeRows> {
        SourceRows::read(rows).map(MergeRows)
    }
}

/// A merge with its data, ready to match rows.
pub(crate) struct Matcher {
    schema: Arc<Schema>,
    source: SourceRows,
    keys: KeyColumns,
    ranges: Predicate,
    index: KeyIndex,
    clauses: Clauses,
    inserts: Option<Mapping>,
    /// Whether rows of the data that delete what they match may be inserted.
    deletes_all: bool,
    /// Rows without a match are deleted if this is true.
    missing: Option<BoundPredicate>,
    /// Rows of the data that match a row of the table.
    matched: Vec<AtomicBool>,
}

/// The result for some rows of the table.
pub(crate) struct Fates {
    /// Rows that change.
    pub changed: BooleanBuffer,
    /// Those of them that are replaced.
    pub replaced: BooleanBuffer,
    /// The new rows, in order, with the columns of the table.
    pub rows: RecordBatch,
}

impl Matcher {
    /// For rows with all columns of a schema.
    ///
    /// # Errors
    /// `InvalidInput` for columns and conditions that don't fit, two rows of the data with one key, and required
    /// columns that rows to be inserted lack; `Unsupported` for keys that can't be compared.
    pub(crate) fn new(schema: &Arc<Schema>, merge: &Merge, rows: &MergeRows) -> Result<Matcher> {
        let source = rows.0.clone();
        let keys = KeyColumns::whole(schema, &merge.on)?;
        let key_batches = source.keys(&keys)?;
        let ranges = match merge.delete_missing {
            Some(_) => Predicate::True,
            None => KeyRanges::of_values(&keys, &key_batches).filter()?,
        };
        let index = KeyIndex::of_batches(&key_batches)?;
        let clauses = Clauses::new(schema, merge, &source)?;
        let inserts = merge.insert.as_ref().map(|columns| mapping(schema, &source, columns)).transpose()?;
        if let Some(columns) = &inserts {
            source.conformed(columns)?;
        }
        let missing = merge.delete_missing.as_ref().map(|filter| bind(filter, schema, true)).transpose()?;
        let count = source.batches.iter().map(RecordBatch::num_rows).sum();
        Ok(Matcher {
            schema: schema.clone(),
            source,
            keys,
            ranges,
            index,
            clauses,
            inserts,
            deletes_all: merge.delete == Some(Predicate::True),
            missing,
            matched: std::iter::repeat_with(|| AtomicBool::new(false)).take(count).collect(),
        })
    }

    /// True for all rows that may change.
    pub(crate) fn filter(&self) -> &Predicate {
        &self.ranges
    }

    /// The columns that updates set, and those that inserts set.
    pub(crate) fn updated_columns(&self) -> impl Iterator<Item = &str> {
        self.clauses.updates.iter().flat_map(|(columns, _)| columns).map(|(field, _)| field.name.as_str())
    }

    /// The columns that inserted rows have; `None` if none are inserted.
    pub(crate) fn inserted_columns(&self) -> Option<Vec<&str>> {
        self.inserts.as_ref().map(|columns| columns.iter().map(|(field, _)| field.name.as_str()).collect())
    }

    /// Whether rows may be deleted.
    pub(crate) fn may_delete(&self) -> bool {
        self.clauses.deletes.is_some() || self.missing.is_some()
    }

    /// The result for rows whose first columns are those of the table.
    ///
    /// # Errors
    /// `Internal` for rows of another table.
    pub(crate) fn fates(&self, rows: &RecordBatch) -> Result<Fates> {
        let count = rows.num_rows();
        let own: Vec<usize> = (0..self.schema.fields.len()).collect();
        let rows = rows.project(&own).map_err(|e| Error::internal("rows lack columns of the table").because(e))?;
        let mut sources = vec![NO_SOURCE; count];
        self.index.find(&self.keys.of_table(&rows)?, |row, source| {
            if let Some(place) = sources.get_mut(row) {
                *place = source;
            }
            if let Some(matched) = self.matched.get(source as usize) {
                matched.store(true, Ordering::Relaxed);
            }
        })?;
        let source_of = |row: usize| sources.get(row).copied().filter(|source| *source != NO_SOURCE);
        let missing = self.is_missing(&rows)?;
        let deleted = BooleanBuffer::collect_bool(count, |row| match source_of(row) {
            Some(source) => self.clauses.deletes(source),
            None => missing.as_ref().is_some_and(|mask| mask.value(row)),
        });
        let Some((columns, given)) = &self.clauses.updates else {
            let (replaced, rows) = (BooleanBuffer::new_unset(count), rows.slice(0, 0));
            return Ok(Fates { changed: deleted, replaced, rows });
        };
        let to_update = BooleanBuffer::collect_bool(count, |row| source_of(row).is_some() && !deleted.value(row));
        let places: Vec<(usize, usize)> =
            to_update.set_indices().filter_map(source_of).map(|source| given.place(source)).collect();
        let old = rows_of(&rows, to_update.clone())?;
        let (new, equal) = updated(&self.schema, &old, (columns, given), &places)?;
        let mut same = equal.iter();
        let replaced =
            BooleanBuffer::collect_bool(count, |row| to_update.value(row) && !same.next().unwrap_or_default());
        Ok(Fates { changed: &deleted | &replaced, replaced, rows: rows_of(&new, !&equal)? })
    }

    /// Which rows would be deleted if they had no match.
    fn is_missing(&self, rows: &RecordBatch) -> Result<Option<BooleanBuffer>> {
        let Some(filter) = &self.missing else { return Ok(None) };
        let column = |id| {
            let (path, _) = source_path(&self.schema, id)?;
            column_at(rows, &path).ok()
        };
        matches(filter, rows.num_rows(), &column).map(Some)
    }

    /// The rows of the data to insert, under the table's names: those that matched none of the rows so far.
    ///
    /// # Errors
    /// `Internal` for a mask of another length.
    pub(crate) fn inserted(&self) -> Result<Vec<RecordBatch>> {
        let Some(columns) = &self.inserts else { return Ok(Vec::new()) };
        let deletes = self.clauses.deletes.as_ref().filter(|_| !self.deletes_all);
        let (mut first, mut out) = (0, Vec::new());
        for (number, batch) in self.source.batches.iter().enumerate() {
            let matched = self.matched.get(first..first + batch.num_rows()).unwrap_or_default();
            first += batch.num_rows();
            let deletes = deletes.and_then(|all| all.get(number));
            let mut rows = matched.iter().enumerate().map(|(row, matched)| {
                !matched.load(Ordering::Relaxed) && !deletes.is_some_and(|deletes| deletes.value(row))
            });
            let new = BooleanBuffer::collect_bool(matched.len(), |_| rows.next().unwrap_or_default());
            if new.count_set_bits() > 0 {
                out.push(rows_of(&renamed(batch, columns)?, new)?);
            }
        }
        Ok(out)
    }
}
