use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::testing::{TestAnswer, TestServer};
use super::*;
use crate::parallel::Cancellation;

fn settings() -> HttpSettings {
    HttpSettings { read_timeout: Duration::from_millis(300), max_retries: 2, ..HttpSettings::default() }
}

fn client() -> HttpClient {
    HttpClient::new(settings(), None)
}

/// A server whose answers come one after another. The last one stays.
fn answering(answers: Vec<TestAnswer>) -> TestServer {
    let at = AtomicUsize::new(0);
    TestServer::start(move |_| answers[at.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1)].clone())
}

fn full(status: u16) -> TestAnswer {
    TestAnswer::Full { status, headers: Vec::new(), body: b"hello".to_vec() }
}

#[test]
fn reads_are_repeated_after_a_passing_failure() {
    for passing in [
        full(503),
        full(429).with("retry-after", "0"),
        TestAnswer::Reset,
        TestAnswer::Cut { status: 200, body: b"he".to_vec() },
    ] {
        let server = answering(vec![passing, full(200)]);
        let answer = client().send(&HttpRequest::new(HttpVerb::Get, server.url())).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"hello".as_slice()));
        assert_eq!(server.seen().len(), 2);
    }
    let server = answering(vec![full(503)]);
    assert_eq!(client().send(&HttpRequest::new(HttpVerb::Get, server.url())).unwrap().status, 503);
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn a_change_is_sent_once() {
    for failing in [full(503), full(500), full(429), TestAnswer::Reset, TestAnswer::Silent(Duration::from_millis(600))]
    {
        let server = answering(vec![failing, full(200)]);
        let request = HttpRequest::new(HttpVerb::Post, server.url()).json(&serde_json::json!({}));
        match client().send(&request) {
            Ok(answer) => assert!(answer.status >= 429),
            Err(e) => assert!(!is_unsent(&e) && e.kind() == ErrorKind::Store, "{e}"),
        }
        assert_eq!(server.seen().len(), 1);
    }
    // A server that recognises a repetition gets one.
    let server = answering(vec![full(503), full(200)]);
    let request = HttpRequest { repeatable: true, ..HttpRequest::new(HttpVerb::Post, server.url()) };
    assert_eq!(client().send(&request).unwrap().status, 200);
}

#[test]
fn a_repetition_proves_nothing_about_the_first_attempt() {
    let server = answering(vec![full(503), full(403)]);
    let request = HttpRequest { repeatable: true, ..HttpRequest::new(HttpVerb::Post, server.url()) };
    let answer = client().send(&request).unwrap();
    assert_eq!((answer.status, answer.is_repetition), (403, true));
    assert!(!client().send(&request).unwrap().is_repetition);
    let unsent = Error::store("x").because(Failure::of_transport("refused".to_owned(), true));
    assert!(is_unsent(&unsent) && !is_unsent(&lost_before(&request, unsent)));
}

#[test]
fn a_server_that_asks_for_too_much_patience_gets_none() {
    let server = answering(vec![full(429).with("retry-after", "3600"), full(200)]);
    assert_eq!(client().send(&HttpRequest::new(HttpVerb::Get, server.url())).unwrap().status, 429);
}

#[test]
fn an_unreachable_server_is_named_without_secrets() {
    let url = "http://127.0.0.1:1/v1/x?token=hush";
    let e = HttpClient::new(HttpSettings { max_retries: 0, ..settings() }, None)
        .send(&HttpRequest::new(HttpVerb::Post, url))
        .unwrap_err();
    assert!(is_unsent(&e) && e.to_string().contains("127.0.0.1:1/v1/x") && !e.to_string().contains("hush"), "{e}");
}

#[test]
fn the_size_of_an_answer_is_limited() {
    let server = answering(vec![full(200)]);
    let client = HttpClient::new(HttpSettings { most_bytes: 4, ..settings() }, None);
    let e = client.send(&HttpRequest::new(HttpVerb::Get, server.url())).unwrap_err();
    assert!(e.to_string().contains("more than 4 bytes"), "{e}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_body_after_head_is_not_the_next_answer() {
    let server = answering(vec![full(200), full(201)]);
    let client = client();
    assert_eq!(client.send(&HttpRequest::new(HttpVerb::Head, server.url())).unwrap().status, 200);
    assert_eq!(client.send(&HttpRequest::new(HttpVerb::Get, server.url())).unwrap().status, 201);
}

#[test]
fn a_redirection_is_not_followed() {
    let server = answering(vec![full(302).with("location", "/other"), full(200)]);
    assert_eq!(client().send(&HttpRequest::new(HttpVerb::Post, server.url())).unwrap().status, 302);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn cancellation_ends_the_wait() {
    let server = answering(vec![TestAnswer::Silent(Duration::from_secs(5))]);
    let began = Instant::now();
    let patient = HttpClient::new(HttpSettings { read_timeout: Duration::from_secs(60), ..settings() }, None);
    let request = HttpRequest::new(HttpVerb::Get, server.url());
    let e = Cancellation::after(0).scope(|| patient.send(&request)).unwrap_err();
    assert!(e.message() == "stopped" && began.elapsed() < Duration::from_secs(4), "{e}");
}

#[test]
fn headers_are_checked() {
    let server = answering(vec![full(200)]);
    let request = HttpRequest::new(HttpVerb::Get, server.url()).header("X-A", "b\nc");
    assert!(client().send(&request).unwrap_err().to_string().contains("X-A"));
    let e = client().send(&HttpRequest::new(HttpVerb::Get, "no url")).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_proxy_that_asks_for_a_login_is_named() {
    let server = answering(vec![full(407)]);
    let url = server.url().to_owned();
    let proxy = Some(crate::store::http::settings::ProxySettings { url: url.clone(), login: None });
    let through = HttpClient::new(HttpSettings { proxy, ..settings() }, None);
    let request = HttpRequest::new(HttpVerb::Post, "http://catalog.example/v1");
    let e = through.send(&request).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert!(is_unsent(&e) && e.to_string().contains(url.trim_start_matches("http://")), "{e}");
    assert_eq!(server.seen().len(), 1);
    // A gateway's error may be the proxy's own.
    let server = answering(vec![full(502)]);
    let proxy = Some(crate::store::http::settings::ProxySettings { url: server.url().to_owned(), login: None });
    let answer = HttpClient::new(HttpSettings { proxy, ..settings() }, None).send(&request).unwrap();
    assert_eq!(answer.proxy.as_deref(), Some(server.url().trim_start_matches("http://")));
}
