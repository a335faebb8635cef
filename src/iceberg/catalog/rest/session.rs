//! The connection of a catalog, which begins at the first use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;

use super::answers::{DescribedTable, looks_like_html};
use super::errors::ServerError;
use super::planning::mode::{PlanningMode, time_limit};
use super::server::{DELEGATION, RestServer, ServerConfig, ServerTrust, config_request, headers};
use super::snapshots::Snapshots;
use crate::error::{Error, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::parallel::lock_in_any_process;
use crate::store::StoreOptions;
use crate::store::credentials::{CarriedLogin, TrustedHosts, host_of, trust_hint};
use crate::store::http::auth::{self, Authorizer, HeaderProvider, ProvidedHeaders};
use crate::store::http::{HttpAnswer, HttpClient, HttpSettings};

/// A catalog as it was opened, and its server once it is connected.
pub(super) struct RestSession {
    /// Tells this session from others of the process.
    pub(super) id: String,
    /// The catalog's name.
    pub(super) name: String,
    /// The properties that were given.
    pub(super) given: BTreeMap<String, String>,
    /// Gives headers that properties can't give. Only this process has it.
    headers: Option<HeaderProvider>,
    /// The hosts that may get the user's secrets.
    pub(super) trusted: TrustedHosts,
    uri: String,
    server: OnceLock<RestServer>,
    loaded: Mutex<BTreeMap<TableIdent, Arc<DescribedTable>>>,
}

/// The most tables whose newest version is remembered.
const MOST_REMEMBERED: usize = 100;

/// The sessions of tables that other processes have sent, by the names and properties of their catalogs. The keys have
/// secrets. They must never be shown.
static OF_HANDLES: Mutex<BTreeMap<String, SharedSession>> = Mutex::new(BTreeMap::new());

/// From this number on, sessions that no table uses are dropped.
const MOST_OF_HANDLES: usize = 100;

impl std::fmt::Debug for RestSession {
    /// Leaves out the properties, because they hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RestSession({:?}, {:?})", self.name, crate::error::public_text(&self.uri, 200))
    }
}

/// How requests are sent, by the properties.
fn http_settings(properties: &BTreeMap<String, String>) -> Result<HttpSettings> {
    let secrets = auth::secrets(properties);
    Ok(HttpSettings { secrets, ..HttpSettings::of_properties(properties)? })
}

/// A server's address without a slash at the end.
fn uri_of(properties: &BTreeMap<String, String>) -> Result<String> {
    let uri = properties.get("uri").map(|uri| uri.trim().trim_end_matches('/')).unwrap_or_default();
    let rest = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"));
    match rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', ':'])) {
        true => Ok(uri.to_owned()),
        false => Err(Error::invalid("a REST catalog needs the uri of its server")
            .hint("Give uri='https://host/path', the address before /v1/config")),
    }
}

impl RestSession {
    /// A catalog with these properties. Nothing is requested yet.
    ///
    /// # Errors
    /// `InvalidInput` for wrong properties; `Unsupported` for other types of authorization.
    pub(super) fn new(
        name: &str,
        given: &BTreeMap<String, String>,
        headers: Option<HeaderProvider>,
    ) -> Result<RestSession> {
        let uri = uri_of(given)?;
        // Typing errors are reported before the first request.
        StoreOptions::of_catalog(given)?;
        CarriedLogin::of(given)?;
        Snapshots::of_properties(given)?;
        auth::authorizer(given, &uri, &http_settings(given)?)?;
        PlanningMode::of(given)?;
        time_limit(given)?;
        let trusted = TrustedHosts::of(given)?;
        let (name, given) = (name.to_owned(), given.clone());
        let id = uuid::Uuid::new_v4().to_string();
        Ok(RestSession { id, name, given, headers, trusted, uri, server: OnceLock::new(), loaded: Mutex::default() })
    }

