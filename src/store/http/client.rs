//! Sends requests, and repeats them as `Retry-After` says.

use std::error::Error as StdError;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::redirect::Policy;

use super::answer::HttpAnswer;
use super::auth::Authorizer;
use super::proxy::proxy_of;
use super::request::{HttpRequest, HttpVerb};
use super::settings::HttpSettings;
use super::tls::client_config;
use super::watched::SentRequest;
use crate::error::{Error, ErrorKind, Result};
use crate::store::failure::{self, Failure, public};
use crate::store::options::Secrets;
use crate::store::runtime::{self, PerProcess};

/// The first pause before a repetition.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before a repetition, whatever the server asks for.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The status for a token that has expired. It has no name in HTTP.
const TOKEN_EXPIRED: u16 = 419;

/// The status by which a proxy asks for a login.
const PROXY_LOGIN: u16 = 407;

/// What to do if a proxy asks for a login.
const LOGIN_HINT: &str = "Give rest.client.proxy.username and rest.client.proxy.password, or the login in the \
                          variable HTTPS_PROXY or HTTP_PROXY: http://user:password@host:port";

/// Sends requests to one service.
pub(crate) struct HttpClient {
    settings: HttpSettings,
    authorizer: Option<Arc<dyn Authorizer>>,
    /// The connections of this process.
    connections: PerProcess<reqwest::Client>,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").field("authorizer", &self.authorizer).finish_non_exhaustive()
    }
}

/// Why an answer did not arrive.
enum Lost {
    /// The request was never sent.
    Unsent(String),
    /// The request may have been carried out.
    Broken(String),
    /// The answer has more bytes than allowed.
    TooLarge,
}

impl HttpClient {
    /// A client with these settings. It connects at the first request.
    pub(crate) fn new(settings: HttpSettings, authorizer: Option<Arc<dyn Authorizer>>) -> HttpClient {
        HttpClient { settings, authorizer, connections: PerProcess::new() }
    }

    /// The settings.
    pub(crate) fn settings(&self) -> &HttpSettings {
        &self.settings
    }

    /// What proves who sends the requests.
    pub(crate) fn authorizer(&self) -> Option<&Arc<dyn Authorizer>> {
        self.authorizer.as_ref()
    }

    /// A text of the server, without secrets and of bounded length.
    pub(crate) fn public(&self, text: String) -> String {
        let mut secrets = self.settings.secrets.clone();
        secrets.extend(self.authorizer.iter().flat_map(|a| a.secrets()));
        public(text, &Secrets::new(secrets))
    }

    /// Sends a request and waits for the answer, whatever its status is.
    ///
    /// A request that may be repeated is repeated after a passing failure. Any request is repeated that was never sent,
    /// or that the server refused because of an old token.
    ///
    /// # Errors
    /// `Store` if no answer arrived; [`is_unsent`] tells whether the request was never sent. `CorruptTable` for an
    /// answer that is too large. Errors of the authorizer; cancellation.
    pub(crate) fn send(&self, request: &HttpRequest) -> Result<HttpAnswer> {
        let began = Instant::now();
        let (mut attempt, mut renewed, mut repeated) = (0u32, false, false);
        loop {
            let proof = self.authorizer.as_ref().map_or(Ok(Vec::new()), |a| a.authorize(request));
            let proof = proof.map_err(|e| if repeated { lost_before(request, e) } else { e })?;
            let outcome = match self.once(request, &proof) {
                Ok(answer) if answer.status == PROXY_LOGIN => Err(self.refused_by_proxy(request)),
                Ok(answer) => {
                    let is_gateway = matches!(answer.status, 502..=504);
                    let proxy = is_gateway.then(|| proxy_of(&self.settings, &request.url)).flatten();
                    Ok(HttpAnswer { is_repetition: repeated, proxy, ..answer })
                }
                lost => lost,
            };
            let outcome = outcome.map_err(|e| if repeated { lost_before(request, e) } else { e });
            let asked = match &outcome {
                Ok(answer) if matches!(answer.status, 401 | TOKEN_EXPIRED) && !renewed => {
                    renewed = true;
                    let is_new = self.authorizer.as_ref().map_or(Ok(false), |a| a.renew(&proof))?;
                    if is_new && (answer.status == 401 || request.repeatable) {
                        continue;
                    }
                    return outcome;
                }
                Ok(answer) if request.repeatable && is_passing(answer.status) => answer.retry_after(),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => return outcome,
                Err(e) if is_unsent(e) || (request.repeatable && e.kind() == ErrorKind::Store) => None,
                _ => return outcome,
            };
            let pause = asked.unwrap_or_else(|| backoff(attempt));
            let too_late = began.elapsed() + pause > self.settings.retry_time;
            if attempt >= self.settings.max_retries || pause > LONGEST_PAUSE || too_late {
                return outcome;
            }
            repeated |= !outcome.as_ref().is_err_and(is_unsent);
            attempt += 1;
            wait(pause)?;
        }
    }

