//! Keys of assumed roles, of the service STS and of single sign-on.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::super::http::auth::{Authorizer, AwsKeys, AwsSignatures};
use super::super::super::http::{HttpClient, HttpRequest, HttpSettings, HttpVerb, pairs};
use super::keys::{AwsRole, Keys, SignOn};
use crate::error::{Error, ErrorKind, Result};
use crate::types::temporal::{now_ms, parse_timestamp};

/// The version of the service's interface.
const VERSION: &str = "2011-06-15";

/// The name of a session that nobody named.
const SESSION: &str = "frazil";

/// Assumes a role, with the keys of somebody who may. Without keys, those of the environment are used.
///
/// # Errors
/// `PermissionDenied` with the service's reason.
pub(super) fn assume(role: &AwsRole, keys: Option<Keys>, region: &str, endpoint: Option<&str>) -> Result<Keys> {
    let keys = keys.map(|Keys { id, secret, token, .. }| AwsKeys { id, secret, token });
    let signatures: Arc<dyn Authorizer> = Arc::new(AwsSignatures::new("sts", region, keys, None));
    let mut fields = vec![("Action", "AssumeRole"), ("Version", VERSION), ("RoleArn", role.arn.as_str())];
    fields.push(("RoleSessionName", role.session.as_deref().unwrap_or(SESSION)));
    fields.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
    fields.extend(role.seconds.as_deref().map(|seconds| ("DurationSeconds", seconds)));
    session_keys(&fields, region, endpoint, Some(signatures), &role.arn)
}

/// Assumes a role with a token of another identity, which a file has.
///
/// # Errors
/// As [`assume`]; `Store` for a file that can't be read.
pub(super) fn assume_by_token(role: &AwsRole, file: &Path, region: &str, endpoint: Option<&str>) -> Result<Keys> {
    let token = std::fs::read_to_string(file).map_err(|e| {
        Error::store("the token of the web identity can't be read").with("path", file.display()).because(e)
    })?;
    let fields = [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", role.arn.as_str()),
        ("RoleSessionName", role.session.as_deref().unwrap_or(SESSION)),
        ("WebIdentityToken", token.trim()),
    ];
    session_keys(&fields, region, endpoint, None, &role.arn)
}

fn session_keys(
    fields: &[(&str, &str)],
    region: &str,
    endpoint: Option<&str>,
    authorizer: Option<Arc<dyn Authorizer>>,
    role: &str,
) -> Result<Keys> {
    let secrets = fields.iter().filter(|(name, _)| *name == "WebIdentityToken").map(|(_, value)| (*value).to_owned());
    let settings = HttpSettings { secrets: secrets.collect(), ..HttpSettings::default() };
    let client = HttpClient::new(settings, authorizer);
    let url = endpoint.map_or_else(|| format!("https://sts.{region}.amazonaws.com/"), str::to_owned);
    let mut request = HttpRequest::new(HttpVerb::Post, url).form(fields);
    request.repeatable = true;
    let answer = client.send(&request)?;
    let text = String::from_utf8_lossy(&answer.body);
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.trim().to_owned())
    };
    let refused = |why: String| {
        Error::denied("the role can't be assumed")
            .with("role", role)
            .because(why)
            .hint("Check the role's name, and that its trust policy allows the identity that assumes it")
    };
    if !answer.is_success() {
        let said = [element("Code"), element("Message")].into_iter().flatten().collect::<Vec<_>>().join(", ");
        return Err(refused(client.public(format!("{} {said}", answer.status))));
    }
    match (element("AccessKeyId"), element("SecretAccessKey"), element("SessionToken")) {
        (Some(id), Some(secret), token) => {
            let expires_at_ms = element("Expiration").and_then(|at| Some(parse_timestamp(&at, 1000)?.0));
            Ok(Keys { id, secret, token, expires_at_ms })
        }
        _ => Err(refused("the answer has no keys".to_owned())),
    }
}

/// Keys of a role, by the token that `aws sso login` left.
///
/// # Errors
/// `PermissionDenied` without a valid token, or with the service's reason.
pub(super) fn signed_on(sign_on: &SignOn, folder: &Path, endpoint: Option<&str>) -> Result<Keys> {
    let token = token_of(sign_on, folder).ok_or_else(|| {
        Error::denied("there is no valid login by single sign-on")
            .with("start_url", &sign_on.start_url)
            .hint("Log in again with: aws sso login")
    })?;
    let host = endpoint.map_or_else(|| format!("https://portal.sso.{}.amazonaws.com", sign_on.region), str::to_owned);
    let query = pairs(&[("role_name", sign_on.role.as_str()), ("account_id", sign_on.account.as_str())]);
    let url = format!("{}/federation/credentials?{query}", host.trim_end_matches('/'));
    let request = HttpRequest::new(HttpVerb::Get, url).header("x-amz-sso_bearer_token", token.clone());
    let client = HttpClient::new(HttpSettings { secrets: vec![token], ..HttpSettings::default() }, None);
    let answer = client.send(&request)?;
    let refused = |why: String| {
        let error = Error::new(ErrorKind::PermissionDenied, "single sign-on gives no keys for the role");
        error.with("role", &sign_on.role).with("account", &sign_on.account).because(why)
    };
    if !answer.is_success() {
        return Err(refused(format!("status {}", answer.status)).hint("Log in again with: aws sso login"));
    }
    let json: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
    let member = |name: &str| json.get("roleCredentials").and_then(|keys| keys.get(name));
    let text = |name: &str| member(name).and_then(Json::as_str).map(str::to_owned);
    match (text("accessKeyId"), text("secretAccessKey")) {
        (Some(id), Some(secret)) => {
            let expires_at_ms = member("expiration").and_then(Json::as_i64);
            Ok(Keys { id, secret, token: text("sessionToken"), expires_at_ms })
        }
        _ => Err(refused("the answer has no keys".to_owned())),
    }
}

/// A token that has not expired. Each file of the folder has one.
fn token_of(sign_on: &SignOn, folder: &Path) -> Option<String> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    files.iter().find_map(|path| {
        let json: Json = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        let text = |name: &str| json.get(name)?.as_str();
        let valid = parse_timestamp(&text("expiresAt")?.replace("UTC", "Z"), 1000)?.0 > now_ms();
        let fits = text("startUrl")?.trim_end_matches(['/', '#']) == sign_on.start_url.trim_end_matches(['/', '#']);
        (valid && fits).then(|| text("accessToken").map(str::to_owned)).flatten()
    })
}
