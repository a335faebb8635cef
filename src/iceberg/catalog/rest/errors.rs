//! Refusals of a server.

use serde_json::Value as Json;

use super::answers::looks_like_html;
use crate::error::{Error, ErrorKind};
use crate::store::http::HttpAnswer;

/// A refusal in the server's words.
#[derive(Clone, Debug)]
pub(super) struct ServerError {
    /// The status of the answer.
    pub(super) status: u16,
    /// The type of the error, such as `NoSuchTableException`. Empty if the answer is not in the form of the API.
    pub(super) kind: String,
    /// What the server says.
    pub(super) message: String,
    /// Whether the answer is a page for people.
    is_page: bool,
    /// Whether the answer had a body.
    has_body: bool,
    /// The proxy whose answer it may be.
    proxy: Option<String>,
}

impl ServerError {
    /// Reads a refusal, in whatever form it is.
    pub(super) fn of(answer: &HttpAnswer) -> ServerError {
        let json: Option<Json> = serde_json::from_slice(&answer.body).ok();
        let json = json.as_ref();
        let model = json.and_then(|json| json.get("error")).filter(|error| error.is_object());
        let text = |key: &str| model.and_then(|m| m.get(key)).and_then(Json::as_str).map(str::to_owned);
        // Servers that are no catalogs use other members.
        let other = |key: &str| json.and_then(|json| json.get(key)).and_then(Json::as_str).map(str::to_owned);
        let (is_page, has_body) = (looks_like_html(answer), !answer.body.is_empty());
        let message = text("message").or_else(|| other("message")).or_else(|| other("error")).unwrap_or_default();
        let (kind, proxy) = (text("type").unwrap_or_default(), answer.proxy.clone());
        ServerError { status: answer.status, kind, message, is_page, has_body, proxy }
    }

    /// For a request that the server never answered.
    pub(super) fn none() -> ServerError {
        let (kind, message) = (String::new(), String::new());
        ServerError { status: 0, kind, message, is_page: false, has_body: false, proxy: None }
    }

    /// Whether the type has a part of this name.
    pub(super) fn is(&self, part: &str) -> bool {
        self.kind.to_ascii_lowercase().contains(part)
    }

    /// Whether the server says that it does not know what became of a request. Some servers say so with status 400.
    pub(super) fn is_unknown(&self) -> bool {
        let says_so = ["commitstateunknown", "servicefailure", "serviceunavailable", "internalserver"];
        says_so.iter().any(|part| self.is(part)) || self.status == 408 || (self.status >= 500 && self.status != 501)
    }

    /// Whether the server says that a snapshot came too late: its sequence number is taken by another branch's commit.
    pub(super) fn is_late(&self) -> bool {
        self.status == 400 && self.message.contains("sequence number") && self.message.contains("older than")
    }

    /// What the server says, as one text. It may hold secrets.
    pub(super) fn text(&self) -> String {
        let mut out = self.status.to_string();
        if !self.kind.is_empty() {
            out = format!("{out} {}", self.kind);
        }
        match self.message.is_empty() {
            true if self.is_page => out + ", a web page (HTML)",
            true => out,
            false => format!("{out}, {}", self.message),
        }
    }

    /// The kind of the crate's error.
    fn error_kind(&self) -> ErrorKind {
        match self.status {
            _ if self.is("commitstateunknown") => ErrorKind::CommitStateUnknown,
            _ if self.is("commitfailed") => ErrorKind::CommitConflict,
            _ if self.is("namespacenotempty") => ErrorKind::InvalidInput,
            _ if self.is("alreadyexists") => ErrorKind::AlreadyExists,
            _ if self.is("unsupportedoperation") => ErrorKind::Unsupported,
            401 | 403 | 407 | 419 => ErrorKind::PermissionDenied,
            // Only the catalog itself can know that something is missing.
            404 if self.is("nosuch") || self.is("notfound") || !self.has_body => ErrorKind::NotFound,
            404 if self.is_page || self.kind.is_empty() && self.message.is_empty() => ErrorKind::Store,
            404 => ErrorKind::NotFound,
            405 | 406 | 501 => ErrorKind::Unsupported,
            409 => ErrorKind::AlreadyExists,
            400 | 411..=417 | 422 => ErrorKind::InvalidInput,
            _ => ErrorKind::Store,
        }
    }

