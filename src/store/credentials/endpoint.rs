//! An endpoint of a catalog's server that renews credentials or signs requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::super::http::{HttpAnswer, HttpClient, HttpRequest, HttpVerb};
use super::signing::{RequestSigner, SignRequest, SignedRequest};
use super::temporary::{CredentialSource, TemporaryCredentials, prefixes_of};
use crate::error::{Error, ErrorKind, Result};

/// The most characters of an answer that an error repeats.
const MOST_TEXT: usize = 300;

/// A token is asked for this much later than it becomes old, so that it is old for sure.
const A_MOMENT: Duration = Duration::from_millis(20);

/// A connection to the server.
#[derive(Debug)]
pub(super) struct ServerConnection {
    pub(super) client: Arc<HttpClient>,
    /// Headers of each request.
    pub(super) headers: Vec<(String, String)>,
    /// What the user can do if the server refuses this process.
    pub(super) hint: Option<String>,
}

/// Renews credentials by `GET …/credentials`.
#[derive(Debug)]
pub struct EndpointSource {
    server: ServerConnection,
    url: String,
}

/// Signs requests by `POST …/sign`.
#[derive(Debug)]
pub struct EndpointSigner {
    server: ServerConnection,
    url: String,
    /// Members of each request that the server wants back.
    properties: BTreeMap<String, String>,
}

fn requested(server: &ServerConnection, mut request: HttpRequest, doing: &str) -> Result<(Json, HttpAnswer)> {
    request.headers.extend(server.headers.iter().cloned());
    let client = &server.client;
    let at = |e: Error| {
        let e = e.with("url", request.url.split('?').next().unwrap_or_default());
        match &server.hint {
            Some(hint) if e.kind() == ErrorKind::PermissionDenied => e.advise(hint.clone()),
            _ => e,
        }
    };
    let answer = client.send(&request).map_err(at)?;
    let said = || {
        let text: String = String::from_utf8_lossy(&answer.body).chars().take(MOST_TEXT).collect();
        client.public(format!("{}: {text}", answer.status))
    };
    if !answer.is_success() {
        let kind = match answer.status {
            401 | 403 | 419 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            _ => ErrorKind::Store,
        };
        return Err(at(Error::new(kind, format!("the catalog's server does not {doing}")).because(said())));
    }
    match serde_json::from_slice(&answer.body) {
        Ok(json) => Ok((json, answer)),
        Err(_) => Err(at(Error::store(format!("the answer to a request to {doing} is not JSON")))),
    }
}

impl EndpointSource {
    /// A source behind this URL. `headers` are sent with each request.
    pub(crate) fn new(client: Arc<HttpClient>, url: String, headers: Vec<(String, String)>) -> EndpointSource {
        EndpointSource { server: ServerConnection { client, headers, hint: None }, url }
    }

    /// A source behind this URL.
    pub(super) fn of(server: ServerConnection, url: &str) -> EndpointSource {
        EndpointSource { server, url: url.to_owned() }
    }
}

impl CredentialSource for EndpointSource {
    fn load(&self) -> Result<TemporaryCredentials> {
        let request = HttpRequest::new(HttpVerb::Get, self.url.clone()).header("accept", "application/json");
        let (json, _) = requested(&self.server, request, "renew the credentials of the table's files")?;
        credentials_of(&json)
    }

    fn must_be_asked_in(&self) -> Option<Duration> {
        // A process with the catalog's credential gets a new token at any time.
        self.server.hint.as_ref()?;
        let (renewed, _) = self.server.client.authorizer()?.life()?;
        Some(if renewed.is_zero() { renewed } else { renewed + A_MOMENT })
    }
}

/// Reads the answer to a request for credentials, or to a load of a table.
///
/// # Errors
/// `Store` for another answer.
fn credentials_of(json: &Json) -> Result<TemporaryCredentials> {
    let wrong = |_| Error::store("the answer to a request for credentials has no list storage-credentials");
    let is_table = json.get("metadata").is_some();
    let prefixes = match json.get("storage-credentials") {
        None | Some(Json::Null) if is_table => Vec::new(),
        list => prefixes_of(list.unwrap_or(&Json::Null)).map_err(wrong)?,
    };
    let config = json.get("config").filter(|_| is_table).and_then(Json::as_object).into_iter().flatten();
    let config = config.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Ok(TemporaryCredentials { config: config.collect(), prefixes })
}

impl EndpointSigner {
    /// A signer behind this URL. `headers` are sent with each request, `properties` are part of each body.
    pub(crate) fn new(
        client: Arc<HttpClient>,
        url: String,
        headers: Vec<(String, String)>,
        properties: BTreeMap<String, String>,
    ) -> EndpointSigner {
        EndpointSigner { server: ServerConnection { client, headers, hint: None }, url, properties }
    }

    /// A signer behind this URL.
    pub(super) fn of(server: ServerConnection, url: &str, properties: BTreeMap<String, String>) -> EndpointSigner {
        EndpointSigner { server, url: url.to_owned(), properties }
    }
}

/// A header's values.
fn values(json: &Json) -> Vec<String> {
    match json {
        Json::Array(all) => all.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        other => other.as_str().map(str::to_owned).into_iter().collect(),
    }
}

impl RequestSigner for EndpointSigner {
    fn sign(&self, wanted: &SignRequest) -> Result<SignedRequest> {
        let mut body = Map::new();
        body.insert("region".to_owned(), json!(wanted.region));
        body.insert("method".to_owned(), json!(wanted.method));
        body.insert("uri".to_owned(), json!(wanted.uri));
        body.insert("headers".to_owned(), json!(wanted.headers));
        if !self.properties.is_empty() {
            body.insert("properties".to_owned(), json!(self.properties));
        }
        if let Some(text) = &wanted.body {
            body.insert("body".to_owned(), json!(text));
        }
        let mut request = HttpRequest::new(HttpVerb::Post, self.url.clone()).json(&Json::Object(body));
        // A signature changes nothing, so that it may be asked for again.
        request.repeatable = true;
        let (json, answer) = requested(&self.server, request, "sign the request")?;
        let (uri, headers) = signature_of(&json)?;
        let cacheable =
            answer.header("cache-control").is_some_and(|value| value.to_ascii_lowercase().contains("private"));
        Ok(SignedRequest { uri, headers, cacheable })
    }
}

/// Reads the answer to a request for a signature: the URL and the headers.
///
/// # Errors
/// `Store` for another answer.
fn signature_of(json: &Json) -> Result<(String, BTreeMap<String, Vec<String>>)> {
    let incomplete = || Error::store("the answer to a request for a signature lacks uri or headers");
    let uri = json.get("uri").and_then(Json::as_str).ok_or_else(incomplete)?.to_owned();
    let headers = json.get("headers").and_then(Json::as_object).ok_or_else(incomplete)?;
    Ok((uri, headers.iter().map(|(name, value)| (name.clone(), values(value))).collect()))
}

/// Reads bytes as each kind of answer. Returns how many kinds could read it.
pub(crate) fn read_any_endpoint(body: &[u8]) -> usize {
    let Ok(json) = serde_json::from_slice::<Json>(body) else { return 0 };
    let granted = credentials_of(&json).map(|granted| drop((granted.expires_at_ms(), granted.at("s3://b/k"))));
    usize::from(granted.is_ok()) + usize::from(signature_of(&json).is_ok())
}
