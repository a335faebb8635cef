//! The options of a table's store, by the server's credentials.
//!
//! A server sends options with a table (`config`), and credentials for prefixes of locations (`storage-credentials`).
//! Credentials of the longest prefix come before the options, and these before the catalog's properties. They are
//! renewed as long as the table is used. A server may sign requests instead.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answers::{DescribedTable, SigningConfig};
use super::endpoints::Endpoint;
use super::names::RouteTarget;
use super::server::RestServer;
use super::session::SharedSession;
use super::tables::LoadedTable;
use crate::error::{Error, Result, ResultExt};
use crate::format::ident::TableIdent;
use crate::store::StoreOptions;
use crate::store::credentials::{
    CarriedLogin, CredentialGrant, CredentialSource, EndpointSigner, EndpointSource, Handover, RemoteRenewal,
    TemporaryCredentials, grant, hand_over_by, host_of, sign_by, trust_hint,
};
use crate::store::http::pairs;

/// Where the credentials are renewed, and whether they may be.
const RENEWED_AT: &str = "client.refresh-credentials-endpoint";
const IS_RENEWED: &str = "client.refresh-credentials-enabled";

/// Whether the server signs requests.
const IS_SIGNED: &str = "s3.remote-signing-enabled";

/// Where it signs them, by the newer and the older names.
const SIGNED_AT: [&str; 2] = ["signer.endpoint", "s3.signer.endpoint"];
const SIGNER: [&str; 2] = ["signer.uri", "s3.signer.uri"];

/// Where servers sign that do not say it.
const DEFAULT_SIGNED_AT: &str = "v1/aws/s3/sign";

/// Credentials that come with another load of the table.
#[derive(Debug)]
pub(super) struct Reloaded {
    pub(super) session: SharedSession,
    pub(super) ident: TableIdent,
}

impl CredentialSource for Reloaded {
    fn load(&self) -> Result<TemporaryCredentials> {
        match self.session.server()?.load_table(&self.ident, None)? {
            LoadedTable::Table(table) => Ok(granted(&table)),
            LoadedTable::Unchanged => Err(Error::internal("a table that was never loaded is unchanged")),
        }
    }
}

/// What tasks carry, so that other processes can ask the server.
#[derive(Debug)]
struct CarriedByTasks {
    session: SharedSession,
    url: String,
    login: CarriedLogin,
    /// Headers and members of each request, in addition to those of the catalog.
    request: SigningConfig,
}

impl Handover for CarriedByTasks {
    fn now(&self) -> Result<Option<RemoteRenewal>> {
        let elsewhere = self.session.server()?.elsewhere(self.url.clone(), self.login)?;
        Ok(elsewhere.map(|mut elsewhere| {
            elsewhere.headers.extend(self.request.headers.iter().cloned());
            elsewhere.members.clone_from(&self.request.properties);
            elsewhere
        }))
    }
}

fn granted(table: &DescribedTable) -> TemporaryCredentials {
    TemporaryCredentials { config: table.config.clone(), prefixes: table.credentials.clone() }
}

