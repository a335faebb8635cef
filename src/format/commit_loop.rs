//! The one loop of commits: prepare on the newest version, publish, and after a lost race prepare again. If the change
//! is no longer possible, it may be planned again.
//!
//! The outcome of a commit is a type: it is in the table, it certainly is not, or that is unknown.

use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::parallel;

/// How often and how long to retry.
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub retries: u32,
    /// The first wait, milliseconds.
    pub min_wait_ms: u64,
    /// The longest wait, milliseconds.
    pub max_wait_ms: u64,
    /// No attempt begins later than this after the first, milliseconds. Attempts with a new plan count from the same
    /// time.
    pub total_ms: u64,
    /// The option that sets `retries`, for errors to name.
    pub option: &'static str,
}

impl RetryPolicy {
    /// The policy of a commit that both policies apply to: the fewest retries, the longest waits.
    #[must_use]
    pub fn stricter(self, other: RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            retries: self.retries.min(other.retries),
            min_wait_ms: self.min_wait_ms.max(other.min_wait_ms),
            max_wait_ms: self.max_wait_ms.max(other.max_wait_ms),
            total_ms: self.total_ms.min(other.total_ms),
            option: self.option,
        }
    }

    /// The wait doubles up to a maximum. Half of it is random, so that colliding writers separate.
    fn wait(&self, attempt: u32) -> Duration {
        let full = self.min_wait_ms.saturating_mul(1 << attempt.min(20)).min(self.max_wait_ms).max(1);
        let random = uuid::Uuid::new_v4().as_u64_pair().1 % full;
        Duration::from_millis(full / 2 + random / 2)
    }

    /// The error of a commit that lost too many races.
    fn lost(&self, error: Error, races: u32, spent_ms: u64) -> Error {
        error.hint(format!(
            "Another writer won {races} times in {spent_ms} ms; nothing of this commit is in the table, so it is safe to \
             try again (property {})",
            self.option
        ))
    }
}

/// How a commit ended.
#[derive(Debug)]
pub enum CommitOutcome<T> {
    /// It is in the table.
    Committed(T),
    /// It certainly is not, and never will be: its files can be removed.
    Failed(Error),
    /// It may be in the table: nothing may be removed.
    Unknown(Error),
}

impl<T> CommitOutcome<T> {
    /// The outcome with another result.
    pub fn and_then<U>(self, convert: impl FnOnce(T) -> CommitOutcome<U>) -> CommitOutcome<U> {
        match self {
            CommitOutcome::Committed(done) => convert(done),
            CommitOutcome::Failed(e) => CommitOutcome::Failed(e),
            CommitOutcome::Unknown(e) => CommitOutcome::Unknown(e),
        }
    }

    /// The outcome with a changed error.
    #[must_use]
    pub fn map_err(self, change: impl FnOnce(Error) -> Error) -> CommitOutcome<T> {
        match self {
            CommitOutcome::Committed(done) => CommitOutcome::Committed(done),
            CommitOutcome::Failed(e) => CommitOutcome::Failed(change(e)),
            CommitOutcome::Unknown(e) => CommitOutcome::Unknown(change(e)),
        }
    }

    /// The error, unless the commit is known to be in the table.
    ///
    /// # Errors
    /// The error of the commit.
    pub fn into_result(self) -> Result<T> {
        match self {
            CommitOutcome::Committed(done) => Ok(done),
            CommitOutcome::Failed(e) | CommitOutcome::Unknown(e) => Err(e),
        }
    }
}

/// The steps of each attempt of one commit.
pub trait CommitAttempt {
    /// A version of the table.
    type Base;
    /// A version that is ready to be published.
    type Next;
    /// The result once it is published.
    type Done;

    /// The newest version.
    ///
    /// # Errors
    /// Errors of the store.
    fn newest(&mut self) -> Result<Self::Base>;

    /// A later version than `base`, if `error` says that `base` vanished while it was read.
    fn newer(&mut self, base: &Self::Base, error: &Error) -> Option<Self::Base>;

    /// Plans the change again after an error of [`CommitAttempt::prepare`], if the error is a conflict. Returns the
    /// newest version, or `None` if the error ends the commit. A new plan may lose as many races as the first. It is
    /// not asked after [`RetryPolicy::total_ms`].
    ///
    /// # Errors
    /// Errors of planning.
    fn replan(&mut self, _error: &Error) -> Result<Option<Self::Base>> {
        Ok(None)
    }

    /// Whether a version already has all changes, from any writer.
    ///
    /// # Errors
    /// Errors of the store.
    fn is_applied(&mut self, base: &Self::Base) -> Result<bool>;

    /// The version after `base`. An error ends the commit, unless the change is planned again.
    ///
    /// # Errors
    /// `CommitConflict` if the change contradicts that version; errors of the store.
    fn prepare(&mut self, base: &Self::Base) -> Result<Self::Next>;

