//! Credentials with the time when they expire.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::super::location::scheme;
use super::super::options::StoreOptions;
use super::super::place::Service;
use super::names::{PREFIXES, is_expiry};
use crate::error::{Error, Result};

/// Gives credentials.
pub trait CredentialSource: Send + Sync + std::fmt::Debug {
    /// Asks for new credentials. May wait for a server.
    ///
    /// # Errors
    /// Those of whoever gives them, without secrets.
    fn load(&self) -> Result<TemporaryCredentials>;

    /// In which time it must be asked again, whatever the credentials say: its own token would expire otherwise. Zero
    /// means that the token is old already.
    fn must_be_asked_in(&self) -> Option<Duration> {
        None
    }
}

/// Credentials for all files whose paths begin with a prefix.
#[derive(Clone, PartialEq, Eq)]
pub struct PrefixConfig {
    /// The beginning of paths.
    pub prefix: String,
    /// Options by the names of PyIceberg and Java. Unknown names are ignored.
    pub config: BTreeMap<String, String>,
}

/// Credentials of a table's files, as a server gives them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TemporaryCredentials {
    /// Options for all paths.
    pub config: BTreeMap<String, String>,
    /// Options for single prefixes, which come before the others.
    pub prefixes: Vec<PrefixConfig>,
}

impl std::fmt::Debug for TemporaryCredentials {
    /// Leaves out the values, because they are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let prefixes: Vec<&str> = self.prefixes.iter().map(|p| p.prefix.as_str()).collect();
        f.debug_struct("TemporaryCredentials").field("prefixes", &prefixes).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for PrefixConfig {
    /// Leaves out the options, because they are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PrefixConfig({:?})", self.prefix)
    }
}

impl TemporaryCredentials {
    /// What the user's own provider gives.
    ///
    /// # Errors
    /// `InvalidInput` for unknown names, and without a credential.
    pub fn provided(config: BTreeMap<String, String>) -> Result<TemporaryCredentials> {
        let known = StoreOptions::new(&config).map_err(|e| {
            let hint = e.hint_text().unwrap_or("Check what it returns").to_owned();
            Error::invalid("the credential provider returned an option that does not exist").because(e).hint(hint)
        })?;
        match known.has_credentials() || config.contains_key("token") {
            true => Ok(TemporaryCredentials { config: known.as_map().clone(), prefixes: Vec::new() }),
            false => Err(Error::invalid("the credential provider returned no credentials").hint(
                "Return storage options, such as {'s3.access-key-id': …, 's3.secret-access-key': …, 'expires_at': …}",
            )),
        }
    }

    /// The options for a path: those of the longest prefix, then those for all paths.
    pub fn at(&self, path: &str) -> BTreeMap<String, String> {
        let mut all = self.config.clone();
        if let Some(fitting) = longest_prefix(&self.prefixes, path) {
            all.extend(fitting.config.clone());
        }
        all
    }

    /// When the first of them expires, in milliseconds since the epoch.
    pub fn expires_at_ms(&self) -> Option<i64> {
        let all = std::iter::once(&self.config).chain(self.prefixes.iter().map(|p| &p.config));
        all.filter_map(expiry).min()
    }

    /// All values that may be secrets.
    pub(super) fn values(&self) -> impl Iterator<Item = (&String, &String)> {
        self.config.iter().chain(self.prefixes.iter().flat_map(|p| &p.config))
    }

    /// The prefixes as the text of an option. `None` without prefixes.
    pub(super) fn prefixes_text(&self) -> Option<String> {
        let list = self.prefixes.iter().map(|p| json!({"prefix": p.prefix, "config": p.config}));
        (!self.prefixes.is_empty()).then(|| Json::from_iter(list).to_string())
    }
}

/// When the options' credentials expire.
pub(super) fn expiry(options: &BTreeMap<String, String>) -> Option<i64> {
    let times = options.iter().filter(|(name, _)| is_expiry(&name.to_ascii_lowercase()));
    times.filter_map(|(_, value)| value.trim().parse::<i64>().ok().filter(|ms| *ms > 0)).min()
}

/// Reads a list of prefixes with their options, as an option and a server's answer have it.
///
/// # Errors
/// `InvalidInput` for anything else.
pub(super) fn prefixes_of(list: &Json) -> Result<Vec<PrefixConfig>> {
    let entry = |json: &Json| {
        let prefix = json.get("prefix")?.as_str()?.to_owned();
        let members = json.get("config")?.as_object()?;
        let config = members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(PrefixConfig { prefix, config: config.collect() })
    };
    let entries = list.as_array().and_then(|all| all.iter().map(entry).collect());
    entries.ok_or_else(|| Error::invalid(format!("the value of {PREFIXES} is not a list of prefixes")))
}

/// The entry with the longest prefix of a path.
pub fn longest_prefix<'a>(all: &'a [PrefixConfig], path: &str) -> Option<&'a PrefixConfig> {
    all.iter().filter(|entry| begins_with(path, &entry.prefix)).max_by_key(|entry| entry.prefix.len())
}

/// Whether a path begins with a prefix. `s3:` and `s3a:` mean the same.
fn begins_with(path: &str, prefix: &str) -> bool {
    if path.starts_with(prefix) {
        return true;
    }
    let service = |text: &str| scheme(text).and_then(Service::of_scheme);
    let rest = |text: &'_ str| text.split_once(':').map(|(_, rest)| rest.to_owned());
    match (rest(path), rest(prefix)) {
        (Some(path_rest), Some(prefix_rest)) => {
            service(path).is_some() && service(path) == service(prefix) && path_rest.starts_with(&prefix_rest)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn the_longest_prefix_wins() {
        let entry = |prefix: &str| PrefixConfig { prefix: prefix.to_owned(), config: map(&[("s3.region", prefix)]) };
        let all = ["s3", "s3://b/wh/", "s3://b/wh/t/data", "gs://b"].map(entry).to_vec();
        let granted =
            TemporaryCredentials { config: map(&[("s3.region", "all"), ("s3.endpoint", "e")]), prefixes: all };
        assert_eq!(granted.at("s3://b/wh/t/data/1.parquet")["s3.region"], "s3://b/wh/t/data");
        assert_eq!(granted.at("s3a://b/wh/t/metadata/v1")["s3.region"], "s3://b/wh/");
        assert_eq!(granted.at("s3://other/x")["s3.region"], "s3");
        assert_eq!(granted.at("abfss://c@a/x"), granted.config);
        assert_eq!(granted.at("s3a://b/wh/x")["s3.endpoint"], "e");
        let text = granted.prefixes_text().unwrap();
        assert_eq!(prefixes_of(&serde_json::from_str(&text).unwrap()).unwrap(), granted.prefixes);
        assert!(prefixes_of(&json!([{"prefix": 1}])).is_err());
    }

    #[test]
    fn the_first_expiry_counts() {
        let granted = TemporaryCredentials {
            config: map(&[("s3.session-token-expires-at-ms", "9000"), ("adls.sas-token-expires-at-ms.a.b", "8000")]),
            prefixes: vec![PrefixConfig {
                prefix: "gs".into(),
                config: map(&[("gcs.oauth2.token-expires-at", "7000")]),
            }],
        };
        assert_eq!(granted.expires_at_ms(), Some(7000));
        assert_eq!(expiry(&map(&[("s3.session-token-expires-at-ms", "soon")])), None);
        assert_eq!(TemporaryCredentials::default().expires_at_ms(), None);
        assert!(!format!("{granted:?}").contains("8000"));
    }
}
