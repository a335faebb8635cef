//! Bounded parallelism of the processor for the length of one call.
//!
//! Threads are scoped: none outlives the call, so a process may fork between any two calls (PySpark workers do).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::Thread;
use std::time::{Duration, Instant};

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
}

/// A [`CallLock`] that a call holds, and those that it took before.
struct HeldLock {
    id: u64,
    before: Option<Arc<HeldLock>>,
}

/// The most threads on any machine.
const MOST_THREADS: usize = 16;

/// How often a thread that waits for others checks for cancellation.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The first wait for a lock. Each further wait is twice as long.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

thread_local! {
    static CURRENT: RefCell<Cancellation> = const { RefCell::new(Cancellation::none()) };
}

impl Cancellation {
    /// A cancellation that `check` decides. Once the call is cancelled, `check` returns an error, which ends the work.
    /// Every thread that works for the call runs `check` between two steps, so it must be cheap.
    pub fn new(check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Self {
        Cancellation { check: Some(Arc::new(check)), held: None }
    }

    /// A cancellation for work that is never cancelled, such as the cleaning after a failure.
    pub const fn none() -> Self {
        Cancellation { check: None, held: None }
    }

    /// The cancellation of the call that this thread works for.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The same cancellation for a call that holds one more lock.
    fn holding(self, id: u64) -> Self {
        Cancellation { held: Some(Arc::new(HeldLock { id, before: self.held })), check: self.check }
    }

    /// Whether the call, or one that it comes from, holds a lock.
    fn holds(&self, id: u64) -> bool {
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
        let _former = Former(CURRENT.replace(Cancellation { check: self.check.clone(), held }));
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

    /// # Errors
    /// The error, if the call was cancelled.
    fn check(&self) -> Result<()> {
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
    Cancellation::current().check()
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

/// The number of threads to use for this number of work items.
pub fn threads(most: usize) -> usize {
    // The query reads several system files, which is slow for a small plan. A forked process may have other cores than
    // its parent, so it makes its own query.
    static CORES: AtomicU64 = AtomicU64::new(0);
    let process = u64::from(std::process::id()) << 32;
    let known = CORES.load(Ordering::Relaxed);
    let cores = match known ^ process {
        cores @ 1..=0xffff => cores as usize,
        _ => {
            let cores = std::thread::available_parallelism().map_or(1, |p| p.get().min(0xffff));
            CORES.store(process | cores as u64, Ordering::Relaxed);
            cores
        }
    };
    MOST_THREADS.min(cores).min(most)
}

/// `f(0), …, f(n - 1)` on as many threads as there are cores, in order; the first error by index wins.
pub fn in_parallel<T: Send>(n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    in_parallel_on(threads(n), n, f)
}

/// As [`in_parallel`], on at most this number of threads. For work that waits for a store rather than for the
/// processor.
pub fn in_parallel_on<T: Send>(threads: usize, n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = threads.min(n);
    if threads <= 1 {
        return (0..n).map(f).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return done;
            }
            let result = f(i);
            let failed = result.is_err();
            done.push((i, result));
            if failed {
                next.store(n, Ordering::Relaxed);
            }
        }
    };
    let mut results: Vec<(usize, Result<T>)> = on_threads(threads, work);
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}

/// Work in two stages without a barrier between them. Each of `n` items is prepared, which cuts it into pieces. Then
/// any free thread works on each piece. Pieces come before further items, so that prepared data is still in the
/// processor's cache. Each thread keeps a scratch area for its pieces. The results are in the order of items and
/// pieces. If several items fail, the error of the lowest item is returned. `most_threads` is the maximum; work that
/// waits for a store needs more than the number of cores.
pub fn in_stages<P: Send, T: Send, S>(
    most_threads: usize,
    n: usize,
    prepare: impl Fn(usize) -> Result<Vec<P>> + Sync,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize, P) -> Result<T> + Sync,
) -> Result<Vec<Vec<T>>> {
    let stages = Stages { state: Mutex::new(StagesState::default()), changed: Condvar::new(), items: n };
    if n == 1 {
        stages.lock().next_item = 1;
        stages.add(0, prepare(0)?);
    }
    let run = || {
        let mut scratch = scratch();
        let mut done: Vec<(usize, usize, Result<T>)> = Vec::new();
        while let Some(step) = stages.next() {
            match step {
                Step::Prepare(item) => {
                    let mut preparing = Preparing { stages: &stages, done: false };
                    match prepare(item) {
                        Ok(pieces) => {
                            stages.add(item, pieces);
                            preparing.done = true;
                        }
                        Err(e) => done.push((item, 0, Err(e))),
                    }
                }
                Step::Work(item, number, piece) => {
                    let result = work(&mut scratch, item, piece);
                    stages.lock().failed |= result.is_err();
                    done.push((item, number, result));
                }
            }
        }
        done
    };
    let at_once = if n == 1 { stages.lock().pieces.len() } else { usize::MAX };
    let mut done = on_threads(most_threads.min(at_once), run);
    done.sort_by_key(|(item, number, _)| (*item, *number));
    let mut out: Vec<Vec<T>> = (0..n).map(|_| Vec::new()).collect();
    for (item, _, result) in done {
        let result = result?;
        if let Some(of_item) = out.get_mut(item) {
            of_item.push(result);
        }
    }
    Ok(out)
}

/// The same on several threads, including this one. The results are in no order.
fn on_threads<T: Send>(threads: usize, run: impl Fn() -> Vec<T> + Sync) -> Vec<T> {
    if threads <= 1 {
        return run();
    }
    let (cancellation, caller) = (Cancellation::current(), std::thread::current());
    let left = AtomicUsize::new(threads - 1);
    let help = || {
        let _ended = Ended { left: &left, caller: &caller };
        cancellation.scope(&run)
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(help)).collect();
        let mut all = run();
        while cancellation.check.is_some() && left.load(Ordering::Acquire) > 0 {
            // Some cancellations are noticed on this thread only, for instance that of Ctrl-C. The check tells the
            // others.
            let _ = cancellation.check();
            std::thread::park_timeout(POLL_INTERVAL);
        }
        for h in helpers {
            match h.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    })
}

