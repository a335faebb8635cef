//! What a call tells about its progress. Nothing is counted in a call that nobody can watch.

use std::sync::Arc;

use super::cancellation::of_call;
use super::progress::{Phase, Progress, Unit};

/// A phase that runs until this value is dropped.
#[must_use]
pub(crate) struct RunningPhase(Option<Arc<Progress>>);

impl Drop for RunningPhase {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            progress.end();
        }
    }
}

/// Begins a phase of the call that this thread works for, unless another one runs. `total` is how much there is to do,
/// in the unit of the phase; 0 if that is unknown, or told later by [`expect_more`].
pub(crate) fn begin_phase(phase: Phase, total: usize) -> RunningPhase {
    RunningPhase(of_call(|progress| progress.begin(phase, total as u64).then(|| progress.clone())).flatten())
}

/// Counts finished work, if the running phase has this unit. It is cheap enough for every file and batch, but not for
/// every row.
pub(crate) fn count_done(unit: Unit, count: u64) {
    of_call(|progress| {
        if progress.counts(unit) {
            progress.add_done(count);
        }
    });
}

/// Says that there is more to do, if the running phase has this unit.
pub(crate) fn expect_more(unit: Unit, count: usize) {
    of_call(|progress| {
        if progress.counts(unit) {
            progress.add_total(count as u64);
        }
    });
}

/// Says how much there is to do in all, if this phase runs. `total` is only called then.
pub(crate) fn expect_total(phase: Phase, total: impl FnOnce() -> u64) {
    of_call(|progress| {
        if progress.is_in(phase) {
            progress.set_total(total());
        }
    });
}

/// The number of rows that the caller gave; 0 if it is unknown.
pub(crate) fn given_rows() -> usize {
    of_call(|progress| usize::try_from(progress.given_rows()).unwrap_or(usize::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::{Cancellation, in_parallel_on};

    fn done(progress: &Progress) -> Option<(Phase, u64, Option<u64>)> {
        progress.seen().map(|seen| (seen.phase, seen.done, seen.total))
    }

    #[test]
    fn threads_count_for_their_call() {
        let progress = Arc::new(Progress::new());
        progress.give_rows(7);
        Cancellation::none().reporting(progress.clone()).scope(|| {
            let phase = begin_phase(Phase::Deleting, 100);
            in_parallel_on(4, 100, |_| {
                count_done(Unit::Files, 1);
                count_done(Unit::Rows, 1000);
                Ok(())
            })
            .unwrap();
            // A phase inside of another is part of it.
            let inner = begin_phase(Phase::CheckingFiles, 50);
            count_done(Unit::Files, 1);
            expect_more(Unit::Files, 1);
            expect_total(Phase::CheckingFiles, || unreachable!());
            drop(inner);
            assert_eq!(done(&progress), Some((Phase::Deleting, 101, Some(101))));
            drop(phase);
            // Cleaning up after a failure is no part of what is shown.
            Cancellation::none().scope(|| drop(begin_phase(Phase::Listing, 1)));
            let _writing = begin_phase(Phase::Writing, given_rows());
            expect_total(Phase::Writing, || 8);
            assert_eq!(done(&progress), Some((Phase::Writing, 0, Some(8))));
        });
    }

    #[test]
    fn a_call_that_nobody_watches_counts_nothing() {
        let _phase = begin_phase(Phase::Listing, 1);
        count_done(Unit::Files, 1);
        expect_total(Phase::Listing, || unreachable!());
        assert_eq!(given_rows(), 0);
    }
}
