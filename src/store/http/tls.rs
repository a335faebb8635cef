//! Which servers are trusted, and the client's own certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_platform_verifier::Verifier;

use super::settings::HttpSettings;
use crate::error::{Error, Result};

/// The TLS of a client. Authorities of the settings are trusted in addition to those of the system.
///
/// # Errors
/// `InvalidInput` for certificates and keys that can't be read or do not fit each other.
pub(super) fn client_config(settings: &HttpSettings) -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = match &settings.authorities {
        None => Verifier::new(provider.clone()),
        Some(path) => Verifier::new_with_extra_roots(certificates(path, "ssl.cabundle")?, provider.clone()),
    };
    let verifier = verifier.map_err(|e| {
        Error::invalid("the certificates of authorities can't be used")
            .because(e)
            .hint("Give a file of PEM certificates as ssl.cabundle")
    })?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::internal("TLS can't be set up").because(e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = &settings.identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(certificate, "ssl.client.cert")?;
    let key = PrivateKeyDer::from_pem_file(Path::new(key)).map_err(|e| unreadable("ssl.client.key", key, e))?;
    builder.with_client_auth_cert(chain, key).map_err(|e| {
        Error::invalid("the client's certificate and key do not fit each other").with("path", certificate).because(e)
    })
}

/// The certificates of a file.
fn certificates(path: &str, property: &'static str) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(Path::new(path)).and_then(Iterator::collect);
    let read: Vec<CertificateDer<'static>> = read.map_err(|e| unreadable(property, path, e))?;
    match read.is_empty() {
        true => Err(Error::invalid("the file has no certificate").with("property", property).with("path", path)),
        false => Ok(read),
    }
}

fn unreadable(property: &'static str, path: &str, e: rustls::pki_types::pem::Error) -> Error {
    Error::invalid("the file can't be read as PEM").with("property", property).with("path", path).because(e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_certificates_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.pem").to_string_lossy().into_owned();
        std::fs::write(&path, "no certificate").unwrap();
        let settings = HttpSettings { authorities: Some(path.clone()), ..HttpSettings::default() };
        let e = client_config(&settings).unwrap_err();
        assert!(e.to_string().contains("ssl.cabundle") && e.to_string().contains("empty.pem"), "{e}");
        let settings = HttpSettings { identity: Some((path, "/missing".to_owned())), ..HttpSettings::default() };
        assert!(client_config(&settings).is_err());
    }
}
