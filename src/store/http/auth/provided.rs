//! Headers that the caller provides.

use std::sync::Arc;

use super::super::request::HttpRequest;
use super::traits::Authorizer;
use crate::error::Result;

/// Gives the headers of a request. It is called before every request.
pub(crate) type HeaderProvider = Arc<dyn Fn() -> Result<Vec<(String, String)>> + Send + Sync>;

/// Headers of a [`HeaderProvider`].
pub(crate) struct ProvidedHeaders(pub(crate) HeaderProvider);

impl std::fmt::Debug for ProvidedHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProvidedHeaders")
    }
}

impl Authorizer for ProvidedHeaders {
    fn authorize(&self, _: &HttpRequest) -> Result<Vec<(String, String)>> {
        (self.0)()
    }

    fn is_of_caller(&self) -> bool {
        true
    }

    /// The provider may have a new token now.
    fn renew(&self, refused: &[(String, String)]) -> Result<bool> {
        Ok((self.0)()? != refused)
    }
}
