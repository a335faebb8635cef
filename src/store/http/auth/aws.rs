//! Signatures of Amazon's services (Signature Version 4).

use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AwsAuthorizer, AwsCredential, AwsCredentialProvider};
use object_store::client::HttpRequest as SignedRequest;

use super::super::request::HttpRequest;
use super::traits::{AUTHORIZATION, Authorizer};
use crate::error::{Error, Result};
use crate::store::failure::failure;
use crate::store::options::Secrets;
use crate::store::runtime::{self, PerProcess};

/// The header that keeps the proof of another kind, because the signature takes its place.
const ORIGINAL: &str = "original-authorization";

/// Keys that are given.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AwsKeys {
    /// The id of the access key.
    pub(crate) id: String,
    /// The secret access key.
    pub(crate) secret: String,
    /// The token of a session.
    pub(crate) token: Option<String>,
}

/// Signs requests for one service in one region.
pub(crate) struct AwsSignatures {
    service: String,
    region: String,
    keys: Option<AwsKeys>,
    /// The proof that other servers than Amazon's look at.
    delegate: Option<Arc<dyn Authorizer>>,
    /// The keys of the environment, of this process.
    provider: PerProcess<AwsCredentialProvider>,
}

impl std::fmt::Debug for AwsSignatures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsSignatures").field("service", &self.service).finish_non_exhaustive()
    }
}

impl AwsSignatures {
    /// Signatures for a service such as `glue` or `s3tables`. Without keys, those of the environment are used.
    pub(crate) fn new(
        service: &str,
        region: &str,
        keys: Option<AwsKeys>,
        delegate: Option<Arc<dyn Authorizer>>,
    ) -> AwsSignatures {
        let (service, region) = (service.to_owned(), region.to_owned());
        AwsSignatures { service, region, keys, delegate, provider: PerProcess::new() }
    }

    fn credential(&self) -> Result<Arc<AwsCredential>> {
        if let Some(AwsKeys { id, secret, token }) = &self.keys {
            let (key_id, secret_key) = (id.clone(), secret.clone());
            return Ok(Arc::new(AwsCredential { key_id, secret_key, token: token.clone() }));
        }
        let none = |e| {
            let why = failure("sign", "", e, &Secrets::default());
            Error::denied("there are no keys to sign requests with")
                .because(why)
                .hint("Give client.access-key-id and client.secret-access-key, or set them in the environment")
        };
        let provider = self.provider.get(|| {
            rustls::crypto::ring::default_provider().install_default().unwrap_or(());
            let builder = AmazonS3Builder::from_env().with_bucket_name("catalog").with_region(&self.region);
            Ok(builder.build().map_err(none)?.credentials().clone())
        })?;
        runtime::wait(async move { provider.get_credential().await })?.map_err(none)
    }
}

impl Authorizer for AwsSignatures {
    fn authorize(&self, request: &HttpRequest) -> Result<Vec<(String, String)>> {
        let proof = self.delegate.as_ref().map_or(Ok(Vec::new()), |delegate| delegate.authorize(request))?;
        let credential = self.credential()?;
        let wrong = |what: &str| Error::invalid(format!("the request can't be signed: its {what} is not valid"));
        let body = request.body.as_ref();
        let mut signed = SignedRequest::new(body.map(|b| b.bytes.clone()).unwrap_or_default().into());
        *signed.method_mut() = request.verb.as_str().parse().map_err(|_| wrong("verb"))?;
        *signed.uri_mut() = request.url.parse().map_err(|_| wrong("URL"))?;
        let content = body.map(|b| ("content-type".to_owned(), b.content_type.to_owned()));
        for (name, value) in request.headers.iter().cloned().chain(proof).chain(content) {
            let name = if name.eq_ignore_ascii_case(AUTHORIZATION) { ORIGINAL.to_owned() } else { name };
            let name: reqwest::header::HeaderName = name.parse().map_err(|_| wrong("header"))?;
            signed.headers_mut().insert(name, value.parse().map_err(|_| wrong("header"))?);
        }
        AwsAuthorizer::new(&credential, &self.service, &self.region).try_authorize(&mut signed, None).map_err(|e| {
            Error::denied("the request can't be signed").because(failure("sign", &request.url, e, &Secrets::default()))
        })?;
        let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Ok(signed.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect())
    }

    fn renew(&self, refused: &[(String, String)]) -> Result<bool> {
        let Some(delegate) = &self.delegate else { return Ok(false) };
        let original = refused.iter().filter(|(name, _)| name == ORIGINAL);
        let original: Vec<(String, String)> = original.map(|(_, v)| (AUTHORIZATION.to_owned(), v.clone())).collect();
        delegate.renew(&original)
    }

    fn is_of_caller(&self) -> bool {
        self.delegate.as_ref().is_some_and(|delegate| delegate.is_of_caller())
    }

    fn secrets(&self) -> Vec<String> {
        let own = self.keys.iter().flat_map(|keys| [Some(keys.secret.clone()), keys.token.clone()]).flatten();
        own.chain(self.delegate.iter().flat_map(|d| d.secrets())).filter(|text| text.len() > 3).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::request::HttpVerb;
    use super::*;

    #[test]
    fn a_request_is_signed_for_a_service() {
        let keys = AwsKeys { id: "AKID".to_owned(), secret: "hush-hush".to_owned(), token: Some("t0ken".to_owned()) };
        let delegate: Arc<dyn Authorizer> = Arc::new(super::super::basic::BasicLogin::new("u", "pass"));
        let signer = AwsSignatures::new("glue", "eu-west-1", Some(keys), Some(delegate));
        let request = HttpRequest::new(HttpVerb::Post, "https://glue.example/iceberg/v1/a%1Fb?x=1")
            .header("X-Other", "1")
            .json(&serde_json::json!({"a": 1}));
        let headers = signer.authorize(&request).unwrap();
        let value = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let proof = value("authorization").unwrap();
        assert!(proof.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{proof}");
        assert!(proof.contains("/eu-west-1/glue/aws4_request"), "{proof}");
        assert!(
            proof.contains("SignedHeaders=content-type;host;original-authorization;x-amz-content-sha256"),
            "{proof}"
        );
        assert!(value("original-authorization").unwrap().starts_with("Basic "));
        assert_eq!(value("x-amz-security-token"), Some("t0ken"));
        assert!(!format!("{signer:?}").contains("hush"));
        assert!(!signer.is_of_caller());
        let provided = super::super::provided::ProvidedHeaders(Arc::new(|| Ok(Vec::new())));
        assert!(AwsSignatures::new("glue", "r", None, Some(Arc::new(provided))).is_of_caller());
        assert_eq!(signer.secrets().len(), 4);
    }
}
