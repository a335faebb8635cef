//! Shows the progress of a call: `frazil.observing.bars` draws it, once the call has taken a second.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::parallel::{Phase, Progress, Unit};
use crate::py::lock::lock;

/// A call that ends earlier shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The process that imported the module. Its forks show nothing.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// Remembers that this process may show progress.
pub(in crate::py) fn set_process() {
    PROCESS.get_or_init(std::process::id);
}

/// The progress of a call, and what shows it. Only the thread that made the call uses it.
pub(in crate::py) struct Showing {
    progress: Arc<Progress>,
    shown: Mutex<Shown>,
}

/// The state of the screen.
enum Shown {
    /// It is too early.
    NotYet,
    /// Nobody can see it.
    Never,
    /// This object of Python draws, and did so at this time.
    By(Py<PyAny>, Instant),
}

impl Showing {
    pub(in crate::py) fn new() -> Showing {
        Showing { progress: Arc::new(Progress::new()), shown: Mutex::new(Shown::NotYet) }
    }

    /// What the work counts.
    pub(in crate::py) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Shows the progress, if it is time.
    ///
    /// # Errors
    /// Those of signal handlers that run meanwhile.
    pub(in crate::py) fn update(&self, py: Python<'_>) -> PyResult<()> {
        if self.progress.began().elapsed() < PATIENCE {
            return Ok(());
        }
        // The lock is not held while Python runs, because a signal handler may make another call.
        let taken = std::mem::replace(&mut *lock(&self.shown), Shown::Never);
        let (next, done) = match taken {
            Shown::Never => return Ok(()),
            Shown::NotYet => self.begin(py),
            Shown::By(bar, at) if at.elapsed() < UPDATE_INTERVAL => (Shown::By(bar, at), Ok(())),
            Shown::By(bar, _) => {
                let drawn = self.draw(bar.bind(py), "update");
                (Shown::By(bar, Instant::now()), drawn)
            }
        };
        *lock(&self.shown) = next;
        done
    }

    fn begin(&self, py: Python<'_>) -> (Shown, PyResult<()>) {
        // Work without phases has nothing to show yet.
        if PROCESS.get() != Some(&std::process::id()) {
            return (Shown::Never, Ok(()));
        }
        if self.progress.seen().is_none() {
            return (Shown::NotYet, Ok(()));
        }
        let begun = py.import("frazil.observing.bars").and_then(|bars| bars.call_method0("begin"));
        match begun {
            Ok(bar) if bar.is_none() => (Shown::Never, Ok(())),
            Ok(bar) => {
                let drawn = self.draw(&bar, "update");
                (Shown::By(bar.unbind(), Instant::now()), drawn)
            }
            Err(raised) => (Shown::Never, Err(raised)),
        }
    }

    fn draw(&self, bar: &Bound<'_, PyAny>, method: &str) -> PyResult<()> {
        let Some(seen) = self.progress.seen() else { return Ok(()) };
        let (name, unit) = (name_of(seen.phase), unit_of(seen.phase.unit()));
        bar.call_method1(method, (name, seen.done, seen.total, unit, seen.seconds)).map(drop)
    }

    /// Removes what is shown.
    ///
    /// # Errors
    /// As [`Showing::update`].
    pub(in crate::py) fn end(&self, py: Python<'_>) -> PyResult<()> {
        let taken = std::mem::replace(&mut *lock(&self.shown), Shown::Never);
        let Shown::By(bar, _) = taken else { return Ok(()) };
        let drawn = self.draw(bar.bind(py), "finish");
        bar.call_method0(py, "close").map(drop).and(drawn)
    }
}

fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Planning => "Planning",
        Phase::Reading => "Reading",
        Phase::ReadingMetadata => "Reading metadata",
        Phase::ReadingSnapshots => "Reading snapshots",
        Phase::ReadingFooters => "Reading footers",
        Phase::Writing => "Writing",
        Phase::Compacting => "Compacting",
        Phase::Listing => "Listing files",
        Phase::Deleting => "Deleting files",
        Phase::CheckingFiles => "Checking files",
        Phase::CheckingSnapshots => "Checking snapshots",
    }
}

fn unit_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Files => "files",
        Unit::Manifests => "manifests",
        Unit::Rows => "rows",
        Unit::Snapshots => "snapshots",
    }
}
