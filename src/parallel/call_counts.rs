//! What calls did, counted for the thread that made them: requests over the network, commits, and their last plan.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

thread_local! {
    static OF_THREAD: Arc<CallCounts> = Arc::new(CallCounts::default());
}

/// Counters of calls. They only grow.
#[derive(Debug, Default)]
pub struct CallCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    received_bytes: AtomicU64,
    pub(super) commits: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) plans: AtomicU64,
    /// How many want to know what plans counted.
    pub(super) listeners: AtomicU64,
    /// The number of the plan that ended last, from 1, and what it counted.
    pub(super) last_plan: Mutex<(u64, PlanMetrics)>,
}

/// What [`CallCounts`] have counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenCounts {
    /// The number of requests. A request that is sent again counts again.
    pub sent: u64,
    /// How many of them had no answer, or one that says that the server could not do it: 408, 425, 429 and those from
    /// 500.
    pub failed: u64,
    /// The bytes of the answers, as far as the answers tell.
    pub received_bytes: u64,
    /// The number of commits that were tried.
    pub commits: u64,
    /// How often they were tried again, on a version that another commit had made.
    pub retries: u64,
    /// The number of plans that began while somebody wanted to know what they count.
    pub plans: u64,
}

/// What a plan counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanMetrics {
    /// Counts by the names that reports of scans have. Names of sizes end with `-in-bytes`.
    pub counts: Vec<(&'static str, u64)>,
    /// With a plan cache: how many manifests it had, and how many the plan needed.
    pub cache: Option<(u64, u64)>,
}

impl CallCounts {
    /// The counters of this thread. Calls that it makes count there, whatever thread works for them.
    pub fn of_thread() -> Arc<CallCounts> {
        OF_THREAD.with(Arc::clone)
    }

    /// Counts a request that has ended.
    pub(crate) fn add(&self, failed: bool, received_bytes: u64) {
        self.sent.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(failed), Relaxed);
        self.received_bytes.fetch_add(received_bytes, Relaxed);
    }

    /// Keeps what plans count, until [`CallCounts::unlisten`] is called as often.
    pub fn listen(&self) {
        self.listeners.fetch_add(1, Relaxed);
    }

    /// Ends a [`CallCounts::listen`].
    pub fn unlisten(&self) {
        self.listeners.fetch_sub(1, Relaxed);
    }

    /// What was counted so far.
    pub fn seen(&self) -> SeenCounts {
        SeenCounts {
            sent: self.sent.load(Relaxed),
            failed: self.failed.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
            commits: self.commits.load(Relaxed),
            retries: self.retries.load(Relaxed),
            plans: self.plans.load(Relaxed),
        }
    }
}

impl SeenCounts {
    /// What was counted after `earlier`.
    pub fn since(self, earlier: SeenCounts) -> SeenCounts {
        SeenCounts {
            sent: self.sent.saturating_sub(earlier.sent),
            failed: self.failed.saturating_sub(earlier.failed),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
            commits: self.commits.saturating_sub(earlier.commits),
            retries: self.retries.saturating_sub(earlier.retries),
            plans: self.plans.saturating_sub(earlier.plans),
        }
    }
}
