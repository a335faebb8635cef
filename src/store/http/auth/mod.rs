//! Proofs of who sends a request.
//!
//! - `aws`: signatures of Amazon's services
//! - `azure`: tokens of Microsoft Entra
//! - `basic`: a user's name and password
//! - `google`: tokens of Google
//! - `oauth2`: tokens of OAuth2, which are renewed before they expire
//! - `of_properties`: which proof the properties of a catalog ask for
//! - `provided`: headers that the caller provides
//! - `traits`: the interface of all

mod aws;
mod azure;
mod basic;
mod google;
mod oauth2;
mod of_properties;
mod provided;
mod traits;

pub(crate) use aws::{AwsKeys, AwsSignatures};
pub(crate) use of_properties::{authorizer, deciding, is_credential, is_of_user, is_same, of_others, secrets};
pub(crate) use provided::{HeaderProvider, ProvidedHeaders};
pub(crate) use traits::Authorizer;