/// The options of a table's store.
///
/// # Errors
/// As [`super::session::RestSession::server`].
pub(super) fn table_options(
    session: &SharedSession,
    ident: &TableIdent,
    table: &DescribedTable,
) -> Result<StoreOptions> {
    let server = session.server()?;
    let storage = server.storage.clone();
    // Only the user decides about it, not the server.
    let login = CarriedLogin::of(&session.given)?;
    let name = format!("{} {ident}", session.id);
    let handover = |url: String, request: SigningConfig| -> Result<Option<RemoteRenewal>> {
        let carried = Arc::new(CarriedByTasks { session: session.clone(), url, login, request });
        let now = carried.now()?;
        // Without a login, it stays the same.
        if login != CarriedLogin::Nothing {
            hand_over_by(&name, carried);
        }
        Ok(now)
    };
    let is_signed = table.config.get(IS_SIGNED).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if is_signed && !table.has_credentials() && !storage.has_credentials() {
        let options = storage.replaced_by_server(StoreOptions::of_server(&table.config), &session.trusted);
        let (signer, url) = signer(server, table)?;
        let elsewhere = handover(url, table.signing.clone())?;
        return Ok(sign_by(options, &name, Arc::new(signer), elsewhere));
    }
    if !table.has_credentials() {
        return Ok(storage.replaced_by_server(StoreOptions::of_server(&table.config), &session.trusted));
    }
    let (source, elsewhere): (Arc<dyn CredentialSource>, Option<RemoteRenewal>) =
        match renewed_at(server, ident, &table.config, None)? {
            Some(url) => {
                let (client, headers) = server.connection();
                let source = EndpointSource::new(client, url.clone(), headers);
                (Arc::new(source), handover(url, SigningConfig::default())?)
            }
            None => {
                let (url, request) = reloading(server, ident)?;
                (Arc::new(Reloaded { session: session.clone(), ident: ident.clone() }), handover(url, request)?)
            }
        };
    let (granted, trusted) = (granted(table), session.trusted.clone());
    Ok(grant(storage, &table.metadata.location, CredentialGrant { name, granted, source, elsewhere, trusted }))
}

/// The URL that renews the credentials of a table or of one of its plans, by the server's `config` of the table. `None`
/// if another load does. A URL that may not get the user's login is left out.
///
/// # Errors
/// `InvalidInput` for a table whose name the server can't take.
pub(super) fn renewed_at(
    server: &RestServer,
    ident: &TableIdent,
    config: &BTreeMap<String, String>,
    plan_id: Option<&str>,
) -> Result<Option<String>> {
    let text = |key: &str| config.get(key).filter(|value| !value.is_empty());
    let query: Vec<(&str, &str)> = plan_id.map(|id| ("planId", id)).into_iter().collect();
    if text(IS_RENEWED).is_some_and(|value| value.eq_ignore_ascii_case("false")) {
        return Ok(None);
    }
    match text(RENEWED_AT).filter(|path| server.trust.allows(&server.url_of(path))) {
        Some(path) if query.is_empty() => Ok(Some(server.url_of(path))),
        Some(path) => {
            let (url, sign) = (server.url_of(path), if path.contains('?') { '&' } else { '?' });
            Ok(Some(format!("{url}{sign}{}", pairs(&query))))
        }
        None if server.has(Endpoint::LoadCredentials) => {
            let request = server.request(Endpoint::LoadCredentials, RouteTarget::Table(ident), &query);
            Ok(Some(request.with("table", ident)?.url))
        }
        None => Ok(None),
    }
}

/// The request of other processes that loads a table once more.
fn reloading(server: &RestServer, ident: &TableIdent) -> Result<(String, SigningConfig)> {
    let request = server.request(Endpoint::LoadTable, RouteTarget::Table(ident), &[("snapshots", "refs")])?;
    let plain = request.headers.len();
    let mut request = server.with_delegation(request);
    Ok((request.url, SigningConfig { headers: request.headers.split_off(plain), ..SigningConfig::default() }))
}

/// What signs requests to the files of a table, and its URL.
///
/// # Errors
/// `PermissionDenied` for another host that would get the user's login.
fn signer(server: &RestServer, table: &DescribedTable) -> Result<(EndpointSigner, String)> {
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| table.config.get(*key).filter(|value| !value.is_empty()));
    let path = first(SIGNED_AT).map_or(DEFAULT_SIGNED_AT, String::as_str);
    let url = match first(SIGNER).filter(|_| !path.contains("://")) {
        Some(uri) => format!("{}/{}", uri.trim_end_matches('/'), path.trim_start_matches('/')),
        None => server.url_of(path),
    };
    if !server.trust.allows(&url) {
        return Err(Error::denied(
            "the catalog's server names another host that signs requests, which would get your login",
        )
        .with("host", host_of(&url))
        .hint(trust_hint(SIGNER[1], &url)));
    }
    let (client, mut headers) = server.connection();
    headers.extend(table.signing.headers.iter().cloned());
    let properties: BTreeMap<String, String> = table.signing.properties.clone();
    Ok((EndpointSigner::new(client, url.clone(), headers, properties), url))
}
