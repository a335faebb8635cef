//! Bounded parallelism of the processor for the length of one call.
//!
//! Threads are scoped: none outlives the call, so a process may fork between any two calls (PySpark workers do).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;

/// Asked between the steps of long work, by every thread that does it; an error ends the work. `&|| Ok(())` never does.
pub type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// Threads at most, whatever the machine has.
const MOST_THREADS: usize = 16;

/// `f(0), …, f(n - 1)` on as many threads as there are cores, in order; the first error by index wins.
pub fn in_parallel<T: Send>(n: usize, f: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = std::thread::available_parallelism().map_or(1, |p| p.get()).min(MOST_THREADS).min(n);
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
    let mut results: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for h in helpers {
            match h.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
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
}
