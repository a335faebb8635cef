//! Loads the deletes of a data file into a [`DeleteFilter`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cache::DeleteCache;
use super::files::{located, read_keys, read_positions, read_vector};
use super::filter::DeleteFilter;
use super::position_sets::PositionsByFile;
use crate::codec::bitmap::PositionSet;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::format::task::{DataFile, DeleteRef, FileContent, FileFormat, ReadContext};
use crate::store::Store;
use crate::types::FieldId;

impl DeleteFilter {
    /// Reads the deletes of a data file, or takes them from `cache` if another task of the scan has read them.
    ///
    /// # Errors
    /// All name the delete file.
    /// - `Unsupported`: the delete file is encrypted, or a column can't be a key of deletes.
    /// - `CorruptTable`: the file is damaged. Or there are two deletion vectors, or one of another data file. Or it has
    ///   another number of positions than recorded. Or no schema of the table has a key column.
    /// - The store's errors.
    pub fn load(
        store: &Arc<dyn Store>,
        context: &Arc<ReadContext>,
        data_file: &DataFile,
        deletes: &[DeleteRef],
        cache: &DeleteCache,
    ) -> Result<DeleteFilter> {
        DeleteFilter::load_in_ranges(store, context, data_file, deletes, cache, &|_| BoundPredicate::True)
    }

    /// Does the same as [`DeleteFilter::load`], for rows whose columns are within the ranges that `range_of` gives. In
    /// delete files with very many keys, only keys in these ranges are read.
    pub(crate) fn load_in_ranges(
        store: &Arc<dyn Store>,
        context: &Arc<ReadContext>,
        data_file: &DataFile,
        deletes: &[DeleteRef],
        cache: &DeleteCache,
        range_of: &dyn Fn(FieldId) -> BoundPredicate,
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
            filter.keys.push(read_keys(store, context, &ids, &files, cache, range_of)?);
        }
        Ok(filter)
    }
}

/// The positions that position delete files have for a data file; `None` if they have no positions.
fn positions_of(
    store: &Arc<dyn Store>,
    context: &Arc<ReadContext>,
    data_file: &DataFile,
    files: &[&DataFile],
    cache: &DeleteCache,
    shared: &mut Vec<Arc<PositionsByFile>>,
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
