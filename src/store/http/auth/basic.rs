//! A user's name and password.

use super::super::request::HttpRequest;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::Result;

/// A user's name and password, sent with every request.
pub(crate) struct BasicLogin {
    header: String,
    password: String,
}

impl std::fmt::Debug for BasicLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BasicLogin")
    }
}

impl BasicLogin {
    /// The login of a user.
    pub(crate) fn new(user: &str, password: &str) -> BasicLogin {
        let header = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        BasicLogin { header, password: password.to_owned() }
    }
}

impl Authorizer for BasicLogin {
    fn authorize(&self, _: &HttpRequest) -> Result<Vec<(String, String)>> {
        Ok(vec![(AUTHORIZATION.to_owned(), self.header.clone())])
    }

    fn secrets(&self) -> Vec<String> {
        let all = [self.password.clone(), self.header.trim_start_matches("Basic ").to_owned()];
        all.into_iter().filter(|text| text.len() > 3).collect()
    }
}

/// Bytes in Base64 (RFC 4648), with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = (word >> (18 - 6 * at)) as usize & 63;
            out.push(if at <= chunk.len() { char::from(DIGITS[digit]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        // RFC 4648, section 10.
        let known =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE=")];
        for (text, encoded) in known {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        let login = BasicLogin::new("Aladdin", "open sesame");
        assert_eq!(login.header, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(!format!("{login:?}").contains("sesame"));
    }
}
