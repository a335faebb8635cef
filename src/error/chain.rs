//! The error itself: a message, where, why underneath, and what to do.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use super::kind::ErrorKind;
use super::public_text::public_text;

/// The most bytes of a message, a hint and the text of an underlying error.
const MOST_TEXT: usize = 4000;

/// The most bytes of a value of the context: the longest path of most systems.
const MOST_VALUE: usize = 4096;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The crate's error. Small to move: everything is behind one pointer.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    context: Vec<(&'static str, String)>,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

macro_rules! constructors {
    ($($name:ident => $kind:ident),* $(,)?) => {$(
        #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Self {
            Error::new(ErrorKind::$kind, message)
        }
    )*};
}

impl Error {
    /// An error of `kind` that says `message` (what failed, in one sentence without the path).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = shown(message.into(), MOST_TEXT);
        Error(Box::new(Inner { kind, message, context: Vec::new(), hint: None, source: None }))
    }

    constructors! {
        not_found => NotFound, already_exists => AlreadyExists, invalid => InvalidInput, corrupt => CorruptTable,
        unsupported => Unsupported, conflict => CommitConflict, state_unknown => CommitStateUnknown,
        denied => PermissionDenied, store => Store, internal => Internal,
    }

    /// The error for a counter of a table that has reached its end.
    pub(crate) fn used_up(what: &str) -> Self {
        Error::invalid(format!("the table has no {what} left: the largest possible number is used"))
            .hint("Create a new table and append the rows to it")
    }

    /// Adds where it happened: `("path", …)`, `("snapshot", …)`, `("column", …)`. The first value of a key stays.
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        if !self.0.context.iter().any(|(k, _)| *k == key) {
            self.0.context.push((key, shown(value.to_string(), MOST_VALUE)));
        }
        self
    }

    /// Says what the caller can do. The first hint stays, being the one nearest to the cause.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| shown(hint.into(), MOST_TEXT));
        self
    }

    /// Replaces what the caller can do, where more is known than near the cause.
    pub fn advise(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(shown(hint.into(), MOST_TEXT));
        self
    }

    /// Attaches the underlying error.
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error once more; of the underlying error the text.
    pub fn duplicate(&self) -> Self {
        let Inner { kind, message, context, hint, source } = self.0.as_ref();
        let source = source.as_ref().map(|s| s.to_string().into());
        let (message, context, hint) = (message.clone(), context.clone(), hint.clone());
        Error(Box::new(Inner { kind: *kind, message, context, hint, source }))
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What failed, without context and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it failed, as key and value in the order given.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// What the caller can do, if anything is known.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

/// The text as it may be shown, without a copy if nothing changes.
fn shown(text: String, most: usize) -> String {
    match public_text(&text, most) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        let mut open = false;
        for (k, v) in &self.0.context {
            write!(f, "{}{k}: {v}", if open { ", " } else { " (" })?;
            open = true;
        }
        if open {
            f.write_str(")")?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {}", public_text(&source.to_string(), MOST_TEXT))?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, ". {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as _)
    }
}

/// Adds context to the error of a result on its way up.
pub trait ResultExt<T> {
    /// As [`Error::with`].
    fn with(self, key: &'static str, value: impl fmt::Display) -> Result<T>;
    /// As [`Error::hint`].
    fn hint(self, hint: &str) -> Result<T>;
    /// `None` instead of a `NotFound` error.
    fn if_found(self) -> Result<Option<T>>;
}

impl<T> ResultExt<T> for Result<T> {
    fn with(self, key: &'static str, value: impl fmt::Display) -> Result<T> {
        self.map_err(|e| e.with(key, value))
    }

    fn hint(self, hint: &str) -> Result<T> {
        self.map_err(|e| e.hint(hint))
    }

    fn if_found(self) -> Result<Option<T>> {
        match self {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_where_why_and_remedy() {
        let e =
            Error::corrupt("the manifest ends early").with("path", "m.avro").with("path", "other").hint("Restore it");
        assert_eq!(e.to_string(), "the manifest ends early (path: m.avro). Restore it");
        assert_eq!(e.kind().as_str(), "corrupt_table");
    }

    #[test]
    fn no_part_shows_a_secret_or_grows_without_bound() {
        let secret = "s3://AKIA:hush@b/t";
        let long = "x".repeat(1_000_000);
        let source = std::io::Error::other(format!("https://h/?token=hush {long}"));
        let e = Error::store(format!("no {secret}{long}")).with("path", format!("{secret}{long}"));
        let e = e.with("other", secret).hint(format!("try {secret} {long}")).because(source);
        for text in [e.to_string(), format!("{e:?}"), e.duplicate().to_string(), format!("{:?}", e.context())] {
            assert!(!text.contains("hush") && text.len() < 20_000, "{}", text.len());
        }
        assert!(!e.advise(secret).to_string().contains("hush"));
    }
}
