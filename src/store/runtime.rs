//! The asynchronous runtime of network stores, and how blocking calls wait for it.
//!
//! A runtime and its connections don't work in a forked process: its threads do not exist there, and the parent uses
//! the connections. Everything that lives longer than a call is therefore kept per process ([`PerProcess`]). A forked
//! process creates its own and never uses or drops the inherited ones.

use std::future::Future;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::http::of_call;
use crate::error::{Error, Result};
use crate::parallel;
use crate::parallel::POLL_INTERVAL;

/// The number of threads that transfer bytes. The waiting threads process the results.
const THREADS: usize = 2;

static RUNTIME: PerProcess<Arc<Runtime>> = PerProcess::new();

/// A value that each process creates for itself.
pub(super) struct PerProcess<T> {
    slot: Mutex<Option<(u32, T)>>,
}

impl<T: Clone> PerProcess<T> {
    /// Creates an empty holder.
    pub(super) const fn new() -> PerProcess<T> {
        PerProcess { slot: Mutex::new(None) }
    }

    /// The value of this process. `make` creates it at the first call.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn get(&self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        // Another thread held the lock at the moment of a fork.
        let Some(mut slot) = parallel::lock_in_any_process(&self.slot) else { return make() };
        let process = std::process::id();
        match &*slot {
            Some((owner, value)) if *owner == process => Ok(value.clone()),
            _ => {
                let value = make()?;
                // Don't drop the parent's value. That would close connections that the parent uses.
                std::mem::forget(slot.replace((process, value.clone())));
                Ok(value)
            }
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let slot = match self.slot.get_mut() {
            Ok(slot) => slot,
            Err(poisoned) => poisoned.into_inner(),
        };
        if slot.as_ref().is_some_and(|(owner, _)| *owner != std::process::id()) {
            std::mem::forget(slot.take());
        }
    }
}

/// Running work on the runtime. Dropping it cancels the work.
pub(super) struct PendingRequest<T> {
    /// `None` after it was waited for.
    inner: Option<(Receiver<T>, JoinHandle<()>)>,
    process: u32,
}

/// Starts work on the runtime.
///
/// # Errors
/// `Store` if the runtime's threads can't be started.
pub(super) fn start<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<PendingRequest<T>> {
    let runtime = RUNTIME.get(make)?;
    let (tell, told) = sync_channel(1);
    let task = runtime.spawn(of_call(async move {
        // If the work was cancelled, nobody receives the result.
        tell.send(work.await).unwrap_or(());
    }));
    Ok(PendingRequest { inner: Some((told, task)), process: std::process::id() })
}

/// Starts work and waits for it.
///
/// # Errors
/// Errors of [`start`] and [`PendingRequest::wait`].
pub(super) fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Result<T> {
    start(work)?.wait()
}

/// Runs blocking work for which nobody waits.
///
/// # Errors
/// `Store` if the runtime's threads can't be started.
pub(super) fn detach(work: impl FnOnce() + Send + 'static) -> Result<()> {
    RUNTIME.get(make).map(|runtime| drop(runtime.spawn_blocking(work)))
}

fn make() -> Result<Arc<Runtime>> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).thread_name("frazil-io").enable_all().build();
    Ok(Arc::new(runtime.map_err(|e| Error::store("no threads can be started for the network").because(e))?))
}

impl<T> PendingRequest<T> {
    /// Waits for the result. Checks for cancellation meanwhile ([`parallel::check_cancelled`]) and then cancels the
    /// work.
    ///
    /// # Errors
    /// Cancellation; `Internal` if the work panicked.
    pub(super) fn wait(mut self) -> Result<T> {
        let gone = || Error::internal("a request to the store ended without a result");
        let Some((told, _)) = self.inner.as_ref().filter(|_| self.process == std::process::id()) else {
            return Err(gone());
        };
        loop {
            match told.recv_timeout(POLL_INTERVAL) {
                Ok(done) => {
                    self.inner = None;
                    return Ok(done);
                }
                Err(RecvTimeoutError::Timeout) => parallel::check_cancelled()?,
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }

    /// Waits for the end of the work, or until the time that `limit` gives. Then the work goes on without the caller.
    pub(super) fn wait_or_leave(mut self, limit: impl Fn() -> Option<Instant>) {
        let Some((told, _)) = self.inner.as_ref().filter(|_| self.process == std::process::id()) else { return };
        while told.recv_timeout(POLL_INTERVAL).is_err_and(|e| e == RecvTimeoutError::Timeout) {
            if limit().is_some_and(|until| Instant::now() >= until) {
                break;
            }
        }
        // Without its handle, a task runs to its end.
        self.inner = None;
    }
}

impl<T> Drop for PendingRequest<T> {
    fn drop(&mut self) {
        let Some(inner) = self.inner.take() else { return };
        if self.process == std::process::id() {
            inner.1.abort();
        } else {
            // The value belongs to the parent's runtime.
            std::mem::forget(inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waits_and_can_be_told_to_stop() {
        assert_eq!(wait(async { 7 }).unwrap(), 7);
        let began = Instant::now();
        let stopped = parallel::Cancellation::after(0)
            .scope(|| wait(async { tokio::time::sleep(Duration::from_secs(60)).await }));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
        assert!(began.elapsed() < Duration::from_secs(10));
        assert_eq!(wait(async { panic!("broken") }).unwrap_err().kind(), crate::error::ErrorKind::Internal);
    }

    #[test]
    fn a_value_is_made_once_a_process() {
        let kept = PerProcess::new();
        assert_eq!(kept.get(|| Ok(1)).unwrap(), 1);
        assert_eq!(kept.get(|| Ok(2)).unwrap(), 1);
        *kept.slot.lock().unwrap() = Some((0, 5));
        assert_eq!(kept.get(|| Ok(3)).unwrap(), 3);
        let failing: PerProcess<u8> = PerProcess::new();
        assert!(failing.get(|| Err(Error::invalid("no"))).is_err());
    }
}
