//! Tokens of OAuth2, which are renewed before they expire.
//!
//! A token comes from client credentials, or is given. A given token is exchanged for a new one when it expires. Each
//! process has its own token, and only one thread asks for a new one at a time.
//!
//! Sources: RFC 6749 (client credentials), RFC 8693 (token exchange), the properties of Java's `OAuth2Properties`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use super::super::client::HttpClient;
use super::super::request::{HttpRequest, HttpVerb};
use super::super::settings::HttpSettings;
use super::basic::BasicLogin;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::{Error, Result};
use crate::parallel::locked_unless_cancelled;
use crate::store::runtime::PerProcess;
use crate::types::temporal::now;

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A token is renewed this long before it expires, or a tenth of its life if that is shorter.
const EARLY: Duration = Duration::from_secs(300);

/// How tokens are asked for.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct OAuth2Settings {
    /// Where tokens are asked for.
    pub(crate) server: String,
    /// A token to begin with.
    pub(crate) token: Option<String>,
    /// The client's id, which may be absent, and its secret.
    pub(crate) credential: Option<(Option<String>, String)>,
    /// Whether the credential is sent in a header instead of the form.
    pub(crate) credential_in_header: bool,
    /// The scope.
    pub(crate) scope: Option<String>,
    /// Further fields of the form: `audience`, `resource`.
    pub(crate) fields: BTreeMap<String, String>,
    /// The life of a token that does not say when it expires.
    pub(crate) life: Option<Duration>,
    /// Whether tokens are renewed at all.
    pub(crate) renewed: bool,
    /// Whether an old token may be exchanged for a new one.
    pub(crate) exchanged: bool,
}

/// A token.
#[derive(Clone)]
struct OAuth2Token {
    text: String,
    /// When to ask for another one, and when it expires.
    times: Option<(Instant, Instant)>,
}

/// The tokens of one client.
pub(crate) struct OAuth2Tokens {
    settings: OAuth2Settings,
    client: HttpClient,
    /// The lock is held while a token is asked for. Each process has its own.
    kept: PerProcess<Arc<Mutex<Option<OAuth2Token>>>>,
}

impl std::fmt::Debug for OAuth2Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth2Tokens").field("server", &self.settings.server).finish_non_exhaustive()
    }
}

/// The server's answer.
#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    #[serde(default)]
    expires_in: Option<f64>,
}

/// The server's refusal.
#[derive(Deserialize)]
struct TokenRefusal {
    error: String,
    #[serde(default)]
    error_description: Option<String>,
}

impl OAuth2Tokens {
    /// Tokens of these settings. Nothing is asked for yet.
    pub(crate) fn new(settings: OAuth2Settings, http: HttpSettings) -> OAuth2Tokens {
        OAuth2Tokens { settings, client: HttpClient::new(http, None), kept: PerProcess::new() }
    }

    /// The token of this process, a new one if the known one is old.
    fn current(&self) -> Result<OAuth2Token> {
        let kept = self.kept.get(|| Ok(Arc::default()))?;
        let mut slot = locked_unless_cancelled(&kept)?;
        let known = match slot.take() {
            Some(token) => Some(token),
            None => self.settings.token.clone().map(|text| self.token(text, None)),
        };
        let token = match known {
            Some(token) if !self.is_old(&token) => token,
            Some(token) => self.next(token)?,
            None => self.by_credential()?,
        };
        *slot = Some(token.clone());
        Ok(token)
    }

    fn is_old(&self, token: &OAuth2Token) -> bool {
        self.settings.renewed && token.times.is_some_and(|(renew, _)| Instant::now() >= renew)
    }

    /// The token after an old one. If the server refuses, the old one is used as long as it lives.
    fn next(&self, old: OAuth2Token) -> Result<OAuth2Token> {
        match self.renewal(&old.text) {
            Ok(Some(token)) => Ok(token),
            Ok(None) => Ok(old),
            Err(_) if old.times.is_some_and(|(_, end)| Instant::now() < end) => Ok(old),
            Err(e) => Err(e),
        }
    }

    /// A token after this one. `None` if there is no way to get one.
    fn renewal(&self, old: &str) -> Result<Option<OAuth2Token>> {
        match (&self.settings.credential, self.settings.exchanged) {
            (Some(_), _) => self.by_credential().map(Some),
            (None, true) => self.by_exchange(old).map(Some),
            (None, false) => Ok(None),
        }
    }

    fn by_credential(&self) -> Result<OAuth2Token> {
        let Some((id, secret)) = &self.settings.credential else {
            return Err(
                Error::invalid("OAuth2 needs a token or a credential").hint("Give token='…' or credential='id:secret'")
            );
        };
        let mut form = vec![("grant_type", "client_credentials")];
        let mut request = HttpRequest::new(HttpVerb::Post, &self.settings.server);
        if self.settings.credential_in_header {
            let login = BasicLogin::new(id.as_deref().unwrap_or_default(), secret);
            request.headers.extend(login.authorize(&request)?);
        } else {
            form.extend(id.as_deref().map(|id| ("client_id", id)));
            form.push(("client_secret", secret));
        }
        self.ask(request, form)
    }

