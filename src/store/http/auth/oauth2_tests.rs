use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::super::testing::{SeenRequest, TestAnswer, TestServer};
use super::*;

/// A server that gives the tokens `t1`, `t2`, … with this life.
fn giving(expires_in: Option<f64>) -> TestServer {
    let count = AtomicUsize::new(0);
    TestServer::start(move |_| {
        let n = count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut answer = serde_json::json!({"access_token": format!("t{n}-token"), "token_type": "bearer"});
        if let Some(seconds) = expires_in {
            answer["expires_in"] = seconds.into();
        }
        TestAnswer::json(200, answer)
    })
}

fn by_credential(server: &TestServer) -> OAuth2Settings {
    OAuth2Settings {
        server: server.url() + "/v1/oauth/tokens",
        credential: Some((Some("id".to_owned()), "hush:hush".to_owned())),
        scope: Some("catalog".to_owned()),
        fields: BTreeMap::from([("audience".to_owned(), "a b".to_owned())]),
        renewed: true,
        exchanged: true,
        ..OAuth2Settings::default()
    }
}

fn tokens(settings: OAuth2Settings) -> OAuth2Tokens {
    OAuth2Tokens::new(settings, HttpSettings { max_retries: 0, ..HttpSettings::default() })
}

fn header(tokens: &OAuth2Tokens) -> String {
    tokens.authorize(&HttpRequest::new(HttpVerb::Get, "")).unwrap().remove(0).1
}

fn bodies(server: &TestServer) -> Vec<String> {
    server.seen().into_iter().map(|request: SeenRequest| request.body).collect()
}

#[test]
fn one_token_serves_all_threads() {
    let server = giving(Some(3600.0));
    let tokens = tokens(by_credential(&server));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(header(&tokens), "Bearer t1-token"));
        }
    });
    let expected = "grant_type=client_credentials&client_id=id&client_secret=hush%3Ahush&scope=catalog&audience=a%20b";
    assert_eq!(bodies(&server), [expected]);
    assert!(!format!("{tokens:?}").contains("hush"));
    assert_eq!(tokens.secrets(), ["t1-token", "hush:hush"]);
}

#[test]
fn an_old_token_is_renewed() {
    let server = giving(Some(0.0));
    let tokens = tokens(by_credential(&server));
    assert_eq!((header(&tokens), header(&tokens)), ("Bearer t1-token".to_owned(), "Bearer t2-token".to_owned()));
    // A refused token is renewed by one thread only.
    let server = giving(None);
    let tokens = self::tokens(by_credential(&server));
    let refused = tokens.authorize(&HttpRequest::new(HttpVerb::Get, "")).unwrap();
    assert!(tokens.renew(&refused).unwrap() && tokens.renew(&refused).unwrap());
    assert_eq!((header(&tokens).as_str(), server.seen().len()), ("Bearer t2-token", 2));
}

#[test]
fn a_given_token_is_exchanged() {
    let server = giving(None);
    let settings = OAuth2Settings { token: Some("given".to_owned()), credential: None, ..by_credential(&server) };
    let tokens = tokens(settings.clone());
    assert_eq!((header(&tokens).as_str(), server.seen().len()), ("Bearer given", 0));
    assert!(tokens.renew(&bearer("given")).unwrap());
    assert_eq!(header(&tokens), "Bearer t1-token");
    let seen = server.seen().remove(0);
    assert_eq!(seen.headers["authorization"], "Bearer given");
    assert!(seen.body.contains("subject_token=given") && seen.body.contains("token-exchange"), "{}", seen.body);
    let fixed = self::tokens(OAuth2Settings { exchanged: false, ..settings });
    header(&fixed);
    assert!(!fixed.renew(&bearer("given")).unwrap());
}

#[test]
fn a_refusal_says_why_without_secrets() {
    let refusal = serde_json::json!({"error": "invalid_client", "error_description": "not hush:hush"});
    let server = TestServer::start(move |_| TestAnswer::json(401, refusal.clone()));
    let e = tokens(by_credential(&server)).authorize(&HttpRequest::new(HttpVerb::Get, "")).unwrap_err();
    let text = e.to_string();
    assert!(text.contains("401, invalid_client") && text.contains("/v1/oauth/tokens"), "{text}");
    let server = TestServer::start(|_| TestAnswer::json(200, serde_json::json!([])));
    assert!(tokens(by_credential(&server)).current().err().unwrap().to_string().contains("access_token"));
}

#[test]
fn a_token_can_say_when_it_expires() {
    // {"exp": 4102444800}: the year 2100.
    let life = life_of_jwt("e30.eyJleHAiOjQxMDI0NDQ4MDB9.c2ln").unwrap();
    assert!(life.as_secs() > 1_000_000_000);
    assert_eq!(life_of_jwt("e30.eyJleHAiOjF9.x"), Some(Duration::ZERO));
    for other in ["opaque", "a.b.c", "e30.e30.x", "e30.!!.x"] {
        assert_eq!(life_of_jwt(other), None);
    }
}
