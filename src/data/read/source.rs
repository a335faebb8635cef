//! The traits that a file format implements, so that its files can be read.
//!
//! A format is a [`FormatFile`]. It gives the columns of a file as an Arrow schema whose fields carry field ids. It
//! decodes the wanted leaf columns to batches, with the positions of their rows.
//!
//! A format that can decode the columns of the filter alone tests rows itself, with the given [`RowTest`]. It decodes
//! the other columns only for rows that stay.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::BooleanBuffer;
use arrow::datatypes::Schema as ArrowSchema;
use arrow::record_batch::RecordBatch;

use super::constants::Constants;
use super::file_columns::FileColumns;
use super::filter::matches;
use super::filter_columns::FilterColumns;
use super::row_columns::RowFacts;
use crate::data::deletes::filter::DeleteFilter;
use crate::data::deletes::keys::KeyArrays;
use crate::data::deletes::positions::RowPositions;
use crate::error::{Error, Result};
use crate::expr::BoundPredicate;
use crate::types::{FieldId, Schema};

/// Most bytes of a batch if rows are large: several batches of several files are in memory at once.
pub(crate) const BATCH_BYTES: u64 = 32 << 20;

/// The error of a source if a batch would have more bytes than the offsets of Arrow's strings can count.
#[cold]
pub(crate) fn too_large() -> Error {
    Error::unsupported("the rows of a batch have more than 2 GiB in one column")
        .hint("Read smaller batches: set the option 'batch-rows'")
}

/// An open file of some format.
pub(crate) trait FormatFile {
    /// All columns of the file, with field ids in the fields' metadata if the file has them.
    fn schema(&self) -> &ArrowSchema;

    /// Makes timestamps in these leaf columns be read as nanoseconds, if the file does not name their unit.
    fn read_nanos(&mut self, _leaves: &BTreeSet<usize>) -> Result<()> {
        Ok(())
    }

    /// Limits it to a part of its rows. `false` if none of them can matter.
    fn narrow(&mut self, part: &FilePart<'_>) -> Result<bool>;

    /// A predicate that holds for a column in all rows of that part. `True` if nothing is known.
    fn range_of(&self, _part: &FilePart<'_>, _column: FieldId) -> BoundPredicate {
        BoundPredicate::True
    }

    /// Starts to decode that part; `None` if none of its rows can matter.
    fn start(self: Box<Self>, part: &FilePart<'_>, request: DecodeRequest) -> Result<Option<Started>>;
}

/// The part of a file that is read, and the wanted rows in it.
#[derive(Debug)]
pub(crate) struct FilePart<'a> {
    /// The bytes that the task covers: from `i64::MIN` or to `i64::MAX` if it reaches an end of the file.
    pub range: Range<i64>,
    /// The filter that rows must satisfy, on columns of `schema`. Files may use it to skip rows.
    pub filter: &'a Arc<BoundPredicate>,
    pub schema: &'a Schema,
    /// The file's columns.
    pub columns: &'a FileColumns,
    /// Values of columns that the file lacks.
    pub constants: &'a Constants,
    /// The size that the table records for the file.
    pub recorded: RecordedSize,
}

/// The size of a file in a manifest. A file may have more than that, and is read as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedSize {
    pub rows: u64,
    pub bytes: u64,
    /// Whether it is a file of deletes.
    pub are_deletes: bool,
}

/// Rows without columns that a part of a file may claim. Decoding checks claims, but nothing is decoded here.
const MOST_UNREAD_ROWS: u64 = 1 << 32;

impl RecordedSize {
    /// Refuses a whole file that has fewer rows and another length than recorded. Rows, or deletes of rows, would be
    /// missing. A file of the recorded length is the one that was committed, so its rows are right. ClickHouse before
    /// 26.5 recorded the rows of the whole table for each file (ClickHouse/ClickHouse#118942). Java reads such files
    /// too.
    ///
    /// # Errors
    /// `CorruptTable`.
    pub(crate) fn check_whole(&self, rows: u64, bytes: u64) -> Result<()> {
        if rows >= self.rows || bytes == self.bytes {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the file has {rows} rows in {bytes} bytes, but the table says {} rows in {} bytes: it was replaced or cut off",
            self.rows, self.bytes
        ))
        .hint("Restore the file as it was committed"))
    }

    /// Refuses to count rows without any column, if there are more than the table records and more than any file has.
    pub(crate) fn check_unread(&self, rows: u64) -> Result<()> {
        match rows <= self.rows.max(MOST_UNREAD_ROWS) {
            true => Ok(()),
            false => Err(Error::corrupt(format!("the file claims {rows} rows, but the table records {}", self.rows))),
        }
    }
}

