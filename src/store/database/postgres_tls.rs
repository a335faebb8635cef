//! TLS to PostgreSQL servers: what `sslmode` and `sslrootcert` of a URI mean. The meaning is the one of PostgreSQL's
//! own library.
//!
//! | `sslmode` | encrypted | the server's certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `allow`, `prefer` (default) | if the server can | not checked |
//! | `require` | yes | not checked; with `sslrootcert` as `verify-ca` |
//! | `verify-ca` | yes | by a known authority |
//! | `verify-full` | yes | by a known authority, for this host |
//!
//! `sslrootcert=system` is allowed with `verify-full` only, and means it where no mode is given.

use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::uri_parameters::UriParameters;
use crate::error::{Error, Result};

const MODES: &str = "Use disable, prefer, require, verify-ca or verify-full";

/// How thoroughly a certificate is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    Anyone,
    Authority,
    AuthorityAndName,
}

/// The TLS settings of a URI.
#[derive(Clone)]
pub(super) struct Tls {
    /// For the client.
    pub mode: SslMode,
    trust: Trust,
    connector: TlsConnector,
}

impl Tls {
    /// Takes the TLS parameters of a URI.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown mode or one that is too weak for the certificates, for parameters that are not
    /// URI-encoded, and for unreadable certificates; `Unsupported` for client certificates.
    pub(super) fn of_uri(parameters: &mut UriParameters<'_>) -> Result<Tls> {
        let of_client = ["sslcert", "sslkey", "sslcrl", "sslpassword"];
        if let Some((name, _)) = parameters.rest().iter().find(|(name, _)| of_client.contains(name)) {
            return Err(Error::unsupported("client certificates are not supported")
                .with("parameter", name)
                .hint("Give a user and a password"));
        }
        let (mode, root) = (parameters.take("sslmode")?, parameters.take("sslrootcert")?);
        let (ssl, trust) = match (mode.as_deref(), root.as_deref()) {
            (None | Some("verify-full"), Some("system")) => (SslMode::Require, Trust::AuthorityAndName),
            (Some(weak @ ("allow" | "prefer" | "require" | "verify-ca")), Some("system")) => {
                return Err(Error::invalid(format!("sslmode={weak} is too weak for sslrootcert=system"))
                    .with("parameter", "sslmode")
                    .hint("Anybody may have a certificate by an authority that the system knows: use verify-full"));
            }
            (Some("disable"), _) => (SslMode::Disable, Trust::Anyone),
            (None | Some("prefer" | "allow"), _) => (SslMode::Prefer, Trust::Anyone),
            (Some("require"), None) => (SslMode::Require, Trust::Anyone),
            (Some("require" | "verify-ca"), _) => (SslMode::Require, Trust::Authority),
            (Some("verify-full"), _) => (SslMode::Require, Trust::AuthorityAndName),
            (Some(other), _) => {
                return Err(Error::invalid(format!("'{other}' is not an sslmode"))
                    .with("parameter", "sslmode")
                    .hint(MODES));
            }
        };
        let verifier = Verifier::new(trust, root.as_deref())?;
        let config = ClientConfig::builder_with_provider(verifier.provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::internal("TLS can't be set up").because(e))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Tls { mode: ssl, trust, connector: TlsConnector::from(Arc::new(config)) })
    }

    /// For one connection.
    pub(super) fn connector(&self) -> Connector {
        let needs_name = self.trust == Trust::AuthorityAndName;
        Connector { connector: self.connector.clone(), needs_name, name: None, failed: Arc::default() }
    }

    /// Whether to try a connection without TLS. `prefer` does so if the connection with TLS failed.
    pub(super) fn may_do_without(&self, tried: &Connector) -> bool {
        self.mode == SslMode::Prefer && tried.failed.load(Ordering::Relaxed)
    }
}

/// Checks a server's certificate.
#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
    /// Of authorities; `None` if anyone is trusted.
    inner: Option<Arc<dyn ServerCertVerifier>>,
    /// Certificates that are trusted as they are, such as one that a server signed itself.
    known: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(trust: Trust, root: Option<&str>) -> Result<Verifier> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let unusable = |what: &str| Error::invalid(what.to_owned()).with("parameter", "sslrootcert");
        if trust == Trust::Anyone {
            return Ok(Verifier { trust, provider, inner: None, known: Vec::new() });
        }
        let Some(path) = root.filter(|root| *root != "system") else {
            let system = rustls_platform_verifier::Verifier::new(provider.clone());
            let system = system.map_err(|e| {
                unusable("the system's certificates can't be used").because(e).hint("Give sslrootcert=PATH")
            })?;
            return Ok(Verifier { trust, provider, inner: Some(Arc::new(system)), known: Vec::new() });
        };
        let read = CertificateDer::pem_file_iter(Path::new(path)).and_then(Iterator::collect);
        let known: Vec<CertificateDer<'static>> =
            read.map_err(|e| unusable("the certificates can't be read").with("path", path).because(e))?;
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(known.iter().cloned());
        if added == 0 {
            return Err(unusable("the file has no certificate").with("path", path));
        }
        let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let inner = inner.map_err(|e| unusable("the certificates can't be used").with("path", path).because(e))?;
        Ok(Verifier { trust, provider, inner: Some(inner), known })
    }
}

/// How a version of TLS checks that the server has the key of its certificate.
type Signature = fn(
    &[u8],
    &CertificateDer<'_>,
    &DigitallySignedStruct,
    &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, rustls::Error>;

impl Verifier {
    /// If anyone is trusted, an attacker in between may show a certificate of their own, so its key proves nothing. The
    /// certificate is then not parsed, and may be of an unknown kind (X.509 version 1).
    fn signature(
        &self,
        check: Signature,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self.trust {
            Trust::Anyone => Ok(HandshakeSignatureValid::assertion()),
            _ => check(message, certificate, signed, &self.provider.signature_verification_algorithms),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        if self.known.iter().any(|known| known == certificate) {
            if self.trust == Trust::AuthorityAndName {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        use CertificateError as E;
        match inner.verify_server_cert(certificate, others, name, response, now) {
            // The name is looked at last.
            Err(rustls::Error::InvalidCertificate(E::NotValidForName | E::NotValidForNameContext { .. }))
                if self.trust == Trust::Authority =>
            {
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(verify_tls12_signature, message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(verify_tls13_signature, message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Encrypts the connections to hosts.
#[derive(Clone)]
pub(super) struct Connector {
    connector: TlsConnector,
    /// Whether certificates must be for the host.
    needs_name: bool,
    name: Option<ServerName<'static>>,
    /// Whether TLS did not come about with one of them.
    failed: Arc<AtomicBool>,
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

type Handshake<S> = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = Encrypted<S>;
    type TlsConnect = Connector;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connector, Self::Error> {
        // Sockets of the file system have no name, and no TLS.
        if domain.is_empty() {
            return Ok(self.clone());
        }
        let name = match ServerName::try_from(domain.to_owned()) {
            Err(e) if self.needs_name => return Err(e),
            // Not every name that a host has is one of DNS. Of an address the server is told nothing.
            name => name.unwrap_or_else(|_| Ipv4Addr::UNSPECIFIED.into()),
        };
        Ok(Connector { name: Some(name), ..self.clone() })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connector {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Handshake<S>;

    fn connect(self, stream: S) -> Handshake<S> {
        Box::pin(async move {
            let name = self.name.ok_or_else(|| io::Error::other("a connection to nowhere"))?;
            let encrypted = self.connector.connect(name, stream).await;
            encrypted.map(Encrypted).inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}
