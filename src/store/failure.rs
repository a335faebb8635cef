//! Errors of object stores, in the words of this crate and without secrets.

use std::error::Error as StdError;
use std::fmt;

use object_store::Error as StoreError;
use object_store::client::{HttpError, HttpErrorKind};

use super::http::proxy_of_environment;
use super::options::Secrets;
use crate::error::{Error, ErrorKind};

/// The hint for a missing file.
pub(super) const GONE: &str = "Check the path";

/// The most characters of an answer that are shown.
const MOST_TEXT: usize = 300;

/// The reason of an error, as far as it may be shown.
#[derive(Debug)]
pub(super) struct Failure {
    text: String,
    /// Whether the request certainly had no effect: the store refused it, or never received it.
    refused: bool,
    /// Whether the store never received the request.
    unsent: bool,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Failure {}

impl Failure {
    /// The reason for an answer that did not arrive. `unsent` tells whether the server never received the request.
    pub(super) fn of_transport(text: String, unsent: bool) -> Failure {
        Failure { text, refused: unsent, unsent }
    }
}

/// The combined information of the parts of an error.
#[derive(Debug, Default)]
struct ErrorParts {
    /// Of the answer, if there was one.
    status: Option<u16>,
    /// That of the connection.
    http: Option<HttpErrorKind>,
    text: String,
}

fn parts_of(e: &StoreError) -> ErrorParts {
    let mut parts = ErrorParts::default();
    let mut cause: Option<&dyn StdError> = Some(e);
    let mut deepest = String::new();
    while let Some(this) = cause {
        if let Some(http) = this.downcast_ref::<HttpError>() {
            parts.http = Some(http.kind());
        }
        deepest = this.to_string();
        if parts.status.is_none() {
            parts.status = status_in(&deepest);
        }
        if let Some(answer) = answer_in(&deepest) {
            parts.text = answer;
        }
        cause = this.source();
    }
    if parts.text.is_empty() {
        parts.text = match parts.status {
            Some(status) => format!("status {status}"),
            None => deepest,
        };
    } else if let Some(status) = parts.status {
        parts.text = format!("{}: {}", status, parts.text);
    }
    parts
}

/// A text without secrets, and not longer than [`MOST_TEXT`].
pub(super) fn public(text: String, secrets: &Secrets) -> String {
    let mut text = secrets.masked(text);
    text.truncate(text.trim_end_matches('.').len());
    if text.len() > MOST_TEXT {
        let end = (0..=MOST_TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The status that an error of `object_store` speaks of, whose type is private there.
fn status_in(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// Code and message of an answer in XML. Other parts of it may hold keys of the user.
fn answer_in(text: &str) -> Option<String> {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.trim().lines().next().unwrap_or_default().to_owned())
    };
    match (element("Code")?, element("Message")) {
        (code, Some(message)) if !message.is_empty() => Some(format!("{code}, {message}")),
        (code, _) => Some(code),
    }
}

/// An error of this crate that `object_store` passed through: credentials that can't be had, a refused signature.
fn own_error(e: &StoreError) -> Option<&Error> {
    let mut cause: Option<&dyn StdError> = Some(e);
    while let Some(this) = cause {
        if let Some(own) = this.downcast_ref::<Error>() {
            return Some(own);
        }
        cause = this.source();
    }
    None
}

/// Requests to the metadata services of machines, and where credentials were looked for before.
const MACHINES: [(&[&str], &str); 3] = [
    (
        &["latest/api/token", "latest/meta-data/iam/"],
        "They were looked for in storage_options (s3.access-key-id, credential_provider), in the environment \
         (AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE), in ~/.aws/credentials and ~/.aws/config, and last \
         at the metadata service of the machine. For a public bucket, set s3.anonymous='true'",
    ),
    (
        &["computeMetadata/v1/"],
        "They were looked for in storage_options (gcs.oauth2.token, credential_provider), in the environment \
         (GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT), in the files of gcloud, and last at the metadata service \
         of the machine. For a public bucket, set google_skip_signature='true'",
    ),
    (
        &["metadata/identity/oauth2/token"],
        "They were looked for in storage_options (adls.account-key, adls.sas-token, credential_provider), in the environment \
         (AZURE_STORAGE_ACCOUNT_KEY, AZURE_CLIENT_ID), and last at the metadata service of the machine",
    ),
];

/// What to do if a proxy asks for a login.
const PROXY_LOGIN: &str = "Give the proxy's login: s3.proxy-uri (proxy_url), or the variable HTTPS_PROXY or HTTP_PROXY, \
                           as http://user:password@host:port";

/// Host and port of the proxy that the environment names for the failed request.
fn proxy_of(e: &StoreError) -> Option<String> {
    let mut cause: Option<&dyn StdError> = Some(e);
    while let Some(this) = cause {
        let text = this.to_string();
        let address = text.strip_prefix("Error performing ").and_then(|rest| rest.split(' ').nth(1));
        if let Some(address) = address {
            return proxy_of_environment(address);
        }
        cause = this.source();
    }
    None
}

/// Where credentials were looked for, if the machine's metadata service was asked for them and did not give any.
fn asked_machine(e: &StoreError) -> Option<&'static str> {
    let mut cause: Option<&dyn StdError> = Some(e);
    while let Some(this) = cause {
        // A failed request says its method and its address.
        let text = this.to_string();
        let address = text.strip_prefix("Error performing ").and_then(|rest| rest.split(' ').nth(1));
        let path = address.and_then(|address| address.split_once("://")?.1.split_once('/').map(|(_, path)| path));
        if let Some(path) = path
            && let Some((_, hint)) =
                MACHINES.iter().find(|(known, _)| known.iter().any(|start| path.starts_with(start)))
        {
            return Some(hint);
        }
        cause = this.source();
    }
    None
}

/// Such an error. The request was never sent.
fn carried(own: &Error, path: &str, secrets: &Secrets) -> Error {
    let cause = StdError::source(own).map(ToString::to_string).unwrap_or_default();
    let text = public(cause, secrets);
    let mut error = Error::new(own.kind(), public(own.message().to_owned(), secrets)).with("path", path);
    for (key, value) in own.context() {
        error = error.with(key, value);
    }
    if let Some(hint) = own.hint_text() {
        error = error.hint(hint);
    }
    error.because(Failure { text, refused: true, unsent: true })
}

/// The crate's error for a store that failed to `action` (`read`, `write`, …) the object at `path`.
pub(super) fn failure(action: &str, path: &str, e: StoreError, secrets: &Secrets) -> Error {
    if let Some(own) = own_error(&e) {
        return carried(own, path, secrets);
    }
    let parts = parts_of(&e);
    if let Some(service) = asked_machine(&e) {
        let text = public(parts.text, secrets);
        return Error::new(ErrorKind::PermissionDenied, "no credentials for the object store were found")
            .with("path", path)
            .hint(service)
            .because(Failure {
                text: format!("the metadata service of the machine: {text}"),
                refused: true,
                unsent: true,
            });
    }
    let kind = match (&e, parts.status) {
        (StoreError::NotFound { .. }, _) | (_, Some(404)) => ErrorKind::NotFound,
        (StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. }, _) | (_, Some(401 | 403 | 407)) => {
            ErrorKind::PermissionDenied
        }
        (StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }, _) => ErrorKind::AlreadyExists,
        (StoreError::UnknownConfigurationKey { .. }, _) => ErrorKind::InvalidInput,
        (StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }, _) => ErrorKind::Unsupported,
        _ => ErrorKind::Store,
    };
    let unsent = parts.http == Some(HttpErrorKind::Connect);
    let is_setting = matches!(kind, ErrorKind::InvalidInput | ErrorKind::Unsupported);
    // A request that came too late (408) may have been carried out.
    let refused = unsent
        || is_setting
        || parts.status.is_some_and(|s| (400..500).contains(&s) && s != 408 && s != 409 && s != 412);
    let text = public(parts.text, secrets);
    let no_bucket = text.contains("NoSuchBucket") || text.contains("ContainerNotFound");
    let no_login = parts.status == Some(407) || text.contains("proxy authorization required");
    let message = match no_bucket {
        true => format!("cannot {action} the object: there is no such bucket"),
        false if no_login => format!("cannot {action} the object: the proxy asks for a login that is missing or wrong"),
        false if unsent => "cannot connect to the object store".to_owned(),
        false => format!("cannot {action} the object"),
    };
    let error = Error::new(kind, message).with("path", path);
    let by_gateway = no_login || unsent || matches!(parts.status, Some(502..=504));
    let error = match by_gateway.then(|| proxy_of(&e)).flatten() {
        Some(proxy) => error.with("proxy", proxy),
        None => error,
    };
    let error = match kind {
        _ if no_login => error.hint(PROXY_LOGIN),
        ErrorKind::NotFound if no_bucket => error.hint("Check the location, and the endpoint and region of the store"),
        ErrorKind::NotFound => error.hint(GONE),
        ErrorKind::PermissionDenied => {
            error.hint("Check the credentials in storage_options or the environment, and their permissions")
        }
        _ if text.contains("incorrectly configured region") => error.hint("Set the region of the bucket: s3.region"),
        _ if unsent => error.hint("Check the endpoint in storage_options or the environment, and the network"),
        _ => error,
    };
    error.because(Failure { text, refused, unsent })
}

