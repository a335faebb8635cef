//! How processes other than the catalog's ask its server.
//!
//! Tasks carry the URL. The user decides whether they also carry the catalog's token, or its credential.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value as Json, json};

use super::super::http::auth::{Authorizer, deciding, is_credential, of_others, secrets};
use super::super::http::{HttpClient, HttpSettings};
use super::super::options::StoreOptions;
use super::super::runtime::PerProcess;
use super::endpoint::{EndpointSigner, EndpointSource, ServerConnection};
use super::names::{EXECUTORS_MAY_RENEW, RENEW_SETTINGS, RENEW_TOKEN};
use crate::error::{Error, Result};

/// The value of [`EXECUTORS_MAY_RENEW`] with which tasks also carry the catalog's credential.
const WITH_CREDENTIAL: &str = "with-credential";

/// What tasks carry of the catalog's login, by the property [`EXECUTORS_MAY_RENEW`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CarriedLogin {
    /// Nothing.
    Nothing,
    /// The token of the moment.
    Token,
    /// All that the catalog has: keys, passwords, `credential`.
    Credential,
}

impl CarriedLogin {
    /// What the catalog's properties say.
    ///
    /// # Errors
    /// `InvalidInput` for another value.
    pub fn of(properties: &BTreeMap<String, String>) -> Result<CarriedLogin> {
        match properties.get(EXECUTORS_MAY_RENEW).map(|value| value.trim().to_ascii_lowercase()).as_deref() {
            None | Some("" | "false") => Ok(CarriedLogin::Nothing),
            Some("true") => Ok(CarriedLogin::Token),
            Some(WITH_CREDENTIAL) => Ok(CarriedLogin::Credential),
            Some(_) => {
                Err(Error::invalid(format!("the property {EXECUTORS_MAY_RENEW} has a value that does not exist"))
                    .hint(format!("Give 'false', 'true' (tasks carry the catalog's token) or '{WITH_CREDENTIAL}'")))
            }
        }
    }
}

/// How other processes ask the server.
#[derive(Clone, Default)]
pub struct RemoteRenewal {
    /// What they ask.
    pub url: String,
    /// The catalog's token. Give it only if the user asked for it by [`EXECUTORS_MAY_RENEW`]. A server without
    /// authorization needs none.
    pub token: Option<String>,
    /// When the token expires, in milliseconds since the epoch.
    pub token_expires_at_ms: Option<i64>,
    /// Headers of each request.
    pub headers: Vec<(String, String)>,
    /// Members of each request for a signature that the server wants back.
    pub members: BTreeMap<String, String>,
    /// The catalog's properties about the connection, and about who asks.
    pub properties: BTreeMap<String, String>,
}

/// Signers by the name of what they are made of.
type SharedSigners = Arc<Mutex<HashMap<String, Arc<EndpointSigner>>>>;

impl std::fmt::Debug for RemoteRenewal {
    /// Leaves out all that may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteRenewal").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Says how other processes ask the server now. The catalog's token changes while a table is used.
pub trait Handover: Send + Sync + std::fmt::Debug {
    /// What tasks carry from now on. `None` if others may not ask.
    ///
    /// # Errors
    /// Those of whoever gives the catalog's token.
    fn now(&self) -> Result<Option<RemoteRenewal>>;
}

impl RemoteRenewal {
    /// Writes all but the URL into options.
    pub(super) fn written(self, options: StoreOptions) -> StoreOptions {
        let mut settings = Map::new();
        if !self.headers.is_empty() {
            settings.insert("headers".to_owned(), json!(self.headers));
        }
        if !self.members.is_empty() {
            settings.insert("members".to_owned(), json!(self.members));
        }
        if !self.properties.is_empty() {
            settings.insert("properties".to_owned(), json!(self.properties));
        }
        if let Some(at) = self.token_expires_at_ms.filter(|_| self.token.is_some()) {
            settings.insert("token-expires-at-ms".to_owned(), json!(at));
        }
        let options = match self.token {
            Some(token) => options.with_own(RENEW_TOKEN, token),
            None => options,
        };
        match settings.is_empty() {
            true => options,
            false => options.with_own(RENEW_SETTINGS, Json::Object(settings).to_string()),
        }
    }

