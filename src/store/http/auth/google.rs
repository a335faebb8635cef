//! Tokens of Google, for the account of a key file or of the environment.

use object_store::gcp::{GcpCredentialProvider, GoogleCloudStorageBuilder};

use super::super::request::HttpRequest;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::{Error, Result};
use crate::store::failure::failure;
use crate::store::options::Secrets;
use crate::store::runtime::{self, PerProcess};

/// Tokens of Google. They are renewed before they expire.
pub(crate) struct GoogleTokens {
    /// A file with a key or with credentials.
    path: Option<String>,
    provider: PerProcess<GcpCredentialProvider>,
}

impl std::fmt::Debug for GoogleTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GoogleTokens")
    }
}

impl GoogleTokens {
    /// Tokens for the account of a file. Without one, for that of the environment.
    pub(crate) fn new(path: Option<String>) -> GoogleTokens {
        GoogleTokens { path, provider: PerProcess::new() }
    }
}

impl Authorizer for GoogleTokens {
    fn authorize(&self, _: &HttpRequest) -> Result<Vec<(String, String)>> {
        let none = |e| {
            Error::denied("Google gives no token")
                .because(failure("ask for a token", "", e, &Secrets::default()))
                .hint("Give the path of a key file as gcp.auth.credentials-path, or set GOOGLE_APPLICATION_CREDENTIALS")
        };
        let provider = self.provider.get(|| {
            rustls::crypto::ring::default_provider().install_default().unwrap_or(());
            let builder = match &self.path {
                Some(path) => GoogleCloudStorageBuilder::new().with_application_credentials(path),
                None => GoogleCloudStorageBuilder::from_env(),
            };
            Ok(builder.with_bucket_name("catalog").build().map_err(none)?.credentials().clone())
        })?;
        let credential = runtime::wait(async move { provider.get_credential().await })?.map_err(none)?;
        Ok(vec![(AUTHORIZATION.to_owned(), format!("Bearer {}", credential.bearer))])
    }
}
