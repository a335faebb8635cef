//! Makes clients of object stores from options and environment variables.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::limit::LimitStore;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use reqwest::Url;

use super::connections::SharedConnector;
use super::credentials::aws::{self, AwsAccess};
use super::credentials::provider::{TemporaryAwsKeys, TemporaryAzureKey, TemporaryGoogleToken, TemporaryProvider};
use super::credentials::{Renewal, RequestSigner, SigningConnector, check_endpoint, is_this_machine, live, signer};
use super::failure::failure;
use super::options::{Secrets, StoreOptions, flag, is_credential};
use super::place::{Service, StoreBucket};
use crate::error::{Error, Result};

/// The most concurrent requests to one bucket.
const MOST_REQUESTS: usize = 128;

/// The region of a bucket that nobody gave one for.
const DEFAULT_REGION: &str = "us-east-1";

/// The clients of one bucket.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Retries requests.
    pub patient: Arc<dyn ObjectStore>,
    /// Makes each request once, for requests that must not be repeated unnoticed.
    pub once: Arc<dyn ObjectStore>,
    /// The credentials, if they are renewed.
    pub renewal: Option<Arc<Renewal>>,
    /// The secrets that requests may carry. Clients read the environment only when they are made.
    pub secrets: Secrets,
}

/// How requests prove who sends them, other than by settings.
#[derive(Default)]
struct Access {
    /// Credentials that are renewed, and the path that they are for.
    renewal: Option<(Arc<Renewal>, String)>,
    signer: Option<Arc<dyn RequestSigner>>,
    /// The region of a profile.
    region: Option<String>,
    /// Whether the credentials only sign requests, and are never sent.
    only_signs: bool,
}

impl Access {
    /// What the options say. `prefix` is that of paths with credentials of their own, or empty.
    fn new(bucket: &StoreBucket, prefix: &str, options: &StoreOptions) -> Result<Access> {
        let signer = if bucket.service == Service::S3 { signer(options)? } else { None };
        if signer.is_some() {
            return Ok(Access { signer, ..Access::default() });
        }
        let path = if prefix.is_empty() { bucket.uri() } else { prefix.to_owned() };
        let granted = live(options)?.filter(|renewal| renewal.serves(bucket.service, &path));
        if bucket.service != Service::S3 || granted.is_some() {
            return Ok(Access { renewal: granted.map(|renewal| (renewal, path)), ..Access::default() });
        }
        let AwsAccess { renewal, region, only_signs } = aws::access(options)?;
        Ok(Access { renewal: renewal.map(|renewal| (renewal, path)), region, signer: None, only_signs })
    }

    /// Whether the credentials of settings and environment have no part in it.
    fn stands_alone(&self) -> bool {
        self.renewal.is_some() || self.signer.is_some()
    }

    fn provider(&self, bucket: &StoreBucket) -> Option<TemporaryProvider> {
        self.renewal.as_ref().map(|(renewal, path)| TemporaryProvider::new(renewal.clone(), bucket, path.clone()))
    }
}

/// Connects to a bucket, without a request yet. `prefix` is that of paths with credentials of their own, or empty.
///
/// # Errors
/// `InvalidInput` for options that contradict each other or the URI, and for plain HTTP to another machine that is not
/// allowed.
pub(super) fn connect(bucket: &StoreBucket, prefix: &str, options: &StoreOptions) -> Result<Client> {
    // The provider of cryptography that was built in; one that the process has already is as good.
    rustls::crypto::ring::default_provider().install_default().unwrap_or(());
    let (max_retries, retry_timeout) = options.retries()?;
    let backoff =
        BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(3), base: 2.0 };
    let patient = RetryConfig { backoff: backoff.clone(), max_retries, retry_timeout };
    let once = RetryConfig { backoff, max_retries: 0, retry_timeout };
    let access = Access::new(bucket, prefix, options)?;
    let secrets = options.secrets();
    let client = |retry| client(bucket, options, &access, retry, &secrets);
    let (patient, once) = (client(patient)?, client(once)?);
    Ok(Client { patient, once, secrets, renewal: access.renewal.map(|(renewal, _)| renewal) })
}

