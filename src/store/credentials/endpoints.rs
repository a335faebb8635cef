//! Endpoints of stores that only a catalog's server named.
//!
//! A server may name a store's endpoint together with credentials of its own. Without these, the user's credentials
//! would prove who asks there, or those of the machine. A key that only signs requests is never sent, so it may be
//! used. Tokens are sent, so they are kept back from hosts that the user did not name.

use std::collections::{BTreeMap, BTreeSet};

use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use reqwest::Url;

use super::super::options::{StoreOptions, flag};
use super::super::place::Service;
use super::names::ENDPOINTS_OF_SERVER;
use super::trust::{TrustedHosts, endpoint_url, host_of, trust_hint};
use crate::error::{Error, Result};

/// Parts of the names of Amazon's hosts for S3 between `s3` and the domain, other than regions.
const PARTS_OF_S3: [&str; 2] = ["dualstack", "vpce"];

/// The ends of the hosts of Azure's storage.
const ENDS_OF_AZURE: [&str; 9] = [
    ".blob.core.windows.net",
    ".dfs.core.windows.net",
    ".blob.storage.azure.net",
    ".dfs.storage.azure.net",
    ".blob.core.chinacloudapi.cn",
    ".dfs.core.chinacloudapi.cn",
    ".blob.core.usgovcloudapi.net",
    ".dfs.core.usgovcloudapi.net",
    ".fabric.microsoft.com",
];

/// Whether a setting of `object_store` is an endpoint.
fn is_endpoint(service: Service, setting: &str) -> bool {
    match service {
        Service::S3 => {
            matches!(setting.parse(), Ok(AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint))
        }
        Service::Gcs => matches!(setting.parse(), Ok(GoogleConfigKey::BaseUrl)),
        Service::Azure => matches!(setting.parse(), Ok(AzureConfigKey::Endpoint)),
        Service::Web => false,
    }
}

/// The endpoint among settings: the last one counts.
fn endpoint_in(service: Service, settings: &[(String, String)]) -> Option<&str> {
    settings.iter().rev().find(|(name, _)| is_endpoint(service, name)).map(|(_, url)| url.as_str())
}

/// The endpoint that a single option names for a service.
fn endpoint_of(service: Service, name: &str, value: &str) -> Option<String> {
    let alone = StoreOptions::single(name, value);
    endpoint_in(service, &alone.settings(service, None).ok()?).map(str::to_owned)
}

/// Whether a host belongs to the service itself. A secret for the service may go there.
fn is_of_service(service: Service, url: &str) -> bool {
    let Some(url) = endpoint_url(url).filter(|url| url.scheme() == "https") else { return false };
    let host = url.host_str().unwrap_or_default();
    match service {
        Service::S3 => is_of_s3(host),
        Service::Gcs => host.ends_with(".googleapis.com"),
        Service::Azure => ENDS_OF_AZURE.iter().any(|end| host.ends_with(end)),
        Service::Web => false,
    }
}

/// Whether a host is Amazon's S3: `s3.REGION.amazonaws.com` and the like. Customers have other hosts in this domain.
fn is_of_s3(host: &str) -> bool {
    let domain = [".amazonaws.com", ".amazonaws.com.cn"].iter().find_map(|end| host.strip_suffix(end));
    let Some(parts) = domain.map(|parts| parts.split('.').collect::<Vec<_>>()) else {
        return host == "s3.amazonaws.com";
    };
    let is_region = |part: &str| {
        part.split('-').count() >= 3 && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let is_s3 = |part: &str| part == "s3" || part == "s3-fips" || part.starts_with("s3express-");
    let Some(at) = parts.iter().rposition(|part| is_s3(part)) else { return false };
    parts[at + 1..].iter().all(|part| PARTS_OF_S3.contains(part) || is_region(part))
}

/// What settings say about the credentials of a service.
struct Proof<'a> {
    service: Service,
    settings: &'a [(String, String)],
}

