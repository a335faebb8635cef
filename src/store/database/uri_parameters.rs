//! The parameters at the end of a database's URI: `?name=value&…`.

use crate::error::{Error, Result};

/// The parameters of a URI. A reader takes those that it knows and leaves the others.
pub(super) struct UriParameters<'u> {
    place: &'u str,
    rest: Vec<(&'u str, &'u str)>,
}

impl<'u> UriParameters<'u> {
    /// The parameters of a URI. One without a value has an empty text.
    pub(super) fn of(uri: &'u str) -> UriParameters<'u> {
        let (place, query) = uri.split_once('?').unwrap_or((uri, ""));
        let parts = query.split('&').filter(|part| !part.is_empty());
        UriParameters { place, rest: parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect() }
    }

    /// The URI without its parameters.
    pub(super) fn place(&self) -> &'u str {
        self.place
    }

    /// Takes a parameter. If it stands several times, the last one counts.
    ///
    /// # Errors
    /// `InvalidInput` if the value is not URI-encoded.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<String>> {
        let value = self.rest.iter().rfind(|(key, _)| *key == name).map(|(_, value)| decoded(name, value));
        self.rest.retain(|(key, _)| *key != name);
        value.transpose()
    }

    /// The parameters that were not taken.
    pub(super) fn rest(&self) -> &[(&'u str, &'u str)] {
        &self.rest
    }

    /// The URI with the parameters that were not taken.
    pub(super) fn remaining_uri(&self) -> String {
        let rest: Vec<String> = self.rest.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if rest.is_empty() { self.place.to_owned() } else { format!("{}?{}", self.place, rest.join("&")) }
    }
}

/// The text of a URI-encoded value. `%2F` is a slash.
fn decoded(name: &str, text: &str) -> Result<String> {
    let wrong = || {
        Error::invalid(format!("'{text}' is not encoded as in URIs")).with("parameter", name).hint(
            "Write % and two hexadecimal digits for a byte that is not a letter or digit: %25 for %, %20 for a blank",
        )
    };
    let mut out = Vec::new();
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|d| char::from(*d).to_digit(16)).ok_or_else(wrong);
                (digit()? << 4 | digit()?) as u8
            }
            byte => *byte,
        });
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0')).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn known_parameters_are_taken_and_others_stay() {
        let mut parameters = UriParameters::of("postgresql://h/d?a=1&b=%2Fx&&a=2&c&d=e=f");
        assert_eq!(parameters.take("a").unwrap().as_deref(), Some("2"));
        assert_eq!(parameters.take("b").unwrap().as_deref(), Some("/x"));
        assert_eq!(parameters.take("c").unwrap().as_deref(), Some(""));
        assert_eq!(parameters.take("a").unwrap(), None);
        assert_eq!((parameters.place(), parameters.rest()), ("postgresql://h/d", [("d", "e=f")].as_slice()));
        assert_eq!(parameters.remaining_uri(), "postgresql://h/d?d=e=f");
        assert_eq!(UriParameters::of("postgresql://h/d?").remaining_uri(), "postgresql://h/d");
        for wrong in ["%", "%2", "%zz", "%00", "%ff"] {
            let uri = format!("x?a={wrong}");
            assert_eq!(UriParameters::of(&uri).take("a").unwrap_err().kind(), ErrorKind::InvalidInput, "{wrong}");
        }
    }
}
