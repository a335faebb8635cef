//! Counts attempts of commits, and plans, for the call that a thread works for.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::call_counts::{CallCounts, PlanMetrics, SeenCounts};
use super::cancellation::counts_of_call;
use super::locks::lock_in_any_process;

/// A plan whose end is counted.
#[derive(Debug)]
pub(crate) struct CountedPlan {
    counts: Arc<CallCounts>,
    number: u64,
}

impl CallCounts {
    /// What the only plan after `earlier` counted. `None` if there were several or none, or if it has not ended.
    pub fn plan_since(&self, earlier: SeenCounts) -> Option<PlanMetrics> {
        let number = self.plans.load(Relaxed);
        if number != earlier.plans + 1 {
            return None;
        }
        let last = lock_in_any_process(&self.last_plan)?;
        (last.0 == number).then(|| last.1.clone())
    }
}

impl CountedPlan {
    /// The plan that the call of this thread begins now. `None` if nobody wants to know what it counts.
    pub(crate) fn begin() -> Option<CountedPlan> {
        let counts = counts_of_call().filter(|counts| counts.listeners.load(Relaxed) > 0)?;
        let number = counts.plans.fetch_add(1, Relaxed) + 1;
        Some(CountedPlan { counts, number })
    }

    /// The plan has ended.
    pub(crate) fn end(self, metrics: PlanMetrics) {
        if let Some(mut last) = lock_in_any_process(&self.counts.last_plan) {
            *last = (self.number, metrics);
        }
    }
}

/// Counts an attempt of a commit for the call that this thread works for.
pub(crate) fn count_attempt(is_first: bool) {
    if let Some(counts) = counts_of_call() {
        let counter = if is_first { &counts.commits } else { &counts.retries };
        counter.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{Cancellation, in_parallel_on};

    #[test]
    fn threads_count_for_the_thread_that_called() {
        let counts = CallCounts::of_thread();
        let before = counts.seen();
        Cancellation::none().counting(counts.clone()).scope(|| {
            in_parallel_on(4, 10, |n| {
                let counts = counts_of_call().unwrap();
                counts.add(n == 3, 100);
                count_attempt(n < 2);
                Ok(())
            })
            .unwrap();
        });
        assert!(counts_of_call().is_none());
        count_attempt(true);
        let seen = CallCounts::of_thread().seen().since(before);
        let expected = SeenCounts { sent: 10, failed: 1, received_bytes: 1000, commits: 2, retries: 8, plans: 0 };
        assert_eq!(seen, expected);
        let other = std::thread::spawn(|| CallCounts::of_thread().seen()).join().unwrap();
        assert_eq!(other, SeenCounts::default());
    }

    #[test]
    fn a_plan_counts_for_the_call_that_began_it() {
        let counts = Arc::new(CallCounts::default());
        let metrics = |files| PlanMetrics { counts: vec![("result-data-files", files)], cache: None };
        Cancellation::none().counting(counts.clone()).scope(|| {
            assert!(CountedPlan::begin().is_none(), "nobody listens");
            counts.listen();
            let before = counts.seen();
            let first = CountedPlan::begin().unwrap();
            assert_eq!(counts.plan_since(before), None, "it has not ended");
            let between = counts.seen();
            let second = CountedPlan::begin().unwrap();
            first.end(metrics(1));
            assert_eq!(counts.plan_since(between), None, "another plan has ended");
            second.end(metrics(2));
            assert_eq!(counts.plan_since(between), Some(metrics(2)));
            assert_eq!(counts.plan_since(before), None, "there were two");
            counts.unlisten();
            assert!(CountedPlan::begin().is_none());
        });
    }
}
