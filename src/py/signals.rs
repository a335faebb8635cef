//! Ctrl-C during long work. Python runs a signal's handler only when its main thread checks for signals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Instant;

use pyo3::prelude::*;

use super::lock::lock;
use crate::error::{Error, Result};
use crate::parallel::{Cancellation, POLL_INTERVAL};

/// Checks for signals between the steps of one piece of work. If one arrived, it stops all threads of the work.
///
/// Only the thread that made it checks for signals, because a handler may run only there. It waits for no lock that
/// another thread of the work might hold.
#[derive(Clone)]
pub(super) struct Watch(Arc<SignalState>);

struct SignalState {
    owner: ThreadId,
    stopped: AtomicBool,
    asked: Mutex<Instant>,
    raised: Mutex<Option<PyErr>>,
}

impl Watch {
    pub(super) fn new() -> Self {
        Watch(Arc::new(SignalState {
            owner: std::thread::current().id(),
            stopped: AtomicBool::new(false),
            asked: Mutex::new(Instant::now()),
            raised: Mutex::new(None),
        }))
    }

    /// The cancellation of the work.
    pub(super) fn cancellation(&self) -> Cancellation {
        let watch = self.clone();
        Cancellation::new(move || watch.check())
    }

    /// An error if the work must stop.
    pub(super) fn check(&self) -> Result<()> {
        if std::thread::current().id() == self.0.owner && !self.0.stopped.load(Ordering::Relaxed) {
            let mut asked = lock(&self.0.asked);
            // A check attaches to the interpreter and may wait for another thread, so it is not made each time.
            if asked.elapsed() >= POLL_INTERVAL {
                if let Some(raised) = Python::try_attach(|py| py.check_signals().err()).flatten() {
                    self.stop(raised);
                }
                *asked = Instant::now();
            }
        }
        if self.0.stopped.load(Ordering::Relaxed) { Err(Error::internal("interrupted")) } else { Ok(()) }
    }

    /// Stops the work by an exception of the Python code that it calls. The first one stays, since it may cause others.
    pub(super) fn stop(&self, raised: PyErr) {
        lock(&self.0.raised).get_or_insert(raised);
        self.0.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work was stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// The exception that stopped the work.
    pub(super) fn raised(&self) -> Option<PyErr> {
        lock(&self.0.raised).take()
    }
}
