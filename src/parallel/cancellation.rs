//! Whether the call that a thread works for was cancelled.

use std::cell::RefCell;
use std::ops::Range;
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::call_counts::CallCounts;
use super::progress::Progress;
use crate::error::Result;

/// Tells whether a call was cancelled.
///
/// A call installs it on its thread by [`Cancellation::scope`]. Threads that work for the call inherit it. Long work
/// checks it between its steps by [`check_cancelled`].
#[derive(Clone, Default)]
pub struct Cancellation {
    check: Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>,
    /// The locks that the call holds, and the calls that it comes from.
    held: Option<Arc<HeldLock>>,
    /// What the call tells about its progress, if somebody can watch it.
    progress: Option<Arc<Progress>>,
    /// Where its requests, commits and plans count.
    counts: Option<Arc<CallCounts>>,
    /// The end of the wait for the last step and the cleaning. The first that asks after the cancellation sets it.
    ending: Option<Arc<OnceLock<Instant>>>,
}

/// A [`CallLock`] that a call holds, and those that it took before.
struct HeldLock {
    id: u64,
    before: Option<Arc<HeldLock>>,
}

/// How often a thread that waits for others checks for cancellation.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a cancelled call waits for the outcome of its last step and for its cleaning, together.
pub(crate) const PATIENCE: Duration = Duration::from_millis(250);

thread_local! {
    static CURRENT: RefCell<Cancellation> = const { RefCell::new(Cancellation::none()) };
}

impl Cancellation {
    /// A cancellation that `check` decides. Once the call is cancelled, `check` returns an error, which ends the work.
    /// Every thread that works for the call runs `check` between two steps, so it must be cheap.
    pub fn new(check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        let ending = Some(Arc::default());
        Cancellation { check: Some(Arc::new(check)), held: None, progress: None, counts: None, ending }
    }

    /// A cancellation for work that is never cancelled, such as the cleaning after a failure.
    pub const fn none() -> Self {
        Cancellation { check: None, held: None, progress: None, counts: None, ending: None }
    }

    /// The same cancellation for a call that counts its progress.
    pub fn reporting(self, progress: Arc<Progress>) -> Self {
        Cancellation { progress: Some(progress), ..self }
    }

    /// The same cancellation for a call whose requests, commits and plans are counted.
    pub fn counting(self, counts: Arc<CallCounts>) -> Self {
        Cancellation { counts: Some(counts), ..self }
    }

    /// The same cancellation for work of the call that this thread works for: its progress and its requests count for
    /// that call.
    pub(crate) fn counting_for_call(self) -> Self {
        let Cancellation { progress, counts, .. } = Cancellation::current();
        Cancellation { progress, counts, ..self }
    }

    /// The cancellation of the call that this thread works for.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The same cancellation for a call that holds one more lock.
    pub(super) fn holding(self, id: u64) -> Self {
        Cancellation { held: Some(Arc::new(HeldLock { id, before: self.held.clone() })), ..self }
    }

    /// Whether the call, or one that it comes from, holds a lock.
    pub(super) fn holds(&self, id: u64) -> bool {
        let mut next = self.held.as_deref();
        while let Some(held) = next {
            if held.id == id {
                return true;
            }
            next = held.before.as_deref();
        }
        false
    }

    /// Runs `work` as a part of the call. This thread and the threads that it starts here check this cancellation.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Puts back the former cancellation, also after a panic.
        struct Former(Cancellation);
        impl Drop for Former {
            fn drop(&mut self) {
                CURRENT.set(std::mem::take(&mut self.0));
            }
        }
        // A call that comes from another one knows the locks of that.
        let held = self.held.clone().or_else(|| Cancellation::current().held);
        let _former = Former(CURRENT.replace(Cancellation { held, ..self.clone() }));
        work()
    }

    /// The number of checks in `work`, which is not cancelled.
    #[cfg(test)]
    pub(crate) fn checks_in(work: impl FnOnce()) -> usize {
        let checks = Arc::new(AtomicUsize::new(0));
        let counted = checks.clone();
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        Cancellation::new(count).scope(work);
        checks.load(Ordering::Relaxed)
    }

    /// A cancellation that is cancelled once it was checked `checks` times.
    #[cfg(test)]
    pub(crate) fn after(checks: usize) -> Self {
        let left = AtomicUsize::new(checks);
        let one_less = |left: usize| left.checked_sub(1);
        Cancellation::new(move || {
            let result = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            result.map(drop).map_err(|_| crate::error::Error::invalid("stopped"))
        })
    }

    /// Whether it can ever be cancelled.
    pub(super) fn may_cancel(&self) -> bool {
        self.check.is_some()
    }

    /// # Errors
    /// The error, if the call was cancelled.
    pub(super) fn check(&self) -> Result<()> {
        self.check.as_ref().map_or(Ok(()), |check| check())
    }
}

