//! A server that has told its configuration, and requests to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::answers::members;
use super::endpoints::{Endpoint, Endpoints, has_views};
use super::errors::ServerError;
use super::names::{RouteTarget, separator};
use super::snapshots::Snapshots;
use super::verdict::ChangeVerdict;
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::parallel::lock_in_any_process;
use crate::store::StoreOptions;
use crate::store::credentials::{CarriedLogin, RemoteRenewal, TrustedHosts, carried_properties, host_of, trust_hint};
use crate::store::http::auth;
use crate::store::http::{HttpAnswer, HttpClient, HttpRequest, HttpVerb, LaterAnswer, encoded_path, is_unsent, pairs};
use crate::types::json_members::OwnedMembers;
use crate::types::temporal::now_ms;

/// The prefix of properties that are headers of every request.
const HEADER: &str = "header.";

/// The header that asks for credentials of a table's files.
pub(super) const DELEGATION: &str = "X-Iceberg-Access-Delegation";

/// The property of a catalog whose server takes commits with at most one new snapshot.
const ONE_SNAPSHOT: &str = "rest.one-snapshot-commits";

/// The configuration that a server tells, without properties that only the user gives.
pub(super) struct ServerConfig {
    defaults: BTreeMap<String, String>,
    overrides: BTreeMap<String, String>,
    /// What the server lists.
    endpoints: Option<Vec<String>>,
    /// Whether the server recognises the repetition of a change.
    recognises_repetitions: bool,
}

impl ServerConfig {
    /// Reads the answer of `GET /v1/config`. Properties that only the user gives are ignored.
    ///
    /// # Errors
    /// `CorruptTable` for an answer that is not a configuration.
    pub(super) fn of(answer: &HttpAnswer) -> Result<ServerConfig> {
        let mut m: OwnedMembers = members(answer)?;
        let not_a_list = m.error("endpoints", "holds a value that is not a string");
        let listed = m.list("endpoints")?.map(|list| -> Option<Vec<String>> {
            list.into_iter().map(|json| json.as_str().map(str::to_owned)).collect()
        });
        let listed = listed.map(|list| list.ok_or(not_a_list)).transpose()?;
        let mut allowed = |key| -> Result<BTreeMap<String, String>> {
            let mut told = m.texts(key)?;
            told.retain(|name, _| !auth::is_of_user(name));
            Ok(told)
        };
        Ok(ServerConfig {
            defaults: allowed("defaults")?,
            overrides: allowed("overrides")?,
            endpoints: listed,
            recognises_repetitions: m.take("idempotency-key-lifetime").is_some(),
        })
    }

    /// The properties of a catalog: the server's defaults, then those given, then the server's overrides.
    pub(super) fn properties(&self, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut all = self.defaults.clone();
        all.extend(given.clone());
        all.extend(self.overrides.clone());
        all
    }

    /// The options of the tables' stores, in the same order. What a server sends may have unknown names.
    ///
    /// # Errors
    /// As [`StoreOptions::of_catalog`], for the given properties.
    pub(super) fn storage(&self, given: &BTreeMap<String, String>, trusted: &TrustedHosts) -> Result<StoreOptions> {
        let own =
            StoreOptions::of_catalog(given)?.completed_by_server(StoreOptions::of_server(&self.defaults), trusted);
        Ok(own.replaced_by_server(StoreOptions::of_server(&self.overrides), trusted))
    }
}

/// Where the user's secrets may go.
#[derive(Debug, Default)]
pub(super) struct ServerTrust {
    /// The hosts that the user named.
    pub(super) hosts: TrustedHosts,
    /// Whether requests carry secrets of the user.
    pub(super) has_secrets: bool,
    /// A server for tokens that gets none of them.
    pub(super) kept_back: Option<String>,
}

impl ServerTrust {
    /// Whether a URL may be asked in the way in which the catalog is asked.
    pub(super) fn allows(&self, url: &str) -> bool {
        !self.has_secrets || self.hosts.has(url)
    }

    /// Says that another server for tokens was not asked, because that may be the reason of a refusal.
    fn explained(&self, e: Error) -> Error {
        match &self.kept_back {
            Some(url) if e.kind() == ErrorKind::PermissionDenied => e.advise(format!(
                "The catalog's server names {} for tokens, which did not get your login. {}",
                host_of(url),
                trust_hint("oauth2-server-uri", url)
            )),
            _ => e,
        }
    }
}

