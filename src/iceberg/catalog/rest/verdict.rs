//! What became of a change.

use std::time::Duration;

use super::errors::ServerError;
use crate::error::{Error, ErrorKind, Result};
use crate::store::http::HttpAnswer;

/// What became of a change that was sent.
#[derive(Debug)]
pub(super) enum ChangeVerdict {
    /// It succeeded.
    Done(HttpAnswer),
    /// The server refused, and changed nothing.
    Refused(ServerError, Error),
    /// Something is in the way (409). It may be the change itself.
    InTheWay(Error),
    /// The server asks to come back later, or with another token. It probably changed nothing.
    Later(Error, Option<Duration>),
    /// Nobody knows.
    Unknown(Error),
}

impl ChangeVerdict {
    /// The answer, for a change without a second version of itself. After an unknown outcome, `is_done` looks whether
    /// the change was made.
    ///
    /// # Errors
    /// The server's refusal; `CommitStateUnknown` if the change can't be seen.
    pub(super) fn settled(self, is_done: impl FnOnce() -> Result<bool>) -> Result<Option<HttpAnswer>> {
        match self {
            ChangeVerdict::Done(answer) => Ok(Some(answer)),
            ChangeVerdict::Refused(_, e) => Err(e),
            // A conflict may be one with the change itself, which a proxy sent twice.
            ChangeVerdict::InTheWay(e) if e.kind() != ErrorKind::CommitConflict => Err(e),
            ChangeVerdict::InTheWay(e) | ChangeVerdict::Later(e, _) => match is_done() {
                Ok(true) => Ok(None),
                _ => Err(e),
            },
            ChangeVerdict::Unknown(e) => match is_done() {
                Ok(true) => Ok(None),
                Ok(false) => Err(unknown(e)),
                Err(why) => Err(unknown(e.with("looked", why.message()))),
            },
        }
    }
}

impl ChangeVerdict {
    /// As [`ChangeVerdict::settled`], for changes that are in their own way when they are sent twice: a drop or a
    /// rename. A proxy may have repeated them.
    ///
    /// # Errors
    /// As [`ChangeVerdict::settled`].
    pub(super) fn settled_twice(self, is_done: impl FnOnce() -> Result<bool>) -> Result<Option<HttpAnswer>> {
        match self {
            ChangeVerdict::InTheWay(e) => ChangeVerdict::Later(e, None).settled(is_done),
            verdict => verdict.settled(is_done),
        }
    }
}

/// An error that leaves open whether a change was made.
pub(super) fn unknown(error: Error) -> Error {
    Error::state_unknown("it is unknown whether the catalog's server made the change")
        .hint("Look at the catalog before trying again")
        .because(error)
}
