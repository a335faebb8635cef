//! The rows of one file of any format.
//!
//! [`FileReader`] tests the rows that a [`FormatFile`] decodes: by the filter, by deleted positions and by deleted
//! keys. Rows that stay get the columns of the projection.

use std::sync::Arc;

use arrow::array::{BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter_record_batch;
use arrow::record_batch::RecordBatch;

use super::filter::{matches, matches_among};
use super::filter_columns::FilterColumns;
use super::guard::guard;
use super::project::Projection;
use super::row_columns::RowFacts;
use super::rows::RawRows;
use super::source::{DecodeRequest, DecodedBatches, FilePart, FormatFile, RowTest, Started, key_arrays};
use crate::data::deletes::filter::DeleteFilter;
use crate::data::deletes::keys::KeyArrays;
use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::parallel::check_cancelled;

/// The conditions on rows, and the requested columns. Columns are not placed yet.
pub(crate) struct ReadRequest {
    pub projection: Projection,
    /// The filter that rows must satisfy, and its columns.
    pub test: (Arc<BoundPredicate>, FilterColumns),
    /// The same, for conditions that need to know which rows are deleted, or that deleted rows could make fail.
    pub late: Option<(Arc<BoundPredicate>, FilterColumns)>,
    /// The key columns of the deletes, or the requested ones.
    pub keys: FilterColumns,
    pub deletes: Option<Arc<DeleteFilter>>,
    /// Whether deleted rows stay.
    pub keep_deleted: bool,
    /// Whether the positions of rows are wanted.
    pub tells_positions: bool,
    /// Most rows of a batch.
    pub batch_rows: usize,
}

impl ReadRequest {
    fn needs_positions(&self) -> bool {
        let by_position = |d: &Arc<DeleteFilter>| self.keep_deleted && d.has_positions();
        let late = || self.late.as_ref().is_some_and(|(_, columns)| columns.needs_positions());
        self.tells_positions
            || self.projection.needs_positions()
            || self.deletes.as_ref().is_some_and(by_position)
            || late()
    }
}

/// Streams a task's rows.
pub(crate) struct FileReader {
    path: String,
    /// `None` after the end or an error.
    batches: Option<DecodedBatches>,
    projection: Projection,
    keys: FilterColumns,
    /// Set if filter and positions are tested here and not in the source.
    test: Option<RowTest>,
    late: Option<(Arc<BoundPredicate>, FilterColumns)>,
    deletes: Option<Arc<DeleteFilter>>,
    keep_deleted: bool,
    keys_tested: bool,
    /// Whether positions matter after the test.
    tells_positions: bool,
}

impl FileReader {
    /// Starts to decode a part of a file; `None` if none of its rows can matter. If there are no deletes, rows come
    /// with the key columns and, if wanted, their positions.
    pub(crate) fn start(
        file: Box<dyn FormatFile>,
        path: &str,
        part: &FilePart<'_>,
        request: ReadRequest,
    ) -> Result<Option<FileReader>> {
        let tells_positions = request.needs_positions();
        let ReadRequest { projection, test: (filter, columns), late, keys, deletes, keep_deleted, batch_rows, .. } =
            request;
        let mut leaves = projection.leaves() | keys.leaves();
        leaves.extend(late.iter().flat_map(|(_, columns)| columns.leaves()));
        let test = RowTest { filter, columns, deletes: deletes.clone().filter(|_| !keep_deleted) };
        let has_deletes = deletes.is_some() && !keep_deleted;
        let tested = if has_deletes { keys.clone() } else { FilterColumns::none() };
        let request = DecodeRequest { leaves, test, keys: tested, tells_positions, batch_rows };
        let Some(Started { batches, leaves, test, keys_tested }) = guard(|| file.start(part, request))? else {
            return Ok(None);
        };
        let (projection, keys) = (projection.place(part.columns, &leaves), keys.place(part.columns, &leaves));
        let test = test.map(|test| test.place(part.columns, &leaves));
        let late = late.map(|(filter, columns)| (filter, columns.place(part.columns, &leaves)));
        let (path, batches) = (path.to_owned(), Some(batches));
        Ok(Some(FileReader {
            path,
            batches,
            projection,
            keys,
            test,
            late,
            deletes,
            keep_deleted,
            keys_tested,
            tells_positions,
        }))
    }

    /// The next rows that are left after filter and deletes.
    fn next_rows(&mut self) -> Result<Option<RawRows>> {
        while let Some((batch, positions)) = self.batches.as_mut().and_then(Iterator::next).transpose()? {
            // The filter may leave none of the rows of many batches.
            check_cancelled()?;
            let rows = self.left_of(batch, positions)?;
            if rows.batch.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        self.batches = None;
        Ok(None)
    }

    /// The rows of a batch that filter and deletes leave, in the wanted columns.
    fn left_of(&mut self, batch: RecordBatch, mut positions: RowPositions) -> Result<RawRows> {
        let rows = batch.num_rows();
        let mut kept = match &self.test {
            Some(test) => test.keep(&batch, &positions)?,
            None => BooleanBuffer::new_set(rows),
        };
        let mut deleted = None;
        if self.keep_deleted {
            deleted = self.deleted(&batch, &positions)?;
            if let Some((filter, columns)) = &self.late {
                let arrays =
                    columns.arrays(&batch, &RowFacts { rows, positions: &positions, deleted: deleted.as_ref() })?;
                kept = &kept & &matches(filter, rows, &|id| arrays.get(&id).cloned())?;
            }
        } else if let Some(deletes) = &self.deletes
            && !self.keys.is_empty()
            && !self.keys_tested
        {
            kept = deletes.keep_keys(&key_arrays(&self.keys, &batch)?, kept)?;
        }
        if !self.keep_deleted
            && let Some((filter, columns)) = &self.late
        {
            let arrays = columns.arrays(&batch, &RowFacts { rows, positions: &positions, deleted: None })?;
            kept = matches_among(filter, &kept, &|id| arrays.get(&id).cloned())?;
        }
        let batch = if kept.count_set_bits() == rows {
            batch
        } else {
            positions = if self.tells_positions { positions.filter(&kept) } else { RowPositions::default() };
            deleted = deleted.map(|deleted| select(&deleted, &kept));
            filter_record_batch(&batch, &BooleanArray::new(kept, None))
                .map_err(|e| Error::internal("rows cannot be filtered").because(e))?
        };
        let mut keys = KeyArrays::new();
        if self.deletes.is_none() && !self.keys.is_empty() {
            keys = key_arrays(&self.keys, &batch)?;
        }
        let facts = RowFacts { rows: batch.num_rows(), positions: &positions, deleted: deleted.as_ref() };
        Ok(RawRows { batch: self.projection.project(&batch, &facts)?, keys, positions })
    }

    /// The deleted rows; `None` if no row is deleted.
    fn deleted(&self, batch: &RecordBatch, positions: &RowPositions) -> Result<Option<BooleanBuffer>> {
        let Some(deletes) = &self.deletes else { return Ok(None) };
        let by_position = match deletes.has_positions() {
            true => deletes.keep_positions(positions),
            false => BooleanBuffer::new_set(batch.num_rows()),
        };
        Ok(Some(!&deletes.keep_keys(&key_arrays(&self.keys, batch)?, by_position)?))
    }
}

/// The bits of the rows that `kept` has.
fn select(bits: &BooleanBuffer, kept: &BooleanBuffer) -> BooleanBuffer {
    let mut out = BooleanBufferBuilder::new(kept.count_set_bits());
    for (start, end) in kept.set_slices() {
        out.append_buffer(&bits.slice(start, end - start));
    }
    out.finish()
}

impl Iterator for FileReader {
    type Item = Result<RawRows>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = guard(|| self.next_rows());
        if next.is_err() {
            self.batches = None;
        }
        next.map_err(|e| e.with("path", &self.path)).transpose()
    }
}
