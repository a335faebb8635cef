//! HTTP connections that the stores of one process share.
//!
//! A table that is opened again then finds connections that are open already, and doesn't read the certificates of the
//! system once more, which takes several milliseconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use object_store::ClientOptions;
use object_store::client::{HttpClient, HttpConnector, ReqwestConnector};

use super::http::WatchedService;
use super::runtime::PerProcess;

/// How long new stores get the same connections. Certificates and the settings of a machine may change.
const KEPT: Duration = Duration::from_secs(300);

/// The number of kept sets of connections.
const MOST_KEPT: usize = 32;

/// Variables of the environment that decide how connections are made.
const VARIABLES: [&str; 10] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Connections by what decides how they are made, with the time when they were made.
type Connections = Arc<Mutex<HashMap<String, (Instant, HttpClient)>>>;

static CONNECTIONS: PerProcess<Connections> = PerProcess::new();

/// Gives the same connections to stores with the same options.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedConnector;

impl HttpConnector for SharedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let new = || Ok(HttpClient::new(WatchedService(ReqwestConnector::default().connect(options)?)));
        let Ok(connections) = CONNECTIONS.get(|| Ok(Connections::default())) else { return new() };
        let key = key(options);
        let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = connections.get(&key).filter(|(since, _)| since.elapsed() < KEPT) {
            return Ok(client.clone());
        }
        let client = new()?;
        connections.retain(|_, (since, _)| since.elapsed() < KEPT);
        if connections.len() >= MOST_KEPT {
            connections.clear();
        }
        connections.insert(key, (Instant::now(), client.clone()));
        Ok(client)
    }
}

/// What decides how connections are made. The derived `Debug` of the options shows all of them.
fn key(options: &ClientOptions) -> String {
    format!("{options:?} {:?}", VARIABLES.map(std::env::var_os))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_environment_decide() {
        let plain = ClientOptions::new();
        assert_eq!(key(&plain), key(&ClientOptions::new()));
        let others = [
            ClientOptions::new().with_timeout(Duration::from_secs(7)),
            ClientOptions::new().with_allow_http(true),
            ClientOptions::new().with_proxy_url("http://proxy.example"),
            ClientOptions::new().with_proxy_ca_certificate("a certificate"),
            ClientOptions::new().with_proxy_excludes("x.example"),
            ClientOptions::new().with_allow_invalid_certificates(true),
        ];
        let keys: std::collections::HashSet<String> = others.iter().chain([&plain]).map(key).collect();
        assert_eq!(keys.len(), others.len() + 1);
    }
}