    /// Makes it the table's next version.
    ///
    /// # Errors
    /// `CommitConflict` if another version is already the next one.
    fn publish(&mut self, base: &Self::Base, next: &Self::Next) -> Result<Self::Done>;

    /// Whether `next` was published, judged by `newest` and not by the reply.
    ///
    /// # Errors
    /// `CommitStateUnknown` if `newest` contradicts the reply; errors of the store.
    fn was_published(&mut self, newest: &Self::Base, base: &Self::Base, next: &Self::Next) -> Result<bool>;

    /// The result for a version that contains the commit.
    ///
    /// # Errors
    /// If the result is unknown.
    fn done(&mut self, base: Self::Base) -> Result<Self::Done>;

    /// Whether an error of [`CommitAttempt::publish`] proves that nothing was published.
    fn is_certain(&self, error: &Error) -> bool;

    /// Whether an error of [`CommitAttempt::publish`] proves that nothing will be published later. The newest
    /// version may still contain the commit.
    fn is_refused(&self, error: &Error) -> bool;
}

/// Runs a commit. It retries only after a lost race for the next version, or with a new plan. A change that is no
/// longer possible and can't be planned again ends the commit. So does a publication with an unknown outcome.
pub fn run<A: CommitAttempt>(attempts: &mut A, policy: &RetryPolicy) -> CommitOutcome<A::Done> {
    let (began, mut attempt, mut is_first) = (Instant::now(), 0u32, true);
    let spent_ms = || began.elapsed().as_millis() as u64;
    let mut base = match attempts.newest() {
        Ok(base) => base,
        Err(e) => return CommitOutcome::Failed(e),
    };
    loop {
        match attempts.is_applied(&base) {
            Ok(true) => return reopened(attempts, base),
            Ok(false) => {}
            Err(e) => return CommitOutcome::Failed(e),
        }
        parallel::count_attempt(std::mem::take(&mut is_first));
        let next = match attempts.prepare(&base) {
            Ok(next) => next,
            Err(e) => {
                if let Some(newer) = attempts.newer(&base, &e).filter(|_| attempt < policy.retries) {
                    (base, attempt) = (newer, attempt + 1);
                    continue;
                }
                if spent_ms() >= policy.total_ms {
                    return CommitOutcome::Failed(e);
                }
                match attempts.replan(&e).and_then(|newest| newest.ok_or(e)) {
                    Ok(newest) => (base, attempt) = (newest, 0),
                    Err(e) => return CommitOutcome::Failed(e),
                }
                continue;
            }
        };
        // The last chance to cancel: a published version stays.
        if let Err(stop) = parallel::check_cancelled() {
            return CommitOutcome::Failed(stop);
        }
        let error = match attempts.publish(&base, &next) {
            Ok(done) => return CommitOutcome::Committed(done),
            Err(e) => e,
        };
        let certain = attempts.is_certain(&error);
        let found = attempts.newest().and_then(|newest| Ok((attempts.was_published(&newest, &base, &next)?, newest)));
        base = match found {
            // The version was published although the reply was an error.
            Ok((true, newest)) => return reopened(attempts, newest),
            Ok((false, newest)) => newest,
            Err(e) if certain && e.kind() != ErrorKind::CommitStateUnknown => return CommitOutcome::Failed(error),
            Err(e) => return CommitOutcome::Unknown(unknown(error).because(e)),
        };
        if error.kind() != ErrorKind::CommitConflict {
            let refused = certain || attempts.is_refused(&error);
            return if refused { CommitOutcome::Failed(error) } else { CommitOutcome::Unknown(unknown(error)) };
        }
        let spent_ms = spent_ms();
        if attempt >= policy.retries || spent_ms >= policy.total_ms {
            return CommitOutcome::Failed(policy.lost(error, attempt + 1, spent_ms));
        }
        if let Err(stop) = parallel::pause(policy.wait(attempt)) {
            return CommitOutcome::Failed(stop);
        }
        attempt += 1;
    }
}

fn reopened<A: CommitAttempt>(attempts: &mut A, base: A::Base) -> CommitOutcome<A::Done> {
    attempts.done(base).map_or_else(CommitOutcome::Unknown, CommitOutcome::Committed)
}

/// An error that leaves open whether the commit happened.
pub fn unknown(error: Error) -> Error {
    if error.kind() == ErrorKind::CommitStateUnknown {
        return error;
    }
    Error::state_unknown("it is unknown whether the commit happened")
        .hint("Nothing was removed. Open the table again and look for the rows before trying again")
        .because(error)
}

#[cfg(test)]
#[path = "commit_loop_tests.rs"]
mod tests;
