//! Temporary credentials in requests, by stores on this machine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::super::super::http::testing::{SeenRequest, TestAnswer, TestServer};
use super::super::super::object::ObjectFiles;
use super::super::super::{Store, open_store};
use super::super::names::{RENEW_TOKEN, RENEW_URL, SOURCE};
use super::super::{
    CredentialGrant, CredentialSource, PrefixConfig, TemporaryCredentials, TrustedHosts, current_options, grant,
    renewals_of,
};
use super::*;
use crate::error::ErrorKind;
use crate::types::temporal::now_ms;

fn map(given: &[(&str, String)]) -> BTreeMap<String, String> {
    given.iter().map(|(k, v)| (k.to_string(), v.clone())).collect()
}

/// A server for S3, Google and Azure with an object of one byte.
fn stores() -> TestServer {
    TestServer::start(|_: &SeenRequest| {
        let answer = TestAnswer::Full { status: 200, headers: Vec::new(), body: b"x".to_vec() };
        answer.with("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT").with("etag", "\"e\"")
    })
}

fn proofs(server: &TestServer) -> Vec<String> {
    let proof = |request: SeenRequest| request.headers.get("authorization").cloned().unwrap_or(request.path);
    server.seen().into_iter().map(proof).collect()
}

/// Gives keys for one second, numbered.
#[derive(Debug, Default)]
struct TestSource(AtomicU64);

fn keys(n: u64, life_ms: i64) -> BTreeMap<String, String> {
    map(&[
        ("s3.access-key-id", format!("AKID{n}")),
        ("s3.secret-access-key", format!("hush-hush-{n}")),
        ("s3.session-token", format!("session-{n}")),
        ("s3.session-token-expires-at-ms", (now_ms() + life_ms).to_string()),
        ("s3.signer.uri", "http://unused".to_owned()),
    ])
}

impl CredentialSource for TestSource {
    fn load(&self) -> Result<TemporaryCredentials> {
        let n = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        let prefixes = vec![PrefixConfig { prefix: "s3://b/t".to_owned(), config: keys(n, 60_000) }];
        Ok(TemporaryCredentials { config: BTreeMap::new(), prefixes })
    }
}

fn key_of(proof: &str) -> &str {
    proof.split("Credential=").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or(proof)
}

fn granted(server: &TestServer, name: &str, life_ms: i64) -> StoreOptions {
    let own = map(&[
        ("s3.endpoint", server.url()),
        ("s3.access-key-id", "OWN".to_owned()),
        ("s3.secret-access-key", "own-secret".to_owned()),
        ("max_retries", "0".to_owned()),
    ]);
    let prefixes = vec![PrefixConfig { prefix: "s3://b/t".to_owned(), config: keys(0, life_ms) }];
    let lending = CredentialGrant {
        trusted: TrustedHosts::default(),
        name: name.to_owned(),
        granted: TemporaryCredentials { config: BTreeMap::new(), prefixes },
        source: Arc::new(TestSource::default()),
        elsewhere: None,
    };
    grant(StoreOptions::new(&own).unwrap(), "s3://b/t", lending)
}

#[test]
fn keys_of_s3_are_renewed_for_all_stores_of_a_process() {
    let server = stores();
    let options = granted(&server, "lent s3", 4000);
    let files = ObjectFiles::new(options.clone());
    files.get("s3://b/t/k").unwrap();
    std::thread::sleep(Duration::from_millis(3700));
    for _ in 0..3 {
        files.get("s3a://b/t/k").unwrap();
        open_store("s3://b/t", options.as_map()).unwrap().get("s3://b/t/k").unwrap();
    }
    let proofs: Vec<String> = proofs(&server).iter().map(|proof| key_of(proof).to_owned()).collect();
    assert_eq!(proofs, ["AKID0", "AKID1", "AKID1", "AKID1", "AKID1", "AKID1", "AKID1"]);
    assert_eq!(renewals_of("lent s3"), 1);
    // Another process gets what is valid now.
    let sent = current_options(options.as_map(), "s3://b/t");
    assert_eq!((sent["s3.access-key-id"].as_str(), sent["s3.session-token"].as_str()), ("AKID1", "session-1"));
    assert!(!format!("{files:?} {options:?}").contains("hush"));
}

