//! The rows of a scan or a split as a stream of batches.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchReader};

use crate::data::arrow::schema::to_arrow;
use crate::data::read::read_ahead::{Ahead, ReadAhead, TaskReader, TaskSource};
use crate::error::{Error, Result};
use crate::format::task::Split;
use crate::parallel::check_cancelled;

/// How a stream is to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamRequest {
    /// Whether batches come in the order of the tasks, each time the same, else as they are ready.
    pub ordered: bool,
    /// Whether all batches are going to be kept: then threads don't wait until some are taken.
    pub all: bool,
    /// Threads that read, at most; 0 is as many as there are cores.
    pub threads: usize,
}

/// Batches of one schema, read ahead by several threads. Once it failed it gives the same error for ever: who goes on
/// must not take the rows so far for all.
pub struct BatchStream {
    schema: SchemaRef,
    /// `None` after the end.
    batches: Option<ReadAhead>,
    left: Option<usize>,
    /// What it failed with.
    failed: Option<Error>,
}

impl BatchStream {
    /// The rows of the tasks of `source`, `limit` at most.
    ///
    /// # Errors
    /// As [`to_arrow`].
    pub(crate) fn new(
        reader: TaskReader,
        source: TaskSource,
        how: StreamRequest,
        limit: Option<usize>,
    ) -> Result<BatchStream> {
        let schema = to_arrow(&reader.context.projection)?;
        // Which rows are the first must not depend on the threads.
        let ahead = Ahead { ordered: how.ordered || limit.is_some(), few: limit.is_some(), all: how.all };
        let batches = Some(ReadAhead::new(reader, source, ahead, how.threads));
        Ok(BatchStream { schema, batches, left: limit, failed: None })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, which is not empty; `None` at the end. Checks for cancellation while it waits.
    ///
    /// # Errors
    /// Those of planning and reading; a cancellation; the same again after any of them.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(error) = &self.failed {
            return Err(error.again());
        }
        while self.left != Some(0) {
            let Some(batches) = &self.batches else { return Ok(None) };
            let batch = match batches.next_batch() {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                Err(e) => {
                    self.batches = None;
                    self.failed = Some(e.again());
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

    /// All batches that are left.
    ///
    /// # Errors
    /// As [`BatchStream::next_batch`].
    pub fn collect_all(mut self) -> Result<Vec<RecordBatch>> {
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

/// Reads the rows of a split, in another process perhaps.
///
/// # Errors
/// As [`Scan::read`].
pub fn read_split(split: &Split, how: StreamRequest, limit: Option<usize>) -> Result<BatchStream> {
    let at = split.tasks.first().map_or("", |t| t.data_file.path.as_str());
    let store = crate::store::open_store(&split.context.location.resolve(at)?, &split.context.storage_options)?;
    let reader = TaskReader { store, context: split.context.clone(), deletes: Arc::default() };
    let mut tasks = split.tasks.clone().into_iter();
    BatchStream::new(reader, Box::new(move || Ok(tasks.next())), how, limit)
}
