//! Text that may be shown to anybody: without secrets, and of bounded length.
//!
//! Locations, options and answers of servers are repeated in errors. They may hold passwords, tokens and signatures, or
//! be as long as a hostile file wants them to be.

use std::borrow::Cow;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// A parameter whose name has one of these parts has a secret value. Dashes and underscores do not matter.
const SECRET_NAMES: [&str; 12] = [
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "signature",
    "credential",
    "accesskey",
    "accountkey",
    "apikey",
    "privatekey",
    "authorization",
];

/// An option or property whose name has one of these parts may have a secret value, too. They are too common in other
/// texts: `key=1` is a folder of a partition.
const SECRET_OPTIONS: [&str; 5] = ["key", "private", "passphrase", "sas", "cookie"];

/// The most bytes of the note in the place of what is left out.
const NOTE: usize = 50;

/// Masks the secrets of a text and shortens it to `most` bytes, or to the note that something is missing.
pub fn public_text(text: &str, most: usize) -> Cow<'_, str> {
    match without_secrets(text) {
        Some(masked) => Cow::Owned(shorten(&masked, most).into_owned()),
        None => shorten(text, most),
    }
}

/// The beginning and the end of a text that is too long.
fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let most = most.saturating_sub(NOTE);
    let head = (0..=most / 4 * 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (text.len() - most / 4..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    Cow::Owned(format!("{} … ({} bytes left out) … {}", &text[..head], tail - head, &text[tail..]))
}

/// The text without its secrets; `None` if it has none.
fn without_secrets(text: &str) -> Option<String> {
    let masked = mask_user_information(text);
    let parameters = mask_parameters(masked.as_deref().unwrap_or(text));
    parameters.or(masked)
}

/// Masks the user information of URIs: `scheme://user:secret@host`.
fn mask_user_information(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for (start, is_encoded) in authorities(text) {
        if start < done {
            continue;
        }
        let rest = &text[start..];
        let length = if is_encoded { encoded_user_information(rest) } else { user_information(rest) };
        let Some(length) = length else { continue };
        out.push_str(&text[done..start]);
        out.push_str(MASK);
        done = start + length;
    }
    (done > 0).then(|| out + &text[done..])
}

/// Where authorities of URIs begin, and whether the URI is encoded, as in a path: `s3%3A%2F%2Fkey%3Asecret%40bucket`.
fn authorities(text: &str) -> impl Iterator<Item = (usize, bool)> {
    const ENCODED: &str = "%3A%2F%2F";
    text.match_indices([':', '%']).filter_map(|(at, sign)| match sign {
        ":" => text[at..].starts_with("://").then_some((at + "://".len(), false)),
        _ => {
            let found = text.get(at..at + ENCODED.len())?;
            found.eq_ignore_ascii_case(ENCODED).then_some((at + ENCODED.len(), true))
        }
    })
}

/// As [`user_information`], of an encoded URI.
fn encoded_user_information(rest: &str) -> Option<usize> {
    let ends = |c: char| c.is_whitespace() || "/'\"<>`".contains(c);
    let uri = rest.split(ends).next().unwrap_or_default();
    let end = uri.rfind("%40")?;
    let user = uri.get(..end)?;
    let is_colon = |at: usize| user.get(at..at + 3).is_some_and(|sign| sign.eq_ignore_ascii_case("%3A"));
    user.match_indices('%').any(|(at, _)| is_colon(at)).then_some(end)
}

/// The length of the user information at the start of a URI's rest, if it has a secret. Secret keys may contain
/// slashes, so that the last `@` ends it. The container of Azure's URIs is not a secret.
fn user_information(rest: &str) -> Option<usize> {
    let ends = |c: char| c.is_whitespace() || "'\"<>`".contains(c);
    let authority = rest.split(|c: char| ends(c) || "/?#".contains(c)).next().unwrap_or_default();
    let (_, secret) = authority.split_once(':')?;
    if authority.starts_with('[') || (!secret.contains('@') && secret.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let uri = rest.split(ends).next().unwrap_or_default();
    let path = uri.split('?').next().unwrap_or_default();
    path.rfind('@').or_else(|| uri.rfind('@')).or(Some(authority.len()))
}

/// The signs between names and values of parameters: `=`, `:`, and `%3D` in a path of a URL.
fn signs(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(['=', ':', '%']).filter_map(|(at, sign)| match sign {
        "%" => text.get(at..at + 3).filter(|sign| sign.eq_ignore_ascii_case("%3D")).map(|sign| (at, sign)),
        sign => Some((at, sign)),
    })
}

/// Masks the values of parameters with secret names: `?X-Amz-Signature=…`, `password=…`, `"s3.session-token": "…"`.
fn mask_parameters(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut done = 0;
    for (at, sign) in signs(text) {
        if at < done {
            continue;
        }
        let before = if sign == ":" { text[..at].trim_end_matches(['\'', '"']) } else { &text[..at] };
        let name = before.rsplit(|c: char| !c.is_alphanumeric() && !"-_.%".contains(c)).next();
        if !name.is_some_and(is_secret_name) {
            continue;
        }
        let start = at + sign.len();
        let rest = &text[start..];
        // In a path, `%26` is between parameters.
        let rest = if sign.len() > 1 { rest.split("%26").next().unwrap_or_default() } else { rest };
        let length = value_length(rest, sign == ":");
        if length == 0 || &text[start..start + length] == MASK {
            continue;
        }
        out.push_str(&text[done..start]);
        out.push_str(MASK);
        done = start + length;
    }
    (done > 0).then(|| out + &text[done..])
}

/// Whether an option or property of this name may have a secret value.
pub fn is_secret_option(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_secret_name(name) || SECRET_OPTIONS.iter().any(|part| lower.contains(part))
}

/// Whether a parameter of this name, in any text, has a secret value.
fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    plain == "sig" || SECRET_NAMES.iter().any(|part| plain.contains(part))
}

/// The length of a parameter's value: a quoted text, or unless it must be quoted the text up to the next separator.
fn value_length(rest: &str, quoted: bool) -> usize {
    let value = if quoted { rest.trim_start_matches(' ') } else { rest };
    let blank = rest.len() - value.len();
    match value.chars().next().filter(|c| "'\"".contains(*c)) {
        Some(quote) => blank + value[1..].find(quote).map_or(value.len(), |end| end + 2),
        None if quoted => 0,
        None => value.find(|c: char| c.is_whitespace() || "&;,'\"<>)`".contains(c)).unwrap_or(value.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_encoded_parameters_are_masked() {
        let shown = public_text(
            "GET http://h/b/t%3FX-Amz-Signature%3DdeadbeefSIG%26X-Amz-Credential%3dAKIA/v1.json: lost",
            999,
        );
        assert_eq!(shown, "GET http://h/b/t%3FX-Amz-Signature%3D***%26X-Amz-Credential%3d*** lost");
        assert_eq!(public_text("a%3D1%26b%3D2", 99), "a%3D1%26b%3D2");
    }

    #[test]
    fn secrets_of_uris_are_masked() {
        for (text, shown) in [
            ("s3://AKIA:hush@b/t", "s3://***@b/t"),
            ("s3://AKIA:hu/sh+1@b/t", "s3://***@b/t"),
            ("s3://AKIA:hush/t", "s3://***/t"),
            ("see 'postgresql://u:p@ss@h:5432/d' and http://a:b@c", "see 'postgresql://***@h:5432/d' and http://***@c"),
            ("https://h/t?X-Amz-Signature=hush&X-Amz-Date=1", "https://h/t?X-Amz-Signature=***&X-Amz-Date=1"),
            ("https://h/t?sv=2&sig=hu%2Fsh%3D", "https://h/t?sv=2&sig=***"),
            ("sqlite:///x.db?password=hush", "sqlite:///x.db?password=***"),
            ("the option 'password=hush' of it", "the option 'password=***' of it"),
            ("AccountName=a;AccountKey=a2V5==;X=1", "AccountName=a;AccountKey=***;X=1"),
            ("client_secret='hu sh', x", "client_secret=***, x"),
            ("{'s3.session-token': 'hu sh', 'x': 'y'}", "{'s3.session-token':***, 'x': 'y'}"),
            ("{\"password\":\"hush\"}", "{\"password\":***}"),
            ("t/u=s3%3A%2F%2FAKIA%3Ahush%40b/f.parquet", "t/u=s3%3A%2F%2F***%40b/f.parquet"),
            ("u=https%3a%2f%2Fu%3ahu%2Fsh%40h%2Fx", "u=https%3a%2f%2F***%40h%2Fx"),
        ] {
            assert_eq!(public_text(text, 1000), shown);
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "s3://b/t/key=1/x=2.parquet",
            "t/u=https%3A%2F%2Fh%3A80%2Fa/f.parquet",
            "t/u=https%3A%2F%2Fuser%40h/f.parquet",
            "http://localhost:9000/b/user@host",
            "http://[::1]:9000/x",
            "abfss://container@account.dfs.core.windows.net/t",
            "postgresql://user@host:5432/d",
            "id = 5 and design = 'x'",
            "password=",
            "there is no column token: see the schema",
            "token = 'x'",
            "12:30://",
        ] {
            assert!(matches!(public_text(text, 1000), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn names_of_secret_options() {
        for name in
            ["s3.access-key-id", "adls.SAS-token.x", "rest.private", "key", "header.Cookie", "jdbc.password", "sig"]
        {
            assert!(is_secret_option(name), "{name}");
        }
        for name in ["s3.region", "rest.client.proxy.hostname", "uri", "warehouse", "client.assume-role.arn"] {
            assert!(!is_secret_option(name), "{name}");
        }
    }

    #[test]
    fn long_texts_keep_both_ends() {
        let long = format!("begin{}end", "ä".repeat(100_000));
        let shown = public_text(&long, 400);
        assert!(shown.starts_with("begin") && shown.ends_with("end") && shown.len() <= 400, "{shown}");
        assert!(shown.contains("bytes left out"));
        assert_eq!(public_text("short", 5), "short");
    }

    proptest::proptest! {
        #[test]
        fn any_text_can_be_shown(text in ".{0,300}", parts in proptest::collection::vec("(://|=|@|:|'|token|é| ){1,9}", 0..30)) {
            for text in [text, parts.concat()] {
                let shown = public_text(&text, 100);
                proptest::prop_assert!(shown.len() <= 100);
                proptest::prop_assert!(public_text(&shown, 100).len() <= 100);
            }
        }
    }
}