    /// The crate's error for a request that was to do something. `said` is [`ServerError::text`] without secrets.
    pub(super) fn error(&self, doing: &str, said: String) -> Error {
        let kind = self.error_kind();
        let mut error = Error::new(kind, format!("the catalog's server refused to {doing}: {said}"));
        // A catalog's own answer has a type.
        if let Some(proxy) = self.proxy.as_ref().filter(|_| self.kind.is_empty()) {
            error = error.with("proxy", proxy).hint("The proxy may have answered for the server: check both");
        }
        match (self.status, kind) {
            (300..=399, _) => error.hint("The server is at another URL: set the catalog's uri to it"),
            (401 | 419, _) => error.hint("Check token and credential, or get new ones"),
            (403, _) => error.hint("Ask for the permission, or use another credential or scope"),
            (404, ErrorKind::Store) => error.hint("Check the catalog's uri: the server does not know this route"),
            (429 | 503, _) => error.hint("Try again later"),
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> ServerError {
        ServerError::of(&HttpAnswer {
            status,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
            is_repetition: false,
            proxy: None,
        })
    }

    fn model(status: u16, kind: &str) -> ServerError {
        error(status, &format!(r#"{{"error": {{"message": "m", "type": "{kind}", "code": {status}}}}}"#))
    }

    #[test]
    fn types_and_statuses_are_understood() {
        let kind = |e: ServerError| e.error("do it", e.text()).kind();
        for (status, name, expected) in [
            (404, "NoSuchTableException", ErrorKind::NotFound),
            (404, "NotFoundException", ErrorKind::NotFound),
            (409, "AlreadyExistsException", ErrorKind::AlreadyExists),
            (409, "NamespaceNotEmptyException", ErrorKind::InvalidInput),
            (409, "CommitFailedException", ErrorKind::CommitConflict),
            (400, "CommitStateUnknownException", ErrorKind::CommitStateUnknown),
            (400, "BadRequestException", ErrorKind::InvalidInput),
            (403, "ForbiddenException", ErrorKind::PermissionDenied),
            (406, "UnsupportedOperationException", ErrorKind::Unsupported),
            (503, "SlowDownException", ErrorKind::Store),
        ] {
            assert_eq!(kind(model(status, name)), expected, "{name}");
        }
        assert_eq!(kind(error(404, "")), ErrorKind::NotFound);
        assert_eq!(kind(error(404, "<html>nothing here</html>")), ErrorKind::Store);
        assert_eq!(kind(error(404, "404 page not found")), ErrorKind::Store);
        assert_eq!(kind(error(404, r#"{"message": "no such table"}"#)), ErrorKind::NotFound);
    }

    #[test]
    fn a_server_may_not_know_what_happened() {
        for unknown in [model(400, "CommitStateUnknownException"), model(500, ""), error(502, "<html>"), error(408, "")]
        {
            assert!(unknown.is_unknown(), "{unknown:?}");
        }
        for certain in [model(400, "BadRequestException"), model(403, "x"), model(501, "x"), model(409, "x")] {
            assert!(!certain.is_unknown(), "{certain:?}");
        }
        let late = error(
            400,
            r#"{"error": {"message": "Cannot add snapshot with sequence number 5 older than last sequence number 5"}}"#,
        );
        assert!(late.is_late() && !model(400, "BadRequestException").is_late());
        assert_eq!(error(302, "<p>").text(), "302, a web page (HTML)");
        assert_eq!(model(404, "T").text(), "404 T, m");
    }
}
