//! Stores and credentials that live in another language. The options carry them as text.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::credentials::CredentialSource;
use super::files::Store;
use crate::error::{Error, Result};

/// Gives the headers of a request.
pub type GivenHeaders = Arc<dyn Fn() -> Result<Vec<(String, String)>> + Send + Sync>;

/// Makes what a text describes.
pub trait ForeignMakers: Send + Sync {
    /// The credentials of a callable.
    ///
    /// # Errors
    /// `InvalidInput` if the text can't be read in this process.
    fn source(&self, text: &str) -> Result<Arc<dyn CredentialSource>>;

    /// The store of a file system.
    ///
    /// # Errors
    /// `InvalidInput` if the text can't be read in this process.
    fn files(&self, text: &str) -> Result<Arc<dyn Store>>;

    /// The headers of the user's own class for authorization, which `class` names. `settings` are its arguments.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such class, or it does not take the arguments.
    fn headers(&self, class: &str, settings: &BTreeMap<String, String>) -> Result<GivenHeaders>;
}

static MAKERS: OnceLock<Box<dyn ForeignMakers>> = OnceLock::new();

/// Sets the makers of this process. Only the first call has an effect.
pub fn set_makers(makers: Box<dyn ForeignMakers>) {
    MAKERS.set(makers).unwrap_or(());
}

/// # Errors
/// `Unsupported` in a process without Python.
pub(super) fn makers() -> Result<&'static dyn ForeignMakers> {
    let none = || Error::unsupported("a credential provider, file system or class of Python needs Python");
    MAKERS.get().map(Box::as_ref).ok_or_else(none)
}