#[test]
fn tasks_renew_only_with_a_token() {
    let server = stores();
    let mut sent = granted(&server, "driver", 4000).as_map().clone();
    sent.insert(SOURCE.to_owned(), "in another process".to_owned());
    let alone = open_store("s3://b/t", &sent).unwrap();
    alone.get("s3://b/t/k").unwrap();
    std::thread::sleep(Duration::from_millis(4010));
    let e = alone.get("s3://b/t/k").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert!(e.message().contains("expired") && e.hint_text().unwrap().contains("frazil.executors-may-renew"), "{e}");
    assert!(!format!("{e} {e:?}").contains("hush"));
    let renewing = TestServer::start(|_: &SeenRequest| {
        let list = serde_json::json!([{"prefix": "s3://b/", "config": keys(7, 60_000)}]);
        TestAnswer::json(200, serde_json::json!({"storage-credentials": list}))
    });
    sent.insert(RENEW_URL.to_owned(), format!("{}/v1/t/credentials", renewing.url()));
    sent.insert(RENEW_TOKEN.to_owned(), "catalog-token".to_owned());
    for _ in 0..3 {
        open_store("s3://b/t", &sent).unwrap().get("s3://b/t/k").unwrap();
    }
    assert_eq!(proofs(&server).iter().map(|p| key_of(p)).collect::<Vec<_>>(), ["AKID0", "AKID7", "AKID7", "AKID7"]);
    let [seen] = &renewing.seen()[..] else { panic!("one renewal a process") };
    assert_eq!(seen.headers["authorization"], "Bearer catalog-token");
    let refusing =
        TestServer::start(|_: &SeenRequest| TestAnswer::error(401, "NotAuthorizedException", "catalog-token is old"));
    sent.insert(RENEW_URL.to_owned(), refusing.url());
    let e = open_store("s3://b/t", &sent).unwrap().get("s3://b/t/k").unwrap_err();
    assert!(format!("{e}").contains("can't be had") && !format!("{e} {e:?}").contains("catalog-token"), "{e}");
}

#[test]
fn tokens_of_google_and_signatures_of_azure_are_renewed() {
    #[derive(Debug)]
    struct Second(TemporaryCredentials);
    impl CredentialSource for Second {
        fn load(&self) -> Result<TemporaryCredentials> {
            Ok(self.0.clone())
        }
    }
    let server = stores();
    let both = |token: &str, life_ms: i64| {
        let at = (now_ms() + life_ms).to_string();
        TemporaryCredentials {
            config: map(&[
                ("gcs.oauth2.token", format!("google-{token}")),
                ("gcs.oauth2.token-expires-at", at.clone()),
                ("adls.sas-token.acct.dfs.core.windows.net", format!("sv=1&sig={token}")),
                ("adls.sas-token-expires-at-ms.acct.dfs.core.windows.net", at),
            ]),
            prefixes: Vec::new(),
        }
    };
    let own = map(&[("gcs.service.host", server.url()), ("adls.account-host", server.url())]);
    let lending = CredentialGrant {
        trusted: TrustedHosts::default(),
        name: "both".to_owned(),
        granted: both("first", 4000),
        source: Arc::new(Second(both("second", 60_000))),
        elsewhere: None,
    };
    let files = ObjectFiles::new(grant(StoreOptions::new(&own).unwrap(), "gs://b/t", lending));
    let azure = "abfss://c@acct.dfs.core.windows.net/k";
    assert!(files.get("gs://b/k").is_ok() && files.get(azure).is_ok());
    std::thread::sleep(Duration::from_millis(3700));
    assert!(files.get("gs://b/k").is_ok() && files.get(azure).is_ok());
    let seen = proofs(&server);
    assert_eq!((seen[0].as_str(), seen[2].as_str()), ("Bearer google-first", "Bearer google-second"));
    assert!(seen[1].contains("sig=first") && seen[3].contains("sig=second"), "{seen:?}");
}