    /// The session for tables that another process has sent. All of them with the same properties share it. Each task
    /// opens its table again, and need not ask the server for its configuration and for a token.
    ///
    /// # Errors
    /// As [`RestSession::new`].
    pub(super) fn of_handles(name: &str, given: &BTreeMap<String, String>) -> Result<SharedSession> {
        let key = json!([name, given]).to_string();
        let known = lock_in_any_process(&OF_HANDLES).and_then(|all| all.get(&key).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        // It may need the user's code, so the lock is free meanwhile.
        let made = Arc::new(RestSession::new(name, given, None)?);
        let Some(mut all) = lock_in_any_process(&OF_HANDLES) else { return Ok(made) };
        if all.len() >= MOST_OF_HANDLES {
            all.retain(|_, session| Arc::strong_count(session) > 1);
        }
        Ok(all.entry(key).or_insert(made).clone())
    }

    /// Whether another process can open the catalog by its name and properties.
    pub(super) fn is_of_any_process(&self) -> bool {
        self.headers.is_none()
    }

    /// The version of a table that was loaded before, if the server can tell whether it is still the newest one.
    pub(super) fn remembered(&self, ident: &TableIdent) -> Option<Arc<DescribedTable>> {
        lock_in_any_process(&self.loaded)?.get(ident).cloned()
    }

    /// Remembers a version of a table. One with credentials is not remembered, because these expire.
    pub(super) fn remember(&self, ident: &TableIdent, table: &Arc<DescribedTable>) {
        let Some(mut loaded) = lock_in_any_process(&self.loaded) else { return };
        if table.etag.is_none() || table.has_credentials() {
            loaded.remove(ident);
            return;
        }
        if loaded.len() >= MOST_REMEMBERED {
            loaded.pop_first();
        }
        loaded.insert(ident.clone(), table.clone());
    }

    /// What proves who sends requests.
    fn authorizer(
        &self,
        properties: &BTreeMap<String, String>,
        uri: &str,
        settings: &HttpSettings,
    ) -> Result<Option<Arc<dyn Authorizer>>> {
        match &self.headers {
            Some(provider) => Ok(Some(Arc::new(ProvidedHeaders(provider.clone())))),
            None => auth::authorizer(properties, uri, settings),
        }
    }

    /// The server. The first call asks for its configuration.
    ///
    /// # Errors
    /// `NotFound` for an unknown warehouse; the server's refusal; errors of the connection.
    pub(super) fn server(&self) -> Result<&RestServer> {
        if let Some(server) = self.server.get() {
            return Ok(server);
        }
        let server = self.connect().with("catalog", &self.name)?;
        Ok(self.server.get_or_init(|| server))
    }

    fn connect(&self) -> Result<RestServer> {
        let settings = http_settings(&self.given)?;
        let authorizer = self.authorizer(&self.given, &self.uri, &settings)?;
        let first = HttpClient::new(settings, authorizer);
        let warehouse = self.given.get("warehouse").map(String::as_str).filter(|w| !w.is_empty());
        let request = config_request(&self.uri, warehouse, headers(&self.given));
        let at = |e: Error| {
            let url = request.url.split('?').next().unwrap_or_default();
            e.with("url", url).with("endpoint", "GET /v1/config")
        };
        let answer = first.send(&request).map_err(at)?;
        if !answer.is_success() {
            return Err(at(refused(&first, warehouse, &answer)));
        }
        let config = ServerConfig::of(&answer).map_err(at)?;
        let mut properties = config.properties(&self.given);
        let uri = uri_of(&properties)?;
        let has_secrets = self.has_secrets(&first);
        if has_secrets && uri != self.uri && !self.trusted.has(&uri) {
            return Err(at(redirected(&uri)));
        }
        let kept_back = kept_back_token_server(&self.given, &mut properties, &self.trusted);
        let settings = http_settings(&properties)?;
        let is_same = auth::is_same(&self.given, &properties) && uri == self.uri;
        let client = match is_same && settings == *first.settings() {
            true => first,
            // A token that was asked for already serves on.
            false if is_same => HttpClient::new(settings, first.authorizer().cloned()),
            false => {
                let authorizer = self.authorizer(&properties, &uri, &settings)?;
                HttpClient::new(settings, authorizer)
            }
        };
        let storage = config.storage(&self.given, &self.trusted)?;
        let snapshots = Snapshots::of_properties(&properties)?;
        let trust = ServerTrust { hosts: self.trusted.clone(), has_secrets, kept_back };
        Ok(RestServer::new(client, uri, &config, properties, storage, snapshots, trust))
    }

    /// Whether requests carry secrets of the user.
    fn has_secrets(&self, client: &HttpClient) -> bool {
        let is_own = |(name, _): &(String, String)| !name.eq_ignore_ascii_case(DELEGATION);
        self.headers.is_some() || client.authorizer().is_some() || headers(&self.given).iter().any(is_own)
    }
}

/// The error for a server that sends the client to another host.
fn redirected(uri: &str) -> Error {
    Error::denied("the catalog's server sends its clients to another host, which would get your login")
        .with("host", host_of(uri))
        .hint(trust_hint("uri=", uri))
}

/// The properties that a login by OAuth2 sends.
const SENT_FOR_TOKENS: [&str; 3] = ["token", "credential", "auth.oauth2.client_secret"];

/// The property with the URL that gives tokens.
const TOKEN_SERVER: &str = "oauth2-server-uri";

/// Keeps the user's login back from another token server that only the catalog's server names: the user's own server
/// stays. Returns the URL of the other one.
fn kept_back_token_server(
    given: &BTreeMap<String, String>,
    properties: &mut BTreeMap<String, String>,
    trusted: &TrustedHosts,
) -> Option<String> {
    let named = properties.get(TOKEN_SERVER).filter(|url| url.contains("://") && !trusted.has(url))?.clone();
    let is_own = |name: &&str| given.get(*name).is_some_and(|own| properties.get(*name) == Some(own));
    if !SENT_FOR_TOKENS.iter().any(is_own) {
        return None;
    }
    match given.get(TOKEN_SERVER) {
        Some(own) => properties.insert(TOKEN_SERVER.to_owned(), own.clone()),
        None => properties.remove(TOKEN_SERVER),
    };
    Some(named)
}

/// The error for a configuration that was refused.
fn refused(client: &HttpClient, warehouse: Option<&str>, answer: &HttpAnswer) -> Error {
    let said = ServerError::of(answer);
    if answer.status == 404 && !said.kind.is_empty() && !looks_like_html(answer) {
        let message = match warehouse {
            Some(warehouse) => format!("the catalog's server has no warehouse '{warehouse}'"),
            None => "the catalog's server needs the name of a warehouse".to_owned(),
        };
        let error = Error::not_found(message).with("answer", client.public(said.text()));
        return error.hint("Give the name that the server knows as warehouse='…'");
    }
    said.error("tell its configuration", client.public(said.text()))
}

/// A session that several tables share.
pub(super) type SharedSession = Arc<RestSession>;

#[cfg(test)]
mod tests {
    use super::*;

    fn of_handle(name: &str, token: &str) -> SharedSession {
        let given = [("type", "rest"), ("uri", "http://127.0.0.1:1"), ("token", token)];
        RestSession::of_handles(name, &given.map(|(k, v)| (k.to_owned(), v.to_owned())).into()).unwrap()
    }

    #[test]
    fn tables_of_the_same_login_share_a_session() {
        let first = of_handle("shared", "one");
        assert_eq!(first.id, of_handle("shared", "one").id);
        assert!([of_handle("shared", "two"), of_handle("other", "one")].iter().all(|other| other.id != first.id));
    }

    #[test]
    fn unused_sessions_are_dropped() {
        let used = of_handle("used", "one");
        for number in 0..300 {
            of_handle("unused", &number.to_string());
        }
        assert!(lock_in_any_process(&OF_HANDLES).unwrap().len() <= MOST_OF_HANDLES + 2);
        assert_eq!(used.id, of_handle("used", "one").id);
    }
}