/// Tells the thread that waits for the others that one has ended.
struct Ended<'a> {
    left: &'a AtomicUsize,
    caller: &'a Thread,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.left.fetch_sub(1, Ordering::Release);
        self.caller.unpark();
    }
}

enum Step<P> {
    Prepare(usize),
    Work(usize, usize, P),
}

/// An item in preparation. If it ends without pieces, by an error or a panic, the others must not wait for them.
struct Preparing<'s, P> {
    stages: &'s Stages<P>,
    done: bool,
}

impl<P> Drop for Preparing<'_, P> {
    fn drop(&mut self) {
        let mut state = self.stages.lock();
        state.preparing -= 1;
        state.failed |= !self.done;
        self.stages.changed.notify_all();
    }
}

struct Stages<P> {
    state: Mutex<StagesState<P>>,
    changed: Condvar,
    items: usize,
}

struct StagesState<P> {
    pieces: VecDeque<(usize, usize, P)>,
    next_item: usize,
    /// Items in preparation, which may still yield pieces.
    preparing: usize,
    failed: bool,
}

impl<P> Default for StagesState<P> {
    fn default() -> Self {
        StagesState { pieces: VecDeque::new(), next_item: 0, preparing: 0, failed: false }
    }
}

impl<P> Stages<P> {
    fn lock(&self) -> MutexGuard<'_, StagesState<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, item: usize, pieces: Vec<P>) {
        self.lock().pieces.extend(pieces.into_iter().enumerate().map(|(number, piece)| (item, number, piece)));
        self.changed.notify_all();
    }

    /// The next step; waits while pieces may still come; `None` at the end or after a failure.
    fn next(&self) -> Option<Step<P>> {
        let mut state = self.lock();
        loop {
            if state.failed {
                return None;
            }
            if let Some((item, number, piece)) = state.pieces.pop_front() {
                return Some(Step::Work(item, number, piece));
            }
            if state.next_item < self.items {
                state.next_item += 1;
                state.preparing += 1;
                return Some(Step::Prepare(state.next_item - 1));
            }
            if state.preparing == 0 {
                return None;
            }
            let (waited, timeout) =
                self.changed.wait_timeout(state, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner);
            state = waited;
            if timeout.timed_out() {
                drop(state);
                // Ctrl-C may be noticed on this thread only. The check tells the threads that prepare items.
                let _ = check_cancelled();
                state = self.lock();
            }
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn keeps_the_order_and_stops_at_errors() {
        assert_eq!(in_parallel(1000, |i| Ok(i * 2)).unwrap(), (0..1000).map(|i| i * 2).collect::<Vec<_>>());
        assert_eq!(in_parallel(0, |_| Ok(())).unwrap(), vec![]);
        let e = in_parallel(100, |i| if i % 30 == 29 { Err(Error::invalid(i.to_string())) } else { Ok(i) });
        assert!(["29", "59"].contains(&e.unwrap_err().message()));
    }

    #[test]
    fn stages_keep_the_order_and_stop_at_errors() {
        let pieces = |i: usize| Ok((0..i % 5).collect());
        let run = |n| {
            in_stages(
                4,
                n,
                pieces,
                || 0,
                |calls, i, p| {
                    *calls += 1;
                    Ok((i, p))
                },
            )
            .unwrap()
        };
        for n in [0, 1, 2, 5, 400] {
            let expected: Vec<Vec<_>> = (0..n).map(|i| (0..i % 5).map(|p| (i, p)).collect()).collect();
            assert_eq!(run(n), expected);
        }
        assert_eq!(in_stages(4, 1, |_| Ok(vec![7; 90]), || (), |_, _, p| Ok(p)).unwrap(), [vec![7; 90]]);
        let bad = |i: usize, at: usize| if i == at { Err(Error::invalid(i.to_string())) } else { Ok(vec![i]) };
        let e = in_stages(4, 100, |i| bad(i, 40), || (), |_, _, p| Ok(p)).unwrap_err();
        assert_eq!(e.message(), "40");
        let e = in_stages(4, 100, |i| Ok(vec![i]), || (), |_, i, _| bad(i, 41)).unwrap_err();
        assert_eq!(e.message(), "41");
    }

    #[test]
    fn helper_threads_inherit_the_cancellation() {
        let stop = Arc::new(AtomicUsize::new(0));
        let stopped = stop.clone();
        let cancellation = Cancellation::new(move || match stopped.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => Err(Error::invalid("stopped")),
        });
        let waits = |i: usize| {
            if i == 3 {
                stop.store(1, Ordering::Relaxed);
            }
            let began = std::time::Instant::now();
            while began.elapsed() < Duration::from_secs(20) {
                check_cancelled()?;
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        };
        let stopped = cancellation.scope(|| in_parallel_on(4, 4, waits));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
        assert!(check_cancelled().is_ok());
    }

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

    /// Ctrl-C is noticed only on the thread that made the call. That thread may wait for the pieces of another one.
    #[test]
    fn a_thread_that_waits_for_pieces_notices_a_cancellation() {
        let (main, noticed) = (std::thread::current().id(), Arc::new(AtomicUsize::new(0)));
        let seen = noticed.clone();
        let cancellation = Cancellation::new(move || {
            if std::thread::current().id() == main {
                seen.store(1, Ordering::Relaxed);
            }
            match seen.load(Ordering::Relaxed) {
                0 => Ok(()),
                _ => Err(Error::invalid("stopped")),
            }
        });
        let helping = AtomicUsize::new(0);
        let prepare = |_| {
            if std::thread::current().id() == main {
                while helping.load(Ordering::Relaxed) == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                return Ok(Vec::<()>::new());
            }
            helping.store(1, Ordering::Relaxed);
            loop {
                check_cancelled()?;
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let stopped = cancellation.scope(|| in_stages(2, 2, prepare, || (), |(), _, ()| Ok(())));
        assert_eq!(stopped.unwrap_err().message(), "stopped");
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

    #[test]
    fn a_panic_in_a_stage_ends_the_work() {
        let panics = |prepare: bool| {
            std::panic::catch_unwind(|| {
                let fail = |now: bool, i: usize| assert!(!(now && i == 9), "broken");
                let ready = |i: usize| {
                    fail(prepare, i);
                    Ok(vec![i])
                };
                in_stages(
                    4,
                    20,
                    ready,
                    || (),
                    |_, i, _| {
                        fail(!prepare, i);
                        Ok(())
                    },
                )
            })
            .is_err()
        };
        assert!(panics(true) && panics(false));
    }
}
