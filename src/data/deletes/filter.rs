//! Which rows of one data file its deletes leave.
//!
//! [`DeleteFilter::load`] reads what the deletes of a task say of its data file, through a [`DeleteCache`] that the tasks of
//! a scan share; [`DeleteFilter::keep`] gives the mask of a batch. Rows come with what it needs from
//! [`open_rows`](crate::data::read::file::open_rows).
//!
//! A deletion vector goes before position deletes: it contains them already. Which deletes apply at all (sequence numbers,
//! partitions) was decided by planning.
//!
//! Source: Iceberg specification, "Row-level deletes"; where it is silent, Java's `DeleteFilter`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

use super::files::{DeleteCache, Positions, read_keys, read_positions, read_vector};
use super::keys::{KeyArrays, KeyDeletes};
use super::positions::RowPositions;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, DeleteRef, FileContent, FileFormat, ReadContext};
use crate::store::Store;
use crate::types::FieldId;

/// What the deletes of a data file say of its rows. Cheap to share; holds what the delete files say, not the files.
#[derive(Debug, Default)]
pub struct DeleteFilter {
    positions: Option<Arc<PositionSet>>,
    /// What other tasks share with this one.
    shared: Vec<Arc<Positions>>,
    keys: Vec<KeyDeletes>,
}

impl DeleteFilter {
    /// Reads the deletes of a data file, or takes from `cache` what was read for another task of the scan.
    ///
    /// # Errors
    /// `Unsupported` for encrypted delete files and columns that deletes can't be keyed on; `CorruptTable` for damaged files,
    /// two deletion vectors, one of another data file or with another number of positions than recorded, and key columns that
    /// no schema of the table has; the store's errors. All name the delete file.
    pub fn load(
        store: &Arc<dyn Store>,
        context: &Arc<ReadContext>,
        data_file: &DataFile,
        deletes: &[DeleteRef],
        cache: &DeleteCache,
    ) -> Result<DeleteFilter> {
        DeleteFilter::load_near(store, context, data_file, deletes, cache, &|_| BoundPredicate::True)
    }

    /// As [`DeleteFilter::load`], for rows of which `near` says in what range a column lies: of delete files with very many
    /// keys it reads only those in the range.
    pub(crate) fn load_near(
        store: &Arc<dyn Store>,
        context: &Arc<ReadContext>,
        data_file: &DataFile,
        deletes: &[DeleteRef],
        cache: &DeleteCache,
        near: &dyn Fn(FieldId) -> BoundPredicate,
    ) -> Result<DeleteFilter> {
        let mut filter = DeleteFilter::default();
        let (mut vector, mut position_files) = (None, Vec::new());
        let mut key_files: Vec<(BTreeSet<FieldId>, Vec<&DataFile>)> = Vec::new();
        for file in deletes.iter().map(|d| d.file.as_ref()) {
            match (file.content, file.format) {
                (FileContent::PositionDeletes, FileFormat::Puffin) => {
                    if vector.replace(file).is_some() {
                        return Err(Error::corrupt("a data file has two deletion vectors")
                            .with("delete_file", &file.path)
                            .with("path", &data_file.path));
                    }
                }
                (FileContent::PositionDeletes, _) => position_files.push(file),
                (FileContent::EqualityDeletes, _) => {
                    let ids: BTreeSet<FieldId> = file.equality_ids.iter().flatten().copied().collect();
                    match key_files.iter_mut().find(|(known, _)| *known == ids) {
                        Some((_, files)) => files.push(file),
                        None => key_files.push((ids, vec![file])),
                    }
                }
                (FileContent::Data, _) => {
                    return Err(Error::corrupt("a data file is used as a delete file").with("path", &file.path));
                }
            }
        }
        filter.positions = match vector {
            Some(file) => {
                let (vector, shared) =
                    read_vector(store, context, data_file, file, cache).map_err(|e| located(context, file, e))?;
                filter.shared.push(shared);
                Some(vector)
            }
            None => positions_of(store, context, data_file, &position_files, cache, &mut filter.shared)?,
        };
        for (ids, files) in key_files {
            let ids: Vec<FieldId> = ids.into_iter().collect();
            filter.keys.push(read_keys(store, context, &ids, &files, cache, near)?);
        }
        Ok(filter)
    }

