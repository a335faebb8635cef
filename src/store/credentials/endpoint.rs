//! An endpoint of a catalog's server that renews credentials or signs requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::super::http::auth::ProvidedHeaders;
use super::super::http::{HttpAnswer, HttpClient, HttpRequest, HttpSettings, HttpVerb};
use super::lent::{CredentialSource, LentCredentials, prefixes_of};
use super::signing::{RequestSigner, SignRequest, SignedRequest};
use crate::error::{Error, ErrorKind, Result};

/// The most characters of an answer that an error repeats.
const MOST_TEXT: usize = 300;

/// Renews credentials by `GET …/credentials`.
#[derive(Debug)]
pub struct EndpointSource {
    client: Arc<HttpClient>,
    url: String,
    headers: Vec<(String, String)>,
}

/// Signs requests by `POST …/sign`.
#[derive(Debug)]
pub struct EndpointSigner {
    client: Arc<HttpClient>,
    url: String,
    headers: Vec<(String, String)>,
    /// Members of each request that the server wants back.
    properties: BTreeMap<String, String>,
}

/// A client that sends a token with each request, if there is one.
fn client_with(token: Option<&str>) -> Arc<HttpClient> {
    let Some(token) = token else { return Arc::new(HttpClient::new(HttpSettings::default(), None)) };
    let settings = HttpSettings { secrets: vec![token.to_owned()], ..HttpSettings::default() };
    let header = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let authorizer = ProvidedHeaders(Arc::new(move || Ok(header.clone())));
    Arc::new(HttpClient::new(settings, Some(Arc::new(authorizer))))
}

fn requested(client: &HttpClient, request: &HttpRequest, doing: &str) -> Result<(Json, HttpAnswer)> {
    let at = |e: Error| e.with("url", request.url.split('?').next().unwrap_or_default());
    let answer = client.send(request).map_err(at)?;
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
        EndpointSource { client, url, headers }
    }

    /// A source that is asked with this token, if there is one.
    pub(super) fn with_token(url: &str, token: Option<&str>) -> EndpointSource {
        EndpointSource::new(client_with(token), url.to_owned(), Vec::new())
    }
}

impl CredentialSource for EndpointSource {
    fn load(&self) -> Result<LentCredentials> {
        let mut request = HttpRequest::new(HttpVerb::Get, self.url.clone()).header("accept", "application/json");
        request.headers.extend(self.headers.iter().cloned());
        let (json, _) = requested(&self.client, &request, "renew the credentials of the table's files")?;
        let wrong = |_| Error::store("the answer to a request for credentials has no list storage-credentials");
        let prefixes = prefixes_of(json.get("storage-credentials").unwrap_or(&Json::Null)).map_err(wrong)?;
        Ok(LentCredentials { config: BTreeMap::new(), prefixes })
    }
}

impl EndpointSigner {
    /// A signer behind this URL. `headers` are sent with each request, `properties` are part of each body.
    pub(crate) fn new(
        client: Arc<HttpClient>,
        url: String,
        headers: Vec<(String, String)>,
        properties: BTreeMap<String, String>,
    ) -> EndpointSigner {
        EndpointSigner { client, url, headers, properties }
    }

    /// A signer that is asked with this token, if there is one.
    pub(super) fn with_token(url: &str, token: Option<&str>) -> EndpointSigner {
        EndpointSigner::new(client_with(token), url.to_owned(), Vec::new(), BTreeMap::new())
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
        request.headers.extend(self.headers.iter().cloned());
        let (json, answer) = requested(&self.client, &request, "sign the request")?;
        let incomplete = || Error::store("the answer to a request for a signature lacks uri or headers");
        let uri = json.get("uri").and_then(Json::as_str).ok_or_else(incomplete)?.to_owned();
        let headers = json.get("headers").and_then(Json::as_object).ok_or_else(incomplete)?;
        let headers = headers.iter().map(|(name, value)| (name.clone(), values(value))).collect();
        let cacheable =
            answer.header("cache-control").is_some_and(|value| value.to_ascii_lowercase().contains("private"));
        Ok(SignedRequest { uri, headers, cacheable })
    }
}
