//! Bounded parallelism of the processor for the length of one call; cancellation, progress and requests
//! of the call.
//!
//! Threads are scoped: none outlives the call, so a process may fork between any two calls (PySpark workers do).

mod cancellation;
mod locks;
mod phases;
mod progress;
mod requests;
mod stages;
mod threads;

pub use cancellation::{Cancellation, check_cancelled};
pub(crate) use cancellation::{POLL_INTERVAL, in_steps, pause, requests_of_call};
pub(crate) use locks::{CallLock, lock_in_any_process, locked, locked_unless_cancelled};
pub(crate) use phases::{begin_phase, count_done, expect_more, expect_total, given_rows};
pub use progress::{Phase, Progress, SeenProgress, Unit};
pub use requests::{RequestCounts, SeenRequests};
pub use stages::in_stages;
pub use threads::{in_parallel, in_parallel_on, threads};
