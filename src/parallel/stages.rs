//! Work in two stages on several threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::cancellation::{POLL_INTERVAL, check_cancelled};
use super::threads::on_threads;
use crate::error::Result;

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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::error::Error;
    use crate::parallel::cancellation::Cancellation;

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