/// A connected server.
#[derive(Debug)]
pub(super) struct RestServer {
    client: Arc<HttpClient>,
    uri: String,
    prefix: Option<String>,
    separator: String,
    endpoints: Endpoints,
    recognises_repetitions: bool,
    headers: Vec<(String, String)>,
    delegation: String,
    one_snapshot: AtomicBool,
    /// Where the user's secrets may go.
    pub(super) trust: ServerTrust,
    /// The snapshots that opening a table asks for.
    pub(super) snapshots: Snapshots,
    /// The catalog's properties, with those of the server.
    pub(super) properties: BTreeMap<String, String>,
    /// The options of the tables' stores, without those of a single table.
    pub(super) storage: StoreOptions,
}

/// The servers that take one snapshot in a commit. This process learned it from a refusal.
static ONE_SNAPSHOT_SERVERS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The ends of the hosts of services that take one snapshot in a commit: Databricks (pyiceberg#3076).
const ONE_SNAPSHOT_HOSTS: [&str; 3] = [".databricks.com", ".azuredatabricks.net", ".databricks.azure.cn"];

fn place_of(uri: &str, prefix: Option<&str>) -> String {
    format!("{uri} {}", prefix.unwrap_or_default())
}

/// Whether a server takes one snapshot in a commit, by its name or by an earlier refusal.
fn is_known_for_one_snapshot(uri: &str, prefix: Option<&str>) -> bool {
    let host = host_of(uri);
    ONE_SNAPSHOT_HOSTS.iter().any(|end| host.ends_with(end))
        || lock_in_any_process(&ONE_SNAPSHOT_SERVERS).is_some_and(|known| known.contains(&place_of(uri, prefix)))
}

/// The headers that properties set, by name and value.
pub(super) fn headers(properties: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let given = properties.iter().filter_map(|(name, value)| Some((name.strip_prefix(HEADER)?, value)));
    given.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

impl RestServer {
    /// The server of a configuration.
    pub(super) fn new(
        client: HttpClient,
        uri: String,
        config: &ServerConfig,
        properties: BTreeMap<String, String>,
        storage: StoreOptions,
        snapshots: Snapshots,
        trust: ServerTrust,
    ) -> RestServer {
        let text = |key: &str| properties.get(key).map(String::as_str).filter(|v| !v.is_empty());
        let prefix = text("prefix").map(|prefix| encoded_path(prefix.trim_matches('/')));
        let separator = separator(text("namespace-separator"));
        let (mut headers, mut delegation) = (headers(&properties), "vended-credentials,remote-signing".to_owned());
        // It is no header of every request.
        headers.retain(|(name, value)| match name.eq_ignore_ascii_case(DELEGATION) {
            true => {
                delegation.clone_from(value);
                false
            }
            false => true,
        });
        let one_snapshot = match text(ONE_SNAPSHOT) {
            Some(given) => given.eq_ignore_ascii_case("true"),
            None => is_known_for_one_snapshot(&uri, prefix.as_deref()),
        };
        RestServer {
            client: Arc::new(client),
            uri,
            prefix,
            separator,
            endpoints: Endpoints::of(config.endpoints.as_deref(), has_views(&properties)),
            recognises_repetitions: config.recognises_repetitions,
            headers,
            delegation,
            one_snapshot: AtomicBool::new(one_snapshot),
            trust,
            snapshots,
            properties,
            storage,
        }
    }

    /// The client, and the headers of each request.
    pub(super) fn connection(&self) -> (Arc<HttpClient>, Vec<(String, String)>) {
        (self.client.clone(), self.headers.clone())
    }

    /// The URL of a path below that of the service. A whole URL stays the same.
    pub(super) fn url_of(&self, path: &str) -> String {
        match path.contains("://") {
            true => path.to_owned(),
            false => format!("{}/{}", self.uri, path.trim_start_matches('/')),
        }
    }

    /// How other processes may ask a URL of the server. `None` if they may not: the user did not allow what they need.
    ///
    /// # Errors
    /// Those of the proof.
    pub(super) fn elsewhere(&self, url: String, login: CarriedLogin) -> Result<Option<RemoteRenewal>> {
        let mut headers = self.headers.clone();
        let (properties, is_complete) = carried_properties(&self.properties, &self.uri, login);
        let Some(authorizer) = self.client.authorizer() else {
            let is_allowed = headers.is_empty() || login != CarriedLogin::Nothing;
            return Ok(is_allowed.then_some(RemoteRenewal { url, headers, properties, ..RemoteRenewal::default() }));
        };
        if login == CarriedLogin::Nothing {
            return Ok(None);
        }
        let proof = authorizer.authorize(&HttpRequest::new(HttpVerb::Get, url.clone()))?;
        let (bearer, others): (Vec<_>, Vec<_>) =
            proof.into_iter().partition(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let token = bearer.first().and_then(|(_, value)| value.strip_prefix("Bearer ").map(str::to_owned));
        if token.is_none() && !is_complete {
            return Ok(None);
        }
        if token.is_some() {
            headers.extend(others);
        }
        let left = authorizer.life().filter(|_| token.is_some()).map(|(_, left)| left.as_millis());
        let left = left.and_then(|left| i64::try_from(left).ok());
        let token_expires_at_ms = left.map(|left| now_ms().saturating_add(left));
        Ok(Some(RemoteRenewal { url, token, token_expires_at_ms, headers, properties, ..RemoteRenewal::default() }))
    }

    /// Whether the server has an endpoint.
    pub(super) fn has(&self, endpoint: Endpoint) -> bool {
        self.endpoints.has(endpoint)
    }

    /// Whether the server takes commits with at most one new snapshot, as far as is known.
    pub(super) fn takes_one_snapshot(&self) -> bool {
        self.one_snapshot.load(Ordering::Relaxed)
    }

    /// Remembers that it does, for all sessions of this process.
    pub(super) fn limit_snapshots(&self) {
        self.one_snapshot.store(true, Ordering::Relaxed);
        if let Some(mut known) = lock_in_any_process(&ONE_SNAPSHOT_SERVERS) {
            known.insert(place_of(&self.uri, self.prefix.as_deref()));
        }
    }

    /// The separator of a namespace's levels, encoded.
    pub(super) fn separator(&self) -> &str {
        &self.separator
    }

    /// # Errors
    /// `Unsupported` if the server does not have an endpoint.
    pub(super) fn check(&self, endpoint: Endpoint) -> Result<()> {
        self.endpoints.check(endpoint).with("uri", &self.uri)
    }

    /// A request to an endpoint. A change gets a key if the server recognises its repetition by it.
    ///
    /// # Errors
    /// As [`RestServer::check`].
    pub(super) fn request(
        &self,
        endpoint: Endpoint,
        named: RouteTarget<'_>,
        query: &[(&str, &str)],
    ) -> Result<HttpRequest> {
        self.check(endpoint)?;
        let (verb, template) = endpoint.parts();
        let mut url = self.uri.clone() + &named.path(template, self.prefix.as_deref(), &self.separator);
        if !query.is_empty() {
            url = format!("{url}?{}", pairs(query));
        }
        let mut request = HttpRequest::new(verb, url).header("accept", "application/json");
        request.headers.extend(self.headers.iter().cloned());
        if !verb.only_reads() && self.recognises_repetitions {
            request.repeatable = true;
            request = request.header("Idempotency-Key", uuid::Uuid::now_v7().to_string());
        }
        Ok(request)
    }

    /// Asks for credentials of the table's files together with the table.
    pub(super) fn with_delegation(&self, request: HttpRequest) -> HttpRequest {
        match self.delegation.is_empty() {
            true => request,
            false => request.header(DELEGATION, self.delegation.clone()),
        }
    }

    /// Reads. Returns a successful answer, or one of status 304.
    ///
    /// # Errors
    /// The server's refusal; as [`HttpClient::send`].
    pub(super) fn read(&self, doing: &str, endpoint: Endpoint, request: &HttpRequest) -> Result<HttpAnswer> {
        let answer = self.client.send(request).map_err(|e| at(self.trust.explained(e), endpoint, request))?;
        match answer.is_success() || answer.status == 304 {
            true => Ok(answer),
            false => Err(self.refusal(doing, endpoint, request, &ServerError::of(&answer))),
        }
    }

    /// Sends a request whose answer matters to nobody.
    pub(super) fn send_later(&self, request: HttpRequest) -> LaterAnswer {
        self.client.send_later(request)
    }

    /// A text of the server without secrets.
    pub(super) fn public(&self, text: String) -> String {
        self.client.public(text)
    }

    /// Whether something exists, by an answer without a body.
    ///
    /// # Errors
    /// As [`RestServer::read`], but for `NotFound`.
    pub(super) fn exists(&self, doing: &str, endpoint: Endpoint, request: &HttpRequest) -> Result<bool> {
        Ok(self.read(doing, endpoint, request).if_found()?.is_some())
    }

    /// Sends a change.
    pub(super) fn change(&self, doing: &str, endpoint: Endpoint, request: &HttpRequest) -> ChangeVerdict {
        let answer = match self.client.send(request) {
            Ok(answer) => answer,
            Err(e) => {
                let is_certain = is_unsent(&e)
                    || matches!(
                        e.kind(),
                        ErrorKind::InvalidInput | ErrorKind::PermissionDenied | ErrorKind::Unsupported
                    );
                let e = at(self.trust.explained(e), endpoint, request);
                return match is_certain {
                    true => ChangeVerdict::Refused(ServerError::none(), e),
                    false => ChangeVerdict::Unknown(e),
                };
            }
        };
        if answer.is_success() {
            return ChangeVerdict::Done(answer);
        }
        let said = ServerError::of(&answer);
        let error = self.refusal(doing, endpoint, request, &said);
        match answer.status {
            409 if !said.is_unknown() => ChangeVerdict::InTheWay(error),
            419 | 429 => ChangeVerdict::Later(error, answer.retry_after()),
            // An earlier attempt of the same request may have been carried out.
            _ if said.is_unknown() || answer.is_repetition => ChangeVerdict::Unknown(error),
            _ => ChangeVerdict::Refused(said, error),
        }
    }

    fn refusal(&self, doing: &str, endpoint: Endpoint, request: &HttpRequest, said: &ServerError) -> Error {
        at(self.trust.explained(said.error(doing, self.client.public(said.text()))), endpoint, request)
    }

    /// Reads JSON of an answer, with errors that name the request.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn parsed<T>(
        &self,
        endpoint: Endpoint,
        request: &HttpRequest,
        read: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        read().map_err(|e| at(e, endpoint, request))
    }
}

/// The error with its request.
fn at(e: Error, endpoint: Endpoint, request: &HttpRequest) -> Error {
    let url = request.url.split('?').next().unwrap_or_default();
    e.with("url", url).with("endpoint", endpoint.text())
}

/// The request for the configuration.
pub(super) fn config_request(uri: &str, warehouse: Option<&str>, headers: Vec<(String, String)>) -> HttpRequest {
    let query = warehouse.map(|warehouse| format!("?{}", pairs(&[("warehouse", warehouse)]))).unwrap_or_default();
    let mut request =
        HttpRequest::new(HttpVerb::Get, format!("{uri}/v1/config{query}")).header("accept", "application/json");
    request.headers.extend(headers.into_iter().filter(|(name, _)| !name.eq_ignore_ascii_case(DELEGATION)));
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_servers_are_known_for_one_snapshot() {
        for (uri, expected) in [
            ("https://adb-12.3.azuredatabricks.net/api/2.1/unity-catalog/iceberg-rest", true),
            ("https://dbc-1.cloud.databricks.com/api/2.1/unity-catalog/iceberg-rest", true),
            ("https://databricks.com.evil.example/api", false),
            ("http://127.0.0.1:8181", false),
        ] {
            assert_eq!(is_known_for_one_snapshot(uri, None), expected, "{uri}");
        }
        let place = place_of("http://learned.example", Some("p"));
        ONE_SNAPSHOT_SERVERS.lock().unwrap().insert(place);
        assert!(is_known_for_one_snapshot("http://learned.example", Some("p")));
        assert!(!is_known_for_one_snapshot("http://learned.example", Some("q")));
    }
}