    /// What options of another process say. `url` is one of them.
    ///
    /// # Errors
    /// `InvalidInput` for an option that nobody wrote.
    pub(super) fn read(options: &StoreOptions, url: &str) -> Result<RemoteRenewal> {
        let wrong = || Error::invalid(format!("the value of {RENEW_SETTINGS} can't be read"));
        let settings: Map<String, Json> = match options.own(RENEW_SETTINGS) {
            Some(text) => serde_json::from_str(text).map_err(|_| wrong())?,
            None => Map::new(),
        };
        let part = |name: &str| settings.get(name).cloned();
        let texts = |name: &str| -> Result<BTreeMap<String, String>> {
            part(name).map_or(Ok(BTreeMap::new()), |json| serde_json::from_value(json).map_err(|_| wrong()))
        };
        let headers = part("headers").map(serde_json::from_value).transpose().map_err(|_| wrong())?;
        Ok(RemoteRenewal {
            url: url.to_owned(),
            token: options.own(RENEW_TOKEN).map(str::to_owned),
            token_expires_at_ms: part("token-expires-at-ms").and_then(|json| json.as_i64()),
            headers: headers.unwrap_or_default(),
            members: texts("members")?,
            properties: texts("properties")?,
        })
    }

    /// The name under which a process keeps what it makes of this. It has all that decides who asks, so that one login
    /// never serves another. A newer token makes another one, because the older one may have expired. The name has
    /// secrets. It must never be shown.
    pub(super) fn name(&self) -> String {
        json!([self.url, self.token, self.headers, self.members, self.properties]).to_string()
    }

    /// The connection of another process.
    fn connection(&self) -> Result<ServerConnection> {
        let http = HttpSettings::of_properties(&self.properties)?;
        let mut secrets = secrets(&self.properties);
        secrets.extend(self.token.clone());
        secrets.extend(self.headers.iter().map(|(_, value)| value.clone()).filter(|value| value.len() > 3));
        let http = HttpSettings { secrets, ..http };
        let login: Option<Arc<dyn Authorizer>> =
            of_others(&self.properties, self.token.as_deref(), self.token_expires_at_ms, &http)?;
        let has_all = login.is_none() || CarriedLogin::of(&self.properties)? == CarriedLogin::Credential;
        let hint = (!has_all).then(|| {
            format!(
                "This process has only the catalog's token. Give the catalog {EXECUTORS_MAY_RENEW}='{WITH_CREDENTIAL}'. \
                 Tasks then carry the catalog's credential and get tokens of their own"
            )
        });
        Ok(ServerConnection { client: Arc::new(HttpClient::new(http, login)), headers: self.headers.clone(), hint })
    }

    /// The source of another process.
    pub(super) fn source(&self) -> Result<EndpointSource> {
        Ok(EndpointSource::of(self.connection()?, &self.url))
    }