    fn by_exchange(&self, old: &str) -> Result<OAuth2Token> {
        let form = vec![("grant_type", TOKEN_EXCHANGE), ("subject_token", old), ("subject_token_type", ACCESS_TOKEN)];
        let request = HttpRequest::new(HttpVerb::Post, &self.settings.server);
        self.ask(request.header(AUTHORIZATION, format!("Bearer {old}")), form)
    }

    fn ask<'a>(&'a self, mut request: HttpRequest, mut form: Vec<(&'a str, &'a str)>) -> Result<OAuth2Token> {
        form.extend(self.settings.scope.as_deref().map(|scope| ("scope", scope)));
        form.extend(self.settings.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        // A second token does no harm.
        request.repeatable = true;
        let answer = self.client.send(&request.header("accept", "application/json").form(&form));
        let at = |e: Error| e.with("url", &self.settings.server);
        let answer = answer.map_err(|e| at(e).hint("Check oauth2-server-uri"))?;
        if !answer.is_success() {
            let said = match serde_json::from_slice::<TokenRefusal>(&answer.body) {
                Ok(TokenRefusal { error, error_description: Some(why) }) => format!("{error}, {why}"),
                Ok(TokenRefusal { error, .. }) => error,
                Err(_) => "no reason is given".to_owned(),
            };
            let said = self.client.public(said);
            let message = format!("the authorization server gives no token: {}, {said}", answer.status);
            return Err(at(match answer.status {
                400..500 => Error::denied(message).hint("Check credential, token, scope and oauth2-server-uri"),
                _ => Error::store(message),
            }));
        }
        let parsed: TokenAnswer = serde_json::from_slice(&answer.body).map_err(|_| {
            at(Error::store("the authorization server's answer has no access_token").hint("Check oauth2-server-uri"))
        })?;
        let life = parsed.expires_in.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(self.token(parsed.access_token, life))
    }

    /// A token that lives this long. Without a time, the token itself or the settings may tell one.
    fn token(&self, text: String, life: Option<Duration>) -> OAuth2Token {
        let life = life.or_else(|| life_of_jwt(&text)).or(self.settings.life);
        let now = Instant::now();
        let times = life.and_then(|life| {
            let early = EARLY.min(life / 10);
            Some((now.checked_add(life.saturating_sub(early))?, now.checked_add(life)?))
        });
        OAuth2Token { text, times }
    }
}

/// Base64 with the alphabet of URLs (RFC 4648, section 5), with or without padding.
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How long a JSON web token lives from now on, if it says so (RFC 7519, `exp`).
fn life_of_jwt(token: &str) -> Option<Duration> {
    let bytes = BASE64_URL.decode(token.split('.').nth(1)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let end = Duration::try_from_secs_f64(claims.get("exp")?.as_f64()?).ok()?;
    Some(end.saturating_sub(now()))
}

fn bearer(token: &str) -> Vec<(String, String)> {
    vec![(AUTHORIZATION.to_owned(), format!("Bearer {token}"))]
}

impl Authorizer for OAuth2Tokens {
    fn authorize(&self, _: &HttpRequest) -> Result<Vec<(String, String)>> {
        Ok(bearer(&self.current()?.text))
    }

    fn renew(&self, refused: &[(String, String)]) -> Result<bool> {
        if !self.settings.renewed {
            return Ok(false);
        }
        let kept = self.kept.get(|| Ok(Arc::default()))?;
        let mut slot = locked_unless_cancelled(&kept)?;
        let Some(old) = slot.clone() else { return Ok(true) };
        // Another thread may have renewed it already.
        if bearer(&old.text) != refused {
            return Ok(true);
        }
        // The server's refusal of the request tells more than one of an exchange.
        let Ok(Some(token)) = self.renewal(&old.text) else { return Ok(false) };
        *slot = Some(token);
        Ok(true)
    }

    fn life(&self) -> Option<(Duration, Duration)> {
        let kept = self.kept.get(|| Ok(Arc::default())).ok()?;
        let mut slot = locked_unless_cancelled(&kept).ok()?;
        let given = || self.settings.token.clone().map(|text| self.token(text, None));
        let known = slot.take().or_else(given)?;
        let (renewed, end) = slot.insert(known).times?;
        let now = Instant::now();
        Some((renewed.saturating_duration_since(now), end.saturating_duration_since(now)))
    }

    fn secrets(&self) -> Vec<String> {
        let kept = self.kept.get(|| Ok(Arc::default())).ok();
        let token = kept.and_then(|kept| kept.try_lock().ok().and_then(|slot| slot.clone())).map(|token| token.text);
        let secret = self.settings.credential.clone().map(|(_, secret)| secret);
        [token, self.settings.token.clone(), secret].into_iter().flatten().filter(|text| text.len() > 3).collect()
    }
}

#[cfg(test)]
#[path = "oauth2_tests.rs"]
mod tests;
