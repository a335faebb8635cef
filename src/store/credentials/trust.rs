//! Hosts that may get what proves who the user is.
//!
//! A catalog's server may name other hosts: for tokens, for signatures, for files. Only hosts that the user named get
//! the user's secrets. The user names a host by any URL among the catalog's properties, or in a list.

use std::collections::BTreeMap;

use reqwest::Url;

use super::names::TRUSTED_HOSTS;
use crate::error::{Error, Result};

/// The hosts that the user named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedHosts {
    /// Whether a host may also be asked without encryption.
    hosts: BTreeMap<String, bool>,
    /// The ends of further hosts' names, each with its dot.
    ends: Vec<String>,
}

/// Whether a host is this machine.
pub(in crate::store) fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|a| a.is_loopback())
}

/// The URL of an endpoint. One without a scheme uses HTTPS.
pub(in crate::store) fn endpoint_url(text: &str) -> Option<Url> {
    let text = text.trim();
    let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("https://{text}")) };
    url.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The host of a URL, for an error.
pub fn host_of(url: &str) -> String {
    endpoint_url(url).and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

impl TrustedHosts {
    /// The hosts that the properties of a catalog name: those of all URLs, and those of the list.
    ///
    /// # Errors
    /// `InvalidInput` for an entry of the list that is not the name of a host.
    pub fn of(properties: &BTreeMap<String, String>) -> Result<TrustedHosts> {
        let mut trusted = TrustedHosts::default();
        let is_url = |value: &str| value.starts_with("http://") || value.starts_with("https://");
        for url in properties.values().map(|value| value.trim()).filter(|value| is_url(value)).filter_map(endpoint_url)
        {
            trusted.add(&url, url.scheme() == "http");
        }
        let list = properties.get(TRUSTED_HOSTS).map(String::as_str).unwrap_or_default();
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let wrong = || {
                Error::invalid(format!("the property {TRUSTED_HOSTS} has an entry that is not the name of a host"))
                    .with("entry", entry)
                    .hint("Give names with commas between them: 'login.example.com,*.files.example.com'")
            };
            let name = entry.strip_prefix("*.").unwrap_or(entry);
            let url = endpoint_url(name).filter(|_| !name.contains(['*', '@']) && !name.is_empty());
            let url = url.ok_or_else(wrong)?;
            match entry.strip_prefix("*.") {
                Some(_) => trusted.ends.push(format!(".{}", url.host_str().unwrap_or_default())),
                None => trusted.add(&url, true),
            }
        }
        Ok(trusted)
    }

    fn add(&mut self, url: &Url, is_plain: bool) {
        if let Some(host) = url.host_str() {
            *self.hosts.entry(host.to_owned()).or_default() |= is_plain;
        }
    }

    /// Whether the host of a URL may get secrets. A host that the user named with `https` gets none by `http`.
    pub fn has(&self, url: &str) -> bool {
        let Some(url) = endpoint_url(url) else { return false };
        let host = url.host_str().unwrap_or_default();
        match self.hosts.get(host) {
            Some(is_plain) => *is_plain || url.scheme() == "https" || is_this_machine(host),
            None => self.ends.iter().any(|end| host.ends_with(end)),
        }
    }
}

/// What the user can do to let a host get secrets.
pub fn trust_hint(property: &str, url: &str) -> String {
    format!(
        "If you trust this host, give the catalog {property} yourself, or {TRUSTED_HOSTS}='{}'. Otherwise ask who runs \
         the server",
        host_of(url)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(given: &[(&str, &str)]) -> Result<TrustedHosts> {
        TrustedHosts::of(&given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }

    #[test]
    fn the_user_names_hosts() {
        let given = [
            ("uri", "https://Catalog.example/api"),
            ("s3.endpoint", "http://10.0.0.7:9000"),
            ("warehouse", "s3://bucket/wh"),
            (TRUSTED_HOSTS, "login.example, *.files.example,http://old.example:80"),
        ];
        let trusted = trusted(&given).unwrap();
        for url in [
            "https://catalog.example/other",
            "https://catalog.example:8443",
            "http://10.0.0.7",
            "https://login.example/t",
            "https://a.b.files.example",
            "http://old.example/x",
            "login.example",
        ] {
            assert!(trusted.has(url), "{url}");
        }
        for url in [
            // Without encryption.
            "http://catalog.example/api",
            "https://evil.example",
            "https://catalog.example.evil.example",
            "https://catalog.example@evil.example/api",
            "https://files.example",
            "https://evilfiles.example",
            "https://bucket",
            "ftp://login.example",
            "",
        ] {
            assert!(!trusted.has(url), "{url}");
        }
    }

    #[test]
    fn this_machine_needs_no_encryption() {
        let trusted = trusted(&[("uri", "https://127.0.0.1:1")]).unwrap();
        assert!(trusted.has("http://127.0.0.1:2") && !trusted.has("http://localhost:2"));
    }

    #[test]
    fn wrong_entries_are_refused() {
        for entry in ["*", "a b", "*.*.x", "me@host", "ftp://x", "*."] {
            let error = trusted(&[(TRUSTED_HOSTS, entry)]).unwrap_err();
            assert!(error.to_string().contains(TRUSTED_HOSTS), "{entry}");
        }
    }
}
