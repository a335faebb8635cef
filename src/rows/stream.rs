//! The rows of a scan or a split as a stream of batches.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchReader};

use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::{Ahead, ReadAhead, ScanReader, TaskSource, source_of};
use crate::error::{Error, Result};
use crate::format::task::Split;
use crate::parallel::{Phase, begin_phase, check_cancelled};

/// How to read a stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamRequest {
    /// Whether batches come in the order of the tasks, the same each time. Otherwise they come as they are ready.
    pub ordered: bool,
    /// Whether the caller keeps all batches. Then threads don't wait until batches are taken.
    pub all: bool,
    /// The most threads that read; 0 means the number of cores.
    pub threads: usize,
}

/// Batches of one schema, read ahead by several threads. A stream that failed returns the same error again:
/// callers must not treat a partial result as complete.
pub struct BatchStream {
    schema: SchemaRef,
    /// `None` after the end.
    batches: Option<ReadAhead>,
    left: Option<usize>,
    /// The error of the stream.
    failed: Option<Error>,
}

impl BatchStream {
    /// The rows of the tasks of `source`, at most `limit`.
    ///
    /// # Errors
    /// As [`to_arrow`].
    pub(crate) fn new(
        reader: ScanReader,
        source: TaskSource,
        request: StreamRequest,
        limit: Option<usize>,
    ) -> Result<BatchStream> {
        let schema = to_arrow(&reader.context.projection)?;
        // The choice of the first rows must not depend on the threads.
        let ahead = Ahead { ordered: request.ordered || limit.is_some(), few: limit.is_some(), all: request.all };
        let batches = Some(ReadAhead::new(reader, source, ahead, request.threads));
        Ok(BatchStream { schema, batches, left: limit, failed: None })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, which is not empty; `None` at the end. Checks for cancellation while it waits.
    ///
    /// # Errors
    /// Errors of planning and reading; a cancellation. After an error, the same error again.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(error) = &self.failed {
            return Err(error.duplicate());
        }
        while self.left != Some(0) {
            let Some(batches) = &self.batches else { return Ok(None) };
            let batch = match batches.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(e) => {
                    self.batches = None;
                    self.failed = Some(e.duplicate());
                    return Err(e);
                }
            };
            if batch.num_rows() > 0 {
                let rows = self.left.map_or(batch.num_rows(), |l| l.min(batch.num_rows()));
                self.left = self.left.map(|l| l - rows);
                return Ok(Some(batch.slice(0, rows)));
            }
        }
        self.batches = None;
        Ok(None)
    }

    /// All remaining batches.
    ///
    /// # Errors
    /// As [`BatchStream::next_batch`].
    pub fn collect_all(mut self) -> Result<Vec<RecordBatch>> {
        let _phase = begin_phase(Phase::Reading, 0);
        let mut all = Vec::new();
        while let Some(batch) = self.next_batch()? {
            check_cancelled()?;
            all.push(batch);
        }
        Ok(all)
    }
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

/// Rows that come in batches.
pub type RowReader = Box<dyn RecordBatchReader + Send>;

/// Reads the rows of a split, possibly in another process.
///
/// # Errors
/// As `Scan::read`.
pub fn read_split(split: &Split, request: StreamRequest, limit: Option<usize>) -> Result<BatchStream> {
    let at = split.tasks.first().map_or("", |t| t.data_file.path.as_str());
    let store = crate::store::open_store(&split.context.location.resolve(at)?, &split.context.storage_options)?;
    let reader = ScanReader { store, context: split.context.clone(), deletes: Arc::default() };
    BatchStream::new(reader, source_of(split.tasks.clone()), request, limit)
}