    /// Sends a request once.
    pub(super) fn once(&self, request: &HttpRequest, proof: &[(String, String)]) -> Result<HttpAnswer> {
        let client = self.connections.get(|| connections(&self.settings))?;
        let built = built(&client, request, proof)?;
        let most = self.settings.most_bytes;
        runtime::wait(async move { arrived(client, built, most).await })?.map_err(|lost| self.lost(request, lost))
    }

    fn lost(&self, request: &HttpRequest, lost: Lost) -> Error {
        let url = request.url.split('?').next().unwrap_or_default();
        let (text, unsent) = match lost {
            Lost::TooLarge => {
                let message = format!("the answer has more than {} bytes", self.settings.most_bytes);
                return Error::corrupt(message)
                    .with("url", url)
                    .hint("Check that the URL is that of the service. rest.client.max-answer-bytes raises the limit");
            }
            Lost::Unsent(text) => (text, true),
            Lost::Broken(text) => (text, false),
        };
        let message = if unsent { "cannot connect to the server" } else { "the server's answer did not arrive" };
        let error = Error::store(message).with("url", url);
        let error = match proxy_of(&self.settings, &request.url) {
            Some(proxy) => error.with("proxy", proxy),
            None => error,
        };
        let error = match unsent {
            true if text.contains("proxy authorization required") => error.hint(LOGIN_HINT),
            true => error.hint("Check the URL, the network and the server's certificate"),
            false => error,
        };
        error.because(Failure::of_transport(self.public(text), unsent))
    }

    /// The error for a proxy that did not pass the request on.
    fn refused_by_proxy(&self, request: &HttpRequest) -> Error {
        let url = request.url.split('?').next().unwrap_or_default();
        let error = Error::denied("the proxy asks for a login that is missing or wrong").with("url", url);
        let error = match proxy_of(&self.settings, &request.url) {
            Some(proxy) => error.with("proxy", proxy),
            None => error,
        };
        error.hint(LOGIN_HINT).because(Failure::of_transport("407 Proxy Authentication Required".to_owned(), true))
    }
}

/// The error of a repetition. An earlier attempt may have been carried out, so the error must not prove the contrary.
fn lost_before(request: &HttpRequest, e: Error) -> Error {
    let url = request.url.split('?').next().unwrap_or_default();
    let failure = Failure::of_transport(e.to_string(), false);
    Error::store("the server's answer did not arrive").with("url", url).because(failure)
}

/// Whether a request was never sent, by the error of [`HttpClient::send`].
pub(crate) fn is_unsent(e: &Error) -> bool {
    failure::is_unsent(e)
}

/// Waits. Cancellation ends the wait.
///
/// # Errors
/// Cancellation.
pub(crate) fn wait(pause: Duration) -> Result<()> {
    runtime::wait(async move { tokio::time::sleep(pause).await })
}

