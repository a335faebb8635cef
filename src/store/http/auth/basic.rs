//! A user's name and password.

use base64::prelude::{BASE64_STANDARD, Engine as _};

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
        let header = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}").as_bytes()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_the_standard() {
        // RFC 7617, section 2.
        let login = BasicLogin::new("Aladdin", "open sesame");
        assert_eq!(login.header, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(!format!("{login:?}").contains("sesame"));
    }
}