    /// The signer of another process. All stores of the process share it, with its token.
    pub(super) fn signer(&self) -> Result<Arc<EndpointSigner>> {
        static KNOWN: PerProcess<SharedSigners> = PerProcess::new();
        let all = KNOWN.get(|| Ok(Arc::default()))?;
        let name = self.name();
        let known = all.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        // The connection may need the user's code, so the lock is free meanwhile.
        let made = Arc::new(EndpointSigner::of(self.connection()?, &self.url, self.members.clone()));
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        drop_unused(&mut all);
        Ok(all.entry(name).or_insert(made).clone())
    }
}

/// The number of shared objects from which those that no store uses are dropped.
const MANY: usize = 1000;

/// Keeps the number of shared objects bounded. Each new token makes another one.
pub(super) fn drop_unused<T>(all: &mut HashMap<String, Arc<T>>) {
    if all.len() >= MANY {
        all.retain(|_, shared| Arc::strong_count(shared) > 1);
    }
}

/// The catalog's properties that tasks carry, and whether no credential is missing among them. `uri` is the catalog's.
pub(crate) fn carried_properties(
    properties: &BTreeMap<String, String>,
    uri: &str,
    login: CarriedLogin,
) -> (BTreeMap<String, String>, bool) {
    let mut is_complete = true;
    let mut carried = deciding(properties, uri);
    carried.retain(|name, _| {
        let is_kept = login == CarriedLogin::Credential || !is_credential(name);
        is_complete &= is_kept;
        is_kept
    });
    if login == CarriedLogin::Credential {
        carried.insert(EXECUTORS_MAY_RENEW.to_owned(), WITH_CREDENTIAL.to_owned());
    }
    (carried, is_complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn options_carry_all_that_others_need() {
        let sent = RemoteRenewal {
            url: "http://h/sign".to_owned(),
            token: Some("hush-token".to_owned()),
            token_expires_at_ms: Some(7),
            headers: vec![("X-Realm".to_owned(), "r".to_owned())],
            members: texts(&[("tenant", "t")]),
            properties: texts(&[("scope", "s")]),
        };
        let options = sent.clone().written(StoreOptions::default());
        assert_eq!(options.as_map()[RENEW_TOKEN], "hush-token");
        let expected = r#"{"headers":[["X-Realm","r"]],"members":{"tenant":"t"},"properties":{"scope":"s"},"token-expires-at-ms":7}"#;
        assert_eq!(options.as_map()[RENEW_SETTINGS], expected);
        let read = RemoteRenewal::read(&options, "http://h/sign").unwrap();
        assert_eq!((read.url, read.token, read.token_expires_at_ms), (sent.url, sent.token, Some(7)));
        assert_eq!((read.headers, read.members, read.properties), (sent.headers, sent.members, sent.properties));
        // A server without authorization needs the URL only.
        let plain = RemoteRenewal { url: "http://h".to_owned(), ..RemoteRenewal::default() };
        assert!(plain.written(StoreOptions::default()).as_map().is_empty());
        for wrong in ["", "[", "[]", r#"{"headers": 1}"#, r#"{"members": ["a"]}"#] {
            let options = StoreOptions::default().with_own(RENEW_SETTINGS, wrong.to_owned());
            assert_eq!(RemoteRenewal::read(&options, "u").is_ok(), wrong.is_empty(), "{wrong}");
        }
    }

    #[test]
    fn each_login_has_a_name() {
        let first = RemoteRenewal { url: "http://h".to_owned(), ..RemoteRenewal::default() };
        let pair = |value: &str| texts(&[("k", value)]);
        let others = [
            RemoteRenewal { url: "http://i".to_owned(), ..first.clone() },
            RemoteRenewal { token: Some("t".to_owned()), ..first.clone() },
            RemoteRenewal { headers: vec![("k".to_owned(), "v".to_owned())], ..first.clone() },
            RemoteRenewal { members: pair("v"), ..first.clone() },
            RemoteRenewal { properties: pair("v"), ..first.clone() },
            RemoteRenewal { properties: pair("w"), ..first.clone() },
        ];
        let names: std::collections::BTreeSet<String> =
            others.iter().chain([&first, &first.clone()]).map(RemoteRenewal::name).collect();
        assert_eq!(names.len(), 7);
    }

    #[test]
    fn unused_objects_are_dropped() {
        let mut all: HashMap<String, Arc<u32>> = (0..999).map(|n| (n.to_string(), Arc::new(n))).collect();
        drop_unused(&mut all);
        assert_eq!(all.len(), 999);
        let used = all["7"].clone();
        all.insert("last".to_owned(), Arc::new(999));
        drop_unused(&mut all);
        assert_eq!((all.len(), all.get("7")), (1, Some(&used)));
    }

    #[test]
    fn the_user_decides_what_is_carried() {
        let given = texts(&[("credential", "id:hush"), ("scope", "s"), ("uri", "http://h")]);
        let names = |login| {
            let (carried, complete) = carried_properties(&given, "http://h", login);
            (carried.into_keys().collect::<Vec<_>>().join(" "), complete)
        };
        assert_eq!(names(CarriedLogin::Token), ("oauth2-server-uri rest.auth.type scope".to_owned(), false));
        let all = "credential frazil.executors-may-renew oauth2-server-uri rest.auth.type scope";
        assert_eq!(names(CarriedLogin::Credential), (all.to_owned(), true));
        for (value, expected) in
            [("", CarriedLogin::Nothing), ("TRUE", CarriedLogin::Token), ("with-credential", CarriedLogin::Credential)]
        {
            assert_eq!(CarriedLogin::of(&texts(&[(EXECUTORS_MAY_RENEW, value)])).unwrap(), expected);
        }
        assert!(CarriedLogin::of(&texts(&[(EXECUTORS_MAY_RENEW, "all")])).is_err());
    }
}