fn client(
    bucket: &StoreBucket,
    options: &StoreOptions,
    access: &Access,
    retry: RetryConfig,
    secrets: &Secrets,
) -> Result<Arc<dyn ObjectStore>> {
    let settings = settings(bucket, options, access.stands_alone())?;
    check_values(&settings)?;
    if access.signer.is_none() {
        check_endpoint(bucket.service, options, &settings, access.renewal.is_some() && !access.only_signs)?;
    }
    let built = match bucket.service {
        Service::S3 => s3(bucket, settings, access, retry)?.build().map(limited),
        Service::Gcs => {
            let mut builder = gcs(bucket, settings, retry)?;
            if let Some(provider) = access.provider(bucket) {
                builder = builder.with_credentials(Arc::new(TemporaryGoogleToken(provider)));
            }
            builder.build().map(limited)
        }
        Service::Azure => {
            let mut builder = azure(bucket, settings, retry)?;
            if let Some(provider) = access.provider(bucket) {
                builder = builder.with_credentials(Arc::new(TemporaryAzureKey(provider)));
            }
            builder.build().map(limited)
        }
        Service::Web => web(bucket, settings, retry)?.build().map(limited),
    };
    built.map_err(|e| {
        let e = failure("reach", &bucket.name, e, secrets);
        let why = std::error::Error::source(&e).map(ToString::to_string).unwrap_or_default();
        Error::invalid(format!("the options of the object store do not fit: {why}")).with("bucket", &bucket.name)
    })
}

fn limited<S: ObjectStore>(store: S) -> Arc<dyn ObjectStore> {
    Arc::new(LimitStore::new(store, MOST_REQUESTS))
}

/// What is common to all clients.
fn client_options() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(Duration::from_secs(3))
        .with_read_timeout(Duration::from_secs(30))
        .with_timeout(Duration::from_secs(180))
}

/// The settings of a bucket. Given settings override those of the environment. Given credentials are used alone,
/// because a session token of the environment belongs to the keys there.
///
/// `alone` leaves out credentials, because others come in their place.
fn settings(bucket: &StoreBucket, options: &StoreOptions, alone: bool) -> Result<Vec<(String, String)>> {
    let mut given = options.settings(bucket.service, bucket.account.as_deref())?;
    let own = alone || given.iter().any(|(name, _)| is_credential(name));
    given.retain(|(name, _)| !(alone && is_credential(name)));
    let prefix = bucket.service.environment_prefix();
    let mut all = Vec::new();
    for (name, value) in std::env::vars_os() {
        let (Ok(name), Ok(value)) = (name.into_string(), value.into_string()) else { continue };
        let lower = name.to_ascii_lowercase();
        let shared = lower.contains("web_identity") || lower.contains("role_arn");
        if name.starts_with(prefix) && !value.is_empty() && !(own && (is_credential(&lower) || shared)) {
            all.push((lower, value));
        }
    }
    all.sort();
    all.extend(given);
    Ok(all)
}

/// Checks that values can be sent in the headers of requests. Files with credentials often end with a line break, which
/// is not a part of them.
///
/// # Errors
/// `InvalidInput` with the name of the option.
fn check_values(settings: &[(String, String)]) -> Result<()> {
    for (name, value) in settings {
        // JSON has line breaks of its own.
        let is_json = value.trim_start().starts_with('{');
        let position = value.chars().position(|c| {
            c.is_control() || (is_credential(name) && !name.ends_with("service_account") && !c.is_ascii())
        });
        if let Some(position) = position.filter(|_| !is_json) {
            return Err(Error::invalid(format!(
                "the storage option {name} has a line break, a control character or a letter outside of ASCII"
            ))
            .with("position", position)
            .hint("Remove it from the option, or from the environment variable of this name"));
        }
    }
    Ok(())
}