    /// Whether every row stays.
    pub fn is_empty(&self) -> bool {
        self.positions.as_ref().is_none_or(|p| p.is_empty()) && self.keys.is_empty()
    }

    /// Whether the other one removes all rows that this one does, as far as can be told without looking at rows.
    pub(crate) fn is_within(&self, other: &DeleteFilter) -> bool {
        let positions = match (&self.positions, &other.positions) {
            (Some(own), Some(all)) => own.is_subset(all),
            (own, None) => own.as_ref().is_none_or(|p| p.is_empty()),
            (None, _) => true,
        };
        positions && self.keys.is_empty()
    }

    /// The positions that are deleted.
    pub(crate) fn positions(&self) -> Option<&PositionSet> {
        self.positions.as_deref()
    }

    /// The key columns that [`DeleteFilter::keep`] asks for.
    pub fn key_ids(&self) -> Vec<FieldId> {
        let ids: BTreeSet<FieldId> = self.keys.iter().flat_map(|k| k.ids()).copied().collect();
        ids.into_iter().collect()
    }

    /// Whether rows are deleted by position.
    pub fn has_positions(&self) -> bool {
        self.positions.is_some()
    }

    /// The mask of the rows that stay. `keys` are arrays of at least the columns [`DeleteFilter::key_ids`], as
    /// [`open_rows`](crate::data::read::file::open_rows) gives them.
    ///
    /// # Errors
    /// `Internal` if a key column is not given or of another type than its column has.
    pub fn keep(&self, keys: &HashMap<FieldId, ArrayRef>, positions: &RowPositions) -> Result<BooleanBuffer> {
        self.keep_keys(keys, self.keep_positions(positions))
    }

    /// The mask of the rows that stay by their position.
    pub(crate) fn keep_positions(&self, positions: &RowPositions) -> BooleanBuffer {
        let rows = positions.len();
        let Some(deleted) = &self.positions else { return BooleanBuffer::new_set(rows) };
        let mut mask = BooleanBufferBuilder::new(rows);
        mask.append_n(rows, true);
        let mut first = 0;
        for range in positions.ranges() {
            for position in deleted.in_range(range.clone()) {
                mask.set_bit(first + (position - range.start) as usize, false);
            }
            first += (range.end - range.start) as usize;
        }
        mask.finish()
    }

    /// Of the rows of `mask` those that stay by their keys.
    pub(crate) fn keep_keys(&self, arrays: &KeyArrays, mut mask: BooleanBuffer) -> Result<BooleanBuffer> {
        for deletes in &self.keys {
            if mask.count_set_bits() == 0 {
                break;
            }
            mask = deletes.keep(arrays, mask)?;
        }
        Ok(mask)
    }
}

/// An error about a delete file, with the path that it was read at.
pub(crate) fn located(context: &ReadContext, file: &DataFile, error: Error) -> Error {
    context.location.explain(error.with("path", context.location.found(&file.path)))
}

/// The positions that position delete files have for a data file; `None` if none.
fn positions_of(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    data_file: &DataFile,
    files: &[&DataFile],
    cache: &DeleteCache,
    shared: &mut Vec<Arc<Positions>>,
) -> Result<Option<Arc<PositionSet>>> {
    let mut all: Option<Arc<PositionSet>> = None;
    for file in files {
        let found = read_positions(store, context, data_file, file, cache).map_err(|e| located(context, file, e))?;
        let found = found.map(|(set, positions)| {
            shared.push(positions);
            set
        });
        match (&mut all, found) {
            (_, None) => {}
            (None, found) => all = found,
            (Some(all), Some(more)) => Arc::make_mut(all).unite(&more),
        }
    }
    Ok(all)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "filter_property_tests.rs"]
mod property_tests;