/// Returns an error if the call that this thread works for was cancelled. It is cheap enough for every batch and every
/// file, but not for every row.
///
/// # Errors
/// The error of the [`Cancellation`] that is installed on this thread.
pub fn check_cancelled() -> Result<()> {
    // The check may run a signal handler that calls this crate again, so nothing stays borrowed.
    CURRENT.with_borrow(|current| current.check.clone()).map_or(Ok(()), |check| check())
}

/// Until when a call that was cancelled waits for its cleaning. `None` if the call was not cancelled.
pub(crate) fn end_of_cleaning() -> Option<Instant> {
    let current = Cancellation::current();
    current.check().err()?;
    current.ending.map(|end| *end.get_or_init(|| Instant::now() + PATIENCE))
}

/// Runs a step whose outcome the call must know, such as the request that publishes a commit. If the call is cancelled
/// meanwhile, the step still has [`PATIENCE`] to end.
pub(crate) fn with_patience<T>(step: impl FnOnce() -> T) -> T {
    let current = Cancellation::current();
    let (Some(check), Some(ending)) = (current.check.clone(), current.ending.clone()) else { return step() };
    let patient = move || match check() {
        Err(_) if Instant::now() < *ending.get_or_init(|| Instant::now() + PATIENCE) => Ok(()),
        checked => checked,
    };
    Cancellation { check: Some(Arc::new(patient)), ..current }.scope(step)
}

/// The counters of the call that this thread works for; `None` if nobody counts.
pub(crate) fn counts_of_call() -> Option<Arc<CallCounts>> {
    CURRENT.with_borrow(|current| current.counts.clone())
}

/// Uses the progress of the call that this thread works for, if it has one.
pub(super) fn of_call<T>(used: impl FnOnce(&Arc<Progress>) -> T) -> Option<T> {
    CURRENT.with_borrow(|current| current.progress.as_ref().map(used))
}

/// The numbers below `count`, in ranges of `step` numbers. Checks for cancellation before each range. Long work on one
/// array is done in such steps.
pub(crate) fn in_steps(count: usize, step: usize) -> impl Iterator<Item = Result<Range<usize>>> {
    let step = step.max(1);
    (0..count).step_by(step).map(move |start| check_cancelled().map(|()| start..count.min(start.saturating_add(step))))
}

/// Waits for this long.
///
/// # Errors
/// The error of a cancellation, which ends the wait.
pub(crate) fn pause(time: Duration) -> Result<()> {
    let began = Instant::now();
    loop {
        check_cancelled()?;
        let left = time.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn steps_cover_all_numbers_and_stop_when_cancelled() {
        let all: Vec<Range<usize>> = in_steps(10, 4).map(Result::unwrap).collect();
        assert_eq!(all, [0..4, 4..8, 8..10]);
        assert_eq!(in_steps(0, 4).count(), 0);
        let mut steps = in_steps(usize::MAX, usize::MAX - 1);
        assert_eq!(steps.next().unwrap().unwrap(), 0..usize::MAX - 1);
        let done: Vec<bool> = Cancellation::after(2).scope(|| in_steps(100, 10).map(|s| s.is_ok()).collect());
        assert_eq!(done.iter().filter(|done| **done).count(), 2);
    }

    #[test]
    fn a_scope_ends_with_its_work() {
        Cancellation::after(0).scope(|| {
            assert!(check_cancelled().is_err());
            Cancellation::none().scope(|| assert!(check_cancelled().is_ok()));
            assert!(check_cancelled().is_err());
            let panics = std::panic::catch_unwind(|| Cancellation::none().scope(|| panic!("broken")));
            assert!(panics.is_err() && check_cancelled().is_err());
        });
        assert!(check_cancelled().is_ok());
    }

    #[test]
    fn the_last_step_of_a_cancelled_call_gets_a_moment() {
        let (began, mut waits) = (Instant::now(), 0);
        Cancellation::after(3).scope(|| {
            assert_eq!(with_patience(|| (0..3).filter(|_| check_cancelled().is_ok()).count()), 3);
            let stop = with_patience(|| {
                loop {
                    if let Err(stop) = check_cancelled() {
                        break stop;
                    }
                    std::thread::sleep(POLL_INTERVAL);
                    waits += 1;
                }
            });
            assert_eq!(stop.message(), "stopped");
            // The time is one for all.
            assert!(with_patience(check_cancelled).is_err());
            assert!(end_of_cleaning().is_some_and(|end| end <= Instant::now()));
        });
        assert!(began.elapsed() >= PATIENCE && waits > 0);
        assert_eq!(with_patience(|| 7), 7);
    }

    #[test]
    fn a_check_may_start_another_call() {
        let inner = Cancellation::new(|| Err(Error::invalid("inner")));
        let outer = Cancellation::new(move || {
            assert_eq!(inner.scope(check_cancelled).unwrap_err().message(), "inner");
            Ok(())
        });
        outer.scope(|| {
            check_cancelled().unwrap();
            check_cancelled().unwrap();
        });
    }
}
