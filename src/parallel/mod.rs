//! Bounded parallelism of the processor for the length of one call; cancellation, progress and counts
//! of the call.
//!
//! Threads are scoped: none outlives the call, so a process may fork between any two calls (PySpark workers do).

mod call_counts;
mod cancellation;
mod counting;
mod locks;
mod phases;
mod progress;
mod stages;
mod threads;

pub use call_counts::{CallCounts, PlanMetrics, SeenCounts};
#[cfg(test)]
pub(crate) use cancellation::PATIENCE;
pub use cancellation::{Cancellation, check_cancelled};
pub(crate) use cancellation::{POLL_INTERVAL, counts_of_call, end_of_cleaning, in_steps, pause, with_patience};
pub(crate) use counting::{CountedPlan, count_attempt};
pub(crate) use locks::{CallLock, lock_in_any_process, locked, locked_unless_cancelled};
pub(crate) use phases::{begin_phase, count_done, expect_more, expect_total, given_rows};
pub use progress::{Phase, Progress, SeenProgress, Unit};
pub use stages::in_stages;
pub use threads::{in_parallel, in_parallel_on, threads};
