//! What calls do, in numbers: requests, commits, plans. Requests that are shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;

use crate::parallel::{CallCounts, SeenCounts};

/// What a plan counted, by the names of reports.
type PlanCounts = BTreeMap<&'static str, u64>;

/// Counts what the calls that one thread makes do, from now on.
#[pyclass(name = "CallCounter", frozen, module = "frazil._core")]
pub(in crate::py) struct PyCallCounter {
    counts: Arc<CallCounts>,
    before: SeenCounts,
}

#[pymethods]
impl PyCallCounter {
    /// A counter for the calls of this thread.
    #[new]
    fn new() -> PyCallCounter {
        let counts = CallCounts::of_thread();
        counts.listen();
        PyCallCounter { before: counts.seen(), counts }
    }

    /// The number of requests over the network, how many of them failed, and the bytes of the answers.
    fn requests(&self) -> (u64, u64, u64) {
        let seen = self.counts.seen().since(self.before);
        (seen.sent, seen.failed, seen.received_bytes)
    }

    /// The number of commits that were tried, and how often they were tried again.
    fn commits(&self) -> (u64, u64) {
        let seen = self.counts.seen().since(self.before);
        (seen.commits, seen.retries)
    }

    /// How often commits of this thread were tried again so far.
    #[staticmethod]
    fn retries_so_far() -> u64 {
        CallCounts::of_thread().seen().retries
    }

    /// What the only plan counted, by the names of reports. With a plan cache also how many manifests the cache had,
    /// and how many the plan needed. `None` if there was not one plan, or if it has not ended.
    fn plan(&self) -> Option<(PlanCounts, Option<(u64, u64)>)> {
        let metrics = self.counts.plan_since(self.before)?;
        Some((metrics.counts.into_iter().collect(), metrics.cache))
    }
}

impl Drop for PyCallCounter {
    fn drop(&mut self) {
        self.counts.unlisten();
    }
}

/// Whether each request of this process is shown as a line of standard error.
#[pyfunction]
#[pyo3(name = "show_requests")]
pub(in crate::py) fn py_show_requests(shown: bool) {
    crate::store::show_requests(shown);
}
