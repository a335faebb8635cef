//! The crate has one error type. It says what failed ([`Error::message`]), where ([`Error::context`]), and what to do
//! ([`Error::hint`]). Its cause is its [`std::error::Error::source`].
//!
//! Errors never show secrets, and their length is bounded ([`public_text`]).
//!
//! The Python face maps each [`ErrorKind`] to one class of the tree rooted at `FrazilError`.
//!
//! - `chain`: the error itself: a message, where, why underneath, and what to do
//! - `kind`: the kinds of errors
//! - `public_text`: text that may be shown to anybody

mod chain;
mod kind;
mod public_text;

pub use chain::{Error, Result, ResultExt};
pub use kind::ErrorKind;
pub use public_text::{is_secret_option, public_text};
