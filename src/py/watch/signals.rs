//! Ctrl-C during long work, and its progress. Python runs a signal's handler only when its main thread checks for
//! signals. The same thread shows the progress.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

use pyo3::prelude::*;

use super::showing::Showing;
use crate::error::{Error, Result};
use crate::parallel::{CallCounts, Cancellation, POLL_INTERVAL, Progress};
use crate::py::lock::lock;

/// Checks for signals between the steps of one piece of work. If one arrived, it stops all threads of the work.
///
/// Only the thread that made it checks for signals, because a handler may run only there. It waits for no lock that
/// another thread of the work might hold.
#[derive(Clone)]
pub(in crate::py) struct Watch(Arc<SignalState>);

struct SignalState {
    owner: ThreadId,
    stopped: AtomicBool,
    asked: Mutex<Instant>,
    raised: Mutex<Option<PyErr>>,
    /// What shows the progress of the work; `None` for work in several calls.
    showing: Option<Showing>,
    /// Those of the thread that made the call.
    counts: Arc<CallCounts>,
}

impl Watch {
    /// For the work of one call, whose progress may be shown.
    pub(in crate::py) fn new() -> Self {
        let showing = Showing::new();
        Watch::of(showing.progress().began(), Some(showing))
    }

    /// For work in several calls, such as a stream that others pull.
    pub(in crate::py) fn of_stream() -> Self {
        Watch::of(Instant::now(), None)
    }

    fn of(began: Instant, showing: Option<Showing>) -> Self {
        Watch(Arc::new(SignalState {
            owner: std::thread::current().id(),
            stopped: AtomicBool::new(false),
            asked: Mutex::new(began),
            raised: Mutex::new(None),
            showing,
            counts: CallCounts::of_thread(),
        }))
    }

    /// The cancellation of the work.
    pub(in crate::py) fn cancellation(&self) -> Cancellation {
        let watch = self.clone();
        let cancellation = Cancellation::new(move || watch.check()).counting(self.0.counts.clone());
        match self.progress() {
            Some(progress) => cancellation.reporting(progress.clone()),
            None => cancellation,
        }
    }

    /// The counters of the work, if its progress may be shown.
    pub(in crate::py) fn progress(&self) -> Option<&Arc<Progress>> {
        self.0.showing.as_ref().map(Showing::progress)
    }

    /// An error if the work must stop.
    pub(in crate::py) fn check(&self) -> Result<()> {
        if std::thread::current().id() == self.0.owner && !self.0.stopped.load(Ordering::Relaxed) {
            let mut asked = lock(&self.0.asked);
            // A check attaches to the interpreter and may wait for another thread, so it is not made each time.
            if asked.elapsed() >= POLL_INTERVAL {
                if let Some(raised) = Python::try_attach(|py| self.look(py).err()).flatten() {
                    self.stop(raised);
                }
                *asked = Instant::now();
            }
        }
        if self.0.stopped.load(Ordering::Relaxed) { Err(Error::internal("interrupted")) } else { Ok(()) }
    }

    fn look(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        self.0.showing.as_ref().map_or(Ok(()), |showing| showing.update(py))
    }

    /// The work has ended: nothing of its progress stays on the screen.
    pub(in crate::py) fn end(&self, py: Python<'_>) {
        if let Some(raised) = self.0.showing.as_ref().and_then(|showing| showing.end(py).err()) {
            self.stop(raised);
        }
    }

    /// Stops the work by an exception of the Python code that it calls. The first one stays, since it may cause others.
    pub(in crate::py) fn stop(&self, raised: PyErr) {
        lock(&self.0.raised).get_or_insert(raised);
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work was stopped.
    pub(in crate::py) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// The exception that stopped the work.
    pub(in crate::py) fn raised(&self) -> Option<PyErr> {
        lock(&self.0.raised).take()
    }
}
