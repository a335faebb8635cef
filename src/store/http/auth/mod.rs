//! Proofs of who sends a request.
//!
//! - `aws`: signatures of Amazon's services
//! - `azure`: tokens of Microsoft Entra
//! - `basic`: a user's name and password
//! - `google`: tokens of Google
//! - `oauth2`: tokens of OAuth2, which are renewed before they expire
//! - `provided`: headers that the caller provides
//! - `traits`: the interface of all

mod aws;
mod azure;
mod basic;
mod google;
mod oauth2;
mod provided;
mod traits;

pub(crate) use aws::{AwsKeys, AwsSignatures};
pub(crate) use azure::EntraTokens;
pub(crate) use basic::BasicLogin;
pub(crate) use google::GoogleTokens;
pub(crate) use oauth2::{OAuth2Settings, OAuth2Tokens};
pub(crate) use provided::{HeaderProvider, ProvidedHeaders};
pub(crate) use traits::Authorizer;
