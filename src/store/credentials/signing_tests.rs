//! Signed requests, by a signer of the test and a store on this machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::super::Store;
use super::super::super::http::testing::{SeenRequest, TestAnswer, TestServer};
use super::super::super::object::ObjectFiles;
use super::super::super::options::StoreOptions;
use super::super::names::{RENEW_TOKEN, SIGN_URL, SIGNER};
use super::super::sign_by;
use super::*;

#[derive(Debug, Default)]
struct Signer {
    asked: AtomicUsize,
    cacheable: bool,
    /// Whether a signature covers the range.
    range: bool,
    seen: Mutex<Vec<SignRequest>>,
}

impl RequestSigner for Signer {
    fn sign(&self, request: &SignRequest) -> Result<SignedRequest> {
        self.seen.lock().unwrap().push(request.clone());
        if request.uri.contains("list-type=2") {
            return Err(Error::denied("the server refuses").because("no signature for listings"));
        }
        let n = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let names = if self.range { "host;range;x-amz-date" } else { "host;x-amz-date" };
        let proof = format!("AWS4-HMAC-SHA256 Credential=c, SignedHeaders={names}, Signature=s{n}");
        let headers =
            [("Authorization", proof), ("x-amz-date", "20261126T000000Z".to_owned()), ("Host", "h".to_owned())];
        let headers = headers.map(|(name, value)| (name.to_owned(), vec![value])).into();
        Ok(SignedRequest { uri: request.uri.clone(), headers, cacheable: self.cacheable })
    }
}

/// A store with one object of eight bytes.
fn store(request: &SeenRequest) -> TestAnswer {
    let answer = |status: u16, body: &[u8]| TestAnswer::Full { status, headers: Vec::new(), body: body.to_vec() };
    let answer = match (request.verb.as_str(), request.headers.get("range").map(String::as_str)) {
        ("GET", Some(range)) => {
            let (from, to) = range.trim_start_matches("bytes=").split_once('-').unwrap();
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            answer(206, &b"abcdefgh"[from..=to]).with("content-range", &format!("bytes {from}-{to}/8"))
        }
        ("GET", None) => answer(200, b"abcdefgh"),
        ("DELETE", _) => answer(204, b""),
        _ => answer(200, b""),
    };
    answer.with("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT").with("etag", "\"e\"")
}

fn options(server: &TestServer) -> StoreOptions {
    let given = [("s3.endpoint", server.url()), ("s3.region", "eu-west-1".to_owned()), ("max_retries", "0".to_owned())];
    StoreOptions::new(&given.map(|(k, v)| (k.to_owned(), v)).into()).unwrap()
}

fn proofs(server: &TestServer) -> Vec<String> {
    let proof = |request: SeenRequest| {
        let proof = request.headers.get("authorization").cloned().unwrap_or_default();
        format!("{} {}", request.verb, proof.rsplit('=').next().unwrap_or_default())
    };
    server.seen().into_iter().map(proof).collect()
}

#[test]
fn each_request_is_signed() {
    let server = TestServer::start(store);
    let signer = Arc::new(Signer::default());
    let files = ObjectFiles::new(sign_by(options(&server), "each", signer.clone(), None));
    assert_eq!(files.get("s3://b/k").unwrap(), b"abcdefgh");
    assert_eq!(files.get_range("s3://b/k", 2, 3).unwrap(), b"cde");
    files.put("s3://b/k", b"new").unwrap();
    files.delete("s3://b/k").unwrap();
    assert_eq!(proofs(&server), ["GET s1", "GET s2", "PUT s3", "DELETE s4"]);
    let seen = signer.seen.lock().unwrap().clone();
    assert_eq!((seen[0].method.as_str(), seen[0].region.as_str()), ("GET", "eu-west-1"));
    assert_eq!(seen[0].uri, format!("{}/b/k", server.url()));
    assert_eq!(seen[1].headers["range"], ["bytes=2-4"]);
    assert!(seen.iter().all(|request| request.body.is_none()));
    // The date of the signature is the one that is sent.
    assert_eq!(server.seen()[0].headers["x-amz-date"], "20261126T000000Z");
    assert_ne!(server.seen()[0].headers["host"], "h");
}

#[test]
fn signatures_are_kept_if_the_server_allows_it() {
    for (range, expected) in [(false, ["GET s1", "GET s1", "GET s1"]), (true, ["GET s1", "GET s2", "GET s1"])] {
        let server = TestServer::start(store);
        let signer = Arc::new(Signer { cacheable: true, range, ..Signer::default() });
        let files = ObjectFiles::new(sign_by(options(&server), &format!("kept {range}"), signer, None));
        for offset in [1, 3, 1] {
            files.get_range("s3://b/k", offset, 2).unwrap();
        }
        assert_eq!(proofs(&server), expected);
        files.put("s3://b/k", b"x").unwrap();
        files.put("s3://b/k", b"x").unwrap();
        let writes = proofs(&server).split_off(3);
        assert_ne!(writes[0], writes[1]);
    }
}

#[test]
fn a_signer_that_signs_no_listings() {
    let server = TestServer::start(store);
    let files = ObjectFiles::new(sign_by(options(&server), "listings", Arc::new(Signer::default()), None));
    let e = files.list("s3://b/t").unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Unsupported);
    assert!(
        e.message().contains("does not sign listings") && e.hint_text().unwrap().contains("vended-credentials"),
        "{e}"
    );
    assert!(server.seen().is_empty());
}

#[test]
fn another_process_asks_only_with_a_token() {
    let signing = TestServer::start(|request: &SeenRequest| {
        let asked = request.json();
        let headers = serde_json::json!({"authorization": ["AWS4 Signature=far"]});
        let body = serde_json::json!({"uri": asked["uri"], "headers": headers});
        TestAnswer::json(200, body).with("cache-control", "private")
    });
    let server = TestServer::start(store);
    let alone = options(&server).with_own(SIGNER, "of the driver".to_owned());
    let e = ObjectFiles::new(alone.clone()).get("s3://b/k").unwrap_err();
    assert!(e.hint_text().unwrap().contains("frazil.executors-may-renew"), "{e}");
    let told = alone.with_own(SIGN_URL, format!("{}/v1/aws/s3/sign", signing.url()));
    let files = ObjectFiles::new(told.with_own(RENEW_TOKEN, "catalog-token".to_owned()));
    files.get("s3://b/k").unwrap();
    files.get("s3://b/k").unwrap();
    assert_eq!(proofs(&server), ["GET far", "GET far"]);
    let [seen] = &signing.seen()[..] else { panic!("signatures are kept") };
    assert_eq!(
        (seen.line().as_str(), seen.headers["authorization"].as_str()),
        ("POST /v1/aws/s3/sign", "Bearer catalog-token")
    );
    assert_eq!((seen.json()["method"].as_str(), seen.json()["region"].as_str()), (Some("GET"), Some("eu-west-1")));
}

#[test]
fn only_the_deletion_of_several_objects_has_a_body() {
    let request = |method: &str, uri: &str| {
        let mut request = HttpRequest::new(b"<Delete/>".to_vec().into());
        *request.method_mut() = method.parse().unwrap();
        *request.uri_mut() = uri.parse().unwrap();
        wanted(&request, "r").0.body
    };
    assert_eq!(request("POST", "http://h/b?delete").as_deref(), Some("<Delete/>"));
    assert_eq!(request("PUT", "http://h/b/delete"), None);
    assert_eq!(request("POST", "http://h/b/k?uploads"), None);
}
