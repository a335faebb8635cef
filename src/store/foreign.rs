//! Stores and credentials that live in another language. The options carry them as text.

use std::sync::{Arc, OnceLock};

use super::credentials::CredentialSource;
use super::files::Store;
use crate::error::{Error, Result};

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
}

static MAKERS: OnceLock<Box<dyn ForeignMakers>> = OnceLock::new();

/// Sets the makers of this process. Only the first call has an effect.
pub fn set_makers(makers: Box<dyn ForeignMakers>) {
    MAKERS.set(makers).unwrap_or(());
}

/// # Errors
/// `Unsupported` in a process without Python.
pub(super) fn makers() -> Result<&'static dyn ForeignMakers> {
    let none = || Error::unsupported("a credential provider or file system of Python needs Python");
    MAKERS.get().map(Box::as_ref).ok_or_else(none)
}