/// The status of the answer in an error.
pub(super) fn status(e: &StoreError) -> Option<u16> {
    parts_of(e).status
}

/// Whether an error says that the store could not be reached.
pub(super) fn is_unsent(e: &Error) -> bool {
    StdError::source(e).and_then(|source| source.downcast_ref::<Failure>()).is_some_and(|failure| failure.unsent)
}

/// Whether an error says that the store refused the request, or never received it.
pub(super) fn is_refusal(e: &Error) -> bool {
    let failure = StdError::source(e).and_then(|source| source.downcast_ref::<Failure>());
    failure.map_or(matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported), |failure| failure.refused)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::store::options::StoreOptions;

    fn generic(text: &str) -> StoreError {
        StoreError::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn answers_are_shown_without_secrets() {
        let body = "Server returned non-2xx status code: 403 Forbidden: <Error><Code>InvalidAccessKeyId</Code>\
                    <Message>No such key sesame</Message><AWSAccessKeyId>AKIA</AWSAccessKeyId></Error>";
        let options = BTreeMap::from([("s3.secret-access-key".to_owned(), "sesame".to_owned())]);
        let secrets = StoreOptions::new(&options).unwrap().secrets();
        let e = failure("read", "s3://b/k", generic(body), &secrets);
        assert_eq!(e.kind(), ErrorKind::PermissionDenied);
        assert!(e.to_string().contains("403: InvalidAccessKeyId, No such key ***"), "{e}");
        assert!(!e.to_string().contains("AKIA") && is_refusal(&e));
    }

    #[test]
    fn a_silent_metadata_service_means_that_there_are_no_credentials() {
        let asked = "Error performing PUT http://169.254.169.254/latest/api/token in 3s - connection refused";
        let e = failure("read", "s3://b/k", generic(asked), &Secrets::default());
        assert_eq!(e.kind(), ErrorKind::PermissionDenied);
        assert!(e.message().contains("no credentials"), "{e}");
        assert!(e.hint_text().is_some_and(|hint| hint.contains("AWS_ACCESS_KEY_ID")) && is_refusal(&e));
        // An object of such a name is not the service.
        let object = "Error performing GET https://host/bucket/latest/api/token in 3s - status code: 500 X";
        let e = failure("read", "s3://b/latest/api/token", generic(object), &Secrets::default());
        assert_eq!(e.kind(), ErrorKind::Store);
    }

    #[test]
    fn a_proxy_without_a_login_is_named() {
        let asked = "Error performing GET http://host/b/k in 3s - status code: 407 X: ";
        let e = failure("read", "s3://b/k", generic(asked), &Secrets::default());
        assert_eq!(e.kind(), ErrorKind::PermissionDenied);
        assert!(e.message().contains("the proxy asks for a login") && is_refusal(&e), "{e}");
        assert!(e.hint_text().is_some_and(|hint| hint.contains("s3.proxy-uri")));
    }

    #[test]
    fn certain_refusals_and_unknown_outcomes() {
        let status =
            |code: u16| failure("write", "p", generic(&format!("status code: {code} X: ")), &Secrets::default());
        for code in [400, 403, 404, 405] {
            assert!(is_refusal(&status(code)), "{code}");
        }
        for code in [409, 500, 503] {
            assert!(!is_refusal(&status(code)), "{code}");
        }
        assert!(!is_refusal(&failure("write", "p", generic("timed out"), &Secrets::default())));
        assert!(is_refusal(&Error::invalid("x")) && !is_refusal(&Error::internal("interrupted")));
        let http = HttpError::new(HttpErrorKind::Connect, std::io::Error::other("refused"));
        let e = failure("write", "p", StoreError::Generic { store: "S3", source: Box::new(http) }, &Secrets::default());
        assert!(is_refusal(&e) && e.message().contains("connect"), "{e}");
    }
}
