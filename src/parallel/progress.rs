//! How far a call is: counters that all its threads add to, and that the thread that waits for them reads.
//!
//! Everything is a relaxed atomic. The numbers are for people, so a reader may see a phase with a number of the one
//! before for a moment.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What a phase counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of data files.
    Bytes,
    /// Files.
    Files,
    /// Manifests.
    Manifests,
    /// Rows.
    Rows,
    /// Snapshots.
    Snapshots,
}

/// A part of a call that may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Finding the files of a scan.
    Planning,
    /// Reading rows.
    Reading,
    /// Finding the files that versions lead to.
    ReadingMetadata,
    /// Finding the manifests of versions.
    ReadingSnapshots,
    /// Finding out how an engine can read files.
    ReadingFooters,
    /// Writing rows that the caller gave.
    Writing,
    /// Rewriting files.
    Compacting,
    /// Listing folders.
    Listing,
    /// Deleting files.
    Deleting,
    /// Examining files.
    CheckingFiles,
    /// Examining versions, with the files that they added.
    CheckingSnapshots,
}

/// The phases in the order of their numbers.
const PHASES: [Phase; 11] = [
    Phase::Planning,
    Phase::Reading,
    Phase::ReadingMetadata,
    Phase::ReadingSnapshots,
    Phase::ReadingFooters,
    Phase::Writing,
    Phase::Compacting,
    Phase::Listing,
    Phase::Deleting,
    Phase::CheckingFiles,
    Phase::CheckingSnapshots,
];

/// The number of no phase.
const NO_PHASE: u8 = u8::MAX;

impl Phase {
    /// What it counts.
    pub fn unit(self) -> Unit {
        match self {
            Phase::Planning | Phase::ReadingMetadata => Unit::Manifests,
            Phase::ReadingSnapshots | Phase::CheckingSnapshots => Unit::Snapshots,
            Phase::Reading | Phase::Compacting => Unit::Bytes,
            Phase::Writing => Unit::Rows,
            Phase::ReadingFooters | Phase::Listing | Phase::Deleting | Phase::CheckingFiles => Unit::Files,
        }
    }
}

/// The progress of one call. One phase is shown at a time: the outermost one. Phases inside of it count as its work if
/// they have its unit.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    /// Whether a phase runs.
    runs: AtomicBool,
    /// The phase that runs, or ran last.
    phase: AtomicU8,
    /// When it began: microseconds after the call.
    since_us: AtomicU64,
    done: AtomicU64,
    /// 0 if it is unknown.
    total: AtomicU64,
    /// The number of rows that the caller gave; 0 if it is unknown.
    given_rows: AtomicU64,
}

/// What a reader sees of [`Progress`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenProgress {
    /// What the call does.
    pub phase: Phase,
    /// In the unit of the phase.
    pub done: u64,
    /// `None` if it is unknown.
    pub total: Option<u64>,
    /// How long the phase takes so far.
    pub seconds: f64,
}

impl Default for Progress {
    fn default() -> Self {
        Progress::new()
    }
}

impl Progress {
    /// The progress of a call that begins now.
    pub fn new() -> Progress {
        Progress {
            began: Instant::now(),
            runs: AtomicBool::new(false),
            phase: AtomicU8::new(NO_PHASE),
            since_us: AtomicU64::new(0),
            done: AtomicU64::new(0),
            total: AtomicU64::new(0),
            given_rows: AtomicU64::new(0),
        }
    }

    /// When the call began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Says how many rows the caller gave.
    pub fn give_rows(&self, rows: u64) {
        self.given_rows.store(rows, Relaxed);
    }

    pub(super) fn given_rows(&self) -> u64 {
        self.given_rows.load(Relaxed)
    }

    /// Begins a phase, unless one runs. A phase that was the last one goes on, with more to do. Returns whether it runs
    /// now.
    pub(super) fn begin(&self, phase: Phase, total: u64) -> bool {
        if self.runs.swap(true, Relaxed) {
            return false;
        }
        if self.is_in(phase) {
            self.total.fetch_add(total, Relaxed);
        } else {
            self.done.store(0, Relaxed);
            self.total.store(total, Relaxed);
            self.since_us.store(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX), Relaxed);
            self.phase.store(phase as u8, Relaxed);
        }
        true
    }

    /// Ends the phase that runs. It is seen until the next one begins.
    pub(super) fn end(&self) {
        self.runs.store(false, Relaxed);
    }

    pub(super) fn is_in(&self, phase: Phase) -> bool {
        self.phase.load(Relaxed) == phase as u8
    }

    pub(super) fn counts(&self, unit: Unit) -> bool {
        PHASES.get(usize::from(self.phase.load(Relaxed))).is_some_and(|phase| phase.unit() == unit)
    }

    pub(super) fn add_done(&self, count: u64) {
        self.done.fetch_add(count, Relaxed);
    }

    pub(super) fn add_total(&self, count: u64) {
        self.total.fetch_add(count, Relaxed);
    }

    pub(super) fn set_total(&self, total: u64) {
        self.total.store(total, Relaxed);
    }

    /// How far the call is; `None` before its first phase.
    pub fn seen(&self) -> Option<SeenProgress> {
        let phase = *PHASES.get(usize::from(self.phase.load(Relaxed)))?;
        let (done, total) = (self.done.load(Relaxed), self.total.load(Relaxed));
        let seconds = self.began.elapsed().as_secs_f64() - self.since_us.load(Relaxed) as f64 / 1e6;
        // A total that was exceeded was wrong.
        let total = Some(total).filter(|total| *total > 0 && done <= *total);
        Some(SeenProgress { phase, done, total, seconds: seconds.max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(progress: &Progress) -> Option<(Phase, u64, Option<u64>)> {
        progress.seen().map(|seen| (seen.phase, seen.done, seen.total))
    }

    #[test]
    fn phases_have_their_numbers() {
        for (number, phase) in PHASES.into_iter().enumerate() {
            assert_eq!(phase as usize, number);
        }
    }

    #[test]
    fn a_call_has_one_phase_at_a_time() {
        let progress = Progress::new();
        assert_eq!(numbers(&progress), None);
        assert!(!progress.counts(Unit::Manifests));
        assert!(progress.begin(Phase::Planning, 3));
        assert!(!progress.begin(Phase::Reading, 100) && progress.counts(Unit::Manifests));
        progress.add_done(2);
        assert_eq!(numbers(&progress), Some((Phase::Planning, 2, Some(3))));
        progress.end();
        // It is seen until another one begins, and goes on where it was.
        assert_eq!(numbers(&progress), Some((Phase::Planning, 2, Some(3))));
        assert!(progress.begin(Phase::Planning, 4));
        assert_eq!(numbers(&progress), Some((Phase::Planning, 2, Some(7))));
        progress.end();
        assert!(progress.begin(Phase::Reading, 0));
        assert_eq!(numbers(&progress), Some((Phase::Reading, 0, None)));
        progress.set_total(10);
        progress.add_done(10);
        assert_eq!(numbers(&progress), Some((Phase::Reading, 10, Some(10))));
        progress.add_done(1);
        assert_eq!(numbers(&progress), Some((Phase::Reading, 11, None)));
        progress.add_total(5);
        assert_eq!(numbers(&progress), Some((Phase::Reading, 11, Some(15))));
    }
}
