//! Requests over the network, counted for the thread that made the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

thread_local! {
    static OF_THREAD: Arc<RequestCounts> = Arc::new(RequestCounts::default());
}

/// Counters of requests. They only grow.
#[derive(Debug, Default)]
pub struct RequestCounts {
    sent: AtomicU64,
    failed: AtomicU64,
    received_bytes: AtomicU64,
}

/// What [`RequestCounts`] have counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeenRequests {
    /// The number of requests. A request that is sent again counts again.
    pub sent: u64,
    /// How many of them had no answer, or one that says that the server could not do it: 408, 425, 429 and those from
    /// 500.
    pub failed: u64,
    /// The bytes of the answers, as far as the answers tell.
    pub received_bytes: u64,
}

impl RequestCounts {
    /// The counters of this thread. Calls that it makes count there, whatever thread works for them.
    pub fn of_thread() -> Arc<RequestCounts> {
        OF_THREAD.with(Arc::clone)
    }

    /// Counts a request that has ended.
    pub(crate) fn add(&self, failed: bool, received_bytes: u64) {
        self.sent.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(failed), Relaxed);
        self.received_bytes.fetch_add(received_bytes, Relaxed);
    }

    /// What was counted so far.
    pub fn seen(&self) -> SeenRequests {
        SeenRequests {
            sent: self.sent.load(Relaxed),
            failed: self.failed.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
        }
    }
}

impl SeenRequests {
    /// What was counted after `earlier`.
    pub fn since(self, earlier: SeenRequests) -> SeenRequests {
        SeenRequests {
            sent: self.sent.saturating_sub(earlier.sent),
            failed: self.failed.saturating_sub(earlier.failed),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{Cancellation, in_parallel_on, requests_of_call};

    #[test]
    fn threads_count_for_the_thread_that_called() {
        let counts = RequestCounts::of_thread();
        let before = counts.seen();
        Cancellation::none().counting(counts.clone()).scope(|| {
            in_parallel_on(4, 10, |n| {
                let counts = requests_of_call().unwrap();
                counts.add(n == 3, 100);
                Ok(())
            })
            .unwrap();
        });
        assert!(requests_of_call().is_none());
        let seen = RequestCounts::of_thread().seen().since(before);
        assert_eq!(seen, SeenRequests { sent: 10, failed: 1, received_bytes: 1000 });
        let other = std::thread::spawn(|| RequestCounts::of_thread().seen()).join().unwrap();
        assert_eq!(other, SeenRequests::default());
    }
}
