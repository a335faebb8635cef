//! Scans: immutable descriptions of what to read, planned and read lazily.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::task::{ReadContext, ScanTask, Split};
use crate::types::Schema;

fn later<T>() -> Result<T> {
    Err(Error::unsupported("not built yet"))
}

/// How tasks are packed into splits; `None` takes the table's property or Java's default (128 MiB, 10, 4 MiB).
#[derive(Clone, Copy, Debug, Default)]
pub struct SplitRequest {
    /// Bytes of a split.
    pub split_size_bytes: Option<i64>,
    /// Open bins that are looked at.
    pub lookback: Option<usize>,
    /// Least weight of a file.
    pub open_file_cost_bytes: Option<i64>,
}

/// One stage of the funnel: what came in and what stayed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunnelStage {
    /// `manifests`, `partitions`, `metrics`, `tasks` …
    pub name: &'static str,
    /// What is counted, as in `manifest` or `data file`.
    pub unit: &'static str,
    /// How many came in.
    pub considered: u64,
    /// How many stayed.
    pub kept: u64,
    /// Their bytes.
    pub kept_bytes: u64,
    /// What decided, in words.
    pub reason: String,
    /// Wall time, milliseconds.
    pub time_ms: f64,
}

/// What planning did and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explain {
    /// The table's location.
    pub table: String,
    /// The snapshot read.
    pub snapshot_id: Option<i64>,
    /// The filter as text.
    pub filter: String,
    /// The selected columns.
    pub select: Vec<String>,
    /// The funnel, in order.
    pub stages: Vec<FunnelStage>,
    /// Rows in the files kept.
    pub rows: u64,
}

/// Tasks as planning finds them, in deterministic order.
pub struct TaskStream {}

impl Iterator for TaskStream {
    type Item = Result<ScanTask>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

/// Batches as reading finds them.
pub struct BatchStream {
    schema: SchemaRef,
}

impl BatchStream {
    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch>;
    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

/// Reads the rows of a split.
pub fn read_split(_split: &Split, _limit: Option<usize>) -> Result<BatchStream> {
    later()
}

/// What to read of a table. Immutable and cheap to clone; does nothing until planned or read.
#[derive(Clone, Debug)]
pub struct Scan {}

impl Scan {
    /// Keeps only rows that this filter keeps as well.
    pub fn filter(&self, _predicate: Predicate) -> Result<Scan> {
        later()
    }
    /// Reads only these columns (dotted paths), in this order.
    pub fn select(&self, _columns: &[String]) -> Result<Scan> {
        later()
    }
    /// Reads at most so many rows.
    pub fn limit(&self, _rows: usize) -> Scan {
        self.clone()
    }
    /// The rows' schema.
    pub fn schema(&self) -> Result<Arc<Schema>> {
        later()
    }
    /// The rows' Arrow schema.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        later()
    }
    /// What tasks of this scan share.
    pub fn context(&self) -> Arc<ReadContext> {
        unimplemented!()
    }
    /// The filter as text.
    pub fn filter_text(&self) -> String {
        String::new()
    }
    /// The snapshot that is read.
    pub fn snapshot_id(&self) -> Option<i64> {
        None
    }
    /// Tasks, one for each file.
    pub fn plan_files(&self) -> Result<TaskStream> {
        later()
    }
    /// The tasks as Arrow batches without an object each.
    pub fn plan_table(&self) -> Result<Vec<RecordBatch>> {
        later()
    }
    /// The number of tasks.
    pub fn count_files(&self) -> Result<u64> {
        later()
    }
    /// Bin-packed splits.
    pub fn splits(&self, _request: SplitRequest) -> Result<Vec<Split>> {
        later()
    }
    /// What planning does and why.
    pub fn explain(&self) -> Result<Explain> {
        later()
    }
    /// The rows.
    pub fn read(&self) -> Result<BatchStream> {
        later()
    }
    /// The number of rows.
    pub fn count(&self) -> Result<u64> {
        later()
    }
}
