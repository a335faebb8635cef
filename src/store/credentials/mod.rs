//! Credentials of object stores that are granted for a time, and renewed before they expire.
//!
//! A [`CredentialSource`] gives credentials. A [`Renewal`] keeps them, asks the source again early enough, and is
//! shared by all stores of a process. `provider` hands them to the clients of `object_store`. Options carry the
//! credentials, when they expire and how to renew them. So tasks in other processes can go on.
//!
//! - `aws`: profiles of Amazon's tools, assumed roles, programs that print keys, single sign-on
//! - `azure_authority`: hosts of Azure's blob service, as PyIceberg names them
//! - `azure_text`: connection strings of Azure
//! - `endpoint`: an endpoint of a catalog's server that renews credentials or signs requests
//! - `endpoints`: endpoints of stores that only a catalog's server named
//! - `handover`: how processes other than the catalog's ask its server
//! - `temporary`: credentials with the time when they expire
//! - `names`: the options that carry all this
//! - `provider`: granted credentials for the clients of `object_store`
//! - `registry`: the sources and signers of this process
//! - `renewal`: keeps credentials and renews them in time
//! - `signing`: requests that somebody else signs
//! - `trust`: hosts that may get what proves who the user is

pub(super) mod aws;
pub(super) mod azure_authority;
pub(super) mod azure_text;
mod endpoint;
mod endpoints;
mod handover;
pub(super) mod names;
pub(super) mod provider;
mod registry;
mod renewal;
mod signing;
mod temporary;
mod trust;

pub(crate) use endpoint::read_any_endpoint;
pub use endpoint::{EndpointSigner, EndpointSource};
pub(super) use endpoints::check_endpoint;
pub(crate) use handover::carried_properties;
pub use handover::{CarriedLogin, Handover, RemoteRenewal};
pub use names::FILES;
pub use registry::{CredentialGrant, current_options, forget, grant, hand_over_by, renewals_of, sign_by};
pub(super) use registry::{live, prefixes, signer};
pub(super) use renewal::Renewal;
pub(super) use signing::SigningConnector;
pub use signing::{RequestSigner, SignRequest, SignedRequest};
pub use temporary::{CredentialSource, PrefixConfig, TemporaryCredentials, longest_prefix};
pub(super) use trust::is_this_machine;
pub use trust::{TrustedHosts, host_of, trust_hint};
