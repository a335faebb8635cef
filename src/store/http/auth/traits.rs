//! The interface of all proofs of who sends a request.

use std::time::Duration;

use super::super::request::HttpRequest;
use crate::error::Result;

/// Proves who sends a request.
pub(crate) trait Authorizer: Send + Sync + std::fmt::Debug {
    /// The headers that prove who sends this request.
    ///
    /// # Errors
    /// `PermissionDenied` if no proof can be had; errors of the service that gives it.
    fn authorize(&self, request: &HttpRequest) -> Result<Vec<(String, String)>>;

    /// Called after the server refused these headers. Returns whether [`Authorizer::authorize`] will give others.
    ///
    /// # Errors
    /// Those of the service that gives them.
    fn renew(&self, _refused: &[(String, String)]) -> Result<bool> {
        Ok(false)
    }

    /// In which time the present proof is renewed, and in which it expires. `None` if that is not known.
    fn life(&self) -> Option<(Duration, Duration)> {
        None
    }

    /// Whether only the thread of the caller may ask, because the proof comes from the user's code.
    fn is_of_caller(&self) -> bool {
        false
    }

    /// Texts that no error may show.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The name of the header with the proof.
pub(super) const AUTHORIZATION: &str = "authorization";
