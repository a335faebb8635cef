//! Cleaning up after a call that failed: the removal of its files from a remote store.
//!
//! A call waits for it. A cancelled call soon leaves it, and it goes on. What is left when the process ends gets a last
//! moment.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::runtime::{PerProcess, start};
use crate::parallel;

/// How long the process waits when it ends.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// How often the process looks whether the cleaning has ended.
const STEP: Duration = Duration::from_millis(5);

/// The cleaning that is running.
static RUNNING: PerProcess<Arc<AtomicUsize>> = PerProcess::new();

/// Counts one until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Runs work that cleans up. If it can't be started, nothing is cleaned.
pub(super) fn clean_up(work: impl Future<Output = ()> + Send + 'static) {
    let Ok(running) = RUNNING.get(|| Ok(Arc::default())) else { return };
    running.fetch_add(1, Ordering::Relaxed);
    let counted = Counted(running);
    let started = start(async move {
        work.await;
        drop(counted);
    });
    if let Ok(started) = started {
        started.wait_or_leave(parallel::end_of_cleaning);
    }
}

/// Waits until all cleaning has ended, for two seconds at most. For the end of the process.
pub fn finish_cleaning() {
    let Ok(running) = RUNNING.get(|| Ok(Arc::default())) else { return };
    let until = Instant::now() + LAST_WAIT;
    while running.load(Ordering::Acquire) > 0 && Instant::now() < until && parallel::pause(STEP).is_ok() {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn slow(done: &Arc<AtomicBool>) -> impl Future<Output = ()> + Send + 'static {
        let done = done.clone();
        async move {
            tokio::time::sleep(parallel::PATIENCE * 4).await;
            done.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_cancelled_call_does_not_wait_for_its_cleaning_and_the_process_does() {
        let done = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        // Twenty times the wait would take longer than the cleaning.
        parallel::Cancellation::after(0).scope(|| (0..20).for_each(|_| clean_up(slow(&done))));
        assert!(began.elapsed() > parallel::PATIENCE && !done.load(Ordering::SeqCst));
        finish_cleaning();
        assert!(done.load(Ordering::SeqCst));
    }

    #[test]
    fn a_call_that_is_not_cancelled_waits() {
        let done = Arc::new(AtomicBool::new(false));
        clean_up(slow(&done));
        assert!(done.load(Ordering::SeqCst));
    }
}
