//! Locks that a cancelled call stops waiting for, and that outlast a panic or a fork.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::cancellation::{Cancellation, POLL_INTERVAL, check_cancelled};
use crate::error::Result;

/// The first wait for a lock. Each further wait is twice as long.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// Locks a value, also after a panic of another thread that held the lock.
pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks a value that another thread may hold for long.
///
/// # Errors
/// The error of a cancellation, which ends the wait.
pub(crate) fn locked_unless_cancelled<T>(lock: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    let mut wait = SHORTEST_WAIT;
    loop {
        match lock.try_lock() {
            Ok(locked) => return Ok(locked),
            Err(TryLockError::Poisoned(locked)) => return Ok(locked.into_inner()),
            Err(TryLockError::WouldBlock) => check_cancelled()?,
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(POLL_INTERVAL);
    }
}

/// A lock that is held while code of the user runs, such as a reader of rows. Other threads wait for it. Code that the
/// holder runs can't have it: it would wait for itself.
pub(crate) struct CallLock<T> {
    id: u64,
    value: Mutex<T>,
}

impl<T> CallLock<T> {
    /// A lock of this value.
    pub(crate) fn new(value: T) -> CallLock<T> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        CallLock { id: LAST.fetch_add(1, Ordering::Relaxed), value: Mutex::new(value) }
    }

    /// Works with the value. `None` if the call that this one comes from works with it.
    ///
    /// # Errors
    /// Those of `work`; the error of a cancellation, which ends the wait.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> Result<R>) -> Option<Result<R>> {
        let call = Cancellation::current();
        if call.holds(self.id) {
            return None;
        }
        Some(locked_unless_cancelled(&self.value).and_then(|mut value| {
            let value = &mut *value;
            call.holding(self.id).scope(|| work(value))
        }))
    }

    /// Whether the call that this one comes from works with the value.
    pub(crate) fn is_of_this_call(&self) -> bool {
        Cancellation::current().holds(self.id)
    }

    /// The value, by its owner.
    #[cfg(feature = "python")]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The longest wait for a lock. After that, its holder is assumed to be lost in a fork.
const PATIENCE: Duration = Duration::from_secs(1);

/// Locks a value that is never locked for long. `None` if another thread held the lock at the moment of a fork.
pub(crate) fn lock_in_any_process<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let began = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(locked) => return Some(locked),
            Err(TryLockError::Poisoned(locked)) => return Some(locked.into_inner()),
            Err(TryLockError::WouldBlock) if began.elapsed() > PATIENCE => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::parallel::threads::in_parallel_on;

    #[test]
    fn a_lock_is_not_had_twice_by_one_call() {
        let lock = Arc::new(CallLock::new(1));
        let again = |lock: &CallLock<i32>| lock.with(|n| Ok(*n)).map(Result::unwrap);
        let inner = lock.with(|_| {
            // Another call that comes from this one, and a thread that works for it.
            let nested = Cancellation::new(|| Ok(())).scope(|| again(&lock));
            let helpers = in_parallel_on(2, 2, |_| Ok(again(&lock).is_none() && lock.is_of_this_call()))?;
            Ok((nested, helpers))
        });
        assert_eq!(inner.unwrap().unwrap(), (None, vec![true, true]));
        assert!(!lock.is_of_this_call());
        // Another thread waits.
        let (held, other) = (Arc::new(AtomicUsize::new(0)), CallLock::new(0));
        let waited = lock.with(|_| {
            let (seen, waits) = (held.clone(), lock.clone());
            let thread = std::thread::spawn(move || waits.with(|n| Ok((*n, seen.load(Ordering::SeqCst)))));
            std::thread::sleep(Duration::from_millis(50));
            assert!(other.with(|_| Ok(())).is_some());
            held.store(1, Ordering::SeqCst);
            Ok(thread)
        });
        assert_eq!(waited.unwrap().unwrap().join().unwrap().unwrap().unwrap(), (1, 1));
    }

    #[test]
    fn a_wait_for_a_lock_can_be_cancelled() {
        let (lock, call) = (Mutex::new(()), CallLock::new(()));
        let _held = lock.lock().unwrap();
        let stopped = Cancellation::after(3).scope(|| locked_unless_cancelled(&lock).map(drop));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
        let (ready, wait) = std::sync::mpsc::channel();
        std::thread::scope(|s| {
            s.spawn(|| {
                call.with(|_| {
                    ready.send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(300));
                    Ok(())
                })
            });
            wait.recv().unwrap();
            let stopped = Cancellation::after(3).scope(|| call.with(|_| Ok(())));
            assert_eq!(stopped.unwrap().unwrap_err().message(), "stopped");
        });
    }
}
