//! Storage options: their names in PyIceberg, Java, `object_store` and Polars, and their meaning.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use super::credentials::names;
use super::credentials::{azure_authority, azure_text};
use super::place::Service;
use crate::error::{Error, Result, is_secret_option};
use crate::types::options::truth;
use crate::types::suggest::suggest;

/// The default of the option `max_retries`.
const RETRIES: usize = 6;

/// The default of the option `retry_timeout`: the time after which a request is not retried.
const RETRY_TIME: Duration = Duration::from_secs(15);

/// The meaning of a PyIceberg or Java option, in terms of `object_store`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// The same as this option.
    Is(&'static str),
    /// The opposite of this flag.
    Not(&'static str),
    /// This duration, in seconds.
    Seconds(&'static str),
    /// An option without effect here.
    Nothing,
    /// An option that is not supported, unless its value is `false`.
    Unsupported,
}

use Means::{Is, Not, Nothing, Seconds, Unsupported};

/// Names with a dot, each for one service. Amazon's services share `client.*` in PyIceberg.
const DOTTED: [(&str, Service, Means); 72] = [
    ("s3.endpoint", Service::S3, Is("aws_endpoint_url_s3")),
    ("s3.access-key-id", Service::S3, Is("aws_access_key_id")),
    ("s3.secret-access-key", Service::S3, Is("aws_secret_access_key")),
    ("s3.session-token", Service::S3, Is("aws_session_token")),
    ("s3.region", Service::S3, Is("aws_region")),
    ("s3.anonymous", Service::S3, Is("aws_skip_signature")),
    ("s3.force-virtual-addressing", Service::S3, Is("aws_virtual_hosted_style_request")),
    ("s3.path-style-access", Service::S3, Not("aws_virtual_hosted_style_request")),
    ("s3.proxy-uri", Service::S3, Is("proxy_url")),
    ("s3.connect-timeout", Service::S3, Seconds("connect_timeout")),
    ("s3.request-timeout", Service::S3, Seconds("read_timeout")),
    ("s3.server-side-encryption", Service::S3, Is("aws_server_side_encryption")),
    ("s3.sse-kms-key-id", Service::S3, Is("aws_sse_kms_key_id")),
    ("s3.resolve-region", Service::S3, Nothing),
    ("s3.retry-strategy-impl", Service::S3, Nothing),
    ("s3.checksum-enabled", Service::S3, Nothing),
    ("s3.delete-enabled", Service::S3, Nothing),
    ("s3.preload-client-enabled", Service::S3, Nothing),
    ("s3.use-arn-region-enabled", Service::S3, Nothing),
    ("s3.multipart.size", Service::S3, Nothing),
    ("s3.remote-signing-enabled", Service::S3, Unsupported),
    ("s3.access-grants.enabled", Service::S3, Unsupported),
    ("s3.signer", Service::S3, Unsupported),
    ("s3.signer.uri", Service::S3, Unsupported),
    ("s3.signer.endpoint", Service::S3, Unsupported),
    ("s3.cross-region-access-enabled", Service::S3, Nothing),
    ("s3.session-token-expires-at-ms", Service::S3, Nothing),
    ("s3.role-arn", Service::S3, Nothing),
    ("s3.role-session-name", Service::S3, Nothing),
    ("s3.profile-name", Service::S3, Nothing),
    ("client.access-key-id", Service::S3, Is("aws_access_key_id")),
    ("client.secret-access-key", Service::S3, Is("aws_secret_access_key")),
    ("client.session-token", Service::S3, Is("aws_session_token")),
    ("client.region", Service::S3, Is("aws_region")),
    ("client.role-arn", Service::S3, Nothing),
    ("client.role-session-name", Service::S3, Nothing),
    ("client.profile-name", Service::S3, Nothing),
    ("client.assume-role.arn", Service::S3, Nothing),
    ("client.assume-role.session-name", Service::S3, Nothing),
    ("client.assume-role.external-id", Service::S3, Nothing),
    ("client.assume-role.region", Service::S3, Nothing),
    ("gcs.oauth2.token", Service::Gcs, Is("google_bearer_token")),
    ("gcs.oauth2.token-expires-at", Service::Gcs, Nothing),
    ("gcs.service.host", Service::Gcs, Is("google_base_url")),
    ("gcs.no-auth", Service::Gcs, Is("google_skip_signature")),
    ("gcs.credentials.file", Service::Gcs, Is("google_service_account")),
    ("gcs.credentials.json", Service::Gcs, Is("google_service_account_key")),
    ("gcs.project-id", Service::Gcs, Nothing),
    ("gcs.access", Service::Gcs, Nothing),
    ("gcs.consistency", Service::Gcs, Nothing),
    ("gcs.cache-timeout", Service::Gcs, Nothing),
    ("gcs.default-bucket-location", Service::Gcs, Nothing),
    ("gcs.version-aware", Service::Gcs, Nothing),
    ("gcs.session-kwargs", Service::Gcs, Unsupported),
    ("gcs.requester-pays", Service::Gcs, Unsupported),
    ("gcs.user-project", Service::Gcs, Unsupported),
    ("adls.account-name", Service::Azure, Is("azure_storage_account_name")),
    ("adls.account-key", Service::Azure, Is("azure_storage_account_key")),
    ("adls.sas-token", Service::Azure, Is("azure_storage_sas_token")),
    ("adls.tenant-id", Service::Azure, Is("azure_storage_tenant_id")),
    ("adls.client-id", Service::Azure, Is("azure_storage_client_id")),
    ("adls.client-secret", Service::Azure, Is("azure_storage_client_secret")),
    ("adls.token", Service::Azure, Is("azure_storage_token")),
    ("adls.anon", Service::Azure, Is("azure_skip_signature")),
    ("adls.account-host", Service::Azure, Is("azure_storage_endpoint")),
    ("adls.blob-storage-authority", Service::Azure, Nothing),
    ("adls.blob-storage-scheme", Service::Azure, Nothing),
    ("adls.dfs-storage-authority", Service::Azure, Nothing),
    ("adls.dfs-storage-scheme", Service::Azure, Nothing),
    ("adls.connection-string", Service::Azure, Nothing),
    ("adls.credential", Service::Azure, Unsupported),
    ("adls.read.block-size-bytes", Service::Azure, Nothing),
];

/// The prefix of SAS tokens for single accounts. The account's host follows it.
const SAS_OF_ACCOUNT: &str = "adls.sas-token.";

/// Options that choose a login of this machine: a profile, or a file with a credential. Others choose the connection,
/// or the service that gives logins. A server can't give them.
const OF_USER: [&str; 4] = ["s3.profile-name", "client.profile-name", "gcs.credentials.file", "s3.proxy-uri"];

/// Parts of plain names of such options.
const PARTS_OF_USER: [&str; 15] = [
    "token_file",
    "service_account_path",
    "application_credentials",
    "credentials_full_uri",
    "credentials_relative_uri",
    "azure_cli",
    "proxy",
    "certificate",
    "metadata_endpoint",
    "msi_endpoint",
    "identity_endpoint",
    "authority_host",
    "endpoint_url_sts",
    "token_service_url",
    "workload_host",
];

/// Options of remote signing. A REST catalog's server decides about it.
const SIGNING: [&str; 4] = ["s3.remote-signing-enabled", "s3.signer", "s3.signer.uri", "s3.signer.endpoint"];

/// Frazil's own options.
const OWN: [&str; 2] = ["max_retries", "retry_timeout"];

/// Names without a dot that hints list, in addition to those with a dot.
const PLAIN: [&str; 14] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_region",
    "aws_endpoint_url",
    "endpoint_url",
    "allow_http",
    "google_service_account",
    "azure_storage_account_name",
    "azure_storage_account_key",
    "azure_storage_sas_token",
    "timeout",
    "connect_timeout",
    "proxy_url",
];

/// The options of a store.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreOptions(BTreeMap<String, String>);

impl std::fmt::Debug for StoreOptions {
    /// Leaves out the values, because they are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl StoreOptions {
    /// Accepts options by any of their names, in any case.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown option, with similar names; `Unsupported` for an option that is not implemented.
    pub fn new(options: &BTreeMap<String, String>) -> Result<StoreOptions> {
        let mut out = BTreeMap::new();
        for (name, value) in options {
            let lower = name.to_ascii_lowercase();
            match dotted(&lower) {
                Some((_, Unsupported)) if !value.eq_ignore_ascii_case("false") => return Err(unsupported(name)),
                None if !is_plain(&lower) && !names::ALL.contains(&lower.as_str()) => return Err(unknown(name)),
                _ => {}
            }
            out.insert(lower, value.clone());
        }
        Ok(StoreOptions(out))
    }

    /// The storage options among what a server sends. Names that are unknown or not supported are ignored, because a
    /// server speaks to all clients. So are names that choose a login of this machine.
    pub fn of_server(properties: &BTreeMap<String, String>) -> StoreOptions {
        let known = |name: &str| match dotted(name) {
            Some((_, means)) => means != Unsupported && !OF_USER.contains(&name),
            None => name.contains('_') && is_plain(name) && !is_login_of_machine(name),
        };
        let lower = properties.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        StoreOptions(lower.filter(|(name, value)| known(name) && !is_spoiled(name, value)).collect())
    }

    /// As [`StoreOptions::of_server`], for options of somebody who gives credentials. A lone `token` is one, too.
    pub(super) fn of_grant(granted: &BTreeMap<String, String>) -> StoreOptions {
        let mut options = StoreOptions::of_server(granted);
        if let Some(token) = granted.get("token") {
            let keys = ["aws_session_token", "google_bearer_token", "azure_storage_token"];
            options.0.extend(keys.map(|key| (key.to_owned(), token.clone())));
        }
        options
    }

    /// One of Frazil's own options about credentials.
    pub(super) fn own(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Sets one of Frazil's own options about credentials.
    pub(super) fn with_own(mut self, name: &str, value: String) -> StoreOptions {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Leaves one of Frazil's own options out.
    pub(super) fn without(mut self, name: &str) -> StoreOptions {
        self.0.remove(name);
        self
    }

    /// A single option.
    pub(super) fn single(name: &str, value: &str) -> StoreOptions {
        StoreOptions(BTreeMap::from([(name.to_owned(), value.to_owned())]))
    }

    /// Whether a credential of a service is among the options.
    pub(super) fn has_credentials_of(&self, service: Service) -> bool {
        self.0.keys().any(|name| credential_of(name) == Some(service))
    }

    /// Whether a credential is among the options.
    pub fn has_credentials(&self) -> bool {
        self.0.keys().any(|name| credential_of(name).is_some())
    }

    /// These options, replaced by others where both have one. Credentials of a service are replaced together, because a
    /// token of a session belongs to its keys.
    pub fn replaced_by(mut self, others: StoreOptions) -> StoreOptions {
        let services: Vec<Service> = others.0.keys().filter_map(|name| credential_of(name)).collect();
        let replaced = |name: &str| match names::is_expiry(name) {
            true => !services.is_empty(),
            false => credential_of(name).is_some_and(|service| services.contains(&service)),
        };
        self.0.retain(|name, _| !replaced(name));
        self.0.extend(others.0);
        self
    }

    /// The storage options among the properties of a catalog. Ignores names of other properties.
    ///
    /// # Errors
    /// Errors of [`StoreOptions::new`], for names with the prefix of a store's options.
    pub fn of_catalog(properties: &BTreeMap<String, String>) -> Result<StoreOptions> {
        const BEGINNINGS: [&str; 7] = ["s3.", "gcs.", "adls.", "client.", "aws_", "google_", "azure_"];
        let by_server = properties.get("type").is_some_and(|kind| kind.eq_ignore_ascii_case("rest"));
        let is_ours = |name: &&String| {
            let name = name.to_ascii_lowercase();
            let shared = (name.starts_with("client.") && dotted(&name).is_none())
                || (by_server && SIGNING.contains(&name.as_str()));
            (BEGINNINGS.iter().any(|b| name.starts_with(b)) && !shared)
                || OWN.contains(&name.as_str())
                || names::ALL.contains(&name.as_str())
                || name == "allow_http"
        };
        let ours = properties.iter().filter(|(name, _)| is_ours(name));
        StoreOptions::new(&ours.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// The options as they were given.
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// The settings of a service, for one account if there are several.
    ///
    /// # Errors
    /// `InvalidInput` for a value that is not a number of seconds or not a flag.
    pub(super) fn settings(&self, service: Service, account: Option<&str>) -> Result<Vec<(String, String)>> {
        let mut out = Vec::new();
        for (name, value) in &self.0 {
            if let Some(host) = name.strip_prefix(SAS_OF_ACCOUNT) {
                let of = host.split('.').next();
                if service == Service::Azure && (account.is_none() || of == account) {
                    out.push(("azure_storage_sas_token".to_owned(), value.clone()));
                }
                continue;
            }
            match dotted(name) {
                Some((Service::Azure, _)) if name == azure_text::OPTION && service == Service::Azure => {
                    out.extend(azure_text::settings(value)?);
                }
                Some(_) if name == azure_authority::OPTION && service == Service::Azure => {
                    out.extend(azure_authority::endpoint(&self.0, account));
                }
                Some((of, means)) if of == service => out.extend(meant(name, means, value)?),
                None if knows(service, name) => out.push((name.clone(), value.clone())),
                _ => {}
            }
        }
        Ok(out)
    }

    /// The number of retries of a request, and the time limit for them.
    ///
    /// # Errors
    /// `InvalidInput` for values that are not numbers.
    pub(super) fn retries(&self) -> Result<(usize, Duration)> {
        let retries = match self.0.get("max_retries") {
            Some(text) => text.parse().map_err(|_| wrong("max_retries", text, "a number"))?,
            None => RETRIES,
        };
        let time = match self.0.get("retry_timeout") {
            Some(text) => seconds("retry_timeout", text)?,
            None => RETRY_TIME,
        };
        Ok((retries, time))
    }

    /// The values that must stay secret: those of options, and those of the environment that stores read now.
    pub(super) fn secrets(&self) -> Secrets {
        let given = self.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_ours = Service::ALL.iter().any(|service| name.starts_with(service.environment_prefix()))
                || name.ends_with("_PROXY");
            is_ours.then_some((name, value.into_string().ok()?))
        });
        // The URI of a proxy may hold its password.
        let is_secret = |name: &str| {
            is_secret_option(name) || name.to_ascii_lowercase().contains("proxy") || name == azure_text::OPTION
        };
        let all = given.chain(environment).filter(|(name, value)| value.len() > 3 && is_secret(name));
        let mut all: Vec<String> = all.map(|(_, value)| value).collect();
        // Parts of a text are secrets, too.
        if let Some(text) = self.0.get(azure_text::OPTION) {
            all.extend(azure_text::secrets(text));
        }
        Secrets(all.into())
    }
}

/// Values that errors must not show.
#[derive(Clone, Default)]
pub(super) struct Secrets(Arc<[String]>);

impl std::fmt::Debug for Secrets {
    /// Shows their number only.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    /// These values.
    pub(super) fn new(values: Vec<String>) -> Secrets {
        Secrets(values.into())
    }

    /// These and other values.
    pub(super) fn and(&self, others: Vec<String>) -> Secrets {
        Secrets(self.0.iter().cloned().chain(others).collect())
    }

    /// A text without them.
    pub(super) fn masked(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| text.replace(secret, "***"))
    }
}

/// The service whose credential an option is.
fn credential_of(name: &str) -> Option<Service> {
    if name.starts_with(SAS_OF_ACCOUNT) {
        return Some(Service::Azure);
    }
    let (service, key) = match dotted(name) {
        Some((Service::Azure, _)) if name == azure_text::OPTION => return Some(Service::Azure),
        Some((service, Is(key))) => (service, key),
        Some(_) => return None,
        None => (Service::ALL.into_iter().find(|service| knows(*service, name))?, name),
    };
    is_credential(key).then_some(service)
}

/// The error for an option that nothing here implements.
fn unsupported(name: &str) -> Error {
    let error = Error::unsupported(format!("the storage option '{name}' is not supported yet"));
    match name.to_ascii_lowercase().as_str() {
        "adls.credential" => error.hint(
            "An object of the Azure SDK can't be an option. Give credential_provider=, a callable that returns \
             {'token': …, 'expires_at': …}",
        ),
        signs if SIGNING.contains(&signs) => {
            error.hint("Requests are signed only for tables of a catalog of type='rest', if its server asks for it")
        }
        _ => error,
    }
}

/// The ends of the names of credentials.
const CREDENTIALS: [&str; 13] = [
    "access_key_id",
    "secret_access_key",
    "session_token",
    "token",
    "skip_signature",
    "account_key",
    "access_key",
    "sas_token",
    "sas_key",
    "client_secret",
    "service_account",
    "bearer_token",
    "credentials",
];

/// Whether an option of `object_store` is a credential.
pub(super) fn is_credential(name: &str) -> bool {
    CREDENTIALS.iter().any(|part| name.ends_with(part))
}

/// The meaning of a name with a dot.
fn dotted(name: &str) -> Option<(Service, Means)> {
    let is_sas = name.strip_prefix(SAS_OF_ACCOUNT).is_some_and(|account| !account.is_empty());
    if is_sas || (name.starts_with("adls.") && names::is_expiry(name)) {
        return Some((Service::Azure, Nothing));
    }
    DOTTED.iter().find(|(known, ..)| *known == name).map(|(_, service, means)| (*service, *means))
}

/// Whether a service has an option of this name. The path gives the bucket.
fn knows(service: Service, name: &str) -> bool {
    match service {
        Service::S3 => AmazonS3ConfigKey::from_str(name).is_ok_and(|key| key != AmazonS3ConfigKey::Bucket),
        Service::Gcs => GoogleConfigKey::from_str(name).is_ok_and(|key| key != GoogleConfigKey::Bucket),
        Service::Azure => AzureConfigKey::from_str(name).is_ok_and(|key| key != AzureConfigKey::ContainerName),
        Service::Web => ClientConfigKey::from_str(name).is_ok(),
    }
}

/// Whether a value that becomes a part of a host's name would make another host of it.
fn is_spoiled(name: &str, value: &str) -> bool {
    let is_part = name.ends_with("region") || name.ends_with("account-name") || name.ends_with("account_name");
    is_part && !value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether a plain name chooses a login of this machine.
fn is_login_of_machine(name: &str) -> bool {
    let is_file = matches!(name, "google_service_account" | "service_account");
    is_file || PARTS_OF_USER.iter().any(|part| name.contains(part))
}

fn is_plain(name: &str) -> bool {
    OWN.contains(&name) || Service::ALL.into_iter().any(|service| knows(service, name))
}

fn meant(name: &str, means: Means, value: &str) -> Result<Option<(String, String)>> {
    Ok(match means {
        Is("azure_storage_endpoint") if !value.contains("://") => {
            Some(("azure_storage_endpoint".to_owned(), format!("https://{value}")))
        }
        Is(key) => Some((key.to_owned(), value.to_owned())),
        Not(key) => Some((key.to_owned(), (!flag(name, value)?).to_string())),
        Seconds(key) => Some((key.to_owned(), format!("{}ms", seconds(name, value)?.as_millis()))),
        Nothing | Unsupported => None,
    })
}

fn seconds(name: &str, value: &str) -> Result<Duration> {
    let number = value.strip_suffix('s').unwrap_or(value).trim().parse::<f64>().ok();
    let duration = number.filter(|n| *n > 0.0).and_then(|n| Duration::try_from_secs_f64(n).ok());
    duration.ok_or_else(|| wrong(name, value, "a number of seconds"))
}

/// The value of a flag.
///
/// # Errors
/// `InvalidInput` if the value is not valid.
pub(super) fn flag(name: &str, value: &str) -> Result<bool> {
    truth(value).ok_or_else(|| wrong(name, value, "true or false"))
}

fn wrong(name: &str, value: &str, what: &str) -> Error {
    Error::invalid(format!("the storage option {name} is '{value}', not {what}"))
}

fn unknown(name: &str) -> Error {
    let known: Vec<String> = DOTTED.iter().map(|(n, ..)| *n).chain(PLAIN).chain(OWN).map(str::to_owned).collect();
    let similar = suggest(&known, name);
    let error = Error::invalid(format!("there is no storage option '{name}'"));
    match similar.is_empty() {
        true => error
            .hint("The names are those of PyIceberg (s3.endpoint, s3.region, …) and of object_store (aws_region, …)"),
        false => error
            .hint(format!("Is {} meant?", similar.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn options(given: &[(&str, &str)]) -> Result<StoreOptions> {
        StoreOptions::new(&given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }

    #[test]
    fn a_server_may_send_what_others_understand() {
        let sent = [
            ("s3.signer.uri", "http://x"),
            ("s3.session-token-expires-at-ms", "1"),
            ("s3.cross-region-access-enabled", "true"),
            ("s3.endpoint", "http://localhost:9"),
            ("token", "t"),
            ("client.region", "eu-west-1"),
            ("py-io-impl", "x"),
            ("frazil.credentials.renew-url", "http://x"),
            // These choose a login of this machine.
            ("client.profile-name", "p"),
            ("gcs.credentials.file", "/f"),
            ("google_service_account", "/f"),
            ("google_application_credentials", "/f"),
            ("aws_web_identity_token_file", "/f"),
            ("azure_federated_token_file", "/f"),
            ("azure_use_azure_cli", "true"),
            // These choose the connection, or the service that gives logins.
            ("s3.proxy-uri", "http://evil.example"),
            ("allow_invalid_certificates", "true"),
            ("aws_metadata_endpoint", "http://evil.example"),
            ("aws_endpoint_url_sts", "http://evil.example"),
            ("azure_msi_endpoint", "http://evil.example"),
            ("azure_identity_endpoint", "http://evil.example"),
            ("azure_storage_authority_host", "http://evil.example"),
            ("azure_fabric_token_service_url", "http://evil.example"),
            // These would become other hosts.
            ("s3.region", "evil.example/"),
            ("aws_default_region", "evil.example#"),
            ("adls.account-name", "evil.example/"),
        ];
        let sent = sent.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let names: Vec<String> = StoreOptions::of_server(&sent).0.into_keys().collect();
        let expected =
            ["client.region", "s3.cross-region-access-enabled", "s3.endpoint", "s3.session-token-expires-at-ms"];
        assert_eq!(names, expected);
    }

    #[test]
    fn credentials_are_replaced_together() {
        let own = options(&[
            ("aws_session_token", "own"),
            ("s3.access-key-id", "own"),
            ("s3.region", "r"),
            ("adls.sas-token.acct.x", "own"),
        ]);
        let sent = options(&[("s3.access-key-id", "sent"), ("s3.secret-access-key", "sent")]).unwrap();
        let all = own.unwrap().replaced_by(sent);
        let all: Vec<String> = all.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected =
            ["adls.sas-token.acct.x=own", "s3.access-key-id=sent", "s3.region=r", "s3.secret-access-key=sent"];
        assert_eq!(all, expected);
    }

    #[test]
    fn the_names_of_others_are_understood() {
        let given = options(&[
            ("s3.endpoint", "http://127.0.0.1:9"),
            ("AWS_REGION", "eu-west-1"),
            ("s3.path-style-access", "true"),
            ("s3.connect-timeout", "2.5"),
            ("adls.account-host", "acct.blob.example"),
            ("adls.sas-token.acct.dfs.core.windows.net", "sv=1"),
            ("gcs.project-id", "p"),
            ("timeout", "9s"),
        ])
        .unwrap();
        let text = |settings: Vec<(String, String)>| -> Vec<String> {
            settings.into_iter().map(|(k, v)| format!("{k}={v}")).collect()
        };
        let s3 = text(given.settings(Service::S3, None).unwrap());
        let expected = [
            "aws_region=eu-west-1",
            "connect_timeout=2500ms",
            "aws_endpoint_url_s3=http://127.0.0.1:9",
            "aws_virtual_hosted_style_request=false",
            "timeout=9s",
        ];
        assert_eq!(s3, expected);
        let azure = text(given.settings(Service::Azure, Some("acct")).unwrap());
        assert_eq!(
            azure,
            ["azure_storage_endpoint=https://acct.blob.example", "azure_storage_sas_token=sv=1", "timeout=9s"]
        );
        assert_eq!(text(given.settings(Service::Azure, Some("other")).unwrap()).len(), 2);
        assert_eq!(text(given.settings(Service::Gcs, None).unwrap()), ["timeout=9s"]);
        // Each meaning is an option that object_store has.
        for (name, service, means) in DOTTED {
            if let Is(key) | Not(key) | Seconds(key) = means {
                assert!(knows(service, key), "{name}");
            }
        }
        assert!(PLAIN.iter().all(|name| is_plain(name)));
    }

    #[test]
    fn what_no_store_has_is_refused() {
        let e = options(&[("s3.acess-key-id", "x")]).unwrap_err();
        assert_eq!((e.kind(), e.hint_text()), (ErrorKind::InvalidInput, Some("Is 's3.access-key-id' meant?")));
        for bad in ["bucket", "colour", "s3."] {
            assert_eq!(options(&[(bad, "x")]).unwrap_err().kind(), ErrorKind::InvalidInput, "{bad}");
        }
        assert_eq!(options(&[("s3.signer", "x")]).unwrap_err().kind(), ErrorKind::Unsupported);
        assert!(options(&[("s3.remote-signing-enabled", "false")]).is_ok());
        let seconds = options(&[("s3.connect-timeout", "soon")]).unwrap().settings(Service::S3, None);
        assert_eq!(seconds.unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn a_catalog_has_other_properties_too() {
        let given = [("type", "sql"), ("uri", "x"), ("token", "t"), ("s3.region", "r"), ("client.pool", "3")];
        let given: BTreeMap<String, String> = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let options = StoreOptions::of_catalog(&given).unwrap();
        assert_eq!(options.as_map().keys().collect::<Vec<_>>(), ["s3.region"]);
        let wrong = BTreeMap::from([("s3.regoin".to_owned(), "r".to_owned())]);
        assert!(StoreOptions::of_catalog(&wrong).is_err());
    }

    #[test]
    fn an_expiry_belongs_to_its_credentials() {
        let own =
            options(&[("s3.session-token-expires-at-ms", "1"), ("adls.sas-token-expires-at-ms.a.x", "2")]).unwrap();
        assert!(!own.has_credentials());
        let sent = options(&[("s3.access-key-id", "sent")]).unwrap();
        assert_eq!(own.replaced_by(sent).0.into_keys().collect::<Vec<_>>(), ["s3.access-key-id"]);
    }

    #[test]
    fn a_rest_catalog_may_have_options_of_signing() {
        let given = [("type", "rest"), ("s3.remote-signing-enabled", "true"), ("s3.signer", "S3V4RestSigner")];
        let given: BTreeMap<String, String> = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        assert!(StoreOptions::of_catalog(&given).unwrap().as_map().is_empty());
        let credential = options(&[("adls.credential", "x")]).unwrap_err();
        assert!(credential.hint_text().unwrap().contains("credential_provider"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let given = options(&[("s3.secret-access-key", "hush-hush"), ("s3.region", "eu")]).unwrap();
        assert_eq!(format!("{given:?}"), r#"{"s3.region", "s3.secret-access-key"}"#);
        let secrets = given.secrets();
        assert_eq!(secrets.masked("hush-hush of eu".to_owned()), "*** of eu");
        assert!(!format!("{secrets:?}").contains("hush"));
    }
}
