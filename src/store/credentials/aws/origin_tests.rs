//! Keys of services, by a server on this machine.

use super::super::super::super::http::testing::{SeenRequest, TestAnswer, TestServer};
use super::*;
use crate::error::ErrorKind;

// The answer in Amazon's documentation of AssumeRole.
const ASSUMED: &str = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult>\
    <SourceIdentity>Alice</SourceIdentity><Credentials><AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>\
    <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>\
    <SessionToken>AQoDYXdzEPT//////////wEXAMPLE</SessionToken><Expiration>2019-11-09T13:34:41Z</Expiration>\
    </Credentials></AssumeRoleResult></AssumeRoleResponse>";

fn full(status: u16, body: &str) -> TestAnswer {
    TestAnswer::Full { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
}

fn source(origin: Origin, server: &TestServer, folder: &std::path::Path) -> AwsSource {
    AwsSource {
        origin,
        region: "eu-west-1".to_owned(),
        sts_endpoint: Some(server.url()),
        sign_on_endpoint: Some(server.url()),
        sign_on_folder: folder.to_owned(),
    }
}

fn own_keys() -> Origin {
    Origin::Keys(Keys { id: "AKID".to_owned(), secret: "hush-hush".to_owned(), token: None, expires_at_ms: None })
}

fn role(arn: &str) -> AwsRole {
    AwsRole { arn: arn.to_owned(), ..AwsRole::default() }
}

#[test]
fn a_role_is_assumed() {
    let server = TestServer::start(|_: &SeenRequest| full(200, ASSUMED));
    let origin = Origin::Role(role("arn:aws:iam::1:role/r"), Box::new(own_keys()));
    let granted = source(origin, &server, "/none".as_ref()).load().unwrap();
    assert_eq!(granted.config["s3.access-key-id"], "ASIAIOSFODNN7EXAMPLE");
    assert_eq!(granted.config["s3.session-token"], "AQoDYXdzEPT//////////wEXAMPLE");
    assert_eq!(granted.expires_at_ms(), Some(1_573_306_481_000));
    let seen = &server.seen()[0];
    assert!(
        seen.body.contains("Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"),
        "{seen:?}"
    );
    assert!(seen.body.contains("RoleSessionName=frazil"));
    assert!(seen.headers["authorization"].contains("/eu-west-1/sts/aws4_request"));
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), "web-token\n").unwrap();
    source(Origin::TokenFile(role("arn:w"), path.path().to_owned()), &server, "/none".as_ref()).load().unwrap();
    let seen = &server.seen()[1];
    assert!(seen.body.contains("AssumeRoleWithWebIdentity") && seen.body.contains("WebIdentityToken=web-token"));
    assert!(!seen.headers.contains_key("authorization"));
}

#[test]
fn a_refusal_says_why() {
    let body = "<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized</Message>\
                </Error></ErrorResponse>";
    let server = TestServer::start(move |_: &SeenRequest| full(403, body));
    let origin = Origin::Role(role("arn:r"), Box::new(own_keys()));
    let e = source(origin, &server, "/none".as_ref()).load().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::PermissionDenied);
    assert!(format!("{e}").contains("AccessDenied, not authorized") && !format!("{e:?}").contains("hush"), "{e}");
}

#[test]
fn a_login_gives_keys() {
    let keys = r#"{"roleCredentials": {"accessKeyId": "A", "secretAccessKey": "s", "sessionToken": "t",
                   "expiration": 1893553445000}}"#;
    let server = TestServer::start(move |_: &SeenRequest| full(200, keys));
    let folder = tempfile::tempdir().unwrap();
    let sign_on = SignOn {
        start_url: "https://corp.example/start/".to_owned(),
        region: "us-east-1".to_owned(),
        account: "111122223333".to_owned(),
        role: "Admin".to_owned(),
    };
    let source = source(Origin::SignOn(sign_on), &server, folder.path());
    let login = |name: &str, at: &str| {
        let json = format!(
            r#"{{"startUrl": "https://corp.example/start", "accessToken": "token-{name}", "expiresAt": "{at}"}}"#
        );
        std::fs::write(folder.path().join(name), json).unwrap();
    };
    login("a.json", "2020-01-01T00:00:00Z");
    let e = source.load().unwrap_err();
    assert!(e.hint_text().unwrap().contains("aws sso login"));
    login("b.json", "2120-01-01T00:00:00UTC");
    assert_eq!(source.load().unwrap().expires_at_ms(), Some(1_893_553_445_000));
    let seen = &server.seen()[0];
    assert_eq!(seen.path, "/federation/credentials?role_name=Admin&account_id=111122223333");
    assert_eq!(seen.headers["x-amz-sso_bearer_token"], "token-b.json");
}
