//! Headers that the caller provides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::request::HttpRequest;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::Result;
use crate::store::foreign::GivenHeaders;

/// Gives the headers of a request. It is called before every request.
pub(crate) type HeaderProvider = GivenHeaders;

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

/// The token of another process, and what is used after the server refused it.
#[derive(Debug)]
pub(super) struct TokenOfTheMoment {
    token: GivenToken,
    next: Option<Arc<dyn Authorizer>>,
    is_refused: AtomicBool,
}

struct GivenToken(String);

impl std::fmt::Debug for GivenToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl TokenOfTheMoment {
    pub(super) fn new(token: &str, next: Option<Arc<dyn Authorizer>>) -> TokenOfTheMoment {
        TokenOfTheMoment { token: GivenToken(token.to_owned()), next, is_refused: AtomicBool::new(false) }
    }

    fn own(&self) -> Vec<(String, String)> {
        vec![(AUTHORIZATION.to_owned(), format!("Bearer {}", self.token.0))]
    }

    /// What is used now instead of the token.
    fn next(&self) -> Option<&Arc<dyn Authorizer>> {
        self.next.as_ref().filter(|_| self.is_refused.load(Ordering::Relaxed))
    }
}

impl Authorizer for TokenOfTheMoment {
    fn authorize(&self, request: &HttpRequest) -> Result<Vec<(String, String)>> {
        match self.next() {
            Some(next) => next.authorize(request),
            None => Ok(self.own()),
        }
    }

    fn is_of_caller(&self) -> bool {
        self.next().is_some_and(|next| next.is_of_caller())
    }

    fn renew(&self, refused: &[(String, String)]) -> Result<bool> {
        let Some(next) = &self.next else { return Ok(false) };
        // Another thread may have gone on to the next proof already.
        if refused == self.own() {
            self.is_refused.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        next.renew(refused)
    }

    fn secrets(&self) -> Vec<String> {
        let own = Some(self.token.0.clone()).filter(|token| token.len() > 3);
        own.into_iter().chain(self.next.iter().flat_map(|next| next.secrets())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::request::HttpVerb;
    use super::super::basic::BasicLogin;
    use super::*;

    #[test]
    fn a_token_is_used_until_it_is_refused() {
        let header =
            |proof: &TokenOfTheMoment| proof.authorize(&HttpRequest::new(HttpVerb::Get, "")).unwrap().remove(0).1;
        let alone = TokenOfTheMoment::new("of-the-moment", None);
        assert!(!alone.renew(&[]).unwrap());
        assert_eq!(header(&alone), "Bearer of-the-moment");
        let followed = TokenOfTheMoment::new("of-the-moment", Some(Arc::new(BasicLogin::new("u", "hush"))));
        assert_eq!(header(&followed), "Bearer of-the-moment");
        let own = [(AUTHORIZATION.to_owned(), "Bearer of-the-moment".to_owned())];
        assert!(followed.renew(&own).unwrap());
        // "u:hush" in Base64.
        assert_eq!(header(&followed), "Basic dTpodXNo");
        // A second thread hears of the refusal later.
        assert!(followed.renew(&own).unwrap());
        assert!(!followed.renew(&[(AUTHORIZATION.to_owned(), "Basic dTpodXNo".to_owned())]).unwrap());
        assert!(!format!("{followed:?}").contains("of-the-moment"));
        assert_eq!(followed.secrets()[0], "of-the-moment");
    }
}