fn s3(
    bucket: &StoreBucket,
    settings: Vec<(String, String)>,
    access: &Access,
    retry: RetryConfig,
) -> Result<AmazonS3Builder> {
    let mut builder = AmazonS3Builder::new().with_client_options(client_options()).with_retry(retry);
    builder = builder.with_http_connector(SharedConnector);
    let (mut endpoint, mut region) = (None, access.region.clone());
    let (mut virtual_host, mut http) = (false, false);
    for (name, value) in settings {
        let Ok(key) = name.parse::<AmazonS3ConfigKey>() else { continue };
        match key {
            // The bucket is told by the path.
            AmazonS3ConfigKey::Bucket => continue,
            AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint => {
                endpoint = Some(value);
                continue;
            }
            AmazonS3ConfigKey::Region | AmazonS3ConfigKey::DefaultRegion => {
                region = Some(value);
                continue;
            }
            AmazonS3ConfigKey::VirtualHostedStyleRequest => virtual_host = flag(&name, &value)?,
            AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp) => http = flag(&name, &value)?,
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.with_allow_http(allows_http(&endpoint, http)?);
        let endpoint = match endpoint.split_once("://") {
            Some((scheme, host)) if virtual_host && !host.starts_with(&format!("{}.", bucket.name)) => {
                format!("{scheme}://{}.{host}", bucket.name)
            }
            _ => endpoint,
        };
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint.trim_end_matches('/'));
    }
    if let Some(region) = &region {
        builder = builder.with_region(region);
    }
    if let Some(provider) = access.provider(bucket) {
        builder = builder.with_credentials(Arc::new(TemporaryAwsKeys(provider)));
    }
    if let Some(signer) = &access.signer {
        // The deletion of one object needs no body, so that its signature does not depend on one.
        let connector = SigningConnector::new(signer.clone(), region.unwrap_or_else(|| DEFAULT_REGION.to_owned()));
        builder = builder.with_skip_signature(true).with_disable_bulk_delete(true).with_http_connector(connector);
    }
    Ok(builder.with_bucket_name(&bucket.name))
}

