//! A request, before a proof of who sends it is added.

/// The verb of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HttpVerb {
    /// Reads.
    Get,
    /// Asks whether something exists.
    Head,
    /// Changes something.
    Post,
    /// Removes something.
    Delete,
}

impl HttpVerb {
    /// The verb as it is sent.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            HttpVerb::Get => "GET",
            HttpVerb::Head => "HEAD",
            HttpVerb::Post => "POST",
            HttpVerb::Delete => "DELETE",
        }
    }

    /// Whether such a request changes nothing.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, HttpVerb::Get | HttpVerb::Head)
    }
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(crate) struct HttpBody {
    /// `Content-Type`.
    pub(crate) content_type: &'static str,
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct HttpRequest {
    /// What to do.
    pub(crate) verb: HttpVerb,
    /// Where, with the query.
    pub(crate) url: String,
    /// Further headers.
    pub(crate) headers: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Option<HttpBody>,
    /// Whether the server recognises a repetition, so that a second request changes nothing.
    pub(crate) repeatable: bool,
}

impl HttpRequest {
    /// A request without a body.
    pub(crate) fn new(verb: HttpVerb, url: impl Into<String>) -> HttpRequest {
        HttpRequest { verb, url: url.into(), headers: Vec::new(), body: None, repeatable: verb.only_reads() }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> HttpRequest {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets a body of JSON.
    pub(crate) fn json(mut self, json: &serde_json::Value) -> HttpRequest {
        self.body = Some(HttpBody { content_type: "application/json", bytes: json.to_string().into_bytes() });
        self
    }

    /// Sets a body of a form's fields.
    pub(crate) fn form(mut self, fields: &[(&str, &str)]) -> HttpRequest {
        let bytes = super::pairs(fields).into_bytes();
        self.body = Some(HttpBody { content_type: "application/x-www-form-urlencoded", bytes });
        self
    }
}
