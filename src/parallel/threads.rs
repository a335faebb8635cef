//! Work on several threads, which end with it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::Thread;

use super::cancellation::{Cancellation, POLL_INTERVAL};
use crate::error::Result;

/// The most threads on any machine.
const MOST_THREADS: usize = 16;

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

/// The same on several threads, including this one. The results are in no order.
pub(super) fn on_threads<T: Send>(threads: usize, run: impl Fn() -> Vec<T> + Sync) -> Vec<T> {
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
        while cancellation.may_cancel() && left.load(Ordering::Acquire) > 0 {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::error::Error;
    use crate::parallel::cancellation::check_cancelled;

    #[test]
    fn keeps_the_order_and_stops_at_errors() {
        assert_eq!(in_parallel(1000, |i| Ok(i * 2)).unwrap(), (0..1000).map(|i| i * 2).collect::<Vec<_>>());
        assert_eq!(in_parallel(0, |_| Ok(())).unwrap(), vec![]);
        let e = in_parallel(100, |i| if i % 30 == 29 { Err(Error::invalid(i.to_string())) } else { Ok(i) });
        assert!(["29", "59"].contains(&e.unwrap_err().message()));
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
}
