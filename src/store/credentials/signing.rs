//! Requests that somebody else signs: the catalog's server.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::error::{Error, ErrorKind, Result};
use crate::store::connections::SharedConnector;

/// How long a signature is used again. Signatures of S3 are valid for 15 minutes.
const KEPT: Duration = Duration::from_secs(60);

/// The most signatures that are kept.
const MOST_KEPT: usize = 1000;

/// A request to be signed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SignRequest {
    /// `GET`, `PUT`, …
    pub method: String,
    /// The region of the store.
    pub region: String,
    /// The whole URL.
    pub uri: String,
    /// The headers.
    pub headers: BTreeMap<String, Vec<String>>,
    /// The body, if the signature depends on it: the deletion of several objects.
    pub body: Option<String>,
}

/// A signed request.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedRequest {
    /// The whole URL.
    pub uri: String,
    /// Headers in addition to those of the request, or instead of them.
    pub headers: BTreeMap<String, Vec<String>>,
    /// Whether the same request may be sent again with this signature.
    pub cacheable: bool,
}

impl std::fmt::Debug for SignRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignRequest({} {})", self.method, plain(&self.uri))
    }
}

impl std::fmt::Debug for SignedRequest {
    /// Leaves out the headers and the query, because signatures are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SignedRequest({})", plain(&self.uri))
    }
}

/// A URL without its query.
fn plain(uri: &str) -> &str {
    uri.split('?').next().unwrap_or_default()
}

/// Signs requests to a store.
pub trait RequestSigner: Send + Sync + std::fmt::Debug {
    /// Signs a request. May wait for a server.
    ///
    /// # Errors
    /// The server's refusal; `Unsupported` for requests that the server never signs.
    fn sign(&self, request: &SignRequest) -> Result<SignedRequest>;
}

/// Makes clients that have their requests signed.
#[derive(Clone, Debug)]
pub(crate) struct SigningConnector {
    signer: Arc<dyn RequestSigner>,
    region: String,
}

impl SigningConnector {
    pub(crate) fn new(signer: Arc<dyn RequestSigner>, region: String) -> SigningConnector {
        SigningConnector { signer, region }
    }
}

impl HttpConnector for SigningConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = SharedConnector.connect(options)?;
        Ok(HttpClient::new(SigningService { inner, connector: self.clone(), kept: Mutex::default() }))
    }
}

/// Signatures that may be used again.
type KeptSignatures = HashMap<SignRequest, (Instant, SignedRequest)>;

#[derive(Debug)]
struct SigningService {
    inner: HttpClient,
    connector: SigningConnector,
    kept: Mutex<KeptSignatures>,
}

impl SigningService {
    fn kept(&self, request: &SignRequest) -> Option<SignedRequest> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(request).filter(|(since, _)| since.elapsed() < KEPT).map(|(_, signed)| signed.clone())
    }

    fn keep(&self, request: SignRequest, signed: &SignedRequest) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_KEPT {
            kept.retain(|_, (since, _)| since.elapsed() < KEPT);
        }
        if kept.len() < MOST_KEPT {
            kept.insert(request, (Instant::now(), signed.clone()));
        }
    }

    async fn signed(&self, request: &HttpRequest) -> Result<SignedRequest> {
        let (wanted, range) = wanted(request, &self.connector.region);
        let mut key = wanted.clone();
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        // Signers leave out the range. If this one does not, the signature is good for one range only.
        key.headers.remove("range");
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        let signer = self.connector.signer.clone();
        let asked = tokio::task::spawn_blocking({
            let wanted = wanted.clone();
            move || signer.sign(&wanted)
        });
        let signed = asked.await.map_err(|_| Error::internal("a signature ended without a result"))?;
        let signed = signed.map_err(|e| refused(&wanted, e))?;
        if signed.cacheable && matches!(wanted.method.as_str(), "GET" | "HEAD") {
            let key = if range && signs_range(&signed) { wanted } else { key };
            self.keep(key, &signed);
        }
        Ok(signed)
    }

    async fn send(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let failed = |e: Error| HttpError::new(HttpErrorKind::Unknown, e);
        let signed = self.signed(&request).await.map_err(failed)?;
        apply(&mut request, &signed).map_err(failed)?;
        self.inner.execute(request).await
    }
}

impl HttpService for SigningService {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = std::result::Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

/// What is asked of the signer, and whether the request is for a range.
fn wanted(request: &HttpRequest, region: &str) -> (SignRequest, bool) {
    let mut headers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        headers.entry(name.as_str().to_owned()).or_default().push(value);
    }
    let uri = request.uri().to_string();
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let deletes =
        request.method() == reqwest::Method::POST && query.split('&').any(|p| p == "delete" || p == "delete=");
    let body = request.body().as_bytes().filter(|_| deletes);
    let range = headers.contains_key("range");
    let body = body.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let method = request.method().as_str().to_owned();
    (SignRequest { method, region: region.to_owned(), uri, headers, body }, range)
}

/// Whether a signature covers the range.
fn signs_range(signed: &SignedRequest) -> bool {
    let proofs = signed.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let mut names = proofs.flat_map(|(_, values)| values).filter_map(|v| v.split_once("SignedHeaders="));
    names.any(|(_, rest)| rest.split(',').next().unwrap_or_default().split(';').any(|name| name.trim() == "range"))
}

/// The error for a signature that the server refused.
fn refused(wanted: &SignRequest, e: Error) -> Error {
    let query = wanted.uri.split_once('?').map_or("", |(_, query)| query);
    let lists = wanted.method == "GET" && query.split('&').any(|p| p.starts_with("list-type=") || p == "uploads");
    let is_answer = matches!(
        e.kind(),
        ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Unsupported
    );
    match lists && is_answer {
        true => Error::unsupported("the catalog's server does not sign listings of folders").because(e).hint(
            "Use credentials that the server gives (vended-credentials), or give your own s3.access-key-id and \
             s3.secret-access-key to the catalog",
        ),
        false => e,
    }
}

/// Puts a signature on a request.
fn apply(request: &mut HttpRequest, signed: &SignedRequest) -> Result<()> {
    let wrong = || Error::store("the server's signature has a URL or a header that HTTP does not allow");
    *request.uri_mut() = signed.uri.parse().map_err(|_| wrong())?;
    let mut headers = HeaderMap::new();
    for (name, values) in &signed.headers {
        let key: HeaderName = name.parse().map_err(|_| wrong())?;
        // The client sets them itself.
        if matches!(key.as_str(), "host" | "content-length") {
            continue;
        }
        for value in values {
            let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.append(&key, value);
        }
    }
    for name in headers.keys() {
        request.headers_mut().remove(name);
    }
    for (name, value) in &headers {
        request.headers_mut().append(name, value.clone());
    }
    Ok(())
}

#[cfg(test)]
#[path = "signing_tests.rs"]
mod tests;