/// The wanted rows and columns.
#[derive(Debug)]
pub(crate) struct DecodeRequest {
    /// The leaf columns of rows that stay.
    pub leaves: BTreeSet<usize>,
    /// The test that decides which rows stay. The leaf columns it needs are read in addition.
    pub test: RowTest,
    /// The columns of deletes by key, which are among `leaves`; empty if there are no such deletes.
    pub keys: FilterColumns,
    /// Whether the positions of rows that stay are wanted.
    pub tells_positions: bool,
    /// Most rows of a batch.
    pub batch_rows: usize,
}

impl DecodeRequest {
    /// All leaf columns that are needed.
    pub(crate) fn all_leaves(&self) -> BTreeSet<usize> {
        &self.leaves | self.test.leaves()
    }

    /// Whether the positions of rows matter, to the caller or to the test.
    pub(crate) fn needs_positions(&self) -> bool {
        self.tells_positions || self.test.needs_positions()
    }
}

/// A file that is being decoded.
pub(crate) struct Started {
    pub batches: DecodedBatches,
    /// The leaf columns in its batches.
    pub leaves: BTreeSet<usize>,
    /// The test, if it is not applied to the batches yet.
    pub test: Option<RowTest>,
    /// Whether deletes by key are applied to the batches already.
    pub keys_tested: bool,
}

/// Batches of a file's wanted leaf columns, each with the positions of its rows. Positions may be left out if nobody
/// needs them any more.
pub(crate) type DecodedBatches = Box<dyn Iterator<Item = Result<(RecordBatch, RowPositions)>> + Send>;

/// The test that comes first: the filter and deletes by position, on batches of the file as they come.
#[derive(Debug)]
pub(crate) struct RowTest {
    pub(super) filter: Arc<BoundPredicate>,
    pub(super) columns: FilterColumns,
    pub(super) deletes: Option<Arc<DeleteFilter>>,
}

impl RowTest {
    /// Makes a test of a filter alone, on columns that are placed.
    #[cfg(test)]
    pub(crate) fn new(filter: Arc<BoundPredicate>, columns: FilterColumns) -> RowTest {
        RowTest { filter, columns, deletes: None }
    }

    /// The leaf columns it needs.
    pub(crate) fn leaves(&self) -> &BTreeSet<usize> {
        self.columns.leaves()
    }

    /// Whether the test needs the positions of rows.
    pub(crate) fn needs_positions(&self) -> bool {
        self.columns.needs_positions() || self.deletes.as_ref().is_some_and(|d| d.has_positions())
    }

    /// The rows of `kept` that deletes by key leave. `keys` are placed as the test is.
    pub(crate) fn keep_keys(
        &self,
        keys: &FilterColumns,
        batch: &RecordBatch,
        kept: BooleanBuffer,
    ) -> Result<BooleanBuffer> {
        match &self.deletes {
            Some(deletes) if !keys.is_empty() => deletes.keep_keys(&key_arrays(keys, batch)?, kept),
            _ => Ok(kept),
        }
    }

    /// Prepares it for batches in which just `leaves` of the file are read.
    pub(crate) fn place(self, columns: &FileColumns, leaves: &BTreeSet<usize>) -> RowTest {
        RowTest { columns: self.columns.place(columns, leaves), ..self }
    }

    /// The rows that stay.
    pub(crate) fn keep(&self, batch: &RecordBatch, positions: &RowPositions) -> Result<BooleanBuffer> {
        let rows = batch.num_rows();
        let kept = match &*self.filter {
            BoundPredicate::True => BooleanBuffer::new_set(rows),
            filter => {
                let arrays = self.columns.arrays(batch, &RowFacts { rows, positions, deleted: None })?;
                matches(filter, rows, &|id| arrays.get(&id).cloned())?
            }
        };
        Ok(match &self.deletes {
            Some(deletes) if deletes.has_positions() => &kept & &deletes.keep_positions(positions),
            _ => kept,
        })
    }
}

/// The key columns of a batch.
pub(super) fn key_arrays(keys: &FilterColumns, batch: &RecordBatch) -> Result<KeyArrays> {
    let nowhere = RowPositions::default();
    keys.arrays(batch, &RowFacts { rows: batch.num_rows(), positions: &nowhere, deleted: None })
}