/// Whether a status means that the same request may succeed later.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The pause doubles. Half of it is random.
fn backoff(attempt: u32) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(1 << attempt.min(6));
    let random = uuid::Uuid::new_v4().as_u64_pair().1 % 1_000;
    full / 2 + full.mul_f64(random as f64 / 2_000.0)
}

fn connections(settings: &HttpSettings) -> Result<reqwest::Client> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(client_config(settings)?)
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.read_timeout)
        .user_agent(&settings.user_agent)
        .redirect(Policy::none())
        .retry(reqwest::retry::never());
    if let Some(proxy) = &settings.proxy {
        let wrong = |e| Error::invalid("the proxy's address is not a URL").because(without_url(e));
        let mut through = reqwest::Proxy::all(&proxy.url).map_err(wrong)?;
        if let Some((user, password)) = &proxy.login {
            through = through.basic_auth(user, password);
        }
        builder = builder.proxy(through);
    }
    builder.build().map_err(|e| Error::invalid("the HTTP client can't be set up").because(without_url(e)))
}

fn without_url(e: reqwest::Error) -> String {
    deepest(&e.without_url())
}

fn built(client: &reqwest::Client, request: &HttpRequest, proof: &[(String, String)]) -> Result<reqwest::Request> {
    let method = match request.verb {
        HttpVerb::Get => reqwest::Method::GET,
        HttpVerb::Head => reqwest::Method::HEAD,
        HttpVerb::Post => reqwest::Method::POST,
        HttpVerb::Delete => reqwest::Method::DELETE,
    };
    let mut builder = client.request(method, &request.url);
    // Some servers send a body after HEAD. It must not be taken for the next answer.
    if request.verb == HttpVerb::Head {
        builder = builder.header("connection", "close");
    }
    if let Some(body) = &request.body {
        builder = builder.header("content-type", body.content_type).body(body.bytes.clone());
    }
    let mut headers = reqwest::header::HeaderMap::new();
    for (name, value) in request.headers.iter().chain(proof) {
        let wrong = || {
            Error::invalid("a header has a character that HTTP does not allow")
                .with("header", name)
                .hint("Remove line breaks and control characters from the property that sets it")
        };
        let key: reqwest::header::HeaderName = name.parse().map_err(|_| wrong())?;
        let value: reqwest::header::HeaderValue = value.parse().map_err(|_| wrong())?;
        headers.insert(key, value);
    }
    let wrong =
        |e| Error::invalid("the request's address is not a URL").with("url", &request.url).because(without_url(e));
    builder.headers(headers).build().map_err(wrong)
}

/// Sends the request and reads the whole answer.
async fn arrived(client: reqwest::Client, request: reqwest::Request, most: u64) -> Result<HttpAnswer, Lost> {
    let sent = SentRequest::new(request.method().as_str(), request.url());
    let arrived = whole(client, request, most).await;
    match &arrived {
        Ok(answer) => sent.answered(answer.status, answer.body.len() as u64),
        Err(_) => sent.lost(),
    }
    arrived
}

async fn whole(client: reqwest::Client, request: reqwest::Request, most: u64) -> Result<HttpAnswer, Lost> {
    let mut answer = client.execute(request).await.map_err(|e| match e.is_connect() {
        true => Lost::Unsent(without_url(e)),
        false => Lost::Broken(cause_text(e)),
    })?;
    let status = answer.status().as_u16();
    let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = answer.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|e| Lost::Broken(cause_text(e)))? {
        if (body.len() + chunk.len()) as u64 > most {
            return Err(Lost::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(HttpAnswer { status, headers, body, is_repetition: false, proxy: None })
}

fn cause_text(e: reqwest::Error) -> String {
    if e.is_timeout() { "the time for the answer is over".to_owned() } else { without_url(e) }
}

/// The text of the error that caused the others.
fn deepest(e: &reqwest::Error) -> String {
    let mut cause: &dyn StdError = e;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
