//! Limits of time and size, certificates, proxies.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{Error, Result};

/// The user agent of requests.
const USER_AGENT: &str = concat!("frazil/", env!("CARGO_PKG_VERSION"));

/// The most bytes of an answer. A table's metadata is the largest.
const MOST_BYTES: u64 = 256 << 20;

/// A proxy that requests go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProxySettings {
    /// Its URL.
    pub(crate) url: String,
    /// The user's name and password.
    pub(crate) login: Option<(String, String)>,
}

/// How requests are sent.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct HttpSettings {
    /// The time for a connection.
    pub(crate) connect_timeout: Duration,
    /// The time between two pieces of an answer, and before the first one.
    pub(crate) read_timeout: Duration,
    /// The number of repetitions of a request that may be repeated.
    pub(crate) max_retries: u32,
    /// No request is repeated later than this after the first one.
    pub(crate) retry_time: Duration,
    /// The most bytes of an answer.
    pub(crate) most_bytes: u64,
    /// `User-Agent`.
    pub(crate) user_agent: String,
    /// A proxy. `None` leaves the choice to the environment (`HTTPS_PROXY`, `NO_PROXY`).
    pub(crate) proxy: Option<ProxySettings>,
    /// A file with certificates of authorities, in addition to those of the system.
    pub(crate) authorities: Option<String>,
    /// A file with the client's certificate, and one with its key.
    pub(crate) identity: Option<(String, String)>,
    /// Texts that no error may show.
    pub(crate) secrets: Vec<String>,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
            max_retries: 5,
            retry_time: Duration::from_secs(60),
            most_bytes: MOST_BYTES,
            user_agent: USER_AGENT.to_owned(),
            proxy: None,
            authorities: None,
            identity: None,
            secrets: Vec::new(),
        }
    }
}

impl std::fmt::Debug for HttpSettings {
    /// Leaves out the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpSettings").field("user_agent", &self.user_agent).finish_non_exhaustive()
    }
}

impl HttpSettings {
    /// Reads properties by Java's names (`rest.client.*`) and PyIceberg's (`ssl.*`).
    ///
    /// # Errors
    /// `InvalidInput` for a value that is not a number, and for a certificate without its key.
    pub(crate) fn of_properties(properties: &BTreeMap<String, String>) -> Result<HttpSettings> {
        let text = |key: &str| properties.get(key).map(String::as_str).filter(|v| !v.is_empty());
        let number = |key: &'static str| -> Result<Option<u64>> {
            let wrong = |text: &str| Error::invalid(format!("the property {key} is '{text}', not a whole number"));
            text(key).map(|text| text.trim().parse().map_err(|_| wrong(text))).transpose()
        };
        let mut out = HttpSettings::default();
        if let Some(ms) = number("rest.client.connection-timeout-ms")? {
            out.connect_timeout = Duration::from_millis(ms.max(1));
        }
        if let Some(ms) = number("rest.client.socket-timeout-ms")? {
            out.read_timeout = Duration::from_millis(ms.max(1));
        }
        if let Some(retries) = number("rest.client.max-retries")? {
            out.max_retries = retries.min(100) as u32;
        }
        if let Some(bytes) = number("rest.client.max-answer-bytes")? {
            out.most_bytes = bytes;
        }
        if let Some(agent) = text("rest.client.user-agent") {
            agent.clone_into(&mut out.user_agent);
        }
        if let Some(host) = text("rest.client.proxy.hostname") {
            let port = number("rest.client.proxy.port")?.map_or(String::new(), |port| format!(":{port}"));
            let url = if host.contains("://") { format!("{host}{port}") } else { format!("http://{host}{port}") };
            let user = text("rest.client.proxy.username").map(str::to_owned);
            let password = text("rest.client.proxy.password").unwrap_or_default().to_owned();
            out.proxy = Some(ProxySettings { url, login: user.map(|user| (user, password)) });
        }
        out.authorities = text("ssl.cabundle").map(str::to_owned);
        out.identity = match (text("ssl.client.cert"), text("ssl.client.key")) {
            // One file may have both.
            (Some(certificate), key) => Some((certificate.to_owned(), key.unwrap_or(certificate).to_owned())),
            (None, None) => None,
            (None, Some(_)) => {
                return Err(Error::invalid("ssl.client.key is given without ssl.client.cert")
                    .hint("Give the file of the client's certificate as ssl.client.cert"));
            }
        };
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(given: &[(&str, &str)]) -> Result<HttpSettings> {
        HttpSettings::of_properties(&given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    }

    #[test]
    fn properties_have_the_names_of_others() {
        let read = settings(&[
            ("rest.client.connection-timeout-ms", "250"),
            ("rest.client.socket-timeout-ms", "500"),
            ("rest.client.max-retries", "2"),
            ("rest.client.proxy.hostname", "proxy.example"),
            ("rest.client.proxy.port", "3128"),
            ("rest.client.proxy.username", "u"),
            ("rest.client.proxy.password", "p"),
            ("ssl.cabundle", "/ca.pem"),
            ("ssl.client.cert", "/both.pem"),
        ]);
        let read = read.unwrap();
        assert_eq!((read.connect_timeout.as_millis(), read.read_timeout.as_millis()), (250, 500));
        let proxy = read.proxy.unwrap();
        assert_eq!((proxy.url.as_str(), proxy.login.is_some()), ("http://proxy.example:3128", true));
        assert_eq!((read.max_retries, read.authorities.as_deref()), (2, Some("/ca.pem")));
        assert_eq!(read.identity, Some(("/both.pem".to_owned(), "/both.pem".to_owned())));
        assert!(settings(&[("rest.client.max-retries", "many")]).is_err());
        assert!(settings(&[("ssl.client.key", "/key.pem")]).is_err());
    }
}
