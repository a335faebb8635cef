//! How many requests calls make, and requests that are shown.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::parallel::{RequestCounts, SeenRequests};

/// Counts the requests over the network of the calls that one thread makes, from now on.
#[pyclass(name = "RequestCounter", frozen, module = "frazil._core")]
pub(in crate::py) struct PyRequestCounter {
    counts: Arc<RequestCounts>,
    before: SeenRequests,
}

#[pymethods]
impl PyRequestCounter {
    /// A counter for the calls of this thread.
    #[new]
    fn new() -> PyRequestCounter {
        let counts = RequestCounts::of_thread();
        PyRequestCounter { before: counts.seen(), counts }
    }

    /// The number of requests, how many of them failed, and the bytes of the answers.
    fn counts(&self) -> (u64, u64, u64) {
        let seen = self.counts.seen().since(self.before);
        (seen.sent, seen.failed, seen.received_bytes)
    }
}

/// Whether each request of this process is shown as a line of standard error.
#[pyfunction]
#[pyo3(name = "show_requests")]
pub(in crate::py) fn py_show_requests(shown: bool) {
    crate::store::show_requests(shown);
}
