//! A plan that a REST server makes, while it is running.

use std::sync::Arc;
use std::time::Instant;

use super::pages::PageReader;
use super::planner::ServedPages;
use crate::error::{Result, ResultExt};
use crate::iceberg::plan::input::PlanInput;
use crate::iceberg::plan::planned::{PlanCounters, PlannedBatch};
use crate::iceberg::plan::specs::ScanSpecs;

/// A plan that a server made. It yields batches in the server's order.
pub struct ServedPlan {
    pages: Box<dyn ServedPages>,
    reader: PageReader,
    counters: PlanCounters,
    snapshot_id: i64,
    failed: bool,
}

impl ServedPlan {
    /// The plan of these pages.
    pub(crate) fn new(pages: Box<dyn ServedPages>, input: &PlanInput, began: Instant) -> ServedPlan {
        let reader = PageReader {
            specs: ScanSpecs::new(&input.metadata, &input.schema),
            filter: Arc::clone(&input.filter),
            with_metrics: input.column_metrics,
        };
        let entries_ms = began.elapsed().as_secs_f64() * 1e3;
        let snapshot_id = input.snapshot.as_ref().map_or(-1, |s| s.id);
        let counters = PlanCounters { entries_ms, ..PlanCounters::default() };
        ServedPlan { pages, reader, counters, snapshot_id, failed: false }
    }

    /// The next batch; `None` at the end. After an error the plan yields nothing more.
    ///
    /// # Errors
    /// As [`ServedPages::next_page`]; `CorruptTable` for tasks and files that the specification does not allow.
    pub(crate) fn next_batch(&mut self) -> Result<Option<PlannedBatch>> {
        while !self.failed {
            let began = Instant::now();
            let page = self.pages.next_page();
            let batch = page.and_then(|page| page.map(|page| self.reader.read(page)).transpose());
            let batch = batch.with("snapshot", self.snapshot_id).inspect_err(|_| self.failed = true)?;
            let Some(batch) = batch else { break };
            self.counters.add_files(&batch.seen);
            self.counters.add_deletes(&batch.seen);
            self.counters.entries_ms += began.elapsed().as_secs_f64() * 1e3;
            if !batch.rows.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The counters so far. They have no manifests.
    pub(crate) fn counters(&self) -> &PlanCounters {
        &self.counters
    }
}