fn gcs(bucket: &StoreBucket, settings: Vec<(String, String)>, retry: RetryConfig) -> Result<GoogleCloudStorageBuilder> {
    // The token of a machine's service account is asked for by plain HTTP.
    let options = client_options().with_allow_http(true);
    let mut builder = GoogleCloudStorageBuilder::new().with_client_options(options).with_retry(retry);
    builder = builder.with_http_connector(SharedConnector);
    let (mut endpoint, mut http) = (None, false);
    for (name, value) in settings {
        let Ok(key) = name.parse::<GoogleConfigKey>() else { continue };
        match key {
            GoogleConfigKey::Bucket => continue,
            GoogleConfigKey::BaseUrl => endpoint = Some(value.clone()),
            GoogleConfigKey::Client(ClientConfigKey::AllowHttp) => {
                http = flag(&name, &value)?;
                continue;
            }
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if let Some(endpoint) = endpoint {
        allows_http(&endpoint, http)?;
    }
    Ok(builder.with_bucket_name(&bucket.name))
}

fn azure(bucket: &StoreBucket, settings: Vec<(String, String)>, retry: RetryConfig) -> Result<MicrosoftAzureBuilder> {
    let mut builder = MicrosoftAzureBuilder::new().with_client_options(client_options()).with_retry(retry);
    builder = builder.with_http_connector(SharedConnector);
    let (mut endpoint, mut http) = (None, false);
    for (name, value) in settings {
        let Ok(key) = name.parse::<AzureConfigKey>() else { continue };
        match key {
            AzureConfigKey::ContainerName => continue,
            AzureConfigKey::Endpoint => endpoint = Some(value.clone()),
            AzureConfigKey::Client(ClientConfigKey::AllowHttp) => http = flag(&name, &value)?,
            AzureConfigKey::UseEmulator => http |= flag(&name, &value)?,
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    if let Some(endpoint) = endpoint {
        builder = builder.with_allow_http(allows_http(&endpoint, http)?);
    }
    if let Some(account) = &bucket.account {
        builder = builder.with_account(account);
    }
    Ok(builder.with_container_name(&bucket.name))
}

fn web(bucket: &StoreBucket, settings: Vec<(String, String)>, retry: RetryConfig) -> Result<HttpBuilder> {
    let (mut options, mut http) = (client_options(), false);
    for (name, value) in settings {
        match name.parse::<ClientConfigKey>() {
            Ok(ClientConfigKey::AllowHttp) => http = flag(&name, &value)?,
            Ok(key) => options = options.with_config(key, value),
            Err(_) => {}
        }
    }
    let options = options.with_allow_http(allows_http(&bucket.name, http)?);
    let builder = HttpBuilder::new().with_url(&bucket.name).with_client_options(options).with_retry(retry);
    Ok(builder.with_http_connector(SharedConnector))
}

/// Whether an endpoint uses plain HTTP.
///
/// # Errors
/// `InvalidInput` for plain HTTP to another machine that is not allowed, and for an endpoint that is not a URL.
fn allows_http(endpoint: &str, allowed: bool) -> Result<bool> {
    let url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(url) = url else {
        return Err(Error::invalid("the endpoint is not an HTTP URL").hint("Begin it with https:// or http://"));
    };
    if url.scheme() == "https" {
        return Ok(allowed);
    }
    let host = url.host_str().unwrap_or_default();
    if allowed || is_this_machine(host) {
        return Ok(true);
    }
    let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Err(Error::invalid("the endpoint is on another machine and not encrypted")
        .with("endpoint", authority)
        .hint("Use https://, or allow it by the storage option allow_http='true'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::place::place;

    fn connected(uri: &str, given: &[(&str, &str)]) -> Result<Client> {
        let options = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        connect(&place(uri).unwrap().bucket, "", &StoreOptions::new(&options).unwrap())
    }

    #[test]
    fn clients_of_all_services() {
        let keys = [("s3.access-key-id", "k"), ("s3.secret-access-key", "s")];
        assert!(connected("s3://b/k", &keys).is_ok());
        let near =
            [keys[0], keys[1], ("s3.endpoint", "http://localhost:9000"), ("s3.force-virtual-addressing", "true")];
        assert!(connected("s3://b/k", &near).is_ok());
        assert!(connected("gs://b/k", &[("gcs.oauth2.token", "t")]).is_ok());
        assert!(connected("abfss://c@acct.dfs.core.windows.net/k", &[("adls.account-key", "a2V5")]).is_ok());
        assert!(connected("az://c/k", &[("adls.account-name", "acct"), ("adls.sas-token", "sv=1&sig=x")]).is_ok());
        let missing = connected("s3://b/k", &[("s3.access-key-id", "k")]);
        assert_eq!(missing.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(
            connected("s3://b/k", &[("aws_imdsv1_fallback", "perhaps")]).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }

    #[test]
    fn values_that_no_header_can_hold_are_refused() {
        let keys = |id, key| [("s3.access-key-id", id), ("s3.secret-access-key", key)];
        for given in [keys("AKIA\n", "x"), keys("A", "x\r"), keys("A", "schlüssel"), keys("\0", "x")] {
            let error = connected("s3://b/k", &given).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.message().contains("access_key"), "{error}");
        }
        let token = connected("gs://b/k", &[("gcs.oauth2.token", "t\n")]).unwrap_err();
        assert!(token.message().contains("google_bearer_token"), "{token}");
        let azure = [("adls.account-name", "a"), ("adls.token", "t\n")];
        assert!(connected("az://c/k", &azure).unwrap_err().message().contains("azure_storage_token"));
        let json = [("google_service_account_key", "{\n}")];
        assert!(!connected("gs://b/k", &json).unwrap_err().message().contains("line break"));
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        for near in ["http://localhost:1", "http://127.0.0.1", "http://[::1]:9000/x", "https://far.example"] {
            assert!(allows_http(near, false).is_ok(), "{near}");
        }
        for far in ["http://far.example", "http://10.0.0.1:9000", "http://localhost.evil.example"] {
            assert!(allows_http(far, false).is_err(), "{far}");
            assert!(allows_http(far, true).unwrap());
        }
    }
}
