//! Names and values as parts of a URL.

/// The text with every byte encoded that is not a letter, a digit or one of `-._~`.
pub(crate) fn encoded(text: &str) -> String {
    kept(text, "-._~")
}

/// A path with every byte encoded that a path can't have. Slashes and encoded bytes stay.
pub(crate) fn encoded_path(path: &str) -> String {
    kept(path, "-._~/%:@!$&'()*+,;=")
}

fn kept(text: &str, signs: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match char::from(byte) {
            c if c.is_ascii_alphanumeric() || signs.contains(c) => out.push(c),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The text whose encoded form this is. `None` if it is not one.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|d| char::from(d).to_digit(16));
                (digit()? << 4 | digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// Names and values as a query or a form.
pub(crate) fn pairs(fields: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_and_decoded() {
        assert_eq!(encoded("a b/c\u{1f}ü~"), "a%20b%2Fc%1F%C3%BC~");
        assert_eq!(encoded_path("catalogs/1 2%2F"), "catalogs/1%202%2F");
        assert_eq!(decoded("a%20b%2fc").as_deref(), Some("a b/c"));
        assert_eq!((decoded("%2"), decoded("%zz"), decoded("%ff")), (None, None, None));
        assert_eq!(pairs(&[("a", "1&2"), ("b", "")]), "a=1%262&b=");
    }
}