impl Proof<'_> {
    fn has<K: std::str::FromStr + PartialEq>(&self, key: &K) -> bool {
        self.settings.iter().any(|(name, value)| !value.is_empty() && name.parse::<K>().is_ok_and(|k| k == *key))
    }

    fn is_anonymous(&self) -> bool {
        let last = self.settings.iter().rev().find(|(name, _)| name.ends_with("skip_signature"));
        last.is_some_and(|(name, value)| flag(name, value).unwrap_or(false))
    }

    /// Whether requests can be proved with these settings alone.
    fn is_complete(&self) -> bool {
        self.is_anonymous()
            || match self.service {
                Service::S3 => {
                    self.has(&AmazonS3ConfigKey::AccessKeyId) && self.has(&AmazonS3ConfigKey::SecretAccessKey)
                }
                Service::Gcs => {
                    self.has(&GoogleConfigKey::BearerToken) || self.has(&GoogleConfigKey::ServiceAccountKey)
                }
                Service::Azure => [AzureConfigKey::AccessKey, AzureConfigKey::SasKey, AzureConfigKey::Token]
                    .iter()
                    .any(|key| self.has(key)),
                Service::Web => true,
            }
    }

    /// Whether requests carry signatures at most, and no secret.
    fn sends_no_secret(&self) -> bool {
        self.is_anonymous()
            || match self.service {
                Service::S3 => self.is_complete() && !self.has(&AmazonS3ConfigKey::Token),
                Service::Azure => {
                    self.has(&AzureConfigKey::AccessKey)
                        && !self.has(&AzureConfigKey::SasKey)
                        && !self.has(&AzureConfigKey::Token)
                }
                Service::Gcs => false,
                Service::Web => true,
            }
    }
}

impl StoreOptions {
    /// The names of options with endpoints that only the server named.
    fn endpoints_of_server(&self) -> BTreeSet<String> {
        let names = self.own(ENDPOINTS_OF_SERVER).unwrap_or_default();
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// These options, replaced by those of a catalog's server. Remembers the endpoints that only the server named,
    /// unless it also gives credentials for them, or secrets may go there.
    pub fn replaced_by_server(self, server: StoreOptions, trusted: &TrustedHosts) -> StoreOptions {
        let mut named = self.endpoints_of_server();
        for (name, value) in server.as_map().iter().filter(|(name, value)| self.as_map().get(*name) != Some(value)) {
            for service in Service::ALL {
                let Some(url) = endpoint_of(service, name, value) else { continue };
                match trusted.has(&url) || is_of_service(service, &url) {
                    true => named.remove(name),
                    false => named.insert(name.clone()),
                };
            }
        }
        let lent = |service: &Service| match server.settings(*service, None) {
            Ok(settings) => Proof { service: *service, settings: &settings }.is_complete(),
            Err(_) => false,
        };
        let lent: Vec<Service> = Service::ALL.into_iter().filter(lent).collect();
        let all = self.replaced_by(server).without(ENDPOINTS_OF_SERVER);
        let is_open = |name: &String| {
            let value = all.as_map().get(name);
            value.is_some_and(|value| !lent.iter().any(|service| endpoint_of(*service, name, value).is_some()))
        };
        named.retain(is_open);
        match named.is_empty() {
            true => all,
            false => all.with_own(ENDPOINTS_OF_SERVER, named.into_iter().collect::<Vec<_>>().join(",")),
        }
    }

    /// The user's options, completed by defaults of a catalog's server. The user's credentials and endpoint of a
    /// service leave no place for those of the server.
    pub fn completed_by_server(self, defaults: StoreOptions, trusted: &TrustedHosts) -> StoreOptions {
        let has_endpoint =
            |service: Service| self.as_map().iter().any(|(name, value)| endpoint_of(service, name, value).is_some());
        let taken: Vec<Service> = Service::ALL.into_iter().filter(|service| has_endpoint(*service)).collect();
        let mut left: BTreeMap<String, String> = defaults.replaced_by(self.clone()).as_map().clone();
        left.retain(|name, value| {
            let is_taken = taken.iter().any(|service| endpoint_of(*service, name, value).is_some());
            !self.as_map().contains_key(name) && !is_taken
        });
        self.replaced_by_server(StoreOptions::of_server(&left), trusted)
    }
}

/// Checks that no secret goes to an endpoint that only the server named. `settings` are those of the bucket's client.
/// `by_others` tells that other credentials come in place of those of the settings, and are sent.
///
/// # Errors
/// `PermissionDenied` with the endpoint.
pub(in crate::store) fn check_endpoint(
    service: Service,
    options: &StoreOptions,
    settings: &[(String, String)],
    by_others: bool,
) -> Result<()> {
    let named = options.endpoints_of_server();
    let Some(used) = endpoint_in(service, settings).filter(|_| !named.is_empty()) else { return Ok(()) };
    let of_server = |name: &String| {
        let url = options.as_map().get(name).and_then(|value| endpoint_of(service, name, value));
        url.is_some_and(|url| url == used)
    };
    let Some(name) = named.iter().find(|name| of_server(name)) else { return Ok(()) };
    if !by_others && (Proof { service, settings }).sends_no_secret() {
        return Ok(());
    }
    Err(Error::denied("the catalog's server names an endpoint for files, which would get your credentials")
        .with("option", name)
        .with("endpoint", endpoint_url(used).as_ref().map(Url::authority).unwrap_or_default())
        .hint(trust_hint(&format!("{name}='{}'", host_of(used)), used)))
}

#[cfg(test)]
#[path = "endpoints_tests.rs"]
mod tests;
