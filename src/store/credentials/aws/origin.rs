//! Where keys come from, and how to get them.

use std::path::PathBuf;

use super::super::names::EXPIRES_AT;
use super::super::temporary::{CredentialSource, TemporaryCredentials};
use super::keys::{AwsRole, Keys, SignOn};
use super::program;
use super::token_service::{assume, assume_by_token, signed_on};
use crate::error::Result;

/// Where keys come from.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// They are given.
    Keys(Keys),
    /// The environment, or the machine's identity.
    Environment,
    /// A program prints them.
    Program(String),
    /// Single sign-on.
    SignOn(SignOn),
    /// A role, with keys of another origin.
    Role(AwsRole, Box<Origin>),
    /// A role, with the token in a file.
    TokenFile(AwsRole, PathBuf),
}

impl std::fmt::Debug for Origin {
    /// Leaves out keys and commands.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Keys(_) => f.write_str("Keys"),
            Origin::Environment => f.write_str("Environment"),
            Origin::Program(_) => f.write_str("Program"),
            Origin::SignOn(sign_on) => sign_on.fmt(f),
            Origin::Role(role, from) => write!(f, "{role:?} from {from:?}"),
            Origin::TokenFile(role, path) => write!(f, "{role:?} by {path:?}"),
        }
    }
}

/// Keys of an origin, and what their services need.
#[derive(Clone, Debug)]
pub(super) struct AwsSource {
    pub(super) origin: Origin,
    pub(super) region: String,
    /// The service STS, if it is not Amazon's.
    pub(super) sts_endpoint: Option<String>,
    /// The portal of single sign-on, if it is not Amazon's.
    pub(super) sign_on_endpoint: Option<String>,
    pub(super) sign_on_folder: PathBuf,
}

impl AwsSource {
    fn keys(&self, origin: &Origin) -> Result<Option<Keys>> {
        let sts = self.sts_endpoint.as_deref();
        Ok(Some(match origin {
            Origin::Keys(keys) => keys.clone(),
            Origin::Environment => return Ok(None),
            Origin::Program(command) => program::keys_of(command)?,
            Origin::SignOn(sign_on) => signed_on(sign_on, &self.sign_on_folder, self.sign_on_endpoint.as_deref())?,
            Origin::Role(role, from) => assume(role, self.keys(from)?, &self.region, sts)?,
            Origin::TokenFile(role, path) => assume_by_token(role, path, &self.region, sts)?,
        }))
    }
}

impl CredentialSource for AwsSource {
    fn load(&self) -> Result<TemporaryCredentials> {
        let mut granted = TemporaryCredentials::default();
        let mut set = |name: &str, value: String| granted.config.insert(name.to_owned(), value);
        if let Some(Keys { id, secret, token, expires_at_ms }) = self.keys(&self.origin)? {
            set("s3.access-key-id", id);
            set("s3.secret-access-key", secret);
            token.map(|token| set("s3.session-token", token));
            expires_at_ms.map(|at| set(EXPIRES_AT, at.to_string()));
        }
        Ok(granted)
    }
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
